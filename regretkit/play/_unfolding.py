"""Histories that are made when samples first come to them."""

from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeAlias, final

from regretkit.games.history import CHANCE, TERMINAL, History
from regretkit.play._points import Maker, Point

Random: TypeAlias = Callable[[], float]
Follow: TypeAlias = Callable[[list[float], float], tuple[Sequence[int], list[float]]]
"""Chooses own actions, from the strategy and its reach; returns them and how likely each was."""
Last: TypeAlias = tuple[tuple[Point | None, int], ...]
"""For each player, its last information set and what it did there."""


@final
class Node:
    """One history: who acts, and what is known of what comes next."""

    __slots__ = ("children", "history", "last", "names", "payoffs", "point", "weights", "who")

    def __init__(self, history: History, who: int, names: Sequence[Any], last: Last) -> None:
        self.history: History | None = history
        self.who, self.names, self.last = who, names, last
        self.children: list[Node | None] = [None] * len(names)
        self.point: Point
        """Where a player acts."""
        self.weights: list[float] = []
        """Where chance acts, the probability of each outcome."""
        self.payoffs: list[float] = []
        """Where the game is over."""


@final
class Unfolding:
    """The part of a game that was visited.

    Of all information sets a record is kept, and of the first histories as many as there is room
    for; others are made anew each time.
    """

    def __init__(self, root: History, players: int, maker: Maker, room: int) -> None:
        self.players, self.maker = players, maker
        self.met: list[dict[Hashable, Point]] = [{} for _ in range(players)]
        self._room = room
        self._first = root
        self._root: Node | None = None

    @property
    def root(self) -> Node:
        """The empty history."""
        if self._root is None:
            self._root = self._node(self._first, ((None, 0),) * self.players)
        return self._root

    def go_on(self, node: Node, action: int) -> Node:
        """Return the history after an action that nobody has tried here, or that was forgotten."""
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
            node.history, node.payoffs = None, list(map(float, history.payoffs()))
            return node
        who = history.player()
        if who == CHANCE:
            outcomes = history.chance_outcomes()
            node = Node(history, who, [name for name, _ in outcomes], last)
            node.weights = [float(chance) for _, chance in outcomes]
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
                raise ValueError(f"player {who} has no actions at information set {key!r}")
            point = self.maker.make(key, who, actions, before, via)
            self.met[who][key] = point
        elif point.before is not before or point.via != via:
            raise ValueError(
                f"imperfect recall: player {who} comes to information set {key!r} after different "
                "actions or knowledge of its own; give what it knows a name that tells them apart"
            )
        return point


# Samples


Lesson: TypeAlias = tuple[Point, list[float], float]
"""An information set, what its actions were worth, and what it earned."""


class Sample:
    """One walk through a part of a game, for a player who is to learn."""

    def __init__(
        self, unfolding: Unfolding, follow: Follow | None, roots: list[float], random: Random
    ) -> None:
        self._unfolding, self._follow, self._roots, self._random = unfolding, follow, roots, random
        self.visited = 0
        self.lessons: list[Lesson] = []

    def walk(self, player: int, node: Node, scale: float, reach: float) -> float:
        """Return what the player earns from a history on, times how much the sample counts."""
        while True:
            self.visited += 1
            who = node.who
            if who == TERMINAL:
                return scale * node.payoffs[player]
            if who == player:
                return self._decide(player, node, scale, reach)
            weights = node.point.strategy if who >= 0 else node.weights
            drawn = draw(self._random, weights) if len(weights) > 1 else 0
            node = node.children[drawn] or self._unfolding.go_on(node, drawn)

    def _decide(self, player: int, node: Node, scale: float, reach: float) -> float:
        """Return what the player earns where it acts itself, and note what it learns from that."""
        point = node.point
        strategy = point.strategy
        point.add_up(self._roots)
        children, go_on, utility = node.children, self._unfolding.go_on, []
        if self._follow is None:
            for a, share in enumerate(strategy):
                child = children[a] or go_on(node, a)
                utility.append(self.walk(player, child, scale, reach * share))
        else:
            utility = [0.0] * len(strategy)
            for a, share in zip(*self._follow(strategy, reach), strict=True):
                child = children[a] or go_on(node, a)
                further = reach * (strategy[a] if reach > 0.0 else 1.0 / len(strategy))
                utility[a] = self.walk(player, child, scale / share, further)
        top, missed = max(utility), 0.0
        for earned, share in zip(utility, strategy, strict=True):
            missed += (earned - top) * share
        self.lessons.append((point, utility, top + missed))
        return top + missed


def draw(random: Random, weights: list[float]) -> int:
    """Draw one of several, as :func:`~regretkit.play.estimators._choosing.pick` does."""
    drawn, total, chosen = random(), 0.0, 0
    for weight in weights:
        total += weight
        if drawn < total:
            break
        chosen += 1
    while chosen == len(weights) or weights[chosen] == 0.0:
        chosen -= 1
    return chosen
