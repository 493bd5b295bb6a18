"""Last decision points with a single action, which need no regrets.

In Liar's dice, the only answer to the highest claim is to call: half of all decision points are of
this kind, and without them CFR+ takes 7 % less on four sides. The utility of such a move is added
to that of the sequence before it, whose probability it shares. They are removed if the kernels of
all rules declare ``ignores_singleton_blocks``.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from regretkit._util._typing import Narrow
from regretkit.engine.layout._flat_trees import FlatTrees, children_by_sequence, narrow
from regretkit.engine.layout._payoffs import SparsePayoffs
from regretkit.games._payoff_rows import offsets


class SingletonMoves(NamedTuple):
    """Sequences that end in a removed move."""

    move: Narrow
    parent: Narrow
    """The sequence before each."""


NO_SINGLETONS = SingletonMoves(np.zeros(0, dtype=np.uint32), np.zeros(0, dtype=np.uint32))


def without_singletons(
    trees: FlatTrees, payoffs: SparsePayoffs
) -> tuple[FlatTrees, SparsePayoffs, SingletonMoves]:
    """Remove such moves from trees, at most one after each sequence, and from the payoffs."""
    removed = _removable(trees)
    kept = ~removed
    moves = SingletonMoves(trees.first[removed], trees.parent[removed])
    if not moves.move.size:
        return trees, payoffs, NO_SINGLETONS
    child_offsets, children = children_by_sequence(
        trees.parent[kept].astype(np.int64), int(trees.sequence_offsets[-1])
    )
    smaller = trees._replace(
        first=trees.first[kept],
        last=trees.last[kept],
        parent=trees.parent[kept],
        child_offsets=child_offsets,
        children=children,
        infoset_offsets=narrow(offsets(kept.astype(np.int64))[trees.infoset_offsets]),
    )
    # The probability of the move is that of the sequence before it.
    name = np.arange(trees.sequence_offsets[-1] + payoffs.sum_offsets[-1], dtype=np.uint32)
    name[moves.move] = moves.parent
    zero = payoffs.workspace.size  # the number of a row that stays 0, for all other sequences
    row = np.full(payoffs.row.size, zero, dtype=np.uint32)
    row[moves.parent] = payoffs.row[moves.move]
    merged = payoffs._replace(
        singleton_row=row,
        column=name[payoffs.column],
        summed=name[payoffs.summed],
        workspace=np.zeros(zero + 1),
    )
    return smaller, merged, moves


def _removable(trees: FlatTrees) -> NDArray[np.bool_]:
    """Return which decision points have one action, no successor, and no such sibling."""
    has_children = np.zeros(trees.sequence_offsets[-1], dtype=np.bool_)
    has_children[trees.parent] = True
    removable: NDArray[np.bool_] = (trees.last - trees.first == 1) & ~has_children[trees.first]
    candidates = np.flatnonzero(removable)
    _, one_each = np.unique(trees.parent[candidates], return_index=True)
    removable[np.delete(candidates, one_each)] = False
    return removable
