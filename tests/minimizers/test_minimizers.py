"""Rules over simplices are their published recurrences, and special cases of each other."""

import math
from functools import partial

import numpy as np
import pytest
from factories import ADVERSARIES, INF, LEAVES, PREDICTIVE, same_play, train
from refusals import refusals
from test_regret_matching_family import FAMILY, NaiveAdaHedge, NaiveNormalHedge

import regretkit as rk
from regretkit import minimizers as m
from regretkit.minimizers import Entropy, Tsallis, contrib
from regretkit.sets import Hull, Simplices, Singleton

PRM = rk.PredictiveRegretMatchingPlus
TWINS = LEAVES | FAMILY
TWINS |= {"adahedge": (m.AdaHedge, NaiveAdaHedge), "normalhedge": (m.NormalHedge, NaiveNormalHedge)}


def atol_of(name):
    return 1e-11 if name in LEAVES else 1e-8 if "hedge" in name else 1e-9


# The recurrences


@pytest.mark.deep_beyond(51)
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


@pytest.mark.parametrize("name", [*PREDICTIVE, *FAMILY])
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


def test_discounting_by_one_and_one_plays_as_linear_regret_matching():
    discounted = rk.DiscountedRegretMatching(4, alpha=1.0, beta=1.0)
    linear = rk.LinearRegretMatching(4)

    for t, utility in enumerate(np.random.default_rng(7).normal(size=(80, 4)), start=1):
        discounted.observe_utility(utility)
        linear.observe_utility(utility)
        np.testing.assert_allclose(discounted.next_strategy(), linear.next_strategy(), atol=1e-11)
        np.testing.assert_allclose(t * discounted.regrets, linear.regrets, rtol=1e-9, atol=1e-9)


def test_an_exponent_of_zero_halves_what_is_not_positive():
    player = train(rk.DiscountedRegretMatching(6, alpha=INF, beta=0.0), np.random.default_rng(8))
    previous = player.regrets

    player.observe_utility(np.zeros(6))

    assert previous.min() < 0.0 < previous.max()
    np.testing.assert_array_equal(player.regrets, np.where(previous > 0.0, previous, previous / 2))


# How regrets add up


@pytest.mark.parametrize(
    "rule",
    [
        rk.RegretMatching,
        rk.RegretMatchingPlus,
        rk.LinearRegretMatching,
        *(
            partial(rk.DiscountedRegretMatching, alpha=alpha, beta=beta)
            for alpha, beta in ((1.5, 0.0), (INF, -INF), (-INF, INF), (2.3, -1.0))
        ),
        m.DiscountedRegretMatchingPlus,
        partial(m.OnlineMirrorDescent, regularizer=m.Euclidean(), rate=0.3),
        partial(m.MagneticMirrorDescent, rate=0.3, temperature=1.0),
        contrib.IREGPredictiveRegretMatchingPlus,
        partial(contrib.SmoothPredictiveRegretMatchingPlus, rate=0.3),
    ],
    ids=str,
)
def test_accumulating_and_linking_change_nothing_that_they_are_given(rule):
    generator = np.random.default_rng(16)
    regrets, regret, player = generator.normal(size=4), generator.normal(size=4), rule(4)
    copies = regrets.copy(), regret.copy()

    for made in (player.accumulate(regrets, regret, 3), player.link(regrets)):
        made += 1.0

    np.testing.assert_array_equal(regrets, copies[0])
    np.testing.assert_array_equal(regret, copies[1])


def discounted(alpha, beta, t):
    rule = rk.DiscountedRegretMatching(2, alpha=alpha, beta=beta)
    return rule.accumulate(np.array([4.0, -4.0]), np.zeros(2), t).tolist()


def test_nothing_is_discounted_before_the_second_iteration_unless_all_is():
    for exponent in (-5.0, 0.0, 3.0, INF):
        assert discounted(exponent, exponent, t=1) == [4.0, -4.0]
    assert discounted(-INF, -INF, t=1) == [0.0, 0.0]
    # One so strong that it overflows is its limit.
    assert discounted(-1e6, 1e6, t=3) == [0.0, -4.0]


def test_a_linear_rule_counts_its_prediction_as_often_as_what_it_learns():
    player, regrets, last = rk.LinearRegretMatching(3, optimistic=True), np.zeros(3), np.zeros(3)

    for t, utility in enumerate(np.random.default_rng(3).normal(size=(30, 3)), start=1):
        positive = np.maximum(regrets + t * last, 0.0)
        expected = positive / positive.sum() if positive.any() else np.full(3, 1 / 3)
        np.testing.assert_allclose(player.next_strategy(), expected, atol=1e-12)
        last = utility - utility @ expected
        regrets = regrets + t * last
        player.observe_utility(utility)


# Refusals


FTRL, OMD, MMD = m.FollowTheRegularizedLeader, m.OnlineMirrorDescent, m.MagneticMirrorDescent
SEGMENT = Hull([Singleton([0.0]), Singleton([1.0])])
PROJECT = "domain must be a StrategySet with a method project"


