"""Game trees in flat arrays, for traversals that visit a few histories."""

from typing import NamedTuple

import numpy as np

from regretkit._util._typing import Indices, UInt32Array, Vector
from regretkit.games import CHANCE, ExtensiveFormGame, GameTree
from regretkit.games.tree._sequences import levels

MOST_OUTCOMES = 64
"""Outcomes of the initial chance moves that are worth searching for each number that is drawn."""


class InitialChance(NamedTuple):
    """The chance moves before any player acts, drawn with one number: many games begin with a deal.

    Levels at which only chance moves count, as long as the histories behind them are few.
    """

    first: np.uint32
    """The first of the histories after these moves; the others follow it."""
    moves: np.uint32
    """Number of moves on the way to each of them."""
    cumulative: Vector
    """The probability of each of them or one before it."""


def initial_chance(tree: GameTree) -> InitialChance:
    """Return the initial chance moves of a tree; histories of probability zero do not count."""
    first, moves, probability = 0, 0, np.ones(1)
    for level in levels(tree):
        a_player_acts = (tree.player[first + np.flatnonzero(probability)] != CHANCE).any()
        following = probability[tree.parent[level] - first] * tree.probability[level]
        if a_player_acts or np.count_nonzero(following) > MOST_OUTCOMES:
            break
        first, moves, probability = level.start, moves + 1, following
    possible = np.flatnonzero(probability)
    if possible.size == 1:  # nothing is drawn
        first, probability = first + int(possible[0]), np.ones(1)
    return InitialChance(np.uint32(first), np.uint32(moves), cumulative(probability))


def cumulative(probability: Vector) -> Vector:
    """Return each probability with all before it, of even deals not rounded on the way."""
    possible = probability > 0.0
    likely = probability[possible]
    even = bool((likely == likely[0]).all())
    sums = np.arange(1, likely.size + 1) / likely.size if even else np.cumsum(likely)
    return np.append(0.0, sums)[np.cumsum(possible)]


class FlatTree(NamedTuple):
    """A compact game tree, since traversals of large trees are limited by memory access.

    Places are the decision points of all players, concatenated, followed by the chance histories.
    Actions are drawn by weights in the same order: one for each sequence of each player, each
    player's empty one first, as in compiled engines, followed by those of chance.
    """

    node: UInt32Array
    """For each history four numbers: its first child, its place, where the weights there begin, and
    how many they are; for a terminal, where its payoffs begin, the number of places, and two
    zeros. One more history follows the last one."""
    place: UInt32Array
    """For each place two numbers: where its weights begin, and how many they are."""
    chances: Vector
    """The weights of chance, which never change."""
    payoffs: Vector
    """One for each player at each terminal, equal rows stored once."""
    sequences: UInt32Array
    """Where each player's sequences begin, and where the last one's end."""
    points: UInt32Array
    """Where each player's decision points begin, and where the last one's end."""
    initial_chance: InitialChance
    over: np.uint32
    """Number of places."""
    evens: Vector
    """1 / n, by n: the probability of each of n actions under the uniform distribution."""


class TraversalBuffers(NamedTuple):
    """Scratch buffers of a traversal."""

    history: UInt32Array
    """Stack of histories to visit, and for each of them:"""
    sequence: UInt32Array
    """the player's last sequence,"""
    parent: Indices
    """which visited history precedes it,"""
    scale: Vector
    """the factor of payoffs below it,"""
    reach: Vector
    """the player's reach probability,"""
    weight: Vector
    """and the weight of its value in that of the parent."""
    sampled_actions: UInt32Array
    """The actions sampled at the decision point at hand,"""
    sampling_probabilities: Vector
    """and the probability of each of them."""
    prefetched: UInt32Array
    """Read only so that it is in the cache when it is needed."""
    points: UInt32Array
    """The visited decision points, in order, and for each of them:"""
    parent_sequence: UInt32Array
    """the player's sequence before it,"""
    single_action: UInt32Array
    """and its only sequence with a nonzero utility, 0 where there may be several."""
    visited_history: UInt32Array
    """The visited histories, in order, where a baseline learns, and for each of them:"""
    visited_parent: Indices
    """which of them precedes it, -1 for the first,"""
    visited_weight: Vector
    """its weight in the value of that one,"""
    value: Vector
    """and its value to the player as far as known."""


