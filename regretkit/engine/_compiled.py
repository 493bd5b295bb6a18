"""The compiled engine: one call of machine code plays many iterations."""

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

import numpy as np

from regretkit._machine_code import MachineCode, linkable
from regretkit._util._errors import warn_once
from regretkit._util._typing import Vector
from regretkit.engine._deviations import DeviationArrays, lay_out_deviations, negligible_gains
from regretkit.engine._executor import KernelExecutor
from regretkit.engine._layout import (
    ChancePayoffs,
    Iterates,
    Payoffs,
    Trees,
    chance_payoffs,
    flatten_trees,
    groups_of,
    lay_out,
    lay_out_payoffs,
    shared_sums,
    trees_in_ranges,
    zero_iterates,
)
from regretkit.engine._players import (
    Numbering,
    PlayerState,
    advance_average,
    frozen,
    parameters_for,
    weight_after,
)
from regretkit.engine._sampled_run import SampledExecutor
from regretkit.engine._support import (
    Structure,
    structure_of,
    unsupported_rules,
    unsupported_run,
)
from regretkit.engine._without_tree import RulesExecutor
from regretkit.engine.kernels._deviations import initialize_fixed_points
from regretkit.engine.kernels._iteration import Arrays, Rules, iterate
from regretkit.estimators import ChanceSampling
from regretkit.estimators._mccfr import TraversalEstimator
from regretkit.play._engines import CannotStartError, Engine, Executor
from regretkit.play._sampled import Sampled
from regretkit.play._self_play import SelfPlay
from regretkit.trace import UntraceableError


class Compiled(Engine):
    """Plays iterations in machine code, for traceable rules."""

    def unsupported_reason(self, run: SelfPlay) -> str | None:
        if not linkable():
            return "machine code cannot be linked on this platform"
        return unsupported_run(run) or unsupported_rules(run)

    def start(self, run: SelfPlay) -> Executor:
        if isinstance(run.estimator, TraversalEstimator):
            return SampledExecutor(run, run.estimator)
        return CompiledExecutor(run)

    def start_without_tree(self, run: Sampled, *, required: bool) -> Executor | None:
        try:
            return RulesExecutor(run)
        except UntraceableError as error:
            if required:
                raise ValueError(f"engine 'compiled' cannot run this: {error}") from error
        except CannotStartError as error:
            if required:
                raise
            warn_once(f"{error}; the run is played in Python")
        return None


class CompiledExecutor(KernelExecutor):
    """Plays iterations over the whole game.

    ``play`` copies the state of minimizers and averages to the engine's arrays, and back at the
    end.
    """

    def __init__(self, run: SelfPlay) -> None:
        structures = [structure_of(minimizer) for minimizer in run.minimizers]
        trees, payoffs, deviations = _lay_out(run, structures)
        learners = range(run.players) if deviations is None else deviations.learners.tolist()
        numbering = Numbering(trees.begin, trees.point_offsets, trees.sequence, trees.point)
        players = [
            PlayerState(structure, player, numbering, learner, exact=True)
            for player, (structure, learner) in enumerate(zip(structures, learners, strict=True))
        ]
        super().__init__(run, players, trees.sequences)
        self._iterates = zero_iterates(trees, shared_sums(payoffs))
        nobody, weights = np.full((1, 1), -1), np.empty((0, 2))
        with self._starting():
            rows = parameters_for(players, nobody)
            rules = _place(players, trees, self._iterates, rows)
            self._arrays = Arrays(payoffs, trees, self._iterates, rules, deviations)
            self._code = MachineCode(iterate)
            given = nobody, np.concatenate(rows, axis=1), weights
            self._code.prepared(False, *given, self._arrays)

    def is_current(self) -> bool:
        payoffs, sampling = self._arrays.payoffs, self._run.estimator
        if isinstance(payoffs, ChancePayoffs) and isinstance(sampling, ChanceSampling):
            return super().is_current() and payoffs.generator is sampling.generator
        return super().is_current()

    def play(self, iterations: int, interrupted: Callable[[], bool]) -> None:
        self._load()
        started_at = self._run.iteration
        self._play_batches(iterations, interrupted)
        if self._run.iteration > started_at:
            self._store()

    def _load(self) -> None:
        """Copy the state of minimizers and averages to the arrays."""
        for player, average in zip(self._players, self._run._averages, strict=True):
            player.load(self._iterates)
            total = average._total
            self._iterates.total[player.sequences] = 0.0 if total is None else total
        if self._arrays.deviations is not None:
            MachineCode(initialize_fixed_points)(self._arrays)

    def _store(self) -> None:
        """Copy the state of minimizers and averages from the arrays."""
        deviations, run = self._arrays.deviations, self._run
        last = None if deviations is None else deviations.last_behavior
        for player, average in zip(self._players, run._averages, strict=True):
            player.store(self._iterates, last)
            average._total = self._iterates.total[player.sequences]
        played = self._iterates.last_strategy
        run.last_profile = [frozen(played[player.sequences]) for player in self._players]

    def _advance(self, count: int) -> None:
        turns, rows, weights = self._upcoming(count)
        parameters = np.concatenate(rows, axis=1)
        self._code(turns.simultaneous, turns.players, parameters, weights, self._arrays)
        payoffs, sampling = self._arrays.payoffs, self._run.estimator
        if isinstance(payoffs, ChancePayoffs) and isinstance(sampling, ChanceSampling):
            sampling.visited += int(payoffs.visited[0])
            payoffs.visited[0] = 0
        self._check(self._iterates.behavior)
        weight = weight_after(self._run._averages[0], weights)
        for average in self._run._averages:
            advance_average(average, count, weight)
        self._count(turns.players)


