"""The box: every coordinate between two bounds."""

from typing import final

import numpy as np
from attrs import define
from numpy.typing import ArrayLike
from typing_extensions import override

from regretkit._util import _validate
from regretkit._util._typing import Vector
from regretkit.sets._base import StrategySet, content


@final
@define(eq=False, repr=False, init=False)
class Box(StrategySet):
    """All vectors between two bounds, coordinate by coordinate.

        { x : low <= x <= high }

    Parameters
    ----------
    low
        The least value of each coordinate, shape ``(dimension,)``, finite.
    high
        The largest, the same shape, nowhere below ``low``.

    Examples
    --------
    >>> box = Box([0.0, -1.0], [2.0, 1.0])
    >>> box.best_response([3.0, -1.0])
    (7.0, array([ 2., -1.]))
    >>> box.project([5.0, 0.5])
    array([2. , 0.5])
    """

    low: Vector
    """The lower bounds, read-only."""
    high: Vector
    """The upper bounds, read-only."""

    def __init__(self, low: ArrayLike, high: ArrayLike) -> None:
        self.low = _validate.constant_vector(low, "low")
        self.high = _validate.constant_vector(high, "high", self.low.size)
        if (self.low > self.high).any():
            where = int(np.flatnonzero(self.low > self.high)[0])
            raise ValueError(
                f"low must not be above high, got {self.low[where]} above {self.high[where]} "
                f"at coordinate {where}; such a box is empty"
            )

    @property
    @override
    def dimension(self) -> int:
        return self.low.size

    @override
    def best_response(self, utility: ArrayLike) -> tuple[float, Vector]:
        """Return the largest ``<utility, x>``, and the corner with it; ``low`` in case of ties."""
        utility = _validate.vector(utility, self.dimension, "utility")
        corner = np.where(utility > 0.0, self.high, self.low)
        return float(utility @ corner), corner

    @override
    def contains(self, point: ArrayLike, atol: float = 1e-9) -> bool:
        """Say whether no coordinate of ``point`` is beyond its bounds by more than ``atol``."""
        point = _validate.point(point, self.dimension, atol)
        with np.errstate(over="ignore"):
            return bool(((point >= self.low - atol) & (point <= self.high + atol)).all())

    @override
    def relative_interior_point(self) -> Vector:
        # Halves first: the width itself may be too large a number.
        return self.low + (self.high / 2.0 - self.low / 2.0)

    def project(self, point: ArrayLike) -> Vector:
        """Return the nearest point of the box, in the Euclidean norm and in most others."""
        return np.clip(_validate.vector(point, self.dimension, "point"), self.low, self.high)

    @override
    def _key(self) -> tuple[object, ...]:
        return *content(self.low), *content(self.high)

    def __repr__(self) -> str:
        return f"Box({self.low.tolist()}, {self.high.tolist()})"
