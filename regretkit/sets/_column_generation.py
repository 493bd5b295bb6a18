"""The best point of a convex set under linear constraints, by generating vertices of the set.

The set X is known by its linear oracle, the constraints are A x <= b. Points of X that are known,
the oracle's answers, are the columns of a linear program: the mixture of them that meets the
constraints and has the largest value. That value is a lower bound. Its dual solution prices the
constraints, and for any prices pi >= 0,

    max over x in X of <u - A' pi, x>  +  <pi, b>

is an upper bound. The x that attains it is the next column (Dantzig and Wolfe 1960). A polytope
has finitely many vertices, and after finitely many the bounds meet; on a curved set they come
closer and closer.

Whether any point meets the constraints is a question of the same kind: let them give way by s
times a unit of each, and maximize -s. An upper bound below zero is a proof that none does.

References
----------
Dantzig, Orden and Wolfe (1955), "The generalized simplex method for minimizing a linear form under
linear inequality restraints", Pacific Journal of Mathematics 5(2).

Dantzig and Wolfe (1960), "Decomposition principle for linear programs", Operations Research 8(1).

Edmonds (1967), "Systems of distinct representatives and linear algebra", Journal of Research of
the National Bureau of Standards 71B.
"""

from collections.abc import Callable, Iterable
from typing import TypeAlias, final

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from regretkit._util._typing import Vector
from regretkit._util._validate import quote, shorten
from regretkit.sets._base import StrategySet
from regretkit.sets._nearest_point import Oracle

Whole: TypeAlias = NDArray[np.object_]
"""Whole numbers of any length, in an array."""

_LIMIT = 1000
"""How often a search asks the oracle at most."""
_ENOUGH = 1e-12
"""How close the bounds must come for a search to end, relative to the numbers behind them, and to
how far these differ over the set."""
_CLOSE = 1e-9
"""How close they must be for it to be settled whether there are points at all."""


@final
class ConstrainedSet:
    """The points x of a set X that meet constraints ``A x <= b``: one, at least.

    A ValueError says that no point of X meets all of them, which is proven by a point or by a
    combination of constraints that is broken everywhere, and by more than rounding; a RuntimeError
    that neither such a proof nor a point was found.
    """

    def __init__(self, source: StrategySet, matrix: Vector, bound: Vector) -> None:
        self.source = source
        # A power of two changes no digits, and then no product of ours can overflow.
        largest = np.maximum(np.abs(matrix).max(axis=1, initial=0.0), np.abs(bound))
        self._factor = np.exp2(-np.frexp(largest)[1].clip(-1000, 1000))
        self.matrix, self.bound = matrix * self._factor[:, None], bound * self._factor
        self._off = 4.0 * (source.dimension + 2) * float(np.finfo(np.float64).eps)
        points = self._explored()
        met = (points @ self.matrix.T - self.bound <= self._rounding(points)).all(axis=1)
        self._start = points[met.argmax()] if met.any() else self._found(points)

    def best_response(self, utility: Vector) -> tuple[Vector, float, float]:
        """Return the point of the largest value, its value, and an upper bound on all values.

        The point lies in the set and meets the constraints, up to rounding. Where X is a polytope
        the two numbers differ by no more than that either; on curved sets by 1e-12 of what they
        may differ by at all, unless that took too many steps.
        """
        amplitude = float(np.abs(utility).max(initial=0.0)) or 1.0
        utility, spread = utility / amplitude, 0.0

        def is_enough(found: _Found) -> bool:
            nonlocal spread
            spread = max(spread, float(np.abs(utility) @ np.abs(found.vertex - self._start)))
            size = np.abs(utility) @ np.abs(found.point) + found.prices @ self._sizes(found.point)
            gap = found.upper - float(utility @ found.point)
            return gap <= _ENOUGH * min(spread, float(size))

        mixture = RestrictedMaster(utility, self.matrix, self.bound, self._start)
        found = _search(self.source.best_response, mixture, is_enough)
        lower = float(utility @ found.point)
        return found.point, amplitude * lower, amplitude * max(lower, found.upper)

    def _sizes(self, point: Vector) -> Vector:
        """Return the size of the numbers that A x - b adds up."""
        added: Vector = np.abs(point) @ np.abs(self.matrix).T + np.abs(self.bound)
        return added

    def _rounding(self, point: Vector) -> Vector:
        """Return by how much A x - b may be off, if all these numbers are rounded."""
        return self._off * self._sizes(point)

    # Whether there are such points at all

    def _explored(self) -> Vector:
        """Return where each constraint is met best and worst, and refuse one that never is."""
        points = [self.source.relative_interior_point()]
        for number, row in enumerate(self.matrix):
            best, worst = (self.source.best_response(sign * row)[1] for sign in (-1.0, 1.0))
            points += [best, worst]
            least = float(row @ best)
            if least - self.bound[number] > self._rounding(best)[number]:
                least, bound = (x / self._factor[number] for x in (least, self.bound[number]))
                raise ValueError(
                    f"constraint {number} cannot be met: over {quote(self.source)}, "
                    f"matrix[{number}] @ x is at least {least}, above bound[{number}] = {bound}"
                )
        return np.array(points)

    def _found(self, points: Vector) -> Vector:
        """Return a mixture that meets all constraints, or refuse them."""
        # Let them give way by s times a unit each, powers of two, and begin where it is enough.
        excess = points @ self.matrix.T - self.bound
        largest = np.abs(excess).max(axis=0)
        unit = np.exp2(np.frexp(np.where(largest > 0.0, largest, 1.0))[1])
        shares = (excess / unit).max(axis=1)
        most = float(np.exp2(np.frexp(shares.min())[1]))

        def oracle(direction: Vector) -> tuple[float, Vector]:
            value, point = self.source.best_response(direction[:-1])
            give = most if direction[-1] > 0.0 else 0.0
            return value + give * float(direction[-1]), np.append(point, give)

        reach = np.append(np.abs(points).max(axis=0), most)

        def is_enough(found: _Found) -> bool:
            point = found.point[:-1]
            doubt = found.prices @ self._rounding(point)
            doubt += self._off * (np.abs(found.direction) @ (reach + np.abs(found.vertex)))
            if found.bound < -float(doubt):
                self._refuse(found)
            return bool((self.matrix @ point - self.bound <= self._rounding(point)).all())

        utility = np.append(np.zeros(points.shape[1]), -1.0)
        start = np.append(points[shares.argmin()], most)
        matrix = np.column_stack([self.matrix, -unit])
        found = _search(oracle, RestrictedMaster(utility, matrix, self.bound, start), is_enough)
        *point, give = found.point
        if not found.settled and give + found.upper > _CLOSE * most:
            raise RuntimeError(
                f"whether the constraints can be met together was not found out from {_LIMIT} "
                f"points of {quote(self.source)}; the least violation is between "
                f"{max(-found.upper, 0.0)} and {give}, in units of the largest"
            )
        return np.array(point)

    def _refuse(self, found: "_Found") -> None:
        weights = found.prices * self._factor
        raise ValueError(
            "the constraints cannot be met together: added up with weights "
            f"{shorten(str(weights / weights.max()))} they make one that every x of "
            f"{quote(self.source)} breaks by {-found.bound / weights.max():.6g} at least"
        )


