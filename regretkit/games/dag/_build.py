"""Merges histories with identical continuations or equal keys into the nodes of a DAG."""

from collections.abc import Callable, Hashable
from itertools import zip_longest
from typing import NamedTuple, Protocol, final

import numpy as np
from attrs import define, field, frozen

from regretkit._util._typing import Indices
from regretkit._util._validate import floats, quote
from regretkit.games.tree._game_tree import GameTree
from regretkit.games.tree._history import (
    CHANCE,
    CHANCE_TOLERANCE,
    TERMINAL,
    History,
    HistoryBatch,
    outcomes_of,
    payoffs_of,
)


@final
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


# From histories


def nodes_of_history(root: History, key: Callable[[History], Hashable]) -> NodeTable:
    """Merge the histories with equal keys, from the root downwards."""

    def keyed(history: History) -> Hashable:
        return ("over", *payoffs_of(history)) if history.is_terminal() else key(history)

    merger = _HistoryMerger(keyed)
    numbers = {keyed(root): 0}
    queue: list[History] = [root]
    for history in queue:  # which grows: each node is visited once
        node, actions = merger.visit(history)
        for action in actions:
            child = history.child(action)
            number = numbers.setdefault(keyed(child), len(queue))
            if number == len(queue):
                queue.append(child)
            else:
                merger.compare(child, queue[number], number)
            node.children.append(number)
    actions_of = [[tuple(map(str, names)) for names in sets] for sets in merger.actions]
    return NodeTable(merger.nodes, 0, merger.labels, actions_of)


@final
@define(eq=False)
class _HistoryMerger:
    key: Callable[[History], Hashable]
    nodes: list[Node] = field(factory=list)
    labels: list[list[str]] = field(factory=list)
    actions: list[list[tuple[Hashable, ...]]] = field(factory=list)
    _compared: set[int] = field(factory=set)
    _sets: list[dict[Hashable, int]] = field(factory=list)

    def visit(self, history: History) -> tuple[Node, tuple[Hashable, ...]]:
        """Add a node without children, and return it with its actions."""
        actions: tuple[Hashable, ...] = ()
        if history.is_terminal():
            node = Node(TERMINAL, -1, payoffs=tuple(payoffs_of(history)))
        elif (player := history.player()) == CHANCE:
            outcomes = outcomes_of(history)
            drawn = tuple(float(probability) for _, probability in outcomes)
            if not (drawn and min(drawn) >= 0.0 and abs(sum(drawn) - 1) <= CHANCE_TOLERANCE):
                raise ValueError(
                    "chance_outcomes() must have probabilities that sum to 1, got "
                    f"{quote(drawn)} in state {quote(self.key(history))}"
                )
            node, actions = Node(CHANCE, -1, probabilities=drawn), tuple(o for o, _ in outcomes)
        else:
            node = Node(player, self._number(history, player))
            actions = self.actions[player][node.information_set]
        self.nodes.append(node)
        return node, actions

    def _number(self, history: History, player: int) -> int:
        while player >= len(self._sets):
            self._sets.append({})
            self.labels.append([])
            self.actions.append([])
        information_set, actions = history.information_set(), tuple(history.actions())
        number = self._sets[player].setdefault(information_set, len(self.labels[player]))
        if number == len(self.labels[player]):
            if not actions:
                raise ValueError(
                    f"actions() is empty at {quote(str(information_set))}; return at least one"
                )
            self.labels[player].append(str(information_set))
            self.actions[player].append(actions)
        elif actions != self.actions[player][number]:
            raise ValueError(
                f"information set {quote(str(information_set))} of player {player} has actions "
                f"{quote(list(self.actions[player][number]))} in one state and "
                f"{quote(list(actions))} in another; give them different information sets"
            )
        return number

    def compare(self, history: History, second: History, number: int) -> None:
        """Raise a ValueError if two histories with one key differ.

        The children of the first two histories of each node are compared as well.
        """
        found, expected = _observed(history), _observed(second)
        if found == expected and number not in self._compared:
            self._compared.add(number)
            found, expected = self._observed_next(history), self._observed_next(second)
        if found != expected:
            raise ValueError(
                f"histories of state {quote(self.key(history))} differ: {quote(expected)} in one "
                f"and {quote(found)} in another; only histories with equal continuations may have "
                "the same state"
            )

    def _observed_next(self, history: History) -> list[Hashable]:
        if history.is_terminal():
            return []
        by_chance = history.player() == CHANCE
        actions = [o for o, _ in outcomes_of(history)] if by_chance else history.actions()
        children = map(history.child, actions)
        return [(self.key(child), tuple(_observed(child))) for child in children]


