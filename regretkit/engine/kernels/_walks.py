"""Compiled backward and forward passes over a decision tree."""

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
    """Call ``at_range(r, tree, given, arrays)`` for each range, from the leaves to the root.

    Before the call, the utilities of the range include the values of later points. The call sets
    the values of the range's points.
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
    """Add the values of the next points to each utility: u[a] += sum of v[j] over points j after a.

    A sum within rounding of zero becomes zero. ``negligible`` bounds such sums, so that larger ones
    skip the test.
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
    """Call ``at_point(point, first, actions, stride, wide, given, arrays)`` along a range.

    Each call covers ``wide`` points in vectors. Padding fills the last vector of a range.
    """
    point, count, stride, actions, first = arrays.trees.ranges[r]
    if stride < width():
        at_point(point, first, actions, 1, 1, given, arrays)
    else:
        for i in range(0, count, width()):
            at_point(point + i, first + i, actions, stride, width(), given, arrays)


def value_of(n: int, negligible: float, utility: Vector, strategy: Vector) -> float:
    """Return the expected utility <u, b> of a decision point, or zero if it is a rounding error."""
    top = utility[0]
    for k in range(1, n):
        top = max(top, utility[k])
    # <u, b> = max u + sum_k (u[k] - max u) b[k], as b sums to 1. Equal utilities then have regrets
    # of exactly zero.
    difference = 0.0
    for k in range(n):
        difference += (utility[k] - top) * strategy[k]
    value = top + difference
    rounding = RESOLUTION * (abs(top) + abs(value - top))
    return 0.0 if abs(value) <= negligible and abs(value) <= rounding else value


def forward(tree: int, decay: float, weight: float, trees: Trees, iterates: Iterates) -> None:
    """Add x to the average, then compute the next x from b.

    total = decay total + weight x, and x[a] = b[a] x[parent of a's decision point].
    """
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
