"""A decision tree cut into levels, so that passes over it are array operations."""

import numpy as np
from attrs import frozen

from regretkit._arrays import depths
from regretkit._typing import Indices, Vector
from regretkit.sets._indexing import Where, as_where
from regretkit.sets.simplices import Simplices


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
    children: Indices | None
    """The level's decision points in order of their parents, None where they are in order."""
    first_child: Indices
    """For each parent, the place of its first child in that order."""

    def add_to_parents(self, vector: Vector, values: Vector) -> None:
        """Add one number for each decision point of the level to its parent sequence."""
        by_parent = values if self.children is None else values[self.children]
        vector[self.parents] += np.add.reduceat(by_parent, self.first_child)


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
    in_order = bool((np.diff(parents) >= 0).all())
    children = None if in_order else np.argsort(parents, kind="stable")
    by_parent = parents if children is None else parents[children]
    first_child = np.append(0, 1 + np.flatnonzero(np.diff(by_parent)))
    return Level(
        simplices=part,
        actions=as_where(actions),
        sequences=as_where(actions + 1),
        parent_of_action=np.repeat(parents, part.sizes),
        parents=by_parent[first_child],
        children=children,
        first_child=first_child,
    )
