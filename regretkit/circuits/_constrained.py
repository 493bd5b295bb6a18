"""Minimize regret under linear constraints that hold on average: a Lagrangian of two minimizers.

The best point of a set X with A x <= b is found by generating vertices of X. Known points of X are
the columns of a linear program: the mixture that meets the constraints and has the largest value,
a lower bound. The dual solution prices the constraints, and for any prices pi >= 0,

    max over x in X of  <u - A' pi, x>  +  <pi, b>

is an upper bound. The x that attains it is the next column (Dantzig and Wolfe 1960). To find a
point that meets the constraints, they give way by s times a unit of each, and -s is maximized.

References
----------
Dantzig and Wolfe (1960), "Decomposition principle for linear programs", Operations Research 8(1).
"""

import numpy as np
from attrs import define, field
from numpy.typing import ArrayLike

from regretkit import sets
from regretkit._regret_tracker import RegretBound
from regretkit._state import NOT_STATE
from regretkit._util import _validate
from regretkit._util._arrays import zero_cancelled
from regretkit._util._typing import Vector
from regretkit._util._validate import must_be, quote, shorten
from regretkit.circuits._base import check_distinct, is_minimizer
from regretkit.minimizer import RegretMinimizer, TrackerOf
from regretkit.sets import StrategySet

_MAX_COLUMNS = 1000
_TOLERANCE = 1e-9
"""How close the two bounds come, relative to the range of the values over the set."""
_SOLVER = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


class ConstrainedSet:
    """The points x of a set X with ``A x <= b``, up to 1e-9 of the largest violation."""

    def __init__(self, source: StrategySet, matrix: Vector, bound: Vector) -> None:
        self.source, self.matrix = source, matrix
        corners = [source.best_response(sign * row)[1] for row in matrix for sign in (-1.0, 1.0)]
        points = np.array([source.relative_interior_point(), *corners])
        excess = _excess(points, matrix, bound)
        if (never := np.flatnonzero(np.diagonal(excess[1::2]) > 0.0)).size:
            raise ValueError(f"constraint {never[0]} cannot be met by any x of {quote(source)}")
        unit = np.abs(excess).max(axis=0)
        unit[unit == 0.0] = 1.0
        violation = (excess / unit).max(axis=1)
        start, least = points[violation.argmin()], float(violation.min())
        if least > 0.0:
            # One more coordinate, by which all constraints give way; its negative is maximized
            space = sets.ProductSet([source, sets.Box([0.0], [least])])
            yielding = np.column_stack([matrix / unit[:, None], -np.ones(len(matrix))])
            utility = np.append(np.zeros(start.size), -1.0)
            begin = np.append(start, least)
            point, lower, upper, prices = _best(space, utility, yielding, bound / unit, begin)
            if lower < -3.0 * _TOLERANCE:
                weights = prices / unit
                shares, broken = weights / weights.max(), max(-upper, 0.0) / weights.max()
                raise ValueError(
                    f"the constraints cannot be met by any x of {quote(source)}: added up with "
                    f"weights {shorten(str(shares))} they are broken by {broken:.6g} at least"
                )
            start = point[:-1]
        # The start meets them, in floating point as well.
        self._start, self.bound = start, np.maximum(bound, start @ matrix.T)

    def best_response(self, utility: Vector) -> tuple[Vector, float, float]:
        """Return the point of the largest value, its value, and an upper bound on all values."""
        size = float(np.abs(utility).max(initial=0.0)) or 1.0
        point, lower, upper, _ = _best(
            self.source, utility / size, self.matrix, self.bound, self._start
        )
        return point, size * lower, size * upper


def _best(
    source: StrategySet, utility: Vector, matrix: Vector, bound: Vector, start: Vector
) -> tuple[Vector, float, float, Vector]:
    """Return the best point under constraints that the start meets, by column generation.

    With it come its value, an upper bound on the value of all points, and the prices of the
    constraints from which the bound follows. On an interval from 0, with the constraint x <= 2.5:

    >>> line = sets.Box([0.0], [10.0])
    >>> _best(line, np.ones(1), np.ones((1, 1)), np.array([2.5]), start=np.zeros(1))
    (array([2.5]), 2.5, 2.5, array([1.]))
    """
    spread = source.best_response(utility)[0] + source.best_response(-utility)[0]
    points, upper, best_prices = [start], np.inf, np.zeros(len(bound))
    point, lower = start, float(utility @ start)
    for _ in range(_MAX_COLUMNS):
        columns = np.array(points)
        weights, prices = _mixture(columns @ utility, _excess(columns, matrix, bound))
        value, vertex = source.best_response(utility - prices @ matrix)
        if value + prices @ bound < upper:
            upper, best_prices = float(value + prices @ bound), prices
        point = weights @ columns
        lower = float(utility @ point)
        known = (columns == vertex).all(axis=1).any()
        if known or upper - lower <= _TOLERANCE * spread:
            break
        points.append(vertex)
    return point, lower, max(lower, upper), best_prices


def _excess(points: Vector, matrix: Vector, bound: Vector) -> Vector:
    """Return ``A x - b`` of each point, zero where it is rounding."""
    excess = points @ matrix.T - bound
    sizes = np.abs(points) @ np.abs(matrix).T + np.abs(bound)
    return zero_cancelled(excess.ravel(), sizes.ravel()).reshape(excess.shape)


