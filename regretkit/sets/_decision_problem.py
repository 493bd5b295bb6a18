"""Decision problems of one player, as trees and DAGs, and their sequence-form strategies."""

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import cast

import numpy as np
from attrs import frozen
from numpy.typing import ArrayLike

import regretkit.sets._kernels as kernels
from regretkit._machine_code import ran
from regretkit._util import _validate
from regretkit._util._arrays import (
    Selection,
    as_slice,
    depths,
    expand_ranges,
    read_only,
    segment_sum,
    zero_cancelled,
)
from regretkit._util._typing import Indices, Vector
from regretkit.sets._base import StrategySet
from regretkit.sets._simplices import Simplices


class DecisionDAG(StrategySet):
    """One player's decision points, each after one or more sequences, and the flows through them.

    A sequence is an action with all earlier actions of the player. Coordinate 0 is the empty
    sequence. The actions of decision point 0 follow, then those of decision point 1, and so on.
    Parents come before children. A strategy x in sequence form has

        x[0] = 1,    sum of x over the actions of j  =  inflow of j,    x >= 0

        inflow of j  =  sum of x over the parents of j

    A behavioural strategy b gives ``x[action] = b[action] inflow``. If a sequence is a parent of
    several decision points, each gets its whole weight. If each decision point has one parent, use
    ``DecisionTree``.

    Parameters
    ----------
    parents
        For each decision point, the coordinate of its parent sequence, or a list of several. The
        empty sequence is 0. With ``parent_counts``, the concatenated parents of all points.
    sizes
        Number of actions of each decision point, at least 1.
    parent_counts
        Number of parents of each decision point, for concatenated ``parents``.
    labels
        A name for each decision point. Names may repeat.
    actions
        For each decision point, the names of its actions.

    Examples
    --------
    Two of three actions lead to the same decision point:

    >>> dag = DecisionDAG([0, [2, 3]], [3, 2])
    >>> dag.sequence_form(np.array([0.5, 0.25, 0.25, 0.5, 0.5]))
    array([1.  , 0.5 , 0.25, 0.25, 0.25, 0.25])
    >>> dag.best_response([0.0, 1.0, 0.0, 2.0, 0.0, 3.0])
    (5.0, array([1., 0., 0., 1., 0., 1.]))

    References
    ----------
    Zhang, Farina and Sandholm (2023), "Team belief DAG: generalizing the sequence form to team
    games for fast computation of correlated team max-min equilibria via regret minimization", ICML,
    PMLR 202.
    """

    simplices: Simplices
    """The product of the simplices of all decision points: the set of behavioral strategies."""
    parent_sequences: Indices
    """The parents of decision point 0, then those of decision point 1, and so on."""
    parent_counts: Indices
    """Number of parents of each decision point, shape ``(points,)``."""

    def __init__(
        self,
        parents: Iterable[int | Iterable[int]],
        sizes: Iterable[int],
        *,
        parent_counts: Iterable[int] | None = None,
        labels: Iterable[str] | None = None,
        actions: Iterable[Sequence[str]] | None = None,
    ) -> None:
        self.parent_sequences, self.parent_counts = _edges(parents, parent_counts)
        count = self.parent_counts.size
        self._point_of_edge = points = np.repeat(np.arange(count), self.parent_counts)
        self._place(points, count, Simplices(sizes, labels=labels, actions=actions))
        order = np.lexsort([self.parent_sequences, points])
        twice = (np.diff(self.parent_sequences[order]) == 0) & (np.diff(points[order]) == 0)
        if twice.any():
            edge = int(order[twice.argmax()])
            raise ValueError(f"parents[{points[edge]}] has {self.parent_sequences[edge]} twice")

    def _place(self, point_of_parent: Indices, points: int, simplices: Simplices) -> None:
        """Set the decision points, and check that parents come before children."""
        self.simplices, self.dimension = simplices, 1 + simplices.dimension
        if self.points != points:
            raise ValueError(
                f"sizes has {self.points} decision points, but there are parents of {points}"
            )
        parents, last = self.parent_sequences, simplices.first[point_of_parent]
        misplaced = np.flatnonzero((parents < 0) | (parents > last))
        if misplaced.size:
            edge = int(misplaced[0])
            raise ValueError(
                f"decision point {point_of_parent[edge]} has the parent sequence {parents[edge]}, "
                f"but must have one from 0 to {last[edge]}; list parents first"
            )

    def reach(self, strategy: Vector) -> Vector:
        """Return the weight of ``strategy`` before each decision point, shape ``(points,)``."""
        return segment_sum(self._point_of_edge, strategy[self.parent_sequences], self.points)

    @cached_property
    def levels(self) -> "tuple[Level, ...]":
        """The levels, from the root: decision points with equally many decisions before them."""
        if not self.points:
            return ()
        depth = self._depths()
        # NumPy sorts integers of few bits faster.
        order = np.argsort(depth.astype(np.min_scalar_type(depth.max())), kind="stable")
        first = np.cumsum(self.parent_counts) - self.parent_counts
        by_level = np.split(order, np.cumsum(np.bincount(depth))[:-1])
        return tuple(self._level(points, first[points]) for points in by_level)

    def _level(self, points: Indices, first_edge: Indices) -> "Level":
        counts, actions = self.parent_counts[points], self.simplices.coordinates(points)
        parents = self.parent_sequences[expand_ranges(first_edge, counts)]
        distinct, parent_of_edge = np.unique(parents, return_inverse=True)
        return Level(
            points,
            Simplices(self.sizes[points]),
            as_slice(actions),
            as_slice(actions + 1),
            parents,
            np.repeat(np.arange(points.size), counts),
            distinct,
            np.concatenate([np.arange(distinct.size), parent_of_edge[::-1]]),
        )

    def _depths(self) -> Indices:
        """Return the number of decisions on the longest path to each decision point."""
        preceding = self.point_of_sequence[self.parent_sequences]
        first = np.cumsum(self.parent_counts) - self.parent_counts
        depth, longer = np.full(self.points + 1, -1), np.zeros(self.points, dtype=np.int64)
        while (longer != depth[:-1]).any():
            depth[:-1] = longer
            longer = 1 + np.maximum.reduceat(depth[preceding], first)
        return longer

    @property
    def sizes(self) -> Indices:
        """Number of actions of each decision point, shape ``(points,)``."""
        return self.simplices.sizes

    @property
    def first_sequence(self) -> Indices:
        """Coordinate of each decision point's first action, shape ``(points,)``."""
        return 1 + self.simplices.first

    @property
    def points(self) -> int:
        """Number of decision points."""
        return self.simplices.blocks

    @property
    def point_of_sequence(self) -> Indices:
        """The decision point of each sequence, -1 for the empty one, a new array."""
        return np.append(-1, self.simplices.block_of)

    @property
    def depth(self) -> int:
        """Largest number of decisions on one path."""
        return len(self.levels)

    # Passes from the empty sequence to the last actions, and back

    def sequence_form(self, behavior: Vector) -> Vector:
        """Return the sequence form of a behavioural strategy, shape ``(dimension,)``.

        ``behavior`` has one distribution per decision point, shape ``(dimension - 1,)``.
        """
        behavior = _validate.vector(behavior, self.simplices.dimension, "behavior")
        strategy = np.empty(self.dimension)
        if not self._ran(kernels.sequence_form, behavior, strategy):
            strategy[0] = 1.0
            for level in self.levels:
                strategy[level.sequences] = behavior[level.actions] * level.inflow(strategy)
        return strategy

    def behavior(self, strategy: Vector) -> Vector:
        """Return the behavioural strategy of a sequence form, shape ``(dimension - 1,)``.

        It is uniform at decision points whose inflow is 0.
        """
        return self.simplices.normalize(strategy[1:])

    def counterfactual(self, utility: Vector, behavior: Vector) -> tuple[float, Vector]:
        """Return the value of ``behavior`` and the counterfactual utility of each action.

        The pass runs from the leaves to the root, with V the value of a decision point:

            q[a] = u[a] + sum of V over the decision points after a,    V[j] = <b_j, q_j>

        ``utility`` has shape ``(dimension,)``; q has shape ``(dimension - 1,)``.
        """
        values = _validate.vector(utility, self.dimension, "utility").copy()
        behavior = _validate.vector(behavior, self.simplices.dimension, "behavior")
        if not self._ran(kernels.counterfactual, behavior, np.zeros(values.size), values):
            for level in reversed(self.levels):
                actions = level.actions
                earned = level.simplices.expectation(values[level.sequences], behavior[actions])
                level.add_to_parents(values, earned)
        return float(values[0]), values[1:]

    def _ran(self, operation: Callable[..., None], *vectors: Vector) -> bool:
        """Run a kernel, which is bitwise equal to NumPy; return False if this is impossible."""
        return False

    # As a strategy set

    def best_values(self, utility: ArrayLike) -> Vector:
        """Return the value of each sequence if the best actions follow, shape ``(dimension,)``.

        v[a] = u[a] + sum of max v over the actions of each decision point after a
        """
        values = _validate.vector(utility, self.dimension, "utility").copy()
        if not self._ran(kernels.best_values, np.zeros(values.size), values):
            for level in reversed(self.levels):
                level.add_to_parents(values, level.simplices.max(values[level.sequences]))
        return values

    def best_response(self, utility: ArrayLike) -> tuple[float, Vector]:
        return self.best_response_by_values(self.best_values(utility))

    def best_response_by_values(self, values: Vector) -> tuple[float, Vector]:
        """Return the ``best_response`` to a utility, given its ``best_values``."""
        _, behavior = self.simplices.best_response(values[1:])
        return float(values[0]), self.sequence_form(behavior)

    def gain(self, utility: Vector, point: Vector) -> float:
        # Add the losses at decision points before best actions, which are small numbers, in the
        # same order as the engines.
        values, simplices = self.best_values(utility)[1:], self.simplices
        lost = point[1:] * (simplices.repeat(simplices.max(values)) - values)
        return float(np.append(0.0, simplices.sum(lost)).cumsum()[-1])

    def value(self, utility: Vector, point: Vector) -> float:
        return self.counterfactual(utility, self.behavior(point))[0]

    def contains(self, point: ArrayLike, atol: float = 1e-9) -> bool:
        point = _validate.vector(point, self.dimension, "point")
        flow = self.simplices.sum(point[1:]) - self.reach(point)
        return bool(
            abs(point[0] - 1.0) <= atol and (point >= -atol).all() and (np.abs(flow) <= atol).all()
        )

    def relative_interior_point(self) -> Vector:
        return self.sequence_form(self.simplices.uniform())

    def _key(self) -> tuple[object, ...]:
        return self.simplices, self.parent_sequences.tobytes(), self.parent_counts.tobytes()

    def __repr__(self) -> str:
        kind = type(self).__name__
        return f"<{kind}: {self.points} decision points, {self.dimension} sequences>"


