"""Histories that are made when samples first come to them."""

from bisect import bisect_right
from collections.abc import Callable, Hashable, Sequence
from itertools import accumulate
from typing import Any, TypeAlias, final

from regretkit.games.history import CHANCE, TERMINAL, History
from regretkit.play._checks import check_kind
from regretkit.play._points import Maker, Point
from regretkit.play.estimators import Estimator
from regretkit.play.estimators._choosing import follow_average
from regretkit.play.estimators._sampler import Sampler

Random: TypeAlias = Callable[[], float]
Follow: TypeAlias = Callable[[list[float], float], tuple[Sequence[int], list[float]]]
"""Chooses own actions, from the strategy and its reach; returns them and how likely each was."""
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
                raise ValueError(f"player {who} has no actions at information set {key!r}")
            point = self.maker.make(key, who, actions, before, via)
            self.met[who][key] = point
        elif point.before is not before or point.via != via:
            raise ValueError(
                f"imperfect recall: player {who} comes to information set {key!r} after different "
                "actions or knowledge of its own; give what it knows a name that tells them apart"
            )
        return point


# Drawing


@final
class OneAction:
    """Follows one own action, as :func:`~regretkit.play.estimators._choosing.follow_one` does.

    It explores every action as often as the others. That function can do with lists as well, but
    takes three times as long.
    """

    def __init__(self, exploration: float, random: Random) -> None:
        self._exploration, self._random = exploration, random

    def choose(self, strategy: list[float], reach: float) -> tuple[int, float]:
        """Return the action that was drawn, and how likely it was."""
        if len(strategy) == 1:
            return 0, 1.0
        even = 1.0 / len(strategy)
        explored, rest = self._exploration * even, 1.0 - self._exploration
        if reach > 0.0:
            share = [explored + rest * played for played in strategy]
        else:
            share = [explored + rest * even] * len(strategy)
        chosen = draw(self._random, share, list(accumulate(share)))
        return chosen, share[chosen]


def draw(random: Random, weights: list[float], sums: list[float]) -> int:
    """Draw one of several, as :func:`~regretkit.play.estimators._choosing.pick` does.

    ``sums`` are those of the first weight, the first two and so on.
    """
    chosen = bisect_right(sums, random())
    while chosen == len(weights) or weights[chosen] == 0.0:
        chosen -= 1
    return chosen


# Samples


Lesson: TypeAlias = tuple[Point, list[float], float]
"""An information set, what its actions were worth, and what it earned."""


class Sample:
    """One walk through a part of a game, for a player who is to learn."""

    def __init__(
        self,
        unfolding: Unfolding,
        follow: Follow | OneAction | None,
        roots: list[float],
        random: Random,
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
            if who >= 0:
                weights, sums = node.point.strategy, node.point.sums or node.point.sum_up()
            else:
                weights, sums = node.weights, node.sums
            drawn = draw(self._random, weights, sums) if len(weights) > 1 else 0
            node = node.children[drawn] or self._unfolding.go_on(node, drawn)

    def teach(self) -> None:
        """Let the information sets that were visited learn."""
        for point, utility, value in self.lessons:
            point.learn(utility, value)
        self.lessons.clear()

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
            earned = mean(utility, strategy)
        elif isinstance(self._follow, OneAction):
            a, share = self._follow.choose(strategy, reach)
            child, utility = children[a] or go_on(node, a), [0.0] * len(strategy)
            further = reach * strategy[a] if reach > 0.0 else 0.0
            utility[a] = self.walk(player, child, scale / share, further)
            earned = utility[a] * strategy[a]
        else:
            utility = [0.0] * len(strategy)
            for a, share in zip(*self._follow(strategy, reach), strict=True):
                child = children[a] or go_on(node, a)
                further = reach * strategy[a] if reach > 0.0 else 0.0
                utility[a] = self.walk(player, child, scale / share, further)
            earned = mean(utility, strategy)
        self.lessons.append((point, utility, earned))
        return earned


def mean(utility: list[float], strategy: list[float]) -> float:
    """Return what a strategy earns, exactly what every action does where they are equal."""
    top, missed = max(utility), 0.0
    for earned, share in zip(utility, strategy, strict=True):
        missed += (earned - top) * share
    return top + missed


def players_of(history: History) -> int:
    """Return the number of players: of the payoffs, where the first moves lead."""
    while not history.is_terminal():
        if history.player() == CHANCE:
            history = history.child(history.chance_outcomes()[0][0])
        else:
            history = history.child(history.actions()[0])
    return len(history.payoffs())


def check_estimator(estimator: Estimator) -> None:
    """Refuse what draws no samples, and what needs a tree."""
    check_kind(estimator, Sampler, "estimator", "ExternalSampling(generator)")
    if isinstance(estimator, Sampler) and estimator._choose() is follow_average:
        raise TypeError(
            f"{estimator!r} goes by sums along a tree; pass ExternalSampling(generator)"
        )
    if isinstance(estimator, Sampler) and estimator.baseline is not None:
        raise TypeError(f"{estimator.baseline!r} guesses for histories of a tree; leave it out")
    if getattr(estimator, "toward", None) is not None:
        raise TypeError("toward names strategies of a tree; leave it out to explore uniformly")
