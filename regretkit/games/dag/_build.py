"""Putting together what goes on alike: the states of a game, found by their futures or keys."""

from collections.abc import Callable, Hashable, Iterator
from typing import final

import numpy as np
from attrs import define, field, frozen

from regretkit._util._typing import Indices
from regretkit._util._validate import quote
from regretkit.games.tree._game_tree import GameTree
from regretkit.games.tree._history import (
    CHANCE,
    CHANCE_TOLERANCE,
    TERMINAL,
    History,
    outcomes_of,
    payoffs_of,
)


@final
@frozen
class Found:
    """One state as it was found."""

    player: int
    information_set: int
    """Its number among the player's, -1 where no player acts."""
    children: list[int] = field(factory=list)
    """The numbers of the states that follow."""
    chances: tuple[float, ...] = ()
    """What they are drawn with, where chance acts."""
    payoffs: tuple[float, ...] = ()


@final
@define(eq=False)
class Merged:
    """All states of a game, in any order, and the names of what players know and do."""

    states: list[Found]
    root: int
    labels: list[list[str]]
    actions: list[list[tuple[str, ...]]]


def merged_tree(tree: GameTree) -> Merged:
    """Put histories together that have the same future, from the ends of the game upwards."""
    numbers: dict[Hashable, int] = {}
    states: list[Found] = []
    state_of = [0] * tree.histories
    below: list[list[int]] = [[] for _ in range(tree.histories)]
    parents, chances = tree.parent.tolist(), tree.probability.tolist()
    sets, players = tree.information_set.tolist(), tree.player.tolist()
    ends = dict(zip(tree.terminals.tolist(), map(tuple, tree.payoffs.tolist()), strict=True))
    for history in reversed(range(tree.histories)):
        children = below[history][::-1]
        drawn = tuple(chances[child] for child in children) if players[history] == CHANCE else ()
        after, paid = [state_of[child] for child in children], ends.get(history, ())
        key = players[history], sets[history], tuple(after), drawn, paid
        if key not in numbers:
            numbers[key] = len(states)
            states.append(Found(players[history], sets[history], after, drawn, paid))
        state_of[history] = numbers[key]
        below[history].clear()
        if history:
            below[parents[history]].append(history)
    labels = [list(own) for own in tree.labels]
    return Merged(states, state_of[0], labels, [[tuple(own) for own in of] for of in tree.actions])


def merged_history(root: History, key: Callable[[History], Hashable]) -> Merged:
    """Put histories together that have the same key, on the way down."""

    def keyed(history: History) -> Hashable:
        # Nothing of the past matters any more once the game is over, but what it paid.
        return ("over", *payoffs_of(history)) if history.is_terminal() else key(history)

    merging = _Merging(keyed)
    numbered = {keyed(root): 0}
    waiting: list[History] = [root]
    # Each state is visited once, in the order in which it was found.
    for history in _growing(waiting):
        state = merging.visit(history)
        for action in merging.moves(history, state):
            child = history.child(action)
            at = numbered.setdefault(keyed(child), len(waiting))
            if at == len(waiting):
                waiting.append(child)
            else:
                merging.compare(child, waiting[at], at)
            state.children.append(at)
    return Merged(merging.states, 0, *merging.names())


def _growing(waiting: list[History]) -> Iterator[History]:
    place = 0
    while place < len(waiting):
        yield waiting[place]
        place += 1


