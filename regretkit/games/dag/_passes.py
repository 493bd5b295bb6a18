"""Passes over a graph of states: how play comes down to them, and what they are worth."""

from itertools import pairwise
from typing import final

import numpy as np
from attrs import define, frozen

from regretkit._util._arrays import segment_sum
from regretkit._util._typing import Indices, Vector


@final
@frozen(eq=False)
class Edges:
    """The moves of a part of a graph, in order of the states that they lead from."""

    source: Indices
    """The state that each move leads from."""
    child: Indices
    """The state that it leads to."""
    mover: Indices
    """Who makes it: a player, or -1 where it is chance."""
    place: Indices
    """Index of its probability in the concatenated behaviors of all players and chance."""

    def select(self, chosen: Indices) -> "Edges":
        """Return some of these moves."""
        return Edges(
            self.source[chosen], self.child[chosen], self.mover[chosen], self.place[chosen]
        )


@final
@frozen(eq=False)
class _Level:
    """The moves from all states that are as far on, and how to add up over them."""

    edges: slice
    states: Indices
    """The states that they lead from, each once."""
    first_edge: Indices
    """For each of these, the place of its first move in the level."""
    order: Indices
    """The places of the moves in order of the states that they lead to."""
    children: Indices
    """These states, each once."""
    first_child: Indices
    """For each of them, the place of the first move to it in that order."""


@final
@define(eq=False, init=False)
class Part:
    """A graph, or what is left of it once chance has drawn, ready for passes.

    ``levels`` says how many states come before each level, and in all; states are numbered level
    by level, and every move leads to a later level.
    """

    edges: Edges
    root: int
    states: int
    payoffs: Vector
    """What each player earns in each state, 0 where the game goes on: ``(players, states)``."""
    _levels: tuple[_Level, ...]
    _own: dict[int, tuple[Indices, Indices]]
    """Each player's own moves, and where their probabilities stand among the player's."""

    def __init__(self, edges: Edges, levels: Indices, payoffs: Vector) -> None:
        self.edges, self.payoffs, self.root, self._own = edges, payoffs, 0, {}
        self.states = payoffs.shape[1]
        cuts = np.searchsorted(edges.source, levels)
        self._levels = tuple(
            _level(edges, start, stop) for start, stop in pairwise(cuts.tolist()) if stop > start
        )

    def reaches(self, player: int, probabilities: Vector) -> tuple[Vector, Vector]:
        """Return the reach of each state by a player's opponents, and by the player.

        Both are sums over all paths to the state: of the probabilities of the opponents' moves
        and chance's, and of those of the player's moves and chance's.
        """
        drawn, mover = probabilities[self.edges.place], self.edges.mover
        factors = np.stack(
            [
                np.where(mover == player, 1.0, drawn),
                np.where((mover == player) | (mover < 0), drawn, 1.0),
            ]
        )
        reach = np.zeros((2, self.states))
        reach[:, self.root] = 1.0
        for level in self._levels:
            here = level.edges
            coming = factors[:, here] * reach[:, self.edges.source[here]]
            totals = np.add.reduceat(coming[:, level.order], level.first_child, axis=1)
            reach[:, level.children] += totals
        return reach[0], reach[1]

    def worth(self, player: int, probabilities: Vector) -> Vector:
        """Return the expected payoff of a player from each state on."""
        drawn = probabilities[self.edges.place]
        worth: Vector = self.payoffs[player].copy()
        for level in reversed(self._levels):
            here = level.edges
            coming = drawn[here] * worth[self.edges.child[here]]
            worth[level.states] = np.add.reduceat(coming, level.first_edge)
        return worth

    def counterfactual(
        self, player: int, probabilities: Vector, first: int, dimension: int
    ) -> tuple[Vector, Vector, float]:
        """Return what a player's actions are worth, how it plays to them, and the game's worth.

            u[a]  =  sum over states of (the others' way there) (worth of the state after a)

        and beside it the sum of the player's own ways, of shape ``(dimension,)`` both. The player's
        probabilities begin at ``first``.
        """
        if player not in self._own:
            moves = np.flatnonzero(self.edges.mover == player)
            self._own[player] = moves, self.edges.place[moves] - first
        moves, action = self._own[player]
        others, own = self.reaches(player, probabilities)
        worth = self.worth(player, probabilities)
        source = self.edges.source[moves]
        utility = segment_sum(action, others[source] * worth[self.edges.child[moves]], dimension)
        return utility, segment_sum(action, own[source], dimension), float(worth[self.root])


def _level(edges: Edges, start: int, stop: int) -> _Level:
    source, child = edges.source[start:stop], edges.child[start:stop]
    first_edge = np.append(0, 1 + np.flatnonzero(np.diff(source)))
    order = np.argsort(child, kind="stable")
    first_child = np.append(0, 1 + np.flatnonzero(np.diff(child[order])))
    return _Level(
        edges=slice(start, stop),
        states=source[first_edge],
        first_edge=first_edge,
        order=order,
        children=child[order[first_child]],
        first_child=first_child,
    )
