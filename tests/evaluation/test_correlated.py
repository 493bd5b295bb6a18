"""Correlated equilibria of normal forms: next to whole histories, and to all corners."""

import itertools
from functools import partial

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_exact import best_of_equilibria, careless
from refusals import refusals

from regretkit import NormalFormGame, games, matrix_game
from regretkit.evaluation import (
    CorrelatedPlay,
    best_correlated_equilibrium,
    cce_gaps,
    ce_gaps,
    solve_zero_sum,
)

# Section 2.2 of Gibson (2013), "Regret minimization in non-zero-sum games"; the second player is
# paid nothing.
GIBSON = NormalFormGame([[[1, 0], [0, 2], [-1, 1]], np.zeros((3, 2))])


def random_table(seed, shape=(3, 4)):
    return NormalFormGame(np.random.default_rng(seed).normal(size=(len(shape), *shape)))


def distribution_of(played, weights):
    """Return the joint distribution over outcomes, every one of them by itself."""
    joint = np.zeros([strategy.size for strategy in played[0]])
    for profile, weight in zip(played, weights, strict=True):
        for outcome in np.ndindex(*joint.shape):
            chosen = zip(profile, outcome, strict=True)
            joint[outcome] += weight * np.prod([x[a] for x, a in chosen])
    return joint / sum(weights)


def gain_from(game, distribution, player, instead):
    """Return what a player gains over a distribution by playing ``instead[a]`` wherever told a."""
    gain = 0.0
    for outcome in np.ndindex(*distribution.shape):
        changed = list(outcome)
        changed[player] = instead[outcome[player]]
        change = game.payoffs[(player, *changed)] - game.payoffs[(player, *outcome)]
        gain += distribution[outcome] * change
    return gain


def naive_gap(game, distribution, player, coarse):
    n = distribution.shape[player]
    rules = [[a] * n for a in range(n)] if coarse else itertools.product(range(n), repeat=n)
    return max(gain_from(game, distribution, player, rule) for rule in rules)


# Gaps


@pytest.mark.parametrize("shape", [(3,), (3, 4), (2, 3, 2)], ids=str)
def test_gaps_are_those_of_every_rule_over_the_whole_history(shape):
    generator, game = np.random.default_rng(1), random_table(1, shape)
    played = [[generator.dirichlet(np.ones(n)) for n in shape] for _ in range(20)]
    play, weights = CorrelatedPlay(game), generator.exponential(size=20)
    for profile, weight in zip(played, weights, strict=True):
        play.add(profile, weight)
    joint = distribution_of(played, weights)
    for coarse, name, of in (True, "cce", cce_gaps), (False, "ce", ce_gaps):
        expected = [naive_gap(game, joint, player, coarse) for player in range(len(shape))]
        np.testing.assert_allclose(play.gaps(name), expected, atol=1e-12)
        np.testing.assert_allclose(of(game, joint), expected, atol=1e-12)
        assert play.gap(name) == play.gaps(name).max()
    paid = [(joint * own).sum() for own in game.payoffs]
    np.testing.assert_allclose(play.payoffs(), paid, atol=1e-12)


def test_gibsons_distribution_is_coarsely_correlated_but_not_correlated():
    # Told C, player 0 gains one by playing B, a quarter of the time. What it is told earns 5/4 and
    # B alone earns 1, so that nothing fixed gains: OpenSpiel calls that 0, and here it is -1/4.
    mu = [[0.5, 0.0], [0.0, 0.25], [0.0, 0.25]]
    np.testing.assert_allclose(cce_gaps(GIBSON, mu), [-0.25, 0.0], atol=1e-15)
    np.testing.assert_allclose(ce_gaps(GIBSON, mu), [0.25, 0.0], atol=1e-15)


# The best ones

BEST = {coarse: partial(best_correlated_equilibrium, coarse=coarse) for coarse in (False, True)}
each_kind = pytest.mark.parametrize("coarse", [False, True], ids=["ce", "cce"])

# Cooperate, defect or stay at home: to be told to cooperate is a temptation to defect.
TABLE = np.array([[2.0, 0.0, 0.0], [3.0, 0.0, 0.0], [1.0, 1.0, 1.0]])
TEMPTATION = NormalFormGame([TABLE, TABLE.T])

entries = st.integers(-3, 3)
bimatrices = st.lists(entries, min_size=8, max_size=8).map(
    lambda numbers: NormalFormGame(np.reshape(numbers, (2, 2, 2)))
)


def check_best(game, found, coarse, size=1.0):
    """Hold an answer to what it says of itself, deviation by deviation."""
    mu = found.distribution
    assert mu.shape == game.payoffs.shape[1:]
    assert (mu >= 0.0).all()
    assert mu.sum() == pytest.approx(1.0, abs=1e-14)
    for player in range(game.players):
        gap = naive_gap(game, mu, player, coarse)
        assert found.gaps[player] == pytest.approx(gap, abs=1e-12 * size)
        assert gap <= 1e-10 * size
        paid = (mu * game.payoffs[player]).sum()
        assert found.payoffs[player] == pytest.approx(paid, abs=1e-12 * size)
    assert found.gap == found.gaps.max()
    assert found.bound == pytest.approx(found.value, abs=1e-9 * size)


