"""Self-play by sampling, of games that are given by their rules alone."""

import math
from collections.abc import Callable
from contextlib import nullcontext
from functools import cached_property
from typing import Any, cast

import numpy as np
from attrs import define, evolve, field

from regretkit._state import StateDict, Stateful
from regretkit._util._typing import Vector
from regretkit._util._validate import quote, whole_number
from regretkit.circuits._base import LocalRule
from regretkit.estimators._mccfr import TraversalEstimator
from regretkit.games._adapters import RulesHistory, as_history
from regretkit.games._behavioral import VisitedProfile, VisitedStrategy
from regretkit.games.tree._history import History
from regretkit.play._engines import Executor, executor_without_tree
from regretkit.play._infoset_records import RecordFactory
from regretkit.play._infoset_table import InfosetTable, check_entries, listed
from regretkit.play._lazy_tree import (
    BufferedUniforms,
    LazyTree,
    Traversal,
    check_duration,
    check_estimator,
    estimated_visits,
    players_of,
)
from regretkit.play._orders import UpdateSchedule
from regretkit.play._run import Run

_FEW = 50_000
"""Histories up to which Python plays: tracing the rules of a game takes about a second."""

_IN_PYTHON, _IN_MACHINE_CODE = 2e-5, 1e-7
"""Seconds that a history takes."""


