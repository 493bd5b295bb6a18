"""Solvers at one game, each in its own process on the same core, that take turns."""

import os
from collections import deque
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from importlib import import_module
from multiprocessing import get_context
from typing import Any

from attrs import define, field, frozen

from benchmarks.harness import cpu_seconds, peak, pin
from benchmarks.peers import GAMES, PEERS, Solver

CHECKPOINTS = (1, 2, 10, 100)
"""Iterations at which the gap is measured, the later ones if there is time."""
SPAWN = get_context("spawn")


class PeerFailedError(Exception):
    """A peer cannot be imported, cannot build the game, or broke down."""


@frozen
class Effort:
    """How long to measure."""

    rounds: int
    """How often each solver takes a turn."""
    turn: float
    """Seconds that a turn should take, unless one iteration takes longer."""
    checks: float
    """Seconds that one solver may take to come to the iterations where gaps are compared."""
    turns: float
    """Seconds that all turns of one solver may take."""

    def between_turns(self, seconds: float) -> int:
        """Return in which of how many rounds to take a turn so long, at least twice in all."""
        affordable = max(2.0, self.turns // max(seconds, 1e-9))
        return 1 if affordable >= self.rounds else int(-(-self.rounds // affordable))


FULL = Effort(rounds=30, turn=0.05, checks=60.0, turns=15.0)
QUICK = Effort(rounds=5, turn=0.02, checks=2.0, turns=1.0)


@define
class Measured:
    """What one solver came to."""

    build: float
    """Seconds from the game's name to a solver that is ready."""
    gaps: dict[int, float] = field(factory=dict)
    """NashConv of the average after these iterations."""
    per_iteration: dict[int, float] = field(factory=dict)
    """Seconds per iteration in each round in which it took a turn."""
    memory: float = 0.0
    """The most that its process held, in MiB."""

    @property
    def best(self) -> float:
        """Seconds per iteration in the round in which it was least disturbed."""
        return min(self.per_iteration.values())


class Worker:
    """A solver in a process of its own, which does nothing unless it is asked."""

    def __init__(self, peer: str, game: str, algorithm: str) -> None:
        self._connection, remote = SPAWN.Pipe()
        arguments = remote, peer, game, algorithm
        self._process = SPAWN.Process(target=_serve, args=arguments, daemon=True)
        self._process.start()
        remote.close()
        self._iterations = self._period = 1

    def __enter__(self) -> "Worker":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.join()

    def ask(self, order: str, number: int = 0) -> float:
        """Have it ``build``, ``run`` iterations, or say its ``gap`` or its ``peak`` memory.

        What it says is the seconds that it took, or the number that it was asked for.

        Raises
        ------
        PeerFailedError
            When it says why there is no such number, or says nothing any more.
        """
        try:
            self._connection.send((order, number))
            said = self._connection.recv()
        except (EOFError, OSError):
            self._process.join()
            raise PeerFailedError(f"its process ended with {self._process.exitcode}") from None
        if isinstance(said, str):
            raise PeerFailedError(said)
        return float(said)

    def check_gaps(self, measured: Measured, effort: Effort) -> None:
        """Run to the iterations at which gaps are compared, and see how fast it goes."""
        done, spent, pace = 0, 0.0, 0.0
        for checkpoint in CHECKPOINTS:
            if checkpoint > 2 and spent + (checkpoint - done) * pace > effort.checks:
                break
            seconds = self.ask("run", checkpoint - done)
            # The first iteration says nothing about the others: it may load machine code.
            spent = spent + seconds if done else 0.0
            pace, done = seconds / (checkpoint - done), checkpoint
            measured.gaps[checkpoint] = self.ask("gap")
        self._plan(pace, effort)
        # What was slow to get going would take turns that are too short.
        for _ in range(2):
            if self._iterations > 1:
                self._plan(self.ask("run", self._iterations) / self._iterations, effort)

    def _plan(self, pace: float, effort: Effort) -> None:
        self._iterations = max(1, round(effort.turn / max(pace, 1e-9)))
        self._period = effort.between_turns(self._iterations * pace)

    def take_turn(self, measured: Measured, round_: int) -> None:
        """Take a turn, if it takes part in this round."""
        if round_ % self._period == 0:
            seconds = self.ask("run", self._iterations)
            measured.per_iteration[round_] = seconds / self._iterations


def _serve(connection: Any, peer: str, game: str, algorithm: str) -> None:
    """Build a solver, and do as it is told; what libraries print goes nowhere."""
    pin()
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    solvers: list[Solver] = []

    def build() -> None:
        solvers.append(PEERS[peer].start(GAMES[game], algorithm))

    def obey(order: str, number: int) -> float:
        if order == "build":
            for module in PEERS[peer].modules:
                import_module(module)
            return cpu_seconds(build)
        if order == "run":
            return cpu_seconds(solvers[0].run, number)
        return solvers[0].gap() if order == "gap" else peak()

    with suppress(EOFError):
        while True:
            order = connection.recv()
            try:
                said: float | str = obey(*order)
            except Exception as error:
                said = f"{type(error).__name__}: {error}"
            connection.send(said)


def measure(
    game: str, algorithm: str, peers: Sequence[str], effort: Effort
) -> tuple[dict[str, Measured], dict[str, str]]:
    """Have peers solve a game in turns; return what they came to, and why some did not."""
    workers: dict[str, Worker] = {}
    found: dict[str, Measured] = {}
    absent: dict[str, str] = {}
    with ExitStack() as stack:
        for peer in peers:
            worker = stack.enter_context(Worker(peer, game, algorithm))
            try:
                measured = Measured(worker.ask("build"))
                worker.check_gaps(measured, effort)
            except PeerFailedError as error:
                absent[peer] = str(error)
            else:
                workers[peer], found[peer] = worker, measured
        order = deque(found)
        for round_ in range(effort.rounds):
            for peer in order:
                workers[peer].take_turn(found[peer], round_)
            order.rotate(-1)
        for peer, worker in workers.items():
            found[peer].memory = worker.ask("peak")
    return found, absent
