"""Many short rows at once, column by column: rows are the blocks of a vector that have one size."""

from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np

from regretkit._util._typing import Vector

NARROW = 8
"""Up to so many columns are worth it."""
_MANY = 1_000
"""From so many numbers on; before, every column costs more than its numbers."""
_PIECE = 1 << 15
"""As many numbers as stay in a processor's cache while column after column is looked at."""


def by_column(rows: int, size: int) -> bool:
    """Say whether so many rows of this size are quicker to work on column by column."""
    return 2 <= size <= NARROW and rows * size >= _MANY


def combined(combine: np.ufunc, rows: Vector, factors: Vector | None = None) -> Vector:
    """Return what ``combine`` makes of each row, or of its products, from left to right."""
    results = np.empty(len(rows))
    for piece in _pieces(rows):
        part = rows[piece] if factors is None else rows[piece] * factors[piece]
        columns, result = part.T, results[piece]
        combine(columns[0], columns[1], out=result)
        for column in columns[2:]:
            combine(result, column, out=result)
    return results


def thresholds(rows: Vector) -> Vector:
    """Return, for each row, the number whose subtraction leaves positive parts that sum to one.

        max over k of  (sum of the k largest - 1) / k

    Rows are sorted and added up by column where that is quicker. It gives the same bits.

    Examples
    --------
    >>> thresholds(np.array([[3.0, 3.0, 0.0], [0.25, 0.5, 0.25]]))
    array([2.5, 0. ])
    """
    size = rows.shape[1]
    if by_column(*rows.shape):
        return np.concatenate([_highest(_falling(rows[piece].T)) for piece in _pieces(rows)])
    falling = np.sort(rows, axis=1)[:, ::-1]
    highest: Vector = ((np.cumsum(falling, axis=1) - 1.0) / np.arange(1, size + 1)).max(axis=1)
    return highest


def _highest(falling: Sequence[Vector]) -> Vector:
    total = falling[0]
    highest: Vector = total - 1.0
    for count, column in enumerate(falling[1:], start=2):
        total = total + column
        np.maximum(highest, (total - 1.0) / count, out=highest)
    return highest


def _falling(columns: Vector) -> Sequence[Vector]:
    """Return the columns sorted, element by element, the largest first."""
    falling = list(columns)
    for i, j in _exchanges(len(falling)):
        high = np.maximum(falling[i], falling[j])
        falling[i], falling[j] = high, np.minimum(falling[i], falling[j])
    return falling


@cache
def _exchanges(size: int) -> tuple[tuple[int, int], ...]:
    """Return the pairs that Batcher's merge exchange compares to sort ``size`` numbers.

    Knuth, "The Art of Computer Programming" 3, algorithm 5.2.2M: which numbers are compared does
    not depend on them.
    """
    pairs: list[tuple[int, int]] = []
    first = 1 << (size - 1).bit_length() >> 1
    bit = first
    while bit:
        merged, residue, apart = first, 0, bit
        while apart:
            pairs += [(i, i + apart) for i in range(size - apart) if i & bit == residue]
            apart, merged, residue = merged - bit, merged >> 1, bit
        bit >>= 1
    return tuple(pairs)


def _pieces(rows: Vector) -> Iterator[slice]:
    length = _PIECE // rows.shape[1]
    return (slice(start, start + length) for start in range(0, len(rows), length))
