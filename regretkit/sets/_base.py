"""Abstract base class of strategy sets, and the search for the point of a set nearest to another.

The linear oracle of a set X takes a direction d to h(d), the largest <d, x> over X, and to a point
that attains it, the answer. The distance from a point p to X has the bounds

    <d, p> - h(d)  <=  distance  <=  |p - z|

with any unit vector d, and with z the nearest point in the hull of the answers so far. Wolfe (1976)
asks in the direction of p - z, and finds the nearest point of a polytope after finitely many
answers. Near the boundary of a curved set that direction has few digits. After its first calls the
search therefore projects a point outside on the hull:

    d  =  q - projection of q,    q  =  p + r c

with r the length of the longest answer, and the center c in turn the direction of p - z and that of
the best lower bound so far. In the first case d is Wolfe's direction with more digits, as z is the
projection of q for every r. In the second, the search is a proximal point method for the best lower
bound (Rockafellar 1976).

References
----------
Wolfe (1976), "Finding the nearest point in a polytope", Mathematical Programming 11.

Lawson and Hanson (1974), "Solving least squares problems", chapter 23.

Rockafellar (1976), "Augmented Lagrangians and applications of the proximal point algorithm in
convex programming", Mathematics of Operations Research 1(2).
"""

import abc
from collections.abc import Callable, Iterable, Iterator
from inspect import signature
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from regretkit._util import _validate
from regretkit._util._typing import Vector

Oracle: TypeAlias = Callable[[Vector], tuple[float, Vector]]
"""From a direction to the largest inner product over the set, and a point that attains it."""

ROUNDING = 4.0 * float(np.finfo(np.float64).eps)
"""The distance by which rounding may move a point, for each unit of its numbers."""

_FIRST_CALLS = 10
"""Oracle calls in Wolfe's own directions, the quickest to find."""
_CURVED_ATOL = 1e-7
"""Points count as inside up to this share of the longest answer if neither bound decides."""
_IMAGE_ATOL = 1e-10
"""Distance to the nearest image, in units of the largest coefficient, at which its search ends."""


def nearest_image(matrix: Vector, oracle: Oracle) -> Vector:
    """Return the point x of the set with the smallest ``|matrix (x, 1)|``, shape ``(n,)``."""
    matrix = matrix / np.abs(matrix).max()
    linear, constant = matrix[:, :-1], matrix[:, -1]
    vertices: list[Vector] = []

    def image_oracle(direction: Vector) -> tuple[float, Vector]:
        value, vertex = oracle(direction @ linear)
        vertices.append(vertex)
        return value + float(direction @ constant), linear @ vertex + constant

    point = np.zeros(linear.shape[1])
    for weights, lower, upper, _ in _approach(np.zeros(len(matrix)), image_oracle):
        point = weights @ np.array(vertices)
        if min(upper, upper - lower) <= _IMAGE_ATOL:
            break
    return point


def _most_calls(point: Vector) -> int:
    return 500 + 5 * point.size


def _approach(point: Vector, oracle: Oracle) -> Iterator[tuple[Vector, float, float, float]]:
    """Yield bounds on the distance from ``point`` to the set after each oracle call.

    With the weights of all answers at the nearest point so far come a lower and an upper bound, and
    the length of the longest answer as seen from ``point``.
    """
    answers = np.empty((0, point.size))
    direction = center = _unit(point if point.any() else np.ones(point.size))
    lower, longest = -np.inf, 0.0
    for call in range(_most_calls(point)):
        value, answer = oracle(direction)
        answers = np.vstack([answers, answer - point])
        longest = max(longest, float(np.linalg.norm(answers[-1])))
        offset = float(direction @ point) - value
        if offset > lower:
            lower, center = offset, direction
        weights = _projected(answers, np.zeros(point.size))
        nearest = weights @ answers
        yield weights, max(lower, 0.0), float(np.linalg.norm(nearest)), longest
        direction = _unit(-nearest)
        if call >= _FIRST_CALLS:
            exterior = longest * (center if call % 2 else direction)
            direction = _unit(exterior - _projected(answers, exterior) @ answers)


