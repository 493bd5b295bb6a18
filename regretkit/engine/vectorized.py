"""The vectorized engine: payoffs and trees in machine code, and rules in Python."""

from collections.abc import Callable
from typing import TYPE_CHECKING, final

from typing_extensions import override

from regretkit._util._state import Stateful
from regretkit._util._typing import Vector
from regretkit._util._validate import quote
from regretkit.circuits import CFR
from regretkit.engine._forest import Forest, forest_of
from regretkit.engine._operations import hasten
from regretkit.engine._payoffs import Payoffs, payoffs_of
from regretkit.engine._reasons import in_the_way, in_the_way_of_walks, is_long, without_numba
from regretkit.engine._seats import frozen_copy
from regretkit.engine._table import Table, table_of
from regretkit.engine._walking import Walking
from regretkit.estimators._mccfr import TraversalEstimator
from regretkit.minimizer import RegretMinimizer
from regretkit.play._engines import Engine, Executor
from regretkit.play._self_play import SelfPlay

if TYPE_CHECKING:
    from regretkit.engine._specialize import Passes

_MOST = 1024
"""Iterations whose turns and weights are laid out beforehand."""


@final
class Vectorized(Engine):
    """Payoffs and passes over decision trees in machine code; minimizers as they are."""

    name = "vectorized"

    @override
    def unsupported_reason(self, run: SelfPlay) -> str | None:
        if isinstance(run.estimator, TraversalEstimator):
            return in_the_way_of_walks(run)
        for player, minimizer in enumerate(run.minimizers):
            if minimizer.domain != run.game.domains[player]:
                return (
                    f"minimizers[{player}]: {quote(minimizer)} plays on a part of its player's set"
                )
            if isinstance(minimizer, CFR) and minimizer._tracker is not None:
                return f"minimizers[{player}]: {quote(minimizer)} is tracked by a ledger"
            if isinstance(minimizer, CFR) and minimizer._any_update_may_raise():
                return f"minimizers[{player}]: a part of {quote(minimizer)} may refuse a utility"
        return in_the_way(run)

    @override
    def missing_dependency(self) -> str | None:
        return without_numba()

    @override
    def pays_off(self, run: SelfPlay, iterations: int) -> bool:
        return is_long(run, iterations)

    @override
    def start(self, run: SelfPlay) -> Executor:
        return (
            Walking(run, run.estimator)
            if isinstance(run.estimator, TraversalEstimator)
            else _Vectorized(run)
        )


@final
class _Seat:
    """A player's minimizer, and its part of arrays in which those of all players lie end to end."""

    def __init__(
        self,
        player: int,
        minimizer: RegretMinimizer,
        laid: tuple[Forest, Table, Payoffs],
        passes: "Passes",
    ) -> None:
        forest, table, payoffs = laid
        self._cfr = minimizer if isinstance(minimizer, CFR) else None
        self._rule = minimizer if self._cfr is None else self._cfr.rule
        self._player, self._passes = player, passes
        first, last = int(forest.sequences[player]), int(forest.sequences[player + 1])
        # On simplices there is no empty sequence, which stands in front of a tree's actions.
        self._own = slice(first + (minimizer.dimension < last - first), last)
        actions = slice(first + 1, last)
        self.strategy, self._utility = table.strategy[self._own], table.utility[self._own]
        self._behavior, self._worth = table.behavior[actions], table.utility[actions]
        self._utility.setflags(write=False)
        self._worth.setflags(write=False)
        self.total = table.total[self._own]
        passed = table.strategy, table.behavior, table.utility, table.magnitude
        self._upward = (*passed, *forest, *payoffs)
        self._downward = (table.strategy, table.behavior, table.total, *forest)

    def propose(self, decay: float, weight: float) -> None:
        """Add x to the average, and work out what the minimizer plays next."""
        if self._cfr is not None:
            self._behavior[...] = self._rule.next_strategy()
            self._passes.fall(self._player, decay, weight, *self._downward)
            return
        self.stay(decay, weight)
        self.strategy[...] = self._rule.next_strategy()

    def stay(self, decay: float, weight: float) -> None:
        """Add x to the average."""
        self.total *= decay
        self.total += weight * self.strategy

    def earn(self) -> None:
        """Work out the utility."""
        self._passes.rise(self._player, True, False, *self._upward)

    def learn(self, earning: bool) -> None:
        """Update the minimizer with the utility, computed first if ``earning``."""
        climbing = self._cfr is not None
        if earning or climbing:
            self._passes.rise(self._player, earning, climbing, *self._upward)
        if climbing:
            self._rule._update(self._worth)
        else:
            self._rule.observe_utility(self._utility)

    def hand_back(self, moves: int) -> None:
        """Let a circuit know what it has done, and what it would do next."""
        if self._cfr is not None:
            self._cfr.iteration += moves
            self._cfr._strategy = frozen_copy(self.strategy)
            if moves:
                self._cfr._utilities = frozen_copy(self._worth)


