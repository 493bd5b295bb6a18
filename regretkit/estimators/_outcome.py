"""Outcome sampling: the game is played once."""

from collections.abc import Iterable, Sequence
from typing import final

import numpy as np
from attrs import Attribute, define, field
from typing_extensions import override

from regretkit._util._typing import Vector
from regretkit._util._validate import at_least_zero, quote
from regretkit.estimators._mccfr import NONE, TraversalEstimator, behaviors, starts
from regretkit.estimators.flat._action_sampling import Choose, SamplingData, follow_one
from regretkit.games import Game
from regretkit.games._game import as_profile


def _share(_: object, attribute: "Attribute[float]", value: float) -> None:
    at_least_zero(_, attribute, value)
    if value > 1.0:
        raise ValueError(f"{attribute.name} must be from 0 to 1, got {quote(value)}")


def _vectors(value: Iterable[Vector] | None) -> tuple[Vector, ...] | None:
    if value is None:
        return None
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise TypeError(f"toward must be a strategy for each player, got {quote(value)}")
    return tuple(np.array(strategy, dtype=np.float64) for strategy in value)


@final
@define(eq=False)
class OutcomeSampling(TraversalEstimator):
    """Play the game once, and learn from how it ended.

    The other players draw by their strategies, and the player by a mixture of its own and an
    exploration strategy:

        q  =  exploration toward  +  (1 - exploration) b

    The payoff counts at the player's last sequence, divided by the product of the q's that were
    drawn on the way. So the variance of an estimate of u is about ``u^2 / q``, and exploring bounds
    it. What is never drawn is never worth anything: the mean is exact where all q are positive.

    In normal form, with ``exploration=0.0``, this is :class:`BanditFeedback`.

    Parameters
    ----------
    generator
        Draws, one number for each history with more than one action, first to last. The first moves
        of chance, before any player acts, share one as far as they have at most 64 outcomes, unless
        there is a baseline.
    exploration
        From 0, on policy, to 1, by ``toward`` alone.
    toward
        A strategy for each player to explore with; by default every action is as likely as the
        others.
    baseline
        Baseline values of histories, none by default. It helps this estimator the most.

    Examples
    --------
    >>> from regretkit.games import kuhn_poker
    >>> game = kuhn_poker()
    >>> uniform = [domain.relative_interior_point() for domain in game.domains]
    >>> sampling = OutcomeSampling(np.random.default_rng(1))
    >>> int(np.count_nonzero(sampling.utility(game, 0, uniform)))
    1

    References
    ----------
    Lanctot, Waugh, Zinkevich and Bowling (2009), "Monte Carlo sampling for regret minimization in
    extensive games", NIPS. Its text could not be checked; the mean is, sample by sample.
    """

    exploration: float = field(default=0.6, kw_only=True, validator=_share)
    toward: tuple[Vector, ...] | None = field(
        default=None, kw_only=True, converter=_vectors, repr=False
    )

    @override
    def _choose(self) -> Choose:
        return follow_one

    @override
    def _parameters(self) -> Sequence[float]:
        return self.exploration, float(self.toward is None)

    @override
    def _sampling_data(self, game: Game) -> SamplingData:
        if self.toward is None:
            return NONE, NONE
        explored = np.zeros(int(starts(game.domains)[-1]))
        behaviors(game.domains, self._explored(game, self.toward), explored)
        return explored, NONE

    def _explored(self, game: Game, toward: Sequence[Vector]) -> Sequence[Vector]:
        try:
            return as_profile(toward, game.domains)
        except (TypeError, ValueError) as error:
            error.add_note("that is what toward was, the strategies to explore with")
            raise
