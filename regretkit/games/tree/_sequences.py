"""Sequence form of a game tree: sequences, perfect recall, and sparse payoff matrices."""

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from regretkit._machine_code import ran
from regretkit._util._arrays import RESOLUTION, expand_ranges, read_only, segment_sum, sum_terms
from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import quote, shorten
from regretkit.games.tree._game_tree import GameTree
from regretkit.sets import DecisionTree

WITHIN_BOUNDS = DISJOINT = True  # for the compiler: no negative indices, no shared memory


def levels(tree: GameTree) -> Iterator[slice]:
    """Yield the slice of each level below the root, in breadth-first order."""
    start, end = 1, tree.histories
    while start < end:
        # parent is sorted: this level ends before the first history whose parent lies in it.
        stop = int(np.searchsorted(tree.parent, tree.parent.dtype.type(start)))
        yield slice(start, stop)
        start = stop


def last_sequences(tree: GameTree) -> Indices:
    """Return each player's last sequence at each history, shape ``(players, histories)``."""
    first = [1 + np.cumsum(sizes) - sizes for sizes in tree.sizes]
    last = np.zeros((tree.players, tree.histories), dtype=tree.parent.dtype)
    for level in levels(tree):
        parent = tree.parent[level]
        for player, own in enumerate(last):
            own[level] = own[parent]
            moved = np.flatnonzero(tree.player[parent] == player)
            numbers = tree.information_set[parent[moved]]
            own[level.start + moved] = first[player][numbers] + tree.action[level.start + moved]
    return last


def reach_of_chance(tree: GameTree) -> Vector:
    """Return the product of chance's probabilities up to each history, ``(histories,)``."""
    reach: Vector = tree.probability.copy()
    for level in levels(tree):
        reach[level] *= reach[tree.parent[level]]
    return reach


def merge_terminals(sequences: Indices, weights: Vector, payoffs: Vector) -> tuple[Indices, Vector]:
    """Return the distinct columns of ``sequences``, sorted, and the sums of weighted payoffs.

    ``sequences`` and the returned payoffs have shape ``(players, terminals)``; the argument
    ``payoffs`` has shape ``(terminals, players)``.
    """
    order, place = sorted_columns(sequences)
    weights, terminals = weights[order], int(place[-1]) + 1
    merged = np.array([sum_terms(place, weights * paid[order], terminals) for paid in payoffs.T])
    distinct = sequences[:, order[np.flatnonzero(np.diff(place, prepend=-1))]]
    return read_only(distinct.astype(np.int64)), read_only(merged)


def sorted_columns(sequences: Indices) -> tuple[Indices, Indices]:
    """Return the lexicographic order of the columns, and in this order each one's group of equals.

    Examples
    --------
    >>> order, group = sorted_columns(np.array([[1, 0, 1]]))
    >>> order.tolist(), group.tolist()
    ([1, 0, 2], [0, 1, 1])
    """
    order = np.lexsort(sequences[::-1])
    differ = (np.diff(sequences[:, order]) != 0).any(axis=0)
    return order, np.append(0, np.cumsum(differ))


def decision_trees(tree: GameTree, last: Indices) -> tuple[DecisionTree, ...]:
    """Return each player's decision tree, with decision points numbered as information sets."""
    return tuple(
        DecisionTree(
            _parents(tree, player, last[player]),
            sizes,
            labels=tree.labels[player],
            actions=tree.actions[player],
        )
        for player, sizes in enumerate(tree.sizes)
    )


def _parents(tree: GameTree, player: int, last: Indices) -> Indices:
    """Return the sequence before each information set, or raise if it is not unique."""
    histories = np.flatnonzero(tree.player == player)
    numbers = tree.information_set[histories]
    # Written in reverse order, the first history of each set remains.
    first = np.zeros(len(tree.labels[player]), dtype=np.int64)
    first[numbers[::-1]] = histories[::-1]
    differing = np.flatnonzero(last[histories] != last[first[numbers]])
    if differing.size:
        number, history = int(numbers[differing[0]]), int(histories[differing[0]])
        label, example = tree.labels[player][number], _path(tree, int(first[number]))
        raise ValueError(
            f"imperfect recall: player {player} cannot tell {example} from "
            f"{_path(tree, history)}, both in its information set {quote(label)}, but its earlier "
            "actions or information sets differ; give them different information sets"
        )
    return last[first]


def _path(tree: GameTree, history: int) -> str:
    path = " ".join(repr(action) for action in tree.history_path(history))
    return shorten(path) or "the empty history"


class SparseRows(NamedTuple):
    """A sparse matrix, row by row (CSR)."""

    begin: Indices
    """Offset of the entries of each row, and of the end."""
    column: Indices
    value: Vector

    @property
    def lengths(self) -> Indices:
        return np.diff(self.begin)

    @property
    def row_of_entry(self) -> Indices:
        return np.repeat(np.arange(self.begin.size - 1), self.lengths)


def _multiply(
    begin: Indices,
    column: Indices,
    sum_begin: Indices,
    summed: Indices,
    value: Vector,
    weights: Vector,
    totals: Vector,
) -> None:
    """Write A x of ``PayoffRows`` into ``totals``, in a plain loop for compilation.

    ``weights`` starts with the strategy x. The loop appends the sums of merged columns.
    """
    strategy = weights.size - (sum_begin.size - 1)
    for k in range(sum_begin.size - 1):
        total = 0.0
        for entry in range(sum_begin[k], sum_begin[k + 1]):
            total += weights[summed[entry]]
        weights[strategy + k] = total
    for row in range(totals.size):
        total, magnitude = 0.0, 0.0
        for entry in range(begin[row], begin[row + 1]):
            term = value[entry] * weights[column[entry]]
            total += term
            magnitude += abs(term)
        # Terms that cancel up to rounding sum to exactly 0, so ties remain ties.
        totals[row] = 0.0 if abs(total) <= RESOLUTION * magnitude else total


