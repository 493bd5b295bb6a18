"""Samples outcomes of chance in a DAG."""

from itertools import pairwise
from typing import TypeAlias, final

import numpy as np
from attrs import define, field
from numpy.typing import NDArray

from regretkit._util._typing import Indices, Vector
from regretkit.games._payoff_rows import expand_ranges
from regretkit.games.dag._passes import Edges, SubDAG
from regretkit.games.tree._history import CHANCE

Mask: TypeAlias = NDArray[np.bool_]

_CACHE_SIZE = 1_024
"""Largest number of sampled parts that are cached."""


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
        self, reachable: Mask, level: slice, generator: np.random.Generator, drawn: list[int]
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

    def _part(self, reachable: Mask, kept: list[Indices]) -> SubDAG:
        """Return the reachable part."""
        for start, stop in list(pairwise(self.levels.tolist()))[len(kept) :]:
            kept.append(self._edges(start + np.flatnonzero(reachable[start:stop])))
            reachable[self.full.edges.child[kept[-1]]] = True
        edges = self.full.edges.select(np.concatenate(kept))
        nodes = np.flatnonzero(reachable)
        renumbered = Edges(
            source=np.searchsorted(nodes, edges.source),
            child=np.searchsorted(nodes, edges.child),
            mover=edges.mover,
            place=np.where(edges.mover == CHANCE, self.probabilities.size - 1, edges.place),
        )
        levels = np.searchsorted(nodes, self.levels)
        return SubDAG(renumbered, levels, self.full.payoffs[:, nodes])
