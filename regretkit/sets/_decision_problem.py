"""Decision problems: points where one player decides, and the sequence-form strategies there."""

import abc

import numpy as np
from attrs import frozen
from numpy.typing import ArrayLike
from typing_extensions import override

from regretkit._util import _validate
from regretkit._util._arrays import Selection, as_slice, segment_sum, zero_cancelled
from regretkit._util._typing import Indices, Vector
from regretkit.sets._base import StrategySet
from regretkit.sets._simplices import Simplices


class DecisionProblem(StrategySet):
    """The decisions of one player, and its sequence-form strategies: where CFR plays.

    Coordinate 0 is the empty sequence; after it come the actions of decision point 0, those of
    decision point 1, and so on. A strategy x in sequence form has

        x[0] = 1,    sum of x over the actions of j  =  inflow of j,    x >= 0

    where the inflow of j is the weight of the sequence before it in a ``DecisionTree``, and the sum
    of the weights of several in a ``DecisionDAG``. A behavioural strategy b gives
    ``x[action] = b[action] inflow``. Parents come before children: a decision point's parent
    sequences have smaller coordinates than its own actions.

    Examples
    --------
    >>> from regretkit.sets import DecisionTree
    >>> isinstance(DecisionTree([0, 2], [2, 2]), DecisionProblem)
    True
    """

    simplices: Simplices
    """The decision points side by side, where behavioural strategies live."""
    _levels_built: "tuple[Level, ...] | None"

    @abc.abstractmethod
    def reach(self, strategy: Vector) -> Vector:
        """Return the weight of ``strategy`` before each decision point, shape ``(points,)``."""

    @abc.abstractmethod
    def _cut(self) -> "tuple[Level, ...]":
        """Cut the problem into its levels, those without a decision before them first."""

    @property
    def _levels(self) -> "tuple[Level, ...]":
        # When first needed: an engine does without, and a deep tree has very many.
        if self._levels_built is None:
            self._levels_built = self._cut()
        return self._levels_built

    @property
    @override
    def dimension(self) -> int:
        return 1 + self.simplices.dimension

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
    def _point_of_sequence(self) -> Indices:
        """The decision point of each sequence, -1 for the empty one, a new array."""
        return np.append(-1, self.simplices._ops.block_of)

    @property
    def depth(self) -> int:
        """Largest number of decisions on one path."""
        return len(self._levels)

    # From the empty sequence to the last actions, and back

    def sequence_form(self, behavior: Vector) -> Vector:
        """Return the sequence form of a behavioural strategy, shape ``(dimension,)``.

        ``behavior`` has one distribution per decision point, shape ``(dimension - 1,)``.
        """
        behavior = self._as_behavior(behavior)
        strategy = np.empty(self.dimension)
        strategy[0] = 1.0
        for level in self._levels:
            strategy[level.sequences] = behavior[level.actions] * level.inflow(strategy)
        return strategy

    def _as_behavior(self, value: Vector) -> Vector:
        behavior = _validate.floats(value, "behavior")
        if behavior.shape != (self.simplices.dimension,):
            raise ValueError(
                f"behavior has shape {behavior.shape}, but the decision points have "
                f"{self.simplices.dimension} actions; pass shape ({self.simplices.dimension},)"
            )
        return behavior

    def behavior(self, strategy: Vector) -> Vector:
        """Return the behavioural strategy of a sequence form, uniform where it has no weight.

        The inverse of ``sequence_form``, shape ``(dimension - 1,)``.
        """
        return self.simplices.normalize(strategy[1:])

    def counterfactual(self, utility: Vector, behavior: Vector) -> tuple[float, Vector]:
        """Return the value of ``behavior`` and the counterfactual utility of each action.

        From the leaves to the root, with V the value of the decision points that follow:

            q[a] = u[a] + sum of V over the decision points after a,    V[j] = <b_j, q_j>

        ``utility`` has shape ``(dimension,)``; q has shape ``(dimension - 1,)``.
        """
        values = _validate.floats(utility, "utility").copy()
        if values.shape != (self.dimension,):
            raise ValueError(
                f"utility has shape {values.shape}, but there are {self.dimension} sequences; "
                f"pass shape ({self.dimension},)"
            )
        behavior = self._as_behavior(behavior)
        for level in reversed(self._levels):
            earned = level.simplices.expectation(values[level.sequences], behavior[level.actions])
            level.add_to_parents(values, earned)
        return float(values[0]), values[1:]

    # As a strategy set

    def best_values(self, utility: ArrayLike) -> Vector:
        """Return what each sequence earns where best actions follow it, shape ``(dimension,)``.

        v[a] = u[a] + sum of max v over the actions of each decision point after a
        """
        values = _validate.vector(utility, self.dimension, "utility").copy()
        for level in reversed(self._levels):
            level.add_to_parents(values, level.simplices.max(values[level.sequences]))
        return values

    @override
    def best_response(self, utility: ArrayLike) -> tuple[float, Vector]:
        values = self.best_values(utility)
        _, behavior = self.simplices.best_response(values[1:])
        return float(values[0]), self.sequence_form(behavior)

    @override
    def value(self, utility: Vector, point: Vector) -> float:
        return self.counterfactual(utility, self.behavior(point))[0]

    @override
    def contains(self, point: ArrayLike, atol: float = 1e-9) -> bool:
        point = _validate.point(point, self.dimension, atol)
        flow = self.simplices.sum(point[1:]) - self.reach(point)
        return bool(
            abs(point[0] - 1.0) <= atol and (point >= -atol).all() and (np.abs(flow) <= atol).all()
        )

    @override
    def relative_interior_point(self) -> Vector:
        return self.sequence_form(self.simplices.uniform())

    def __repr__(self) -> str:
        kind = type(self).__name__
        return f"<{kind}: {self.points} decision points, {self.dimension} sequences>"


