"""The overhead of experiments."""

import os
import tempfile
import time

from benchmarks.harness import Figures, benchmark
from regretkit.workbench import Experiment, read_results


def carried_out(made: Experiment, workers: int) -> tuple[float, float]:
    """Return the seconds of an experiment, and of its iterations."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        found = made.run(folder, workers=workers)
        took = time.perf_counter() - start
    return took, sum(run.columns["seconds"][-1] for run in found.runs)


def two_cores(quick: bool) -> float:
    """Return the speedup of two cores over one."""
    if hasattr(os, "sched_setaffinity"):  # undo the pinning of the harness
        os.sched_setaffinity(0, range(os.cpu_count() or 1))
    iterations = 100 if quick else 4_000_000
    made = Experiment("leduc_poker", "cfr", iterations, seeds=16, sampling="external")
    return carried_out(made, 1)[0] / carried_out(made, 2)[0]


def overhead(quick: bool) -> float:
    """Return the milliseconds of overhead per run."""
    few, many = 1, 5 if quick else 101
    beside = {}
    for runs in (few, many):
        made = Experiment("kuhn_poker", f"dcfr(alpha=1:{runs}:1)", 100)
        took, iterations = carried_out(made, 1)
        beside[runs] = took - iterations
    return (beside[many] - beside[few]) / (many - few) * 1e3


def opened(quick: bool) -> float:
    """Return the seconds to read a folder of results."""
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
    """Wall-clock overhead of experiments: on two cores, per run, and to read results.

    The first row runs external sampling on Leduc poker with 16 seeds, including the start of
    processes. The second is DCFR on Kuhn poker with about twenty measurements of NashConv, in one
    started process. The third reads results of one iteration each.
    """
    return {"measured": ROWS[row](quick)}
