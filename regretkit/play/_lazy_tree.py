"""Trees of histories that are created at the first visit, and their traversal."""

import logging
import math
import random
from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate, chain, count
from typing import Any, Self, TypeAlias, cast

import numpy as np
from attrs import define, field

from regretkit._util._validate import check_kind, quote
from regretkit.estimators import Estimator
from regretkit.estimators._flat_tree import MOST_OUTCOMES, cumulative
from regretkit.estimators._mccfr import TraversalEstimator
from regretkit.estimators._traversal import (
    Decision,
    SamplingRule,
    follow_all,
    follow_average,
    follow_one,
    follow_some,
)
from regretkit.games._adapters import RulesHistory
from regretkit.games._memory_budget import available
from regretkit.games.tree._history import (
    CHANCE,
    TERMINAL,
    History,
    actions_of,
    check_length,
    outcomes_of,
    payoffs_of,
)
from regretkit.games.tree._rules import Rules
from regretkit.play._infoset_records import InfosetRecord, RecordFactory
from regretkit.play._infoset_table import InfosetTable, Names, listed

_LOOK_EVERY = 4096
"""Number of information sets of a player between two looks at the memory that is left."""

_SPARE = 2**28
"""Bytes that play without a tree leaves."""

_PLAYS, _ENDLESS = 20, 1e15
"""Random plays for each player by which the size of an iteration is estimated, and the largest."""

_LONGEST_ITERATION = 1e4
"""Seconds that an iteration may take as estimated, without a time limit."""

_LONG = 30.0
"""Seconds of which an iteration warns."""

_CERTAIN = 10.0
"""By how much an estimate must exceed a limit: what it is of does so in nine of ten cases."""

LastActions: TypeAlias = tuple[tuple[InfosetRecord | None, int], ...]
"""For each player, its last information set and its action there."""


@define(eq=False)
class Node:
    """One history: who acts, and what is known of what comes next."""

    history: History | None
    player: int
    actions: Sequence[Any]
    last: LastActions
    children: "list[Node | None]" = field(init=False)
    record: InfosetRecord = field(default=cast("Any", None), init=False)
    """Where a player acts."""
    probabilities: list[float] = field(default=cast("Any", None), init=False)
    """Where chance acts, those of its outcomes,"""
    cumulative: list[float] = field(default=cast("Any", None), init=False)
    """and of each or one before it."""
    payoffs: list[float] = field(default=cast("Any", None), init=False)
    """At a terminal."""

    def __attrs_post_init__(self) -> None:
        self.children = [None] * len(self.actions)


