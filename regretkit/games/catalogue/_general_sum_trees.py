"""General-sum trees: Sheriff, and textbook games of signals and correlation."""

from collections.abc import Sequence

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from regretkit._util._typing import Indices, Vector
from regretkit.games._extensive_form import ExtensiveFormGame
from regretkit.games._registry import register
from regretkit.games.catalogue._rules import NamedRules, put, real, tree_factory, whole
from regretkit.games.tree._history import CHANCE, TERMINAL
from regretkit.games.tree._rules import Batch, Column, Mask, Rules

_ONE_MESSAGE = (CHANCE, CHANCE, 0, 1), ((), (), (0,), (1, 2))
"""Chance deals to both players; player 0 acts on its deal, player 1 on its deal and the action."""


@register
def signalling() -> ExtensiveFormGame:
    """Return von Stengel and Forges' signalling game, in which correlation makes signals useful.

    Player 0, a student, is good (``G``) or bad (``B``) with equal probability and sends a free
    signal, ``X`` or ``Y``. Player 1, a professor, observes only the signal, and hires (``l``) or
    refuses (``r``). The payoffs are

    ============== =======  =========
    student        student  professor
    ============== =======  =========
    good, hired    4        10
    bad, hired     6        0
    refused        0        6
    ============== =======  =========

    In every Nash equilibrium the professor refuses. In one extensive-form correlated equilibrium, a
    mediator draws a random signal, recommends it to the good student, and recommends that the
    professor hire after it. A bad student can only guess the signal. This equilibrium pays 3.5 and
    6.5.

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
    # Axes: the student's type, the professor's only type, signal, answer, player
    payoffs = np.array([[[[pay, refused]] * 2] for pay in hired], dtype=np.float64)
    names = ["G", "B"], [""], ["X", "Y"], ["l", "r"]
    rules = _Moves(payoffs, names, *_ONE_MESSAGE)
    return ExtensiveFormGame.from_rules(rules, name="signalling")


@register
def tiny_hanabi() -> ExtensiveFormGame:
    """Return tiny Hanabi, in which two players with common payoffs signal by their actions.

    Chance deals each player one of two cards, which only this player observes. Player 0 chooses one
    of three actions. Player 1 observes it and chooses one of three actions. Both players earn the
    same payoff. The best joint strategy earns 10; independent learners often converge to 8.

    The label of an information set consists of the player's card and, for player 1, player 0's
    action.

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
    rules = _Moves(payoffs, names, *_ONE_MESSAGE)
    return ExtensiveFormGame.from_rules(rules, name="tiny_hanabi")


@register
def in_out() -> ExtensiveFormGame:
    """Return the in-out game of one player, in which only a double deviation gains.

    The player chooses ``in`` or ``out`` twice. It earns 1 for ``in`` both times, else 0. The
    recommendation of ``out`` both times is an agent-form correlated equilibrium, because no single
    change gains. It is not an extensive-form correlated equilibrium, because ignoring both
    recommendations gains 1.

    Examples
    --------
    >>> in_out().tree
    <GameTree: 7 histories, 4 terminals, 3 information sets>

    References
    ----------
    von Stengel and Forges (2006), "Extensive form correlated equilibrium: definition and
    computational complexity", CDAM Research Report LSE-CDAM-2006-04, section 2.4.
    """
    payoffs = np.array([[[1.0], [0.0]], [[0.0], [0.0]]])
    rules = _Moves(payoffs, [["in", "out"]] * 2, movers=(0, 0), views=((), (0,)))
    return ExtensiveFormGame.from_rules(rules, name="in_out")


@register
def extended_shapley() -> ExtensiveFormGame:
    """Return Shapley's game with a bet, in which CFR does not converge to an EFCE.

    Both players choose rock, paper or scissors. The winner earns 1 and the loser 0; in a tie both
    earn 0. After its choice, player 0 also bets on player 1's hidden choice. A right bet earns
    0.003 on ``rock`` and 0.001 on ``other``.

    The iterates of CFR cycle, as in Shapley's game. They converge to a coarse correlated
    equilibrium, but the gaps of both players to an extensive-form correlated equilibrium sum to at
    least 0.2.

    Examples
    --------
    >>> extended_shapley().tree
    <GameTree: 28 histories, 18 terminals, 4 + 1 information sets>

    References
    ----------
    Morrill, D'Orazio, Sarfati, Lanctot, Wright, Greenwald and Bowling (2021), "Hindsight and
    sequential rationality of correlated play", AAAI, section 6.1.
    """
    hands = ["rock", "paper", "scissors"]
    payoffs = np.zeros((3, 2, 3, 2))
    for hand in range(3):
        payoffs[hand, :, hand - 1, 0] = payoffs[hand - 1, :, hand, 1] = 1.0
    payoffs[:, 0, 0, 0] += 0.003
    payoffs[:, 1, 1:, 0] += 0.001
    names = [hands, ["rock", "other"], hands]
    rules = _Moves(payoffs, names, movers=(0, 0, 1), views=((), (0,), ()))
    return ExtensiveFormGame.from_rules(rules, name="extended_shapley")


