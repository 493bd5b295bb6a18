"""``Sampled``: sampled self-play on the rules of a game, without a tree."""

import math
from array import array
from bisect import bisect_right
from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import accumulate, count
from typing import Any, cast

import numpy as np
from attrs import define, field

from regretkit._state import NOT_STATE, StateDict, Stateful
from regretkit._util._typing import Indices
from regretkit._util._validate import quote
from regretkit.circuits._base import LocalRule
from regretkit.estimators import ExternalSampling, OutcomeSampling
from regretkit.estimators._flat_tree import MOST_OUTCOMES, cumulative
from regretkit.games._adapters import RulesHistory, as_history
from regretkit.games._profile import Profile
from regretkit.games.tree._history import (
    CHANCE,
    TERMINAL,
    History,
    actions_of,
    check_length,
    outcomes_of,
    payoffs_of,
)
from regretkit.play._engines import COMPILED, NUMPY, Executor, compiled_engine, valid_engine
from regretkit.play._infosets import (
    HEAD,
    PLAYER_MASK,
    SIZE_BITS,
    Infosets,
    PointRule,
    kind_of,
)
from regretkit.play._orders import UpdateSchedule
from regretkit.play._run import Run
from regretkit.sets import DecisionTree

_FEW = 50_000
"""Number of histories that Python visits before compilation, which takes seconds."""

_REMEMBERED = 250_000
"""Number of histories that Python caches, which makes repeated visits several times faster."""


