"""Abstract base class of strategy sets."""

import abc
from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike
from typing_extensions import override

from regretkit._util import _validate
from regretkit._util._state import attrs_fields
from regretkit._util._typing import Vector
from regretkit.sets._nearest_point import is_within

ROUNDING = 4.0 * float(np.finfo(np.float64).eps)
"""What rounding may move a point by, for each unit of the numbers it was computed from."""


class StrategySet(abc.ABC):
    """A compact convex set of vectors, given by its linear oracle.

    A minimizer plays on one; a game has one for each player. Sets are values: they never
    change, and two of the same shape are equal. A set is refused when it is built, with a
    TypeError or a ValueError that names the argument, if an argument is of a wrong kind or shape,
    is not finite, or leaves the set empty.

    Examples
    --------
    >>> from regretkit.sets import Simplices, StrategySet
    >>> isinstance(Simplices(3), StrategySet)
    True
    """

    @property
    @abc.abstractmethod
    def dimension(self) -> int:
        """Number of coordinates of a point of the set."""

    @abc.abstractmethod
    def best_response(self, utility: ArrayLike) -> tuple[float, Vector]:
        """Return the largest ``<utility, x>`` over the set, and a new array x that attains it."""

    @abc.abstractmethod
    def relative_interior_point(self) -> Vector:
        """Return a canonical point of the relative interior, a new array."""

    def value(self, utility: Vector, point: Vector) -> float:
        """Return ``<utility, point>`` for a point of the set.

        The set may use properties of its points, so that with equal utilities the result does not
        depend on the rounding of a point's sum.
        """
        return float(utility @ point)

    def contains(self, point: ArrayLike, atol: float = 1e-9) -> bool:
        """Say whether ``point`` lies in the set, up to ``atol``.

        Where nothing else is said, the distance is Euclidean, and bounded by calls of
        ``best_response`` until they decide.

        Raises
        ------
        TypeError, ValueError
            When ``point`` is not a finite vector of this dimension, or ``atol`` not a number of at
            least 0.
        """
        point = _validate.point(point, self.dimension, atol)
        return is_within(point, self.best_response, atol)

    def _key(self) -> tuple[object, ...]:
        """Return what determines the set, hashable: sets of one class are equal if these are."""
        return (id(self),)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StrategySet):
            return NotImplemented
        return self is other or (type(self) is type(other) and self._key() == other._key())

    def __hash__(self) -> int:
        return hash((type(self).__name__, *self._key()))


class _SetOfFields(StrategySet):
    """A set that is determined by its attrs fields, the arguments of its constructor."""

    def _arguments(self) -> list[object]:
        return [getattr(self, field.name) for field in attrs_fields(type(self))]

    @override
    def _key(self) -> tuple[object, ...]:
        # Zeros of either sign are equal.
        return tuple(
            (a.shape, (a + 0.0).tobytes()) if isinstance(a, np.ndarray) else a
            for a in self._arguments()
        )

    def __repr__(self) -> str:
        shown = [
            repr(a.tolist() if isinstance(a, np.ndarray) else [*a] if isinstance(a, tuple) else a)
            for a in self._arguments()
        ]
        return f"{type(self).__name__}({', '.join(shown)})"


def as_set(value: StrategySet, name: str) -> StrategySet:
    """Return ``value`` if it is a strategy set."""
    _validate.check_kind(value, StrategySet, name, "Simplices(3)")
    return value


def as_sets(values: Iterable[StrategySet], name: str) -> tuple[StrategySet, ...]:
    """Return ``values`` as a tuple of strategy sets."""
    return _validate.sequence(values, StrategySet, name, as_set)


def as_sets_of_one_space(values: Iterable[StrategySet], name: str) -> tuple[StrategySet, ...]:
    """Return one or more strategy sets of one dimension."""
    members = as_sets(values, name)
    _validate.one_space([member.dimension for member in members], name)
    return members


def total(points: Iterable[Vector]) -> Vector:
    """Return the sum of some points."""
    added: Vector = np.sum(list(points), axis=0)
    return added
