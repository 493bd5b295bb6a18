"""The leaves: each is its published recurrence, and the recurrences are related as they should."""

import math
from functools import partial

import numpy as np
import pytest
from factories import ADVERSARIES, INF, LEAVES, MAKERS, PREDICTIVE, train

import regretkit as rk
from regretkit import minimizers
from regretkit.minimizers import (
    Composed,
    Cumulative,
    LastUtilityPrediction,
    NonNegative,
    PositivePartLink,
    SoftmaxLink,
)

each_leaf = pytest.mark.parametrize("name", LEAVES)


def same_play(one, other, generator, iterations=100, **tolerance):
    """Show both the same utilities, and require the same strategies throughout."""
    adversaries = list(ADVERSARIES.values())
    for t in range(1, iterations + 1):
        np.testing.assert_allclose(
            one.next_strategy(), other.next_strategy(), **({"rtol": 0.0, "atol": 0.0} | tolerance)
        )
        utility = adversaries[t % len(adversaries)](one.next_strategy(), t, generator)
        one.observe_utility(utility)
        other.observe_utility(utility)


# The recurrences


@each_leaf
@pytest.mark.parametrize("adversary", ["random", "drifting", "bursting"])
@pytest.mark.parametrize("actions", [1, 2, 5])
def test_a_leaf_plays_its_recurrence(name, adversary, actions):
    generator = np.random.default_rng(actions)
    leaf, naive_leaf = (make(actions) for make in LEAVES[name])

    for t in range(1, 61):
        strategy = leaf.next_strategy()
        np.testing.assert_allclose(strategy, naive_leaf.play(), atol=1e-11)
        utility = ADVERSARIES[adversary](strategy, t, generator)
        leaf.observe_utility(utility)
        naive_leaf.learn(utility.tolist())


@pytest.mark.parametrize("name", sorted(LEAVES.keys() - {"hedge", "optimistic"}))
def test_remembered_regrets_are_those_of_the_recurrence(name):
    generator = np.random.default_rng(1)
    leaf, naive_leaf = (make(4) for make in LEAVES[name])

    for utility in generator.normal(size=(40, 4)):
        leaf.observe_utility(utility)
        naive_leaf.learn(utility.tolist())
        near = 1e-12 * np.abs(leaf.regrets).max()
        np.testing.assert_allclose(leaf.regrets, naive_leaf.R, rtol=0.0, atol=near)


@pytest.mark.parametrize("name", PREDICTIVE)
def test_a_predictive_leaf_plays_its_recurrence_with_the_predictions_it_is_given(name):
    generator = np.random.default_rng(2)
    leaf, naive_leaf = (make(4) for make in LEAVES[name])

    for utility, prediction in generator.normal(size=(60, 2, 4)):
        if prediction[0] > 0.0:  # some iterations have no prediction
            leaf.expect_utility(prediction)
            naive_leaf.expect(prediction.tolist())
        np.testing.assert_allclose(leaf.next_strategy(), naive_leaf.play(), atol=1e-11)
        leaf.observe_utility(utility)
        naive_leaf.learn(utility.tolist())


@pytest.mark.parametrize("name", PREDICTIVE)
def test_expecting_the_last_utility_is_what_happens_anyway(name):
    generator = np.random.default_rng(3)
    told, untold = PREDICTIVE[name](4), PREDICTIVE[name](4)

    for utility in generator.normal(size=(30, 4)):
        np.testing.assert_array_equal(told.next_strategy(), untold.next_strategy())
        told.observe_utility(utility)
        untold.observe_utility(utility)
        told.expect_utility(utility)
        np.testing.assert_allclose(told.next_strategy(), untold.next_strategy(), atol=1e-12)
        untold.expect_utility(utility)


@pytest.mark.parametrize("name", PREDICTIVE)
def test_what_is_expected_is_played_towards(name):
    leaf = train(PREDICTIVE[name](4), np.random.default_rng(4))
    before = leaf.next_strategy()[2]

    leaf.expect_utility([0.0, 0.0, 1e3, 0.0])

    assert leaf.next_strategy()[2] > max(before, 0.9)


@pytest.mark.parametrize("name", sorted(LEAVES.keys() - PREDICTIVE.keys()))
def test_who_predicts_nothing_takes_no_notice_of_what_is_expected(name):
    leaf = train(MAKERS[name](4), np.random.default_rng(5))
    before = leaf.next_strategy()

    leaf.expect_utility([0.0, 0.0, 1e3, 0.0])

    np.testing.assert_array_equal(leaf.next_strategy(), before)


# Special cases of each other


