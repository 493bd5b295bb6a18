"""OpenSpiel's states as histories, for play by the rules without a tree."""

import sys
from collections.abc import Hashable, Sequence
from typing import Any, TypeGuard, final

from regretkit.games.openspiel._states import END, OpenSpielGame, OpenSpielState, State
from regretkit.games.openspiel._tree import as_turn_based
from regretkit.games.tree._history import History


def openspiel_history(game: str | OpenSpielGame | OpenSpielState) -> History[int]:
    """Return a history of a game of OpenSpiel, whose tree is not built.

    For games that are too large for :func:`from_openspiel`. Players, actions and information sets
    are OpenSpiel's: actions are its numbers, and an information set is its information state
    string. Simultaneous moves become sequential moves that the other players do not observe.

    Parameters
    ----------
    game
        The game, or a name that ``pyspiel.load_game`` knows, with arguments or without, for the
        empty history; or a state, which is copied.

    Raises
    ------
    TypeError
        When ``game`` is neither a game or a state of OpenSpiel nor a name.
    ValueError
        When OpenSpiel has no such game, or it does not list the outcomes of chance, or has no
        information states.

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
    for action in begun.history():  # simultaneous moves one after the other
        state.apply_action(action)
    return OpenSpielHistory(state, by_string)


def is_openspiel(value: object, *kinds: str) -> TypeGuard[OpenSpielGame | OpenSpielState]:
    """Return whether a value is of one of these classes of OpenSpiel, without importing it."""
    pyspiel = sys.modules.get("pyspiel")  # imported already if such an object exists
    return pyspiel is not None and isinstance(value, tuple(getattr(pyspiel, k) for k in kinds))


@final
class OpenSpielHistory:
    """A state of OpenSpiel as a history."""

    __slots__ = ("_by_string", "_player", "_state")

    def __init__(self, state: State, by_string: bool) -> None:
        self._state, self._by_string = state, by_string
        self._player = int(state.current_player())

    def is_terminal(self) -> bool:
        return self._player == END

    def player(self) -> int:
        return self._player

    def chance_outcomes(self) -> Sequence[tuple[int, float]]:
        return self._state.chance_outcomes()

    def actions(self) -> Sequence[int]:
        return self._state.legal_actions()

    def child(self, action: int) -> "OpenSpielHistory":
        return OpenSpielHistory(self._state.child(action), self._by_string)

    def information_set(self) -> Hashable:
        if self._by_string:
            return self._state.information_state_string()
        return self._state.history_str()

    def payoffs(self) -> Sequence[float]:
        return self._state.returns()
