"""What is proven about regret, iteration by iteration, with its constants: one table of bounds."""

import math
from functools import partial

import naive
import numpy as np
import pytest
from factories import ADVERSARIES, PREDICTIVE, play
from test_recurrences import FAMILY, FLOOR, RATE, NaiveNormalHedge

import regretkit as rk
from regretkit import minimizers as m
from regretkit.sets import Ball, Box, Simplices

ROUNDING = 1.0 + 1e-12
against_everyone = pytest.mark.parametrize("adversary", ADVERSARIES)


def gains(strategies, utilities):
    """Return u_t - <u_t, x_t> for every iteration, shape (iterations, actions)."""
    return utilities - (utilities * strategies).sum(axis=1, keepdims=True)


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


# Bounds for each iteration, of strategies x and utilities u


def potential(x, u):
    return np.sqrt(squares(gains(x, u)))


def textbook(x, u):
    n, t = u.shape[1], np.arange(1, len(u) + 1)
    return np.maximum.accumulate(ranges(u)) * np.sqrt(n * t)


def hedge_bound(rate, errors, x, u):
    """Return ln n / rate + rate / 8 sum_t of the squared range of the errors."""
    return math.log(u.shape[1]) / rate + rate * (ranges(errors(u)) ** 2).cumsum() / 8


def euclidean_bound(rate, factor, errors, x, u):
    """Return (1 - 1/n) / (2 rate) + factor rate sum_t |error_t|^2."""
    return (1.0 - 1.0 / u.shape[1]) / (2.0 * rate) + factor * rate * squares(errors(u))


def tsallis_bound(q, rate, x, u):
    """Return D / rate + rate / (2 q) sum_t sum_a l_t[a]^2 x_t[a]^(2 - q), with losses l_t >= 0."""
    losses, n = u.max(axis=1, keepdims=True) - u, u.shape[1]
    diameter = (n ** (1.0 - q) - 1.0) / (1.0 - q)
    return diameter / rate + rate / (2.0 * q) * squares(losses * x ** (1.0 - q / 2.0))


def worst_case(x, u):
    """Return sqrt(ln n sum_t s_t^2) + s (4/3 ln n + 2), with ranges s_t, the widest being s."""
    log, s = math.log(u.shape[1]), ranges(u)
    second = np.maximum.accumulate(s) * (4.0 / 3.0 * log + 2.0)
    return np.sqrt(log * (s**2).cumsum()) + second


def half_normal(x, u):
    """Return sqrt(2 c (1 + ln n)), with the c of NormalHedge's potential, and its limit."""
    R, log = gains(x, u).cumsum(axis=0), 1.0 + math.log(u.shape[1])
    scales, reference = np.full(len(u), np.inf), NaiveNormalHedge(u.shape[1])
    for t in np.flatnonzero(R.max(axis=1) > 0.0):
        reference.R = R[t].tolist()
        scales[t] = reference.scale()
    limit = 3.0 * (ranges(u) ** 2).cumsum() * log
    return np.sqrt(np.minimum(2.0 * scales * log, limit))


FTRL, OMD = m.FollowTheRegularizedLeader, m.OnlineMirrorDescent
EUCLIDEAN, RATES = {"regularizer": m.Euclidean()}, (0.03, 0.3, 3.0)
BOUNDS = [
    *((rk.RegretMatching, bound) for bound in (potential, textbook)),
    *((rk.RegretMatchingPlus, bound) for bound in (potential, textbook)),
    *((partial(rk.Hedge, rate=r), partial(hedge_bound, r, centered)) for r in RATES),
    *((partial(rk.OptimisticHedge, rate=r), partial(hedge_bound, r, missed)) for r in RATES),
    *(
        (partial(rule, **EUCLIDEAN, rate=r), partial(euclidean_bound, r, 0.5, centered))
        for rule in (FTRL, OMD)
        for r in RATES
    ),
    *(
        (
            partial(rule, **EUCLIDEAN, rate=0.3, optimistic=True),
            partial(euclidean_bound, 0.3, 1.0, missed),
        )
        for rule in (FTRL, OMD)
    ),
    (
        partial(m.ReflectedMirrorDescent, **EUCLIDEAN, rate=0.3),
        partial(euclidean_bound, 0.3, 0.5, missed),
    ),
    *(
        (partial(FTRL, regularizer=m.Tsallis(q=q), rate=0.3), partial(tsallis_bound, q, 0.3))
        for q in (0.5, 0.9)
    ),
    (m.AdaHedge, worst_case),
    (m.NormalHedge, half_normal),
]


