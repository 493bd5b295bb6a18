"""Discounted regret matching+, and its predictive form."""

import math
from collections.abc import Mapping
from typing import final

from attrs import define, field
from typing_extensions import override

from regretkit._util._validate import at_least_zero, extended
from regretkit.minimizers.by_roles import AbstractByRoles
from regretkit.minimizers.memories import DiscountedPlus
from regretkit.minimizers.playing import Proportional
from regretkit.minimizers.predictors import LastUtility, NoPrediction
from regretkit.minimizers.roles import Memory, PlayingRule, Predictor

_FORGETFUL = {
    "regret_grows_slowly": "with alpha below 1 it remembers a share of the past that falls to "
    "nothing"
}
_FORGETFUL_AT_FIRST = {
    "regret_grows_slowly": "with a shift above 4 it remembers little of the past, at first or for "
    "ever"
}


@final
@define(eq=False)
class DiscountedRegretMatchingPlus(AbstractByRoles):
    """Regret matching+ whose old regrets fade.

    In iteration t, with s = t - 1,

        x  =  Q / sum Q,  uniform when Q = 0
        Q <-  [Q s^alpha / (s^alpha + shift) + u - <u, x>]+

    It is what DCFR+ plays at every decision point. With alpha = inf, or with shift = 0, nothing
    fades, and it is :class:`RegretMatchingPlus`.

    With weights that increase at least as fast as the discounts, ``w_t >= w_(t-1) (1 + shift /
    s^alpha)``, the weighted regret is at most ``w_T sqrt(sum_t |u_t - <u_t, x_t>|^2)``, since Q
    is then at least the regret discounted by w. For alpha >= 1 these are the weights ``t^p`` with
    p >= max(1, shift).

    Parameters
    ----------
    simplices
        Where to play: a number of actions n, several of them, or ``Simplices``.
    alpha
        Exponent, any number or plus or minus infinity; infinite ones are the limits.
    shift
        How strongly old regrets fade at first, at least 0.

    Raises
    ------
    TypeError, ValueError
        When ``simplices`` is none of these, a number of actions is below 1, ``alpha`` is not a
        number, or ``shift`` is not finite or below 0.

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
    implementations read 1 in the paper, whose own text could not be checked.
    """

    alpha: float = field(default=1.5, validator=extended, kw_only=True)
    shift: float = field(default=1.5, validator=at_least_zero, kw_only=True)

    @override
    def exemptions(self) -> Mapping[str, str]:
        if self.shift == 0.0 or self.alpha == math.inf:
            return {}
        if self.alpha < 1.0:
            return _FORGETFUL
        return _FORGETFUL_AT_FIRST if self.shift > 4.0 else {}

    @override
    def _roles(self) -> tuple[Memory, Predictor, PlayingRule]:
        memory = DiscountedPlus(alpha=self.alpha, shift=self.shift)
        return memory, NoPrediction(), Proportional()


@final
@define(eq=False)
class PredictiveDiscountedRegretMatchingPlus(AbstractByRoles):
    """Discounted regret matching+ that adds the regrets it expects before it plays.

    With m the utility expected, by default the last one, x' the last strategy, s = t - 1 in
    iteration t and d = s^alpha / (s^alpha + 1),

        x  =  [Q d + v]+ / sum [Q d + v]+,    v = m - <m, x'>
        Q <-  [Q d + u - <u, x>]+

    It is what PDCFR+ plays at every decision point. With alpha = inf nothing fades, and it is
    :class:`PredictiveRegretMatchingPlus`. For alpha >= 1 and weights ``t^p`` with p >= 1, the
    weighted regret is at most ``T^p sqrt(sum_t |g_t - v_t|^2)``, with g = u - <u, x>.

    Parameters
    ----------
    simplices
        Where to play: a number of actions n, several of them, or ``Simplices``.
    alpha
        Exponent, any number or plus or minus infinity; infinite ones are the limits.

    Raises
    ------
    TypeError, ValueError
        When ``simplices`` is none of these, a number of actions is below 1, or ``alpha`` is not
        a number.

    Examples
    --------
    What is remembered has faded by half when the prediction is added to it:

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
        return {} if self.alpha >= 1.0 else _FORGETFUL

    @override
    def _roles(self) -> tuple[Memory, Predictor, PlayingRule]:
        return DiscountedPlus(alpha=self.alpha), LastUtility(), Proportional()
