"""The ledger's regrets are those of the history, and it finds a broken bound by its node."""

import itertools
import types

import naive
import numpy as np
import pytest
from test_contract import ROWS

import regretkit as rk
from regretkit._regret_tracker import RegretBound
from regretkit.circuits import (
    AffineImage,
    AveragedPowerIterate,
    Constrained,
    DeviationSet,
    LastIterateByAveraging,
    SharedStrategy,
    StochasticMatrices,
)
from regretkit.evaluation import RegretLedger
from regretkit.sets import Box


def bound_of(make):
    """Return what is proven about the minimizer that ``make`` builds, not of its parts."""
    return RegretLedger(make()).regret_bounds().get("top")


def play(player, seed=0, iterations=60):
    """Let ``player`` meet random utilities; return strategies and utilities."""
    generator, strategies = np.random.default_rng(seed), []
    utilities = generator.normal(size=(iterations, player.dimension))
    for utility in utilities:
        strategies.append(player.next_strategy())
        player.observe_utility(utility)
    return np.array(strategies), utilities


def test_regrets_are_those_of_the_history():
    player = rk.RegretMatching(4)
    ledger = RegretLedger(player)

    history = [*zip(*play(player), strict=True)]

    assert ledger.external(player) == pytest.approx(naive.external_regret(history))
    assert ledger.internal(player) == pytest.approx(naive.internal_regret(history))
    assert ledger.swap(player) == pytest.approx(naive.swap_regret(history))


def test_external_regret_is_that_against_the_best_pure_strategy_of_a_tree():
    tree = rk.DecisionTree([0, 2, 2], [2, 3, 2])
    player = rk.CFR(tree, rk.RegretMatchingPlus)
    ledger = RegretLedger(player)
    strategies, utilities = play(player)
    best, _ = tree.best_response(utilities.sum(axis=0))
    assert ledger.external(player) == pytest.approx(best - (strategies * utilities).sum())
    assert ledger.external(player) > 0.1


@pytest.mark.deep_beyond(35)
@pytest.mark.parametrize("make", ROWS.values(), ids=ROWS)
def test_every_circuit_keeps_its_bound_in_every_iteration(make):
    player = make()
    RegretLedger(player, strict=True)
    play(player)


def test_accounts_change_nothing_about_the_play():
    watched, alone = (ROWS["product[hull[swap], internal]"]() for _ in range(2))
    RegretLedger(watched)
    np.testing.assert_array_equal(play(watched)[0], play(alone)[0])
    np.testing.assert_equal(watched.state_dict(), alone.state_dict())


class Cheating(rk.RegretMinimizer):
    """A product that teaches its second part something else than it should."""

    def __init__(self):
        self.parts = (rk.RegretMatching(2), rk.RegretMatching(2))
        self.domain = rk.Simplices([2, 2])

    def _propose(self):
        return np.concatenate([part.next_strategy() for part in self.parts])

    def _learn(self, utility, strategy):
        self.parts[0].observe_utility(utility[:2])
        self.parts[1].observe_utility(-utility[2:])

    def _regret_bound(self, tracker_of):
        honest = rk.Product([rk.RegretMatching(2), rk.RegretMatching(2)])
        return type(honest)._regret_bound(self, tracker_of)


def test_a_broken_theorem_is_an_error_that_names_the_node_at_once_or_when_one_asks():
    strict, patient = (rk.Product([rk.RegretMatching(3), Cheating()]) for _ in range(2))
    RegretLedger(strict, strict=True)
    ledger = RegretLedger(patient)
    play(patient)
    for ask in (ledger.check, lambda: play(strict)):
        with pytest.raises(AssertionError, match=r"top.parts\[1\], .*R = sum of the parts' R"):
            ask()


