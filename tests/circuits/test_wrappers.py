"""Wrappers: each regret that they promise, against the minimizer as it would have been alone."""

import copy
import itertools
import math
from functools import partial

import numpy as np
import pytest
from factories import MAKERS, PREDICTIVE, meets, regret, same_play
from test_user_defined_rules import Trembling

import regretkit as rk
from regretkit.circuits import AffineImage, Discount, Freeze, Restart
from regretkit.evaluation import RegretLedger

SEEDS = pytest.mark.parametrize("seed", range(4))
each_leaf = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


def squared(iteration):
    return float(iteration) ** 2


def power_of_ten(iteration):
    return 10 ** (iteration if iteration < 4 else 400)


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


def test_a_schedule_says_after_which_iterations_to_restart():
    powers = {1, 2, 4, 8, 16, 32}
    player, new = Restart(rk.RegretMatchingPlus(3), every=powers.__contains__), None

    for t, (x, u) in enumerate(meets(player, seed=1, iterations=40)):
        if t == 0 or t in powers:
            new = rk.RegretMatchingPlus(3)
        np.testing.assert_array_equal(x, new.next_strategy())
        new.observe_utility(u)


def test_a_circuit_is_restarted_with_all_its_parts():
    tree = rk.DecisionTree([0, 2], [2, 3])
    player = Restart(rk.CFR(tree, rk.PredictiveRegretMatching), every=5)
    start = player.next_strategy().copy()

    for t, (x, _) in enumerate(meets(player, seed=2, iterations=20)):
        assert np.array_equal(x, start) == (t % 5 == 0)


def test_a_trained_minimizer_goes_back_to_what_it_knew_when_it_was_wrapped():
    trained = rk.RegretMatching(2)
    trained.observe_utility([0.0, 1.0])
    player = Restart(trained, every=2)

    for _ in range(2):
        player.observe_utility([100.0, 0.0])

    np.testing.assert_array_equal(player.next_strategy(), [0.0, 1.0])


def test_chance_goes_on_over_a_restart():
    player, played = Restart(Trembling(3), every=1), []

    for _ in range(10):
        played.append(tuple(player.next_strategy()))
        player.observe_utility([1.0, 0.0, 0.0])

    assert len(set(played)) == 10
    np.testing.assert_array_equal(player.minimizer.weight, Trembling(3).weight)


# Discount


@pytest.mark.deep_beyond(20)
@SEEDS
@each_leaf
@pytest.mark.parametrize("weight", [float, squared], ids=["linear", "quadratic"])
def test_what_is_small_is_the_weighted_regret(seed, make, weight):
    inner, alone = make([2, 3]), make([2, 3])
    player, weighted = Discount(inner, weight=weight), []
    ledger = RegretLedger(player)

    for t, (x, u) in enumerate(meets(player, seed), start=1):
        np.testing.assert_array_equal(x, alone.next_strategy())
        weighted.append((x, weight(t) * u))
        alone.observe_utility(weight(t) * u)

    expected = regret(player.domain, weighted)
    assert ledger.external(inner) == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_regret_matching_with_linear_weights_is_linear_regret_matching():
    player = Discount(rk.RegretMatching([3, 2]), weight=float)

    same_play(player, rk.LinearRegretMatching([3, 2]), atol=1e-9)


def test_the_gap_of_a_weighted_average_is_the_weighted_regret():
    # In self-play, weighted regrets add up to the gap of the averages with the same weights.
    game = rk.matrix_game([[0.0, 2.0, -1.0], [-1.0, 0.0, 1.0], [1.0, -1.0, 0.5]])
    players = [Discount(rk.RegretMatchingPlus(3), weight=squared) for _ in range(2)]
    ledgers = [RegretLedger(player) for player in players]
    totals, weights = [np.zeros(3), np.zeros(3)], 0.0

    for t in range(1, 201):
        profile = [player.next_strategy() for player in players]
        weights += squared(t)
        for number, player in enumerate(players):
            totals[number] += squared(t) * profile[number]
            player.observe_utility(game.utility(number, profile))

    mean = [total / weights for total in totals]
    regrets = sum(
        ledger.external(player.minimizer) for ledger, player in zip(ledgers, players, strict=True)
    )
    assert rk.nash_conv(game, mean) == pytest.approx(regrets / weights, rel=1e-9)


def test_a_weight_of_zero_leaves_an_iteration_out():
    player = Discount(rk.RegretMatching(2), weight=lambda t: float(t != 1))

    player.observe_utility([5.0, 0.0])
    player.observe_utility([0.0, 1.0])

    np.testing.assert_array_equal(player.next_strategy(), [0.0, 1.0])


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


