"""Trees of general-sum games: Sheriff, and textbook trees for correlation and refinements."""

from collections.abc import Sequence

import numpy as np
from attrs import asdict, evolve, frozen
from numpy.typing import NDArray

from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import number, whole_number
from regretkit.games._extensive_form import ExtensiveFormGame
from regretkit.games._memory_budget import MemoryBudget
from regretkit.games._registry import call_text, register, rules_of
from regretkit.games.tree._history import CHANCE, TERMINAL

_ONE_MESSAGE = (CHANCE, CHANCE, 0, 1), ((), (), (0,), (1, 2))
"""Both players are dealt something; player 0 acts on it, player 1 on its own and that action."""


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
    root = _Moves(payoffs, names, *_ONE_MESSAGE)
    return ExtensiveFormGame.from_history(root, name="signalling")


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
    root = _Moves(payoffs, names, *_ONE_MESSAGE)
    return ExtensiveFormGame.from_history(root, name="tiny_hanabi")


@register
def in_out() -> ExtensiveFormGame:
    """Return the in-out game of one player, who has to deviate twice to gain.

    The player chooses ``in`` or ``out`` twice, and earns 1 for being in both times, else 0. To be
    out wherever it is told to is an agent-form correlated equilibrium, because no change of a
    single choice gains. It is no extensive-form correlated equilibrium: a player that ignores what
    it is told, from its first choice on, gains 1.

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
    root = _Moves(payoffs, [["in", "out"]] * 2, movers=(0, 0), views=((), (0,)))
    return ExtensiveFormGame.from_history(root, name="in_out")


@register
def extended_shapley() -> ExtensiveFormGame:
    """Return Shapley's game with a bet, in which CFR comes to no EFCE.

    Both players choose rock, paper or scissors; the winner earns 1 and the loser 0, and neither
    earns anything in a tie. After its choice, player 0 also bets on player 1's, which it has not
    seen: that it is ``rock``, for 0.003 if it is right, or ``other``, for 0.001. The play of CFR
    cycles, as in Shapley's game. It approaches a coarse correlated equilibrium, while the gaps of
    both players to an extensive-form correlated equilibrium add up to 0.2 or more.

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
    root = _Moves(payoffs, names, movers=(0, 0, 1), views=((), (0,), ()))
    return ExtensiveFormGame.from_history(root, name="extended_shapley")


@frozen(eq=False)
class _Moves:
    """A game whose players always move in the same order; chance is uniform."""

    table: NDArray[np.float64]
    """Payoffs by the moves, and by player."""
    names: Sequence[Sequence[str]]
    """Of the actions of each move."""
    movers: tuple[int, ...]
    views: tuple[tuple[int, ...], ...]
    """For each move, the earlier ones that the player who makes it has seen."""
    moves: tuple[str, ...] = ()

    def is_terminal(self) -> bool:
        return len(self.moves) == len(self.movers)

    def player(self) -> int:
        return self.movers[len(self.moves)]

    def chance_outcomes(self) -> Sequence[tuple[str, float]]:
        names = self.actions()
        return [(name, 1.0 / len(names)) for name in names]

    def actions(self) -> Sequence[str]:
        return self.names[len(self.moves)]

    def child(self, action: str) -> "_Moves":
        return evolve(self, moves=(*self.moves, action))

    def information_set(self) -> str:
        return " ".join(self.moves[move] for move in self.views[len(self.moves)]).strip()

    def payoffs(self) -> Sequence[float]:
        index = tuple(map(list.index, map(list, self.names), self.moves))
        payoffs: list[float] = self.table[index].tolist()
        return payoffs


_ANSWERS = "pass", "inspect"
_COUNTED = 60
"""Limit on the rounds that are counted; no memory holds the tree of more, unless bribes are 0."""


@register
def sheriff(
    items: int = 10,
    bribe: int = 2,
    rounds: int = 2,
    value: float = 5.0,
    penalty: float = 1.0,
    compensation: float = 1.0,
    *,
    memory_limit: float | None = None,
) -> ExtensiveFormGame:
    """Return the Sheriff game, a benchmark for correlated equilibria in trees.

    Player 0, the smuggler, loads from 0 to ``items`` illegal items, unseen. Then, for a number of
    rounds, it offers a bribe from 0 to ``bribe``, and player 1, the sheriff, answers whether it
    would inspect the cargo (``inspect``) or not (``pass``); only the last round counts. Without an
    inspection n items earn ``n * value`` for the smuggler, which pays the bribe to the sheriff.
    With one, it pays ``n * penalty`` to the sheriff instead; if there is no item, the sheriff pays
    ``compensation`` to it.

    An information set is named by the player, for the smuggler also by its items, and by past
    moves: at ``0:3:2 pass 1`` the smuggler has loaded 3 items.

    Parameters
    ----------
    items
        Largest number of items, at least 0.
    bribe
        Largest bribe, at least 0.
    rounds
        Number of rounds, at least 1.
    value
        What the smuggler earns for each item that is not found.
    penalty
        What it pays for each item that is found.
    compensation
        What the sheriff pays for an inspection in vain.
    memory_limit
        Largest number of bytes that building may take, by default all that are available.

    Examples
    --------
    >>> sheriff(items=2, bribe=1, rounds=1).tree
    <GameTree: 22 histories, 12 terminals, 4 + 2 information sets>

    References
    ----------
    Farina, Ling, Fang and Sandholm (2019), "Correlation in extensive-form games: saddle-point
    formulation and benchmarks", NeurIPS. The default parameters are its baseline.
    """
    root = sheriff_batch(items, bribe, rounds, value, penalty, compensation)
    MemoryBudget(memory_limit).check_histories(root.rules.histories)
    name = call_text(sheriff, **asdict(root.rules))
    return ExtensiveFormGame.from_batch(root, name=name, memory_limit=memory_limit)


