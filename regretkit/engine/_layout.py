"""Trees and payoffs of a game, in arrays for machine code."""

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from regretkit._compiler import LANES
from regretkit._util._arrays import RESOLUTION, as_uint32, expand_ranges
from regretkit._util._typing import Indices, UInt32Array, Vector
from regretkit._util._validate import quote
from regretkit.engine._public_payoffs import PublicPayoffs, public_payoffs
from regretkit.estimators import ChanceSampling
from regretkit.games import ExtensiveFormGame, Game, NormalFormGame
from regretkit.games.public import PublicGame
from regretkit.games.tree._sequences import PayoffRows, SparseRows, offsets
from regretkit.sets import DecisionTree, Simplices, StrategySet


class FlatTrees(NamedTuple):
    """Decision points and sequences of several trees, in the order of the game.

    Each tree has its empty sequence, then its actions. On simplices, all decision points follow the
    empty sequence.
    """

    first: UInt32Array
    """The first sequence of each decision point."""
    last: UInt32Array
    """One past its last sequence."""
    parent: UInt32Array
    """The parent sequence of each decision point."""
    infoset_offsets: UInt32Array
    """First decision point of each tree, and the number of decision points."""
    sequence_offsets: UInt32Array
    """Empty sequence of each tree, and the number of sequences."""

    @property
    def players(self) -> int:
        """Number of trees."""
        return self.infoset_offsets.size - 1


def flatten_trees(domains: Sequence[StrategySet]) -> FlatTrees:
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
        # Write in place: a tree may take most of the memory.
        np.add(part.first, 1 + begin, out=first[own], casting="unsafe")
        np.add(first[own], part.sizes, out=last[own], casting="unsafe")
        np.add(parents, begin, out=parent[own], casting="unsafe")
    return FlatTrees(first, last, parent, as_uint32(infosets), sequences)


class Trees(NamedTuple):
    """The same trees, numbered by ranges.

    A range contains the decision points of a tree with the same rule, height (the largest number of
    later decisions) and number of actions, in the order of the game. Action k of its i-th point is
    the sequence ``first + stride * k + i``: entries of one action are contiguous. ``stride`` is the
    number of points, padded to whole vectors, or 1. The ranges of a tree go from the root to the
    leaves. The last sequence belongs to no tree: it is the parent of padding points.
    """

    ranges: Indices
    """First point, number of points, stride, number of actions and first sequence of each range;
    shape ``(ranges, 5)``."""
    followed: UInt32Array
    """Number of points directly after each range."""
    range_offsets: UInt32Array
    """First range of each tree, and the number of ranges."""
    sequence_offsets: UInt32Array
    """Empty sequence of each tree, then the last sequence."""
    parent: UInt32Array
    """The parent sequence of each point."""
    child_offsets: UInt32Array
    """First entry of each sequence in ``children``, and the length of ``children``."""
    children: UInt32Array
    """The points after each sequence, in decreasing order of the game."""
    sequence: UInt32Array
    """The number here of each sequence of ``FlatTrees``."""
    point: UInt32Array
    """The number here of each decision point of ``FlatTrees``."""
    begin: UInt32Array
    """First sequence of each tree in ``FlatTrees``, and the number of sequences there."""
    point_offsets: UInt32Array
    """First decision point of each tree in ``FlatTrees``, and the number of points there."""

    @property
    def sequences(self) -> int:
        """Number of sequences."""
        return self.child_offsets.size - 1

    @property
    def points(self) -> int:
        """Number of points."""
        return self.parent.size


_FEW = 3
"""Most actions for which a single point is padded to a vector; otherwise its stride is 1."""


