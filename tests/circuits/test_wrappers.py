"""Wrappers: the regrets that they bound, their strategies, and predictions."""

import itertools
from functools import partial

import numpy as np
import pytest
from factories import MAKERS, PREDICTIVE, meets, regret, same_play
from test_user_rules import Trembling

import regretkit as rk
from regretkit.circuits import (
    Discount,
    ExplorationMixture,
    LastIterateByAveraging,
    Regularized,
    Restart,
)
from regretkit.evaluation import RegretLedger
from regretkit.play import Last, SelfPlay, Simultaneous
from regretkit.sets import Simplices

each_leaf = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
each_predictive = pytest.mark.parametrize("make", PREDICTIVE.values(), ids=PREDICTIVE)


def squared(iteration):
    return float(iteration) ** 2


# Restart


@each_leaf
def test_a_restarted_minimizer_plays_each_period_like_a_new_one(make):
    player = Restart(make([2, 3]), every=7)
    for t, (x, u) in enumerate(meets(player, seed=0)):
        if t % 7 == 0:
            new = make([2, 3])
        np.testing.assert_array_equal(x, new.next_strategy())
        new.observe_utility(u)


@pytest.mark.parametrize("seed", range(4))
def test_the_ledger_adds_up_the_regrets_of_the_periods(seed):
    player = Restart(rk.RegretMatching(4), every=10)
    list(meets(player, seed, 7))  # the ledger begins in the middle of a period
    ledger = RegretLedger(player, strict=True)

    history = list(meets(player, seed, 45))

    proven = ledger.regret_bounds()["top"]
    (periods,) = proven.also
    cuts = [0, 3, 13, 23, 33, 43, 45]
    expected = sum(regret(player.domain, history[a:b]) for a, b in itertools.pairwise(cuts))
    assert periods.bound == pytest.approx(expected, rel=1e-9)
    assert periods.regret == pytest.approx(regret(player.domain, history), rel=1e-9, abs=1e-9)
    assert proven.regret == periods.regret < periods.bound


def test_random_generators_are_not_restarted():
    player, played = Restart(Trembling(3), every=1), []
    for _ in range(10):
        played.append(tuple(player.next_strategy()))
        player.observe_utility([1.0, 0.0, 0.0])
    assert len(set(played)) == 10
    np.testing.assert_array_equal(player.minimizer.weight, Trembling(3).weight)


# Discount


@pytest.mark.deep_beyond(7)
@pytest.mark.parametrize("seed", range(2))
@each_leaf
@pytest.mark.parametrize("weight", [float, squared], ids=["linear", "quadratic"])
def test_the_weighted_regret_is_that_of_the_minimizer(seed, make, weight):
    inner, alone = make([2, 3]), make([2, 3])
    player, weighted = Discount(inner, weight=weight), []

    for t, (x, u) in enumerate(meets(player, seed), start=1):
        if t == 6:
            ledger = RegretLedger(player, strict=True)
        np.testing.assert_array_equal(x, alone.next_strategy())
        weighted.append((x, weight(t) * u))
        alone.observe_utility(weight(t) * u)

    expected, proven = regret(player.domain, weighted[5:]), ledger.regret_bounds()["top"]
    assert proven.exact
    assert proven.bound == ledger.external(inner) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert proven.regret == pytest.approx(expected, rel=1e-9, abs=1e-9)


@each_predictive
def test_a_prediction_has_the_weight_of_the_coming_iteration(make):
    player, alone = Discount(make(3), weight=squared), make(3)
    u, m = np.random.default_rng(4).normal(size=(2, 3))
    for observes, expects, one in ((u, m, player), (u, 4.0 * m, alone)):
        one.observe_utility(observes)
        one.expect_utility(expects)
    np.testing.assert_array_equal(player.next_strategy(), alone.next_strategy())


# Exploration


@pytest.mark.deep_beyond(8)
@pytest.mark.parametrize("reference", [None, [1.0, 0.0, 0.0, 0.5, 0.5]], ids=["uniform", "given"])
@each_leaf
def test_exploring_mixes_the_minimizer_s_strategy_with_a_point(make, reference):
    player = ExplorationMixture(make([2, 3]), gamma=0.2, reference=reference)
    alone, point = make([2, 3]), Simplices([2, 3]).uniform() if reference is None else reference
    ledger = RegretLedger(player, strict=True)
    for x, u in meets(player, seed=1):
        expected = 0.8 * alone.next_strategy() + 0.2 * np.array(point)
        np.testing.assert_allclose(x, expected, atol=1e-15)
        alone.observe_utility(u)
    assert ledger.regret_bounds()["top"].exact


