"""A game as those see it who walk through a few of its histories at a time."""

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from regretkit._typing import Indices, Vector
from regretkit.games import CHANCE, TERMINAL, ExtensiveFormGame
from regretkit.games.sequences import levels

Narrow: TypeAlias = NDArray[np.int32]

CHILD, WHO, FIRST, POINT = range(4)
"""What the columns of ``Flat.node`` hold."""

CHANCE_MOVES, THE_END = int(CHANCE), int(TERMINAL)


class Flat(NamedTuple):
    """A game tree; what is to be known of one history stands side by side.

    All players' sequences lie end to end, each player's empty one first, and so do their decision
    points: the order in which machine code has them as well.
    """

    node: Narrow
    """For each history its first child, who acts, the acting player's first sequence there, or at
    an end its number, and the decision point; shape ``(histories + 1, 4)``. Children of a history
    end where those of the next one begin."""
    probability: Vector
    """Of chance's move to each history."""
    payoffs: Vector
    """At each end, of each player."""
    sequences: Indices
    """Where each player's sequences begin, and where the last one's end."""
    points: Indices
    """Where each player's decision points begin, and where the last one's end."""


class Desk(NamedTuple):
    """Room to write on while walking."""

    history: Narrow
    """Histories yet to be visited, the next one last,"""
    sequence: Narrow
    """the player's last sequence before each,"""
    above: Narrow
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
    points: Narrow
    """The decision points that were visited, in order."""
    trail: Narrow
    """The histories that were visited, in order, where somebody wants to know,"""
    before: Narrow
    """which of them comes before each,"""
    counts: Vector
    """how much each counts there,"""
    worth: Vector
    """and what each is worth to the player, as far as is known."""


def flat_of(game: ExtensiveFormGame) -> Flat:
    """Lay a game out for walking."""
    tree = game.tree
    histories = np.arange(tree.histories + 1)
    sequences = np.cumsum([0, *(domain.dimension for domain in game.domains)])
    points = np.cumsum([0, *(domain.points for domain in game.domains)])
    node = np.full((tree.histories + 1, 4), -1, dtype=np.int32)
    # Children stand side by side in the order of their parents.
    node[:, CHILD] = np.searchsorted(tree.parent[1:], histories) + 1
    node[:-1, WHO] = tree.player
    node[tree.terminals, FIRST] = np.arange(tree.terminals.size)
    for player, domain in enumerate(game.domains):
        here = np.flatnonzero(tree.player == player)
        numbers = tree.information_set[here]
        node[here, FIRST] = sequences[player] + domain.first_sequence[numbers]
        node[here, POINT] = points[player] + numbers
    return Flat(node, tree.probability, tree.payoffs, sequences, points)


def desk_of(flat: Flat, trailing: bool) -> Desk:
    """Return room to walk through a game, on the way of which notes are taken or not."""
    most = int(np.diff(flat.sequences).max(initial=1)) + 1
    visits = flat.node.shape[0] - 1 if trailing else 1
    return Desk(
        history=np.zeros(most, dtype=np.int32),
        sequence=np.zeros(most, dtype=np.int32),
        above=np.zeros(most, dtype=np.int32),
        scale=np.zeros(most),
        reach=np.zeros(most),
        factor=np.zeros(most),
        follow=np.zeros(most, dtype=np.int32),
        share=np.zeros(most),
        points=np.zeros(int(flat.points[-1]) + 1, dtype=np.int32),
        trail=np.zeros(visits, dtype=np.int32),
        before=np.zeros(visits, dtype=np.int32),
        counts=np.zeros(visits),
        worth=np.zeros(visits),
    )


def moves_of(flat: Flat) -> Indices:
    """Return the sequence that a player's move leads to at each history, -1 where it is none."""
    parents = np.repeat(np.arange(flat.node.shape[0] - 1), np.diff(flat.node[:, CHILD]))
    moved = np.full(flat.node.shape[0] - 1, -1)
    children = np.arange(1, moved.size)
    first = flat.node[parents, FIRST]
    moved[1:] = np.where(
        flat.node[parents, WHO] >= 0, first + children - flat.node[parents, CHILD], -1
    )
    return moved


def values_at(game: ExtensiveFormGame, flat: Flat, moves: Indices, behavior: Vector) -> Vector:
    """Return what every history is worth to every player, shape ``(players, histories)``."""
    tree = game.tree
    probability = np.where(moves >= 0, behavior[moves], tree.probability)
    values = np.zeros((game.players, tree.histories))
    values[:, tree.terminals] = tree.payoffs.T
    for level in reversed([*levels(tree)]):
        for own in values:
            np.add.at(own, tree.parent[level], probability[level] * own[level])
    return values
