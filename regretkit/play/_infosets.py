"""The information sets that play without a tree has visited, in columns that grow."""

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
"""Cells of a record before its strategy. The first three are whole numbers: the record's kind, and
two that machine code needs to find it. The fourth is the weighted sum of its player's sequence
before it, as of the last visit."""

SIZE_BITS, PARENT_BITS = 16, 24
"""A record's kind is its number of actions; from these bits on its player, and the cell with the
sum of the player's last sequence, plus one, 0 for the empty sequence."""

SIZE, PLAYER_MASK = (1 << SIZE_BITS) - 1, (1 << PARENT_BITS - SIZE_BITS) - 1

_FIRST = 2**12
"""Entries for which there is room at first."""


class PointRule:
    """A player's rule at decision points with some number of actions.

    Its kernel runs as plain Python on lists: no array pays for two numbers. Without a kernel, each
    information set has a minimizer of its own.
    """

    def __init__(self, rule: LocalRule, size: int) -> None:
        self.size, self.minimizer = size, local_minimizer(rule, Simplices(size), "rule")
        if any(generators(self.minimizer)):
            raise ValueError(f"rule draws random numbers, got {quote(self.minimizer)}")
        kernel = kernel_or_none(self.minimizer)
        self.kernel = None if kernel is not None and kernel.numbers else kernel
        strategy, state = self.minimizer.next_strategy().tolist(), list[list[float]]()
        if self.kernel is not None:
            learned = [held_at(self.minimizer, path) for path in self.kernel.learned]
            fixed = [*self.kernel.constants, *self.kernel.block_constants]
            state = [[*np.ravel(x).tolist(), *[0.0] * size][:size] for x in [*learned, *fixed]]
            self._learned, self._time = len(learned), -1
            self._workspace = [[0.0] * size for _ in range(self.kernel.workspace)]
            self._propose, self._learn = self.kernel.in_python
            self._parameters_at = self.kernel.parameters_at
        self.initial: list[float] = [*strategy, *[0.0] * size, *chain(*state)]
        """A new record: the strategy, the sums of the sequences, and the arrays of the kernel."""
        self.strategy, self.sums = strategy, [*accumulate(strategy)]

    def update(
        self,
        record: list[float],
        utility: list[float],
        value: float,
        iteration: int,
        minimizer: RegretMinimizer | None,
    ) -> None:
        """Learn from utilities in an iteration, and set the next strategy."""
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
        """Return the error about a strategy that is not a distribution."""
        name = type(self.minimizer).__name__
        return ValueError(f"{name} must return probabilities that sum to 1, got {quote(strategy)}")


