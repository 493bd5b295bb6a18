"""Trees and payoffs of a game in arrays laid out for machine code."""

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from regretkit._util._arrays import RESOLUTION, as_uint32
from regretkit._util._typing import Indices, UInt32Array, Vector
from regretkit._util._validate import quote
from regretkit.engine._public_payoffs import PublicPayoffs, public_payoffs
from regretkit.estimators import ChanceSampling
from regretkit.games import ExtensiveFormGame, Game, NormalFormGame
from regretkit.games.public import PublicGame
from regretkit.games.tree._sequences import PayoffRows, SparseRows, offsets
from regretkit.sets import DecisionTree, Simplices, StrategySet


class FlatTrees(NamedTuple):
    """Decision points and sequences of all players, numbered consecutively.

    A player on simplices is one whose decision points all follow the empty sequence.
    """

    first: UInt32Array
    """The first sequence of each decision point."""
    last: UInt32Array
    """One past its last sequence."""
    parent: UInt32Array
    """The sequence before it."""
    infoset_offsets: UInt32Array
    """First decision point of each player, and the number of all of them."""
    sequence_offsets: UInt32Array
    """First sequence of each player, the empty one, and the number of all of them."""
    child_offsets: UInt32Array
    """For each sequence, where its decision points begin in ``children``, and its length."""
    children: UInt32Array
    """The decision points after each sequence, in decreasing order; these two may be empty where
    nothing is compared with its terms."""

    run_begin: UInt32Array
    """Decision points in runs: where each begins,"""
    run_actions: UInt32Array
    """and the number of actions of all its points, 0 where they differ, or some follow others."""
    run_offsets: UInt32Array
    """First run of each player, and the number of all of them."""

    @property
    def players(self) -> int:
        """Number of players."""
        return self.infoset_offsets.size - 1


def flatten_trees(domains: Sequence[StrategySet], *, with_children: bool = True) -> FlatTrees:
    """Return the decision points of these sets, which are simplices or decision trees."""
    parts: list[tuple[Simplices, Indices]] = []
    for domain in domains:
        if isinstance(domain, DecisionTree):
            parts.append((domain.simplices, domain.parent_sequence))
        elif isinstance(domain, Simplices):
            parts.append((domain, np.zeros(domain.blocks, dtype=np.int64)))
        else:
            raise TypeError(f"{quote(domain)} has no decision points")
    sequences = as_uint32(offsets(np.array([1 + part.dimension for part, _ in parts], dtype=int)))
    infosets = offsets(np.array([part.blocks for part, _ in parts], dtype=int))
    first, last, parent = np.zeros((3, infosets[-1]), dtype=np.uint32)
    for (part, parents), begin, *ends in zip(
        parts, sequences.tolist(), infosets[:-1], infosets[1:], strict=False
    ):
        own = slice(*ends)
        # Into arrays that are there, as a tree may be most of what is in memory
        np.add(part.first, 1 + begin, out=first[own], casting="unsafe")
        np.add(first[own], part.sizes, out=last[own], casting="unsafe")
        np.add(parents, begin, out=parent[own], casting="unsafe")
    child_offsets, children = children_by_sequence(parent, sequences[-1] if with_children else 0)
    run_begin, run_actions, run_offsets = runs_of(first, last, parent, infosets)
    return FlatTrees(
        first=first,
        last=last,
        parent=parent,
        infoset_offsets=as_uint32(infosets),
        sequence_offsets=sequences,
        child_offsets=child_offsets,
        children=children,
        run_begin=run_begin,
        run_actions=run_actions,
        run_offsets=run_offsets,
    )


_SHORTEST_RUN, LONGEST_RUN = 32, 1024
"""Decision points of a run of one number of actions: fewer cost as much one by one, and of more,
what there is for each would leave the cache."""


