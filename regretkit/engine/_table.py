"""What changes in play."""

from typing import NamedTuple

import numpy as np

from regretkit._util._typing import Narrow, Vector
from regretkit.engine._forest import Forest
from regretkit.engine._payoffs import Matrix, Payoffs


class Table(NamedTuple):
    """One number for each sequence of each player, laid end to end."""

    strategy: Vector
    """x in sequence form; behind it, room for what the payoffs add up."""
    behavior: Vector
    """b, the distribution at each decision point."""
    utility: Vector
    """What each action was worth once there, in the last iteration."""
    total: Vector
    """Weighted sum of strategies."""
    played: Vector
    """x of the last iteration."""
    magnitude: Vector
    """Room for the magnitudes that add up to utilities."""
    points: Narrow
    """Room for decision points."""
    suspects: Narrow
    """Room for those whose regrets may be rounding."""


def table_of(forest: Forest, payoffs: Payoffs) -> Table:
    """Return a table for all players of a forest."""
    size = int(forest.sequences[-1])
    room = int(payoffs.sums[-1]) if isinstance(payoffs, Matrix) else 0
    return Table(
        strategy=np.zeros(size + room),
        behavior=np.zeros(size),
        utility=np.zeros(size),
        total=np.zeros(size),
        played=np.zeros(size),
        magnitude=np.zeros(size),
        points=np.zeros(forest.first.size + 1, dtype=np.uint32),
        suspects=np.zeros(forest.first.size + 1, dtype=np.uint32),
    )
