"""Sequence numbering and the perfect-recall check."""

import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np

from regretkit._util._arrays import sum_terms
from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import quote, shorten
from regretkit.games.tree._game_tree import GameTree
from regretkit.games.tree._history import CHANCE
from regretkit.sets import DecisionTree


def levels(tree: GameTree) -> Iterator[slice]:
    """Yield where each level below the root lies; histories stand in breadth-first order."""
    start, end = 1, tree.histories
    while start < end:
        # The level's own children begin behind the last history whose parent lies before it.
        stop = int(np.searchsorted(tree.parent, tree.parent.dtype.type(start)))
        yield slice(start, stop)
        start = stop


def last_sequences(tree: GameTree) -> Indices:
    """Return each player's last sequence at each history, shape ``(players, histories)``."""
    here = _sequences_into(tree)
    last = np.zeros((tree.players, tree.histories), dtype=tree.parent.dtype)
    if _is_narrow(tree):
        for player, own in enumerate(last):
            own[:] = here[_last_moves(tree, player)]
        return last
    for level in levels(tree):
        parent = tree.parent[level]
        last[:, level] = last[:, parent]
        mover = tree.player[parent]
        moved = np.flatnonzero(mover >= 0)
        last[mover[moved], level.start + moved] = here[level.start + moved]
    return last


_NARROW = 50
"""With fewer histories than this to a level, to go through all levels takes longest."""


def _is_narrow(tree: GameTree) -> bool:
    most = tree.histories // _NARROW
    return next(itertools.islice(levels(tree), most, None), None) is not None


def _sequences_into(tree: GameTree) -> Indices:
    """Return the sequence that the move into each history completes, 0 where no player moved."""
    sizes = np.concatenate([np.empty(0, dtype=np.int64), *tree.sizes])
    own_sizes = [int(own.sum()) for own in tree.sizes]
    before = np.cumsum([0, *own_sizes[:-1]])
    sets = np.cumsum([0, *(own.size for own in tree.sizes)])
    # Of each information set, laid end to end, the first sequence of its own player's
    first = 1 + np.cumsum(sizes) - sizes - np.repeat(before, np.diff(sets))
    parent = tree.parent[1:]
    moved = np.flatnonzero(tree.player[parent] >= 0)
    parent = parent[moved]
    into = np.zeros(tree.histories, dtype=tree.parent.dtype)
    numbers = sets[tree.player[parent]] + tree.information_set[parent]
    into[1 + moved] = first[numbers] + tree.action[1 + moved]
    return into


def _last_moves(tree: GameTree, player: int) -> Indices:
    """Return the history that the player's last move on the way to each one led to, or the root."""
    histories = np.arange(tree.histories, dtype=tree.parent.dtype)
    parent = np.maximum(tree.parent, 0)
    at: Indices = np.where(tree.player[parent] == player, histories, parent)
    at[0] = 0
    # Pointer jumping: each step doubles the distance to the ancestor.
    while not np.array_equal(further := at[at], at):
        at = further
    return at


def reach_of_chance(tree: GameTree) -> Vector:
    """Return the probability of chance's moves up to each history, shape ``(histories,)``."""
    if not (tree.player == CHANCE).any():
        return np.ones(tree.histories)
    if _is_narrow(tree):
        one_by_one = tree.probability.tolist()
        for history, parent in enumerate(tree.parent[1:].tolist(), start=1):
            one_by_one[history] *= one_by_one[parent]
        return np.array(one_by_one)
    reach: Vector = tree.probability.copy()
    for level in levels(tree):
        reach[level] *= reach[tree.parent[level]]
    return reach


def merge_terminals(
    sequences: Indices, weights: Vector, payoffs: Vector, dimensions: Sequence[int]
) -> tuple[Indices, Vector]:
    """Return the distinct columns of ``sequences``, in order, and what is paid there in all.

    ``sequences`` and the payoffs that are returned have shape ``(players, ends)``; ``payoffs``, as
    a tree has them, ``(ends, players)``. Each is paid times its weight.
    """
    order, place = _sorted_columns(sequences, dimensions)
    ends = order.size if place is None else int(place[-1]) + 1
    weights, merged = weights[order], np.empty((len(sequences), ends))
    for player, paid in enumerate(payoffs.T):
        weighted = weights * paid[order]
        merged[player] = weighted if place is None else sum_terms(place, weighted, ends)
    if place is not None:
        order = order[np.flatnonzero(np.diff(place, append=-1))]
    distinct = np.empty(merged.shape, dtype=np.int64)
    for player, last in enumerate(sequences):
        distinct[player] = last[order]
    distinct.setflags(write=False)
    merged.setflags(write=False)
    return distinct, merged


def _sorted_columns(
    sequences: Indices, dimensions: Sequence[int]
) -> tuple[Indices, Indices | None]:
    """Return the order that sorts columns by their first entry, then the second and so on.

    Equal ones stay as they are. Also returns the number of each among those that differ, None
    where all do.
    """
    if math.prod(dimensions) > np.iinfo(np.int64).max:
        order = np.lexsort(sequences[::-1])
        differ = (np.diff(sequences[:, order]) != 0).any(axis=0)
    else:
        # All entries as one number, of which they are the digits
        key = np.zeros(sequences.shape[1], dtype=np.int64)
        for own, dimension in zip(sequences, dimensions, strict=True):
            key *= dimension
            key += own
        order = np.argsort(key)
        differ = np.diff(key[order]) != 0
        if not differ.all():
            order = np.argsort(key, kind="stable")
    return order, None if differ.all() else np.append(0, np.cumsum(differ))


def decision_trees(tree: GameTree, last: Indices) -> tuple[DecisionTree, ...]:
    """Return every player's decision tree, numbered as the game's information sets are."""
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
    """Return the sequence before each information set of a player: one, or it forgets."""
    here = np.flatnonzero(tree.player == player)
    numbers = tree.information_set[here]
    # Each set's first history, which is the last one written when going backwards
    first = np.zeros(len(tree.labels[player]), dtype=np.int64)
    first[numbers[::-1]] = here[::-1]
    differing = np.flatnonzero(last[here] != last[first[numbers]])
    if differing.size:
        one, other = int(first[numbers[differing[0]]]), int(here[differing[0]])
        label = tree.labels[player][int(numbers[differing[0]])]
        raise ValueError(
            f"imperfect recall: player {player} cannot tell {_path(tree, one)} from "
            f"{_path(tree, other)}, which both lie in its information set {quote(label)}, but it "
            "did not do or know the same on the way there; give them different information sets"
        )
    return last[first]


def _path(tree: GameTree, history: int) -> str:
    path = " ".join(repr(action) for action in tree.history_path(history))
    return shorten(path) or "the empty history"
