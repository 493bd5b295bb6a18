"""The Minkowski sum of several sets in one space."""

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
class MinkowskiSumSet(StrategySet):
    """All sums of one point from each set.

        { x_1 + ... + x_k : x_i in X_i }

    Parameters
    ----------
    summands
        Sets in one space, one or more.

    Raises
    ------
    TypeError
        When a summand is no set.
    ValueError
        When there is no summand, or their dimensions differ.

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
        self.summands = as_sets(summands, "summands")
        dimensions = [summand.dimension for summand in self.summands]
        if len(set(dimensions)) != 1:
            raise ValueError(
                "summands must be one or more sets in one space, got dimensions "
                f"{quote(dimensions)}"
            )

    @property
    @override
    def dimension(self) -> int:
        return self.summands[0].dimension

    @override
    def best_response(self, utility: ArrayLike) -> tuple[float, Vector]:
        responses = [summand.best_response(utility) for summand in self.summands]
        return sum(value for value, _ in responses), _total(best for _, best in responses)

    @override
    def value(self, utility: Vector, point: Vector) -> float:
        return float(utility @ point)

    @override
    def contains(self, point: ArrayLike, atol: float = 1e-9) -> bool:
        """Say whether ``point`` is within ``atol`` of the sum, in the Euclidean norm."""
        point = as_point(point, self.dimension, atol)
        return within(point, self.best_response, atol)

    @override
    def relative_interior_point(self) -> Vector:
        return _total(summand.relative_interior_point() for summand in self.summands)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MinkowskiSumSet) and self.summands == other.summands

    def __hash__(self) -> int:
        return hash((MinkowskiSumSet, self.summands))

    def __repr__(self) -> str:
        return f"MinkowskiSumSet([{', '.join(map(repr, self.summands))}])"


def _total(points: Iterable[Vector]) -> Vector:
    total: Vector = np.sum(list(points), axis=0)
    return total