@pytest.mark.deep_beyond(7)
@pytest.mark.parametrize("by", [-1e3, 1e3])
@pytest.mark.parametrize(
    "name",  # without EFR by action deviations, whose bound is about its rule alone
    [name for name, make in ROWS.items() if bound_of(make) and name != "efr[action]"],
)
def test_a_theorem_is_broken_where_a_tracker_is_tampered_with(name, by):
    # What it is said to have earned, plainly, weighted or by its first action, must fit.
    player = ROWS[name]()
    ledger = RegretLedger(player)
    play(player)
    ledger.check()
    proven = ledger.regret_bounds()["top"]
    # What EFR's deviations earn is a statement about its rule alone.
    own = [b for b in (proven, *proven.also) if not b.statement.startswith("earned by the dev")]
    exact = any(bound.exact for bound in own)

    tracker = ledger.tracker(player)
    tracker.earned += by
    tracker._earned_weighted += by
    for joint in tracker.products[:1]:
        joint[0, 0] += by

    if exact or by < 0.0:
        with pytest.raises(AssertionError, match=r"(?s)top, .* violates "):
            ledger.check()
    else:
        ledger.check()  # to have earned more breaks no bound


def test_every_circuit_but_one_states_a_bound():
    nodes = {name: make() for name, make in ROWS.items()}
    circuits = {type(node) for node in nodes.values() if len(RegretLedger(node)._nodes) > 1}
    silent = circuits - {type(nodes[name]) for name, make in ROWS.items() if bound_of(make)}
    # SharedStrategy bounds regret against shared strategies alone, which no ledger tracks.
    assert silent == {SharedStrategy, LastIterateByAveraging}
    assert len(circuits) >= 14


def test_what_else_is_proven_is_printed_and_checked():
    class Both(rk.RegretMinimizer):
        def __init__(self, first, second):
            self.domain, self.claims = rk.Simplices(2), (first, second)

        def _propose(self):
            return np.array([1.0, 0.0])

        def _learn(self, utility, strategy):
            pass

        def _regret_bound(self, tracker_of):
            regret = tracker_of(self).external
            first, second = self.claims
            twin = RegretBound("R <= second", regret, second, exact=False)
            return RegretBound("R = first", regret, first, exact=True, also=(twin,))

    for first, second, broken in ((1.0, 1.0, None), (2.0, 1.0, "first"), (1.0, 0.5, "second")):
        player = Both(first, second)
        ledger = RegretLedger(player)
        player.observe_utility([0.0, 1.0])
        assert str(ledger).endswith("R = first, and R <= second")
        if broken is None:
            ledger.check()
        else:
            with pytest.raises(
                AssertionError, match=f"violates 'R <?= {broken}': its regret is 1.0"
            ):
                ledger.check()


def test_rounding_is_allowed_in_the_unit_of_utilities():
    player = rk.Product([rk.RegretMatchingPlus(3), rk.RegretMatching(2)])
    ledger = RegretLedger(player, strict=True)
    for utility in 1e15 * np.random.default_rng(0).normal(size=(50, 5)):
        player.observe_utility(utility)
    assert abs(ledger.regret_bounds()["top"].gap) > 1e-6  # as rounding goes there


def test_rounding_is_allowed_by_the_size_of_what_parts_add_up_too():
    # Prices of 1e6 for utilities of 1e-6: the parts' numbers are what rounding is relative to.
    prices = AffineImage(rk.RegretMatchingPlus(3), 1e6 * np.eye(2, 3))
    player = Constrained(rk.RegretMatching(4), np.eye(2, 4), [0.3, 0.4], prices)
    RegretLedger(player, strict=True)
    for utility in 1e-6 * np.random.default_rng(0).normal(size=(200, 4)):
        player.observe_utility(utility)


