"""The family of regret matching+: recurrences, special cases of each other, laws and bounds."""

import math
from functools import partial

import numpy as np
import pytest
from factories import ADVERSARIES, INF
from naive import add, dot, in_proportion, positive, project, regret

import regretkit as rk
from regretkit import minimizers as m
from regretkit.minimizers import Composed, Discounted, PositivePartLink
from regretkit.minimizers.contrib import HSDiscounted, NormPreserving
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
        self.t, self.Q = 1, [self.start] * actions
        self.last, self.v = [1.0 / actions] * actions, [0.0] * actions

    def play(self):
        return in_proportion(self.basis(self.v))

    def basis(self, v):
        return positive(add(self.Q, v))

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
        self.Q = positive(add(self.Q, g))


def faded(s, alpha, shift):
    return s**alpha / (s**alpha + shift)


class DiscountedPlus(Naive):
    def basis(self, v):
        return self.Q

    def update(self, g):
        self.Q = positive(add(scaled(faded(self.t - 1, 1.5, 1.5), self.Q), g))


class PredictiveDiscountedPlus(Naive):
    def basis(self, v):
        return positive(add(scaled(faded(self.t - 1, 2.3, 1.0), self.Q), v))

    def update(self, g):
        self.Q = positive(add(scaled(faded(self.t - 1, 2.3, 1.0), self.Q), g))


class Asymmetric(Naive):
    def basis(self, v):
        return positive(add(self.Q, scaled(1.0 / 3.0, v)))


class Adaptive(Naive):
    def __init__(self, actions):
        super().__init__(actions)
        self.errors, self.steps = 0.0, 0.0

    def basis(self, v):
        alpha = 5.0 if self.steps == 0.0 else min(math.sqrt(self.errors / self.steps), 5.0)
        return positive(add(self.Q, scaled(1.0 / (1.0 + alpha), v)))

    def update(self, g):
        before = self.Q
        super().update(g)
        self.errors += norm(minus(g, self.v)) ** 2
        self.steps += norm(minus(self.Q, before)) ** 2


class Smooth(Naive):
    def __init__(self, actions):
        super().__init__(actions)
        self.Q = [1.0 / actions] * actions

    def basis(self, v):
        return nearest(add(self.Q, scaled(RATE, v)))

    def update(self, g):
        self.Q = nearest(add(self.Q, scaled(RATE, g)))


class Extragradient(Smooth):
    told_only = True


class SmoothOptimistic(Smooth):
    def update(self, g):
        self.Q = add(self.basis(self.v), scaled(RATE, minus(g, self.v)))


class Stable(Naive):
    start, restarted = FLOOR, False

    def basis(self, v):
        return positive(self.Q) if self.restarted else positive(add(self.Q, v))

    def update(self, g):
        super().update(g)
        self.restarted = max(self.Q) <= FLOOR
        if self.restarted:
            self.Q = [FLOOR] * len(g)


class NormKept(Naive):
    def update(self, g):
        moved = add(self.Q, g)
        length, low, high = norm(self.Q), 0.0, 2.0 * norm(self.Q) + 2.0 * norm(moved)
        self.Q = positive(moved)
        if norm(self.Q) >= length:
            return
        for _ in range(200):
            c = (low + high) / 2
            low, high = (c, high) if norm(positive([r + c for r in moved])) < length else (low, c)
        self.Q = positive([r + high for r in moved])


class Scheduled(Naive):
    def basis(self, v):
        return positive(self.Q)

    def update(self, g):
        s, p = self.t - 1, min((self.t - 1) / HORIZON, 1.0)
        kept = [
            faded(s, 1 + 3 * p if old > 0.0 else -1 - 2 * p, 1.0) if s else 1.0 for old in self.Q
        ]
        self.Q = [k * old + new for k, old, new in zip(kept, self.Q, g, strict=True)]


# Every rule of the family, next to the same in plain Python.
FAMILY = {
    "drm+": (m.DiscountedRegretMatchingPlus, DiscountedPlus),
    "pdrm+": (m.PredictiveDiscountedRegretMatchingPlus, PredictiveDiscountedPlus),
    "asymmetric": (m.contrib.AsymmetricRegretMatchingPlus, Asymmetric),
    "adaptive": (m.contrib.AdaptiveAsymmetricRegretMatchingPlus, Adaptive),
    "smooth": (partial(m.contrib.SmoothPredictiveRegretMatchingPlus, rate=RATE), Smooth),
    "optimistic": (
        partial(m.contrib.SmoothOptimisticRegretMatchingPlus, rate=RATE),
        SmoothOptimistic,
    ),
    "extragradient": (partial(m.contrib.ExtragradientRegretMatchingPlus, rate=RATE), Extragradient),
    "stable": (partial(m.contrib.StablePredictiveRegretMatchingPlus, floor=FLOOR), Stable),
    "norm": (m.contrib.IREGPredictiveRegretMatchingPlus, NormKept),
    "scheduled": (partial(m.contrib.HSDiscountedRegretMatching, horizon=HORIZON), Scheduled),
}
MAKERS = {name: make for name, (make, _) in FAMILY.items()}
HAVE_A_UNIT = {"smooth", "optimistic", "extragradient", "stable"}

