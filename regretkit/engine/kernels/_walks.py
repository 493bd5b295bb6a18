"""The way from the leaves of a tree to its root, with what happens at a range as a parameter."""

import math
from collections.abc import Callable
from typing import Any, TypeAlias

from regretkit._compiler import width
from regretkit._util._arrays import RESOLUTION
from regretkit._util._typing import Vector, as_int64, backwards, span
from regretkit.engine._layout import Iterates, Trees

WITHIN_BOUNDS = True

AtRange: TypeAlias = Callable[..., None]
AtPoint: TypeAlias = Callable[..., None]


def backward(tree: int, at_range: AtRange, given: Any, arrays: Any) -> None:
    """Go through the ranges of a tree, each once its utilities have the values of what follows.

    ``at_range(r, tree, given, arrays)`` sets the value of each point of a range.
    """
    trees, iterates, negligible = arrays.trees, arrays.iterates, arrays.payoffs.negligible[tree]
    for r in backwards(trees.range_offsets, tree):
        if trees.followed[r] > 0:
            first = trees.ranges[r, 4]
            end = first + trees.ranges[r, 2] * trees.ranges[r, 3]
            gather(first, end, negligible, trees, iterates)
        at_range(r, tree, given, arrays)
    root = as_int64(trees.sequence_offsets[tree])
    gather(root, root + 1, negligible, trees, iterates)


def gather(first: int, end: int, negligible: float, trees: Trees, iterates: Iterates) -> None:
    """Add the values of the points after each sequence, in the order of the game.

    A sum is zero where the values cancel up to rounding. No sum above ``negligible`` can be.
    """
    utility, values = iterates.utility, iterates.values
    for a in range(first, end):
        begin, stop = as_int64(trees.child_offsets[a]), as_int64(trees.child_offsets[a + 1])
        total = utility[a]
        for k in range(begin, stop):
            total += values[trees.children[k]]
        size = abs(total) if total != 0.0 else math.inf
        if size <= negligible and begin < stop:
            magnitude = 0.0
            for k in range(begin, stop):
                magnitude += abs(values[trees.children[k]])
            total = 0.0 if size <= RESOLUTION * magnitude else total
        utility[a] = total


def at_points(r: int, at_point: AtPoint, given: Any, arrays: Any) -> None:
    """Call ``at_point(point, first, actions, stride, wide, given, arrays)`` all along a range.

    ``wide`` points are taken at once, in vectors, where the range is filled up to these.
    """
    point, count, stride, actions, first = arrays.trees.ranges[r]
    if stride < width():
        at_point(point, first, actions, 1, 1, given, arrays)
    else:
        for i in range(0, count, width()):
            at_point(point + i, first + i, actions, stride, width(), given, arrays)


def value_of(n: int, negligible: float, utility: Vector, strategy: Vector) -> float:
    """Return the expected utility of a decision point, zero where it is rounding.

    It is computed relative to the largest, so that equal utilities leave regrets of exactly zero.
    """
    top = utility[0]
    for k in range(1, n):
        top = max(top, utility[k])
    difference = 0.0
    for k in range(n):
        difference += (utility[k] - top) * strategy[k]
    value = top + difference
    rounding = RESOLUTION * (abs(top) + abs(value - top))
    return 0.0 if abs(value) <= negligible and abs(value) <= rounding else value


def forward(tree: int, decay: float, weight: float, trees: Trees, iterates: Iterates) -> None:
    """Add x to the average, and turn the new distributions into the next x."""
    strategy, behavior, total = iterates.strategy, iterates.behavior, iterates.total
    reach, root = iterates.reach, as_int64(trees.sequence_offsets[tree])
    total[root] = decay * total[root] + weight * strategy[root]
    strategy[root] = 1.0
    for r in span(trees.range_offsets, tree):
        point, count, stride, actions, first = trees.ranges[r]
        for i in range(count):
            reach[i] = strategy[trees.parent[point + i]]
        for k in range(actions):
            begin = first + k * stride
            for i in range(count):
                total[begin + i] = decay * total[begin + i] + weight * strategy[begin + i]
                strategy[begin + i] = behavior[begin + i] * reach[i]
