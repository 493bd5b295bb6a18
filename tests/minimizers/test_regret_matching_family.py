"""The family of regret matching+, and Hedges without a rate, beside the same in plain Python."""

import math
from functools import partial

import numpy as np
import pytest
from factories import ADVERSARIES, PREDICTIVE, play
from naive import add, dot, in_proportion, positive, project, regret
from scipy.optimize import brentq

import regretkit as rk
from regretkit import minimizers as m
from regretkit.minimizers import AdaHedge, NormalHedge
from regretkit.minimizers.contrib._adaptive import hypot_accumulate, restore_norm
from regretkit.minimizers.contrib._smooth import chop_orthant
from regretkit.sets import Simplices

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


class Naive:
    """Play in proportion to ``basis(v)``; v is what was told, or the last regret."""

    start = 0.0
    told_only = False

    def __init__(self, actions):
        self.t, self.R = 1, [self.start] * actions
        self.last, self.v = [1.0 / actions] * actions, [0.0] * actions

    def play(self):
        return in_proportion(self.basis(self.v))

    def basis(self, v):
        return positive(add(self.R, v))

    def expect(self, utility):
        unaided = in_proportion(self.basis([0.0] * len(utility)))
        self.v = regret(utility, unaided if self.told_only else self.last)

    def learn(self, utility):
        self.last = self.play()
        g = regret(utility, self.last)
        self.update(g)
        self.v = [0.0] * len(g) if self.told_only else g
        self.t += 1

    def update(self, g):
        self.R = positive(add(self.R, g))


def faded(s, alpha, shift):
    return s**alpha / (s**alpha + shift)


class DiscountedPlus(Naive):
    def basis(self, v):
        return self.R

    def update(self, g):
        self.R = positive(add(scaled(faded(self.t - 1, 1.5, 1.5), self.R), g))


class PredictiveDiscountedPlus(Naive):
    def basis(self, v):
        return positive(add(scaled(faded(self.t - 1, 2.3, 1.0), self.R), v))

    def update(self, g):
        self.R = positive(add(scaled(faded(self.t - 1, 2.3, 1.0), self.R), g))


class Asymmetric(Naive):
    def basis(self, v):
        return positive(add(self.R, scaled(1.0 / 3.0, v)))


class Adaptive(Naive):
    def __init__(self, actions):
        super().__init__(actions)
        self.errors, self.steps = 0.0, 0.0

    def basis(self, v):
        alpha = 5.0 if self.steps == 0.0 else min(math.sqrt(self.errors / self.steps), 5.0)
        return positive(add(self.R, scaled(1.0 / (1.0 + alpha), v)))

    def update(self, g):
        previous = self.R
        super().update(g)
        self.errors += norm(minus(g, self.v)) ** 2
        self.steps += norm(minus(self.R, previous)) ** 2


class Smooth(Naive):
    def __init__(self, actions):
        super().__init__(actions)
        self.R = [1.0 / actions] * actions

    def basis(self, v):
        return nearest(add(self.R, scaled(RATE, v)))

    def update(self, g):
        self.R = nearest(add(self.R, scaled(RATE, g)))


class Extragradient(Smooth):
    told_only = True


class SmoothOptimistic(Smooth):
    def update(self, g):
        self.R = add(self.basis(self.v), scaled(RATE, minus(g, self.v)))


class Stable(Naive):
    start, restarted = FLOOR, False

    def basis(self, v):
        return positive(self.R) if self.restarted else positive(add(self.R, v))

    def update(self, g):
        super().update(g)
        self.restarted = max(self.R) <= FLOOR
        if self.restarted:
            self.R = [FLOOR] * len(g)


class NormKept(Naive):
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


class Scheduled(Naive):
    def basis(self, v):
        return positive(self.R)

    def update(self, g):
        s, p = self.t - 1, min((self.t - 1) / HORIZON, 1.0)
        kept = [
            faded(s, 1 + 3 * p if old > 0.0 else -1 - 2 * p, 1.0) if s else 1.0 for old in self.R
        ]
        self.R = [k * old + new for k, old, new in zip(kept, self.R, g, strict=True)]


