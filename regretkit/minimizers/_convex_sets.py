"""Minimizers on any convex set: gradient descent, approachability, best responses."""

import abc

import numpy as np
from attrs import define, field
from numpy.typing import ArrayLike

from regretkit import sets
from regretkit._regret_tracker import RegretBound
from regretkit._util._arrays import length
from regretkit._util._typing import Vector
from regretkit._util._validate import of_kind, positive, truth
from regretkit.minimizer import RegretMinimizer, TrackerOf
from regretkit.sets import StrategySet
from regretkit.sets._base import nearest_image
from regretkit.sets._simplices import as_set

_LIMIT = 200
_ROUNDING = 4.0 * float(np.finfo(np.float64).eps)


@define(eq=False)
class Proximal(RegretMinimizer):
    """Base class of minimizers that step along utilities from an iterate z.

        x  =  point(z)
        z <-  project(step(z, u))

    In the optimistic form, with m the predicted utility, at first zero and by default the last one,

        x  =  point(step(z, m))

    An iterate need not be a point of the set. In mirror descent it is a gradient.

    Parameters
    ----------
    rate
        Learning rate, positive.
    optimistic
        Whether to use the optimistic form.

    Examples
    --------
    >>> from regretkit.minimizers import OnlineGradientDescent
    >>> issubclass(OnlineGradientDescent, Proximal)
    True
    """

    rate: float = field(validator=positive, kw_only=True)
    optimistic: bool = field(default=False, validator=truth, kw_only=True)
    _iterate: Vector = field(init=False, repr=False)
    _expected: Vector = field(init=False, repr=False)

    @abc.abstractmethod
    def _step(self, iterate: Vector, utility: Vector) -> Vector:
        """Return the iterate after a step along a utility, a new array."""

    @abc.abstractmethod
    def _project(self, iterate: Vector) -> Vector:
        """Return the iterate of the point that is nearest to an iterate."""

    def _point(self, iterate: Vector) -> Vector:
        """Return the strategy of an iterate, by default its projection."""
        return self._project(iterate)

    def _initialize(self, iterate: Vector) -> None:
        """Set the first iterate; subclasses call it after ``domain`` is set."""
        self._iterate = iterate
        self._expected = np.zeros(self.dimension)

    def _propose(self) -> Vector:
        iterate = self._step(self._iterate, self._expected) if self.optimistic else self._iterate
        return self._point(iterate)

    def _learn(self, utility: Vector, strategy: Vector) -> None:
        self._iterate = self._project(self._step(self._iterate, utility))
        if self.optimistic:
            self._expected = utility.copy()

    def _expect(self, prediction: Vector) -> None:
        if self.optimistic:
            self._expected = prediction.copy()


@define(eq=False)
class OnlineGradientDescent(Proximal):
    """Online gradient descent: a step along the utility, then the nearest point of the set.

    From z the set's ``relative_interior_point()``, with P(z) the nearest point of the set,

        x  =  z
        z <-  P(z + rate u)

    In the optimistic form, with m the predicted utility, by default the last one,

        x  =  P(z + rate m)

    With D the largest distance of a point of the set from the first z, and s = u or, in the
    optimistic form, s = u - m, the regret is at most ``D^2 / (2 rate) + rate / 2 sum_t |s_t|^2``.
    On simplices this is ``OnlineMirrorDescent`` with the Euclidean regularizer.

    Parameters
    ----------
    domain
        The set, or a number of actions. Simplices, boxes and balls have closed forms of P; on other
        sets a search computes it.
    rate
        Learning rate, positive, in units of distance / utility.
    optimistic
        Whether to use the optimistic form.

    Examples
    --------
    >>> from regretkit.sets import Ball
    >>> player = OnlineGradientDescent(Ball([0.0, 0.0], 1.0), rate=0.5)
    >>> for _ in range(2):
    ...     player.observe_utility([0.0, 1.5])
    >>> player.next_strategy()
    array([0., 1.])

    References
    ----------
    Zinkevich (2003), "Online convex programming and generalized infinitesimal gradient ascent",
    ICML. Rakhlin and Sridharan (2013), "Online learning with predictable sequences", COLT.
    """

    domain: StrategySet = field(converter=as_set)

    def __attrs_post_init__(self) -> None:
        self._initialize(self.domain.relative_interior_point())

    def _step(self, iterate: Vector, utility: Vector) -> Vector:
        return iterate + self.rate * utility

    def _project(self, iterate: Vector) -> Vector:
        return self.domain.project(iterate)


