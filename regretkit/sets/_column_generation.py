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
Dantzig and Wolfe (1960), "Decomposition principle for linear programs", Operations Research 8(1).
"""

from collections.abc import Callable
from typing import final

import numpy as np
from attrs import frozen

from regretkit._util._typing import Vector
from regretkit._util._validate import quote, shorten
from regretkit.sets._base import StrategySet
from regretkit.sets._nearest_point import Oracle
from regretkit.sets._restricted_master import RestrictedMaster

_LIMIT = 1000
"""How often a search asks the oracle at most."""
_ENOUGH = 1e-12
"""How close the bounds must come for a search to end, relative to the numbers behind them, and to
how far these differ over the set."""
_CLOSE = 1e-9
"""How close they must be for it to be settled whether there are points at all."""


@final
class ConstrainedSet:
    """The points of a set that meet linear constraints: one, at least.

    Parameters
    ----------
    source
        The set X, of dimension n.
    matrix
        A, shape ``(k, n)``.
    bound
        b, shape ``(k,)``.

    Raises
    ------
    ValueError
        When no point of X meets all constraints, which is proven by a point or by a combination
        of constraints that is broken everywhere, and by more than rounding.
    RuntimeError
        When neither such a proof nor a point is found.

    Examples
    --------
    >>> from regretkit.sets import Simplices
    >>> narrow = ConstrainedSet(Simplices(2), np.array([[1.0, 0.0]]), np.array([0.25]))
    >>> narrow.best_response(np.array([3.0, 1.0]))
    (array([0.25, 0.75]), 1.5, 1.5)
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
