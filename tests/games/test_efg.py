"""Gambit's format of extensive form: its grammar, and what is said where a text breaks it."""

import re
import sys
from fractions import Fraction

import numpy as np
import pytest
from assert_games import assert_same_game, assert_same_tree
from naive_games import chance, decision, end

from regretkit.games import (
    GameTree,
    ImperfectRecallGame,
    read_efg,
    write_efg,
)

PENNIES = """EFG 2 R "Pennies" { "Even" "Odd" }
"The right guess wins."

p "" 1 1 "even" { "H" "T" } 0
p "" 2 1 "odd" { "H" "T" } 0
t "" 1 "same" { 1, -1 }
t "" 2 "different" { -1, 1 }
p "" 2 1 "odd" { "H" "T" } 0
t "" 2 "different" { -1, 1 }
t "" 3 "same again" { 1, -1 }
"""

DRIVER = 'p "" 1 1 "exit" { "leave" "stay" } 0 t "" 0 p "" 1 1 0 t "" 1 "" { 4 } t "" 0'


def game(text, players=1):
    """Return the game with these nodes; the first of them stands in line 2."""
    names = " ".join(f'"{player}"' for player in "ABC"[:players])
    return read_efg(f'EFG 2 R "game" {{ {names} }}\n{text}')


def refused(text, line, column, message, players=1):
    with pytest.raises(ValueError, match=message) as refusal:
        game(text, players)
    assert str(refusal.value).startswith(f"line {line}, column {column}: ")


# Reading


def test_a_text_is_the_game_that_its_rules_describe():
    def guess(even, odd):
        return end(1.0, -1.0) if even == odd else end(-1.0, 1.0)

    coins = "HT"
    answers = {e: decision(1, "odd", **{o: guess(e, o) for o in coins}) for e in coins}
    pennies = read_efg(PENNIES)

    assert_same_tree(pennies.tree, GameTree.from_history(decision(0, "even", **answers)))
    assert pennies.name == "Pennies"
    assert repr(pennies) == "<Pennies: 1 + 1 information sets>"


@pytest.mark.parametrize(
    ("written", "number"),
    [
        ("3", 3.0),
        ("-3", -3.0),
        (".5", 0.5),
        ("1/3", 1 / 3),
        ("2.5e-1", 0.25),
        ("1.e+2", 100.0),
        ("1e-400", 0.0),
        ("1" + 400 * "0" + "/3" + 400 * "0", 1 / 3),
        ("0.1000000000000000055511151231257827", 0.1),
        ("9007199254740993/2", 4503599627370496.0),  # a tie: the even double
        ("1e100", 1e100),
    ],
)
def test_a_number_is_read_as_the_double_next_to_it(written, number):
    assert game(f't "" 1 "" {{ {written} }}').tree.payoffs[0, 0] == number
    twice = game(f'p "" 1 1 "" {{ "a" }} 1 "" {{ {written}, }} t "" 0')
    assert twice.tree.payoffs[0, 0] == number


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("1e301", "at most 1e[+]100 in size, got '1e301'"),
        ("-1e999999999999", "at most 1e[+]100"),
        ("1/0", "the payoff of player 1 is not a number: '1/0'"),
    ],
)
def test_a_number_that_no_payoff_can_be_is_refused(written, message):
    refused(f't "" 1 "" {{ {written} }}', 2, 13, message)


def test_names_may_hold_what_else_has_a_meaning():
    odd = game(r'p "" 1 1 "a \"b\" \\ c\d // { 1" { "}" "/* 2" "*/" } 0' + 3 * ' t "" 0')
    assert odd.tree.labels == ((r'a "b" \ c\d // { 1',),)
    assert odd.tree.actions == ((("}", "/* 2", "*/"),),)


def test_what_has_no_name_is_called_by_its_number_in_the_text():
    nameless = game('p "" 1 900 "" { "" "x" "" } 0' + 3 * ' t "" 0')
    assert nameless.tree.labels == (("900",),)
    assert nameless.tree.actions == ((("1", "x", "3"),),)
    assert read_efg('EFG 2 R "" { "" } t "" 0').name is None


def test_information_sets_are_told_apart_by_player_and_number_only():
    equal = game(
        'p "" 1 3 "x" { "a" "b" } 0  p "" 2 3 "x" { "a" "b" } 0  t "" 0  t "" 0'
        '  p "" 2 4 "x" { "a" "b" } 0  t "" 0  t "" 0',
        players=2,
    )
    assert equal.tree.labels == (("x",), ("x", "x"))
    np.testing.assert_array_equal(equal.tree.information_set[:3], [0, 0, 1])


