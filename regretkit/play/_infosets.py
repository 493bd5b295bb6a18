"""The visited information sets of runs without a tree, in growing arrays."""

import ast
import copy
import json
from array import array
from collections.abc import Hashable, Sequence
from itertools import accumulate, chain
from typing import Any, Self

import numpy as np

from regretkit._state import StateDict, generators, with_parts
from regretkit._util._arrays import depths, expand_ranges
from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import ATOL, quote
from regretkit.circuits._base import LocalRule, local_minimizer
from regretkit.games._memory_budget import available
from regretkit.minimizer import RegretMinimizer
from regretkit.sets import Simplices
from regretkit.trace._find import kernel_or_none
from regretkit.trace._rule import held_at

HEAD = 4
"""Number of cells of a record before its strategy. The first three are integers: the record's kind,
and two numbers of the kernel's hash table. The fourth is the weighted sum of the player's sequence
before the information set, at the last visit."""

SIZE_BITS, PARENT_BITS = 16, 24
"""Layout of a record's kind: the number of actions in the low bits; the player from bit
``SIZE_BITS``; from bit ``PARENT_BITS`` 1 + the cell with the sum of the player's last sequence, 0
for the empty sequence."""

SIZE, PLAYER_MASK = (1 << SIZE_BITS) - 1, (1 << PARENT_BITS - SIZE_BITS) - 1

_FIRST = 2**12
"""Initial length of the arrays."""


class PointRule:
    """A player's rule at decision points with a given number of actions.

    Its kernel runs as plain Python on lists, which is faster than NumPy for a few numbers. Without
    a kernel, each information set has its own minimizer.
    """

    def __init__(self, rule: LocalRule, size: int) -> None:
        self.size, self.minimizer = size, local_minimizer(rule, Simplices(size), "rule")
        if any(generators(self.minimizer)):
            raise ValueError(f"rule must not draw random numbers, got {quote(self.minimizer)}")
        kernel = kernel_or_none(self.minimizer)
        self.kernel = None if kernel is not None and kernel.numbers else kernel
        strategy, state = self.minimizer.next_strategy().tolist(), list[list[float]]()
        if self.kernel is not None:
            learned = [held_at(self.minimizer, path) for path in self.kernel.learned]
            fixed = [array for array, _ in self.kernel.further if array is not None]
            state = [[*np.ravel(x).tolist(), *[0.0] * size][:size] for x in [*learned, *fixed]]
            self._learned, self._time = len(learned), -1
            self._workspace = [[0.0] * size for _ in range(self.kernel.workspace)]
            self._propose, self._learn = self.kernel.in_python
            self._parameters_at = self.kernel.parameters_at
        self.initial: list[float] = [*strategy, *[0.0] * size, *chain(*state)]
        """A new record after its head: strategy, sums of sequences, and arrays of the kernel."""
        self.strategy, self.sums = strategy, [*accumulate(strategy)]

    def update(
        self,
        record: list[float],
        utility: list[float],
        value: float,
        iteration: int,
        minimizer: RegretMinimizer | None,
    ) -> None:
        """Update a record with the utilities of an iteration, and set its next strategy."""
        size = self.size
        if minimizer is not None:
            missed = iteration - 1 - minimizer.iteration
            for part in with_parts(minimizer) if missed else ():
                if isinstance(part, RegretMinimizer):
                    part.iteration += missed
            minimizer.observe_utility(np.array(utility))
            strategy = minimizer.next_strategy().tolist()
        else:
            if self._time != iteration:
                self._time, self._parameters = iteration, self._parameters_at(iteration)
            cuts, learned = range(2 * size, len(record), size), self._learned
            state, strategy = [record[k : k + size] for k in cuts], record[:size]
            arrays = *state[:learned], *self._workspace, *state[learned:]
            self._learn(0, 0, size, utility, value, strategy, arrays, self._parameters)
            self._propose(0, 0, size, strategy, arrays, self._parameters)
            record[2 * size :] = chain.from_iterable(state)
        if not (abs(sum(strategy) - 1.0) <= ATOL and min(strategy) >= -ATOL):
            raise self.invalid(strategy)
        record[:size] = strategy

    def invalid(self, strategy: list[float]) -> ValueError:
        """Return the error for a strategy that is not a distribution."""
        name = type(self.minimizer).__name__
        return ValueError(f"{name} must return probabilities that sum to 1, got {quote(strategy)}")