def flat_tree(game: ExtensiveFormGame) -> FlatTree:
    """Return a game in flat arrays."""
    tree, players = game.tree, game.players
    sequences = np.cumsum([0, *(domain.dimension for domain in game.domains)])
    points = np.cumsum([0, *(domain.points for domain in game.domains)])
    # Children stand side by side in the order of their parents.
    counts = np.bincount(tree.parent[1:], minlength=tree.histories)
    children = np.cumsum(counts) - counts + 1
    numbers, rows = distinct_rows(tree.payoffs)
    children[tree.terminals] = numbers * players
    by_chance = np.flatnonzero(tree.player == CHANCE)
    places = int(points[-1]) + by_chance.size
    place_of = np.full(tree.histories, places)
    place_of[by_chance] = np.arange(points[-1], places)
    first = np.zeros(places + 1, dtype=np.int64)
    first[points[-1] : -1] = sequences[-1] + np.cumsum(counts[by_chance]) - counts[by_chance]
    for player, domain in enumerate(game.domains):
        acting = tree.player == player
        place_of[acting] = points[player] + tree.information_set[acting]
        first[points[player] : points[player + 1]] = sequences[player] + domain.first_sequence
    size = np.zeros(places + 1, dtype=np.int64)
    size[place_of] = counts
    nodes = children, place_of, first[place_of], counts
    return FlatTree(
        node=_side_by_side(*(np.append(column, 0) for column in nodes)),
        place=_side_by_side(first, size),
        chances=tree.probability[1:][tree.player[tree.parent[1:]] == CHANCE],
        payoffs=rows.ravel(),
        sequences=sequences.astype(np.uint32),
        points=points.astype(np.uint32),
        initial_chance=initial_chance(tree),
        over=np.uint32(places),
        evens=1.0 / np.maximum(np.arange(counts.max() + 1), 1),
    )


def _side_by_side(*columns: Indices) -> UInt32Array:
    return np.stack(columns, axis=1, dtype=np.uint32, casting="unsafe").ravel()


def distinct_rows(table: Vector) -> tuple[Indices, Vector]:
    """Return the number of each row among the distinct rows of a table, and these."""
    numbers = np.zeros(len(table), dtype=np.int64)
    for column in table.T:
        values, inverse = np.unique(column, return_inverse=True)
        numbers = np.unique(numbers * values.size + inverse, return_inverse=True)[1]
    rows = np.empty((int(numbers.max(initial=-1)) + 1, table.shape[1]))
    rows[numbers] = table
    return numbers, rows


def traversal_buffers(tree: FlatTree, with_baseline: bool) -> TraversalBuffers:
    """Return buffers for traversals of a tree."""
    size = int(np.diff(tree.sequences.astype(np.int64)).max(initial=1)) + 1
    points = int(tree.points[-1]) + 1
    visits = tree.node.size // 4 if with_baseline else 1
    return TraversalBuffers(
        history=np.zeros(size, dtype=np.uint32),
        sequence=np.zeros(size, dtype=np.uint32),
        parent=np.zeros(size, dtype=np.int32),
        scale=np.zeros(size),
        reach=np.zeros(size),
        weight=np.zeros(size),
        sampled_actions=np.zeros(size, dtype=np.uint32),
        sampling_probabilities=np.zeros(size),
        prefetched=np.zeros(1, dtype=np.uint32),
        points=np.zeros(points, dtype=np.uint32),
        parent_sequence=np.zeros(points, dtype=np.uint32),
        single_action=np.zeros(points, dtype=np.uint32),
        visited_history=np.zeros(visits, dtype=np.uint32),
        visited_parent=np.zeros(visits, dtype=np.int32),
        visited_weight=np.zeros(visits),
        value=np.zeros(visits),
    )
