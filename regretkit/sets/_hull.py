"""The convex hull of several sets in one space."""

from collections.abc import Iterable
from typing import final

import numpy as np
from attrs import define
from numpy.typing import ArrayLike
from typing_extensions import override

from regretkit._util._typing import Vector
from regretkit._util._validate import quote
from regretkit.sets._arguments import as_point, as_sets
from regretkit.sets._base import StrategySet
from regretkit.sets._nearest_point import within


@final
@define(eq=False, repr=False, init=False)
class Hull(StrategySet):
    """All averages of points of the members.

    Parameters
    ----------
    members
        Sets in one space, one or more.

    Raises
    ------
    ValueError
        When there is no member, or their dimensions differ.

    Examples
    --------
    >>> from regretkit.sets import Singleton
    >>> segment = Hull([Singleton([0.0, 0.0]), Singleton([1.0, 1.0])])
    >>> segment.contains([0.5, 0.5]), segment.contains([0.5, 0.6])
    (True, False)
    """

    members: tuple[StrategySet, ...]
    """The sets."""
    _dimension: int

    def __init__(self, members: Iterable[StrategySet]) -> None:
        self.members = as_sets(members, "members")
        dimensions = [member.dimension for member in self.members]
        if len(set(dimensions)) != 1:
            raise ValueError(
                "members of a hull must be one or more sets in one space, "
                f"got dimensions {quote(dimensions)}"
            )
        self._dimension = dimensions[0]

    @property
    @override
    def dimension(self) -> int:
        return self._dimension

    def simplified(self) -> StrategySet:
        """Return the same set, as the one that all members are where they are equal."""
        first = self.members[0]
        return first if all(member == first for member in self.members) else self

    @override
    def best_response(self, utility: ArrayLike) -> tuple[float, Vector]:
        responses = [member.best_response(utility) for member in self.members]
        return max(responses, key=lambda response: response[0])

    @override
    def value(self, utility: Vector, point: Vector) -> float:
        return float(utility @ point)

    @override
    def contains(self, point: ArrayLike, atol: float = 1e-9) -> bool:
        point = as_point(point, self.dimension, atol)
        return within(point, self.best_response, atol)

    @override
    def relative_interior_point(self) -> Vector:
        points = [member.relative_interior_point() for member in self.members]
        mean: Vector = np.mean(points, axis=0)
        return mean

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Hull) and self.members == other.members

    def __hash__(self) -> int:
        return hash(self.members)

    def __repr__(self) -> str:
        return f"Hull([{', '.join(map(repr, self.members))}])"