@frozen(eq=False)
class Level:
    """All decision points with the same number of decisions before them, at most."""

    simplices: Simplices
    """The level's decision points side by side, without names."""
    actions: Selection
    """Where the level's actions stand in a behavioural strategy."""
    sequences: Selection
    """Where they stand in a sequence-form vector."""
    sources: Indices
    """The sequence before each action's decision point; where it has several, each edge's."""
    point_of_edge: Indices | None
    """For each edge, the place of its decision point; None where each has one parent."""
    parents: Indices
    """The sequences before the level's decision points, each once."""
    targets: Indices
    """Their places, and for each edge, last to first, that of its parent sequence."""

    @staticmethod
    def of(
        simplices: Simplices, points: Indices, parents: Indices, edges: Indices | None = None
    ) -> "Level":
        """Return the level of some decision points.

        ``parents`` has the sequence before each of them, or one for each edge; then ``edges`` says
        where in ``points`` the edge ends.
        """
        part = Simplices(simplices.sizes[points])
        actions = simplices.coordinates(points)
        distinct, parent_of_edge = np.unique(parents, return_inverse=True)
        return Level(
            simplices=part,
            actions=as_slice(actions),
            sequences=as_slice(actions + 1),
            sources=np.repeat(parents, part.sizes) if edges is None else parents,
            point_of_edge=edges,
            parents=distinct,
            targets=np.concatenate([np.arange(distinct.size), parent_of_edge[::-1]]),
        )

    def inflow(self, strategy: Vector) -> Vector:
        """Return for each action the weight of a strategy before its decision point."""
        weights = strategy[self.sources]
        if self.point_of_edge is None:
            return weights
        return self.simplices.repeat(
            segment_sum(self.point_of_edge, weights, self.simplices.blocks)
        )

    def add_to_parents(self, vector: Vector, values: Vector) -> None:
        """Add one number for each decision point of the level to its parent sequences.

        From the last decision point to the first, one order in all engines; a sum of at most
        2^-44 of the values' magnitudes is zero.
        """
        count = self.parents.size
        by_edge = (values if self.point_of_edge is None else values[self.point_of_edge])[::-1]
        addends = np.concatenate([vector[self.parents], by_edge])
        magnitudes = segment_sum(self.targets[count:], abs(by_edge), count)
        vector[self.parents] = zero_cancelled(segment_sum(self.targets, addends, count), magnitudes)


def points_by_depth(depth: Indices) -> list[Indices]:
    """Return the decision points of each depth, of which there must be one at least."""
    # Numbers of few bits are sorted by counting them.
    order = np.argsort(depth.astype(np.min_scalar_type(depth.max())), kind="stable")
    return np.split(order, np.cumsum(np.bincount(depth))[:-1])
