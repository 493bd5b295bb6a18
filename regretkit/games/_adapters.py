"""``History`` objects for every representation of a game."""

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
from attrs import field, frozen

from regretkit._util._typing import Indices
from regretkit._util._validate import floats
from regretkit.games._game import Game, check_game
from regretkit.games.bridges._openspiel_states import (
    is_openspiel,
    openspiel_history,
)
from regretkit.games.tree._game_tree import GameTree
from regretkit.games.tree._history import TERMINAL, History, check_history
from regretkit.games.tree._rules import Batch, Rules

if TYPE_CHECKING:
    from regretkit.games._normal_form import NormalFormGame

Playable: TypeAlias = Game[Any] | GameTree | Rules | History | Any
"""A representation of a game for which ``as_history`` returns the empty history."""


def as_history(game: Playable) -> History:
    """Return the empty history of a game, to play it move by move.

    In a normal form, players choose in turn and do not observe each other. ``Rules`` and games of
    OpenSpiel need no tree: they compute one history at a time, so the game may be of any size. See
    ``openspiel_history``.

    Parameters
    ----------
    game
        A game, its tree, its rules, or a game or state of OpenSpiel. A ``History`` is returned
        unchanged.

    Examples
    --------
    >>> from regretkit.games import kuhn_poker
    >>> history = as_history(kuhn_poker())
    >>> history.chance_outcomes()[0]
    ('J', 0.3333333333333333)
    >>> dealt = history.child("J").child("K")
    >>> str(dealt.information_set()), dealt.actions()
    ('J', ('p', 'b'))
    """
    if isinstance(game, Game):
        return game.history()
    if isinstance(game, GameTree):
        return TreeHistory(game)
    if isinstance(game, Rules):
        return RulesHistory(game)
    if is_openspiel(game, "Game", "State"):
        return openspiel_history(game)
    check_history(game, "game")
    return cast("History", game)


def has_rules_alone(game: object) -> bool:
    """Return whether ``game`` is rules without a tree; raise a TypeError if it is not a game."""
    if isinstance(game, str | np.ndarray | list | tuple):
        check_game(game)
    if not isinstance(game, Game | Rules) and not is_openspiel(game, "Game", "State"):
        check_history(game, "game")
    return not isinstance(game, Game)


def payoff_bounds(game: Playable) -> tuple[tuple[float, float], ...] | None:
    """Return the least and largest payoff of each player, None if unknown."""
    return game.payoff_bounds if isinstance(game, Game | GameTree) else None


def distinct(names: Sequence[str]) -> tuple[str, ...]:
    """Return names of actions, with their numbers appended if they are not unique."""
    if len(set(names)) == len(names):
        return tuple(names)
    return tuple(f"{name} (action {number})" for number, name in enumerate(names))


@frozen
class InformationSet:
    """An information set of a tree, identified by its number and printed as its label.

    Examples
    --------
    >>> InformationSet(3, "Jpb") == InformationSet(3, "another name")
    True
    >>> str(InformationSet(3, "Jpb"))
    'Jpb'
    """

    number: int
    """Number among the player's information sets."""
    label: str = field(eq=False)
    """Label, which need not be unique."""

    def __str__(self) -> str:
        return self.label


@frozen
class TreeHistory:
    """A history of a tree, identified by its number."""

    tree: GameTree = field(eq=False, repr=False)
    number: int = 0

    def is_terminal(self) -> bool:
        return bool(self.tree.player[self.number] == TERMINAL)

    def player(self) -> int:
        return int(self.tree.player[self.number])

    def chance_outcomes(self) -> Sequence[tuple[str, float]]:
        names, first = self._names(), self._first_child()
        probability = self.tree.probability[first : first + len(names)].tolist()
        return list(zip(names, probability, strict=True))

    def actions(self) -> tuple[str, ...]:
        return self._names()

    def child(self, action: str) -> "TreeHistory":
        return TreeHistory(self.tree, self._first_child() + self._names().index(action))

    def information_set(self) -> InformationSet:
        number = int(self.tree.information_set[self.number])
        return InformationSet(number, self.tree.labels[self.player()][number])

    def payoffs(self) -> Sequence[float]:
        terminal = int(np.searchsorted(self.tree.terminals, self.number))
        payoffs: list[float] = self.tree.payoffs[terminal].tolist()
        return payoffs

    def _first_child(self) -> int:
        # In breadth-first order, parents are sorted. A key of their dtype avoids a copy.
        key = self.tree.parent.dtype.type(self.number)
        return int(np.searchsorted(self.tree.parent, key))

    def _names(self) -> tuple[str, ...]:
        return distinct(self.tree._names(self.number))


