"""Abstract base class of strategy sets."""

import abc

from numpy.typing import ArrayLike

from regretkit._util._typing import Vector


class StrategySet(abc.ABC):
    """A compact convex set of vectors, known by its linear oracle.

    A minimizer plays on one; a game has one for each player. Sets are values: they never
    change, and two of the same shape are equal.

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
    def value(self, utility: Vector, point: Vector) -> float:
        """Return ``<utility, point>`` for a point of the set.

        The set may use properties of its points, so that with equal utilities the result does not
        depend on the rounding of a point's sum.
        """

    @abc.abstractmethod
    def contains(self, point: ArrayLike, atol: float = 1e-9) -> bool:
        """Say whether ``point`` lies in the set, up to ``atol``.

        Raises
        ------
        TypeError, ValueError
            When ``point`` is not a finite vector of this dimension, or ``atol`` not a number of at
            least 0.
        """

    @abc.abstractmethod
    def relative_interior_point(self) -> Vector:
        """Return a canonical point of the relative interior, a new array."""