def runs_of(
    first: UInt32Array, last: UInt32Array, parent: UInt32Array, infosets: Indices
) -> tuple[UInt32Array, UInt32Array, UInt32Array]:
    """Return ``run_begin``, ``run_actions`` and ``run_offsets`` of ``FlatTrees``."""
    size, count = last - first, first.size
    new = np.ones(count + 1, dtype=bool)
    new[1:-1] = (size[1:] != size[:-1]) | (first[1:] != last[:-1])
    new[infosets] = True
    begins = np.flatnonzero(new)
    long = np.flatnonzero(np.diff(begins) >= _SHORTEST_RUN)
    found = {int(begin): 0 for begin in infosets}
    for at, end in zip(begins[long].tolist(), begins[long + 1].tolist(), strict=True):
        while end - at >= _SHORTEST_RUN:
            maximum = min(end - at, LONGEST_RUN)
            follows = parent[at : at + maximum] >= first[at]
            length = int(follows.argmax()) if follows.any() else maximum
            if length < _SHORTEST_RUN:
                break
            found.setdefault(at + length, 0)
            found[at] = int(size[at])
            at += length
    begin, actions = as_uint32(np.array(sorted(found.items())).T)
    return begin, actions, as_uint32(np.searchsorted(begin, infosets))


def children_by_sequence(parent: UInt32Array, sequences: int) -> tuple[UInt32Array, UInt32Array]:
    """Return ``child_offsets`` and ``children`` of ``FlatTrees``, empty for no sequences."""
    parent = parent if sequences else parent[:0]
    order = np.argsort(parent[::-1], kind="stable")
    begin = offsets(np.bincount(parent, minlength=sequences))
    return as_uint32(begin), as_uint32(parent.size - 1 - order)


class Iterates(NamedTuple):
    """What changes in an iteration: one number for each sequence of each player."""

    strategy: Vector
    """x in sequence form, followed by workspace for sums of it that payoffs share."""
    behavior: Vector
    """b, the distribution at each decision point."""
    utility: Vector
    """Counterfactual utility of each action in the last iteration."""
    total: Vector
    """Weighted sum of strategies."""
    last_strategy: Vector
    """x of the last iteration."""
    magnitude: Vector
    """Workspace for the magnitude of the value of each decision point."""


def zero_iterates(trees: FlatTrees, shared_sums: int) -> Iterates:
    """Return iterates of zeros, with room for sums that payoffs share."""
    size = int(trees.sequence_offsets[-1])
    return Iterates(
        strategy=np.zeros(size + shared_sums),
        behavior=np.zeros(size),
        utility=np.zeros(size),
        total=np.zeros(size),
        last_strategy=np.zeros(size),
        magnitude=np.zeros(int(trees.infoset_offsets[-1])),
    )


class SlicedRows(NamedTuple):
    """Sparse rows in sliced ELLPACK of height 4: slices of four rows of one length.

    The entries of a slice are interleaved, the first of each of its four rows, the second of each,
    and so on, so that a processor adds to four sums at once. In place of 4 to 64 rows a slice each,
    rows one by one take a fifth to a third longer (CFR+ on Goofspiel, Leduc and Liar's dice).
    """

    first: UInt32Array
    """The first row of each batch,"""
    slices: UInt32Array
    """its number of slices, or 0 for a single row,"""
    length: UInt32Array
    """the length of its rows,"""
    begin: UInt32Array
    """and where its entries begin."""
    offsets: UInt32Array
    """First batch of each player, and the number of all of them."""
    column: UInt32Array
    """For each entry a sequence, or the number of sequences plus the number of a sum."""
    value: Vector
    """What each entry is multiplied by."""


class SparsePayoffs(NamedTuple):
    """The ``PayoffRows`` of two players."""

    row: UInt32Array
    """The row of each sequence, shape ``(sequences,)``."""
    singleton_row: UInt32Array
    """The row of a removed last move after each sequence, to be added to its own, see
    ``_layout``; empty if no move is removed."""
    rows: SlicedRows
    """Payoffs, times chance's probability."""
    shared: SlicedRows
    """The sequences in the sums that rows share; no value is read of these."""
    sum_offsets: UInt32Array
    """First sum of each player, and the number of all of them."""
    workspace: Vector
    """Workspace for the values of rows, or of sums."""
    negligible: Vector
    """For each player, the largest utility that may be rounding of terms that cancel."""

    @property
    def payoff(self) -> Vector:
        """The payoff of each entry."""
        return self.rows.value


