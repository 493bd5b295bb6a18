"""The ``History`` interface, and checks of histories."""

from collections.abc import Hashable, Sequence
from typing import Any, Protocol, Self, cast, runtime_checkable

from typing_extensions import TypeVar

from regretkit._util._validate import floats, ordered, quote, shorten

CHANCE = -1
"""The player number of chance."""

TERMINAL = -2
"""The player number of terminal histories in a ``GameTree``."""

CHANCE_TOLERANCE = 1e-9
"""Largest distance from 1 of the sum of chance's probabilities, which are not normalized."""

LONGEST = 20_000
"""Largest number of moves of a history."""

Action = TypeVar("Action", bound=Hashable, default=Any)


@runtime_checkable
class History(Protocol[Action]):
    """A history of a game, the interface for games written as objects.

    The empty history and its descendants define the whole game. Histories are immutable: ``child``
    returns a new object. ``Rules`` define a game by batches instead, which is faster.

    ===================================== ==================================
    method                                called at
    ===================================== ==================================
    ``is_terminal``                       all histories
    ``payoffs``                           terminal histories
    ``player``, ``child``                 other histories
    ``chance_outcomes``                   histories where chance acts
    ``actions``, ``information_set``      histories where a player acts
    ===================================== ==================================

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

        Histories of the same player with equal values belong to the same information set.
        """
        ...

    def payoffs(self) -> Sequence[float]:
        """Return the payoff of each player at a terminal history."""
        ...


def check_history(root: object, name: str) -> None:
    """Raise a TypeError unless ``root`` has all methods of a ``History``."""
    if isinstance(root, type):
        raise TypeError(f"{name} must be an object, got the class {root.__name__}")
    methods = [method for method in vars(History) if not method.startswith("_")]
    missing = [method for method in methods if not hasattr(root, method)]
    if missing:
        raise TypeError(
            f"{name} must be a game, or have the methods of a History, got {quote(root)} without "
            f"{', '.join(missing)}"
        )


def payoffs_of(history: History) -> list[float]:
    """Return the payoffs of a terminal history as floats."""
    payoffs: list[float] = floats(history.payoffs(), "payoffs()").tolist()
    return payoffs


def actions_of(history: History[Action]) -> Sequence[Action]:
    """Return the legal actions, or raise unless they are ordered. A string is one of letters."""
    actions = history.actions()
    if not isinstance(cast(object, actions), str):
        ordered(actions, "actions()")
    return actions


def outcomes_of(history: History[Action]) -> Sequence[tuple[Action, float]]:
    """Return the outcomes of chance, or raise unless they are ordered."""
    outcomes = history.chance_outcomes()
    ordered(outcomes, "chance_outcomes()")
    return outcomes


def check_length(moves: int) -> None:
    """Raise a ValueError for a history so long that the game may never end."""
    if moves > LONGEST:
        raise ValueError(
            f"the game has histories of more than {LONGEST:,} moves; is_terminal() must return "
            "True at the end of each play"
        )


def path_text(path: Sequence[str]) -> str:
    """Return a history, given by its actions, for error messages."""
    if not path:
        return "the empty history"
    return "history " + shorten(" ".join(repr(action) for action in path))
