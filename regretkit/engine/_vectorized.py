"""The vectorized engine: payoffs and passes over trees in machine code, and rules in Python."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from regretkit._state import Stateful, with_parts
from regretkit._util._arrays import RESOLUTION, as_uint32
from regretkit._util._typing import UInt32Array, Vector, as_int64
from regretkit._util._validate import quote
from regretkit.circuits import CFR, EFR
from regretkit.circuits._base import TreeCircuit
from regretkit.engine._compiler import CannotCompileError
from regretkit.engine._layout import lay_out, shared_sums, zero_iterates
from regretkit.engine._machine_code import MachineCode
from regretkit.engine._players import advance_average, frozen, weight_after
from regretkit.engine._support import (
    schedule_of,
    unsupported_run,
    unsupported_traversal,
)
from regretkit.engine.kernels._passes import Passes, earn
from regretkit.engine.kernels._walks import forward
from regretkit.estimators import ChanceSampling
from regretkit.estimators._mccfr import TraversalEstimator
from regretkit.estimators._traversal import even_search_start, search_start, walker
from regretkit.games.tree._sequences import offsets
from regretkit.minimizer import RegretMinimizer
from regretkit.minimizers import SimplexRule
from regretkit.play._engines import CannotStartError, Engine, Executor, NumpyEngine
from regretkit.play._self_play import SelfPlay
from regretkit.sets import Simplices

_FLOAT = np.dtype(np.float64)


def block_sum(begin: UInt32Array, vector: Vector, sums: Vector) -> None:
    """Set the sum of each block."""
    for block in range(sums.size):
        total = 0.0
        for a in range(as_int64(begin[block]), as_int64(begin[block + 1])):
            total += float(vector[a])
        sums[block] = total


def block_dot(begin: UInt32Array, left: Vector, right: Vector, products: Vector) -> None:
    """Set the inner product of each block."""
    for block in range(products.size):
        total = 0.0
        for a in range(as_int64(begin[block]), as_int64(begin[block + 1])):
            total += float(left[a] * right[a])
        products[block] = total


def add(begin: UInt32Array, left: Vector, right: Vector, totals: Vector) -> None:
    """Set the sum of each action's numbers, exactly zero where they cancel up to rounding."""
    for a in range(totals.size):
        total = left[a] + right[a]
        totals[a] = 0.0 if abs(total) <= RESOLUTION * abs(right[a]) else total


def block_max(begin: UInt32Array, vector: Vector, largest: Vector) -> None:
    """Set the largest entry of each block."""
    for block in range(largest.size):
        first = as_int64(begin[block])
        top = vector[first]
        for a in range(first + 1, as_int64(begin[block + 1])):
            top = max(top, vector[a])
        largest[block] = top


def block_regret(begin: UInt32Array, utility: Vector, strategy: Vector, regrets: Vector) -> None:
    """Set the regret of each action, exactly zero where it is rounding."""
    for block in range(begin.size - 1):
        first, last = as_int64(begin[block]), as_int64(begin[block + 1])
        largest = utility[first]
        for a in range(first + 1, last):
            largest = max(largest, utility[a])
        regret = 0.0
        for a in range(first, last):
            regret += float((utility[a] - largest) * strategy[a])
        rounding = RESOLUTION * (abs(largest) - regret)
        value = 0.0 if abs(largest + regret) <= rounding else largest + regret
        for a in range(first, last):
            regrets[a] = 0.0 if abs(utility[a] - value) <= rounding else utility[a] - value


def block_normalize(begin: UInt32Array, vector: Vector, shares: Vector) -> None:
    """Scale each block to sum to one; set it uniform where it is all zero."""
    for block in range(begin.size - 1):
        first, last = as_int64(begin[block]), as_int64(begin[block + 1])
        total = 0.0
        for a in range(first, last):
            total += float(vector[a])
        if total == 0.0:
            for a in range(first, last):
                shares[a] = (vector[a] + 1.0) / (last - first)
        else:
            for a in range(first, last):
                shares[a] = vector[a] / total


class BlockFunctions(NamedTuple):
    """The functions above as machine code."""

    sum: Any
    dot: Any
    max: Any
    add: Any
    regret: Any
    normalize: Any


def compile_block_functions() -> BlockFunctions:
    """Return the operations of simplices as machine code."""
    indices, numbers = np.zeros(1, np.uint32), np.zeros(0)
    unary, binary = (indices, numbers, numbers), (indices, numbers, numbers, numbers)
    arguments = {
        block_sum: unary,
        block_dot: binary,
        block_max: unary,
        add: binary,
        block_regret: binary,
        block_normalize: unary,
    }
    return BlockFunctions(*(MachineCode(f, {}).prepared(*x)[0] for f, x in arguments.items()))


