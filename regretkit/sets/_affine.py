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
from regretkit.sets._base import ROUNDING, StrategySet, as_set, content


class Image(StrategySet):
    """The image of a set, its source, under an affine map."""

    source: StrategySet

    @abc.abstractmethod
    def apply(self, point: Vector) -> Vector:
        """Return the image of a point of the source."""

    @abc.abstractmethod
    def pull_back(self, utility: Vector) -> Vector:
        """Return the utility of the source's coordinates; refuse one that overflows."""

    def constant_value(self, utility: Vector) -> float:
        """Return the value of the map's offset, the same for all points of the source."""
        return 0.0

    @final
    @override
    def best_response(self, utility: ArrayLike) -> tuple[float, Vector]:
        utility = _validate.vector(utility, self.dimension, "utility")
        value, best = self.source.best_response(self.pull_back(utility))
        return value + self.constant_value(utility), self.apply(best)

    @final
    @override
    def relative_interior_point(self) -> Vector:
        return self.apply(self.source.relative_interior_point())


@final
@define(eq=False, repr=False, init=False)
class AffineImageSet(Image):
    """The image of a set under an affine map.

        { M x + b : x in X }

    Parameters
    ----------
    source
        The set X, of dimension n.
    matrix
        M, shape ``(dimension, n)`` with one row at least, finite. It may have any rank.
    offset
        b, shape ``(dimension,)``, finite; zero by default.

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
        self.matrix = _validate.matrix(matrix, "matrix")
        rows, columns = self.matrix.shape
        if columns != self.source.dimension:
            raise ValueError(
                f"matrix has shape {self.matrix.shape}, but it is to multiply points of dimension "
                f"{self.source.dimension}; pass shape ({rows}, {self.source.dimension})"
            )
        offset = np.zeros(rows) if offset is None else offset
        self.offset = _validate.constant_vector(offset, "offset", rows)

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
        """Return ``M' u``; refuse one that overflows."""
        with np.errstate(over="ignore", invalid="ignore"):
            return _validate.utility(utility @ self.matrix, "utility @ matrix")

    @override
    def constant_value(self, utility: Vector) -> float:
        """Return ``<u, b>``."""
        return float(utility @ self.offset)

    @override
    def _key(self) -> tuple[object, ...]:
        return self.source, *content(self.matrix), *content(self.offset)

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
        zero, nothing would remain of it but a ``Singleton`` of zeros.

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
        self.factor = _validate.number(factor, "factor")
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
        """Return ``a u``; refuse one that overflows."""
        with np.errstate(over="ignore"):
            return _validate.utility(self.factor * utility, "factor * utility")

    @override
    def contains(self, point: ArrayLike, atol: float = 1e-9) -> bool:
        """Say whether ``point`` lies in the set, up to ``atol``.

        The source measures, in its own norm: it is asked about ``point / a``, with ``atol / |a|``
        and a few units in the last place.
        """
        point = _validate.point(point, self.dimension, atol)
        allowance = atol + ROUNDING * float(np.abs(point).max(initial=0.0))
        with np.errstate(over="ignore"):
            preimage = point / self.factor
        # A point that far away is in no set, and no set may be asked about it.
        if not (np.abs(preimage) <= _validate.LARGEST).all():
            return False
        return self.source.contains(preimage, allowance / abs(self.factor))

    @override
    def _key(self) -> tuple[object, ...]:
        return self.source, self.factor

    def __repr__(self) -> str:
        return f"ScaledSet({self.source!r}, {self.factor})"
