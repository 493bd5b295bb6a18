"""Abstract base class of strategy sets, and how far a point is from one, by its linear oracle.

Write z for a point of the set X, seen from the point p in question. Any z is an upper bound |z| on
the distance, and any unit vector d a lower one: X lies beyond a hyperplane at distance <d, p> - max
over x in X of <d, x>. A search asks the oracle in one direction after another, and projects on the
hull of all answers so far (Wolfe 1976). What it must choose is directions, of three kinds:

- Away from the nearest point so far, -z/|z|: Wolfe's own. For most points no other is needed.
- From outside. At a curved boundary the first kind misses: |z| is small, its direction is chance,
  and the answers are far from p. To project p + c for a longer c is easy, and c <- c - z leads to
  a c from which the projection is p itself: the method of multipliers (Rockafellar 1976).
- Straightened. Where |z| is near rounding, -z/|z| has few digits left: project p - r z/|z|,
  for a larger r, and look from its foot.

References
----------
Wolfe (1976), "Finding the nearest point in a polytope", Mathematical Programming 11.

Rockafellar (1976), "Augmented Lagrangians and applications of the proximal point algorithm in
convex programming", Mathematics of Operations Research 1(2).
"""

import abc
from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from regretkit._state import attrs_fields
from regretkit._util import _validate
from regretkit._util._typing import Indices, Vector

Oracle: TypeAlias = Callable[[Vector], tuple[float, Vector]]
"""From a direction to the largest inner product over the set, and a point that attains it."""

# These decide how soon an answer is found, never which.
_WARM_UP = 10  # Questions of the first kind before the others join in.
_FAR, _NEAR = 100.0, 1e-6  # The longest and the shortest c, in units of the longest answer.
_STRAIGHTEN_BELOW, _STRAIGHTEN_FROM = 1e-6, 1e-3  # The |z| that needs it, and r, in the same unit.

_ENOUGH, _LIMIT = 1e-10, 1_000  # How near an image must be, and answers at most.


def is_within(point: Vector, oracle: Oracle, atol: float, *, limit: int | None = None) -> bool:
    """Say whether ``point`` is no further than ``atol`` from the set, in the Euclidean norm.

    The answer is proven, by a point of the set that is near enough or by a hyperplane that is not,
    and nothing is computed beyond that. A distance that exceeds ``atol`` by rounding only, some
    units in the last place of the longest vector met, may count as within.

    The oracle is asked ``limit`` times at most, by default 500 + 5 n, and a RuntimeError has the
    bounds reached by then. At a tolerance of zero, the boundary of a curved set, or a set that is
    flat to more than half of a float's digits, may be beyond deciding.
    """
    search = _Search(point, oracle)
    search.run(
        lambda: search.upper <= atol + search.rounding or search.lower > atol + search.rounding,
        limit,
        f"whether it is within atol={atol}",
    )
    return search.upper <= atol + search.rounding


def nearest_image(matrix: Vector, oracle: Oracle) -> Vector:
    """Return the point x of the set with the smallest ``|matrix (x, 1)|``, by Wolfe's method."""
    matrix = matrix / np.abs(matrix).max()
    slope = matrix[:, -1]
    vertices = np.array([oracle(-(slope @ matrix)[:-1])[1]])
    projection = _Projection(np.zeros(len(matrix)))
    while True:
        images = vertices @ matrix[:, :-1].T + matrix[:, -1]
        foot = projection.foot(images)
        point: Vector = projection.weights @ vertices[projection.support]
        vertex = oracle(-(foot @ matrix)[:-1])[1]
        gap, length = foot @ (foot - matrix @ np.append(vertex, 1.0)), np.linalg.norm(foot)
        if min(length, gap / (length or 1.0)) <= _ENOUGH or len(vertices) == _LIMIT:
            return point
        vertices = np.vstack([vertices, vertex])


