"""Circuits around one minimizer that change its utilities, its state or its strategies."""

from collections.abc import Callable

import numpy as np
from attrs import define, field, validators
from numpy.typing import ArrayLike

from regretkit._regret_tracker import RegretBound
from regretkit._state import NOT_STATE, StateDict, generators
from regretkit._util import _validate
from regretkit._util._typing import Vector
from regretkit._util._validate import quote, shorten, whole_number
from regretkit.circuits._base import SingleMinimizerCircuit
from regretkit.minimizer import RegretMinimizer, TrackerOf
from regretkit.sets import Simplices


@define(eq=False)
class _LearningWrapper(SingleMinimizerCircuit):
    """Plays its minimizer's strategies, and changes the minimizer's updates."""

    def _transform(self, strategy: Vector) -> Vector:
        return strategy.copy()

    def _value(self, utility: Vector) -> float:
        return self.minimizer._value(utility)


@define(eq=False)
class Restart(_LearningWrapper):
    """Reset a minimizer to its first state periodically.

    Random generators keep their state.

    The minimizer's regret bound holds in each period between two restarts. The sum of these regrets
    is the regret against comparators that are constant in each period, and bounds the regret
    against a fixed point. If the minimizer's regret is of order ``sqrt(T)``, periods of length k
    give ``T / sqrt(k)``.

    Parameters
    ----------
    minimizer
        A minimizer.
    every
        The period k, at least 1. Or a function that maps an iteration, from 1, to whether to
        restart after it.

    Examples
    --------
    >>> from regretkit import RegretMatching
    >>> player = Restart(RegretMatching(2), every=3)
    >>> for _ in range(4):
    ...     print(player.next_strategy())
    ...     player.observe_utility([1.0, 0.0])
    [0.5 0.5]
    [1. 0.]
    [1. 0.]
    [0.5 0.5]
    """

    every: int | Callable[[int], bool] = field(kw_only=True)
    _start: StateDict = field(init=False, repr=False, metadata=NOT_STATE)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if not callable(self.every):
            whole_number(self.every, "every", minimum=1)
        self._start = self.minimizer.state_dict()

    @property
    def no_guarantee(self) -> str:
        return "its bound is the sum of those of the periods between restarts"

    def _regret_bound(self, tracker_of: TrackerOf) -> RegretBound:
        regret, inner = tracker_of(self).external, tracker_of(self.minimizer)
        statement = "R <= sum of R over the periods"
        periods = RegretBound(statement, regret, inner.tracking, exact=False)
        statement = "R = R of the minimizer"
        return RegretBound(statement, regret, inner.external, exact=True, also=(periods,))

    def _learn(self, utility: Vector, strategy: Vector) -> None:
        passed = self.iteration + 1
        due = self.every(passed) if callable(self.every) else passed % self.every == 0
        self.minimizer.observe_utility(utility)
        if due:
            kept = [(g, g.bit_generator.state) for g in generators(self.minimizer)]
            self.minimizer.load_state_dict(self._start)
            for generator, state in kept:
                generator.bit_generator.state = state
            if self.minimizer._tracker is not None:
                self.minimizer._tracker.begin_period()


@define(eq=False)
class Discount(_LearningWrapper):
    """Multiply the utilities of iterations by weights.

        utility of the minimizer  =  w_t u_t

    The minimizer's regret equals the weighted regret

        max over y of  sum_t w_t <u_t, y - x_t>

    Divided by the sum of the weights, it bounds the gap of averages with the same weights. For
    ``Linear`` averaging use ``weight=float``, which turns regret matching into linear regret
    matching. A minimizer's own predictions are weighted utilities.

    Parameters
    ----------
    minimizer
        A minimizer.
    weight
        A function that maps an iteration t, from 1, to its weight, finite and at least 0.

    Examples
    --------
    >>> from regretkit import LinearRegretMatching, RegretMatching
    >>> player, linear = Discount(RegretMatching(2), weight=float), LinearRegretMatching(2)
    >>> for utility in ([1.0, 0.0], [0.0, 1.0]):
    ...     player.observe_utility(utility)
    ...     linear.observe_utility(utility)
    >>> bool((player.next_strategy() == linear.next_strategy()).all())
    True

    References
    ----------
    Brown and Sandholm (2019), "Solving imperfect-information games via discounted regret
    minimization", AAAI, for linear weights.
    """

    weight: Callable[[int], float] = field(validator=validators.is_callable(), kw_only=True)

    _number_functions = ("_weight_of",)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        self._weight_of(self.iteration + 1)

    @property
    def no_guarantee(self) -> str:
        return "it bounds the weighted regret"

    def _weight_of(self, t: int) -> float:
        return _validate.number(
            self.weight(t), f"weight({t})", minimum=0.0, maximum=_validate.LARGEST
        )

    def _inner(self, utility: Vector) -> Vector:
        return self._weight_of(self.iteration + 1) * utility

    def _regret_bound(self, tracker_of: TrackerOf) -> RegretBound:
        weighted, inner = tracker_of(self).weighted, tracker_of(self.minimizer).external
        return RegretBound("weighted R = R of the minimizer", weighted, inner, exact=True)

    def _learn(self, utility: Vector, strategy: Vector) -> None:
        weight = self._weight_of(self.iteration + 1)
        self.minimizer.observe_utility(weight * utility)
        if self._tracker is not None:
            self._tracker.record_weighted(weight, utility, strategy)


