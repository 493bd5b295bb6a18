"""Local deviations of players, in arrays for machine code."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from regretkit._util._arrays import as_uint32
from regretkit._util._typing import Indices, UInt32Array, Vector
from regretkit.circuits._deviations import LocalDeviations
from regretkit.engine._layout import FlatTrees, Trees
from regretkit.games.tree._sequences import offsets
from regretkit.sets import DecisionTree, StrategySet


class Flows(NamedTuple):
    """Terms ``rates[rate] += weight * mixture[coordinate]``, grouped by weight."""

    begin: UInt32Array
    """First term of each weight, and the number of terms."""
    coordinate: UInt32Array
    """The deviation's sequence in the tree of deviations."""
    rate: UInt32Array
    """The rate: a sequence for moves from any action, or the number of sequences and more for a
    pair of actions."""
    pairs: UInt32Array
    """First rate of the pairs of each decision point, and the number of all rates."""


class Products(NamedTuple):
    """Products ``weights[weight] = weights[parent] * b[action]``, grouped by decision point."""

    begin: UInt32Array
    """First product of each decision point, and the number of products."""
    weight: UInt32Array
    parent: UInt32Array
    action: UInt32Array


class Pairs(NamedTuple):
    """Pairs of actions: a deviation plays ``target`` in place of ``source``."""

    begin: UInt32Array
    """First pair of each player, and the number of pairs."""
    source: UInt32Array
    target: UInt32Array


class Points(NamedTuple):
    """Decision points in the order of the game."""

    begin: UInt32Array
    """First point of each tree, and the number of points."""
    place: Indices
    """First sequence, stride and number of actions, shape ``(points, 3)``."""


class DeviationArrays(NamedTuple):
    """The ``LocalDeviations`` of all players, with common numbers of actions and weights."""

    points: Points
    learners: UInt32Array
    """Each player's tree of deviations, or its own tree without deviations."""
    first_weight: UInt32Array
    """Each player's weight that is constantly 1."""
    weight: UInt32Array
    """The weight of each deviation, by its sequence in the tree of deviations."""
    gain: UInt32Array
    """The gain of each deviation, by the same sequence; 0 for sequences without deviation."""
    pairs: Pairs
    flows: Flows
    products: Products
    weights: Vector
    last_behavior: Vector
    """b in the last update of each player."""
    gains: Vector
    """The regret of each action, then the gain of each pair."""
    rates: Vector
    scales: Vector
    """Workspace of a decision point, by pair of actions."""
    by_action: tuple[Vector, Vector, Vector]
    """Workspace of a decision point, by action."""


