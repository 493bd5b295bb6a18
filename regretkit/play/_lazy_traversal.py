"""Samples of a game that is made as they come to it."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import TypeAlias, final

from regretkit.games.tree._history import TERMINAL
from regretkit.play._infoset_records import Point
from regretkit.play._lazy_tree import Node, Opening, Unfolding

Random: TypeAlias = Callable[[], float]
Follow: TypeAlias = Callable[[list[float], float], tuple[Sequence[int], list[float]]]
"""Chooses own actions, from the strategy and its reach; returns them and how likely each was."""


# Drawing


@final
class OneAction:
    """Follows one own action, as ``follow_one`` of estimators does.

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
    """Draw one of several, as :func:`~regretkit.estimators.flat._action_sampling.pick` does.

    ``sums`` are those of the first weight, the first two and so on.
    """
    chosen = bisect_right(sums, random())
    while chosen == len(weights) or weights[chosen] == 0.0:
        chosen -= 1
    return chosen


def deal(random: Random, opening: Opening) -> tuple[Node, int]:
    """Draw what chance does at first, as ``deal`` of estimators does."""
    heaped, chosen = opening.heaped, 0
    if len(heaped) > 1:
        chosen = bisect_right(heaped, random(), hi=len(heaped) - 1)
        while chosen > 0 and heaped[chosen] == heaped[chosen - 1]:
            chosen -= 1
    return opening.ends[chosen]


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

    def play(self, player: int) -> None:
        """Walk through the game once."""
        opening = self._unfolding.opening
        node, action = deal(self._random, opening)
        self.visited += opening.moves
        self.walk(player, self._unfolding.after(node, action), 1.0, 1.0)

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

    def teach(self, players: Sequence[int]) -> None:
        """Let players learn, from 0 where no sample came."""
        makers, met = self._unfolding.makers, self._unfolding.met
        idle = dict.fromkeys(
            point
            for player in players
            if not makers[player].is_lazy
            for point in met[player].values()
        )
        for point in idle:  # each stands behind those before it
            point.add_up(self._roots)
        for point, utility, value in self.lessons:
            point.learn(utility, value)
            idle.pop(point, None)
        for point in idle:
            point.learn_nothing()
        for player in players:
            makers[player].advance()
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