class TerminalPayoffs(NamedTuple):
    """The terminals of a game of any number of players, grouped by the last sequence of each."""

    begin: UInt32Array
    """Where the terminals after each sequence begin, and the number of entries."""
    others: UInt32Array
    """The last sequences of all other players, shape ``(entries, players - 1)``."""
    payoff: Vector
    """The payoff of the sequence's player, times chance's probability."""
    negligible: Vector
    """For each player, the largest utility that may be rounding of terms that cancel."""


class DensePayoffs(NamedTuple):
    """The payoffs of a normal form, each player's with its own actions first."""

    sizes: UInt32Array
    """Number of actions of each player."""
    payoff: Vector
    """All players' payoffs, one after the other."""
    workspace: Vector
    """Workspace for payoffs contracted with others' strategies."""
    negligible: Vector
    """For each player, the largest utility that may be rounding of terms that cancel."""


class ChancePayoffs(NamedTuple):
    """The terminals of a game whose chance is drawn, grouped by the last chance move before each.

    Chance histories are in the order of the draws, and the moves of a history are adjacent.
    History 0 is the beginning of the game, with move 0 alone.
    """

    first: UInt32Array
    """The first move of each chance history, and the number of moves."""
    previous: UInt32Array
    """The last move before each chance history,"""
    previous_history: UInt32Array
    """and the chance history that makes this move."""
    high: Vector
    """For each move, the probability of it or one before it at its history."""
    behind: UInt32Array
    """Number of histories that have each move as their last one."""
    begin: UInt32Array
    """Where the terminals after each move begin, and their number."""
    sequences: UInt32Array
    """The last sequence of each player at each terminal, shape ``(terminals, players)``."""
    payoff: NDArray[np.float64]
    """Each player's payoff, of the same shape."""
    negligible: Vector
    """For each player, the largest utility that may be rounding of terms that cancel."""
    drawn: UInt32Array
    """Workspace for the move that each chance history draws, 0 for none."""
    visited: Indices
    """One number, to which iterations add the histories that could still occur."""
    generator: np.random.Generator


Payoffs: TypeAlias = SparsePayoffs | TerminalPayoffs | DensePayoffs | PublicPayoffs | ChancePayoffs


def payoffs_kind(game: Game) -> type[Payoffs]:
    """Return how the payoffs of a game are laid out."""
    if isinstance(game, NormalFormGame):
        return DensePayoffs
    if isinstance(game, PublicGame):
        return PublicPayoffs
    return SparsePayoffs if len(game.domains) == 2 else TerminalPayoffs


def lay_out_payoffs(game: Game, trees: FlatTrees) -> Payoffs:
    """Return the payoffs of a game whose sequences are numbered as in ``trees``."""
    if isinstance(game, NormalFormGame):
        return dense_payoffs(game)
    if isinstance(game, PublicGame):
        return public_payoffs(game, trees.sequence_offsets, _negligible(game))
    if not isinstance(game, ExtensiveFormGame):
        raise TypeError(f"{quote(game)} has no payoffs that could be laid out")
    if game.players == 2:
        rows = [game._payoff_rows(player, player) for player in range(2)]
        return sparse_payoffs(rows, trees, _negligible(game))
    sequences = game.sequences + trees.sequence_offsets[: game.players, None]
    size = int(trees.sequence_offsets[-1])
    return terminal_payoffs(sequences, game.payoffs, size, _negligible(game))


_LAID_OUT: WeakKeyDictionary[Game, dict[tuple[bool, bool], Any]] = WeakKeyDictionary()
"""Trees and payoffs of games that are played by several runs, by what ``lay_out`` is asked for."""
MOST_KEPT = 1_000_000
"""Entries of the largest of them."""