def trees_in_ranges(
    flat: FlatTrees, kind: Indices | None = None, group: Indices | None = None
) -> Trees:
    """Return trees by ranges.

    Points of different ``kind`` are in different ranges. Points of a ``group`` share their height.
    """
    first, size = flat.first.astype(np.int64), (flat.last - flat.first).astype(np.int64)
    points, trees = first.size, flat.players
    tree = np.repeat(np.arange(trees), np.diff(flat.infoset_offsets))
    kind = np.zeros(points, dtype=np.int64) if kind is None else kind
    order = np.lexsort((size, kind, -_heights(flat, group), tree))
    new = np.ones(points, dtype=bool)
    keys = np.stack([size, kind, _heights(flat, group), tree])[:, order]
    new[1:] = (keys[:, 1:] != keys[:, :-1]).any(axis=0)
    begin = np.flatnonzero(new)
    count = np.diff(np.append(begin, points))
    actions, owner = size[order[begin]], tree[order[begin]]
    stride = np.where((count == 1) & (actions > _FEW), 1, -(-count // LANES) * LANES)
    first_point, first_sequence = np.cumsum(stride) - stride, np.cumsum(actions * stride)
    first_sequence += 1 + owner - actions * stride  # each tree begins with its empty sequence
    # Number the points, then the sequences: first + stride * k + i.
    of_range = np.cumsum(new) - 1
    within = np.arange(points) - begin[of_range]
    point = np.empty(points, dtype=np.int64)
    point[order] = first_point[of_range] + within
    sizes = np.bincount(owner, actions * stride, minlength=trees).astype(np.int64)
    roots = offsets(1 + sizes)
    sequence = np.empty(int(flat.sequence_offsets[-1]), dtype=np.int64)
    sequence[flat.sequence_offsets[:-1]] = roots[:-1]
    numbers = expand_ranges(first[order], size[order])
    step = numbers - np.repeat(first[order], size[order])
    at = first_sequence[of_range] + within, stride[of_range]
    sequence[numbers] = np.repeat(at[0], size[order]) + step * np.repeat(at[1], size[order])
    sequences, before = int(roots[-1]) + 1, sequence[flat.parent]
    parent = np.full(int(stride.sum()), sequences - 1)
    parent[point] = before
    after = np.lexsort((-np.arange(points), before))
    with_children = np.bincount(of_range[_inverse(order)][_parents(flat)[1]], minlength=begin.size)
    columns = first_point, count, stride, actions, first_sequence
    return Trees(
        ranges=np.stack(columns, axis=1).astype(np.int64),
        followed=as_uint32(with_children),
        range_offsets=as_uint32(np.searchsorted(owner, np.arange(trees + 1))),
        sequence_offsets=as_uint32(roots),
        parent=as_uint32(parent),
        child_offsets=as_uint32(offsets(np.bincount(before, minlength=sequences))),
        children=as_uint32(point[after]),
        sequence=as_uint32(sequence),
        point=as_uint32(point),
        begin=flat.sequence_offsets,
        point_offsets=flat.infoset_offsets,
    )


def _inverse(order: Indices) -> Indices:
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    return place


def _parents(flat: FlatTrees) -> tuple[Indices, Indices]:
    """Return the points with a previous point, and their previous points."""
    owner = np.full(int(flat.sequence_offsets[-1]), -1)
    size = (flat.last - flat.first).astype(np.int64)
    owner[expand_ranges(flat.first.astype(np.int64), size)] = np.repeat(np.arange(size.size), size)
    before = owner[flat.parent]
    following = np.flatnonzero(before >= 0)
    return following, before[following]


def _heights(flat: FlatTrees, group: Indices | None) -> Indices:
    """Return the largest number of decisions after each point."""
    group = np.arange(flat.first.size) if group is None else group
    following, before = _parents(flat)
    above = np.full(group.max(initial=-1) + 1, -1)
    above[group[following]] = group[before]
    height, at = np.zeros_like(above), above
    for steps in range(1, 1 + above.size):
        alive = at >= 0
        if not alive.any():
            break
        np.maximum.at(height, at[alive], steps)
        at = np.where(alive, above[at], -1)
    found: Indices = height[group]
    return found


class Iterates(NamedTuple):
    """Arrays that an iteration changes, by sequence or by point."""

    strategy: Vector
    """x in sequence form, then workspace for shared sums of ``SparsePayoffs``."""
    behavior: Vector
    """b, the distribution at each decision point."""
    utility: Vector
    """Counterfactual utility of each action in the last iteration."""
    total: Vector
    """Weighted sum of strategies."""
    last_strategy: Vector
    """x of the last iteration."""
    values: Vector
    """The value of each point in the last iteration."""
    reach: Vector
    """Workspace: one number for each point of a range."""


def zero_iterates(trees: Trees, shared_sums: int) -> Iterates:
    """Return iterates of zeros, with workspace for shared sums of payoffs."""
    size = trees.sequences
    return Iterates(
        strategy=np.zeros(size + shared_sums),
        behavior=np.zeros(size),
        utility=np.zeros(size),
        total=np.zeros(size),
        last_strategy=np.zeros(size),
        values=np.zeros(trees.points),
        reach=np.zeros(trees.ranges[:, 2].max(initial=0)),
    )


class SlicedRows(NamedTuple):
    """Sparse rows in sliced ELLPACK of height 4: slices of four rows of one length.

    The entries of a slice are interleaved: the first entry of each row, the second of each row, and
    so on. A processor then updates four sums at once. A batch has slices of equal length.
    """

    first: UInt32Array
    """The first row of each batch."""
    slices: UInt32Array
    """The number of slices of each batch, or 0 for a single row."""
    length: UInt32Array
    """The length of the rows of each batch."""
    begin: UInt32Array
    """The first entry of each batch."""
    offsets: UInt32Array
    """First batch of each player, and the number of batches."""
    column: UInt32Array
    """The sequence of each entry, or the number of sequences plus that of a shared sum."""
    value: Vector
    """The coefficient of each entry."""


class SparsePayoffs(NamedTuple):
    """The ``PayoffRows`` of two players."""

    row: UInt32Array
    """The row of each sequence; padding has a row of zeros."""
    rows: SlicedRows
    """Rows of the payoff matrix: payoffs times chance's probabilities."""
    shared: SlicedRows
    """Sums of sequences that several rows share; all coefficients are 1."""
    sum_offsets: UInt32Array
    """First shared sum of each player, and the number of shared sums."""
    workspace: Vector
    """Workspace for the values of rows, or of shared sums."""
    negligible: Vector
    """For each player, the largest utility that may be rounding of terms that cancel."""

    @property
    def payoff(self) -> Vector:
        """The payoff of each entry."""
        return self.rows.value


class TerminalPayoffs(NamedTuple):
    """The terminals of a game with any number of players, grouped by each player's last sequence.

    An entry is a terminal in the group of one player.
    """

    sequence: UInt32Array
    """The sequences with terminals, in the order of the game."""
    offsets: UInt32Array
    """First of these sequences of each player, and their number."""
    begin: UInt32Array
    """First entry of each of these sequences, and the number of entries."""
    others: UInt32Array
    """The opponents' last sequences, shape ``(entries, players - 1)``."""
    payoff: Vector
    """The player's payoff times chance's probability."""
    negligible: Vector
    """For each player, the largest utility that may be rounding of terms that cancel."""


class DensePayoffs(NamedTuple):
    """The payoff tensors of a normal form, each with its player's axis first."""

    sizes: UInt32Array
    """Number of actions of each player."""
    first: UInt32Array
    """First sequence of each player's actions."""
    stride: UInt32Array
    """Distance between the sequences of a player's actions."""
    payoff: Vector
    """The tensors of all players, concatenated."""
    workspace: Vector
    """Workspace for tensors multiplied by opponents' strategies."""
    mixture: Vector
    """Workspace for an opponent's strategy."""
    negligible: Vector
    """For each player, the largest utility that may be rounding of terms that cancel."""


class ChancePayoffs(NamedTuple):
    """The terminals of a game with sampled chance, grouped by the last chance action before each.

    Chance histories are in the order of sampling, and the actions of a history are contiguous.
    History 0 is the root of the game, with action 0 only.
    """

    first: UInt32Array
    """First action of each chance history, and the number of chance actions."""
    previous: UInt32Array
    """The last chance action before each chance history."""
    previous_history: UInt32Array
    """The chance history of this previous action."""
    high: Vector
    """The cumulative probability up to each action at its history."""
    behind: UInt32Array
    """Number of histories whose last chance action is each action."""
    begin: UInt32Array
    """First terminal after each action, and the number of terminals."""
    sequences: UInt32Array
    """The last sequence of each player at each terminal, shape ``(terminals, players)``."""
    payoff: NDArray[np.float64]
    """Each player's payoff, of the same shape."""
    negligible: Vector
    """For each player, the largest utility that may be rounding of terms that cancel."""
    drawn: UInt32Array
    """Workspace for the sampled action of each chance history, 0 if it is not reached."""
    visited: Indices
    """One number: iterations add the number of histories after the sampled actions."""
    generator: np.random.Generator


Payoffs: TypeAlias = SparsePayoffs | TerminalPayoffs | DensePayoffs | PublicPayoffs | ChancePayoffs


def lay_out_payoffs(game: Game, trees: Trees) -> Payoffs:
    """Return the payoffs of a game, given trees that begin with the players' trees."""
    if isinstance(game, NormalFormGame):
        return dense_payoffs(game, trees)
    if isinstance(game, PublicGame):
        return public_payoffs(game, trees.sequence.astype(np.int64), _negligible(game))
    if not isinstance(game, ExtensiveFormGame):
        raise TypeError(f"{quote(game)} has no array layout of payoffs")
    if game.players == 2:
        rows = [game._payoff_rows(player, player) for player in range(2)]
        return sparse_payoffs(rows, trees, _negligible(game))
    return terminal_payoffs(game, trees)


_LAID_OUT: WeakKeyDictionary[Game, tuple[Trees, Payoffs]] = WeakKeyDictionary()
"""Trees and payoffs by game, shared by runs."""
MOST_KEPT = 1_000_000
"""Most payoff entries of a game in ``_LAID_OUT``."""


def lay_out(game: Game) -> tuple[Trees, Payoffs]:
    """Return the trees and the payoffs of a game; runs share all but the workspace."""
    found = _LAID_OUT.get(game)
    if found is None:
        flat = flatten_trees(game.domains)
        trees = trees_in_ranges(flat, group=groups_of(game, flat))
        found = trees, lay_out_payoffs(game, trees)
        if not isinstance(found[1], PublicPayoffs) and found[1].payoff.size > MOST_KEPT:
            return found
        _LAID_OUT[game] = found
    trees, payoffs = found
    own: dict[str, Any] = {
        name: np.zeros(getattr(payoffs, name).shape) for name in _WORKSPACE & {*payoffs._fields}
    }
    return trees, payoffs._replace(**own)


def groups_of(game: Game, flat: FlatTrees) -> Indices | None:
    """Return the public node of each decision point of a public game, otherwise None."""
    if not isinstance(game, PublicGame):
        return None
    groups, begin = np.arange(flat.first.size) + flat.first.size, 0
    for player, first in enumerate(game.layout.first_point):
        own = groups[flat.infoset_offsets[player] : flat.infoset_offsets[player + 1]]
        own[...] = begin + np.repeat(np.arange(first.size - 1), np.diff(first))
        begin += first.size - 1
    return groups


_WORKSPACE = {"workspace", "mixture", "reach", "by_card", "below", "sums", "total", "earned"}
"""Fields of payoffs that iterations write."""


def shared_sums(payoffs: Payoffs) -> int:
    """Return the number of shared sums of the payoffs."""
    return int(payoffs.sum_offsets[-1]) if isinstance(payoffs, SparsePayoffs) else 0


def _negligible(game: ExtensiveFormGame | NormalFormGame | PublicGame) -> Vector:
    # Sums of |probability * payoff| are at most the largest |payoff|, up to rounding: 1.001.
    largest: Vector = np.abs(np.array(game.payoff_bounds)).max(axis=1)
    return 1.001 * RESOLUTION * largest


def dense_payoffs(game: NormalFormGame, trees: Trees) -> DensePayoffs:
    """Return the payoffs of a normal form."""
    tables = [np.moveaxis(table, player, 0) for player, table in enumerate(game.payoffs)]
    sizes = np.array(game.payoffs.shape[1:])
    return DensePayoffs(
        sizes=as_uint32(sizes),
        first=trees.sequence[trees.begin[: sizes.size] + 1],
        stride=as_uint32(trees.ranges[: sizes.size, 2]),
        payoff=np.concatenate([np.ravel(table) for table in tables]),
        workspace=np.empty(2 * (game.payoffs[0].size // int(sizes.min(initial=1)))),
        mixture=np.empty(int(sizes.max(initial=0))),
        negligible=_negligible(game),
    )


def terminal_payoffs(game: ExtensiveFormGame, trees: Trees) -> TerminalPayoffs:
    """Return the payoffs at the terminals of a game with any number of players."""
    numbers = game.sequences + trees.begin[: game.players, None]
    moved, opponents, values = [], [], []
    for player, payoff in enumerate(game.payoffs):
        nonzero = np.flatnonzero(payoff)
        moved.append(numbers[player, nonzero])
        opponents.append(np.delete(numbers, player, axis=0)[:, nonzero].T)
        values.append(payoff[nonzero])
    sequence = np.concatenate(moved)
    order = np.argsort(sequence, kind="stable")
    reached, counts = np.unique(sequence, return_counts=True)
    return TerminalPayoffs(
        sequence=trees.sequence[reached],
        offsets=as_uint32(np.searchsorted(reached, trees.begin[: game.players + 1])),
        begin=as_uint32(offsets(counts)),
        others=trees.sequence[np.concatenate(opponents)[order]],
        payoff=np.concatenate(values)[order],
        negligible=_negligible(game),
    )


def chance_payoffs(game: Game, trees: Trees, sampling: ChanceSampling) -> ChancePayoffs:
    """Return the payoffs of a game with sampled chance."""
    draws = sampling.draws(game)
    first = offsets(np.append(1, draws.deals.sizes))
    # Action -1, before the first chance history, becomes action 0.
    previous = np.append(0, 1 + draws.previous[draws.deals.first])
    order = np.argsort(draws.last, kind="stable")
    sequences = trees.sequence[draws.sequences + trees.begin[: len(draws.sequences), None]]
    return ChancePayoffs(
        first=as_uint32(first),
        previous=as_uint32(previous),
        previous_history=as_uint32(np.searchsorted(first, previous, side="right") - 1),
        high=np.append(np.inf, draws.high),
        behind=as_uint32(np.roll(draws.behind, 1)),
        begin=as_uint32(offsets(np.bincount(1 + draws.last, minlength=first[-1]))),
        sequences=np.ascontiguousarray(sequences.T[order]),
        payoff=np.ascontiguousarray(draws.game.tree.payoffs[order]),
        negligible=_negligible(draws.game),
        drawn=np.zeros(previous.size, dtype=np.uint32),
        visited=np.zeros(1, dtype=np.int64),
        generator=sampling.generator,
    )


# Two players


def sparse_payoffs(
    by_player: Sequence[PayoffRows], trees: Trees, negligible: Vector
) -> SparsePayoffs:
    """Return the payoff rows of two players in sliced ELLPACK.

    Shared sums are numbered after all sequences, first those of player 0.
    """
    own = np.split(trees.sequence.astype(np.int64), trees.begin[1:3])[:2]
    opponents = list(zip(by_player, reversed(own), strict=True))
    shared, groups, sum_offsets = sliced_rows(
        [given.sums._replace(column=other[given.sums.column]) for given, other in opponents]
    )
    multiplied = []
    for (given, other), group in zip(opponents, groups, strict=True):
        numbers = np.append(other, trees.sequences + group)
        multiplied.append(given.rows._replace(column=numbers[given.rows.column]))
    rows, places, row_offsets = sliced_rows(multiplied)
    zero = max(row_offsets[-1], sum_offsets[-1])
    row = np.full(trees.sequences, zero)
    for sequences, given, place in zip(own, by_player, places, strict=True):
        row[sequences] = place[given.row]
    return SparsePayoffs(
        row=as_uint32(row),
        rows=rows,
        shared=shared._replace(value=np.empty(0)),
        sum_offsets=as_uint32(np.array(sum_offsets)),
        workspace=np.zeros(zero + 1),
        negligible=negligible,
    )


_MAX_SLICES = 64
"""Slices in one batch."""

_MAX_PADDED_LENGTH = 64
"""Longest rows for which rows of zeros complete a slice."""


def sliced_rows(by_player: Sequence[SparseRows]) -> tuple[SlicedRows, list[Indices], list[int]]:
    """Return the rows of all players, those of a player sorted by length.

    Also return the place of each row by player, and the number of rows before each player.
    """
    batches, batch_offsets, places, begin = list[tuple[int, ...]](), [0], list[Indices](), [0]
    columns, values, row, at = [np.empty(0, int)], [np.empty(0)], 0, 0
    for given in by_player:
        order = np.argsort(given.lengths, kind="stable")
        lengths, counts = np.unique(given.lengths, return_counts=True)
        place, column = np.empty_like(order), np.append(given.column, 0)
        groups = np.split(order, np.cumsum(counts))  # and an empty one
        for length, members in zip(lengths, groups, strict=False):
            place[members] = row + np.arange(members.size)
            added = -members.size % 4 if length <= _MAX_PADDED_LENGTH else 0
            entry = given.begin[members, None] + np.arange(length)
            entry = np.concatenate([entry, np.full((added, length), -1)])
            slices = len(entry) // 4
            interleaved = entry[: 4 * slices].reshape(slices, 4, length).transpose(0, 2, 1)
            which = np.append(interleaved, entry[4 * slices :])
            columns.append(column[which])
            values.append(np.append(given.value, 0.0)[which])
            for s in range(0, slices, _MAX_SLICES):
                number = min(_MAX_SLICES, slices - s)
                batches.append((row + 4 * s, number, length, at + 4 * s * length))
            for r in range(4 * slices, len(entry)):
                batches.append((row + r, 0, length, at + r * length))
            row, at = row + len(entry), at + which.size
        places.append(place)
        batch_offsets.append(len(batches))
        begin.append(row)
    table = np.array(batches, dtype=np.int64).reshape(-1, 4)
    first, slices_of, length_of, begin_of = map(as_uint32, table.T)
    laid_out = SlicedRows(
        first,
        slices_of,
        length_of,
        begin_of,
        offsets=as_uint32(np.array(batch_offsets)),
        column=as_uint32(np.concatenate(columns)),
        value=np.concatenate(values),
    )
    return laid_out, places, begin
