"""Sampled iterations in machine code."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from regretkit._machine_code import MachineCode
from regretkit._util._typing import Vector
from regretkit.engine._executor import KernelExecutor
from regretkit.engine._layout import Iterates, flatten_trees
from regretkit.engine._players import (
    Numbering,
    PlayerState,
    advance_average,
    frozen,
    parameters_for,
)
from regretkit.engine._support import structure_of
from regretkit.engine.kernels import _sampled
from regretkit.engine.kernels._sampled import SampledArrays, SampledIterates, SamplingPlan
from regretkit.estimators._mccfr import TraversalEstimator
from regretkit.estimators._traversal import (
    Choose,
    as_if_even,
    update_baseline,
    walker,
)
from regretkit.play._orders import UpdateSchedule
from regretkit.play._self_play import SelfPlay
from regretkit.trace import upcoming_parameters
from regretkit.trace._build import KernelSet, combine


class SampledExecutor(KernelExecutor):
    """Plays sampled iterations.

    Minimizers and averages are updated at the end of ``play`` only, as this visits all decision
    points of the game.
    """

    def __init__(self, run: SelfPlay, sampler: TraversalEstimator) -> None:
        trees = flatten_trees(run.game.domains)
        begin, first_point = trees.sequence_offsets, trees.infoset_offsets
        size, points = int(begin[-1]), int(first_point[-1])
        names = np.arange(size, dtype=np.uint32), np.arange(points, dtype=np.uint32)
        numbering = Numbering(begin, first_point, *names)
        players = [
            PlayerState(structure_of(minimizer), player, numbering, player, exact=False)
            for player, minimizer in enumerate(run.minimizers)
        ]
        super().__init__(run, players, size)
        self._trees, self._sampler = trees, sampler
        self._flat = sampler.flat_game(run.game)
        self._sequences = [slice(p.sequences[0], p.sequences[-1] + 1) for p in players]
        self._points = [slice(*ends) for ends in pairwise(first_point.tolist())]
        behavior = np.concatenate([np.zeros(size), self._flat.tree.chances])
        self._iterates = Iterates(
            strategy=np.zeros(size),
            behavior=behavior,
            utility=np.zeros(size),
            total=np.zeros(size),
            last_strategy=np.zeros(0),
            values=np.zeros(0),
            reach=np.zeros(0),
        )
        self._sampled = SampledIterates(
            behavior=behavior,
            utility=self._iterates.utility,
            sums=np.zeros(size),
            parent_sums=np.zeros(points),
            visited=np.zeros(points, dtype=np.uint32),
        )
        kernels, self._state = place_rules(players, size, points)
        self._code = compile_sampled_iterations(
            kernels, sampler._choose(), sampler.baseline is not None
        )
        self._arrays = self._new_arrays()
        with self._starting():
            self._initialize()
            self._call(*_NO_ITERATIONS)

    def _initialize(self) -> None:
        """Compute all strategies from the state of the rules."""
        rows = parameters_for(self._players, np.full((1, 1), -1))
        given = self._by_player(rows)[0], self._trees, self._sampled.behavior
        self._code.initialize(*given, self._iterates.strategy, self._state)

    def _by_player(self, rows: list[Vector]) -> Vector:
        """Return the rules' parameters by player, shape ``(iterations, players, parameters)``."""
        remaining = iter(rows)
        joined = [
            np.concatenate([next(remaining) for _ in player.rules], axis=1)
            for player in self._players
        ]
        found: Vector = np.zeros((len(joined[0]), len(joined), max(own.shape[1] for own in joined)))
        for player, own in enumerate(joined):
            found[:, player, : own.shape[1]] = own
        return found

    def _new_arrays(self) -> SampledArrays:
        sampler, flat, baseline = self._sampler, self._flat, self._sampler.baseline
        values, rate = np.zeros((1, 1)), 0.0
        if baseline is not None:
            values, rate = baseline.values_in(flat.game), baseline.rate
        data, parameters = sampler._sampling_data(flat.game), np.array(sampler._parameters())
        plan = SamplingPlan(data, parameters, values, rate)
        return SampledArrays(flat.tree, flat.buffers, self._trees, self._sampled, plan, self._state)

    def play(self, iterations: int, interrupted: Callable[[], bool]) -> None:
        if iterations == 0:
            return
        self._arrays = self._new_arrays()
        self._sampled.utility[:] = 0.0
        for player in self._players:
            player.load(self._iterates)
        self._load_sums()
        self._play_batches(iterations - 1, interrupted)
        self._finish()

    def _load_sums(self) -> None:
        """Load the averages' sums as of the last visits, or totals that were changed outside."""
        run, sampled, settled = self._run, self._sampled, np.zeros_like(self._sampled.sums)
        places = list(zip(self._sequences, self._points, strict=True))
        for (sequences, points), average in zip(places, run._averages, strict=True):
            if average.sums is not None and average.parent_sums is not None:
                sampled.sums[sequences] = average.sums
                sampled.parent_sums[points] = average.parent_sums
        self._code.settle_all_sums(self._trees, sampled, settled)
        for (sequences, points), average in zip(places, run._averages, strict=True):
            total = average._total
            if total is None or not np.array_equal(settled[sequences], total):
                sampled.sums[sequences] = 0.0 if total is None else total
                sampled.parent_sums[points] = sampled.sums[self._trees.parent[points]]

    def _finish(self) -> None:
        """Play the last iteration, and copy the results to the run and its minimizers."""
        run, sampled, iterates = self._run, self._sampled, self._iterates
        self._initialize()
        played = [frozen(iterates.strategy[player.sequences]) for player in self._players]
        updates = [player.minimizer.iteration for player in self._players]
        self._advance(1, keep_utility=True)
        self._check(sampled.behavior)
        self._initialize()
        self._code.settle_all_sums(self._trees, sampled, iterates.total)
        run.last_profile = played
        for number, (player, count) in enumerate(zip(self._players, updates, strict=True)):
            player.store(iterates)
            if player.minimizer.iteration == count:
                player.forget_utilities()
            average = run._averages[number]
            average._total = iterates.total[player.sequences]
            average.sums = sampled.sums[self._sequences[number]]
            average.parent_sums = sampled.parent_sums[self._points[number]]

    def _advance(self, count: int, keep_utility: bool = False) -> None:
        run, sampled = self._run, self._sampled
        turns, rows, weights = self._upcoming(count)
        parameters = self._by_player(rows)
        zeros = np.flatnonzero(weights[:, 0] == 0.0)
        start = int(zeros[-1]) if zeros.size else 0
        ignored, counted = (turns._replace(players=p) for p in np.split(turns.players, [start]))
        if zeros.size:  # a decay of zero: the average forgets earlier iterations
            self._call(ignored, parameters, np.zeros((start, 2)))
            sampled.sums[:] = sampled.parent_sums[:] = 0.0
        parameters = parameters if len(parameters) == 1 else parameters[start:]
        self._call(counted, parameters, weights[start:], keep_utility)
        if self._rules[0].foreign:  # regretkit's rules are checked once, in ``_finish``
            self._check(sampled.behavior)
        for player, average in zip(self._players, run._averages, strict=True):
            # The sum at the empty sequence is the sum of the weights.
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


