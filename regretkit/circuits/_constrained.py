"""Minimize regret under linear constraints that hold on average: a Lagrangian of two minimizers."""

from typing import final

import numpy as np
from attrs import define, field
from numpy.typing import ArrayLike
from typing_extensions import override

from regretkit import sets
from regretkit._regret_tracker import RegretBound
from regretkit._util import _validate
from regretkit._util._state import NOT_STATE
from regretkit._util._typing import Vector
from regretkit._util._validate import quote
from regretkit.circuits._base import check_distinct, is_minimizer
from regretkit.circuits._operations import as_matrix
from regretkit.minimizer import RegretMinimizer, TrackerOf
from regretkit.sets._column_generation import ConstrainedSet


def _bound(value: ArrayLike) -> Vector:
    return _validate.constant_vector(value, "bound")


@final
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

    _update_may_raise = True

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

    @override
    def _weaker_guarantee(self) -> str:
        return (
            "what is small is the regret against points that meet the constraints, and not against "
            "all of the domain"
        )

    @override
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
        prices = self.multipliers.next_strategy()
        with np.errstate(over="ignore", invalid="ignore"):
            priced = utility - prices @ self.matrix
        return _validate.utility(priced, "utility - multipliers @ matrix")

    @override
    def _propose(self) -> Vector:
        return self.minimizer.next_strategy().copy()

    @override
    def _learn(self, utility: Vector, strategy: Vector) -> None:
        # Both from what both played: compute all before one of them learns.
        priced, violation = self._priced(utility), self._excess.apply(strategy)
        self.minimizer._update(priced)
        self.multipliers._update(violation)
        self.total_violation = self.total_violation + violation
        self.total_utility = self.total_utility + utility
        self.total_earned += self.domain.value(utility, strategy)

    @override
    def _expect(self, prediction: Vector) -> None:
        # The coming prices are known, so that what is expected of u is all that may be wrong.
        # The multipliers keep their own prediction: they cannot both know the other's next move.
        self.minimizer._predict_internal(self._priced(prediction))

    @override
    def _value(self, utility: Vector) -> float:
        return self.minimizer._value(utility)


def _check_prices(multipliers: RegretMinimizer, count: int) -> None:
    """Refuse multipliers that do not play non-negative vectors, with zero among them."""
    if multipliers.dimension != count:
        raise ValueError(
            f"multipliers play in dimension {multipliers.dimension}, but there are {count} rows "
            "in matrix; pass a minimizer with one price for each"
        )
    least = [-multipliers.domain.best_response(-unit)[0] for unit in np.eye(count)]
    if min(least) < -1e-9:
        raise ValueError(
            f"multipliers must never be negative, but those on {quote(multipliers.domain)} "
            f"can be as low as {min(least)}"
        )
    if not multipliers.domain.contains(np.zeros(count)):
        raise ValueError(
            f"multipliers must be able to be zero, but 0 is not in {quote(multipliers.domain)}"
        )