@final
class RestrictedMaster:
    """The mixture of the largest value that meets linear constraints, of all points so far.

        maximize  <u, x>   where  A x <= b,  x a mixture of the points

    It is found by the simplex method in whole numbers. Solvers in floating point take what is small
    for zero, by a tolerance that knows nothing of the problem's units; floats are whole numbers
    over powers of two, and with those there is nothing to round: the inverse of the basis is kept
    as its adjugate and its determinant, and a pivot divides without a remainder (Edmonds 1967).
    Ties are broken lexicographically, so that no basis comes twice (Dantzig, Orden and Wolfe 1955).
    A column that leaves the basis is dropped; the pricing step generates it again if needed.

    Constraints that the first point breaks give way until the mixture meets them.

    On an interval from 0, with the constraint x <= 2.5:

    >>> mixture = RestrictedMaster(np.ones(1), np.ones((1, 1)), np.array([2.5]), start=np.zeros(1))
    >>> mixture.add(np.array([10.0]))
    True
    >>> mixture.point, mixture.prices, mixture.priced()
    (array([2.5]), array([1.]), (array([0.]), 2.5))
    """

    def __init__(self, utility: Vector, matrix: Vector, bound: Vector, start: Vector) -> None:
        # Row 0 is the utility, each further one a constraint, all in whole numbers; b is last.
        rows = [_whole([*utility, 0.0]), *map(_whole, np.column_stack([matrix, bound]))]
        self._rows = np.array([row for row, _ in rows], dtype=object)
        self._row_units = [unit for _, unit in rows]
        # The simplex method: row 0 for the value of the mixture, one for the slack of each
        # constraint, the last for weights, which sum to one. A column may have any unit of its own.
        column, unit = self._column(start)
        self._points: list[Vector | None] = [None] * (column.size - 1) + [start]
        self._units = [1] * (column.size - 1) + [unit]
        self._determinant = unit
        self._adjugate = np.array(np.eye(column.size, dtype=np.int64), dtype=object) * unit
        self._adjugate[:, -1] = -column
        self._adjugate[-1, -1] = 1
        right_side = np.maximum(column, 0)
        right_side[0] = 0
        self._values, self._unit = self._adjugate @ right_side, unit

    def _column(self, point: Vector) -> tuple[Whole, int]:
        whole, unit = _whole([*point, -1.0])
        column = np.append(self._rows @ whole, unit)
        column[0] *= -1
        return column, unit

    @property
    def point(self) -> Vector:
        """The mixture."""
        scale, mixed = self._determinant * self._unit, np.zeros(self._rows.shape[1] - 1)
        for value, unit, point in zip(self._values, self._units, self._points, strict=True):
            if point is not None:
                mixed += (value * unit) / scale * point
        return mixed

    @property
    def prices(self) -> Vector:
        """What the mixture would gain for each unit by which a constraint gave way, at least 0."""
        scale = self._determinant * self._row_units[0]
        priced = zip(self._adjugate[0, 1:-1], self._row_units[1:], strict=True)
        return np.array([(price * unit) / scale for price, unit in priced])

    def priced(self) -> tuple[Vector, float]:
        """Return ``u - A' prices``, the value of a point minus what it pays, and <prices, b>."""
        reduced = self._rows[0] * self._determinant - self._adjugate[0, 1:-1] @ self._rows[1:]
        scale = self._determinant * self._row_units[0]
        *direction, constant = (number / scale for number in reduced)
        return np.array(direction), -constant

    def add(self, point: Vector) -> bool:
        """Add one more point; return whether the mixture changed."""
        changed = self._enter(*self._column(point), point)
        while changed and self._relaxed():
            pass
        return changed

    def _relaxed(self) -> bool:
        """Say whether there was a constraint that it paid to stay further inside of."""
        prices = self._adjugate[0, 1:-1]
        cheapest = 1 + int(prices.argmin())
        if prices[cheapest - 1] >= 0:
            return False
        room = np.zeros(self._values.size, dtype=np.int64).astype(object)
        room[cheapest] = 1
        return self._enter(room, 1, None)

    def _enter(self, column: Whole, unit: int, point: Vector | None) -> bool:
        change = self._adjugate @ column
        if change[0] >= 0:
            return False
        row = self._leaving(change)
        pivot, last_determinant, change[row] = change[row], self._determinant, 0
        pivot_row, value = self._adjugate[row].copy(), self._values[row]
        self._adjugate = (self._adjugate * pivot - np.outer(change, pivot_row)) // last_determinant
        self._values = (self._values * pivot - change * value) // last_determinant
        self._adjugate[row], self._values[row] = pivot_row, value
        self._determinant = pivot
        self._points[row], self._units[row] = point, unit
        return True

    def _leaving(self, change: Whole) -> int:
        """Return the row of what the entering column brings to zero first."""
        rows = [row for row in range(1, change.size) if change[row] > 0]
        for column in (self._values, *self._adjugate.T[1:]):
            least = rows[0]
            for row in rows:
                if column[row] * change[least] < column[least] * change[row]:
                    least = row
            rows = [r for r in rows if column[r] * change[least] == column[least] * change[r]]
            if len(rows) == 1:
                break
        return rows[0]