@frozen(eq=False)
class PayoffRows:
    """A player's utility as a matrix times the opponent's strategy, ``u = A x``.

    The player's sequences with equal payoffs share one row. The opponent's sequences with equal
    columns share one column, whose weight is the sum of their probabilities. Zeros are omitted.
    Merged rows and columns are bitwise identical, so merging changes only the order of sums. All
    engines use this order, and sequences with equal payoffs have bitwise identical utilities.
    """

    row: Indices
    """The row of each sequence of the player, shape ``(dimension,)``."""
    rows: SparseRows
    """The distinct rows. Column c is the opponent's sequence c, or row c - n of ``sums`` for c >= n
    sequences."""
    sums: SparseRows
    """The opponent's sequences in each merged column. All values are 1."""

    @cached_property
    def _groups(self) -> tuple[Indices, Indices]:
        """The row of each entry of ``rows``, and of each entry of ``sums``."""
        return self.rows.row_of_entry, self.sums.row_of_entry

    def utility(self, strategy: Vector) -> Vector:
        """Return A x, shape ``(dimension,)``, exactly 0 where terms cancel up to rounding."""
        kinds, totals = self.sums.begin.size - 1, np.empty(self.rows.begin.size - 1)
        indices = self.rows.begin, self.rows.column, self.sums.begin, self.sums.column
        weights = np.concatenate([strategy, np.empty(kinds)])
        if ran(_multiply, indices, (self.rows.value, weights, totals)):
            return totals[self.row]
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
    """Return the matrix of the payoffs at terminals with these last sequences."""
    paid = np.flatnonzero(payoff)
    rows, row = _distinct(
        _by_rows(player_sequence[paid], opponent_sequence[paid], payoff[paid], dimension)
    )
    merged, sums = _merge_columns(rows, opponent_dimension)
    return PayoffRows(row, merged, sums)


def offsets(lengths: Indices) -> Indices:
    """Return the offsets of groups of these lengths, and the end of the last."""
    return np.concatenate(([0], np.cumsum(lengths)))


def _merge_columns(rows: SparseRows, columns: int) -> tuple[SparseRows, SparseRows]:
    """Merge equal columns; return the matrix, and the columns that each merged one sums."""
    of_row = rows.row_of_entry
    transposed = _by_rows(rows.column, of_row, rows.value, columns)
    kind, representative = _kinds(transposed)
    used = transposed.lengths > 0
    size = np.bincount(kind[used], minlength=representative.size)
    multiple = np.flatnonzero(size > 1)
    name = representative.copy()
    name[multiple] = columns + np.arange(multiple.size)
    kept = representative[kind[rows.column]] == rows.column
    lengths = np.bincount(of_row[kept], minlength=rows.lengths.size)
    merged_rows = SparseRows(offsets(lengths), name[kind[rows.column[kept]]], rows.value[kept])
    members = np.flatnonzero(used & (name[kind] >= columns))
    members = members[np.argsort(name[kind[members]], kind="stable")]
    return merged_rows, SparseRows(offsets(size[multiple]), members, np.ones(members.size))


def _distinct(rows: SparseRows) -> tuple[SparseRows, Indices]:
    """Return the distinct rows, and the distinct row of each row."""
    kind, representative = _kinds(rows)
    lengths = rows.lengths[representative]
    entries = expand_ranges(rows.begin[representative], lengths)
    return SparseRows(offsets(lengths), rows.column[entries], rows.value[entries]), kind


def _kinds(rows: SparseRows) -> tuple[Indices, Indices]:
    """Return the group of equal rows of each row, and the first row of each group."""
    # The hash of a row: the sum of the hashes of its entries, modulo 2^64.
    hashed = mixed(mixed(rows.value.view(np.uint64)) + mixed(rows.column.astype(np.uint64)))
    running = np.zeros(hashed.size + 1, dtype=np.uint64)
    np.cumsum(hashed, out=running[1:])
    hashes = running[rows.begin[1:]] - running[rows.begin[:-1]]
    _, representative, kind = np.unique(hashes, return_index=True, return_inverse=True)
    # Number groups by first occurrence, so that neighbours stay neighbours in memory.
    order = np.argsort(representative)
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    representative, kind = representative[order], place[kind.ravel()]
    # Unequal rows with equal hashes are very unlikely. If there are any, do not merge.
    like = representative[kind]
    if np.array_equal(rows.lengths, rows.lengths[like]):
        entries = expand_ranges(rows.begin[like], rows.lengths)
        same_columns = np.array_equal(rows.column, rows.column[entries])
        if same_columns and np.array_equal(rows.value, rows.value[entries]):
            return kind, representative
    return np.arange(rows.lengths.size), np.arange(rows.lengths.size)


def mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Hash 64 bits by the finalizer of SplitMix64 (Steele, Lea and Flood, 2014)."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))


def _by_rows(row: Indices, column: Indices, value: Vector, size: int) -> SparseRows:
    order = np.lexsort((column, row))
    begin = offsets(np.bincount(row, minlength=size))
    return SparseRows(begin, column[order].astype(np.int64), value[order])
