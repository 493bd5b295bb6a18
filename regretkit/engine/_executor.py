"""What the executors of whole and of sampled iterations share."""

import abc
import contextlib
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from regretkit._compiler import CannotCompileError
from regretkit._machine_code import CannotLinkError
from regretkit._util._typing import Indices, Vector
from regretkit.engine._players import PlayerState, parameters_for
from regretkit.engine._support import schedule_of
from regretkit.play._engines import CannotStartError, Executor
from regretkit.play._orders import UpdateSchedule

if TYPE_CHECKING:
    from regretkit.play._self_play import SelfPlay

_SECONDS_PER_CALL = 0.1
"""Seconds of machine code between two checks for an interrupt, if that is at least"""
MIN_ITERATIONS = 16
"""iterations, since a call costs as much as one in a large game, which take no longer than"""
_MAX_SECONDS_PER_CALL = 1.0
"""seconds. In the first call there are as many as go through"""
_FIRST_SEQUENCES = 150_000
"""sequences."""
_MAX_ITERATIONS = 4096
"""Iterations in one call; their weights and parameters are computed beforehand."""


def next_batch(count: int, took: float) -> int:
    """Return the next number of iterations in one call, from the last one and its seconds."""
    wanted = int(count * min(_SECONDS_PER_CALL / took, 8.0))
    return max(1, wanted, min(MIN_ITERATIONS, int(count * _MAX_SECONDS_PER_CALL / took)))


class KernelExecutor(Executor):
    """Runs the iterations of one run, whose rules have a kernel, in arrays of its own."""

    def __init__(self, run: "SelfPlay", players: list[PlayerState], sequences: int) -> None:
        self._run, self._players = run, players
        self._batch = max(MIN_ITERATIONS, _FIRST_SEQUENCES // sequences)
        rules = [rule for player in players for rule in player.rules]
        self._rules = sorted(rules, key=lambda rule: not rule.foreign)  # the suspects first

    def is_current(self) -> bool:
        return all(player.same_code() for player in self._players)

    @contextlib.contextmanager
    def _starting(self) -> Iterator[None]:
        """Say whose code it is that cannot be compiled."""
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
        turns = schedule_of(self._run, count)
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
        """Refuse a rule that proposes what is no distribution."""
        for rule in self._rules:
            rule.check(behavior)
