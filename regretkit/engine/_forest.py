"""The decision trees of all players as flat arrays, laid end to end."""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from regretkit._typing import Indices
from regretkit.sets import DecisionTree, Simplices, StrategySet

Narrow: TypeAlias = NDArray[np.int32]
"""Indices of half the usual width, and so half as much memory to go through."""


class Forest(NamedTuple):
    """Every player's decision points and sequences, numbered through.

    A player who plays on simplices is one whose decision points all follow the empty sequence.
    """

    first: Narrow
    """The first sequence of each decision point."""
    last: Narrow
    """One beyond its last sequence."""
    parent: Narrow
    """The sequence before it."""
    points: Indices
    """Where each player's decision points begin, and where the last one's end."""
    sequences: Indices
    """Where each player's sequences begin, the empty one first, and where the last one's end."""

    @property
    def players(self) -> int:
        """Number of players."""
        return self.points.size - 1


def forest_of(domains: Sequence[StrategySet]) -> Forest:
    """Return the decision points of these sets, which are simplices or decision trees."""
    firsts, lasts, parents = [], [], []
    points, sequences = [0], [0]
    for domain in domains:
        if isinstance(domain, DecisionTree):
            simplices, parent = domain.simplices, domain.parent_sequence
        elif isinstance(domain, Simplices):
            simplices, parent = domain, np.zeros(domain.blocks, dtype=np.int64)
        else:
            raise TypeError(f"{domain!r} has no decision points")
        first = sequences[-1] + 1 + simplices.first
        firsts.append(first)
        lasts.append(first + simplices.sizes)
        parents.append(sequences[-1] + parent)
        points.append(points[-1] + simplices.blocks)
        sequences.append(sequences[-1] + 1 + simplices.dimension)
    return Forest(
        first=narrow(np.concatenate(firsts)),
        last=narrow(np.concatenate(lasts)),
        parent=narrow(np.concatenate(parents)),
        points=np.array(points),
        sequences=np.array(sequences),
    )


def narrow(indices: Indices) -> Narrow:
    """Return indices in half their width; 2^31 sequences would fill any memory."""
    return np.ascontiguousarray(indices, dtype=np.int32)
