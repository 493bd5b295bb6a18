"""The rules of a game as histories, one by one or in batches."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Protocol, Self, cast, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from typing_extensions import TypeVar

from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import floats, must_be, ordered, quote, shorten

CHANCE = -1
"""The player number of chance."""

TERMINAL = -2
"""The player number of terminal histories in a ``GameTree``."""

CHANCE_TOLERANCE = 1e-9
"""How far from 1 the probabilities of a chance history may sum; they are used as they are."""

LONGEST = 20_000
"""Moves of the longest history of a game that is built or played."""

Action = TypeVar("Action", bound=Hashable, default=Any)


@runtime_checkable
class History(Protocol[Action]):
    """A history of a game: the interface that the rules of a game implement.

    The empty history, its children, their children and so on are the whole game. Histories are
    immutable: a child is a new object.

    ``payoffs`` is only called at terminal histories, ``player`` only at others,
    ``chance_outcomes`` only where chance acts, ``actions`` and ``information_set`` only where a
    player does.

    Examples
    --------
    A player guesses the outcome of a toss of a fair coin:

    >>> from attrs import frozen
    >>> from regretkit.games import CHANCE, GameTree
    >>> @frozen
    ... class Toss:
    ...     moves: str = ""
    ...     def is_terminal(self): return len(self.moves) == 2
    ...     def player(self): return 0 if self.moves else CHANCE
    ...     def chance_outcomes(self): return [("h", 0.5), ("t", 0.5)]
    ...     def actions(self): return ["h", "t"]
    ...     def child(self, action): return Toss(self.moves + action)
    ...     def information_set(self): return "call it"
    ...     def payoffs(self): return [1.0 if self.moves in ("hh", "tt") else 0.0]
    >>> GameTree.from_history(Toss())
    <GameTree: 7 histories, 4 terminals, 1 information sets>
    """

    def is_terminal(self) -> bool:
        """Return whether the game is over."""
        ...

    def player(self) -> int:
        """Return the acting player, numbered from 0, or ``CHANCE``."""
        ...

    def chance_outcomes(self) -> Sequence[tuple[Action, float]]:
        """Return the outcomes of chance with their probabilities, which sum to 1."""
        ...

    def actions(self) -> Sequence[Action]:
        """Return the legal actions, at least one, without duplicates."""
        ...

    def child(self, action: Action) -> Self:
        """Return the history after ``action`` of a player or of chance."""
        ...

    def information_set(self) -> Hashable:
        """Return the acting player's information set.

        Two histories at which the same player acts are in one information set if this is equal.
        """
        ...

    def payoffs(self) -> Sequence[float]:
        """Return the payoff of each player at a terminal history."""
        ...


@runtime_checkable
class HistoryBatch(Protocol):
    """A batch of histories of one length, as arrays.

    The counterpart of ``History`` for many histories at once, so that a game
    of ten million histories takes a few dozen array operations for each length. The batch of the
    empty history and the batches of children are the whole game.

    The histories of a batch are numbered from 0. ``rows`` holds the numbers of the histories that a
    method is called for, in ascending order. Actions are numbers with the same meaning at all
    histories, at which different ones may be legal.

    Examples
    --------
    A player guesses the outcome of each toss of a fair coin:

    >>> import numpy as np
    >>> from attrs import frozen
    >>> from regretkit.games import CHANCE, TERMINAL, GameTree
    >>> @frozen(eq=False)
    ... class Tosses:
    ...     tosses: int
    ...     length: int
    ...     right: np.ndarray
    ...     last: np.ndarray
    ...     def player(self):
    ...         turn = TERMINAL if self.length == 2 * self.tosses else CHANCE
    ...         return np.full(self.last.size, 0 if self.length % 2 else turn)
    ...     def actions(self, rows): return np.ones((rows.size, 2), dtype=bool)
    ...     def child(self, rows, action):
    ...         right = self.right[rows]
    ...         if self.length % 2:  # the coin is down, and was called
    ...             right = right + (self.last[rows] == action)
    ...         return Tosses(self.tosses, self.length + 1, right, action)
    ...     def probability(self, rows, action): return np.full(rows.size, 0.5)
    ...     def information_set(self, rows): return np.full(rows.size, self.length // 2)
    ...     def payoffs(self, rows): return self.right[rows].reshape(-1, 1)
    ...     def action_name(self, player, action): return "ht"[action]
    ...     def label(self, player, information_set): return f"call toss {information_set}"
    >>> tree = GameTree.from_batch(Tosses(8, 0, np.zeros(1), np.zeros(1, dtype=int)))
    >>> tree
    <GameTree: 131071 histories, 65536 terminals, 8 information sets>
    >>> tree.labels[0][7], tree.actions[0][7]
    ('call toss 7', ('h', 't'))
    """

    def player(self) -> Indices:
        """Return the acting player of each history, ``CHANCE`` or ``TERMINAL``."""
        ...

    def actions(self, rows: Indices) -> NDArray[np.bool_]:
        """Return which actions of a player or of chance are legal, shape ``(len(rows), actions)``.

        Each row has at least one True. The number of columns may differ between batches; the
        meaning of a player's column may not.
        """
        ...

    def child(self, rows: Indices, action: Indices) -> Self:
        """Return the batch of the children: ``action[i]`` after history ``rows[i]``, for each i."""
        ...

    def probability(self, rows: Indices, action: Indices) -> Vector:
        """Return the probability of chance's ``action[i]`` at history ``rows[i]``, for each i."""
        ...

    def information_set(self, rows: Indices) -> Indices:
        """Return a number for the acting player's information set at each of these histories.

        Two histories of the same player with equal numbers, of any length, are in one information
        set. Any 64-bit integers are valid; small nonnegative ones are fastest.
        """
        ...

    def payoffs(self, rows: Indices) -> Vector:
        """Return the payoffs at these terminal histories, shape ``(len(rows), players)``."""
        ...

    def action_name(self, player: int, action: int) -> str:
        """Return the name of an action of a player or of ``CHANCE``.

        This and ``label`` are only called on the batch of the empty history, when a name is
        displayed.
        """
        ...

    def label(self, player: int, information_set: int) -> str:
        """Return the label of the information set with this number."""
        ...


METHODS: dict[type[Any], str] = {
    History: "is_terminal player chance_outcomes actions child information_set payoffs",
    HistoryBatch: "player actions child probability information_set payoffs action_name label",
}


def lacking(name: str, rules: object, kind: type[Any]) -> TypeError:
    """Return the error about rules that lack methods of a ``History`` or a ``HistoryBatch``."""
    missing = [method for method in METHODS[kind].split() if not hasattr(rules, method)]
    told = f"{name} must have the methods of a {kind.__name__}, got {quote(rules)}"
    told += f" without {missing}" * bool(missing)
    hint = "; a game without chance has chance_outcomes as well, which is never called"
    return TypeError(told + hint * (kind is History))


def check_methods(rules: object) -> None:
    """Raise a TypeError that names what is missing, if something is nearly the rules of a game."""
    if hasattr(rules, "history_path"):
        hint = "pass ExtensiveFormGame(tree)"
        raise TypeError(must_be("game", "a Game", rules, hint))
    missing = {
        kind: sum(not hasattr(rules, method) for method in methods.split())
        for kind, methods in METHODS.items()
    }
    nearest = min(missing, key=missing.__getitem__)
    if 0 < missing[nearest] < 5 and not hasattr(rules, "legal_actions"):  # of OpenSpiel
        raise lacking("game", rules, nearest)


def payoffs_of(history: History) -> list[float]:
    """Return the payoffs of a terminal history, which must be a sequence."""
    payoffs: list[float] = floats(history.payoffs(), "payoffs()").tolist()
    return payoffs


def actions_of(history: History[Action]) -> Sequence[Action]:
    """Return the legal actions, which must be in an order; a text is a sequence of letters."""
    actions = history.actions()
    if not isinstance(cast(object, actions), str):
        ordered(actions, "actions()")
    return actions


def outcomes_of(history: History[Action]) -> Sequence[tuple[Action, float]]:
    """Return the outcomes of chance, which must be a sequence."""
    outcomes = history.chance_outcomes()
    if isinstance(outcomes, Mapping):
        wanted = "a sequence of pairs of an action and its probability"
        hint = "return list(outcomes.items())"
        raise TypeError(must_be("chance_outcomes()", wanted, outcomes, hint))
    ordered(outcomes, "chance_outcomes()")
    return outcomes


def no_new_history(action: object, where: str) -> ValueError:
    """Return the error about a history that is its own child."""
    return ValueError(
        f"child({quote(action)}) must be a new history, got the one that it was asked of {where}, "
        "or one that shares a list with it; change a copy, as of copy.deepcopy"
    )


def shown_by(history: History) -> tuple[bool, int, Hashable]:
    """Return what a history says of itself, which no move changes."""
    player = history.player()
    return history.is_terminal(), player, None if player == CHANCE else history.information_set()


def check_length(moves: int) -> None:
    """Raise a ValueError for a history that no game that ends has."""
    if moves > LONGEST:
        raise ValueError(
            f"the game has histories of more than {LONGEST:,} moves; let is_terminal() be true "
            "at the end of each play"
        )


def path_text(path: Sequence[str]) -> str:
    """Return a history, given by its actions, for error messages."""
    if not path:
        return "the empty history"
    return "history " + shorten(" ".join(repr(action) for action in path))