class _Search:
    """The bounds, and the oracle's answers they rest on, all as seen from the point."""

    def __init__(self, point: Vector, oracle: Oracle) -> None:
        self.point, self.oracle = point, oracle
        self.answers = np.empty((0, point.size))
        self.longest = 0.0
        self.lower, self.upper = 0.0, np.inf
        self.nearest = np.zeros(point.size)
        # The direction of the best hyperplane so far, separating or not, and where it lies.
        self.direction, self.offset = np.zeros(point.size), -np.inf

    @property
    def rounding(self) -> float:
        """What to allow for rounding in a bound."""
        return float(16.0 * np.finfo(np.float64).eps * (self.longest + np.linalg.norm(self.point)))

    def run(self, settled: Callable[[], bool], limit: int | None, question: str) -> None:
        """Ask until the question is settled."""
        limit = 500 + 5 * self.point.size if limit is None else limit
        for direction in self.directions():
            if settled():
                return
            if len(self.answers) == limit:
                raise RuntimeError(
                    f"the distance from the point to the set is between {self.lower} and "
                    f"{self.upper} after {limit} calls of its best response, too few to tell "
                    f"{question}; allow a larger one, or a higher limit"
                )
            self.ask(direction)

    def ask(self, direction: Vector) -> None:
        """Learn the oracle's answer, and the hyperplane behind it."""
        value, vertex = self.oracle(direction)
        answer = vertex - self.point
        # Where the oracle rounds its two results differently, believe the weaker.
        offset = min(float(direction @ self.point) - value, -float(direction @ answer))
        self.answers = np.vstack([self.answers, answer])
        self.longest = max(self.longest, float(np.linalg.norm(answer)))
        self.lower = max(self.lower, offset)
        if offset > self.offset:
            self.direction, self.offset = direction, offset

    def look(self, projection: "_Projection") -> tuple[Vector, Vector]:
        """Return the foot of a projection on the answers' hull, and where its target lies."""
        foot = projection.foot(self.answers)
        distance = float(np.linalg.norm(foot))
        if distance < self.upper:
            self.nearest, self.upper = foot, distance
        return foot, _unit(projection.target - foot)

    def directions(self) -> Iterator[Vector]:
        """Yield where to ask next, for ever."""
        yield _unit(self.point if self.point.any() else np.ones(self.point.size))
        plain = _Projection(np.zeros(self.point.size))
        for _ in range(_WARM_UP):
            yield self.look(plain)[1]
        from_outside = self.from_outside(plain.towards(self.longest * self.direction))
        straightened = plain.towards(plain.target)
        while True:
            foot, direction = self.look(plain)
            if np.linalg.norm(foot) < _STRAIGHTEN_BELOW * self.longest:
                straightened.target = _STRAIGHTEN_FROM * self.longest * direction
                direction = self.look(straightened)[1]
            yield direction
            yield next(from_outside)

    def from_outside(self, projection: "_Projection") -> Iterator[Vector]:
        """Yield the directions of the method of multipliers."""
        length = unit = float(np.linalg.norm(projection.target))
        tries, last_miss = 0, np.inf
        while True:
            foot, direction = self.look(projection)
            yield direction
            tries += 1
            miss = float(np.linalg.norm(foot))
            gap = float((self.answers @ direction).max() - foot @ direction)
            # The foot is off by at most sqrt(2 gap length).
            if gap <= max(2.0 * miss**2 / length, self.rounding):
                # The projection is good enough to move on; a shorter c converges in fewer moves.
                if tries == 1 and miss > last_miss / 2.0:
                    length = max(length / 2.0, _NEAR * unit)
                tries, last_miss = 0, miss
                projection.target = length * direction
            elif tries > 5:
                # The projection is hard to find; from further away it is easier.
                length = min(length * 2.0, _FAR * unit)
                tries, last_miss = 0, np.inf
                projection.target = length * _unit(projection.target)


class _Projection:
    """The nearest point to a target in the hull of some points, found from where it last was."""

    def __init__(self, target: Vector) -> None:
        self.target = target
        self._solved: Vector | None = None  # The target that support and weights are right for.
        self.support: Indices = np.zeros(1, dtype=np.int64)
        self.weights = np.ones(1)

    def towards(self, target: Vector) -> "_Projection":
        """Return a projection of another target that starts from this one's foot."""
        projection = _Projection(target)
        projection.support, projection.weights = self.support, self.weights
        return projection

    def foot(self, points: Vector) -> Vector:
        """Return the nearest point in the hull of ``points``, shape ``(m, n)``, as Wolfe does."""
        if self._solved is not self.target:
            self.support, self.weights = self._corrected(points, self.support, self.weights)
            self._solved = self.target
        foot: Vector = self.weights @ points[self.support]
        for _ in range(3 * len(points)):
            residual = self.target - foot
            values = points @ residual
            entering = int(values.argmax())
            if entering in self.support:
                break
            support, weights = self._corrected(
                points, np.append(self.support, entering), np.append(self.weights, 0.0)
            )
            step = weights @ points[support] - foot
            # How far the square of the distance falls; its two values may differ by rounding only.
            if 2.0 * (residual @ step) - step @ step <= 0.0:
                break
            self.support, self.weights = support, weights
            foot = foot + step
        return foot

    def _corrected(
        self, points: Vector, support: Indices, weights: Vector
    ) -> tuple[Indices, Vector]:
        """Return support and weights after Wolfe's minor cycles, which drop points not needed."""
        while True:
            goal = _affine_weights(points[support], self.target, int(weights.argmax()))
            shrinking = goal <= 0.0
            if not shrinking.any():
                return support, goal
            falls = np.where(shrinking, weights - goal, 1.0)
            # A point that enters with no weight, and should have none, leaves first.
            reach = np.where(shrinking, weights / np.where(falls > 0.0, falls, 1.0), np.inf)
            leaving = int(reach.argmin())
            weights = weights + reach[leaving] * (goal - weights)
            weights[leaving] = 0.0
            stays = weights > 0.0
            support, weights = support[stays], weights[stays] / weights[stays].sum()


def _affine_weights(points: Vector, target: Vector, base: int) -> Vector:
    """Return weights, of any sign, of the point nearest to ``target`` in the affine hull."""
    edges = (np.delete(points, base, axis=0) - points[base]).T
    goal = target - points[base]
    rank = edges.shape[1]
    # Not by the Gram matrix: points of a small cap differ in digits that squares lose.
    system = np.column_stack([edges, goal])
    # NumPy's annotations declare a pair for every mode; asarray gives the actual type.
    triangle = np.asarray(np.linalg.qr(system, mode="r"), dtype=np.float64)[:rank]
    pivots = np.abs(np.diagonal(triangle))
    if rank <= target.size and pivots.min(initial=1.0) > 1e-14 * pivots.max(initial=0.0):
        solution = np.linalg.solve(triangle[:, :rank], triangle[:, rank])
    else:
        solution = np.linalg.lstsq(edges, goal, rcond=None)[0]
    weights = np.asarray(solution, dtype=np.float64)
    return np.insert(weights, base, 1.0 - weights.sum())


def _unit(vector: Vector) -> Vector:
    return vector / (float(np.linalg.norm(vector)) or 1.0)


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

    def _gain(self, utility: Vector, point: Vector) -> float:
        """Return by how much the largest ``<utility, x>`` over the set exceeds that of a point."""
        return self.best_response(utility)[0] - self.value(utility, point)

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