@define(eq=False, repr=False)
class Sampled(Run):
    """A run of Monte Carlo CFR on the rules of a game, without a tree.

    Each sample visits a part of the game. A rule at each visited information set of the updated
    player observes sampled utilities. The run creates an information set at the first update there,
    so memory grows with the visited part of the game.

    For rules that a zero utility leaves unchanged (regret matching, regret matching+ and their
    linear forms), samples and strategies equal those of ``SelfPlay`` on the game's tree with the
    same estimator, order and seed. Other rules, such as discounted or predictive ones, differ: on a
    tree they also observe a utility of zero at unvisited information sets, and here they do not.

    Python plays the first 50,000 histories. After them the compiled engine continues with the same
    samples and strategies, if the game is given as ``Rules`` and the rules can be traced.

    Parameters
    ----------
    game
        The game, of perfect recall: its empty ``History`` or its ``Rules``.
    rule
        A function of simplices that returns a minimizer on them: a rule's class, or any circuit
        that draws no random numbers. Or a tuple of these, one for each player.
    estimator
        ``ExternalSampling`` or ``OutcomeSampling``, without a baseline.
    order, averaging, horizon
        As in ``Run``. Weights must be finite.
    engine
        ``"auto"``; ``"numpy"`` for Python alone; ``"compiled"`` for machine code from the first
        iteration.

    Attributes
    ----------
    iteration, seconds
        Number of iterations so far, and their duration.

    Examples
    --------
    >>> from regretkit import RegretMatching
    >>> from regretkit.games import goofspiel
    >>> from regretkit.play import ExternalSampling
    >>> sampling = ExternalSampling(np.random.default_rng(1))
    >>> run = Sampled(goofspiel(3), RegretMatching, sampling).run(100)
    >>> run
    <Sampled: 100 iterations, 5 + 4 information sets>
    >>> run.average.behavior(0)("unheard of", ["a", "b"])
    array([0.5, 0.5])

    References
    ----------
    Lanctot, Waugh, Zinkevich and Bowling (2009), "Monte Carlo sampling for regret minimization in
    extensive games", NIPS.
    """

    game: History = field(converter=as_history)
    rule: LocalRule | tuple[LocalRule, ...]
    estimator: ExternalSampling | OutcomeSampling
    engine: str = field(default="auto", kw_only=True, validator=valid_engine)
    weight: float = field(default=0.0, init=False)
    """The sum of the weights of all iterations."""
    updates: list[int] = field(init=False)
    """Number of iterations in which each player was updated."""
    infosets: Infosets = field(init=False, metadata=NOT_STATE)
    _executor: Executor | None = field(default=None, init=False, metadata=NOT_STATE)

    def __attrs_post_init__(self) -> None:
        check_estimator(self.estimator)
        self.averaging.weight(1, self.horizon)
        self.updates = [0] * players_of(self.game)
        self.order.check_players(self.players)
        if not self.order.is_scheduled(self.players):
            raise ValueError(f"{quote(self.order)} does more than update the players in turn")
        rules = self.rule if isinstance(self.rule, tuple) else (self.rule,) * self.players
        if len(rules) != self.players:
            raise ValueError(
                f"rule must be one for each of the {self.players} players, got {len(rules)}"
            )
        self.infosets = Infosets(rules, numbered=isinstance(self.game, RulesHistory))

    @property
    def players(self) -> int:
        return len(self.updates)

    def _prepare(self, iterations: int) -> None:
        pass

    def _play(self, iterations: int, interrupted: Callable[[], bool]) -> None:
        end = self.iteration + iterations
        while self.iteration < end and not interrupted():
            self._executor = executor = self._executor_for()
            executor.play(end - self.iteration, interrupted)

    def _executor_for(self) -> Executor:
        """Return the executor of the next iterations: Python first, later compiled."""
        executor = self._executor
        compiled = self.engine == COMPILED
        waits = isinstance(executor, PythonExecutor) and executor.waits
        if executor is None or (waits and self.estimator.visited >= _FEW):
            numbered = self.infosets.numbered and self.engine != NUMPY
            if compiled or (numbered and self.estimator.visited >= _FEW):
                executor = compiled_engine().start_without_tree(self, required=compiled)
                return executor or PythonExecutor(self, waits=False)
            return PythonExecutor(self, waits=numbered)
        return executor

    def weight_of(self, t: int) -> float:
        """Return the weight of an iteration in the average."""
        weight = self.averaging.weight(t, self.horizon)
        if not 0.0 <= weight < math.inf:
            raise ValueError(
                f"weights must be finite and at least 0 without a tree, got {quote(weight)} of "
                f"{quote(self.averaging)} for iteration {t}; use current for the last iterate"
            )
        return weight

    @property
    def information_sets(self) -> tuple[int, ...]:
        """Number of information sets of each player with at least one update."""
        return tuple(self.infosets.of_player(player).size for player in range(self.players))

    @property
    def current(self) -> Profile:
        """The next iteration's strategies, x_{T+1}."""
        return self._profile()

    @property
    def average(self) -> Profile:
        """The weighted average of x_1 to x_T."""
        return self._profile(self.weight)

    def _profile(self, weight: float | None = None) -> Profile:
        self.check_whole()
        players, rows = range(self.players), list(map(self.infosets.of_player, range(self.players)))
        keys = [
            [self.label(player, key) for key in self.infosets.names(rows[player])[0]]
            for player in players
        ]
        trees = [self._visited(player, rows[player], keys[player]) for player in players]
        pairs = zip(trees, rows, strict=True)
        vectors = [tree.sequence_form(self.infosets.strategies(own, weight)) for tree, own in pairs]
        return Profile(vectors, trees, self.game, keys)

    def _visited(self, player: int, rows: Indices, labels: Sequence[Hashable]) -> DecisionTree:
        """Return the visited part of a player's decision tree."""
        sizes, parent, action = self.infosets.sequences(rows)
        names: Sequence[Hashable] = self.infosets.names(rows)[1]
        if isinstance(self.game, RulesHistory):
            numbers = {a: self.game.rules.action_name(player, cast("int", a)) for a in {*names}}
            names = [numbers[action] for action in names]
        first = np.cumsum(sizes) - sizes
        ends = zip(first.tolist(), (first + sizes).tolist(), strict=True)
        actions = [[*map(str, names[begin:end])] for begin, end in ends]
        parents = np.where(parent < 0, 0, 1 + first[parent] + action) if rows.size else parent
        return DecisionTree(parents, sizes, labels=map(str, labels), actions=actions)

    def label(self, player: int, key: Any) -> Hashable:
        """Return the name of an information set."""
        game = self.game
        return game.rules.label(player, *key) if isinstance(game, RulesHistory) else key

    # Files

    def state_dict(self) -> StateDict:
        return {**super().state_dict(), "infosets": self.infosets.state_dict()}

    def load_state_dict(self, state: StateDict) -> None:
        rest = dict(state)
        columns = rest.pop("infosets", None)
        numbered = self.infosets.numbered
        infosets = Infosets.of_state(columns, self.infosets.rules, numbered=numbered)
        super().load_state_dict(rest)
        self.infosets, self._executor = infosets, None

    def _check_state(self, state: Mapping[str, Any]) -> None:
        if not 0.0 <= state["weight"] < math.inf:
            raise ValueError("weight must be a finite number, at least 0")
        if not all(0 <= count <= state["iteration"] for count in state["updates"].values()):
            raise ValueError("updates of a player must be between 0 and the number of iterations")

    @property
    def rule_names(self) -> tuple[str, ...]:
        """The class of each player's rule."""
        points = (self.infosets.point(player, 2) for player in range(self.players))
        return tuple(type(point.minimizer).__name__ for point in points)

    def _made_of(self) -> str:
        return ", ".join(dict.fromkeys(self.rule_names))

    def _results(self) -> dict[str, str]:
        sizes = " + ".join(f"{size:,}" for size in self.information_sets)
        engine = NUMPY if self._executor is None else self._executor.name
        visited = f"{self.estimator.visited:,} histories, {sizes} information sets"
        return {"visited": visited, "engine": engine}

    def __repr__(self) -> str:
        sizes = " + ".join(map(str, self.information_sets))
        return f"<Sampled: {self.iteration} iterations, {sizes} information sets>"


