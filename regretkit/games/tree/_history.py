"""The rules of a game as histories, one by one or in batches."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Protocol, Self, cast, runtime_checkable

from typing_extensions import TypeVar

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


_METHODS = "is_terminal player chance_outcomes actions child information_set payoffs"


def _missing(rules: object) -> list[str]:
    return [method for method in _METHODS.split() if not hasattr(rules, method)]


def lacking(name: str, rules: object) -> TypeError:
    """Return the error about rules that lack methods of a ``History``."""
    return TypeError(
        f"{name} must have the methods of a History, got {quote(rules)} without {_missing(rules)}; "
        "a game without chance has chance_outcomes as well, which is never called"
    )


def check_methods(rules: object) -> None:
    """Raise a TypeError that names what is missing, if something is nearly the rules of a game."""
    if hasattr(rules, "history_path"):
        raise TypeError(must_be("game", "a Game", rules, "pass ExtensiveFormGame(tree)"))
    if 0 < len(_missing(rules)) < 5 and not hasattr(rules, "legal_actions"):  # of OpenSpiel
        raise lacking("game", rules)


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