def lay_out(game: Game, skipped: bool, exact: bool) -> "tuple[FlatTrees, Payoffs, SingletonMoves]":
    """Return the trees and the payoffs of a game, without singletons if asked for.

    Only with ``exact`` they have the decision points after each sequence. Runs on one game share
    all but the workspace.
    """
    kept = _LAID_OUT.setdefault(game, {})
    key = skipped and payoffs_kind(game) is SparsePayoffs, exact
    found = kept.get(key)
    if found is None:
        trees = flatten_trees(game.domains, with_children=exact)
        payoffs = lay_out_payoffs(game, trees)
        found = trees, payoffs, NO_SINGLETONS
        if skipped and isinstance(payoffs, SparsePayoffs):
            found = without_singletons(trees, payoffs)
        if not isinstance(payoffs, PublicPayoffs) and payoffs.payoff.size > MOST_KEPT:
            return found
        kept[key] = found
    trees, payoffs, singletons = found
    own: dict[str, Any] = {
        name: np.zeros(getattr(payoffs, name).shape) for name in _WORKSPACE & {*payoffs._fields}
    }
    return trees, payoffs._replace(**own), singletons


_WORKSPACE = {"workspace", "reach", "by_card", "below", "sums", "total", "earned"}
"""Fields of payoffs that iterations write."""


def shared_sums(payoffs: Payoffs) -> int:
    """Return the number of sums over sequences that rows of the payoffs share."""
    return int(payoffs.sum_offsets[-1]) if isinstance(payoffs, SparsePayoffs) else 0


def _negligible(game: ExtensiveFormGame | NormalFormGame | PublicGame) -> Vector:
    # The magnitudes that are added, probabilities times payoffs, are at most the largest payoff.
    payoffs = game.tree.payoffs.T if isinstance(game, ExtensiveFormGame) else game.payoffs
    largest = [np.abs(paid).max(initial=0.0) for paid in payoffs]
    return 1.001 * RESOLUTION * np.array(largest)