each_rule = pytest.mark.parametrize("name", FAMILY)
against_everyone = pytest.mark.parametrize("adversary", ADVERSARIES)


def utilities(player, seed, iterations=60):
    """Yield what every adversary in turn does to ``player``, who learns from it."""
    generator, adversaries = np.random.default_rng(seed), list(ADVERSARIES.values())
    for t in range(1, iterations + 1):
        utility = adversaries[t % len(adversaries)](player.next_strategy(), t, generator)
        yield utility
        player.observe_utility(utility)


def same_play(one, other, seed=1, atol=1e-12, told=None):
    """Require the same strategies of two players who see the same, and are told the same."""
    for utility in utilities(one, seed):
        if told is not None:
            one.expect_utility(told)
            other.expect_utility(told)
        np.testing.assert_allclose(one.next_strategy(), other.next_strategy(), rtol=0.0, atol=atol)
        other.observe_utility(utility)


# The recurrences


@pytest.mark.deep_beyond(20)
@each_rule
@pytest.mark.parametrize("adversary", ["random", "drifting", "bursting", "best-reply-punishing"])
@pytest.mark.parametrize("actions", [1, 2, 5])
def test_a_rule_plays_its_recurrence(name, adversary, actions):
    generator = np.random.default_rng(actions)
    player, naive = (make(actions) for make in FAMILY[name])

    for t in range(1, 81):
        strategy = player.next_strategy()
        np.testing.assert_allclose(strategy, naive.play(), atol=1e-9)
        utility = ADVERSARIES[adversary](strategy, t, generator)
        player.observe_utility(utility)
        naive.learn(utility.tolist())
        near = 1e-10 * max(1.0, np.abs(player.regrets).max())
        np.testing.assert_allclose(player.regrets, naive.Q, rtol=0.0, atol=near)


@each_rule
def test_a_rule_plays_its_recurrence_with_the_predictions_it_is_given(name):
    generator = np.random.default_rng(2)
    player, naive = (make(4) for make in FAMILY[name])

    for utility, prediction in generator.normal(size=(80, 2, 4)):
        if prediction[0] > 0.0:  # some iterations have no prediction
            player.expect_utility(prediction)
            naive.expect(prediction.tolist())
        np.testing.assert_allclose(player.next_strategy(), naive.play(), atol=1e-9)
        player.observe_utility(utility)
        naive.learn(utility.tolist())


def test_after_a_restart_no_prediction_is_believed():
    player = m.contrib.StablePredictiveRegretMatchingPlus([2, 2], floor=1.0)

    player.observe_utility([0.5, 0.5, 2.0, 0.0])
    player.expect_utility([0.0, 100.0, 0.0, 100.0])

    np.testing.assert_array_equal(player.regrets, [1.0, 1.0, 2.0, 0.0])
    np.testing.assert_array_equal(player.next_strategy(), [0.5, 0.5, 0.0, 1.0])


# Special cases of each other


