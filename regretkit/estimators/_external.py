"""External sampling: all of one's own actions, and one of every other player's."""

from typing import final

from attrs import define
from typing_extensions import override

from regretkit.estimators._mccfr import TraversalEstimator
from regretkit.estimators.flat._action_sampling import Choose, follow_all


@final
@define(eq=False)
class ExternalSampling(TraversalEstimator):
    """Follow every action of one's own, and draw those of chance and of the other players.

    At the end of the game, a payoff counts at the player's last sequence. Chance and the others
    play to that end with the same probability with which it is drawn, and so the two cancel:

        u[a]  =  sum of payoffs over the ends that were come to after a

    Its variance is that of the payoffs among what the others may do; the player's own actions add
    none to it. Where two players move in turns, it visits about the square root of all histories.

    Parameters
    ----------
    generator
        Draws. Depth first, own actions in their order, one number for each history at which chance
        or another player has more than one action; the first moves of chance may
        share one, as in :class:`OutcomeSampling`.
    baseline
        Baseline values of histories, none by default.

    Examples
    --------
    >>> import numpy as np
    >>> from regretkit import CFR, RegretMatching, SelfPlay
    >>> from regretkit.games import kuhn_poker
    >>> game = kuhn_poker()
    >>> players = [CFR(tree, RegretMatching) for tree in game.domains]
    >>> sampling = ExternalSampling(np.random.default_rng(1))
    >>> run = SelfPlay(game, players, estimator=sampling).run(1_000)
    >>> bool(abs(game.value(run.average)[0] + 1 / 18) < 0.02)
    True

    References
    ----------
    Lanctot, Waugh, Zinkevich and Bowling (2009), "Monte Carlo sampling for regret minimization in
    extensive games", NIPS. Its text could not be checked; the mean is, sample by sample.
    """

    @override
    def _choose(self) -> Choose:
        return follow_all
