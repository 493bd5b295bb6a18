"""Minimize regret under linear constraints that hold on average: a Lagrangian of two minimizers.

Column generation finds the best point of a set X with A x <= b. Known points of X are the columns
of a linear program. It finds the mixture of largest value that satisfies the constraints, a lower
bound. Its dual solution prices the constraints, and for any prices pi >= 0,

    max over x in X of  <u - A' pi, x>  +  <pi, b>

is an upper bound. The maximizing x is the next column (Dantzig and Wolfe 1960). To find a feasible
point, every constraint is relaxed by s in its own unit, and -s is maximized.

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
"""Largest distance of the two bounds, relative to the range of the values over the set."""
_SOLVER = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


def _feasible_point(source: StrategySet, matrix: Vector, bound: Vector) -> Vector:
    """Return a point of a set with ``A x <= b``, up to 1e-9 of the largest violation."""
    corners = [source.best_response(sign * row)[1] for row in matrix for sign in (-1.0, 1.0)]
    points = np.array([source.relative_interior_point(), *corners])
    excess = _excess(points, matrix, bound)
    if (never := np.flatnonzero(np.diagonal(excess[1::2]) > 0.0)).size:
        raise ValueError(f"constraint {never[0]} cannot be met by any x of {quote(source)}")
    unit = np.abs(excess).max(axis=0)
    unit[unit == 0.0] = 1.0
    violation = (excess / unit).max(axis=1)
    start: Vector = points[violation.argmin()]
    least = float(violation.min())
    if least <= 0.0:
        return start
    # One more coordinate relaxes all constraints. Its negative is maximized.
    space = sets.ProductSet([source, sets.Box([0.0], [least])])
    relaxed = np.column_stack([matrix / unit[:, None], -np.ones(len(matrix))])
    utility = np.append(np.zeros(start.size), -1.0)
    found = _best(space, utility, relaxed, bound / unit, start=np.append(start, least))
    point, lower, upper, prices = found
    if lower < -3.0 * _TOLERANCE:
        weights = prices / unit
        shares, violated = weights / weights.max(), max(-upper, 0.0) / weights.max()
        raise ValueError(
            f"the constraints cannot be met by any x of {quote(source)}: the sum with weights "
            f"{shorten(str(shares))} is violated by {violated:.6g} at least"
        )
    return point[:-1]


def _best(
    source: StrategySet, utility: Vector, matrix: Vector, bound: Vector, start: Vector
) -> tuple[Vector, float, float, Vector]:
    """Return the best point under constraints, from a feasible start, by column generation.

    The result also has the point's value, an upper bound on the value of all points, and the prices
    that give this bound. On an interval from 0, with the constraint x <= 2.5:

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
    """Return ``A x - b`` of each point, zero where it is a rounding error."""
    excess = points @ matrix.T - bound
    sizes = np.abs(points) @ np.abs(matrix).T + np.abs(bound)
    return zero_cancelled(excess.ravel(), sizes.ravel()).reshape(excess.shape)


def _mixture(values: Vector, excess: Vector) -> tuple[Vector, Vector]:
    """Return the weights of points with the largest value, and the prices of the constraints.

        maximize  <values, w>   where  excess' w <= 0,  w >= 0,  sum of w = 1

    Rows and values are divided by their sizes, because the solver's tolerances are absolute.
    """
    from scipy.optimize import linprog

    spread, size = float(np.ptp(values)) or 1.0, np.abs(excess).max(axis=0)
    size[size == 0.0] = 1.0
    costs, one = (values.max() - values) / spread, np.ones((1, values.size))
    program = linprog(
        costs, (excess / size).T, np.zeros(size.size), one, [1.0], method="highs", options=_SOLVER
    )
    if program.status:
        raise RuntimeError(f"the best mixture was not found: {program.message}")
    weights = np.maximum(program.x, 0.0)
    prices = np.maximum(-program.ineqlin.marginals, 0.0) * spread / size
    return weights / weights.sum(), prices


def _matrix(value: ArrayLike) -> Vector:
    return _validate.matrix(value, "matrix")


def _bound(value: ArrayLike) -> Vector:
    return _validate.constant_vector(value, "bound")