_NO_ITERATIONS = (
    UpdateSchedule(np.empty((0, 1), dtype=np.int64), simultaneous=False),
    *(np.empty((0, 1, 1)), np.empty((0, 2))),
)


def place_rules(
    players: Sequence[PlayerState], sequences: int, points: int
) -> tuple[KernelSet, tuple[Vector, ...]]:
    """Return the combined kernel of all rules, and the common arrays."""
    rules = [rule for player in players for rule in player.rules]
    kernels = combine([rule.kernel for rule in rules], all(len(p.rules) == 1 for p in players))
    state = tuple(np.zeros(sequences if part else points) for part in kernels.by_action)
    for rule, begin in zip(rules, kernels.begin, strict=True):
        rule.place(state[begin : begin + len(rule.kernel.layout)])
    if kernels.dispatches:
        chosen, parameters = state[-2:]
        codes = iter(kernels.code)
        for player in players:
            first = 0
            for rule in player.rules:
                chosen[rule.points], parameters[rule.points] = next(codes), first
                first += upcoming_parameters(rule.rule, rule.kernel, 0)[0].shape[1]
    return kernels, state


class IterationCode(NamedTuple):
    """The machine code of sampled iterations."""

    initialize: Any
    iterate: Any
    settle_all_sums: Any


def compile_sampled_iterations(
    kernel: KernelSet, choose: Choose, with_baseline: bool
) -> IterationCode:
    """Return the machine code of sampled iterations for a kernel and a sampling."""
    learn_baseline = update_baseline if with_baseline else None
    walk = walker(choose, with_baseline, as_if_even)
    functions = _sampled.Functions(kernel.propose, kernel.learn, walk, learn_baseline)
    return IterationCode(
        MachineCode(_sampled.proposals(functions)),
        MachineCode(_sampled.sampled_iterations(functions), 1),
        MachineCode(_sampled.settle_all_sums),
    )
