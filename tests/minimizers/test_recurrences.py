"""Rules over simplices are their published recurrences, and special cases of each other."""

import math
from functools import partial

import numpy as np
import pytest
from factories import ADVERSARIES, INF, LEAVES, PREDICTIVE, same_play
from naive import (
    DiscountedRegretMatching,
    LinearRegretMatching,
    PredictiveRegretMatchingPlus,
    RegretMatching,
    RegretMatchingPlus,
    add,
    dot,
    in_proportion,
    positive,
    project,
    regret,
)
from refusals import refusals
from scipy.optimize import brentq

import regretkit as rk
from regretkit import minimizers as m
from regretkit.minimizers import Entropy, contrib

RATE, FLOOR, HORIZON = 0.3, 0.7, 25
PRM = rk.PredictiveRegretMatchingPlus


# The rules once more, over one simplex, in plain Python


def scaled(factor, numbers):
    return [factor * number for number in numbers]


def minus(left, right):
    return add(left, scaled(-1.0, right))


def nearest(numbers):
    """Return the nearest point that is nowhere negative and sums to one or more."""
    return positive(numbers) if sum(positive(numbers)) >= 1.0 else project(numbers)


def norm(numbers):
    return math.sqrt(dot(numbers, numbers))


def faded(s, alpha, shift):
    return s**alpha / (s**alpha + shift)


class DiscountedPlus(RegretMatchingPlus):
    alpha, shift = 1.5, 1.5

    def basis(self, v):
        return add(scaled(faded(self.t - 1, self.alpha, self.shift), self.R), v)

    def update(self, g):
        self.R = positive(self.basis(g))


class PredictiveDiscountedPlus(DiscountedPlus):
    predictive, alpha, shift = True, 2.3, 1.0


class PredictiveLinear(LinearRegretMatching):
    predictive = True

    def basis(self, v):
        return add(self.R, scaled(self.t, v))


class Asymmetric(PredictiveRegretMatchingPlus):
    def basis(self, v):
        return add(self.R, scaled(1.0 / 3.0, v))


class Adaptive(PredictiveRegretMatchingPlus):
    errors = steps = 0.0

    def basis(self, v):
        alpha = 5.0 if self.steps == 0.0 else min(math.sqrt(self.errors / self.steps), 5.0)
        return add(self.R, scaled(1.0 / (1.0 + alpha), v))

    def update(self, g):
        previous = self.R
        super().update(g)
        self.errors += norm(minus(g, self.v)) ** 2
        self.steps += norm(minus(self.R, previous)) ** 2


class Smooth(RegretMatching):
    predictive = True

    def __init__(self, actions):
        super().__init__(actions)
        self.R = [1.0 / actions] * actions

    def basis(self, v):
        return nearest(add(self.R, scaled(RATE, v)))

    def update(self, g):
        self.R = self.basis(g)


class Extragradient(Smooth):
    predictive = False

    def expect(self, utility):
        self.v = regret(utility, in_proportion(self.R))


class SmoothOptimistic(Smooth):
    def update(self, g):
        self.R = add(self.basis(self.v), scaled(RATE, minus(g, self.v)))


class Stable(PredictiveRegretMatchingPlus):
    start, restarted = FLOOR, False

    def basis(self, v):
        return self.R if self.restarted else add(self.R, v)

    def update(self, g):
        super().update(g)
        self.restarted = max(self.R) <= FLOOR
        if self.restarted:
            self.R = [FLOOR] * len(g)


class NormKept(PredictiveRegretMatchingPlus):
    def update(self, g):
        moved = add(self.R, g)
        length, low, high = norm(self.R), 0.0, 2.0 * norm(self.R) + 2.0 * norm(moved)
        self.R = positive(moved)
        if norm(self.R) >= length:
            return
        for _ in range(200):
            c = (low + high) / 2
            low, high = (c, high) if norm(positive([r + c for r in moved])) < length else (low, c)
        self.R = positive([r + high for r in moved])


class Scheduled(DiscountedRegretMatching):
    def update(self, g):
        p = min((self.t - 1) / HORIZON, 1.0)
        self.alpha, self.beta = 1 + 3 * p, -1 - 2 * p
        super().update(g)


