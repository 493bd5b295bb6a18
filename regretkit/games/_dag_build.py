"""Merges histories with identical continuations or equal keys into the nodes of a DAG."""

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from itertools import islice, pairwise
from typing import Any, NamedTuple, Protocol, Self, TypeVar

import numpy as np
from attrs import define, field, frozen

from regretkit._util._typing import Indices
from regretkit._util._validate import floats, quote
from regretkit.games._memory_budget import Growth, MemoryBudget
from regretkit.games.tree._game_tree import GameTree
from regretkit.games.tree._history import (
    CHANCE,
    CHANCE_TOLERANCE,
    TERMINAL,
    History,
    HistoryBatch,
    actions_of,
    no_new_history,
    outcomes_of,
    payoffs_of,
)

T = TypeVar("T")


@frozen
class Node:
    """A node, by the numbers of its information set and children."""

    player: int
    information_set: int
    """Number among the player's information sets, -1 where no player acts."""
    children: list[int] = field(factory=list)
    probabilities: tuple[float, ...] = ()
    """Of the children, where chance acts."""
    payoffs: tuple[float, ...] = ()


class NodeTable(NamedTuple):
    """All nodes of a game, in any order, with the names of information sets and actions."""

    nodes: list[Node]
    root: int
    labels: list[list[str]]
    actions: list[list[tuple[str, ...]]]


def topological_levels(table: NodeTable) -> tuple[Indices, Indices]:
    """Return the nodes ordered by the longest path to them, and where each level begins."""
    child = np.array([c for node in table.nodes for c in node.children], dtype=np.int64)
    counts = [len(node.children) for node in table.nodes]
    first = np.append(0, np.cumsum(counts)).tolist()
    missing_parents = np.bincount(child, minlength=len(counts))
    level, levels = np.array([table.root]), []
    while level.size and not missing_parents[table.root]:
        levels.append(level)
        edges = [np.arange(first[n], first[n] + counts[n]) for n in level.tolist()]
        following, parents = np.unique(
            child[np.concatenate(edges).astype(np.int64)], return_counts=True
        )
        missing_parents[following] -= parents
        level = following[missing_parents[following] == 0]
    order = np.concatenate([np.zeros(0, dtype=np.int64), *levels])
    if order.size < len(counts):
        raise ValueError(
            f"{len(counts) - order.size} states lie on a cycle or are only reached from one; let "
            "state() return different values along every history"
        )
    return order, np.cumsum([0, *(nodes.size for nodes in levels)])


def nodes_of_tree(tree: GameTree) -> NodeTable:
    """Merge the histories with identical continuations, from the terminals upwards."""
    numbers: dict[Hashable, int] = {}
    nodes: list[Node] = []
    node_of = [0] * tree.histories
    waiting: list[list[int]] = [[] for _ in range(tree.histories)]
    parents, probability = tree.parent.tolist(), tree.probability.tolist()
    sets, players = tree.information_set.tolist(), tree.player.tolist()
    payoffs = dict(zip(tree.terminals.tolist(), map(tuple, tree.payoffs.tolist()), strict=True))
    for history in reversed(range(tree.histories)):
        children = waiting[history][::-1]
        by_chance = players[history] == CHANCE
        drawn = tuple(probability[child] for child in children) if by_chance else ()
        following, paid = [node_of[child] for child in children], payoffs.get(history, ())
        key = players[history], sets[history], tuple(following), drawn, paid
        if key not in numbers:
            numbers[key] = len(nodes)
            nodes.append(Node(players[history], sets[history], following, drawn, paid))
        node_of[history] = numbers[key]
        waiting[history].clear()
        if history:
            waiting[parents[history]].append(history)
    actions = [[tuple(names) for names in sets] for sets in tree.actions]
    return NodeTable(nodes, node_of[0], list(map(list, tree.labels)), actions)


# From the rules


class _Observed(NamedTuple):
    """What distinguishes a history from others without its children."""

    state: Hashable
    player: int
    information_set: Hashable = None
    actions: tuple[Any, ...] = ()
    probabilities: tuple[float, ...] = ()
    payoffs: tuple[float, ...] = ()


class _Level(Protocol):
    def observe(self) -> list[_Observed]: ...
    def children(self, moves: list[tuple[int, Any]]) -> Self: ...
    def label(self, player: int, information_set: Any) -> str: ...
    def action_name(self, player: int, action: Any) -> str: ...