@final
@define(eq=False)
class _Merging:
    key: Callable[[History], Hashable]
    states: list[Found] = field(factory=list)
    _compared: set[int] = field(factory=set)
    _sets: list[dict[Hashable, int]] = field(factory=list)
    _labels: list[list[str]] = field(factory=list)
    _actions: list[list[tuple[Hashable, ...]]] = field(factory=list)

    def visit(self, history: History) -> Found:
        """Note one state, as yet without what follows."""
        if history.is_terminal():
            paid = tuple(payoffs_of(history))
            state = Found(TERMINAL, -1, payoffs=paid)
        elif (player := history.player()) == CHANCE:
            chances = tuple(float(chance) for _, chance in outcomes_of(history))
            if not (chances and min(chances) >= 0.0 and abs(sum(chances) - 1) <= CHANCE_TOLERANCE):
                raise ValueError(
                    "chance_outcomes() must have probabilities that sum to 1, got "
                    f"{quote(chances)} in state {quote(self.key(history))}"
                )
            state = Found(CHANCE, -1, chances=chances)
        else:
            state = Found(player, self._number(history, player))
        self.states.append(state)
        return state

    def moves(self, history: History, state: Found) -> tuple[Hashable, ...]:
        """Return what may be done in a state."""
        if state.player == TERMINAL:
            return ()
        if state.player == CHANCE:
            return tuple(outcome for outcome, _ in outcomes_of(history))
        return self._actions[state.player][state.information_set]

    def _number(self, history: History, player: int) -> int:
        while player >= len(self._sets):
            self._sets.append({})
            self._labels.append([])
            self._actions.append([])
        known, actions = history.information_set(), tuple(history.actions())
        number = self._sets[player].setdefault(known, len(self._labels[player]))
        if number == len(self._labels[player]):
            if not actions:
                raise ValueError(f"actions() is empty at {quote(str(known))}; return at least one")
            self._labels[player].append(str(known))
            self._actions[player].append(actions)
        elif actions != self._actions[player][number]:
            raise ValueError(
                f"information set {quote(str(known))} of player {player} has actions "
                f"{quote(list(self._actions[player][number]))} in one state and "
                f"{quote(list(actions))} in another; give them different information sets"
            )
        return number

    def compare(self, history: History, other: History, number: int) -> None:
        """Refuse two histories that have one key, but of which one can see that they differ.

        Of the first such two of each state, what follows at once is looked at as well.
        """
        seen, expected = _facts(history), _facts(other)
        if seen == expected and number not in self._compared:
            self._compared.add(number)
            seen, expected = self._ahead(history), self._ahead(other)
        if seen != expected:
            raise ValueError(
                f"histories of state {quote(self.key(history))} differ: {quote(expected)} in one "
                f"and {quote(seen)} in another; only what goes on alike may have the same state"
            )

    def _ahead(self, history: History) -> list[Hashable]:
        """Return what can be seen of what follows a history."""
        children = [history.child(action) for action in _moves(history)]
        return [(self.key(child), tuple(_facts(child))) for child in children]

    def names(self) -> tuple[list[list[str]], list[list[tuple[str, ...]]]]:
        """Return the names of information sets, and of their actions."""
        named = [[tuple(map(str, own)) for own in actions] for actions in self._actions]
        return self._labels, named


def _moves(history: History) -> list[Hashable]:
    if history.is_terminal():
        return []
    if history.player() == CHANCE:
        return [outcome for outcome, _ in outcomes_of(history)]
    return list(history.actions())


def _facts(history: History) -> list[Hashable]:
    """Return what can be seen of a state without looking ahead."""
    if history.is_terminal():
        return list(payoffs_of(history))
    player = history.player()
    if player == CHANCE:
        return [tuple(pair) for pair in outcomes_of(history)]
    return [player, history.information_set(), *history.actions()]


def in_levels(merged: Merged) -> tuple[Indices, Indices]:
    """Return the states in order of the longest way to them, and where each level begins."""
    child = np.array([c for state in merged.states for c in state.children], dtype=np.int64)
    counts = [len(state.children) for state in merged.states]
    first = np.append(0, np.cumsum(counts)).tolist()
    waiting = np.bincount(child, minlength=len(counts))
    level, levels = np.array([merged.root]), []
    while level.size and not waiting[merged.root]:
        levels.append(level)
        places = [np.arange(first[s], first[s] + counts[s]) for s in level.tolist()]
        moves = np.concatenate(places).astype(np.int64)
        after, met = np.unique(child[moves], return_counts=True)
        waiting[after] -= met
        level = after[waiting[after] == 0]
    order = np.concatenate([np.zeros(0, dtype=np.int64), *levels])
    if order.size < len(counts):
        raise ValueError(
            f"{len(counts) - order.size} states follow one another in a circle, or come only after "
            "such; let state() tell apart what is further on, so that a game comes to an end"
        )
    return order, np.cumsum([0, *(own.size for own in levels)])