class VolatilityAdaptive:
    """Listing 5 of arXiv:2602.16928v2, for one information set."""

    def __init__(self, actions):
        self.R, self.m, self.t = [0.0] * actions, 0.0, 0
        self.x = [1.0 / actions] * actions

    def play(self):
        return self.x

    def learn(self, utility):
        g, iteration = regret(utility, self.x), self.t
        self.t += 1
        size = max(abs(r) for r in g)
        self.m = size if iteration == 0 else 0.1 * size + 0.9 * self.m
        v = min(1.0, self.m / 2.0)
        up, down = (self.t**e / (self.t**e + 1.0) for e in (1.5 - 0.5 * v, -0.1 - 0.5 * v))
        boosted = [1.1 * r if r > 0.0 else r for r in g]
        kept = [r * (up if r >= 0.0 else down) for r in self.R]
        self.R = [max(-20.0, r) for r in add(kept, boosted)]
        optimism = (1.0 - 0.5 * v) / (1.0 + iteration / 100.0)
        kept = [r * (up if r >= 0.0 else down) for r in self.R]
        self.x = in_proportion([r**1.5 for r in positive(add(kept, scaled(optimism, boosted)))])


class NaiveAdaHedge:
    """The published rule: losses, and a mix loss M, for one simplex."""

    def __init__(self, actions):
        self.L = [0.0] * actions
        self.gap = 0.0

    def mix(self):
        n, minimum = len(self.L), min(self.L)
        if self.gap == 0.0 or n == 1:
            leaders = [float(loss == minimum) for loss in self.L]
            return [one / sum(leaders) for one in leaders], minimum
        rate = math.log(n) / self.gap
        weights = [math.exp(-rate * (loss - minimum)) for loss in self.L]
        x = [weight / sum(weights) for weight in weights]
        return x, minimum - math.log(sum(weights) / n) / rate

    def play(self):
        return self.mix()[0]

    def learn(self, utility):
        x, previous = self.mix()
        lost = -dot(x, utility)
        self.L = [loss - u for loss, u in zip(self.L, utility, strict=True)]
        self.gap += max(0.0, lost - (self.mix()[1] - previous))


class NaiveNormalHedge:
    def __init__(self, actions):
        self.R = [0.0] * actions

    def scale(self):
        """Return c, the one number for which exp(R^2 / 2c) averages to e."""
        squares = [r * r for r in positive(self.R)]

        def excess(b):
            return (
                sum(math.exp(b * square / max(squares)) for square in squares) / len(squares)
                - math.e
            )

        b = brentq(excess, 0.5, 2.0 + math.log(len(squares)), xtol=1e-15, rtol=1e-15)
        return max(squares) / (2.0 * b)

    def play(self):
        if max(self.R) <= 0.0:
            return [1.0 / len(self.R)] * len(self.R)
        c = self.scale()
        return in_proportion(
            [r / c * math.exp((r * r - max(self.R) ** 2) / (2.0 * c)) for r in positive(self.R)]
        )

    def learn(self, utility):
        self.R = add(self.R, regret(utility, self.play()))


# Every rule of the family, next to the same in plain Python.
FAMILY = {
    "drm+": (m.DiscountedRegretMatchingPlus, DiscountedPlus),
    "pdrm+": (m.PredictiveDiscountedRegretMatchingPlus, PredictiveDiscountedPlus),
    "optimistic linear": (partial(rk.LinearRegretMatching, optimistic=True), PredictiveLinear),
    "asymmetric": (contrib.AsymmetricRegretMatchingPlus, Asymmetric),
    "adaptive": (contrib.AdaptiveAsymmetricRegretMatchingPlus, Adaptive),
    "smooth": (partial(contrib.SmoothPredictiveRegretMatchingPlus, rate=RATE), Smooth),
    "smooth optimistic": (
        partial(contrib.SmoothOptimisticRegretMatchingPlus, rate=RATE),
        SmoothOptimistic,
    ),
    "extragradient": (partial(contrib.ExtragradientRegretMatchingPlus, rate=RATE), Extragradient),
    "stable": (partial(contrib.StablePredictiveRegretMatchingPlus, floor=FLOOR), Stable),
    "norm": (contrib.IREGPredictiveRegretMatchingPlus, NormKept),
    "scheduled": (partial(contrib.HSDiscountedRegretMatching, horizon=HORIZON), Scheduled),
    "volatility": (contrib.VolatilityAdaptiveRegretMatching, VolatilityAdaptive),
    "adahedge": (m.AdaHedge, NaiveAdaHedge),
    "normalhedge": (m.NormalHedge, NaiveNormalHedge),
}


TWINS = LEAVES | FAMILY
WITH_PREDICTIONS = [name for name in FAMILY if "hedge" not in name and name != "volatility"]


def atol_of(name):
    return 1e-11 if name in LEAVES else 1e-8 if "hedge" in name else 1e-9


# The recurrences


