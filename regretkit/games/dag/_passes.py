"""Passes over a DAG, forward and backward, and samples of the outcomes of chance."""

from itertools import pairwise
from typing import NamedTuple, final

import numpy as np
from attrs import define, field, frozen
from numpy.typing import NDArray

from regretkit._util._arrays import expand_ranges, segment_sum
from regretkit._util._typing import Indices, Vector
from regretkit.games.tree._history import CHANCE

_CACHE_SIZE = 1_024
"""Largest number of sampled parts that are cached."""


class Edges(NamedTuple):
    """Edges, ordered by source."""

    source: Indices
    child: Indices
    mover: Indices
    """The acting player, -1 for chance."""
    place: Indices
    """Index of the probability in the concatenated behaviors of all players and chance."""


@final
@frozen(eq=False)
class _Level:
    """The edges from all nodes of a level, and the index arrays of the sums over them."""

    edges: slice
    nodes: Indices
    """The distinct sources."""
    first_edge: Indices
    """The first edge of each source, counted within the level."""
    order: Indices
    """The edges ordered by child, counted within the level."""
    children: Indices
    """The distinct children."""
    first_child: Indices
    """The first edge to each child in that order."""


@final
@define(eq=False, init=False)
class SubDAG:
    """A DAG, or the part of it that sampled outcomes of chance leave reachable.

    Nodes are numbered level by level, and every edge leads to a later level; ``levels`` is the
    number of nodes before each level, and in total.
    """

    edges: Edges
    root: int
    nodes: int
    payoffs: Vector
    """Payoffs, 0 at nodes that are not terminal, shape ``(players, nodes)``."""
    _levels: tuple[_Level, ...]
    _edges_of: dict[int, tuple[Indices, Indices]]
    """For each player, its edges and the action of each."""

    def __init__(self, edges: Edges, levels: Indices, payoffs: Vector) -> None:
        self.edges, self.payoffs, self.root, self._edges_of = edges, payoffs, 0, {}
        self.nodes = payoffs.shape[1]
        cuts = np.searchsorted(edges.source, levels)
        self._levels = tuple(
            _level(edges, start, stop) for start, stop in pairwise(cuts.tolist()) if stop > start
        )

    def reach_probabilities(self, player: int, probabilities: Vector) -> tuple[Vector, Vector]:
        """Return the reach probabilities of each node by a player's opponents and by the player.

        Both are sums over all paths to the node, of the products of the opponents' and chance's
        probabilities, and of the player's and chance's.
        """
        drawn, mover = probabilities[self.edges.place], self.edges.mover
        factors = np.stack(
            [
                np.where(mover == player, 1.0, drawn),
                np.where((mover == player) | (mover < 0), drawn, 1.0),
            ]
        )
        reach = np.zeros((2, self.nodes))
        reach[:, self.root] = 1.0
        for level in self._levels:
            edges = level.edges
            terms = factors[:, edges] * reach[:, self.edges.source[edges]]
            totals = np.add.reduceat(terms[:, level.order], level.first_child, axis=1)
            reach[:, level.children] += totals
        return reach[0], reach[1]

    def values(self, player: int, probabilities: Vector) -> Vector:
        """Return the expected payoff of a player at each node."""
        drawn = probabilities[self.edges.place]
        values: Vector = self.payoffs[player].copy()
        for level in reversed(self._levels):
            edges = level.edges
            terms = drawn[edges] * values[self.edges.child[edges]]
            values[level.nodes] = np.add.reduceat(terms, level.first_edge)
        return values

    def counterfactual(
        self, player: int, probabilities: Vector, first: int, dimension: int
    ) -> tuple[Vector, Vector, float]:
        """Return a player's counterfactual utilities, its reach of actions, and its value.

            u[a]  =  sum over nodes n of (opponents' reach of n) (value of the child of n after a)

        The reach of an action sums the player's reach of the same nodes; both have shape
        ``(dimension,)``. The player's probabilities begin at index ``first``.
        """
        if player not in self._edges_of:
            moves = np.flatnonzero(self.edges.mover == player)
            self._edges_of[player] = moves, self.edges.place[moves] - first
        moves, action = self._edges_of[player]
        opponents, reach = self.reach_probabilities(player, probabilities)
        values = self.values(player, probabilities)
        source = self.edges.source[moves]
        utility = segment_sum(
            action, opponents[source] * values[self.edges.child[moves]], dimension
        )
        return utility, segment_sum(action, reach[source], dimension), float(values[self.root])


