"""Wrappers: the regrets that they promise, what is played of a minimizer, and what is found out."""

import copy
import itertools
import math
from functools import partial

import numpy as np
import pytest
from factories import MAKERS, PREDICTIVE, meets, regret, same_play, train
from refusals import refusals
from test_user_rules import Trembling

import regretkit as rk
from regretkit.circuits import (
    AffineImage,
    Constrained,
    Discount,
    ExplorationMixture,
    LastIterateByAveraging,
    Restart,
    TreeSwap,
)
from regretkit.evaluation import RegretLedger
from regretkit.games import kuhn_poker, matching_pennies
from regretkit.play import Last, SelfPlay, Simultaneous
from regretkit.sets import Simplices

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


@pytest.mark.deep_beyond(7)
@SEEDS
@each_leaf
@pytest.mark.parametrize("weight", [float, squared], ids=["linear", "quadratic"])
def test_what_is_small_is_the_weighted_regret(seed, make, weight):
    inner, alone = make([2, 3]), make([2, 3])
    player, weighted = Discount(inner, weight=weight), []

    for t, (x, u) in enumerate(meets(player, seed), start=1):
        if t == 6:
            ledger = RegretLedger(player, strict=True)
        np.testing.assert_array_equal(x, alone.next_strategy())
        weighted.append((x, weight(t) * u))
        alone.observe_utility(weight(t) * u)

    expected, proven = regret(player.domain, weighted[5:]), ledger.regret_bounds()["top"]
    assert proven.exact
    assert proven.bound == ledger.external(inner) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert proven.regret == pytest.approx(expected, rel=1e-9, abs=1e-9)


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
        (lambda t: 2.0 - t, ValueError, r"weight\(3\) must be from 0 to .*, got -1.0"),
        (
            lambda t: math.nan if t == 3 else 1.0,
            ValueError,
            r"weight\(3\) must be from 0",
        ),
        (lambda t: None if t == 3 else 1.0, TypeError, r"weight\(3\) must be a number, got None"),
        (lambda t: 1e308 if t == 3 else 1.0, ValueError, r"weight\(3\) must be from 0 to"),
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


# All of them

WRAPPED = {
    "restart": partial(Restart, every=7),
    "discount": partial(Discount, weight=float),
}
each_wrapper = pytest.mark.parametrize("wrap", WRAPPED.values(), ids=WRAPPED)


@each_wrapper
def test_a_wrapper_is_worth_what_it_plays(wrap):
    image = AffineImage(rk.RegretMatching(3), np.random.default_rng(7).normal(size=(2, 3)))
    player = wrap(image)

    assert player.domain is image.domain
    for x, u in meets(player, seed=7, iterations=20):
        assert player._value(u) == pytest.approx(u @ x, abs=1e-12)


@pytest.mark.parametrize(
    "wrap",
    [
        *WRAPPED.values(),
        partial(ExplorationMixture, gamma=0.1),
        LastIterateByAveraging,
    ],
)
def test_a_wrapper_plays_over_other_simplices_as_its_minimizer_does(wrap):
    moved = wrap(rk.RegretMatching(3)).on_domain(rk.Simplices([2, 3]))

    assert moved.domain == rk.Simplices([2, 3])
    same_play(moved, wrap(rk.RegretMatching([2, 3])))
    assert wrap(PlayedOn(rk.Simplices(1), np.ones(1))).on_domain(rk.Simplices(2)) is None


TREE = rk.DecisionTree([0, 2, 0, 5, 2], [2, 3, 2, 1, 2])


def learn(player, seed, iterations=30):
    generator, played = np.random.default_rng(seed), []
    for utility, prediction in generator.normal(size=(iterations, 2, player.dimension)):
        if utility[0] > 0.5:
            player.expect_utility(prediction)
        played.append(player.next_strategy())
        player.observe_utility(utility)
    return np.array(played)


# Exploration


@pytest.mark.parametrize("name", MAKERS)
def test_exploring_mixes_what_the_minimizer_plays_with_uniform(name):
    alone, exploring = MAKERS[name]([2, 3]), ExplorationMixture(MAKERS[name]([2, 3]), gamma=0.2)

    x, y = learn(alone, 1), learn(exploring, 1)

    np.testing.assert_allclose(y, 0.8 * x + 0.2 * Simplices([2, 3]).uniform(), atol=1e-15)


