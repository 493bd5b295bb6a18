"""Games in which information sets that differ by a symmetry, such as a suit, are one."""

import copy
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from regretkit._util._typing import Indices
from regretkit.games._extensive_form import ExtensiveFormGame
from regretkit.games._payoff_rows import mixed, offsets
from regretkit.games.tree._history import CHANCE
from regretkit.games.tree._sequences import merge_terminals
from regretkit.sets import DecisionTree

Hashes: TypeAlias = NDArray[np.uint64]

_LARGEST_PART = 0.8
"""The largest part of the information sets that may be left."""
_DIGITS = 40
"""Binary digits in which payoffs must agree."""


def merged_by_symmetry(game: ExtensiveFormGame) -> ExtensiveFormGame | None:
    """Return a game of two players with far fewer information sets, None if there is none.

    Information sets get the same colour unless their actions, in order, differ in the colours of
    the sequences before them, of the information sets after them, or of what they earn against
    which sequences of the opponent. This partition is equitable: against strategies that are equal
    on it so are utilities, and then so is a best response. So an equilibrium of the small game is
    one of the game, where each sequence has the probability of its colour. The tree of the small
    game is that of the whole game.

    References
    ----------
    Grohe, Kersting, Mladenov and Selman (2014), "Dimension reduction via colour refinement", ESA.
    """
    if not (game.tree.player == CHANCE).any():
        return None  # for actions that differ in their number are different
    trees, entries = game.domains, np.flatnonzero(game.payoffs[0])
    last = game.sequences[:, entries]
    digits, exponent = np.frexp(game.payoffs[0, entries])
    value = np.ldexp(np.round(np.ldexp(digits, _DIGITS)), exponent).view(np.uint64)
    points, classes = [tree.sizes.astype(np.uint64) for tree in trees], 0
    while True:
        of_sequence = [_following(tree, color) for tree, color in zip(trees, points, strict=True)]
        for player, tree in enumerate(trees):
            earned = mixed(value + of_sequence[1 - player][last[1 - player]])
            after = _sums(tree.parent_sequence, mixed(points[player]), tree.dimension)
            told = mixed(_sums(last[player], earned, tree.dimension) + mixed(after))[1:]
            total = np.add.reduceat(mixed(told + _actions(tree)), tree.simplices.first)
            before = of_sequence[player][tree.parent_sequence]
            points[player] = mixed(mixed(total + points[player]) + before)
        found = [np.unique(color, return_index=True, return_inverse=True) for color in points]
        coarser, classes = classes, sum(first.size for _, first, _ in found)
        if classes > _LARGEST_PART * sum(tree.points for tree in trees):
            return None
        if classes == coarser:
            break
    return _merged(game, [(first, color) for _, first, color in found])


def _merged(game: ExtensiveFormGame, kinds: list[tuple[Indices, Indices]]) -> ExtensiveFormGame:
    """Merge information sets, given the first of each colour and the colour of each."""
    trees, which = [], []
    for tree, (first, color) in zip(game.domains, kinds, strict=True):
        order = np.argsort(first)
        kept, kind = first[order], np.argsort(order)[color]
        begin = offsets(tree.sizes[kept])[kind] - tree.simplices.first
        which.append(np.append(0, 1 + np.arange(tree.dimension - 1) + np.repeat(begin, tree.sizes)))
        trees.append(DecisionTree(which[-1][tree.parent_sequence[kept]], tree.sizes[kept]))
    small = copy.copy(game)
    small.domains, small._rows, small._merged = tuple(trees), {}, tuple(which)
    merged = np.array([own[last] for own, last in zip(which, game.sequences, strict=True)])
    dimensions = [tree.dimension for tree in trees]
    ones = np.ones(merged.shape[1])
    small.sequences, small.payoffs = merge_terminals(merged, ones, game.payoffs.T, dimensions)
    return small


def _actions(tree: DecisionTree) -> Hashes:
    """Return a hash of each action's number at its decision point."""
    first = np.repeat(tree.simplices.first, tree.sizes)
    return mixed((1 + np.arange(first.size) - first).astype(np.uint64))


def _following(tree: DecisionTree, points: Hashes) -> Hashes:
    """Return the colours of sequences, of their decision points and actions."""
    own = mixed(np.repeat(points, tree.sizes) + _actions(tree))
    return np.append(np.zeros(1, dtype=np.uint64), own)


def _sums(places: Indices, hashes: Hashes, size: int) -> Hashes:
    """Return the sum of hashes in each place, modulo 2^64."""
    total = np.zeros(size, dtype=np.uint64)
    np.add.at(total, places, hashes)
    return total
