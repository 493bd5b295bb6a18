"""Pursuit-evasion: an evader crosses a graph, on which two patrols look for it."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import quote, vector
from regretkit.games.catalogue._rules import NamedRules, tree_factory, whole
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
    """Pursuit-evasion on a graph, in which an evader passes two patrols.

    The graph has a start, three columns ``a``, ``b`` and ``c`` of nodes, and a column of goals,
    with a row for each goal. Player 0, the evader, moves from the start to any row of column
    ``a``, and from there along its row; in column ``b`` it may also move one row towards the row
    in the middle. Instead of moving, it may ``wait``, but not at the start. Player 1 moves two
    patrols, one in column ``a``, one in ``c``, which begin in the row in the middle: each stays, or
    moves up or down by one.

    Both move at the same time; in the tree the evader is first, and the patrols do not observe it.
    An evader that is at the node of a patrol after both moved is caught and loses 1 to the other
    player; at a goal it wins what the goal pays, which ends the game; after the last turn both
    earn 0. The evader does not observe the patrols. They observe whether the evader was at their
    nodes before; if it waited there, it left no trace.

    Information sets are named by the player and its past moves: at ``0:a1,b1,wait`` the evader
    waited in ``b1``, at ``1:2 2,1! 1`` the first patrol is in row 1, where it found a trace.

    Parameters
    ----------
    turns
        Number of turns, from 1 to 1,000; the shortest way to a goal takes 4.
    goals
        What each goal pays, from the first row on: from 1 to 9 finite numbers.

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
    zero-sum extensive-form games with imperfect information", JAIR 51, on such search games; the
    zero-sum form with three goals is one of the games of Farina, Kroer and Sandholm (2021),
    "Faster game solving via predictive Blackwell approachability", AAAI. Both describe the graph
    by a figure, so that the number of histories may differ from theirs.
    """

    turns: int = whole(4, 1, 1_000)
    goals: Sequence[float] = field(default=(5.0, 10.0, 3.0), converter=_goals)

    @property
    def rows(self) -> int:
        """Number of rows of the graph."""
        return len(self.goals)

    # The graph: node 0 is the start, then come the columns and the goals.

    @cached_property
    def edges(self) -> NDArray[np.bool_]:
        """Whether one move leads the evader from a node to another."""
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
        """The nodes of both patrols, for each pair of their rows."""
        first, second = np.divmod(np.arange(self.rows**2), self.rows)
        nodes: Indices = np.stack([1 + first, 1 + 2 * self.rows + second])
        return nodes

    @cached_property
    def patrols(self) -> NDArray[np.bool_]:
        """Whether the patrols can move from a pair of rows to another."""
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
            pair=np.array([middle * self.rows + middle]),  # the rows of the patrols, as one number
            traces=zero,  # the nodes with a trace, as bits
            moves=none,  # of the evader
            watch=none,  # the patrols' moves, each with the traces that they found
        )

    def player(self, h: Batch) -> Indices:
        if h.length % 2:
            home = h.node >= len(self.edges) - self.rows
            return np.where(home, TERMINAL, 1)
        caught = (self.patrolled[:, h.pair] == h.node).any(axis=0)
        return np.where(caught | (h.length == 2 * self.turns), TERMINAL, 0)

    def legal(self, h: Batch) -> Mask:
        """Return the evader's nodes, with ``wait`` in place of the start; or pairs of rows."""
        if h.length % 2:
            return self.patrols[h.pair]
        legal = self.edges[h.node]
        legal[:, 0] = h.length > 0
        return legal

    def child(self, h: Batch, action: Indices) -> Batch:
        turn = h.length // 2
        if h.length % 2:
            found = [h.traces >> nodes & 1 for nodes in self.patrolled[:, action]]
            watch = h.watch.copy()
            watch[:, turn] = 4 * action + 2 * found[0] + found[1]
            return h.then(pair=action, watch=watch)
        moves, node = h.moves.copy(), np.where(action == 0, h.node, action)
        moves[:, turn] = action
        bit = np.int64(1) << node
        traces = np.where(action == 0, h.traces & ~bit, h.traces | bit)
        return h.then(node=node, traces=traces, moves=moves)

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
        name = self._watched if player else lambda move: self.action_name(0, move)
        return f"{player}:{','.join(name(each) for each in observed if each >= 0)}"

    def _watched(self, number: int) -> str:
        pair, found = divmod(number, 4)
        names = self.action_name(1, pair).split()
        signs = ("!" if found & 2 else "", "!" if found & 1 else "")
        return " ".join(name + sign for name, sign in zip(names, signs, strict=True))


pursuit_evasion = tree_factory(PursuitEvasion)
"""Build the tree of ``PursuitEvasion``, whose arguments it takes."""