class CompiledSimplices(Simplices):
    """Simplices whose operations are machine code on contiguous arrays of floats, else in NumPy.

    Copies and pickles are plain ``Simplices``.
    """

    def __init__(self, simplices: Simplices, functions: BlockFunctions) -> None:
        vars(self).update(vars(simplices))
        self._compiled = as_uint32(offsets(simplices.sizes)), functions

    def sum(self, vector: Vector) -> Vector:
        return self._run("sum", self.blocks, vector)

    def dot(self, left: Vector, right: Vector) -> Vector:
        return self._run("dot", self.blocks, left, right)

    def max(self, vector: Vector) -> Vector:
        return self._run("max", self.blocks, vector)

    def add(self, regrets: Vector, regret: Vector) -> Vector:
        return self._run("add", self.dimension, regrets, regret)

    def regret(self, utility: Vector, strategy: Vector) -> Vector:
        return self._run("regret", self.dimension, utility, strategy)

    def normalize(self, vector: Vector) -> Vector:
        return self._run("normalize", self.dimension, vector)

    def _run(self, name: str, size: int, *vectors: Vector) -> Vector:
        for vector in vectors:
            # Machine code would read beyond one of another shape, which NumPy refuses.
            fits = type(vector) is np.ndarray and vector.shape == (self.dimension,)
            if not (fits and vector.dtype is _FLOAT and vector.flags.c_contiguous):
                in_numpy: Callable[..., Vector] = getattr(Simplices, name)
                return in_numpy(self, *vectors)
        begin, functions = self._compiled
        result = np.empty(size)
        getattr(functions, name)(id(begin), *map(id, vectors), id(result))
        return result

    def __reduce__(self) -> tuple[Any, ...]:
        held = {name: value for name, value in vars(self).items() if name != "_compiled"}
        return object.__new__, (Simplices,), held


_MAX_ITERATIONS = 1024
"""Iterations whose turns and weights are computed beforehand."""


class Vectorized(Engine):
    """Payoffs and passes over decision trees in machine code; minimizers in Python."""

    name = "vectorized"

    def unsupported_reason(self, run: SelfPlay) -> str | None:
        if isinstance(run.estimator, TraversalEstimator):
            return unsupported_traversal(run)
        if isinstance(run.estimator, ChanceSampling):
            return f"{quote(run.estimator)} does not sweep the whole game"
        for player, minimizer in enumerate(run.minimizers):
            name = f"minimizers[{player}]:"
            if minimizer.domain != run.game.domains[player]:
                return f"{name} {quote(minimizer)} plays on a part of its player's set"
            if isinstance(minimizer, TreeCircuit) and minimizer._tracker is not None:
                return f"{name} {quote(minimizer)} is tracked by a ledger"
        return unsupported_run(run)

    def start(self, run: SelfPlay) -> Executor:
        if isinstance(run.estimator, TraversalEstimator):
            return TraversalExecutor(run, run.estimator)
        try:
            return VectorizedExecutor(run)
        except CannotCompileError as error:
            raise CannotStartError(str(error)) from error


class _Player:
    """A player's minimizer, and its places in the arrays of all players."""

    def __init__(self, player: int, minimizer: RegretMinimizer, arrays: Passes) -> None:
        self._circuit = minimizer if isinstance(minimizer, TreeCircuit) else None
        self._rule, self._player, self._arrays = minimizer, player, arrays
        trees = arrays.trees
        own = trees.sequence[trees.begin[player] : trees.begin[player + 1]]
        # Strategies on simplices do not have the empty sequence, which precedes the actions.
        self.sequences, self._actions = own[own.size - minimizer.dimension :], own[1:]
        arrays.iterates.strategy[own[0]] = 1.0
        self._backward, given = MachineCode(earn, {}).prepared(player, True, True, arrays)
        self._backward_arrays = given[3:]
        passed = player, 1.0, 0.0, trees, arrays.iterates
        self._forward, given = MachineCode(forward, {}).prepared(*passed)
        self._forward_arrays = given[3:]
        self.utility: Vector = np.empty(0)

    @property
    def strategy(self) -> Vector:
        """The current strategy, in the order of the game."""
        return frozen(self._arrays.iterates.strategy[self.sequences])

    def propose(self, decay: float, weight: float) -> None:
        """Add x to the average, and compute the next one."""
        iterates = self._arrays.iterates
        if self._circuit is not None:
            iterates.behavior[self._actions] = self._circuit._play_points()
            self._forward(self._player, decay, weight, *self._forward_arrays)
            return
        self.accumulate(decay, weight)
        iterates.strategy[self.sequences] = self._rule.next_strategy()

    def accumulate(self, decay: float, weight: float) -> None:
        """Add x to the average."""
        iterates, own = self._arrays.iterates, self.sequences
        iterates.total[own] = decay * iterates.total[own] + weight * iterates.strategy[own]

    def compute_utility(self) -> None:
        """Compute the utility, before anything is learned from it."""
        self._earn(True, False)

    def learn(self, earning: bool) -> None:
        """Update the minimizer with the utility, computed first if ``earning``."""
        self._earn(earning, self._circuit is not None)
        if self._circuit is not None:
            self._circuit._learn_points(self.utility)
        else:
            self._rule.observe_utility(self.utility)

    def _earn(self, earning: bool, propagating: bool) -> None:
        self._backward(self._player, earning, propagating, *self._backward_arrays)
        own = self._actions if self._circuit is not None else self.sequences
        self.utility = frozen(self._arrays.iterates.utility[own])

    def store(self, updates: int) -> None:
        """Give a circuit its counts, its next strategy and its last utilities."""
        if self._circuit is not None:
            self._circuit.iteration += updates
            self._circuit._strategy = self.strategy
            if updates and isinstance(self._circuit, CFR):
                self._circuit._utilities = self.utility