class LazyTree:
    """The part of a game that was visited.

    All information sets have a record, and as many histories are stored as there is room for;
    others are created anew each time.
    """

    def __init__(self, game: History, factories: Sequence[RecordFactory], room: int) -> None:
        self.factories = factories
        self.infosets: list[dict[Hashable, InfosetRecord]] = [{} for _ in factories]
        self.learners: list[list[InfosetRecord]] = [[] for _ in factories]
        """Those at which their player has learned, and not only played."""
        self.weight = 0.0
        """The sum of the weights of all iterations."""
        self._saved: Sequence[InfosetTable] = ()
        """What was restored, until the run continues."""
        self._game, self._room = game, room
        self._rules: Rules | None = None
        """The rules that name actions and information sets, where these are numbers."""
        if isinstance(game, RulesHistory):
            self._game, self._rules = RulesHistory(game.rules, game.h, named=False), game.rules

    @cached_property
    def root(self) -> Node:
        """The empty history."""
        return self._node(self._game, ((None, 0),) * len(self.factories))

    @cached_property
    def initial_chance(self) -> tuple[list[float], int, list[tuple[Node, int]]]:
        """Cumulative probabilities after the initial chance moves, how many moves, and outcomes.

        Each outcome is the node and the action before it, -1 for none.
        """
        outcomes, probabilities, moves = [(self.root, -1)], [1.0], 0
        while all(self._is_chance(*outcome) for outcome in outcomes):
            following = [
                (node, a, probability * next_probability)
                for node, probability in zip(
                    [self.after(*outcome) for outcome in outcomes], probabilities, strict=True
                )
                for a, next_probability in enumerate(node.probabilities)
                # What chance never does, a game may be unable to do.
                if probability * next_probability > 0.0
            ]
            if len(following) > MOST_OUTCOMES:
                break
            outcomes, probabilities = [f[:2] for f in following], [f[2] for f in following]
            moves += 1
        return cumulative(np.array(probabilities)).tolist(), moves, outcomes

    def _is_chance(self, node: Node, action: int) -> bool:
        """Return whether chance moves after an action, without creating the node."""
        if action < 0:
            return node.player == CHANCE
        history = cast("History", node.history).child(node.actions[action])
        return not history.is_terminal() and history.player() == CHANCE

    def after(self, node: Node, action: int) -> Node:
        """Return the node after an action, or the same one where it is -1."""
        return node if action < 0 else node.children[action] or self.create(node, action)

    def create(self, node: Node, action: int) -> Node:
        """Return the node after an action for which none is stored."""
        last = node.last
        if node.player >= 0:
            last = (*last[: node.player], (node.record, action), *last[node.player + 1 :])
        child = self._node(node.history.child(node.actions[action]), last)  # type: ignore[union-attr]
        if self._room > 0:
            self._room -= 1
            node.children[action] = child
        return child

    def _node(self, history: History, last: LastActions) -> Node:
        if history.is_terminal():
            node = Node(None, TERMINAL, (), last)
            node.payoffs = payoffs_of(history)
            return node
        player = history.player()
        if player == CHANCE:
            outcomes = outcomes_of(history)
            node = Node(history, player, [name for name, _ in outcomes], last)
            node.probabilities = [float(probability) for _, probability in outcomes]
            node.cumulative = list(accumulate(node.probabilities))
            return node
        record = self._record(history, player, *last[player])
        node = Node(history, player, record.actions, last)
        node.record = record
        return node

    def _record(
        self, history: History, player: int, parent: InfosetRecord | None, parent_action: int
    ) -> InfosetRecord:
        key = history.information_set()
        record = self.infosets[player].get(key)
        if record is None:
            actions = actions_of(history)
            if not actions:
                raise no_actions(player, self.label(player, key))
            record = self.factories[player].make(key, actions, parent, parent_action)
            self.infosets[player][key] = record
            if not record.is_lazy:  # which learns from now on, from 0 where no sample comes
                self.record_visit(player, record)
            if len(self.infosets[player]) % _LOOK_EVERY == 0:
                self.check_memory(sum(map(len, self.infosets)))
        elif record.parent is not parent or record.parent_action != parent_action:
            raise imperfect_recall(player, self.label(player, key))
        return record

    def label(self, player: int, key: Hashable) -> Hashable:
        """Return the name of an information set."""
        return key if self._rules is None else self._rules.label(player, *cast("Any", key))

    def names(self, player: int, actions: Names) -> Sequence[Hashable]:
        """Return the names of actions."""
        if self._rules is None:
            return listed(actions)
        numbers = np.asarray(actions)
        known = {a: self._rules.action_name(player, a) for a in np.unique(numbers).tolist()}
        return [known[action] for action in numbers.tolist()]

    def count(self, player: int) -> int:
        """Return at how many information sets a player has learned."""
        return len(self._saved[player].sizes if self._saved else self.learners[player])

    def record_visit(self, player: int, record: InfosetRecord) -> None:
        """Note that a player comes to an information set to learn, and so before it."""
        if not record.has_learned:
            if record.parent is not None:
                self.record_visit(player, record.parent)
            record.has_learned = True
            self.learners[player].append(record)

    def table(self, player: int) -> InfosetTable:
        """Return the information sets at which a player has learned."""
        return self._saved[player] if self._saved else InfosetTable.of(self.learners[player])

    def restore(self, tables: Sequence[InfosetTable]) -> None:
        """Continue from tables that were checked; records are made of them when it continues."""
        self._saved = tables
        if any(table.minimizers for table in tables):  # only these know what they take
            self.make_records()

    def make_records(self) -> None:
        """Make the records of what was restored."""
        for player, table in enumerate(self._saved):
            self.learners[player] = table.records(self.factories[player])
            self.infosets[player] = {record.key: record for record in self.learners[player]}
        if self._saved:
            self._saved = ()
            for name in ("root", "initial_chance"):  # which may have other records
                vars(self).pop(name, None)

    def clear(self) -> None:
        """Forget all information sets."""
        self._saved = ()
        for known, learners in zip(self.infosets, self.learners, strict=True):
            known.clear()
            learners.clear()

    @staticmethod
    def check_memory(met: int) -> None:
        """Refuse to grow once little memory is left."""
        if available() < _SPARE:
            raise MemoryError(
                f"{met:,} information sets were visited, and less than {_SPARE >> 20} MiB "
                "of memory are left; external sampling goes through all actions of a player, "
                "so take OutcomeSampling, or a smaller game"
            )


def no_actions(player: int, name: Hashable) -> ValueError:
    """Return the refusal of an information set without actions."""
    return ValueError(f"player {player} has no actions at information set {quote(name)}")


