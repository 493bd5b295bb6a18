"""The compiled engine: whole iterations in machine code, many in one call."""

import time
from collections.abc import Callable
from typing import final

import numpy as np
from typing_extensions import override

from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import quote
from regretkit.engine._layout import (
    NO_SINGLETONS,
    SparsePayoffs,
    flatten_trees,
    lay_out_payoffs,
    shared_sums,
    without_singletons,
    zero_iterates,
)
from regretkit.engine._player_buffers import (
    advance_average,
    build_buffers,
    compile_error,
    frozen_copy,
    initial_parameters,
    load_total,
    parameters_for,
    weight_after,
)
from regretkit.engine._support import (
    all_ignore_singletons,
    is_long,
    numba_missing,
    unsupported_rules,
    unsupported_run,
    unsupported_sampled_rules,
    unsupported_sampling,
)
from regretkit.engine.kernels._sampled import SampledIterates, SamplingPlan
from regretkit.estimators._baselines import LearnedBaseline
from regretkit.estimators._mccfr import TraversalEstimator
from regretkit.play._engines import Engine, Executor
from regretkit.play._orders import UpdateSchedule
from regretkit.play._self_play import SelfPlay


@final
class Compiled(Engine):
    """Whole iterations in machine code, for rules that have a kernel.

    With ``exact_ties``, regrets that are nothing but rounding are set to zero, which takes about a
    sixth longer.
    """

    def __init__(self, *, exact_ties: bool = False) -> None:
        self.name = "compiled-exact" if exact_ties else "compiled"
        self._exact_ties = exact_ties

    @override
    def unsupported_reason(self, run: SelfPlay) -> str | None:
        if isinstance(run.estimator, TraversalEstimator):
            if self._exact_ties:
                return "regrets are sampled, which leaves no ties; pass engine='compiled'"
            found = unsupported_sampling(run, run.estimator) or unsupported_rules(run)
            return found or unsupported_sampled_rules(run)
        return unsupported_run(run) or unsupported_rules(run)

    @override
    def missing_dependency(self) -> str | None:
        return numba_missing()

    @override
    def pays_off(self, run: SelfPlay, iterations: int) -> bool:
        return not self._exact_ties and is_long(run, iterations)

    @override
    def start(self, run: SelfPlay) -> Executor:
        if isinstance(run.estimator, TraversalEstimator):
            return SampledExecutor(run, run.estimator)
        return CompiledExecutor(run, self._exact_ties)


# Iterations over the whole game

_SECONDS_PER_CALL = 0.1
"""Seconds of machine code between two checks for an interrupt,"""

_MIN_ITERATIONS = 16
"""with at least this number of iterations, since a call costs as much as one in a large game,"""

_MAX_SECONDS_PER_CALL = 1.0
"""unless they take longer than this."""

_MAX_ITERATIONS = 4096
"""Iterations in one call; their weights and parameters are computed beforehand."""


def _next_batch(count: int, took: float) -> int:
    """Return the next number of iterations in one call, from the last one and its seconds."""
    wanted = int(count * min(_SECONDS_PER_CALL / took, 8.0))
    return max(1, wanted, min(_MIN_ITERATIONS, int(count * _MAX_SECONDS_PER_CALL / took)))


