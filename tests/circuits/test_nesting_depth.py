"""Circuits nest as deep as Python lets functions call each other, and say so where they end."""

import copy
import sys

import numpy as np
import pytest

import regretkit as rk
from regretkit._util._arrays import depths


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


def test_a_circuit_that_python_cannot_call_is_refused_with_what_would_do():
    too_deep = sys.getrecursionlimit() // 8 + 1

    with pytest.raises(ValueError, match=r"too deep for Python's recursion limit of .* by CFR"):
        nested(too_deep)
    with pytest.raises(ValueError, match=f"{2 * too_deep + 1} levels deep"):
        rk.circuit(chain(too_deep), rk.RegretMatching)


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