@pytest.mark.parametrize("cuts", [[], [10], [5, 5, 12]])
def test_tracking_regret_is_the_sum_of_the_regrets_of_the_periods(cuts):
    player = rk.RegretMatching([2, 3])
    tracker = RegretLedger(player).tracker(player)
    utilities = np.random.default_rng(1).normal(np.arange(5), size=(20, 5))
    utilities[10:] *= -1.0  # what was best is worst
    strategies = []

    for t, utility in enumerate(utilities):
        for _ in range(cuts.count(t)):
            tracker.begin_period()
        strategies.append(player.next_strategy())
        player.observe_utility(utility)

    best = sum(
        player.domain.best_response(utilities[a:b].sum(axis=0))[0]
        for a, b in itertools.pairwise([0, *cuts, 20])
    )
    earned = (np.array(strategies) * utilities).sum()
    assert tracker.tracking == pytest.approx(best - earned, abs=1e-9)
    assert (tracker.tracking > tracker.external + 1.0) == bool(cuts)
    np.testing.assert_allclose(tracker.strategies, np.sum(strategies, axis=0), atol=1e-12)


def test_an_averaged_power_iterate_loses_what_the_ledger_says():
    maps = StochasticMatrices(3)
    exact = rk.PhiRegret(rk.RegretMatching(maps.coefficients), maps)
    rough = rk.PhiRegret(rk.RegretMatching(maps.coefficients), maps, AveragedPowerIterate(steps=4))
    for player, is_exact in ((exact, True), (rough, False)):
        ledger = RegretLedger(player, strict=True)
        swap = naive.swap_regret([*zip(*play(player), strict=True)])
        assert ledger.regret_bounds()["top"].exact == is_exact
        assert ledger.regret_bounds()["top"].regret == pytest.approx(swap)
        lost = swap - ledger.external(player.minimizer)
        assert (abs(lost) < 1e-9) == is_exact


@pytest.mark.parametrize("steps", [1, 2, 7])
def test_a_map_moves_its_averaged_power_iterate_by_one_step_in_so_many(steps):
    generator = np.random.default_rng(steps)
    maps = StochasticMatrices(4)
    chain = maps.coefficients.normalize(generator.random(16))
    x = AveragedPowerIterate(steps)(maps, chain)
    z = maps.domain.relative_interior_point()
    end = z
    for _ in range(steps):
        end = end @ chain.reshape(4, 4)
    np.testing.assert_allclose(maps.apply(chain, x) - x, (end - z) / steps, atol=1e-14)


class Saying(DeviationSet):
    """Stochastic matrices that report the earnings that a function returns."""

    def __init__(self, simplices, earned):
        self.honest, self.earned = StochasticMatrices(simplices), earned
        self.domain, self.coefficients = self.honest.domain, self.honest.coefficients

    def apply(self, coefficients, point):
        return self.honest.apply(coefficients, point)

    def utility(self, utility, point):
        return self.earned(utility, point)

    def fixed_point(self, coefficients):
        return self.honest.fixed_point(coefficients)

    def regret(self, tracker):
        return tracker.swap


UNTRUE = {
    "twice": lambda u, x: 2.0 * np.outer(x, u).ravel(),
    "all alike": lambda u, x: np.repeat(u @ x / 3.0, 9),
    "transposed": lambda u, x: np.outer(u, x).ravel(),
}


@pytest.mark.parametrize(
    ("earned", "fixed_point", "relation"),
    [*((name, (), "=") for name in UNTRUE), ("all alike", [AveragedPowerIterate(100)], "<=")],
)
def test_maps_that_earn_something_else_than_their_points_break_the_bound(
    earned, fixed_point, relation
):
    maps = Saying(3, UNTRUE[earned])
    player = rk.PhiRegret(rk.RegretMatching(maps.coefficients), maps, *fixed_point)
    RegretLedger(player, strict=True)
    with pytest.raises(AssertionError, match=f"R against the maps {relation} R of the minimizer"):
        play(player)


def test_maps_that_say_what_they_earn_keep_the_theorem_and_it_is_about_swap_regret():
    maps = Saying(3, lambda u, x: np.outer(x, u).ravel())
    player = rk.PhiRegret(rk.RegretMatching(maps.coefficients), maps)
    ledger = RegretLedger(player, strict=True)
    swap = naive.swap_regret([*zip(*play(player), strict=True)])
    assert ledger.regret_bounds()["top"].regret == pytest.approx(swap)
    assert swap > 0.1


