"""The regret matching family: rules of an ``accumulate`` and a ``link``."""

import math

import numpy as np
from attrs import define, field

from regretkit._state import NOT_STATE
from regretkit._util._typing import Vector
from regretkit._util._validate import at_least_zero, extended, truth
from regretkit.minimizers._simplex_rule import SimplexRule, state


@define(eq=False)
class RegretRule(SimplexRule):
    """Base class of rules that accumulate regrets and link them to a strategy.

    From R = 0, in iteration t

        x  =  link(R)
        R <-  accumulate(R, g, t),    g = u - <u, x>

    The optimistic form first accumulates a predicted regret v. With m the predicted utility, by
    default the last utility, and x' the last strategy,

        x  =  link(accumulate(R, v, t)),    v = m - <m, x'>

    Subclasses override ``accumulate`` and ``link``, which must not change their arguments. The
    defaults are those of regret matching, ``R + g`` and ``[R]+ / sum [R]+``.

    Parameters
    ----------
    simplices
        A number of actions, a sequence with one number for each block, or ``Simplices``.
    optimistic
        Whether to use the optimistic form.

    Attributes
    ----------
    regrets
        R, shape ``(dimension,)``.
    predicted_regrets, last_strategy
        v and x' of the optimistic form, shape ``(dimension,)``; at first zero and uniform.

    Examples
    --------
    Regret matching with squares of positive regrets:

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
        """Return R after iteration ``t`` (1, 2, ...) with the given ``regret``; a new array."""
        return self.simplices.add(regrets, regret)

    def link(self, regrets: Vector) -> Vector:
        """Return the strategy for the cumulative regrets R, a new array."""
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
    """Return the factor ``1 / (1 + shift s^-exponent)`` after s = ``passed`` iterations.

    For s = 0 and a finite exponent it is 1.

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
    except OverflowError:  # s^-exponent exceeds the largest float
        return 0.0


_FORGETFUL = "with alpha below 1 the weight of early regrets converges to 0"


