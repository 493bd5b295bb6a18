"""A player's information sets in columns: what a run without a tree has learned, for its files."""

import ast
import json
from collections.abc import Collection, Hashable, Iterable, Sequence
from itertools import chain, islice
from typing import Any, TypeAlias, cast

import numpy as np
from attrs import fields_dict, frozen
from numpy.typing import NDArray

from regretkit._state import StateDict, is_finite_array
from regretkit._util._arrays import depths, expand_ranges
from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import ATOL, quote
from regretkit.play._infoset_records import (
    InfosetRecord,
    KernelRecord,
    LazyDiscount,
    MinimizerRecord,
    RecordFactory,
)

Names: TypeAlias = Sequence[Hashable] | Indices
"""Of information sets or actions; an array where rules have numbers for them.

An information set of rules is a row: its player's observations.
"""

_LITERALS = 1_000
"""Names in one text."""


@frozen(eq=False)
class InfosetTable:
    """What is known of a player's information sets, in the order of their first visit.

    An array with numbers for each action has those of one information set after the other.
    """

    keys: Names
    actions: Names
    sizes: Indices
    """Numbers of actions."""
    parent: Indices
    """Which of the player's information sets comes before, -1 for none,"""
    parent_action: Indices
    """and which action there."""
    reach: Vector
    """Weighted sum of the sequence before an information set, as of the last visit,"""
    total: Vector
    """and of those after it."""
    strategy: Vector
    state: Vector
    """The arrays of the rule's kernel, likewise, where it has one."""
    discounts: Vector
    """Four numbers each of the iterations so far, where a kernel makes up for them."""
    minimizers: Sequence[StateDict]
    """The states of those without a kernel."""

    @classmethod
    def of(cls, records: Sequence[InfosetRecord]) -> "InfosetTable":
        """Return the table of records."""
        numbers: dict[InfosetRecord | None, int] = {None: -1}
        numbers |= {record: number for number, record in enumerate(records)}
        kernels = [record for record in records if isinstance(record, KernelRecord)]
        fading = any(record.shared.discounts_on_zero for record in kernels)
        arrays = chain.from_iterable(record.state for record in kernels)
        discounts = (chain(*record.discounts) for record in kernels if fading)
        return cls(
            keys=_as_names([record.key for record in records]),
            actions=_as_names([*chain.from_iterable(record.actions for record in records)]),
            sizes=np.array([len(record.total) for record in records], np.int64),
            parent=np.array([numbers[record.parent] for record in records], np.int64),
            parent_action=np.array([record.parent_action for record in records], np.int64),
            reach=np.array([record.reach for record in records], np.float64),
            total=_floats(record.total for record in records),
            strategy=_floats(record.strategy for record in records),
            state=_floats(arrays),
            discounts=_floats(discounts),
            minimizers=[
                r.minimizer.state_dict() for r in records if isinstance(r, MinimizerRecord)
            ],
        )

    @property
    def is_numbered(self) -> bool:
        """Whether information sets and actions are numbers as rules have them."""
        keys, actions = self.keys, self.actions
        if not len(keys):
            return True
        if not (isinstance(keys, np.ndarray) and isinstance(actions, np.ndarray)):
            return False
        return keys.ndim == 2 and bool(((actions >= 0) & (actions < 2**32)).all())

    @property
    def first(self) -> Indices:
        """Where each information set begins in arrays with numbers for each action."""
        return np.cumsum(self.sizes) - self.sizes

    def averages(self, weight: float) -> Vector:
        """Return the average strategy; ``weight`` is the sum of those of all iterations."""
        first, weighted, depth = self.first, self.total.copy(), depths(self.parent)
        order = np.argsort(depth, kind="stable")
        for level in np.split(order, np.cumsum(np.bincount(depth))[:-1]):
            parent = self.parent[level]
            previous = weighted[first[parent] + self.parent_action[level]]
            gained = np.where(parent < 0, weight, previous) - self.reach[level]
            at = expand_ranges(first[level], self.sizes[level])
            weighted[at] += np.repeat(gained, self.sizes[level]) * self.strategy[at]
        sums = np.add.reduceat(weighted, first) if first.size else weighted
        sums, sizes = np.repeat(sums, self.sizes), np.repeat(self.sizes, self.sizes)
        return np.divide(weighted, sums, out=1.0 / sizes, where=sums > 0.0)

    def records(self, factory: RecordFactory) -> list[InfosetRecord]:
        """Return the records of a table that fits."""
        made: list[InfosetRecord] = []
        columns = self.actions, self.total, self.strategy, self.state, self.discounts
        names, total, strategy, state, discounts = (iter(listed(column)) for column in columns)
        minimizers, places = iter(self.minimizers), (self.keys, self.sizes, self.parent)
        rows = zip(*map(listed, (*places, self.parent_action, self.reach)), strict=True)
        for key, size, parent, action, reach in rows:
            previous = made[parent] if parent >= 0 else None
            record = factory.make(key, [*islice(names, size)], previous, action)
            record.total, record.reach, record.has_learned = [*islice(total, size)], reach, True
            played = [*islice(strategy, size)]
            if isinstance(record, MinimizerRecord):
                record.minimizer.load_state_dict(next(minimizers))
                played = record.minimizer.next_strategy().tolist()
            elif isinstance(record, KernelRecord):
                for array in record.state:
                    array[:] = islice(state, len(array))
                if self.discounts.size:
                    positive, other = islice(discounts, 2), islice(discounts, 2)
                    record.discounts = LazyDiscount(*positive), LazyDiscount(*other)
            record.play(played)
            made.append(record)
        return made

    # Files

    def saved(self) -> dict[str, Any]:
        """Return what a file holds of it.

        Raises
        ------
        TypeError
            When information sets or actions are neither texts nor made of texts, numbers, truth
            values and tuples.
        """
        names = {"keys": _written(self.keys), "actions": _written(self.actions)}
        short = {name: _short(getattr(self, name)) for name in _WHOLE}
        others = (name for name in fields_dict(InfosetTable) if name not in {*names, *short})
        return {**names, **short, **{name: getattr(self, name) for name in others}}

    @classmethod
    def read(cls, saved: Any) -> "InfosetTable":
        """Return what a file holds, columns that have their types and lengths; a table as it is."""
        if isinstance(saved, InfosetTable):
            return saved
        check_entries(saved, fields_dict(cls).keys())
        columns: dict[str, Any] = {name: _as_whole(saved[name], name) for name in _WHOLE}
        columns |= {name: _as_floats(saved[name], name) for name in _FLOATS}
        table = cls(
            keys=_read(saved["keys"], "keys"),
            actions=_read(saved["actions"], "actions"),
            minimizers=saved["minimizers"],
            **columns,
        )
        count, entries = table.sizes.size, len(table.actions)
        if not isinstance(table.minimizers, list) or (table.sizes < 1).any():
            raise ValueError("minimizers must be a list, and numbers of actions at least 1")
        if int(table.sizes.astype(np.float64).sum()) != entries:
            raise ValueError(f"numbers of actions must have the sum {entries}")
        by_infoset = len(table.keys), table.parent.size, table.parent_action.size, table.reach.size
        if {*by_infoset} != {count} or {table.total.size, table.strategy.size} != {entries}:
            raise ValueError("columns must have an entry for each information set or action")
        return table

    def check(self, factory: RecordFactory, weight: float) -> None:
        """Refuse what no run comes to whose player has these templates."""
        places = np.arange(self.sizes.size)
        wrong = (self.parent < -1) | (self.parent >= places)
        if wrong.any():
            number = self.parent[wrong][0]
            raise ValueError(f"an information set cannot come after number {number}")
        wrong = self.parent_action >= np.append(self.sizes, 1)[self.parent]
        wrong |= self.parent_action < 0
        if wrong.any():
            action = self.parent_action[wrong][0]
            raise ValueError(f"an information set cannot come after action {action}")
        if len({*listed(self.keys)}) < places.size:
            raise ValueError("information sets must differ")
        if places.size:
            self._check_sums(weight)
        self._check_learned(factory)

    @np.errstate(over="ignore")
    def _check_sums(self, weight: float) -> None:
        """Refuse sums that strategies do not have, and what is no strategy."""
        first = self.first
        if min(self.reach.min(), self.total.min()) < 0.0:
            raise ValueError("there must be no negative sums")
        previous = np.where(
            self.parent < 0, weight, self.total[first[self.parent] + self.parent_action]
        )
        slack, sums = ATOL * previous, np.add.reduceat(self.total, first)
        self._refuse(
            (self.reach > previous + slack) | ~(abs(sums - self.reach) <= slack),
            "the sums of strategies at {} do not fit together",
        )
        sums, least = (total.reduceat(self.strategy, first) for total in (np.add, np.minimum))
        self._refuse(
            ~(abs(sums - 1.0) <= ATOL) | (least < -ATOL),
            "what is played at {} must be probabilities that sum to 1",
        )

    def _refuse(self, wrong: NDArray[np.bool_], message: str) -> None:
        if wrong.any():
            raise ValueError(message.format(quote(str(self.keys[int(wrong.argmax())]), 60)))

    def _check_learned(self, factory: RecordFactory) -> None:
        """Refuse what a rule could not have learned."""
        kinds = map(factory.template, np.unique(self.sizes).tolist())
        templates = [template for template in kinds if isinstance(template, KernelRecord)]
        widths, kernels = np.zeros_like(self.sizes), 0
        for template in templates:
            alike = self.sizes == len(template.actions)
            widths[alike] = sum(map(len, template.state))
            kernels += int(alike.sum())
        _expect("state", widths.sum(), self.state.size)
        _expect("discounts", 4 * kernels if self.discounts.size else 0, self.discounts.size)
        _expect("minimizers", self.sizes.size - kernels, len(self.minimizers))
        if (self.discounts[::2] > 0.0).any() or (self.discounts[1::2] < 0.0).any():
            raise ValueError("discounts must be sums of logarithms up to 0, and numbers of zeros")
        if not np.isfinite(self.state).all():
            raise ValueError("what is learned must be finite numbers")