@pytest.mark.deep_beyond(55)
@pytest.mark.parametrize("name", TWINS)
@pytest.mark.parametrize("adversary", ["random", "drifting", "bursting", "best-reply-punishing"])
@pytest.mark.parametrize("actions", [1, 2, 5, 20])
def test_a_rule_plays_its_recurrence(name, adversary, actions):
    generator = np.random.default_rng(actions)
    player, naive = (make(actions) for make in TWINS[name])
    tight = name in LEAVES and adversary != "best-reply-punishing"  # which leaves small differences

    for t in range(1, 81):
        strategy = player.next_strategy()
        np.testing.assert_allclose(strategy, naive.play(), atol=atol_of(name))
        utility = ADVERSARIES[adversary](strategy, t, generator)
        player.observe_utility(utility)
        naive.learn(utility.tolist())
        if hasattr(naive, "R"):
            maximum = np.abs(player.regrets).max()
            near = 1e-12 * maximum if tight else 1e-10 * max(1.0, maximum)
            np.testing.assert_allclose(player.regrets, naive.R, rtol=0.0, atol=near)


@pytest.mark.parametrize("name", [*PREDICTIVE, *WITH_PREDICTIONS])
def test_a_rule_plays_its_recurrence_with_the_predictions_it_is_given(name):
    player, naive = (make(4) for make in TWINS[name])

    for utility, prediction in np.random.default_rng(2).normal(size=(80, 2, 4)):
        if prediction[0] > 0.0:  # some iterations have no prediction
            player.expect_utility(prediction)
            naive.expect(prediction.tolist())
        np.testing.assert_allclose(player.next_strategy(), naive.play(), atol=atol_of(name))
        player.observe_utility(utility)
        naive.learn(utility.tolist())


# Special cases of each other


@pytest.mark.parametrize(
    ("special", "plain"),
    [
        (partial(rk.DiscountedRegretMatching, alpha=INF, beta=INF), rk.RegretMatching),
        (partial(rk.DiscountedRegretMatching, alpha=INF, beta=-INF), rk.RegretMatchingPlus),
        (partial(rk.RegretMatching, optimistic=True), rk.PredictiveRegretMatching),
        (partial(rk.RegretMatchingPlus, optimistic=True), PRM),
        (partial(rk.Hedge, rate=2.0, optimistic=True), partial(rk.OptimisticHedge, rate=2.0)),
        (
            partial(m.DiscountedRegretMatchingPlus, alpha=2.3, shift=1.0, optimistic=True),
            m.PredictiveDiscountedRegretMatchingPlus,
        ),
        (partial(m.DiscountedRegretMatchingPlus, alpha=INF), rk.RegretMatchingPlus),
        (partial(m.DiscountedRegretMatchingPlus, shift=0.0), rk.RegretMatchingPlus),
        (partial(m.DiscountedRegretMatchingPlus, alpha=-1e9, shift=0.0), rk.RegretMatchingPlus),
        (partial(m.PredictiveDiscountedRegretMatchingPlus, alpha=INF), PRM),
        (partial(contrib.AsymmetricRegretMatchingPlus, weight=0.0), rk.RegretMatchingPlus),
        (partial(contrib.AsymmetricRegretMatchingPlus, weight=1.0), PRM),
        (partial(contrib.AdaptiveAsymmetricRegretMatchingPlus, limit=1e-17), PRM),
        (
            partial(m.DiscountedRegretMatchingPlus, shift=1.0),
            partial(rk.DiscountedRegretMatching, beta=-INF),
        ),
        (
            partial(m.DiscountedRegretMatchingPlus, alpha=-INF),
            partial(rk.DiscountedRegretMatching, alpha=-INF, beta=-INF),
        ),
    ],
)
def test_a_rule_is_bitwise_another_one_with_these_parameters(special, plain):
    same_play(special([3, 4]), plain([3, 4]), iterations=100)


@pytest.mark.parametrize(
    ("special", "plain"),
    [
        (partial(contrib.SmoothPredictiveRegretMatchingPlus, rate=1e15), PRM),
        (partial(contrib.StablePredictiveRegretMatchingPlus, floor=1e-200), PRM),
        (
            partial(contrib.HSDiscountedRegretMatching, horizon=10**15),
            partial(rk.DiscountedRegretMatching, alpha=1.0, beta=-1.0),
        ),
        (partial(contrib.ExtragradientRegretMatchingPlus, rate=1e15), rk.RegretMatchingPlus),
    ],
)
def test_a_rule_comes_to_another_one_in_the_limit(special, plain):
    same_play(special(4), plain(4), atol=1e-12)


