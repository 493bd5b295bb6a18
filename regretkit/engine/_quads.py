"""Sparse rows laid out four at a time, so that a machine adds up four of them at once."""

from typing import NamedTuple

import numpy as np

from regretkit._util._typing import Indices, Vector
from regretkit.games._payoff_rows import SparseRows

_MOST = 64
"""Quads in one batch, so that the batches of a large game can be shared out."""

_SHORT = 64
"""Up to this length, rows are worth the zeros that fill their quad."""


class Quads(NamedTuple):
    """The same rows in batches: quads of rows of one length, or one row alone.

    The entries of a quad are interleaved: the first of each of its four rows, the second of each,
    and so on.
    """

    batches: Indices
    """For each batch its first row, its quads or 0, its rows' length, and where its entries begin.

    Shape ``(batches, 4)``.
    """
    column: Indices
    value: Vector


def quads_of(rows: SparseRows) -> tuple[Quads, Indices, int]:
    """Lay out rows; return them, where each of them went, and the number of rows there are now.

    They are sorted by length, and otherwise stay in order. Short ones that make no quad get the
    company of rows of zeros.
    """
    order = np.argsort(rows.lengths, kind="stable")
    lengths, counts = np.unique(rows.lengths, return_counts=True)
    added = np.where(lengths <= _SHORT, -counts % 4, 0)
    first = np.cumsum(counts + added) - (counts + added)
    place = np.empty_like(order)
    place[order] = np.arange(order.size) + np.repeat(first - (np.cumsum(counts) - counts), counts)
    batches, entries, at, done = [], [], 0, 0
    for row, length, count, more in zip(first, lengths, counts, added, strict=True):
        there = rows.begin[order[done : done + count], None] + np.arange(length)
        there = np.pad(there, ((0, more), (0, 0)), constant_values=-1)
        quads = (count + more) // 4
        interleaved = there[: 4 * quads].reshape(quads, 4, length).transpose(0, 2, 1)
        entries += [interleaved.ravel(), there[4 * quads :].ravel()]
        for q in range(0, quads, _MOST):
            batches.append((row + 4 * q, min(_MOST, quads - q), length, at + 4 * q * length))
        for r in range(4 * quads, count + more):
            batches.append((row + r, 0, length, at + r * length))
        done, at = done + count, at + (count + more) * length
    which = np.concatenate([np.empty(0, dtype=np.int64), *entries])
    table = np.array(batches, dtype=np.int64).reshape(-1, 4)
    value = np.where(which >= 0, np.append(rows.value, 0.0)[which], 0.0)
    return Quads(table, np.append(rows.column, 0)[which], value), place, int((counts + added).sum())


def stacked(parts: list[Quads], rows: list[int]) -> Quads:
    """Put quads behind each other; ``rows`` says how many rows stand before each part."""
    entries = np.cumsum([0, *(part.column.size for part in parts)])
    moved = [
        part.batches + np.array([before, 0, 0, at])
        for part, before, at in zip(parts, rows, entries[:-1], strict=True)
    ]
    return Quads(
        np.concatenate(moved),
        np.concatenate([part.column for part in parts]),
        np.concatenate([part.value for part in parts]),
    )
