"""Builds a game tree from batches of histories, without an object for each history."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeAlias, TypeVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from regretkit._util._arrays import read_only
from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import floats, quote
from regretkit.games._growth import Growth
from regretkit.games._memory_budget import MemoryBudget
from regretkit.games.tree._from_history import Names, check_acting, path_to
from regretkit.games.tree._history import CHANCE, TERMINAL, History, HistoryBatch, path_text
from regretkit.sets._labels import LazySequence

Joined = TypeVar("Joined", bound=np.generic)
Bits: TypeAlias = NDArray[np.uint8]

_METHODS = ["player", "actions", "child", "probability", "information_set", "payoffs"]
_METHODS += ["action_name", "label"]

_DENSE = 8
"""Largest number of table entries for each key that is looked up."""

_LARGEST = np.iinfo(np.int32).max


def expand(
    root: HistoryBatch,
    budget: MemoryBudget,
    time_limit: float | None = None,
    first: Callable[[], History] | None = None,
) -> dict[str, Any]:
    """Return the arguments of the ``GameTree`` with this root.

    ``first`` returns the empty history of the same game, by which its size is estimated.
    """
    if not isinstance(root, HistoryBatch) or isinstance(root, type):
        missing = [name for name in _METHODS if not hasattr(root, name)]
        without = f" without {missing}" if missing else ""
        raise TypeError(f"root must have the methods of a HistoryBatch, got {quote(root)}{without}")
    growth = Growth(budget, time_limit, first)
    expansion = _Expansion(root, budget, growth)
    level: HistoryBatch | None = root
    while level is not None:
        level = expansion.visit(level)
    growth.report_end(expansion.found)
    return expansion.arrays()


class _Moves(NamedTuple):
    """The actions of a batch, one entry for each child."""

    rows: Indices
    action: Indices
    place: Indices
    """Index of the action among the legal ones of its history."""


@final
class _Expansion:
    def __init__(self, root: HistoryBatch, budget: MemoryBudget, growth: Growth) -> None:
        self._root, self._budget, self._growth = root, budget, growth
        self.found, self._visited, self._depth = 1, 0, 0
        # One array for each visited batch
        self._player: list[Indices] = []
        self._information_set: list[Indices] = []
        self._payoffs: list[Vector] = []
        # One array for each discovered batch
        self._parent: list[Indices] = [np.array([-1], dtype=np.int32)]
        self._action: list[Indices] = [np.array([-1], dtype=np.int32)]
        self._probability: dict[int, Vector] = {}
        """Of the children of each batch in which chance acts, by the number of the first child."""
        self._sets: dict[int, InformationSets] = {}
        self._chance = ActionMasks()

    def visit(self, level: HistoryBatch) -> HistoryBatch | None:
        """Record a batch and return that of the children, None without any."""
        self._growth.check(self.found, self._depth)
        self._depth += 1
        player = self._players(level)
        numbers = np.full(player.size, -1, dtype=np.int32)
        self._player.append(player)
        self._information_set.append(numbers)
        moves = []
        for actor in np.unique(player):
            members = np.flatnonzero(player == actor)
            if actor == TERMINAL:
                self._payoffs.append(self._terminals(level, members))
            else:
                moves.append(self._moves(level, int(actor), members, numbers))
        return self._children(level, player, _merged(moves)) if moves else None

    def arrays(self) -> dict[str, Any]:
        players, acting = self._payoffs[0].shape[1], _joined(self._player)
        check_acting(self._sets, players, lambda i: self._path(int(np.argmax(acting == i))))
        probability = np.ones(self.found)
        for first, drawn in self._probability.items():
            probability[first : first + drawn.size] = drawn
        sets = [self._sets.get(player, InformationSets()) for player in range(players)]
        return {
            "parent": _joined(self._parent),
            "player": acting,
            "information_set": _joined(self._information_set),
            "action": _joined(self._action),
            "probability": read_only(probability),
            "payoffs": _joined(self._payoffs),
            "labels": [infosets.labels(self._root, player) for player, infosets in enumerate(sets)],
            "actions": [
                infosets.possible.names(self._root, player) for player, infosets in enumerate(sets)
            ],
            "outcomes": self._chance.names(self._root, CHANCE),
        }

    # Results of a batch's methods, checked

    def _players(self, level: HistoryBatch) -> Indices:
        histories = self.found - self._visited
        player = _whole(level.player(), histories, "player()")
        if player.min() < TERMINAL or player.max() > _LARGEST:
            wrong = int(np.argmax((player < TERMINAL) | (player > _LARGEST)))
            raise ValueError(
                f"player() must be players, numbered from 0, or CHANCE ({CHANCE}) or TERMINAL "
                f"({TERMINAL}), got {player[wrong]} {self._at(wrong)}"
            )
        return player.astype(np.int32)

    def _terminals(self, level: HistoryBatch, rows: Indices) -> Vector:
        payoffs = floats(level.payoffs(rows), "payoffs()")
        columns = self._payoffs[0].shape[1] if self._payoffs else None
        if (
            payoffs.ndim != 2
            or len(payoffs) != rows.size
            or columns not in {None, payoffs.shape[1]}
        ):
            raise ValueError(
                f"payoffs() has shape {payoffs.shape} for {rows.size} histories, of which the "
                f"first lies {self._at(int(rows[0]))}; return a row for each and a column for each "
                f"player, shape ({rows.size}, {'players' if columns is None else columns})"
            )
        return payoffs

    def _moves(self, level: HistoryBatch, actor: int, rows: Indices, numbers: Indices) -> _Moves:
        possible = np.asarray(level.actions(rows))
        if possible.ndim != 2 or len(possible) != rows.size or possible.dtype != np.bool_:
            raise ValueError(
                f"actions() has shape {possible.shape} and type {possible.dtype} for {rows.size} "
                f"histories, of which the first lies {self._at(int(rows[0]))}; return True or "
                f"False for each action of each, shape ({rows.size}, actions)"
            )
        cells = np.flatnonzero(possible)
        self._budget.check_histories(self.found + cells.size, more=True)
        row, action = np.divmod(cells, max(possible.shape[1], 1))
        counts = np.bincount(row, minlength=rows.size)
        if not counts.all():
            raise ValueError(
                f"actions() is empty {self._at(int(rows[np.argmin(counts)]))}; allow at least one, "
                "or let player() say that the game is over there"
            )
        bits = np.packbits(possible, axis=1)
        if actor == CHANCE:
            self._chance.add(bits)
        else:
            self._number(level, actor, rows, bits, numbers)
        place = np.arange(row.size) - (np.cumsum(counts) - counts)[row]
        return _Moves(rows[row], action, place.astype(np.int32))

    def _number(
        self, level: HistoryBatch, actor: int, rows: Indices, bits: Bits, numbers: Indices
    ) -> None:
        """Write the numbers of the information sets of a player's histories."""
        keys = _whole(level.information_set(rows), rows.size, "information_set()")
        sets = self._sets.setdefault(actor, InformationSets())
        numbers[rows], matches = sets.add(keys, bits)
        if not matches.all():
            wrong = int(rows[np.argmin(matches)])
            number = int(numbers[wrong])
            of_player = _joined(self._player) == actor
            first = int(np.argmax(of_player & (_joined(self._information_set) == number)))
            raise ValueError(
                f"information set {quote(sets.labels(self._root, actor)[number])} of player "
                f"{actor} has other actions at {self._path(first)} than {self._at(wrong)}; give "
                "its histories the same actions, or different information sets"
            )

    def _children(self, level: HistoryBatch, player: Indices, moves: _Moves) -> HistoryBatch:
        drawn = player[moves.rows] == CHANCE
        if drawn.any():
            rows, action = moves.rows[drawn], moves.action[drawn]
            chances = floats(level.probability(rows, action), "probability()")
            if chances.shape != rows.shape:
                raise ValueError(
                    f"probability() has shape {chances.shape} for {rows.size} moves of chance, of "
                    f"which the first lies {self._at(int(rows[0]))}; return one number for each"
                )
            self._probability[self.found] = np.ones(moves.rows.size)
            self._probability[self.found][drawn] = chances
        self._parent.append((self._visited + moves.rows).astype(np.int32))
        self._action.append(moves.place)
        self._visited += player.size
        self.found += moves.rows.size
        children = level.child(moves.rows, moves.action)
        if type(children) is not type(level) and not isinstance(children, HistoryBatch):
            raise TypeError(f"child() must return a HistoryBatch, got {quote(children)}")
        return children

    def _at(self, number: int) -> str:
        """Return a history of the batch that is being visited, for error messages."""
        return f"at {self._path(self._visited + number)}"

    def _path(self, history: int) -> str:
        parent, action = _joined(self._parent), _joined(self._action)
        return path_text(path_to(history, parent, action, self._names))

    def _names(self, history: int) -> Names:
        player = _joined(self._player)
        actor = int(player[history])
        if actor == CHANCE:
            previous = int(np.count_nonzero(player[:history] == CHANCE))
            return self._chance.names(self._root, CHANCE)[previous]
        number = _joined(self._information_set)[history]
        return self._sets[actor].possible.names(self._root, actor)[number]