def _observed(history: History) -> list[Hashable]:
    """Return the player, the information set, and the actions, outcomes or payoffs."""
    if history.is_terminal():
        return list(payoffs_of(history))
    player = history.player()
    if player == CHANCE:
        return [tuple(pair) for pair in outcomes_of(history)]
    return [player, history.information_set(), *history.actions()]


# From batches of histories


class AggregatedBatch(HistoryBatch, Protocol):
    """A batch with keys of equal continuations."""

    def state(self, at: Indices) -> Indices:
        """Return a row of numbers for each history, equal if continuations are equal."""
        ...


def nodes_of_batch(root: AggregatedBatch) -> NodeTable:
    """Merge the histories with equal rows of numbers, from the root downwards."""
    merger = _BatchMerger(root)
    batch, numbers = root, merger.number(root)
    while numbers:
        at, action = merger.visit(batch, numbers)
        if not at.size:
            break
        previous = len(merger.nodes)
        found = np.array(merger.number(batch.child(at, action)))
        for history, child in zip(at.tolist(), found.tolist(), strict=True):
            merger.nodes[numbers[history]].children.append(child)
        # The first history of each new node represents it.
        _, first = np.unique(found, return_index=True)
        repeated = np.setdiff1d(np.arange(found.size), first)
        new = np.sort(first[found[first] >= previous])
        known = np.sort(np.append(repeated, first[found[first] < previous]))
        merger.look_ahead(batch, at[known], action[known], found[known])
        batch, numbers = batch.child(at[new], action[new]), found[new].tolist()
    merger.check()
    labels = [[root.label(player, key) for key in sets] for player, sets in enumerate(merger.sets)]
    actions = [
        [tuple(root.action_name(player, action) for action in row.tolist()) for row in rows]
        for player, rows in enumerate(merger.legal)
    ]
    return NodeTable(merger.nodes, 0, labels, actions)


class _Observed(NamedTuple):
    """What distinguishes a history from others without its children."""

    key: Hashable
    player: int
    information_set: int
    """The number that the rules give it, -1 where no player acts."""
    payoffs: tuple[float, ...]


def _observe(batch: AggregatedBatch) -> list[_Observed]:
    player = np.asarray(batch.player())
    rows = np.asarray(batch.state(np.arange(player.size))).tolist()
    information_set = np.full(player.size, -1)
    payoffs: dict[int, tuple[float, ...]] = {}
    for actor in np.unique(player).tolist():
        at = np.flatnonzero(player == actor)
        if actor == TERMINAL:
            paid = floats(batch.payoffs(at), "payoffs()").tolist()
            payoffs = dict(zip(at.tolist(), map(tuple, paid), strict=True))
        elif actor != CHANCE:
            information_set[at] = batch.information_set(at)
    sets, players = information_set.tolist(), player.tolist()
    return [
        _Observed(
            ("over", *payoffs[h]) if h in payoffs else tuple(row),
            players[h],
            sets[h],
            payoffs.get(h, ()),
        )
        for h, row in enumerate(rows)
    ]


def _moves(batch: HistoryBatch) -> tuple[Indices, Indices]:
    """Return the legal actions of a batch, in the order of its histories."""
    player, moves = np.asarray(batch.player()), [np.zeros((2, 0), dtype=np.int64)]
    for actor in np.unique(player[player != TERMINAL]).tolist():
        at = np.flatnonzero(player == actor)
        row, action = np.nonzero(np.asarray(batch.actions(at)))
        moves.append(np.stack([at[row], action]))
    joined = np.concatenate(moves, axis=1)
    at, action = joined[:, np.argsort(joined[0], kind="stable")]
    return at, action


