"""Histories that are made when samples first come to them."""

from collections.abc import Hashable, Sequence
from itertools import accumulate
from typing import Any, NamedTuple, TypeAlias, final

import numpy as np

from regretkit._util._validate import check_kind, quote
from regretkit.estimators import Estimator
from regretkit.estimators._mccfr import TraversalEstimator
from regretkit.estimators.flat._action_sampling import follow_average
from regretkit.estimators.flat._initial_chance import MOST as MOST_DEALS
from regretkit.estimators.flat._initial_chance import heaped
from regretkit.games.tree._history import CHANCE, TERMINAL, History, outcomes_of, payoffs_of
from regretkit.play._infoset_records import Point
from regretkit.play._record_factory import Maker

Last: TypeAlias = tuple[tuple[Point | None, int], ...]
"""For each player, its last information set and what it did there."""


@final
class Node:
    """One history: who acts, and what is known of what comes next."""

    __slots__ = (
        "children",
        "history",
        "last",
        "names",
        "payoffs",
        "point",
        "sums",
        "weights",
        "who",
    )

    def __init__(self, history: History, who: int, names: Sequence[Any], last: Last) -> None:
        self.history: History | None = history
        self.who, self.names, self.last = who, names, last
        self.children: list[Node | None] = [None] * len(names)
        self.point: Point
        """Where a player acts."""
        self.weights: list[float] = []
        """Where chance acts, the probability of each outcome,"""
        self.sums: list[float] = []
        """and of each or one before it."""
        self.payoffs: list[float] = []
        """Where the game is over."""


class Opening(NamedTuple):
    """The initial chance moves, see :mod:`~regretkit.estimators.flat._initial_chance`."""

    ends: list[tuple[Node, int]]
    """Where its last move is made, and which one; -1 where it makes none."""
    moves: int
    """How many it makes."""
    heaped: list[float]
    """The probability that it comes to each of these ends or one before it."""


@final
class Unfolding:
    """The part of a game that was visited.

    Of all information sets a record is kept, and of the first histories as many as there is room
    for; others are made anew each time.
    """

    def __init__(self, root: History, makers: Sequence[Maker], room: int) -> None:
        self.players, self.makers = len(makers), makers
        self.met: list[dict[Hashable, Point]] = [{} for _ in makers]
        self._room = room
        self._first = root
        self._root: Node | None = None
        self._opening: Opening | None = None

    @property
    def root(self) -> Node:
        """The empty history."""
        if self._root is None:
            self._root = self._node(self._first, ((None, 0),) * self.players)
        return self._root

    @property
    def opening(self) -> Opening:
        """The initial chance moves."""
        if self._opening is None:
            self._opening = self._find_opening()
        return self._opening

    def _find_opening(self) -> Opening:
        ends, chances, moves = [(self.root, -1)], [1.0], 0
        while all(self._is_chance(*end) for end in ends):
            level = [self.after(*end) for end in ends]
            following = [
                (node, a, chance * weight)
                for node, chance in zip(level, chances, strict=True)
                for a, weight in enumerate(node.weights)
                if chance * weight > 0.0  # what chance never does, a game may be unable to do
            ]
            if len(following) > MOST_DEALS:
                break
            ends, chances = [f[:2] for f in following], [f[2] for f in following]
            moves += 1
        return Opening(ends, moves, heaped(np.array(chances)).tolist())

    def _is_chance(self, node: Node, action: int) -> bool:
        """Return whether chance moves after an action, -1 for none, without building the node."""
        if action < 0:
            return node.who == CHANCE
        history = node.history.child(node.names[action])  # type: ignore[union-attr]
        return not history.is_terminal() and history.player() == CHANCE

    def after(self, node: Node, action: int) -> Node:
        """Return the history after an action, or the same one where it is -1."""
        return node if action < 0 else node.children[action] or self.go_on(node, action)

    def go_on(self, node: Node, action: int) -> Node:
        """Return the node after an action for which none is stored, or none any more."""
        last = node.last
        if node.who >= 0:
            last = (*last[: node.who], (node.point, action), *last[node.who + 1 :])
        child = self._node(node.history.child(node.names[action]), last)  # type: ignore[union-attr]
        if self._room > 0:
            self._room -= 1
            node.children[action] = child
        return child

    def _node(self, history: History, last: Last) -> Node:
        if history.is_terminal():
            node = Node(history, TERMINAL, (), last)
            node.history, node.payoffs = None, payoffs_of(history)
            return node
        who = history.player()
        if who == CHANCE:
            outcomes = outcomes_of(history)
            node = Node(history, who, [name for name, _ in outcomes], last)
            node.weights = [float(chance) for _, chance in outcomes]
            node.sums = list(accumulate(node.weights))
            return node
        point = self._point(history, who, last)
        node = Node(history, who, point.actions, last)
        node.point = point
        return node

    def _point(self, history: History, who: int, last: Last) -> Point:
        key = history.information_set()
        point = self.met[who].get(key)
        before, via = last[who]
        if point is None:
            actions = history.actions()
            if not actions:
                raise ValueError(f"player {who} has no actions at information set {quote(key)}")
            point = self.makers[who].make(key, actions, before, via)
            self.met[who][key] = point
        elif point.before is not before or point.via != via:
            raise ValueError(
                f"imperfect recall: player {who} comes to information set {quote(key)} after "
                "different actions or knowledge of its own; give what it knows a name that tells "
                "them apart"
            )
        return point


def players_of(history: History) -> int:
    """Return the number of players: of the payoffs, where the first moves lead."""
    while not history.is_terminal():
        if history.player() == CHANCE:
            history = history.child(outcomes_of(history)[0][0])
        else:
            history = history.child(history.actions()[0])
    return len(payoffs_of(history))


def check_estimator(estimator: Estimator) -> None:
    """Refuse what draws no samples, and what needs a tree."""
    check_kind(estimator, TraversalEstimator, "estimator", "ExternalSampling(generator)")
    if isinstance(estimator, TraversalEstimator) and estimator._choose() is follow_average:
        raise TypeError(
            f"{quote(estimator)} goes by sums along a tree; pass ExternalSampling(generator)"
        )
    if isinstance(estimator, TraversalEstimator) and estimator.baseline is not None:
        raise TypeError(
            f"{quote(estimator.baseline)} guesses for histories of a tree; leave it out"
        )
    if getattr(estimator, "toward", None) is not None:
        raise TypeError("toward names strategies of a tree; leave it out to explore uniformly")
