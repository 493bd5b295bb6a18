"""The regret matching family: how regrets accumulate, and which strategy they imply."""

import math

import numpy as np
from attrs import define, field

from regretkit._state import NOT_STATE
from regretkit._util._typing import Vector
from regretkit._util._validate import at_least_zero, extended, truth
from regretkit.minimizers._simplex_rule import SimplexRule, state


@define(eq=False)
class RegretRule(SimplexRule):
    """A rule that accumulates regrets, and plays a function of their sum.

    With R = 0 before the first iteration, in iteration t

        x  =  link(R)
        R <-  accumulate(R, u - <u, x>, t)

    The optimistic form plays as if it had learned already from the predicted utility m, by default
    the last one, against the last strategy x':

        x  =  link(accumulate(R, m - <m, x'>, t))

    Subclasses define the two functions, which must not change their arguments. The defaults are
    those of regret matching, ``R + g`` and ``[R]+ / sum [R]+``.

    Parameters
    ----------
    simplices
        A number of actions, several of them, or ``Simplices``.
    optimistic
        Whether it plays the optimistic form.

    Attributes
    ----------
    regrets
        R, shape ``(dimension,)``.
    predicted_regrets, last_strategy
        ``m - <m, x'>`` and x', shape ``(dimension,)``, of the optimistic form: zero and uniform
        before the first iteration.

    Examples
    --------
    Regret matching on the squares of positive regrets:

    >>> class SquaredRegretMatching(RegretRule):
    ...     def link(self, regrets):
    ...         return self.simplices.normalize(np.maximum(regrets, 0.0) ** 2)
    >>> player = SquaredRegretMatching(3, optimistic=True)
    >>> player.observe_utility([0.0, 3.0, 1.5])
    >>> player.next_strategy()
    array([0., 1., 0.])
    """

    optimistic: bool = field(default=False, validator=truth, kw_only=True, repr=False)
    regrets: Vector = state()
    predicted_regrets: Vector = state(start=None)
    last_strategy: Vector = state(start=None)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if self.optimistic:
            self.predicted_regrets = np.zeros(self.dimension)
            self.last_strategy = self.simplices.uniform()

    def accumulate(self, regrets: Vector, regret: Vector, t: int) -> Vector:
        """Return R after iteration t, from 1, with this regret; a new array."""
        return self.simplices.add(regrets, regret)

    def link(self, regrets: Vector) -> Vector:
        """Return the strategy that R implies, a new array."""
        return self.simplices.normalize(np.maximum(regrets, 0.0))

    def _propose(self) -> Vector:
        if not self.optimistic:
            return self.link(self.regrets)
        return self.link(self.accumulate(self.regrets, self.predicted_regrets, self.iteration + 1))

    def _learn(self, utility: Vector, strategy: Vector) -> None:
        regret = self.simplices.regret(utility, strategy)
        self.regrets = self.accumulate(self.regrets, regret, self.iteration + 1)
        if self.optimistic:
            self.predicted_regrets, self.last_strategy = regret, strategy.copy()

    def _expect(self, prediction: Vector) -> None:
        if self.optimistic:
            self.predicted_regrets = self.simplices.regret(prediction, self.last_strategy)


def discount(passed: int, exponent: float, shift: float = 1.0) -> float:
    """Return ``f = 1 / (1 + shift s^-exponent)`` after s = ``passed`` iterations.

    It is 1 where s is 0 and the exponent finite.

    Examples
    --------
    >>> discount(3, 1.0), discount(3, math.inf), discount(3, -math.inf)
    (0.75, 1.0, 0.0)
    """
    if math.isinf(exponent) and shift > 0.0:
        return 1.0 if exponent > 0.0 else 0.0
    if passed <= 0 or shift == 0.0:
        return 1.0
    try:
        return 1.0 / (1.0 + shift * math.pow(passed, -exponent))
    except OverflowError:  # an exponent so far below zero that its limit is reached
        return 0.0


_FORGETFUL = "with alpha below 1 it remembers a share of the past that falls to nothing"