@pytest.mark.parametrize(
    ("special", "plain"),
    [
        (partial(rk.DiscountedRegretMatching, alpha=INF, beta=INF), rk.RegretMatching),
        (partial(rk.DiscountedRegretMatching, alpha=INF, beta=-INF), rk.RegretMatchingPlus),
        (partial(Composed, accumulator=Cumulative(), link=PositivePartLink()), rk.RegretMatching),
        (
            partial(Composed, accumulator=NonNegative(), link=PositivePartLink()),
            rk.RegretMatchingPlus,
        ),
        (
            partial(Composed, accumulator=Cumulative(), link=SoftmaxLink(rate=2.0)),
            partial(rk.Hedge, rate=2.0),
        ),
        (
            partial(
                Composed,
                accumulator=NonNegative(),
                link=PositivePartLink(),
                predictor=LastUtilityPrediction(),
            ),
            rk.PredictiveRegretMatchingPlus,
        ),
    ],
)
def test_a_rule_is_bitwise_another_one_with_these_parts(special, plain):
    same_play(special([3, 4]), plain([3, 4]), np.random.default_rng(6))


def test_discounting_by_one_and_one_plays_as_linear_regret_matching():
    discounted = rk.DiscountedRegretMatching(4, alpha=1.0, beta=1.0)
    linear = rk.LinearRegretMatching(4)
    generator = np.random.default_rng(7)

    for t, utility in enumerate(generator.normal(size=(80, 4)), start=1):
        discounted.observe_utility(utility)
        linear.observe_utility(utility)
        np.testing.assert_allclose(discounted.next_strategy(), linear.next_strategy(), atol=1e-11)
        np.testing.assert_allclose(t * discounted.regrets, linear.regrets, rtol=1e-9, atol=1e-9)


def test_an_exponent_of_zero_halves_what_is_not_positive():
    player = train(rk.DiscountedRegretMatching(6, alpha=INF, beta=0.0), np.random.default_rng(8))
    before = player.regrets

    player.observe_utility(np.zeros(6))

    assert before.min() < 0.0 < before.max()
    np.testing.assert_array_equal(player.regrets, np.where(before > 0.0, before, before / 2))


@pytest.mark.parametrize(
    ("predictive", "plain"),
    [
        (rk.PredictiveRegretMatching, rk.RegretMatching),
        (rk.PredictiveRegretMatchingPlus, rk.RegretMatchingPlus),
        (partial(rk.OptimisticHedge, rate=0.5), partial(rk.Hedge, rate=0.5)),
    ],
)
def test_a_zero_prediction_turns_prediction_off_bitwise(predictive, plain):
    generator = np.random.default_rng(9)
    player, other = predictive([2, 3]), plain([2, 3])

    for utility in generator.normal(size=(50, 5)):
        player.expect_utility(np.zeros(5))
        np.testing.assert_array_equal(player.next_strategy(), other.next_strategy())
        player.observe_utility(utility)
        other.observe_utility(utility)


# Invariances


@each_leaf
def test_a_leaf_over_several_blocks_is_bitwise_a_product_of_leaves(name):
    sizes, make = [3, 1, 4, 3], MAKERS[name]
    together, apart = make(sizes), rk.Product([make(size) for size in sizes])

    same_play(together, apart, np.random.default_rng(10))

    together.expect_utility(np.arange(11.0))
    apart.expect_utility(np.arange(11.0))
    np.testing.assert_array_equal(together.next_strategy(), apart.next_strategy())


@each_leaf
def test_renaming_the_actions_renames_the_play(name):
    generator = np.random.default_rng(11)
    order = generator.permutation(5)
    player, renamed = MAKERS[name](5), MAKERS[name](5)

    for utility in generator.normal(size=(60, 5)):
        player.observe_utility(utility)
        renamed.observe_utility(utility[order])
        np.testing.assert_allclose(
            player.next_strategy()[order], renamed.next_strategy(), atol=1e-11
        )


@each_leaf
def test_what_all_actions_earn_alike_changes_nothing(name):
    generator = np.random.default_rng(12)
    player, paid = MAKERS[name]([2, 4]), MAKERS[name]([2, 4])

    for utility in generator.normal(size=(60, 6)):
        bonus = 100.0 * generator.normal(size=2)
        np.testing.assert_allclose(player.next_strategy(), paid.next_strategy(), atol=1e-9)
        player.observe_utility(utility)
        paid.observe_utility(utility + player.simplices.repeat(bonus))


