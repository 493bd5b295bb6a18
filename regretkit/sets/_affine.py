"""Images of a set: under an affine map, and under scaling."""

import abc
from typing import final

import numpy as np
from attrs import define
from numpy.typing import ArrayLike
from typing_extensions import override

from regretkit._util import _validate
from regretkit._util._typing import Vector
from regretkit._util._validate import quote
from regretkit.sets._arguments import as_matrix, as_number, as_point, as_set
from regretkit.sets._base import StrategySet
from regretkit.sets._nearest_point import within

# What rounding may move a point by, for each unit of the numbers that it was computed from.
_ROUNDING = 4.0 * float(np.finfo(np.float64).eps)


class Image(StrategySet):
    """Where an affine map takes the points of a set, its source."""

    source: StrategySet

    @abc.abstractmethod
    def apply(self, point: Vector) -> Vector:
        """Return the image of a point of the source."""

    @abc.abstractmethod
    def pull_back(self, utility: Vector) -> Vector:
        """Return what a utility of the image is worth to the coordinates of the source.

        Raises
        ------
        ValueError
            When that overflows.
        """

    @abc.abstractmethod
    def common_worth(self, utility: Vector) -> float:
        """Return what a utility of the image is worth wherever in the source a point lies."""

    @final
    @override
    def best_response(self, utility: ArrayLike) -> tuple[float, Vector]:
        utility = _validate.vector(utility, self.dimension, "utility")
        value, best = self.source.best_response(self.pull_back(utility))
        return value + self.common_worth(utility), self.apply(best)

    @final
    @override
    def value(self, utility: Vector, point: Vector) -> float:
        return float(utility @ point)

    @final
    @override
    def relative_interior_point(self) -> Vector:
        return self.apply(self.source.relative_interior_point())