@define(eq=False)
class RegretMatching(RegretRule):
    """Regret matching: play each action in proportion to its positive regret.

        x  =  [R]+ / sum [R]+,  uniform when no regret is positive
        R <-  R + u - <u, x>

    Over T iterations with n actions and utilities in a range of Delta, the regret is at most
    ``Delta sqrt(n T)``, and never more than the root of the sum of ``|u - <u, x>|^2``. With weights
    that never increase the weighted regret is at most
    ``Delta sqrt(n) sum_t w_t (sqrt(t) - sqrt(t - 1))``, which vanishes relative to the sum of the
    weights if that sum is infinite, as it is for ``t^p`` with p from -1 to 0. With increasing
    weights nothing is guaranteed: the regret with w_t = t can stay at half of the range.

    Parameters are those of ``RegretRule``.

    Examples
    --------
    >>> player = RegretMatching(3)
    >>> player.observe_utility([0.0, 3.0, 2.0])
    >>> player.regrets
    array([-1.66666667,  1.33333333,  0.33333333])
    >>> player.next_strategy()
    array([0. , 0.8, 0.2])

    References
    ----------
    Hart and Mas-Colell (2000), "A simple adaptive procedure leading to correlated equilibrium",
    Econometrica 68(5).
    """

    scale_free = True


@define(eq=False)
class RegretMatchingPlus(RegretRule):
    """Regret matching+: negative regret is dropped in every iteration.

        x  =  Q / sum Q,  uniform when Q = 0
        Q <-  [Q + u - <u, x>]+

    An action with low utilities for a long time is played again as soon as its utility exceeds the
    value of the current strategy. The regret bound is that of ``RegretMatching``, for weights
    that never increase as well. With weights that never decrease the weighted regret is at most
    ``w_T sqrt(sum_t |u_t - <u_t, x_t>|^2)``, so that with ``w_t = t^p`` and p >= 0, relative to
    the sum of the weights, it is at most ``(p + 1) Delta sqrt(n / T)``. Powers from -1 to 0 keep it
    vanishing, more slowly from -1/2 down; no rule has such a guarantee below -1. In zero-sum games
    the average usually converges much faster than that of ``RegretMatching``.

    Examples
    --------
    >>> player = RegretMatchingPlus(3)
    >>> player.observe_utility([0.0, 3.0, 0.0])
    >>> player.regrets
    array([0., 2., 0.])

    References
    ----------
    Tammelin (2014), "Solving large imperfect information games using CFR+", arXiv:1407.5042.
    """

    scale_free = True

    def accumulate(self, regrets: Vector, regret: Vector, t: int) -> Vector:
        return np.maximum(self.simplices.add(regrets, regret), 0.0)


@define(eq=False)
class LinearRegretMatching(RegretRule):
    """Regret matching in which iteration t counts t times.

        x  =  [R]+ / sum [R]+,  uniform when no regret is positive
        R <-  R + t (u - <u, x>)

    It plays the same strategies as ``DiscountedRegretMatching`` with exponents 1 and 1,
    whose regrets are these divided by t. The regret with weights w_t = t, divided by their sum, is
    at most ``2 Delta sqrt(n / (3 T))``, the bound of ``RegretMatching`` for utilities t u. The
    average to take is the one with these weights.

    Examples
    --------
    >>> player = LinearRegretMatching(2)
    >>> for utility in ([1.0, 0.0], [0.0, 1.0]):
    ...     player.observe_utility(utility)
    >>> player.regrets
    array([0.5, 1.5])

    References
    ----------
    Brown and Sandholm (2019), "Solving imperfect-information games via discounted regret
    minimization", AAAI.
    """

    scale_free = True

    def accumulate(self, regrets: Vector, regret: Vector, t: int) -> Vector:
        return self.simplices.add(regrets, t * regret)