@define(eq=False)
class Constrained(RegretMinimizer):
    """Play so that linear constraints hold on average, by a Lagrangian.

    One minimizer plays x on X. The other plays the price lambda of each constraint:

        utility of the minimizer  =  u - A' lambda,    utility of the multipliers  =  A x - b

    A single iteration may violate the constraints ``A x <= b``: the domain is X itself. Let V be
    the sum of all A x_t - b. For every y of X with A y <= b and every lambda of the multipliers'
    set,

        sum <u_t, y - x_t>  +  <lambda, V>  <=  R_minimizer(y) + R_multipliers(lambda)

    With lambda = 0, the regret against the constrained set is at most the sum of the parts'
    regrets. If the multipliers' set contains all prices up to a cap C, and every u_t has a range of
    at most D on X, the positive part of V is at most ``(R_minimizer + R_multipliers + T D) / C``.
    So the limit of the average violation is at most D / C. Choose a cap that is large compared with
    the utilities. The regret grows with the cap.

    Parameters
    ----------
    minimizer
        A minimizer on X, of dimension n.
    matrix
        A, one row for each constraint, shape ``(k, n)``, finite.
    bound
        b, shape ``(k,)``, finite.
    multipliers
        A minimizer on a set of nonnegative vectors of dimension k that contains zero, such as the
        box from 0 to a cap. Its unit is utility divided by the unit of the constraint.

    Examples
    --------
    The first of two actions earns more, but should be played at most one time in four:

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

    >>> best, value, _ = player.best_feasible()
    >>> best, round(value, 9)
    (array([0.25, 0.75]), 250.0)
    >>> bool(player.feasible_regret < 1.0)
    True

    References
    ----------
    Davis, Waugh and Bowling (2019), "Solving large extensive-form games with strategy
    constraints", AAAI. Farina, Kroer and Sandholm (2019), "Regret circuits: composability of
    regret minimizers", ICML, PMLR 97. The inequality is the sum of the two regrets.
    """

    minimizer: RegretMinimizer = field(validator=is_minimizer)
    matrix: Vector = field(converter=_matrix)
    bound: Vector = field(converter=_bound)
    multipliers: RegretMinimizer = field(validator=is_minimizer)
    total_violation: Vector = field(init=False, repr=False)
    """Sum of all A x - b, shape ``(k,)``; negative where a constraint was not tight."""
    total_utility: Vector = field(init=False, repr=False)
    """Sum of all utilities, shape ``(n,)``."""
    total_earned: float = field(init=False, repr=False)
    """Sum of the values of all strategies."""
    _start: Vector = field(init=False, repr=False, metadata=NOT_STATE)
    """A feasible point."""

    def __attrs_post_init__(self) -> None:
        check_distinct([self.minimizer, self.multipliers])
        self.domain, prices = self.minimizer.domain, self.multipliers.domain
        shape = self.bound.size, self.dimension
        if self.matrix.shape != shape:
            raise ValueError(f"matrix must have shape {shape}, got {self.matrix.shape}")
        if prices.dimension != self.bound.size:
            raise ValueError(
                f"multipliers must have dimension {self.bound.size}, got {prices.dimension}"
            )
        lowest = min(-prices.best_response(-unit)[0] for unit in np.eye(prices.dimension))
        if lowest < -1e-9 or not prices.contains(np.zeros(prices.dimension)):
            raise ValueError(
                must_be("multipliers", "nonnegative vectors with 0 among them", prices)
            )
        self._start = _feasible_point(self.domain, self.matrix, self.bound)
        self.total_violation, self.total_earned = np.zeros(self.bound.size), 0.0
        self.total_utility = np.zeros(self.dimension)

    @property
    def no_guarantee(self) -> str:
        return "it competes with the points that meet the constraints alone"

    @property
    def average_violation(self) -> Vector:
        """By how much the mean of all strategies violates each constraint, shape ``(k,)``.

        It is zero where the mean satisfies the constraint, and before the first iteration.
        """
        return np.maximum(self.total_violation, 0.0) / max(self.iteration, 1)

    def best_feasible(self) -> tuple[Vector, float, float]:
        """Return the best point in hindsight that satisfies the constraints.

        Returns
        -------
        tuple of Vector, float, float
            The point, shape ``(n,)``, its total utility, and an upper bound on the total utility of
            feasible points. The two differ by at most 1e-9 of the range of the total utility over
            X, unless 1000 steps do not suffice.
        """
        return self._best_feasible(self.total_utility)

    def _best_feasible(self, utility: Vector) -> tuple[Vector, float, float]:
        size = float(np.abs(utility).max(initial=0.0)) or 1.0
        bound = np.maximum(self.bound, self._start @ self.matrix.T)  # exactly met by the start
        found = _best(self.domain, utility / size, self.matrix, bound, self._start)
        return found[0], size * found[1], size * found[2]

    @property
    def feasible_regret(self) -> float:
        """An upper bound on the regret against feasible points, up to 1e-9 as ``best_feasible``.

        It may be negative, because an infeasible strategy may earn more than any feasible one.
        """
        return self.best_feasible()[2] - self.total_earned

    def _regret_bound(self, tracker_of: TrackerOf) -> RegretBound:
        tracker, prices = tracker_of(self), tracker_of(self.multipliers)
        worst = self.multipliers.domain.best_response(prices.utilities)[0]
        parts = tracker_of(self.minimizer).external + prices.external
        # The best point that pays for its violations in each iteration
        charged = tracker.utilities - prices.strategies @ self.matrix
        paying = self.domain.best_response(charged)[0] + float(prices.strategies @ self.bound)
        statement = "R against points that pay + largest <lambda, V> = sum of the parts' R"
        regret = paying - tracker.earned + worst
        payers = RegretBound(statement, regret, parts, exact=True)
        statement = "R against feasible points + largest <lambda, V> <= sum of the parts' R"
        regret = self._best_feasible(tracker.utilities)[1] - tracker.earned + worst
        return RegretBound(statement, regret, parts, exact=False, also=(payers,))

    def _priced(self, utility: Vector) -> Vector:
        """Return ``u - A' lambda`` at the current prices."""
        return utility - self.multipliers.next_strategy() @ self.matrix

    def _propose(self) -> Vector:
        return self.minimizer.next_strategy().copy()

    def _learn(self, utility: Vector, strategy: Vector) -> None:
        # Both utilities depend on both strategies: compute them before any update.
        priced, violation = self._priced(utility), self.matrix @ strategy - self.bound
        self.minimizer.observe_utility(priced)
        self.multipliers.observe_utility(violation)
        self.total_violation = self.total_violation + violation
        self.total_utility = self.total_utility + utility
        self.total_earned += self.domain.value(utility, strategy)

    def _expect(self, prediction: Vector) -> None:
        # The next prices are known. The multipliers keep their own prediction, because each next
        # strategy would depend on the other.
        self.minimizer.expect_utility(self._priced(prediction))

    def _value(self, utility: Vector) -> float:
        return self.minimizer._value(utility)
