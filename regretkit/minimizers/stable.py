"""Predictive regret matching+ that starts over when its regrets get too small."""

from typing import final

from attrs import define, field
from typing_extensions import override

from regretkit._util._validate import positive
from regretkit.minimizers.by_roles import AbstractByRoles
from regretkit.minimizers.memories_smooth import Restarting
from regretkit.minimizers.playing import Proportional
from regretkit.minimizers.predictors import LastUtility, Trusted
from regretkit.minimizers.roles import Memory, PlayingRule, Predictor


@final
@define(eq=False)
class StablePredictiveRegretMatchingPlus(AbstractByRoles):
    """Predictive regret matching+ with restarts.

    With m the utility expected, by default the last one, and x' the last strategy, starting from
    Q = floor,

        x  =  [Q + v]+ / sum [Q + v]+,    v = m - <m, x'>,  v = 0 after a restart
        Q <-  [Q + u - <u, x>]+
        Q <-  floor,  a restart, where that leaves no entry above the floor

    Predictive regret matching+ may jump from one end of the simplex to the other while its
    regrets are small; here they never are. After a restart no prediction is believed, not even
    one that it was told. The regret is at most the root of ``n floor^2`` plus the sum of
    ``|g - v|^2``.

    Parameters
    ----------
    simplices
        Where to play: a number of actions n, several of them, or ``Simplices``.
    floor
        What regrets are raised to, positive, in the unit of utility; R0 / eta in the paper.

    Raises
    ------
    TypeError, ValueError
        When ``simplices`` is none of these, a number of actions is below 1, or ``floor`` is not
        positive and finite.

    Examples
    --------
    >>> player = StablePredictiveRegretMatchingPlus(2, floor=1.0)
    >>> player.observe_utility([1.0, 0.0])
    >>> player.regrets
    array([1.5, 0.5])

    References
    ----------
    Farina, Grand-Clement, Kroer, Lee and Luo (2023), "Regret matching+: (in)stability and fast
    convergence in games", NeurIPS, algorithm 1, here as another implementation transcribes it:
    the paper's own text could not be checked.
    """

    floor: float = field(validator=positive, kw_only=True)

    @override
    def _roles(self) -> tuple[Memory, Predictor, PlayingRule]:
        return Restarting(floor=self.floor), Trusted(LastUtility()), Proportional()
