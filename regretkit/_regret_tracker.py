"""Sums over iterations that give exact regrets, and evaluated regret bounds."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from attrs import define, field, frozen

from regretkit._util._typing import Vector
from regretkit._util._validate import quote
from regretkit.sets import Simplices, StrategySet

LARGEST = 10_000_000
"""Largest number of pairs of actions for internal and swap regret: 80 MB of sums."""
_SUMS = (
    *("iterations", "utilities", "strategies", "earned", "width", "size", "_weighted"),
    *("_earned_weighted", "_period", "_best_before", "earned_by_action"),
)


@frozen
class RegretBound:
    """A regret bound of a circuit, evaluated on the utilities so far.

    Examples
    --------
    >>> RegretBound("R = sum of the parts' R", regret=3.0, bound=3.0, exact=True).gap
    0.0
    """

    statement: str
    """The bound in symbols."""
    regret: float
    """The left-hand side."""
    bound: float
    """The right-hand side."""
    exact: bool
    """Whether the bound is an equality."""
    also: "tuple[RegretBound, ...]" = ()
    """More bounds of the same circuit."""

    @property
    def gap(self) -> float:
        """``regret - bound``, or its absolute value if ``exact``; at most 0 if the bound holds."""
        difference = self.regret - self.bound
        return abs(difference) if self.exact else difference


@define(eq=False)
class RegretTracker:
    """Sums over iterations that give a minimizer's exact regrets without storing its history.

    In iteration t, x_t is the strategy and u_t the utility.

    Examples
    --------
    >>> tracker = RegretTracker(Simplices(2))
    >>> tracker.record(np.array([1.0, 0.0]), np.array([0.5, 0.5]))
    >>> tracker.external, tracker.swap
    (0.5, 0.5)
    """

    domain: StrategySet
    """The minimizer's set, which contains the comparators."""
    most_pairs: int = LARGEST
    """Largest number of pairs of actions for which internal and swap regret are tracked."""
    joint: bool = False
    """Whether to track all pairs of coordinates on a domain other than simplices."""
    iterations: int = field(default=0, init=False)
    """Number of iterations recorded."""
    utilities: Vector = field(init=False, repr=False)
    """Sum of u_t, shape ``(dimension,)``."""
    strategies: Vector = field(init=False, repr=False)
    """Sum of x_t, shape ``(dimension,)``."""
    earned: float = field(default=0.0, init=False)
    """Sum of <u_t, x_t>."""
    earned_by_action: Vector = field(init=False, repr=False)
    """Sum of u_t x_t, coordinate by coordinate, shape ``(dimension,)``."""
    width: float = field(default=0.0, init=False)
    """Sum over t of the range of <u_t, x> over x in the domain."""
    size: float = field(default=0.0, init=False)
    """Sum of the absolute values of the products in <u_t, x_t>, for rounding tolerances."""
    products: list[Vector] = field(init=False, repr=False)
    """Sums of the outer products x_t u_t': one matrix for each block of simplices, or one of all
    coordinates if ``joint``. Empty if they have more than ``most_pairs`` entries."""
    pairs: int = field(init=False, repr=False)
    """Number of pairs of actions within blocks, or of all coordinates if ``joint``."""
    on_simplices: bool = field(init=False, repr=False)
    """Whether the domain is simplices with at most ``most_pairs`` pairs of actions."""
    contiguous: bool = field(default=True, init=False)
    """Whether the recorded iterations are consecutive: no state was loaded since the first."""
    then: Callable[[], None] | None = field(default=None, init=False, repr=False)
    """A function to call after each recorded iteration."""
    _weighted: Vector = field(init=False, repr=False)
    _earned_weighted: float = field(default=0.0, init=False, repr=False)
    _period: Vector = field(init=False, repr=False)
    _best_before: float = field(default=0.0, init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        zeros = np.zeros((5, self.domain.dimension))
        self.utilities, self.strategies, self._period, self._weighted = zeros[:4]
        self.earned_by_action = zeros[4]
        sizes = self.domain.sizes if isinstance(self.domain, Simplices) else np.zeros(0, np.int64)
        if self.joint and not isinstance(self.domain, Simplices):
            sizes = np.array([self.domain.dimension])
        self.pairs = int(sizes @ sizes)
        tracked = self.pairs <= self.most_pairs
        self.on_simplices = isinstance(self.domain, Simplices) and tracked
        self.products = [np.zeros((n, n)) for n in sizes] if tracked else []

    def record(self, utility: Vector, strategy: Vector) -> None:
        """Add one iteration to the sums."""
        self.iterations += 1
        self.utilities += utility
        self.strategies += strategy
        self._period += utility
        self.earned_by_action += utility * strategy
        self.earned += self.domain.value(utility, strategy)
        highest, lowest = self.domain.best_response(utility), self.domain.best_response(-utility)
        self.width += highest[0] + lowest[0]
        self.size += float(np.abs(utility) @ np.abs(strategy)) + float(np.abs(utility).sum())
        begin = 0
        for joint in self.products:
            block = slice(begin, begin + len(joint))
            joint += np.outer(strategy[block], utility[block])
            begin += len(joint)
        if self.then is not None:
            self.then()

    def sums(self) -> list[Any]:
        """Return the tracker's numbers and arrays, for ``load``."""
        return [*(getattr(self, name) for name in _SUMS), *self.products]

    def load(self, sums: Sequence[Any]) -> None:
        """Set the sums to the result of ``sums`` of a tracker on the same domain."""
        for name, value in zip(_SUMS, sums, strict=False):
            setattr(self, name, value)
        self.products = [*sums[len(_SUMS) :]]

    def record_weighted(self, weight: float, utility: Vector, strategy: Vector) -> None:
        """Add one iteration, times ``weight``, to the weighted sums."""
        self._weighted += weight * utility
        self._earned_weighted += weight * self.domain.value(utility, strategy)

    def begin_period(self) -> None:
        """Begin a new period of ``tracking``."""
        self._best_before += self.domain.best_response(self._period)[0]
        self._period = np.zeros(self.domain.dimension)

    @property
    def tracking(self) -> float:
        """Regret against the best sequence of comparators that is constant in each period."""
        return self._best_before + self.domain.best_response(self._period)[0] - self.earned

    @property
    def weighted(self) -> float:
        """Regret of the weighted utilities against the best point of the domain."""
        return self.domain.best_response(self._weighted)[0] - self._earned_weighted

    @property
    def external(self) -> float:
        """Regret against the best point of the domain."""
        return self.domain.best_response(self.utilities)[0] - self.earned

    @property
    def blocks(self) -> Vector:
        """External regret in each block of simplices, shape ``(blocks,)``."""
        if not isinstance(self.domain, Simplices):
            raise TypeError(f"{quote(self.domain)} has no blocks")
        first = self.domain.first
        best = np.maximum.reduceat(self.utilities, first)
        regrets: Vector = best - np.add.reduceat(self.earned_by_action, first)
        return regrets

    @property
    def swap(self) -> float:
        """Swap regret: the largest regret against a map f that plays f(a) instead of each a.

        The sum over blocks of  sum over a of  max over b of  sum_t x_t(a) (u_t(b) - u_t(a)).
        """
        self._check_simplices()
        return float(sum((joint.max(axis=1) - np.diag(joint)).sum() for joint in self.products))

    @property
    def internal(self) -> float:
        """Internal regret: the largest regret against playing b instead of one action a.

        The sum over blocks of  max over a and b of  sum_t x_t(a) (u_t(b) - u_t(a)).
        """
        self._check_simplices()
        return float(sum((joint - np.diag(joint)[:, None]).max() for joint in self.products))

    def _check_simplices(self) -> None:
        if not self.on_simplices:
            raise TypeError(
                f"swap and internal regret need simplices with at most {self.most_pairs:,} pairs "
                f"of actions, got {quote(self.domain)}"
            )
