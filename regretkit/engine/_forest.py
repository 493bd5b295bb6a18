"""The decision trees of all players as flat arrays, laid end to end."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from regretkit._util._typing import Indices, Narrow
from regretkit._util._validate import quote
from regretkit.games._payoff_rows import offsets
from regretkit.sets import DecisionTree, Simplices, StrategySet

_WIDEST = np.iinfo(np.uint32).max


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
    points: Narrow
    """Where each player's decision points begin, and where the last one's end."""
    sequences: Narrow
    """Where each player's sequences begin, the empty one first, and where the last one's end."""
    first_child: Narrow
    """Where the decision points after each sequence begin, and where those of the last end."""
    children: Narrow
    """The decision points after each sequence, last to first."""

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
            raise TypeError(f"{quote(domain)} has no decision points")
        first = sequences[-1] + 1 + simplices.first
        firsts.append(first)
        lasts.append(first + simplices.sizes)
        parents.append(sequences[-1] + parent)
        points.append(points[-1] + simplices.blocks)
        sequences.append(sequences[-1] + 1 + simplices.dimension)
    parent = np.concatenate(parents)
    first_child, children = children_of(parent, sequences[-1])
    return Forest(
        first=narrow(np.concatenate(firsts)),
        last=narrow(np.concatenate(lasts)),
        parent=narrow(parent),
        points=narrow(np.array(points)),
        sequences=narrow(np.array(sequences)),
        first_child=first_child,
        children=children,
    )


def children_of(parent: Indices, sequences: int) -> tuple[Narrow, Narrow]:
    """Return the decision points after each sequence, last to first, and where they begin."""
    backwards = np.argsort(parent[::-1], kind="stable")
    begin = offsets(np.bincount(parent, minlength=sequences))
    return narrow(begin), narrow(parent.size - 1 - backwards)


def narrow(indices: Indices) -> Narrow:
    """Return indices in half their width."""
    if indices.size and int(indices.max()) > _WIDEST:
        raise MemoryError(f"the game needs the index {indices.max()}, and has room up to {_WIDEST}")
    return np.ascontiguousarray(indices, dtype=np.uint32)
