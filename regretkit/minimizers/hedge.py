"""Hedge, also called multiplicative weights, and its optimistic form."""

from typing import final

from attrs import define, field
from typing_extensions import override

from regretkit._util._validate import positive
from regretkit.minimizers.by_roles import AbstractByRoles
from regretkit.minimizers.memories import Cumulative
from regretkit.minimizers.playing import Exponential
from regretkit.minimizers.predictors import LastUtility, NoPrediction
from regretkit.minimizers.roles import Memory, PlayingRule, Predictor


@final
@define(eq=False)
class Hedge(AbstractByRoles):
    """Exponential weights: play each action in proportion to ``exp(rate R)``.

        x  =  exp(rate R) / sum exp(rate R)
        R <-  R + u - <u, x>

    A constant added to R changes no strategy, so R may be regrets, as here, or utilities, as in
    most texts. With n actions, T iterations and utilities in a range of Delta, the regret is at
    most ``ln(n) / rate + rate Delta^2 T / 8``.

    Parameters
    ----------
    simplices
        Where to play: a number of actions n, several of them, or ``Simplices``.
    rate
        Learning rate, positive, in one over the unit of utility.

    Raises
    ------
    TypeError, ValueError
        When ``simplices`` is none of these, a number of actions is below 1, or ``rate`` is not
        positive and finite.

    Examples
    --------
    >>> import math
    >>> player = Hedge(2, rate=math.log(3.0))
    >>> player.observe_utility([1.0, 0.0])
    >>> player.next_strategy()
    array([0.75, 0.25])

    References
    ----------
    Freund and Schapire (1997), "A decision-theoretic generalization of on-line learning and an
    application to boosting", Journal of Computer and System Sciences 55(1). The text could not be
    checked; the bound is tested.
    """

    rate: float = field(validator=positive, kw_only=True)

    @override
    def _roles(self) -> tuple[Memory, Predictor, PlayingRule]:
        return Cumulative(), NoPrediction(), Exponential(rate=self.rate)


@final
@define(eq=False)
class OptimisticHedge(AbstractByRoles):
    """Hedge that adds the utility it expects before it plays.

    With m the utility expected, by default the last one, and x' the last strategy,

        x  =  exp(rate (R + v)) / sum exp(rate (R + v)),    v = m - <m, x'>
        R <-  R + u - <u, x>

    The regret is at most ``ln(n) / rate`` plus ``rate / 8`` times the sum of the squared ranges of
    u - m.

    Parameters
    ----------
    simplices
        Where to play: a number of actions n, several of them, or ``Simplices``.
    rate
        Learning rate, positive, in one over the unit of utility.

    Raises
    ------
    TypeError, ValueError
        When ``simplices`` is none of these, a number of actions is below 1, or ``rate`` is not
        positive and finite.

    Examples
    --------
    The last utility counts twice until the next one comes:

    >>> import math
    >>> player = OptimisticHedge(2, rate=math.log(3.0) / 2)
    >>> player.observe_utility([1.0, 0.0])
    >>> player.next_strategy()
    array([0.75, 0.25])

    References
    ----------
    Rakhlin and Sridharan (2013), "Optimization, learning, and games with predictable sequences",
    NIPS. Syrgkanis, Agarwal, Luo and Schapire (2015), "Fast convergence of regularized learning
    in games", NIPS.
    """

    rate: float = field(validator=positive, kw_only=True)

    @override
    def _roles(self) -> tuple[Memory, Predictor, PlayingRule]:
        return Cumulative(), LastUtility(), Exponential(rate=self.rate)
