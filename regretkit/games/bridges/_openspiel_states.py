"""States of OpenSpiel as histories, for play without a tree."""

import sys
from collections.abc import Hashable
from typing import Any, TypeAlias

from regretkit._util._lazy_import import optional
from regretkit._util._validate import did_you_mean, must_be, quote
from regretkit.games.tree._history import History

END = -4
"""OpenSpiel's player number at terminal states."""

# Classes of pyspiel, an optional dependency
OpenSpielGame: TypeAlias = Any
OpenSpielState: TypeAlias = Any
OpenSpielPolicy: TypeAlias = Any


def openspiel_history(game: str | OpenSpielGame | OpenSpielState) -> History[int]:
    """Return a history of a game of OpenSpiel, without building a tree.

    Use it for games that are too large for ``from_openspiel``. Actions are OpenSpiel's numbers, and
    information sets its information state strings. Simultaneous moves become sequential moves that
    the other players do not observe.

    Parameters
    ----------
    game
        The game, or its name for ``pyspiel.load_game``, optionally with arguments, for the empty
        history. Or a state, which is copied, for its history.

    Examples
    --------
    >>> history = openspiel_history("leduc_poker")
    >>> history.player(), len(history.chance_outcomes())
    (-1, 6)
    """
    begun: Any = game if is_openspiel(game, "State") else None
    loaded, turns, by_string = as_turn_based(game if begun is None else begun.get_game())
    if begun is None:
        return OpenSpielHistory(turns.new_initial_state(), by_string)
    if turns is loaded:
        return OpenSpielHistory(begun.clone(), by_string)
    state = turns.new_initial_state()
    for action in begun.history():  # lists simultaneous moves one after the other
        state.apply_action(action)
    return OpenSpielHistory(state, by_string)


def is_openspiel(value: object, *kinds: str) -> bool:
    """Return whether a value is of one of these classes of OpenSpiel."""
    pyspiel = sys.modules.get("pyspiel")  # no import: if such an object exists, it is loaded
    return pyspiel is not None and isinstance(value, tuple(getattr(pyspiel, k) for k in kinds))


class OpenSpielHistory:
    __slots__ = ("_player", "_state", "has_strings")

    def __init__(self, state: OpenSpielState, by_string: bool) -> None:
        self._state, self.has_strings = state, by_string
        self._player = int(state.current_player())

    def is_terminal(self) -> bool:
        return self._player == END

    def player(self) -> int:
        return self._player

    def chance_outcomes(self) -> Any:
        return self._state.chance_outcomes()

    def actions(self) -> Any:
        return self._state.legal_actions()

    def child(self, action: int) -> "OpenSpielHistory":
        return OpenSpielHistory(self._state.child(action), self.has_strings)

    def information_set(self) -> Hashable:
        if self.has_strings:
            return str(self._state.information_state_string())
        return self._state.history_str() or "start"

    def payoffs(self) -> Any:
        return self._state.returns()

    def action_name(self, action: int) -> str:
        return str(self._state.action_to_string(self._player, action))


def as_turn_based(game: object) -> tuple[Any, Any, bool]:
    """Return a game, its turn-based form, and whether this has information state strings."""
    pyspiel: Any = optional("pyspiel", "openspiel")
    loaded: Any = _loaded(pyspiel, game)
    kind, types = loaded.get_type(), pyspiel.GameType
    if kind.dynamics == types.Dynamics.MEAN_FIELD:
        raise ValueError(f"{loaded} is a mean field game, whose states are not histories")
    if kind.chance_mode == types.ChanceMode.SAMPLED_STOCHASTIC:
        raise ValueError(f"{loaded} samples chance outcomes, but does not list them")
    simultaneous = kind.dynamics == types.Dynamics.SIMULTANEOUS
    turns = pyspiel.convert_to_turn_based(loaded) if simultaneous else loaded
    by_string = has_strings(pyspiel, turns)
    perfect = kind.information == types.Information.PERFECT_INFORMATION
    if not by_string and (simultaneous or not perfect):
        raise ValueError(
            f"OpenSpiel's {kind.short_name} has no information state strings, which define its "
            "information sets"
        )
    return loaded, turns, by_string


def _loaded(pyspiel: Any, game: object) -> object:
    if isinstance(game, pyspiel.Game):
        return game
    if not isinstance(game, str):
        raise TypeError(must_be("game", "a game of OpenSpiel or its name", game))
    if "python_" in game:
        optional("open_spiel.python.games", "openspiel")  # registers them with load_game
    name, known = game.partition("(")[0], pyspiel.registered_names()
    if name not in known:  # else OpenSpiel prints all names
        hint = did_you_mean(name, known) or "; pyspiel.registered_names() lists them"
        raise ValueError(f"OpenSpiel has no game {quote(name)}{hint}")
    try:
        return pyspiel.load_game(game)
    except pyspiel.SpielError as error:
        raise ValueError(f"OpenSpiel cannot load {quote(game)}: {str(error).strip()}") from error


def has_strings(pyspiel: Any, game: Any) -> bool:
    """Return whether a game has information state strings, declared or not."""
    if game.get_type().provides_information_state_string:
        return True
    state = game.new_initial_state()
    while state.is_chance_node():
        state.apply_action(state.chance_outcomes()[0][0])
    try:
        return isinstance(state.information_state_string(), str)
    except pyspiel.SpielError:
        return False
