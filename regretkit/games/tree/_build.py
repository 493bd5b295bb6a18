"""Build game trees from rules."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from regretkit._util._arrays import expand_ranges, read_only
from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import floats, quote
from regretkit.games._memory_budget import check_histories
from regretkit.games.tree._history import (
    CHANCE,
    TERMINAL,
    check_length,
    path_text,
)
from regretkit.games.tree._rules import Batch, HistoryError, Objects, Rules
from regretkit.sets._labels import LazySequence

_DENSE = 8
"""Largest number of table entries a key at which ``numbered`` uses a table."""

_ESTIMATED = 20_000
"""Number of histories after which the builder estimates the size of the game."""

_NUMBERS = 300_000
"""Largest number of entries of the widest column in a batch of random plays."""

_ENOUGH = 1e18
"""Number of histories at which counting stops, far beyond any memory."""


CUT = -3
"""The player number of histories without their continuations; see ``built``."""

Acting: TypeAlias = Callable[[Batch], Indices]


def built(
    rules: Rules, memory_limit: float | None = None, acting: Acting | None = None
) -> dict[str, Any]:
    """Build a game from its rules, and return the arguments of ``GameTree``.

    ``acting`` returns the players of a batch, by default ``players_of``. It may return ``CUT`` for
    histories whose continuations are not wanted.
    """
    if not isinstance(rules, Rules):
        raise TypeError(f"rules must be the Rules of a game, got {quote(rules)}")
    builder = Builder(rules, memory_limit, acting)
    level: Batch | None = rules.start()
    while level is not None:
        level = builder.visit(level)
    return builder.arrays()


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
    """Visits the histories of a game level by level, and records them as arrays."""

    def __init__(self, rules: Rules, limit: float | None, acting: Acting | None) -> None:
        self._rules, self._limit = rules, limit
        self._acting = partial(players_of, rules) if acting is None else acting
        self._estimated = acting is not None  # random plays do not estimate a graph
        self._visited, self._depth, self._columns = 0, 0, 0
        self._sets: dict[int, InformationSets] = {}
        self._chance = Moves()
        # One array for each batch
        self._parent: list[Indices] = [np.array([-1], dtype=np.int32)]
        self._player: list[Indices] = []
        self._information_set: list[Indices] = []
        self._probability: list[Vector] = [np.ones(1)]
        self._payoffs: list[Vector] = []

    def visit(self, level: Batch) -> Batch | None:
        """Record a batch and return the batch of its children, None if there are none."""
        try:
            return self._visit(level)
        except HistoryError as error:
            raise ValueError(f"{error} at {self._path(self._visited + error.place)}") from error

    def _visit(self, level: Batch) -> Batch | None:
        check_length(self._depth)
        self._depth += 1
        player = self._acting(level).astype(np.int32)
        numbers = np.full(player.size, -1, dtype=np.int32)
        self._player.append(player)
        self._information_set.append(numbers)
        found: list[tuple[Indices, Indices]] = []
        for actor in np.unique(player[player > CUT]).tolist():
            members = np.flatnonzero(player == actor)
            h = level[members] if members.size < player.size else level
            if actor == TERMINAL:
                self._payoffs.append(paid_at(self._rules, h, self._players))
                continue
            row, action = self._rules.moves(h)
            counts = np.bincount(row, minlength=h.size)
            if not counts.all():
                at = self._path(self._visited + int(members[counts.argmin()]))
                name = "chance" if actor == CHANCE else f"player {actor}"
                raise ValueError(
                    f"no action of {name} is legal at {at}; player() must return TERMINAL at the "
                    "end"
                )
            if actor == CHANCE:
                self._chance.add(counts, action)
            else:
                numbers[members] = self._number(actor, h, members, counts, action)
            found.append((members[row] if members.size < player.size else row, action))
        return self._children(level, player, found) if found else None

    @property
    def _players(self) -> int | None:
        """Number of players, None before the first terminal history."""
        return self._payoffs[0].shape[1] if self._payoffs else None

    def _number(
        self, actor: int, h: Batch, members: Indices, counts: Indices, action: Indices
    ) -> Indices:
        """Return the information sets of a player's histories, ``members`` of their level."""
        columns = checked_columns(self._rules.observed(h), h.size, "observed()")
        if (self._columns or len(columns)) != len(columns):
            raise ValueError(
                f"observed() must always have the same number of columns, got {self._columns} and "
                f"{len(columns)}; pad with -1"
            )
        self._columns = len(columns)
        own = self._sets.setdefault(actor, InformationSets())
        numbers, equal = own.add(columns, counts, action, self._visited + members)
        if not equal.all():
            row = int(np.argmin(equal))
            number, end = int(numbers[row]), int(counts[: row + 1].sum())
            label = own.labels(self._rules, actor)[number]
            expected = own.moves.names(self._rules, actor)[number]
            legal = action[end - counts[row] : end].tolist()
            found = [self._rules.action_name(actor, each) for each in legal]
            raise ValueError(
                f"information set {quote(label)} of player {actor} has actions "
                f"{quote(list(expected))} at {self._path(int(own.first[number]))}, but "
                f"{quote(found)} at {self._path(self._visited + int(members[row]))}; histories of "
                "an information set must have the same actions in the same order"
            )
        return numbers

    def _children(
        self, level: Batch, player: Indices, found: list[tuple[Indices, Indices]]
    ) -> Batch:
        row, action = (np.concatenate(part) for part in zip(*found, strict=True))
        if len(found) > 1:  # moves of several players: sort by parent
            order = np.argsort(row, kind="stable")
            row, action = row[order], action[order]
        self._check_size(self._visited + player.size + row.size)
        parents, probability = level[row], np.ones(row.size)
        drawn = player[row] == CHANCE
        if drawn.any():
            every = drawn.all()
            h, a = (parents, action) if every else (parents[drawn], action[drawn])
            probability[drawn] = floats(self._rules.chance(h, a), "chance()")
        self._parent.append((self._visited + row).astype(np.int32))
        self._probability.append(probability)
        self._visited += player.size
        return self._rules.child(parents, action)

    def _check_size(self, found: int) -> None:
        players = self._players or 2
        check_histories(found, players, self._limit)
        if found > _ESTIMATED and not self._estimated:
            self._estimated = True
            check_histories(estimated_size(self._rules), players, self._limit, "about", slack=2.0)

    def arrays(self) -> dict[str, Any]:
        """Return the arguments of ``GameTree``."""
        players = self._payoffs[0].shape[1]
        for actor, own in self._sets.items():
            if actor >= players:
                raise ValueError(
                    f"player {actor}, numbered from 0, acts at {self._path(int(own.first[0]))}, "
                    f"but payoffs() has only {players} columns"
                )
        sets = [self._sets.get(player, InformationSets()) for player in range(players)]
        return {
            "parent": _joined(self._parent),
            "player": _joined(self._player),
            "information_set": _joined(self._information_set),
            "probability": _joined(self._probability),
            "payoffs": _joined(self._payoffs),
            "labels": [own.labels(self._rules, i) for i, own in enumerate(sets)],
            "actions": [own.moves.names(self._rules, i) for i, own in enumerate(sets)],
            "outcomes": self._chance.names(self._rules, CHANCE),
        }

    def _path(self, history: int) -> str:
        """Return the actions that lead to a history, for error messages."""
        parent, player = _joined(self._parent), _joined(self._player)
        sets, path = _joined(self._information_set), list[str]()
        while (previous := int(parent[history])) >= 0:
            actor, number = int(player[previous]), int(sets[previous])
            if actor == CHANCE:
                number = int(np.count_nonzero(player[:previous] == CHANCE))
            moves = self._chance if actor == CHANCE else self._sets[actor].moves
            action = history - int(np.searchsorted(parent, previous))
            path.append(moves.names(self._rules, actor)[number][action])
            history = previous
        return path_text(path[::-1])


