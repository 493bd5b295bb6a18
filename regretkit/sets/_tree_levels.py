"""A decision tree cut into levels, so that passes over it are array operations."""

import numpy as np
from attrs import frozen

from regretkit._util._arrays import depths, segment_sum, zero_cancelled
from regretkit._util._typing import Indices, Vector
from regretkit.sets._indexing import Where, as_where
from regretkit.sets._simplices import Simplices


@frozen(eq=False)
class Level:
    """All decision points with the same number of decisions before them."""

    simplices: Simplices
    """The level's decision points side by side, without names."""
    actions: Where
    """Where the level's actions stand in a behavioural strategy."""
    sequences: Where
    """Where they stand in a sequence-form vector."""
    parent_of_action: Indices
    """For each action, the sequence before its decision point."""
    parents: Indices
    """The sequences before the level's decision points, each once."""
    parent_of_point: Indices
    """For each decision point, last to first, the place of its parent sequence in ``parents``."""

    def add_to_parents(self, vector: Vector, values: Vector) -> None:
        """Add one number for each decision point of the level to its parent sequence.

        From the last decision point to the first, one order in all engines; a sum of at most
        2^-44 of the values' magnitudes is zero.
        """
        count, backwards = self.parents.size, values[::-1]
        addends = np.concatenate([vector[self.parents], backwards])
        into = np.concatenate([np.arange(count), self.parent_of_point])
        magnitudes = segment_sum(self.parent_of_point, np.abs(backwards), count)
        vector[self.parents] = zero_cancelled(segment_sum(into, addends, count), magnitudes)


def levels_of(parent_sequence: Indices, simplices: Simplices) -> tuple[Level, ...]:
    """Cut a tree into its levels, the root's first."""
    if not simplices.blocks:
        return ()
    point_of_sequence = np.append(-1, np.repeat(np.arange(simplices.blocks), simplices.sizes))
    depth = depths(point_of_sequence[parent_sequence])
    # Numbers of few bits are sorted by counting them.
    order = np.argsort(depth.astype(np.min_scalar_type(depth.max())), kind="stable")
    ends = np.cumsum(np.bincount(depth))
    return tuple(
        _level(points, parent_sequence, simplices) for points in np.split(order, ends[:-1])
    )


def _level(points: Indices, parent_sequence: Indices, simplices: Simplices) -> Level:
    part = Simplices(simplices.sizes[points])
    actions = simplices.coordinates(points)
    parents = parent_sequence[points]
    distinct, parent_of_point = np.unique(parents, return_inverse=True)
    return Level(
        simplices=part,
        actions=as_where(actions),
        sequences=as_where(actions + 1),
        parent_of_action=np.repeat(parents, part.sizes),
        parents=distinct,
        parent_of_point=np.ascontiguousarray(parent_of_point[::-1]),
    )
