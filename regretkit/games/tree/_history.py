"""One history of a game: what has happened so far, and what may happen next."""

from collections.abc import Hashable, Sequence
from typing import Any, Protocol, Self, runtime_checkable

from typing_extensions import TypeVar

from regretkit._util._validate import floats, ordered, shorten

CHANCE = -1
"""The player that acts where chance does."""

TERMINAL = -2
"""The player that a :class:`~regretkit.games.GameTree` notes where the game is over."""

CHANCE_TOLERANCE = 1e-9
"""How far from 1 the probabilities of a chance history may sum; they are used as they are."""

Action = TypeVar("Action", bound=Hashable, default=Any)


@runtime_checkable
class History(Protocol[Action]):
    """A history of a game, which is all that a game's rules have to provide.

    Start from the empty history, in which nothing has happened yet: its children, their
    children and so on are the whole game. Histories are values: a child is a new object.

    A method is only called where it makes sense: ``payoffs`` at the end of the game, ``player``
    before it, ``chance_outcomes`` where chance acts, ``actions`` and ``information_set`` where a
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
        """Return who acts: a player, numbered from 0, or ``CHANCE``."""
        ...

    def chance_outcomes(self) -> Sequence[tuple[Action, float]]:
        """Return what chance may do, each with its probability; they sum to 1."""
        ...

    def actions(self) -> Sequence[Action]:
        """Return what the acting player may do, at least one action and no two equal."""
        ...

    def child(self, action: Action) -> Self:
        """Return the history in which ``action``, of chance or of a player, comes next."""
        ...

    def information_set(self) -> Hashable:
        """Return what the acting player knows.

        The player cannot tell apart two histories in which it acts and this is equal; what
        other players' information sets are called makes no difference.
        """
        ...

    def payoffs(self) -> Sequence[float]:
        """Return what each player earns at the end of the game."""
        ...


def payoffs_of(history: History) -> list[float]:
    """Return what each player earns at the end of the game, refused if it has no order."""
    payoffs: list[float] = floats(history.payoffs(), "payoffs()").tolist()
    return payoffs


def outcomes_of(history: History[Action]) -> Sequence[tuple[Action, float]]:
    """Return what chance may do and how likely each of it is, refused if it has no order."""
    outcomes = history.chance_outcomes()
    ordered(outcomes, "chance_outcomes()")
    return outcomes


def path_text(path: Sequence[str]) -> str:
    """Return a history, given by its actions, as messages show it."""
    if not path:
        return "the empty history"
    return "history " + shorten(" ".join(repr(action) for action in path))
