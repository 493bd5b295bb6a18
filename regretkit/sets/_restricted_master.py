"""The simplex method in whole numbers, for a linear program whose columns come one by one.

Solvers in floating point take what is small for zero, by a tolerance that knows nothing of the
problem's units. Floats are whole numbers over powers of two, though, and with whole numbers there
is nothing to round: the inverse of the basis is kept as its adjugate and its determinant, and a
pivot divides without a remainder (Edmonds 1967). Ties are broken lexicographically, so that no
basis comes twice (Dantzig, Orden and Wolfe 1955). A column that leaves the
basis is dropped; the pricing step generates it again if it is needed.

References
----------
Dantzig, Orden and Wolfe (1955), "The generalized simplex method for minimizing a linear form under
linear inequality restraints", Pacific Journal of Mathematics 5(2).

Edmonds (1967), "Systems of distinct representatives and linear algebra", Journal of Research of
the National Bureau of Standards 71B.
"""

from collections.abc import Iterable
from typing import TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from regretkit._util._typing import Vector

Whole: TypeAlias = NDArray[np.object_]
"""Whole numbers of any length, in an array."""


@final
class RestrictedMaster:
    """The mixture of the largest value that meets linear constraints, of all points so far.

        maximize  <u, x>   where  A x <= b,  x a mixture of the points

    Parameters
    ----------
    utility
        u, shape ``(n,)``.
    matrix, bound
        A and b, shapes ``(k, n)`` and ``(k,)``.
    start
        The first point. Constraints that it breaks give way until it meets them.

    Examples
    --------
    On an interval from 0, with the constraint x <= 2.5:

    >>> import numpy as np
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
        over, mixed = self._determinant * self._unit, np.zeros(self._rows.shape[1] - 1)
        for value, unit, point in zip(self._values, self._units, self._points, strict=True):
            if point is not None:
                mixed += (value * unit) / over * point
        return mixed

    @property
    def prices(self) -> Vector:
        """What the mixture would gain for each unit by which a constraint gave way, at least 0."""
        over = self._determinant * self._row_units[0]
        priced = zip(self._adjugate[0, 1:-1], self._row_units[1:], strict=True)
        return np.array([(price * unit) / over for price, unit in priced])

    def priced(self) -> tuple[Vector, float]:
        """Return ``u - A' prices``, the value of a point minus what it pays, and <prices, b>."""
        reduced = self._rows[0] * self._determinant - self._adjugate[0, 1:-1] @ self._rows[1:]
        over = self._determinant * self._row_units[0]
        *direction, constant = (number / over for number in reduced)
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
