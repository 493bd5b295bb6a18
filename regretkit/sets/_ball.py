"""The Euclidean ball."""

from typing import final

import numpy as np
from attrs import define
from numpy.typing import ArrayLike
from typing_extensions import override

from regretkit._util import _validate
from regretkit._util._typing import Vector
from regretkit._util._validate import quote
from regretkit.sets._base import ROUNDING, StrategySet, content


@final
@define(eq=False, repr=False, init=False)
class Ball(StrategySet):
    """All points no further from a center than a radius, in the Euclidean norm.

        { x : |x - center| <= radius }

    Parameters
    ----------
    center
        Shape ``(dimension,)``, finite.
    radius
        Positive and finite. A ball of radius zero is a :class:`Singleton`.

    Examples
    --------
    >>> ball = Ball([0.0, 0.0], 2.0)
    >>> ball.best_response([3.0, 4.0])
    (10.0, array([1.2, 1.6]))
    >>> ball.project([0.0, -5.0])
    array([ 0., -2.])
    """

    center: Vector
    """The center, read-only."""
    radius: float
    """The radius."""

    def __init__(self, center: ArrayLike, radius: float) -> None:
        self.center = _validate.constant_vector(center, "center")
        self.radius = _validate.number(radius, "radius")
        if self.radius <= 0.0:
            raise ValueError(
                f"radius must be above 0, got {quote(radius)}; a ball without one is a Singleton"
            )

    @property
    @override
    def dimension(self) -> int:
        return self.center.size

    @override
    def best_response(self, utility: ArrayLike) -> tuple[float, Vector]:
        """Return the largest ``<utility, x>``, and the point with it; the center for zeros."""
        utility = _validate.vector(utility, self.dimension, "utility")
        length, direction = _polar(utility)
        value = float(utility @ self.center) + self.radius * length
        return value, self.center + self.radius * direction

    @override
    def contains(self, point: ArrayLike, atol: float = 1e-9) -> bool:
        """Say whether ``point`` is within ``atol`` of the ball, in the Euclidean norm.

        A few units in the last place of the numbers involved are allowed on top.
        """
        point = _validate.point(point, self.dimension, atol)
        distance = _polar(point - self.center)[0] - self.radius
        rounding = ROUNDING * (_polar(self.center)[0] + self.radius)
        return bool(distance <= atol + rounding)

    @override
    def relative_interior_point(self) -> Vector:
        return self.center.copy()

    def project(self, point: ArrayLike) -> Vector:
        """Return the nearest point of the ball."""
        point = _validate.vector(point, self.dimension, "point")
        distance, direction = _polar(point - self.center)
        if distance <= self.radius:
            return point.copy()
        return self.center + self.radius * direction

    @override
    def _key(self) -> tuple[object, ...]:
        return *content(self.center), self.radius

    def __repr__(self) -> str:
        return f"Ball({self.center.tolist()}, {self.radius})"


def _polar(vector: Vector) -> tuple[float, Vector]:
    """Return the length of a vector and its direction, zeros where there is none."""
    # By the largest entry first: squares of very large or very small numbers leave the range.
    largest = float(np.abs(vector).max(initial=0.0))
    if largest == 0.0:
        return 0.0, np.zeros(vector.size)
    scaled = vector / largest
    length = float(np.linalg.norm(scaled))
    return largest * length, scaled / length
