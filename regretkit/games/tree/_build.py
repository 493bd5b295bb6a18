"""Build game trees and graphs from rules."""

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from regretkit._util._arrays import expand_ranges, read_only
from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import floats, quote
from regretkit.games._game import check_payoffs
from regretkit.games._memory_budget import check_histories, estimated_size
from regretkit.games.tree._history import (
    CHANCE,
    CHANCE_TOLERANCE,
    TERMINAL,
    check_length,
    path_text,
)
from regretkit.games.tree._rules import Batch, HistoryError, Rules
from regretkit.sets._labels import LazySequence

_DENSE = 8
"""Largest number of table entries a key at which ``numbered`` uses a table."""

_ESTIMATED = 20_000
"""Number of histories after which the builder estimates the size of the game."""


class Graph(NamedTuple):
    """The nodes of a game, and the edges between them, contiguous for each node."""

    root: int
    player: Indices
    information_set: Indices
    payoffs: Vector
    """Payoffs of the terminal nodes, in order, shape ``(terminals, players)``."""
    parent: Indices
    child: Indices
    probability: Vector
    labels: Sequence[Sequence[str]]
    actions: Sequence[Sequence[Sequence[str]]]


def built(
    rules: Rules, memory_limit: float | None = None, states: "States | None" = None
) -> "Builder":
    """Visit all histories of a game, and return the builder with its records."""
    if not isinstance(rules, Rules):
        raise TypeError(f"rules must be the Rules of a game, got {quote(rules)}")
    builder = Builder(rules, memory_limit, states)
    level: Batch | None = rules.start()
    while level is not None:
        level = builder.visit(level)
    return builder


class Moves:
    """The actions of information sets, or of chance histories, concatenated."""

    def __init__(self) -> None:
        self.sizes: Any = np.empty(0, np.int8)
        self.actions: Any = np.empty(0, np.int8)

    def add(self, sizes: Indices, actions: Indices) -> None:
        self.sizes, self.actions = (
            np.append(known, _narrow(more))
            for known, more in ((self.sizes, sizes), (self.actions, actions))
        )

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def ends(self) -> Indices:
        return np.cumsum(self.sizes, dtype=np.int64)

    def names(self, rules: Rules, player: int) -> LazySequence[tuple[str, ...]]:
        return LazySequence(
            len(self), partial(_names, rules, player, _narrow(self.ends), self.actions)
        )


class Rows:
    """Distinct rows of whole numbers, numbered by first occurrence."""

    def __init__(self) -> None:
        self._keys = np.empty(0, dtype=np.int64)
        self.rows: NDArray[Any] = np.empty((0, 0), dtype=np.int8)

    def number(self, columns: Sequence[Any], size: int) -> tuple[Indices, Indices]:
        """Return the number of each row of ``columns``, and the first index of each new row."""
        among, first = grouped(columns, size)
        rows = np.stack([np.broadcast_to(c, size)[first] for c in columns], axis=1)
        keys = mixed(rows.T)
        number, new = numbered(keys, self._keys)
        if new.size:
            self._keys, added = np.append(self._keys, keys[new]), _narrow(rows[new])
            self.rows = np.concatenate([self.rows, added]) if self.rows.size else added
        if new.size < first.size and not np.array_equal(self.rows[number], rows):
            raise ValueError("two information sets have the same key; observe something else")
        return number[among], first[new]


