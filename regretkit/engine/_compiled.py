"""The compiled engine: whole iterations in machine code, many in one call."""

import abc
import contextlib
import time
import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from regretkit._util._typing import Indices, UInt32Array, Vector
from regretkit.engine._compiler import CannotCompileError
from regretkit.engine._deviations import NO_DEVIATIONS, lay_out_deviations, negligible_gains
from regretkit.engine._layout import (
    NO_SINGLETONS,
    ChancePayoffs,
    FlatTrees,
    Iterates,
    Payoffs,
    chance_payoffs,
    flatten_trees,
    lay_out,
    lay_out_payoffs,
    payoffs_kind,
    shared_sums,
    zero_iterates,
)
from regretkit.engine._machine_code import CannotLinkError
from regretkit.engine._player_buffers import (
    PlayerBuffers,
    advance_average,
    frozen_copy,
    initial_parameters,
    load_total,
    parameters_for,
    place_rules,
    weight_after,
)
from regretkit.engine._support import (
    all_ignore_singletons,
    learner_domain,
    local_deviations,
    schedule_of,
    unsupported_rules,
    unsupported_run,
)
from regretkit.engine.kernels._iteration import Arrays
from regretkit.engine.kernels._sampled import SampledArrays, SampledIterates, SamplingPlan
from regretkit.estimators import ChanceSampling
from regretkit.estimators._baselines import LearnedBaseline
from regretkit.estimators._mccfr import TraversalEstimator
from regretkit.play._engines import CannotStartError, Engine, Executor
from regretkit.play._orders import UpdateSchedule
from regretkit.play._self_play import SelfPlay
from regretkit.trace._build import KernelSet

if TYPE_CHECKING:
    from regretkit.engine._jit import IterationCode


class Compiled(Engine):
    """Whole iterations in machine code, for rules that have a kernel.

    With ``exact``, what cancels up to rounding is zero, as it is in NumPy, which takes longer. It
    always is where chance is drawn: the few terminals of a draw often cancel.
    """

    def __init__(self, *, exact: bool = False) -> None:
        self.name = "compiled-exact" if exact else "compiled"
        self._exact = exact

    def unsupported_reason(self, run: SelfPlay) -> str | None:
        if self._exact and isinstance(run.estimator, TraversalEstimator):
            return "regrets are sampled, which leaves no ties; pass engine='compiled'"
        return unsupported_run(run) or unsupported_rules(run)

    def start(self, run: SelfPlay) -> Executor:
        if isinstance(run.estimator, TraversalEstimator):
            return SampledExecutor(run, run.estimator)
        return CompiledExecutor(run, self._exact or isinstance(run.estimator, ChanceSampling))


def code_for(run: SelfPlay, kernels: KernelSet, *, exact: bool = False) -> "IterationCode":
    """Return the machine code of a run's iterations."""
    from regretkit.engine._jit import compile_iterations, compile_sampled_iterations

    sampler = run.estimator
    if isinstance(sampler, TraversalEstimator):
        with_baseline = sampler.baseline is not None
        return compile_sampled_iterations(kernels, sampler._choose(), with_baseline)
    deviating = any(local_deviations(minimizer) is not None for minimizer in run.minimizers)
    drawn = isinstance(sampler, ChanceSampling)
    payoffs = ChancePayoffs if drawn else payoffs_kind(run.game)
    return compile_iterations(kernels, payoffs, exact=exact, deviating=deviating)


_SECONDS_PER_CALL = 0.1
"""Seconds of machine code between two checks for an interrupt,"""

_MIN_ITERATIONS = 16
"""with at least this number of iterations, since a call costs as much as one in a large game,"""

_FIRST_SEQUENCES = 150_000
"""or, in the first call, with as many as go through this number of sequences,"""

_MAX_SECONDS_PER_CALL = 1.0
"""unless they take longer than this."""

_NO_ITERATIONS = (
    UpdateSchedule(np.empty((0, 1), dtype=np.int64), simultaneous=False),
    *(np.empty((0, 1, 1)), np.empty((0, 2))),
)

_SMALL = 1 << 14
"""Numbers that are copied as fast as a view of them is made that is known to be held."""

_MAX_ITERATIONS = 4096
"""Iterations in one call; their weights and parameters are computed beforehand."""


def _next_batch(count: int, took: float) -> int:
    """Return the next number of iterations in one call, from the last one and its seconds."""
    wanted = int(count * min(_SECONDS_PER_CALL / took, 8.0))
    return max(1, wanted, min(_MIN_ITERATIONS, int(count * _MAX_SECONDS_PER_CALL / took)))


