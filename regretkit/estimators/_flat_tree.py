"""Game trees in flat arrays, for traversals that visit a few histories."""

from typing import NamedTuple

import numpy as np

from regretkit._util._typing import Indices, UInt32Array, Vector
from regretkit.games import CHANCE, ExtensiveFormGame, GameTree
from regretkit.games.tree._sequences import levels

MOST_OUTCOMES = 64
"""Largest number of outcomes of the initial chance moves that share one drawn number."""


class InitialChance(NamedTuple):
    """The chance moves before any player acts, such as a deal, which share one drawn number.

    They are the first levels of the tree at which only chance moves, as long as there are at most
    ``MOST_OUTCOMES`` histories after them.
    """

    first: np.uint32
    """The first history after these moves. The others follow it."""
    moves: np.uint32
    """Number of chance moves before each of these histories."""
    cumulative: Vector
    """Cumulative probabilities of these histories."""


def initial_chance(tree: GameTree) -> InitialChance:
    """Return the initial chance moves of a tree, without histories of probability zero."""
    first, moves, probability = 0, 0, np.ones(1)
    for level in levels(tree):
        a_player_acts = (tree.player[first + np.flatnonzero(probability)] != CHANCE).any()
        following = probability[tree.parent[level] - first] * tree.probability[level]
        if a_player_acts or np.count_nonzero(following) > MOST_OUTCOMES:
            break
        first, moves, probability = level.start, moves + 1, following
    possible = np.flatnonzero(probability)
    if possible.size == 1:  # a single history needs no draw
        first, probability = first + int(possible[0]), np.ones(1)
    return InitialChance(np.uint32(first), np.uint32(moves), cumulative(probability))


def cumulative(probability: Vector) -> Vector:
    """Return cumulative probabilities, k / n without rounding errors if all are equal."""
    possible = probability > 0.0
    likely = probability[possible]
    even = bool((likely == likely[0]).all())
    sums = np.arange(1, likely.size + 1) / likely.size if even else np.cumsum(likely)
    return np.append(0.0, sums)[np.cumsum(possible)]


class FlatTree(NamedTuple):
    """A compact game tree: memory access limits the speed of traversals.

    A *place* is a decision point or a chance history: first the decision points of all players,
    concatenated, then the chance histories. *Weights* are probabilities of actions in the same
    order: for each player the empty sequence and the others, then the moves of chance.
    """

    node: UInt32Array
    """Four numbers for each history: first child, place, first weight, and number of actions. For a
    terminal: index of its first payoff, number of places, 0 and 0. One padding entry follows."""
    place: UInt32Array
    """Two numbers for each place: first weight, and number of actions."""
    chances: Vector
    """The weights of chance, which are constant."""
    payoffs: Vector
    """The distinct rows of payoffs at terminals, concatenated."""
    sequences: UInt32Array
    """First weight of each player, then the total number."""
    points: UInt32Array
    """First place of each player, then the total number of decision points."""
    initial_chance: InitialChance
    over: np.uint32
    """Number of places."""
    evens: Vector
    """1 / n at index n: the probability of each of n actions in the uniform distribution."""


class TraversalBuffers(NamedTuple):
    """Scratch buffers of a traversal."""

    # The stack of histories to visit

    history: UInt32Array
    """History of each entry of the stack."""
    sequence: UInt32Array
    """Last sequence of the player at each entry."""
    parent: Indices
    """Number of the visited history before each entry."""
    scale: Vector
    """Factor of the payoffs below each entry."""
    reach: Vector
    """The player's reach probability at each entry."""
    weight: Vector
    """Weight of each entry's value in the value of its parent."""

    # The current decision point

    sampled_actions: UInt32Array
    """The sampled actions."""
    sampling_probabilities: Vector
    """The probability of each sampled action to be sampled."""
    prefetched: UInt32Array
    """Target of reads whose only purpose is to load the cache."""

    # The visited decision points, in order

    points: UInt32Array
    """Number of each visited decision point."""
    parent_sequence: UInt32Array
    """The player's sequence before it."""
    single_action: UInt32Array
    """Its only sequence with a nonzero utility, 0 if there may be several."""

    # The visited histories, in order, for a baseline

    visited_history: UInt32Array
    """Each visited history."""
    visited_parent: Indices
    """Number of the visited history before it, -1 for the first."""
    visited_weight: Vector
    """Weight of its value in the value of its parent."""
    value: Vector
    """The sum so far of its value to the player."""


def flat_tree(game: ExtensiveFormGame) -> FlatTree:
    """Return the flat arrays of a game."""
    tree, players = game.tree, game.players
    sequences = np.cumsum([0, *(domain.dimension for domain in game.domains)])
    points = np.cumsum([0, *(domain.points for domain in game.domains)])
    # Children are adjacent, in the order of their parents: prefix sums give the first child.
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
    """Return the index of each row among the distinct rows, and the distinct rows."""
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
