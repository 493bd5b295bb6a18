"""The compiled way: whole iterations in machine code, many in one call."""

import time
from collections.abc import Callable
from typing import final

import numpy as np
from typing_extensions import override

from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import quote
from regretkit.engine._forced import NONE, without_forced
from regretkit.engine._forest import forest_of
from regretkit.engine._mixture import mixture
from regretkit.engine._payoffs import Matrix, payoffs_of
from regretkit.engine._reasons import in_the_way, in_the_way_of_samples, is_long, without_numba
from regretkit.engine._sampled import Sampled
from regretkit.engine._seats import (
    all_ignore_forced,
    follow_rules,
    frozen_copy,
    kernel_of,
    numbers_for,
    rule_of,
    rules_of,
    seated,
    uncompilable,
)
from regretkit.engine._table import table_of
from regretkit.estimators._mccfr import TraversalEstimator
from regretkit.play._engines import Engine, Executor
from regretkit.play._orders import UpdateSchedule
from regretkit.play._self_play import SelfPlay

_PATIENCE = 0.1
"""Seconds of machine code between two looks at whether there was an interrupt; but"""

_FEW = 16
"""at least this number of iterations in one call, which costs a large game an iteration,"""

_LONG = 1.0
"""unless they take this number of seconds."""

_MOST = 4096
"""Iterations in one call; their weights and numbers are laid out beforehand."""


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
            found = in_the_way_of_samples(run, run.estimator) or _against_rules(run)
            return found or _against_resting(run)
        return in_the_way(run) or _against_rules(run)

    @override
    def missing_dependency(self) -> str | None:
        return without_numba()

    @override
    def pays_off(self, run: SelfPlay, iterations: int) -> bool:
        return not self._exact_ties and is_long(run, iterations)

    @override
    def start(self, run: SelfPlay) -> Executor:
        if isinstance(run.estimator, TraversalEstimator):
            return Sampled(run, run.estimator)
        return _Compiled(run, self._exact_ties)


def _against_rules(run: SelfPlay) -> str | None:
    for player, minimizer in enumerate(run.minimizers):
        rule = rule_of(minimizer, run.game.domains[player])
        if isinstance(rule, str):
            return f"minimizers[{player}]: {rule}"
    return None


def _against_resting(run: SelfPlay) -> str | None:
    rules = rules_of(run)
    kernels = [kernel_of(rule) for rule in rules]
    alike = len(set(mixture(kernels).parts)) == 1
    for player, (rule, kernel) in enumerate(zip(rules, kernels, strict=True)):
        traits = kernel.traits
        if not (traits.invariant_to_zero_utility or traits.only_discounts_on_zero_utility):
            return f"minimizers[{player}]: {quote(rule)} moves where a sample does not come"
        if traits.only_discounts_on_zero_utility and not alike:
            return (
                f"minimizers[{player}]: the regrets of {quote(rule)} fade, unlike those of others"
            )
    return None


def _next_pace(count: int, took: float) -> int:
    """Return the number of iterations of the next call, from the last one and its duration."""
    quick = int(count * min(_PATIENCE / took, 8.0))
    return max(1, quick, min(_FEW, int(count * _LONG / took)))


@final
class _Compiled(Executor):
    """One run, laid out for machine code."""

    def __init__(self, run: SelfPlay, exact_ties: bool) -> None:
        from regretkit.engine._specialize import iterations

        domains = run.game.domains
        self._run, self._forest, self._forced = run, forest_of(domains), NONE
        self._payoffs = payoffs_of(run.game, self._forest)
        if isinstance(self._payoffs, Matrix) and all_ignore_forced(run):
            laid = without_forced(self._forest, self._payoffs)
            self._forest, self._payoffs, self._forced = laid
        self._table = table_of(self._forest, self._payoffs)
        self._table.behavior[self._forced.move] = 1.0  # no kernel writes it
        self._seats, self._state, kernel = seated(run, self._forest)
        self._totals = [seat.own(self._table.total) for seat in self._seats]
        self._begin, self._iterate = iterations(
            kernel, type(self._payoffs).__name__, exact_ties=exact_ties
        )
        self._pace = _FEW
        self._compile()

    @override
    def play(self, iterations: int, interrupted: Callable[[], bool]) -> None:
        self._take_over()
        before = self._run.iteration
        try:
            while iterations > 0 and not interrupted():
                count = min(iterations, self._pace, _MOST)
                began = time.perf_counter()
                self._advance(count)
                took = time.perf_counter() - began
                self._pace = _next_pace(count, took)
                iterations -= count
        finally:
            if self._run.iteration > before and self._run._failure is None:
                self._hand_back()

    def _take_over(self) -> None:
        for seat in self._seats:
            seat.take_over()
        for average, total in zip(self._run._averages, self._totals, strict=True):
            average.hold(total)
        follow_rules(self._seats)
        # Otherwise what machine code left behind is what it would work out again.
        if not all(seat.is_untouched() for seat in self._seats):
            self._form()

    def _form(self) -> None:
        """Work out every b and x from what was learned."""
        no_update = np.zeros(1, dtype=np.bool_)
        numbers = np.concatenate([seat.numbers(no_update) for seat in self._seats])
        self._begin(numbers, self._forest, self._table, self._state)

    def _compile(self) -> None:
        """Make machine code, by running no iteration at all."""
        from numba.core.errors import NumbaError, UnsupportedBytecodeError

        turns, weights = self._turns(0), self._run._averages[0].ahead(0)
        try:
            self._form()
            self._call(turns, numbers_for(self._seats, turns.players), weights)
        except (NumbaError, UnsupportedBytecodeError) as error:
            raise uncompilable(self._seats) from error

    def _advance(self, count: int) -> None:
        run = self._run
        weights, turns = run._averages[0].ahead(count), self._turns(count)
        numbers = numbers_for(self._seats, turns.players)
        try:
            self._call(turns, numbers, weights)
            for seat in self._seats:
                seat.check(self._table.behavior)
            self._count(turns.players, weights)
        except BaseException as error:
            run._fail(error, None)
            raise

    def _turns(self, count: int) -> UpdateSchedule:
        turns = self._run.order.schedule(self._run.players, count)
        if turns is None:
            raise TypeError(f"{quote(self._run.order)} was refused, and cannot be followed")
        return turns

    def _call(self, turns: UpdateSchedule, numbers: Vector, weights: Vector) -> None:
        rest = (self._payoffs, self._forest, self._forced, self._table, self._state)
        self._iterate(turns.simultaneous, turns.players, numbers, weights, *rest)

    def _count(self, players: Indices, weights: Vector) -> None:
        """Update the counts of the run and its objects after compiled iterations."""
        weight = self._run._averages[0].weight_after(weights)
        for average in self._run._averages:
            average.count_in(weights.shape[0], weight)
        self._run.iteration += weights.shape[0]
        for seat in self._seats:
            seat.count(int(np.count_nonzero(players == seat.player)))  # once in a turn at most

    def _hand_back(self) -> None:
        """Copy the results to the run and its objects, once for all iterations played.

        With millions of sequences the copy takes longer than an iteration.
        """
        run, table = self._run, self._table
        try:
            for seat in self._seats:
                seat.hand_back(table.strategy, table.behavior, table.utility)
            run.last_profile = [frozen_copy(seat.own(table.played)) for seat in self._seats]
        except BaseException as error:
            run._fail(error, None)
            raise