# Changed utilities


@each_leaf
def test_the_minimizer_learns_changed_utilities_and_the_reference_moves(make):
    player = Regularized(make([2, 3]), lambda u, x, r: 2.0 * u - 0.5 * (x - r), every=4)
    alone, reference = make([2, 3]), make([2, 3]).next_strategy()
    for t, (x, u) in enumerate(meets(player, seed=2), 1):
        np.testing.assert_allclose(x, alone.next_strategy(), atol=1e-12)
        alone.observe_utility(2.0 * u - 0.5 * (x - reference))
        reference = x if t % 4 == 0 else reference
    np.testing.assert_array_equal(player.reference, reference)


def test_costs_of_distance_move_the_equilibrium_of_matching_pennies_as_computed():
    # Maximize x'Ay - mu |x|^2 and so for y: at the center for any mu, and anywhere for u alone.
    game = rk.matrix_game([[1.0, -1.0], [-1.0, 1.0]])
    players = [Regularized(rk.RegretMatchingPlus(2), lambda u, x, r: u - 0.5 * x) for _ in "xy"]
    players[0].observe_utility([1.0, 0.0])
    run = SelfPlay(game, players, averaging=Last()).run(2_000)
    for strategy in run.average:
        np.testing.assert_allclose(strategy, 0.5, atol=1e-3)


@each_predictive
def test_a_prediction_is_changed_at_the_reference(make):
    first, second = Regularized(make(3), lambda u, x, r: u - x), make(3)
    for utility, prediction in np.random.default_rng(8).normal(size=(20, 2, 3)):
        second.expect_utility(prediction - first.reference)
        first.expect_utility(prediction)
        x = second.next_strategy()
        np.testing.assert_allclose(first.next_strategy(), x, atol=1e-12)
        first.observe_utility(utility)
        second.observe_utility(utility - x)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"change": 3}, TypeError, "callable"),
        ({"change": lambda u, x, r: u, "every": 0}, ValueError, "every must be"),
    ],
)
def test_a_change_is_a_function_and_a_period_at_least_one(arguments, error, message):
    with pytest.raises(error, match=message):
        Regularized(rk.RegretMatching(2), **arguments)


# The average as the iterate


@pytest.mark.deep_beyond(4)
@each_leaf
def test_in_self_play_the_last_iterate_is_the_average_that_there_would_have_been(make):
    game = rk.matrix_game(np.random.default_rng(6).normal(size=(3, 4)))
    plain = [make(n) for n in (3, 4)]
    wrapped = [LastIterateByAveraging(make(n)) for n in (3, 4)]

    averages = SelfPlay(game, plain, order=Simultaneous()).run(60).average
    iterates = SelfPlay(game, wrapped, order=Simultaneous(), averaging=Last()).run(60).average

    for iterate, average in zip(iterates, averages, strict=True):
        np.testing.assert_allclose(iterate, average, atol=1e-9)


@each_predictive
def test_it_tells_the_minimizer_what_it_expects_without_averages(make):
    first, second = LastIterateByAveraging(make(3)), make(3)
    last = np.zeros(3)

    for t, (utility, prediction) in enumerate(np.random.default_rng(7).normal(size=(20, 2, 3))):
        first.expect_utility(prediction)
        second.expect_utility((t + 1) * prediction - t * last)
        played = first.minimizer.next_strategy()
        np.testing.assert_allclose(played, second.next_strategy(), atol=1e-12)
        first.observe_utility(utility)
        second.observe_utility((t + 1) * utility - t * last)
        last = utility


# All of them


@pytest.mark.parametrize(
    "wrap",
    [
        partial(Restart, every=7),
        partial(Discount, weight=float),
        partial(ExplorationMixture, gamma=0.1),
        LastIterateByAveraging,
    ],
)
def test_a_wrapper_plays_over_other_simplices_as_its_minimizer_does(wrap):
    moved = wrap(rk.RegretMatching(3)).on_domain(Simplices([2, 3]))
    assert moved.domain == Simplices([2, 3])
    same_play(moved, wrap(rk.RegretMatching([2, 3])))
    assert wrap(rk.Point([1.0])).on_domain(Simplices(2)) is None