def imperfect_recall(player: int, infoset: Hashable) -> ValueError:
    """Return the error about an information set that follows different sequences."""
    return ValueError(
        f"imperfect recall: player {player} comes to information set {quote(infoset)} after "
        "different actions or knowledge of its own; give what it knows a name that tells them apart"
    )


def _some_actions(history: History) -> Sequence[Hashable]:
    """Return a player's actions, or refuse that there are none."""
    if not (actions := actions_of(history)):
        raise no_actions(history.player(), history.information_set())
    return actions


def players_of(history: History) -> int:
    """Return the number of players: of the payoffs, where the first moves lead."""
    for moves in count():
        if history.is_terminal():
            break
        check_length(moves)
        if history.player() == CHANCE:
            history = history.child(outcomes_of(history)[0][0])
        else:
            history = history.child(_some_actions(history)[0])
    return len(payoffs_of(history))


def estimated_visits(game: History, players: int, estimator: TraversalEstimator) -> float:
    """Return an unbiased estimate of the histories that an iteration visits at first.

    As Knuth (1975) estimates the size of a tree: random plays, in which each history counts as many
    times as the learning player might have chosen otherwise before it.
    """
    draws, total, choose = random.Random(1), 0.0, estimator._choose()
    maximum: float = 1 if choose is follow_one else math.inf
    if choose is follow_some:
        maximum = cast("Any", estimator._parameters())[0]
    for player in sorted([*range(players)] * _PLAYS):
        history, weight, moves = game, 1.0, count()
        while total < _ENDLESS:
            check_length(next(moves))
            total += weight / _PLAYS
            if history.is_terminal():
                break
            acting = history.player()
            if acting == CHANCE:
                outcomes = outcomes_of(history)
                names = [name for name, _ in outcomes]
                (action,) = draws.choices(names, [probability for _, probability in outcomes])
            else:
                actions = _some_actions(history)
                action = draws.choice(actions)
                weight *= min(maximum, len(actions)) if acting == player else 1.0
            history = history.child(action)
    return total


def check_duration(
    estimator: TraversalEstimator, size: float, seconds: float, limit: float, *, first: bool
) -> None:
    """Refuse iterations of which one alone takes longer than is left for all."""
    limit = min(_LONGEST_ITERATION, limit)
    if seconds > _CERTAIN * limit:
        raise ValueError(
            f"an iteration of {type(estimator).__name__} goes through all that its player "
            f"may choose, here about {size:.0e} histories, which take more than the "
            f"{limit:g} seconds that it may; pass sampling='outcome', or OutcomeSampling or "
            "RobustSampling as estimator, or a larger time_limit"
        )
    if first and seconds > _LONG:
        logging.getLogger("regretkit").warning(
            "an iteration goes through about %.0e histories, for about %.0e seconds; "
            "sampling='outcome' goes through one",
            size,
            seconds,
        )


def check_estimator(estimator: Estimator) -> None:
    """Refuse what draws no samples, and what needs a tree."""
    check_kind(estimator, TraversalEstimator, "estimator", "ExternalSampling(generator)")
    sampler = cast("TraversalEstimator", estimator)
    if sampler._choose() is follow_average:
        raise TypeError(
            f"{quote(estimator)} goes by sums along a tree; pass ExternalSampling(generator)"
        )
    if sampler.baseline is not None:
        raise TypeError(f"{quote(sampler.baseline)} has values of a tree's histories; leave it out")
    if getattr(estimator, "reference", None) is not None:
        raise TypeError("reference names strategies of a tree; leave it out to explore uniformly")


