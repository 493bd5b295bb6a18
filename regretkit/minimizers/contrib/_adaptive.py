"""Regret matching with scheduled discounts, weighted predictions, or nondecreasing norms."""

import numpy as np
from attrs import define, field

from regretkit._state import NOT_STATE
from regretkit._util._typing import Vector
from regretkit._util._validate import at_least_one, at_least_zero, positive
from regretkit.minimizers._regret_matching import (
    PredictiveRegretMatchingPlus,
    RegretRule,
    discount,
)
from regretkit.minimizers._simplex_rule import state
from regretkit.sets import Simplices


@define(eq=False)
class HSDiscountedRegretMatching(RegretRule):
    """Discounted regret matching with scheduled exponents: the rule of HS-DCFR.

    In iteration t, with s = t - 1, p = min(1, s / horizon) and f(e) = 1 / (1 + s^-e), and f = 1 for
    s = 0,

        x  =  [R]+ / sum [R]+,  uniform when no regret is positive
        R <-  R f(1 + 3 p) where R > 0,  R f(-1 - 2 p) elsewhere
        R <-  R + u - <u, x>

    Use it with the averaging scheme ``HorizonPower``.

    Parameters
    ----------
    horizon
        Planned number of iterations, at least 1.

    Examples
    --------
    >>> player = HSDiscountedRegretMatching(2, horizon=100)
    >>> for utility in ([2.0, 0.0], [0.0, 0.0]):
    ...     player.observe_utility(utility)
    >>> player.regrets
    array([ 0.5, -0.5])

    References
    ----------
    Zhang, McAleer and Sandholm (2026), "Faster game solving via hyperparameter schedules", AAAI,
    arXiv:2404.09097, equation 4.
    """

    scale_free = True

    horizon: int = field(validator=at_least_one, kw_only=True)

    def accumulate(self, regrets: Vector, regret: Vector, t: int) -> Vector:
        progress = min((t - 1) / self.horizon, 1.0)
        positive = discount(t - 1, 1.0 + 3.0 * progress)
        other = discount(t - 1, -1.0 - 2.0 * progress)
        return self.simplices.add(regrets * np.where(regrets > 0.0, positive, other), regret)


@define(eq=False)
class AsymmetricRegretMatchingPlus(PredictiveRegretMatchingPlus):
    """Predictive regret matching+ with a constant weight of predictions: the rule of SAPCFR+.

    With m the predicted utility, by default the last one, and x' the last strategy,

        x  =  [Q + weight v]+ / sum [Q + weight v]+,    v = m - <m, x'>
        Q <-  [Q + g]+,    g = u - <u, x>

    Weight 0 gives ``RegretMatchingPlus``, and weight 1 ``PredictiveRegretMatchingPlus``. The regret
    is at most ``sqrt(sum_t |g_t - weight v_t|^2)``.

    Parameters
    ----------
    weight
        Weight of predictions, at least 0; ``1 / (1 + alpha)`` in the paper.

    Examples
    --------
    >>> player = AsymmetricRegretMatchingPlus(2, weight=0.5)
    >>> player.observe_utility([2.0, 0.0])
    >>> player.expect_utility([0.0, 2.0])
    >>> player.next_strategy()
    array([0.5, 0.5])

    References
    ----------
    Meng, Yang, Zhang, Ge and Gao (2026), "Faster game solving via asymmetry of step sizes", AAAI,
    arXiv:2503.12770.
    """

    weight: float = field(default=1.0 / 3.0, validator=at_least_zero, kw_only=True)

    @property
    def no_guarantee(self) -> str:
        reason = "with a weight above 1 predictions outweigh utilities"
        return reason if self.weight > 1.0 else ""

    def _propose(self) -> Vector:
        expected = self.weight * self.predicted_regrets
        return self.link(self.accumulate(self.regrets, expected, self.iteration + 1))


