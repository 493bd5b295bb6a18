"""Rules of public games, to play them or build their trees."""

import itertools
from collections.abc import Iterator
from typing import cast

import numpy as np
from numpy.typing import NDArray

from regretkit._util._arrays import expand_ranges
from regretkit._util._typing import Indices, Vector
from regretkit.games._memory_budget import check_payoffs
from regretkit.games.public._layout import Layout, Matrix
from regretkit.games.public._tree import Compare, Free, Outcome, Table
from regretkit.games.tree._history import CHANCE
from regretkit.games.tree._rules import Batch, Column, Mask, Rules


class PublicRules(Rules):
    """The rules of a public game. The first two moves deal the types.

    A history is a row of the column ``at``: a node and the types of both players, 0 before the
    deal.
    """

    numbered = True

    def __init__(self, layout: Layout) -> None:
        self.layout, tree = layout, layout.tree
        # Actions are numbered node by node, including images of outcomes. Types follow.
        of_node: list[list[tuple[int, int, str]]] = [[] for _ in tree.nodes]
        for child, (parent, action) in enumerate(zip(tree.parent, tree.action, strict=True)):
            if child:
                outcome = tree.outcome[child]
                images = {} if outcome is None else outcome.images
                of_node[parent].append((child, -1, tree.names[parent][action]))
                of_node[parent] += [(child, image, name) for name, image in images.items()]
        self.counts = np.array([*map(len, of_node)])
        self.begin = np.cumsum(self.counts) - self.counts
        following, symmetries, names = zip(*itertools.chain(*of_node), strict=True)
        self.following, self.symmetry = np.array(following), np.array(symmetries)
        self.names: list[str] = [*names, *layout.deal.types[0], *layout.deal.types[1]]

    def start(self) -> Batch:
        return Batch(at=np.zeros((1, 3), dtype=np.int64))

    def player(self, h: Batch) -> Indices | int:
        return self.layout.tree.player[h.at[:, 0]] if h.length > 1 else CHANCE

    def moves(self, h: Batch) -> tuple[Indices, Indices]:
        """Return the types of positive weight, or the possible actions and outcomes."""
        if h.length < 2:
            weights, of = self._weights(h)
            row, types = np.nonzero(weights[of] > 0.0)
            return row, types + self._dealt_from(h)
        nodes = h.at[:, 0]
        row = np.repeat(np.arange(h.size), self.counts[nodes])
        action = expand_ranges(self.begin[nodes], self.counts[nodes])
        if self.layout.tree.player[nodes[0]] != CHANCE:
            return row, action
        possible = self.chance(h[row], action) > 0.0
        return row[possible], action[possible]

    def legal(self, h: Batch) -> Mask:
        row, action = self.moves(h)
        mask = np.zeros((h.size, len(self.names)), dtype=np.bool_)
        mask[row, action] = True
        return mask

    def child(self, h: Batch, action: Indices) -> Batch:
        at = h.at.copy()
        if h.length < 2:
            at[:, 1 + h.length] = action - self._dealt_from(h)
            return h.then(at=at)
        at[:, 0], symmetry = self.following[action], self.symmetry[action]
        # An image leads to the node of its outcome: apply the inverse symmetry to the types.
        for number in np.unique(symmetry[symmetry >= 0]).tolist():
            image = symmetry == number
            for player, permutation in enumerate(self.layout.deal.symmetries[number], 1):
                at[image, player] = np.argsort(permutation)[at[image, player]]
        return h.then(at=at)

    def chance(self, h: Batch, action: Indices) -> Vector:
        """Return the probabilities of types or of outcomes."""
        if h.length < 2:
            weights, of = self._weights(h)
            shares: Vector = weights / weights.sum(axis=1, keepdims=True)
            return shares[of, action - self._dealt_from(h)]
        at, probability = self.child(h, action).at, np.empty(h.size)
        for node, rows in _by_node(at):
            outcome = cast("Outcome", self.layout.tree.outcome[node])
            probability[rows] = outcome.probability
            for types, factors in zip(at[rows, 1:].T, outcome.factors, strict=True):
                probability[rows] *= 1.0 if factors is None else factors[types]
        return probability

    def observed(self, h: Batch) -> tuple[Column, ...]:
        """Return the numbers of decision points."""
        layout, nodes = self.layout, h.at[:, 0]
        player = int(layout.tree.player[nodes[0]])
        first_point = np.zeros(layout.tree.player.size, dtype=np.int64)
        first_point[layout.decisions[player]] = layout.first_point[player][:-1]
        types = h.at[:, 1 + player]
        return (first_point[nodes] + layout.places[player][layout.context[nodes], types],)

    def payoffs(self, h: Batch) -> Vector:
        return payoffs_at(self.layout, h.at)

    def action_name(self, player: int, action: int) -> str:
        return self.names[action]

    def label(self, player: int, *observed: int) -> str:
        return self.layout.label(player, observed[0])

    def _dealt_from(self, h: Batch) -> int:
        """Return the action that deals type 0 to the next player."""
        return self.following.size + h.length * self.layout.deal.sizes[0]

    def _weights(self, h: Batch) -> tuple[Matrix, Indices]:
        """Return weights of the next player's types, and the row of weights of each history."""
        deal, (first, second) = self.layout.deal, self.layout.contexts[0].priors
        dealt, of = np.unique(h.at[:, 1], return_inverse=True)
        if h.length:
            return second * deal.pairs(dealt), of
        return first * deal.meeting(0).sums(second[np.newaxis]).free, of