@pytest.mark.parametrize(
    ("special", "plain"),
    [
        (partial(m.DiscountedRegretMatchingPlus, alpha=INF), rk.RegretMatchingPlus),
        (partial(m.DiscountedRegretMatchingPlus, shift=0.0), rk.RegretMatchingPlus),
        (partial(m.DiscountedRegretMatchingPlus, alpha=-1e9, shift=0.0), rk.RegretMatchingPlus),
        (
            partial(m.PredictiveDiscountedRegretMatchingPlus, alpha=INF),
            PRM,
        ),
        (partial(m.contrib.AsymmetricRegretMatchingPlus, weight=0.0), rk.RegretMatchingPlus),
        (partial(m.contrib.AsymmetricRegretMatchingPlus, weight=1.0), PRM),
        (partial(m.contrib.AdaptiveAsymmetricRegretMatchingPlus, limit=1e-17), PRM),
        (
            partial(
                Composed,
                accumulator=NormPreserving(),
                link=PositivePartLink(),
                predictor=m.LastUtilityPrediction(),
            ),
            m.contrib.IREGPredictiveRegretMatchingPlus,
        ),
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
    same_play(special([3, 4]), plain([3, 4]), atol=0.0)


@pytest.mark.parametrize(
    ("special", "plain"),
    [
        (partial(m.contrib.SmoothPredictiveRegretMatchingPlus, rate=1e15), PRM),
        (partial(m.contrib.StablePredictiveRegretMatchingPlus, floor=1e-200), PRM),
        (
            partial(m.contrib.HSDiscountedRegretMatching, horizon=10**15),
            partial(rk.DiscountedRegretMatching, alpha=1.0, beta=-1.0),
        ),
        (partial(m.contrib.ExtragradientRegretMatchingPlus, rate=1e15), rk.RegretMatchingPlus),
    ],
)
def test_a_rule_comes_to_another_one_in_the_limit(special, plain):
    same_play(special(4), plain(4))


@pytest.mark.parametrize(
    ("predictive", "plain"),
    [
        (
            m.PredictiveDiscountedRegretMatchingPlus,
            partial(m.DiscountedRegretMatchingPlus, alpha=2.3, shift=1.0),
        ),
        (m.contrib.AsymmetricRegretMatchingPlus, rk.RegretMatchingPlus),
        (m.contrib.AdaptiveAsymmetricRegretMatchingPlus, rk.RegretMatchingPlus),
        # The positive part of Q + g is no shorter than Q when g is orthogonal to Q.
        (m.contrib.IREGPredictiveRegretMatchingPlus, rk.RegretMatchingPlus),
        (MAKERS["smooth"], MAKERS["extragradient"]),
        (MAKERS["optimistic"], MAKERS["extragradient"]),
    ],
)
def test_expecting_nothing_turns_prediction_off(predictive, plain):
    same_play(predictive([2, 3]), plain([2, 3]), told=np.zeros(5))


def test_a_schedule_ends_at_its_horizon():
    state, g = {"regrets": np.array([4.0, -4.0])}, np.array([1.0, -1.0])

    for t in (11, 12, 500):
        late = HSDiscounted(horizon=10).update(Simplices(2), state, g, t)
        fixed = Discounted(alpha=4.0, beta=-3.0).update(Simplices(2), state, g, t)
        np.testing.assert_array_equal(late["regrets"], fixed["regrets"])


# Laws


@each_rule
def test_a_rule_over_several_blocks_is_bitwise_a_product_of_rules(name):
    sizes, make = [3, 1, 4, 3, 9], MAKERS[name]
    together, apart = make(sizes), rk.Product([make(size) for size in sizes])

    same_play(together, apart, atol=0.0)
    same_play(together, apart, atol=0.0, told=np.arange(20.0))


@pytest.mark.parametrize("exponent", [300, -300, 600, -600])
@pytest.mark.parametrize("name", sorted(FAMILY.keys() - HAVE_A_UNIT))
def test_who_is_scale_free_plays_the_same_bits_in_another_unit(name, exponent):
    player, other, unit = MAKERS[name]([3, 5]), MAKERS[name]([3, 5]), 2.0**exponent

    for t, utility in enumerate(utilities(player, seed=4)):
        if t % 3 == 0:
            player.expect_utility(utility[::-1])
            other.expect_utility(unit * utility[::-1])
        np.testing.assert_array_equal(player.next_strategy(), other.next_strategy())
        other.observe_utility(unit * utility)
    assert player.scale_free


@pytest.mark.parametrize("name", sorted(HAVE_A_UNIT))
@pytest.mark.parametrize("exponent", [20, -20])
def test_a_rate_has_the_inverse_unit_of_utility_and_a_floor_its_unit(name, exponent):
    unit = 2.0**exponent
    rate = {"floor": FLOOR * unit} if name == "stable" else {"rate": RATE / unit}
    player, other = MAKERS[name]([3, 5]), MAKERS[name].func([3, 5], **rate)

    for utility in utilities(player, seed=5):
        player.expect_utility(utility[::-1])
        other.expect_utility(unit * utility[::-1])
        np.testing.assert_array_equal(player.next_strategy(), other.next_strategy())
        other.observe_utility(unit * utility)
    assert not player.scale_free


def test_a_rule_is_scale_free_only_if_its_accumulator_is():
    smooth = Composed(3, accumulator=m.contrib.ChoppedOrthant(rate=1.0), link=PositivePartLink())

    assert not smooth.scale_free
    assert Composed(3, accumulator=NormPreserving(), link=PositivePartLink()).scale_free


@each_rule
@pytest.mark.parametrize("size", [1e-250, 1e298])
def test_very_small_and_very_large_utilities_do_no_harm(name, size):
    player = MAKERS[name]([2, 3])

    for signs in np.random.default_rng(6).choice([-1.0, 0.0, 1.0], size=(30, 5)):
        player.observe_utility(size * signs)
        player.expect_utility(-size * signs)
        assert player.domain.contains(player.next_strategy())


# Bounds


@against_everyone
@pytest.mark.parametrize("told", [False, True])
@pytest.mark.parametrize(
    "name", ["asymmetric", "adaptive", "norm", "stable", "smooth", "extragradient"]
)
def test_regret_is_paid_for_by_wrong_predictions(name, adversary, told):
    # max_a R_T[a]  <=  sqrt( floor + sum_t |g_t - v_t|^2 ), v as far as it was believed; and
    # max_a R_T[a]  <=  (1 - 1/n) / (2 rate) + rate / 2 sum_t |g_t - v_t|^2  for the smooth ones.
    generator = np.random.default_rng(8)
    player, regrets, budget = MAKERS[name](4), np.zeros(4), 0.0

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


@each_rule
def test_every_rule_finds_the_one_good_action(name):
    generator, good = np.random.default_rng(9), np.array([0.0, 0.0, 1.0, 0.0])
    player, played = MAKERS[name](4), []

    for noise in generator.normal(size=(2_000, 4)):
        played.append(player.next_strategy()[2])
        player.observe_utility(good + noise)

    assert np.mean(played[-500:]) > 0.9


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

    np.testing.assert_allclose(
        lengths, [5.0 * size, 13.0 * size], rtol=1e-3 if size < 1e-300 else 1e-15
    )
    np.testing.assert_allclose(
        total, math.hypot(5.0, 13.0) * size, rtol=1e-3 if size < 1e-300 else 1e-15
    )


def test_raising_meets_any_length():
    simplices, generator = Simplices([1, 2, 2, 7]), np.random.default_rng(12)

    for size in (1e-200, 1e-3, 1.0, 1e3, 1e200):
        vector, lengths = size * generator.normal(size=12), generator.exponential(size=4) + 1e-9
        raised = restore_norm(simplices, vector, lengths)
        np.testing.assert_allclose(norms(simplices, raised), lengths, rtol=1e-13)
        assert (raised >= 0.0).all()


# Bad input


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (partial(m.DiscountedRegretMatchingPlus, 2, alpha=math.nan), ValueError, "alpha must be"),
        (partial(m.DiscountedRegretMatchingPlus, 2, shift=-1.0), ValueError, "shift"),
        (partial(m.DiscountedRegretMatchingPlus, 2, shift=INF), ValueError, "shift must be"),
        (partial(m.PredictiveDiscountedRegretMatchingPlus, 2, alpha="1"), TypeError, "alpha must"),
        (partial(m.contrib.AsymmetricRegretMatchingPlus, 2, weight=-0.1), ValueError, "weight"),
        (
            partial(m.contrib.AsymmetricRegretMatchingPlus, 2, weight=None),
            TypeError,
            "weight must be",
        ),
        (
            partial(m.contrib.AdaptiveAsymmetricRegretMatchingPlus, 2, limit=0.0),
            ValueError,
            "limit must",
        ),
        (
            partial(m.contrib.SmoothPredictiveRegretMatchingPlus, 2, rate=0.0),
            ValueError,
            "rate must be",
        ),
        (
            partial(m.contrib.SmoothOptimisticRegretMatchingPlus, 2, rate=-1.0),
            ValueError,
            "rate must be",
        ),
        (
            partial(m.contrib.ExtragradientRegretMatchingPlus, 2, rate=INF),
            ValueError,
            "rate must be",
        ),
        (
            partial(m.contrib.StablePredictiveRegretMatchingPlus, 2, floor=0.0),
            ValueError,
            "floor must be",
        ),
        (
            partial(m.contrib.HSDiscountedRegretMatching, 2, horizon=0),
            ValueError,
            r"horizon must be .*at least 1",
        ),
        (
            partial(m.contrib.HSDiscountedRegretMatching, 2, horizon=1.5),
            TypeError,
            "horizon must be a whole",
        ),
        (partial(m.contrib.IREGPredictiveRegretMatchingPlus, 0), ValueError, "at least 1"),
        (partial(m.contrib.SmoothPredictiveRegretMatchingPlus, 2), TypeError, "rate"),
        (partial(m.contrib.HSDiscountedRegretMatching, 2), TypeError, "horizon"),
    ],
)
def test_impossible_parameters_are_refused(build, error, message):
    with pytest.raises(error, match=message):
        build()


def test_an_adaptive_step_without_a_weight_names_accumulators_that_have_one():
    adaptive = m.AdaptiveStep(m.LastUtilityPrediction())
    player = Composed(2, accumulator=m.NonNegative(), link=PositivePartLink(), predictor=adaptive)

    with pytest.raises(ValueError, match=r"such as AdaptivePredictionWeight\(\) or RestartAtFloor"):
        player.next_strategy()