@frozen(eq=False)
class _Moves(Rules):
    """A game with a fixed order of moves and uniform chance."""

    table: NDArray[np.float64]
    """Payoffs, shape ``(actions of move 0, actions of move 1, ..., players)``."""
    names: Sequence[Sequence[str]]
    """For each move, the names of its actions."""
    movers: tuple[int, ...]
    """For each move, the acting player or ``CHANCE``."""
    views: tuple[tuple[int, ...], ...]
    """For each move, the earlier moves that its player has observed."""

    def start(self) -> Batch:
        return Batch(moves=np.zeros((1, len(self.movers)), dtype=np.int64))

    def player(self, h: Batch) -> int:
        return TERMINAL if h.length == len(self.movers) else self.movers[h.length]

    def legal(self, h: Batch) -> Mask:
        """Return the actions of this move. The actions of all moves are numbered consecutively."""
        return np.repeat(np.arange(len(self.names)) == h.length, list(map(len, self.names)))

    def child(self, h: Batch, action: Indices) -> Batch:
        first = sum(map(len, self.names[: h.length]))
        return h.then(moves=put(h.moves, h.length, action - first))

    def observed(self, h: Batch) -> tuple[Column, ...]:
        seen = self.views[h.length]
        return h.length, *(h.moves[:, k] if k in seen else -1 for k in range(len(self.movers)))

    def payoffs(self, h: Batch) -> Vector:
        payoffs: Vector = self.table[tuple(h.moves.T)]
        return payoffs

    def action_name(self, player: int, action: int) -> str:
        return [name for names in self.names for name in names][action]

    def label(self, player: int, *observed: int) -> str:
        length, *moves = observed
        return " ".join(self.names[k][moves[k]] for k in self.views[length]).strip()


@frozen(repr=False)
class Sheriff(NamedRules, name="sheriff"):
    """The Sheriff game, a benchmark for correlated equilibria in trees.

    Player 0, the smuggler, secretly loads n illegal items, from 0 to ``items``. In each round, the
    smuggler offers a bribe from 0 to ``bribe``, and player 1, the sheriff, answers ``inspect`` or
    ``pass``. Only the last round counts:

    ======================= ============================ ==================
    last answer             smuggler                     sheriff
    ======================= ============================ ==================
    ``pass``                ``n * value - offer``        ``offer``
    ``inspect``, n > 0      ``-n * penalty``             ``n * penalty``
    ``inspect``, n = 0      ``compensation``             ``-compensation``
    ======================= ============================ ==================

    The label of an information set consists of the player, for the smuggler the number of items,
    and past moves. At ``0:3:2 pass 1`` the smuggler has loaded 3 items.

    Parameters
    ----------
    items
        Largest number of items, from 0 to 100,000.
    bribe
        Largest bribe, from 0 to 100,000.
    rounds
        Number of rounds, from 1 to 1,000.
    value
        The smuggler's profit for each undetected item.
    penalty
        The smuggler's payment to the sheriff for each detected item.
    compensation
        The sheriff's payment to the smuggler for an inspection without items.

    Examples
    --------
    >>> from regretkit.games import sheriff
    >>> sheriff(items=2, bribe=1, rounds=1).tree
    <GameTree: 22 histories, 12 terminals, 4 + 2 information sets>

    References
    ----------
    Farina, Ling, Fang and Sandholm (2019), "Correlation in extensive-form games: saddle-point
    formulation and benchmarks", NeurIPS. The default parameters are its baseline.
    """

    items: int = whole(10, 0, 10**5)
    bribe: int = whole(2, 0, 10**5)
    rounds: int = whole(2, 1, 1_000)
    value: float = real(5.0)
    penalty: float = real(1.0)
    compensation: float = real(1.0)

    def start(self) -> Batch:
        said = np.full((1, 2 * self.rounds), -1, dtype=np.min_scalar_type(-self.bribe - 2))
        return Batch(loaded=np.zeros(1, dtype=np.int64), said=said)

    def player(self, h: Batch) -> int:
        if h.length > 2 * self.rounds:
            return TERMINAL
        return int(h.length > 0 and h.length % 2 == 0)

    def legal(self, h: Batch) -> Mask:
        if h.length == 0:
            return np.ones(self.items + 1, dtype=np.bool_)
        return np.ones(self.bribe + 1 if h.length % 2 else 2, dtype=np.bool_)

    def child(self, h: Batch, action: Indices) -> Batch:
        if h.length == 0:
            return h.then(loaded=action)
        return h.then(said=put(h.said, h.length - 1, action))

    def observed(self, h: Batch) -> tuple[Column, ...]:
        """Return the smuggler's items, -1 for the sheriff, and all offers and answers so far."""
        return h.loaded if h.length % 2 else -1, h.said

    def payoffs(self, h: Batch) -> Vector:
        offers, inspected = h.said[:, -2] * 1.0, h.said[:, -1] > 0
        paid = np.where(h.loaded > 0, h.loaded * self.penalty, -self.compensation)
        smuggler = np.where(inspected, -paid, h.loaded * self.value - offers)
        return np.stack([smuggler, np.where(inspected, paid, offers)], axis=1)

    def action_name(self, player: int, action: int) -> str:
        return ("pass", "inspect")[action] if player == 1 else str(action)

    def label(self, player: int, *observed: int) -> str:
        loaded, *said = observed
        names = [self.action_name(k % 2, move) for k, move in enumerate(said) if move >= 0]
        return f"{player}:{f'{loaded}:' if loaded >= 0 else ''}{' '.join(names)}"


sheriff = tree_factory(Sheriff)
"""Build the tree of ``Sheriff``, whose arguments it takes."""
