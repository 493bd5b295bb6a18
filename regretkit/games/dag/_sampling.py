"""What chance leaves of a graph of states once it has drawn."""

from itertools import pairwise
from typing import TypeAlias, final

import numpy as np
from attrs import define, field
from numpy.typing import NDArray

from regretkit._util._typing import Indices, Vector
from regretkit.games.dag._passes import Edges, Part
from regretkit.games.tree._history import CHANCE

Mask: TypeAlias = NDArray[np.bool_]

_PARTS = 1_024
"""What chance left of the graph is kept for so many of its draws."""


@final
@define(eq=False)
class Draws:
    """Draws what chance does, and keeps what it leaves of the graph.

    The last of ``chances`` is the 1 that stands for what chance has drawn.
    """

    full: Part
    player: Indices
    levels: Indices
    edges_before: Indices
    chances: Vector
    _until: int = field(init=False)
    """Number of the last state in which chance acts, -1 without one."""
    _parts: dict[tuple[int, ...], Part] = field(factory=dict, init=False)

    def __attrs_post_init__(self) -> None:
        drawing = np.flatnonzero(self.player == CHANCE)
        self._until = int(drawing[-1]) if drawing.size else -1

    def draw(self, generator: np.random.Generator) -> Part:
        """Draw once what chance does in each state that may then be come to."""
        alive = np.zeros(self.player.size, dtype=np.bool_)
        alive[0] = True
        drawn: list[int] = []
        kept: list[Indices] = []
        for start, stop in pairwise(self.levels.tolist()):
            if start > self._until:
                break
            kept.append(self._survivors(alive, slice(start, stop), generator, drawn))
            alive[self.full.edges.child[kept[-1]]] = True
        key = tuple(drawn)
        if key not in self._parts:
            if len(self._parts) >= _PARTS:
                self._parts.clear()
            self._parts[key] = self._left(alive, kept)
        return self._parts[key]

    def _survivors(
        self, alive: Mask, level: slice, generator: np.random.Generator, drawn: list[int]
    ) -> Indices:
        """Return the moves that are left of a level, of which chance makes one in each state."""
        here = level.start + np.flatnonzero(alive[level])
        chance = here[self.player[here] == CHANCE]
        made = np.empty(chance.size, dtype=np.int64)
        for place, state in enumerate(chance.tolist()):
            first, end = self.edges_before[state : state + 2].tolist()
            sums = np.cumsum(self.chances[self.full.edges.place[first:end]])
            number = int(np.searchsorted(sums, generator.random() * sums[-1], side="right"))
            made[place] = first + min(number, end - first - 1)
        drawn += made.tolist()
        return np.sort(np.append(self._moves(here[self.player[here] != CHANCE]), made))

    def _moves(self, states: Indices) -> Indices:
        """Return the moves of some states."""
        first, end = self.edges_before[states], self.edges_before[states + 1]
        counts = end - first
        offsets: Indices = np.repeat(first - (np.cumsum(counts) - counts), counts)
        return np.arange(int(counts.sum())) + offsets

    def _left(self, alive: Mask, kept: list[Indices]) -> Part:
        """Return the part of the graph that can still be come to."""
        for start, stop in list(pairwise(self.levels.tolist()))[len(kept) :]:
            kept.append(self._moves(start + np.flatnonzero(alive[start:stop])))
            alive[self.full.edges.child[kept[-1]]] = True
        edges = self.full.edges.select(np.concatenate(kept))
        states = np.flatnonzero(alive)
        renumbered = Edges(
            source=np.searchsorted(states, edges.source),
            child=np.searchsorted(states, edges.child),
            mover=edges.mover,
            place=np.where(edges.mover == CHANCE, self.chances.size - 1, edges.place),
        )
        levels = np.searchsorted(states, self.levels)
        return Part(renumbered, levels, self.full.payoffs[:, states])