class InformationSets(Rows):
    """The information sets of a player by its observations, with their actions."""

    def __init__(self) -> None:
        super().__init__()
        self.first = np.empty(0, dtype=np.int64)
        """The first history of each information set."""
        self.moves = Moves()

    def add(
        self, columns: Sequence[Any], counts: Indices, actions: Indices, histories: Indices
    ) -> tuple[Indices, NDArray[np.bool_]]:
        """Return each history's information set, and whether it has the actions of the set."""
        numbers, new = self.number(columns, counts.size)
        begin = np.cumsum(counts) - counts
        if new.size:
            self.first = np.append(self.first, histories[new])
            self.moves.add(counts[new], actions[expand_ranges(begin[new], counts[new])])
        ends, sizes = self.moves.ends, self.moves.sizes[numbers]
        equal = sizes == counts
        if equal.all():
            place = np.arange(actions.size) - np.repeat(begin, counts)
            expected = self.moves.actions[np.repeat(ends[numbers] - sizes, counts) + place]
            equal[np.repeat(np.arange(counts.size), counts)[expected != actions]] = False
        return numbers, equal

    def labels(self, rules: Rules, player: int) -> LazySequence[str]:
        return LazySequence(len(self.rows), partial(_label, rules, player, self.rows))


def grouped(columns: Sequence[Any], size: int) -> tuple[Indices, Indices]:
    """Assign numbers to rows of ``columns`` by first occurrence; also return their first indices.

    Examples
    --------
    >>> number, first = grouped([np.array([7, 4, 7]), np.array([0, 1, 0])], 3)
    >>> number.tolist(), first.tolist()
    ([0, 1, 0], [0, 1])
    """
    key, span = np.zeros(size, dtype=np.int64), 1
    for column in columns:
        if np.ndim(column) == 0:
            continue
        low, high = int(column.min()), int(column.max())
        if low == high:
            continue
        digit = column.astype(np.int64) - low
        if span * (high - low + 1) >= 2**62:  # would overflow: replace values by their ranks
            key, digit = (np.unique(each, return_inverse=True)[1] for each in (key, digit))
            span, low, high = int(key.max()) + 1, 0, int(digit.max())
        # Mixed radix: a row is the number with these digits.
        key *= high - low + 1
        key += digit
        span *= high - low + 1
    return numbered(key, np.empty(0, dtype=np.int64))


def mixed(columns: Any) -> Any:
    """Hash each row of ``columns`` to 63 bits.

    Column by column: key <- (key xor column) * m, key <- key xor (key >> 29), with m the
    first multiplier of SplitMix64 and a logical shift.
    """
    key: Any = 0
    for column in columns:
        key = (key ^ column * np.int64(1)) * np.int64(-0x40A7B892E31B1A47)
        key = key ^ (key >> 29 & 0x7FFFFFFFF)  # the mask makes the shift logical
    return key & 0x7FFFFFFFFFFFFFFF


def numbered(keys: Indices, known: Indices) -> tuple[Indices, Indices]:
    """Assign numbers to keys by first occurrence, after ``known`` ones; also return first indices.

    Examples
    --------
    >>> numbers, new = numbered(np.array([7, 4, 7, 9, 4]), known=np.array([9]))
    >>> numbers.tolist(), new.tolist()
    ([1, 2, 1, 0, 2], [0, 1])
    """
    minimum = min(keys.min(initial=0), known.min(initial=0))
    maximum = max(keys.max(initial=0), known.max(initial=0))
    if minimum < 0 or maximum >= _DENSE * (keys.size + known.size):
        # Too sparse for a table: replace keys by their ranks.
        _, ranks = np.unique(np.append(known, keys), return_inverse=True)
        known, keys, maximum = ranks[: known.size], ranks[known.size :], ranks.max(initial=0)
    table = np.full(int(maximum) + 1, -1, dtype=np.int32)
    table[known] = np.arange(known.size)
    missing = np.flatnonzero(table[keys] < 0)
    wanted = keys[missing]
    # Written in reverse order, the first index of each key remains.
    table[wanted[::-1]] = missing[::-1]
    new = missing[table[wanted] == missing]
    table[keys[new]] = known.size + np.arange(new.size)
    return table[keys], new


