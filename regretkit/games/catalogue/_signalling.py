"""Games of one message: player 0 acts on what it knows, and player 1 observes that."""

from collections.abc import Sequence
from typing import final

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from regretkit.games._extensive_form import ExtensiveFormGame
from regretkit.games._registry import register
from regretkit.games.tree._history import CHANCE


@register
def signalling() -> ExtensiveFormGame:
    """Return von Stengel and Forges' signalling game, in which only correlation informs.

    Player 0, a student, is good (``G``) or bad (``B``) with equal probability and sends a signal,
    ``X`` or ``Y``, that costs nothing. Player 1, a professor, sees it alone, and hires (``l``) or
    refuses (``r``). Hiring pays 4 to the student and 10 to the professor if the student is good,
    6 and 0 if bad; refusing pays 0 and 6. In every Nash equilibrium the professor refuses. In an
    extensive-form correlated equilibrium a good student gets the signal of that day, which a bad
    one has to guess: it pays 3.5 and 6.5.

    Examples
    --------
    >>> signalling().tree
    <GameTree: 17 histories, 8 terminals, 2 + 2 information sets>

    References
    ----------
    von Stengel and Forges (2008), "Extensive-form correlated equilibrium: definition and
    computational complexity", Mathematics of Operations Research 33(4), figure 1.
    """
    hired, refused = [[4, 10], [6, 0]], [0, 6]
    # By the student's type, what the professor knows, signal and answer
    payoffs = np.array([[[[pay, refused]] * 2] for pay in hired], dtype=np.float64)
    names = ["G", "B"], [""], ["X", "Y"], ["l", "r"]
    return ExtensiveFormGame.from_history(_Message(payoffs, names), name="signalling")


@register
def tiny_hanabi() -> ExtensiveFormGame:
    """Return tiny Hanabi, in which two players with common payoffs signal by what they play.

    Each player is dealt one of two cards, player 0 first, and sees only its own. Player 0 plays
    one of three actions, which player 1 sees before it plays one of three. Both earn the same;
    the best joint strategy earns 10, and independent learners are often caught at 8.

    An information set is named by the player's card, and for player 1 by player 0's action.

    Examples
    --------
    >>> tiny_hanabi().tree
    <GameTree: 55 histories, 36 terminals, 2 + 6 information sets>

    References
    ----------
    Foerster, Song, Hughes, Burch, Dunning, Whiteson, Botvinick and Bowling (2019), "Bayesian
    action decoder for deep multi-agent reinforcement learning", ICML. Payoffs as in OpenSpiel's
    ``tiny_hanabi``.
    """
    common = [
        [[[10, 0, 0], [4, 8, 4], [10, 0, 0]], [[0, 0, 10], [4, 8, 4], [0, 0, 10]]],
        [[[0, 0, 10], [4, 8, 4], [0, 0, 0]], [[10, 0, 0], [4, 8, 4], [10, 0, 0]]],
    ]
    payoffs = np.stack([np.array(common, dtype=np.float64)] * 2, axis=-1)
    names = ["1", "2"], ["1", "2"], ["a", "b", "c"], ["a", "b", "c"]
    return ExtensiveFormGame.from_history(_Message(payoffs, names), name="tiny_hanabi")


@final
@frozen(eq=False)
class _Message:
    """Chance draws what each player knows, uniformly; then player 0 acts, and player 1."""

    table: NDArray[np.float64]
    """Payoffs by what the players know, their actions, and player."""
    names: tuple[Sequence[str], ...]
    """Of what the players may know, then of their actions."""
    moves: tuple[str, ...] = ()

    def is_terminal(self) -> bool:
        return len(self.moves) == 4

    def player(self) -> int:
        return CHANCE if len(self.moves) < 2 else len(self.moves) - 2

    def chance_outcomes(self) -> Sequence[tuple[str, float]]:
        names = self.actions()
        return [(name, 1.0 / len(names)) for name in names]

    def actions(self) -> Sequence[str]:
        return self.names[len(self.moves)]

    def child(self, action: str) -> "_Message":
        return evolve(self, moves=(*self.moves, action))

    def information_set(self) -> str:
        known, signal = self.moves[self.player()], self.moves[2:]
        return " ".join([known, *signal]).strip()

    def payoffs(self) -> Sequence[float]:
        index = tuple(map(list.index, map(list, self.names), self.moves))
        payoffs: list[float] = self.table[index].tolist()
        return payoffs