@define(eq=False, repr=False)
class LazyMCCFR(Run):
    """Play a game against oneself by its rules, without a tree.

    An information set is created when a sample first visits it, so that memory grows with what was
    visited and not with the size of the game. With the same seed, the samples, strategies and
    averages are those of ``SelfPlay`` with the same estimator, rule and order on the game's
    tree, up to the rounding of sums. The first 50,000 histories are played in Python; from then on
    a game that is given as ``Rules`` is played in machine code, if its rules can be
    traced, with the same samples and strategies.

    An iteration costs what its samples visit if the rule's kernel declares
    ``invariant_to_zero_utility`` or ``only_discounts_on_zero_utility`` (see
    ``KernelTraits``), as those of regret matching, regret matching+ and
    their linear and most discounted forms do. Any other rule learns at every information set that
    was ever visited, from zero utilities where the sample did not come, as it does on the tree.

    Parameters
    ----------
    game
        The empty history of the game, or anything that ``as_history`` takes,
        of perfect recall.
    rule
        Called with simplices of a single block, once for each player and number of actions, returns
        a new minimizer on them: a rule's class, or any circuit. It may not draw random numbers, and
        must not change its strategy before it has earned anything. Or a tuple of these, one for
        each player.
    estimator
        ``ExternalSampling``, ``OutcomeSampling`` or ``RobustSampling``, without a
        baseline and with uniform exploration.
    order, averaging, horizon
        As ``SelfPlay`` takes them; weights must be finite.
    cached_histories
        Number of histories to keep in memory, which makes visiting them again several times
        faster; information sets are all kept.

    Attributes
    ----------
    iteration, seconds
        Number of iterations played, and how long they took, as those of ``SelfPlay``.

    Raises
    ------
    TypeError, ValueError
        When an argument is none of these; later, when the rule draws random numbers, or, with the
        information set that shows it, when the game has imperfect recall. That actions differ
        within an information set is noticed in machine code alone: in Python a game is asked for
        them once an information set.

    Examples
    --------
    >>> from regretkit import RegretMatching
    >>> from regretkit.games import goofspiel
    >>> from regretkit.play import ExternalSampling
    >>> sampling = ExternalSampling(np.random.default_rng(1))
    >>> run = LazyMCCFR(goofspiel(3), RegretMatching, sampling).run(100)
    >>> run
    <LazyMCCFR: 100 iterations, 5 + 4 information sets met>
    >>> run.average[0]("unheard of", ["a", "b"])
    array([0.5, 0.5])

    References
    ----------
    Lanctot, Waugh, Zinkevich and Bowling (2009), "Monte Carlo sampling for regret minimization in
    extensive games", NIPS.
    """

    game: History = field(converter=as_history)
    rule: LocalRule | tuple[LocalRule, ...]
    estimator: TraversalEstimator
    cached_histories: int = field(default=250_000, kw_only=True)
    players: int = field(init=False)
    _tree: LazyTree = field(init=False)
    _turn: tuple[list[int], bool] | None = field(default=None, init=False)
    """Who learns in an iteration, and whether all at once."""
    _flat: Any = field(default=None, init=False)
    """What was learned, where machine code learns it."""
    _executor: Executor | None = field(default=None, init=False)
    _interpreted: bool = field(default=False, init=False)
    """Whether it is known that there is no machine code."""

    def __attrs_post_init__(self) -> None:
        check_estimator(self.estimator)
        self.averaging.weight(1, self.horizon)
        self.players = players_of(self.game)
        self.order.check_players(self.players)
        if self.order.schedule(self.players, 0) is None:
            raise ValueError(
                f"{quote(self.order)} does more in an iteration than to let players learn"
            )
        room = whole_number(self.cached_histories, "cached_histories", minimum=0)
        generator = self.estimator.generator
        factories = [RecordFactory(rule, generator) for rule in self._rules]
        self._tree = LazyTree(self.game, factories, room)

    @property
    def _rules(self) -> tuple[LocalRule, ...]:
        """The rule of each player."""
        rules = self.rule if isinstance(self.rule, tuple) else (self.rule,) * self.players
        if len(rules) != self.players:
            raise ValueError(
                f"rule must be one for each of the {self.players} players, got {len(rules)}"
            )
        return rules

    def _prepare(self, iterations: int) -> None:
        size = self._iteration_size
        history = _IN_PYTHON if self._executor_for(iterations) is None else _IN_MACHINE_CODE
        check_duration(self.estimator, size, size * history, math.inf, first=self.iteration == 0)

    def _play(self, iterations: int, interrupted: Callable[[], bool]) -> None:
        executor = self._executor_for(iterations)
        if executor is not None:
            executor.play(iterations, interrupted)
            return
        self._tree.make_records()
        # An order that draws may draw from the same generator.
        at_once = iterations > 1 and not isinstance(self.order, Stateful)
        generator = self.estimator.generator
        with BufferedUniforms(generator) if at_once else nullcontext(generator) as uniforms:
            traversal = Traversal(self._tree, self.estimator, uniforms)
            for _ in range(iterations):
                if interrupted():
                    break
                self._play_once(traversal)

    def _executor_for(self, iterations: int) -> Executor | None:
        """Return what plays in machine code, None where Python does.

        Both compute the same numbers, and which one does depends on no clock.
        """
        if self._executor is not None or self._interpreted:
            return self._executor
        visits = self.estimator.visited + iterations * self._iteration_size
        if isinstance(self.game, RulesHistory) and (self._flat is not None or visits >= _FEW):
            self._executor = executor_without_tree(self)
            self._interpreted = self._executor is None
        return self._executor

    @cached_property
    def _iteration_size(self) -> float:
        """An estimate of the number of histories that the first iteration visits."""
        return estimated_visits(self.game, self.players, self.estimator)

    def _weight(self, t: int) -> float:
        """Return the weight of an iteration in the average."""
        weight = self.averaging.weight(t, self.horizon)
        if not 0.0 <= weight < math.inf:
            raise ValueError(
                f"{quote(self.averaging)} gives iteration {t} the weight {quote(weight)}; without "
                "a tree weights must be finite, use current for the last strategies"
            )
        return weight

    def _play_once(self, traversal: Traversal) -> None:
        weight = self._weight(self.iteration + 1)
        if self._turn is None or isinstance(self.order, Stateful):
            players, simultaneous = cast("UpdateSchedule", self.order.schedule(self.players, 1))
            self._turn = [player for player in players[0].tolist() if player >= 0], simultaneous
        movers, simultaneous = self._turn
        self._tree.weight += weight
        traversal.visited = 0
        for player in movers:
            traversal.sample(player)
            if not simultaneous:
                traversal.update([player])
        if simultaneous:
            traversal.update(movers)
        self.estimator.visited += traversal.visited
        self.iteration += 1

    @property
    def information_sets(self) -> tuple[int, ...]:
        """Number of information sets at which each player has learned so far."""
        return tuple(map(self._learned.count, range(self.players)))

    @property
    def _learned(self) -> Any:
        """What has been learned: by machine code, or in Python."""
        return self._tree if self._flat is None else self._flat

    @property
    def current(self) -> VisitedProfile:
        """What each player would play next."""
        self.check_whole()
        tables = map(self._learned.table, range(self.players))
        return VisitedProfile(self._visited(p, t, t.strategy) for p, t in enumerate(tables))

    @property
    def average(self) -> VisitedProfile:
        """What each player plays on average over the iterations, weighted."""
        self.check_whole()
        weight, tables = self._tree.weight, map(self._learned.table, range(self.players))
        return VisitedProfile(self._visited(p, t, t.averages(weight)) for p, t in enumerate(tables))

    def _visited(self, player: int, table: InfosetTable, played: Vector) -> VisitedStrategy:
        labels = [self._tree.label(player, key) for key in listed(table.keys)]
        names, first, last = self._tree.names(player, table.actions), table.first, table.parent
        ends = zip(first.tolist(), (first + table.sizes).tolist(), strict=True)
        actions = [tuple(names[begin:end]) for begin, end in ends]
        parents = np.where(last < 0, 0, 1 + first[last] + table.parent_action)
        return VisitedStrategy(labels, actions, parents.tolist(), played)

    def state_dict(self) -> StateDict:
        """Return a copy of the state: what was learned, and how far the run is."""
        state = self._state()
        for player in state["players"]:
            player |= {name: player[name].saved() for name in ("templates", "infosets")}
        return cast("StateDict", state)

    def load_state_dict(self, state: StateDict) -> None:
        """Continue from a state that ``state_dict`` returned for a run built the same way."""
        self._flat = self._executor = self._failure = None
        _restore(self, state)

    def _state(self) -> dict[str, Any]:
        """Return what was learned and how far the run is."""
        self.check_whole()
        players = []
        for player, factory in enumerate(self._tree.factories):
            infosets = self._learned.table(player)
            sizes = np.unique(infosets.sizes)
            templates = InfosetTable.of([*map(factory.template, sizes.tolist())])
            templates = evolve(templates, keys=sizes)
            learned = {"templates": templates, "infosets": infosets}
            players.append({"iteration": factory.iteration, **learned})
        return {
            "iteration": self.iteration,
            "weight": self._tree.weight,
            "parts": {name: part.state_dict() for name, part in _stateful_parts(self)},
            "players": players,
        }

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what copies and pickles are made of: no tree, and no machine code."""
        options = {name: getattr(self, name) for name in (*_OPTIONS, "seconds", "call")}
        return _copied, (self.game, self.rule, self.estimator, options, self._state())

    def __repr__(self) -> str:
        met = " + ".join(map(str, self.information_sets))
        return f"<LazyMCCFR: {self.iteration} iterations, {met} information sets met>"


# Copies and files

_OPTIONS = "order", "averaging", "horizon", "cached_histories"


def _copied(game: Any, rule: Any, estimator: Any, options: dict[str, Any], state: Any) -> LazyMCCFR:
    run = LazyMCCFR(game, rule, estimator, **{name: options[name] for name in _OPTIONS})
    _restore(run, state)
    run.seconds, run.call = options["seconds"], options["call"]
    return run


def _stateful_parts(run: LazyMCCFR) -> list[tuple[str, Stateful]]:
    parts = [(name, getattr(run, name)) for name in ("order", "averaging", "estimator")]
    return [(name, part) for name, part in parts if isinstance(part, Stateful)]


def _restore(run: LazyMCCFR, content: Any) -> None:
    """Restore a run that was built in the same way, which is not to be used where this fails."""
    check_entries(content, {"iteration", "weight", "parts", "players"})
    iteration, weight, players = content["iteration"], content["weight"], content["players"]
    if type(iteration) is not int or not 0 <= iteration < 2**62:
        raise ValueError("iteration must be a number of iterations")
    if type(weight) is not float or not 0.0 <= weight < math.inf:
        raise ValueError("weight must be a finite number, at least 0")
    if not isinstance(players, list) or len(players) != run.players:
        raise ValueError("players must be a list with an entry for each player")
    tree, tables = run._tree, list[InfosetTable]()
    for factory, saved in zip(tree.factories, players, strict=True):
        check_entries(saved, {"iteration", "templates", "infosets"})
        templates, infosets = map(InfosetTable.read, (saved["templates"], saved["infosets"]))
        if isinstance(run.game, RulesHistory) and not infosets.is_numbered:
            raise ValueError("information sets and actions of rules must be whole numbers")
        if type(saved["iteration"]) is not int or not 0 <= saved["iteration"] <= iteration:
            raise ValueError(f"a player must have learned in 0 to {iteration} iterations")
        if not np.array_equal(templates.sizes, np.unique(infosets.sizes)):
            raise ValueError("templates must be of the numbers of actions of information sets")
        templates.check(factory, weight)
        factory.restore(saved["iteration"], templates.records(factory))
        infosets.check(factory, weight)
        tables.append(infosets)
    stateful = dict(_stateful_parts(run))
    check_entries(content["parts"], stateful)
    tree.restore(tables)
    for name, part in stateful.items():  # last, because they are the caller's
        part.load_state_dict(content["parts"][name])
    run.iteration, tree.weight = iteration, weight