@define(eq=False)
class ConicBlackwell(RegretMinimizer):
    """The conic Blackwell algorithm+: regret matching+ on any convex set.

    With C the cone of all ``t (kappa, y)`` for t >= 0 and y in X, and (a, r) the aggregate payoff,
    from 0,

        x       =  kappa r / a,  the set's relative_interior_point() when a = 0
        (a, r) <-  nearest point of C to (a - <u, x> / kappa, r + u)

    The algorithm has no rate, and does not depend on the unit of utility. The regret against y is
    at most ``|(kappa, y)| sqrt(sum_t |u_t|^2 + <u_t, x_t>^2 / kappa^2)``, because each payoff is
    orthogonal to the aggregate, and the projection does not increase regret against points of C.

    On a product of simplices it bounds the sum of the regrets over blocks. As a local rule of CFR,
    wrap it in ``PerDecisionPoint``.

    Parameters
    ----------
    domain
        The set X, or a number of actions. Simplices, boxes and balls have closed forms of the
        nearest point; on other sets a search computes it.
    kappa
        Height of the set in the cone, positive, in units of distance. About the largest length of a
        point of X is best, which is 1 on the simplex.

    Examples
    --------
    >>> from regretkit.sets import Ball
    >>> player = ConicBlackwell(Ball([0.0, 0.0], 1.0))
    >>> player.observe_utility([0.0, 3.0])
    >>> player.next_strategy()
    array([0., 1.])

    References
    ----------
    Grand-Clement and Kroer (2021), "Conic Blackwell algorithm: parameter-free convex-concave
    saddle-point solving", NeurIPS, without its weights of iterations. Chakrabarti, Grand-Clement
    and Kroer (2024), "Extensive-form game solving via Blackwell approachability on treeplexes",
    NeurIPS, whose treeplex Blackwell+ is this algorithm on the simplex.
    """

    domain: StrategySet = field(converter=as_set)
    kappa: float = field(default=1.0, validator=positive, kw_only=True)
    _height: float = field(default=0.0, init=False, repr=False)
    _payoff: Vector = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        self._payoff = np.zeros(self.dimension)

    scale_free = True

    @property
    def no_guarantee(self) -> str:
        # Compare the bound's factor kappa + |y|^2 / kappa with the range of payoffs, which is about
        # the diagonal of the bounding box.
        axes = np.eye(self.dimension)
        sides = [sum(self.domain.best_response(s * axis)[0] for s in (-1.0, 1.0)) for axis in axes]
        diagonal, middle = float(np.linalg.norm(sides)), self.domain.relative_interior_point()
        square = float(middle @ middle) + diagonal**2 / 4.0
        if self.kappa + square / self.kappa <= 2.0 * diagonal or not diagonal:
            return ""
        return "with kappa far from the size of the points, its regret bound is large"

    def _propose(self) -> Vector:
        if self._height == 0.0:
            return self.domain.relative_interior_point()
        return self._payoff / (self._height / self.kappa)

    def _learn(self, utility: Vector, strategy: Vector) -> None:
        height = self._height - self.domain.value(utility, strategy) / self.kappa
        payoff = self._payoff + utility
        # Scale to 1 for the projection: cones are scale invariant, and squares cannot overflow.
        unit = max(abs(height), float(np.abs(payoff).max(initial=0.0)))
        if unit == 0.0:
            self._height, self._payoff = 0.0, np.zeros(self.dimension)
            return
        factor, point = self._nearest(height / unit, payoff / unit)
        self._height, self._payoff = unit * factor * self.kappa, unit * factor * point

    def _nearest(self, height: float, payoff: Vector) -> tuple[float, Vector]:
        """Return t and the point y with ``t (kappa, y)`` nearest to ``(height, payoff)``.

        Half the squared distance is convex in t, if y is optimal for t. Its derivative is
        ``kappa (kappa t - height) - <y, payoff - t y>``. The Illinois method searches the root
        between 0 and ``|(height, payoff)| / kappa``.
        """
        largest, corner = self.domain.best_response(payoff)
        low, at_low = 0.0, -self.kappa * height - largest
        if at_low >= 0.0:
            return 0.0, corner
        high = float(np.hypot(height, np.linalg.norm(payoff))) / self.kappa
        at_high, point = self._slope(high, height, payoff)
        if at_high <= 0.0:
            return high, point
        factor, side = high, 0
        for _ in range(_LIMIT):
            factor = (low * at_high - high * at_low) / (at_high - at_low)
            slope, point = self._slope(factor, height, payoff)
            if abs(slope) <= _ROUNDING * self.kappa or high - low <= _ROUNDING * high:
                break
            if slope < 0.0:
                low, at_low = factor, slope
                at_high, side = (at_high / 2.0 if side == -1 else at_high), -1
            else:
                high, at_high = factor, slope
                at_low, side = (at_low / 2.0 if side == 1 else at_low), 1
        return factor, point

    def _slope(self, factor: float, height: float, payoff: Vector) -> tuple[float, Vector]:
        """Return the derivative at t = ``factor``, and the optimal y."""
        point = self.domain.project(payoff / factor)
        rest = payoff - factor * point
        return self.kappa * (self.kappa * factor - height) - float(point @ rest), point


