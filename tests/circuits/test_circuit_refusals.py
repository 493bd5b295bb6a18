"""Circuits reject parts that cannot work, at any depth: one case for each kind of mistake."""

import copy

import numpy as np
import pytest
from refusals import refusals

import regretkit as rk
from regretkit import circuits as c
from regretkit.minimizers import ConicBlackwell
from regretkit.sets import Simplices

SHARED, ONE = rk.RegretMatching(2), rk.RegretMatching(2)
TREE = rk.DecisionTree([0, 0, 0], [2, 3, 2], labels=["a", "b", "b"])


def hull(*parts):
    return rk.ConvexHull([rk.Point([1.0, 0.0]), *parts[:-1]], parts[-1])


def constrained(minimizer=None, bound=(0.5,), multipliers=None):
    prices = c.AffineImage(rk.RegretMatching(2), [[1.0, 0.0]])
    player = minimizer or rk.RegretMatching(2)
    return c.Constrained(player, [[1.0, 0.0]], bound, multipliers or prices)


test_one_object_in_two_places_is_refused_at_any_depth = refusals(
    lambda: rk.ConvexHull([SHARED, rk.Point([1.0, 0.0])], SHARED),
    lambda: rk.Product([rk.Product([SHARED]), hull(rk.Product([SHARED]), rk.RegretMatching)]),
    lambda: rk.Product([rk.CFR(rk.DecisionTree([0], [2]), lambda _: SHARED), SHARED]),
    lambda: rk.CFR(rk.DecisionTree([0, 0], [2, 2]), rk.PerDecisionPoint(lambda _: SHARED)),
    lambda: c.MinkowskiSum([SHARED, c.AffineImage(SHARED, np.eye(2))]),
    lambda: constrained(SHARED, multipliers=c.AffineImage(SHARED, [[1.0, 0.0]])),
    lambda: c.TreeSwap(lambda: ONE, layers=2, branching=2),
    error=ValueError,
    match="the same minimizer occurs twice",
)


test_what_is_no_part_of_a_circuit_is_refused = refusals(
    (lambda: rk.Product([rk.RegretMatching]), TypeError, "must be a RegretMinimizer"),
    (lambda: hull(lambda s: None), TypeError, "the result of mixing must be"),
    (lambda: rk.PhiRegret(rk.RegretMatching(2), "swap"), TypeError, "maps must be a DeviationSet"),
    (lambda: rk.CFR(TREE, rk.RegretMatching([2, 3, 2])), TypeError, "local must be a rule's class"),
    (lambda: c.LinearDeviations(Simplices(3)), TypeError, "tree must be a DecisionTree"),
    (lambda: c.AffineImage(Simplices(2), np.eye(2)), TypeError, "must be a RegretMinimizer"),
)


test_numbers_out_of_their_range_are_refused = refusals(
    (lambda: c.internal_maps(1), ValueError, "actions must be a whole number, at least 2"),
    (lambda: c.FiniteDeviations([np.eye(2), -np.eye(2)]), ValueError, r"row \(1, 0\)"),
    (lambda: c.FiniteDeviations(np.eye(2)[0]), ValueError, r"shape \(..., n, n\)"),
    (lambda: c.AffineImage(ONE, [[np.nan, 0.0]]), ValueError, "got nan at coordinate 0, 0"),
    (lambda: c.AffineImage(ONE, "eye"), TypeError, "matrix must be numbers"),
    (lambda: c.ExplorationMixture(ONE, gamma=10**400), ValueError, "gamma must be from 0 to 1"),
    (lambda: c.Restart(ONE, every=True), TypeError, "a whole number, at least 1, got True"),
    (
        lambda: c.Discount(rk.RegretMatching(2), weight=lambda t: -t).observe_utility([0, 0]),
        ValueError,
        r"weight\(1\) must be a finite",
    ),
    (lambda: c.EFR(TREE, "csp"), ValueError, "did you mean 'csps'"),
    (lambda: c.Deviations("perfect", "internal"), ValueError, "'memory' must be in"),
)


