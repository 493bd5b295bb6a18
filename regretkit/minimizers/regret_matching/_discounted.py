"""Discounted regret matching and discounted regret matching+."""

import math
from collections.abc import Mapping
from typing import final

from attrs import define, field
from typing_extensions import override

from regretkit._util._validate import at_least_zero, extended
from regretkit.minimizers.regret_matching._accumulators import (
    Discounted,
    DiscountedNonNegative,
)
from regretkit.minimizers.regret_matching._links import PositivePartLink
from regretkit.minimizers.regret_matching._predictors import NoPrediction
from regretkit.minimizers.regret_matching._rule import ComposedRule, Parts

FORGETFUL = {
    "regret_grows_slowly": "with alpha below 1 it remembers a share of the past that falls to "
    "nothing"
}
_FORGETFUL_AT_FIRST = {
    "regret_grows_slowly": "with a shift above 4 it remembers little of the past, at first or for "
    "ever"
}


@final
@define(eq=False)
class DiscountedRegretMatching(ComposedRule):
    """Regret matching that discounts old regrets, by a factor that depends on their sign.

    Before adding in iteration t, with s = t - 1 and f(e) = 1 / (1 + s^-e),

        x  =  [R]+ / sum [R]+,  uniform when no regret is positive
        R <-  R f(alpha) where R > 0,  R f(beta) elsewhere
        R <-  R + u - <u, x>

    The average is to discount as well: with the default exponents and weights t^2, the weighted
    regret divided by the sum of the weights is at most

        6 Delta (sqrt(n) + 1 / sqrt(T)) / sqrt(T)

    (Theorem 3 of the paper, at a single decision point).

    Nothing is discounted at s = 0. An infinite exponent is the limit: f(inf) = 1 keeps all,
    f(-inf) = 0 drops all, so that (inf, inf) is :class:`RegretMatching` and (inf, -inf) plays
    as :class:`RegretMatchingPlus` does: what is negative is forgotten one iteration later, which
    no strategy shows.

    Parameters
    ----------
    alpha
        Exponent for positive regrets, any number or plus or minus infinity.
    beta
        Exponent for all other regrets, any number or plus or minus infinity.

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

    alpha: float = field(default=1.5, validator=extended, kw_only=True)
    beta: float = field(default=0.0, validator=extended, kw_only=True)

    @override
    def exemptions(self) -> Mapping[str, str]:
        if self.alpha >= 1.0:
            return {}
        return {
            "regret_grows_slowly": "with alpha below 1 it remembers a share of the past that falls "
            "to nothing"
        }

    @override
    def _parts(self) -> Parts:
        accumulator = Discounted(alpha=self.alpha, beta=self.beta)
        return accumulator, NoPrediction(), PositivePartLink()


@final
@define(eq=False)
class DiscountedRegretMatchingPlus(ComposedRule):
    """Regret matching+ that discounts old regrets.

    In iteration t, with s = t - 1,

        x  =  Q / sum Q,  uniform when Q = 0
        Q <-  [Q s^alpha / (s^alpha + shift) + u - <u, x>]+

    It is what DCFR+ plays at every decision point. With alpha = inf, or with shift = 0, nothing
    is discounted, and it is :class:`RegretMatchingPlus`.

    With weights that increase at least as fast as the discounts, ``w_t >= w_(t-1) (1 + shift /
    s^alpha)``, the weighted regret is at most ``w_T sqrt(sum_t |u_t - <u_t, x_t>|^2)``, since Q
    is then at least the regret discounted by w. For alpha >= 1 these are the weights ``t^p`` with
    p >= max(1, shift).

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
    implementations read 1 in the paper, whose own text could not be checked.
    """

    alpha: float = field(default=1.5, validator=extended, kw_only=True)
    shift: float = field(default=1.5, validator=at_least_zero, kw_only=True)

    @override
    def exemptions(self) -> Mapping[str, str]:
        if self.shift == 0.0 or self.alpha == math.inf:
            return {}
        if self.alpha < 1.0:
            return FORGETFUL
        return _FORGETFUL_AT_FIRST if self.shift > 4.0 else {}

    @override
    def _parts(self) -> Parts:
        accumulator = DiscountedNonNegative(alpha=self.alpha, shift=self.shift)
        return accumulator, NoPrediction(), PositivePartLink()