def _whole(numbers: Iterable[float]) -> tuple[Whole, int]:
    """Return numbers times the least power of two that makes them whole, and that power."""
    ratios = [float(number).as_integer_ratio() for number in numbers]
    unit = max(denominator for _, denominator in ratios)
    whole = [numerator * (unit // denominator) for numerator, denominator in ratios]
    return np.array(whole, dtype=object), unit


@frozen
class _Found:
    """The result of a search so far."""

    point: Vector
    prices: Vector
    direction: Vector
    """The value of each coordinate, minus the prices that it pays."""
    vertex: Vector
    """The best response to that."""
    bound: float
    """An upper bound on the value of points that meet the constraints."""
    upper: float
    """The least such bound so far."""
    settled: bool
    """Whether that is all, because no better mixture can be made with the vertex."""


def _search(
    oracle: Oracle, mixture: RestrictedMaster, is_enough: Callable[[_Found], bool]
) -> _Found:
    """Ask the oracle for points to mix until the mixture is good enough, or cannot be better."""
    count, least = 0, np.inf
    while True:
        point, prices = mixture.point, mixture.prices
        direction, charge = mixture.priced()
        value, vertex = oracle(direction)
        bound = value + charge
        least, count = min(least, bound), count + 1
        settled = not mixture.add(vertex)
        found = _Found(point, prices, direction, vertex, bound, least, settled)
        if is_enough(found) or settled or count == _LIMIT:
            return found