def test_an_information_set_may_lie_in_different_subtrees():
    shared = game(
        'c "" 1 "" { "l" .5 "r" .5 } 0'
        '  p "" 1 1 "s" { "a" "b" } 0  t "" 1 "" { 1, 0 }  t "" 2 "" { 2, 0 }'
        '  p "" 2 1 "o" { "a" "b" } 0  p "" 1 1 0  t "" 1  t "" 2  t "" 2',
        players=2,
    )
    acting = np.flatnonzero(shared.tree.player == 0)

    assert shared.tree.information_sets == (1, 1)
    assert [shared.tree.history_path(history) for history in acting] == [("l",), ("r", "a")]


def test_outcomes_on_the_way_are_added_up():
    moved = game(
        'p "" 1 1 "" { "a" "b" } 1 "toll" { -1 }'
        '  c "" 1 "" { "a" 1/4 "b" 3/4 } 2 "gift" { 8 }  t "" 1  t "" 0'
        '  t "" 3 "" { .5 }'
    )
    at_ends = game(
        'p "" 1 1 "" { "a" "b" } 0'
        '  c "" 1 "" { "a" 1/4 "b" 3/4 } 0  t "" 1 "" { 6 }  t "" 2 "" { 7 }'
        '  t "" 3 "" { -.5 }'
    )

    assert_same_game(moved, at_ends)
    assert moved.tree.payoffs.ravel().tolist() == [-0.5, 6.0, 7.0]  # shorter histories first


def test_a_declaration_may_have_no_name():
    # As in the format's description up to Gambit 15, and in files that come with OpenSpiel.
    nameless = game(
        'c "" 1 { "a" 1/52 "b" 51/52 } 0'
        '  p "" 1 1 { "x" "y" } 0 t "" 1 { 1 } t "" 2 "" { 2 }'
        '  p "" 1 1 { "x" "y" } 0 t "" 1 "" { 1 } t "" 2 { 2 }'
    )
    assert nameless.tree.labels == (("1",),)
    assert nameless.tree.outcomes == (("a", "b"),)
    assert nameless.tree.payoffs.ravel().tolist() == [1.0, 2.0, 1.0, 2.0]


def staircase(levels):
    """Return a game in which players take turns to stop, or to go down another step."""
    steps = [
        f'p "" {1 + step % 2} {1 + step} "" {{ "stop" "go" }} 0 t "" {1 + step} "" {{ {step} 0 }}'
        for step in range(levels)
    ]
    return game("\n".join([*steps, 't "" 0']), players=2)


