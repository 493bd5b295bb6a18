"""Histories that are made when samples first come to them."""

from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import accumulate, chain, repeat
from types import TracebackType
from typing import Any, NamedTuple, Self, TypeAlias, final

import numpy as np

from regretkit._util._validate import check_kind, quote
from regretkit.estimators import Estimator
from regretkit.estimators._mccfr import TraversalEstimator
from regretkit.estimators.flat._flat_tree import MOST_OUTCOMES as MOST_DEALS
from regretkit.estimators.flat._flat_tree import cumulative as heaped
from regretkit.estimators.flat._traversal import follow_average
from regretkit.games.tree._history import CHANCE, TERMINAL, History, outcomes_of, payoffs_of
from regretkit.play._infoset_records import Maker, Point

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
    """Draw one of several, as :func:`~regretkit.estimators.flat._traversal.pick` does.

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


_MANY = 512


@final
class Draws:
    """What ``generator.random()`` returns, call by call, several times faster.

    While one of these is in use the generator is ahead of what was drawn; after it, it is where
    calls would have left it.
    """

    def __init__(self, generator: np.random.Generator) -> None:
        self._generator = generator
        self._before: Any = None
        self._made: Iterator[float] = iter(())
        self.random: Callable[[], float] = chain.from_iterable(self._batches()).__next__

    def _batches(self) -> Iterator[Iterator[float]]:
        for many in repeat(_MANY):
            self._before = self._generator.bit_generator.state
            self._made = iter(self._generator.random(many).tolist())
            yield self._made

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        left = len(list(self._made))
        if left:
            self._generator.bit_generator.state = self._before
            self._generator.random(_MANY - left)