@define(eq=False)
class AdaptiveAsymmetricRegretMatchingPlus(PredictiveRegretMatchingPlus):
    """Predictive regret matching+ with an adaptive weight of predictions: the rule of APCFR+.

    With m the predicted utility, by default the last one, and x' the last strategy,

        x  =  [Q + v / (1 + alpha)]+ / sum [Q + v / (1 + alpha)]+,    v = m - <m, x'>
        Q <-  [Q + g]+,    g = u - <u, x>
        alpha = min(sqrt(E / S), limit),  E = sum |g - v|^2,  S = sum |change of Q|^2

    The sums E and S are over the iterations so far. While S is 0, alpha is the limit. The regret is
    at most ``sqrt(sum_t |g_t - v_t / (1 + alpha_t)|^2)``.

    Parameters
    ----------
    limit
        The largest alpha, positive.

    Attributes
    ----------
    prediction_weight
        ``1 / (1 + alpha)``, shape ``(blocks,)``.
    errors, steps
        ``sqrt(E)`` and ``sqrt(S)``, shape ``(blocks,)``.

    Examples
    --------
    The first prediction was 0, so E = |g|^2 = 2. Q changed by [1, 0], so S = 1 and alpha = sqrt(2):

    >>> player = AdaptiveAsymmetricRegretMatchingPlus(2)
    >>> player.observe_utility([2.0, 0.0])
    >>> player.prediction_weight.round(3)
    array([0.414])

    References
    ----------
    Meng, Yang, Zhang, Ge and Gao (2026), "Faster game solving via asymmetry of step sizes", AAAI,
    equation 3; arXiv:2503.12770.
    """

    limit: float = field(default=5.0, validator=positive, kw_only=True)

    prediction_weight: Vector = state("block", start=None)
    errors: Vector = state("block")
    steps: Vector = state("block")

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        self.prediction_weight = np.full(self.simplices.blocks, 1.0 / (1.0 + self.limit))

    def _propose(self) -> Vector:
        expected = self.simplices.repeat(self.prediction_weight) * self.predicted_regrets
        return self.link(self.accumulate(self.regrets, expected, self.iteration + 1))

    def _learn(self, utility: Vector, strategy: Vector) -> None:
        regrets, expected = self.regrets, self.predicted_regrets
        super()._learn(utility, strategy)
        # Store roots of the sums of squares: the sums themselves could overflow.
        self.steps = hypot_accumulate(self.steps, self.simplices.norm(self.regrets - regrets))
        missed = self.simplices.norm(self.predicted_regrets - expected)
        self.errors = hypot_accumulate(self.errors, missed)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            # While steps is 0 the quotient is inf or nan, and fmin returns the limit.
            alpha = np.fmin(self.errors / self.steps, self.limit)
        self.prediction_weight = 1.0 / (1.0 + alpha)


@define(eq=False)
class IREGPredictiveRegretMatchingPlus(RegretRule):
    """Predictive regret matching+ in which the norm of the regrets never decreases.

    With m the predicted utility, by default the last one, and x' the last strategy,

        x  =  [Q + v]+ / sum [Q + v]+,    v = m - <m, x'>
        Q <-  [Q + g + c]+,    g = u - <u, x>

    where c = 0 if ``|[Q + g]+| >= |Q|``, and otherwise c solves ``|[Q + g + c]+| = |Q|``.

    The step size is 1 over the norm, so it never increases. The rule has no parameter and does not
    depend on the unit of utility. Its last iterate converges in zero-sum matrix games. The regret
    is at most ``sqrt(sum_t |g_t - v_t|^2)``.

    Examples
    --------
    After a wrong prediction, c = 3 keeps the norm of Q at 5. With c = 0 it would be 1:

    >>> player = IREGPredictiveRegretMatchingPlus(2)
    >>> player.observe_utility([10.0, 0.0])
    >>> player.regrets
    array([5., 0.])
    >>> player.expect_utility([0.0, 20.0])
    >>> player.observe_utility([0.0, 4.0])
    >>> player.regrets
    array([4., 3.])

    References
    ----------
    Zhang, Anagnostides and Sandholm (2025), "Scale-invariant regret matching and online learning
    with optimal convergence: bridging theory and practice in zero-sum games", arXiv:2510.04407,
    whose IREG-PRM+ has this invariant. The constant c is reconstructed from the abstract, and their
    rule may differ.
    """

    scale_free = True

    optimistic: bool = field(default=True, init=False, repr=False, metadata=NOT_STATE)

    def accumulate(self, regrets: Vector, regret: Vector, t: int) -> Vector:
        moved, lengths = self.simplices.add(regrets, regret), self.simplices.norm(regrets)
        kept = np.maximum(moved, 0.0)
        shorter = np.flatnonzero(self.simplices.norm(kept) < lengths)
        if shorter.size:
            coordinates = self.simplices.coordinates(shorter)
            reduced = Simplices(self.simplices.sizes[shorter])
            kept[coordinates] = restore_norm(reduced, moved[coordinates], lengths[shorter])
        return kept

    def _propose(self) -> Vector:  # without the constant c
        return self.link(self.simplices.add(self.regrets, self.predicted_regrets))