@pytest.mark.parametrize(
    ("weight", "error", "message"),
    [
        (lambda t: 2.0 - t, ValueError, r"weight\(3\) must be at least 0, got -1.0"),
        (lambda t: math.nan if t == 3 else 1.0, ValueError, r"weight\(3\) must be a finite number"),
        (lambda t: None if t == 3 else 1.0, TypeError, r"weight\(3\) must be a number, got None"),
        (lambda t: 1e308 if t == 3 else 1.0, ValueError, r"weight\(3\) \* utility must be finite"),
    ],
)
def test_a_weight_out_of_range_is_refused_and_nothing_has_changed(weight, error, message):
    player = Discount(rk.RegretMatching(2), weight=weight)
    player.observe_utility([1.0, 0.0])
    player.observe_utility([1.0, 0.0])
    state = copy.deepcopy(player.state_dict())

    with pytest.raises(error, match=message):
        player.observe_utility([1.0, -2.0])

    np.testing.assert_equal(player.state_dict(), state)


@SEEDS
def test_the_ledger_holds_a_discount_to_the_weighted_regret(seed):
    player = Discount(rk.PredictiveRegretMatching([2, 3]), weight=squared)
    list(meets(player, seed, 5))  # before there is a ledger
    ledger = RegretLedger(player, strict=True)

    history = [(x, squared(t) * u) for t, (x, u) in enumerate(meets(player, seed), start=6)]

    proven = ledger.regret_bounds()["top"]
    expected = regret(player.domain, history)
    assert proven.exact
    assert proven.regret == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert proven.bound == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert abs(ledger.external(player) - expected) > 1.0  # its own, without weights, is another


def test_a_weight_that_is_no_float_any_more_is_refused_and_the_accounts_are_as_they_were():
    player = rk.Product([rk.RegretMatching(2), Discount(rk.RegretMatching(2), weight=power_of_ten)])
    ledger = RegretLedger(player)
    for _ in range(3):
        player.observe_utility([1.0, 0.0, 0.0, 1.0])
    regrets = [ledger.external(each) for each in (player, *player.parts)]

    with pytest.raises(ValueError, match=r"weight\(4\) must be a finite number"):
        player.observe_utility([1.0, 0.0, 0.0, 1.0])

    # The first part had learned already.
    assert [ledger.tracker(each).iterations for each in (player, *player.parts)] == [3, 3, 3]
    assert [ledger.external(each) for each in (player, *player.parts)] == regrets
    ledger.check()


# Freeze


@each_leaf
@pytest.mark.parametrize("after", [0, 9])
def test_a_frozen_minimizer_plays_what_it_had_reached(make, after):
    player, alone = Freeze(make([2, 3]), after=after), make([2, 3])

    for t, (x, u) in enumerate(meets(player, seed=5)):
        assert player.frozen == (t >= after)
        np.testing.assert_array_equal(x, alone.next_strategy())
        if t < after:
            alone.observe_utility(u)

    player.expect_utility(np.arange(5.0))
    np.testing.assert_array_equal(player.next_strategy(), alone.next_strategy())
    assert (player.iteration, player.minimizer.iteration) == (60, after)


@SEEDS
@pytest.mark.parametrize("before", [0, 4, 15])
def test_the_ledger_knows_what_a_frozen_minimizer_earned_and_where_it_stands(seed, before):
    player = Freeze(rk.PredictiveRegretMatching([2, 3]), after=9)
    list(meets(player, seed, before))
    ledger = RegretLedger(player, strict=True)

    history = list(meets(player, seed, 30))

    proven = ledger.regret_bounds()["top"]
    learned = max(9 - before, 0)
    best = player.domain.best_response(sum(u for _, u in history))[0]
    first = math.fsum(float(u @ x) for x, u in history[:learned])
    last = math.fsum(float(u @ player.next_strategy()) for _, u in history[learned:])
    assert proven.exact
    assert proven.bound == pytest.approx(best - first - last, rel=1e-9, abs=1e-9)
    assert proven.regret == pytest.approx(regret(player.domain, history), rel=1e-9, abs=1e-9)


def test_the_ledger_says_nothing_of_what_was_frozen_and_put_back():
    player = Restart(Freeze(rk.RegretMatching(3), after=5), every=12)
    ledger = RegretLedger(player, strict=True)

    list(meets(player, seed=3, iterations=11))
    assert ledger.regret_bounds().keys() == {"top", "top.minimizer"}
    list(meets(player, seed=3, iterations=11))
    assert ledger.regret_bounds().keys() == {"top"}


