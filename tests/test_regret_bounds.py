"""What is proven about regret, iteration by iteration, with its constants."""

import math

import naive
import numpy as np
import pytest
from strategies import ADVERSARIES, MAKERS, play

import regretkit as rk

ROUNDING = 1.0 + 1e-12
against_everyone = pytest.mark.parametrize("adversary", ADVERSARIES)


def gains(strategies, utilities):
    """Return u_t - <u_t, x_t> for every iteration, shape (iterations, actions)."""
    return utilities - (utilities * strategies).sum(axis=1, keepdims=True)


def regret_by_iteration(strategies, utilities):
    return gains(strategies, utilities).cumsum(axis=0).max(axis=1)


def ranges(utilities):
    return utilities.max(axis=1) - utilities.min(axis=1)


@against_everyone
@pytest.mark.parametrize("make", [rk.RegretMatching, rk.RegretMatchingPlus])
@pytest.mark.parametrize("actions", [1, 2, 3, 10])
def test_regret_matching_keeps_its_potential_and_so_both_its_bounds(make, adversary, actions):
    # max_a R_T[a]  <=  sqrt( sum_t |g_t|^2 )  <=  Delta sqrt(n T)
    generator = np.random.default_rng(actions)
    x, u = play(make(actions), ADVERSARIES[adversary], 300, generator)

    regret = regret_by_iteration(x, u)

    potential = np.sqrt((gains(x, u) ** 2).sum(axis=1).cumsum())
    delta = np.maximum.accumulate(ranges(u))
    textbook = delta * np.sqrt(actions * np.arange(1, 301))
    assert (regret <= potential * ROUNDING).all()
    assert (potential <= textbook * ROUNDING + 1e-12).all()


@against_everyone
@pytest.mark.parametrize("make", [rk.PredictiveRegretMatching, rk.PredictiveRegretMatchingPlus])
@pytest.mark.parametrize("told", [False, True])
def test_predictive_regret_matching_pays_for_wrong_predictions_only(make, adversary, told):
    # max_a R_T[a]  <=  sqrt( sum_t |g_t - v_t|^2 ),  v_t = m_t - <m_t, x_{t-1}>
    generator = np.random.default_rng(1)
    player, regrets, budget = make(4), np.zeros(4), 0.0
    last, expected = np.full(4, 0.25), np.zeros(4)

    for t in range(1, 301):
        if told:
            expected = generator.normal(size=4)
            player.expect_utility(expected)
        strategy = player.next_strategy()
        utility = ADVERSARIES[adversary](strategy, t, generator)
        gained, predicted = utility - utility @ strategy, expected - expected @ last
        regrets += gained
        budget += (gained - predicted) @ (gained - predicted)
        player.observe_utility(utility)
        last, expected = strategy, utility

        assert regrets.max() <= math.sqrt(budget) * ROUNDING


@against_everyone
@pytest.mark.parametrize("rate", [0.03, 0.3, 3.0])
def test_hedge_keeps_its_bound(adversary, rate):
    # max_a R_T[a]  <=  ln(n) / rate + rate sum_t Delta_t^2 / 8
    generator = np.random.default_rng(2)
    x, u = play(rk.Hedge(5, rate=rate), ADVERSARIES[adversary], 300, generator)

    bound = math.log(5) / rate + rate * (ranges(u) ** 2).cumsum() / 8

    assert (regret_by_iteration(x, u) <= bound * ROUNDING).all()


def test_the_bounds_are_not_empty_somebody_who_never_learns_breaks_them():
    # The same adversary makes a player who ignores it pay 0.7 in every iteration.
    stubborn = rk.Point([1.0, 0.0, 0.0])
    punishing = ADVERSARIES["best-reply-punishing"]
    x, u = play(stubborn, punishing, 300, np.random.default_rng(3))

    assert regret_by_iteration(x, u)[-1] == pytest.approx(210.0)
    assert regret_by_iteration(x, u)[-1] > np.sqrt((gains(x, u) ** 2).sum())


@pytest.mark.parametrize("name", [name for name in MAKERS if "inf" not in name])
def test_every_leaf_finds_the_one_good_action(name):
    generator = np.random.default_rng(4)
    good = np.array([0.0, 0.0, 1.0, 0.0])

    def noisy(strategy, t, generator):
        return good + generator.normal(size=4)

    x, u = play(MAKERS[name](4), noisy, 2_000, generator)

    assert x[-500:, 2].mean() > 0.9
    assert naive.external_regret(list(zip(x.tolist(), u.tolist(), strict=True))) < 200.0


@against_everyone
def test_regret_of_the_history_is_what_regret_matching_remembers(adversary):
    player = rk.RegretMatching(4)
    x, u = play(player, ADVERSARIES[adversary], 200, np.random.default_rng(5))

    history = list(zip(x.tolist(), u.tolist(), strict=True))
    assert player.regrets.max() == pytest.approx(naive.external_regret(history), rel=1e-9, abs=1e-9)
