"""Regret matching, regret matching+ and linear regret matching."""

from typing import final

from attrs import define
from typing_extensions import override

from regretkit.minimizers.regret_matching._accumulators import (
    Cumulative,
    LinearAccumulator,
    NonNegative,
)
from regretkit.minimizers.regret_matching._links import PositivePartLink
from regretkit.minimizers.regret_matching._predictors import NoPrediction
from regretkit.minimizers.regret_matching._rule import ComposedRule, Parts


@final
@define(eq=False)
class RegretMatching(ComposedRule):
    """Regret matching: play each action in proportion to its positive regret.

        x  =  [R]+ / sum [R]+,  uniform when no regret is positive
        R <-  R + u - <u, x>

    Over T iterations with n actions and utilities in a range of Delta, the regret is at most
    ``Delta sqrt(n T)``, and never more than the root of the sum of ``|u - <u, x>|^2``. With weights
    that never increase the weighted regret is at most

        Delta sqrt(n) sum_t w_t (sqrt(t) - sqrt(t - 1)),

    which vanishes relative to the sum of the weights if that sum is infinite, as it is for ``t^p``
    with p from -1 to 0. With increasing weights nothing is guaranteed: the regret with w_t = t can
    stay at half of the range.

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

    @override
    def _parts(self) -> Parts:
        return Cumulative(), NoPrediction(), PositivePartLink()


@final
@define(eq=False)
class RegretMatchingPlus(ComposedRule):
    """Regret matching+: negative regret is dropped in every iteration.

        x  =  Q / sum Q,  uniform when Q = 0
        Q <-  [Q + u - <u, x>]+

    An action with low utilities for a long time is played again as soon as its utility exceeds the
    value of the current strategy. The regret bound is that of :class:`RegretMatching`, for weights
    that never increase as well. With weights that never decrease the weighted regret is at most

        w_T sqrt(sum_t |u_t - <u_t, x_t>|^2),

    so that with ``w_t = t^p`` and p >= 0, relative to the sum of the weights, it is at most
    ``(p + 1) Delta sqrt(n / T)``. Powers from -1 to 0 keep it vanishing, more slowly from -1/2
    down; no rule has such a guarantee below -1. In zero-sum games the average usually converges
    much faster than that of :class:`RegretMatching`.

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

    @override
    def _parts(self) -> Parts:
        return NonNegative(), NoPrediction(), PositivePartLink()


@final
@define(eq=False)
class LinearRegretMatching(ComposedRule):
    """Regret matching in which iteration t counts t times.

        x  =  [R]+ / sum [R]+,  uniform when no regret is positive
        R <-  R + t (u - <u, x>)

    It plays the same strategies as :class:`DiscountedRegretMatching` with exponents 1 and 1,
    whose regrets are these divided by t. The regret with weights w_t = t, divided by their sum, is
    at most ``2 Delta sqrt(n / (3 T))``, the bound of :class:`RegretMatching` for utilities t u. The
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

    @override
    def _parts(self) -> Parts:
        return LinearAccumulator(), NoPrediction(), PositivePartLink()
