"""Affine images, hulls, Minkowski sums and products of strategy sets."""

from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from regretkit._util import _validate
from regretkit._util._arrays import as_slice
from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import quote
from regretkit.sets._base import StrategySet, _SetOfArguments, as_sets
from regretkit.sets._simplices import Simplices


class AffineImageSet(_SetOfArguments):
    """The image of a set under an affine map.

        { M x + b : x in X }

    Parameters
    ----------
    source
        The set X, of dimension n.
    matrix
        M, shape ``(dimension, n)`` with at least one row, finite, of any rank.
    offset
        b, shape ``(dimension,)``, finite; zeros by default.

    Examples
    --------
    The segment from (1, 0) to (0, 5) is the image of a simplex:

    >>> from regretkit.sets import Simplices
    >>> segment = AffineImageSet(Simplices(2), [[1.0, 0.0], [0.0, 5.0]])
    >>> segment.best_response([1.0, 1.0])
    (5.0, array([0., 5.]))
    >>> segment.contains([0.5, 2.5]), segment.contains([0.5, 2.6])
    (True, False)
    """

    def __init__(
        self, source: StrategySet, matrix: ArrayLike, offset: ArrayLike | None = None
    ) -> None:
        _validate.check_kind(source, StrategySet, "source", "Simplices(3)")
        self.source = source
        self.matrix = _validate.matrix(matrix, "matrix")
        rows, columns = self.matrix.shape
        if columns != self.source.dimension:
            raise ValueError(
                f"matrix has shape {self.matrix.shape}, but points of the set have dimension "
                f"{self.source.dimension}; pass shape ({rows}, {self.source.dimension})"
            )
        offset = np.zeros(rows) if offset is None else offset
        self.offset = _validate.constant_vector(offset, "offset", rows)
        self.dimension = rows

    def apply(self, point: Vector) -> Vector:
        """Return ``M x + b``."""
        image: Vector = self.matrix @ point + self.offset
        return image

    def best_response(self, utility: ArrayLike) -> tuple[float, Vector]:
        utility = _validate.vector(utility, self.dimension, "utility")
        value, best = self.source.best_response(utility @ self.matrix)
        return value + float(utility @ self.offset), self.apply(best)

    def relative_interior_point(self) -> Vector:
        return self.apply(self.source.relative_interior_point())


class Hull(_SetOfArguments):
    """The convex hull of several sets: all averages of their points.

    Parameters
    ----------
    members
        One or more sets of one dimension.

    Examples
    --------
    >>> from regretkit.sets import Singleton
    >>> segment = Hull([Singleton([0.0, 0.0]), Singleton([1.0, 1.0])])
    >>> segment.contains([0.5, 0.5]), segment.contains([0.5, 0.6])
    (True, False)
    """

    def __init__(self, members: Iterable[StrategySet]) -> None:
        self.members = as_sets(members, "members")
        _validate.one_space(self.members, "members")
        self.dimension = self.members[0].dimension

    def canonical(self) -> StrategySet:
        """Return the first member if all members are equal, otherwise the hull itself."""
        first = self.members[0]
        return first if all(member == first for member in self.members) else self

    def best_response(self, utility: ArrayLike) -> tuple[float, Vector]:
        responses = [member.best_response(utility) for member in self.members]
        return max(responses, key=lambda response: response[0])

    def relative_interior_point(self) -> Vector:
        points = [member.relative_interior_point() for member in self.members]
        mean: Vector = np.mean(points, axis=0)
        return mean