test_a_rule_with_impossible_parameters_is_refused = refusals(
    (rk.Hedge, {"rate": 0.0}, ValueError, "rate must be a finite number above 0"),
    (rk.Hedge, {"rate": INF}, ValueError, "rate must be a finite number above 0"),
    (rk.Hedge, {"rate": 10**400}, ValueError, "rate must be a finite number above 0"),
    (rk.OptimisticHedge, {"rate": "1"}, TypeError, "rate must be a number"),
    (rk.DiscountedRegretMatching, {"alpha": math.nan}, ValueError, "alpha must be"),
    (rk.DiscountedRegretMatching, {"beta": None}, TypeError, "beta must be a number"),
    (m.DiscountedRegretMatchingPlus, {"alpha": math.nan}, ValueError, "alpha must be"),
    (m.DiscountedRegretMatchingPlus, {"shift": -1.0}, ValueError, "shift"),
    (m.DiscountedRegretMatchingPlus, {"shift": INF}, ValueError, "shift must be"),
    (m.PredictiveDiscountedRegretMatchingPlus, {"alpha": "1"}, TypeError, "alpha must"),
    (contrib.AsymmetricRegretMatchingPlus, {"weight": -0.1}, ValueError, "weight must be a fin"),
    (contrib.AsymmetricRegretMatchingPlus, {"weight": None}, TypeError, "weight must be"),
    (contrib.AdaptiveAsymmetricRegretMatchingPlus, {"limit": 0.0}, ValueError, "limit must"),
    (contrib.SmoothPredictiveRegretMatchingPlus, {"rate": 0.0}, ValueError, "rate must be"),
    (contrib.SmoothPredictiveRegretMatchingPlus, {}, TypeError, "rate"),
    (contrib.SmoothOptimisticRegretMatchingPlus, {"rate": -1.0}, ValueError, "rate must be"),
    (contrib.ExtragradientRegretMatchingPlus, {"rate": INF}, ValueError, "rate must be"),
    (contrib.StablePredictiveRegretMatchingPlus, {"floor": 0.0}, ValueError, "floor must be"),
    (contrib.HSDiscountedRegretMatching, {"horizon": 0}, ValueError, "a whole number, at least 1"),
    (
        contrib.HSDiscountedRegretMatching,
        {"horizon": 1.5},
        TypeError,
        "horizon must be a whole number",
    ),
    (contrib.HSDiscountedRegretMatching, {}, TypeError, "horizon"),
    (OMD, {"regularizer": Entropy(), "rate": 0.0}, ValueError, "rate must be a finite number"),
    (
        OMD,
        {"regularizer": Entropy(), "rate": 1.0, "optimistic": 1},
        TypeError,
        "optimistic must be True or False, got 1",
    ),
    (
        FTRL,
        {"regularizer": Entropy, "rate": 1.0},
        TypeError,
        r"regularizer must be a Regularizer, got .* such as Entropy\(\)",
    ),
    (
        MMD,
        {"rate": 1.0, "temperature": -0.1},
        ValueError,
        "temperature must be a finite number, at least 0, got -0.1",
    ),
    (
        MMD,
        {"rate": 1.0, "temperature": 0.1, "magnet": [1.0, 0.0]},
        ValueError,
        "magnet must be a strategy of Simplices.2. that plays every action",
    ),
    (
        MMD,
        {"rate": 1.0, "temperature": 0.1, "magnet": [0.3, 0.3, 0.4]},
        ValueError,
        r"must have shape \(2,\)",
    ),
    call=lambda rule, arguments: rule(2, **arguments),
)


test_what_cannot_be_a_part_is_refused_when_it_is_built = refusals(
    (lambda: rk.RegretMatching(0), ValueError, "each at least 1"),
    (lambda: rk.RegretMatching("three"), TypeError, "sizes must be a sequence.* got .three."),
    (lambda: rk.BestResponse(3), TypeError, "domain must be a StrategySet"),
    (lambda: rk.Point([math.nan]), ValueError, "point must be finite"),
    (lambda: Tsallis(q=1.0), ValueError, "q must be strictly between 0 and 1, got 1.0"),
    (lambda: Tsallis(q=None), TypeError, "q must be a number"),
    (lambda: m.OnlineGradientDescent(SEGMENT, rate=1.0), TypeError, PROJECT),
    (lambda: m.OnlineGradientDescent(3, rate=1.0), TypeError, PROJECT + ", got 3; pass Simp"),
    (lambda: contrib.IREGPredictiveRegretMatchingPlus(0), ValueError, "each at least 1"),
    (lambda: m.ConicBlackwell(Simplices(3), kappa=0.0), ValueError, "kappa must be a finite"),
    (lambda: m.DilatedMirrorDescent(3, rate=0.1), TypeError, "tree must be a DecisionTree"),
)


# States


def test_a_state_with_negative_regrets_round_trips_where_a_rule_comes_to_them():
    make = partial(contrib.SmoothOptimisticRegretMatchingPlus, 3, rate=3.0)
    player, second = train(make(), np.random.default_rng(24), iterations=3), make()
    state = player.state_dict()

    second.load_state_dict(state)

    assert state["regrets"].min() < 0.0
    np.testing.assert_equal(second.state_dict(), state)
    same_play(player, second, told="sometimes")
