"""Discounted regret matching with scheduled hyperparameters."""

from typing import final

from attrs import define, field, frozen
from typing_extensions import override

from regretkit._util._validate import at_least_one
from regretkit.minimizers.regret_matching._accumulators import Discounting, discount
from regretkit.minimizers.regret_matching._links import PositivePartLink
from regretkit.minimizers.regret_matching._predictors import NoPrediction
from regretkit.minimizers.regret_matching._rule import ComposedRule, Parts


@final
@frozen
class HSDiscounted(Discounting):
    """Old regrets are discounted as in :class:`Discounted`, with exponents that follow a schedule.

        alpha = 1 + 3 p,  beta = -1 - 2 p,    p = (t - 1) / horizon

    From iteration horizon + 1 on, p is 1.

    Parameters
    ----------
    horizon
        Number of iterations planned, at least 1.

    Examples
    --------
    In iteration 2 of 3, what is positive is multiplied by 1/2, for any exponent:

    >>> import numpy as np
    >>> from regretkit.sets import Simplices
    >>> HSDiscounted(horizon=3).update(
    ...     Simplices(2), {"regrets": np.array([4.0, -4.0])}, np.zeros(2), iteration=2
    ... )
    {'regrets': array([ 2., -2.])}
    """

    horizon: int = field(validator=at_least_one, kw_only=True)

    @property
    @override
    def keeps_positive(self) -> bool:
        return True

    @override
    def factors(self, iteration: int) -> tuple[float, float]:
        passed = iteration - 1
        progress = min(passed / self.horizon, 1.0)
        positive = discount(passed, 1.0 + 3.0 * progress)
        return positive, discount(passed, -1.0 - 2.0 * progress)


@final
@define(eq=False)
class HSDiscountedRegretMatching(ComposedRule):
    """Discounted regret matching whose exponents change from iteration to iteration.

    In iteration t, with s = t - 1, p = s / horizon and f(e) = 1 / (1 + s^-e),

        x  =  [R]+ / sum [R]+,  uniform when no regret is positive
        R <-  R f(1 + 3 p) where R > 0,  R f(-1 - 2 p) elsewhere
        R <-  R + u - <u, x>

    Nothing is discounted at s = 0, and from iteration horizon + 1 on p is 1. With the averaging
    :class:`~regretkit.play.HorizonPower` it is what HS-DCFR plays at every decision point.

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
    arXiv:2404.09097, equation 4, here as two other implementations transcribe it: the paper's
    own text could not be checked.
    """

    horizon: int = field(validator=at_least_one, kw_only=True)

    @override
    def _parts(self) -> Parts:
        return HSDiscounted(horizon=self.horizon), NoPrediction(), PositivePartLink()