@final
class CompiledExecutor(Executor):
    """Runs the iterations of one run, whose arrays are laid out for machine code."""

    def __init__(self, run: SelfPlay, exact_ties: bool) -> None:
        from regretkit.engine._jit import compile_iterations

        self._run, self._trees = run, flatten_trees(run.game.domains)
        self._payoffs, self._singletons = lay_out_payoffs(run.game, self._trees), NO_SINGLETONS
        if isinstance(self._payoffs, SparsePayoffs) and all_ignore_singletons(run):
            smaller = without_singletons(self._trees, self._payoffs)
            self._trees, self._payoffs, self._singletons = smaller
        self._iterates = zero_iterates(self._trees, shared_sums(self._payoffs))
        self._iterates.behavior[self._singletons.move] = 1.0  # no kernel writes it
        self._players, self._state, kernel = build_buffers(run, self._trees)
        self._totals = [self._iterates.total[player.sequences] for player in self._players]
        self._code = compile_iterations(kernel, type(self._payoffs), exact_ties=exact_ties)
        self._batch = _MIN_ITERATIONS
        self._compile()

    def _compile(self) -> None:
        """Compile for these arrays, by running no iteration at all."""
        from numba.core.errors import NumbaError, UnsupportedBytecodeError

        turns, weights = _turns(self._run, 0), self._run._averages[0].upcoming_weights(0)
        try:
            self._initialize()
            self._call(turns, parameters_for(self._players, turns.players), weights)
        except (NumbaError, UnsupportedBytecodeError) as error:
            raise compile_error(self._players) from error

    @override
    def play(self, iterations: int, interrupted: Callable[[], bool]) -> None:
        self._load()
        before = self._run.iteration
        try:
            while iterations > 0 and not interrupted():
                count = min(iterations, self._batch, _MAX_ITERATIONS)
                began = time.perf_counter()
                self._advance(count)
                self._batch = _next_batch(count, time.perf_counter() - began)
                iterations -= count
        finally:
            if self._run.iteration > before and self._run._failure is None:
                self._store()

    def _load(self) -> None:
        for average, total in zip(self._run._averages, self._totals, strict=True):
            load_total(average, total)
        for player in self._players:
            player.load()
        # Otherwise the iterates are those of the rules' states already.
        if not all(player.is_current() for player in self._players):
            self._initialize()

    def _initialize(self) -> None:
        parameters = initial_parameters(self._players)
        self._code.initialize(parameters, self._trees, self._iterates, self._state)

    def _advance(self, count: int) -> None:
        """Play some iterations in one call, and update all counts."""
        run = self._run
        weights, turns = run._averages[0].upcoming_weights(count), _turns(run, count)
        parameters = parameters_for(self._players, turns.players)
        try:
            self._call(turns, parameters, weights)
            for player in self._players:
                player.check(self._iterates.behavior)
            weight = weight_after(run._averages[0], weights)
            for average in run._averages:
                advance_average(average, count, weight)
            run.iteration += count
            for player in self._players:
                player.advance(int(np.count_nonzero(turns.players == player.player)))
        except BaseException as error:
            run._fail(error, None)
            raise

    def _call(self, turns: UpdateSchedule, parameters: Vector, weights: Vector) -> None:
        arrays = self._payoffs, self._trees, self._singletons, self._iterates, self._state
        self._code.iterate(turns.simultaneous, turns.players, parameters, weights, *arrays)

    def _store(self) -> None:
        """Copy the results to the run and its minimizers, once for all iterations of a call.

        With millions of sequences the copy takes longer than an iteration.
        """
        last_strategy = self._iterates.last_strategy
        try:
            for player in self._players:
                player.store(self._iterates)
            self._run.last_profile = [
                frozen_copy(last_strategy[p.sequences]) for p in self._players
            ]
        except BaseException as error:
            self._run._fail(error, None)
            raise


def _turns(run: SelfPlay, count: int) -> UpdateSchedule:
    turns = run.order.schedule(run.players, count)
    if turns is None:
        raise TypeError(f"{quote(run.order)} does not say whose turn it is")
    return turns


# Sampled iterations

_SECONDS_PER_SAMPLED_CALL = 0.05
_MAX_SAMPLED_ITERATIONS = 8_192


