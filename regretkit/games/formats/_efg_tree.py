"""From the nodes of an ``.efg`` file, in prefix order, to a game tree in breadth-first order."""

import itertools
from array import array
from typing import final

import numpy as np

from regretkit._typing import Indices, Vector
from regretkit._validate import LARGEST
from regretkit.games.formats._efg_nodes import Nodes
from regretkit.games.formats._header import numbered
from regretkit.games.formats._scanner import Scanner
from regretkit.games.game_tree import GameTree
from regretkit.games.history import CHANCE, TERMINAL

PLENTY = 10**7
"""So many payoffs a game may have whatever its file; beyond that, 10 for each letter."""


def game_tree(scanner: Scanner, players: int) -> GameTree:
    """Read the nodes of a file to its end, and return their tree."""
    start, nodes = scanner.position, Nodes(scanner, players)
    places = _Places(nodes)
    if not scanner.at_end():
        raise scanner.unexpected(f"the end of the file after all {places.parent.size} nodes")
    if places.parent.size * players > max(PLENTY, 10 * len(scanner.text)):
        raise scanner.fault(
            f"{places.parent.size} nodes and {players} players need a table of payoffs that is out "
            "of proportion to the file",
            start,
        )
    payoffs = _payoffs(places, nodes, players)
    wrong = np.flatnonzero(~(np.abs(payoffs) <= LARGEST).all(axis=1))
    if wrong.size:
        last = int(places.order[places.ends[wrong[0]]])
        raise scanner.fault(
            f"the payoffs on the way to this end sum to {payoffs[wrong[0]].tolist()}, but must be "
            f"at most {LARGEST:g} in size",
            nodes.position(start, last),
        )
    return _tree(places, nodes, payoffs, players)


@final
class _Places:
    """Where the nodes stand, level by level; prefix order lists a level in this very order."""

    def __init__(self, nodes: Nodes) -> None:
        depth, move, outcome = _prefix_order(nodes)
        # Numbers of few bits are sorted by counting them.
        order = np.argsort(depth.astype(np.min_scalar_type(depth.max())), kind="stable")
        self.order: Indices = order
        """The number in the file of each node."""
        self.move: Indices = move[order]
        """The information set of each node, -1 where the game ends."""
        self.outcome: Indices = outcome[order]
        self.ends: Indices = np.flatnonzero(self.move < 0)
        # Where the game ends, -1 finds the last entry.
        children = np.append(_array(nodes.declared.sizes), 0)[self.move]
        first = 1 + np.cumsum(children) - children
        self.parent: Indices = np.append(-1, np.repeat(np.arange(order.size), children))
        self.action: Indices = np.append(-1, np.arange(1, order.size) - np.repeat(first, children))


def _prefix_order(nodes: Nodes) -> tuple[Indices, Indices, Indices]:
    """Return the depth, the information set and the outcome of each node in the file's order."""
    depths, moves, outcomes = array("q"), array("q"), array("q")
    # How many children are still to come, of the last node that has any and of those above it
    left, waiting, sizes = 1, list[int](), nodes.declared.sizes
    for move, outcome in nodes:
        depths.append(len(waiting))
        moves.append(move)
        outcomes.append(outcome)
        left -= 1
        if move >= 0:
            waiting.append(left)
            left = sizes[move]
        while not left and waiting:
            left = waiting.pop()
        if not left:
            break
    return _array(depths), _array(moves), _array(outcomes)


def _array(numbers: "array[int]") -> Indices:
    return np.frombuffer(numbers, dtype=np.int64)


def _payoffs(places: _Places, nodes: Nodes, players: int) -> Vector:
    """Return what everybody earns at each end of the game, on the way there and at the end."""
    paid: Vector = np.frombuffer(nodes.declared.payoffs).reshape(-1, players)
    if not places.outcome[places.move >= 0].any():
        return paid[places.outcome[places.ends]]
    payoffs, parents = np.empty((places.ends.size, players)), places.parent[1:].tolist()
    for player in range(players):
        # One by one: a deep tree has as many levels as nodes.
        total = paid[places.outcome, player].tolist()
        for node, parent in enumerate(parents, start=1):
            total[node] += total[parent]
        payoffs[:, player] = np.array(total)[places.ends]
    return payoffs


def _tree(places: _Places, nodes: Nodes, payoffs: Vector, players: int) -> GameTree:
    owner, labels = _array(nodes.declared.owners), nodes.declared.labels()
    acting = places.move >= 0
    # Information sets are numbered in the order in which the levels come to them.
    first = np.full(owner.size, places.move.size)
    np.minimum.at(first, places.move[acting], np.flatnonzero(acting))
    in_order = np.lexsort((first, owner))
    # Where those of each player begin; chance's come first.
    begin = np.searchsorted(owner[in_order], np.arange(players + 1))
    number = np.empty(owner.size, dtype=np.int64)
    number[in_order] = np.arange(owner.size) - begin[owner[in_order]]
    number[owner == CHANCE] = -1
    actions = [numbered(names) for names, _ in nodes.declared.moves]
    own = [in_order[a:b].tolist() for a, b in itertools.pairwise(begin)]
    # Where the game ends, -1 finds the last entry.
    player = np.append(owner, TERMINAL)[places.move]
    return GameTree(
        parent=places.parent,
        player=player,
        information_set=np.append(number, -1)[places.move],
        action=places.action,
        probability=_probabilities(places, nodes),
        payoffs=payoffs,
        labels=[[labels[i] for i in sets] for sets in own],
        actions=[[actions[i] for i in sets] for sets in own],
        outcomes=[actions[i] for i in places.move[player == CHANCE]],
    )


def _probabilities(places: _Places, nodes: Nodes) -> Vector:
    """Return the probability with which chance leads to each node, 1 where it does not."""
    sizes = np.where(_array(nodes.declared.owners) == CHANCE, _array(nodes.declared.sizes), 0)
    first = np.cumsum(sizes) - sizes
    flat = np.array([p for _, probabilities in nodes.declared.moves for p in probabilities])
    move = places.move[places.parent[1:]]
    by_chance = 1 + np.flatnonzero(sizes[move])
    probability = np.ones(places.move.size)
    probability[by_chance] = flat[first[move[by_chance - 1]] + places.action[by_chance]]
    return probability