@final
class _Vectorized(Executor):
    """One run, laid out for passes in machine code."""

    def __init__(self, run: SelfPlay) -> None:
        from regretkit.engine._specialize import operations, passes

        hasten([*run.game.domains, *(m.domain for m in run.minimizers)], operations())
        forest = forest_of(run.game.domains)
        payoffs = payoffs_of(run.game, forest)
        laid = forest, table_of(forest, payoffs), payoffs
        code = passes(type(payoffs).__name__)
        self._run = run
        self._seats = [
            _Seat(player, minimizer, laid, code) for player, minimizer in enumerate(run.minimizers)
        ]
        self._played = [frozen_copy(seat.strategy) for seat in self._seats]
        self._moves = [0] * run.players
        self._turn = 0

    @override
    def play(self, iterations: int, interrupted: Callable[[], bool]) -> None:
        for seat, average in zip(self._seats, self._run._averages, strict=True):
            average.hold(seat.total)
            seat.propose(1.0, 0.0)
        while iterations > 0 and not interrupted():
            # What draws players must not draw for iterations that are not played.
            most = 1 if isinstance(self._run.order, Stateful) else _MOST
            iterations -= self._some(min(iterations, most), interrupted)

    def _some(self, count: int, interrupted: Callable[[], bool]) -> int:
        """Play ``count`` iterations, or fewer once interrupted; return how many."""
        run = self._run
        factors = run._averages[0].ahead(count)
        turns = run.order.schedule(run.players, count)
        if turns is None:
            raise TypeError(f"{quote(run.order)} was refused, and cannot be followed")
        done, before, self._moves = 0, 0, [0] * run.players
        try:
            for turn, (decay, weight) in zip(turns.players.tolist(), factors.tolist(), strict=True):
                before = sum(self._moves)
                self._iterate(turn, turns.simultaneous, decay, weight)
                done += 1
                if interrupted():
                    break
        except BaseException as error:
            self._settle(factors[:done])
            if sum(self._moves) > before:
                run._fail(error, self._turn)
            raise
        self._settle(factors[:done])
        return done

    def _iterate(self, turn: list[int], together: bool, decay: float, weight: float) -> None:
        seats = self._seats
        played = [frozen_copy(seat.strategy) for seat in seats]
        movers = [player for player in turn if player >= 0]
        if together:
            for player in movers:
                seats[player].earn()
        for player in movers:
            self._turn = player
            self._moves[player] += 1
            try:
                seats[player].learn(earning=not together)
            except (TypeError, ValueError):
                self._moves[player] -= 1  # who refuses has learned nothing
                raise
            seats[player].propose(decay, weight)
        if len(movers) < len(seats):
            for player in set(range(len(seats))) - set(movers):
                seats[player].stay(decay, weight)
        self._played = played

    def _settle(self, factors: Vector) -> None:
        """Write down iterations that were played."""
        run = self._run
        weight = run._averages[0].weight_after(factors)
        for average in run._averages:
            average.count_in(factors.shape[0], weight)
        run.iteration += factors.shape[0]
        for seat, moves in zip(self._seats, self._moves, strict=True):
            seat.hand_back(moves)
        if factors.shape[0]:
            run.last_profile = self._played
