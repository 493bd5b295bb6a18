"""The compiled way: whole iterations in machine code, many in one call."""

import time
from functools import partial
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from regretkit._typing import Vector
from regretkit.engine._forest import forest_of
from regretkit.engine._interrupt import Interrupts
from regretkit.engine._payoffs import payoffs_of
from regretkit.engine._reasons import in_the_way, is_long, without_numba
from regretkit.engine._seats import Seat, frozen_copy, rule_of
from regretkit.engine._split import parts_for, split_of
from regretkit.engine._table import table_of
from regretkit.minimizers import SimplexRule
from regretkit.minimizers.kernel import Kernel
from regretkit.play.engines import Drive, Engine
from regretkit.play.orders import Turns
from regretkit.play.self_play import SelfPlay

_PATIENCE = 0.05
"""Seconds of machine code between two looks at whether somebody pressed Ctrl-C."""

_MOST = 4096
"""Iterations in one call; their weights and numbers are laid out beforehand."""


@final
class Compiled(Engine):
    """Whole iterations in machine code, for rules that have a kernel."""

    name = "compiled"
    splits = True

    @override
    def refusal(self, run: SelfPlay) -> str | None:
        return in_the_way(run) or _against_rules(run)

    @override
    def missing(self) -> str | None:
        return without_numba()

    @override
    def worthwhile(self, run: SelfPlay, iterations: int) -> bool:
        return is_long(run, iterations)

    @override
    def start(self, run: SelfPlay) -> Drive:
        return _Compiled(run)


def _against_rules(run: SelfPlay) -> str | None:
    kernels = set()
    for player, minimizer in enumerate(run.minimizers):
        rule = rule_of(minimizer, run.game.domains[player])
        if isinstance(rule, str):
            return f"minimizers[{player}]: {rule}"
        kernel = _kernel_of(rule)
        sizes = len(kernel.state), len(kernel.block_state), len(kernel.numbers_of(0))
        kernels.add((kernel.propose, kernel.learn, sizes))
    if len(kernels) > 1:
        return "the players' rules have different kernels, or make their functions anew each time"
    return None


def _kernel_of(rule: SimplexRule | str) -> Kernel:
    kernel = None if isinstance(rule, str) else rule._kernel()
    if kernel is None:
        raise TypeError(f"{rule} was refused, and cannot be run")
    return kernel


@final
class _Compiled(Drive):
    """One run, laid out for machine code."""

    def __init__(self, run: SelfPlay) -> None:
        from regretkit.engine._specialize import iterations

        domains = run.game.domains
        self._run, self._forest = run, forest_of(domains)
        self._payoffs = payoffs_of(run.game, self._forest)
        self._table = table_of(self._forest, self._payoffs)
        rules = [rule_of(m, domain) for m, domain in zip(run.minimizers, domains, strict=True)]
        kernels = [_kernel_of(rule) for rule in rules]
        size, points = int(self._forest.sequences[-1]), int(self._forest.points[-1])
        by_action = [np.zeros(size) for _ in kernels[0].state]
        self._state = (*by_action, *(np.zeros(points) for _ in kernels[0].block_state))
        self._seats = [
            Seat(minimizer, rule, kernel, player, self._forest, self._state)
            for player, (minimizer, rule, kernel) in enumerate(
                zip(run.minimizers, rules, kernels, strict=True)
            )
            if isinstance(rule, SimplexRule)
        ]
        self._totals = [seat.own(self._table.total) for seat in self._seats]
        self._begin, self._iterate = iterations(
            kernels[0].propose, kernels[0].learn, type(self._payoffs).__name__
        )
        parts = parts_for(run._threads, self._forest, self._payoffs)
        if parts > 1:
            self._iterate = self._shared(parts, kernels[0])
        self._pace = 16
        self._ready = False

    def _shared(self, parts: int, kernel: Kernel) -> Any:
        """Return what does the same as ``_iterate``, with the work shared out where that pays."""
        from regretkit.engine._crew import Crew, Quicker
        from regretkit.engine._specialize import shared_iterations

        kind = type(self._payoffs).__name__
        crew = Crew(shared_iterations(kernel.propose, kernel.learn, kind), parts)
        shared = partial(crew.run, split_of(self._forest, self._payoffs, parts))
        return Quicker(shared, self._iterate)

    @override
    def play(self, iterations: int) -> None:
        self._take_over()
        with Interrupts() as interrupts:
            while iterations > 0 and not interrupts.happened():
                count = min(iterations, self._pace, _MOST)
                began = time.perf_counter()
                self._advance(count)
                took = time.perf_counter() - began
                self._pace = max(1, int(count * min(_PATIENCE / took, 8.0)))
                iterations -= count

    def _take_over(self) -> None:
        for seat in self._seats:
            seat.take_over()
        for average, total in zip(self._run._averages, self._totals, strict=True):
            average.hold(total)
        nobody = np.zeros(1, dtype=np.bool_)
        numbers = np.concatenate([seat.numbers(nobody) for seat in self._seats])
        if not self._ready:
            self._compile(numbers)
        self._begin(numbers, self._forest, self._table, self._state)

    def _compile(self, numbers: Vector) -> None:
        """Make machine code, by running no iteration at all."""
        from numba.core.errors import NumbaError

        turns, weights = self._turns(0), self._run._averages[0].ahead(0)
        try:
            self._begin(numbers, self._forest, self._table, self._state)
            self._call(turns, np.empty((0, *numbers.shape)), weights)
        except NumbaError as error:
            rule = self._seats[0].rule
            raise TypeError(
                f"the kernel of {rule!r} cannot be compiled, see above; write it in plain loops "
                "over numbers in arrays, without making new arrays, or pass engine='vectorized', "
                "which does without it"
            ) from error
        self._ready = True

    def _advance(self, count: int) -> None:
        run = self._run
        weights, turns = run._averages[0].ahead(count), self._turns(count)
        moves = [(turns.players == player).any(axis=1) for player in range(run.players)]
        pairs = zip(self._seats, moves, strict=True)
        numbers = np.stack([seat.numbers(own) for seat, own in pairs], axis=1)
        try:
            self._call(turns, numbers, weights)
            self._write_down(moves, weights)
        except BaseException as error:
            run._break_off(error, None)
            raise

    def _turns(self, count: int) -> Turns:
        turns = self._run.order.turns(self._run.players, count)
        if turns is None:
            raise TypeError(f"{self._run.order!r} was refused, and cannot be followed")
        return turns

    def _call(self, turns: Turns, numbers: Vector, weights: Vector) -> None:
        rest = (self._payoffs, self._forest, self._table, self._state)
        self._iterate(turns.together, turns.players, numbers, weights, *rest)

    def _write_down(self, moves: list[NDArray[np.bool_]], weights: Vector) -> None:
        """Let everybody in Python know what machine code has done."""
        run, table = self._run, self._table
        for seat in self._seats:
            seat.check(table.behavior)
        for average in run._averages:
            average.count_in(weights)
        run.iteration += weights.shape[0]
        for seat, own in zip(self._seats, moves, strict=True):
            moved = int(np.count_nonzero(own))
            seat.hand_back(moved, table.strategy, table.behavior, table.utility)
        run.played = [frozen_copy(seat.own(table.played)) for seat in self._seats]
