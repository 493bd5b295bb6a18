"""Minimizers on any convex set: projections, best responses, approachability."""

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
    """A rule that moves an iterate z along utilities, and plays the point that belongs to it.

        x  =  point(step(z, m)),    z <-  project(step(z, u))

    with m the predicted utility, by default the last one and at first zero, in the optimistic form,
    and ``point(z)`` for x otherwise. An iterate need not be a point of the set: for mirror descent
    it may be a gradient there.

    Parameters
    ----------
    rate
        Learning rate, positive.
    optimistic
        Whether it plays the optimistic form.

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
        """Return where a utility moves an iterate, a new array."""

    @abc.abstractmethod
    def _project(self, iterate: Vector) -> Vector:
        """Return the iterate of the point that belongs to this one."""

    def _point(self, iterate: Vector) -> Vector:
        """Return the point that belongs to an iterate, by default its projection."""
        return self._project(iterate)

    def _initialize(self, iterate: Vector) -> None:
        """Take the first iterate, once ``domain`` is known."""
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
    """Online gradient descent: follow utility, and come back to the nearest point of the set.

        x  =  z
        z <-  nearest point of the set to z + rate u

    from the set's canonical interior point on. In the optimistic form, with m the predicted
    utility, by default the last one,

        x  =  nearest point of the set to z + rate m

    With D the largest distance from the first point to one of the set, the regret is at most ``D^2
    / (2 rate)`` plus ``rate / 2`` times the sum of ``|u|^2``, or ``|u - m|^2`` in the optimistic
    form. On simplices it is ``OnlineMirrorDescent`` with the Euclidean regularizer.

    Parameters
    ----------
    domain
        The set on which to play, or a number of actions. Simplices, boxes and balls have closed
        forms of the nearest point; elsewhere a search finds it.
    rate
        Learning rate, positive, in units of distance over units of utility.
    optimistic
        Whether it plays the optimistic form.

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

    Lift the set X to height kappa, and let C be the cone of all ``t (kappa, y)`` with t at least 0
    and y in X. Then, with (a, r) the aggregate payoff,

        x       =  kappa r / a,  the set's canonical interior point when a = 0
        (a, r) <-  nearest point of C to (a - <u, x> / kappa, r + u)

    It has no rate, and is independent of the unit of utility. The regret against y is at most
    ``|(kappa, y)|`` times the root of the sum of ``|u|^2 + <u, x>^2 / kappa^2``: what is added is
    orthogonal to the aggregate, and projecting costs nothing against points of C.

    A product of simplices is one set here, and not one for each block; as a local rule of CFR it
    goes in through ``PerDecisionPoint``.

    Parameters
    ----------
    domain
        The set X, or a number of actions. Simplices, boxes and balls have closed forms of the
        nearest point; elsewhere a search finds it.
    kappa
        The height, positive, in the unit of the points of X: best about the largest length of
        one, which on the simplex is 1.

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
        # The bound has the factor kappa + |y|^2 / kappa, and the payoffs a range of about the
        # diagonal of the smallest box around the set.
        axes = np.eye(self.dimension)
        sides = [sum(self.domain.best_response(s * axis)[0] for s in (-1.0, 1.0)) for axis in axes]
        diagonal, middle = float(np.linalg.norm(sides)), self.domain.relative_interior_point()
        square = float(middle @ middle) + diagonal**2 / 4.0
        if self.kappa + square / self.kappa <= 2.0 * diagonal or not diagonal:
            return ""
        return "with kappa far from the size of the points, its bound is many ranges of payoffs"

    def _propose(self) -> Vector:
        if self._height == 0.0:
            return self.domain.relative_interior_point()
        return self._payoff / (self._height / self.kappa)

    def _learn(self, utility: Vector, strategy: Vector) -> None:
        height = self._height - self.domain.value(utility, strategy) / self.kappa
        payoff = self._payoff + utility
        # In units of the largest number: cones know none, and squares stay in range.
        unit = max(abs(height), float(np.abs(payoff).max(initial=0.0)))
        if unit == 0.0:
            self._height, self._payoff = 0.0, np.zeros(self.dimension)
            return
        factor, point = self._nearest(height / unit, payoff / unit)
        self._height, self._payoff = unit * factor * self.kappa, unit * factor * point

    def _nearest(self, height: float, payoff: Vector) -> tuple[float, Vector]:
        """Return t and the point y with ``t (kappa, y)`` nearest to ``(height, payoff)``.

        Half the squared distance, as a function of t with the best y for it, is convex with
        derivative ``kappa (kappa t - height) - <y, payoff - t y>``; its root is bracketed by 0 and
        the length of what is projected, and searched by the Illinois method.
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
        """Return the derivative at t = ``factor``, and the point y that is best there."""
        point = self.domain.project(payoff / factor)
        rest = payoff - factor * point
        return self.kappa * (self.kappa * factor - height) - float(point @ rest), point


def _point(value: ArrayLike) -> Vector:
    return sets.Singleton(value).point


@define(eq=False)
class Point(RegretMinimizer):
    """Always play the same point: the minimizer over a set of a single point.

    Its regret is zero, because there is nothing else that it could have played.

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

    It minimizes no regret. It is the opponent that the strongest guarantees are proven against,
    and, as one of two players, turns CFR into CFR-BR. Before the first iteration it plays the
    set's canonical interior point; of several best responses it plays the set's first.

    Parameters
    ----------
    domain
        The set on which to play.

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

    no_guarantee = "it responds to the last utility alone"

    def _propose(self) -> Vector:
        return self._last.copy()

    def _learn(self, utility: Vector, strategy: Vector) -> None:
        _, self._last = self.domain.best_response(utility)


_SMALLEST = 1e-8
"""What share of the length of W counts as length zero of a point's image."""


@define(eq=False)
class ResponseBasedApproachability(RegretMinimizer):
    """Response-based approachability, for small profile swap regret on any convex set.

    The products ``u_t (x_t, 1)'`` of utilities and strategies add up to nearly the same as products
    of other utilities v with best responses to them. With the difference W, from 0,

        x  =  point with the smallest |W (x, 1)|,    v  =  |u| W (x, 1) / |W (x, 1)|
        W  <-  W + u (x, 1)' - v (y, 1)',    y a best response to v

    By the minimax theorem, what is added has no positive inner product with W, so that

        |W|^2  <=  sum of |u_t (x_t, 1)' - v_t (y_t, 1)'|^2

    The regret against an affine map ``x -> A (x, 1)`` is at most ``|A - (I, 0)| |W|``, since best
    responses have none: constant maps give external regret, all that keep the set linear swap
    regret. ``|W|`` over the number of iterations is at least the profile swap distance: how far the
    mean of the products is from mixtures of products of a utility and a best response to it.

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
    The paper takes v from a known set of utilities, and this rule from the ball of length |u_t|. So
    there is no rate, no horizon and no unit. For v from the set of utilities that an opponent can
    cause, the paper proves that no opponent gains by manipulation; for the ball that is not proven.
    The preconditioning of the set is left out.

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
    """What its length is at most."""

    def __attrs_post_init__(self) -> None:
        self._excess = np.zeros((self.dimension, self.dimension + 1))

    @property
    def distance(self) -> float:
        """The profile swap distance times the number of iterations, at most: the length of W."""
        return length(self._excess)

    scale_free = True

    def _regret_bound(self, tracker_of: TrackerOf) -> RegretBound | None:
        tracker = tracker_of(self)
        # W has the utilities since the last restart, all of which the tracker must have seen alone.
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
