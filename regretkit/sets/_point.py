"""The set of a single point: where there is nothing to decide."""

from typing import final

import numpy as np
from attrs import define
from numpy.typing import ArrayLike
from typing_extensions import override

from regretkit._util import _validate
from regretkit._util._typing import Vector
from regretkit.sets._arguments import as_point
from regretkit.sets._base import StrategySet


@final
@define(eq=False, repr=False, init=False)
class Singleton(StrategySet):
    """A set with one point in it.

    Parameters
    ----------
    point
        Its coordinates, finite.

    Examples
    --------
    >>> Singleton([0.0, 1.0]).best_response([5.0, 2.0])
    (2.0, array([0., 1.]))
    """

    point: Vector
    """The point, read-only."""

    def __init__(self, point: ArrayLike) -> None:
        size = np.size(np.asarray(point))
        self.point = _validate.vector(point, size, "point").copy()
        self.point.setflags(write=False)

    @property
    @override
    def dimension(self) -> int:
        return self.point.size

    @override
    def best_response(self, utility: ArrayLike) -> tuple[float, Vector]:
        utility = _validate.vector(utility, self.dimension, "utility")
        return float(utility @ self.point), self.point.copy()

    @override
    def value(self, utility: Vector, point: Vector) -> float:
        return float(utility @ point)

    @override
    def contains(self, point: ArrayLike, atol: float = 1e-9) -> bool:
        point = as_point(point, self.dimension, atol)
        return bool((np.abs(point - self.point) <= atol).all())

    @override
    def relative_interior_point(self) -> Vector:
        return self.point.copy()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Singleton) and np.array_equal(self.point, other.point)

    def __hash__(self) -> int:
        return hash((self.point + 0.0).tobytes())  # 0.0 and -0.0 are equal

    def __repr__(self) -> str:
        return f"Singleton({self.point.tolist()})"
