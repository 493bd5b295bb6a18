"""Wrappers: the regrets that they promise, what is played of a minimizer, and what is found out."""

import itertools
import math
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
    Restart,
)
from regretkit.evaluation import RegretLedger
from regretkit.play import Last, SelfPlay, Simultaneous
from regretkit.sets import Simplices

SEEDS = pytest.mark.parametrize("seed", range(4))
each_leaf = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


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


@SEEDS
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


def test_chance_goes_on_over_a_restart():
    player, played = Restart(Trembling(3), every=1), []

    for _ in range(10):
        played.append(tuple(player.next_strategy()))
        player.observe_utility([1.0, 0.0, 0.0])

    assert len(set(played)) == 10
    np.testing.assert_array_equal(player.minimizer.weight, Trembling(3).weight)


# Discount


@pytest.mark.deep_beyond(7)
@SEEDS
@each_leaf
@pytest.mark.parametrize("weight", [float, squared], ids=["linear", "quadratic"])
def test_what_is_small_is_the_weighted_regret(seed, make, weight):
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


@pytest.mark.parametrize("name", PREDICTIVE)
def test_a_prediction_has_the_weight_of_the_coming_iteration(name):
    make = PREDICTIVE[name]
    player, alone = Discount(make(3), weight=squared), make(3)
    u, m = np.random.default_rng(4).normal(size=(2, 3))

    player.observe_utility(u)
    player.expect_utility(m)

    alone.observe_utility(u)
    alone.expect_utility(4.0 * m)
    np.testing.assert_array_equal(player.next_strategy(), alone.next_strategy())


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
    moved = wrap(rk.RegretMatching(3)).on_domain(rk.Simplices([2, 3]))

    assert moved.domain == rk.Simplices([2, 3])
    same_play(moved, wrap(rk.RegretMatching([2, 3])))
    assert wrap(PlayedOn(rk.Simplices(1), np.ones(1))).on_domain(rk.Simplices(2)) is None


def learn(player, seed, iterations=30):
    generator, played = np.random.default_rng(seed), []
    for utility, prediction in generator.normal(size=(iterations, 2, player.dimension)):
        if utility[0] > 0.5:
            player.expect_utility(prediction)
        played.append(player.next_strategy())
        player.observe_utility(utility)
    return np.array(played)


# Exploration


@pytest.mark.parametrize("name", MAKERS)
def test_exploring_mixes_what_the_minimizer_plays_with_uniform(name):
    alone, exploring = MAKERS[name]([2, 3]), ExplorationMixture(MAKERS[name]([2, 3]), gamma=0.2)

    x, y = learn(alone, 1), learn(exploring, 1)

    np.testing.assert_allclose(y, 0.8 * x + 0.2 * Simplices([2, 3]).uniform(), atol=1e-15)


@pytest.mark.parametrize("seed", range(3))
def test_exp3_is_hedge_exploring_and_keeps_its_bound(seed):
    # Rewards g in [0, 1]: expected regret <= (e - 1) gamma T + n ln n / gamma, rate = gamma / n.
    # Seen through <x, g>, it is kept by the mean over 40 runs with room for chance.
    n, T, runs = 3, 2_000, 40
    gamma = math.sqrt(n * math.log(n) / ((math.e - 1.0) * T))
    generator = np.random.default_rng(seed)
    player = ExplorationMixture(rk.Hedge([n] * runs, rate=gamma / n), gamma=gamma)
    rewards = generator.binomial(1, [0.5, 0.6, 0.4], size=(T, n)).astype(float)
    earned = np.zeros(runs)

    for reward in rewards:
        x = player.next_strategy().reshape(runs, n)
        chosen = (x.cumsum(axis=1) < generator.random((runs, 1))).sum(axis=1).clip(0, n - 1)
        estimates = np.zeros((runs, n))
        taken = np.arange(runs), chosen
        estimates[taken] = reward[chosen] / x[taken]  # the estimator owns the weight
        assert estimates.max() <= n / gamma + 1e-9
        earned += x @ reward
        player.observe_utility(estimates.ravel())

    regret = rewards.sum(axis=0).max() - earned.mean()
    assert 0.0 < regret < 2.0 * math.sqrt((math.e - 1.0) * n * math.log(n) * T)


class PlayedOn(rk.RegretMinimizer):
    """Plays one strategy of a tree for ever."""

    def __init__(self, tree, strategy):
        self.domain, self.strategy = tree, strategy

    def _propose(self):
        return self.strategy.copy()

    def _learn(self, utility, strategy):
        pass


# The average as the iterate


@pytest.mark.parametrize("name", MAKERS)
def test_in_self_play_the_last_iterate_is_the_average_that_there_would_have_been(name):
    game = rk.matrix_game(np.random.default_rng(6).normal(size=(3, 4)))
    plain = [MAKERS[name](n) for n in (3, 4)]
    wrapped = [LastIterateByAveraging(MAKERS[name](n)) for n in (3, 4)]

    averages = SelfPlay(game, plain, order=Simultaneous()).run(60).average
    iterates = SelfPlay(game, wrapped, order=Simultaneous(), averaging=Last()).run(60).average

    for iterate, average in zip(iterates, averages, strict=True):
        np.testing.assert_allclose(iterate, average, atol=1e-9)


def test_it_tells_the_minimizer_what_it_expects_without_averages():
    first, second = LastIterateByAveraging(MAKERS["prm+"](3)), MAKERS["prm+"](3)
    last = np.zeros(3)

    for t, (utility, prediction) in enumerate(np.random.default_rng(7).normal(size=(20, 2, 3))):
        first.expect_utility(prediction)
        second.expect_utility((t + 1) * prediction - t * last)
        np.testing.assert_allclose(
            first.minimizer.next_strategy(), second.next_strategy(), atol=1e-12
        )
        first.observe_utility(utility)
        second.observe_utility((t + 1) * utility - t * last)
        last = utility


# A circuit that teaches its parts, or plays, other than it says breaks its regret bound