@define(eq=False)
class DiscountedRegretMatching(RegretRule):
    """Regret matching that discounts old regrets, by a factor that depends on their sign.

    Before adding in iteration t, with s = t - 1 and f(e) = 1 / (1 + s^-e),

        x  =  [R]+ / sum [R]+,  uniform when no regret is positive
        R <-  R f(alpha) where R > 0,  R f(beta) elsewhere
        R <-  R + u - <u, x>

    The average is to discount as well: with the default exponents and weights t^2, the weighted
    regret divided by the sum of the weights is at most ``6 Delta (sqrt(n) + 1 / sqrt(T)) /
    sqrt(T)`` (Theorem 3 of the paper, at a single decision point).

    Nothing is discounted at s = 0. An infinite exponent is the limit: f(inf) = 1 keeps all,
    f(-inf) = 0 drops all, so that (inf, inf) is ``RegretMatching`` and (inf, -inf) plays
    as ``RegretMatchingPlus`` does: what is negative is forgotten one iteration later, which
    no strategy shows.

    Parameters
    ----------
    alpha, beta
        Exponents for positive and for all other regrets, any number or plus or minus infinity.

    Examples
    --------
    >>> player = DiscountedRegretMatching(2, alpha=1.5, beta=0.0)
    >>> for utility in ([1.0, 0.0], [0.0, 0.0]):
    ...     player.observe_utility(utility)
    >>> player.regrets
    array([ 0.25, -0.25])

    References
    ----------
    Brown and Sandholm (2019), "Solving imperfect-information games via discounted regret
    minimization", AAAI. The paper discounts after adding instead of before, which scales all
    positive regrets alike and so plays the same strategies.
    """

    scale_free = True

    alpha: float = field(default=1.5, validator=extended, kw_only=True)
    beta: float = field(default=0.0, validator=extended, kw_only=True)

    @property
    def no_guarantee(self) -> str:
        return "" if self.alpha >= 1.0 else _FORGETFUL

    def accumulate(self, regrets: Vector, regret: Vector, t: int) -> Vector:
        positive, other = discount(t - 1, self.alpha), discount(t - 1, self.beta)
        return self.simplices.add(regrets * np.where(regrets > 0.0, positive, other), regret)


@define(eq=False)
class DiscountedRegretMatchingPlus(RegretRule):
    """Regret matching+ that discounts old regrets.

    In iteration t, with s = t - 1,

        x  =  Q / sum Q,  uniform when Q = 0
        Q <-  [Q s^alpha / (s^alpha + shift) + u - <u, x>]+

    It is what DCFR+ plays at every decision point. With alpha = inf, or with shift = 0, nothing
    is discounted, and it is ``RegretMatchingPlus``.

    With weights that increase at least as fast as the discounts, ``w_t >= w_(t-1) (1 + shift /
    s^alpha)``, the weighted regret is at most ``w_T sqrt(sum_t |u_t - <u_t, x_t>|^2)``, since Q
    is then at least the regret discounted by w. For alpha >= 1 the weights ``t^p`` with
    p >= max(1, shift) are such.

    Parameters
    ----------
    alpha
        Exponent, any number or plus or minus infinity; infinite ones are the limits.
    shift
        How strongly old regrets are discounted at first, at least 0.

    Examples
    --------
    >>> player = DiscountedRegretMatchingPlus(2, alpha=1.0, shift=3.0)
    >>> for utility in ([2.0, 0.0], [0.0, 0.0]):
    ...     player.observe_utility(utility)
    >>> player.regrets
    array([0.25, 0.  ])

    References
    ----------
    Xu, Li, Liu, Fu, Fu, Xing and Cheng (2024), "Minimizing weighted counterfactual regret with
    optimistic online mirror descent", IJCAI. The shift of 1.5 is that of the authors' code; other
    implementations have 1.
    """

    scale_free = True

    alpha: float = field(default=1.5, validator=extended, kw_only=True)
    shift: float = field(default=1.5, validator=at_least_zero, kw_only=True)

    @property
    def no_guarantee(self) -> str:
        if self.shift == 0.0 or self.alpha == math.inf:
            return ""
        if self.alpha < 1.0:
            return _FORGETFUL
        return "with a shift above 4 it forgets the past at first" if self.shift > 4.0 else ""

    def accumulate(self, regrets: Vector, regret: Vector, t: int) -> Vector:
        kept = regrets * discount(t - 1, self.alpha, self.shift)
        return np.maximum(self.simplices.add(kept, regret), 0.0)


