"""Regret matching whose discounts follow a schedule over the iterations planned."""

from typing import final

from attrs import define, field
from typing_extensions import override

from regretkit._util._validate import at_least_one
from regretkit.minimizers.by_roles import AbstractByRoles
from regretkit.minimizers.memories import ScheduledDiscount
from regretkit.minimizers.playing import Proportional
from regretkit.minimizers.predictors import NoPrediction
from regretkit.minimizers.roles import Memory, PlayingRule, Predictor


@final
@define(eq=False)
class ScheduledRegretMatching(AbstractByRoles):
    """Discounted regret matching whose exponents change from iteration to iteration.

    In iteration t, with s = t - 1, p = s / horizon and f(e) = 1 / (1 + s^-e),

        x  =  [R]+ / sum [R]+,  uniform when no regret is positive
        R <-  R f(1 + 3 p) where R > 0,  R f(-1 - 2 p) elsewhere
        R <-  R + u - <u, x>

    Nothing is discounted at s = 0, and from iteration horizon + 1 on p is 1. With the averaging
    :class:`~regretkit.play.HorizonPower` it is what HS-DCFR plays at every decision point.

    Parameters
    ----------
    simplices
        Where to play: a number of actions n, several of them, or ``Simplices``.
    horizon
        Number of iterations planned, at least 1.

    Raises
    ------
    TypeError, ValueError
        When ``simplices`` is none of these, a number of actions is below 1, or ``horizon`` is
        not a whole number, at least 1.

    Examples
    --------
    >>> player = ScheduledRegretMatching(2, horizon=100)
    >>> for utility in ([2.0, 0.0], [0.0, 0.0]):
    ...     player.observe_utility(utility)
    >>> player.regrets
    array([ 0.5, -0.5])

    References
    ----------
    Zhang, McAleer and Sandholm (2026), "Faster game solving via hyperparameter schedules", AAAI,
    arXiv:2404.09097, equation 4, here as two other implementations transcribe it: the paper's
    own text could not be checked.
    """

    horizon: int = field(validator=at_least_one, kw_only=True)

    @override
    def _roles(self) -> tuple[Memory, Predictor, PlayingRule]:
        return ScheduledDiscount(horizon=self.horizon), NoPrediction(), Proportional()