# Columns

_WHOLE = "sizes", "parent", "parent_action"
_FLOATS = "reach", "total", "strategy", "state", "discounts"


def listed(column: Names | Vector) -> list[Any]:
    """Return the entries as objects of Python, rows as tuples."""
    if isinstance(column, np.ndarray):
        return column.tolist() if column.ndim == 1 else list(map(tuple, column.tolist()))
    return list(column)


def _floats(rows: Iterable[Iterable[float]]) -> Vector:
    return np.fromiter(chain.from_iterable(rows), np.float64)


def _as_names(names: list[Hashable]) -> Names:
    """Return an array where names are whole numbers of at most 64 bits, or rows of such."""
    rows = [name if type(name) is tuple else (name,) for name in names]
    numbers = all(type(n) is int and -(2**63) <= n < 2**63 for row in rows for n in row)
    if numbers and len({(type(name), len(row)) for name, row in zip(names, rows, strict=True)}) < 2:
        return np.array(names, np.int64)
    return names


def _short(column: Indices) -> NDArray[np.integer[Any]]:
    """Return whole numbers in as few bytes each as all have room in."""
    farthest = max(column.max(), -1 - column.min()) if column.size else 0
    return column.astype(np.min_scalar_type(-1 - int(farthest)))


def _written(names: Names) -> Any:
    """Return names as a file holds them: an array, a JSON text of texts, or texts of literals."""
    if isinstance(names, np.ndarray):
        return _short(names)
    if all(type(name) is str for name in names):
        return json.dumps(names)
    return [_literals(names[k : k + _LITERALS]) for k in range(0, len(names), _LITERALS)]