# In Python


class Node:
    """A history and its children."""

    __slots__ = ("actions", "children", "history", "key", "player", "point", "sums", "values")

    def __init__(self, history: History) -> None:
        self.history, self.point = history, cast("Any", None)
        self.player = TERMINAL if history.is_terminal() else history.player()
        self.actions: Sequence[Any] = ()
        if self.player == TERMINAL:
            self.values: Any = payoffs_of(history)
            """Payoffs at a terminal, probabilities at a chance history."""
        elif self.player == CHANCE:
            outcomes = outcomes_of(history)
            self.actions = [name for name, _ in outcomes]
            self.values = [float(probability) for _, probability in outcomes]
            self.sums = [*accumulate(self.values)]
        else:
            self.actions, self.key = actions_of(history), history.information_set()
        self.children: list[Node | None] = [None] * len(self.actions)


class Point:
    """The record of an information set, and a copy of its strategy."""

    __slots__ = ("minimizer", "place", "player", "rule", "strategy", "sums")

    def __init__(self, infosets: Infosets, place: int) -> None:
        self.place, self.rule = place, infosets.rule_at(place)
        self.player = infosets.fast_heads[place] >> SIZE_BITS & PLAYER_MASK
        self.minimizer = infosets.minimizers.get(place)
        first = place + HEAD
        self.strategy: list[float] = infosets.fast_cells[first : first + self.rule.size].tolist()
        self.sums = [*accumulate(self.strategy)]


