"""A rule at one decision point, for sampled iterations and play without a tree.

``learn`` and ``propose`` are placeholders: those of the rule's kernel take their place.
"""

from regretkit._util._typing import Vector, as_int64, span
from regretkit._util._validate import ATOL
from regretkit.engine._layout import FlatTrees

State = tuple[Vector, ...]


def learn(
    block: int,
    first: int,
    last: int,
    utility: Vector,
    value: float,
    strategy: Vector,
    state: State,
    parameters: Vector,
) -> None:
    """Update a rule at one decision point, as ``Kernel`` says."""
    raise NotImplementedError


def propose(
    block: int, first: int, last: int, strategy: Vector, state: State, parameters: Vector
) -> None:
    """Set a rule's distribution at one decision point."""
    raise NotImplementedError


def initialize(
    parameters: Vector, trees: FlatTrees, behavior: Vector, strategy: Vector, state: State
) -> None:
    """Compute every b and x from the state of the rules."""
    for player in range(trees.infoset_offsets.size - 1):
        strategy[trees.sequence_offsets[player]] = 1.0
        for j in span(trees.infoset_offsets, player):
            first, last = as_int64(trees.first[j]), as_int64(trees.last[j])
            propose(j, first, last, behavior, state, parameters[player])
            for a in range(first, last):
                strategy[a] = behavior[a] * strategy[trees.parent[j]]


def infoset_value(first: int, last: int, utility: Vector, behavior: Vector) -> float:
    """Return the expected utility of a decision point.

    Computed relative to the largest, so that equal utilities leave regrets of exactly zero.
    """
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
    """Return whether these are probabilities, as ``InfosetRecord.play`` requires."""
    total, least = 0.0, 0.0
    for a in range(size):
        total += strategy[a]
        least = min(least, strategy[a])
    return bool(abs(total - 1.0) <= ATOL and least >= -ATOL)
