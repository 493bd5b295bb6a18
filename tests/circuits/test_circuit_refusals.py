"""A circuit that could not work, or not be called so deep, is refused when it is built."""

import copy

import numpy as np
import pytest
from refusals import refusals

import regretkit as rk
from regretkit._util._arrays import depths
from regretkit.circuits import (
    DeviationSet,
    FiniteDeviations,
    StochasticMatrices,
    internal_maps,
)
from regretkit.sets import Simplices

SHARED = rk.RegretMatching(2)
TREE = rk.DecisionTree([0, 0], [2, 2])


def corner():
    return rk.Point([1.0, 0.0])


def hull(*parts):
    return rk.ConvexHull([corner(), *parts[:-1]], parts[-1])


test_one_object_in_two_places_is_refused_at_any_depth = refusals(
    lambda: rk.Product([SHARED, SHARED]),
    lambda: rk.ConvexHull([corner(), SHARED], SHARED),
    lambda: rk.Product([hull(rk.RegretMatching(2), SHARED), SHARED]),
    lambda: rk.Product([rk.Product([SHARED]), hull(corner(), rk.Product([SHARED]))]),
    lambda: rk.Product([rk.PhiRegret(SHARED, internal_maps(2)), SHARED]),
    lambda: rk.Product([rk.CFR(rk.DecisionTree([0], [2]), lambda _: SHARED), SHARED]),
    lambda: rk.CFR(TREE, rk.PerDecisionPoint(lambda _: SHARED)),
    lambda: rk.CFR(TREE, rk.ByDecisionPoint({0: lambda _: SHARED, 1: lambda _: SHARED})),
    lambda: rk.circuit(TREE, lambda _: SHARED),
    lambda: rk.SwapRegret(2, rk.PerDecisionPoint(lambda _: SHARED)),
    error=ValueError,
    match=r"two places .* build one for each, as in \[make\(\)",
)


test_what_cannot_be_a_circuit_is_refused = refusals(
    (lambda: rk.Product([]), ValueError, "one or more sets, got none"),
    (lambda: rk.Product([rk.RegretMatching]), TypeError, "parts must be a RegretMinimizer"),
    (lambda: rk.Product(rk.RegretMatching(2)), TypeError, "not iterable"),
    (lambda: rk.Product([corner()], [[0]]), ValueError, r"coordinates must give \[2\]"),
    (lambda: rk.Product([corner()], [[1, 1]]), ValueError, "each once"),
    (lambda: hull(rk.RegretMatching(3), rk.RegretMatching(2)), ValueError, r"\[2, 3\]"),
    (
        lambda: hull(corner(), rk.RegretMatching(3)),
        ValueError,
        r"mixing must play on Simplices\(2\), got",
    ),
    (lambda: hull(corner(), lambda s: rk.RegretMatching(3)), ValueError, "mixing must play"),
    (lambda: hull(corner(), lambda s: None), TypeError, "what mixing returned must be"),
    (lambda: hull(corner(), 2), TypeError, "mixing must be a rule's class"),
    (lambda: hull(None, rk.RegretMatching(2)), TypeError, "members must .* got None"),
    (
        lambda: rk.PhiRegret(rk.RegretMatching, internal_maps(2)),
        TypeError,
        "must be a RegretMinimizer",
    ),
    (
        lambda: rk.PhiRegret(rk.RegretMatching(3), internal_maps(3)),
        ValueError,
        r"must play on maps\.coefficients",
    ),
    (lambda: rk.PhiRegret(rk.RegretMatching(2), "swap"), TypeError, "maps must be a DeviationSet"),
    (lambda: rk.SwapRegret(0, rk.RegretMatching), ValueError, "each at least 1"),
    (lambda: rk.SwapRegret(2.5, rk.RegretMatching), TypeError, "whole numbers"),
    (
        lambda: rk.SwapRegret(2, rk.RegretMatching(2)),
        TypeError,
        "expert must be a rule's class",
    ),
    (
        lambda: rk.SwapRegret(2, "rm"),
        TypeError,
        "expert must be a rule's class",
    ),
    (lambda: rk.SwapRegret(2, lambda s: SHARED), ValueError, r"PerDecisionPoint\(rule\)"),
    (lambda: rk.SwapRegret(2, lambda s: None), TypeError, "what expert returned must be"),
    (lambda: internal_maps(1), ValueError, "actions must be a whole number, at least 2, got 1"),
    (lambda: FiniteDeviations(np.eye(2)), ValueError, r"shape \(k, n, n\), got \(2, 2\)"),
    (lambda: FiniteDeviations([[[1.0, 0.5], [0.0, 1.0]]]), ValueError, r"row \(0, 0\) is \[1"),
    (lambda: FiniteDeviations([np.eye(2), -np.eye(2)]), ValueError, r"row \(1, 0\)"),
    (lambda: FiniteDeviations([np.eye(2) * np.nan]), ValueError, r"row \(0, 0\)"),
    (lambda: FiniteDeviations([np.eye(2)], tolerance=5), ValueError, "from 0 to 0.001, got 5"),
    (lambda: StochasticMatrices([2, 0]), ValueError, "each at least 1"),
)