def test_on_a_tree_it_explores_toward_uniform_play_everywhere():
    player = ExplorationMixture(rk.CFR(TREE, rk.RegretMatching), gamma=1.0)
    behavior = TREE.behavior(train(player, np.random.default_rng(2)).next_strategy())

    np.testing.assert_allclose(behavior, TREE.simplices.uniform(), atol=1e-15)


def test_it_explores_toward_any_point_of_the_domain():
    player = ExplorationMixture(rk.Point([0.0, 1.0]), gamma=0.5, reference=[0.0, 1.0])
    assert player.next_strategy().tolist() == [0.0, 1.0]

    hedge = ExplorationMixture(rk.Hedge(2, rate=1.0), gamma=0.5, reference=[0.0, 1.0])
    assert hedge.next_strategy().tolist() == [0.25, 0.75]
    assert hedge.on_domain(Simplices(3)) is None


def test_exploring_with_gamma_zero_is_bitwise_the_inner_minimizer():
    np.testing.assert_array_equal(
        learn(ExplorationMixture(MAKERS["prm+"](4), gamma=0.0), 3), learn(MAKERS["prm+"](4), 3)
    )


@pytest.mark.parametrize("seed", range(3))
def test_exp3_is_hedge_exploring_and_keeps_its_bound(seed):
    # Rewards g in [0, 1]: expected regret <= (e - 1) gamma T + n ln n / gamma, rate = gamma / n.
    # Seen through <x, g>, it is kept by the mean over 40 runs with room for chance.
    n, T, runs = 3, 2_000, 40
    gamma = math.sqrt(n * math.log(n) / ((math.e - 1.0) * T))
    generator = np.random.default_rng(seed)
    player = ExplorationMixture(rk.Hedge([n] * runs, rate=gamma / n), gamma=gamma)
    rewards = generator.binomial(1, [0.5, 0.6, 0.4], size=(T, n)).astype(float)
    earned = np.zeros(runs)

    for reward in rewards:
        x = player.next_strategy().reshape(runs, n)
        chosen = (x.cumsum(axis=1) < generator.random((runs, 1))).sum(axis=1).clip(0, n - 1)
        estimates = np.zeros((runs, n))
        taken = np.arange(runs), chosen
        estimates[taken] = reward[chosen] / x[taken]  # the estimator owns the weight
        assert estimates.max() <= n / gamma + 1e-9
        earned += x @ reward
        player.observe_utility(estimates.ravel())

    regret = rewards.sum(axis=0).max() - earned.mean()
    assert 0.0 < regret < 2.0 * math.sqrt((math.e - 1.0) * n * math.log(n) * T)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("reference", [None, [0.0, 1.0, 0.2, 0.3, 0.5]])
def test_the_ledger_mixes_the_minimizers_regret_with_that_of_what_is_explored(seed, reference):
    player = ExplorationMixture(rk.RegretMatching([2, 3]), gamma=0.3, reference=reference)
    learn(player, seed)  # before there is a ledger
    ledger = RegretLedger(player, strict=True)
    inner, history = [], []

    for x, u in meets(player, seed):
        inner.append((player.minimizer.next_strategy(), u))
        history.append((x, u))

    theorem = ledger.regret_bounds()["top"]
    point = Simplices([2, 3]).uniform() if reference is None else np.array(reference)
    explored = regret(player.domain, [(point, u) for _, u in history])
    assert theorem.exact
    assert theorem.regret == pytest.approx(regret(player.domain, history), abs=1e-9)
    assert theorem.bound == pytest.approx(
        0.7 * regret(player.domain, inner) + 0.3 * explored, abs=1e-9
    )


class PlayedOn(rk.RegretMinimizer):
    """Plays one strategy of a tree for ever."""

    def __init__(self, tree, strategy):
        self.domain, self.strategy = tree, strategy

    def _propose(self):
        return self.strategy.copy()

    def _learn(self, utility, strategy):
        pass


# The average as the iterate


@pytest.mark.parametrize("name", MAKERS)
def test_in_self_play_the_last_iterate_is_the_average_that_there_would_have_been(name):
    game = rk.matrix_game(np.random.default_rng(6).normal(size=(3, 4)))
    plain = [MAKERS[name](n) for n in (3, 4)]
    wrapped = [LastIterateByAveraging(MAKERS[name](n)) for n in (3, 4)]

    averages = SelfPlay(game, plain, order=Simultaneous()).run(60).average
    iterates = SelfPlay(game, wrapped, order=Simultaneous(), averaging=Last()).run(60).average

    for iterate, average in zip(iterates, averages, strict=True):
        np.testing.assert_allclose(iterate, average, atol=1e-9)


