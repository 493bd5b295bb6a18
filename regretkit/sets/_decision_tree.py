"""The sequence-form polytope of one player: where CFR plays."""

from collections.abc import Iterable, Sequence
from typing import final

import numpy as np
from attrs import define, frozen
from numpy.typing import ArrayLike
from typing_extensions import override

from regretkit._util import _validate
from regretkit._util._arrays import Selection, as_slice, depths, segment_sum, zero_cancelled
from regretkit._util._typing import Indices, Vector
from regretkit.sets._base import StrategySet
from regretkit.sets._simplices import Simplices


@final
@define(eq=False, repr=False, init=False)
class DecisionTree(StrategySet):
    """One player's decisions in a game of perfect recall, and its sequence-form strategies.

    A sequence is an action together with all that the player did to get there. Coordinate 0
    is the empty sequence; after it come the actions of decision point 0, those of decision
    point 1, and so on. A strategy x in sequence form has

        x[0] = 1,    sum of x over the actions of j  =  x[parent sequence of j],    x >= 0

    and a behavioural strategy b gives ``x[sequence] = b[action] x[parent sequence]``. Parents
    come before children: a decision point's parent sequence has a smaller coordinate than its
    own actions.

    Parameters
    ----------
    parent_sequence
        For each decision point, the coordinate of the last sequence before it, 0 if none.
    sizes
        Number of actions of each decision point, at least 1 each.
    labels
        A name for each decision point; they need not differ.
    actions
        For each decision point, a name for each of its actions.

    Examples
    --------
    Two actions, and after the second of them two more:

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
    """Coordinate of the last sequence before each decision point, shape ``(points,)``."""
    simplices: Simplices
    """The decision points side by side, where behavioural strategies live."""
    _levels_built: "tuple[Level, ...] | None"

    def __init__(
        self,
        parent_sequence: Iterable[int],
        sizes: Iterable[int],
        *,
        labels: Iterable[str] | None = None,
        actions: Iterable[Sequence[str]] | None = None,
    ) -> None:
        self.parent_sequence = _validate.whole_numbers(parent_sequence, "parent_sequence")
        counts = _validate.whole_numbers(sizes, "sizes")
        if counts.shape != self.parent_sequence.shape:
            raise ValueError(
                f"parent_sequence has {self.parent_sequence.size} decision points, but sizes has "
                f"{counts.size}; pass one of each for every decision point"
            )
        self.simplices = Simplices(counts, labels=labels, actions=actions)
        first = self.first_sequence
        misplaced = np.flatnonzero((self.parent_sequence < 0) | (self.parent_sequence >= first))
        if misplaced.size:
            j = int(misplaced[0])
            raise ValueError(
                f"parent_sequence[{j}] is {self.parent_sequence[j]}, but must lie before the first "
                f"sequence of decision point {j}, which is {first[j]}; list parents first"
            )
        self._levels_built = None

    @property
    def _levels(self) -> "tuple[Level, ...]":
        # When first needed: an engine does without, and a deep tree has very many.
        if self._levels_built is None:
            self._levels_built = levels_of(self.parent_sequence, self.simplices)
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
    def depth(self) -> int:
        """Largest number of decisions on one path."""
        return len(self._levels)

    # Down the tree, and up

    def sequence_form(self, behavior: Vector) -> Vector:
        """Return the sequence form of a behavioural strategy, shape ``(dimension,)``.

        ``behavior`` has one distribution per decision point, shape ``(dimension - 1,)``.
        """
        behavior = self._as_behavior(behavior)
        strategy = np.empty(self.dimension)
        strategy[0] = 1.0
        for level in self._levels:
            reach = strategy[level.parent_of_action]
            strategy[level.sequences] = behavior[level.actions] * reach
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

    def reach(self, strategy: Vector) -> Vector:
        """Return the weight of ``strategy`` before each decision point, shape ``(points,)``."""
        return strategy[self.parent_sequence]

    def counterfactual(self, utility: Vector, behavior: Vector) -> tuple[float, Vector]:
        """Return the value of ``behavior`` and the counterfactual utility of each action.

        From the leaves to the root, with V the value of the decision points that follow:

            q[a] = u[a] + sum of V over the decision points after a,    V[j] = <b_j, q_j>

        ``utility`` has shape ``(dimension,)``; q has shape ``(dimension - 1,)``.
        """
        values = _validate.floats(utility, "utility").copy()
        if values.shape != (self.dimension,):
            raise ValueError(
                f"utility has shape {values.shape}, but the tree has {self.dimension} sequences; "
                f"pass shape ({self.dimension},)"
            )
        behavior = self._as_behavior(behavior)
        for level in reversed(self._levels):
            earned = level.simplices.expectation(values[level.sequences], behavior[level.actions])
            level.add_to_parents(values, earned)
        return float(values[0]), values[1:]

    # As a strategy set

    @override
    def best_response(self, utility: ArrayLike) -> tuple[float, Vector]:
        values = _validate.vector(utility, self.dimension, "utility").copy()
        behavior = np.empty(self.simplices.dimension)
        for level in reversed(self._levels):
            at_level = values[level.sequences]
            _, behavior[level.actions] = level.simplices.best_response(at_level)
            level.add_to_parents(values, level.simplices.max(at_level))
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

    @override
    def _key(self) -> tuple[object, ...]:
        return self.simplices, self.parent_sequence.tobytes()

    def __repr__(self) -> str:
        return f"<DecisionTree: {self.points} decision points, {self.dimension} sequences>"


@frozen(eq=False)
class Level:
    """All decision points with the same number of decisions before them."""

    simplices: Simplices
    """The level's decision points side by side, without names."""
    actions: Selection
    """Where the level's actions stand in a behavioural strategy."""
    sequences: Selection
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
        count, reversed_values = self.parents.size, values[::-1]
        addends = np.concatenate([vector[self.parents], reversed_values])
        targets = np.concatenate([np.arange(count), self.parent_of_point])
        magnitudes = segment_sum(self.parent_of_point, np.abs(reversed_values), count)
        vector[self.parents] = zero_cancelled(segment_sum(targets, addends, count), magnitudes)


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
        actions=as_slice(actions),
        sequences=as_slice(actions + 1),
        parent_of_action=np.repeat(parents, part.sizes),
        parents=distinct,
        parent_of_point=np.ascontiguousarray(parent_of_point[::-1]),
    )