class KernelExecutor(Executor):
    """Runs the iterations of one run, whose rules have a kernel, in arrays of its own."""

    _code: Any
    _iterates: Iterates

    def __init__(
        self, run: SelfPlay, trees: FlatTrees, learners: UInt32Array, exact: bool = False
    ) -> None:
        self._run, self._trees = run, trees
        self._batch = max(_MIN_ITERATIONS, _FIRST_SEQUENCES // int(trees.sequence_offsets[-1]))
        self._learners = learners
        """The number of the tree on which the rules of each player play."""
        self._players = [
            PlayerBuffers(minimizer, player, trees, exact, learner)
            for player, (minimizer, learner) in enumerate(
                zip(run.minimizers, learners.tolist(), strict=True)
            )
        ]
        self._kernels, self._state = place_rules(self._players, trees)
        rules = [rule for player in self._players for rule in player.rules]
        self._rules = sorted(rules, key=lambda rule: not rule.foreign)  # the suspects first

    def is_current(self) -> bool:
        return all(player.same_code() for player in self._players)

    def _compile(self) -> None:
        """Compile for these arrays, by running no iteration at all."""
        try:
            self._initialize()
            self._call(*_NO_ITERATIONS)
        except CannotLinkError as error:
            raise CannotStartError(str(error)) from error
        except CannotCompileError as error:
            rules = dict.fromkeys(repr(rule.rule) for rule in self._rules)
            whose = f"the kernel of {' or '.join(rules)}"
            raise CannotStartError(f"{whose} cannot be compiled: {error}") from error

    def _initialize(self) -> None:
        """Compute all strategies from the state of the rules."""
        parameters = initial_parameters(self._players)
        arrays = self._learners, self._trees, self._iterates, self._state
        self._code.initialize(parameters, *arrays)

    def _upcoming(self, count: int) -> tuple[UpdateSchedule, Vector, Vector]:
        """Return the turns, parameters and weights of the next iterations."""
        weights = self._run._averages[0].upcoming_weights(count)  # before an order draws players
        turns = schedule_of(self._run, count)
        return turns, parameters_for(self._players, turns.players), weights

    def _play_batches(self, iterations: int, interrupted: Callable[[], bool]) -> None:
        while iterations > 0 and not interrupted():
            count = min(iterations, self._batch, _MAX_ITERATIONS)
            if self._rules[0].foreign and self._run.iteration < _MIN_ITERATIONS:
                count = 1  # so that an error names the iteration
            began = time.perf_counter()
            self._advance(count)
            self._batch = _next_batch(count, time.perf_counter() - began)
            iterations -= count

    @abc.abstractmethod
    def _advance(self, count: int) -> None:
        """Play some iterations in one call, and update all counts."""

    @abc.abstractmethod
    def _call(self, turns: UpdateSchedule, parameters: Vector, weights: Vector) -> None:
        """Call the machine code of some iterations."""

    def _count(self, turns: Indices) -> None:
        """Count iterations, and the updates of each minimizer."""
        self._run.iteration += len(turns)
        for player in self._players:
            player.advance(int(np.count_nonzero(turns == player.player)))

    def _check(self, behavior: Vector) -> None:
        """Refuse a rule that proposes what is no distribution."""
        for rule in self._rules:
            rule.check(behavior)

    @contextlib.contextmanager
    def _breaking(self, count: int = 0) -> Iterator[None]:
        """Break the run if anything fails, in one of the next ``count`` iterations."""
        try:
            yield
        except BaseException as error:
            self._run._fail(error, count=count)
            raise


class CompiledExecutor(KernelExecutor):
    """Runs iterations over the whole game."""

    def __init__(self, run: SelfPlay, exact: bool) -> None:
        found = [local_deviations(minimizer) for minimizer in run.minimizers]
        deviating = {p: learner_domain(run.minimizers[p]) for p, sets in enumerate(found) if sets}
        sampling, singletons = run.estimator, NO_SINGLETONS
        if isinstance(sampling, ChanceSampling):
            trees = flatten_trees([*run.game.domains, *deviating.values()])
            payoffs: Payoffs = chance_payoffs(run.game, trees, sampling)
        elif deviating:
            trees = flatten_trees([*run.game.domains, *deviating.values()])
            payoffs = lay_out_payoffs(run.game, trees)
        else:
            skipped = not exact and all_ignore_singletons(run)
            trees, payoffs, singletons = lay_out(run.game, skipped, exact)
        if deviating:
            payoffs = payoffs._replace(negligible=negligible_gains(payoffs.negligible, deviating))
            deviations = lay_out_deviations(found, trees)
        else:
            own = np.arange(trees.players, dtype=np.uint32)
            deviations = NO_DEVIATIONS._replace(learners=own)
        super().__init__(run, trees, deviations.learners, exact)
        self._iterates = zero_iterates(trees, shared_sums(payoffs))
        self._iterates.behavior[singletons.move] = 1.0  # no kernel writes it
        iterates = self._iterates
        self._arrays = Arrays(payoffs, trees, singletons, iterates, self._state, deviations)
        self._totals = [self._iterates.total[player.sequences] for player in self._players]
        self._code = code_for(run, self._kernels, exact=exact)
        self._lent: list[weakref.ref[Vector]] = []
        """What minimizers and the run were given of the iterates."""
        self._compile()

    def is_current(self) -> bool:
        payoffs, sampling = self._arrays.payoffs, self._run.estimator
        if isinstance(payoffs, ChancePayoffs) and isinstance(sampling, ChanceSampling):
            return super().is_current() and payoffs.generator is sampling.generator
        return super().is_current()

    def play(self, iterations: int, interrupted: Callable[[], bool]) -> None:
        for average, total in zip(self._run._averages, self._totals, strict=True):
            load_total(average, total)
        for player in self._players:
            player.load()
        # Otherwise the iterates are those of the rules' states already.
        if not all(player.is_current() for player in self._players):
            self._keep_lent()
            self._initialize()
            self._check(self._iterates.behavior)
            for player in self._players:
                player.keep_strategy(self._iterates.behavior, self._iterates.strategy)
            self._initialize_fixed_points()
            for player in self._players:
                player.store(self._iterates, self._lend, self._arrays.deviations)
        started_at = self._run.iteration
        try:
            self._play_batches(iterations, interrupted)
        finally:
            if self._run.iteration > started_at and self._run._failure is None:
                self._store()

    def _advance(self, count: int) -> None:
        turns, parameters, weights = self._upcoming(count)
        with self._breaking(count):
            for player in self._players:
                player.release()
            self._run.last_profile = []
            self._keep_lent()
            self._call(turns, parameters, weights)
            self._check(self._iterates.behavior)
            weight = weight_after(self._run._averages[0], weights)
            for average in self._run._averages:
                advance_average(average, count, weight)
            self._count(turns.players)

    def _initialize(self) -> None:
        super()._initialize()
        self._initialize_fixed_points()

    def _initialize_fixed_points(self) -> None:
        """Compute what players that learn over deviations play, from the mixtures of these."""
        if self._code.initialize_fixed_points is not None:
            self._code.initialize_fixed_points(self._arrays)

    def _call(self, turns: UpdateSchedule, parameters: Vector, weights: Vector) -> None:
        self._code.iterate(turns.simultaneous, turns.players, parameters, weights, self._arrays)
        payoffs, sampling = self._arrays.payoffs, self._run.estimator
        if isinstance(payoffs, ChancePayoffs) and isinstance(sampling, ChanceSampling):
            sampling.visited += int(payoffs.visited[0])
            payoffs.visited[0] = 0

    def _store(self) -> None:
        """Give the results to the run and its minimizers, once for all iterations of a call."""
        played = self._iterates.last_strategy
        with self._breaking():
            for player in self._players:
                player.store(self._iterates, self._lend, self._arrays.deviations)
            self._run.last_profile = [self._lend(played[p.sequences]) for p in self._players]

    def _lend(self, array: Vector) -> Vector:
        """Return a copy, or a read-only view that is right until iterations go on.

        It does not say whose memory it is, so that views of it hold it, and it is known to be held.
        """
        if array.size < _SMALL:
            return frozen_copy(array)
        view = as_strided(array, writeable=False)
        self._lent.append(weakref.ref(view))
        return view

    def _keep_lent(self) -> None:
        """Leave arrays to those who hold views of them, and go on in copies."""
        if any(view() is not None for view in self._lent):
            names = "strategy", "behavior", "utility", "last_strategy"
            copies = {name: getattr(self._iterates, name).copy() for name in names}
            self._iterates = self._iterates._replace(**copies)
            self._arrays = self._arrays._replace(iterates=self._iterates)
        self._lent.clear()


class SampledExecutor(KernelExecutor):
    """Runs sampled iterations.

    Minimizers and the sums of averages are brought up to date after all iterations of a call, since
    that visits all decision points of the game.
    """

    def __init__(self, run: SelfPlay, sampler: TraversalEstimator) -> None:
        trees = flatten_trees(run.game.domains, with_children=False)
        super().__init__(run, trees, np.arange(trees.players, dtype=np.uint32))
        self._sampler, self._flat = sampler, sampler.flat_game(run.game)
        behavior = np.concatenate([np.zeros(trees.sequence_offsets[-1]), self._flat.tree.chances])
        self._iterates = zero_iterates(trees, 0)._replace(behavior=behavior)
        self._sampled = SampledIterates(
            behavior=behavior,
            utility=self._iterates.utility,
            sums=np.zeros(trees.sequence_offsets[-1]),
            parent_sums=np.zeros(trees.infoset_offsets[-1]),
            visited=np.zeros(trees.infoset_offsets[-1], dtype=np.uint32),
        )
        self._code = code_for(run, self._kernels)
        self._arrays = self._new_arrays()
        self._compile()

    def _new_arrays(self) -> SampledArrays:
        sampler, flat, baseline = self._sampler, self._flat, self._sampler.baseline
        values, rate = np.zeros((1, 1)), 0.0
        if isinstance(baseline, LearnedBaseline):
            values = baseline.baseline_values(flat.game, flat.tree, self._sampled.behavior)
            rate = baseline.rate
        data, parameters = sampler._sampling_data(flat.game), np.array(sampler._parameters())
        plan = SamplingPlan(data, parameters, values, rate)
        return SampledArrays(flat.tree, flat.buffers, self._trees, self._sampled, plan, self._state)

    def play(self, iterations: int, interrupted: Callable[[], bool]) -> None:
        if iterations == 0:
            return
        self._arrays = self._new_arrays()
        self._sampled.utility[:] = 0.0
        for player in self._players:
            player.load()
        self._initialize()
        self._check(self._sampled.behavior)
        for player in self._players:
            player.keep_strategy(self._sampled.behavior, self._iterates.strategy)
        self._load_sums()
        self._play_batches(iterations - 1, interrupted)
        self._finish()

    def _load_sums(self) -> None:
        """Continue from unsettled sums, unless average or strategy were changed outside."""
        run, sampled, settled = self._run, self._sampled, np.zeros_like(self._sampled.sums)
        for player, lazy in zip(self._players, run._lazy_averages, strict=True):
            lazy.load(sampled.sums[player.sequences], sampled.parent_sums[player.infosets])
        self._code.settle_all_sums(self._trees, sampled, settled)
        for player, average in zip(self._players, run._averages, strict=True):
            sums, total = sampled.sums[player.sequences], average._total
            if total is None or not np.array_equal(settled[player.sequences], total):
                sums[...] = 0.0 if total is None else total
                parent = self._trees.parent[player.infosets]
                sampled.parent_sums[player.infosets] = sampled.sums[parent]

    def _finish(self) -> None:
        """Play one more iteration, and copy the results to the run and its minimizers."""
        run, sampled, iterates = self._run, self._sampled, self._iterates
        self._initialize()
        played = [frozen_copy(iterates.strategy[p.sequences]) for p in self._players]
        updates = [player.minimizer.iteration for player in self._players]
        self._advance(1, keep_utility=True)
        with self._breaking():
            self._check(sampled.behavior)
            self._initialize()
            self._code.settle_all_sums(self._trees, sampled, iterates.total)
        run.last_profile = played
        for player, count in zip(self._players, updates, strict=True):
            player.store(iterates, frozen_copy)
            if player.minimizer.iteration == count:
                player.forget_utilities()
            run._averages[player.player]._total = iterates.total[player.sequences]
            run._lazy_averages[player.player].store(
                sampled.sums[player.sequences], sampled.parent_sums[player.infosets]
            )

    def _advance(self, count: int, keep_utility: bool = False) -> None:
        run, sampled = self._run, self._sampled
        turns, parameters, weights = self._upcoming(count)
        zeros = np.flatnonzero(weights[:, 0] == 0.0)
        start = int(zeros[-1]) if zeros.size else 0
        ignored, counted = (turns._replace(players=p) for p in np.split(turns.players, [start]))
        with self._breaking(count):
            if zeros.size:  # nothing before the last of these counts
                self._call(ignored, parameters, np.zeros((start, 2)))
                sampled.sums[:] = sampled.parent_sums[:] = 0.0
            parameters = parameters if len(parameters) == 1 else parameters[start:]
            self._call(counted, parameters, weights[start:], keep_utility)
            if self._rules[0].foreign:  # ours are checked in the end: there are many of them
                self._check(sampled.behavior)
        for player, average in zip(self._players, run._averages, strict=True):
            # The empty sequence is always played, and so sums up the weights.
            weight = float(sampled.sums[self._trees.sequence_offsets[player.player]])
            advance_average(average, count, weight)
        self._count(turns.players)

    def _call(
        self,
        turns: UpdateSchedule,
        parameters: Vector,
        weights: Vector,
        keep_utility: bool = False,
    ) -> None:
        added = np.ascontiguousarray(weights[:, 1])
        given = turns.simultaneous, keep_utility, turns.players, parameters, added
        visited = self._code.iterate(*given, self._arrays, self._sampler.generator)
        self._sampler.visited += visited