test_parts_that_do_not_fit_together_are_refused = refusals(
    (lambda: rk.Product([]), "one or more sets, got none"),
    (lambda: rk.Product([ONE], [[1, 1]]), "each once"),
    (lambda: hull(rk.RegretMatching(3), rk.RegretMatching(2)), r"\[2, 3\]"),
    (lambda: rk.PhiRegret(rk.RegretMatching(3), c.internal_maps(3)), r"play on maps\.coefficients"),
    (
        lambda: rk.SwapRegret(2, lambda s: ONE),
        r"pass PerDecisionPoint\(rule\) for a rule on one simplex",
    ),
    (lambda: c.AffineImage(ONE, np.eye(3)), r"dimension 2; pass shape \(3, 2\)"),
    (lambda: c.ExplorationMixture(ONE, gamma=0.5, reference=[0.9, 0.9]), "reference must be a po"),
    (lambda: constrained(multipliers=rk.RegretMatching(2)), "must have dimension 1"),
    (lambda: constrained(multipliers=rk.Point([1.0])), "nonnegative vectors with 0 among them"),
    (
        lambda: rk.CFR(TREE, rk.ByDecisionPoint({0: rk.RegretMatching})),
        r"must name decision points \['b",
    ),
    (lambda: rk.CFR(TREE, rk.ByDecisionPoint({"a": rk.Hedge, 0: rk.Hedge})), "point twice"),
    (lambda: rk.CFR(TREE, rk.RegretMatching)["b"], "ambiguous"),
    (lambda: c.EFR(rk.DecisionTree(range(0, 60, 2), [2] * 30), "bhv"), "over 10,000,000 weights"),
    error=ValueError,
)


@pytest.mark.parametrize("build", [rk.CFR, c.EFR])
def test_rules_that_bound_the_sum_of_all_regrets_alone_are_warned_of(build):
    tree = rk.DecisionTree([0, 2], [2, 3])
    local = (lambda s: c.Restart(ConicBlackwell(s), every=5)) if build is rk.CFR else ConicBlackwell
    with pytest.warns(RuntimeWarning, match="has no regret bound here"):
        player = build(tree, local=local)
    assert "bounds only the sum of the regrets" in player.no_guarantee
    rk.CFR(tree, rk.PerDecisionPoint(lambda n: ConicBlackwell(Simplices(n))))  # and no warning


def test_a_hundred_levels_play_learn_and_are_copied():
    deep, flat = rk.RegretMatching(2), rk.RegretMatching(2)
    for _ in range(100):
        deep = rk.Product([deep])

    for utility in np.random.default_rng(0).normal(size=(5, 2)):
        deep.expect_utility(utility)
        deep.observe_utility(utility)
        flat.observe_utility(utility)
    twin = copy.deepcopy(deep)
    twin.load_state_dict(deep.state_dict())

    np.testing.assert_array_equal(twin.next_strategy(), flat.next_strategy())
    assert deep.domain.contains(deep.next_strategy())


def test_cfr_itself_knows_no_such_limit():
    tree = rk.DecisionTree([2 * j for j in range(3_000)], [2] * 3_000)
    player = rk.CFR(tree, rk.RegretMatching)

    player.observe_utility(np.eye(tree.dimension)[-1])

    assert tree.depth == 3_000
    # Uniform play halves the worth at every step up, so this far up it is still a number.
    np.testing.assert_array_equal(player[2_999].strategy, [0.0, 1.0])
    np.testing.assert_array_equal(player[2_500].strategy, [0.0, 1.0])
    assert tree.contains(player.next_strategy())


@pytest.mark.parametrize(
    "make",
    [
        lambda tree: rk.CFR(tree, rk.PerDecisionPoint(rk.RegretMatching)),
        lambda tree: rk.CFR(tree, rk.ByDecisionPoint({}, otherwise=rk.Hedge)),
        lambda tree: rk.CFR(tree, rk.RegretMatching),
        lambda tree: c.EFR(tree, "tips"),
        lambda tree: c.linear_swap_regret(tree, rk.RegretMatching),
        lambda tree: c.trigger_regret(tree, rk.RegretMatching),
        lambda tree: rk.minimizers.DilatedMirrorDescent(tree, rate=0.5),
    ],
)
def test_who_never_decides_plays_on(make):
    player = make(rk.DecisionTree([], []))
    player.observe_utility([3.0])
    np.testing.assert_array_equal(player.next_strategy(), [1.0])