@rules_of("sheriff")
def sheriff_batch(
    items: int = 10,
    bribe: int = 2,
    rounds: int = 2,
    value: float = 5.0,
    penalty: float = 1.0,
    compensation: float = 1.0,
) -> "Sheriff":
    rules = _Rules(
        whole_number(items, "items", minimum=0),
        whole_number(bribe, "bribe", minimum=0),
        whole_number(rounds, "rounds", minimum=1),
        number(value, "value"),
        number(penalty, "penalty"),
        number(compensation, "compensation"),
    )
    known = (rules.items + 1) * (2 * rules.radix) ** min(rules.rounds, _COUNTED)
    # The moves of many rounds, of which no tree fits into memory, are large integers of Python.
    moves = np.ones(1, dtype=np.int64 if known < 2**62 else object)
    return Sheriff(rules, 0, np.zeros(1, dtype=np.int64), moves)


@frozen
class _Rules:
    items: int
    bribe: int
    rounds: int
    value: float
    penalty: float
    compensation: float

    @property
    def histories(self) -> int:
        """Number of histories of the whole game."""
        following = 2 * (self.bribe + 1)  # rounds after each
        rounds: list[int] = [following**past for past in range(min(self.rounds, _COUNTED) + 1)]
        offers = (self.bribe + 1) * sum(rounds[:-1])
        return 1 + (self.items + 1) * (sum(rounds) + offers)

    @property
    def radix(self) -> int:
        """Of the digits of offers: with 1, there would be none."""
        return max(2, self.bribe + 1)


@frozen(eq=False)
class Sheriff:
    """A batch of histories of ``length`` moves, the first of which loads the items."""

    rules: _Rules
    length: int
    loaded: Indices
    """The number of items, 0 before they are loaded."""
    moves: Indices
    """Offers and answers in turn, as digits of a number after a first 1."""

    def player(self) -> Indices:
        finished = self.length > 2 * self.rules.rounds
        mover = TERMINAL if finished else int(self.length > 0 and self.length % 2 == 0)
        return np.full(self.loaded.size, mover)

    @property
    def _choices(self) -> int:
        if self.length == 0:
            return self.rules.items + 1
        return self.rules.bribe + 1 if self.length % 2 else 2

    def actions(self, rows: Indices) -> NDArray[np.bool_]:
        return np.ones((rows.size, self._choices), dtype=np.bool_)

    def child(self, rows: Indices, action: Indices) -> "Sheriff":
        if self.length == 0:
            return Sheriff(self.rules, 1, action, self.moves[rows])
        moves = self.moves[rows] * (self.rules.radix if self.length % 2 else 2) + action
        return Sheriff(self.rules, self.length + 1, self.loaded[rows], moves)

    def probability(self, rows: Indices, action: Indices) -> Vector:
        return np.ones(rows.size)

    def information_set(self, rows: Indices) -> Indices:
        """Return the moves as a number, for the smuggler with its items, 0 before the first."""
        if self.length == 0:
            return np.zeros(rows.size, dtype=np.int64)
        moves = self.moves[rows]
        return moves * (self.rules.items + 1) + self.loaded[rows] if self.length % 2 else moves

    def payoffs(self, rows: Indices) -> Vector:
        rules, loaded = self.rules, self.loaded[rows]
        last_round = self.moves[rows] % (2 * rules.radix)
        offers, answers = np.divmod(last_round.astype(np.float64), 2.0)
        paid = np.where(loaded > 0, loaded * rules.penalty, -rules.compensation)
        smuggler = np.where(answers == 0, loaded * rules.value - offers, -paid)
        return np.stack([smuggler, np.where(answers == 0, offers, paid)], axis=1)

    def action_name(self, player: int, action: int) -> str:
        return _ANSWERS[action] if player == 1 else str(action)

    def label(self, player: int, information_set: int) -> str:
        moves, loaded = information_set, ""
        if player == 0:
            moves, items = divmod(information_set, self.rules.items + 1)
            loaded = f"{items}:" if moves else ""
        names: list[str] = []
        answered = player == 0
        while moves > 1:
            moves, move = divmod(moves, 2 if answered else self.rules.radix)
            names.append(_ANSWERS[move] if answered else str(move))
            answered = not answered
        return f"{player}:{loaded}{' '.join(reversed(names))}"
