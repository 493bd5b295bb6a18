"""Regret against maps: sets of maps, Gordon's construction, swap regret, and TreeSwap."""

import abc
from collections.abc import Callable
from typing import Generic

import numpy as np
from attrs import define, field, validators
from numpy.typing import ArrayLike, NDArray
from typing_extensions import TypeVar

from regretkit._regret_tracker import RegretBound, RegretTracker
from regretkit._util._arrays import read_only, segment_sum
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
from regretkit.circuits._operations import Restart
from regretkit.circuits._stationary import check_stochastic, stationary
from regretkit.minimizer import RegretMinimizer, TrackerOf
from regretkit.sets import Simplices, SimplicesLike, StrategySet, as_simplices

Domain = TypeVar("Domain", bound=StrategySet, default=StrategySet, covariant=True)
Coefficients = TypeVar("Coefficients", bound=StrategySet, default=StrategySet, covariant=True)


class DeviationSet(abc.ABC, Generic[Domain, Coefficients]):
    """A convex set of maps of a domain to itself, linear in their coefficients.

    Examples
    --------
    >>> maps = StochasticMatrices(2)
    >>> maps.apply(np.array([0.0, 1.0, 1.0, 0.0]), np.array([0.9, 0.1]))
    array([0.1, 0.9])
    """

    domain: Domain
    """The set X that the maps send to itself."""
    coefficients: Coefficients
    """The set of the coefficients of a map."""
    cover_constants: bool = False
    """Whether small regret against the maps implies small external regret."""

    @abc.abstractmethod
    def apply(self, coefficients: Vector, point: Vector) -> Vector:
        """Return the image of a point under the map with these coefficients, a new array."""

    @abc.abstractmethod
    def utility(self, utility: Vector, point: Vector) -> Vector:
        """Return the gradient of ``<u, map(point)>`` in the coefficients, a new array."""

    @abc.abstractmethod
    def fixed_point(self, coefficients: Vector) -> Vector:
        """Return a fixed point of the map with these coefficients, a new array."""

    def regret(self, tracker: RegretTracker) -> float | None:
        """Return a player's regret against the best map, from its tracker; None if unknown.

        It must not use ``utility``: a ledger compares the two.
        """
        return None


class StochasticMatrices(DeviationSet[Simplices, Simplices]):
    """All stochastic matrices in every block of some simplices: the maps of swap regret.

    The coefficients are the rows of all matrices, block by block. Fixed points are stationary
    distributions.

    Parameters
    ----------
    simplices
        A number of actions, a sequence with one number for each block, or ``Simplices``.

    Examples
    --------
    >>> maps = StochasticMatrices([2, 3])
    >>> maps.coefficients
    Simplices([2, 2, 3, 3, 3])
    >>> StochasticMatrices(2).fixed_point(np.array([0.5, 0.5, 0.25, 0.75]))
    array([0.33333333, 0.66666667])
    """

    cover_constants = True

    def __init__(self, simplices: SimplicesLike) -> None:
        self.domain = as_simplices(simplices)
        sizes = self.domain.sizes
        self.coefficients = Simplices(np.repeat(sizes, sizes))
        self._source = np.repeat(np.arange(self.domain.dimension), self.coefficients.sizes)
        self._target = self.domain.coordinates(np.repeat(np.arange(sizes.size), sizes))

    def apply(self, coefficients: Vector, point: Vector) -> Vector:
        moved = coefficients * point[self._source]
        return segment_sum(self._target, moved, self.domain.dimension)

    def utility(self, utility: Vector, point: Vector) -> Vector:
        return point[self._source] * utility[self._target]

    def fixed_point(self, coefficients: Vector) -> Vector:
        return stationary(self.domain.sizes, coefficients)

    def regret(self, tracker: RegretTracker) -> float | None:
        return tracker.swap if tracker.on_simplices else None

    def __repr__(self) -> str:
        return f"StochasticMatrices({self.domain!r})"


class FiniteDeviations(DeviationSet[Simplices, Simplices]):
    """All mixtures of some stochastic matrices over one simplex.

    The map with coefficients c sends x to ``sum_k c_k x M_k``, with c on a simplex.

    Parameters
    ----------
    matrices
        M, shape ``(maps, n, n)``: nonnegative rows that sum to one, up to 1e-6. Each row is divided
        by its sum.

    Examples
    --------
    >>> stay, swap = np.eye(2), np.eye(2)[::-1]
    >>> maps = FiniteDeviations([stay, swap])
    >>> maps.apply(np.array([0.5, 0.5]), np.array([0.9, 0.1]))
    array([0.5, 0.5])
    """

    matrices: NDArray[np.float64]
    """M, shape ``(maps, n, n)``, read-only."""

    def __init__(self, matrices: ArrayLike) -> None:
        checked = check_stochastic(matrices, "matrices")
        n = checked.shape[-1]
        rows = checked.reshape(-1, n, n)
        self.matrices = read_only(rows / rows.sum(axis=2, keepdims=True))
        self.domain, self.coefficients = Simplices(n), Simplices(len(rows))
        sends = self.matrices == 1.0  # map k sends action a to action b, entry (k, a, b)
        constants = sends.all(axis=1).any(axis=0)
        moved = n - np.diagonal(sends, axis1=1, axis2=2).sum(axis=1)
        pairs = sends[moved <= 1].any(axis=0) | np.eye(n, dtype=bool)
        self.cover_constants = bool((constants | pairs.all(axis=0)).all())
        # The moves of all maps from an action to another one. Most maps have few moves.
        moves = self.matrices * ~np.eye(n, dtype=bool)
        self._map, self._origin, self._target = np.nonzero(moves)
        self._share = moves[self._map, self._origin, self._target]

    def apply(self, coefficients: Vector, point: Vector) -> Vector:
        moved: Vector = np.einsum("k,kij,i->j", coefficients, self.matrices, point)
        return moved

    def utility(self, utility: Vector, point: Vector) -> Vector:
        # Differences, so that no map gains by rounding if all utilities are equal
        gains = point[self._origin] * (utility[self._target] - utility[self._origin])
        return self.domain.value(utility, point) + self._total(gains)

    def fixed_point(self, coefficients: Vector) -> Vector:
        # ``stationary`` does not read the diagonal.
        n = self.domain.dimension
        shares = coefficients[self._map] * self._share
        mixture = segment_sum(self._origin * n + self._target, shares, n * n)
        return stationary(self.domain.sizes, mixture)

    def regret(self, tracker: RegretTracker) -> float | None:
        if not tracker.on_simplices:
            return None
        joint = tracker.products[0]
        gains = joint[self._origin, self._target] - joint[self._origin, self._origin]
        return float(self._total(gains).max())

    def _total(self, gains: Vector) -> Vector:
        """Return the gain of each map, given the gain of each move."""
        return segment_sum(self._map, self._share * gains, self.coefficients.dimension)

    def __repr__(self) -> str:
        return f"<FiniteDeviations {len(self.matrices)} matrices over {self.domain!r}>"