def lay_out_deviations(
    by_player: Sequence[LocalDeviations | None], flat: FlatTrees, trees: Trees
) -> DeviationArrays:
    """Return the deviations of all players.

    ``flat`` and ``trees`` hold the players' trees, then the trees of deviations.
    """
    first = flat.sequence_offsets.astype(np.int64)
    learners, first_weight = np.arange(len(by_player)), np.zeros(len(by_player), dtype=np.int64)
    weight, source, target = np.zeros((3, first[-1]), dtype=np.int64)
    parts, weights = [np.zeros((4, 0), dtype=np.int64)], 0
    for player, found in enumerate(by_player):
        if found is None:
            continue
        learner = learners[player] = max(len(by_player), learners.max() + 1)
        own, action = slice(first[learner] + 1, first[learner + 1]), first[player] + 1
        weight[own] = weights + found.weight
        source[own] = np.where(found.source >= 0, action + found.source, 0)
        target[own] = np.where(found.target >= 0, action + found.target, 0)
        inherited = np.flatnonzero(found.factor >= 0)
        factor = action + found.factor[inherited]
        products = [weights + inherited, weights + found.parent[inherited], factor]
        parts.append(np.stack([_point_of(factor, flat), *products]))
        first_weight[player], weights = weights, weights + found.factor.size
    # Many deviations share a pair, whose gain is computed once.
    gain, internal = target.copy(), np.flatnonzero(source)
    keys, number = np.unique(source[internal] * first[-1] + target[internal], return_inverse=True)
    gain[internal] = first[-1] + number
    sources, targets = np.divmod(keys, first[-1])
    begin = np.searchsorted(sources, first[: len(by_player) + 1])
    size = (flat.last - flat.first).astype(np.int64)
    flows, longest = _flows(weight, source, target, flat, weights)
    products = _grouped(np.concatenate(parts, axis=1), size.size)
    maximum, sequence = int(size.max(initial=0)), trees.sequence.astype(np.int64)
    number_of = np.append(sequence, trees.sequences + np.arange(flows.pairs[-1] + keys.size))

    def by_sequence(numbers: Indices) -> UInt32Array:
        found = np.zeros(trees.sequences, dtype=np.int64)
        found[sequence] = numbers
        return as_uint32(found)

    def renumbered(numbers: Indices | UInt32Array) -> UInt32Array:
        return as_uint32(number_of[numbers])

    place = sequence[flat.first]
    distance = np.where(size > 1, sequence[np.minimum(flat.first + 1, first[-1] - 1)] - place, 1)
    pairs = flows.pairs - first[-1] + trees.sequences
    return DeviationArrays(
        points=Points(flat.infoset_offsets, np.stack([place, distance, size], axis=1)),
        learners=as_uint32(learners),
        first_weight=as_uint32(first_weight),
        weight=by_sequence(weight),
        gain=by_sequence(number_of[gain]),
        pairs=Pairs(as_uint32(begin), renumbered(sources), renumbered(targets)),
        flows=flows._replace(
            coordinate=renumbered(flows.coordinate),
            rate=renumbered(flows.rate),
            pairs=as_uint32(pairs),
        ),
        products=Products(products[0], products[1], products[2], renumbered(products[3])),
        weights=np.ones(weights),
        last_behavior=np.zeros(trees.sequences),
        gains=np.zeros(trees.sequences + keys.size),
        rates=np.zeros(pairs[-1]),
        scales=np.zeros(longest**2),
        by_action=(np.zeros(maximum), np.zeros(maximum), np.zeros(maximum)),
    )


def _flows(
    weight: Indices, source: Indices, target: Indices, flat: FlatTrees, weights: int
) -> tuple[Flows, int]:
    """Return the flows of deviations, and the largest number of actions with rates of pairs."""
    first, size = flat.first.astype(np.int64), (flat.last - flat.first).astype(np.int64)
    coordinate = np.flatnonzero(target != source)
    source, target = source[coordinate], target[coordinate]
    point = _point_of(target, flat)
    # With two actions, moves into an action can only leave the other: no pair is needed.
    is_pair = (source > 0) & (size[point] > 2)
    pairs = np.zeros(size.size, dtype=np.int64)
    pairs[point[is_pair]] = size[point[is_pair]] ** 2
    begin = int(flat.sequence_offsets[-1]) + offsets(pairs)
    place = begin[point] + (source - first[point]) * size[point] + target - first[point]
    table = np.stack([weight[coordinate], coordinate, np.where(is_pair, place, target)])
    flows = Flows._make([*_grouped(table, weights), as_uint32(begin)])
    return flows, int(size[pairs > 0].max(initial=0))


def _point_of(action: Indices, flat: FlatTrees) -> Indices:
    """Return the decision point of each action."""
    return np.searchsorted(flat.first, action, side="right") - 1


def _grouped(table: Indices, groups: int) -> list[UInt32Array]:
    """Return the begin of each group, and the other rows sorted by the groups in row 0."""
    group, *rows = table[:, np.argsort(table[0], kind="stable")]
    counts = np.bincount(group, minlength=groups)
    return [as_uint32(offsets(counts)), *map(as_uint32, rows)]


def negligible_gains(negligible: Vector, learners: Mapping[int, StrategySet]) -> Vector:
    """Return the largest rounding errors of utilities of players and of their deviations.

    ``learners`` maps players to their sets of deviations. A gain is a difference of two values, and
    a sequence of depth d adds up to d gains.
    """
    depth = [tree.depth if isinstance(tree, DecisionTree) else 1 for tree in learners.values()]
    gains: Vector = 2.0 * negligible[[*learners]] * depth
    return np.append(negligible, gains)