@pytest.mark.deep_beyond(120)
@against_everyone
@pytest.mark.parametrize(("make", "bound"), BOUNDS)
@pytest.mark.parametrize("actions", [1, 2, 5, 10])
def test_regret_keeps_its_bound(make, bound, adversary, actions):
    generator = np.random.default_rng(actions)
    x, u = play(make(actions), ADVERSARIES[adversary], 200, generator)

    near = 1e-12 * (bound is not potential)
    regret = gains(x, u).cumsum(axis=0).max(axis=1)
    assert (regret <= bound(x, u) * ROUNDING + near).all()


def test_a_constant_strategy_violates_the_bounds_which_are_not_vacuous():
    # The same adversary makes a player who ignores it pay 0.7 in every iteration.
    punishing = ADVERSARIES["best-reply-punishing"]
    x, u = play(rk.Point([1.0, 0.0, 0.0]), punishing, 300, np.random.default_rng(3))

    regret = gains(x, u).sum(axis=0).max()
    history = list(zip(x.tolist(), u.tolist(), strict=True))
    assert regret == pytest.approx(210.0) == naive.external_regret(history)
    assert regret > potential(x, u)[-1]


WEIGHTS = {  # of predictions
    "asymmetric": lambda player: player.weight,
    "adaptive": lambda player: player.prediction_weight[0],
    "stable": lambda player: player.prediction_weight[0],
}
MAKERS = {name: make for name, (make, _) in FAMILY.items()} | PREDICTIVE


@pytest.mark.deep_beyond(37)
@against_everyone
@pytest.mark.parametrize("told", [False, True])
@pytest.mark.parametrize(
    "name", ["prm", "prm+", "asymmetric", "adaptive", "norm", "stable", "smooth", "extragradient"]
)
def test_regret_is_paid_for_by_wrong_predictions(name, adversary, told):
    # max_a R_T[a]  <=  sqrt( floor + sum_t |g_t - v_t|^2 ), v as far as it was believed; and
    # max_a R_T[a]  <=  (1 - 1/n) / (2 rate) + rate / 2 sum_t |g_t - v_t|^2  for the smooth ones.
    generator = np.random.default_rng(8)
    player, regrets, budget = MAKERS[name](4), np.zeros(4), 0.0
    last, expected = np.full(4, 0.25), np.zeros(4)

    for t in range(1, 201):
        if told:
            expected = generator.normal(size=4)
            player.expect_utility(expected)
        weight = WEIGHTS.get(name, lambda player: 1.0)(player)
        believed = weight * player.predicted_regrets
        if name in PREDICTIVE:  # not what the player says: v_t = m_t - <m_t, x_(t-1)>
            believed = expected - expected @ last
        strategy = player.next_strategy()
        utility = ADVERSARIES[adversary](strategy, t, generator)
        g = utility - utility @ strategy
        regrets += g
        budget += ((g - believed) ** 2).sum()
        player.observe_utility(utility)
        last, expected = strategy, utility

        if name in ("smooth", "extragradient"):
            bound = (1.0 - 1.0 / 4.0) / (2.0 * RATE) + RATE / 2.0 * budget
        else:
            bound = math.sqrt(budget + (4 * FLOOR**2 if name == "stable" else 0.0))
        assert regrets.max() <= bound * ROUNDING


def test_adahedge_pays_its_gap_twice_at_most_and_little_where_one_action_is_best():
    generator, player = np.random.default_rng(5), m.AdaHedge(4)

    for iteration in range(3_000):
        noise = generator.uniform(-0.5, 0.5, size=4)
        player.observe_utility(np.array([0.5, 0.0, 0.0, 0.0]) + noise)
        assert player.regrets.max() <= 2.0 * player.gaps[0] * ROUNDING + 1e-12
        if iteration == 1_000:
            early = player.gaps[0]

    assert player.gaps[0] < early + 1e-6
    assert player.regrets.max() < 5.0


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
        *((m.DiscountedRegretMatchingPlus, power) for power in (1.5, 4.0)),
        (partial(m.DiscountedRegretMatchingPlus, alpha=1.0, shift=3.0), 3.0),
        *((rk.PredictiveRegretMatchingPlus, power) for power in (0.0, 1.0, 2.0)),
        *((m.PredictiveDiscountedRegretMatchingPlus, power) for power in (1.0, 5.0)),
    ],
)
def test_rules_that_drop_negative_regret_take_growing_weights(make, power, adversary):
    # weighted R_T  <=  w_T sqrt( sum_t |g_t - v_t|^2 ),  v_t = 0 or the last g; and without
    # predictions at most (p + 1) Delta sqrt(n / T)
    x, u = play(make(4), ADVERSARIES[adversary], 300, np.random.default_rng(4))
    t, g = np.arange(1, 301), gains(x, u)
    predictive = "Predictive" in str(make)
    expected = np.vstack([np.zeros(4), g[:-1]]) * predictive

    regret = weighted_regret(x, u, power)

    assert (regret <= t**power * np.sqrt(squares(g - expected)) * ROUNDING + 1e-12).all()
    relative = (power + 1.0) * np.maximum.accumulate(ranges(u)) * np.sqrt(4.0 / t)
    assert predictive or (regret / sums(power) <= relative * ROUNDING + 1e-12).all()


