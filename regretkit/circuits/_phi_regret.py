"""Regret against maps: Gordon's construction, swap regret by experts, and TreeSwap."""

from collections.abc import Callable

import numpy as np
from attrs import define, field, frozen, validators

from regretkit._regret_tracker import RegretBound
from regretkit._state import NOT_STATE
from regretkit._util._typing import Vector
from regretkit._util._validate import at_least_one, of_kind, quote, whole_number
from regretkit.circuits._base import (
    Circuit,
    LocalRule,
    as_minimizers,
    check_distinct,
    is_minimizer,
    local_minimizer,
)
from regretkit.circuits._cfr import CFR
from regretkit.circuits._deviations import TriggerDeviations
from regretkit.circuits._maps import DeviationSet, LinearDeviations, StochasticMatrices
from regretkit.circuits._wrappers import Restart
from regretkit.minimizer import RegretMinimizer, TrackerOf
from regretkit.sets import DecisionTree, Simplices, SimplicesLike, as_simplices


@frozen
class AveragedPowerIterate:
    """An expected fixed point: the mean of the iterates of a map.

        x  =  (z + map(z) + map(map(z)) + ...) / steps,  with z the domain's interior point

    The map moves x by ``(map^steps(z) - z) / steps`` only. So every iteration adds to the regret at
    most the range of the utility over the domain, divided by ``steps``.

    Parameters
    ----------
    steps
        Number of points in the mean, at least 1.

    Examples
    --------
    >>> import numpy
    >>> from regretkit.circuits import StochasticMatrices
    >>> chain = numpy.array([0.5, 0.5, 0.25, 0.75])
    >>> AveragedPowerIterate(1_000)(StochasticMatrices(2), chain).round(3)
    array([0.334, 0.666])

    References
    ----------
    Zhang, Anagnostides, Farina and Sandholm (2024), "Efficient Phi-regret minimization with
    low-degree swap deviations in extensive-form games", NeurIPS.
    """

    steps: int = field(validator=at_least_one)

    def __call__(self, maps: DeviationSet, coefficients: Vector) -> Vector:
        """Return the mean."""
        point = maps.domain.relative_interior_point()
        total = point.copy()
        for _ in range(self.steps - 1):
            point = maps.apply(coefficients, point)
            total += point
        return total / self.steps


@define(eq=False)
class PhiRegret(Circuit):
    """Minimize regret against a set of maps, by the construction of Gordon, Greenwald and Marks.

    A minimizer plays the coefficients c of a map, and the circuit plays a fixed point of this map:

        x  =  map_c(x),    utility of the minimizer  =  gradient of <u, map_c(x)> in c

    The regret against the set of maps equals the minimizer's external regret.

    Parameters
    ----------
    minimizer
        A minimizer on ``maps.coefficients``.
    maps
        The set of maps: constants for external regret, pairs for internal regret, all stochastic
        matrices for swap regret.
    fixed_point
        A function of ``maps`` and coefficients that returns a fixed point of the map, such as
        ``AveragedPowerIterate(100)``. The default is ``maps.fixed_point(coefficients)``.

    Examples
    --------
    >>> from regretkit import RegretMatching
    >>> from regretkit.circuits import internal_maps
    >>> player = PhiRegret(RegretMatching(6), internal_maps(3))
    >>> player.observe_utility([0.0, 3.0, 0.0])
    >>> player.next_strategy()
    array([0., 1., 0.])

    References
    ----------
    Gordon, Greenwald and Marks (2008), "No-regret learning in convex games", ICML.
    """

    minimizer: RegretMinimizer = field(validator=is_minimizer)
    maps: DeviationSet = field(validator=of_kind(DeviationSet, "internal_maps(3)"))
    fixed_point: Callable[[DeviationSet, Vector], Vector] | None = field(
        default=None, validator=validators.optional(validators.is_callable()), metadata=NOT_STATE
    )
    _last: Vector = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        if self.minimizer.domain != self.maps.coefficients:
            raise ValueError(
                f"minimizer must play on maps.coefficients, {quote(self.maps.coefficients)}, "
                f"got one on {quote(self.minimizer.domain)}"
            )
        self.domain = self.maps.domain
        self._last = self.next_strategy().copy()

    @property
    def no_guarantee(self) -> str:
        if isinstance(self.fixed_point, AveragedPowerIterate):
            return "an approximate fixed point may cost the range of payoffs over steps each time"
        return "" if self.maps.cover_constants else "its maps do not cover the constant ones"

    def _regret_bound(self, tracker_of: TrackerOf) -> RegretBound:
        tracker, inner = tracker_of(self), tracker_of(self.minimizer)
        # From the tracker if possible, independently of the minimizer's utilities
        regret = self.maps.regret(tracker)
        if regret is None:
            regret = self.maps.coefficients.best_response(inner.utilities)[0] - tracker.earned
        if isinstance(self.fixed_point, AveragedPowerIterate):
            lost, cost = inner.earned - tracker.earned, tracker.width / self.fixed_point.steps
            also = RegretBound("lost to its maps <= ranges of u / steps", lost, cost, exact=False)
            statement = "R against the maps <= R of the minimizer + ranges of u / steps"
            return RegretBound(statement, regret, inner.external + cost, exact=False, also=(also,))
        statement = "earned = earned by its maps"
        also = RegretBound(statement, tracker.earned, inner.earned, exact=True)
        statement = "R against the maps = R of the minimizer"
        return RegretBound(statement, regret, inner.external, exact=True, also=(also,))

    def _propose(self) -> Vector:
        coefficients = self.minimizer.next_strategy()
        if self.fixed_point is None:
            return self.maps.fixed_point(coefficients)
        return self.fixed_point(self.maps, coefficients)

    def _learn(self, utility: Vector, strategy: Vector) -> None:
        self.minimizer.observe_utility(self.maps.utility(utility, strategy))
        self._last = strategy.copy()

    def _expect(self, prediction: Vector) -> None:
        # At the last point, as the coming one depends on the prediction.
        self.minimizer.expect_utility(self.maps.utility(prediction, self._last))