class PythonExecutor(Executor):
    """Draws samples in Python, and caches the first histories.

    It draws the same random numbers as the traversal of a tree: depth first, one number for each
    choice among several actions, and a single one for all initial chance moves.
    """

    name = NUMPY

    def __init__(self, run: Sampled, *, waits: bool) -> None:
        self.waits = waits
        """Whether to stop after ``_FEW`` histories, for the compiled engine."""
        self._run, self._infosets = run, run.infosets
        self._random, self._room = run.estimator.generator.random, _REMEMBERED
        sampler = run.estimator
        self._exploration = sampler.exploration if isinstance(sampler, OutcomeSampling) else None
        self._sums, self._moves, self._first = initial_chance(run.game)
        self._player = self._visited = 0
        self._points: dict[int, Point] = {}
        self._pending: list[tuple[Point, list[float], float]] = []
        """Information sets to update, each with the utilities of its actions and its value."""

    def play(self, iterations: int, interrupted: Callable[[], bool]) -> None:
        run, draws = self._run, isinstance(self._run.order, Stateful)
        schedule, movers = cast("UpdateSchedule", None), list[int]()
        for _ in range(iterations):
            if interrupted() or (self.waits and run.estimator.visited >= _FEW):
                break
            weight = run.weight_of(run.iteration + 1)
            if not movers or draws:
                schedule = cast("UpdateSchedule", run.order.schedule(run.players, 1))
                movers = [player for player in schedule.players[0].tolist() if player >= 0]
            run.weight += weight
            self._visited = 0
            for player in movers:
                self._sample(player)
                if not schedule.simultaneous:
                    self._update()
            self._update()
            for player in movers:
                run.updates[player] += 1
            run.estimator.visited += self._visited
            run.iteration += 1

    def _sample(self, player: int) -> None:
        """Traverse a sampled part of the game for a player."""
        self._player, outcome, sums = player, 0, self._sums
        if len(sums) > 1:
            outcome = bisect_right(sums, self._random(), hi=len(sums) - 1)
            while outcome > 0 and sums[outcome] == sums[outcome - 1]:
                outcome -= 1
        self._visited += self._moves
        value = self._value(self._first[outcome], -1, 1.0, 1.0)
        if not math.isfinite(value):
            raise ValueError("sampled utilities overflow; use ExternalSampling")

    def _value(self, node: Node, parent: int, scale: float, reach: float) -> float:
        """Return the player's sampled value of a history, times ``scale``.

        ``parent`` is the cell with the sum of the player's last sequence, -1 for the empty one.
        ``scale`` is 1 / (probability of the sampled actions of the player), and ``reach`` the
        player's own reach probability.
        """
        while True:
            self._visited += 1
            acting = node.player
            if acting == self._player:
                return self._decide(node, parent, scale, reach)
            if acting == TERMINAL:
                return scale * cast("float", node.values[self._player])
            if acting != CHANCE:
                point = node.point or self._point(node)
                probabilities, sums = point.strategy, point.sums
            else:
                probabilities, sums = node.values, node.sums
            drawn = 0
            if len(sums) > 1:
                drawn = bisect_right(sums, self._random())
                while drawn == len(sums) or probabilities[drawn] == 0.0:
                    drawn -= 1
            node = node.children[drawn] or self._child(node, drawn)

    def _decide(self, node: Node, parent: int, scale: float, reach: float) -> float:
        """Return the value of a history of the player, and append its update to ``_pending``."""
        children = node.children
        point: Any = node.point or self._point(node, parent)
        strategy, size = point.strategy, len(children)
        place, cells = point.place, self._infosets.fast_cells
        first = place + HEAD + size
        reached = self._run.weight if parent < 0 else cells[parent]
        # Lazy average: the strategy is unchanged since the last visit, so one addition suffices.
        if gained := reached - cells[place + 3]:
            cells[place + 3] = reached
            for a, probability in enumerate(strategy, first):
                cells[a] += gained * probability
        utility = [0.0] * size
        if self._exploration is None:
            for a in range(size):
                child = children[a] or self._child(node, a)
                utility[a] = self._value(child, first + a, scale, 1.0)
        else:
            a, probability = self._explore(self._exploration, strategy, reach)
            child = children[a] or self._child(node, a)
            after, scale = reach * strategy[a], scale / probability
            utility[a] = self._value(child, first + a, scale, after)
        value = expected(utility, strategy)
        self._pending.append((point, utility, value))
        return value

    def _explore(self, share: float, strategy: list[float], reach: float) -> tuple[int, float]:
        """Draw an action from the strategy mixed with ``share`` of uniform; return its probability.

        An unreached strategy is replaced by the uniform one.
        """
        size, a = len(strategy), 0
        behavior = strategy if reach > 0.0 else [1.0 / size] * size
        mixture = [share * (1.0 / size) + (1.0 - share) * probability for probability in behavior]
        if size > 1:
            a = bisect_right([*accumulate(mixture[:-1])], self._random())
        while mixture[a] == 0.0:
            a -= 1
        return a, mixture[a]

    def _update(self) -> None:
        """Update the rules at visited information sets."""
        cells, updates = self._infosets.fast_cells, self._run.updates
        for point, utility, value in self._pending:
            rule, begin = point.rule, point.place + HEAD
            record = cells[begin : begin + len(rule.initial)].tolist()
            rule.update(record, utility, value, updates[point.player] + 1, point.minimizer)
            point.strategy = record[: rule.size]
            point.sums = [*accumulate(point.strategy)]
            cells[begin : begin + len(record)] = array("d", record)
        self._pending.clear()

    def _child(self, node: Node, action: int) -> Node:
        child = Node(node.history.child(node.actions[action]))
        if self._room > 0:
            self._room -= 1
            node.children[action] = child
        return child

    def _point(self, node: Node, parent: int | None = None) -> Point | PointRule:
        """Return the information set of a history, cached in the node.

        For the updated player, ``parent`` is the cell of the sequence before, and a new information
        set is added. For opponents it is None, and a rule replaces an absent information set.
        """
        player, key, infosets = node.player, node.key, self._infosets
        if not node.actions:
            raise no_actions(player, self._run.label(player, key))
        place = infosets.find(player, key)
        if place < 0 and parent is None:
            return infosets.point(player, len(node.actions))
        if place < 0:
            place = infosets.add(player, key, node.actions, cast("int", parent))
        if place not in self._points:
            self._points[place] = Point(infosets, place)
        found = node.point = self._points[place]
        if len(found.strategy) != len(node.actions):
            raise other_actions(player, self._run.label(player, key))
        kind = infosets.fast_heads[place]
        if parent is not None and kind != kind_of(player, len(node.actions), parent):
            raise imperfect_recall(player, self._run.label(player, key))
        return found