def _mixture(values: Vector, excess: Vector) -> tuple[Vector, Vector]:
    """Return weights of points that have the largest value, and the prices of the constraints.

        maximize  <values, w>   where  excess' w <= 0,  w >= 0,  sum of w = 1

    Rows and values are divided by their sizes, as the solver's tolerances are absolute.
    """
    from scipy.optimize import linprog

    spread, size = float(np.ptp(values)) or 1.0, np.abs(excess).max(axis=0)
    size[size == 0.0] = 1.0
    program = linprog(
        (values.max() - values) / spread,
        (excess / size).T,
        np.zeros(size.size),
        np.ones((1, values.size)),
        [1.0],
        method="highs",
        options=_SOLVER,
    )
    if program.status:
        raise RuntimeError(f"the best mixture was not found: {program.message}")
    weights = np.maximum(program.x, 0.0)
    prices = np.maximum(-program.ineqlin.marginals, 0.0) * spread / size
    return weights / weights.sum(), prices


@define(eq=False)
class Constrained(RegretMinimizer):
    """Play so that linear constraints hold on average, by a Lagrangian.

    A minimizer on X plays, and another sets a price on the violation of each constraint:

        x  from the minimizer,      which learns from  u - A' lambda
        lambda  from the multipliers,  which learn from  A x - b

    A single iteration may violate the constraints ``A x <= b``: the domain is X itself. With V the
    sum of all A x_t - b, for every y of X with A y <= b and every lambda of the multipliers' set

        sum <u_t, y - x_t>  +  <lambda, V>  <=  R_minimizer(y) + R_multipliers(lambda)

    With lambda = 0: the regret against the constrained set is at most the sum of the parts'. If the
    multipliers reach up to a cap C each, and no u_t has a range above D on X, the positive part of
    V adds up to at most ``(R_minimizer + R_multipliers + T D) / C``. So the average violation
    converges to D / C or less. Choose a cap that is large compared with the utilities; regret grows
    with it.

    ``average_violation`` and ``feasible_regret`` measure both. The best point that meets the
    constraints is found by linear programs, up to 1e-9 of the range of the total utility over X.

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
    regret minimizers", ICML, PMLR 97. The inequality follows by adding up the two regrets.
    """

    minimizer: RegretMinimizer = field(validator=is_minimizer)
    matrix: ArrayLike
    bound: ArrayLike
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
        self.domain, matrix = self.minimizer.domain, _validate.matrix(self.matrix, "matrix")
        bound = _validate.constant_vector(self.bound, "bound", len(matrix))
        self.matrix, self.bound = matrix, bound
        self._excess = sets.AffineImageSet(self.domain, matrix, -bound)
        prices = self.multipliers.domain
        if prices.dimension != len(matrix):
            raise ValueError(
                f"multipliers must have dimension {len(matrix)}, got {prices.dimension}"
            )
        lowest = min(-prices.best_response(-unit)[0] for unit in np.eye(len(matrix)))
        if lowest < -1e-9 or not prices.contains(np.zeros(len(matrix))):
            raise ValueError(
                must_be("multipliers", "nonnegative vectors with 0 among them", prices)
            )
        self._feasible = ConstrainedSet(self.domain, matrix, bound)
        self.total_violation, self.total_earned = np.zeros(len(matrix)), 0.0
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
            The point, shape ``(n,)``, its total utility, and a bound on that of any such point. The
            two differ by 1e-9 of the range of the total utility over X, unless 1000 steps do not
            suffice.
        """
        return self._feasible.best_response(self.total_utility)

    @property
    def feasible_regret(self) -> float:
        """The regret against the best point that meets the constraints, or a little more.

        It may be negative, as an infeasible strategy may earn more than every feasible one.
        """
        return self.best_feasible()[2] - self.total_earned

    @property
    def no_guarantee(self) -> str:
        return "it competes with the points that meet the constraints alone"

    def _regret_bound(self, tracker_of: TrackerOf) -> RegretBound:
        tracker, prices = tracker_of(self), tracker_of(self.multipliers)
        worst = self.multipliers.domain.best_response(prices.utilities)[0]
        parts = tracker_of(self.minimizer).external + prices.external
        # The best point that pays, in each iteration, the price of what it violates.
        paying = self.domain.best_response(
            tracker.utilities - prices.strategies @ self._excess.matrix
        )[0]
        paying -= float(prices.strategies @ self._excess.offset)
        statement = "R against points that pay + largest <lambda, V> = sum of the parts' R"
        regret = paying - tracker.earned + worst
        payers = RegretBound(statement, regret, parts, exact=True)
        statement = "R against feasible points + largest <lambda, V> <= sum of the parts' R"
        regret = self._feasible.best_response(tracker.utilities)[1] - tracker.earned + worst
        return RegretBound(statement, regret, parts, exact=False, also=(payers,))

    def _priced(self, utility: Vector) -> Vector:
        """Return ``u - A' lambda`` at the current prices."""
        return utility - self.multipliers.next_strategy() @ self._excess.matrix

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
        # The multipliers keep their own prediction: each next strategy would depend on the other.
        self.minimizer.expect_utility(self._priced(prediction))

    def _value(self, utility: Vector) -> float:
        return self.minimizer._value(utility)