@final
@define(eq=False, repr=False, init=False)
class AffineImageSet(Image):
    """Where an affine map takes the points of a set.

        { M x + b : x in X }

    Parameters
    ----------
    source
        The set X, of dimension n.
    matrix
        M, shape ``(dimension, n)`` with one row at least, finite. It may have any rank.
    offset
        b, shape ``(dimension,)``, finite; zero by default.

    Raises
    ------
    TypeError
        When ``source`` is no set, or the others are no numbers.
    ValueError
        When the shapes do not fit, or something is not finite.

    Examples
    --------
    The segment from (1, 0) to (0, 5), as the image of a simplex:

    >>> from regretkit.sets import Simplices
    >>> segment = AffineImageSet(Simplices(2), [[1.0, 0.0], [0.0, 5.0]])
    >>> segment.best_response([1.0, 1.0])
    (5.0, array([0., 5.]))
    >>> segment.contains([0.5, 2.5]), segment.contains([0.5, 2.6])
    (True, False)
    """

    source: StrategySet
    """The set X."""
    matrix: Vector
    """M, shape ``(dimension, n)``, read-only."""
    offset: Vector
    """b, shape ``(dimension,)``, read-only."""

    def __init__(
        self, source: StrategySet, matrix: ArrayLike, offset: ArrayLike | None = None
    ) -> None:
        self.source = as_set(source, "source")
        self.matrix = as_matrix(matrix, "matrix")
        rows, columns = self.matrix.shape
        if columns != self.source.dimension:
            raise ValueError(
                f"matrix has shape {self.matrix.shape}, but it is to multiply points of dimension "
                f"{self.source.dimension}; pass shape ({rows}, {self.source.dimension})"
            )
        offset = np.zeros(rows) if offset is None else offset
        self.offset = _validate.vector(offset, rows, "offset").copy()
        self.offset.setflags(write=False)

    @property
    @override
    def dimension(self) -> int:
        return self.offset.size

    @override
    def apply(self, point: Vector) -> Vector:
        """Return ``M x + b``."""
        image: Vector = self.matrix @ point + self.offset
        return image

    @override
    def pull_back(self, utility: Vector) -> Vector:
        """Return ``M' u``.

        Raises
        ------
        ValueError
            When that overflows.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            pulled = utility @ self.matrix
        return _too_large_refused(pulled, "utility @ matrix")

    @override
    def common_worth(self, utility: Vector) -> float:
        """Return ``<u, b>``."""
        return float(utility @ self.offset)

    @override
    def contains(self, point: ArrayLike, atol: float = 1e-9) -> bool:
        """Say whether ``point`` is within ``atol`` of the image, in the Euclidean norm.

        The distance is measured in the image, not in the source: no inverse of M is needed.
        """
        point = as_point(point, self.dimension, atol)
        return within(point, self.best_response, atol)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, AffineImageSet)
            and self.source == other.source
            and np.array_equal(self.matrix, other.matrix)
            and np.array_equal(self.offset, other.offset)
        )

    def __hash__(self) -> int:
        return hash((self.source, self.matrix.tobytes(), self.offset.tobytes()))

    def __repr__(self) -> str:
        return f"AffineImageSet({self.source!r}, {self.matrix.tolist()}, {self.offset.tolist()})"


@final
@define(eq=False, repr=False, init=False)
class ScaledSet(Image):
    """All multiples of the points of a set by one factor.

        { a x : x in X }

    It is the :class:`AffineImageSet` under ``a`` times the identity, without the matrix.

    Parameters
    ----------
    source
        The set X.
    factor
        a, finite and not zero. It may be negative, which reflects the set at the origin; with
        zero, nothing would be left of it but a ``Singleton`` of zeros.

    Raises
    ------
    TypeError, ValueError
        When ``source`` is no set, or ``factor`` no number in its range.

    Examples
    --------
    >>> from regretkit.sets import Simplices
    >>> ScaledSet(Simplices(2), 10.0).best_response([3.0, 2.0])
    (30.0, array([10.,  0.]))
    """

    source: StrategySet
    """The set X."""
    factor: float
    """The factor a."""

    def __init__(self, source: StrategySet, factor: float) -> None:
        self.source = as_set(source, "source")
        self.factor = as_number(factor, "factor")
        if self.factor == 0.0:
            raise ValueError(
                f"factor must not be 0, got {quote(factor)}; "
                "nothing but a Singleton of zeros would be left of the set"
            )

    @property
    @override
    def dimension(self) -> int:
        return self.source.dimension

    @override
    def apply(self, point: Vector) -> Vector:
        """Return ``a x``."""
        return self.factor * point

    @override
    def pull_back(self, utility: Vector) -> Vector:
        """Return ``a u``.

        Raises
        ------
        ValueError
            When that overflows.
        """
        with np.errstate(over="ignore"):
            pulled = self.factor * utility
        return _too_large_refused(pulled, "factor * utility")

    @override
    def common_worth(self, utility: Vector) -> float:
        """Return zero: there is no offset."""
        return 0.0

    @override
    def contains(self, point: ArrayLike, atol: float = 1e-9) -> bool:
        """Say whether ``point`` lies in the set, up to ``atol``.

        The source measures, in its own norm: it is asked about ``point / a``, with ``atol / |a|``
        and a few units in the last place.
        """
        point = as_point(point, self.dimension, atol)
        allowance = atol + _ROUNDING * float(np.abs(point).max(initial=0.0))
        with np.errstate(over="ignore"):
            origin = point / self.factor
        # A point that far away is in no set, and no set may be asked about it.
        if not (np.abs(origin) <= _validate.LARGEST).all():
            return False
        return self.source.contains(origin, allowance / abs(self.factor))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, ScaledSet)
            and self.source == other.source
            and self.factor == other.factor
        )

    def __hash__(self) -> int:
        return hash((self.source, self.factor))

    def __repr__(self) -> str:
        return f"ScaledSet({self.source!r}, {self.factor})"


def _too_large_refused(utility: Vector, name: str) -> Vector:
    return _validate.vector(utility, utility.size, name, largest=_validate.LARGEST)
