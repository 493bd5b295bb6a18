"""A polytope, given by its vertices, and the set of a single point."""

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
class Polytope(StrategySet):
    """The convex hull of finitely many points.

        { w V : w >= 0, sum w = 1 },    with the points as the rows of V

    Two polytopes are equal when they have the same points in the same order.

    Parameters
    ----------
    vertices
        The points, shape ``(k, dimension)`` with k at least 1, finite. Points inside the hull of
        the others change nothing but its :meth:`relative_interior_point`.

    Examples
    --------
    >>> triangle = Polytope([[0.0, 0.0], [4.0, 0.0], [0.0, 2.0]])
    >>> triangle.best_response([1.0, 1.0])
    (4.0, array([4., 0.]))
    >>> triangle.contains([2.0, 1.0]), triangle.contains([2.0, 1.1])
    (True, False)
    """

    vertices: Vector
    """The points, shape ``(k, dimension)``, read-only."""

    def __init__(self, vertices: ArrayLike) -> None:
        self.vertices = _validate.matrix(vertices, "vertices")

    @property
    @override
    def dimension(self) -> int:
        return int(self.vertices.shape[1])

    @override
    def best_response(self, utility: ArrayLike) -> tuple[float, Vector]:
        """Return the largest ``<utility, x>``, and the first of the vertices that have it."""
        utility = _validate.vector(utility, self.dimension, "utility")
        # einsum and not @: its order of summation is the same in every row, so ties are ties
        values = np.einsum("ij,j->i", self.vertices, utility)
        best = int(values.argmax())
        return float(values[best]), self.vertices[best].copy()

    @override
    def relative_interior_point(self) -> Vector:
        """Return the mean of the vertices: each has some weight, so it is on no face."""
        mean: Vector = self.vertices.mean(axis=0)
        return mean

    @override
    def _key(self) -> tuple[object, ...]:
        return content(self.vertices)

    def __repr__(self) -> str:
        return f"Polytope({self.vertices.tolist()})"


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
        self.point = _validate.constant_vector(point, "point")

    @property
    @override
    def dimension(self) -> int:
        return self.point.size

    @override
    def best_response(self, utility: ArrayLike) -> tuple[float, Vector]:
        utility = _validate.vector(utility, self.dimension, "utility")
        return float(utility @ self.point), self.point.copy()

    @override
    def contains(self, point: ArrayLike, atol: float = 1e-9) -> bool:
        """Say whether no coordinate differs from the point's by more than ``atol``."""
        point = _validate.point(point, self.dimension, atol)
        return bool((np.abs(point - self.point) <= atol).all())

    @override
    def relative_interior_point(self) -> Vector:
        return self.point.copy()

    @override
    def _key(self) -> tuple[object, ...]:
        return content(self.point)

    def __repr__(self) -> str:
        return f"Singleton({self.point.tolist()})"
