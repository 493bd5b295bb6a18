"""Progress on a terminal: iterations or matches, their rate, and the time left."""

import math
import sys
import time
from typing import TYPE_CHECKING, Self, final

from regretkit.cli._console import clean, is_terminal, rich_console
from regretkit.cli._monitor import RunMonitor
from regretkit.play import SelfPlay

if TYPE_CHECKING:
    from rich.progress import Progress

_NEVER = 2**62
_PERIOD = 0.09
"""Seconds between two pictures, at least."""


@final
class ProgressLine:
    """One line of progress on standard error if it is a terminal, else nothing.

    Parameters
    ----------
    title
        A line above it, if any.
    quiet
        Whether to show nothing.
    """

    def __init__(self, title: str = "", *, quiet: bool = False) -> None:
        self._title = f"{clean(title)}\n" if title else ""
        self._shown = not quiet and is_terminal(sys.stderr)
        self._progress: Progress | None = None
        self._drawn = 0.0

    def __enter__(self) -> Self:
        if self._shown:
            from rich.progress import BarColumn, Progress, TextColumn

            self._progress = Progress(
                BarColumn(bar_width=12),
                TextColumn("{task.description}", markup=False),
                console=rich_console(sys.stderr),
                transient=True,
                auto_refresh=False,
            )
            self._progress.add_task(f"{self._title}starting", total=None)
            self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._progress is not None:
            self._progress.stop()

    def update(self, facts: list[str], done: float, total: float | None) -> None:
        """Show facts, and which part is done, unless the last picture is recent."""
        now = time.monotonic()
        if self._progress is None or now - self._drawn < _PERIOD:
            return
        self._drawn = now
        (task,) = self._progress.task_ids
        text = f"{self._title}{'  '.join(facts)}"
        self._progress.update(task, completed=done, total=total, description=text, refresh=True)


@final
class RunProgress:
    """A callback that shows how far a run has come.

    Parameters
    ----------
    line
        Where to show it.
    monitor
        Is called before, and knows the gap and the limits.
    """

    def __init__(self, line: ProgressLine, monitor: RunMonitor) -> None:
        self._line, self._monitor = line, monitor
        self._since: tuple[float, int] | None = None

    def begin(self, run: SelfPlay) -> None:
        """Measure the rate from this iteration."""
        self._since = (self._monitor.played, run.iteration)

    def next_call(self, run: SelfPlay) -> int:
        """Return that it needs no call of its own."""
        return _NEVER

    def __call__(self, run: SelfPlay) -> None:
        """Show where the run is."""
        monitor, (since, first) = self._monitor, self._since or (0.0, 0)
        rate = (run.iteration - first) / max(monitor.played - since, 1e-9)
        left = time_left(monitor, run.iteration, rate)
        limit = monitor.iterations_limit
        facts = [
            f"iteration {run.iteration:,}{'' if limit is None else f' of {limit:,}'}",
            f"{rate:,.4g}/s" if rate < 1000 else f"{rate:,.0f}/s",
            *([] if monitor.gap is None else [f"gap {monitor.gap:.2e}"]),
            "time left unknown" if left is None else f"{clock(left)} left",
        ]
        total = None if left is None else max(monitor.played + left, 1e-9)
        self._line.update(facts, monitor.played, total)


def clock(seconds: float) -> str:
    """Return a time as hours, minutes and seconds."""
    whole = math.ceil(seconds)
    hours, minutes = whole // 3600, whole // 60 % 60
    return f"{hours // 24} days" if hours >= 48 else f"{hours}:{minutes:02}:{whole % 60:02}"


def time_left(monitor: RunMonitor, iteration: int, rate: float) -> float | None:
    """Return the seconds until the first of the limits is reached, None if unknown."""
    estimates = []
    if monitor.iterations_limit is not None and rate > 0.0:
        estimates.append(max(monitor.iterations_limit - iteration, 0) / rate)
    if monitor.time_limit is not None:
        estimates.append(max(monitor.time_limit - monitor.played, 0.0))
    if monitor.gap_limit is not None and rate > 0.0:
        needed = iterations_to(monitor.gap_limit, monitor.iterations, monitor.gaps)
        if needed is not None:
            estimates.append(max(needed - iteration, 0.0) / rate)
    return min(estimates, default=None)


def iterations_to(target: float, iterations: list[int], gaps: list[float]) -> float | None:
    """Estimate when a gap will be reached, if it continues to fall by the same power of time.

    The power is that of the last half of the measurements; None if the gap did not fall.
    """
    middle = len(gaps) // 2
    if len(gaps) < 8 or gaps[-1] <= 0.0 or not gaps[-1] < gaps[middle]:
        return None
    power = math.log(gaps[middle] / gaps[-1]) / math.log(iterations[-1] / iterations[middle])
    exponent = math.log(gaps[-1] / target) / power
    return None if exponent > 60.0 else iterations[-1] * math.exp(exponent)