def _lay_out(
    run: SelfPlay, structures: Sequence[Structure]
) -> tuple[Trees, Payoffs, DeviationArrays | None]:
    """Return the trees, payoffs and deviations of a run."""
    learners = {p: of.learned_domain for p, of in enumerate(structures) if of.deviations}
    several = any(len(structure.rules) > 1 for structure in structures)
    sampling = run.estimator
    if not (learners or several or isinstance(sampling, ChanceSampling)):
        return *lay_out(run.game), None
    flat = flatten_trees([*run.game.domains, *learners.values()])
    tree = [*range(run.players)]
    for number, player in enumerate(learners):
        tree[player] = run.players + number
    kind = np.zeros(flat.first.size, dtype=np.int64)
    for player, structure in enumerate(structures):
        own = kind[flat.infoset_offsets[tree[player]] : flat.infoset_offsets[tree[player] + 1]]
        for number, placed in enumerate(structure.rules):
            own[placed.points] = number
    trees = trees_in_ranges(flat, kind, groups_of(run.game, flat))
    if isinstance(sampling, ChanceSampling):
        payoffs: Payoffs = chance_payoffs(run.game, trees, sampling)
    else:
        payoffs = lay_out_payoffs(run.game, trees)
    if not learners:
        return trees, payoffs, None
    payoffs = payoffs._replace(negligible=negligible_gains(payoffs.negligible, learners))
    return trees, payoffs, lay_out_deviations([of.deviations for of in structures], flat, trees)


def _place(
    players: Sequence[PlayerState], trees: Trees, iterates: Iterates, parameters: Sequence[Vector]
) -> Rules:
    """Return the state arrays and the machine code of all players' rules."""
    played = [(player.player, rule) for player in players for rule in player.rules]
    around = np.full((len(players), 2), -1)
    # Rules play disjoint points and share rows. Circuits cover all sequences and get rows of
    # their own.
    layouts = [rule.kernel.layout for _, rule in played]
    rows_of = {
        outer: max(
            (sum(rule.kernel.layout) for _, rule in played if rule.around == outer), default=0
        )
        for outer in (False, True)
    }
    by_action = np.zeros((sum(rows_of.values()), trees.sequences))
    by_point = np.zeros((max(len(x) - sum(x) for x in layouts), trees.points))
    offset = np.cumsum([0, *(rows.shape[1] for rows in parameters)])
    of_point = np.zeros((trees.points, 2), dtype=np.int64)
    functions, utility = list[int](), iterates.utility
    joined = np.concatenate(parameters, axis=1)
    for number, (player, rule) in enumerate(played):
        rows = {True: count(rows_of[False] * rule.around), False: count()}
        places = tuple((part, next(rows[part])) for part in rule.kernel.layout)
        rule.place([(by_action if part else by_point)[row] for part, row in places])
        if rule.around:
            around[player] = number, offset[number]
            given: Any = False, 0, 0, 0, 0, utility, iterates.strategy, by_action, joined
        else:
            of_point[rule.points] = number, offset[number]
            sizes, arrays = (np.uint32(0),) * 7, (utility, iterates.behavior, iterates.values)
            given = *sizes, 0.0, *arrays, by_action, by_point, joined
        functions.append(MachineCode(rule.function(places)).address(*given))
    return Rules(
        np.array(functions),
        of_point[trees.ranges[:, 0]],
        by_action,
        by_point,
        around if (around >= 0).any() else None,
    )