class Builder:
    """Visits the batches of a game level by level, and records them as arrays.

    With ``states``, histories with equal ``Rules.state`` are one node. The builder continues two
    histories of each node, so that ``graph_of`` can compare them.
    """

    def __init__(self, rules: Rules, limit: float | None, states: "States | None") -> None:
        self.rules, self._limit, self.states = rules, limit, states
        self.pending, self.visited, self._depth = 1, 0, 0
        self._estimated = False
        self._columns = 0
        self.sets: dict[int, InformationSets] = {}
        self.chance = Moves()
        # One array for each visited batch
        self._player: list[Indices] = []
        self._information_set: list[Indices] = []
        self._payoffs: list[Vector] = []
        # One array for each discovered batch
        self._parent: list[Indices] = [np.array([-1], dtype=np.int32)]
        self._action: list[Indices] = [np.array([-1], dtype=np.int32)]
        self._probability: list[Vector] = [np.ones(1)]

    def visit(self, level: Batch) -> Batch | None:
        """Record a batch and return the batch of its children, None if there are none."""
        try:
            return self._visit(level)
        except HistoryError as error:
            found = sum(map(len, self._parent)) - self.pending + error.place
            raise ValueError(f"{error} at {self._path_found(found)}") from error

    def _visit(self, level: Batch) -> Batch | None:
        check_length(self._depth)
        self._depth += 1
        player = self._players(level)
        if self.states is not None:
            level, player = self._merged(self.states, level, player)
        numbers = np.full(player.size, -1, dtype=np.int32)
        self._player.append(player)
        self._information_set.append(numbers)
        found: list[tuple[Indices, Indices]] = []
        for actor in np.unique(player).tolist():
            members = np.flatnonzero(player == actor)
            h = level[members] if members.size < player.size else level
            if actor == TERMINAL:
                self._payoffs.append(self._paid(h))
                continue
            row, action = self.rules.moves(h)
            counts = np.bincount(row, minlength=h.size)
            if not counts.all():
                at = self.path(self.visited + int(members[counts.argmin()]))
                raise ValueError(
                    f"no action of {_name(actor)} is legal at {at}; player() must return TERMINAL "
                    "at the end"
                )
            if actor == CHANCE:
                self.chance.add(counts, action)
            else:
                self._number(actor, h, members, counts, action, numbers)
            found.append((members[row] if members.size < player.size else row, action))
        return self._children(level, player, found) if found else None

    def _players(self, level: Batch) -> Indices:
        player = np.broadcast_to(np.asarray(self.rules.player(level)), self.pending)
        if player.dtype.kind not in "iu" or player.min() < TERMINAL or player.max() >= 2**31:
            raise ValueError(
                "player() must return players, numbered from 0, CHANCE or TERMINAL, got "
                f"{quote(player.tolist())}"
            )
        return player.astype(np.int32)

    def _merged(self, states: "States", level: Batch, player: Indices) -> tuple[Batch, Indices]:
        """Return the first two histories of each node, and their players."""
        local = np.empty(player.size, dtype=np.int64)
        for actor in np.unique(player).tolist():
            members = np.flatnonzero(player == actor)
            h = level[members]
            if actor == TERMINAL:  # + 0.0 turns -0.0 into 0.0
                columns = list((self._paid(h) + 0.0).view(np.int64).T)
            else:
                columns = checked_columns(self.rules.state(h), h.size, "state()")
            local[members] = states.of(actor).number(columns, h.size)[0]
        kept = states.visit(player, local)
        return level[kept], player[kept]

    def _paid(self, h: Batch) -> Vector:
        paid = floats(self.rules.payoffs(h), "payoffs()")
        players = self._payoffs[0].shape[1] if self._payoffs else None
        if paid.ndim != 2 or len(paid) != h.size or players not in {None, paid.shape[1]}:
            raise ValueError(
                f"payoffs() must have shape ({h.size}, {'players' if players is None else players})"
                f", got {paid.shape}"
            )
        return paid

    def _number(
        self,
        actor: int,
        h: Batch,
        members: Indices,
        counts: Indices,
        action: Indices,
        numbers: Indices,
    ) -> None:
        """Write the information sets of a player's histories ``members`` into ``numbers``."""
        columns = checked_columns(self.rules.observed(h), h.size, "observed()")
        if (self._columns or len(columns)) != len(columns):
            raise ValueError(
                f"observed() must always have the same number of columns, got {self._columns} and "
                f"{len(columns)}; pad with -1"
            )
        self._columns = len(columns)
        own = self.sets.setdefault(actor, InformationSets())
        numbers[members], equal = own.add(columns, counts, action, self.visited + members)
        if not equal.all():
            row = int(np.argmin(equal))
            wrong, number = int(members[row]), int(numbers[members[row]])
            label = own.labels(self.rules, actor)[number]
            expected, end = own.moves.names(self.rules, actor)[number], int(counts[: row + 1].sum())
            found = [
                self.rules.action_name(actor, a) for a in action[end - counts[row] : end].tolist()
            ]
            raise ValueError(
                f"information set {quote(label)} of player {actor} has actions "
                f"{quote(list(expected))} at {self.path(int(own.first[number]))}, but "
                f"{quote(found)} at {self.path(self.visited + wrong)}; histories of an information "
                "set must have the same actions in the same order"
            )

    def _children(
        self, level: Batch, player: Indices, found: list[tuple[Indices, Indices]]
    ) -> Batch:
        row, action = (np.concatenate(part) for part in zip(*found, strict=True))
        if len(found) > 1:  # moves of several players: sort by parent
            order = np.argsort(row, kind="stable")
            row, action = row[order], action[order]
        self._check_size(self.visited + player.size + row.size)
        counts = np.bincount(row, minlength=player.size)
        parents, probability = level[row], np.ones(row.size)
        drawn = player[row] == CHANCE
        if drawn.any():
            every = drawn.all()
            h, a = (parents, action) if every else (parents[drawn], action[drawn])
            probability[drawn] = floats(self.rules.chance(h, a), "chance()")
        self._parent.append((self.visited + row).astype(np.int32))
        self._action.append((np.arange(row.size) - (np.cumsum(counts) - counts)[row]).astype("i4"))
        self._probability.append(probability)
        self.visited += player.size
        self.pending = row.size
        return self.rules.child(parents, action)

    def _check_size(self, found: int) -> None:
        players = self._payoffs[0].shape[1] if self._payoffs else 2
        check_histories(found, players, self._limit)
        if found > _ESTIMATED and self.states is None and not self._estimated:
            self._estimated = True
            check_histories(estimated_size(self.rules), players, self._limit, "about", slack=2.0)

    def arrays(self) -> dict[str, Any]:
        """Return the arguments of ``GameTree``."""
        players = self._payoffs[0].shape[1]
        for actor, own in self.sets.items():
            if actor >= players:
                raise ValueError(
                    f"player {actor}, numbered from 0, acts at {self.path(int(own.first[0]))}, but "
                    f"payoffs() has only {players} columns"
                )
        sets = [self.sets.get(player, InformationSets()) for player in range(players)]
        return {
            "parent": _joined(self._parent),
            "player": _joined(self._player),
            "information_set": _joined(self._information_set),
            "action": _joined(self._action),
            "probability": _joined(self._probability),
            "payoffs": _joined(self._payoffs),
            "labels": [own.labels(self.rules, i) for i, own in enumerate(sets)],
            "actions": [own.moves.names(self.rules, i) for i, own in enumerate(sets)],
            "outcomes": self.chance.names(self.rules, CHANCE),
        }

    def path(self, history: int) -> str:
        """Return the actions of a visited history, for error messages."""
        return self._path_found(self._found(history))

    def _found(self, history: int) -> int:
        """Return the number of a visited history among the discovered histories."""
        return history if self.states is None else int(_joined(self.states.visited)[history])

    def _path_found(self, found: int) -> str:
        parent, action, path = _joined(self._parent), _joined(self._action), list[str]()
        while (previous := int(parent[found])) >= 0:
            path.append(self._names(previous)[int(action[found])])
            found = self._found(previous)
        return path_text(path[::-1])

    def _names(self, history: int) -> Sequence[str]:
        player = _joined(self._player)
        actor = int(player[history])
        if actor == CHANCE:
            previous = int(np.count_nonzero(player[:history] == CHANCE))
            return self.chance.names(self.rules, CHANCE)[previous]
        number = int(_joined(self._information_set)[history])
        return self.sets[actor].moves.names(self.rules, actor)[number]


