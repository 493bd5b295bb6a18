"""What is proven about regret, iteration by iteration, with its constants."""

import math
from functools import partial

import naive
import numpy as np
import pytest
from factories import ADVERSARIES, play

import regretkit as rk
from regretkit import minimizers

ROUNDING = 1.0 + 1e-12
RM = [rk.RegretMatching, rk.RegretMatchingPlus]
against_everyone = pytest.mark.parametrize("adversary", ADVERSARIES)


def gains(strategies, utilities):
    """Return u_t - <u_t, x_t> for every iteration, shape (iterations, actions)."""
    return utilities - (utilities * strategies).sum(axis=1, keepdims=True)


def regret_by_iteration(strategies, utilities):
    return gains(strategies, utilities).cumsum(axis=0).max(axis=1)


def ranges(utilities):
    return utilities.max(axis=1) - utilities.min(axis=1)


def squares(vectors):
    """Return the sums of squared lengths up to every iteration."""
    return (vectors**2).sum(axis=1).cumsum()


def centered(utilities):
    return utilities - utilities.mean(axis=1, keepdims=True)


def missed(utilities):
    """Return by how much the last utility misses each, up to what all actions have in common."""
    return centered(np.diff(utilities, axis=0, prepend=np.zeros((1, utilities.shape[1]))))


def potential(x, u):
    return np.sqrt(squares(gains(x, u)))


def textbook(x, u):
    n, t = u.shape[1], np.arange(1, len(u) + 1)
    return np.maximum.accumulate(ranges(u)) * np.sqrt(n * t)


def hedge_bound(rate, x, u):
    return math.log(u.shape[1]) / rate + rate * (ranges(u) ** 2).cumsum() / 8


def euclidean_bound(rate, factor, errors, x, u):
    """Return (1 - 1/n) / (2 rate) + factor rate sum_t |error_t|^2."""
    return (1.0 - 1.0 / u.shape[1]) / (2.0 * rate) + factor * rate * squares(errors(u))


def tsallis_bound(q, rate, x, u):
    """Return D / rate + rate / (2 q) sum_t sum_a l_t[a]^2 x_t[a]^(2 - q), with losses l_t >= 0."""
    losses, n = u.max(axis=1, keepdims=True) - u, u.shape[1]
    diameter = (n ** (1.0 - q) - 1.0) / (1.0 - q)
    return diameter / rate + rate / (2.0 * q) * squares(losses * x ** (1.0 - q / 2.0))


FTRL, OMD = minimizers.FollowTheRegularizedLeader, minimizers.OnlineMirrorDescent
EUCLIDEAN = {"regularizer": minimizers.Euclidean()}
BOUNDS = [
    *((rule, bound) for rule in RM for bound in (potential, textbook)),
    *((partial(rk.Hedge, rate=r), partial(hedge_bound, r)) for r in (0.03, 0.3, 3.0)),
    *(
        (partial(rule, **EUCLIDEAN, rate=r), partial(euclidean_bound, r, 0.5, centered))
        for rule in (FTRL, OMD)
        for r in (0.03, 0.3, 3.0)
    ),
    *(
        (
            partial(rule, **EUCLIDEAN, rate=0.3, optimistic=True),
            partial(euclidean_bound, 0.3, 1.0, missed),
        )
        for rule in (FTRL, OMD)
    ),
    (
        partial(minimizers.ReflectedMirrorDescent, **EUCLIDEAN, rate=0.3),
        partial(euclidean_bound, 0.3, 0.5, missed),
    ),
    *(
        (
            partial(FTRL, regularizer=minimizers.Tsallis(q=q), rate=0.3),
            partial(tsallis_bound, q, 0.3),
        )
        for q in (0.5, 0.9)
    ),
]


@pytest.mark.deep_beyond(155)
@against_everyone
@pytest.mark.parametrize(("make", "bound"), BOUNDS)
@pytest.mark.parametrize("actions", [1, 2, 5, 10])
def test_regret_keeps_its_bound(make, bound, adversary, actions):
    generator = np.random.default_rng(actions)
    x, u = play(make(actions), ADVERSARIES[adversary], 200, generator)

    near = 1e-12 if bound is textbook else 0.0
    assert (regret_by_iteration(x, u) <= bound(x, u) * ROUNDING + near).all()


def test_the_bounds_are_not_vacuous_a_constant_strategy_violates_them():
    # The same adversary makes a player who ignores it pay 0.7 in every iteration.
    stubborn = rk.Point([1.0, 0.0, 0.0])
    punishing = ADVERSARIES["best-reply-punishing"]
    x, u = play(stubborn, punishing, 300, np.random.default_rng(3))

    assert regret_by_iteration(x, u)[-1] == pytest.approx(210.0)
    assert regret_by_iteration(x, u)[-1] > np.sqrt((gains(x, u) ** 2).sum())


@against_everyone
def test_regret_of_the_history_is_that_of_regret_matching(adversary):
    player = rk.RegretMatching(4)
    x, u = play(player, ADVERSARIES[adversary], 200, np.random.default_rng(5))

    history = list(zip(x.tolist(), u.tolist(), strict=True))
    assert player.regrets.max() == pytest.approx(naive.external_regret(history), rel=1e-9, abs=1e-9)


# Weights


def weighted_regret(strategies, utilities, power):
    """Return max_a sum_t t^p g_t[a] for every T."""
    weights = np.arange(1.0, len(utilities) + 1.0)[:, None] ** power
    return (weights * gains(strategies, utilities)).cumsum(axis=0).max(axis=1)


