"""Payoffs as compiled code goes through them: what is worth the same is worked out once."""

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from regretkit._typing import Indices, Vector
from regretkit.engine._forest import Forest, Narrow, narrow
from regretkit.games import ExtensiveFormGame, Game, NormalFormGame


class Matrix(NamedTuple):
    """What two players earn from each other, u = A x, with equal rows and columns merged.

    Sequences that are worth the same whatever the opponent does share one row. Sequences of the
    opponent that nobody's worth tells apart share one column, at which their x's are added up
    first. Payoffs of zero are left out. Both mergers ask for equality to the bit, and so change
    nothing but the order of sums.
    """

    row: Narrow
    """Which row says what each sequence is worth, shape ``(sequences,)``."""
    rows: Indices
    """Where each player's rows begin, and where the last one's end."""
    begin: Narrow
    """Where the entries of each row begin, and where the last one's end."""
    column: Narrow
    """For each entry a sequence, or beyond all sequences the number of a sum."""
    payoff: Vector
    """For each entry, times chance's probability."""
    sums: Indices
    """Where the sums that each player's rows need begin, and where the last one's end."""
    sum_begin: Narrow
    """Where the sequences of each sum begin, and where the last one's end."""
    summed: Narrow
    """The sequences in the sums."""
    scratch: Vector
    """Room for what the rows are worth."""


class Ends(NamedTuple):
    """The ends of a game of any number of players, grouped by the last sequence of each."""

    begin: Narrow
    """Where the ends behind each sequence begin, and where the last one's end."""
    others: Narrow
    """The last sequences of all others there, ``(entries, players - 1)``."""
    payoff: Vector
    """What the sequence's player earns there, times chance's probability."""


class Tensor(NamedTuple):
    """The payoffs of a normal form, each player's with its own actions first."""

    sizes: Indices
    """Number of actions of each player."""
    payoff: Vector
    """All players' payoffs, one after the other."""
    scratch: Vector
    """Room for what is left of them while others' strategies are multiplied in."""


Payoffs: TypeAlias = Matrix | Ends | Tensor
"""What a player earns while the others play, in one of these forms."""


def payoffs_of(game: Game, forest: Forest) -> Payoffs:
    """Return the payoffs of a game whose players' sequences are numbered so."""
    if isinstance(game, NormalFormGame):
        return _tensor(game)
    if not isinstance(game, ExtensiveFormGame):
        raise TypeError(f"{game!r} has no payoffs that could be laid out")
    sequences = game.sequences + forest.sequences[:-1, None]
    if game.players == 2:
        return _matrix(sequences, game.payoffs, forest)
    return _ends(sequences, game.payoffs, int(forest.sequences[-1]))


# Normal form