@define(eq=False)
class ExplorationMixture(SingleMinimizerCircuit):
    """Mix the strategy z of a minimizer with a fixed point rho, for exploration.

        x  =  (1 - gamma) z  +  gamma rho

    The minimizer observes the utility itself. The regret is a mean of the minimizer's regret and of
    the regret of rho:

        R  =  (1 - gamma) R of the minimizer  +  gamma max over y of sum_t <u_t, y - rho>

    Estimates of utilities from the payoff of one action need exploration: EXP3 is ``Hedge`` in this
    circuit, with ``BanditFeedback``.

    Parameters
    ----------
    minimizer
        A minimizer.
    gamma
        Share of exploration, from 0 to 1.
    reference
        rho, a point of the minimizer's domain. The default is the domain's
        ``relative_interior_point()``, on simplices the uniform distribution.

    Examples
    --------
    >>> from regretkit import Hedge
    >>> player = ExplorationMixture(Hedge(2, rate=1.0), gamma=0.25)
    >>> player.observe_utility([1e3, 0.0])
    >>> player.next_strategy()
    array([0.875, 0.125])

    References
    ----------
    Auer, Cesa-Bianchi, Freund and Schapire (2002), "The nonstochastic multiarmed bandit problem",
    SIAM Journal on Computing 32(1).
    """

    gamma: float = field(validator=_validate.share, kw_only=True)
    reference: ArrayLike | None = field(default=None, kw_only=True)
    _point: Vector = field(init=False, repr=False, metadata=NOT_STATE)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        point = self.reference
        point = self.domain.relative_interior_point() if point is None else point
        self._point = _validate.constant_vector(point, "reference", self.dimension)
        if not self.domain.contains(self._point):
            raise ValueError(
                f"reference must be a point of the minimizer's domain, {quote(self.domain)}, "
                f"got {shorten(str(self.reference))}"
            )

    @property
    def no_guarantee(self) -> str:
        return "exploration costs value in every iteration" if self.gamma > 0.0 else ""

    def on_domain(self, simplices: Simplices) -> RegretMinimizer | None:
        return super().on_domain(simplices) if self.reference is None else None

    def _regret_bound(self, tracker_of: TrackerOf) -> RegretBound:
        tracker, inner = tracker_of(self), tracker_of(self.minimizer)
        explored = self.domain.best_response(tracker.utilities)[0]
        explored -= self.domain.value(tracker.utilities, self._point)
        bound = (1.0 - self.gamma) * inner.external + self.gamma * explored
        statement = "R = (1 - gamma) R of the minimizer + gamma R of rho"
        return RegretBound(statement, tracker.external, bound, exact=True)

    def _transform(self, strategy: Vector) -> Vector:
        return (1.0 - self.gamma) * strategy + self.gamma * self._point


@define(eq=False)
class LastIterateByAveraging(SingleMinimizerCircuit):
    """Play the average of a minimizer's strategies, so that the last iterate is an average.

    In iteration t, with y_1 to y_t the minimizer's strategies,

        x_t  =  (y_1 + ... + y_t) / t
        utility of the minimizer  =  t u_t - (t - 1) u_{t-1}

    If both players of a two-player game use this circuit with simultaneous updates, that is the
    utility at the profile y_t. The minimizers then play as without the circuit, and the last
    iterate converges as their averages. Against other opponents there is no guarantee: the
    minimizer's utilities sum to T u_T, which does not depend on earlier iterations.

    Parameters
    ----------
    minimizer
        A minimizer.

    Examples
    --------
    >>> from regretkit import RegretMatching
    >>> player = LastIterateByAveraging(RegretMatching(2))
    >>> player.observe_utility([1.0, 0.0])
    >>> player.minimizer.next_strategy(), player.next_strategy()
    (array([1., 0.]), array([0.75, 0.25]))

    References
    ----------
    Cai, Luo, Wei and Zheng (2025), "From average-iterate to last-iterate convergence in games: a
    reduction and its applications", NeurIPS, arXiv:2506.03464.
    """

    _total: Vector = field(init=False, repr=False)
    _last: Vector = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        self._total, self._last = np.zeros(self.dimension), np.zeros(self.dimension)

    @property
    def no_guarantee(self) -> str:
        return "its guarantee needs a game in which all players use it"

    def _transform(self, strategy: Vector) -> Vector:
        return (self._total + strategy) / (self.iteration + 1)

    def _inner(self, utility: Vector) -> Vector:
        # By linearity, the utility at y_t if the opponent also plays averages
        return (self.iteration + 1) * utility - self.iteration * self._last

    def _learn(self, utility: Vector, strategy: Vector) -> None:
        self._total = self._total + self.minimizer.next_strategy()
        super()._learn(utility, strategy)
        self._last = utility.copy()
