"""Predictive regret matching+ with the tip of the cone cut off, so that it never jumps."""

from typing import final

from attrs import define, field
from typing_extensions import override

from regretkit._util._validate import positive
from regretkit.minimizers.by_roles import AbstractByRoles
from regretkit.minimizers.memories_smooth import Smooth, SmoothCorrected
from regretkit.minimizers.playing import SmoothProportional
from regretkit.minimizers.predictors import LastUtility, Weighted
from regretkit.minimizers.roles import Memory, PlayingRule, Predictor


@final
@define(eq=False)
class SmoothPredictiveRegretMatchingPlus(AbstractByRoles):
    """Predictive regret matching+ on the orthant without its tip.

    With P(z) the nearest point of ``{z >= 0, sum z >= 1}``, m the utility expected, by default
    the last one, and x' the last strategy, starting from Q = 1/n,

        x  =  P(Q + rate v) / sum P(Q + rate v),    v = m - <m, x'>
        Q <-  P(Q + rate (u - <u, x>))

    Once regrets are large it plays as :class:`PredictiveRegretMatchingPlus`. In self-play with
    simultaneous updates and a small rate its last iterate converges in zero-sum matrix games,
    which that of the other does not. The regret is at most ``(1 - 1/n) / (2 rate)`` plus
    ``rate / 2`` times the sum of ``|g - v|^2``.

    Parameters
    ----------
    simplices
        Where to play: a number of actions n, several of them, or ``Simplices``.
    rate
        Learning rate eta, positive, in one over the unit of utility.

    Raises
    ------
    TypeError, ValueError
        When ``simplices`` is none of these, a number of actions is below 1, or ``rate`` is not
        positive and finite.

    Examples
    --------
    >>> player = SmoothPredictiveRegretMatchingPlus(2, rate=0.25)
    >>> player.observe_utility([1.0, 0.0])
    >>> player.regrets
    array([0.625, 0.375])
    >>> player.next_strategy()
    array([0.75, 0.25])

    References
    ----------
    Farina, Grand-Clement, Kroer, Lee and Luo (2023), "Regret matching+: (in)stability and fast
    convergence in games", NeurIPS. Cai, Farina, Grand-Clement, Kroer, Lee, Luo and Zheng (2025),
    "Last-iterate convergence properties of regret-matching algorithms in games", ICLR. The rule
    is that of the code of Meng et al. (2025), NeurIPS, who compare with it.
    """

    rate: float = field(validator=positive, kw_only=True)

    @override
    def _roles(self) -> tuple[Memory, Predictor, PlayingRule]:
        predictor = Weighted(LastUtility(), weight=self.rate)
        return Smooth(rate=self.rate), predictor, SmoothProportional()


@final
@define(eq=False)
class SmoothOptimisticRegretMatchingPlus(AbstractByRoles):
    """Smooth regret matching+ by optimistic gradients, one projection an iteration.

    With P(z) the nearest point of ``{z >= 0, sum z >= 1}``, m the utility expected, by default
    the last one, and x' the last strategy, starting from Q = 1/n,

        Q^ =  P(Q + rate v),    x = Q^ / sum Q^,    v = m - <m, x'>
        Q <-  Q^ + rate (u - <u, x>) - rate v

    The papers call it SOGRM+. Where :class:`SmoothPredictiveRegretMatchingPlus` adds every regret
    to Q, this adds to what it played from only what the prediction had missed.

    Parameters
    ----------
    simplices
        Where to play: a number of actions n, several of them, or ``Simplices``.
    rate
        Learning rate eta, positive, in one over the unit of utility.

    Raises
    ------
    TypeError, ValueError
        When ``simplices`` is none of these, a number of actions is below 1, or ``rate`` is not
        positive and finite.

    Examples
    --------
    >>> player = SmoothOptimisticRegretMatchingPlus(2, rate=0.25)
    >>> player.observe_utility([1.0, 0.0])
    >>> player.next_strategy()
    array([0.75, 0.25])

    References
    ----------
    Meng, Zhang, Ge, Ding, Yang, Xu, Li and Gao (2025), "Last-iterate convergence of smooth regret
    matching+ variants in learning Nash equilibria", NeurIPS. Their code takes from the first
    utility only a prediction; here it is learned from like every other.
    """

    rate: float = field(validator=positive, kw_only=True)

    @override
    def _roles(self) -> tuple[Memory, Predictor, PlayingRule]:
        predictor = Weighted(LastUtility(), weight=self.rate)
        return SmoothCorrected(rate=self.rate), predictor, SmoothProportional()