class Infosets:
    """The information sets of all players, in the order of their first visit.

    Each has a record in ``cells``: ``HEAD`` numbers, the strategy, the weighted sum of the sequence
    of each action, and the arrays of the rule. Python and kernels use the same memory.

    The weighted sums are lazy. A strategy is constant between visits, so one addition at a visit
    covers all iterations since the last one. With S the sum of the sequence before,

        total[a]  +=  (S  -  S at the last visit) strategy[a]

    Parameters
    ----------
    rules
        The rule of each player.
    numbered
        Whether information sets are tuples of integers, and actions integers.
    """

    def __init__(self, rules: Sequence[LocalRule], *, numbered: bool) -> None:
        self.rules, self.numbered = rules, numbered
        self._points: dict[tuple[int, int], PointRule] = {}
        self.count = self.used = self.named = 0
        """Numbers of information sets, and of used entries of ``cells`` and ``actions``."""
        self.width = -1 if self.numbered else 1
        """Number of entries of ``known`` per information set, -1 before the first."""
        names = np.int64 if self.numbered else object
        self.place: Indices = np.empty(_FIRST, np.int64)
        """First cell of each record."""
        self.known: Any = np.empty(_FIRST, names)
        """The observations of each information set if ``numbered``, otherwise its name."""
        self.actions: Any = np.empty(_FIRST, np.uint32 if self.numbered else object)
        """The actions of all information sets, concatenated."""
        self._set_cells(np.empty(_FIRST))
        self.minimizers: dict[int, RegretMinimizer] = {}
        """The minimizers of rules without a kernel, by the first cell of their record."""
        self._places: list[dict[Hashable, int]] = [{} for _ in self.rules]
        self._found = 0
        """Number of information sets in ``_places``."""

    def _set_cells(self, cells: Vector) -> None:
        self.cells, self.heads = cells, cells.view(np.int64)
        # Memory views: Python reads single numbers three times as fast as from arrays.
        self.fast_cells: Any = self.cells.data
        self.fast_heads: Any = self.heads.data

    def point(self, player: int, size: int) -> PointRule:
        """Return the rule of a player at decision points with ``size`` actions."""
        found = self._points.get((player, size))
        if found is None:
            found = self._points[player, size] = PointRule(self.rules[player], size)
        return found

    def rule_at(self, place: int) -> PointRule:
        """Return the rule of a record."""
        kind = self.fast_heads[place]
        return self.point(kind >> SIZE_BITS & PLAYER_MASK, kind & SIZE)

    def find(self, player: int, key: Hashable) -> int:
        """Return the first cell of an information set's record, -1 if it has none."""
        if self._found < self.count:  # the compiled engine has added records
            rows = range(self._found, self.count)
            players = self._kinds(slice(self._found, self.count)) >> SIZE_BITS & PLAYER_MASK
            places = self.place[self._found : self.count].tolist()
            for row, owner, place in zip(rows, players.tolist(), places, strict=True):
                self._places[owner][self.key(row)] = place
            self._found = self.count
        return self._places[player].get(key, -1)

    def add(self, player: int, key: Any, actions: Sequence[Any], parent: int) -> int:
        """Add an information set after the sequence of cell ``parent``; return its first cell."""
        size, known = len(actions), key if self.numbered else (key,)
        rule = self.point(player, size)
        self.width = len(known) if self.width < 0 else self.width
        if len(known) != self.width or size > SIZE:
            raise ValueError(f"observed() must return {self.width} numbers at {quote(key)}")
        place, row, length = self.used, self.count, HEAD + len(rule.initial)
        self.reserve(1, length, size)
        self.fast_heads[place] = kind_of(player, size, parent)
        self.fast_heads[place + 1] = self.fast_heads[place + 2] = 0
        self.fast_cells[place + 3 : place + length] = array("d", [0.0, *rule.initial])
        self.place[row] = place
        for k, observed in enumerate(known, row * self.width):
            self.known[k] = observed
        for k, action in enumerate(actions, self.named):
            self.actions[k] = action
        if rule.kernel is None:
            self.minimizers[place] = copy.deepcopy(rule.minimizer)
        self._places[player][key] = place
        self.count, self.used, self.named = row + 1, place + length, self.named + size
        self._found = self.count
        return place

    def reserve(self, count: int, used: int, named: int) -> None:
        """Grow the arrays for more information sets, cells and actions."""
        self.place = self._grown(self.place, self.count + count)
        self.known = self._grown(self.known, (self.count + count) * max(self.width, 1))
        self.actions = self._grown(self.actions, self.named + named)
        if self.used + used > self.cells.size:
            self._set_cells(self._grown(self.cells, self.used + used))

    def _grown(self, column: Any, size: int) -> Any:
        """Return the array, or a copy of at least twice its length if it is shorter than size."""
        if size <= column.size:
            return column
        size = max(2 * column.size, size)
        if column.itemsize * size > available():
            raise MemoryError(
                f"{self.count:,} information sets do not fit into memory; OutcomeSampling visits "
                "fewer"
            )
        larger = np.empty(size, column.dtype)
        larger[: column.size] = column
        return larger

    # Reading

    def _kinds(self, rows: Any) -> Indices:
        kinds: Indices = self.heads[self.place[: self.count][rows]]
        return kinds

    def key(self, row: int) -> Any:
        """Return the observations of an information set if ``numbered``, otherwise its name."""
        known = self.known[row * self.width : (row + 1) * self.width].tolist()
        return tuple(known) if self.numbered else known[0]

    def of_player(self, player: int) -> Indices:
        """Return the numbers of a player's information sets."""
        kinds = self._kinds(slice(None))
        return np.flatnonzero(kinds >> SIZE_BITS & PLAYER_MASK == player)

    def names(self, rows: Indices) -> tuple[list[Any], list[Any]]:
        """Return the keys of information sets, and their actions, concatenated."""
        sizes = self._kinds(slice(None)) & SIZE
        first = np.cumsum(sizes) - sizes
        actions = self.actions[expand_ranges(first[rows], sizes[rows])].tolist()
        return [self.key(row) for row in rows.tolist()], actions

    def sequences(self, rows: Indices) -> tuple[Indices, Indices, Indices]:
        """Return the number of actions, the parent information set and the action there.

        ``rows`` are all information sets of a player, and parents are positions in it. For the
        empty sequence both are -1.
        """
        kinds, place = self._kinds(rows), self.place[rows]
        sizes, cell = kinds & SIZE, (kinds >> PARENT_BITS) - 1
        parent = np.searchsorted(place, cell, side="right") - 1
        action = cell - place[parent] - HEAD - sizes[parent] if rows.size else cell
        return sizes, parent, np.where(parent < 0, -1, action)

    def strategies(self, rows: Indices, weight: float | None = None) -> Vector:
        """Return the next strategies at all information sets of a player, concatenated.

        With ``weight``, the sum of the weights of all iterations, return the averages.
        """
        sizes, parent, action = self.sequences(rows)
        cell = expand_ranges(self.place[rows] + HEAD, sizes)
        strategy = self.cells[cell]
        if weight is None or not rows.size:
            return strategy
        first, total = np.cumsum(sizes) - sizes, self.cells[cell + np.repeat(sizes, sizes)]
        depth = depths(parent)
        order = np.argsort(depth, kind="stable")
        for level in np.split(order, np.cumsum(np.bincount(depth))[:-1]):
            before = np.where(parent[level] < 0, weight, total[first[parent] + action][level])
            gained = before - self.cells[self.place[rows[level]] + 3]
            at = expand_ranges(first[level], sizes[level])
            total[at] += np.repeat(gained, sizes[level]) * strategy[at]
        whole, even = np.repeat(np.add.reduceat(total, first), sizes), 1.0 / np.repeat(sizes, sizes)
        average: Vector = np.divide(total, whole, out=even, where=whole > 0.0)
        return average

    # State

    def state_dict(self) -> StateDict:
        """Return a copy of the used parts of the arrays."""
        known, actions = self.known[: self.count * max(self.width, 0)], self.actions[: self.named]
        return {
            "place": self.place[: self.count].copy(),
            "cells": self.heads[: self.used].copy(),
            "known": known.copy() if self.numbered else _text(known.tolist()),
            "actions": actions.copy() if self.numbered else _text(actions.tolist()),
            "minimizers": {str(k): part.state_dict() for k, part in self.minimizers.items()},
        }

    @classmethod
    def of_state(cls, state: Any, rules: Sequence[LocalRule], *, numbered: bool) -> Self:
        """Return the information sets of a state, or raise a ValueError."""
        infosets = cls(rules, numbered=numbered)
        try:
            infosets._load(state)
        except (IndexError, KeyError, MemoryError, TypeError, AttributeError, SyntaxError) as error:
            raise ValueError(f"invalid information sets: {quote(error)}") from error
        return infosets

    def _load(self, state: Any) -> None:
        place, cells, known, actions, minimizers = (
            state[name] for name in ("place", "cells", "known", "actions", "minimizers")
        )
        if not self.numbered:
            known, actions = (_objects(names) for names in (known, actions))
        self.count, self.used, self.named = place.size, cells.size, actions.size
        self.width = known.size // max(self.count, 1) if self.count else self.width
        for name, given in (("place", place), ("known", known), ("actions", actions)):
            setattr(self, name, given.astype(getattr(self, name).dtype))
        self._set_cells(cells.astype(np.int64).view(np.float64))
        self._check()
        for at in place.tolist():
            rule = self.rule_at(at)
            if rule.kernel is None:
                self.minimizers[at] = copy.deepcopy(rule.minimizer)
                self.minimizers[at].load_state_dict(minimizers[str(at)])

    def _check(self) -> None:
        """Raise a ValueError if the records do not have the sizes of these rules."""
        lengths = [HEAD + len(self.rule_at(place).initial) for place in self.place.tolist()]
        sizes = self._kinds(slice(None)) & SIZE
        fits = np.array_equal(np.cumsum([0, *lengths]), np.append(self.place, self.used))
        if not fits or sizes.sum() != self.named:
            raise ValueError("records of information sets must have the sizes of the run's rules")

    def __deepcopy__(self, memo: object) -> Self:
        return self.of_state(self.state_dict(), self.rules, numbered=self.numbered)


def kind_of(player: int, size: int, parent: int) -> int:
    """Return the kind of a record; ``parent`` is the cell of the sequence before, or -1."""
    return (parent + 1 << PARENT_BITS) + (player << SIZE_BITS) + size


def _text(names: list[Any]) -> str:
    """Return names as JSON, or as Python literals."""
    if all(type(name) is str for name in names):
        return json.dumps(names)
    try:
        whole = ast.literal_eval(repr(names)) == names
    except (ValueError, SyntaxError):
        whole = False
    if not whole:
        raise TypeError(
            "names of information sets and actions must be strings, numbers, booleans or tuples "
            "of these to be saved"
        )
    return repr(names)


def _objects(text: str) -> Any:
    try:
        names = json.loads(text)
    except ValueError:
        names = ast.literal_eval(text)
    column = np.empty(len(names), object)
    for k, name in enumerate(names):  # an array assignment would unpack tuples
        column[k] = name
    return column