@define(eq=False)
class PredictiveRegretMatching(RegretMatching):
    """Regret matching that adds predicted regrets before it plays.

    With m the predicted utility, by default the last one, and x' the last strategy,

        x  =  [R + v]+ / sum [R + v]+,    v = m - <m, x'>
        R <-  R + u - <u, x>

    The regret is at most the root of the sum of ``|g - v|^2``, with g the actual regret and v
    the predicted one: small when predictions are good. It does not hold for growing weights.

    Examples
    --------
    >>> player = PredictiveRegretMatching(2)
    >>> player.expect_utility([1.0, 0.0])
    >>> player.next_strategy()
    array([1., 0.])

    References
    ----------
    Farina, Kroer and Sandholm (2021), "Faster game solving via predictive Blackwell
    approachability: connecting regret matching and mirror descent", AAAI.
    """

    optimistic: bool = field(default=True, init=False, repr=False, metadata=NOT_STATE)


@define(eq=False)
class PredictiveRegretMatchingPlus(RegretMatchingPlus):
    """Regret matching+ that adds predicted regrets before it plays.

    With m the predicted utility, by default the last one, and x' the last strategy,

        x  =  [Q + v]+ / sum [Q + v]+,    v = m - <m, x'>
        Q <-  [Q + u - <u, x>]+

    With weights that never decrease, all equal ones among them, the weighted regret is at most
    ``w_T sqrt(sum_t |g_t - v_t|^2)``, with g the actual and v the predicted regret.

    Examples
    --------
    >>> player = PredictiveRegretMatchingPlus(2)
    >>> player.observe_utility([1.0, 0.0])
    >>> player.expect_utility([0.0, 2.0])
    >>> player.next_strategy()
    array([0., 1.])

    References
    ----------
    Farina, Kroer and Sandholm (2021), "Faster game solving via predictive Blackwell
    approachability: connecting regret matching and mirror descent", AAAI.
    """

    optimistic: bool = field(default=True, init=False, repr=False, metadata=NOT_STATE)


@define(eq=False)
class PredictiveDiscountedRegretMatchingPlus(DiscountedRegretMatchingPlus):
    """Discounted regret matching+ that adds predicted regrets before it plays.

    With m the predicted utility, by default the last one, x' the last strategy, s = t - 1 in
    iteration t and d = s^alpha / (s^alpha + 1),

        x  =  [Q d + v]+ / sum [Q d + v]+,    v = m - <m, x'>
        Q <-  [Q d + u - <u, x>]+

    It is what PDCFR+ plays at every decision point. With alpha = inf nothing is discounted, and it
    is ``PredictiveRegretMatchingPlus``. For alpha >= 1 and weights ``t^p`` with p >= 1, the
    weighted regret is at most ``T^p sqrt(sum_t |g_t - v_t|^2)``, with g = u - <u, x>.

    Parameters
    ----------
    alpha
        Exponent, any number or plus or minus infinity; infinite ones are the limits.

    Examples
    --------
    Q is discounted by half when the prediction is added to it:

    >>> player = PredictiveDiscountedRegretMatchingPlus(2, alpha=1.0)
    >>> player.observe_utility([2.0, 0.0])
    >>> player.expect_utility([0.0, 1.0])
    >>> player.next_strategy()
    array([0., 1.])

    References
    ----------
    Xu, Li, Liu, Fu, Fu, Xing and Cheng (2024), "Minimizing weighted counterfactual regret with
    optimistic online mirror descent", IJCAI.
    """

    alpha: float = field(default=2.3, validator=extended, kw_only=True)
    shift: float = field(default=1.0, init=False, repr=False, metadata=NOT_STATE)
    optimistic: bool = field(default=True, init=False, repr=False, metadata=NOT_STATE)