class MinkowskiSumSet(_SetOfArguments):
    """All sums of one point from each set.

        { x_1 + ... + x_k : x_i in X_i }

    Parameters
    ----------
    summands
        One or more sets of one dimension.

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

    def __init__(self, summands: Iterable[StrategySet]) -> None:
        self.summands = as_sets(summands, "summands")
        _validate.one_space(self.summands, "summands")
        self.dimension = self.summands[0].dimension

    def best_response(self, utility: ArrayLike) -> tuple[float, Vector]:
        responses = [summand.best_response(utility) for summand in self.summands]
        best: Vector = np.sum([best for _, best in responses], axis=0)
        return sum(value for value, _ in responses), best

    def relative_interior_point(self) -> Vector:
        points = [summand.relative_interior_point() for summand in self.summands]
        total: Vector = np.sum(points, axis=0)
        return total


class ProductSet(StrategySet):
    """The product of several sets.

    Parameters
    ----------
    factors
        One or more sets.
    coordinates
        For each factor, its coordinates in the product. Each coordinate belongs to one factor. By
        default the factors are concatenated.

    Examples
    --------
    >>> from regretkit.sets import Singleton, Simplices
    >>> ProductSet([Simplices(2), Singleton([7.0])]).best_response([1.0, 2.0, 1.0])
    (9.0, array([0., 1., 7.]))
    """

    def __init__(
        self, factors: Iterable[StrategySet], coordinates: Sequence[Iterable[int]] | None = None
    ) -> None:
        self.factors = as_sets(factors, "factors")
        if not self.factors:
            raise ValueError("factors must be one or more sets, got none")
        self.coordinates = _layout([factor.dimension for factor in self.factors], coordinates)
        self.dimension = sum(indices.size for indices in self.coordinates)
        self._selections = tuple(as_slice(indices) for indices in self.coordinates)

    def split(self, vector: Vector) -> list[Vector]:
        """Return the part of ``vector`` that belongs to each factor."""
        return [vector[indices] for indices in self._selections]

    def join(self, parts: Iterable[Vector]) -> Vector:
        """Return the vector that ``split`` splits into ``parts``, a new array."""
        joined = np.empty(self.dimension)
        for indices, part in zip(self._selections, parts, strict=True):
            joined[indices] = part
        return joined

    def canonical(self) -> StrategySet:
        """Return the same set as ``Simplices`` if its factors are simplices.

        The coordinates of each block must be consecutive. Otherwise the product itself is returned.
        """
        simplices = [factor for factor in self.factors if isinstance(factor, Simplices)]
        if len(simplices) < len(self.factors):
            return self
        sizes = np.concatenate([factor.sizes for factor in simplices])
        first = self._first_coordinates()
        in_pieces = np.repeat(first - (np.cumsum(sizes) - sizes), sizes) + np.arange(self.dimension)
        if not np.array_equal(in_pieces, np.concatenate(self.coordinates)):
            return self
        return Simplices(sizes[np.argsort(first)])

    @cached_property
    def blocks(self) -> list[Indices]:
        """For each factor, the numbers of its blocks in ``canonical()``, if that is simplices."""
        number = np.argsort(np.argsort(self._first_coordinates()))
        counts = [factor.blocks for factor in self.factors if isinstance(factor, Simplices)]
        return np.split(number, np.cumsum(counts)[:-1])

    def _first_coordinates(self) -> Indices:
        """Return the first coordinate of each block of factors that are simplices."""
        pairs = zip(self.factors, self.coordinates, strict=True)
        first = [place[f.first] for f, place in pairs if isinstance(f, Simplices)]
        return np.concatenate([np.zeros(0, dtype=np.int64), *first])

    def best_response(self, utility: ArrayLike) -> tuple[float, Vector]:
        parts = self.split(_validate.vector(utility, self.dimension, "utility"))
        responses = [f.best_response(part) for f, part in zip(self.factors, parts, strict=True)]
        return sum(value for value, _ in responses), self.join(best for _, best in responses)

    def value(self, utility: Vector, point: Vector) -> float:
        parts = zip(self.factors, self.split(utility), self.split(point), strict=True)
        return sum(factor.value(u, x) for factor, u, x in parts)

    def contains(self, point: ArrayLike, atol: float = 1e-9) -> bool:
        parts = self.split(_validate.vector(point, self.dimension, "point"))
        return all(f.contains(part, atol) for f, part in zip(self.factors, parts, strict=True))

    def relative_interior_point(self) -> Vector:
        return self.join(factor.relative_interior_point() for factor in self.factors)

    def _key(self) -> tuple[object, ...]:
        return self.factors, *(indices.tobytes() for indices in self.coordinates)

    def __repr__(self) -> str:
        return f"ProductSet([{', '.join(map(repr, self.factors))}])"


def _layout(
    dimensions: Sequence[int], coordinates: Sequence[Iterable[int]] | None
) -> tuple[Indices, ...]:
    """Return the coordinates of each factor, by default consecutive ones."""
    total = sum(dimensions)
    if coordinates is None:
        return tuple(np.split(np.arange(total), np.cumsum(dimensions)[:-1]))
    layout = tuple(_validate.whole_numbers(indices, "coordinates") for indices in coordinates)
    whole = np.sort(np.concatenate([np.zeros(0, dtype=np.int64), *layout]))
    if [indices.size for indices in layout] != [*dimensions] or (whole != np.arange(total)).any():
        raise ValueError(
            f"coordinates must give {quote([*dimensions])} of 0 to {total - 1} to the factors, "
            f"each once, got {quote([indices.tolist() for indices in layout])}"
        )
    return layout
