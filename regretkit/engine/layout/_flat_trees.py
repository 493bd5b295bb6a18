"""The decision trees of all players in one set of arrays, and the iterates over them."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from regretkit._util._typing import Indices, Narrow, Vector
from regretkit._util._validate import quote
from regretkit.games._payoff_rows import offsets
from regretkit.sets import DecisionTree, Simplices, StrategySet

_LARGEST_INDEX = np.iinfo(np.uint32).max


class FlatTrees(NamedTuple):
    """Decision points and sequences of all players, numbered consecutively.

    A player on simplices is one whose decision points all follow the empty sequence.
    """

    first: Narrow
    """The first sequence of each decision point."""
    last: Narrow
    """One past its last sequence."""
    parent: Narrow
    """The sequence before it."""
    infoset_offsets: Narrow
    """First decision point of each player, and the number of all of them."""
    sequence_offsets: Narrow
    """First sequence of each player, the empty one, and the number of all of them."""
    child_offsets: Narrow
    """For each sequence, where its decision points begin in ``children``, and its length."""
    children: Narrow
    """The decision points after each sequence, in decreasing order."""

    @property
    def players(self) -> int:
        """Number of players."""
        return self.infoset_offsets.size - 1


def flatten_trees(domains: Sequence[StrategySet]) -> FlatTrees:
    """Return the decision points of these sets, which are simplices or decision trees."""
    firsts, lasts, parents = [], [], []
    infosets, sequences = [0], [0]
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
        infosets.append(infosets[-1] + simplices.blocks)
        sequences.append(sequences[-1] + 1 + simplices.dimension)
    parent = np.concatenate(parents)
    child_offsets, children = children_by_sequence(parent, sequences[-1])
    return FlatTrees(
        first=narrow(np.concatenate(firsts)),
        last=narrow(np.concatenate(lasts)),
        parent=narrow(parent),
        infoset_offsets=narrow(np.array(infosets)),
        sequence_offsets=narrow(np.array(sequences)),
        child_offsets=child_offsets,
        children=children,
    )


def children_by_sequence(parent: Indices, sequences: int) -> tuple[Narrow, Narrow]:
    """Return ``child_offsets`` and ``children`` of :class:`FlatTrees`."""
    order = np.argsort(parent[::-1], kind="stable")
    begin = offsets(np.bincount(parent, minlength=sequences))
    return narrow(begin), narrow(parent.size - 1 - order)


def narrow(indices: Indices) -> Narrow:
    """Return indices as unsigned 32-bit integers."""
    if indices.size and int(indices.max()) > _LARGEST_INDEX:
        raise MemoryError(
            f"the game needs the index {indices.max()}, and the largest is {_LARGEST_INDEX}"
        )
    return np.ascontiguousarray(indices, dtype=np.uint32)


class Iterates(NamedTuple):
    """What changes in an iteration: one number for each sequence of each player."""

    strategy: Vector
    """x in sequence form, followed by workspace for sums of it that payoffs share."""
    behavior: Vector
    """b, the distribution at each decision point."""
    utility: Vector
    """Counterfactual utility of each action in the last iteration."""
    total: Vector
    """Weighted sum of strategies."""
    last_strategy: Vector
    """x of the last iteration."""
    magnitude: Vector
    """Workspace for sums of magnitudes."""
    queue: Narrow
    """Workspace for decision points."""
    suspects: Narrow
    """Workspace for decision points whose regrets may be rounding."""


def zero_iterates(trees: FlatTrees, shared_sums: int) -> Iterates:
    """Return iterates of zeros, with room for sums that payoffs share."""
    size, infosets = int(trees.sequence_offsets[-1]), trees.first.size
    return Iterates(
        strategy=np.zeros(size + shared_sums),
        behavior=np.zeros(size),
        utility=np.zeros(size),
        total=np.zeros(size),
        last_strategy=np.zeros(size),
        magnitude=np.zeros(size),
        queue=np.zeros(infosets + 1, dtype=np.uint32),
        suspects=np.zeros(infosets + 1, dtype=np.uint32),
    )
