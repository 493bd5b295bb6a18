"""The convex hull of several sets in one space, and the Minkowski sum of them."""

from collections.abc import Iterable
from typing import final

import numpy as np
from attrs import define
from numpy.typing import ArrayLike
from typing_extensions import override

from regretkit._util._typing import Vector
from regretkit.sets._base import StrategySet, as_sets_of_one_space, total


@final
@define(eq=False, repr=False, init=False)
class Hull(StrategySet):
    """All averages of points of the members.

    Parameters
    ----------
    members
        Sets in one space, one or more.

    Examples
    --------
    >>> from regretkit.sets import Singleton
    >>> segment = Hull([Singleton([0.0, 0.0]), Singleton([1.0, 1.0])])
    >>> segment.contains([0.5, 0.5]), segment.contains([0.5, 0.6])
    (True, False)
    """

    members: tuple[StrategySet, ...]
    """The sets."""

    def __init__(self, members: Iterable[StrategySet]) -> None:
        self.members = as_sets_of_one_space(members, "members")

    @property
    @override
    def dimension(self) -> int:
        return self.members[0].dimension

    def canonical(self) -> StrategySet:
        """Return the same set, as its first member where all members are equal."""
        first = self.members[0]
        return first if all(member == first for member in self.members) else self

    @override
    def best_response(self, utility: ArrayLike) -> tuple[float, Vector]:
        responses = [member.best_response(utility) for member in self.members]
        return max(responses, key=lambda response: response[0])

    @override
    def relative_interior_point(self) -> Vector:
        points = [member.relative_interior_point() for member in self.members]
        mean: Vector = np.mean(points, axis=0)
        return mean

    @override
    def _key(self) -> tuple[object, ...]:
        return self.members

    def __repr__(self) -> str:
        return f"Hull([{', '.join(map(repr, self.members))}])"


@final
@define(eq=False, repr=False, init=False)
class MinkowskiSumSet(StrategySet):
    """All sums of one point from each set.

        { x_1 + ... + x_k : x_i in X_i }

    Parameters
    ----------
    summands
        Sets in one space, one or more.

    Examples
    --------
    A box with rounded corners:

    >>> from regretkit.sets import Ball, Box
    >>> rounded = MinkowskiSumSet([Box([0.0, 0.0], [1.0, 1.0]), Ball([0.0, 0.0], 0.5)])
    >>> rounded.best_response([1.0, 0.0])
    (1.5, array([1.5, 0. ]))
    >>> rounded.contains([1.5, 1.0]), rounded.contains([1.5, 1.5])
    (True, False)
    """

    summands: tuple[StrategySet, ...]
    """The sets."""

    def __init__(self, summands: Iterable[StrategySet]) -> None:
        self.summands = as_sets_of_one_space(summands, "summands")

    @property
    @override
    def dimension(self) -> int:
        return self.summands[0].dimension

    @override
    def best_response(self, utility: ArrayLike) -> tuple[float, Vector]:
        responses = [summand.best_response(utility) for summand in self.summands]
        return sum(value for value, _ in responses), total(best for _, best in responses)

    @override
    def relative_interior_point(self) -> Vector:
        return total(summand.relative_interior_point() for summand in self.summands)

    @override
    def _key(self) -> tuple[object, ...]:
        return self.summands

    def __repr__(self) -> str:
        return f"MinkowskiSumSet([{', '.join(map(repr, self.summands))}])"
