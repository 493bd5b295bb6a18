"""Any game as one history at a time, however its rules or its histories are written down."""

from collections.abc import Sequence
from typing import TypeAlias, final

import numpy as np
from attrs import field, frozen

from regretkit._util._typing import Indices
from regretkit._util._validate import floats, quote
from regretkit.games._extensive_form import ExtensiveFormGame
from regretkit.games._imperfect_recall import ImperfectRecallGame
from regretkit.games._normal_form import NormalFormGame
from regretkit.games.openspiel._history import is_openspiel, openspiel_history
from regretkit.games.openspiel._states import OpenSpielGame, OpenSpielState
from regretkit.games.tree._game_tree import GameTree
from regretkit.games.tree._history import CHANCE, TERMINAL, History
from regretkit.games.tree._history_batch import HistoryBatch
from regretkit.sets import Simplices

Playable: TypeAlias = (
    ExtensiveFormGame
    | ImperfectRecallGame
    | NormalFormGame
    | GameTree
    | HistoryBatch
    | History
    | OpenSpielGame
    | OpenSpielState
)
"""Every representation of a game that can be played from its beginning to its end."""

_FIRST: Indices = np.zeros(1, dtype=np.int64)


def as_history(game: Playable) -> History:
    """Return the empty history of a game, from which it can be played move by move.

    A game in extensive form is followed along its tree, a normal form is played as if one player
    after the other chose unseen, and a :class:`HistoryBatch` is expanded one history at a time, so
    that games whose trees do not fit into memory can be played and sampled as well. Games and
    states of OpenSpiel are played by its rules, as :func:`openspiel_history` says.

    Parameters
    ----------
    game
        A game, its tree, or its rules; a history comes back as it is. A state of OpenSpiel is gone
        on from.

    Raises
    ------
    TypeError
        When ``game`` is nothing of the kind.

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
    if isinstance(game, ExtensiveFormGame | ImperfectRecallGame):
        return _OfTree(game.tree, 0)
    if isinstance(game, GameTree):
        return _OfTree(game, 0)
    if isinstance(game, NormalFormGame):
        return _OfTable(game)
    # A class has the methods of its objects, but is none.
    if isinstance(game, HistoryBatch) and not isinstance(game, type):
        return _OfLevel(_Names(game), game)
    if isinstance(game, History) and not isinstance(game, type):
        return game
    if is_openspiel(game, "Game", "State"):
        return openspiel_history(game)
    raise TypeError(
        "game must be a game in extensive or normal form, a GameTree, a HistoryBatch, a History, "
        f"or a game or a state of OpenSpiel, got {quote(game)}; pass games.load('kuhn_poker') or "
        "games.openspiel_history('leduc_poker')"
    )


def payoff_bounds(game: Playable) -> tuple[tuple[float, float], ...] | None:
    """Return the least and the most that each player may earn, None where only rules are known."""
    if isinstance(game, ExtensiveFormGame | ImperfectRecallGame):
        game = game.tree
    if isinstance(game, GameTree):
        payoffs = game.payoffs.T
    elif isinstance(game, NormalFormGame):
        payoffs = game.payoffs.reshape(len(game.payoffs), -1)
    else:
        return None
    return tuple((float(paid.min()), float(paid.max())) for paid in payoffs)


@final
@frozen
class InformationSet:
    """An information set of a tree, by its number; shown by its label.

    Examples
    --------
    >>> InformationSet(3, "Jpb") == InformationSet(3, "another name")
    True
    >>> str(InformationSet(3, "Jpb"))
    'Jpb'
    """

    number: int
    """Its number, among those of its player."""
    label: str = field(eq=False)
    """Its label, which need not be the only one of its kind."""

    def __str__(self) -> str:
        return self.label


@final
@frozen
class _OfTree:
    """One history of a tree, by its number."""

    tree: GameTree = field(eq=False, repr=False)
    number: int

    def is_terminal(self) -> bool:
        return bool(self.tree.player[self.number] == TERMINAL)

    def player(self) -> int:
        return int(self.tree.player[self.number])

    def chance_outcomes(self) -> Sequence[tuple[str, float]]:
        names = self._names()
        first = self._first_child()
        chances = self.tree.probability[first : first + len(names)].tolist()
        return list(zip(names, chances, strict=True))

    def actions(self) -> tuple[str, ...]:
        return self._names()

    def child(self, action: str) -> "_OfTree":
        return _OfTree(self.tree, self._first_child() + self._names().index(action))

    def information_set(self) -> InformationSet:
        number = int(self.tree.information_set[self.number])
        return InformationSet(number, self.tree.labels[self.player()][number])

    def payoffs(self) -> Sequence[float]:
        end = int(np.searchsorted(self.tree.terminals, self.number))
        payoffs: list[float] = self.tree.payoffs[end].tolist()
        return payoffs

    def _first_child(self) -> int:
        # Histories stand in breadth-first order, and with them their parents.
        key = self.tree.parent.dtype.type(self.number)
        return int(np.searchsorted(self.tree.parent, key))

    def _names(self) -> tuple[str, ...]:
        return _unlike(tuple(self.tree._names(self.number)))


@final
@frozen
class _OfTable:
    """What some players of a normal form have chosen, which the others have not seen."""

    game: NormalFormGame = field(eq=False, repr=False)
    chosen: tuple[str, ...] = ()

    def is_terminal(self) -> bool:
        return len(self.chosen) == len(self.game.domains)

    def player(self) -> int:
        return len(self.chosen)

    def chance_outcomes(self) -> Sequence[tuple[str, float]]:
        return ()

    def actions(self) -> tuple[str, ...]:
        return self._domain(len(self.chosen)).labels.actions(0)

    def child(self, action: str) -> "_OfTable":
        return _OfTable(self.game, (*self.chosen, action))

    def information_set(self) -> InformationSet:
        return InformationSet(0, "")

    def payoffs(self) -> Sequence[float]:
        paid = self.game.payoffs
        for player, action in enumerate(self.chosen):
            paid = paid[:, self._domain(player).labels.actions(0).index(action)]
        payoffs: list[float] = paid.tolist()
        return payoffs

    def _domain(self, player: int) -> Simplices:
        return self.game.domains[player]


@final
@frozen(eq=False)
class _Names:
    """The names of actions, cached as they are requested."""

    root: HistoryBatch
    _known: dict[tuple[int, int], str] = field(factory=dict, init=False, repr=False)

    def action(self, player: int, action: int) -> str:
        """Return what to call an action of a player, or of chance."""
        if (player, action) not in self._known:
            self._known[player, action] = self.root.action_name(player, action)
        return self._known[player, action]

    def label(self, player: int, information_set: int) -> str:
        """Return what to call an information set."""
        return self.root.label(player, information_set)


@final
@frozen(eq=False)
class _OfLevel:
    """One history as a level of its own, beside the names of everything."""

    names: _Names
    level: HistoryBatch

    def is_terminal(self) -> bool:
        return self.player() == TERMINAL

    def player(self) -> int:
        return int(self.level.player()[0])

    def chance_outcomes(self) -> Sequence[tuple[str, float]]:
        actions = self._possible()
        chances = self.level.probability(np.zeros(actions.size, dtype=np.int64), actions)
        names = [self.names.action(CHANCE, action) for action in actions.tolist()]
        return list(zip(names, floats(chances, "probability()").tolist(), strict=True))

    def actions(self) -> tuple[str, ...]:
        player = self.player()
        return tuple(self.names.action(player, action) for action in self._possible().tolist())

    def child(self, action: str) -> "_OfLevel":
        number = self._possible()[self.actions().index(action)]
        return _OfLevel(self.names, self.level.child(_FIRST, np.array([number])))

    def information_set(self) -> str:
        number = int(self.level.information_set(_FIRST)[0])
        return self.names.label(self.player(), number)

    def payoffs(self) -> Sequence[float]:
        payoffs: list[float] = floats(self.level.payoffs(_FIRST), "payoffs()")[0].tolist()
        return payoffs

    def _possible(self) -> Indices:
        return np.flatnonzero(np.asarray(self.level.actions(_FIRST))[0])


def _unlike(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return names of actions so that no two are equal, which files do not promise."""
    if len(set(names)) == len(names):
        return names
    return tuple(f"{name} (action {number})" for number, name in enumerate(names))
