"""What experiments cost beside their iterations."""

import os
import tempfile
import time

from benchmarks.harness import Figures, benchmark
from regretkit.workbench import Experiment, read_results


def carried_out(made: Experiment, workers: int) -> tuple[float, float]:
    """Return how long an experiment takes in seconds, and how long its iterations."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        found = made.run(folder, workers=workers)
        took = time.perf_counter() - start
    return took, sum(run.columns["seconds"][-1] for run in found.runs)


def two_cores(quick: bool) -> float:
    """Return how many times as fast two cores are as one."""
    if hasattr(os, "sched_setaffinity"):  # the harness has chosen one
        os.sched_setaffinity(0, range(os.cpu_count() or 1))
    iterations = 100 if quick else 4_000_000
    made = Experiment("leduc_poker", "cfr", iterations, seeds=16, sampling="external")
    return carried_out(made, 1)[0] / carried_out(made, 2)[0]


def overhead(quick: bool) -> float:
    """Return the milliseconds that a run costs beside its iterations."""
    few, many = 1, 5 if quick else 101
    beside = {}
    for runs in (few, many):
        made = Experiment("kuhn_poker", f"dcfr(alpha=1:{runs}:1)", 100)
        took, iterations = carried_out(made, 1)
        beside[runs] = took - iterations
    return (beside[many] - beside[few]) / (many - few) * 1e3


def opened(quick: bool) -> float:
    """Return the seconds that opening a folder of results takes."""
    with tempfile.TemporaryDirectory() as folder:
        seeds = 100 if quick else 10_000
        Experiment("matching_pennies", "mccfr", 1, seeds=seeds).run(folder, workers=0)
        start = time.perf_counter()
        read_results(folder)
        return time.perf_counter() - start


ROWS = {
    "two cores over one, 16 equal runs": two_cores,
    "a run beside its iterations, ms": overhead,
    "10,000 results opened, s": opened,
}


@benchmark([*ROWS], head="what")
def workbench(row: str, quick: bool) -> Figures:
    """What experiments cost by the clock: on two cores, for each run, and when they are opened.

    Equal runs are of external sampling on Leduc poker with other seeds, and the processes start
    within the time. The cost of a run is that of DCFR on Kuhn poker with some twenty measures of
    NashConv in one process that has started. Results are those of one iteration.
    """
    return {"measured": ROWS[row](quick)}
