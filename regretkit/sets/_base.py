"""The base class of strategy sets, and a search for the nearest point of a set.

The linear oracle of a set X maps a direction d to h(d), the largest <d, x> over X, and to an
*answer*, a point that attains it. The distance from a point p to X has the bounds

    <d, p> - h(d)  <=  distance  <=  |p - z|

for any unit vector d, with z the nearest point to p in the hull of the answers so far. Wolfe (1976)
uses the direction p - z, and finds the nearest point of a polytope after finitely many calls. Near
the boundary of a curved set, cancellation makes this direction inaccurate. After the first calls,
the search therefore projects a point q outside onto the hull:

    d  =  q - projection of q,    q  =  p + r c

with r the length of the longest answer. The unit vector c alternates between the direction of p - z
and that of the best lower bound so far. The first choice gives Wolfe's direction with a smaller
error, because z is the projection of q for every r. The second choice is a proximal point method
for the best lower bound (Rockafellar 1976).

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
"""Maps a direction to its largest inner product over the set, and a point that attains it."""

ROUNDING = 4.0 * float(np.finfo(np.float64).eps)
"""Relative size of rounding errors."""

_FIRST_CALLS = 10
"""Number of oracle calls with Wolfe's directions, which are fast to compute."""
_CURVED_ATOL = 1e-7
"""Tolerance of ``contains`` relative to the longest answer, if neither bound decides."""
_IMAGE_ATOL = 1e-10
"""Tolerance of ``nearest_image`` relative to the largest coefficient."""


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
    """Yield, after each oracle call, the state of the search for the nearest point to ``point``.

    That is the weights of all answers at the nearest point of their hull, a lower and an upper
    bound of the distance, and the largest distance of an answer from ``point``.
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

    With P the rows ``points - target``, minimize ``|w P|^2 + (sum w - 1)^2`` over w >= 0, and scale
    w to sum 1. For all multiples of one w, with p its point, the minimum is
    ``|p|^2 / (1 + |p|^2)``, which increases with the distance |p|.
    """
    from scipy.optimize import nnls  # the method of Lawson and Hanson, with the steps of Wolfe's

    edges = points - target
    system = np.vstack([edges.T / (np.abs(edges).max() or 1.0), np.ones(len(points))])
    goal = np.append(np.zeros(target.size), 1.0)
    shares, _ = nnls(system, goal, maxiter=30 * len(points))
    weights: Vector = shares / shares.sum()
    return weights


def _unit(vector: Vector) -> Vector:
    return vector / (float(np.linalg.norm(vector)) or 1.0)


class StrategySet(abc.ABC):
    """A compact convex set of vectors, given by its linear oracle ``best_response``.

    Each minimizer has such a set as its ``domain``, and a game has one for each player. Sets are
    immutable.

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
        """Return a fixed point of the relative interior, a new array."""

    def value(self, utility: Vector, point: Vector) -> float:
        """Return ``<utility, point>`` for a point of the set.

        On simplices and trees, equal utilities give exactly this value, whatever the rounding of
        the point's sum.
        """
        return float(utility @ point)

    def gain(self, utility: Vector, point: Vector) -> float:
        """Return the gain of a best response over a point of the set, at least 0.

        max over x in X of <utility, x>  -  <utility, point>
        """
        return self.best_response(utility)[0] - self.value(utility, point)

    def contains(self, point: ArrayLike, atol: float = 1e-9) -> bool:
        """Return whether ``point`` lies in the set, up to ``atol``.

        The default method uses the Euclidean distance. A near point of the set or a separating
        hyperplane proves the result. If 500 + 5 n calls of ``best_response`` find neither, as can
        happen at the boundary of a curved set, ``atol`` grows by 1e-7 of the set's size.
        """
        point = _validate.vector(point, self.dimension, "point")
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

        The default method searches it by calls of ``best_response``, with a tolerance of 1e-10.
        """
        away = np.column_stack([np.eye(self.dimension), -point])
        return nearest_image(away, self.best_response)

    def _key(self) -> tuple[object, ...]:
        """Return a hashable key: sets of one class are equal if their keys are."""
        return (id(self),)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StrategySet):
            return NotImplemented
        return self is other or (type(self) is type(other) and self._key() == other._key())

    def __hash__(self) -> int:
        return hash((type(self).__name__, *self._key()))


class _SetOfArguments(StrategySet):
    """A set whose key is the arguments of its constructor."""

    def _arguments(self) -> list[object]:
        return [getattr(self, name) for name in signature(type(self)).parameters]

    def _key(self) -> tuple[object, ...]:
        # Adding 0.0 turns -0.0 into 0.0, which has other bytes.
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
    """Return ``values`` as a tuple of strategy sets, or raise a TypeError."""
    return _validate.sequence(values, StrategySet, name, "Simplices(3)")
