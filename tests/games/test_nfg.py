"""Gambit's format of normal form: its two forms, and what is said where a text breaks it."""

import numpy as np
import pytest

from regretkit.games import read_nfg

# The chapter on the format has this game in both forms.
SELTEN = """NFG 1 R "Selten (IJGT, 75), Figure 2, normal form" { "Player 1" "Player 2" }
"""
AS_PAYOFFS = f"""{SELTEN}{{ 3 2 }}
1 1 0 2 0 2 1 1 0 3 2 0"""
AS_OUTCOMES = f"""{SELTEN}{{ {{ "1" "2" "3" }} {{ "1" "2" }} }}
{{
{{ "" 1, 1 }}
{{ "" 0, 2 }}
{{ "" 0, 2 }}
{{ "" 1, 1 }}
{{ "" 0, 3 }}
{{ "" 2, 0 }}
}}
1 2 3 4 5 6"""


def game(text, players=2):
    """Return the game with this table; the first line after the heading is line 2."""
    names = " ".join(f'"{player}"' for player in "ABC"[:players])
    return read_nfg(f'NFG 1 R "game" {{ {names} }}\n{text}')


@pytest.mark.parametrize("text", [AS_PAYOFFS, AS_OUTCOMES])
def test_both_forms_list_the_first_players_strategies_fastest(text):
    np.testing.assert_array_equal(
        read_nfg(text).payoffs, [[[1, 1], [0, 0], [0, 2]], [[1, 1], [2, 3], [2, 0]]]
    )


def test_strategies_keep_their_names_and_have_numbers_where_they_have_none():
    assert read_nfg(AS_PAYOFFS).actions is None
    assert read_nfg(AS_OUTCOMES).actions == (("1", "2", "3"), ("1", "2"))
    assert game('{ { "up" "" } { "\\"x\\"" } } 1 2 3 4').actions == (("up", "2"), ('"x"',))


def test_outcomes_may_stand_in_several_cells_and_0_pays_nothing():
    table = game('{ 2 2 } "comment" { { "win" 1 -1 } { "lose" -1 1 } } 1 0 2 1').payoffs
    np.testing.assert_array_equal(table[0], [[1.0, -1.0], [0.0, 1.0]])
    np.testing.assert_array_equal(table[1], -table[0])


def test_three_players_are_read_as_a_loop_over_all_cells_would():
    sizes, numbers = (2, 3, 2), iter(range(100))
    table = game("{ 2 3 2 } " + " ".join(map(str, range(36))), players=3).payoffs
    for third in range(sizes[2]):
        for second in range(sizes[1]):
            for first in range(sizes[0]):
                for player in range(3):
                    assert table[player, first, second, third] == next(numbers)


@pytest.mark.parametrize(
    ("table", "line", "column", "message"),
    [
        ("1 2", 2, 1, "'{' before the strategies, got '1'"),
        ("{ 2 } 1 2", 2, 5, "the number of strategies of player 2, a number such as 1, got '}'"),
        ("{ 2 0 }", 2, 5, "player 2 needs at least one strategy"),
        ("{ 2 2 2 }", 2, 7, "'}' after the strategies of 2 players, got '2'"),
        ('{ { "a" } { } }', 2, 11, "player 2 needs at least one strategy"),
        ('{ { "a" b } }', 2, 9, "the name of a strategy, in quotation marks, or '}', got 'b'"),
        ("{ 1 2 } 1 2 3", 2, 14, "payoff 4 of 4, a number such as .*, got the end of the file"),
        ("{ 1 2 } 1 2 3 4 5", 2, 17, "the end of the file after all 2 cells of the table, got '5'"),
        ("{ 1 2 } 1/*2*/3 4 5 6", 2, 9, r"payoff 1 of 4, a number .*, got '1/\*2\*/3'"),
        ('{ 1 1 } { "x" 1 1 } } 1', 2, 11, "'{' before an outcome, or '}' after the last"),
        ('{ 1 1 } { { "x" 1 } } 1', 2, 19, "the payoff of player 2"),
        ('{ 1 1 } { { "x" 1 1 } } 2', 2, 25, "outcome 2 is not declared; there are 1"),
        ('{ 1 1 } { { "x" 1 1 } } -1', 2, 25, "the number of the outcome in cell 1 of 1"),
        ('{ 1 1 } { { "x" 1 1 } } 1 1', 2, 27, "the end of the file after all 1 cells"),
    ],
)
def test_a_fault_is_refused_where_it_stands(table, line, column, message):
    with pytest.raises(ValueError, match=message) as refusal:
        game(table)
    assert str(refusal.value).startswith(f"line {line}, column {column}: ")