class SwapRegret(PhiRegret):
    """Minimize swap regret: the regret against playing f(a) instead of a, for all maps f.

    This is ``PhiRegret`` over ``StochasticMatrices``. Each action a has an expert, which plays row
    a of a stochastic matrix M:

        x  =  x M,    utility of expert a  =  x_a u

    The swap regret is the sum of the experts' external regrets. If all players of a normal-form
    game use it, their play converges to correlated equilibria.

    Several blocks have separate swap regrets. CFR with ``SwapRegret`` at its decision points thus
    does not converge to correlated equilibria of the game.

    Parameters
    ----------
    simplices
        A number of actions, a sequence with one number for each block, or ``Simplices``.
    expert
        A function of the simplices of all rows that returns one minimizer for all experts, such as
        a rule's class. ``PerDecisionPoint(make)`` builds one minimizer for each expert.

    Examples
    --------
    >>> from regretkit import RegretMatching
    >>> player = SwapRegret(3, RegretMatching)
    >>> player.observe_utility([0.0, 3.0, 0.0])
    >>> player.next_strategy()
    array([0., 1., 0.])

    References
    ----------
    Blum and Mansour (2007), "From external to internal regret", Journal of Machine Learning
    Research 8. If the chain has several closed classes, the paper does not specify the stationary
    distribution. This class plays the mean of the stationary distributions of the classes.
    """

    def __init__(self, simplices: SimplicesLike, expert: LocalRule) -> None:
        maps = StochasticMatrices(simplices)
        super().__init__(local_minimizer(expert, maps.coefficients, name="expert"), maps)

    def on_domain(self, simplices: Simplices) -> RegretMinimizer | None:
        expert = self.minimizer.on_domain(StochasticMatrices(simplices).coefficients)
        return None if expert is None else SwapRegret(simplices, lambda _: expert)


