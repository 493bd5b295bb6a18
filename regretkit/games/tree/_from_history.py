"""Builds a game tree from a history, level by level."""

from array import array
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, final

import numpy as np

from regretkit._util._typing import Indices
from regretkit._util._validate import ordered, quote
from regretkit.games._growth import Growth
from regretkit.games._memory_budget import MemoryBudget
from regretkit.games.tree._history import (
    CHANCE,
    TERMINAL,
    Action,
    History,
    actions_of,
    no_new_history,
    outcomes_of,
    path_text,
)

Names = tuple[str, ...]

_CHECK_INTERVAL = 4096
"""Number of histories between two checks of the memory budget."""


_METHODS = ["is_terminal", "player", "chance_outcomes", "actions", "child"]
_METHODS += ["information_set", "payoffs"]


def walk(root: History, budget: MemoryBudget, time_limit: float | None = None) -> dict[str, Any]:
    """Return the arguments of the ``GameTree`` with this root."""
    if not isinstance(root, History):
        missing = [name for name in _METHODS if not hasattr(root, name)]
        raise TypeError(
            f"root must have the methods of a History, got {quote(root)} without {missing}; "
            "a game without chance has chance_outcomes as well, which is never called"
        )
    if isinstance(root, type):
        raise TypeError(
            f"root must be the first history, got its class {root.__name__}; pass {root.__name__}()"
        )
    growth = Growth(budget, time_limit, lambda: root)
    walker = _Walker(budget, growth)
    level = [root]
    while level:
        walker.depth += 1
        try:
            level = [child for history in level for child in walker.visit(history)]
        except (ArithmeticError, AttributeError, LookupError, TypeError) as error:
            error.add_note(f"at {walker.path(walker.visited)}")
            raise
    growth.report_end(walker.visited + 1)
    return walker.arrays()


def path_to(
    history: int,
    parent: Sequence[int] | Indices,
    action: Sequence[int] | Indices,
    names: Callable[[int], Sequence[str]],
) -> Names:
    """Return the names of the actions that lead to a history; ``names`` returns those at one."""
    path = []
    while (previous := int(parent[history])) >= 0:
        path.append(names(previous)[action[history]])
        history = previous
    return tuple(reversed(path))


def check_acting(acting: Iterable[int], players: int, path: Callable[[int], str]) -> None:
    """Raise a ValueError for acting players without payoffs; ``path`` returns the first history."""
    for player in acting:
        if player >= players:
            raise ValueError(
                f"player {player} acts at {path(player)}, but payoffs() has {players} numbers; "
                "players are numbered from 0, and each needs a payoff"
            )


