"""The product of several sets, side by side or interleaved in one vector."""

from collections.abc import Iterable, Sequence
from typing import final

import numpy as np
from attrs import define
from numpy.typing import ArrayLike
from typing_extensions import override

from regretkit._util import _validate
from regretkit._util._arrays import Where, as_slice
from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import quote
from regretkit.sets._base import StrategySet, as_sets
from regretkit.sets._simplices import Simplices


@final
@define(eq=False, repr=False, init=False)
class ProductSet(StrategySet):
    """All vectors whose parts lie in the factors.

    Parameters
    ----------
    factors
        The sets, one or more.
    coordinates
        For each factor, the coordinates of the product that belong to it. Together they are each
        coordinate once. By default the factors are laid end to end.

    Examples
    --------
    >>> from regretkit.sets import Singleton, Simplices
    >>> ProductSet([Simplices(2), Singleton([7.0])]).best_response([1.0, 2.0, 1.0])
    (9.0, array([0., 1., 7.]))
    """

    factors: tuple[StrategySet, ...]
    """The sets."""
    coordinates: tuple[Indices, ...]
    """Where each of them lies in a vector."""
    _where: tuple[Where, ...]
    _dimension: int

    def __init__(
        self, factors: Iterable[StrategySet], coordinates: Sequence[Iterable[int]] | None = None
    ) -> None:
        self.factors = as_sets(factors, "factors")
        if not self.factors:
            raise ValueError("factors must be one or more sets, got none")
        self.coordinates = _layout([factor.dimension for factor in self.factors], coordinates)
        self._dimension = sum(where.size for where in self.coordinates)
        self._where = tuple(as_slice(where) for where in self.coordinates)

    @property
    @override
    def dimension(self) -> int:
        return self._dimension

    def split(self, vector: Vector) -> list[Vector]:
        """Return the part of ``vector`` that belongs to each factor."""
        return [vector[where] for where in self._where]

    def join(self, parts: Iterable[Vector]) -> Vector:
        """Lay one vector for each factor into a new one: the inverse of :meth:`split`."""
        joined = np.empty(self.dimension)
        for where, part in zip(self._where, parts, strict=True):
            joined[where] = part
        return joined

    def canonical(self) -> StrategySet:
        """Return the same set, as one :class:`Simplices` where it is simplices end to end."""
        end_to_end = np.array_equal(np.concatenate(self.coordinates), np.arange(self.dimension))
        simplices = [factor for factor in self.factors if isinstance(factor, Simplices)]
        if not end_to_end or len(simplices) < len(self.factors):
            return self
        return Simplices(np.concatenate([factor.sizes for factor in simplices]))

    @override
    def best_response(self, utility: ArrayLike) -> tuple[float, Vector]:
        parts = self.split(_validate.vector(utility, self.dimension, "utility"))
        responses = [f.best_response(part) for f, part in zip(self.factors, parts, strict=True)]
        return sum(value for value, _ in responses), self.join(best for _, best in responses)

    @override
    def value(self, utility: Vector, point: Vector) -> float:
        parts = zip(self.factors, self.split(utility), self.split(point), strict=True)
        return sum(factor.value(u, x) for factor, u, x in parts)

    @override
    def contains(self, point: ArrayLike, atol: float = 1e-9) -> bool:
        parts = self.split(_validate.point(point, self.dimension, atol))
        return all(f.contains(part, atol) for f, part in zip(self.factors, parts, strict=True))

    @override
    def relative_interior_point(self) -> Vector:
        return self.join(factor.relative_interior_point() for factor in self.factors)

    @override
    def _key(self) -> tuple[object, ...]:
        return self.factors, *(where.tobytes() for where in self.coordinates)

    def __repr__(self) -> str:
        return f"ProductSet([{', '.join(map(repr, self.factors))}])"


def _layout(
    dimensions: Sequence[int], coordinates: Sequence[Iterable[int]] | None
) -> tuple[Indices, ...]:
    """Return the coordinates of each factor, those given or else end to end."""
    total = sum(dimensions)
    if coordinates is None:
        return tuple(np.split(np.arange(total), np.cumsum(dimensions)[:-1]))
    if not isinstance(coordinates, Iterable):
        raise TypeError(
            "coordinates must be a sequence of whole numbers for each factor, got "
            f"{quote(coordinates)}"
        )
    layout = tuple(_validate.whole_numbers(where, "coordinates") for where in coordinates)
    if [where.size for where in layout] != list(dimensions):
        raise ValueError(
            f"coordinates must give {quote(list(dimensions))} of them to the factors, one for each "
            f"of their dimensions, got {quote([where.size for where in layout])}"
        )
    if not np.array_equal(np.sort(np.concatenate(layout)), np.arange(total)):
        raise ValueError(
            f"coordinates must hold each of 0 to {total - 1} once, "
            f"got {quote([where.tolist() for where in layout])}"
        )
    return layout
