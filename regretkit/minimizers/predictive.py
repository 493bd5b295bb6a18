"""Predictive regret matching: regret matching that plays against what it expects."""

from typing import final

from attrs import define
from typing_extensions import override

from regretkit.minimizers.by_roles import AbstractByRoles
from regretkit.minimizers.memories import Cumulative, Plus
from regretkit.minimizers.playing import Proportional
from regretkit.minimizers.predictors import LastUtility
from regretkit.minimizers.roles import Memory, PlayingRule, Predictor


@final
@define(eq=False)
class PredictiveRegretMatching(AbstractByRoles):
    """Regret matching that adds the regrets it expects before it plays.

    With m the utility expected, by default the last one, and x' the last strategy,

        x  =  [R + v]+ / sum [R + v]+,    v = m - <m, x'>
        R <-  R + u - <u, x>

    The regret is at most the root of the sum of ``|g - v|^2``, with g the regret that came and
    v the one predicted: small when predictions are good. That holds for the plain regret, and with
    growing weights nothing does.

    Parameters
    ----------
    simplices
        Where to play: a number of actions n, several of them, or ``Simplices``.

    Raises
    ------
    TypeError, ValueError
        When ``simplices`` is none of these, or a number of actions is below 1.

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
    def _roles(self) -> tuple[Memory, Predictor, PlayingRule]:
        return Cumulative(), LastUtility(), Proportional()


@final
@define(eq=False)
class PredictiveRegretMatchingPlus(AbstractByRoles):
    """Regret matching+ that adds the regrets it expects before it plays.

    With m the utility expected, by default the last one, and x' the last strategy,

        x  =  [Q + v]+ / sum [Q + v]+,    v = m - <m, x'>
        Q <-  [Q + u - <u, x>]+

    With weights that never decrease, all equal ones among them, the weighted regret is at most
    ``w_T sqrt(sum_t |g_t - v_t|^2)``, with g the regret that came and v the one predicted.

    Parameters
    ----------
    simplices
        Where to play: a number of actions n, several of them, or ``Simplices``.

    Raises
    ------
    TypeError, ValueError
        When ``simplices`` is none of these, or a number of actions is below 1.

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
    def _roles(self) -> tuple[Memory, Predictor, PlayingRule]:
        return Plus(), LastUtility(), Proportional()