def estimated_size(rules: Rules, plays: int = 1_000) -> float:
    """Estimate the number of histories of a game by random plays.

    A play chooses each move uniformly among b_k legal ones at length k. The mean over plays of

        1  +  b_0  +  b_0 b_1  +  b_0 b_1 b_2  +  ...

    is an unbiased estimate. Counting stops at 1e18.

    References
    ----------
    Knuth (1975), "Estimating the efficiency of backtrack programs", Mathematics of Computation 29.
    """
    random, h = np.random.default_rng(1), rules.start()
    width = max(rules.moves(h)[0].size, sum(column.size for column in h.columns.values()))
    plays = plays // 10 if isinstance(rules, Objects) else min(plays, max(10, _NUMBERS // width))
    h = h[np.zeros(plays, dtype=np.int64)]
    weight, total = np.ones(plays), 1.0
    while total < _ENOUGH:
        check_length(h.length)
        player = np.broadcast_to(np.asarray(rules.player(h)), h.size)
        chosen = []
        for actor in np.unique(player[player != TERMINAL]).tolist():
            members = np.flatnonzero(player == actor)
            row, action = rules.moves(h[members])
            counts = np.bincount(row, minlength=members.size)
            pick = np.cumsum(counts) - counts + (random.random(members.size) * counts).astype(int)
            chosen.append((members, action[pick], weight[members] * counts))
        if not chosen:
            break
        members, action, weight = (np.concatenate(part) for part in zip(*chosen, strict=True))
        total += float(weight.sum()) / plays
        h = rules.child(h[members], action)
    return total


def players_of(rules: Rules, h: Batch) -> Indices:
    """Return the acting players of a batch, or raise a ValueError."""
    player = np.broadcast_to(np.asarray(rules.player(h)), h.size)
    if player.dtype.kind not in "iu" or player.min() < TERMINAL or player.max() >= 2**31:
        raise ValueError(
            "player() must return players, numbered from 0, CHANCE or TERMINAL, got "
            f"{quote(player.tolist())}"
        )
    return player


def paid_at(rules: Rules, h: Batch, players: int | None = None) -> Vector:
    """Return the payoffs of terminal histories, or raise a ValueError."""
    paid = floats(rules.payoffs(h), "payoffs()")
    if paid.ndim != 2 or len(paid) != h.size or players not in {None, paid.shape[1]}:
        raise ValueError(
            f"payoffs() must have shape ({h.size}, {players or 'players'}), got {paid.shape}"
        )
    return paid


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
