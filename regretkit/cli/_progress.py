"""One line of progress on a terminal."""

import math
import sys
import time
from typing import TYPE_CHECKING, Self, final

from regretkit.cli._console import clean, is_terminal, rich_console

if TYPE_CHECKING:
    from rich.progress import Progress

_PERIOD = 0.09
"""Seconds between two pictures, at least."""


@final
class ProgressLine:
    """One line of progress on standard error if it is a terminal, else nothing."""

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

    def update(self, facts: list[str], done: float, left: float | None) -> None:
        """Show facts, and which part is done, unless the last picture is recent."""
        now = time.monotonic()
        if self._progress is None or now - self._drawn < _PERIOD:
            return
        self._drawn = now
        (task,) = self._progress.task_ids
        text, total = f"{self._title}{'  '.join(facts)}", None if left is None else done + left
        self._progress.update(task, completed=done, total=total, description=text, refresh=True)


def clock(seconds: float) -> str:
    """Return a time as hours, minutes and seconds."""
    whole = math.ceil(seconds)
    hours, minutes = whole // 3600, whole // 60 % 60
    return f"{hours // 24} days" if hours >= 48 else f"{hours}:{minutes:02}:{whole % 60:02}"


def iterations_to(target: float, iterations: list[int], gaps: list[float]) -> float:
    """Estimate when a gap will be reached, if it continues to fall by the same power of time.

    The power is that of the last half of the measurements; infinity if the gap did not fall.
    """
    middle = len(gaps) // 2
    if len(gaps) < 8 or gaps[-1] <= 0.0 or not gaps[-1] < gaps[middle]:
        return math.inf
    power = math.log(gaps[middle] / gaps[-1]) / math.log(iterations[-1] / iterations[middle])
    exponent = math.log(gaps[-1] / target) / power
    return math.inf if exponent > 60.0 else iterations[-1] * math.exp(exponent)