@final
class _Walker:
    def __init__(self, budget: MemoryBudget, growth: Growth) -> None:
        self._budget, self._growth = budget, growth
        self.depth, self.visited = 0, 0
        self._next_check = _CHECK_INTERVAL
        # One entry for each visited history
        self._player = array("q")
        self._information_set = array("q")
        # One entry for each discovered history
        self._parent = array("q", [-1])
        self._action = array("q", [-1])
        self._probability = array("d", [1.0])
        # One entry for each terminal history, each chance history, each information set
        self._payoffs = array("d")
        self._players: int | None = None
        self._outcomes: list[Names] = []
        self._shared: dict[Names, Names] = {}
        # Its number, its first history and its actions
        self._sets: dict[tuple[int, Hashable], tuple[int, int, tuple[Hashable, ...]]] = {}
        self._labels: dict[int, list[str]] = {}
        self._actions: dict[int, list[Names]] = {}

    def visit(self, history: History[Action]) -> Iterator[History[Action]]:
        """Record a history and yield its children."""
        self.visited = len(self._player)
        if history.is_terminal():
            self._visit_terminal(history)
            return
        player = history.player()
        if player == CHANCE:
            actions, probabilities = self._visit_chance(history)
        else:
            actions, probabilities = self._visit_decision(history, player), None
        found = len(self._parent) + len(actions)
        if found >= self._next_check:
            self._budget.check_objects(found)
            self._growth.check(found, self.depth)
            self._next_check = found + _CHECK_INTERVAL
        self._parent.extend([len(self._player) - 1] * len(actions))
        self._action.extend(range(len(actions)))
        self._probability.extend(probabilities or [1.0] * len(actions))
        for action in actions:
            child = history.child(action)
            if child is history:
                raise no_new_history(action, self.path(len(self._player) - 1))
            # The protocol check is slow, and not needed for a type that passed it.
            if type(child) is not type(history) and not isinstance(child, History):
                raise TypeError(
                    f"child({quote(action)}) must be a History, got {quote(child)} at "
                    f"{self.path(len(self._player) - 1)}"
                )
            yield child

    def arrays(self) -> dict[str, Any]:
        players = self._players or 0
        check_acting(self._labels, players, lambda i: self.path(self._player.index(i)))
        return {
            "parent": np.array(self._parent),
            "player": np.array(self._player),
            "information_set": np.array(self._information_set),
            "action": np.array(self._action),
            "probability": np.array(self._probability),
            "payoffs": np.array(self._payoffs).reshape(-1, players),
            "labels": [self._labels.get(player, ()) for player in range(players)],
            "actions": [self._actions.get(player, ()) for player in range(players)],
            "outcomes": self._outcomes,
        }

    def _record(self, player: int, information_set: int) -> None:
        self._player.append(player)
        self._information_set.append(information_set)

    def _visit_terminal(self, history: History) -> None:
        payoffs = history.payoffs()
        ordered(payoffs, "payoffs()")
        try:
            count = len(payoffs)
            self._payoffs.extend(payoffs)
        except TypeError as error:
            raise ValueError(
                f"payoffs() must be one number for each player, got {quote(payoffs)} {self._at()}"
            ) from error
        if count == 0:
            raise ValueError(
                f"payoffs() is empty {self._at()}: a game needs at least one player; "
                "return one number for each"
            )
        if self._players not in {None, count}:
            raise ValueError(
                f"payoffs() has {count} numbers {self._at()}, but {self._players} at the first "
                "end of the game; return one for each player everywhere"
            )
        self._players = count
        self._record(TERMINAL, -1)

    def _visit_chance(self, history: History[Action]) -> tuple[tuple[Action, ...], list[float]]:
        outcomes = outcomes_of(history)
        try:
            pairs = [(action, float(probability)) for action, probability in outcomes]
        except (TypeError, ValueError) as error:
            raise ValueError(
                "chance_outcomes() must be pairs of an action and its probability, "
                f"got {quote(outcomes)} {self._at()}"
            ) from error
        actions = tuple(action for action, _ in pairs)
        self._check_distinct(actions, "chance_outcomes()")
        names = tuple(map(str, actions))
        # Equal tuples of names are shared.
        self._outcomes.append(self._shared.setdefault(names, names))
        self._record(CHANCE, -1)
        return actions, [probability for _, probability in pairs]

    def _visit_decision(self, history: History[Action], player: int) -> tuple[Action, ...]:
        if not isinstance(player, int | np.integer) or player < 0:
            raise ValueError(
                f"player() must be a player, numbered from 0, or CHANCE, which is {CHANCE}, "
                f"got {quote(player)} {self._at()}"
            )
        key = (player, history.information_set())
        actions = actions_of(history)
        if not isinstance(actions, Iterable):
            raise TypeError(
                f"actions() must be a sequence of actions, got {quote(actions)} {self._at()}; "
                "return at least one where a player acts"
            )
        actions = tuple(actions)
        try:
            known = self._sets.get(key)
        except TypeError as error:
            raise TypeError(
                f"information_set() must be hashable, got {quote(key[1])} {self._at()}; "
                "return a string or a tuple"
            ) from error
        number, first, expected = known or self._add_information_set(key, actions)
        if actions != expected:
            raise ValueError(
                f"information set {quote(str(key[1]))} of player {player} has actions "
                f"{quote(list(expected))} at {self.path(first)}, but {quote(list(actions))} "
                f"{self._at()}; give its histories the same actions in the same order, or "
                "different information sets"
            )
        self._record(player, number)
        return actions

    def _add_information_set(
        self, key: tuple[int, Hashable], actions: tuple[Hashable, ...]
    ) -> tuple[int, int, tuple[Hashable, ...]]:
        player, label = key
        self._check_distinct(actions, "actions()")
        labels = self._labels.setdefault(player, [])
        self._sets[key] = len(labels), len(self._player), actions
        labels.append(str(label))
        self._actions.setdefault(player, []).append(tuple(map(str, actions)))
        return self._sets[key]

    def _check_distinct(self, actions: tuple[Hashable, ...], name: str) -> None:
        if not actions:
            raise ValueError(
                f"{name} is empty {self._at()}; return at least one, "
                "or let is_terminal() say that the game is over"
            )
        try:
            distinct = len(set(actions))
        except TypeError as error:
            raise TypeError(
                f"{name} must be hashable, got {quote(list(actions))} {self._at()}; "
                "use strings, numbers or tuples"
            ) from error
        if distinct < len(actions):
            raise ValueError(
                f"{name} has duplicates {self._at()}: {quote(list(actions))}; list each action once"
            )

    def _at(self) -> str:
        """Return the history that is being visited, for error messages."""
        return f"at {self.path(len(self._player))}"

    def path(self, history: int) -> str:
        """Return a history in words."""
        return path_text(path_to(history, self._parent, self._action, self._names))

    def _names(self, history: int) -> Names:
        player = self._player[history]
        if player == CHANCE:
            return self._outcomes[self._player[:history].count(CHANCE)]
        return self._actions[player][self._information_set[history]]