@against_everyone
def test_linear_and_discounted_regret_matching_take_the_weights_that_they_learn_by(adversary):
    t, n = np.arange(1.0, 301.0), 4
    discounted = partial(rk.DiscountedRegretMatching, alpha=1.5, beta=0.0)
    for make, power, bound in [
        (rk.LinearRegretMatching, 1.0, 2.0 * np.sqrt(n / (3.0 * t))),
        (discounted, 2.0, 6.0 * (np.sqrt(n) + 1.0 / np.sqrt(t)) / np.sqrt(t)),
    ]:
        x, u = play(make(n), ADVERSARIES[adversary], 300, np.random.default_rng(7))
        delta = np.maximum.accumulate(ranges(u))
        regret = weighted_regret(x, u, power) / sums(power)
        assert (regret <= delta * bound * ROUNDING + 1e-12).all()


def test_regret_matching_may_regret_half_of_the_range_under_growing_weights():
    u = np.repeat(np.eye(2), 500, axis=0)
    found = {}
    for make in (rk.RegretMatching, rk.RegretMatchingPlus):
        x, _ = play(make(2), lambda strategy, t, generator: u[t - 1], 1_000, None)
        found[make] = weighted_regret(x, u, 1.0)[-1] / sums(1.0, 1_000)[-1]
    assert found[rk.RegretMatchingPlus] < 0.001
    assert found[rk.RegretMatching] > 0.49


# Sets


BODIES = {
    "simplex": (Simplices(4), 1.0),
    "two simplices": (Simplices([2, 2]), math.sqrt(2.0)),
    "ball": (Ball(np.zeros(4), 1.0), 1.0),
    "far ball": (Ball([0.0, 3.0, 0.0, 0.0], 1.0), 4.0),
    "box": (Box([-1.0, 0.0, 2.0, 0.0], [1.0, 3.0, 2.5, 0.0]), math.hypot(1.0, 3.0, 2.5)),
}


def from_the_middle(domain):
    """Return the largest distance of a point of a set from its canonical point."""
    if isinstance(domain, Ball):
        return domain.radius
    if isinstance(domain, Box):
        return float(np.linalg.norm(domain.high - domain.low)) / 2.0
    return math.sqrt(sum(1.0 - 1.0 / size for size in domain.sizes))


@pytest.mark.deep_beyond(40)
@against_everyone
@pytest.mark.parametrize("number", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("kind", ["conic", "gradient", "optimistic gradient"])
@pytest.mark.parametrize("name", BODIES)
def test_rules_on_any_set_keep_their_bounds(name, kind, number, adversary):
    # Conic:     |(kappa, y)| sqrt( sum_t |u_t|^2 + <u_t, x_t>^2 / kappa^2 )
    # Gradient:  D^2 / (2 rate)  +  rate / 2 sum_t |u_t|^2,  or rate sum_t |u_t - u_(t-1)|^2
    domain, reach = BODIES[name]
    optimistic = kind.startswith("optimistic")
    if kind == "conic":
        player = m.ConicBlackwell(domain, kappa=number)
    else:
        player = m.OnlineGradientDescent(domain, rate=0.2 * number, optimistic=optimistic)
    x, u = play(player, ADVERSARIES[adversary], 80, np.random.default_rng(20))

    earned = (u * x).sum(axis=1)
    if kind == "conic":
        budget = (u**2).sum() + (earned**2).sum() / number**2
        bound = math.hypot(number, reach) * math.sqrt(budget)
    else:
        error = np.diff(u, axis=0, prepend=np.zeros((1, 4))) if optimistic else u
        moving = 0.2 * number * (1.0 if optimistic else 0.5) * (error**2).sum()
        bound = from_the_middle(domain) ** 2 / (0.4 * number) + moving
    assert domain.best_response(u.sum(axis=0))[0] - earned.sum() <= bound * ROUNDING
    assert all(domain.contains(point) for point in x)
