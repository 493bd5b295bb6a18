"""Deviations over which players learn, in arrays laid out for machine code."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from regretkit._util._arrays import as_uint32
from regretkit._util._typing import Indices, UInt32Array, Vector
from regretkit.circuits._stationary import LocalDeviations
from regretkit.engine._layout import FlatTrees, Trees
from regretkit.games.tree._sequences import offsets
from regretkit.sets import DecisionTree, StrategySet


class Flows(NamedTuple):
    """The rates that deviations add to, by the weight by which each is multiplied."""

    begin: UInt32Array
    """Where those of each weight begin, and their number."""
    coordinate: UInt32Array
    """The sequence of the learner's tree that stands for each,"""
    rate: UInt32Array
    """and the rate: that into an action, or, after as many as there are sequences, of a pair."""
    pairs: UInt32Array
    """For each decision point, the first rate of its pairs, and the number of all."""


class Products(NamedTuple):
    """Weights by the decision point that they follow."""

    begin: UInt32Array
    """Where those of each decision point begin, and their number."""
    weight: UInt32Array
    """The number of each, which is"""
    parent: UInt32Array
    """another weight"""
    action: UInt32Array
    """times the probability of an action."""


class Pairs(NamedTuple):
    """Pairs of actions of which deviations play one in place of the other."""

    begin: UInt32Array
    """The first pair of each player, and the number of all of them."""
    source: UInt32Array
    target: UInt32Array


class Points(NamedTuple):
    """Decision points in the order of the game."""

    begin: UInt32Array
    """First of each tree, and the number of all of them."""
    place: Indices
    """The number of the first action of each, the distance to the next one, and how many there are;
    shape ``(points, 3)``."""


class DeviationArrays(NamedTuple):
    """The ``LocalDeviations`` of all players, whose actions and weights are numbered together."""

    points: Points
    learners: UInt32Array
    """For each player the number of the tree where its rule plays, its own without deviations."""
    first_weight: UInt32Array
    """For each player the number of the weight that is 1."""
    weight: UInt32Array
    """For each sequence of a learner's tree the weight of the deviation,"""
    gain: UInt32Array
    """and the gain that it multiplies, 0 for what is no deviation."""
    pairs: Pairs
    flows: Flows
    products: Products
    weights: Vector
    last_behavior: Vector
    """b in the last update of each player."""
    gains: Vector
    """The regret of each action, then what each pair gains."""
    rates: Vector
    by_action: tuple[Vector, Vector]
    """Workspace for numbers of a decision point, by action,"""
    by_pair: tuple[Vector, Vector]
    """and by pair of actions."""


def lay_out_deviations(
    by_player: Sequence[LocalDeviations | None], flat: FlatTrees, trees: Trees
) -> DeviationArrays:
    """Return the deviations of players; the trees of their learners come after all players'.

    They are numbered in the order of the game first, and then as the ranges are.
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
        by_action=(np.zeros(maximum), np.zeros(maximum)),
        by_pair=(np.zeros(longest**2), np.zeros(longest**2)),
    )


def _flows(
    weight: Indices, source: Indices, target: Indices, flat: FlatTrees, weights: int
) -> tuple[Flows, int]:
    """Return the flows of deviations, and the largest number of actions with rates of pairs."""
    first, size = flat.first.astype(np.int64), (flat.last - flat.first).astype(np.int64)
    coordinate = np.flatnonzero(target != source)
    source, target = source[coordinate], target[coordinate]
    point = _point_of(target, flat)
    # Of two actions, each is played by the rate into it.
    is_pair = (source > 0) & (size[point] > 2)
    pairs = np.zeros(size.size, dtype=np.int64)
    pairs[point[is_pair]] = size[point[is_pair]] ** 2
    begin = int(flat.sequence_offsets[-1]) + offsets(pairs)
    place = begin[point] + (source - first[point]) * size[point] + target - first[point]
    table = np.stack([weight[coordinate], coordinate, np.where(is_pair, place, target)])
    flows = Flows._make([*_grouped(table, weights), as_uint32(begin)])
    return flows, int(size[pairs > 0].max(initial=0))


def _point_of(action: Indices, flat: FlatTrees) -> Indices:
    """Return the numbers of the decision points of actions."""
    return np.searchsorted(flat.first, action, side="right") - 1


def _grouped(table: Indices, groups: int) -> list[UInt32Array]:
    """Return where each group of rows begins, and all rows, by their groups in row 0."""
    group, *rows = table[:, np.argsort(table[0], kind="stable")]
    counts = np.bincount(group, minlength=groups)
    return [as_uint32(offsets(counts)), *map(as_uint32, rows)]


def negligible_gains(negligible: Vector, learners: Mapping[int, StrategySet]) -> Vector:
    """Return the largest utilities of players, and of learners, that may be rounding.

    ``learners`` has the sets on which those of some players play. A gain is a difference of two
    values, and each decision of a learner may add another one.
    """
    depth = [tree.depth if isinstance(tree, DecisionTree) else 1 for tree in learners.values()]
    gains: Vector = 2.0 * negligible[[*learners]] * depth
    return np.append(negligible, gains)