class States:
    """The nodes of a graph, identified by their player and the state of the rules."""

    def __init__(self) -> None:
        self._rows: dict[Hashable, Rows] = {}
        self._visits = np.empty(0, dtype=np.int64)
        # One array for each batch
        self.found: list[Indices] = []
        """The node of each discovered history."""
        self.visited: list[Indices] = []
        """The numbers of the visited histories among the discovered ones."""

    def of(self, actor: Hashable) -> Rows:
        """Return the distinct states of a player."""
        return self._rows.setdefault(actor, Rows())

    def visit(self, player: Indices, local: Indices) -> Indices:
        """Assign numbers to nodes by first occurrence, and return which histories to visit."""
        node, new = self.of(None).number([player, local], player.size)
        self._visits = np.append(self._visits, np.zeros(new.size, dtype=np.int64))
        # Number of earlier histories of the same node: visit two of each, one of terminals.
        order = np.argsort(node, kind="stable")
        sorted_nodes = node[order]
        before = np.empty(node.size, dtype=np.int64)
        before[order] = np.arange(node.size) - np.searchsorted(sorted_nodes, sorted_nodes)
        before += self._visits[node]
        np.add.at(self._visits, node, 1)
        kept = np.flatnonzero(before < np.where(player == TERMINAL, 1, 2))
        self.visited.append(sum(map(len, self.found)) + kept)
        self.found.append(node)
        return kept


