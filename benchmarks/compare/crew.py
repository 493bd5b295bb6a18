"""Solvers at one game, each in its own process on the same core, that take turns."""

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from typing import final

from attrs import define, field, frozen

from benchmarks.machine import ROOT, environment

CHECKPOINTS = (1, 2, 10, 100)
"""Iterations at which the gap is measured, the later ones if there is time."""


class PeerFailedError(Exception):
    """A peer cannot be imported, cannot build the game, or broke down."""


@final
class Worker:
    """A solver in a process of its own, which does nothing unless it is asked."""

    def __init__(self, peer: str, game: str, algorithm: str) -> None:
        command = [sys.executable, "-m", "benchmarks.compare.worker", peer, game, algorithm]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=ROOT,
            env=environment(),
        )

    def __enter__(self) -> "Worker":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def ask(self, order: str, number: int = 0) -> float:
        """Have it ``run`` iterations, or say its ``gap`` or its ``peak`` memory."""
        with suppress(BrokenPipeError):  # its process has ended, and its answer says so
            print(json.dumps([order, number]), file=self._process.stdin, flush=True)
        return self.answer()

    def answer(self) -> float:
        """Return the next number that it says; the first is how long it took to build.

        Raises
        ------
        PeerFailedError
            When it says why there is none, or says nothing any more.
        """
        stdout = self._process.stdout
        line = stdout.readline() if stdout is not None else ""
        if not line:
            raise PeerFailedError(f"its process ended with {self._process.wait()}")
        said = json.loads(line)
        if "failed" in said:
            raise PeerFailedError(said["failed"])
        return float(said["is"])


@final
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


FULL = Effort(rounds=30, turn=0.05, checks=60.0, turns=15.0)
QUICK = Effort(rounds=5, turn=0.02, checks=2.0, turns=1.0)


@final
@define
class Figures:
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


@final
@define
class _Turns:
    """One worker, and how it takes its turns."""

    worker: Worker
    figures: Figures
    iterations: int = 1
    """In each turn."""
    every: int = 1
    """It takes part in one round out of this number."""

    def check_gaps(self, effort: Effort) -> None:
        """Run to the iterations at which gaps are compared, and see how fast it goes."""
        done, spent, pace = 0, 0.0, 0.0
        for until in CHECKPOINTS:
            if until > 2 and spent + (until - done) * pace > effort.checks:
                break
            seconds = self.worker.ask("run", until - done)
            # The first iteration says nothing about the others: it may load machine code.
            spent = spent + seconds if done else 0.0
            pace, done = seconds / (until - done), until
            self.figures.gaps[until] = self.worker.ask("gap")
        self._plan(pace, effort)
        # What was slow to get going would take turns that are too short.
        for _ in range(2):
            if self.iterations > 1:
                self._plan(self.worker.ask("run", self.iterations) / self.iterations, effort)

    def _plan(self, pace: float, effort: Effort) -> None:
        self.iterations = max(1, round(effort.turn / max(pace, 1e-9)))
        self.every = rounds_between_turns(self.iterations * pace, effort)

    def take(self, round_: int) -> None:
        """Take a turn, if it takes part in this round."""
        if round_ % self.every == 0:
            seconds = self.worker.ask("run", self.iterations)
            self.figures.per_iteration[round_] = seconds / self.iterations


def rounds_between_turns(seconds: float, effort: Effort) -> int:
    """Return in which of how many rounds to take a turn of this length, at least twice in all."""
    affordable = max(2.0, effort.turns // max(seconds, 1e-9))
    if affordable >= effort.rounds:
        return 1
    return int(-(-effort.rounds // affordable))


def rotated(length: int, round_: int) -> Iterator[int]:
    """Return the indices of one round in cyclic order, with another one first in each round."""
    return ((round_ + i) % length for i in range(length))


def measure(
    game: str, algorithm: str, peers: Sequence[str], effort: Effort
) -> tuple[dict[str, Figures], dict[str, str]]:
    """Have peers solve a game in turns; return what they came to, and why some did not."""
    crew: dict[str, _Turns] = {}
    absent: dict[str, str] = {}
    with ExitStack() as stack:
        for peer in peers:
            worker = stack.enter_context(Worker(peer, game, algorithm))
            try:
                crew[peer] = _Turns(worker, Figures(worker.answer()))
                crew[peer].check_gaps(effort)
            except PeerFailedError as error:
                crew.pop(peer, None)
                absent[peer] = str(error)
        solvers = list(crew.values())
        for round_ in range(effort.rounds):
            for index in rotated(len(solvers), round_):
                solvers[index].take(round_)
        for turns in solvers:
            turns.figures.memory = turns.worker.ask("peak")
    return {peer: turns.figures for peer, turns in crew.items()}, absent
