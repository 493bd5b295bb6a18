"""Builds game trees and graphs of states out of rules."""

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
"""Largest number of table entries for each key that is looked up."""

_ESTIMATED = 20_000
"""Histories after which the size of the whole game is estimated."""


class Graph(NamedTuple):
    """The nodes of a game and the edges between them, those of a node side by side."""

    root: int
    player: Indices
    information_set: Indices
    payoffs: Vector
    """Those of the terminal nodes, in order."""
    parent: Indices
    child: Indices
    probability: Vector
    labels: Sequence[Sequence[str]]
    actions: Sequence[Sequence[Sequence[str]]]


def built(
    rules: Rules, memory_limit: float | None = None, states: "States | None" = None
) -> "Builder":
    """Return the builder of a game after it has visited all histories."""
    if not isinstance(rules, Rules):
        raise TypeError(f"rules must be the Rules of a game, got {quote(rules)}")
    builder = Builder(rules, memory_limit, states)
    level: Batch | None = rules.start()
    while level is not None:
        level = builder.visit(level)
    return builder


class Moves:
    """The actions of information sets or of chance, one after the other."""

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
    """Different rows of whole numbers, numbered by first occurrence."""

    def __init__(self) -> None:
        self._keys = np.empty(0, dtype=np.int64)
        self.rows: NDArray[Any] = np.empty((0, 0), dtype=np.int8)

    def number(self, columns: Sequence[Any], size: int) -> tuple[Indices, Indices]:
        """Return the number of each row of columns, and the first index of each new one."""
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
    """The information sets of a player by what it observes, with their actions."""

    def __init__(self) -> None:
        super().__init__()
        self.first = np.empty(0, dtype=np.int64)
        """The history at which each occurs first."""
        self.moves = Moves()

    def add(
        self, columns: Sequence[Any], counts: Indices, actions: Indices, histories: Indices
    ) -> tuple[Indices, NDArray[np.bool_]]:
        """Return the number of each history, and whether it has the actions of the first one."""
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
    """Return a number for each row of columns, equal for equal rows, and the first of each.

    Rows are numbered by first occurrence.

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
        if span * (high - low + 1) >= 2**62:  # ranks take fewer bits
            key, digit = (np.unique(each, return_inverse=True)[1] for each in (key, digit))
            span, low, high = int(key.max()) + 1, 0, int(digit.max())
        key *= high - low + 1
        key += digit
        span *= high - low + 1
    return numbered(key, np.empty(0, dtype=np.int64))


def mixed(columns: Any) -> Any:
    """Return a number of 63 bits for each row of columns, different for different rows in practice.

    The columns are hashed one after the other: by the multiplier of SplitMix64 and a shift.
    """
    key: Any = 0
    for column in columns:
        key = (key ^ column * np.int64(1)) * np.int64(-0x40A7B892E31B1A47)
        key = key ^ (key >> 29 & 0x7FFFFFFFF)
    return key & 0x7FFFFFFFFFFFFFFF


def numbered(keys: Indices, known: Indices) -> tuple[Indices, Indices]:
    """Return keys numbered by first occurrence, after known ones, and first indices of new ones.

    Examples
    --------
    >>> numbers, new = numbered(np.array([7, 4, 7, 9, 4]), known=np.array([9]))
    >>> numbers.tolist(), new.tolist()
    ([1, 2, 1, 0, 2], [0, 1])
    """
    minimum = min(keys.min(initial=0), known.min(initial=0))
    maximum = max(keys.max(initial=0), known.max(initial=0))
    if minimum < 0 or maximum >= _DENSE * (keys.size + known.size):
        # Too sparse for a table: use ranks.
        _, ranks = np.unique(np.append(known, keys), return_inverse=True)
        known, keys, maximum = ranks[: known.size], ranks[known.size :], ranks.max(initial=0)
    table = np.full(int(maximum) + 1, -1, dtype=np.int32)
    table[known] = np.arange(known.size)
    missing = np.flatnonzero(table[keys] < 0)
    wanted = keys[missing]
    # The first index of each key: the last one written in reverse order
    table[wanted[::-1]] = missing[::-1]
    new = missing[table[wanted] == missing]
    table[keys[new]] = known.size + np.arange(new.size)
    return table[keys], new


class Builder:
    """Visits the batches of a game level by level, and records them as arrays.

    With ``states``, histories that agree in ``Rules.state`` are one node. Two histories of each
    node are continued, so that ``check_states`` can compare them.
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
        """Record a batch and return that of the children, None without any."""
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
                    f"no action is legal at {at}, where {_name(actor)} acts; let player() return "
                    "TERMINAL at the end"
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
                "player() must be players, numbered from 0, or CHANCE or TERMINAL, got "
                f"{quote(player.tolist())}"
            )
        return player.astype(np.int32)

    def _merged(self, states: "States", level: Batch, player: Indices) -> tuple[Batch, Indices]:
        """Return the first two histories of each node, and who acts there."""
        local = np.empty(player.size, dtype=np.int64)
        for actor in np.unique(player).tolist():
            members = np.flatnonzero(player == actor)
            h = level[members]
            if actor == TERMINAL:  # without a sign of zero
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
                "payoffs() must have a row for each history and a column for each player, shape "
                f"({h.size}, {'players' if players is None else players}), got {paid.shape}"
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
        """Write the numbers of the information sets of a player's histories."""
        columns = checked_columns(self.rules.observed(h), h.size, "observed()")
        if (self._columns or len(columns)) != len(columns):
            raise ValueError(
                f"observed() must have equally many columns everywhere, got {self._columns} and "
                f"{len(columns)}; fill up with -1"
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
                f"{quote(found)} at {self.path(self.visited + wrong)}; give its histories the same "
                "actions in the same order, or different information sets"
            )

    def _children(
        self, level: Batch, player: Indices, found: list[tuple[Indices, Indices]]
    ) -> Batch:
        row, action = (np.concatenate(part) for part in zip(*found, strict=True))
        if len(found) > 1:
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
        """Return the arguments of the ``GameTree``."""
        players = self._payoffs[0].shape[1]
        for actor, own in self.sets.items():
            if actor >= players:
                raise ValueError(
                    f"player {actor} acts at {self.path(int(own.first[0]))}, but payoffs() has "
                    f"{players} numbers; players are numbered from 0, and each needs a payoff"
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
        """Return a visited history in words, for error messages."""
        return self._path_found(self._found(history))

    def _found(self, history: int) -> int:
        """Return the number of a visited history among those that were discovered."""
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
    """The nodes of a graph: who acts, and the state of the rules there."""

    def __init__(self) -> None:
        self._rows: dict[Hashable, Rows] = {}
        self._visits = np.empty(0, dtype=np.int64)
        # One array for each batch
        self.found: list[Indices] = []
        """The node of each discovered history."""
        self.visited: list[Indices] = []
        """The discovered histories that are visited."""

    def of(self, actor: Hashable) -> Rows:
        """Return the states in which somebody acts."""
        return self._rows.setdefault(actor, Rows())

    def visit(self, player: Indices, local: Indices) -> Indices:
        """Return which histories to visit, and number the nodes by first occurrence."""
        node, new = self.of(None).number([player, local], player.size)
        self._visits = np.append(self._visits, np.zeros(new.size, dtype=np.int64))
        # How many histories of the same node were found before each
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
    """Return the nodes and edges of a game whose histories with equal states are merged."""
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
    # The second history of each node has to have the same continuations as the first.
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
            f"{builder.path(int(former[i]))} and {builder.path(int(second[i]))} have one state, "
            "but differ, or their children do; only histories with equal continuations may share it"
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
    """Raise a ValueError unless the edges from each chance node have probabilities that sum to 1.

    ``place`` describes a node, for the message.
    """
    drawn = player[parent] == CHANCE
    source, chances = parent[drawn], probability[drawn]
    # Comparisons with NaN are false.
    improper = source[~((chances >= 0.0) & (chances < np.inf))]
    total = np.bincount(source, chances, minlength=player.size)
    wrong = np.flatnonzero((player == CHANCE) & ~(np.abs(total - 1.0) <= CHANCE_TOLERANCE))
    for node in [*improper[:1].tolist(), *wrong[:1].tolist()]:
        raise ValueError(
            f"the probabilities of chance at {place(node)} must be at least 0 and sum to 1 within "
            f"{CHANCE_TOLERANCE:g}, got {quote(chances[source == node].tolist())}"
        )


def checked_columns(columns: Sequence[Any], size: int, name: str) -> list[Any]:
    """Return columns of whole numbers, those of blocks one by one, or raise a ValueError."""
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
    """Return whole numbers in the smallest signed type that holds them."""
    low, high = (int(extreme(initial=0)) for extreme in (numbers.min, numbers.max))
    return numbers.astype(np.min_scalar_type(min(low, -high - 1)))


def _joined(parts: list[NDArray[Any]]) -> NDArray[Any]:
    """Concatenate the arrays of all batches in place."""
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