class Traversal:
    """Samples of a game, in each of which one player learns.

    The recursion over nodes is the traversal of ``_traversal``, on lists in place of arrays, which
    Python reads faster, with the same draws.
    """

    def __init__(
        self,
        tree: LazyTree,
        estimator: TraversalEstimator,
        uniforms: "BufferedUniforms | np.random.Generator",
    ) -> None:
        self._tree, self._choose, self._random = tree, estimator._choose(), uniforms.random
        self._uniforms = cast("np.random.Generator", uniforms)
        parameters = cast("Any", estimator._parameters())
        self._rule = SamplingRule(cast("Any", ()), parameters, self._uniforms)
        self._exploration = float(parameters[0]) if self._choose is follow_one else 0.0
        self._updates: list[tuple[InfosetRecord, list[float], float]] = []
        """Visited information sets, with the utilities of their actions, and their values."""
        self.visited = 0

    def sample(self, player: int) -> None:
        """Traverse the game once for a player."""
        sums, moves, outcomes = self._tree.initial_chance
        outcome = 0
        if len(sums) > 1:  # as in deal, by bisection
            outcome = bisect_right(sums, self._random(), hi=len(sums) - 1)
            while outcome > 0 and sums[outcome] == sums[outcome - 1]:
                outcome -= 1
        self.visited += moves
        value = self._value(player, self._tree.after(*outcomes[outcome]), 1.0, 1.0)
        if not math.isfinite(value):
            raise ValueError(
                "utilities of a sampled play overflow, for they are divided by its probability; "
                "choose sampling that visits every action, as external, or a shorter game"
            )

    def _value(self, player: int, node: Node, scale: float, reach: float) -> float:
        """Return a player's payoff from a node on, times the weight of the sample."""
        while True:
            self.visited += 1
            acting = node.player
            if acting == TERMINAL:
                return scale * node.payoffs[player]
            if acting == player:
                return self._decide(player, node, scale, reach)
            if acting >= 0:
                probabilities, sums = node.record.strategy, node.record.cumulative
            else:
                probabilities, sums = node.probabilities, node.cumulative
            drawn = 0
            if len(sums) > 1:  # as pick does, in sums that are known
                drawn = bisect_right(sums, self._random())
                while drawn == len(sums) or probabilities[drawn] == 0.0:
                    drawn -= 1
            node = node.children[drawn] or self._tree.create(node, drawn)

    def _decide(self, player: int, node: Node, scale: float, reach: float) -> float:
        """Return the value of a node of the player, and note what it learns from."""
        record, children, create = node.record, node.children, self._tree.create
        strategy = record.strategy
        record.settle(self._tree.weight)
        self._tree.record_visit(player, record)
        utility = [0.0] * len(strategy)
        every = self._choose is follow_all  # without a call, which takes as long as a small node
        for a, probability in (
            enumerate(strategy) if every else self._sampled_actions(strategy, reach)
        ):
            child = children[a] or create(node, a)
            weight = scale if every else scale / probability
            utility[a] = self._value(player, child, weight, reach * strategy[a])
        value = expected(utility, strategy)
        self._updates.append((record, utility, value))
        return value

    def _sampled_actions(self, strategy: list[float], reach: float) -> Iterable[tuple[int, float]]:
        """Yield sampled actions, each with its probability."""
        size = len(strategy)
        if self._choose is follow_one:  # the same draw without arrays
            exploration, uniform = self._exploration, 1.0 / size
            behavior = strategy if reach > 0.0 else [uniform] * size
            mixture = [exploration * uniform + (1.0 - exploration) * p for p in behavior]
            chosen = 0 if size == 1 else bisect_right([*accumulate(mixture[:-1])], self._random())
            while mixture[chosen] == 0.0:
                chosen -= 1
            return ((chosen, mixture[chosen]),)
        actions, probabilities = cast("Any", [0] * size), cast("Any", [0.0] * size)
        decision = Decision(0, 0, 0, size, reach, 1.0 / size)
        count = self._choose(decision, cast("Any", strategy), actions, probabilities, self._rule)
        return zip(map(int, actions[:count]), probabilities[:count], strict=True)

    def update(self, players: Sequence[int]) -> None:
        """Let players learn from their samples, and from 0 where none came."""
        factories, infosets = self._tree.factories, self._tree.infosets
        idle = {
            record: None
            for player in players
            if not factories[player].is_lazy
            for record in infosets[player].values()
        }
        for record in idle:  # each stands behind those before it
            record.settle(self._tree.weight)
        for record, utility, value in self._updates:
            record.update(utility, value)
            idle.pop(record, None)
        for record in idle:
            if not record.is_lazy:
                record.update([0.0] * len(record.actions), 0.0)
        for player in players:
            factories[player].advance()
        self._updates.clear()


def expected(utility: list[float], strategy: list[float]) -> float:
    """Return the value of a strategy, exactly that of every action where they are equal."""
    top, missed = max(utility), 0.0
    for value, probability in zip(utility, strategy, strict=True):
        missed += (value - top) * probability
    return top + missed


_BATCH = 512


class BufferedUniforms:
    """What ``generator.random()`` returns, call by call, several times faster.

    While one of these is in use the generator is ahead of what was drawn; after it, it is where
    calls would have left it.
    """

    def __init__(self, generator: np.random.Generator) -> None:
        self._generator = generator
        self._state: Any = None
        """Of the generator, before the last batch."""
        self._batch: Iterator[float] = iter(())
        self.random: Callable[[], float] = chain.from_iterable(self._batches()).__next__

    def _batches(self) -> Iterator[Iterator[float]]:
        while True:
            self._state = self._generator.bit_generator.state
            self._batch = iter(self._generator.random(_BATCH).tolist())
            yield self._batch

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        left = len(list(self._batch))
        if left:
            self._generator.bit_generator.state = self._state
            self._generator.random(_BATCH - left)