def _point(value: ArrayLike) -> Vector:
    return sets.Singleton(value).point


@define(eq=False)
class Point(RegretMinimizer):
    """A constant strategy: the minimizer on a set of one point. Its regret is zero.

    Parameters
    ----------
    point
        The point, shape ``(dimension,)``, finite.

    Examples
    --------
    >>> Point([0.4, 0.3, 0.3]).next_strategy()
    array([0.4, 0.3, 0.3])
    """

    point: Vector = field(converter=_point)

    def __attrs_post_init__(self) -> None:
        self.domain = sets.Singleton(self.point)

    scale_free = True

    def _propose(self) -> Vector:
        return self.point.copy()

    def _learn(self, utility: Vector, strategy: Vector) -> None:
        pass


@define(eq=False)
class BestResponse(RegretMinimizer):
    """Play a best response to the last utility.

        x  =  argmax of <u, x> over the set,  with u the last utility

    The first strategy is the set's ``relative_interior_point()``. Ties are resolved by the set's
    ``best_response``. This does not minimize regret. CFR against it is CFR-BR.

    Parameters
    ----------
    domain
        The set of strategies.

    Examples
    --------
    >>> from regretkit.sets import Simplices
    >>> player = BestResponse(Simplices(3))
    >>> player.observe_utility([0.0, 1.0, 2.0])
    >>> player.next_strategy()
    array([0., 0., 1.])

    References
    ----------
    Johanson, Bard, Burch and Bowling (2012), "Finding optimal abstract strategies in
    extensive-form games", AAAI.
    """

    domain: StrategySet = field(validator=of_kind(StrategySet, "Simplices(3)"))
    _last: Vector = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        self._last = self.domain.relative_interior_point()

    scale_free = True

    @property
    def no_guarantee(self) -> str:
        return "it responds to the last utility alone"

    def _propose(self) -> Vector:
        return self._last.copy()

    def _learn(self, utility: Vector, strategy: Vector) -> None:
        _, self._last = self.domain.best_response(utility)