@frozen(eq=False)
class HistoryLevel:
    """Histories as objects, with the function that returns their keys."""

    histories: Sequence[History]
    key: Callable[[History], Hashable]

    def observe(self) -> list[_Observed]:
        return list(map(self._observe, self.histories))

    def _observe(self, history: History) -> _Observed:
        if history.is_terminal():
            payoffs = tuple(payoffs_of(history))
            return _Observed(("over", *payoffs), TERMINAL, payoffs=payoffs)
        key, player = self.key(history), history.player()
        if player == CHANCE:
            outcomes = outcomes_of(history)
            drawn = tuple(float(probability) for _, probability in outcomes)
            return _Observed(key, CHANCE, None, tuple(action for action, _ in outcomes), drawn)
        return _Observed(key, player, history.information_set(), tuple(actions_of(history)))

    def children(self, moves: list[tuple[int, Hashable]]) -> "HistoryLevel":
        children = []
        for h, action in moves:
            children.append(self.histories[h].child(action))
            if children[-1] is self.histories[h]:
                raise no_new_history(action, f"in state {quote(self.key(self.histories[h]))}")
        return HistoryLevel(children, self.key)

    def label(self, player: int, information_set: Hashable) -> str:
        return str(information_set)

    def action_name(self, player: int, action: Hashable) -> str:
        return str(action)


class AggregatedBatch(HistoryBatch, Protocol):
    """A batch with keys of equal continuations."""

    def state(self, rows: Indices) -> Indices:
        """Return a row of numbers for each history, equal if continuations are equal."""
        ...


@frozen(eq=False)
class BatchLevel:
    """A batch of histories."""

    batch: AggregatedBatch

    def observe(self) -> list[_Observed]:
        batch, player = self.batch, np.asarray(self.batch.player())
        keys = np.asarray(batch.state(np.arange(player.size))).tolist()
        observed: dict[int, _Observed] = {}
        for actor in np.unique(player).tolist():
            members = np.flatnonzero(player == actor)
            if actor == TERMINAL:
                paid = floats(batch.payoffs(members), "payoffs()").tolist()
                for h, payoffs in zip(members.tolist(), map(tuple, paid), strict=True):
                    observed[h] = _Observed(("over", *payoffs), TERMINAL, payoffs=payoffs)
                continue
            row, action = np.nonzero(np.asarray(batch.actions(members)))
            cuts = np.searchsorted(row, np.arange(members.size + 1)).tolist()
            drawn: list[tuple[float, ...]] = [()] * members.size
            sets: list[int | None] = [None] * members.size
            if actor == CHANCE:
                chances = floats(batch.probability(members[row], action), "probability()")
                drawn = _cut(chances.tolist(), cuts)
            else:
                sets = np.asarray(batch.information_set(members)).tolist()
            moves = _cut(action.tolist(), cuts)
            found = zip(members.tolist(), sets, moves, drawn, strict=True)
            for h, number, actions, probabilities in found:
                observed[h] = _Observed(tuple(keys[h]), actor, number, actions, probabilities)
        return [observed[h] for h in range(player.size)]

    def children(self, moves: list[tuple[int, int]]) -> "BatchLevel":
        rows, action = np.array(moves).T
        return BatchLevel(self.batch.child(rows, action))

    def label(self, player: int, information_set: int) -> str:
        return self.batch.label(player, information_set)

    def action_name(self, player: int, action: int) -> str:
        return self.batch.action_name(player, action)


def _cut(values: list[T], cuts: list[int]) -> list[tuple[T, ...]]:
    return [tuple(values[begin:end]) for begin, end in pairwise(cuts)]