def test_in_kuhn_poker_too_with_cfr_inside():
    game = kuhn_poker()
    plain = [rk.CFR(tree, partial(rk.Hedge, rate=0.5)) for tree in game.domains]
    wrapped = [
        LastIterateByAveraging(rk.CFR(tree, partial(rk.Hedge, rate=0.5))) for tree in game.domains
    ]

    runs = [SelfPlay(game, players, order=Simultaneous()).run(200) for players in (plain, wrapped)]

    for iterate, average in zip(runs[1].last_profile, runs[0].average, strict=True):
        np.testing.assert_allclose(iterate, average, atol=1e-9)


def test_the_iterates_converge_where_the_inner_ones_keep_turning():
    game = matching_pennies()
    players = [LastIterateByAveraging(rk.Hedge(2, rate=0.3)) for _ in range(2)]
    for player, utility in zip(players, ([1.0, 0.0], [0.0, 1.0]), strict=True):
        player.observe_utility(utility)

    run = SelfPlay(game, players, order=Simultaneous()).run(2_000)

    inner = [player.minimizer.next_strategy() for player in players]
    assert rk.nash_conv(game, run.current) < 0.2 < rk.nash_conv(game, inner)


def test_it_tells_the_minimizer_what_it_expects_without_averages():
    first, second = LastIterateByAveraging(MAKERS["prm+"](3)), MAKERS["prm+"](3)
    last = np.zeros(3)

    for t, (utility, prediction) in enumerate(np.random.default_rng(7).normal(size=(20, 2, 3))):
        first.expect_utility(prediction)
        second.expect_utility((t + 1) * prediction - t * last)
        np.testing.assert_allclose(
            first.minimizer.next_strategy(), second.next_strategy(), atol=1e-12
        )
        first.observe_utility(utility)
        second.observe_utility((t + 1) * utility - t * last)
        last = utility


def test_of_averages_as_iterates_the_ledger_knows_no_theorem_for_there_is_none():
    # All utilities favour what is not played, but the last one, which is zero: the minimizer has
    # learned nothing in sum, and has no regret.
    player = LastIterateByAveraging(PlayedOn(Simplices(2), np.array([1.0, 0.0])))
    ledger = RegretLedger(player, strict=True)

    for _ in range(100):
        player.observe_utility([0.0, 1.0])
    player.observe_utility([0.0, 0.0])

    assert ledger.regret_bounds() == {}
    assert ledger.external(player.minimizer) == 0.0
    assert ledger.external(player) == 100.0


# A circuit that teaches its parts, or plays, other than it says breaks its regret bound


def constrained():
    prices = AffineImage(rk.RegretMatchingPlus(2), [[5.0, 0.0]])
    return Constrained(rk.RegretMatching(3), [[1.0, 0.0, 2.0]], [0.5], prices)


def priced_by(factor):
    return lambda self, u: u - factor * self.multipliers.next_strategy() @ self.matrix


def explored_by(gamma):
    return lambda self, strategy: (1.0 - gamma) * strategy + gamma * self._point


def learn_nothing(self, utility, strategy, learn=TreeSwap._learn):
    learn(self, 0.0 * utility, strategy)


def sure(name=None):
    return PlayedOn(rk.Simplices(2), np.array([0.9, 0.1] if name is None else [1.0, 0.0]))


def be_tried(player):
    list(meets(player, seed=4, iterations=20))
    for _ in range(30):
        player.observe_utility(np.eye(player.dimension)[-1])


LAYERED = partial(TreeSwap, partial(sure, "first"), layers=4, branching=2)