def test_a_point_that_is_not_fixed_breaks_the_bound():
    maps = StochasticMatrices(2)
    player = rk.PhiRegret(rk.RegretMatching([2, 2]), maps, lambda maps, c: np.array([0.9, 0.1]))
    RegretLedger(player, strict=True)
    with pytest.raises(AssertionError, match="R against the maps = R of the minim"):
        play(player)


class ToTheEnd(DeviationSet):
    """The maps of an interval that move everything to its right end, or leave it."""

    def __init__(self):
        self.domain, self.coefficients = Box([-1.0], [1.0]), rk.Simplices(2)

    def apply(self, coefficients, point):
        return coefficients[0] * point + coefficients[1] * np.ones(1)

    def utility(self, utility, point):
        return np.array([utility @ point, utility.sum()])


def test_averaged_power_iterates_keep_their_bound_off_simplices_too():
    player = rk.PhiRegret(rk.RegretMatching(2), ToTheEnd(), AveragedPowerIterate(3))
    RegretLedger(player, strict=True)
    play(player)


def test_a_run_is_kept_player_by_player():
    game = rk.games.kuhn_poker()
    run = rk.play.cfr.start(game)
    ledger = RegretLedger(run, strict=True)
    run.run(50)
    assert list(ledger.regret_bounds()) == ["player 0", "player 1"]
    assert ledger.tracker(run.minimizers[1]).iterations == 50


def test_what_stands_in_no_ledger_or_in_another_is_refused():
    player = rk.RegretMatching(2)
    ledger = RegretLedger(player)
    with pytest.raises(ValueError, match="is not tracked by this ledger"):
        ledger.external(rk.RegretMatching(2))
    with pytest.raises(ValueError, match="top is already tracked by another ledger"):
        RegretLedger(player)
    for wrong in (None, [player], types.SimpleNamespace(minimizers=[player, 3])):
        with pytest.raises(TypeError, match="subject must be a minimizer or a run"):
            RegretLedger(wrong)
    with pytest.raises(ValueError, match="rtol must be a finite number above 0, got"):
        RegretLedger(rk.RegretMatching(2), rtol=np.nan)
    ledger.detach()
    RegretLedger(player)


def test_a_ledger_measures_what_it_can_of_a_decision_of_4000_actions():
    player = rk.CFR(rk.DecisionTree([0], [4_000]), rk.RegretMatching)
    ledger = RegretLedger(player, strict=True)

    strategies, utilities = play(player, iterations=3)

    expected = utilities[:, 1:].sum(axis=0).max() - (utilities * strategies)[:, 1:].sum()
    assert ledger.regret_bounds()["top"].bound == pytest.approx(expected)
    assert ledger.external(player.rule) == pytest.approx(expected)
    text = str(ledger)
    assert "R <= sum over decision points of their positive R" in text
    assert text.endswith(
        "internal and swap regret of top.rule are not tracked: 16,000,000 pairs of actions, "
        "of at most 10,000,000"
    )
    assert "are not tracked" in ledger._repr_html_()
    with pytest.raises(TypeError, match="10,000,000 pairs of actions at most"):
        ledger.swap(player.rule)


def test_the_nodes_of_a_ledger_share_the_limit_on_pairs_of_actions():
    player = rk.Product([rk.RegretMatching(1_500) for _ in range(4)])
    ledger = RegretLedger(player)
    play(player, iterations=2)
    # Four blocks of 2,250,000 pairs at the top exhaust the limit for the parts.
    tracked = [ledger.tracker(node).on_simplices for node in (player, *player.parts)]
    assert tracked == [True, False, False, False, False]
    assert str(ledger).count("are not tracked") == 4
    ledger.check()


def test_swap_regret_is_refused_where_there_are_no_actions():
    player = rk.CFR(rk.DecisionTree([0], [2]), rk.RegretMatching)
    ledger = RegretLedger(player)
    with pytest.raises(TypeError, match="only external regret"):
        ledger.swap(player)
