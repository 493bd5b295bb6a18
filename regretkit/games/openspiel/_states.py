"""Walking OpenSpiel's states, depth first and as few of them at a time as that allows."""

import itertools
from array import array
from typing import Never, final

from regretkit._errors import advised
from regretkit._validate import quote
from regretkit.games._memory_budget import MemoryBudget
from regretkit.games.openspiel._protocols import OpenSpielGame, State
from regretkit.games.tree._history import CHANCE, path_text

_END = -4
"""Who acts at the end of a game, as OpenSpiel numbers it."""

_BETWEEN_LOOKS = 1024
"""So many histories are visited before the next look at how many there may be."""


@final
class States:
    """What is noted of each state of a game; the fields are arrays, one entry for each.

    States stand in the order of a walk that goes down before it goes on: each follows its parent,
    with everything below the children before it in between.
    """

    def __init__(
        self, game: OpenSpielGame, budget: MemoryBudget, most: float, *, by_string: bool
    ) -> None:
        self._game, self._budget, self._most = game, budget, most
        self._by_string = by_string
        self.parent = array("q")
        self.player = array("q")
        self.information_set = array("q")
        """Number of what the acting player knows, in the order in which that player learns it."""
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
        """Go through all states, of which only those on the way down are held."""
        state, before = self._game.new_initial_state(), -1
        above: list[tuple[State, list[int], int]] = []
        for here in itertools.count():
            self.parent.append(before)
            if not here % _BETWEEN_LOOKS:
                self._check_size(here, state)
            actions = self._visit(state)
            self.counts.append(len(actions))
            if actions:
                above.append((state, actions[::-1], here))
            if not above:
                break
            state, left, before = above[-1]
            action = left.pop()
            if left:
                state = state.child(action)
            else:
                # This state is not needed any more; changing it is faster than copying it.
                above.pop()
                state.apply_action(action)
        self._check_size(len(self.parent), state)

    def _visit(self, state: State) -> list[int]:
        """Note one state, and return its actions."""
        player = int(state.current_player())  # older games in Python return an enumeration
        self.player.append(player)
        if player >= 0:
            return self._decision(state, player)
        self.information_set.append(-1)
        if player == _END:
            self.payoffs.extend(state.returns())
            return []
        if player != CHANCE:
            raise ValueError(
                f"no single player acts at {shown(state)}, where OpenSpiel says that player "
                f"{player} does; only players and chance, one at a time, are supported"
            )
        outcomes = state.chance_outcomes()
        actions = [action for action, _ in outcomes]
        self.probability.extend([probability for _, probability in outcomes])
        self.actions.extend(actions)
        return actions or self._refuse_nothing(state)

    def _decision(self, state: State, player: int) -> list[int]:
        known, legal = self.known[player], self._legal[player]
        key = state.information_state_string() if self._by_string else _told(state)
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
                f"{shown(state)}; this is not a game in extensive form"
            )
        self.information_set.append(number)
        self.actions.extend(actions)
        return actions

    def _first(self, player: int, number: int) -> str:
        """Name the history that came first to an information set."""
        pairs = zip(self.player, self.information_set, strict=False)
        here, path = next(i for i, pair in enumerate(pairs) if pair == (player, number)), []
        while (before := self.parent[here]) >= 0:
            earlier = sum(self.counts[:before]) + self.parent[:here].count(before)
            path.append(str(self.actions[earlier]))
            here = before
        return path_text(path[::-1])

    def _check_size(self, found: int, state: State) -> None:
        self._budget.check_objects(found)
        if found > self._most:
            problem = (
                f"the game has more than {int(self._most):,} histories; the one reached is "
                f"{len(state.history())} actions long: {shown(state)}; choose a smaller game"
            )
            raise advised(ValueError, problem, "pass max_histories to walk on", joint=", or ")

    def _refuse_nothing(self, state: State) -> Never:
        raise ValueError(f"the game goes on, but nothing can be done at {shown(state)}")


def shown(state: State) -> str:
    """Return the history of a state as messages show it."""
    return path_text([str(action) for action in state.history()])


def _told(state: State) -> str:
    """Return everything that happened so far, which is what is known where nothing is hidden."""
    return state.history_str() or "start"