def expected(utility: list[float], strategy: list[float]) -> float:
    """Return the value of a strategy."""
    # Relative to the largest utility, so that equal utilities give exactly this value.
    top, missed = max(utility), 0.0
    for value, probability in zip(utility, strategy, strict=True):
        missed += (value - top) * probability
    return top + missed


def initial_chance(game: History) -> tuple[list[float], int, list[Node]]:
    """Return cumulative probabilities, number of moves and histories of the initial chance moves.

    One number draws the history, so the moves end where more than 64 histories would follow.
    """
    if isinstance(game, RulesHistory):
        game = RulesHistory(game.rules, game.h, named=False)
    nodes, probabilities, moves = [Node(game)], [1.0], 0
    while all(node.player == CHANCE for node in nodes):
        following = [
            (node, action, before * probability)
            for node, before in zip(nodes, probabilities, strict=True)
            for action, probability in zip(node.actions, node.values, strict=True)
            if before * probability > 0.0  # a game may have no child for an impossible move
        ]
        if len(following) > MOST_OUTCOMES:
            break
        nodes = [Node(node.history.child(action)) for node, action, _ in following]
        probabilities, moves = [probability for *_, probability in following], moves + 1
    return cumulative(np.array(probabilities)).tolist(), moves, nodes


def players_of(history: History) -> int:
    """Return the number of players, from the payoffs of the terminal after all first actions."""
    for moves in count():
        if history.is_terminal():
            break
        check_length(moves)
        if history.player() == CHANCE:
            history = history.child(outcomes_of(history)[0][0])
        elif actions := actions_of(history):
            history = history.child(actions[0])
        else:
            raise no_actions(history.player(), history.information_set())
    return len(payoffs_of(history))


def check_estimator(estimator: object) -> None:
    """Raise a TypeError for an estimator that does not support play without a tree."""
    if not isinstance(estimator, ExternalSampling | OutcomeSampling):
        raise TypeError(
            f"estimator must be ExternalSampling or OutcomeSampling, got {quote(estimator)}"
        )
    if estimator.baseline is not None:
        raise TypeError(f"baseline {quote(estimator.baseline)} needs the game's tree")


def no_actions(player: int, name: Hashable) -> ValueError:
    """Return the error for an information set without actions."""
    return ValueError(f"player {player} has no actions at information set {quote(name)}")


def other_actions(player: int, name: Hashable) -> ValueError:
    """Return the error for an information set with different actions at its histories."""
    return ValueError(
        f"information set {quote(name)} of player {player} has different actions at different "
        "histories; give them the same actions, or different information sets"
    )


def imperfect_recall(player: int, name: Hashable) -> ValueError:
    """Return the error for an information set that follows different sequences."""
    return ValueError(
        f"imperfect recall: player {player} reaches information set {quote(name)} after different "
        "actions or information sets of its own; give it different names"
    )