def _projected(points: Vector, target: Vector) -> Vector:
    """Return the weights of the point nearest to ``target`` in the hull of ``points``.

    With P the points as seen from the target, they are proportional to the w >= 0 that minimizes
    ``|w P|^2 + (sum w - 1)^2``: of all w in one proportion the best has ``|p|^2 / (1 + |p|^2)``,
    which increases with the distance |p| of their point.
    """
    from scipy.optimize import nnls  # Lawson and Hanson's method, whose steps are Wolfe's

    edges = points - target
    system = np.vstack([edges.T / (np.abs(edges).max() or 1.0), np.ones(len(points))])
    goal = np.append(np.zeros(target.size), 1.0)
    shares, _ = nnls(system, goal, maxiter=30 * len(points))
    weights: Vector = shares / shares.sum()
    return weights


def _unit(vector: Vector) -> Vector:
    return vector / (float(np.linalg.norm(vector)) or 1.0)


class StrategySet(abc.ABC):
    """A compact convex set of vectors, given by its linear oracle.

    A minimizer plays on one, and a game has one for each player. Sets never change.

    Examples
    --------
    >>> from regretkit.sets import Simplices, StrategySet
    >>> isinstance(Simplices(3), StrategySet)
    True
    """

    dimension: int
    """Number of coordinates of a point of the set."""

    @abc.abstractmethod
    def best_response(self, utility: ArrayLike) -> tuple[float, Vector]:
        """Return the largest ``<utility, x>`` over the set, and a new array x that attains it."""

    @abc.abstractmethod
    def relative_interior_point(self) -> Vector:
        """Return a canonical point of the relative interior, a new array."""

    def value(self, utility: Vector, point: Vector) -> float:
        """Return ``<utility, point>`` for a point of the set.

        Simplices and trees compute it so that it does not depend on the rounding of the point's
        sum where all utilities are equal.
        """
        return float(utility @ point)

    def gain(self, utility: Vector, point: Vector) -> float:
        """Return how much more than a point of the set a best response earns, at least 0.

        max over x in X of <utility, x>  -  <utility, point>
        """
        return self.best_response(utility)[0] - self.value(utility, point)

    def contains(self, point: ArrayLike, atol: float = 1e-9) -> bool:
        """Return whether ``point`` lies in the set, up to ``atol``.

        By default, the distance is Euclidean. A point of the set or a hyperplane proves the answer,
        up to rounding. Where 500 + 5 n calls of ``best_response`` prove neither, as may happen at
        the boundary of a curved set, ``atol`` grows by 1e-7 of the set's size.
        """
        point = _validate.point(point, self.dimension, atol)
        lower, upper, size = 0.0, np.inf, 0.0
        for _, lower, upper, size in _approach(point, self.best_response):
            rounding = 4.0 * ROUNDING * (size + np.linalg.norm(point))
            if upper <= atol + rounding:
                return True
            if lower > atol + rounding:
                return False
        if upper <= atol + _CURVED_ATOL * size:
            return True
        raise RuntimeError(
            f"the distance from the point to the set is between {lower:.3g} and {upper:.3g} "
            f"after {_most_calls(point)} calls of best_response"
        )

    def project(self, point: Vector, /) -> Vector:
        """Return the nearest point of the set in Euclidean distance, a new array.

        By default, it is searched by calls of ``best_response``, up to 1e-10 of the distance.
        """
        away = np.column_stack([np.eye(self.dimension), -point])
        return nearest_image(away, self.best_response)

    def _key(self) -> tuple[object, ...]:
        """Return what determines the set, hashable: sets of one class are equal if these are."""
        return (id(self),)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StrategySet):
            return NotImplemented
        return self is other or (type(self) is type(other) and self._key() == other._key())

    def __hash__(self) -> int:
        return hash((type(self).__name__, *self._key()))


class _SetOfArguments(StrategySet):
    """A set that is determined by the arguments of its constructor."""

    def _arguments(self) -> list[object]:
        return [getattr(self, name) for name in signature(type(self)).parameters]

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


def as_sets(values: Iterable[StrategySet], name: str) -> tuple[StrategySet, ...]:
    """Return ``values`` as a tuple of strategy sets."""
    return _validate.sequence(values, StrategySet, name, "Simplices(3)")