def test_a_tree_may_be_deeper_than_functions_may_call_each_other():
    levels = 10 * sys.getrecursionlimit()
    stairs = staircase(levels)

    assert stairs.tree.depth == levels
    assert stairs.tree.information_sets == (levels // 2, levels // 2)
    # Those who never stop earn nothing, and who always does, as much as the first step pays.
    np.testing.assert_array_equal(np.sort(stairs.tree.payoffs[:-1, 0]), np.arange(levels))


# Imperfect recall


def test_a_game_of_imperfect_recall_says_so_and_keeps_its_tree():
    driver = game(DRIVER)
    assert isinstance(driver, ImperfectRecallGame)
    assert repr(driver) == "<game: 1 information sets, imperfect recall>"
    assert driver.players == 1
    assert driver.recall_violation.startswith(
        "imperfect recall: player 0 cannot tell the empty history"
    )
    np.testing.assert_array_equal(driver.tree.payoffs.ravel(), [0.0, 4.0, 0.0])


# What is refused

CHANCE = 'c "" 1 "" { "a" .5 "b" .5 } 0\n'
SET = 'p "" 1 1 "s" { "a" "b" } 0\n'


@pytest.mark.parametrize(
    ("nodes", "line", "column", "message"),
    [
        ('q "" 0', 2, 1, "c, p or t, got 'q'"),
        ('t "" 0 t "" 0', 2, 8, "the end of the file after all 1 nodes, got 't'"),
        ('t "" 1', 2, 6, "outcome 1 is not declared; its first occurrence needs its payoffs"),
        ('t "" 1 "" { 1 2 }', 2, 15, "'}' after the payoffs of 1 players, got '2'"),
        ('t "open', 2, 3, "the name of a node has no closing quotation mark"),
        ('t "" 0 /* open', 2, 8, r"a comment has no closing \*/"),
        ('p "" 2 1 "" { "a" } 0', 2, 6, "the player must be one of 1 to 1, got 2"),
        ('p "" 1 "s" { "a" } 0', 2, 8, "the number of the information set"),
        ('p "" 1 1 "s" { } 0', 2, 16, "information set 1 of player 1 needs at least one action"),
        ('c "" 1 "s" { "a" 1.5 "b" -.5 } 0', 2, 26, "a probability must be at least 0"),
        ('c "" 1 "s" { "a" 1 "b" 1e-8 } 0', 2, 14, "sum to 1.00000001, not to 1 within 1e-09"),
        (SET + 't "" 0', 3, 7, "the next node of the tree"),
        (SET + 'p "" 1 1 "t" { "a" "b" } 0', 3, 8, "before with 's', got 't'"),
        (SET + 'p "" 1 1 "s" { "b" "a" } 0', 3, 8, r"\['a', 'b'\], got \['b', 'a'\]"),
        (
            SET + 'p "" 1 2 0',
            3,
            8,
            "2 of player 1 is not declared; its first occurrence needs its actions",
        ),
        (SET + 't "" 1 "x" { 1 }\nt "" 1 "y" { 1 }', 4, 6, "before with 'x', got 'y'"),
        (CHANCE + CHANCE.replace(".5", "1", 1).replace(".5", "0"), 3, 6, r"\[0.5, 0.5\], got"),
    ],
)
def test_a_fault_is_refused_where_it_stands(nodes, line, column, message):
    refused(nodes, line, column, message)


def test_a_text_that_was_cut_off_is_refused_at_its_end():
    for cut in range(1, len(PENNIES) - 2, 9):
        with pytest.raises(ValueError, match=r"^line \d+, column \d+: "):
            read_efg(PENNIES[:cut])


def test_payoffs_that_overflow_on_the_way_are_refused_at_the_end_they_lead_to():
    much = SET.replace("0\n", '1 "" { 9e99 }\n') + 't "" 0\n  t "" 1'
    refused(much, 4, 3, "sum to at most 1e[+]100 in size, got .1.8e[+]100")


# Writing


def chance_of(probabilities):
    """Return the tree in which chance does what it does with these probabilities."""
    ends = {str(number): end(0.0) for number in range(len(probabilities))}
    return GameTree.from_history(chance(probabilities, **ends))


def written(tree, for_gambit=False):
    line = write_efg(tree, for_gambit=for_gambit).splitlines()[2]
    return list(map(Fraction, re.findall(r'" ([\d./]+)(?= ["}])', line)[1:]))


@pytest.mark.parametrize("seed", range(20))
def test_probabilities_sum_to_exactly_1_if_they_can_within_their_rounding(seed):
    generator = np.random.default_rng(seed)
    shares = generator.random(generator.integers(2, 20)) ** 8
    probabilities = shares / shares.sum()
    tree = chance_of(probabilities)
    missing = abs(1 - sum(map(Fraction, probabilities)))
    # To a number just above a power of two, doubles below it are half as far as those above.
    enough = missing < Fraction(np.spacing(probabilities).sum() / 4)

    assert sum(written(tree)) == 1 or not enough
    assert_same_tree(read_efg(write_efg(tree)).tree, tree)
    assert sum(written(tree, for_gambit=True)) == 1
    np.testing.assert_allclose(
        [float(number) for number in written(tree, for_gambit=True)], probabilities, rtol=1e-15
    )


def test_names_for_gambit_differ_and_are_ascii():
    text = """EFG 2 R "Caf\N{LATIN SMALL LETTER E WITH ACUTE}" { "A" }
        p "" 1 1 "s" { "\N{BLACK SPADE SUIT}  K" "a\\b" } 0
        p "" 1 2 "s" { "x" } 0 t "" 0
        p "" 1 3 "s 2" { "x" } 0 t "" 1 "" { 1 }"""

    plain = read_efg(write_efg(read_efg(text), for_gambit=True))

    assert plain.name == "Caf?"
    assert plain.tree.labels == (("s", "s 2", "s 2 3"),)
    assert plain.tree.actions[0][0] == ("? K", "a?b")
    np.testing.assert_array_equal(plain.tree.payoffs, read_efg(text).tree.payoffs)