@pytest.mark.parametrize(
    ("make", "method", "wrong", "statement"),
    [
        *((constrained, "_priced", priced_by(factor), "R against") for factor in (-1.0, 0.0, 0.5)),
        *(
            (
                partial(ExplorationMixture, rk.RegretMatching(3), gamma=0.2),
                "_transform",
                explored_by(gamma),
                r"R = \(1 - gamma\) R of the min",
            )
            for gamma in (0.0, 0.5)
        ),
        (
            partial(Discount, rk.RegretMatching(3), weight=lambda t: float(t) ** 2),
            "_learn",
            lambda self, utility, strategy: self.minimizer.observe_utility(utility),
            "weighted R = R of the minimizer",
        ),
        (LAYERED, "_learn", learn_nothing, "swap R <= "),
    ],
)
def test_a_circuit_that_does_not_do_what_it_says_is_found_out(
    monkeypatch, make, method, wrong, statement
):
    player = make()
    monkeypatch.setattr(type(player), method, wrong)
    RegretLedger(player, strict=True)

    with pytest.raises(AssertionError, match=f"top, .* violates .{statement}"):
        be_tried(player)


@pytest.mark.parametrize(
    ("make", "part", "number", "by", "statement"),
    [
        *((constrained, lambda p: p.minimizer, "earned", by, ".R against") for by in (-1e3, 1e3)),
        *((constrained, lambda p: p.multipliers, "earned", by, ".R against") for by in (-1e3, 1e3)),
        (
            partial(Restart, rk.RegretMatching(4), every=10),
            lambda p: p.minimizer,
            "_best_before",
            -1e3,
            "'R <= sum of R over the periods'",
        ),
        (
            partial(TreeSwap, lambda: rk.RegretMatching(2), layers=2, branching=3),
            lambda p: p.members[0].minimizer,
            "earned",
            1e3,
            "'swap R <= ",
        ),
    ],
)
def test_a_ledger_with_a_wrong_tracker_is_found_out(make, part, number, by, statement):
    player = make()
    ledger = RegretLedger(player)
    list(meets(player, seed=1, iterations=20))
    ledger.check()

    tracker = ledger.tracker(part(player))
    setattr(tracker, number, getattr(tracker, number) + by)

    with pytest.raises(AssertionError, match=f"top, .* violates {statement}"):
        ledger.check()


# Refusals


RM = rk.RegretMatching(2)
explore = partial(ExplorationMixture, RM)
POINT = "reference must be a point of the minimizer's domain"
VECTOR = "reference must be numbers"


test_what_cannot_be_wrapped_so_is_refused = refusals(
    (lambda: ExplorationMixture(rk.Hedge, gamma=0.1), TypeError, "must be a RegretMinimizer"),
    (lambda: explore(gamma=1.5), ValueError, "gamma must be from 0 to 1"),
    (lambda: explore(gamma="a"), TypeError, "gamma must be a number"),
    (lambda: explore(gamma=None), TypeError, "gamma must be a number"),
    (lambda: explore(gamma=10**400), ValueError, "gamma must be from 0 to 1"),
    (lambda: explore(gamma=0.5, reference=[0.9, 0.9]), ValueError, POINT),
    (lambda: explore(gamma=0.5, reference=[1.0]), ValueError, r"reference must have shape \(2,\)"),
    (lambda: explore(gamma=0.5, reference=[[1.0], [1.0, 2.0]]), TypeError, VECTOR),
    (lambda: explore(gamma=0.5, reference="ab"), TypeError, "reference must be numbers"),
    (lambda: LastIterateByAveraging(3), TypeError, "minimizer must be a RegretMinimizer"),
    (lambda: Restart(rk.RegretMatching, every=3), TypeError, "minimizer must be a RegretMinimizer"),
    (lambda: Restart(RM, every=0), ValueError, "every must be a whole number, .*got 0"),
    (lambda: Restart(RM, every=2.5), TypeError, "every must be a whole .*, got 2.5"),
    (lambda: Restart(RM, every=True), TypeError, "a whole number, at least 1, got True"),
    (lambda: Restart(RM, every="3"), TypeError, "every must be a whole .* got '3'"),
    (lambda: Restart(None, every=3), TypeError, "must be a RegretMinimizer, got None"),
    (lambda: Discount(RM, weight=0.9), TypeError, "weight. must be callable"),
    (lambda: Discount(RM, weight=lambda: 1.0), TypeError, "takes 0 positional arg"),
    (lambda: Discount(RM, weight=str), TypeError, r"weight\(1\) must be a number, got '1'"),
    (lambda: Discount(RM, weight=lambda t: -1), ValueError, r"weight\(1\) must be from 0"),
    (lambda: rk.Product([RM, Restart(RM, every=3)]), ValueError, "stands in two places"),
)
