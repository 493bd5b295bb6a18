"""Extragradient regret matching+: look where one is going before one goes there."""

from typing import final

from attrs import define, field
from typing_extensions import override

from regretkit._util._validate import positive
from regretkit.minimizers.by_roles import AbstractByRoles
from regretkit.minimizers.memories_smooth import Smooth
from regretkit.minimizers.playing import SmoothProportional
from regretkit.minimizers.predictors import ToldUtility, Weighted
from regretkit.minimizers.roles import Memory, PlayingRule, Predictor


@final
@define(eq=False)
class ExtragradientRegretMatchingPlus(AbstractByRoles):
    """Smooth regret matching+ that expects what it is told, and nothing else.

    With P(z) the nearest point of ``{z >= 0, sum z >= 1}`` and m the utility it was told to
    expect, starting from Q = 1/n,

        y  =  Q / sum Q
        x  =  P(Q + rate v) / sum P(Q + rate v),    v = m - <m, y>
        Q <-  P(Q + rate (u - <u, x>))

    Without a prediction it plays x = y: smooth regret matching+. In self-play it is used with
    :class:`~regretkit.play.Extragradient`, which in every iteration first predicts for each player
    its utility at the profile y. Then its last iterate converges in zero-sum matrix
    games. The regret is at most ``(1 - 1/n) / (2 rate)`` plus ``rate / 2`` times the sum of
    ``|g - v|^2``.

    Parameters
    ----------
    simplices
        Where to play: a number of actions n, several of them, or ``Simplices``.
    rate
        Learning rate eta, positive, in one over the unit of utility.

    Raises
    ------
    TypeError, ValueError
        When ``simplices`` is none of these, a number of actions is below 1, or ``rate`` is not
        positive and finite.

    Examples
    --------
    >>> player = ExtragradientRegretMatchingPlus(2, rate=0.25)
    >>> player.expect_utility([1.0, 0.0])
    >>> player.next_strategy()
    array([0.625, 0.375])

    References
    ----------
    Farina, Grand-Clement, Kroer, Lee and Luo (2023), "Regret matching+: (in)stability and fast
    convergence in games", NeurIPS, algorithm 5. Cai, Farina, Grand-Clement, Kroer, Lee, Luo and
    Zheng (2025), "Last-iterate convergence properties of regret-matching algorithms in games",
    ICLR. The rule is written from their abstracts and from another implementation's account of
    algorithm 5; the papers' own text could not be checked.
    """

    rate: float = field(validator=positive, kw_only=True)

    @override
    def _roles(self) -> tuple[Memory, Predictor, PlayingRule]:
        predictor = Weighted(ToldUtility(), weight=self.rate)
        return Smooth(rate=self.rate), predictor, SmoothProportional()
