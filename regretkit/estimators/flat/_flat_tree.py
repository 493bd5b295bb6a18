"""A game as those see it who walk through a few of its histories at a time."""

from typing import NamedTuple

import numpy as np

from regretkit._util._typing import Indices, Narrow, Vector
from regretkit.estimators.flat._initial_chance import Opening, opening_of
from regretkit.games import CHANCE, ExtensiveFormGame
from regretkit.games.tree._sequences import levels


class FlatTree(NamedTuple):
    """A compact game tree, since traversals of large trees are limited by memory access.

    Places are the decision points of all players, end to end, and then the histories where chance
    moves. Actions are drawn by weights in the same order: one for each sequence of each player,
    each player's empty one first, as in compiled engines, and then those of chance.
    """

    node: Narrow
    """For each history four numbers: its first child, its place, where the weights there begin, and
    how many they are; or where the game is over, where its payoffs begin, the number of places, and
    twice nothing. One more history follows the last one."""
    place: Narrow
    """For each place two numbers: where its weights begin, and how many they are."""
    chances: Vector
    """The weights of chance, which never change."""
    payoffs: Vector
    """One for each player where the game is over, the same ones not twice."""
    sequences: Narrow
    """Where each player's sequences begin, and where the last one's end."""
    points: Narrow
    """Where each player's decision points begin, and where the last one's end."""
    opening: Opening
    """The initial chance moves."""
    over: np.uint32
    """Number of places."""
    evens: Vector
    """1 / n, by n: how often each of n moves is made when all are made as often."""


class TraversalBuffers(NamedTuple):
    """Scratch buffers of a traversal."""

    history: Narrow
    """Histories yet to be visited, the next one last,"""
    sequence: Narrow
    """the player's last sequence before each,"""
    above: Indices
    """which visited history comes before each,"""
    scale: Vector
    """by what payoffs from there on are multiplied,"""
    reach: Vector
    """how much of the player's strategy comes there,"""
    factor: Vector
    """and how much what is found there counts at the history before."""
    follow: Narrow
    """The actions that are followed of the history at hand,"""
    share: Vector
    """and with which probability each of them is."""
    ahead: Narrow
    """What is read only to have it near when it is wanted."""
    points: Narrow
    """The decision points that were visited, in order,"""
    come: Narrow
    """the player's sequence before each,"""
    only: Narrow
    """and at each the only action that may have earned anything, 0 where several may."""
    trail: Narrow
    """The histories that were visited, in order, where a baseline learns from them,"""
    before: Indices
    """which of them comes before each, -1 before the first,"""
    counts: Vector
    """how much each counts there,"""
    worth: Vector
    """and the value of each for the player, as far as is known."""


def flat_tree(game: ExtensiveFormGame) -> FlatTree:
    """Lay a game out for walking."""
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
        here = tree.player == player
        place_of[here] = points[player] + tree.information_set[here]
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
        opening=opening_of(tree),
        over=np.uint32(places),
        evens=1.0 / np.maximum(np.arange(counts.max() + 1), 1),
    )


def _side_by_side(*columns: Indices) -> Narrow:
    return np.stack(columns, axis=1, dtype=np.uint32, casting="unsafe").ravel()


def distinct_rows(table: Vector) -> tuple[Indices, Vector]:
    """Return which row each row equals, and these rows, each of them once."""
    numbers = np.zeros(len(table), dtype=np.int64)
    for column in table.T:
        values, at = np.unique(column, return_inverse=True)
        numbers = np.unique(numbers * values.size + at, return_inverse=True)[1]
    rows = np.empty((int(numbers.max(initial=-1)) + 1, table.shape[1]))
    rows[numbers] = table
    return numbers, rows


def traversal_buffers(flat: FlatTree, trailing: bool) -> TraversalBuffers:
    """Return room to walk through a game, on the way of which notes are taken or not."""
    most = int(np.diff(flat.sequences.astype(np.int64)).max(initial=1)) + 1
    visits = flat.node.size // 4 if trailing else 1
    return TraversalBuffers(
        history=np.zeros(most, dtype=np.uint32),
        sequence=np.zeros(most, dtype=np.uint32),
        above=np.zeros(most, dtype=np.int32),
        scale=np.zeros(most),
        reach=np.zeros(most),
        factor=np.zeros(most),
        follow=np.zeros(most, dtype=np.uint32),
        share=np.zeros(most),
        ahead=np.zeros(1, dtype=np.uint32),
        points=np.zeros(int(flat.points[-1]) + 1, dtype=np.uint32),
        come=np.zeros(int(flat.points[-1]) + 1, dtype=np.uint32),
        only=np.zeros(int(flat.points[-1]) + 1, dtype=np.uint32),
        trail=np.zeros(visits, dtype=np.uint32),
        before=np.zeros(visits, dtype=np.int32),
        counts=np.zeros(visits),
        worth=np.zeros(visits),
    )


def moves_of(game: ExtensiveFormGame, flat: FlatTree) -> Indices:
    """Return where the weight of the move to each history stands, 0 for the empty history."""
    histories, parent = np.arange(1, game.tree.histories), game.tree.parent[1:]
    node = flat.node.astype(np.int64).reshape(-1, 4)
    moves = np.zeros(game.tree.histories, dtype=np.int64)
    moves[1:] = node[parent, 2] + histories - node[parent, 0]
    return moves


def values_at(game: ExtensiveFormGame, moves: Indices, weights: Vector) -> Vector:
    """Return the value of every history for every player, shape ``(players, histories)``."""
    tree = game.tree
    probability = weights[moves]
    values = np.zeros((game.players, tree.histories))
    values[:, tree.terminals] = tree.payoffs.T
    for level in reversed([*levels(tree)]):
        for own in values:
            np.add.at(own, tree.parent[level], probability[level] * own[level])
    return values
