"""Pursuit-evasion: an evader crosses a graph, on which two patrols look for it."""

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import quote, vector, whole_number
from regretkit.games._extensive_form import ExtensiveFormGame
from regretkit.games._memory_budget import MemoryBudget
from regretkit.games._registry import call_text, register, rules_of
from regretkit.games.tree._history import TERMINAL

_MOST_ROWS = 9
_BITS = 62
"""Limit on the bits of a number that encodes what a player knows."""
_COUNTED = 100
"""Limit on the turns that are counted; no memory holds the tree of more."""


@register
def pursuit_evasion(
    turns: int = 4, goals: Sequence[float] = (5.0, 10.0, 3.0), *, memory_limit: float | None = None
) -> ExtensiveFormGame:
    """Return pursuit-evasion on a graph, in which an evader passes two patrols.

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
        Number of turns, at least 1; the shortest way to a goal takes 4.
    goals
        What each goal pays, from the first row on: from 1 to 9 finite numbers.
    memory_limit
        Largest number of bytes that building may take, by default all that are available.

    Examples
    --------
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
    rules = _rules(turns, goals)
    MemoryBudget(memory_limit).check_levels(rules.widths())
    name = call_text(pursuit_evasion, turns=rules.turns, goals=rules.goals)
    return ExtensiveFormGame.from_batch(rules.start(), name=name, memory_limit=memory_limit)


@rules_of("pursuit_evasion")
def pursuit_evasion_batch(
    turns: int = 4, goals: Sequence[float] = (5.0, 10.0, 3.0)
) -> "PursuitEvasion":
    """Return the batch of the empty history of ``pursuit_evasion``."""
    rules = _rules(turns, goals)
    if rules.turns * (4 * rules.rows**2 - 1).bit_length() >= _BITS:
        raise ValueError(
            f"turns={rules.turns} and {rules.rows} goals make moves and traces that do not fit "
            f"into {_BITS} bits; take fewer turns or goals"
        )
    return rules.start()


def _rules(turns: int, goals: Sequence[float]) -> "_Rules":
    paid = vector(goals, np.size(goals), "goals")
    if not 1 <= paid.size <= _MOST_ROWS:
        raise ValueError(
            f"goals must be 1 to {_MOST_ROWS} numbers, one for each row, got {quote(goals)}"
        )
    return _Rules(whole_number(turns, "turns", minimum=1), tuple(paid.tolist()))


@frozen(slots=False)
class _Rules:
    """Parameters, and the graph: node 0 is the start, then come the columns and the goals."""

    turns: int
    goals: tuple[float, ...]

    @property
    def rows(self) -> int:
        return len(self.goals)

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

    def start(self) -> "PursuitEvasion":
        middle, empty = self.rows // 2, np.zeros(1, dtype=np.int64)
        pair = np.array([middle * self.rows + middle])
        return PursuitEvasion(self, 0, empty, pair, empty, empty, empty + 1)

    def widths(self) -> Iterator[int]:
        """Yield the numbers of histories by length."""
        moves = (self.edges | np.eye(len(self.edges), dtype=np.bool_)).astype(object)
        moves[0, 0] = 0
        free = np.ones((len(self.edges), self.rows**2), dtype=object)
        free[self.patrolled, np.arange(self.rows**2)] = 0
        running = np.zeros_like(free)
        running[0, self.rows // 2 * (self.rows + 1)] = 1
        yield 1
        for _ in range(min(self.turns, _COUNTED)):
            running = moves.T @ running
            yield int(running.sum())
            running[-self.rows :] = 0
            running = running @ self.patrols.astype(object)
            yield int(running.sum())
            running *= free


@frozen(eq=False)
class PursuitEvasion:
    """A batch of histories of ``length`` moves, of the evader and of the patrols in turn."""

    rules: _Rules
    length: int
    node: Indices
    """Where the evader is."""
    pair: Indices
    """The rows of the patrols, as the digits of a number."""
    traces: Indices
    """The nodes with a trace, as a bit mask."""
    moves: Indices
    """The evader's moves, as the digits of a number."""
    watch: Indices
    """The patrols' moves and the traces that they found, as the digits of a number."""

    def player(self) -> Indices:
        if self.length % 2:
            return np.where(self._is_home(slice(None)), TERMINAL, 1)
        caught = (self.rules.patrolled[:, self.pair] == self.node).any(axis=0)
        return np.where(caught | (self.length == 2 * self.rules.turns), TERMINAL, 0)

    def actions(self, rows: Indices) -> NDArray[np.bool_]:
        """Return the evader's nodes, with ``wait`` in place of the start; or pairs of rows."""
        if self.length % 2:
            return self.rules.patrols[self.pair[rows]]
        possible = self.rules.edges[self.node[rows]]
        possible[:, 0] = self.length > 0
        return possible

    def child(self, rows: Indices, action: Indices) -> "PursuitEvasion":
        node, pair, traces = self.node[rows], self.pair[rows], self.traces[rows]
        moves, watch = self.moves[rows], self.watch[rows]
        if self.length % 2:
            pair = action
            found = [traces >> nodes & 1 for nodes in self.rules.patrolled[:, pair]]
            watch = (watch * self.rules.rows**2 + pair) * 4 + 2 * found[0] + found[1]
        else:
            moves = moves * len(self.rules.edges) + action
            node = np.where(action == 0, node, action)
            bit = np.int64(1) << node
            traces = np.where(action == 0, traces & ~bit, traces | bit)
        return PursuitEvasion(self.rules, self.length + 1, node, pair, traces, moves, watch)

    def probability(self, rows: Indices, action: Indices) -> Vector:
        raise AssertionError("there is no chance in this game")

    def information_set(self, rows: Indices) -> Indices:
        known = self.watch if self.length % 2 else self.moves
        return known[rows]

    def payoffs(self, rows: Indices) -> Vector:
        caught = (self.rules.patrolled[:, self.pair[rows]] == self.node[rows]).any(axis=0)
        paid = np.concatenate([np.zeros(len(self.rules.edges) - self.rules.rows), self.rules.goals])
        won = np.where(caught, -1.0, paid[self.node[rows]])
        return np.stack([won, -won], axis=1)

    def action_name(self, player: int, action: int) -> str:
        if player == 1:
            first, second = divmod(action, self.rules.rows)
            return f"{first + 1} {second + 1}"
        column, row = divmod(action - 1, self.rules.rows)
        return f"{('a', 'b', 'c', 'goal')[column]}{row + 1}" if action else "wait"

    def label(self, player: int, information_set: int) -> str:
        digits, base = [], 4 * self.rules.rows**2 if player else len(self.rules.edges)
        while information_set > player:  # what the patrols know begins with a 1
            information_set, digit = divmod(information_set, base)
            digits.append(self._watched(digit) if player else self.action_name(0, digit))
        return f"{player}:{','.join(reversed(digits))}"

    def _watched(self, digit: int) -> str:
        pair, found = divmod(digit, 4)
        names = self.action_name(1, pair).split()
        signs = ("!" if found & 2 else "", "!" if found & 1 else "")
        return " ".join(name + sign for name, sign in zip(names, signs, strict=True))

    def _is_home(self, rows: slice) -> NDArray[np.bool_]:
        home: NDArray[np.bool_] = self.node[rows] >= len(self.rules.edges) - self.rules.rows
        return home
