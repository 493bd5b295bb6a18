"""Minimize regret under linear constraints that hold on average: a Lagrangian of two minimizers.

The best point of a convex set under linear constraints is found by generating vertices of the set.
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
from typing import TypeAlias

import numpy as np
from attrs import define, field, frozen
from numpy.typing import ArrayLike, NDArray

from regretkit import sets
from regretkit._regret_tracker import RegretBound
from regretkit._state import NOT_STATE
from regretkit._util import _validate
from regretkit._util._typing import Vector
from regretkit._util._validate import quote, shorten
from regretkit.circuits._base import check_distinct, is_minimizer
from regretkit.circuits._operations import as_matrix
from regretkit.minimizer import RegretMinimizer, TrackerOf
from regretkit.sets._base import Oracle, StrategySet

Whole: TypeAlias = NDArray[np.object_]
"""Whole numbers of any length, in an array."""

_LIMIT = 1000
"""How often a search asks the oracle at most."""
_ENOUGH = 1e-12
"""How close the bounds must come for a search to end, relative to the numbers behind them, and to
how far these differ over the set."""
_CLOSE = 1e-9
"""How close they must be for it to be settled whether there are points at all."""


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
            minimum = float(row @ best)
            if minimum - self.bound[number] > self._rounding(best)[number]:
                minimum, bound = (x / self._factor[number] for x in (minimum, self.bound[number]))
                raise ValueError(
                    f"constraint {number} cannot be met: over {quote(self.source)}, "
                    f"matrix[{number}] @ x is at least {minimum}, above bound[{number}] = {bound}"
                )
        return np.array(points)

    def _found(self, points: Vector) -> Vector:
        """Return a mixture that meets all constraints, or refuse them."""
        # Let them give way by s times a unit each, powers of two, and begin where it is enough.
        excess = points @ self.matrix.T - self.bound
        largest = np.abs(excess).max(axis=0)
        unit = np.exp2(np.frexp(np.where(largest > 0.0, largest, 1.0))[1])
        shares = (excess / unit).max(axis=1)
        maximum = float(np.exp2(np.frexp(shares.min())[1]))

        def oracle(direction: Vector) -> tuple[float, Vector]:
            value, point = self.source.best_response(direction[:-1])
            give = maximum if direction[-1] > 0.0 else 0.0
            return value + give * float(direction[-1]), np.append(point, give)

        reach = np.append(np.abs(points).max(axis=0), maximum)

        def is_enough(found: _Found) -> bool:
            point = found.point[:-1]
            doubt = found.prices @ self._rounding(point)
            doubt += self._off * (np.abs(found.direction) @ (reach + np.abs(found.vertex)))
            if found.bound < -float(doubt):
                self._refuse(found)
            return bool((self.matrix @ point - self.bound <= self._rounding(point)).all())

        utility = np.append(np.zeros(points.shape[1]), -1.0)
        start = np.append(points[shares.argmin()], maximum)
        matrix = np.column_stack([self.matrix, -unit])
        found = _search(oracle, RestrictedMaster(utility, matrix, self.bound, start), is_enough)
        *point, give = found.point
        if not found.settled and give + found.upper > _CLOSE * maximum:
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
            minimum = rows[0]
            for row in rows:
                if column[row] * change[minimum] < column[minimum] * change[row]:
                    minimum = row
            rows = [r for r in rows if column[r] * change[minimum] == column[minimum] * change[r]]
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
    count, minimum = 0, np.inf
    while True:
        point, prices = mixture.point, mixture.prices
        direction, charge = mixture.priced()
        value, vertex = oracle(direction)
        bound = value + charge
        minimum, count = min(minimum, bound), count + 1
        settled = not mixture.add(vertex)
        found = _Found(point, prices, direction, vertex, bound, minimum, settled)
        if is_enough(found) or settled or count == _LIMIT:
            return found


def _bound(value: ArrayLike) -> Vector:
    return _validate.constant_vector(value, "bound")


@define(eq=False)
class Constrained(RegretMinimizer):
    """Play so that linear constraints hold on average, by a Lagrangian.

    A minimizer on X plays, and another sets a price on the violation of each constraint:

        x  from the minimizer,      which learns from  u - A' lambda
        lambda  from the multipliers,  which learn from  A x - b

    The constraints ``A x <= b`` may be violated in any one iteration: the domain is X itself, the
    set before its constraints. What is promised, with V the sum of all A x_t - b, is for every y
    of X with A y <= b and every lambda of the multipliers' set

        sum <u_t, y - x_t>  +  <lambda, V>  <=  R_minimizer(y) + R_multipliers(lambda)

    With lambda = 0: the regret against the constrained set is at most the sum of the parts'. And
    where the multipliers reach up to a cap C each, and no u_t has a range above D on X, the
    positive part of V adds up to at most ``(R_minimizer + R_multipliers + T D) / C``. So the
    average violation tends to D / C or less: choose the cap large against the utilities, and
    remember that regret grows with it.

    Two numbers say how it went: ``average_violation``, and ``feasible_regret`` against
    the best point that meets the constraints. That point is found by generating vertices of X,
    exactly where X is a polytope. For a handful of constraints it takes milliseconds; the time
    grows fast with their number, to seconds for dozens.

    Parameters
    ----------
    minimizer
        Plays on X, of dimension n.
    matrix
        A, one row for each constraint, shape ``(k, n)``, finite.
    bound
        b, shape ``(k,)``, finite.
    multipliers
        A minimizer on a set of non-negative vectors of dimension k with zero in it, such as the
        box from 0 to a cap; in units of utility over units of the constraint.

    Raises
    ------
    ValueError
        When the multipliers may be negative or never zero, or no point of X meets all constraints,
        which is refused where it is proven, up to rounding of the numbers in A x and b where the
        violation is least. Later, when the utility and the prices overflow together.
    RuntimeError
        When it could not be found out whether the constraints can be met together.

    Examples
    --------
    The first of two actions earns more, and is to be played at most one time in four:

    >>> from regretkit import PredictiveRegretMatching
    >>> from regretkit.circuits import AffineImage
    >>> prices = AffineImage(PredictiveRegretMatching(2), [[2.0, 0.0]])
    >>> player = Constrained(PredictiveRegretMatching(2), [[1.0, 0.0]], [0.25], prices)
    >>> played = []
    >>> for _ in range(1000):
    ...     played.append(player.next_strategy())
    ...     player.observe_utility([1.0, 0.0])
    >>> (sum(played) / 1000).round(2)
    array([0.25, 0.75])
    >>> bool(player.average_violation < 0.001)
    True

    Playing the first action one time in four earns 250 in 1000 iterations:

    >>> best, earns, _ = player.best_feasible()
    >>> best, round(earns, 9)
    (array([0.25, 0.75]), 250.0)
    >>> bool(player.feasible_regret < 1.0)
    True

    References
    ----------
    Davis, Waugh and Bowling (2019), "Solving large extensive-form games with strategy
    constraints", AAAI. Farina, Kroer and Sandholm (2019), "Regret circuits: composability of
    regret minimizers", ICML, PMLR 97. The sections on constraints could not be checked against
    this form. The inequality above follows by adding up the two regrets; other than in circuits
    that project onto the constrained set, a single strategy may lie outside of it.
    """

    minimizer: RegretMinimizer = field(validator=is_minimizer)
    matrix: Vector = field(converter=as_matrix)
    bound: Vector = field(converter=_bound)
    multipliers: RegretMinimizer = field(validator=is_minimizer)
    total_violation: Vector = field(init=False, repr=False)
    """Sum of all A x - b so far, shape ``(k,)``; negative where a constraint held with room."""
    total_utility: Vector = field(init=False, repr=False)
    """Sum of all utilities so far, shape ``(n,)``."""
    total_earned: float = field(init=False, repr=False)
    """Sum of what was earned so far."""
    _excess: sets.AffineImageSet = field(init=False, repr=False)
    _feasible: ConstrainedSet = field(init=False, repr=False, metadata=NOT_STATE)

    def __attrs_post_init__(self) -> None:
        check_distinct([self.minimizer, self.multipliers])
        self.domain = self.minimizer.domain
        _validate.vector(self.bound, len(self.matrix), "bound")
        self._excess = sets.AffineImageSet(self.domain, self.matrix, -self.bound)
        _check_prices(self.multipliers, len(self.matrix))
        self._feasible = ConstrainedSet(self.domain, self.matrix, self.bound)
        self.total_violation, self.total_earned = np.zeros(len(self.matrix)), 0.0
        self.total_utility = np.zeros(self.dimension)

    @property
    def average_violation(self) -> Vector:
        """By how much the mean of all strategies played breaks each constraint, shape ``(k,)``.

        It is zero where the mean keeps it, and everywhere before the first iteration.
        """
        return np.maximum(self.total_violation, 0.0) / max(self.iteration, 1)

    def best_feasible(self) -> tuple[Vector, float, float]:
        """Return the best point in hindsight that meets the constraints, and what it earned.

        Returns
        -------
        tuple of Vector, float, float
            The point, shape ``(n,)``, which meets the constraints up to rounding; what it would
            have earned; and a bound on what any such point would have. The two differ by rounding
            where X is a polytope, and elsewhere by 1e-12 of the numbers that they add up, or by
            more where that is not reached in 1000 steps.
        """
        return self._feasible.best_response(self.total_utility)

    @property
    def feasible_regret(self) -> float:
        """The regret against the best point that meets the constraints, or a little more.

        That is the bound of ``best_feasible`` less what was earned; it may be negative, since
        an infeasible strategy may earn more than every feasible one.
        """
        return self.best_feasible()[2] - self.total_earned

    def _weaker_guarantee(self) -> str:
        return (
            "what is small is the regret against points that meet the constraints, and not against "
            "all of the domain"
        )

    def _regret_bound(self, tracker_of: TrackerOf) -> RegretBound:
        tracker, prices = tracker_of(self), tracker_of(self.multipliers)
        worst = self.multipliers.domain.best_response(prices.utilities)[0]
        parts = tracker_of(self.minimizer).external + prices.external
        # The best point that pays, in each iteration, the price of what it violates.
        paying = self.domain.best_response(tracker.utilities - prices.strategies @ self.matrix)[0]
        paying += float(prices.strategies @ self.bound)
        statement = "R against points that pay + largest <lambda, V> = sum of the parts' R"
        regret = paying - tracker.earned + worst
        payers = RegretBound(statement, regret, parts, exact=True)
        statement = "R against feasible points + largest <lambda, V> <= sum of the parts' R"
        regret = self._feasible.best_response(tracker.utilities)[1] - tracker.earned + worst
        return RegretBound(statement, regret, parts, exact=False, also=(payers,))

    def _priced(self, utility: Vector) -> Vector:
        """Return ``u - A' lambda`` at the current prices."""
        return utility - self.multipliers.next_strategy() @ self.matrix

    def _propose(self) -> Vector:
        return self.minimizer.next_strategy().copy()

    def _learn(self, utility: Vector, strategy: Vector) -> None:
        # Both from what both played: compute all before one of them learns.
        priced, violation = self._priced(utility), self._excess.apply(strategy)
        self.minimizer.observe_utility(priced)
        self.multipliers.observe_utility(violation)
        self.total_violation = self.total_violation + violation
        self.total_utility = self.total_utility + utility
        self.total_earned += self.domain.value(utility, strategy)

    def _expect(self, prediction: Vector) -> None:
        # The coming prices are known, so that what is expected of u is all that may be wrong.
        # The multipliers keep their own prediction: they cannot both know the other's next move.
        self.minimizer.expect_utility(self._priced(prediction))

    def _value(self, utility: Vector) -> float:
        return self.minimizer._value(utility)


def _check_prices(multipliers: RegretMinimizer, count: int) -> None:
    """Refuse multipliers that do not play non-negative vectors, with zero among them."""
    if multipliers.dimension != count:
        raise ValueError(
            f"multipliers play in dimension {multipliers.dimension}, but there are {count} rows "
            "in matrix; pass a minimizer with one price for each"
        )
    minimum = [-multipliers.domain.best_response(-unit)[0] for unit in np.eye(count)]
    if min(minimum) < -1e-9:
        raise ValueError(
            f"multipliers must never be negative, but those on {quote(multipliers.domain)} "
            f"can be as low as {min(minimum)}"
        )
    if not multipliers.domain.contains(np.zeros(count)):
        raise ValueError(
            f"multipliers must be able to be zero, but 0 is not in {quote(multipliers.domain)}"
        )
