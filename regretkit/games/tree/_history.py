"""The rules of a game as histories."""

from collections.abc import Hashable, Sequence
from typing import Any, Protocol, Self, runtime_checkable

from typing_extensions import TypeVar

from regretkit._util._validate import floats, ordered, shorten

CHANCE = -1
"""The player number of chance."""

TERMINAL = -2
"""The player number of terminal histories in a :class:`~regretkit.games.GameTree`."""

CHANCE_TOLERANCE = 1e-9
"""How far from 1 the probabilities of a chance history may sum; they are used as they are."""

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
    >>> from regretkit.games import GameTree
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


def payoffs_of(history: History) -> list[float]:
    """Return the payoffs of a terminal history, which must be a sequence."""
    payoffs: list[float] = floats(history.payoffs(), "payoffs()").tolist()
    return payoffs


def outcomes_of(history: History[Action]) -> Sequence[tuple[Action, float]]:
    """Return the outcomes of chance, which must be a sequence."""
    outcomes = history.chance_outcomes()
    ordered(outcomes, "chance_outcomes()")
    return outcomes


def path_text(path: Sequence[str]) -> str:
    """Return a history, given by its actions, for error messages."""
    if not path:
        return "the empty history"
    return "history " + shorten(" ".join(repr(action) for action in path))
