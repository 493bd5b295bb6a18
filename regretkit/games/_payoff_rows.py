"""Payoffs of two players as sparse rows, equal rows and equal columns merged."""

from functools import cached_property
from typing import NamedTuple, final

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from regretkit._util._arrays import expand_ranges, segment_sum, sum_terms
from regretkit._util._typing import Indices, Vector


class SparseRows(NamedTuple):
    """A sparse matrix, row by row (CSR)."""

    begin: Indices
    """Where the entries of each row begin, and where those of the last one end."""
    column: Indices
    value: Vector

    @property
    def lengths(self) -> Indices:
        return np.diff(self.begin)

    @property
    def row_of_entry(self) -> Indices:
        return np.repeat(np.arange(self.begin.size - 1), self.lengths)


@final
@frozen(eq=False)
class PayoffRows:
    """A player's utility as a matrix times the opponent's strategy, ``u = A x``.

    The player's sequences with equal payoffs share one row. The opponent's sequences with equal
    columns share one column, for which their probabilities are added first. Zero payoffs are
    omitted. Only bitwise equal rows and columns are merged, which changes only the order of sums;
    it is the same in all engines, and sequences of equal payoffs have bitwise equal utilities.
    """

    row: Indices
    """The row of each sequence of the player, shape ``(dimension,)``."""
    rows: SparseRows
    """The distinct rows; a column is a sequence of the opponent or, from their number on, a sum."""
    sums: SparseRows
    """The sequences of the opponent in each sum; the values are ones."""

    @cached_property
    def _groups(self) -> tuple[Indices, Indices]:
        """The row of each entry, and the sum of each sequence in one."""
        return self.rows.row_of_entry, self.sums.row_of_entry

    def utility(self, strategy: Vector) -> Vector:
        """Return ``A x``, shape ``(dimension,)``, zero where the terms cancel up to rounding."""
        row_of_entry, sum_of_term = self._groups
        sums = segment_sum(sum_of_term, strategy[self.sums.column], self.sums.begin.size - 1)
        terms = self.rows.value * np.concatenate([strategy, sums])[self.rows.column]
        return sum_terms(row_of_entry, terms, self.rows.begin.size - 1)[self.row]


def payoff_rows(
    player_sequence: Indices,
    opponent_sequence: Indices,
    payoff: Vector,
    dimension: int,
    opponent_dimension: int,
) -> PayoffRows:
    """Return the payoffs at the terminals with these last sequences as rows."""
    paid = np.flatnonzero(payoff)
    rows, row = _distinct(
        _by_rows(player_sequence[paid], opponent_sequence[paid], payoff[paid], dimension)
    )
    merged, sums = _merge_columns(rows, opponent_dimension)
    return PayoffRows(row, merged, sums)


def offsets(lengths: Indices) -> Indices:
    """Return where groups of these lengths begin, and where the last one ends."""
    return np.concatenate(([0], np.cumsum(lengths)))


def _merge_columns(rows: SparseRows, columns: int) -> tuple[SparseRows, SparseRows]:
    """Merge equal columns; return what is left, and which columns have to be summed."""
    of_row = rows.row_of_entry
    transposed = _by_rows(rows.column, of_row, rows.value, columns)
    which, representative = _kinds(transposed)
    used = transposed.lengths > 0
    size = np.bincount(which[used], minlength=representative.size)
    multiple = np.flatnonzero(size > 1)
    name = representative.copy()
    name[multiple] = columns + np.arange(multiple.size)
    kept = representative[which[rows.column]] == rows.column
    lengths = np.bincount(of_row[kept], minlength=rows.lengths.size)
    merged_rows = SparseRows(offsets(lengths), name[which[rows.column[kept]]], rows.value[kept])
    members = np.flatnonzero(used & (name[which] >= columns))
    members = members[np.argsort(name[which[members]], kind="stable")]
    return merged_rows, SparseRows(offsets(size[multiple]), members, np.ones(members.size))


def _distinct(rows: SparseRows) -> tuple[SparseRows, Indices]:
    """Return one of each kind of equal rows, and of which kind each row is."""
    which, representative = _kinds(rows)
    lengths = rows.lengths[representative]
    entries = expand_ranges(rows.begin[representative], lengths)
    return SparseRows(offsets(lengths), rows.column[entries], rows.value[entries]), which


def _kinds(rows: SparseRows) -> tuple[Indices, Indices]:
    """Return of which kind each row is, equal ones of the same, and the first of each kind."""
    hashed = mixed(mixed(rows.value.view(np.uint64)) + mixed(rows.column.astype(np.uint64)))
    running = np.zeros(hashed.size + 1, dtype=np.uint64)
    np.cumsum(hashed, out=running[1:])
    hashes = running[rows.begin[1:]] - running[rows.begin[:-1]]
    _, representative, which = np.unique(hashes, return_index=True, return_inverse=True)
    # Neighbours stay neighbours, also in memory.
    order = np.argsort(representative)
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    representative, which = representative[order], place[which.ravel()]
    # Equal rows have equal hashes; that unequal ones do is all but impossible, and checked.
    like = representative[which]
    if np.array_equal(rows.lengths, rows.lengths[like]):
        entries = expand_ranges(rows.begin[like], rows.lengths)
        same_columns = np.array_equal(rows.column, rows.column[entries])
        if same_columns and np.array_equal(rows.value, rows.value[entries]):
            return which, representative
    return np.arange(rows.lengths.size), np.arange(rows.lengths.size)


def mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Scramble 64 bits, so that their sums tell sets of numbers apart (Steele et al., 2014)."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))


def _by_rows(row: Indices, column: Indices, value: Vector, size: int) -> SparseRows:
    order = np.lexsort((column, row))
    begin = offsets(np.bincount(row, minlength=size))
    return SparseRows(begin, column[order].astype(np.int64), value[order])
