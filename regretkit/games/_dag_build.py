"""Merges histories with identical continuations or equal keys into the nodes of a DAG."""

from collections.abc import Hashable, Iterable
from typing import NamedTuple, TypeAlias

import numpy as np
from attrs import field, frozen

from regretkit._util._typing import Indices
from regretkit._util._validate import floats, quote
from regretkit.games._memory_budget import MemoryBudget
from regretkit.games.tree._build import InformationSets, checked_columns
from regretkit.games.tree._game_tree import GameTree
from regretkit.games.tree._history import CHANCE, CHANCE_TOLERANCE, TERMINAL, check_length
from regretkit.games.tree._rules import Batch, Rules


@frozen
class Node:
    """A node, by the numbers of its information set and children."""

    player: int
    information_set: int
    """Number among the player's information sets, -1 where no player acts."""
    children: list[int] = field(factory=list, eq=False)
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


def nodes_of(rules: Rules, memory_limit: float | None = None) -> NodeTable:
    """Merge the histories with equal states, from the root downwards.

    Only the first history of each state is continued. The others are compared with it, the second
    with its children.
    """
    merger, budget, h = _Merger(rules), MemoryBudget(memory_limit), rules.start()
    seconds: list[tuple[list[int], Batch]] = []
    found, row, action = merger.describe(h)
    numbers, new, second = merger.number(found)
    while new:
        check_length(h.length)
        after = np.isin(row, second)
        if after.any():
            seconds.append(
                ([numbers[k] for k in second], rules.child(h[row[after]], action[after]))
            )
        after = np.isin(row, new)
        budget.check_histories(len(merger.nodes) + row.size, _PLAYERS)
        parents = [numbers[k] for k in row[after].tolist()]
        h = rules.child(h[row[after]], action[after])
        found, row, action = merger.describe(h)
        numbers, new, second = merger.number(found)
        for parent, child in zip(parents, numbers, strict=True):
            merger.nodes[parent].children.append(child)
    for nodes, children in seconds:  # last, for information sets are numbered as they are found
        merger.compare(nodes, merger.describe(children)[0])
    sets = list(enumerate(merger.sets))
    labels = [list(own.labels(rules, player)) for player, own in sets]
    return NodeTable(
        merger.nodes, 0, labels, [list(own.moves.names(rules, player)) for player, own in sets]
    )


_PLAYERS = 10
"""A node takes as much memory as a history of so many players."""

_Found: TypeAlias = list[tuple[Hashable, Node]]
"""The states of histories, and nodes without children."""


class _Merger:
    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self.nodes: list[Node] = []
        self.sets: list[InformationSets] = []
        self._numbers: dict[Hashable, int] = {}
        self._repeated: set[int] = set()

    def describe(self, h: Batch) -> tuple[_Found, Indices, Indices]:
        """Return the state and the node of each history, and all moves."""
        player = np.broadcast_to(np.asarray(self._rules.player(h)), h.size)
        found: _Found = [(None, Node(TERMINAL, -1))] * h.size
        moves = [np.empty((2, 0), dtype=np.int64)]
        for actor in np.unique(player).tolist():
            members = np.flatnonzero(player == actor)
            g = h[members]
            if actor == TERMINAL:
                paid = [tuple(each) for each in self._rules.payoffs(g).tolist()]
                nodes: _Found
                nodes = [(("over", each), Node(TERMINAL, -1, payoffs=each)) for each in paid]
            else:
                row, action = self._rules.moves(g)
                moves.append(np.stack([members[row], action]))
                nodes = list(zip(self._states(g), self._nodes(actor, g, row, action), strict=True))
            for history, node in zip(members.tolist(), nodes, strict=True):
                found[history] = node
        return found, *self._sorted(moves)

    def number(self, found: _Found) -> tuple[list[int], list[int], list[int]]:
        """Return the node of each history, the first ones of new nodes, and second ones."""
        numbers, new, second = list[int](), list[int](), list[int]()
        for row, (key, node) in enumerate(found):
            number = self._numbers.setdefault(key, len(self.nodes))
            numbers.append(number)
            if number == len(self.nodes):
                self.nodes.append(node)
                new += [row] * (node.player != TERMINAL)
                continue
            self._check(self.nodes[number], node)
            if node.player != TERMINAL and number not in self._repeated:
                self._repeated.add(number)
                second.append(row)
        return numbers, new, second

    def compare(self, numbers: list[int], children: _Found) -> None:
        """Compare the children of second histories of nodes with those of the first ones."""
        expected = [child for number in numbers for child in self.nodes[number].children]
        for number, (_, node) in zip(expected, children, strict=True):
            self._check(self.nodes[number], node)

    @staticmethod
    def _check(first: Node, second: Node) -> None:
        if first != second:
            raise ValueError(
                f"two histories of one state, or their children, differ: {first} and {second}; "
                "only histories with equal continuations may have the same state"
            )

    @staticmethod
    def _sorted(moves: list[Indices]) -> tuple[Indices, Indices]:
        row, action = np.concatenate(moves, axis=1)
        order = np.argsort(row, kind="stable")
        return row[order], action[order]

    def _states(self, g: Batch) -> Iterable[Hashable]:
        columns = checked_columns(self._rules.state(g), g.size, "state()")  # type: ignore[attr-defined]
        return zip(*(np.broadcast_to(column, g.size).tolist() for column in columns), strict=True)

    def _nodes(self, actor: int, g: Batch, row: Indices, action: Indices) -> list[Node]:
        counts = np.bincount(row, minlength=g.size)
        if not counts.all():
            raise ValueError("no action is legal at a state; let player() return TERMINAL there")
        if actor == CHANCE:
            drawn = np.broadcast_to(
                floats(self._rules.chance(g[row], action), "chance()"), row.size
            )
            parts = np.split(drawn, np.cumsum(counts)[:-1])
            wrong = [p for p in parts if p.min() < 0.0 or abs(p.sum() - 1.0) > CHANCE_TOLERANCE]
            if wrong:
                raise ValueError(
                    "the probabilities of chance must be at least 0 and sum to 1, got "
                    f"{quote(wrong[0].tolist())}"
                )
            return [Node(CHANCE, -1, probabilities=tuple(part.tolist())) for part in parts]
        self.sets.extend(InformationSets() for _ in range(actor + 1 - len(self.sets)))
        columns = checked_columns(self._rules.observed(g), g.size, "observed()")
        numbers, equal = self.sets[actor].add(columns, counts, action, row)
        if not equal.all():
            label = self.sets[actor].labels(self._rules, actor)[int(numbers[np.argmin(equal)])]
            raise ValueError(
                f"information set {quote(label)} of player {actor} has different actions in two "
                "states; give them different information sets"
            )
        return [Node(actor, number) for number in numbers.tolist()]
