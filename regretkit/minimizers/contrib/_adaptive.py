"""Regret matching with scheduled discounts, weighted predictions, or a norm that never falls."""

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
    """Discounted regret matching whose exponents change from iteration to iteration.

    In iteration t, with s = t - 1, p = s / horizon and f(e) = 1 / (1 + s^-e),

        x  =  [R]+ / sum [R]+,  uniform when no regret is positive
        R <-  R f(1 + 3 p) where R > 0,  R f(-1 - 2 p) elsewhere
        R <-  R + u - <u, x>

    Nothing is discounted at s = 0, and from iteration horizon + 1 on p is 1. With the averaging
    ``HorizonPower`` it is what HS-DCFR plays at every decision point.

    Parameters
    ----------
    horizon
        Number of iterations planned, at least 1.

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
    """Predictive regret matching+ whose predictions count less than what happened.

    With m the predicted utility, by default the last one, and x' the last strategy,

        x  =  [Q + weight v]+ / sum [Q + weight v]+,    v = m - <m, x'>
        Q <-  [Q + u - <u, x>]+

    It is what SAPCFR+ plays at every decision point, with a weight of 1/3.
    With weight 0 it is ``RegretMatchingPlus``, with 1 ``PredictiveRegretMatchingPlus``.
    The regret is at most the root of the sum of ``|g - weight v|^2``.

    Parameters
    ----------
    weight
        How much predictions count, at least 0; ``1 / (1 + alpha)`` in the paper.

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
        reason = "with a weight above 1 it trusts predictions more than utilities"
        return reason if self.weight > 1.0 else ""

    def _propose(self) -> Vector:
        expected = self.weight * self.predicted_regrets
        return self.link(self.accumulate(self.regrets, expected, self.iteration + 1))


@define(eq=False)
class AdaptiveAsymmetricRegretMatchingPlus(PredictiveRegretMatchingPlus):
    """Predictive regret matching+ with a weight of predictions that is learned from their errors.

    With m the predicted utility, by default the last one, and x' the last strategy,

        x  =  [Q + v / (1 + alpha)]+ / sum [Q + v / (1 + alpha)]+,    v = m - <m, x'>
        Q <-  [Q + g]+,    g = u - <u, x>
        alpha = min(sqrt(E / S), limit),  E = sum |g - v|^2,  S = sum |Q's steps|^2

    E and S add up over the iterations so far; alpha is the limit as long as S is 0. It is what
    APCFR+ plays at every decision point. The regret is at most the root of the sum of
    ``|g - v / (1 + alpha)|^2``.

    Parameters
    ----------
    limit
        The largest alpha, positive.

    Attributes
    ----------
    prediction_weight
        ``1 / (1 + alpha)``, shape ``(blocks,)``.
    errors, steps
        The roots of E and S, shape ``(blocks,)``.

    Examples
    --------
    The first regret came unpredicted and moved Q by half of its square, so alpha is sqrt(2):

    >>> player = AdaptiveAsymmetricRegretMatchingPlus(2)
    >>> player.observe_utility([2.0, 0.0])
    >>> player.prediction_weight.round(3)
    array([0.414])

    References
    ----------
    Meng, Yang, Zhang, Ge and Gao (2026), "Faster game solving via asymmetry of step sizes", AAAI,
    arXiv:2503.12770, equations 4 and 10, which have the last regret in place of v.
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
        # Roots of sums of squares: sums of squares could overflow.
        self.steps = hypot_accumulate(self.steps, self.simplices.norm(self.regrets - regrets))
        missed = self.simplices.norm(self.predicted_regrets - expected)
        self.errors = hypot_accumulate(self.errors, missed)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            # Where nothing has moved yet the quotient is infinite, or no number.
            alpha = np.fmin(self.errors / self.steps, self.limit)
        self.prediction_weight = 1.0 / (1.0 + alpha)


@define(eq=False)
class IREGPredictiveRegretMatchingPlus(RegretRule):
    """Predictive regret matching+ in which the norm of the regrets never falls.

    With m the predicted utility, by default the last one, and x' the last strategy,

        x  =  [Q + v]+ / sum [Q + v]+,    v = m - <m, x'>
        Q' =  [Q + g]+,    g = u - <u, x>
        Q' =  [Q + g + c]+  with the c for which |Q'| = |Q|, where Q' would be shorter
        Q <-  Q'

    The norm is one over the step size, so that here step sizes never grow. The rule has no
    hyperparameter and does not depend on the unit of utility, and still its last iterate converges
    in zero-sum matrix games. The regret is at most the root of the sum of ``|g - v|^2``.

    Examples
    --------
    A wrong prediction leads to regret that would shorten Q to [1, 0]:

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
    whose IREG-PRM+ keeps this invariant. The constant added to all regrets is a reconstruction from
    the abstract; their rule may differ.
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

    def _propose(self) -> Vector:  # from Q + v as it is, however short
        return self.link(self.simplices.add(self.regrets, self.predicted_regrets))


def restore_norm(simplices: Simplices, vector: Vector, lengths: Vector) -> Vector:
    """Return the positive parts of these lengths that one number added to each block leaves.

    The norm of ``[v + c]+`` is convex in c: from above, Newton's method stays above. Every length
    is positive.
    """
    # In units of the length, rounded to a power of two; what is further below stays below.
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
    """Return ``sqrt(left^2 + right^2)`` of numbers that are not negative, by elements."""
    high, length = np.maximum(left, right), np.minimum(left, right)
    with np.errstate(under="ignore", invalid="ignore"):
        length /= high
        length *= length
        length += 1.0
        np.sqrt(length, out=length)
        length *= high
    # Zero over zero is no number, and zero has the length zero.
    return np.fmax(length, high, out=length)