# Every rule of the family, next to the same in plain Python.
FAMILY = {
    "drm+": (m.DiscountedRegretMatchingPlus, DiscountedPlus),
    "pdrm+": (m.PredictiveDiscountedRegretMatchingPlus, PredictiveDiscountedPlus),
    "asymmetric": (m.contrib.AsymmetricRegretMatchingPlus, Asymmetric),
    "adaptive": (m.contrib.AdaptiveAsymmetricRegretMatchingPlus, Adaptive),
    "smooth": (partial(m.contrib.SmoothPredictiveRegretMatchingPlus, rate=RATE), Smooth),
    "smooth optimistic": (
        partial(m.contrib.SmoothOptimisticRegretMatchingPlus, rate=RATE),
        SmoothOptimistic,
    ),
    "extragradient": (partial(m.contrib.ExtragradientRegretMatchingPlus, rate=RATE), Extragradient),
    "stable": (partial(m.contrib.StablePredictiveRegretMatchingPlus, floor=FLOOR), Stable),
    "norm": (m.contrib.IREGPredictiveRegretMatchingPlus, NormKept),
    "scheduled": (partial(m.contrib.HSDiscountedRegretMatching, horizon=HORIZON), Scheduled),
}
MAKERS = {name: make for name, (make, _) in FAMILY.items()}
against_everyone = pytest.mark.parametrize("adversary", ADVERSARIES)


def test_after_a_restart_no_prediction_is_believed():
    player = m.contrib.StablePredictiveRegretMatchingPlus([2, 2], floor=1.0)

    player.observe_utility([0.5, 0.5, 2.0, 0.0])
    player.expect_utility([0.0, 100.0, 0.0, 100.0])

    np.testing.assert_array_equal(player.regrets, [1.0, 1.0, 2.0, 0.0])
    np.testing.assert_array_equal(player.next_strategy(), [0.5, 0.5, 0.0, 1.0])


def test_a_schedule_ends_at_its_horizon():
    regrets, g = np.array([4.0, -4.0]), np.array([1.0, -1.0])
    late = m.contrib.HSDiscountedRegretMatching(2, horizon=10)
    fixed = rk.DiscountedRegretMatching(2, alpha=4.0, beta=-3.0)

    for t in (11, 12, 500):
        np.testing.assert_array_equal(
            late.accumulate(regrets, g, t), fixed.accumulate(regrets, g, t)
        )


# Bounds


WEIGHTS = {  # of predictions
    "asymmetric": lambda player: player.weight,
    "adaptive": lambda player: player.prediction_weight[0],
    "stable": lambda player: player.prediction_weight[0],
}


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
    player, regrets, budget = (MAKERS | PREDICTIVE)[name](4), np.zeros(4), 0.0
    last, expected = np.full(4, 0.25), np.zeros(4)

    for t in range(1, 301):
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
        assert regrets.max() <= bound * (1.0 + 1e-12)


@against_everyone
def test_the_norm_never_falls_and_the_shift_is_the_smallest_that_keeps_it(adversary):
    generator, player = np.random.default_rng(10), m.contrib.IREGPredictiveRegretMatchingPlus(5)
    raised = 0

    for t in range(1, 301):
        strategy, previous = player.next_strategy(), player.regrets.copy()
        utility = ADVERSARIES[adversary](strategy, t, generator)
        moved = previous + player.simplices.regret(utility, strategy)
        player.observe_utility(utility)
        length, kept = np.linalg.norm(player.regrets), np.linalg.norm(previous)

        assert length >= kept * (1.0 - 1e-14)
        if np.linalg.norm(np.maximum(moved, 0.0)) < kept * (1.0 - 1e-12):
            raised += 1
            assert length == pytest.approx(kept, rel=1e-13)
            shifts = (player.regrets - moved)[player.regrets > 0.0]
            assert shifts.min() > 0.0
            np.testing.assert_allclose(shifts, shifts[0], rtol=1e-9, atol=1e-13 * kept)
    assert raised > 0 or adversary not in ("random", "bursting")


# What blocks have in common


def test_lifting_finds_the_nearest_point_however_large_the_numbers():
    simplices, generator = Simplices([1, 2, 5]), np.random.default_rng(11)

    for size in (1e-9, 0.3, 1.0, 10.0):
        for vector in size * generator.normal(size=(50, 8)):
            lifted = chop_orthant(simplices, vector)
            for block in map(simplices.block, range(3)):
                np.testing.assert_allclose(
                    lifted[block], nearest(vector[block].tolist()), atol=1e-12
                )
    np.testing.assert_array_equal(
        chop_orthant(simplices, np.full(8, -1e300)), [1.0, 0.5, 0.5, 0.2, 0.2, 0.2, 0.2, 0.2]
    )


