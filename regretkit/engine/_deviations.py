"""Deviations over which players learn, in arrays laid out for machine code."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from regretkit._util._arrays import as_uint32
from regretkit._util._typing import Indices, UInt32Array, Vector
from regretkit.circuits._base import LocalDeviations
from regretkit.engine._layout import FlatTrees, flatten_trees
from regretkit.games._payoff_rows import offsets
from regretkit.sets import DecisionTree, Simplices, StrategySet


class Terms(NamedTuple):
    """Deviations by decision point."""

    begin: UInt32Array
    """Where those of each decision point begin, and their number."""
    coordinate: UInt32Array
    """The sequence of the learner's tree that stands for each; see ``LocalDeviations`` for its"""
    weight: UInt32Array
    source: UInt32Array
    """(0 where it is all actions)"""
    target: UInt32Array


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


class DeviationArrays(NamedTuple):
    """The ``LocalDeviations`` of all players, whose actions and weights are numbered together."""

    learners: UInt32Array
    """For each player the number of the tree where its rule plays, its own without deviations."""
    passive: UInt32Array
    """For each player, how many coordinates of that tree come first and stand for no deviation."""
    terms: Terms
    is_chain: UInt32Array
    """1 for each decision point at which deviations replace single actions, 0 for others."""
    products: Products
    weights: Vector
    last_behavior: Vector
    """b in the last update of each player."""
    by_action: tuple[Vector, Vector]
    """Workspace for numbers of a decision point, by action,"""
    by_pair: tuple[Vector, Vector, Vector]
    """and by pair of actions."""


def lay_out_deviations(
    by_player: Sequence[LocalDeviations | None], trees: FlatTrees
) -> DeviationArrays:
    """Return the deviations of players; the trees of their learners come after all players'."""
    first = trees.sequence_offsets.astype(np.int64)
    learners, passive = np.arange(len(by_player)), np.zeros(len(by_player), dtype=np.int64)
    terms, products, weights = [np.zeros((5, 0), np.int64)], [np.zeros((4, 0), np.int64)], 0
    for player, found in enumerate(by_player):
        if found is None:
            continue
        learners[player] = max(len(by_player), learners.max() + 1)
        coordinates, action = np.flatnonzero(found.target >= 0), first[player] + 1
        passive[player] = found.target.size - coordinates.size
        weight, source, target = (array[coordinates] for array in found[:3])
        own = first[learners[player]] + 1 + coordinates
        source = np.where(source >= 0, action + source, 0)
        point = _point_of(action + target, trees)
        terms.append(np.stack([point, own, weights + weight, source, action + target]))
        later = np.flatnonzero(found.factor >= 0)
        factor, parent = action + found.factor[later], weights + found.parent[later]
        products.append(np.stack([_point_of(factor, trees), weights + later, parent, factor]))
        weights += found.factor.size
    by_point = _by_point(np.concatenate(terms, axis=1), trees)
    size, is_chain = trees.last - trees.first, np.zeros(trees.first.size, dtype=np.int64)
    is_chain[_point_of(by_point[4][by_point[3] > 0].astype(np.int64), trees)] = 1
    most, longest = int(size.max(initial=0)), int((size * is_chain).max(initial=0))
    return DeviationArrays(
        learners=as_uint32(learners),
        passive=as_uint32(passive),
        terms=Terms._make(by_point),
        is_chain=as_uint32(is_chain),
        products=Products._make(_by_point(np.concatenate(products, axis=1), trees)),
        weights=np.ones(weights),
        last_behavior=np.zeros(first[-1]),
        by_action=(np.zeros(most), np.zeros(most)),
        by_pair=(np.zeros(longest**2), np.zeros(longest**2), np.zeros(longest**2)),
    )


def _point_of(action: Indices, trees: FlatTrees) -> Indices:
    """Return the numbers of the decision points of actions."""
    return np.searchsorted(trees.first, action, side="right") - 1


def _by_point(table: Indices, trees: FlatTrees) -> list[UInt32Array]:
    """Return where each decision point's rows begin, and all rows, by their decision points."""
    point, *rows = table[:, np.argsort(table[0], kind="stable")]
    counts = np.bincount(point, minlength=trees.first.size)
    return [as_uint32(offsets(counts)), *map(as_uint32, rows)]


NO_DEVIATIONS = lay_out_deviations([], flatten_trees([Simplices([])]))


def negligible_gains(negligible: Vector, learners: Mapping[int, StrategySet]) -> Vector:
    """Return the largest utilities of players, and of learners, that may be rounding.

    ``learners`` has the sets on which those of some players play. A gain is a difference of two
    values, and each decision of a learner may add another one.
    """
    depth = [tree.depth if isinstance(tree, DecisionTree) else 1 for tree in learners.values()]
    gains: Vector = 2.0 * negligible[[*learners]] * depth
    return np.append(negligible, gains)
