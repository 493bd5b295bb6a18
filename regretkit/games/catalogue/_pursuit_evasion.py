"""Pursuit-evasion: an evader crosses a graph with two patrols."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import quote, vector
from regretkit.games.catalogue._rules import NamedRules, put, tree_factory, whole
from regretkit.games.tree._history import TERMINAL
from regretkit.games.tree._rules import Batch, Column, Mask

_MOST_ROWS = 9


def _goals(goals: Sequence[float]) -> tuple[float, ...]:
    paid = vector(goals, np.size(goals), "goals")
    if not 1 <= paid.size <= _MOST_ROWS:
        raise ValueError(
            f"goals must be 1 to {_MOST_ROWS} numbers, one for each row, got {quote(goals)}"
        )
    return tuple(paid.tolist())


@frozen(repr=False, slots=False)
class PursuitEvasion(NamedRules, name="pursuit_evasion"):
    """Pursuit-evasion on a graph, in which an evader must pass two patrols.

    The graph has a start, three columns ``a``, ``b`` and ``c`` of nodes, and a column of goals,
    with a row for each goal. Player 0, the evader, moves from the start to any row of column ``a``,
    and from there along its row. In column ``b`` it may also move one row towards the middle row.
    Instead of moving, it may ``wait``, but not at the start. Player 1 moves two patrols, in columns
    ``a`` and ``c``. Both begin in the middle row. In each turn, each stays or moves by one row.

    Moves are simultaneous: in the tree the evader moves first, unobserved. If a patrol is at the
    evader's node after a turn, the evader pays 1 to player 1. If the evader reaches a goal, it
    earns the goal's payoff. Both events end the game. After the last turn both earn 0.

    The evader does not observe the patrols. A patrol observes whether its node has a trace of the
    evader. Moving to a node leaves a trace; waiting at a node removes it.

    The label of an information set consists of the player and its past moves. At ``0:a1,b1,wait``
    the evader waited at ``b1``. At ``1:2 2,1! 1`` the first patrol found a trace in row 1.

    Parameters
    ----------
    turns
        Number of turns, from 1 to 1,000. The shortest path to a goal takes 4.
    goals
        The payoff of each goal, by row: from 1 to 9 finite numbers.

    Examples
    --------
    >>> from regretkit.games import pursuit_evasion
    >>> pursuit_evasion().tree
    <GameTree: 34441 histories, 27185 terminals, 24 + 648 information sets>
    >>> pursuit_evasion(turns=2).tree.actions[0][1]
    ('wait', 'b1')

    References
    ----------
    Bošanský, Kiekintveld, Lisý and Pěchouček (2014), "An exact double-oracle algorithm for
    zero-sum extensive-form games with imperfect information", JAIR 51. Zero-sum with three goals:
    Farina, Kroer and Sandholm (2021), "Faster game solving via predictive Blackwell
    approachability", AAAI. Both show the graph in a figure only, so numbers of histories may
    differ.
    """

    turns: int = whole(4, 1, 1_000)
    goals: Sequence[float] = field(default=(5.0, 10.0, 3.0), converter=_goals)

    @property
    def rows(self) -> int:
        """Number of rows of the graph."""
        return len(self.goals)

    # Node 0 is the start. Then follow the columns a, b and c, and the goals, each by row.

    @cached_property
    def edges(self) -> NDArray[np.bool_]:
        """Whether the evader can move from node i to node j, shape ``(nodes, nodes)``."""
        rows, middle = self.rows, self.rows // 2
        edges = np.eye(1 + 4 * rows, k=rows, dtype=np.bool_)
        edges[0] = False
        edges[0, 1 : 1 + rows] = True
        for row in range(rows):
            if row != middle:
                edges[1 + rows + row, 1 + rows + row + (1 if row < middle else -1)] = True
        return edges

    @cached_property
    def patrolled(self) -> Indices:
        """The node of each patrol for each pair of rows, shape ``(2, rows**2)``."""
        first, second = np.divmod(np.arange(self.rows**2), self.rows)
        nodes: Indices = np.stack([1 + first, 1 + 2 * self.rows + second])
        return nodes

    @cached_property
    def patrols(self) -> NDArray[np.bool_]:
        """Whether the patrols can move from one pair of rows to another."""
        first, second = np.divmod(np.arange(self.rows**2), self.rows)
        near: NDArray[np.bool_] = (np.abs(np.subtract.outer(first, first)) <= 1) & (
            np.abs(np.subtract.outer(second, second)) <= 1
        )
        return near

    def start(self) -> Batch:
        middle, zero = self.rows // 2, np.zeros(1, dtype=np.int64)
        none = np.full((1, self.turns), -1, dtype=np.int16)
        return Batch(
            node=zero,  # of the evader
            pair=np.array([middle * self.rows + middle]),  # rows * (first patrol's row) + second's
            traces=zero,  # the nodes with a trace, as bits
            moves=none,  # of the evader
            watch=none,  # the patrols' moves: 4 pair + 2 (trace at patrol 0) + trace at patrol 1
        )

    def player(self, h: Batch) -> Indices:
        if h.length % 2:
            home = h.node >= len(self.edges) - self.rows
            return np.where(home, TERMINAL, 1)
        caught = (self.patrolled[:, h.pair] == h.node).any(axis=0)
        return np.where(caught | (h.length == 2 * self.turns), TERMINAL, 0)

    def legal(self, h: Batch) -> Mask:
        """Return the evader's next nodes, with 0 for ``wait``, or the patrols' pairs of rows."""
        if h.length % 2:
            return self.patrols[h.pair]
        legal = self.edges[h.node]
        legal[:, 0] = h.length > 0
        return legal

    def child(self, h: Batch, action: Indices) -> Batch:
        turn = h.length // 2
        if h.length % 2:
            found = [h.traces >> nodes & 1 for nodes in self.patrolled[:, action]]
            return h.then(
                pair=action, watch=put(h.watch, turn, 4 * action + 2 * found[0] + found[1])
            )
        node = np.where(action == 0, h.node, action)
        bit = np.int64(1) << node
        traces = np.where(action == 0, h.traces & ~bit, h.traces | bit)
        return h.then(node=node, traces=traces, moves=put(h.moves, turn, action))

    def observed(self, h: Batch) -> tuple[Column, ...]:
        return (h.watch if h.length % 2 else h.moves,)

    def payoffs(self, h: Batch) -> Vector:
        caught = (self.patrolled[:, h.pair] == h.node).any(axis=0)
        paid = np.concatenate([np.zeros(len(self.edges) - self.rows), self.goals])
        won = np.where(caught, -1.0, paid[h.node])
        return np.stack([won, -won], axis=1)

    def action_name(self, player: int, action: int) -> str:
        if player == 1:
            first, second = divmod(action, self.rows)
            return f"{first + 1} {second + 1}"
        column, row = divmod(action - 1, self.rows)
        return f"{('a', 'b', 'c', 'goal')[column]}{row + 1}" if action else "wait"

    def label(self, player: int, *observed: int) -> str:
        seen = [each for each in observed if each >= 0]
        if player == 0:
            return f"0:{','.join(self.action_name(0, move) for move in seen)}"
        moves = [(self.action_name(1, each // 4).split(), each % 4) for each in seen]
        names = [f"{a}{'!' * (found >> 1)} {b}{'!' * (found & 1)}" for (a, b), found in moves]
        return f"1:{','.join(names)}"


pursuit_evasion = tree_factory(PursuitEvasion)
"""Build the tree of ``PursuitEvasion``, whose arguments it takes."""