def _merged(moves: list[_Moves]) -> _Moves:
    """Return the moves of all players in the order of their histories."""
    if len(moves) == 1:
        return moves[0]
    order = np.argsort(np.concatenate([piece.rows for piece in moves]), kind="stable")
    return _Moves(*(np.concatenate(part)[order] for part in zip(*moves, strict=True)))


def _whole(value: ArrayLike, length: int, name: str) -> Indices:
    array = np.asarray(value)
    if array.shape != (length,) or array.dtype.kind not in "iu":
        raise ValueError(
            f"{name} has shape {array.shape} and type {array.dtype}, but there are {length} "
            f"histories; return one whole number for each, shape ({length},)"
        )
    return array.astype(np.int64, copy=False)


def _joined(parts: list[NDArray[Joined]]) -> NDArray[Joined]:
    """Concatenate the arrays of all batches in place."""
    parts[:] = [read_only(np.concatenate(parts))]
    return parts[0]


@final
class ActionMasks:
    """The legal actions of many histories, a bit for each action."""

    def __init__(self) -> None:
        self._bits: Bits = np.empty((0, 0), dtype=np.uint8)

    def add(self, bits: Bits) -> None:
        width = max(bits.shape[1], self._bits.shape[1])
        self._bits = np.concatenate([_widened(self._bits, width), _widened(bits, width)])

    def equal(self, numbers: Indices, bits: Bits) -> NDArray[np.bool_]:
        """Return whether each row equals the recorded row with that number."""
        matches = np.ones(numbers.size, dtype=np.bool_)
        for column, known in zip(_widened(bits, self._bits.shape[1]).T, self._bits.T, strict=True):
            matches &= column == known[numbers]
        return matches

    def names(self, level: HistoryBatch, player: int) -> LazySequence[tuple[str, ...]]:
        return LazySequence(len(self._bits), partial(_action_names, level, player, self._bits))


