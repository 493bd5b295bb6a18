"""Sequence numbering and the perfect-recall check."""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from regretkit._util._arrays import read_only, sum_terms
from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import quote, shorten
from regretkit.games.tree._game_tree import GameTree
from regretkit.games.tree._history import CHANCE
from regretkit.sets import DecisionTree


def levels(tree: GameTree) -> Iterator[slice]:
    """Yield the slice of each level below the root, in breadth-first order."""
    start, end = 1, tree.histories
    while start < end:
        # Children of this level begin after the last history whose parent comes before it.
        stop = int(np.searchsorted(tree.parent, tree.parent.dtype.type(start)))
        yield slice(start, stop)
        start = stop


def last_sequences(tree: GameTree) -> Indices:
    """Return each player's last sequence at each history, shape ``(players, histories)``."""
    completed = _completed_sequences(tree)
    last = np.zeros((tree.players, tree.histories), dtype=tree.parent.dtype)
    for player, row in enumerate(last):
        row[:] = completed[_last_moves(tree, player)]
    return last


def _completed_sequences(tree: GameTree) -> Indices:
    """Return the sequence that the action to each history completes, 0 for chance and the root."""
    sizes = np.concatenate([np.empty(0, dtype=np.int64), *tree.sizes])
    totals = [int(counts.sum()) for counts in tree.sizes]
    offset = np.cumsum([0, *totals[:-1]])
    sets = np.cumsum([0, *(counts.size for counts in tree.sizes)])
    # The first sequence of each information set, all players' sets concatenated
    first = 1 + np.cumsum(sizes) - sizes - np.repeat(offset, np.diff(sets))
    parent = tree.parent[1:]
    moved = np.flatnonzero(tree.player[parent] >= 0)
    parent = parent[moved]
    completed = np.zeros(tree.histories, dtype=tree.parent.dtype)
    numbers = sets[tree.player[parent]] + tree.information_set[parent]
    completed[1 + moved] = first[numbers] + tree.action[1 + moved]
    return completed


def _last_moves(tree: GameTree, player: int) -> Indices:
    """Return the history after the player's last move on the path to each one, or the root."""
    histories = np.arange(tree.histories, dtype=tree.parent.dtype)
    parent = np.maximum(tree.parent, 0)
    histories_at: Indices = np.where(tree.player[parent] == player, histories, parent)
    histories_at[0] = 0
    # Pointer jumping: each step doubles the distance to the ancestor.
    while not np.array_equal(ancestor := histories_at[histories_at], histories_at):
        histories_at = ancestor
    return histories_at


def reach_of_chance(tree: GameTree) -> Vector:
    """Return the probability of chance's moves to each history, shape ``(histories,)``."""
    if not (tree.player == CHANCE).any():
        return np.ones(tree.histories)
    reach: Vector = tree.probability.copy()
    for level in levels(tree):
        reach[level] *= reach[tree.parent[level]]
    return reach


def merge_terminals(
    sequences: Indices, weights: Vector, payoffs: Vector, dimensions: Sequence[int]
) -> tuple[Indices, Vector]:
    """Return the distinct columns of ``sequences``, sorted, and their total weighted payoffs.

    ``sequences`` and the returned payoffs have shape ``(players, terminals)``; the argument
    ``payoffs`` has shape ``(terminals, players)``.
    """
    order, place = sorted_columns(sequences, dimensions)
    terminals = order.size if place is None else int(place[-1]) + 1
    weights, merged = weights[order], np.empty((len(sequences), terminals))
    for player, paid in enumerate(payoffs.T):
        weighted = weights * paid[order]
        merged[player] = weighted if place is None else sum_terms(place, weighted, terminals)
    if place is not None:
        order = order[np.flatnonzero(np.diff(place, append=-1))]
    distinct = np.empty(merged.shape, dtype=np.int64)
    for player, last in enumerate(sequences):
        distinct[player] = last[order]
    return read_only(distinct), read_only(merged)


def sorted_columns(sequences: Indices, dimensions: Sequence[int]) -> tuple[Indices, Indices | None]:
    """Return the stable lexicographic order of the columns, and the group of equal ones of each.

    The groups are None where all columns differ.
    """
    if math.prod(dimensions) > np.iinfo(np.int64).max:
        order = np.lexsort(sequences[::-1])
        differ = (np.diff(sequences[:, order]) != 0).any(axis=0)
    else:
        # Each column as the digits of one number
        key = np.zeros(sequences.shape[1], dtype=np.int64)
        for row, dimension in zip(sequences, dimensions, strict=True):
            key *= dimension
            key += row
        order = np.argsort(key)
        differ = np.diff(key[order]) != 0
        if not differ.all():
            order = np.argsort(key, kind="stable")
    return order, None if differ.all() else np.append(0, np.cumsum(differ))


def decision_trees(tree: GameTree, last: Indices) -> tuple[DecisionTree, ...]:
    """Return each player's decision tree, numbered as the game's information sets."""
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
    """Return the sequence before each information set, which perfect recall makes unique."""
    histories = np.flatnonzero(tree.player == player)
    numbers = tree.information_set[histories]
    # The first history of each set: the last one written in reverse order
    first = np.zeros(len(tree.labels[player]), dtype=np.int64)
    first[numbers[::-1]] = histories[::-1]
    differing = np.flatnonzero(last[histories] != last[first[numbers]])
    if differing.size:
        number, history = int(numbers[differing[0]]), int(histories[differing[0]])
        label, example = tree.labels[player][number], _path(tree, int(first[number]))
        raise ValueError(
            f"imperfect recall: player {player} cannot tell {example} from "
            f"{_path(tree, history)}, which both lie in its information set {quote(label)}, but "
            "it did not do or know the same before; give them different information sets"
        )
    return last[first]


def _path(tree: GameTree, history: int) -> str:
    path = " ".join(repr(action) for action in tree.history_path(history))
    return shorten(path) or "the empty history"