def _level(edges: Edges, start: int, stop: int) -> _Level:
    source, child = edges.source[start:stop], edges.child[start:stop]
    first_edge = np.append(0, 1 + np.flatnonzero(np.diff(source)))
    order = np.argsort(child, kind="stable")
    first_child = np.append(0, 1 + np.flatnonzero(np.diff(child[order])))
    return _Level(
        edges=slice(start, stop),
        nodes=source[first_edge],
        first_edge=first_edge,
        order=order,
        children=child[order[first_child]],
        first_child=first_child,
    )


@final
@define(eq=False)
class ChanceSampler:
    """Samples one outcome at each reachable chance node, and caches the resulting parts.

    The last entry of ``probabilities`` is 1, the probability of sampled outcomes in a part.
    """

    full: SubDAG
    player: Indices
    levels: Indices
    edges_before: Indices
    probabilities: Vector
    _last_chance: int = field(init=False)
    """The last chance node, -1 without one."""
    _parts: dict[tuple[int, ...], SubDAG] = field(factory=dict, init=False)

    def __attrs_post_init__(self) -> None:
        chance = np.flatnonzero(self.player == CHANCE)
        self._last_chance = int(chance[-1]) if chance.size else -1

    def sample(self, generator: np.random.Generator) -> SubDAG:
        """Sample one outcome at each chance node that is then reachable."""
        reachable = np.zeros(self.player.size, dtype=np.bool_)
        reachable[0] = True
        drawn: list[int] = []
        kept: list[Indices] = []
        for start, stop in pairwise(self.levels.tolist()):
            if start > self._last_chance:
                break
            kept.append(self._sample_level(reachable, slice(start, stop), generator, drawn))
            reachable[self.full.edges.child[kept[-1]]] = True
        key = tuple(drawn)
        if key not in self._parts:
            if len(self._parts) >= _CACHE_SIZE:
                self._parts.clear()
            self._parts[key] = self._part(reachable, kept)
        return self._parts[key]

    def _sample_level(
        self,
        reachable: NDArray[np.bool_],
        level: slice,
        generator: np.random.Generator,
        drawn: list[int],
    ) -> Indices:
        """Return the remaining edges of a level, one for each chance node."""
        nodes = level.start + np.flatnonzero(reachable[level])
        chance = nodes[self.player[nodes] == CHANCE]
        made = np.empty(chance.size, dtype=np.int64)
        for place, node in enumerate(chance.tolist()):
            first, end = self.edges_before[node : node + 2].tolist()
            sums = np.cumsum(self.probabilities[self.full.edges.place[first:end]])
            number = int(np.searchsorted(sums, generator.random() * sums[-1], side="right"))
            made[place] = first + min(number, end - first - 1)
        drawn += made.tolist()
        return np.sort(np.append(self._edges(nodes[self.player[nodes] != CHANCE]), made))

    def _edges(self, nodes: Indices) -> Indices:
        first = self.edges_before[nodes]
        return expand_ranges(first, self.edges_before[nodes + 1] - first)

    def _part(self, reachable: NDArray[np.bool_], kept: list[Indices]) -> SubDAG:
        for start, stop in list(pairwise(self.levels.tolist()))[len(kept) :]:
            kept.append(self._edges(start + np.flatnonzero(reachable[start:stop])))
            reachable[self.full.edges.child[kept[-1]]] = True
        chosen = np.concatenate(kept)
        edges = Edges(*(entries[chosen] for entries in self.full.edges))
        nodes = np.flatnonzero(reachable)
        renumbered = Edges(
            source=np.searchsorted(nodes, edges.source),
            child=np.searchsorted(nodes, edges.child),
            mover=edges.mover,
            place=np.where(edges.mover == CHANCE, self.probabilities.size - 1, edges.place),
        )
        levels = np.searchsorted(nodes, self.levels)
        return SubDAG(renumbered, levels, self.full.payoffs[:, nodes])