class Infosets:
    """The information sets of all players, in the order of their first visit.

    An information set has a record in ``cells``: ``HEAD`` numbers, its strategy, the weighted sums
    of the sequences through each action, and the arrays of its rule. Python and machine code read
    and write the same memory.

    The average is a sum along sequences, and lazy. The strategy does not change between visits, so
    a visit adds for all iterations since the last one at once:

        total[a]  +=  (sum of the sequence before  -  the same at the last visit) strategy[a]

    Parameters
    ----------
    rules
        The rule of each player.
    numbered
        Whether information sets are tuples of whole numbers, and actions whole numbers.
    """

    def __init__(self, rules: Sequence[LocalRule], *, numbered: bool) -> None:
        self.rules, self.numbered = rules, numbered
        self._points: dict[tuple[int, int], PointRule] = {}
        self.count = self.used = self.named = 0
        """Information sets, and how many entries of ``cells`` and ``actions`` they take."""
        self.width = -1 if self.numbered else 1
        """Entries of ``known`` for each of them, -1 before the first."""
        names = np.int64 if self.numbered else object
        self.place: Indices = np.empty(_FIRST, np.int64)
        """Where each record begins."""
        self.known: Any = np.empty(_FIRST, names)
        """The names of information sets, or the observations in them."""
        self.actions: Any = np.empty(_FIRST, np.uint32 if self.numbered else object)
        """The actions of one information set after the other."""
        self._set_cells(np.empty(_FIRST))
        self.minimizers: dict[int, RegretMinimizer] = {}
        """By record, where a rule has no kernel."""
        self._places: list[dict[Hashable, int]] = [{} for _ in self.rules]
        self._found = 0
        """Information sets in that."""

    def _set_cells(self, cells: Vector) -> None:
        self.cells, self.heads = cells, cells.view(np.int64)
        # Views of the same memory, whose single numbers Python reads three times as fast.
        self.fast_cells: Any = self.cells.data
        self.fast_heads: Any = self.heads.data

    def point(self, player: int, size: int) -> PointRule:
        """Return the rule of a player at decision points with some number of actions."""
        found = self._points.get((player, size))
        if found is None:
            found = self._points[player, size] = PointRule(self.rules[player], size)
        return found

    def rule_at(self, place: int) -> PointRule:
        """Return the rule of a record."""
        kind = self.fast_heads[place]
        return self.point(kind >> SIZE_BITS & PLAYER_MASK, kind & SIZE)

    def find(self, player: int, key: Hashable) -> int:
        """Return where the record of an information set begins, or -1."""
        if self._found < self.count:  # machine code has added some
            rows = range(self._found, self.count)
            players = self._kinds(slice(self._found, self.count)) >> SIZE_BITS & PLAYER_MASK
            places = self.place[self._found : self.count].tolist()
            for row, owner, place in zip(rows, players.tolist(), places, strict=True):
                self._places[owner][self.key(row)] = place
            self._found = self.count
        return self._places[player].get(key, -1)

    def add(self, player: int, key: Any, actions: Sequence[Any], parent: int) -> int:
        """Add an information set, behind the sum of a sequence; return where its record begins."""
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
        """Make room for more information sets, cells and actions."""
        self.place = self._grown(self.place, self.count + count)
        self.known = self._grown(self.known, (self.count + count) * max(self.width, 1))
        self.actions = self._grown(self.actions, self.named + named)
        if self.used + used > self.cells.size:
            self._set_cells(self._grown(self.cells, self.used + used))

    def _grown(self, column: Any, size: int) -> Any:
        """Return a column that is at least twice as long, if it has too little room."""
        if size <= column.size:
            return column
        size = max(2 * column.size, size)
        if column.itemsize * size > available():
            raise MemoryError(
                f"{self.count:,} information sets do not fit into memory; take OutcomeSampling, "
                "which visits fewer of them, or a smaller game"
            )
        larger = np.empty(size, column.dtype)
        larger[: column.size] = column
        return larger

    # Reading

    def _kinds(self, rows: Any) -> Indices:
        kinds: Indices = self.heads[self.place[: self.count][rows]]
        return kinds

    def key(self, row: int) -> Any:
        """Return the name of an information set, or the tuple of observations."""
        known = self.known[row * self.width : (row + 1) * self.width].tolist()
        return tuple(known) if self.numbered else known[0]

    def of_player(self, player: int) -> Indices:
        """Return the numbers of a player's information sets."""
        kinds = self._kinds(slice(None))
        return np.flatnonzero(kinds >> SIZE_BITS & PLAYER_MASK == player)

    def names(self, rows: Indices) -> tuple[list[Any], list[Any]]:
        """Return the keys of information sets, and the actions of one after the other."""
        sizes = self._kinds(slice(None)) & SIZE
        first = np.cumsum(sizes) - sizes
        actions = self.actions[expand_ranges(first[rows], sizes[rows])].tolist()
        return [self.key(row) for row in rows.tolist()], actions

    def sequences(self, rows: Indices) -> tuple[Indices, Indices, Indices]:
        """Return the number of actions of information sets, which one is before, and which action.

        ``rows`` are all of a player; -1 stands for the empty sequence.
        """
        kinds, place = self._kinds(rows), self.place[rows]
        sizes, cell = kinds & SIZE, (kinds >> PARENT_BITS) - 1
        parent = np.searchsorted(place, cell, side="right") - 1
        action = cell - place[parent] - HEAD - sizes[parent] if rows.size else cell
        return sizes, parent, np.where(parent < 0, -1, action)

    def strategies(self, rows: Indices, weight: float | None = None) -> Vector:
        """Return the strategies at a player's information sets, one after the other.

        With the sum of the weights of all iterations, their averages.
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
        """Return a copy of the columns."""
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
        """Return the information sets of a state, or raise a ValueError if it is damaged."""
        infosets = cls(rules, numbered=numbered)
        try:
            infosets._load(state)
        except (IndexError, KeyError, MemoryError, TypeError, AttributeError, SyntaxError) as error:
            raise ValueError(f"information sets are damaged: {quote(error)}") from error
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
        """Raise a ValueError if the records are not of these rules."""
        lengths = [HEAD + len(self.rule_at(place).initial) for place in self.place.tolist()]
        sizes = self._kinds(slice(None)) & SIZE
        fits = np.array_equal(np.cumsum([0, *lengths]), np.append(self.place, self.used))
        if not fits or sizes.sum() != self.named:
            raise ValueError("records must be of these rules")

    def __deepcopy__(self, memo: object) -> Self:
        return self.of_state(self.state_dict(), self.rules, numbered=self.numbered)


def kind_of(player: int, size: int, parent: int) -> int:
    """Return the kind of a record behind the sum of a sequence, -1 for the empty sequence."""
    return (parent + 1 << PARENT_BITS) + (player << SIZE_BITS) + size


def _text(names: list[Any]) -> str:
    """Return names as JSON, or as literals of Python."""
    if all(type(name) is str for name in names):
        return json.dumps(names)
    try:
        whole = ast.literal_eval(repr(names)) == names
    except (ValueError, SyntaxError):
        whole = False
    if not whole:
        raise TypeError(
            "a file holds names of information sets and actions that are made of texts, numbers, "
            "truth values and tuples only"
        )
    return repr(names)


def _objects(text: str) -> Any:
    try:
        names = json.loads(text)
    except ValueError:
        names = ast.literal_eval(text)
    column = np.empty(len(names), object)
    for k, name in enumerate(names):  # NumPy would take tuples apart
        column[k] = name
    return column