def _by_node(histories: Indices) -> Iterator[tuple[int, NDArray[np.bool_]]]:
    """Yield each node of histories, and a mask of the histories there."""
    for node in np.unique(histories[:, 0]).tolist():
        yield node, histories[:, 0] == node


def payoffs_at(layout: Layout, histories: Indices) -> Matrix:
    """Return the payoffs at terminal histories, given as rows of a node and two types."""
    payoffs = np.empty((len(histories), 2))
    for node, rows in _by_node(histories):
        first, second = histories[rows, 1:].T
        terminal = layout.tree.nodes[node]
        if isinstance(terminal, Compare):
            strengths = layout.deal.strengths[terminal.order]
            result = np.sign(strengths[0][first] - strengths[1][second]).astype(np.int64)
            payoffs[rows] = np.array([terminal.tie, terminal.win, terminal.lose])[result]
        elif isinstance(terminal, Table):
            payoffs[rows] = terminal.payoffs[:, first, second].T
        elif isinstance(terminal, Free):
            payoffs[rows] = terminal.payoff
    return payoffs


def pair_payoffs(layout: Layout, player: int = 0) -> tuple[Indices, Indices, Vector]:
    """Return the nonzero payoffs of a player by pairs of types and terminals, times chance.

    The result is the last sequence of each player, and the payoff times chance's probability.
    """
    tree, deal = layout.tree, layout.deal
    contexts = [layout.contexts[number] for number in layout.context[tree.terminals]]
    check_payoffs(sum(c.alive[0].size * c.alive[1].size for c in contexts))
    pairs, found = deal.pairs(), list[tuple[Indices, Indices, Vector]]()
    for node, context in zip(tree.terminals.tolist(), contexts, strict=True):
        weight = context.priors[0][:, np.newaxis] * pairs * context.priors[1]
        types = np.argwhere(weight > 0.0)
        at = np.column_stack([np.full(len(types), node), types])
        value = payoffs_at(layout, at)[:, player] * weight[tuple(types.T)] * context.probability
        paid = value != 0.0
        x, y = (layout.sequences(i, int(layout.last[i, node]))[types[paid, i]] for i in (0, 1))
        found.append((x, y, value[paid]))
    first, second, value = map(np.concatenate, zip(*found, strict=True))
    return first, second, value
