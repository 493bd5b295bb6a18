"""Numbering what players know, by tables and not by dictionaries."""

from functools import partial
from typing import TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from regretkit._util._typing import Indices
from regretkit.games.tree._history_batch import HistoryBatch
from regretkit.sets._lazy_sequence import LazySequence

Bits: TypeAlias = NDArray[np.uint8]

_DENSE = 8
"""A table may have so many places for each number that is looked up in it."""


@final
class Possible:
    """Which actions are possible, at each of many places: a bit for each action."""

    def __init__(self) -> None:
        self._bits: Bits = np.empty((0, 0), dtype=np.uint8)

    def add(self, bits: Bits) -> None:
        """Append some places."""
        width = max(bits.shape[1], self._bits.shape[1])
        self._bits = np.concatenate([_widened(self._bits, width), _widened(bits, width)])

    def equal(self, numbers: Indices, bits: Bits) -> NDArray[np.bool_]:
        """Return whether each of some places has the same actions as the one with that number."""
        same = np.ones(numbers.size, dtype=np.bool_)
        for own, others in zip(_widened(bits, self._bits.shape[1]).T, self._bits.T, strict=True):
            same &= own == others[numbers]
        return same

    def names(self, level: HistoryBatch, player: int) -> LazySequence[tuple[str, ...]]:
        """Return for each place what a level calls the actions."""
        return LazySequence(len(self._bits), partial(_action_names, level, player, self._bits))


@final
class InformationSets:
    """One player's information sets, in the order in which they first occur."""

    def __init__(self) -> None:
        self._keys = np.empty(0, dtype=np.int64)
        self.possible = Possible()

    def add(self, keys: Indices, bits: Bits) -> tuple[Indices, NDArray[np.bool_]]:
        """Return the information sets of some histories, and whether those have their actions.

        ``keys`` are what the rules call the sets.
        """
        numbers, new = numbered(keys, self._keys)
        self._keys = np.append(self._keys, keys[new])
        self.possible.add(bits[new])
        return numbers, self.possible.equal(numbers, bits)

    def labels(self, level: HistoryBatch, player: int) -> LazySequence[str]:
        """Return what a level calls the information sets."""
        return LazySequence(self._keys.size, partial(_label, level, player, self._keys))


def numbered(keys: Indices, known: Indices) -> tuple[Indices, Indices]:
    """Return a number for each key, and where those that are new come first.

    Keys are numbered in the order in which they first come, behind those that are known.

    Examples
    --------
    >>> numbers, new = numbered(np.array([7, 4, 7, 9, 4]), known=np.array([9]))
    >>> numbers.tolist(), new.tolist()
    ([1, 2, 1, 0, 2], [0, 1])
    """
    least = min(keys.min(initial=0), known.min(initial=0))
    most = max(keys.max(initial=0), known.max(initial=0))
    if least < 0 or most >= _DENSE * (keys.size + known.size):
        # Too far apart for a table: their ranks are as good.
        _, ranks = np.unique(np.append(known, keys), return_inverse=True)
        known, keys, most = ranks[: known.size], ranks[known.size :], ranks.max(initial=0)
    table = np.full(int(most) + 1, -1, dtype=np.int32)
    table[known] = np.arange(known.size)
    missing = np.flatnonzero(table[keys] < 0)
    wanted = keys[missing]
    # Each key's first place among them, which is the last one written when going backwards
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
