"""Types of OpenSpiel's objects, and a depth-first walk through the states of a game."""

import itertools
from array import array
from collections.abc import Mapping, Sequence
from typing import Never, Protocol, Self, TypeAlias, final

from regretkit._util._errors import advised
from regretkit._util._validate import quote
from regretkit.games._memory_budget import MemoryBudget
from regretkit.games.tree._history import CHANCE, path_text

END = -4
"""The player at a terminal state, as OpenSpiel numbers it."""

_CHECK_INTERVAL = 1024
"""Number of histories between two checks of the limits."""

Row: TypeAlias = Sequence[tuple[int, float]]
"""Actions by OpenSpiel's numbers, each with its probability."""


class State(Protocol):
    """The methods of OpenSpiel's ``pyspiel.State`` that are used, so that types are checked."""

    def current_player(self) -> int: ...
    def legal_actions(self) -> list[int]: ...
    def chance_outcomes(self) -> Row: ...
    def child(self, action: int) -> Self: ...
    def apply_action(self, action: int) -> None: ...
    def information_state_string(self) -> str: ...
    def history_str(self) -> str: ...
    def history(self) -> list[int]: ...
    def action_to_string(self, player: int, action: int) -> str: ...
    def returns(self) -> list[float]: ...


class OpenSpielGame(Protocol):
    """A game, as OpenSpiel's ``pyspiel.Game``."""

    def new_initial_state(self) -> State:
        """Return the empty history."""
        ...

    def num_players(self) -> int:
        """Return the number of players."""
        ...


class OpenSpielState(State, Protocol):
    """A state with its game, as OpenSpiel's ``pyspiel.State``."""

    def get_game(self) -> OpenSpielGame:
        """Return the game."""
        ...

    def clone(self) -> Self:
        """Return a copy."""
        ...


class OpenSpielPolicy(Protocol):
    """A strategy for every player, as OpenSpiel's ``pyspiel.TabularPolicy``."""

    def policy_table(self) -> Mapping[str, Row]:
        """Return the distribution over actions for each information state string."""
        ...


@final
class States:
    """The states of a game in depth-first order, as arrays with one entry for each state."""

    def __init__(
        self, game: OpenSpielGame, budget: MemoryBudget, most: float, *, by_string: bool
    ) -> None:
        self._game, self._budget, self._most = game, budget, most
        self._by_string = by_string
        self.parent = array("q")
        self.player = array("q")
        self.information_set = array("q")
        """Numbered for each player in the order of first occurrence."""
        self.counts = array("q")
        """Number of children."""
        # One entry for each action of each state
        self.actions = array("q")
        """OpenSpiel's numbers of the actions."""
        # One entry for each outcome of each state of chance, and for each player at each end
        self.probability = array("d")
        self.payoffs = array("d")
        # One entry for each information set of each player
        self.known: list[dict[str, int]] = [{} for _ in range(game.num_players())]
        self._legal: list[list[list[int]]] = [[] for _ in self.known]
        self._walk()

    def _walk(self) -> None:
        """Visit all states; only those on the path to the current one are held."""
        state, parent = self._game.new_initial_state(), -1
        stack: list[tuple[State, list[int], int]] = []
        for number in itertools.count():
            self.parent.append(parent)
            if not number % _CHECK_INTERVAL:
                self._check_size(number, state)
            actions = self._visit(state)
            self.counts.append(len(actions))
            if actions:
                stack.append((state, actions[::-1], number))
            if not stack:
                break
            state, remaining, parent = stack[-1]
            action = remaining.pop()
            if remaining:
                state = state.child(action)
            else:
                # The last use of this state: changing it is faster than copying it.
                stack.pop()
                state.apply_action(action)
        self._check_size(len(self.parent), state)

    def _visit(self, state: State) -> list[int]:
        """Record one state and return its actions."""
        player = int(state.current_player())  # older games in Python return an enumeration
        self.player.append(player)
        if player >= 0:
            return self._decision(state, player)
        self.information_set.append(-1)
        if player == END:
            self.payoffs.extend(state.returns())
            return []
        if player != CHANCE:
            raise ValueError(
                f"no single player acts at {_text(state)}: OpenSpiel's current_player() is "
                f"{player}; only players and chance, one at a time, are supported"
            )
        outcomes = state.chance_outcomes()
        actions = [action for action, _ in outcomes]
        self.probability.extend([probability for _, probability in outcomes])
        self.actions.extend(actions)
        return actions or self._refuse_nothing(state)

    def _decision(self, state: State, player: int) -> list[int]:
        known, legal = self.known[player], self._legal[player]
        key = (
            state.information_state_string() if self._by_string else state.history_str() or "start"
        )
        number = known.setdefault(key, len(known))
        actions = state.legal_actions()
        if number == len(legal):
            if not actions:
                self._refuse_nothing(state)
            legal.append(actions)
        elif actions != legal[number]:
            raise ValueError(
                f"information state {quote(key)} of player {player} has actions "
                f"{quote(legal[number])} at {self._first(player, number)}, but {quote(actions)} at "
                f"{_text(state)}; this is not a game in extensive form"
            )
        self.information_set.append(number)
        self.actions.extend(actions)
        return actions

    def _first(self, player: int, number: int) -> str:
        """Return the first history of an information set for error messages."""
        pairs = zip(self.player, self.information_set, strict=False)
        history, path = next(i for i, pair in enumerate(pairs) if pair == (player, number)), []
        while (parent := self.parent[history]) >= 0:
            earlier = sum(self.counts[:parent]) + self.parent[:history].count(parent)
            path.append(str(self.actions[earlier]))
            history = parent
        return path_text(path[::-1])

    def _check_size(self, found: int, state: State) -> None:
        self._budget.check_objects(found)
        if found > self._most:
            problem = (
                f"the game has more than {int(self._most):,} histories; the one reached is "
                f"{len(state.history())} actions long: {_text(state)}; choose a smaller game"
            )
            raise advised(ValueError, problem, "pass max_histories to walk on", joint=", or ")

    def _refuse_nothing(self, state: State) -> Never:
        raise ValueError(f"no action is legal at {_text(state)}, which is not terminal")


def _text(state: State) -> str:
    """Return the history of a state for error messages."""
    return path_text([str(action) for action in state.history()])
