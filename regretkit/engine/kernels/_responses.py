"""Compiled best responses: backward passes with v = max_a u[a] at each decision point.

Sums have NumPy's order and its zeros, so that both results are bitwise identical.
"""

from typing import NamedTuple

from regretkit._compiler import lanes
from regretkit._util._typing import Vector, span
from regretkit.engine._layout import Iterates, Payoffs, Trees
from regretkit.engine.kernels._payoffs import compute_utility
from regretkit.engine.kernels._walks import at_points, backward

DISJOINT = True


class ResponseArrays(NamedTuple):
    """All that best responses read and write."""

    payoffs: Payoffs
    trees: Trees
    iterates: Iterates
    found: Vector
    """Each player's gain from a best response, and its strategy's largest violation of the
    player's set; shape ``(players, 2)``."""


def respond(begin: int, end: int, arrays: ResponseArrays) -> None:
    """Compute best responses of the players from ``begin`` to ``end``, and all players' gains.

    Afterwards, the utility of a sequence is its value if best actions follow.
    """
    for player in range(begin, end):
        compute_utility(player, arrays.payoffs, arrays.trees, arrays.iterates)
        backward(player, best_of_range, (), arrays)
    for player in range(arrays.found.shape[0]):
        measure(player, arrays)


def best_of_range(r: int, tree: int, given: tuple[()], arrays: ResponseArrays) -> None:
    """Set the value of each point to that of its best action."""
    at_points(r, set_best, (), arrays)


def set_best(
    point: int,
    first: int,
    actions: int,
    stride: int,
    wide: int,
    given: tuple[()],
    arrays: ResponseArrays,
) -> None:
    """Set the value of a point to that of its best action."""
    utility = lanes(arrays.iterates.utility, first, stride, wide)
    lanes(arrays.iterates.values, point, 1, wide)[0] = largest(actions, utility)


def largest(actions: int, utility: Vector) -> float:
    """Return the largest utility of a decision point's actions."""
    best: float = utility[0]
    for k in range(1, actions):
        best = max(best, utility[k])
    return best


def measure(player: int, arrays: ResponseArrays) -> None:
    """Set a player's gain from a best response, and its strategy's violation of the set.

    With u[a] the value of sequence a if best actions follow, the gain is
    sum_j sum_{a at j} x[a] (max_{a' at j} u[a'] - u[a]).
    """
    trees, found = arrays.trees, arrays.found[player]
    strategy, values = arrays.iterates.strategy, arrays.iterates.values
    error = abs(strategy[trees.sequence_offsets[player]] - 1.0)
    for r in span(trees.range_offsets, player):
        error = max(error, measure_range(r, arrays))
    gain = 0.0
    for j in span(trees.point_offsets, player):
        gain += values[trees.point[j]]
    found[0], found[1] = gain, error


def measure_range(r: int, arrays: ResponseArrays) -> float:
    """Set the value of each point to its loss; return the strategy's largest violation."""
    at_points(r, set_missed, (), arrays)
    point, count, stride, actions, first = arrays.trees.ranges[r]
    strategy, error = arrays.iterates.strategy, 0.0
    for i in range(count):
        total = 0.0
        for k in range(actions):
            weight = float(strategy[first + stride * k + i])
            total += weight
            error = max(error, -weight)  # x >= 0
        # sum_a x[a] = x[parent]
        error = max(error, abs(total - float(strategy[arrays.trees.parent[point + i]])))
    return error


def set_missed(
    point: int,
    first: int,
    actions: int,
    stride: int,
    wide: int,
    given: tuple[()],
    arrays: ResponseArrays,
) -> None:
    """Set the value of a point to its loss against the best action: sum_a x[a] (max u - u[a])."""
    utility = lanes(arrays.iterates.utility, first, stride, wide)
    played = lanes(arrays.iterates.strategy, first, stride, wide)
    best, missed = largest(actions, utility), 0.0
    for k in range(actions):
        missed += played[k] * (best - utility[k])
    lanes(arrays.iterates.values, point, 1, wide)[0] = missed
