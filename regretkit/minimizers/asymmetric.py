"""Predictive regret matching+ that does not quite believe its predictions."""

from collections.abc import Mapping
from typing import final

from attrs import define, field
from typing_extensions import override

from regretkit._util._validate import at_least_zero, positive
from regretkit.minimizers.by_roles import AbstractByRoles
from regretkit.minimizers.memories import Plus
from regretkit.minimizers.memories_adaptive import LearningTrust
from regretkit.minimizers.playing import Proportional
from regretkit.minimizers.predictors import LastUtility, Trusted, Weighted
from regretkit.minimizers.roles import Memory, PlayingRule, Predictor

_CREDULOUS = {
    "regret_grows_slowly": "with a weight above 1 it believes what it expects more than what "
    "happened, and pays for it up to 1 + weight times as much"
}


@final
@define(eq=False)
class AsymmetricRegretMatchingPlus(AbstractByRoles):
    """Predictive regret matching+ whose predictions count less than what happened.

    With m the utility expected, by default the last one, and x' the last strategy,

        x  =  [Q + weight v]+ / sum [Q + weight v]+,    v = m - <m, x'>
        Q <-  [Q + u - <u, x>]+

    It is what SAPCFR+ plays at every decision point, with a weight of 1/3.
    With weight 0 it is :class:`RegretMatchingPlus`, with 1 :class:`PredictiveRegretMatchingPlus`.
    The regret is at most the root of the sum of ``|g - weight v|^2``.

    Parameters
    ----------
    simplices
        Where to play: a number of actions n, several of them, or ``Simplices``.
    weight
        How much predictions count, at least 0; ``1 / (1 + alpha)`` in the paper.

    Raises
    ------
    TypeError, ValueError
        When ``simplices`` is none of these, a number of actions is below 1, or ``weight`` is not
        finite or below 0.

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
    arXiv:2503.12770. Only the abstract and other people's implementations could be read; they
    agree on the rule and, for this paper, on 1/3.
    """

    weight: float = field(default=1.0 / 3.0, validator=at_least_zero, kw_only=True)

    @override
    def exemptions(self) -> Mapping[str, str]:
        return {} if self.weight <= 1.0 else _CREDULOUS

    @override
    def _roles(self) -> tuple[Memory, Predictor, PlayingRule]:
        return Plus(), Weighted(LastUtility(), weight=self.weight), Proportional()


@final
@define(eq=False)
class AdaptiveAsymmetricRegretMatchingPlus(AbstractByRoles):
    """Predictive regret matching+ that believes predictions as far as they came true.

    With m the utility expected, by default the last one, and x' the last strategy,

        x  =  [Q + v / (1 + alpha)]+ / sum [Q + v / (1 + alpha)]+,    v = m - <m, x'>
        Q <-  [Q + g]+,    g = u - <u, x>
        alpha = min(sqrt(E / S), limit),  E = sum |g - v|^2,  S = sum |Q's steps|^2

    E and S add up over the iterations so far; alpha is the limit as long as S is 0. It is what
    APCFR+ plays at every decision point. The regret is at most the root of the sum of
    ``|g - v / (1 + alpha)|^2``.

    Parameters
    ----------
    simplices
        Where to play: a number of actions n, several of them, or ``Simplices``.
    limit
        The largest alpha, positive.

    Raises
    ------
    TypeError, ValueError
        When ``simplices`` is none of these, a number of actions is below 1, or ``limit`` is not
        positive and finite.

    Examples
    --------
    The first regret came unpredicted and moved Q by half of its square, so alpha is sqrt(2):

    >>> player = AdaptiveAsymmetricRegretMatchingPlus(2)
    >>> player.observe_utility([2.0, 0.0])
    >>> player.state["trust"].round(3)
    array([0.414, 0.414])

    References
    ----------
    Meng, Yang, Zhang, Ge and Gao (2026), "Faster game solving via asymmetry of step sizes", AAAI,
    arXiv:2503.12770, equations 4 and 10, here as another implementation transcribes them: the
    paper's own text could not be checked. The paper writes the last regret where this writes v,
    which is the same unless one was told what to expect.
    """

    limit: float = field(default=5.0, validator=positive, kw_only=True)

    @override
    def _roles(self) -> tuple[Memory, Predictor, PlayingRule]:
        return LearningTrust(limit=self.limit), Trusted(LastUtility()), Proportional()
