"""What measuring has to do with a machine: one core, a process of its own, and its memory."""

import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
ONE_THREAD: dict[str, str] = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)
MEASURE = "--measure"
TURN = 0.02
"""Seconds that are long enough to be measured, and short enough not to be disturbed."""


def pin() -> None:
    """Stay on one core, the same one for every process of a benchmark, where a system can."""
    if sys.platform == "linux":
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def environment(**changes: str) -> dict[str, str]:
    """Return what processes that measure find around them: libraries with one thread each."""
    return {**os.environ, **ONE_THREAD, **changes}


def peak() -> float:
    """Return the most memory that this process ever held, in MiB."""
    status = Path("/proc/self/status")
    if status.exists():
        # What getrusage says begins with what the process that started this one held.
        [line] = [line for line in status.read_text().splitlines() if line.startswith("VmHWM")]
        return float(line.split()[1]) / 2**10
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (2**20 if sys.platform == "darwin" else 2**10)


def cpu_seconds(action: Callable[..., object], *arguments: object) -> float:
    """Return the processor time of a call, without that of other processes."""
    start = time.process_time()
    action(*arguments)
    return time.process_time() - start


def best_times(
    actions: Mapping[str, Callable[[int], object]], turns: int, length: float = TURN
) -> dict[str, float]:
    """Return seconds for one time of each action, the best of several turns.

    An action is told how often to do what it does: so often that a turn takes ``length`` seconds.
    All take turns, so that what else a machine does meets each of them.
    """
    often = {name: times_in_a_turn(action, length) for name, action in actions.items()}
    best = dict.fromkeys(actions, float("inf"))
    for _ in range(turns):
        for name, action in actions.items():
            best[name] = min(best[name], cpu_seconds(action, often[name]) / often[name])
    return best


def times_in_a_turn(action: Callable[[int], object], length: float = TURN) -> int:
    """Return how often an action can be done in the time of a turn, at least once."""
    action(1)  # may load machine code
    times = 1
    while (took := cpu_seconds(action, times)) < length:
        times = max(2 * times, int(times * length / max(took, 1e-6)))
    return times


def in_a_new_process(
    module: str, arguments: Sequence[str] = (), changes: Mapping[str, str] | None = None
) -> dict[str, float]:
    """Return what a benchmark says when it is told to measure one thing, in a fresh process."""
    command = [sys.executable, "-m", module, MEASURE, *arguments]
    done = subprocess.run(
        command,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=environment(**(changes or {})),
    )
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


def to_measure(arguments: Sequence[str]) -> Sequence[str] | None:
    """Return what this process was started to measure, None if a person started it."""
    return arguments[1:] if arguments[:1] == [MEASURE] else None


def versions(packages: Sequence[str]) -> str:
    """Return the versions of Python and of what is installed of some packages."""
    found = [f"Python {platform.python_version()}"]
    for package in packages:
        try:
            found.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            found.append(f"no {package}")
    return ", ".join(found)