@pytest.mark.parametrize("exponent", [30, -30, 300, -300])
@pytest.mark.parametrize("name", [name for name in MAKERS if MAKERS[name](2).scale_free])
def test_who_is_scale_free_plays_the_same_bits_in_another_unit(name, exponent):
    generator = np.random.default_rng(13)
    player, scaled = MAKERS[name]([3, 5]), MAKERS[name]([3, 5])
    unit = 2.0**exponent

    for t in range(1, 101):
        strategy = player.next_strategy()
        np.testing.assert_array_equal(scaled.next_strategy(), strategy)
        utility = list(ADVERSARIES.values())[t % len(ADVERSARIES)](strategy, t, generator)
        player.observe_utility(utility)
        scaled.observe_utility(unit * utility)
        if t % 3 == 0:
            player.expect_utility(utility[::-1])
            scaled.expect_utility(unit * utility[::-1])


def test_all_but_exponential_weights_are_scale_free():
    not_scale_free = {name for name, make in MAKERS.items() if not make(3).scale_free}

    assert not_scale_free == {"hedge", "optimistic"}


@each_leaf
@pytest.mark.parametrize("exponent", [-200, 0, 200])
def test_equal_utilities_leave_no_trace_in_regrets(name, exponent):
    generator = np.random.default_rng(14)
    player = train(MAKERS[name]([3, 7]), generator)
    worth = generator.normal(size=2) * 10.0**exponent
    same = MAKERS[name]([3, 7])
    same.load_state_dict(player.state_dict())

    player.observe_utility(player.simplices.repeat(worth))
    same.observe_utility(np.zeros(10))

    np.testing.assert_array_equal(player.regrets, same.regrets)
    np.testing.assert_array_equal(player.next_strategy(), same.next_strategy())


@each_leaf
def test_an_untrained_leaf_is_uniform_and_stays_so_while_all_actions_earn_the_same(name):
    player = MAKERS[name]([3, 7, 11])

    for worth in (0.1, 1e-200, -1e200, 7.0):
        np.testing.assert_array_equal(player.next_strategy(), player.simplices.uniform())
        player.observe_utility(np.full(21, worth))
    np.testing.assert_array_equal(player.next_strategy(), player.simplices.uniform())


def test_hedge_with_a_large_rate_plays_finite_numbers():
    player = rk.Hedge(2, rate=1e10)

    player.observe_utility([1e300, 0.0])

    np.testing.assert_array_equal(player.next_strategy(), [1.0, 0.0])


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda: rk.Hedge(3, rate=0.0), ValueError, "rate must be a finite number above 0"),
        (lambda: rk.Hedge(3, rate=INF), ValueError, "rate must be a finite number above 0"),
        (lambda: rk.OptimisticHedge(3, rate="1"), TypeError, "rate must be a number"),
        (lambda: rk.DiscountedRegretMatching(3, alpha=math.nan), ValueError, "alpha must be"),
        (lambda: rk.DiscountedRegretMatching(3, beta=None), TypeError, "beta must be a number"),
        (lambda: rk.RegretMatching(0), ValueError, "each at least 1"),
        (lambda: rk.RegretMatching("three"), TypeError, "sizes must be whole numbers"),
        (lambda: rk.BestResponse(3), TypeError, "domain must be a strategy set"),
        (lambda: rk.Point([math.nan]), ValueError, "point must be finite"),
    ],
)
def test_a_leaf_of_impossible_parts_is_refused(build, error, message):
    with pytest.raises(error, match=message):
        build()


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: minimizers.AdaptiveStep(5), "predictor must be a Predictor, got 5"),
        (
            lambda: minimizers.Weighted(minimizers.LastUtilityPrediction, weight=1.0),
            "predictor must be a",
        ),
        (
            lambda: minimizers.Composed(
                2, accumulator=minimizers.NonNegative, link=minimizers.PositivePartLink()
            ),
            "accumulator must be an Accumulator, got",
        ),
        (
            lambda: minimizers.Composed(
                2, accumulator=minimizers.NonNegative(), link=minimizers.NonNegative()
            ),
            r"link must be a LinkFunction, got NonNegative\(\)",
        ),
        (lambda: rk.Hedge(3, rate=10**400), "rate must be a finite number above 0"),
        (
            lambda: minimizers.ProximalToReference(rate=1.0, temperature=-5.0),
            "temperature must be a finite",
        ),
        (
            lambda: minimizers.contrib.AsymmetricRegretMatchingPlus(2, weight=-1),
            "weight must be a finite",
        ),
        (
            lambda: minimizers.OnlineMirrorDescent(
                2, regularizer=minimizers.Entropy(), rate=1.0, optimistic=1
            ),
            "optimistic must be True or False, got 1",
        ),
        (lambda: minimizers.DilatedMirrorDescent(3, rate=0.1), "tree must be a DecisionTree"),
    ],
)
def test_what_cannot_be_a_part_is_refused_when_the_rule_is_built(build, message):
    with pytest.raises((TypeError, ValueError), match=message):
        build()
