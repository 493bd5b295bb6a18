"""Payoffs as compiled code goes through them: what is worth the same is worked out once."""

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from regretkit._typing import Indices, Narrow, Vector
from regretkit.engine._forest import Forest, narrow
from regretkit.engine._quads import Rows, quads_of, spread, stacked, starts, taken
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
    forced_row: Narrow
    """Which says what a forced last move behind it adds to that, see
    :mod:`~regretkit.engine._forced`; empty where nobody is forced."""
    batches: Narrow
    """Batches of rows, see :class:`~regretkit.engine._quads.Quads`."""
    of_player: Narrow
    """Where each player's batches begin, and where the last one's end."""
    column: Narrow
    """For each entry a sequence, or beyond all sequences the number of a sum."""
    payoff: Vector
    """For each entry, times chance's probability."""
    sum_batches: Narrow
    """Batches of the sums that rows need."""
    sums_of_player: Narrow
    """Where the batches of each player's sums begin, and where the last one's end."""
    summed: Narrow
    """The sequences in the sums."""
    sums: Narrow
    """Where each player's sums begin, and where the last one's end."""
    scratch: Vector
    """Room for what rows are worth, or sums come to."""


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

    sizes: Narrow
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
        sizes=narrow(sizes),
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
        begin=narrow(starts(np.bincount(own, minlength=total))),
        others=narrow(np.concatenate(others)[order]),
        payoff=np.concatenate(worth)[order],
    )


# Two players


def _matrix(sequences: Indices, payoffs: NDArray[np.float64], forest: Forest) -> Matrix:
    first = forest.sequences.astype(np.int64)
    total = int(first[-1])
    row = np.empty(total, dtype=np.int64)
    parts, sums = [], []
    rows, groups = [0], [0]
    for player in range(2):
        own, other = sequences[player], sequences[1 - player]
        earned = np.flatnonzero(payoffs[player])
        own, other = own[earned] - first[player], other[earned] - first[1 - player]
        size, across = np.diff(first)[[player, 1 - player]]
        distinct, which = _distinct(_by_rows(own, other, payoffs[player, earned], size))
        left, members = _merge_columns(distinct, int(across), int(first[1 - player]))
        added, place, count = quads_of(members)
        # Behind all sequences stand the sums, those of player 0 before those of player 1.
        beyond = left.column >= _SUMS
        left.column[beyond] = total + groups[-1] + place[left.column[beyond] - _SUMS]
        sums.append(added)
        groups.append(groups[-1] + count)
        multiplied, place, count = quads_of(left)
        row[first[player] : first[player + 1]] = rows[-1] + place[which]
        parts.append(multiplied)
        rows.append(rows[-1] + count)
    both, summed = stacked(parts, rows[:-1]), stacked(sums, groups[:-1])
    return Matrix(
        row=narrow(row),
        forced_row=np.zeros(0, dtype=np.uint32),
        batches=narrow(both.batches),
        of_player=narrow(starts(np.array([len(part.batches) for part in parts]))),
        column=narrow(both.column),
        payoff=both.value,
        sum_batches=narrow(summed.batches),
        sums_of_player=narrow(starts(np.array([len(part.batches) for part in sums]))),
        summed=narrow(summed.column),
        sums=narrow(np.array(groups)),
        scratch=np.empty(max(rows[-1], groups[-1])),
    )


_SUMS = 2**62
"""From this number on, columns are sums, as long as nobody knows where those will stand."""


def _merge_columns(rows: Rows, columns: int, first: int) -> tuple[Rows, Rows]:
    """Merge equal columns; return what is left, and which sequences have to be summed."""
    of_row = np.repeat(np.arange(rows.lengths.size), rows.lengths)
    transposed = _by_rows(rows.column, of_row, rows.value, columns)
    which, representative = _kinds(transposed)
    used = transposed.lengths > 0
    size = np.bincount(which[used], minlength=representative.size)
    several = np.flatnonzero(size > 1)
    name = representative + first
    name[several] = _SUMS + np.arange(several.size)
    kept = representative[which[rows.column]] == rows.column
    lengths = np.bincount(of_row[kept], minlength=rows.lengths.size)
    left = Rows(starts(lengths), name[which[rows.column[kept]]], rows.value[kept])
    members = np.flatnonzero(used & (name[which] >= _SUMS))
    order = np.argsort(name[which[members]], kind="stable")
    summed = first + members[order]
    return left, Rows(starts(size[several]), summed, np.empty(summed.size))


def _distinct(rows: Rows) -> tuple[Rows, Indices]:
    """Return one of each kind of equal rows, and of which kind each row is."""
    which, representative = _kinds(rows)
    return taken(rows, representative), which


def _kinds(rows: Rows) -> tuple[Indices, Indices]:
    """Return of which kind each row is, equal ones of the same, and the first of each kind."""
    mixed = _mixed(_mixed(rows.value.view(np.uint64)) + _mixed(rows.column.astype(np.uint64)))
    running = np.zeros(mixed.size + 1, dtype=np.uint64)
    np.cumsum(mixed, out=running[1:])
    mark = running[rows.begin[1:]] - running[rows.begin[:-1]]
    _, representative, which = np.unique(mark, return_index=True, return_inverse=True)
    # Neighbours stay neighbours, also in memory.
    order = np.argsort(representative)
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    representative, which = representative[order], place[which.ravel()]
    # Equal rows have equal marks; that unequal ones do is all but impossible, and looked up.
    like = representative[which]
    if np.array_equal(rows.lengths, rows.lengths[like]):
        there = spread(rows.begin[like], rows.lengths)
        same_columns = np.array_equal(rows.column, rows.column[there])
        if same_columns and np.array_equal(rows.value, rows.value[there]):
            return which, representative
    return np.arange(rows.lengths.size), np.arange(rows.lengths.size)


def _mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Scramble 64 bits, so that their sums tell sets of numbers apart (Steele et al., 2014)."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))


def _by_rows(row: Indices, column: Indices, value: Vector, size: int) -> Rows:
    order = np.lexsort((column, row))
    begin = starts(np.bincount(row, minlength=size))
    return Rows(begin, column[order].astype(np.int64), value[order])
