"""Boxes, balls, polytopes, and sets of a single point."""

import numpy as np
from numpy.typing import ArrayLike

from regretkit._util import _validate
from regretkit._util._arrays import length
from regretkit._util._typing import Vector
from regretkit.sets._base import ROUNDING, _SetOfArguments


class Box(_SetOfArguments):
    """All vectors between two bounds, coordinate by coordinate.

        { x : low <= x <= high }

    Parameters
    ----------
    low
        Lower bounds, shape ``(dimension,)``, finite.
    high
        Upper bounds, shape ``(dimension,)``, finite, at least ``low``.

    Examples
    --------
    >>> box = Box([0.0, -1.0], [2.0, 1.0])
    >>> box.best_response([3.0, -1.0])
    (7.0, array([ 2., -1.]))
    >>> box.project([5.0, 0.5])
    array([2. , 0.5])
    """

    def __init__(self, low: ArrayLike, high: ArrayLike) -> None:
        self.low = _validate.constant_vector(low, "low")
        self.high = _validate.constant_vector(high, "high", self.low.size)
        self.dimension = self.low.size
        if (self.low > self.high).any():
            k = int((self.low > self.high).argmax())
            raise ValueError(
                f"low must not be above high, got {self.low[k]} and {self.high[k]} "
                f"at coordinate {k}"
            )

    def best_response(self, utility: ArrayLike) -> tuple[float, Vector]:
        """Return the largest ``<utility, x>``, and a corner with this value: ``low`` if u <= 0."""
        utility = _validate.vector(utility, self.dimension, "utility")
        corner = np.where(utility > 0.0, self.high, self.low)
        return float(utility @ corner), corner

    def contains(self, point: ArrayLike, atol: float = 1e-9) -> bool:
        """Return whether each coordinate of ``point`` is within its bounds, up to ``atol``."""
        point = _validate.vector(point, self.dimension, "point")
        return bool(((point >= self.low - atol) & (point <= self.high + atol)).all())

    def relative_interior_point(self) -> Vector:
        # Halves first, because the width may overflow.
        return self.low + (self.high / 2.0 - self.low / 2.0)

    def project(self, point: ArrayLike) -> Vector:
        """Return the nearest point of the box."""
        return np.clip(_validate.vector(point, self.dimension, "point"), self.low, self.high)


class Ball(_SetOfArguments):
    """All points within a Euclidean distance of a center.

        { x : |x - center| <= radius }

    Parameters
    ----------
    center
        Shape ``(dimension,)``, finite.
    radius
        Positive and finite. For radius 0 use ``Singleton``.

    Examples
    --------
    >>> ball = Ball([0.0, 0.0], 2.0)
    >>> ball.best_response([3.0, 4.0])
    (10.0, array([1.2, 1.6]))
    >>> ball.project([0.0, -5.0])
    array([ 0., -2.])
    """

    def __init__(self, center: ArrayLike, radius: float) -> None:
        self.center = _validate.constant_vector(center, "center")
        _validate.above_zero(radius, "radius")
        self.radius, self.dimension = float(radius), self.center.size

    def best_response(self, utility: ArrayLike) -> tuple[float, Vector]:
        """Return the largest ``<utility, x>``, and a point with this value: the center if u = 0."""
        utility = _validate.vector(utility, self.dimension, "utility")
        value = float(utility @ self.center) + self.radius * length(utility)
        return value, self.center + self.radius * _direction(utility)

    def contains(self, point: ArrayLike, atol: float = 1e-9) -> bool:
        """Return whether ``point`` is within ``atol`` of the ball, up to rounding."""
        point = _validate.vector(point, self.dimension, "point")
        distance = length(point - self.center) - self.radius
        rounding = ROUNDING * (length(self.center) + self.radius)
        return bool(distance <= atol + rounding)

    def relative_interior_point(self) -> Vector:
        return self.center.copy()

    def project(self, point: ArrayLike) -> Vector:
        """Return the nearest point of the ball."""
        point = _validate.vector(point, self.dimension, "point")
        if length(point - self.center) <= self.radius:
            return point.copy()
        return self.center + self.radius * _direction(point - self.center)


def _direction(vector: Vector) -> Vector:
    """Return ``vector`` scaled to length 1; zeros stay zeros."""
    scaled = vector / (np.abs(vector).max(initial=0.0) or 1.0)
    return scaled / (length(scaled) or 1.0)


class Polytope(_SetOfArguments):
    """The convex hull of finitely many points.

        { w V : w >= 0, sum w = 1 },    with the points as the rows of V

    Polytopes are equal if they have the same points in the same order.

    Parameters
    ----------
    vertices
        The points, shape ``(k, dimension)`` with k at least 1, finite. Points inside the hull of
        the others only affect ``relative_interior_point``.

    Examples
    --------
    >>> triangle = Polytope([[0.0, 0.0], [4.0, 0.0], [0.0, 2.0]])
    >>> triangle.best_response([1.0, 1.0])
    (4.0, array([4., 0.]))
    >>> triangle.contains([2.0, 1.0]), triangle.contains([2.0, 1.1])
    (True, False)
    """

    def __init__(self, vertices: ArrayLike) -> None:
        self.vertices = _validate.matrix(vertices, "vertices")
        self.dimension = self.vertices.shape[1]

    def best_response(self, utility: ArrayLike) -> tuple[float, Vector]:
        """Return the largest ``<utility, x>``, and the first vertex that attains it."""
        utility = _validate.vector(utility, self.dimension, "utility")
        # einsum sums each row in the same order, unlike @, so equal rows give equal values.
        values = np.einsum("ij,j->i", self.vertices, utility)
        best = int(values.argmax())
        return float(values[best]), self.vertices[best].copy()

    def relative_interior_point(self) -> Vector:
        """Return the mean of the vertices."""
        mean: Vector = self.vertices.mean(axis=0)
        return mean


class Singleton(Box):
    """A set of one point: a box with equal bounds.

    Parameters
    ----------
    point
        The point, shape ``(dimension,)``, finite.

    Examples
    --------
    >>> Singleton([0.0, 1.0]).best_response([5.0, 2.0])
    (2.0, array([0., 1.]))
    """

    def __init__(self, point: ArrayLike) -> None:
        self.point = _validate.constant_vector(point, "point")
        super().__init__(self.point, self.point)