@final
class InformationSets:
    """The information sets of a player, numbered by first occurrence."""

    def __init__(self) -> None:
        self._keys = np.empty(0, dtype=np.int64)
        self.possible = ActionMasks()

    def add(self, keys: Indices, bits: Bits) -> tuple[Indices, NDArray[np.bool_]]:
        """Return the numbers of information sets, and whether their actions are as recorded."""
        numbers, new = numbered(keys, self._keys)
        self._keys = np.append(self._keys, keys[new])
        self.possible.add(bits[new])
        return numbers, self.possible.equal(numbers, bits)

    def labels(self, level: HistoryBatch, player: int) -> LazySequence[str]:
        return LazySequence(self._keys.size, partial(_label, level, player, self._keys))


def numbered(keys: Indices, known: Indices) -> tuple[Indices, Indices]:
    """Return keys numbered by first occurrence, after known ones, and first indices of new ones.

    Examples
    --------
    >>> numbers, new = numbered(np.array([7, 4, 7, 9, 4]), known=np.array([9]))
    >>> numbers.tolist(), new.tolist()
    ([1, 2, 1, 0, 2], [0, 1])
    """
    least = min(keys.min(initial=0), known.min(initial=0))
    most = max(keys.max(initial=0), known.max(initial=0))
    if least < 0 or most >= _DENSE * (keys.size + known.size):
        # Too sparse for a table: use ranks.
        _, ranks = np.unique(np.append(known, keys), return_inverse=True)
        known, keys, most = ranks[: known.size], ranks[known.size :], ranks.max(initial=0)
    table = np.full(int(most) + 1, -1, dtype=np.int32)
    table[known] = np.arange(known.size)
    missing = np.flatnonzero(table[keys] < 0)
    wanted = keys[missing]
    # The first index of each key: the last one written in reverse order
    table[wanted[::-1]] = missing[::-1]
    new = missing[table[wanted] == missing]
    table[keys[new]] = known.size + np.arange(new.size)
    return table[keys], new


def _widened(bits: Bits, width: int) -> Bits:
    if bits.shape[1] == width:
        return bits
    return np.pad(bits, [(0, 0), (0, width - bits.shape[1])])


def _label(level: HistoryBatch, player: int, keys: Indices, number: int) -> str:
    return str(level.label(player, int(keys[number])))


def _action_names(level: HistoryBatch, player: int, bits: Bits, number: int) -> tuple[str, ...]:
    possible = np.flatnonzero(np.unpackbits(bits[number])).tolist()
    return tuple(str(level.action_name(player, action)) for action in possible)
