"""Regret matching and its family: one way to play, several ways to remember."""

from collections.abc import Mapping
from typing import final

from attrs import define, field
from typing_extensions import override

from regretkit._util._validate import extended
from regretkit.minimizers.by_roles import AbstractByRoles
from regretkit.minimizers.memories import Cumulative, Discounted, LinearAccumulator, Plus
from regretkit.minimizers.playing import Proportional
from regretkit.minimizers.predictors import NoPrediction
from regretkit.minimizers.roles import Memory, PlayingRule, Predictor


@final
@define(eq=False)
class RegretMatching(AbstractByRoles):
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
    def _roles(self) -> tuple[Memory, Predictor, PlayingRule]:
        return Cumulative(), NoPrediction(), Proportional()


@final
@define(eq=False)
class RegretMatchingPlus(AbstractByRoles):
    """Regret matching that forgives: negative regret is dropped in every iteration.

        x  =  Q / sum Q,  uniform when Q = 0
        Q <-  [Q + u - <u, x>]+

    An action that did badly for a long time is back in play as soon as it earns more than the
    current strategy. The regret bound is that of :class:`RegretMatching`, for weights that never
    increase as well. With weights that never decrease the weighted regret is at most

        w_T sqrt(sum_t |u_t - <u_t, x_t>|^2),

    so that with ``w_t = t^p`` and p >= 0, relative to the sum of the weights, it is at most
    ``(p + 1) Delta sqrt(n / T)``. Powers from -1 to 0 keep it vanishing, more slowly from -1/2
    down; no rule has such a guarantee below -1. In zero-sum games the average usually converges
    much faster than that of :class:`RegretMatching`.

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
    >>> player = RegretMatchingPlus(3)
    >>> player.observe_utility([0.0, 3.0, 0.0])
    >>> player.regrets
    array([0., 2., 0.])

    References
    ----------
    Tammelin (2014), "Solving large imperfect information games using CFR+", arXiv:1407.5042.
    """

    @override
    def _roles(self) -> tuple[Memory, Predictor, PlayingRule]:
        return Plus(), NoPrediction(), Proportional()


@final
@define(eq=False)
class LinearRegretMatching(AbstractByRoles):
    """Regret matching in which iteration t counts t times.

        x  =  [R]+ / sum [R]+,  uniform when no regret is positive
        R <-  R + t (u - <u, x>)

    It plays the same strategies as :class:`DiscountedRegretMatching` with exponents 1 and 1,
    whose regrets are these divided by t. The regret with weights w_t = t, divided by their sum, is
    at most ``2 Delta sqrt(n / (3 T))``, the bound of :class:`RegretMatching` for utilities t u. The
    average to take is the one with these weights.

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
    def _roles(self) -> tuple[Memory, Predictor, PlayingRule]:
        return LinearAccumulator(), NoPrediction(), Proportional()


@final
@define(eq=False)
class DiscountedRegretMatching(AbstractByRoles):
    """Regret matching whose old regrets fade.

    Before adding in iteration t, with s = t - 1 and f(e) = 1 / (1 + s^-e),

        x  =  [R]+ / sum [R]+,  uniform when no regret is positive
        R <-  R f(alpha) where R > 0,  R f(beta) elsewhere
        R <-  R + u - <u, x>

    The average is to discount as well: with the default exponents and weights t^2, the weighted
    regret divided by the sum of the weights is at most

        6 Delta (sqrt(n) + 1 / sqrt(T)) / sqrt(T)

    (Theorem 3 of the paper, at a single decision point).

    Nothing is discounted at s = 0. An infinite exponent is the limit: f(inf) = 1 keeps all,
    f(-inf) = 0 forgets all, so that (inf, inf) is :class:`RegretMatching` and (inf, -inf) plays
    as :class:`RegretMatchingPlus` does: what is negative is forgotten one iteration later, which
    no strategy shows.

    Parameters
    ----------
    simplices
        Where to play: a number of actions n, several of them, or ``Simplices``.
    alpha
        Exponent for positive regrets, any number or plus or minus infinity.
    beta
        Exponent for all other regrets, any number or plus or minus infinity.

    Raises
    ------
    TypeError, ValueError
        When ``simplices`` is none of these, a number of actions is below 1, or an exponent is
        not a number.

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
    def _roles(self) -> tuple[Memory, Predictor, PlayingRule]:
        memory = Discounted(alpha=self.alpha, beta=self.beta)
        return memory, NoPrediction(), Proportional()
