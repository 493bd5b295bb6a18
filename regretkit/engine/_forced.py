"""Last decision points with a single action, which need no regrets.

In Liar's dice, the only answer to the highest claim is to call: half of all decision points are of
this kind. The utility of such a move is added to that of the sequence before it, whose probability
it shares. They are left out if the kernels of all rules declare ``ignores_singleton_blocks``.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from regretkit._util._typing import Narrow, whole
from regretkit.engine._forest import Forest, children_of, narrow
from regretkit.engine._payoffs import Matrix
from regretkit.engine._table import Table
from regretkit.games._payoff_rows import offsets


class Forced(NamedTuple):
    """Sequences that end in such a move."""

    move: Narrow
    before: Narrow
    """The sequence before each."""


NONE = Forced(np.zeros(0, dtype=np.uint32), np.zeros(0, dtype=np.uint32))


def without_forced(forest: Forest, payoffs: Matrix) -> tuple[Forest, Matrix, Forced]:
    """Take such moves out of a forest, one behind each sequence, and out of its payoffs."""
    left_out = _left_out(forest)
    kept = ~left_out
    forced = Forced(forest.first[left_out], forest.parent[left_out])
    if not forced.move.size:
        return forest, payoffs, NONE
    first_child, children = children_of(
        forest.parent[kept].astype(np.int64), int(forest.sequences[-1])
    )
    left = forest._replace(
        first=forest.first[kept],
        last=forest.last[kept],
        parent=forest.parent[kept],
        first_child=first_child,
        children=children,
        points=narrow(offsets(kept.astype(np.int64))[forest.points]),
    )
    # The probability of the move is that of the sequence before it.
    name = np.arange(forest.sequences[-1] + payoffs.sums[-1], dtype=np.uint32)
    name[forced.move] = forced.before
    nothing = payoffs.scratch.size  # a number that stays 0, for all others
    row = np.full(payoffs.row.size, nothing, dtype=np.uint32)
    row[forced.before] = payoffs.row[forced.move]
    paid = payoffs._replace(
        forced_row=row,
        column=name[payoffs.column],
        summed=name[payoffs.summed],
        scratch=np.zeros(nothing + 1),
    )
    return left, paid, forced


def _left_out(forest: Forest) -> NDArray[np.bool_]:
    """Say which decision points have one action, with nothing behind it, and no such neighbour."""
    leads_on = np.zeros(forest.sequences[-1], dtype=np.bool_)
    leads_on[forest.parent] = True
    left_out: NDArray[np.bool_] = (forest.last - forest.first == 1) & ~leads_on[forest.first]
    candidates = np.flatnonzero(left_out)
    _, alone = np.unique(forest.parent[candidates], return_index=True)
    left_out[np.delete(candidates, alone)] = False
    return left_out


def play_forced(forced: Forced, table: Table) -> None:
    """Give each of these moves the weight of the sequence before it."""
    for k in range(forced.move.size):
        move, before = whole(forced.move[k]), whole(forced.before[k])
        table.strategy[move] = table.strategy[before]
        table.total[move] = table.total[before]
        table.played[move] = table.played[before]
