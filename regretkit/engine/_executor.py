"""The base class of compiled executors, for full and sampled iterations."""

import abc
import contextlib
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, cast

import numpy as np

from regretkit._compiler import CannotCompileError
from regretkit._machine_code import CannotLinkError
from regretkit._util._typing import Indices, Vector
from regretkit.engine._players import PlayerState, parameters_for
from regretkit.play._engines import CannotStartError, Executor
from regretkit.play._orders import UpdateSchedule

if TYPE_CHECKING:
    from regretkit.play._self_play import SelfPlay

_SECONDS_PER_CALL = 0.1
"""Target time of a call of machine code: interrupts are checked between calls."""
MIN_ITERATIONS = 16
"""Fewest iterations of a call, to spread its overhead, within ``_MAX_SECONDS_PER_CALL``."""
_MAX_SECONDS_PER_CALL = 1.0
"""Longest time of a call with up to ``MIN_ITERATIONS``."""
_FIRST_SEQUENCES = 150_000
"""The first call plays this number divided by the game's number of sequences."""
_MAX_ITERATIONS = 4096
"""Iterations in one call; their weights and parameters are computed beforehand."""


def next_batch(count: int, took: float) -> int:
    """Return the next call's number of iterations, given the last call's and its seconds."""
    wanted = int(count * min(_SECONDS_PER_CALL / took, 8.0))
    return max(1, wanted, min(MIN_ITERATIONS, int(count * _MAX_SECONDS_PER_CALL / took)))


class KernelExecutor(Executor):
    """Plays the iterations of one run by the kernels of its rules, in its own arrays."""

    def __init__(self, run: "SelfPlay", players: list[PlayerState], sequences: int) -> None:
        self._run, self._players = run, players
        self._batch = max(MIN_ITERATIONS, _FIRST_SEQUENCES // sequences)
        rules = [rule for player in players for rule in player.rules]
        self._rules = sorted(rules, key=lambda rule: not rule.foreign)  # errors name users' rules

    def is_current(self) -> bool:
        return all(player.same_code() for player in self._players)

    @contextlib.contextmanager
    def _starting(self) -> Iterator[None]:
        """Name the rules in errors of compilation."""
        try:
            yield
        except CannotLinkError as error:
            raise CannotStartError(str(error)) from error
        except CannotCompileError as error:
            rules = dict.fromkeys(repr(rule.rule) for rule in self._rules)
            whose = f"the kernel of {' or '.join(rules)}"
            raise CannotStartError(f"{whose} cannot be compiled: {error}") from error

    def _upcoming(self, count: int) -> tuple[UpdateSchedule, list[Vector], Vector]:
        """Return the turns, parameters and weights of the next iterations."""
        weights = self._run._averages[0].upcoming_weights(count)  # before an order draws players
        turns = cast(UpdateSchedule, self._run.order.schedule(self._run.players, count))
        return turns, parameters_for(self._players, turns.players), weights

    def _play_batches(self, iterations: int, interrupted: Callable[[], bool]) -> None:
        while iterations > 0 and not interrupted():
            count = min(iterations, self._batch, _MAX_ITERATIONS)
            if self._rules[0].foreign and self._run.iteration < MIN_ITERATIONS:
                count = 1  # so that an error names the iteration
            began = time.perf_counter()
            self._advance(count)
            self._batch = next_batch(count, time.perf_counter() - began)
            iterations -= count

    @abc.abstractmethod
    def _advance(self, count: int) -> None:
        """Play some iterations in one call, and update all counts."""

    def _count(self, turns: Indices) -> None:
        """Count iterations, and the updates of each minimizer."""
        self._run.iteration += len(turns)
        for player in self._players:
            player.advance(int(np.count_nonzero(turns == player.player)))

    def _check(self, behavior: Vector) -> None:
        """Raise an error if a rule's strategy is not a distribution."""
        for rule in self._rules:
            rule.check(behavior)
