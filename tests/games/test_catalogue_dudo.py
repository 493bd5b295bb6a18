"""Dudo has the size, the order of claims and the value that it is known for."""

import math

import pytest
from naive_games import uniform
from test_catalogue import play

from regretkit import ExtensiveFormGame
from regretkit.evaluation import solve_zero_sum
from regretkit.games import Dudo, GameTree


@pytest.mark.parametrize("dice", [1, 2, 3, 5])
def test_claims_are_ordered_by_their_strength_in_the_paper(dice):
    # Neller and Lanctot (2013) number n dice of face r among six like this.
    def strength(claim):
        n, r = map(int, claim.split("x"))
        return 11 * n - 6 if r == 1 else 5 * n + n // 2 + r - 7

    claims = play(Dudo(dice), "1" * dice, "1" * dice).actions()

    assert sorted(claims) == sorted(f"{n}x{r}" for n in range(1, 2 * dice + 1) for r in "123456")
    assert list(claims) == sorted(claims, key=strength)


@pytest.mark.parametrize(("dice", "sides"), [(1, 1), (1, 4), (2, 1), (2, 2), (3, 1)])
def test_sizes_are_rolls_times_rising_sequences_of_claims(dice, sides):
    tree = GameTree.from_rules(Dudo(dice, sides))
    rolls = math.comb(dice + sides - 1, dice)
    rising = 4 ** (dice * sides)
    # Every sequence of claims can be gone on from, and every one but the empty be challenged.
    assert tree.histories == 1 + rolls + rolls**2 * (2 * rising - 1)
    assert tree.terminals.size == rolls**2 * (rising - 1)
    assert tree.information_sets == (rolls * rising // 2, rolls * rising // 2)


def test_two_dice_with_the_claims_of_openspiel_are_its_game():
    # There ones come after the other faces of as many dice. OpenSpiel 2.0.2: 384 information sets
    # each, 1/16 for uniform play; the value is by the linear programs of others on its tree.
    class OtherOrder(Dudo):
        claims = tuple((number, face) for number in (1, 2, 3, 4) for face in (1, 0))

    game = ExtensiveFormGame.from_rules(OtherOrder(2, 2))
    assert game.tree.information_sets == (384, 384)
    assert game.value(uniform(game)) == pytest.approx([1 / 16, -1 / 16], abs=1e-12)
    assert solve_zero_sum(game).value == pytest.approx(7 / 8, abs=1e-9)


# Rules


@pytest.mark.parametrize(
    ("actions", "winner"),
    [
        ("3 5 1x3 dudo", 0),
        ("5 3 1x3 dudo", 0),
        ("5 5 1x3 dudo", 1),
        ("1 5 1x3 dudo", 0),
        ("1 3 1x2 2x3 dudo", 1),
        ("1 3 1x2 2x4 dudo", 0),
        ("3 3 1x1 dudo", 1),
        ("1 3 1x1 2x1 dudo", 0),
        ("1 1 1x1 2x1 dudo", 1),
        ("1 1 2x6 dudo", 0),
        ("6 1 1x2 1x3 2x6 dudo", 0),
    ],
)
def test_a_challenge_wins_against_a_false_claim_only_with_ones_wild(actions, winner):
    history = play(Dudo(), *actions.split())
    assert history.is_terminal()
    assert history.payoffs() == ([1, -1] if winner == 0 else [-1, 1])