_SMALLEST = 1e-8
"""Largest length of ``W (x, 1)``, relative to that of W, that counts as zero."""


@define(eq=False)
class ResponseBasedApproachability(RegretMinimizer):
    """Response-based approachability, which minimizes profile swap regret on any convex set.

    From W = 0,

        x  =  argmin of |W (x, 1)|,    v  =  |u| W (x, 1) / |W (x, 1)|
        W  <-  W + u (x, 1)' - v (y, 1)',    y a best response to v

    By the minimax theorem, the change of W has no positive inner product with W, so

        |W|^2  <=  sum_t |u_t (x_t, 1)' - v_t (y_t, 1)'|^2

    The regret against an affine map ``x -> A (x, 1)`` is at most ``|A - (I, 0)| |W|``, because best
    responses have no such regret. Constant maps give external regret, and all affine maps of the
    set into itself give linear swap regret.

    ``|W| / T`` is an upper bound of the profile swap distance: the distance of the mean of
    ``u_t (x_t, 1)'`` from mixtures of products of a utility and a best response to it.

    Parameters
    ----------
    domain
        The set X, or a number of actions.

    Examples
    --------
    >>> player = ResponseBasedApproachability(2)
    >>> player.observe_utility([1.0, 0.0])
    >>> player.next_strategy().round(3)
    array([1., 0.])

    Notes
    -----
    The paper takes v from the set of possible utilities, and this rule from the ball of radius
    |u_t|. The rule thus needs no rate, horizon or unit. The paper proves that no opponent gains by
    manipulation. For the ball there is no such proof. The rule omits the paper's preconditioning.

    References
    ----------
    Anagnostides, Farina, Fishelson, Luo and Schneider (2026), "Swap regret minimization through
    response-based approachability", COLT, PMLR 336. Bernstein and Shimkin (2015),
    "Response-based approachability with applications to generalized no-regret problems", Journal of
    Machine Learning Research 16. Arunachaleswaran, Collina, Mansour, Mohri, Schneider and Sivan
    (2025), "Swap regret and correlated equilibria beyond normal-form games", EC.
    """

    domain: StrategySet = field(converter=as_set)
    _excess: Vector = field(init=False, repr=False)
    """W, shape ``(dimension, dimension + 1)``."""
    _longest: float = field(default=0.0, init=False, repr=False)
    """The bound on its length."""

    def __attrs_post_init__(self) -> None:
        self._excess = np.zeros((self.dimension, self.dimension + 1))

    @property
    def distance(self) -> float:
        """``|W|``, an upper bound of T times the profile swap distance."""
        return length(self._excess)

    scale_free = True

    def _regret_bound(self, tracker_of: TrackerOf) -> RegretBound | None:
        tracker = tracker_of(self)
        # The tracker must have recorded exactly the iterations of W.
        if not tracker.contiguous or tracker.iterations != self.iteration:
            return None
        best = self.domain.best_response(tracker.utilities)[1]
        bound = float(np.sqrt(self.dimension + best @ best)) * self.distance
        also = RegretBound(
            "|W| <= root of the sum of squares of what is added",
            self.distance,
            self._longest,
            exact=False,
        )
        statement = "R <= |A - (I, 0)| |W|, A the best constant map"
        return RegretBound(statement, tracker.external, bound, exact=False, also=(also,))

    def _propose(self) -> Vector:
        if not self._excess.any():
            return self.domain.relative_interior_point()
        return nearest_image(self._excess, self.domain.best_response)

    def _learn(self, utility: Vector, strategy: Vector) -> None:
        image = self._excess @ np.append(strategy, 1.0)
        size, added = length(image), np.outer(utility, np.append(strategy, 1.0))
        if size > _SMALLEST * self.distance:
            target = image * (length(utility) / size)
            response = self.domain.best_response(target)[1]
            added -= np.outer(target, np.append(response, 1.0))
        self._excess += added
        self._longest = float(np.hypot(self._longest, length(added)))