@frozen
class NormalFormHistory:
    """A history of a normal form: the actions of the players 0, 1, ... so far, unobserved."""

    game: "NormalFormGame" = field(eq=False, repr=False)
    chosen: tuple[str, ...] = ()

    def is_terminal(self) -> bool:
        return len(self.chosen) == len(self.game.domains)

    def player(self) -> int:
        return len(self.chosen)

    def chance_outcomes(self) -> Sequence[tuple[str, float]]:
        return ()

    def actions(self) -> tuple[str, ...]:
        return self.game.domains[len(self.chosen)].labels.actions(0)

    def child(self, action: str) -> "NormalFormHistory":
        return NormalFormHistory(self.game, (*self.chosen, action))

    def information_set(self) -> InformationSet:
        return InformationSet(0, "")

    def payoffs(self) -> Sequence[float]:
        paid = self.game.payoffs
        for player, action in enumerate(self.chosen):
            paid = paid[:, self.game.domains[player].labels.actions(0).index(action)]
        payoffs: list[float] = paid.tolist()
        return payoffs


class RulesHistory:
    """One history of ``Rules``, a batch of size 1.

    If ``named``, actions and information sets are names, else the numbers of the rules.
    """

    def __init__(self, rules: Rules, h: Batch | None = None, *, named: bool = True) -> None:
        self.rules, self.named = rules, named
        self.h = rules.start() if h is None else h

    def is_terminal(self) -> bool:
        return self._player == TERMINAL

    def player(self) -> int:
        return self._player

    def chance_outcomes(self) -> Sequence[tuple[Any, float]]:
        count = self._legal.size
        repeated = self.h[np.zeros(count, dtype=np.int64)]
        drawn = floats(self.rules.chance(repeated, self._legal), "chance()")
        return list(zip(self._actions, np.broadcast_to(drawn, count).tolist(), strict=True))

    def actions(self) -> tuple[Any, ...]:
        return self._actions

    def child(self, action: Any) -> "RulesHistory":
        number = self._legal[self._actions.index(action)] if self.named else action
        return RulesHistory(
            self.rules, self.rules.child(self.h, np.array([number])), named=self.named
        )

    def information_set(self) -> Any:
        observed = list[int]()
        for column in map(np.asarray, self.rules.observed(self.h)):
            observed += column[0].tolist() if column.ndim == 2 else [int(column.item())]
        if not self.named:
            return tuple(observed)
        label = self.rules.label(self._player, *observed)
        return InformationSet(observed[0], label) if self.rules.numbered else label

    def payoffs(self) -> Sequence[float]:
        payoffs: list[float] = floats(self.rules.payoffs(self.h), "payoffs()")[0].tolist()
        return payoffs

    @cached_property
    def _player(self) -> int:
        return int(np.asarray(self.rules.player(self.h)).item())

    @cached_property
    def _legal(self) -> Indices:
        legal = np.asarray(self.rules.legal(self.h))
        return np.flatnonzero(legal[0] if legal.ndim == 2 else legal)

    @cached_property
    def _actions(self) -> tuple[Any, ...]:
        actions = self._legal.tolist()
        if not self.named:
            return tuple(actions)
        return tuple(self.rules.action_name(self._player, action) for action in actions)
