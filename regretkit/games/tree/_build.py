"""Builds game trees out of histories, one by one or in batches."""

from array import array
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from regretkit._util._arrays import read_only
from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import floats, ordered, quote
from regretkit.games._memory_budget import Growth, MemoryBudget
from regretkit.games.tree._history import (
    CHANCE,
    METHODS,
    TERMINAL,
    Action,
    History,
    HistoryBatch,
    actions_of,
    lacking,
    no_new_history,
    outcomes_of,
    path_text,
    shown_by,
)
from regretkit.sets._labels import LazySequence

Names = tuple[str, ...]

_CHECK_INTERVAL = 4096
"""Number of histories between two checks of the memory budget."""


def walk(root: History, budget: MemoryBudget, time_limit: float | None = None) -> dict[str, Any]:
    """Return the arguments of the ``GameTree`` with this root."""
    if not isinstance(root, History):
        raise lacking("root", root, History)
    if isinstance(root, type):
        raise TypeError(
            f"root must be the first history, got its class {root.__name__}; pass {root.__name__}()"
        )
    if values := [name for name in METHODS[History].split() if not callable(getattr(root, name))]:
        raise TypeError(
            f"{values[0]} must be a method of the history, got {quote(getattr(root, values[0]))}; "
            f"write def {values[0]}(self, ...), and no @property"
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
        # By player and label, its number, its first history and its actions
        self._sets: dict[int, dict[Hashable, tuple[int, int, tuple[Hashable, ...]]]] = {}

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
            actions = self._visit_decision(history, player)
            probabilities = [1.0] * len(actions)
        found = len(self._parent) + len(actions)
        if found >= self._next_check:
            self._budget.check_objects(found)
            self._growth.check(found, self.depth)
            self._next_check = found + _CHECK_INTERVAL
        self._parent.extend([self.visited] * len(actions))
        self._action.extend(range(len(actions)))
        self._probability.extend(probabilities)
        before = shown_by(history) if found < _CHECK_INTERVAL else None  # it takes time
        for action in actions:
            child = history.child(action)
            if child is history or (before and shown_by(history) != before):
                raise no_new_history(action, self.path(self.visited))
            # The protocol check is slow, and not needed for a type that passed it.
            if type(child) is not type(history) and not isinstance(child, History):
                raise TypeError(
                    f"child({quote(action)}) must be a History, got {quote(child)} at "
                    f"{self.path(self.visited)}"
                )
            yield child

    def arrays(self) -> dict[str, Any]:
        players = self._players or 0
        sets = [self._sets.get(player, {}) for player in range(players)]
        check_acting(self._sets, players, lambda i: self.path(self._player.index(i)))
        return {
            "parent": np.array(self._parent),
            "player": np.array(self._player),
            "information_set": np.array(self._information_set),
            "action": np.array(self._action),
            "probability": np.array(self._probability),
            "payoffs": np.array(self._payoffs).reshape(-1, players),
            "labels": [list(map(str, own)) for own in sets],
            "actions": [
                [tuple(map(str, actions)) for _, _, actions in own.values()] for own in sets
            ],
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
        label, own = history.information_set(), self._sets.setdefault(int(player), {})
        actions = actions_of(history)
        if not isinstance(actions, Iterable):
            raise TypeError(
                f"actions() must be a sequence of actions, got {quote(actions)} {self._at()}; "
                "return at least one where a player acts"
            )
        actions = tuple(actions)
        try:
            known = own.get(label)
        except TypeError as error:
            raise TypeError(
                f"information_set() must be hashable, got {quote(label)} {self._at()}; "
                "return a string or a tuple"
            ) from error
        if known is None:
            self._check_distinct(actions, "actions()")
            known = own[label] = len(own), len(self._player), actions
        number, first, expected = known
        if actions != expected:
            raise ValueError(
                f"information set {quote(str(label))} of player {player} has actions "
                f"{quote(list(expected))} at {self.path(first)}, but {quote(list(actions))} "
                f"{self._at()}; give its histories the same actions in the same order, or "
                "different information sets"
            )
        self._record(player, number)
        return actions

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
        _, _, actions = list(self._sets[player].values())[self._information_set[history]]
        return tuple(map(str, actions))


Joined = TypeVar("Joined", bound=np.generic)
Bits: TypeAlias = NDArray[np.uint8]

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
        raise lacking("root", root, HistoryBatch)
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
        named = list(enumerate(sets))
        return {
            "parent": _joined(self._parent),
            "player": acting,
            "information_set": _joined(self._information_set),
            "action": _joined(self._action),
            "probability": read_only(probability),
            "payoffs": _joined(self._payoffs),
            "labels": [own.labels(self._root, player) for player, own in named],
            "actions": [own.possible.names(self._root, player) for player, own in named],
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
        one_each = payoffs.ndim == 2 and len(payoffs) == rows.size
        if not one_each or columns not in {None, payoffs.shape[1]}:
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
        self._budget.check_histories(self.found + cells.size, growing=True)
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


class ActionMasks:
    """The legal actions of many histories, a bit for each action."""

    def __init__(self) -> None:
        self._bits: Bits = np.empty((0, 0), dtype=np.uint8)

    def add(self, bits: Bits) -> None:
        width = max(bits.shape[1], self._bits.shape[1])
        self._bits = np.concatenate([_widened(self._bits, width), _widened(bits, width)])

    def equal(self, numbers: Indices, bits: Bits) -> NDArray[np.bool_]:
        """Return whether each row equals the recorded row with that number."""
        differ = _widened(bits, self._bits.shape[1]) != self._bits[numbers]
        matches: NDArray[np.bool_] = ~differ.any(axis=1)
        return matches

    def names(self, level: HistoryBatch, player: int) -> LazySequence[tuple[str, ...]]:
        return LazySequence(len(self._bits), partial(_action_names, level, player, self._bits))


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


def _widened(bits: Bits, width: int) -> Bits:
    if bits.shape[1] == width:
        return bits
    return np.pad(bits, [(0, 0), (0, width - bits.shape[1])])


def _label(level: HistoryBatch, player: int, keys: Indices, number: int) -> str:
    return str(level.label(player, int(keys[number])))


def _action_names(level: HistoryBatch, player: int, bits: Bits, number: int) -> tuple[str, ...]:
    possible = np.flatnonzero(np.unpackbits(bits[number])).tolist()
    return tuple(str(level.action_name(player, action)) for action in possible)