def constant_maps(actions: int) -> FiniteDeviations:
    """Return the maps that always play one action: regret against them is external regret.

    Parameters
    ----------
    actions
        Number of actions n, at least 1.

    Examples
    --------
    >>> constant_maps(3).matrices[1]
    array([[0., 1., 0.],
           [0., 1., 0.],
           [0., 1., 0.]])
    """
    units = np.eye(whole_number(actions, "actions", minimum=1))
    return FiniteDeviations(np.repeat(units[:, None], actions, axis=1))


def internal_maps(actions: int) -> FiniteDeviations:
    """Return the maps that play b in place of a, for each pair: internal regret.

    Parameters
    ----------
    actions
        Number of actions n, at least 2.

    Examples
    --------
    >>> internal_maps(3).matrices[0]
    array([[0., 1., 0.],
           [0., 1., 0.],
           [0., 0., 1.]])

    References
    ----------
    Stoltz and Lugosi (2005), "Internal regret in on-line portfolio selection", Machine Learning 59.
    """
    units = np.eye(whole_number(actions, "actions", minimum=2))
    source, target = np.nonzero(units == 0.0)
    matrices = np.tile(units, (source.size, 1, 1))
    matrices[np.arange(source.size), source] = units[target]
    return FiniteDeviations(matrices)


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
        The set of maps: ``constant_maps`` for external regret, ``internal_maps`` for internal
        regret, ``StochasticMatrices`` for swap regret.
    steps
        If given, play the mean of this many iterates of the map instead of a fixed point:

            x  =  (z + map_c(z) + map_c(map_c(z)) + ...) / steps,  with z the interior point

        The map moves x by ``(map_c^steps(z) - z) / steps`` only. So every iteration adds to the
        regret at most the range of the utility over the domain, divided by ``steps``.

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
    Gordon, Greenwald and Marks (2008), "No-regret learning in convex games", ICML. Zhang,
    Anagnostides, Farina and Sandholm (2024), "Efficient Phi-regret minimization with low-degree
    swap deviations in extensive-form games", NeurIPS, for means of iterates.
    """

    minimizer: RegretMinimizer = field(validator=is_minimizer)
    maps: DeviationSet = field(validator=of_kind(DeviationSet, "internal_maps(3)"))
    steps: int | None = field(default=None, validator=validators.optional(at_least_one))
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
        if self.steps is not None:
            return "an approximate fixed point may cost the range of payoffs over steps each time"
        return "" if self.maps.cover_constants else "its maps do not cover the constant ones"

    def _regret_bound(self, tracker_of: TrackerOf) -> RegretBound:
        tracker, inner = tracker_of(self), tracker_of(self.minimizer)
        # From the tracker if possible, independently of the minimizer's utilities
        regret = self.maps.regret(tracker)
        if regret is None:
            regret = self.maps.coefficients.best_response(inner.utilities)[0] - tracker.earned
        if self.steps is not None:
            lost, cost = inner.earned - tracker.earned, tracker.width / self.steps
            also = RegretBound("lost to its maps <= ranges of u / steps", lost, cost, exact=False)
            statement = "R against the maps <= R of the minimizer + ranges of u / steps"
            return RegretBound(statement, regret, inner.external + cost, exact=False, also=(also,))
        statement = "earned = earned by its maps"
        also = RegretBound(statement, tracker.earned, inner.earned, exact=True)
        statement = "R against the maps = R of the minimizer"
        return RegretBound(statement, regret, inner.external, exact=True, also=(also,))

    def _propose(self) -> Vector:
        coefficients = self.minimizer.next_strategy()
        if self.steps is None:
            return self.maps.fixed_point(coefficients)
        point = self.domain.relative_interior_point()
        total = point.copy()
        for _ in range(self.steps - 1):
            point = self.maps.apply(coefficients, point)
            total += point
        return total / self.steps

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

    @property
    def no_guarantee(self) -> str:
        return "its mean regret falls with the number of layers, and not with time"

    def on_domain(self, simplices: Simplices) -> RegretMinimizer | None:
        rebuilt = [member.minimizer.on_domain(simplices) for member in self.members]
        layers = [layer for layer in rebuilt if layer is not None]
        if len(layers) < self.layers:
            return None
        return TreeSwap(iter(layers).__next__, layers=self.layers, branching=self.branching)

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