def test_a_fixed_point_of_maps_that_are_no_chains_is_for_the_user_to_give():
    class Halving(DeviationSet):
        domain = coefficients = Simplices(2)

        def apply(self, coefficients, point):
            return (coefficients + point) / 2

        def utility(self, utility, point):
            return utility / 2

    with pytest.raises(NotImplementedError, match="Halving has no fixed_point; pass Averaged"):
        rk.PhiRegret(rk.RegretMatching(2), Halving())
    player = rk.PhiRegret(rk.RegretMatching(2), Halving(), lambda maps, coefficients: coefficients)
    player.observe_utility([0.0, 1.0])
    np.testing.assert_array_equal(player.next_strategy(), [0.0, 1.0])


def test_an_object_may_leave_a_circuit_that_was_refused():
    member = rk.RegretMatching(2)
    with pytest.raises(ValueError, match="mixing must play"):
        rk.ConvexHull([member, corner()], rk.RegretMatching(1))

    player = rk.ConvexHull([member, corner()], rk.RegretMatching(2))

    player.observe_utility([0.0, 1.0])
    assert member.iteration == 1


# Depth


def chain(points):
    """Return a tree in which every second action leads to the next decision."""
    return rk.DecisionTree([2 * j for j in range(points)], [2] * points)


def nested(levels):
    player = rk.RegretMatching(2)
    for _ in range(levels):
        player = rk.Product([player])
    return player


def test_a_hundred_levels_play_learn_and_are_copied():
    deep, flat = nested(100), rk.RegretMatching(2)

    for utility in np.random.default_rng(0).normal(size=(5, 2)):
        deep.expect_utility(utility)
        deep.observe_utility(utility)
        flat.observe_utility(utility)
    twin = copy.deepcopy(deep)
    twin.load_state_dict(deep.state_dict())

    np.testing.assert_array_equal(twin.next_strategy(), flat.next_strategy())
    assert deep.domain.contains(deep.next_strategy())


def test_cfr_itself_knows_no_such_limit():
    tree = chain(3_000)
    player = rk.CFR(tree, rk.RegretMatching)

    player.observe_utility(np.eye(tree.dimension)[-1])

    assert tree.depth == 3_000
    # Uniform play halves the worth at every step up, so this far up it is still a number.
    np.testing.assert_array_equal(player[2_999].strategy, [0.0, 1.0])
    np.testing.assert_array_equal(player[2_500].strategy, [0.0, 1.0])
    assert tree.contains(player.next_strategy())


def test_depths_are_those_of_walking_up():
    generator = np.random.default_rng(3)
    parent = np.array([int(generator.integers(-1, i)) if i else -1 for i in range(200)])

    def walked(i):
        return 0 if parent[i] < 0 else 1 + walked(parent[i])

    np.testing.assert_array_equal(depths(parent), [walked(i) for i in range(200)])


@pytest.mark.parametrize(
    "local",
    [
        rk.PerDecisionPoint(rk.RegretMatching),
        rk.ByDecisionPoint({}, otherwise=rk.Hedge),
        rk.RegretMatching,
    ],
)
def test_who_never_decides_needs_no_rule(local):
    tree = rk.DecisionTree([], [])

    player = rk.CFR(tree, local)
    player.observe_utility([3.0])

    np.testing.assert_array_equal(player.next_strategy(), [1.0])
