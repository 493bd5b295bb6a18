"""A player's decisions where several sequences may lead to one decision point."""

from collections.abc import Iterable, Sequence
from typing import cast, final

import numpy as np
from attrs import define
from typing_extensions import override

from regretkit._util import _validate
from regretkit._util._arrays import expand_ranges, read_only, segment_sum
from regretkit._util._typing import Indices, Vector
from regretkit.sets._decision_problem import DecisionProblem, Level, points_by_depth
from regretkit.sets._simplices import Simplices


@final
@define(eq=False, repr=False, init=False)
class DecisionDAG(DecisionProblem):
    """Decision points that several sequences lead to, and the flows through them.

    As in a ``DecisionTree``, but what enters a decision point is the sum of several weights:

        x[0] = 1,    sum of x over the actions of j  =  sum of x over the parents of j,    x >= 0

    Where a sequence is a parent of several decision points, each gets all of its weight. With one
    parent for each decision point it is a ``DecisionTree``.

    Parameters
    ----------
    parents
        For each decision point, the coordinate of the sequence that leads to it, or those of
        several, 0 for the empty one; none twice. With ``parent_counts``, those of all decision
        points one after the other.
    sizes
        Number of actions of each decision point, at least 1 each.
    parent_counts
        Number of parents of each decision point, where ``parents`` lists them without a gap.
    labels
        A name for each decision point; they need not differ.
    actions
        For each decision point, a name for each of its actions.

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
    """The decision points side by side, where behavioural strategies live."""
    _levels_built: tuple[Level, ...] | None
    parent_sequences: Indices
    """The parents of decision point 0, then those of decision point 1, and so on."""
    parent_counts: Indices
    """Number of parents of each decision point, shape ``(points,)``."""
    _point_of_edge: Indices

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
        counts = _validate.whole_numbers(sizes, "sizes")
        if counts.size != self.parent_counts.size:
            raise ValueError(
                f"parents has {self.parent_counts.size} decision points, but sizes has "
                f"{counts.size}; pass one of each for every decision point"
            )
        self.simplices = Simplices(counts, labels=labels, actions=actions)
        self._point_of_edge = np.repeat(np.arange(self.points), self.parent_counts)
        self._levels_built = None
        self._check_parents()

    def _check_parents(self) -> None:
        if not self.parent_counts.all():
            j = int(np.argmin(self.parent_counts))
            raise ValueError(f"parents[{j}] is empty; pass 0 for a point that comes first")
        sequences, points = self.parent_sequences, self._point_of_edge
        first = self.first_sequence[points]
        misplaced = np.flatnonzero((sequences < 0) | (sequences >= first))
        if misplaced.size:
            edge = int(misplaced[0])
            raise ValueError(
                f"parents[{points[edge]}] has {sequences[edge]}, but must lie before the first "
                f"sequence of decision point {points[edge]}, which is {first[edge]}; list parents "
                "first"
            )
        order = np.lexsort([sequences, points])
        same = (np.diff(sequences[order]) == 0) & (np.diff(points[order]) == 0)
        if same.any():
            edge = int(order[np.argmax(same)])
            raise ValueError(f"parents[{points[edge]}] has {sequences[edge]} twice; pass it once")

    @override
    def reach(self, strategy: Vector) -> Vector:
        return segment_sum(self._point_of_edge, strategy[self.parent_sequences], self.points)

    @override
    def _cut(self) -> tuple[Level, ...]:
        if not self.points:
            return ()
        point_of_sequence = self._point_of_sequence
        before = point_of_sequence[self.parent_sequences]
        first = np.cumsum(self.parent_counts) - self.parent_counts
        # The longest path to each decision point: at most one more than to any before it.
        depth, longer = np.full(self.points + 1, -1), np.zeros(self.points, dtype=np.int64)
        while (longer != depth[:-1]).any():
            depth[:-1] = longer
            longer = 1 + np.maximum.reduceat(depth[before], first)
        levels = []
        for points in points_by_depth(longer):
            edges = expand_ranges(first[points], self.parent_counts[points])
            ends = np.repeat(np.arange(points.size), self.parent_counts[points])
            levels.append(Level.of(self.simplices, points, self.parent_sequences[edges], ends))
        return tuple(levels)

    @override
    def _key(self) -> tuple[object, ...]:
        return self.simplices, self.parent_sequences.tobytes(), self.parent_counts.tobytes()


def _edges(
    parents: Iterable[int | Iterable[int]], parent_counts: Iterable[int] | None
) -> tuple[Indices, Indices]:
    """Return the parents of all decision points one after the other, and how many each has."""
    _validate.ordered(parents, "parents")
    if not isinstance(parents, Iterable):
        wanted = "the coordinates of each decision point's parents"
        raise TypeError(_validate.must_be("parents", wanted, parents, "as in [0, [1, 2]]"))
    if parent_counts is None:
        listed = [_validate.whole_numbers(p, f"parents[{j}]") for j, p in enumerate(parents)]
        flat = np.concatenate([np.zeros(0, dtype=np.int64), *listed])
        return read_only(flat), _validate.whole_numbers(list(map(len, listed)), "parents")
    sequences = _validate.whole_numbers(cast(Iterable[int], parents), "parents")
    counts = _validate.whole_numbers(parent_counts, "parent_counts")
    if counts.min(initial=0) < 0 or counts.sum() != sequences.size:
        raise ValueError(
            f"parent_counts must be at least 0 and add up to {sequences.size}, the number of "
            f"parents, got {_validate.quote(counts)}"
        )
    return sequences, counts