def graph_of(rules: Rules) -> Graph:
    """Return the graph of a game, in which histories with equal states are one node."""
    states = States()
    builder = built(rules, states=states)
    arrays = builder.arrays()
    found, visited = _joined(states.found), _joined(states.visited)
    parent, node = arrays["parent"][1:], found[visited]
    child, probability = found[1:], arrays["probability"][1:]
    first = np.unique(node, return_index=True)[1]
    check_chance(arrays["player"], parent, probability, builder.path)
    ends = np.flatnonzero(arrays["player"] == TERMINAL)
    check_payoffs(arrays["payoffs"], lambda i: f"{builder.path(int(ends[i[0]]))}, player {i[1]}")
    # Compare the second history of each node with the first: information set and edges.
    counts = np.bincount(parent, minlength=node.size)
    begin, second = np.cumsum(counts) - counts, np.setdiff1d(np.arange(node.size), first)
    former = first[node[second]]
    equal = (counts[second] == counts[former]) & (
        arrays["information_set"][second] == arrays["information_set"][former]
    )
    if equal.all():
        edges = [expand_ranges(begin[each], counts[each]) for each in (second, former)]
        same = (child[edges[0]] == child[edges[1]]) & (
            probability[edges[0]] == probability[edges[1]]
        )
        equal[np.repeat(np.arange(second.size), counts[second])[~same]] = False
    if not equal.all():
        i = int(np.argmin(equal))
        raise ValueError(
            f"{builder.path(int(former[i]))} and {builder.path(int(second[i]))} have equal states, "
            "but different continuations"
        )
    kept = np.isin(parent, first)
    return Graph(
        root=0,
        player=arrays["player"][first],
        information_set=arrays["information_set"][first],
        payoffs=arrays["payoffs"],
        parent=node[parent[kept]],
        child=child[kept],
        probability=probability[kept],
        labels=arrays["labels"],
        actions=arrays["actions"],
    )