@final
@define(eq=False)
class _BatchMerger:
    root: HistoryBatch
    nodes: list[Node] = field(factory=list)
    sets: list[dict[int, int]] = field(factory=list)
    """For each player, the numbers of its information sets by those of the rules."""
    legal: list[list[Indices]] = field(factory=list)
    """For each player, the legal actions of its information sets."""
    _numbers: dict[Hashable, int] = field(factory=dict)
    _observed: list[_Observed] = field(factory=list)
    """Of the history that represents each node."""
    _next: dict[int, list[_Observed]] = field(factory=dict)
    """Of the children of a second history of a node, where there is one."""

    def number(self, batch: AggregatedBatch) -> list[int]:
        """Return the number of the node of each history; new nodes are added."""
        numbers = []
        for observed in _observe(batch):
            number = self._numbers.setdefault(observed.key, len(self.nodes))
            if number == len(self.nodes):
                own_set = self._set_number(observed.player, observed.information_set)
                self.nodes.append(Node(observed.player, own_set, payoffs=observed.payoffs))
                self._observed.append(observed)
            elif observed != self._observed[number]:
                raise _differ(self._observed[number], observed)
            numbers.append(number)
        return numbers

    def look_ahead(
        self, batch: AggregatedBatch, at: Indices, action: Indices, nodes: Indices
    ) -> None:
        """Observe the children of a second history of each node."""
        _, first = np.unique(nodes, return_index=True)
        chosen = np.sort([f for f in first.tolist() if int(nodes[f]) not in self._next])
        if not chosen.size:
            return
        successors = batch.child(at[chosen], action[chosen])
        previous, following = _moves(successors)
        numbers = nodes[chosen].tolist()
        self._next.update((number, []) for number in numbers)
        if previous.size:
            observed = _observe(successors.child(previous, following))
            for history, child in zip(previous.tolist(), observed, strict=True):
                self._next[numbers[history]].append(child)

    def check(self) -> None:
        """Raise a ValueError if the children of two histories of one node differ."""
        for number, children in self._next.items():
            expected = [self._observed[child] for child in self.nodes[number].children]
            for first, second in zip_longest(expected, children):
                if first != second:
                    raise _differ(first, second)

    def _set_number(self, player: int, key: int) -> int:
        if player < 0:
            return -1
        while player >= len(self.sets):
            self.sets.append({})
            self.legal.append([])
        return self.sets[player].setdefault(key, len(self.sets[player]))

    def visit(self, batch: HistoryBatch, numbers: list[int]) -> tuple[Indices, Indices]:
        """Record actions and probabilities of a batch of new nodes, and return all moves."""
        at, action = _moves(batch)
        player = np.asarray(batch.player())
        rows = np.split(action, np.searchsorted(at, np.arange(1, player.size)))
        for history in np.flatnonzero(player >= 0).tolist():
            self._record_actions(int(player[history]), numbers[history], rows[history])
        chance = np.flatnonzero(player == CHANCE)
        if chance.size:
            drawn = np.isin(at, chance)
            probability = floats(batch.probability(at[drawn], action[drawn]), "probability()")
            cuts = np.searchsorted(at[drawn], chance[1:])
            for history, row in zip(chance.tolist(), np.split(probability, cuts), strict=True):
                number = numbers[history]
                children = self.nodes[number].children
                self.nodes[number] = Node(CHANCE, -1, children, tuple(row.tolist()))
        return at, action

    def _record_actions(self, player: int, node: int, actions: Indices) -> None:
        rows, number = self.legal[player], self.nodes[node].information_set
        rows.extend([np.zeros(0, dtype=np.int64)] * (number + 1 - len(rows)))
        if not rows[number].size:
            rows[number] = actions
        elif not np.array_equal(rows[number], actions):
            label = self.root.label(player, list(self.sets[player])[number])
            raise ValueError(
                f"information set {quote(label)} of player {player} has other actions in one "
                "state than in another; give them different information sets"
            )


def _differ(first: _Observed | None, second: _Observed | None) -> ValueError:
    return ValueError(
        f"histories of one state or their children differ: {first} and {second}; only histories "
        "with equal continuations may have the same state"
    )
