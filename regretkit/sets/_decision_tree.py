"""A player's decisions in a game of perfect recall."""

from collections.abc import Iterable, Sequence
from typing import final

import numpy as np
from attrs import define
from typing_extensions import override

from regretkit._util import _validate
from regretkit._util._arrays import depths
from regretkit._util._typing import Indices, Vector
from regretkit.sets._decision_problem import DecisionProblem, Level, points_by_depth
from regretkit.sets._simplices import Simplices


@final
@define(eq=False, repr=False, init=False)
class DecisionTree(DecisionProblem):
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

    simplices: Simplices
    """The decision points side by side, where behavioural strategies live."""
    _levels_built: tuple[Level, ...] | None
    parent_sequence: Indices
    """Coordinate of the last sequence before each decision point, shape ``(points,)``."""

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

    @override
    def reach(self, strategy: Vector) -> Vector:
        return strategy[self.parent_sequence]

    @override
    def _cut(self) -> tuple[Level, ...]:
        if not self.points:
            return ()
        point_of_sequence = self._point_of_sequence
        depth = depths(point_of_sequence[self.parent_sequence])
        return tuple(
            Level.of(self.simplices, points, self.parent_sequence[points])
            for points in points_by_depth(depth)
        )

    @override
    def _key(self) -> tuple[object, ...]:
        return self.simplices, self.parent_sequence.tobytes()