@pytest.mark.parametrize("size", [0.0, 1e-320, 1e-200, 1.0, 1e200, 1e300])
def test_norms_neither_overflow_nor_vanish(size):
    vector = np.array([3.0, -4.0, 0.0, 5.0, 12.0])

    with np.errstate(all="raise", under="ignore"):
        lengths = Simplices([3, 2]).norm(size * vector)
        total = hypot_accumulate(lengths[:1], lengths[1:])

    near = 1e-3 if size < 1e-300 else 1e-15
    np.testing.assert_allclose(lengths, [5.0 * size, 13.0 * size], rtol=near)
    np.testing.assert_allclose(total, math.hypot(5.0, 13.0) * size, rtol=near)


def test_raising_meets_any_length():
    simplices, generator = Simplices([1, 2, 2, 7]), np.random.default_rng(12)

    for size in (1e-200, 1e-3, 1.0, 1e3, 1e200):
        vector, lengths = size * generator.normal(size=12), generator.exponential(size=4) + 1e-9
        raised = restore_norm(simplices, vector, lengths)
        np.testing.assert_allclose(simplices.norm(raised), lengths, rtol=1e-13)
        assert (raised >= 0.0).all()


# Hedges without a rate


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


@against_everyone
@pytest.mark.parametrize("actions", [2, 5])
def test_adahedge_keeps_its_bounds(adversary, actions):
    # max_a R[a]  <=  2 G   and   <=  sqrt( ln(n) sum_t s_t^2 ) + s (4/3 ln(n) + 2)
    generator, player = np.random.default_rng(4), AdaHedge(actions)
    squares = widest = 0.0

    for t in range(1, 401):
        utility = ADVERSARIES[adversary](player.next_strategy(), t, generator)
        player.observe_utility(utility)
        squares, widest = squares + np.ptp(utility) ** 2, max(widest, np.ptp(utility))
        worst_case = math.sqrt(math.log(actions) * squares)
        worst_case += widest * (4.0 / 3.0 * math.log(actions) + 2.0)

        assert player.regrets.max() <= 2.0 * player.gaps[0] * (1.0 + 1e-12) + 1e-12
        assert player.regrets.max() <= worst_case


def test_adahedge_has_bounded_regret_where_one_action_is_best():
    generator, player = np.random.default_rng(5), AdaHedge(4)

    for iteration in range(4_000):
        player.observe_utility(
            np.array([0.5, 0.0, 0.0, 0.0]) + generator.uniform(-0.5, 0.5, size=4)
        )
        if iteration == 1_000:
            early = player.gaps[0]

    assert player.gaps[0] < early + 1e-6
    assert player.regrets.max() < 5.0


@pytest.mark.deep_beyond(5)
@against_everyone
@pytest.mark.parametrize("actions", [2, 5])
def test_no_regret_of_normalhedge_is_above_what_its_potential_allows(adversary, actions):
    # max_a R[a]  <=  sqrt( 2 c (1 + ln n) ), and c stays below 3/2 sum_t s_t^2 and a constant
    x, u = play(NormalHedge(actions), ADVERSARIES[adversary], 300, np.random.default_rng(6))
    reference = NaiveNormalHedge(actions)

    regrets = (u - (u * x).sum(axis=1, keepdims=True)).cumsum(axis=0)
    squares = (np.ptp(u, axis=1) ** 2).cumsum()
    for R, square in zip(regrets, squares, strict=True):
        if R.max() > 0.0:
            reference.R = R.tolist()
            potential = 2.0 * reference.scale() * (1.0 + math.log(actions))
            assert R.max() <= math.sqrt(potential) * (1.0 + 1e-12)
        assert R.max() <= math.sqrt(3.0 * square * (1.0 + math.log(actions)))


def test_a_million_actions_are_one_block_like_any_other():
    utility = np.random.default_rng(8).normal(size=1_000_000)

    for make in (AdaHedge, NormalHedge):
        player = make(1_000_000)
        player.observe_utility(utility)
        assert player.next_strategy().sum() == pytest.approx(1.0, abs=1e-9)
        assert player.next_strategy().argmax() == utility.argmax()