class VectorizedExecutor(Executor):
    """Runs the iterations of one run, whose arrays are laid out for machine code."""

    def __init__(self, run: SelfPlay) -> None:
        functions = compile_block_functions()
        for minimizer in run.minimizers:
            for part in with_parts(minimizer):
                if isinstance(part, SimplexRule):
                    part.simplices = CompiledSimplices(part.simplices, functions)
                if isinstance(part, EFR):
                    part._layout.local.replace(partial(CompiledSimplices, functions=functions))
        trees, payoffs = lay_out(run.game)
        iterates = zero_iterates(trees, shared_sums(payoffs))
        self._run, arrays = run, Passes(payoffs, trees, iterates)
        self._iterates = iterates
        self._players = [
            _Player(player, minimizer, arrays) for player, minimizer in enumerate(run.minimizers)
        ]
        self._played = [player.strategy for player in self._players]
        self._updates = [0] * run.players
        self._turn = 0

    def play(self, iterations: int, interrupted: Callable[[], bool]) -> None:
        for player, average in zip(self._players, self._run._averages, strict=True):
            total = average._total
            self._iterates.total[player.sequences] = 0.0 if total is None else total
            player.propose(1.0, 0.0)
        while iterations > 0 and not interrupted():
            # An order that draws players must not draw for iterations that are not played.
            maximum = 1 if isinstance(self._run.order, Stateful) else _MAX_ITERATIONS
            iterations -= self._advance(min(iterations, maximum), interrupted)

    def _advance(self, count: int, interrupted: Callable[[], bool]) -> int:
        """Play ``count`` iterations, or fewer if interrupted; return their number."""
        run = self._run
        weights, turns = run._averages[0].upcoming_weights(count), schedule_of(run, count)
        done, updated, self._updates = 0, 0, [0] * run.players
        try:
            for turn, (decay, weight) in zip(turns.players.tolist(), weights.tolist(), strict=True):
                updated = sum(self._updates)
                self._iterate(turn, turns.simultaneous, decay, weight)
                done += 1
                if interrupted():
                    break
        except BaseException as error:
            self._store(weights[:done])
            if sum(self._updates) > updated:
                run._fail(error, self._turn)
            raise
        self._store(weights[:done])
        return done

    def _iterate(self, turn: list[int], simultaneous: bool, decay: float, weight: float) -> None:
        players = self._players
        played = [player.strategy for player in players]
        movers = [mover for mover in turn if mover >= 0]
        if simultaneous:
            for mover in movers:
                players[mover].compute_utility()
        for mover in movers:
            self._turn = mover
            self._updates[mover] += 1
            players[mover].learn(earning=not simultaneous)
            players[mover].propose(decay, weight)
        if len(movers) < len(players):
            for idle in set(range(len(players))) - set(movers):
                players[idle].accumulate(decay, weight)
        self._played = played

    def _store(self, weights: Vector) -> None:
        """Update the run and its minimizers after iterations with these weights."""
        run, count = self._run, weights.shape[0]
        weight = weight_after(run._averages[0], weights)
        for player, average in zip(self._players, run._averages, strict=True):
            advance_average(average, count, weight)
            average._total = self._iterates.total[player.sequences]
        run.iteration += count
        for player, updates in zip(self._players, self._updates, strict=True):
            player.store(updates)
        if count:
            run.last_profile = self._played


class TraversalExecutor(Executor):
    """The iterations of the numpy engine, with the estimator's traversal compiled.

    Draws and results are bitwise identical to those of the numpy engine.
    """

    def __init__(self, run: SelfPlay, sampler: TraversalEstimator) -> None:
        self._written, self._sampler = NumpyEngine().start(run), sampler
        walk = walker(sampler._choose(), sampler.baseline is not None)
        self._walk = MachineCode(walk, {search_start: even_search_start}, 2)

    def play(self, iterations: int, interrupted: Callable[[], bool]) -> None:
        self._sampler._walk = self._walk
        try:
            self._written.play(iterations, interrupted)
        finally:
            self._sampler._walk = None