def _literals(names: Sequence[Hashable]) -> str:
    if not _is_literal(names):
        text = next((repr(name) for name in names if not _is_literal(name)), "something")
        raise TypeError(
            f"{text} names an information set or an action, and a file can only hold names made of "
            "texts, numbers, truth values and tuples; let information_set and actions return such"
        )
    return repr(names)


def _is_literal(thing: object) -> bool:
    try:
        return bool(ast.literal_eval(repr(thing)) == thing)
    except (ValueError, SyntaxError):
        return False


def _read(column: object, name: str) -> Names:
    """Return the names that ``_written`` wrote."""
    if isinstance(column, str):
        texts = json.loads(column)
        if isinstance(texts, list) and all(isinstance(text, str) for text in texts):
            return texts
    elif isinstance(column, list):
        pieces = [ast.literal_eval(text) for text in column]
        if all(isinstance(piece, list) for piece in pieces):
            return [*chain.from_iterable(pieces)]
    else:
        return _as_whole(column, name)
    raise ValueError(f"{name} must be texts, whole numbers or literals")


def _as_whole(column: object, name: str) -> Indices:
    rows = (1, 2) if name == "keys" else (1,)
    if not (isinstance(column, np.ndarray) and column.dtype.kind in "iu" and column.ndim in rows):
        raise ValueError(f"{name} must be an array of whole numbers")
    return column.astype(np.int64)


def _as_floats(column: object, name: str) -> Vector:
    if not is_finite_array(column):
        raise ValueError(f"{name} must be an array of finite numbers")
    return cast("Vector", column)


def check_entries(saved: object, names: Collection[str]) -> None:
    """Refuse what is no dict with these entries."""
    if not isinstance(saved, dict) or saved.keys() != {*names}:
        raise ValueError(f"what was learned must have the entries {sorted(names)}")


def _expect(name: str, wanted: int, found: int) -> None:
    if found != wanted:
        raise ValueError(f"{name} must have {wanted} entries, got {found}")