@pytest.mark.parametrize("name", PREDICTIVE)
def test_what_is_expected_counts_until_it_is_frozen_and_then_no_more(name):
    make, generator = PREDICTIVE[name], np.random.default_rng(4)
    player, alone, unaware = Freeze(make(3), after=9), make(3), make(3)
    moved = 0.0

    for utility, prediction in generator.normal(size=(9, 2, 3)):
        for each in (player, alone):
            each.expect_utility(prediction)
        np.testing.assert_array_equal(player.next_strategy(), alone.next_strategy())
        moved += np.abs(alone.next_strategy() - unaware.next_strategy()).max()
        for each in (player, alone, unaware):
            each.observe_utility(utility)
    assert moved > 0.1

    frozen = player.next_strategy().copy()
    for each in (player, alone):
        each.expect_utility(-99.0 * frozen)
    np.testing.assert_array_equal(player.next_strategy(), frozen)
    assert np.abs(alone.next_strategy() - frozen).max() > 0.01


def test_chance_is_frozen_too():
    player = Freeze(Trembling(3), after=2)
    played = [x.copy() for x, _ in meets(player, seed=6, iterations=10)]

    assert len({tuple(x) for x in played}) == 3


# All of them

WRAPPED = {
    "restart": partial(Restart, every=7),
    "discount": partial(Discount, weight=float),
    "freeze": partial(Freeze, after=9),
}
each_wrapper = pytest.mark.parametrize("wrap", WRAPPED.values(), ids=WRAPPED)


@each_wrapper
def test_a_wrapper_is_worth_what_it_plays(wrap):
    image = AffineImage(rk.RegretMatching(3), np.random.default_rng(7).normal(size=(2, 3)))
    player = wrap(image)

    assert player.domain is image.domain
    for x, u in meets(player, seed=7, iterations=20):
        assert player._value(u) == pytest.approx(u @ x, abs=1e-12)


@each_wrapper
def test_a_wrapper_plays_over_other_simplices_as_its_minimizer_does(wrap):
    player, wide = wrap(rk.RegretMatching(3)), wrap(rk.RegretMatching(3))
    again = wide.on_domain(rk.Simplices([2, 3]))

    assert type(again) is type(player)
    assert again.domain == rk.Simplices([2, 3])
    assert wrap(rk.Point([1.0])).on_domain(rk.Simplices(2)) is None


RM = rk.RegretMatching(2)


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda: Restart(rk.RegretMatching, every=3), TypeError, "minimizer must be a minimizer"),
        (lambda: Restart(RM, every=0), ValueError, "every must be .*whole.*, got 0"),
        (lambda: Restart(RM, every=2.5), TypeError, "every must be .*whole.*, got 2.5"),
        (lambda: Restart(RM, every=True), TypeError, "every must be .* at least [01], got True"),
        (lambda: Freeze(RM, after=-1), ValueError, "after must be .* at least 0, got -1"),
        (lambda: Freeze(RM, after="9"), TypeError, "after must be .* at least [01], got '9'"),
        (lambda: Restart(RM, every=None), TypeError, "or a function, got None; pass 10, or a"),
        (lambda: Restart(RM, every="3"), TypeError, "every must be a whole .* got '3'"),
        (lambda: Restart(RM, every=lambda: True), TypeError, "every must be a function of 1 arg"),
        (lambda: Restart(RM, every=float), TypeError, r"every\(1\) must be True or False, got 1.0"),
        (lambda: Restart(None, every=3), TypeError, "must be a RegretMinimizer, got None"),
        (lambda: Freeze(RM, after=math.nan), TypeError, "after must be a whole number, .* got nan"),
        (lambda: Discount(RM, weight=0.9), TypeError, "weight must be a function, got 0.9; pass"),
        (lambda: Discount(RM, weight=lambda: 1.0), TypeError, "weight must be a function of 1 arg"),
        (lambda: Discount(RM, weight=str), TypeError, r"weight\(1\) must be a number, got '1'"),
        (lambda: Discount(RM, weight=lambda t: -1), ValueError, r"weight\(1\) must be at least 0"),
        (lambda: rk.Product([RM, Freeze(RM, after=3)]), ValueError, "stands in two places"),
    ],
)
def test_what_cannot_be_wrapped_so_is_refused(build, error, message):
    with pytest.raises(error, match=message):
        build()
