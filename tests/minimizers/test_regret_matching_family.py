"""The family of regret matching+: recurrences, special cases of each other, laws and bounds."""

import math
from functools import partial

import numpy as np
import pytest
from factories import ADVERSARIES, PREDICTIVE
from naive import add, dot, in_proportion, positive, project, regret

import regretkit as rk
from regretkit import minimizers as m
from regretkit.minimizers import Discounted
from regretkit.minimizers.contrib import HSDiscounted
from regretkit.minimizers.contrib._adaptive import hypot_accumulate, norms, restore_norm
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
        before = self.R
        super().update(g)
        self.errors += norm(minus(g, self.v)) ** 2
        self.steps += norm(minus(self.R, before)) ** 2


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
    state, g = {"regrets": np.array([4.0, -4.0])}, np.array([1.0, -1.0])

    for t in (11, 12, 500):
        late = HSDiscounted(horizon=10).update(Simplices(2), state, g, t)
        fixed = Discounted(alpha=4.0, beta=-3.0).update(Simplices(2), state, g, t)
        np.testing.assert_array_equal(late["regrets"], fixed["regrets"])


# Bounds


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

    for t in range(1, 301):
        if told:
            player.expect_utility(generator.normal(size=4))
        believed = player.predictor.predict(player.state)
        utility = ADVERSARIES[adversary](player.next_strategy(), t, generator)
        g = utility - utility @ player.next_strategy()
        regrets += g
        smooth = name in ("smooth", "extragradient")
        budget += ((g - believed / (RATE if smooth else 1.0)) ** 2).sum()
        player.observe_utility(utility)

        if smooth:
            bound = (1.0 - 1.0 / 4.0) / (2.0 * RATE) + RATE / 2.0 * budget
        else:
            bound = math.sqrt(budget + (4 * FLOOR**2 if name == "stable" else 0.0))
        assert regrets.max() <= bound * (1.0 + 1e-12)


@against_everyone
def test_the_norm_never_falls_and_the_shift_is_the_smallest_that_keeps_it(adversary):
    generator, player = np.random.default_rng(10), m.contrib.IREGPredictiveRegretMatchingPlus(5)
    raised = 0

    for t in range(1, 301):
        strategy, before = player.next_strategy(), player.regrets.copy()
        utility = ADVERSARIES[adversary](strategy, t, generator)
        moved = before + player.simplices.regret(utility, strategy)
        player.observe_utility(utility)
        length, kept = np.linalg.norm(player.regrets), np.linalg.norm(before)

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
        lengths = norms(Simplices([3, 2]), size * vector)
        total = hypot_accumulate(lengths[:1], lengths[1:])

    near = 1e-3 if size < 1e-300 else 1e-15
    np.testing.assert_allclose(lengths, [5.0 * size, 13.0 * size], rtol=near)
    np.testing.assert_allclose(total, math.hypot(5.0, 13.0) * size, rtol=near)


def test_raising_meets_any_length():
    simplices, generator = Simplices([1, 2, 2, 7]), np.random.default_rng(12)

    for size in (1e-200, 1e-3, 1.0, 1e3, 1e200):
        vector, lengths = size * generator.normal(size=12), generator.exponential(size=4) + 1e-9
        raised = restore_norm(simplices, vector, lengths)
        np.testing.assert_allclose(norms(simplices, raised), lengths, rtol=1e-13)
        assert (raised >= 0.0).all()
