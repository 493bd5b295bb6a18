"""The game tree of a public game: a history for every pair of types and every public node."""

import numpy as np
from numpy.typing import NDArray

from regretkit._util._arrays import expand_ranges
from regretkit._util._typing import Indices, Vector
from regretkit.games._memory_budget import MemoryBudget
from regretkit.games.public._layout import Layout
from regretkit.games.public._tree import Compare, PublicTree, Table
from regretkit.games.tree._game_tree import GameTree
from regretkit.games.tree._history import CHANCE, TERMINAL


def game_tree(layout: Layout, memory_limit: float | None = None) -> GameTree:
    """Return the histories of a public game: the deal of both players' types, then the tree."""
    tree, deal = layout.tree, layout.deal
    weight = layout.contexts[0].priors[0][:, np.newaxis] * deal.pairs()
    weight = weight * layout.contexts[0].priors[1] * layout.contexts[0].probability
    pairs = np.argwhere(weight > 0.0)
    MemoryBudget(memory_limit).check_histories(len(pairs) * tree.player.size)
    marginal = weight.sum(axis=1)
    dealt = np.flatnonzero(marginal)
    second = np.searchsorted(dealt, pairs[:, 0])
    # Histories in breadth-first order: their public nodes, types, parents, actions, probabilities
    # and the symmetries of images, -1 for none
    root = np.full((1, 4), -1)
    first = np.column_stack([np.full((dealt.size, 1), -1), dealt, np.full((dealt.size, 2), -1)])
    level = np.column_stack([np.full(len(pairs), 0), pairs, np.full(len(pairs), -1)])
    levels = [root, first, level]
    parents = [np.array([-1]), np.zeros_like(dealt), 1 + second]
    action = np.arange(len(pairs)) - np.searchsorted(second, second)
    actions = [np.array([-1]), np.arange(dealt.size), action]
    conditional = (weight / marginal[:, np.newaxis])[tuple(pairs.T)]
    probabilities = [np.ones(1), marginal[dealt] / marginal.sum(), conditional]
    begin = 1 + dealt.size
    following = _following(tree)
    counts = np.bincount(tree.parent[following[:, 0]], minlength=tree.player.size)
    offset = np.cumsum(counts) - counts
    while level.size:
        count = counts[level[:, 0]]
        nodes, symmetry = following[expand_ranges(offset[level[:, 0]], count)].T
        rows = np.repeat(np.arange(len(level)), count)
        types = level[rows, 1:3]
        for number in np.unique(symmetry[symmetry >= 0]).tolist():
            image = symmetry == number
            for player, permutation in enumerate(deal.symmetries[number]):
                types[image, player] = np.argsort(permutation)[types[image, player]]
        probability = _probability(layout, nodes, types)
        possible = probability > 0.0
        rows, nodes, types = rows[possible], nodes[possible], types[possible]
        parents.append(begin + rows)
        begin += len(level)
        actions.append(np.arange(rows.size) - np.searchsorted(rows, rows))
        probabilities.append(probability[possible])
        level = np.column_stack([nodes, types, symmetry[possible]])
        levels.append(level)
    histories = np.concatenate(levels)
    return _numbered(layout, histories, *map(np.concatenate, (parents, actions, probabilities)))


def _following(tree: PublicTree) -> Indices:
    """Return the nodes by those before them, each with -1 and with the symmetries of its images."""
    images = [() if outcome is None else outcome.images.values() for outcome in tree.outcome]
    nodes = 1 + np.argsort(tree.parent[1:], kind="stable")
    pairs = [(node, symmetry) for node in nodes.tolist() for symmetry in (-1, *images[node])]
    return np.array(pairs).reshape(-1, 2)


def pair_payoffs(layout: Layout, player: int = 0) -> tuple[Indices, Indices, Vector]:
    """Return what a player is paid for each pair of types and terminal, chance included.

    With the last sequences of both players, where it is not zero.
    """
    tree, deal = layout.tree, layout.deal
    contexts = [layout.contexts[number] for number in layout.context[tree.terminals]]
    MemoryBudget().check_payoffs(sum(c.alive[0].size * c.alive[1].size for c in contexts))
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


def _probability(layout: Layout, nodes: Indices, types: Indices) -> Vector:
    """Return the probability of the move of chance that leads to each node, else 1."""
    probability = np.ones(nodes.size)
    for node in np.unique(nodes).tolist():
        if (outcome := layout.tree.outcome[node]) is not None:
            rows = nodes == node
            probability[rows] = outcome.probability
            for player, factors in enumerate(outcome.factors):
                if factors is not None:
                    probability[rows] *= factors[types[rows, player]]
    return probability


def _numbered(
    layout: Layout, histories: Indices, parent: Indices, action: Indices, probability: Vector
) -> GameTree:
    """Return the tree of these histories, with information sets in order of occurrence."""
    tree, names = layout.tree, layout.deal.types
    nodes = histories[:, 0]
    player = np.where(nodes < 0, CHANCE, tree.player[nodes])
    information_set = np.full(nodes.size, -1)
    labels, actions = [], []
    for mover in (0, 1):
        rows = np.flatnonzero(player == mover)
        types = histories[rows, 1 + mover]
        at = layout.context[nodes[rows]]
        types = layout.first_types(mover)[at, types]
        keys = nodes[rows] * len(names[mover]) + types
        distinct, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        rank = np.argsort(np.argsort(first))
        information_set[rows] = rank[inverse.reshape(-1)]
        decided = [divmod(int(key), len(names[mover])) for key in distinct[np.argsort(first)]]
        labels.append([f"{names[mover][i]} /{'/'.join(tree.path(node))}" for node, i in decided])
        actions.append([tree.names[node] for node, _ in decided])
    chance = np.flatnonzero(player == CHANCE)
    begin, end = (np.searchsorted(parent, chance, side) for side in ("left", "right"))
    return GameTree(
        parent=parent,
        player=player,
        information_set=information_set,
        action=action,
        probability=probability,
        payoffs=payoffs_at(layout, histories[player == TERMINAL]),
        labels=labels,
        actions=actions,
        outcomes=[
            [_outcome(layout, row) for row in histories[i:j].tolist()]
            for i, j in zip(begin, end, strict=True)
        ],
    )


def _outcome(layout: Layout, history: list[int]) -> str:
    """Return the name of the outcome of chance that leads to a history."""
    node, first, second, symmetry = history
    if symmetry >= 0 and (outcome := layout.tree.outcome[node]) is not None:
        return next(name for name, number in outcome.images.items() if number == symmetry)
    if node > 0:
        return layout.tree.path(node)[-1]
    return layout.deal.types[0][first] if node < 0 else layout.deal.types[1][second]


def payoffs_at(layout: Layout, histories: Indices) -> NDArray[np.float64]:
    """Return the payoffs at terminal histories: a node and two types each."""
    payoffs = np.empty((len(histories), 2))
    for node in np.unique(histories[:, 0]).tolist():
        rows = histories[:, 0] == node
        first, second = histories[rows, 1:3].T
        terminal = layout.tree.nodes[node]
        if isinstance(terminal, Compare):
            strengths = layout.deal.strengths[terminal.order]
            result = np.sign(strengths[0][first] - strengths[1][second]).astype(np.int64)
            payoffs[rows] = np.array([terminal.tie, terminal.win, terminal.lose])[result]
        elif isinstance(terminal, Table):
            payoffs[rows] = terminal.payoffs[:, first, second].T
        else:
            payoffs[rows] = terminal.payoff
    return payoffs