@define(eq=False)
class VolatilityAdaptiveRegretMatching(RegretRule):
    """Discounted regret matching whose exponents follow the size of regrets: the rule of VAD-CFR.

    In iteration t, with g = u - <u, x>, and h = g with positive entries multiplied by 1.1,

        m  <-  0.9 m + 0.1 max |g|,    m = max |g| for t = 1
        v  =  min(1, m / 2)
        d(R)  =  R f(1.5 - v / 2) where R >= 0,  R f(-0.1 - v / 2) elsewhere
        R  <-  max(d(R) + h, -20)
        x  =  [d(R) + o h]+^1.5 / sum,    o = (1 - v / 2) / (1 + (t - 1) / 100)

    with f(e) = 1 / (1 + t^-e). Constants are in units of payoff, so the rule suits payoffs of a few
    units. The paper searched for it by programs that write programs. No bound is known.

    Attributes
    ----------
    magnitude
        m, shape ``(blocks,)``.

    Examples
    --------
    >>> player = VolatilityAdaptiveRegretMatching(2)
    >>> player.observe_utility([1.0, 0.0])
    >>> player.regrets, player.magnitude
    (array([ 0.55, -0.5 ]), array([0.5]))
    >>> player.next_strategy()
    array([1., 0.])

    References
    ----------
    Li, Schultz, Hennes and Lanctot (2026), "Discovering multiagent learning algorithms with large
    language models", arXiv:2602.16928, listing 5 of its second version, with one m for each
    information set.
    """

    expected: Vector = state()
    magnitude: Vector = state("block")

    def accumulate(self, regrets: Vector, regret: Vector, t: int) -> Vector:
        volatility = np.minimum(self.magnitude / 2.0, 1.0)
        kept, other = (
            self.simplices.repeat(1.0 / (1.0 + np.power(1.0 * t, volatility / 2.0 - base)))
            for base in (1.5, -0.1)
        )
        boosted = np.where(regret > 0.0, 1.1 * regret, regret)
        return np.maximum(regrets * np.where(regrets >= 0.0, kept, other) + boosted, -20.0)

    def link(self, regrets: Vector) -> Vector:
        return self.simplices.normalize(np.maximum(regrets, 0.0) ** 1.5)

    def _propose(self) -> Vector:
        # The listing discounts R a second time, with the exponents and t of the last iteration.
        return self.link(self.accumulate(self.regrets, self.expected, max(self.iteration, 1)))

    def _learn(self, utility: Vector, strategy: Vector) -> None:
        regret = self.simplices.regret(utility, strategy)
        size = self.simplices.max(np.abs(regret))
        self.magnitude = np.where(self.iteration == 0, size, 0.9 * self.magnitude + 0.1 * size)
        self.regrets = self.accumulate(self.regrets, regret, self.iteration + 1)
        optimism = 1.0 - np.minimum(self.magnitude / 4.0, 0.5)
        optimism /= 1.0 + self.iteration / 100.0
        self.expected = self.simplices.repeat(optimism) * regret


def restore_norm(simplices: Simplices, vector: Vector, lengths: Vector) -> Vector:
    """Return ``[v + c]+`` with the c in each block for which its norm is the positive ``length``.

    The norm is convex in c, so Newton's method from above stays above the root.
    """
    # In units of a power of two near the length. Entries 2 lengths below the largest stay at 0.
    target, exponents = np.frexp(lengths)
    units = simplices.repeat(exponents)
    shifted = vector - simplices.repeat(simplices.max(vector))
    shifted = np.ldexp(np.maximum(shifted, -2.0 * simplices.repeat(lengths)), -units)

    def step(descent: Vector) -> Vector:
        raised = np.maximum(shifted + simplices.repeat(target - descent), 0.0)
        length = simplices.norm(raised)
        move: Vector = (length - target) * length / simplices.sum(raised)
        return move

    height = target - simplices.newton(np.zeros(simplices.blocks), step)
    raised: Vector = np.ldexp(np.maximum(shifted + simplices.repeat(height), 0.0), units)
    return raised


def hypot_accumulate(left: Vector, right: Vector) -> Vector:
    """Return ``sqrt(left^2 + right^2)`` of nonnegative numbers, elementwise."""
    high, length = np.maximum(left, right), np.minimum(left, right)
    with np.errstate(under="ignore", invalid="ignore"):
        length /= high
        length *= length
        length += 1.0
        np.sqrt(length, out=length)
        length *= high
    # 0 / 0 gives nan, which fmax replaces by high = 0.
    return np.fmax(length, high, out=length)