def dense_payoffs(game: NormalFormGame) -> DensePayoffs:
    """Return the payoffs of a normal form."""
    tables = [np.moveaxis(table, player, 0) for player, table in enumerate(game.payoffs)]
    sizes = np.array(game.payoffs.shape[1:])
    return DensePayoffs(
        sizes=as_uint32(sizes),
        payoff=np.concatenate([np.ravel(table) for table in tables]),
        workspace=np.empty(2 * (game.payoffs[0].size // int(sizes.min(initial=1)))),
        negligible=_negligible(game),
    )


def terminal_payoffs(
    sequences: Indices, payoffs: NDArray[np.float64], total: int, negligible: Vector
) -> TerminalPayoffs:
    """Return the payoffs at terminals, of which each follows one sequence of each player."""
    moved, opponents, values = [], [], []
    for player, payoff in enumerate(payoffs):
        nonzero = np.flatnonzero(payoff)
        moved.append(sequences[player, nonzero])
        opponents.append(np.delete(sequences, player, axis=0)[:, nonzero].T)
        values.append(payoff[nonzero])
    sequence = np.concatenate(moved)
    order = np.argsort(sequence, kind="stable")
    return TerminalPayoffs(
        begin=as_uint32(offsets(np.bincount(sequence, minlength=total))),
        others=as_uint32(np.concatenate(opponents)[order]),
        payoff=np.concatenate(values)[order],
        negligible=negligible,
    )


def chance_payoffs(game: Game, trees: FlatTrees, sampling: ChanceSampling) -> ChancePayoffs:
    """Return the payoffs of a game whose chance is drawn."""
    draws = sampling.draws(game)
    first = offsets(np.append(1, draws.deals.sizes))
    # A move -1, for none, becomes move 0.
    previous = np.append(0, 1 + draws.previous[draws.deals.first])
    order = np.argsort(draws.last, kind="stable")
    sequences = draws.sequences + trees.sequence_offsets[: len(draws.sequences), None]
    return ChancePayoffs(
        first=as_uint32(first),
        previous=as_uint32(previous),
        previous_history=as_uint32(np.searchsorted(first, previous, side="right") - 1),
        high=np.append(np.inf, draws.high),
        behind=as_uint32(np.roll(draws.behind, 1)),
        begin=as_uint32(offsets(np.bincount(1 + draws.last, minlength=first[-1]))),
        sequences=as_uint32(np.ascontiguousarray(sequences.T[order])),
        payoff=np.ascontiguousarray(draws.game.tree.payoffs[order]),
        negligible=_negligible(draws.game),
        drawn=np.zeros(previous.size, dtype=np.uint32),
        visited=np.zeros(1, dtype=np.int64),
        generator=sampling.generator,
    )


# Two players


def sparse_payoffs(
    by_player: Sequence[PayoffRows], trees: FlatTrees, negligible: Vector
) -> SparsePayoffs:
    """Return the payoff rows of two players in sliced ELLPACK."""
    first = trees.sequence_offsets.astype(np.int64)
    total = int(first[-1])
    row = np.zeros(total, dtype=np.int64)
    parts, sums = [], []
    rows, groups = [0], [0]
    for player in range(2):
        given = by_player[player]
        width = int(first[2 - player] - first[1 - player])
        added, position, count = sliced_ell(
            given.sums._replace(column=first[1 - player] + given.sums.column)
        )
        # The sums are numbered after all sequences, those of player 0 before those of player 1.
        column = first[1 - player] + given.rows.column
        is_sum = given.rows.column >= width
        column[is_sum] = total + groups[-1] + position[given.rows.column[is_sum] - width]
        sums.append(added)
        groups.append(groups[-1] + count)
        multiplied, position, count = sliced_ell(given.rows._replace(column=column))
        row[first[player] : first[player + 1]] = rows[-1] + position[given.row]
        parts.append(multiplied)
        rows.append(rows[-1] + count)
    return SparsePayoffs(
        row=as_uint32(row),
        singleton_row=np.zeros(0, dtype=np.uint32),
        rows=_concatenated(parts, rows),
        shared=_concatenated(sums, groups)._replace(value=np.empty(0)),
        sum_offsets=as_uint32(np.array(groups)),
        workspace=np.empty(max(rows[-1], groups[-1])),
        negligible=negligible,
    )


class _SlicedELL(NamedTuple):
    """The rows of one player."""

    batches: Indices
    """The first four fields of ``SlicedRows``, shape ``(batches, 4)``."""
    column: Indices
    value: Vector


_MAX_SLICES = 64
"""Slices in one batch."""

_MAX_PADDED_LENGTH = 64
"""Length up to which rows of zeros fill up an incomplete slice."""


def sliced_ell(rows: SparseRows) -> tuple[_SlicedELL, Indices, int]:
    """Return rows sorted by length in slices, the new position of each, and their new number."""
    order = np.argsort(rows.lengths, kind="stable")
    lengths, counts = np.unique(rows.lengths, return_counts=True)
    padding = np.where(lengths <= _MAX_PADDED_LENGTH, -counts % 4, 0)
    first = np.cumsum(counts + padding) - (counts + padding)
    position = np.empty_like(order)
    shift = np.repeat(first - (np.cumsum(counts) - counts), counts)
    position[order] = np.arange(order.size) + shift
    batches, entries, begin, done = [], [], 0, 0
    for row, length, count, added in zip(first, lengths, counts, padding, strict=True):
        entry = rows.begin[order[done : done + count], None] + np.arange(length)
        entry = np.concatenate([entry, np.full((added, length), -1)])
        slices = (count + added) // 4
        interleaved = entry[: 4 * slices].reshape(slices, 4, length).transpose(0, 2, 1)
        entries += [interleaved.ravel(), entry[4 * slices :].ravel()]
        for s in range(0, slices, _MAX_SLICES):
            number = min(_MAX_SLICES, slices - s)
            batches.append((row + 4 * s, number, length, begin + 4 * s * length))
        for r in range(4 * slices, count + added):
            batches.append((row + r, 0, length, begin + r * length))
        done, begin = done + count, begin + (count + added) * length
    which = np.concatenate([np.empty(0, dtype=np.int64), *entries])
    table = np.array(batches, dtype=np.int64).reshape(-1, 4)
    value = np.where(which >= 0, np.append(rows.value, 0.0)[which], 0.0)
    laid_out = _SlicedELL(table, np.append(rows.column, 0)[which], value)
    return laid_out, position, int((counts + padding).sum())


def _concatenated(parts: list[_SlicedELL], rows: list[int]) -> SlicedRows:
    """Return parts one after the other; ``rows`` is the number of rows before each part."""
    entries = np.cumsum([0, *(part.column.size for part in parts)])
    batches = [
        part.batches + np.array([first_row, 0, 0, begin])
        for part, first_row, begin in zip(parts, rows, entries.tolist(), strict=False)
    ]
    first, slices, length, begin = map(as_uint32, np.concatenate(batches).T)
    return SlicedRows(
        first=first,
        slices=slices,
        length=length,
        begin=begin,
        offsets=as_uint32(offsets(np.array([len(part.batches) for part in parts]))),
        column=as_uint32(np.concatenate([part.column for part in parts])),
        value=np.concatenate([part.value for part in parts]),
    )


class SingletonMoves(NamedTuple):
    """Sequences that end in a removed move."""

    move: UInt32Array
    parent: UInt32Array
    """The sequence before each."""


NO_SINGLETONS = SingletonMoves(np.zeros(0, dtype=np.uint32), np.zeros(0, dtype=np.uint32))


def without_singletons(
    trees: FlatTrees, payoffs: SparsePayoffs
) -> tuple[FlatTrees, SparsePayoffs, SingletonMoves]:
    """Remove such moves from trees, at most one after each sequence, and from the payoffs."""
    removed = _removable(trees)
    kept = ~removed
    moves = SingletonMoves(trees.first[removed], trees.parent[removed])
    if not moves.move.size:
        return trees, payoffs, NO_SINGLETONS
    infosets = offsets(kept.astype(np.int64))[trees.infoset_offsets]
    columns = trees.first[kept], trees.last[kept], trees.parent[kept]
    run_begin, run_actions, run_offsets = runs_of(*columns, infosets)
    sequences = int(trees.sequence_offsets[-1]) if trees.children.size else 0
    child_offsets, children = children_by_sequence(columns[2], sequences)
    smaller = trees._replace(
        **dict(zip(("first", "last", "parent"), columns, strict=True)),
        infoset_offsets=as_uint32(infosets),
        child_offsets=child_offsets,
        children=children,
        run_begin=run_begin,
        run_actions=run_actions,
        run_offsets=run_offsets,
    )
    # The probability of the move is that of the sequence before it.
    name = np.arange(trees.sequence_offsets[-1] + payoffs.sum_offsets[-1], dtype=np.uint32)
    name[moves.move] = moves.parent
    zero = payoffs.workspace.size  # the number of a row that stays 0, for all other sequences
    row = np.full(payoffs.row.size, zero, dtype=np.uint32)
    row[moves.parent] = payoffs.row[moves.move]
    merged = payoffs._replace(
        singleton_row=row,
        rows=payoffs.rows._replace(column=name[payoffs.rows.column]),
        shared=payoffs.shared._replace(column=name[payoffs.shared.column]),
        workspace=np.zeros(zero + 1),
    )
    return smaller, merged, moves


def _removable(trees: FlatTrees) -> NDArray[np.bool_]:
    """Return which decision points have one action, no successor, and no such sibling."""
    has_children = np.zeros(trees.sequence_offsets[-1], dtype=np.bool_)
    has_children[trees.parent] = True
    removable: NDArray[np.bool_] = (trees.last - trees.first == 1) & ~has_children[trees.first]
    candidates = np.flatnonzero(removable)
    _, one_each = np.unique(trees.parent[candidates], return_index=True)
    removable[np.delete(candidates, one_each)] = False
    return removable