def _tensor(game: NormalFormGame) -> Tensor:
    own_first = [np.moveaxis(own, player, 0) for player, own in enumerate(game.payoffs)]
    sizes = np.array(game.payoffs.shape[1:])
    return Tensor(
        sizes=sizes,
        payoff=np.concatenate([np.ravel(own) for own in own_first]),
        scratch=np.empty(2 * (game.payoffs[0].size // int(sizes.min(initial=1)))),
    )


# Any number of players


def _ends(sequences: Indices, payoffs: NDArray[np.float64], total: int) -> Ends:
    owns, others, worth = [], [], []
    for player, payoff in enumerate(payoffs):
        earned = np.flatnonzero(payoff)
        owns.append(sequences[player, earned])
        others.append(np.delete(sequences, player, axis=0)[:, earned].T)
        worth.append(payoff[earned])
    own = np.concatenate(owns)
    order = np.argsort(own, kind="stable")
    return Ends(
        begin=narrow(_starts(np.bincount(own, minlength=total))),
        others=narrow(np.concatenate(others)[order]),
        payoff=np.concatenate(worth)[order],
    )


# Two players


class _Entries(NamedTuple):
    """A sparse matrix, by rows."""

    begin: Indices
    column: Indices
    value: Vector

    @property
    def lengths(self) -> Indices:
        return np.diff(self.begin)


def _matrix(sequences: Indices, payoffs: NDArray[np.float64], forest: Forest) -> Matrix:
    first, total = forest.sequences, int(forest.sequences[-1])
    row = np.empty(total, dtype=np.int64)
    parts, sums = [], []
    rows, groups = [0], [0]
    for player in range(2):
        own, other = sequences[player], sequences[1 - player]
        earned = np.flatnonzero(payoffs[player])
        own, other = own[earned] - first[player], other[earned] - first[1 - player]
        size, across = np.diff(first)[[player, 1 - player]]
        entries = _by_rows(own, other, payoffs[player, earned], size)
        kept, which = _merged(entries)
        row[first[player] : first[player + 1]] = rows[-1] + which
        merged, members = _merge_columns(kept, int(across), int(first[1 - player]))
        # Behind all sequences stand the sums, those of player 0 before those of player 1.
        beyond = merged.column >= _SUMS
        merged.column[beyond] += total + groups[-1] - _SUMS
        parts.append(merged)
        sums.append(members)
        rows.append(rows[-1] + merged.lengths.size)
        groups.append(groups[-1] + members.lengths.size)
    both, summed = _stacked(parts), _stacked(sums)
    return Matrix(
        row=narrow(row),
        rows=np.array(rows),
        begin=narrow(both.begin),
        column=narrow(both.column),
        payoff=both.value,
        sums=np.array(groups),
        sum_begin=narrow(summed.begin),
        summed=narrow(summed.column),
        scratch=np.empty(rows[-1]),
    )


_SUMS = 2**62
"""From this number on, columns are sums, as long as nobody knows where those will stand."""


def _merge_columns(entries: _Entries, columns: int, first: int) -> tuple[_Entries, _Entries]:
    """Merge equal columns; return what is left, and which sequences have to be summed."""
    of_row = np.repeat(np.arange(entries.lengths.size), entries.lengths)
    representative, which = _distinct(_by_rows(entries.column, of_row, entries.value, columns))
    used = np.bincount(entries.column, minlength=columns) > 0
    several = np.flatnonzero(np.bincount(which[used], minlength=representative.size) > 1)
    name = representative + first
    name[several] = _SUMS + np.arange(several.size)
    kept = representative[which[entries.column]] == entries.column
    lengths = np.bincount(of_row[kept], minlength=entries.lengths.size)
    left = _Entries(_starts(lengths), name[which[entries.column[kept]]], entries.value[kept])
    members = np.flatnonzero(used & (name[which] >= _SUMS))
    group = name[which[members]] - _SUMS
    order = np.argsort(group, kind="stable")
    sizes = np.bincount(group, minlength=several.size)
    return left, _Entries(_starts(sizes), first + members[order], np.empty(0))


def _merged(entries: _Entries) -> tuple[_Entries, Indices]:
    """Return the distinct rows, short ones first, and which of them each row is."""
    representative, which = _distinct(entries)
    # Rows of one length one after the other let the machine guess where a loop ends.
    order = np.argsort(entries.lengths[representative], kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    representative = representative[order]
    kept = entries.lengths[representative]
    begin = _starts(kept)
    take = _spread(entries.begin[representative], kept)
    return _Entries(begin, entries.column[take], entries.value[take]), rank[which]


def _distinct(entries: _Entries) -> tuple[Indices, Indices]:
    """Return the first of each kind of equal rows, in order, and of which kind each row is."""
    mixed = _mixed(_mixed(entries.value.view(np.uint64)) + _mixed(entries.column.astype(np.uint64)))
    running = np.zeros(mixed.size + 1, dtype=np.uint64)
    np.cumsum(mixed, out=running[1:])
    mark = running[entries.begin[1:]] - running[entries.begin[:-1]]
    _, representative, which = np.unique(mark, return_index=True, return_inverse=True)
    # Equal rows have equal marks; that unequal ones do is all but impossible, and looked up.
    lengths, like = entries.lengths, representative[which]
    if (lengths == lengths[like]).all():
        there = _spread(entries.begin[like], lengths)
        same_columns = np.array_equal(entries.column, entries.column[there])
        if same_columns and np.array_equal(entries.value, entries.value[there]):
            order = np.argsort(representative)  # neighbours stay neighbours, also in memory
            rank = np.empty_like(order)
            rank[order] = np.arange(order.size)
            return representative[order], rank[which.ravel()]
    return np.arange(lengths.size), np.arange(lengths.size)


def _mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Scramble 64 bits, so that their sums tell sets of numbers apart (Steele et al., 2014)."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))


def _by_rows(row: Indices, column: Indices, value: Vector, size: int) -> _Entries:
    order = np.lexsort((column, row))
    begin = _starts(np.bincount(row, minlength=size))
    return _Entries(begin, column[order].astype(np.int64), value[order])


def _stacked(parts: list[_Entries]) -> _Entries:
    lengths = np.concatenate([part.lengths for part in parts])
    column = np.concatenate([part.column for part in parts])
    return _Entries(_starts(lengths), column, np.concatenate([part.value for part in parts]))


def _starts(lengths: Indices) -> Indices:
    return np.concatenate(([0], np.cumsum(lengths)))


def _spread(begin: Indices, lengths: Indices) -> Indices:
    """Return the numbers ``begin, begin + 1, ...`` of each group of these lengths."""
    ends = np.cumsum(lengths)
    return np.repeat(begin - (ends - lengths), lengths) + np.arange(int(lengths.sum()))