@pytest.mark.parametrize(
    ("game", "coarse", "welfare"),
    [
        (games.chicken(), False, 10.5),
        (games.traffic_light(), False, 1.0),
        (games.shapley_game(), False, 1.0),
        (games.prisoners_dilemma(), True, 2.0),
        (games.battle_of_the_sexes(), False, 5.0),
        (TEMPTATION, False, 2.0),
        (TEMPTATION, True, 3.0),
        (NormalFormGame([[[3.0]], [[-1.0]]]), False, 2.0),
        (NormalFormGame(np.full((2, 3, 2), 7.0)), True, 14.0),
    ],
)
def test_known_welfare_is_found(game, coarse, welfare):
    found = BEST[coarse](game)
    assert found.value == pytest.approx(welfare, abs=1e-12)
    check_best(game, found, coarse)


@each_kind
@settings(max_examples=25)
@given(game=bimatrices, weights=st.tuples(entries, entries))
def test_no_corner_of_the_set_is_better(coarse, game, weights):
    found = BEST[coarse](game, weights)
    expected = float(best_of_equilibria(game, weights, coarse))
    assert found.value == pytest.approx(expected, abs=1e-9)
    check_best(game, found, coarse)


@each_kind
@pytest.mark.parametrize("shape", [(3,), (1, 4), (3, 4), (2, 3, 2)], ids=str)
def test_no_player_gains_by_a_deviation_and_the_dual_agrees(coarse, shape):
    game = random_table(2, shape)
    for objective in ["welfare", *range(len(shape)), -np.ones(len(shape))]:
        check_best(game, BEST[coarse](game, objective), coarse)
    for named, weights in ("welfare", np.ones(len(shape))), (0, np.eye(len(shape))[0]):
        first, second = BEST[coarse](game, named), BEST[coarse](game, weights)
        np.testing.assert_array_equal(first.distribution, second.distribution)


@each_kind
def test_in_a_zero_sum_game_all_of_them_pay_the_value(coarse):
    game = matrix_game(np.random.default_rng(0).normal(size=(4, 5)))
    value = solve_zero_sum(game).value
    for weights in ([1.0, 0.0], [-1.0, 0.0]):
        payoffs = BEST[coarse](game, weights).payoffs
        np.testing.assert_allclose(payoffs, [value, -value], atol=1e-12)


@each_kind
@pytest.mark.parametrize(("offset", "unit"), [(0.0, 1e-300), (0.0, 1e90), (-1e6, 1.0), (2e6, 1e-4)])
def test_neither_unit_nor_constant_of_a_player_changes_anything(coarse, offset, unit):
    game = random_table(0)
    changed = NormalFormGame(game.payoffs * [[[1.0]], [[unit]]] + [[[-3.0]], [[offset]]])
    expected, found = BEST[coarse](game, 1), BEST[coarse](changed, 1)
    accuracy = 1e-9 + 1e-14 * abs(offset) / unit
    assert (found.value - offset) / unit == pytest.approx(expected.value, abs=accuracy)
    np.testing.assert_allclose(found.distribution, expected.distribution, atol=accuracy)


@each_kind
def test_what_highs_leaves_outside_is_repaired(coarse, monkeypatch):
    monkeypatch.setattr(scipy.optimize, "linprog", careless(scipy.optimize.linprog))
    found = BEST[coarse](games.chicken())
    check_best(games.chicken(), found, coarse, size=10.0)
    assert found.bound >= 10.5


# What is refused


PENNIES, TAILS = games.matching_pennies(), np.array([0.0, 1.0])


def test_what_is_no_joint_strategy_or_weight_is_not_added_not_even_in_part():
    play = CorrelatedPlay(PENNIES)
    with pytest.raises(ValueError, match="add a joint strategy first"):
        play.gap("ce")
    play.add([np.array([1.0, 0.0])] * 2)
    for profile, weight in ([TAILS] * 2, np.nan), ([TAILS, np.array([5.0, 0.0])], 1.0):
        with pytest.raises(ValueError, match=r"weight must be|profile\[1\] must be"):
            play.add(profile, weight)
    assert play.total_weight == 1.0
    np.testing.assert_array_equal(play.gaps("cce"), [0.0, 2.0])


test_other_distributions_games_and_objectives_are_refused = refusals(
    (ce_gaps, (PENNIES, np.ones((2, 3)) / 6), ValueError, r"shape \(2, 2\), got"),
    (cce_gaps, (PENNIES, [[1.5, -0.5], [0.0, 0.0]]), ValueError, "nonnegative and sum to one"),
    (ce_gaps, (games.kuhn_poker(), [[1.0]]), TypeError, "game must be a NormalFormGame, .*Corr"),
    (BEST[False], (PENNIES, "wellfare"), ValueError, "objective must be 'welfare', a player or"),
    (BEST[True], (PENNIES, 2), ValueError, "player must be one of 0 to 1, got 2"),
    (BEST[True], (PENNIES, [1.0]), ValueError, r"objective must have shape .* got \(1,\)"),
    call=lambda function, arguments: function(*arguments),
)
