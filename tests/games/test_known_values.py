"""Values, equilibria and gaps of small games, as they are known from outside."""

import numpy as np
import pytest
from naive_games import kuhn_bets

from regretkit import games, solve
from regretkit.evaluation import nash_conv, security_value, solve_zero_sum

LEDUC = -1454920850547486749701863871533 / 16995463438839962469905132501930


def kuhn_profile(game, bets):
    labels = game.tree.labels
    behaviors = [np.array([[1 - bets[s], bets[s]] for s in part]).ravel() for part in labels]
    return [d.sequence_form(b) for d, b in zip(game.domains, behaviors, strict=True)]


# Numbers from outside

# By the linear programs of others, as fractions or with OpenSpiel's trees; that of Dudo is in
# Neller and Lanctot (2013), and pursuits are solved by hand.
VALUES = {
    "liars_dice(sides=1)": 1.0,
    "liars_dice(sides=2)": 1 / 2,
    "liars_dice(sides=3)": 1 / 9,
    "liars_dice(dice=2, sides=2)": 7 / 8,
    "liars_dice(sides=5)": 1 / 125,
    "dudo(sides=2)": 1 / 2,
    "dudo(sides=3)": 1 / 9,
    "dudo(sides=5)": 1 / 125,
    "battleship(1, 2, shots=1)": 1 / 4,
    "battleship(repeated_shots=True)": 1 / 8,
    "battleship(lengths=[2], values=[2.0])": 1 / 8,
    "battleship(lengths=[1, 2], values=[1.0, 2.0])": 0.0,
    "battleship(2, 3, lengths=[2])": 1 / 49,
    # The patrol finds one of 1, 2 or 3 rows at once; after that the evader hides in column b.
    "pursuit_evasion(turns=1)": -1 / 3,
    "pursuit_evasion(turns=3)": -1 / 3,
    "pursuit_evasion(turns=3, goals=[9])": -1.0,
    "pursuit_evasion(turns=2, goals=[1, 1])": -1 / 2,
    # It cannot be at the first of four rows so soon.
    "pursuit_evasion(turns=3, goals=[7, 7, 7, 7])": 0.0,
    # A straight way is known after two turns, for the trace in column a tells the row.
    "pursuit_evasion(turns=4)": -1 / 3,
    # Goals that cost more than to be caught are left alone.
    "pursuit_evasion(turns=6, goals=[-2, -3])": -1 / 2,
    # The larger ones
    "dudo": -7 / 258,
    "liars_dice": -7 / 258,
}


@pytest.mark.parametrize(
    "call",
    [*list(VALUES)[:-2], *(pytest.param(c, marks=pytest.mark.deep) for c in list(VALUES)[-2:])],
)
def test_zero_sum_games_have_their_known_values(call):
    game = games.load(call)
    solution = solve_zero_sum(game)
    assert game.constant_sum == 0.0
    assert solution.value == pytest.approx(VALUES[call], abs=1e-9)
    assert solution.gap < 1e-9


@pytest.mark.parametrize("alpha", [0.0, 0.05, 1 / 9, 0.2, 0.3, 1 / 3])
def test_the_equilibrium_family_of_kuhn_poker_has_no_gap_and_the_known_value(alpha):
    game = games.kuhn_poker()
    profile = kuhn_profile(game, kuhn_bets(alpha))
    assert nash_conv(game, profile) == pytest.approx(0.0, abs=1e-12)
    assert game.value(profile) == pytest.approx([-1 / 18, 1 / 18], abs=1e-12)
    assert security_value(game, 0, profile[0]) == pytest.approx(-1 / 18, abs=1e-12)


def test_leduc_poker_has_its_known_value():
    # Between what both averages are sure of, and by linear programming.
    game = games.leduc_poker(merge_suits=True)
    run = solve(game, "cfr+", iterations=500)
    first, second = (security_value(game, player, run.average[player]) for player in (0, 1))
    assert first <= LEDUC <= -second
    assert -second - first < 2e-3
    assert solve_zero_sum(game).value == pytest.approx(LEDUC, abs=1e-9)