@define(eq=False)
class RegretMatching(RegretRule):
    """Regret matching: play each action in proportion to its positive regret.

        x  =  [R]+ / sum [R]+,  uniform when no regret is positive
        R <-  R + u - <u, x>

    Regret bounds, for T iterations, n actions, utilities in a range of Delta and g = u - <u, x>:

    - The regret is at most ``sqrt(sum_t |g_t|^2)``, which is at most ``Delta sqrt(n T)``.
    - With weights w_t that never increase, the weighted regret is at most
      ``Delta sqrt(n) sum_t w_t (sqrt(t) - sqrt(t - 1))``. Relative to the sum of the weights it
      converges to 0 if that sum is infinite, as for ``t^p`` with p from -1 to 0.
    - With increasing weights there is no bound: with w_t = t, the weighted mean of the regret can
      stay at half of the range.

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
    """Regret matching+: set negative cumulative regrets to zero in every iteration.

        x  =  Q / sum Q,  uniform when Q = 0
        Q <-  [Q + u - <u, x>]+

    The rule plays an action again as soon as its utility exceeds the value of the strategy, even
    after a long time of low utilities. In zero-sum games its average usually converges much faster
    than that of ``RegretMatching``.

    The regret bounds of ``RegretMatching`` hold. With weights that never decrease, the weighted
    regret is at most ``w_T sqrt(sum_t |u_t - <u_t, x_t>|^2)``. With ``w_t = t^p`` and p >= 0,
    divided by the sum of the weights, this is at most ``(p + 1) Delta sqrt(n / T)``.

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
    """Regret matching in which iteration t has weight t.

        x  =  [R]+ / sum [R]+,  uniform when no regret is positive
        R <-  R + t (u - <u, x>)

    It plays the same strategies as ``DiscountedRegretMatching`` with exponents 1 and 1, whose
    regrets are these divided by t. The regret with weights w_t = t, divided by their sum, is at
    most ``2 Delta sqrt(n / (3 T))``: the bound of ``RegretMatching`` for utilities t u. Use
    the average with the same weights, ``Linear``.

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
    """Regret matching that discounts positive and other regrets by different factors.

    In iteration t, with s = t - 1 and f(e) = 1 / (1 + s^-e), and f = 1 for s = 0,

        x  =  [R]+ / sum [R]+,  uniform when no regret is positive
        R <-  R f(alpha) where R > 0,  R f(beta) elsewhere
        R <-  R + u - <u, x>

    With the default exponents and an average with weights t^2, the weighted regret divided by the
    sum of the weights is at most ``6 Delta (sqrt(n) + 1 / sqrt(T)) / sqrt(T)`` (Theorem 3 of the
    paper, at a single decision point).

    Infinite exponents are limits: f(inf) = 1 and f(-inf) = 0. Exponents (inf, inf) give
    ``RegretMatching``. Exponents (inf, -inf) give the strategies of ``RegretMatchingPlus``: they
    drop negative regrets one iteration later, which does not affect strategies.

    Parameters
    ----------
    alpha
        Exponent for positive regrets, any number, also infinite.
    beta
        Exponent for other regrets, any number, also infinite.

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
    minimization", AAAI. The paper discounts after adding, not before. This scales all positive
    regrets by the same factor, so the strategies are the same.
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
    """Regret matching+ that discounts earlier regrets: the rule of DCFR+.

    In iteration t, with s = t - 1,

        x  =  Q / sum Q,  uniform when Q = 0
        Q <-  [Q s^alpha / (s^alpha + shift) + u - <u, x>]+

    With alpha = inf or shift = 0 it is ``RegretMatchingPlus``.

    For weights that increase as fast as the discounts, ``w_t >= w_(t-1) (1 + shift / s^alpha)``,
    the weighted regret is at most ``w_T sqrt(sum_t |u_t - <u_t, x_t>|^2)``. If alpha >= 1, the
    weights ``t^p`` with p >= max(1, shift) satisfy this.

    Parameters
    ----------
    alpha
        Exponent of the discount, any number; infinite values are limits.
    shift
        Strength of the discount, at least 0.

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
    optimistic online mirror descent", IJCAI. The default shift is that of the authors' code; other
    implementations use 1.
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
        return "with a shift above 4 early discounts are too strong" if self.shift > 4.0 else ""

    def accumulate(self, regrets: Vector, regret: Vector, t: int) -> Vector:
        kept = regrets * discount(t - 1, self.alpha, self.shift)
        return np.maximum(self.simplices.add(kept, regret), 0.0)


@define(eq=False)
class PredictiveRegretMatching(RegretMatching):
    """Regret matching with predictions.

    With m the predicted utility, by default the last one, and x' the last strategy,

        x  =  [R + v]+ / sum [R + v]+,    v = m - <m, x'>
        R <-  R + g,    g = u - <u, x>

    The regret is at most ``sqrt(sum_t |g_t - v_t|^2)``, which is small for good predictions. There
    is no such bound with increasing weights.

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
    """Regret matching+ with predictions.

    With m the predicted utility, by default the last one, and x' the last strategy,

        x  =  [Q + v]+ / sum [Q + v]+,    v = m - <m, x'>
        Q <-  [Q + g]+,    g = u - <u, x>

    With weights that never decrease, such as equal weights, the weighted regret is at most
    ``w_T sqrt(sum_t |g_t - v_t|^2)``.

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
    """Discounted regret matching+ with predictions: the rule of PDCFR+.

    With m the predicted utility, by default the last one, x' the last strategy, s = t - 1 in
    iteration t and d = s^alpha / (s^alpha + 1),

        x  =  [Q d + v]+ / sum [Q d + v]+,    v = m - <m, x'>
        Q <-  [Q d + g]+,    g = u - <u, x>

    With alpha = inf it is ``PredictiveRegretMatchingPlus``. If alpha >= 1 and p >= 1, the regret
    with weights ``t^p`` is at most ``T^p sqrt(sum_t |g_t - v_t|^2)``.

    Parameters
    ----------
    alpha
        Exponent of the discount, any number; infinite values are limits.

    Examples
    --------
    The discount halves Q before the prediction is added:

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