def test_discounting_after_adding_as_in_the_paper_plays_the_same():
    rng, rule, total = np.random.default_rng(1), rk.DiscountedRegretMatching(4), np.zeros(4)
    for t in range(1, 51):
        positive = np.maximum(total, 0.0)
        paper = positive / positive.sum() if positive.any() else np.full(4, 0.25)
        np.testing.assert_allclose(rule.next_strategy(), paper, rtol=0.0, atol=1e-13)
        utility = rng.normal(size=4)
        rule.observe_utility(utility)
        total += utility - utility @ paper
        total *= np.where(total > 0.0, t**1.5 / (t**1.5 + 1.0), 0.5)


# How regrets add up


def test_after_a_restart_no_prediction_is_believed():
    player = contrib.StablePredictiveRegretMatchingPlus([2, 2], floor=1.0)

    player.observe_utility([0.5, 0.5, 2.0, 0.0])
    player.expect_utility([0.0, 100.0, 0.0, 100.0])

    np.testing.assert_array_equal(player.regrets, [1.0, 1.0, 2.0, 0.0])
    np.testing.assert_array_equal(player.next_strategy(), [0.5, 0.5, 0.0, 1.0])


def discounted(alpha, beta, t):
    rule = rk.DiscountedRegretMatching(2, alpha=alpha, beta=beta)
    return rule.accumulate(np.array([4.0, -4.0]), np.zeros(2), t).tolist()


def test_nothing_is_discounted_before_the_second_iteration_unless_all_is():
    for exponent in (-5.0, 0.0, 3.0, INF):
        assert discounted(exponent, exponent, t=1) == [4.0, -4.0]
    assert discounted(-INF, -INF, t=1) == [0.0, 0.0]
    # One so strong that it overflows is its limit.
    assert discounted(-1e6, 1e6, t=3) == [0.0, -4.0]


# Refusals: one for each kind of mistake


FTRL, OMD, MMD = m.FollowTheRegularizedLeader, m.OnlineMirrorDescent, m.MagneticMirrorDescent


test_a_rule_with_impossible_parameters_is_refused = refusals(
    (rk.Hedge, {"rate": 0.0}, ValueError, "rate must be a finite number above 0"),
    (rk.Hedge, {"rate": 10**400}, ValueError, "rate must be a finite number above 0"),
    (rk.OptimisticHedge, {"rate": "1"}, TypeError, "rate must be a number"),
    (rk.DiscountedRegretMatching, {"alpha": math.nan}, ValueError, "alpha must be"),
    (m.DiscountedRegretMatchingPlus, {"shift": -1.0}, ValueError, "shift"),
    (contrib.AsymmetricRegretMatchingPlus, {"weight": INF}, ValueError, "weight must be a finite"),
    (contrib.StablePredictiveRegretMatchingPlus, {"floor": 0.0}, ValueError, "floor must be"),
    (contrib.HSDiscountedRegretMatching, {"horizon": 0}, ValueError, "a whole number, at least 1"),
    (contrib.HSDiscountedRegretMatching, {"horizon": 1.5}, TypeError, "a whole number"),
    (contrib.SmoothPredictiveRegretMatchingPlus, {}, TypeError, "rate"),
    (OMD, {"regularizer": Entropy(), "rate": 1.0, "optimistic": 1}, TypeError, "True or False"),
    (FTRL, {"regularizer": Entropy, "rate": 1.0}, TypeError, r"such as Entropy\(\)"),
    (MMD, {"rate": 1.0, "temperature": 0.1, "magnet": [1.0, 0.0]}, ValueError, "every action"),
    (MMD, {"rate": 1.0, "temperature": 0.1, "magnet": [1.0]}, ValueError, "must have shape"),
    call=lambda rule, arguments: rule(2, **arguments),
)


test_what_cannot_be_a_part_is_refused_when_it_is_built = refusals(
    (lambda: rk.RegretMatching(0), ValueError, "each at least 1"),
    (lambda: rk.RegretMatching("three"), TypeError, "sizes must be a sequence"),
    (lambda: rk.BestResponse(3), TypeError, "domain must be a StrategySet"),
    (lambda: rk.Point([math.nan]), ValueError, "point must be finite"),
    (lambda: m.Tsallis(q=1.0), ValueError, "q must be strictly between 0 and 1"),
    (lambda: m.DilatedMirrorDescent(3, rate=0.1), TypeError, "tree must be a DecisionTree"),
    (lambda: m.ResponseBasedApproachability("a"), TypeError, "sizes must be a sequence"),
)