@define(eq=False)
class TreeSwap(Circuit):
    """Play the mean of several layers, each of which updates M times less often than the last.

    Layer k keeps its strategy for M^k iterations, then updates with their mean utility, and
    restarts after M^(k+1) iterations:

        x  =  mean over k of x_k

    This needs no fixed point. For every affine map phi of the set into itself,

        sum_t <u_t, phi(x_t) - x_t>  <=  (sum of the ranges of u_t  +  sum_k M^k R_k) / layers

    where k runs over all layers but the slowest, and R_k is the sum of the regrets of layer k in
    its periods of M^(k+1) iterations. On a simplex this bounds swap regret. For maps that are not
    affine, the bound holds for one layer drawn from ``members``, not for the mean.

    Predictions apply only to the fastest layer, because the others keep their strategies.

    Parameters
    ----------
    make
        A function without arguments that returns a new minimizer of external regret, for a layer.
    layers
        Number of layers, at least 1.
    branching
        M, at least 2: the number of updates of a layer between two restarts.

    Attributes
    ----------
    members
        The layers, the fastest first, each in a ``Restart``.

    Examples
    --------
    >>> from regretkit import RegretMatching
    >>> player = TreeSwap(lambda: RegretMatching(2), layers=2, branching=3)
    >>> for _ in range(3):
    ...     player.observe_utility([1.0, 0.0])
    >>> player.next_strategy()
    array([0.75, 0.25])

    References
    ----------
    Peng and Rubinstein (2024), "Fast swap regret minimization and applications to approximate
    correlated equilibria", STOC. Dagan, Daskalakis, Fishelson and Golowich (2024), "From external
    to swap regret 2.0: an efficient reduction for large action spaces", STOC. Their analysis
    stops after M^layers iterations; here the slowest layer then starts afresh.
    """

    make: Callable[[], RegretMinimizer] = field(validator=validators.is_callable())
    layers: int = field(validator=at_least_one, kw_only=True)
    branching: int = field(kw_only=True)
    members: tuple[Restart, ...] = field(init=False, repr=False)
    _waiting: Vector = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        whole_number(self.branching, "branching", minimum=2)
        made = as_minimizers([self.make() for _ in range(self.layers)])
        check_distinct(made)
        self.members = tuple(Restart(member, every=self.branching) for member in made)
        self.domain = self.members[0].domain
        if any(member.domain != self.domain for member in self.members):
            domains = [member.domain for member in self.members]
            raise ValueError(f"make must return minimizers on one set, got {quote(domains)}")
        # For each layer, the sum of the utilities of its period so far
        self._waiting = np.zeros((self.layers, self.dimension))

    def on_domain(self, simplices: Simplices) -> RegretMinimizer | None:
        rebuilt = [member.minimizer.on_domain(simplices) for member in self.members]
        layers = iter([layer for layer in rebuilt if layer is not None])
        if None in rebuilt:
            return None
        return TreeSwap(lambda: next(layers), layers=self.layers, branching=self.branching)

    @property
    def no_guarantee(self) -> str:
        return "its mean regret falls with the number of layers, and not with time"

    def _regret_bound(self, tracker_of: TrackerOf) -> RegretBound | None:
        tracker = tracker_of(self)
        block = self.branching ** (self.layers - 1)
        if not tracker.contiguous or (self.iteration - tracker.iterations) % block:
            return None  # the trackers begin or resume in the middle of a layer's period
        total = tracker.width
        for k, member in enumerate(self.members[:-1]):
            total += self.branching**k * tracker_of(member.minimizer).tracking
            # Since its last update, its strategy and the comparator are constant.
            unseen = self._waiting[: k + 1].sum(axis=0)
            total += self.domain.best_response(unseen)[0]
            total -= self.domain.value(unseen, member.next_strategy())
        name, regret = ("swap R", tracker.swap) if tracker.on_simplices else ("R", tracker.external)
        statement = f"{name} <= (ranges of u + sum of M^k R of layer k in its periods) / layers"
        return RegretBound(statement, regret, total / self.layers, exact=False)

    def _propose(self) -> Vector:
        mean: Vector = np.mean([member.next_strategy() for member in self.members], axis=0)
        return mean

    def _learn(self, utility: Vector, strategy: Vector) -> None:
        passed = self.iteration + 1
        self._waiting[0] += utility
        for k, member in enumerate(self.members):
            period = self.branching**k
            if passed % period:
                break
            mean = self._waiting[k] / period
            if k + 1 < len(self.members):
                self._waiting[k + 1] += self._waiting[k]
            self._waiting[k] = 0.0
            member.observe_utility(mean)

    def _expect(self, prediction: Vector) -> None:
        self.members[0].expect_utility(prediction)


def linear_swap_regret(domain: DecisionTree | SimplicesLike, local: LocalRule) -> RegretMinimizer:
    """Return a minimizer of regret against all linear maps of a player's strategies.

    On a tree it is ``PhiRegret`` with CFR over ``LinearDeviations``, and on simplices
    ``SwapRegret``. If all players of a game use it, their play converges to linear correlated
    equilibria.

    Parameters
    ----------
    domain
        The player's decisions, a tree or simplices.
    local
        The local rule of CFR, or of the experts of ``SwapRegret``.

    Examples
    --------
    >>> from regretkit import RegretMatchingPlus
    >>> player = linear_swap_regret(DecisionTree([0], [2]), RegretMatchingPlus)
    >>> player.observe_utility([0.0, 1.0, 0.0])
    >>> player.next_strategy()
    array([1., 1., 0.])

    References
    ----------
    As of ``LinearDeviations``.
    """
    if not isinstance(domain, DecisionTree):
        return SwapRegret(domain, local)
    maps = LinearDeviations(domain)
    return PhiRegret(CFR(maps.coefficients, local), maps)


def trigger_regret(
    domain: DecisionTree | SimplicesLike, local: LocalRule, *, coarse: bool = False
) -> RegretMinimizer:
    """Return a minimizer of regret against all trigger deviations, or all coarse ones.

    On a tree it is ``PhiRegret`` with CFR over ``TriggerDeviations``. On simplices it is
    ``SwapRegret``, and for coarse triggers, which are constant actions there, the rule itself.

    Parameters
    ----------
    domain
        The player's decisions, a tree or simplices.
    local
        The local rule of CFR, or of the experts of ``SwapRegret``.
    coarse
        Whether a trigger is a decision point, and not an action there.

    Examples
    --------
    >>> from regretkit import RegretMatchingPlus
    >>> player = trigger_regret(DecisionTree([0, 2], [2, 2]), RegretMatchingPlus)
    >>> player.observe_utility([0.0, 1.0, 0.0, 4.0, 0.0])
    >>> player.next_strategy()
    array([1., 0., 1., 1., 0.])

    References
    ----------
    As of ``TriggerDeviations``.
    """
    if isinstance(domain, DecisionTree):
        maps = TriggerDeviations(domain, coarse=coarse)
        return PhiRegret(CFR(maps.coefficients, local), maps)
    return local_minimizer(local, as_simplices(domain)) if coarse else SwapRegret(domain, local)