def sums(power, count=300):
    return (np.arange(1.0, count + 1.0) ** power).cumsum()


@pytest.mark.deep_beyond(19)
@against_everyone
@pytest.mark.parametrize(
    ("make", "power"),
    [
        *((rk.RegretMatchingPlus, power) for power in (0.0, 0.5, 1.0, 2.0, 7.5)),
        *((minimizers.DiscountedRegretMatchingPlus, power) for power in (1.5, 4.0)),
        (partial(minimizers.DiscountedRegretMatchingPlus, alpha=1.0, shift=3.0), 3.0),
    ],
)
def test_rules_that_drop_negative_regret_take_growing_weights(make, power, adversary):
    # weighted R_T  <=  w_T sqrt( sum_t |g_t|^2 ),  and so at most (p + 1) Delta sqrt(n / T)
    x, u = play(make(4), ADVERSARIES[adversary], 300, np.random.default_rng(4))
    t = np.arange(1, 301)

    regret = weighted_regret(x, u, power)

    potential = t**power * np.sqrt((gains(x, u) ** 2).sum(axis=1).cumsum())
    relative = (power + 1.0) * np.maximum.accumulate(ranges(u)) * np.sqrt(4.0 / t)
    assert (regret <= potential * ROUNDING).all()
    assert (regret / sums(power) <= relative * ROUNDING + 1e-12).all()


@against_everyone
@pytest.mark.parametrize(
    ("make", "powers"),
    [
        (rk.PredictiveRegretMatchingPlus, (0.0, 1.0, 2.0)),
        (minimizers.PredictiveDiscountedRegretMatchingPlus, (1.0, 5.0)),
    ],
)
def test_predictive_rules_that_drop_negative_regret_take_growing_weights(make, powers, adversary):
    # weighted R_T  <=  w_T sqrt( sum_t |g_t - v_t|^2 ),  v_t = u_(t-1) - <u_(t-1), x_(t-1)>
    x, u = play(make(4), ADVERSARIES[adversary], 300, np.random.default_rng(5))
    g = gains(x, u)
    predicted = np.vstack([np.zeros(4), g[:-1]])
    budget = np.sqrt(((g - predicted) ** 2).sum(axis=1).cumsum())

    for power in powers:
        bound = np.arange(1, 301) ** power * budget
        assert (weighted_regret(x, u, power) <= bound * ROUNDING + 1e-12).all()


@pytest.mark.deep_beyond(19)
@against_everyone
@pytest.mark.parametrize("make", [rk.RegretMatching, rk.RegretMatchingPlus])
@pytest.mark.parametrize("power", [0.0, -0.25, -0.5, -1.0])
def test_weights_that_fall_are_paid_for_by_the_regret_of_every_iteration(make, power, adversary):
    # weighted R_T  <=  Delta sqrt(n) sum_t w_t (sqrt(t) - sqrt(t - 1))
    x, u = play(make(4), ADVERSARIES[adversary], 300, np.random.default_rng(6))
    t = np.arange(1.0, 301.0)

    bound = np.maximum.accumulate(ranges(u)) * 2.0
    bound *= (t**power * (np.sqrt(t) - np.sqrt(t - 1.0))).cumsum()

    assert (weighted_regret(x, u, power) <= bound * ROUNDING + 1e-12).all()


def test_below_a_power_of_minus_one_the_first_iteration_is_never_forgotten():
    u = np.zeros((100_000, 2))
    u[0, 0] = 1.0
    for make in (rk.RegretMatching, rk.RegretMatchingPlus):
        x = np.vstack([make(2).next_strategy(), np.zeros((len(u) - 1, 2))])
        shares = {p: weighted_regret(x, u, p)[-1] / sums(p, len(u))[-1] for p in (-1.5, -1.0, 0.0)}
        assert shares[-1.5] > 0.5 / 2.6124  # zeta(3 / 2): any number of iterations
        assert shares[0.0] < 1e-5 < shares[-1.0] < 0.05


@against_everyone
def test_linear_and_discounted_regret_matching_take_the_weights_that_they_learn_by(adversary):
    t, n = np.arange(1.0, 301.0), 4
    x, u = play(rk.LinearRegretMatching(n), ADVERSARIES[adversary], 300, np.random.default_rng(7))
    delta = np.maximum.accumulate(ranges(u))
    bound = 2.0 * delta * np.sqrt(n / (3.0 * t))
    assert (weighted_regret(x, u, 1.0) / sums(1.0) <= bound * ROUNDING + 1e-12).all()

    make = partial(rk.DiscountedRegretMatching, alpha=1.5, beta=0.0)
    x, u = play(make(n), ADVERSARIES[adversary], 300, np.random.default_rng(8))
    delta = np.maximum.accumulate(ranges(u))
    bound = 6.0 * delta * (np.sqrt(n) + 1.0 / np.sqrt(t)) / np.sqrt(t)
    assert (weighted_regret(x, u, 2.0) / sums(2.0) <= bound * ROUNDING + 1e-12).all()


def test_regret_matching_may_regret_half_of_the_range_under_growing_weights():
    u = np.repeat(np.eye(2), 500, axis=0)
    found = {}
    for make in (rk.RegretMatching, rk.RegretMatchingPlus):
        x, _ = play(make(2), lambda strategy, t, generator: u[t - 1], 1_000, None)
        found[make] = weighted_regret(x, u, 1.0)[-1] / sums(1.0, 1_000)[-1]
    assert found[rk.RegretMatchingPlus] < 0.001
    assert found[rk.RegretMatching] > 0.49