class DecisionTree(DecisionDAG):
    """One player's decision points in a game of perfect recall, and its sequence-form strategies.

    Each decision point j has one parent sequence:

        inflow of j  =  x[parent sequence of j]

    Parameters
    ----------
    parent_sequence
        For each decision point, the coordinate of its parent sequence. The empty sequence is 0.
    sizes, labels, actions
        As for ``DecisionDAG``.

    Examples
    --------
    Two actions, and two more after the second one:

    >>> tree = DecisionTree([0, 2], [2, 2])
    >>> tree.sequence_form(np.array([0.25, 0.75, 0.5, 0.5]))
    array([1.   , 0.25 , 0.75 , 0.375, 0.375])
    >>> tree.best_response([0.0, 1.0, 0.0, 3.0, 0.0])
    (3.0, array([1., 0., 1., 1., 0.]))

    References
    ----------
    von Stengel (1996), "Efficient computation of behavior strategies", Games and Economic
    Behavior 14(2).
    """

    parent_sequence: Indices
    """Coordinate of each decision point's parent sequence, shape ``(points,)``."""

    def __init__(
        self,
        parent_sequence: Iterable[int],
        sizes: Iterable[int],
        *,
        labels: Iterable[str] | None = None,
        actions: Iterable[Sequence[str]] | None = None,
    ) -> None:
        parents = _validate.whole_numbers(parent_sequence, "parent_sequence")
        self.parent_sequence = self.parent_sequences = parents
        self.parent_counts = np.broadcast_to(np.int64(1), parents.shape)
        simplices = Simplices(sizes, labels=labels, actions=actions)
        self._place(np.arange(parents.size), parents.size, simplices)

    def reach(self, strategy: Vector) -> Vector:
        return strategy[self.parent_sequence]

    def _ran(self, operation: Callable[..., None], *vectors: Vector) -> bool:
        indices = self.simplices.first, self.simplices.sizes, self.parent_sequence
        return ran(operation, indices, vectors)

    def _depths(self) -> Indices:
        return depths(self.point_of_sequence[self.parent_sequence])


