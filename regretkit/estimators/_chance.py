"""Chance sampling: draw chance's moves, or the public ones, and sweep the rest."""

from collections.abc import Sequence
from typing import final

import numpy as np
from attrs import define, field
from typing_extensions import override

from regretkit._util._state import NOT_STATE, Stateful
from regretkit._util._typing import Vector
from regretkit._util._validate import check_generator, quote
from regretkit.estimators._chance_draws import ChanceDraws, each_history, each_public_state
from regretkit.estimators._estimator import Estimator
from regretkit.games import ExtensiveFormGame, Game


@final
@define(eq=False)
class ChanceSampling(Estimator, Stateful):
    """Draw what chance does, and sweep all actions of all players.

    Each chance history that can still come about draws one of its outcomes, anew at every call.
    Ends of the game that can still come about count with their payoff, all others not at all. The
    mean over draws is the exact utility, because an end remains with the probability that chance
    gives it.

    Its variance is that among chance's outcomes; what the players do adds none to it.

    Parameters
    ----------
    generator
        Draws the outcomes: one number for each chance history that can still come about, shorter
        histories first; none where there is a single outcome.

    Attributes
    ----------
    visited
        Number of histories that could still come about, over all calls so far.

    Raises
    ------
    TypeError
        When ``generator`` is not a numpy ``Generator``, or a game that is not in extensive form
        is to be sampled.

    Examples
    --------
    >>> from regretkit.games import kuhn_poker
    >>> game = kuhn_poker()
    >>> uniform = [domain.relative_interior_point() for domain in game.domains]
    >>> sampling = ChanceSampling(np.random.default_rng(1))
    >>> sampling.utility(game, 0, uniform).nonzero()[0]  # one card is dealt to player 0
    array([ 3,  4,  9, 10])

    References
    ----------
    Zinkevich, Johanson, Bowling and Piccione (2007), "Regret minimization in games with
    incomplete information", NIPS. Lanctot, Waugh, Zinkevich and Bowling (2009), "Monte Carlo
    sampling for regret minimization in extensive games", NIPS.
    """

    generator: np.random.Generator = field(repr=False, validator=check_generator)
    visited: int = field(default=0, init=False, repr=False)
    _draws: ChanceDraws | None = field(default=None, init=False, repr=False, metadata=NOT_STATE)

    @override
    def utility(self, game: Game, player: int, profile: Sequence[Vector]) -> Vector:
        if self._draws is None or self._draws.game is not game:
            checked = _with_chance(game)
            self._draws = ChanceDraws(checked, each_history(checked.tree))
        alive = self._draws.draw(self.generator)
        self.visited += int(self._draws.behind[alive].sum())
        return self._draws.utility(alive, player, profile)


@final
@define(eq=False)
class PublicChanceSampling(Estimator, Stateful):
    """Sample public chance outcomes, and enumerate private ones.

    In poker, the cards on the table are drawn, and all hands are played at once. What is public is
    found in the game's information sets: histories that some player cannot tell apart, now or
    later, are in one public state, and each of these makes one draw for all of its histories. An
    end that can still come about counts with its payoff times

        product over chance's moves on the way of  (its probability) / (that of what was drawn)

    Its variance is that among public outcomes; neither hidden ones nor the players add any to it.

    Parameters
    ----------
    generator
        Draws the outcomes: one number for each public state that can still come about and in which
        there is something to draw, shorter histories first.

    Attributes
    ----------
    visited
        Number of histories that could still come about, over all calls so far.

    Raises
    ------
    TypeError
        When ``generator`` is not a numpy ``Generator``, or a game that is not in extensive form
        is to be sampled.
    ValueError
        When a game is to be sampled in which no chance outcome is public.

    Examples
    --------
    >>> from regretkit.games import kuhn_poker, leduc_poker
    >>> game = leduc_poker()
    >>> uniform = [domain.relative_interior_point() for domain in game.domains]
    >>> sampling = PublicChanceSampling(np.random.default_rng(1))
    >>> drawn = sampling.utility(game, 0, uniform)  # one card for each way of the first bets
    >>> bool(sampling.visited < game.tree.histories / 4)
    True

    References
    ----------
    Johanson, Bard, Lanctot, Gibson and Bowling (2012), "Efficient Nash equilibrium approximation
    through Monte Carlo counterfactual regret minimization", AAMAS. Its text could not be checked;
    the mean is, sample by sample.
    """

    generator: np.random.Generator = field(repr=False, validator=check_generator)
    visited: int = field(default=0, init=False, repr=False)
    _draws: ChanceDraws | None = field(default=None, init=False, repr=False, metadata=NOT_STATE)

    @override
    def utility(self, game: Game, player: int, profile: Sequence[Vector]) -> Vector:
        if self._draws is None or self._draws.game is not game:
            checked = _with_chance(game)
            draws = ChanceDraws(checked, each_public_state(checked.tree))
            if (draws.deals.sizes == 1).all():
                raise ValueError(
                    f"chance does nothing in {quote(game)} that every player sees; pass "
                    "ChanceSampling(generator), which draws what is hidden as well"
                )
            self._draws = draws
        alive = self._draws.draw(self.generator)
        self.visited += int(self._draws.behind[alive].sum())
        return self._draws.utility(alive, player, profile)


def _with_chance(game: Game) -> ExtensiveFormGame:
    if not isinstance(game, ExtensiveFormGame):
        raise TypeError(f"game must be in extensive form to sample its chance, got {quote(game)}")
    return game