def nodes_of_level(
    root: _Level, memory_limit: float | None = None, time_limit: float | None = None
) -> NodeTable:
    """Merge the histories with equal keys, from the root downwards, within the limits.

    The children of the first two histories of each node are compared as well.
    """
    merger = _Merger(root)
    level, numbers, new = root, merger.number(root.observe()), [0]
    repeated: dict[int, int]
    budget, depth = MemoryBudget(memory_limit, walked=True), 0
    growth = Growth(budget, time_limit)
    while moves := [(h, action) for h in new for action in merger.known[numbers[h]].actions]:
        depth += 1
        budget.check_objects(len(merger.nodes) + len(moves))
        growth.check(len(merger.nodes) + len(moves), depth)
        parents, known = [numbers[h] for h, _ in moves], len(merger.nodes)
        level, new, repeated = level.children(moves), [], {}
        numbers = merger.number(level.observe())
        for h, (parent, number) in enumerate(zip(parents, numbers, strict=True)):
            merger.nodes[parent].children.append(number)
            if number == known + len(new):
                new.append(h)
            elif number not in merger.next:
                repeated.setdefault(number, h)
        pending = [(h, action) for n, h in repeated.items() for action in merger.known[n].actions]
        successors = iter(level.children(pending).observe() if pending else ())
        for number in repeated:
            merger.next[number] = list(islice(successors, len(merger.known[number].actions)))
    return merger.table()


@define(eq=False)
class _Merger:
    root: _Level
    nodes: list[Node] = field(factory=list)
    known: list[_Observed] = field(factory=list)
    """The history that represents each node."""
    next: dict[int, list[_Observed]] = field(factory=dict)
    """The children of a second history of a node, where there is one."""
    _numbers: dict[Hashable, int] = field(factory=dict)
    _sets: list[dict[Hashable, tuple[int, tuple[Any, ...]]]] = field(factory=list)
    """For each player, the number and the actions of each information set."""

    def number(self, observed: list[_Observed]) -> list[int]:
        """Return the number of the node of each history; new nodes are added."""
        numbers = []
        for history in observed:
            number = self._numbers.setdefault(history.state, len(self.nodes))
            if number == len(self.nodes):
                self._add(history)
            elif history != self.known[number]:
                raise self._differ(self.known[number], history)
            numbers.append(number)
        return numbers

    def _add(self, history: _Observed) -> None:
        player, drawn, number = history.player, history.probabilities, -1
        if not isinstance(player, int | np.integer) or (
            player < 0 and player not in (CHANCE, TERMINAL)
        ):
            raise ValueError(
                f"player() must be a player, numbered from 0, or CHANCE, which is {CHANCE}, got "
                f"{quote(player)} in state {quote(history.state)}"
            )
        if player >= 0:
            number = self._information_set(history)
        elif player == CHANCE and not (
            drawn and min(drawn) >= 0.0 and abs(sum(drawn) - 1) <= CHANCE_TOLERANCE
        ):
            raise ValueError(
                "the probabilities of chance must be at least 0 and sum to 1, got "
                f"{quote(drawn)} in state {quote(history.state)}"
            )
        self.nodes.append(Node(player, number, [], drawn, history.payoffs))
        self.known.append(history)

    def _information_set(self, history: _Observed) -> int:
        player, actions = history.player, history.actions
        self._sets.extend({} for _ in range(player + 1 - len(self._sets)))
        sets = self._sets[player]
        number, known = sets.setdefault(history.information_set, (len(sets), actions))
        if actions and actions == known:
            return number
        label = quote(self.root.label(player, history.information_set))
        if not actions:
            raise ValueError(f"actions() is empty at {label}; return at least one")
        raise ValueError(
            f"information set {label} of player {player} has actions {quote(list(known))} in one "
            f"state and {quote(list(actions))} in another; give them different information sets"
        )

    def _differ(self, first: _Observed, second: _Observed) -> ValueError:
        """Return the error that names what is different, and shows it."""
        name = next(n for n in _Observed._fields if getattr(first, n) != getattr(second, n))
        one, other = (quote(getattr(observed, name)) for observed in (first, second))
        return ValueError(
            f"histories of one state, or their children, differ in {name.replace('_', ' ')}: "
            f"{one} and {other}; only histories with equal continuations may have "
            "the same state"
        )

    def table(self) -> NodeTable:
        """Return all nodes, or raise if the children of two histories of one node differ."""
        for number, children in self.next.items():
            expected = [self.known[child] for child in self.nodes[number].children]
            for first, second in zip(expected, children, strict=True):
                if first != second:
                    raise self._differ(first, second)
        labels, actions = [], []
        for player, sets in enumerate(self._sets):
            labels.append([self.root.label(player, key) for key in sets])
            names = partial(self.root.action_name, player)
            actions.append([tuple(map(names, names_of)) for _, names_of in sets.values()])
        return NodeTable(self.nodes, 0, labels, actions)
