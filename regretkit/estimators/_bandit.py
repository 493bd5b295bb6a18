"""Bandit feedback: a player of a matrix game sees one payoff, and estimates its utility."""

from collections.abc import Sequence
from typing import final

import numpy as np
from attrs import define, field
from typing_extensions import override

from regretkit._util._state import Stateful
from regretkit._util._typing import Vector
from regretkit._util._validate import as_generator, at_least_zero, finite, quote
from regretkit.estimators._estimator import Estimator
from regretkit.estimators._mccfr import draw_actions
from regretkit.games import Game, NormalFormGame
from regretkit.games._game import as_profile


@final
@define(eq=False)
class BanditFeedback(Estimator, Stateful):
    """Draw one action of every player, and estimate utilities from the payoff that this brings.

    With a drawn from the player's own strategy x and payoff r against what the others drew, the
    estimate is the baseline c everywhere but at a:

        u[a]  =  c + (r - c) / (x[a] + implicit)

    With ``implicit`` 0 its mean is the exact utility: every payoff comes with the probability that
    it is divided by. Its variance at action a is about ``(r - c)^2 / x[a]``, which is why those who
    learn from it must explore: EXP3 is ``Hedge`` in ``ExplorationMixture``, fed by this.
    It is ``OutcomeSampling`` without exploration of its own, and with a baseline that never
    changes.
    A positive ``implicit`` bounds the estimate and biases it towards c; where no payoff exceeds c,
    that makes what is seldom played look better than it is, and is EXP3-IX.

    Parameters
    ----------
    generator
        Draws the actions, one number for each player who has more than one, in turn.
    baseline
        c, in units of payoff; 0 in EXP3, the largest payoff in EXP3-IX, which is stated for losses.
    implicit
        At least 0, at which nothing is biased.

    Raises
    ------
    TypeError, ValueError
        When ``generator`` is not a numpy ``Generator``, ``baseline`` not finite, ``implicit`` not
        finite or below 0, or a game is to be sampled that is not in normal form.

    Examples
    --------
    EXP3 against itself finds what is left when both leave out what is dominated:

    >>> from regretkit import Hedge, SelfPlay, matrix_game
    >>> from regretkit.circuits import ExplorationMixture
    >>> from regretkit.play import Simultaneous
    >>> players = [ExplorationMixture(Hedge(2, rate=0.05), gamma=0.1) for _ in "xy"]
    >>> feedback = BanditFeedback(np.random.default_rng(1))
    >>> game = matrix_game([[0.5, 1.0], [0.0, 0.4]])
    >>> run = SelfPlay(game, players, order=Simultaneous(), estimator=feedback).run(1_000)
    >>> bool(run.average[0][0] > 0.8)
    True

    References
    ----------
    Auer, Cesa-Bianchi, Freund and Schapire (2002), "The nonstochastic multiarmed bandit problem",
    SIAM Journal on Computing 32(1). Neu (2015), "Explore no more: improved high-probability regret
    bounds for non-stochastic bandits", NIPS, for implicit exploration. Their
    texts could not be checked; the mean is tested, and the regret.
    """

    generator: np.random.Generator = field(converter=as_generator, repr=False)
    baseline: float = field(default=0.0, validator=finite, kw_only=True)
    implicit: float = field(default=0.0, validator=at_least_zero, kw_only=True)

    @override
    def utility(self, game: Game, player: int, profile: Sequence[Vector]) -> Vector:
        if not isinstance(game, NormalFormGame):
            raise TypeError(f"game must be in normal form for bandit feedback, got {quote(game)}")
        profile = as_profile(profile, game.domains)
        strategy = profile[player]
        lower = draw_actions(profile[:player], self.generator)
        (chosen,) = draw_actions([strategy], self.generator)
        higher = draw_actions(profile[player + 1 :], self.generator)
        payoff = game.payoffs[(player, *lower, chosen, *higher)]
        utility = np.full(strategy.size, self.baseline)
        utility[chosen] += (payoff - self.baseline) / (strategy[chosen] + self.implicit)
        return utility
