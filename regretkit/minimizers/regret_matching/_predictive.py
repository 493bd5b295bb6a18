"""Predictive regret matching: regret matching that plays against what it expects."""

from collections.abc import Mapping
from typing import final

from attrs import define, field
from typing_extensions import override

from regretkit._util._validate import extended
from regretkit.minimizers.regret_matching._accumulators import (
    Cumulative,
    DiscountedNonNegative,
    NonNegative,
)
from regretkit.minimizers.regret_matching._discounted import FORGETFUL
from regretkit.minimizers.regret_matching._links import PositivePartLink
from regretkit.minimizers.regret_matching._predictors import LastUtilityPrediction
from regretkit.minimizers.regret_matching._rule import ComposedRule, Parts


@final
@define(eq=False)
class PredictiveRegretMatching(ComposedRule):
    """Regret matching that adds the regrets it expects before it plays.

    With m the utility expected, by default the last one, and x' the last strategy,

        x  =  [R + v]+ / sum [R + v]+,    v = m - <m, x'>
        R <-  R + u - <u, x>

    The regret is at most the root of the sum of ``|g - v|^2``, with g the regret that came and
    v the one predicted: small when predictions are good. That holds for the plain regret, and with
    growing weights nothing does.

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

    @override
    def _parts(self) -> Parts:
        return Cumulative(), LastUtilityPrediction(), PositivePartLink()


@final
@define(eq=False)
class PredictiveRegretMatchingPlus(ComposedRule):
    """Regret matching+ that adds the regrets it expects before it plays.

    With m the utility expected, by default the last one, and x' the last strategy,

        x  =  [Q + v]+ / sum [Q + v]+,    v = m - <m, x'>
        Q <-  [Q + u - <u, x>]+

    With weights that never decrease, all equal ones among them, the weighted regret is at most
    ``w_T sqrt(sum_t |g_t - v_t|^2)``, with g the regret that came and v the one predicted.

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

    @override
    def _parts(self) -> Parts:
        return NonNegative(), LastUtilityPrediction(), PositivePartLink()


@final
@define(eq=False)
class PredictiveDiscountedRegretMatchingPlus(ComposedRule):
    """Discounted regret matching+ that adds the regrets it expects before it plays.

    With m the utility expected, by default the last one, x' the last strategy, s = t - 1 in
    iteration t and d = s^alpha / (s^alpha + 1),

        x  =  [Q d + v]+ / sum [Q d + v]+,    v = m - <m, x'>
        Q <-  [Q d + u - <u, x>]+

    It is what PDCFR+ plays at every decision point. With alpha = inf nothing is discounted, and it
    is :class:`PredictiveRegretMatchingPlus`. For alpha >= 1 and weights ``t^p`` with p >= 1, the
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

    @override
    def exemptions(self) -> Mapping[str, str]:
        return {} if self.alpha >= 1.0 else FORGETFUL

    @override
    def _parts(self) -> Parts:
        return DiscountedNonNegative(alpha=self.alpha), LastUtilityPrediction(), PositivePartLink()