def graph_of_tree(tree: Any) -> Graph:
    """Merge the histories of a tree with identical continuations, from the terminals upwards."""
    numbers: dict[Hashable, int] = {}
    first: list[int] = []
    node = np.empty(tree.histories, dtype=np.int64)
    begin = np.searchsorted(tree.parent, np.arange(tree.histories + 1))
    paid = np.zeros((tree.histories, tree.players))
    paid[tree.terminals] = tree.payoffs
    for history in reversed(range(tree.histories)):
        children = slice(*begin[history : history + 2].tolist())
        key = (
            int(tree.player[history]),
            int(tree.information_set[history]),
            node[children].tobytes(),
            tree.probability[children].tobytes(),
            tuple(paid[history].tolist()),
        )
        node[history] = numbers.setdefault(key, len(first))
        if node[history] == len(first):
            first.append(history)
    histories = np.array(first)
    counts = np.diff(begin)[histories]
    edges = expand_ranges(begin[histories], counts)
    return Graph(
        root=int(node[0]),
        player=tree.player[histories],
        information_set=tree.information_set[histories],
        payoffs=paid[histories[tree.player[histories] == TERMINAL]],
        parent=np.repeat(np.arange(histories.size), counts),
        child=node[edges],
        probability=tree.probability[edges],
        labels=list(tree.labels),
        actions=list(tree.actions),
    )


def check_chance(
    player: Indices, parent: Indices, probability: Vector, place: Callable[[int], str]
) -> None:
    """Raise a ValueError unless the probabilities of each chance node are valid and sum to 1.

    ``place`` returns the description of a node, for the message.
    """
    drawn = player[parent] == CHANCE
    source, chances = parent[drawn], probability[drawn]
    # Comparisons with NaN are false, so both conditions reject NaN.
    improper = source[~((chances >= 0.0) & (chances < np.inf))]
    total = np.bincount(source, chances, minlength=player.size)
    wrong = np.flatnonzero((player == CHANCE) & ~(np.abs(total - 1.0) <= CHANCE_TOLERANCE))
    for node in [*improper[:1].tolist(), *wrong[:1].tolist()]:
        raise ValueError(
            f"the probabilities of chance at {place(node)} must be at least 0 and sum to 1 within "
            f"{CHANCE_TOLERANCE:g}, got {quote(chances[source == node].tolist())}"
        )


def checked_columns(columns: Sequence[Any], size: int, name: str) -> list[Any]:
    """Split blocks into columns, or raise a ValueError unless all are whole numbers."""
    made: list[Any] = []
    for column in map(np.asarray, columns):
        if (
            column.dtype.kind not in "iub"
            or column.ndim > 2
            or column.shape[:1] not in ((), (size,))
        ):
            raise ValueError(
                f"{name} must be columns of whole numbers, shape ({size},), got shape "
                f"{column.shape} and type {column.dtype}"
            )
        made += list(column.T) if column.ndim == 2 else [column]
    return made


def _name(actor: int) -> str:
    return "chance" if actor == CHANCE else f"player {actor}"


def _narrow(numbers: Any) -> Any:
    """Convert whole numbers to the smallest signed type that holds them."""
    low, high = (int(extreme(initial=0)) for extreme in (numbers.min, numbers.max))
    return numbers.astype(np.min_scalar_type(min(low, -high - 1)))


def _joined(parts: list[NDArray[Any]]) -> NDArray[Any]:
    """Concatenate the arrays of all batches, and keep the result as the only part."""
    parts[:] = [read_only(np.concatenate(parts))]
    return parts[0]


def _label(rules: Rules, player: int, observed: Indices, number: int) -> str:
    return str(rules.label(player, *observed[number].tolist()))


def _names(
    rules: Rules, player: int, ends: Indices, actions: Indices, number: int
) -> tuple[str, ...]:
    begin = int(ends[number - 1]) if number else 0
    found = actions[begin : int(ends[number])].tolist()
    return tuple(str(rules.action_name(player, action)) for action in found)
