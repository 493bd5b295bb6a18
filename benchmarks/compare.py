"""Comparison with other libraries, for equal algorithms and averages."""

import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from importlib import import_module
from multiprocessing import get_context
from typing import Any

from attrs import define, field

from benchmarks.harness import Figures, benchmark, cpu_seconds, pin
from benchmarks.peers import CONTESTS, PEERS, QUICK, Solver
from benchmarks.runs import tree_game

OURS = "regretkit"
CHECKED = (10, 100)
"""Iterations at which gaps are compared, the later one if time permits."""
SOLVERS: list[Solver] = []
"""The solver of this process."""

# In the process of a solver


def build(peer: str, title: str, algorithm: str) -> None:
    """Build a solver, and discard the output of libraries."""
    pin()
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    start, modules = PEERS[peer]
    for module in modules:
        import_module(module)
    SOLVERS.append(start(CONTESTS[title], algorithm))
    SOLVERS[0].run(1)  # may load compiled code


def run(iterations: int) -> float:
    """Return the processor seconds of iterations."""
    return cpu_seconds(SOLVERS[0].run, iterations)


def gap() -> float:
    return SOLVERS[0].gap()


# In the process of the comparison


@define
class Worker:
    """A solver in its own process."""

    process: ProcessPoolExecutor
    gaps: dict[int, float] = field(factory=dict)
    """NashConv of the average by number of iterations."""
    iterations: int = 1
    """Iterations in a turn."""
    best: float = float("inf")
    """Seconds per iteration in the best turn."""
    left: float = 0.0
    """Seconds left for further turns."""

    def ask(self, function: Any, *arguments: object) -> Any:
        return self.process.submit(function, *arguments).result()

    def check(self, turn: float, seconds: float) -> None:
        """Run to the iterations of ``CHECKED``, and set the length of a turn."""
        done, spent, pace = 1, 0.0, 0.0
        for checked in CHECKED:
            if done > 1 and spent + (checked - done) * pace > seconds:
                break
            took = self.ask(run, checked - done)
            spent, pace, done = spent + took, took / (checked - done), checked
            self.gaps[checked] = self.ask(gap)
        while (took := self.ask(run, self.iterations)) < turn:
            self.iterations = max(2 * self.iterations, int(self.iterations * turn / took))
        self.left = seconds

    def take_turn(self) -> None:
        """Run a turn if time is left."""
        if self.left > 0.0:
            seconds = self.ask(run, self.iterations)
            self.left -= seconds
            self.best = min(self.best, seconds / self.iterations)


def compared(title: str, algorithm: str, peers: Sequence[str], quick: bool) -> dict[str, Worker]:
    """Run solvers alternately on a game, each in its own process."""
    turns, turn, seconds = (5, 0.02, 2.0) if quick else (30, 0.05, 15.0)
    found: dict[str, Worker] = {}
    with ExitStack() as stack:
        for peer in peers:
            process = ProcessPoolExecutor(1, get_context("spawn"))
            worker = Worker(stack.enter_context(process))
            try:
                worker.ask(build, peer, title, algorithm)
                worker.check(turn, seconds)
            except (ImportError, BrokenProcessPool) as error:
                print(f"without {peer}: {error}")
            else:
                found[peer] = worker
        for _ in range(turns):
            for worker in found.values():
                worker.take_turn()
    return found


@benchmark(
    [f"{title}: {algorithm}" for algorithm in ("cfr+", "cfr") for title in CONTESTS],
    quick=[f"{title}: cfr+" for title in QUICK],
    head="game: algorithm",
)
def compare(row: str, quick: bool) -> Figures:
    """CFR+ and CFR compared with other libraries, with the same updates and averages.

    Microseconds of processor time per compiled iteration, and the relative times of the others.
    Each solver has its own process. All alternate on one core with one thread, and the best turn
    counts. *NashConv* is that of the average after 100 iterations. *differ by* is the largest
    relative difference between libraries, each with its own NashConv. If regrets tie, as in
    Goofspiel with five cards, the order of summation changes strategies, and gaps differ.
    """
    title, algorithm = row.split(": ")
    game = tree_game(CONTESTS[title].call)
    found = compared(title, algorithm, [*PEERS], quick)
    gaps = [worker.gaps[CHECKED[-1]] for worker in found.values() if CHECKED[-1] in worker.gaps]
    ours = found[OURS].best
    times = {peer: worker.best / ours for peer, worker in found.items() if peer != OURS}
    return {
        "terminals": int(game.tree.terminals.size),
        "information sets": max(tree.points for tree in game.domains),
        "regretkit, us": ours * 1e6,
        **times,
        "NashConv": f"{gaps[0]:.9g}",
        "differ by": f"{max(gaps) / min(gaps) - 1.0:.0e}",
    }