@final
class SampledExecutor(Executor):
    """Runs the sampled iterations of one run.

    Minimizers and the sums of averages are brought up to date after all iterations of a call, since
    that visits all decision points of the game.
    """

    def __init__(self, run: SelfPlay, sampler: TraversalEstimator) -> None:
        from regretkit.engine._jit import compile_iterations, compile_sampled_iterations

        self._run, self._sampler = run, sampler
        self._laid = sampler.flat_game(run.game)
        self._trees = trees = flatten_trees(run.game.domains)
        self._players, self._state, kernel = build_buffers(run, trees)
        self._width = len(kernel.parameters_at(0))
        behavior = np.concatenate([np.zeros(trees.sequence_offsets[-1]), self._laid.tree.chances])
        self._iterates = zero_iterates(trees, 0)._replace(behavior=behavior)
        self._sampled = SampledIterates(
            behavior=behavior,
            utility=self._iterates.utility,
            sums=np.zeros(trees.sequence_offsets[-1]),
            parent_sums=np.zeros(trees.infoset_offsets[-1]),
            visited=np.zeros(trees.infoset_offsets[-1], dtype=np.uint32),
        )
        self._initialize_code = compile_iterations(kernel, SparsePayoffs).initialize
        self._code = compile_sampled_iterations(
            kernel, sampler._choose(), sampler.baseline is not None
        )
        self._plan = self._new_plan()
        self._batch = 256
        self._compile()

    def _new_plan(self) -> SamplingPlan:
        sampler, laid = self._sampler, self._laid
        guesses, rate = np.zeros((1, 1)), 0.0
        if isinstance(sampler.baseline, LearnedBaseline):
            guesses = sampler.baseline.baseline_values(laid.game, laid.tree, self._sampled.behavior)
            rate = sampler.baseline.rate
        return SamplingPlan(
            sampler._sampling_data(laid.game), np.array(sampler._parameters()), guesses, rate
        )

    def _compile(self) -> None:
        """Compile for these arrays, by running no iteration at all."""
        from numba.core.errors import NumbaError, UnsupportedBytecodeError

        parameters = np.empty((0, len(self._players), self._width))
        try:
            self._initialize()
            self._call(_turns(self._run, 0), parameters, np.empty(0), keep_utility=False)
        except (NumbaError, UnsupportedBytecodeError) as error:
            raise compile_error(self._players) from error

    @override
    def play(self, iterations: int, interrupted: Callable[[], bool]) -> None:
        if iterations == 0:
            return
        self._load()
        while iterations > 1 and not interrupted():
            count = min(iterations - 1, self._batch, _MAX_SAMPLED_ITERATIONS)
            began = time.perf_counter()
            self._advance(count)
            took = time.perf_counter() - began
            self._batch = max(1, int(count * min(_SECONDS_PER_SAMPLED_CALL / took, 8.0)))
            iterations -= count
        self._finish()

    def _load(self) -> None:
        self._plan = self._new_plan()
        self._sampled.utility[:] = 0.0
        for player in self._players:
            player.load()
        self._initialize()
        self._load_sums()

    def _load_sums(self) -> None:
        """Continue from unsettled sums, unless average or strategy were changed outside."""
        run, sampled, settled = self._run, self._sampled, np.zeros_like(self._sampled.sums)
        lazy = run._lazy_averages
        for player in self._players:
            lazy[player.player].load(
                sampled.sums[player.sequences], sampled.parent_sums[player.infosets]
            )
        self._code.settle_all_sums(self._trees, sampled, settled)
        for player, average in zip(self._players, run._averages, strict=True):
            sums, total = sampled.sums[player.sequences], average._total
            if total is None or not np.array_equal(settled[player.sequences], total):
                sums[...] = 0.0 if total is None else total
                parent = self._trees.parent[player.infosets]
                sampled.parent_sums[player.infosets] = sampled.sums[parent]

    def _initialize(self) -> None:
        parameters = initial_parameters(self._players)
        self._initialize_code(parameters, self._trees, self._iterates, self._state)

    def _finish(self) -> None:
        """Play one more iteration, and copy the results to the run and its minimizers."""
        run, sampled, iterates = self._run, self._sampled, self._iterates
        self._initialize()
        played = [frozen_copy(iterates.strategy[p.sequences]) for p in self._players]
        turns = self._advance(1, keep_utility=True)
        try:
            for player in self._players:
                player.check(sampled.behavior)
            self._initialize()
            self._code.settle_all_sums(self._trees, sampled, iterates.total)
        except BaseException as error:
            run._fail(error, None)
            raise
        run.last_profile = played
        for player, average in zip(self._players, run._averages, strict=True):
            player.store(iterates)
            if player.player not in turns:
                player.forget_utilities()
            average._total = iterates.total[player.sequences]
            run._lazy_averages[player.player].store(
                sampled.sums[player.sequences], sampled.parent_sums[player.infosets]
            )

    def _advance(self, count: int, keep_utility: bool = False) -> Indices:
        """Play some iterations in one call, and return whose turns they were."""
        run, sampled = self._run, self._sampled
        weights, turns = run._averages[0].upcoming_weights(count), _turns(run, count)
        parameters, players = parameters_for(self._players, turns.players), turns.players
        try:
            if not weights[:, 0].all():  # nothing before the last of these counts
                since = int(np.flatnonzero(weights[:, 0] == 0.0)[-1])
                before = UpdateSchedule(players[:since], turns.simultaneous)
                self._call(before, parameters, np.zeros(since), keep_utility=False)
                turns = UpdateSchedule(players[since:], turns.simultaneous)
                parameters = parameters if len(parameters) == 1 else parameters[since:]
                sampled.sums[:] = sampled.parent_sums[:] = 0.0
                weights = weights[since:]
            self._call(turns, parameters, np.ascontiguousarray(weights[:, 1]), keep_utility)
        except BaseException as error:
            run._fail(error, None)
            raise
        for player, average in zip(self._players, run._averages, strict=True):
            # The empty sequence is always played, and so sums up the weights.
            weight = float(sampled.sums[self._trees.sequence_offsets[player.player]])
            advance_average(average, count, weight)
            player.advance(int(np.count_nonzero(players == player.player)))
        run.iteration += count
        return players

    def _call(
        self, turns: UpdateSchedule, parameters: Vector, weights: Vector, keep_utility: bool
    ) -> None:
        arrays = self._laid.tree, self._laid.buffers, self._trees, self._sampled, self._plan
        self._sampler.visited += self._code.iterate(
            turns.simultaneous,
            keep_utility,
            turns.players,
            parameters,
            weights,
            *arrays,
            self._state,
            self._sampler.generator,
        )
