"""Compiled computations at one decision point, for sampled iterations."""

from regretkit._util._typing import Vector
from regretkit._util._validate import ATOL

State = tuple[Vector, ...]


def infoset_value(first: int, last: int, utility: Vector, behavior: Vector) -> float:
    """Return the expected utility <u, b> of a decision point."""
    # max u + sum_a (u[a] - max u) b[a]: equal utilities then have regrets of exactly zero.
    if last - first == 1:
        return float(utility[first])
    top = float(utility[first])
    for a in range(first + 1, last):
        top = max(top, float(utility[a]))
    difference = 0.0
    for a in range(first, last):
        difference += float((utility[a] - top) * behavior[a])
    return top + difference


def is_strategy(size: int, strategy: Vector) -> bool:
    """Return whether ``strategy`` is a distribution, as ``PointRule.update`` requires."""
    total, least = 0.0, 0.0
    for a in range(size):
        total += strategy[a]
        least = min(least, strategy[a])
    return bool(abs(total - 1.0) <= ATOL and least >= -ATOL)
