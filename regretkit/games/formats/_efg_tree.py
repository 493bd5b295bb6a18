"""From the nodes of an ``.efg`` file, in prefix order, to a game tree in breadth-first order."""

from array import array
from typing import final

import numpy as np

from regretkit._typing import Indices, Vector
from regretkit._validate import LARGEST
from regretkit.games.formats._efg_nodes import InformationSet, Nodes
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
        parent, depth, move, outcome = _prefix_order(nodes)
        order = np.argsort(depth, kind="stable")
        self.order: Indices = order
        """The number in the file of each node."""
        place = np.empty_like(order)
        place[order] = np.arange(order.size)
        self.parent: Indices = np.append(-1, place[parent[order[1:]]])
        self.move: Indices = move[order]
        """What is done at each node, -1 where the game ends."""
        self.outcome: Indices = outcome[order]
        self.level_ends: Indices = np.cumsum(np.bincount(depth))
        self.ends: Indices = np.flatnonzero(self.move < 0)
        number = np.arange(order.size)
        self.action: Indices = number - np.searchsorted(self.parent, self.parent)
        self.action[0] = -1


def _prefix_order(nodes: Nodes) -> tuple[Indices, Indices, Indices, Indices]:
    """Return the parent, the depth, the move and the outcome of each node in the file's order."""
    parents, depths, moves, outcomes = array("q"), array("q"), array("q"), array("q")
    sets = nodes.sets
    # Of the node whose children are being read: its number, and how many are still to come.
    parent, left, waiting = -1, 1, list[tuple[int, int]]()
    for number, (move, outcome) in enumerate(nodes):
        parents.append(parent)
        depths.append(len(waiting))
        moves.append(move)
        outcomes.append(outcome)
        left -= 1
        if move >= 0:
            waiting.append((parent, left))
            parent, left = number, len(sets[move].actions)
        while not left and waiting:
            parent, left = waiting.pop()
        if not left:
            break
    return _array(parents), _array(depths), _array(moves), _array(outcomes)


def _array(numbers: "array[int]") -> Indices:
    return np.frombuffer(numbers, dtype=np.int64)


def _payoffs(places: _Places, nodes: Nodes, players: int) -> Vector:
    """Return what everybody earns at each end of the game, on the way there and at the end."""
    paid: Vector = np.frombuffer(nodes.payoffs).reshape(-1, players)
    if not places.outcome[places.move >= 0].any():
        return paid[places.outcome[places.ends]]
    total = paid[places.outcome]
    for start, end in zip(places.level_ends, places.level_ends[1:], strict=False):
        total[start:end] += total[places.parent[start:end]]
    return total[places.ends]


def _tree(places: _Places, nodes: Nodes, payoffs: Vector, players: int) -> GameTree:
    count = len(nodes.sets)
    acting = places.move >= 0
    owner = np.array([known.player for known in nodes.sets], dtype=np.int64)
    # Information sets are numbered in the order in which the levels come to them.
    first = np.full(count, places.move.size)
    np.minimum.at(first, places.move[acting], np.flatnonzero(acting))
    in_order = np.lexsort((first, owner))
    number = np.empty(count, dtype=np.int64)
    number[in_order] = np.arange(count) - np.searchsorted(owner[in_order], owner[in_order])
    number[owner == CHANCE] = -1
    own: list[list[InformationSet]] = [[] for _ in range(players)]
    for i in in_order[np.count_nonzero(owner == CHANCE) :]:
        own[owner[i]].append(nodes.sets[i])
    actions = {names: numbered(names) for names in {known.actions for known in nodes.sets}}
    # Where the game ends, -1 finds the last entry.
    player = np.append(owner, TERMINAL)[places.move]
    return GameTree(
        parent=places.parent,
        player=player,
        information_set=np.append(number, -1)[places.move],
        action=places.action,
        probability=_probabilities(places, nodes),
        payoffs=payoffs,
        labels=[[known.label or str(known.number) for known in sets] for sets in own],
        actions=[[actions[known.actions] for known in sets] for sets in own],
        outcomes=[actions[nodes.sets[move].actions] for move in places.move[player == CHANCE]],
    )


def _probabilities(places: _Places, nodes: Nodes) -> Vector:
    """Return the probability with which chance leads to each node, 1 where it does not."""
    sizes = [len(known.probabilities) for known in nodes.sets]
    first = np.cumsum([0, *sizes])
    flat = np.array([p for known in nodes.sets for p in known.probabilities] or [1.0])
    move = places.move[places.parent]
    by_chance = np.append(np.array(sizes, dtype=np.int64), 0)[move] > 0
    by_chance[0] = False
    probability = np.ones(move.size)
    probability[by_chance] = flat[first[move[by_chance]] + places.action[by_chance]]
    return probability