@frozen(eq=False)
class Level:
    """The decision points with equally many decisions on the longest path before them.

    Edges connect decision points with their parent sequences. In a tree, each point has one edge.

    Examples
    --------
    >>> from regretkit.sets import DecisionTree
    >>> first, second = DecisionTree([0, 1, 2], [2, 3, 2]).levels
    >>> second.simplices, second.sequences
    (Simplices([3, 2]), slice(3, 8, None))
    >>> second.inflow(np.array([1.0, 0.4, 0.6, 0.0, 0.0, 0.0, 0.0, 0.0]))
    array([0.4, 0.4, 0.4, 0.6, 0.6])
    """

    points: Indices
    """The numbers of the level's decision points."""
    simplices: Simplices
    """The simplices of these decision points, without names."""
    actions: Selection
    """Coordinates of the level's actions in a behavioural strategy."""
    sequences: Selection
    """Coordinates of the level's actions in a sequence-form vector."""
    parents: Indices
    """The parent sequence of each edge."""
    children: Indices
    """The decision point of each edge, as an index into ``points``."""
    _distinct: Indices
    """The distinct parent sequences."""
    _targets: Indices
    """Indices into ``_distinct``: all of them, then each edge's parent, last edge first."""

    def inflow(self, strategy: Vector) -> Vector:
        """Return the inflow of each action's decision point."""
        by_point = segment_sum(self.children, strategy[self.parents], self.points.size)
        return self.simplices.repeat(by_point)

    def add_to_parents(self, vector: Vector, values: Vector) -> None:
        """Add the value of each decision point to its parent sequences, in place.

        A sum of at most 2^-44 of the values' magnitudes becomes zero.
        """
        # From the last decision point to the first, as in the engines
        count, by_edge = self._distinct.size, values[self.children][::-1]
        addends = np.concatenate([vector[self._distinct], by_edge])
        magnitudes = segment_sum(self._targets[count:], abs(by_edge), count)
        totals = segment_sum(self._targets, addends, count)
        vector[self._distinct] = zero_cancelled(totals, magnitudes)


def _edges(
    parents: Iterable[int | Iterable[int]], parent_counts: Iterable[int] | None
) -> tuple[Indices, Indices]:
    """Return the concatenated parents of all decision points, and the number of each."""
    if parent_counts is None:
        listed = [_validate.whole_numbers(p, f"parents[{j}]") for j, p in enumerate(parents)]
        sequences = read_only(np.concatenate([np.zeros(0, dtype=np.int64), *listed]))
        counts = _validate.whole_numbers([p.size for p in listed], "parents")
    else:
        sequences = _validate.whole_numbers(cast("Iterable[int]", parents), "parents")
        counts = _validate.whole_numbers(parent_counts, "parent_counts")
        if counts.sum() != sequences.size:
            raise ValueError(
                f"parent_counts must add up to {sequences.size}, the number of parents, "
                f"got {_validate.quote(counts)}"
            )
    if counts.min(initial=1) < 1:
        raise ValueError(f"decision point {counts.argmin()} has no parent; pass 0 for the first")
    return sequences, counts
