"""A polytope, given by its vertices."""

from typing import final

import numpy as np
from attrs import define
from numpy.typing import ArrayLike
from typing_extensions import override

from regretkit._util import _validate
from regretkit._util._typing import Vector
from regretkit.sets._arguments import as_matrix, as_point
from regretkit.sets._base import StrategySet
from regretkit.sets._nearest_point import within


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

    Raises
    ------
    TypeError, ValueError
        When ``vertices`` is no finite matrix with a row.

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
        self.vertices = as_matrix(vertices, "vertices")

    @property
    @override
    def dimension(self) -> int:
        return int(self.vertices.shape[1])

    @override
    def best_response(self, utility: ArrayLike) -> tuple[float, Vector]:
        """Return the largest ``<utility, x>``, and the first of the vertices that have it."""
        utility = _validate.vector(utility, self.dimension, "utility")
        # einsum and not @: its order of summation is the same in every row, so ties are ties
        worths = np.einsum("ij,j->i", self.vertices, utility)
        best = int(worths.argmax())
        return float(worths[best]), self.vertices[best].copy()

    @override
    def value(self, utility: Vector, point: Vector) -> float:
        return float(utility @ point)

    @override
    def contains(self, point: ArrayLike, atol: float = 1e-9) -> bool:
        """Say whether ``point`` is within ``atol`` of the polytope, in the Euclidean norm."""
        point = as_point(point, self.dimension, atol)
        return within(point, self.best_response, atol)

    @override
    def relative_interior_point(self) -> Vector:
        """Return the mean of the vertices: each has some weight, so it is on no face."""
        mean: Vector = self.vertices.mean(axis=0)
        return mean

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Polytope) and np.array_equal(self.vertices, other.vertices)

    def __hash__(self) -> int:
        return hash((self.vertices.shape, self.vertices.tobytes()))

    def __repr__(self) -> str:
        return f"Polytope({self.vertices.tolist()})"
