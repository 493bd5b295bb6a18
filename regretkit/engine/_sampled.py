"""The compiled way for sampled iterations."""

import time
from collections.abc import Callable
from typing import final

import numpy as np
from typing_extensions import override

from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import quote
from regretkit.engine._forest import forest_of
from regretkit.engine._sampling import Sample, Sheet
from regretkit.engine._seats import follow_rules, frozen_copy, numbers_for, seated, uncompilable
from regretkit.engine._table import Table
from regretkit.estimators._baselines import LearnedBaseline
from regretkit.estimators._mccfr import TraversalEstimator
from regretkit.play._engines import Executor
from regretkit.play._lazy_discount import caught_up
from regretkit.play._orders import UpdateSchedule
from regretkit.play._self_play import SelfPlay

_PATIENCE = 0.05
"""Seconds of machine code between two looks at whether there was an interrupt."""

_MOST = 8_192
"""Iterations in one call; their weights and numbers are laid out beforehand."""


@final
class Sampled(Executor):
    """One run whose utilities are sampled, laid out for machine code.

    The minimizers, and the averages' sums, are put in order when all iterations asked for are
    played, since that goes through all of the game's decision points.
    """

    def __init__(self, run: SelfPlay, sampler: TraversalEstimator) -> None:
        from regretkit.engine._sampling_code import sampled_iterations
        from regretkit.engine._specialize import iterations

        self._run, self._sampler = run, sampler
        self._laid = sampler.flat_game(run.game)
        self._forest = forest_of(run.game.domains)
        self._seats, self._state, kernel = seated(run, self._forest)
        size, points = int(self._forest.sequences[-1]), int(self._forest.points[-1])
        utility, sums, strategy, total = (np.zeros(size) for _ in range(4))
        behavior = np.concatenate([np.zeros(size), self._laid.tree.chances])
        waiting = np.zeros(points, dtype=np.uint32)
        fading = np.zeros((len(self._seats), 8))
        faded = np.zeros((points if kernel.traits.only_discounts_on_zero_utility else 0, 4))
        self._sheet = Sheet(behavior, utility, sums, np.zeros(points), waiting, faded, fading)
        self._table = Table(strategy, behavior, utility, total, total, total, waiting, waiting)
        self._numbers = len(kernel.parameters_at(0))
        self._fades = kernel.traits.only_discounts_on_zero_utility
        self._begin, _ = iterations(kernel, "Matrix")
        self._iterate, self._complete = sampled_iterations(
            kernel, sampler._choose(), sampler.baseline is not None
        )
        self._sample = self._find_sample()
        self._pace = 256
        self._compile()

    def _find_sample(self) -> Sample:
        sampler, laid = self._sampler, self._laid
        guesses, rate = np.zeros((1, 1)), 0.0
        if isinstance(sampler.baseline, LearnedBaseline):
            guesses = sampler.baseline.baseline_values(laid.game, laid.tree, self._sheet.behavior)
            rate = sampler.baseline.rate
        data, parameters = sampler._sampling_data(laid.game), np.array(sampler._parameters())
        return Sample(data, parameters, guesses, rate)

    @override
    def play(self, iterations: int, interrupted: Callable[[], bool]) -> None:
        if iterations == 0:
            return
        self._take_over()
        while iterations > 1 and not interrupted():
            count = min(iterations - 1, self._pace, _MOST)
            began = time.perf_counter()
            self._advance(count)
            took = time.perf_counter() - began
            self._pace = max(1, int(count * min(_PATIENCE / took, 8.0)))
            iterations -= count
        self._finish()

    def _take_over(self) -> None:
        self._sample = self._find_sample()
        self._sheet.utility[:] = 0.0
        for player, seat in enumerate(self._seats):
            seat.take_over()
            self._look_at_average(player)
            if self._fades:
                self._take_over_faded(player)
        follow_rules(self._seats)
        self._form()
        self._settle_averages()

    def _look_at_average(self, player: int) -> None:
        """Go on with the average's sum from where it was at each decision point."""
        points, sheet = self._points(player), self._sheet
        before = self._forest.parent[points] - self._forest.sequences[player]
        sums = self._seats[player].own(sheet.sums)
        self._run._averages[player].lagging(sums, sheet.seen[points], before)

    def _settle_averages(self) -> None:
        """Reset the sums where a strategy was changed outside of this engine."""
        total = np.zeros_like(self._sheet.sums)
        self._complete(self._forest, self._sheet, total)
        for player, average in enumerate(self._run._averages):
            if not average.is_at(self._seats[player].own(total)):
                average.forget_lag()
                self._look_at_average(player)

    def _take_over_faded(self, player: int) -> None:
        """Go on from regrets as they were learned, if the rule still has what they faded to."""
        faded, sheet, points = self._run._faded[player], self._sheet, self._points(player)
        regrets, sizes = self._regrets(player), self._sizes(points)
        sheet.faded[points], sheet.fading[player] = 0.0, 0.0
        shown = faded.caught_up(sizes)
        if shown is not None and np.array_equal(shown, regrets):
            regrets[...] = faded.regrets
            sheet.faded[points], sheet.fading[player, 4:] = faded.before, faded.now

    def _hand_back_faded(self, player: int) -> None:
        """Keep regrets as they were learned, and let the rule have what they have faded to."""
        sheet, seat, regrets = self._sheet, self._seats[player], self._regrets(player)
        points = self._points(player)
        before, now = sheet.faded[points], sheet.fading[player, 4:]
        self._run._faded[player].hold(regrets, before, now)
        seat.show_regrets(caught_up(regrets, before, now, self._sizes(points)))

    def _points(self, player: int) -> slice:
        return slice(*self._forest.points[player : player + 2].tolist())

    def _regrets(self, player: int) -> Vector:
        first, last = self._forest.sequences[player : player + 2]
        return self._state[0][first + 1 : last]

    def _sizes(self, points: slice) -> Indices:
        return (self._forest.last[points] - self._forest.first[points]).astype(np.int64)

    def _form(self) -> None:
        """Work out every b and x from what was learned."""
        no_update = np.zeros(1, dtype=np.bool_)
        numbers = np.concatenate([seat.numbers(no_update) for seat in self._seats])
        self._begin(numbers, self._forest, self._table, self._state)

    def _compile(self) -> None:
        """Make machine code, by running no iteration at all."""
        from numba.core.errors import NumbaError, UnsupportedBytecodeError

        numbers = np.empty((0, len(self._seats), self._numbers))
        try:
            self._form()
            self._call(self._turns(0), numbers, np.empty(0), keeping=False)
        except (NumbaError, UnsupportedBytecodeError) as error:
            raise uncompilable(self._seats) from error

    def _finish(self) -> None:
        """Play one more iteration, and copy the results to the run and its objects."""
        run, sheet, table = self._run, self._sheet, self._table
        self._form()
        played = [frozen_copy(seat.own(table.strategy)) for seat in self._seats]
        moved = self._advance(1, keeping=True)
        try:
            for seat in self._seats:
                seat.check(sheet.behavior)
            self._form()
            self._complete(self._forest, sheet, table.total)
        except BaseException as error:
            run._fail(error, None)
            raise
        run.last_profile = played
        for player, (seat, average) in enumerate(zip(self._seats, run._averages, strict=True)):
            seat.hand_back(table.strategy, sheet.behavior, sheet.utility)
            seat.show(sheet.utility if player in moved else None)
            sums = seat.own(table.total), seat.own(sheet.sums), sheet.seen[self._points(player)]
            average.hold_lagging(*sums)
            if self._fades:
                self._hand_back_faded(player)

    def _advance(self, count: int, keeping: bool = False) -> set[int]:
        """Play some iterations, and return who has learned in them."""
        run = self._run
        weights, turns = run._averages[0].ahead(count), self._turns(count)
        numbers, learning = numbers_for(self._seats, turns.players), turns.players
        try:
            if not weights[:, 0].all():  # nothing before the last of these counts
                since = int(np.flatnonzero(weights[:, 0] == 0.0)[-1])
                before = UpdateSchedule(turns.players[:since], turns.simultaneous)
                self._call(before, numbers, np.zeros(since), keeping=False)
                turns = UpdateSchedule(turns.players[since:], turns.simultaneous)
                numbers = numbers if len(numbers) == 1 else numbers[since:]
                self._sheet.sums[:] = self._sheet.seen[:] = 0.0
                weights = weights[since:]
            self._call(turns, numbers, np.ascontiguousarray(weights[:, 1]), keeping)
        except BaseException as error:
            run._fail(error, None)
            raise
        for player, average in enumerate(run._averages):
            # The empty sequence is always played, and so sums up the weights.
            average.count_in(count, float(self._sheet.sums[self._forest.sequences[player]]))
        moves = [int(np.count_nonzero(learning == player)) for player in range(run.players)]
        for seat, own in zip(self._seats, moves, strict=True):
            seat.count(own)  # once in an iteration at most
        run.iteration += count
        return {player for player, own in enumerate(moves) if own}

    def _turns(self, count: int) -> UpdateSchedule:
        turns = self._run.order.schedule(self._run.players, count)
        if turns is None:
            raise TypeError(f"{quote(self._run.order)} was refused, and cannot be followed")
        return turns

    def _call(self, turns: UpdateSchedule, numbers: Vector, weights: Vector, keeping: bool) -> None:
        rest = (self._laid.tree, self._laid.buffers, self._forest, self._sheet, self._sample)
        generator = self._sampler.generator
        first = (turns.simultaneous, keeping, turns.players, numbers, weights)
        self._sampler.visited += self._iterate(*first, *rest, self._state, generator)
