"""The line that moves while something goes on: how far it is, its rate, and the time left."""

import math
import sys
import time
from collections import deque
from types import TracebackType
from typing import TYPE_CHECKING, final

from regretkit.cli.journal import Journal
from regretkit.cli.screen import clean, console, is_terminal
from regretkit.play import SelfPlay

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_NEVER = 2**62

_LOOKS = 100
"""The rate is that of the iterations between so many pictures."""

_OFTEN = 0.09
"""Seconds between two pictures, at least."""


@final
class Line:
    """A callback that shows how far a run has come, on a terminal; elsewhere it shows nothing.

    Parameters
    ----------
    journal
        Is called before, and knows the gap and the limits.
    title
        Stands in front.
    wanted
        Whether to show anything at all.
    """

    def __init__(self, journal: Journal, title: str = "", *, wanted: bool = True) -> None:
        self._journal, self._title = journal, title
        self._shown = wanted and is_terminal(sys.stderr)
        self._progress: Progress | None = None
        self._task: TaskID | None = None
        self._drawn = 0.0
        self._seen: deque[tuple[float, int]] = deque(maxlen=_LOOKS)

    def __enter__(self) -> "Line":
        if self._shown:
            progress, title = _progress(), f"{clean(self._title)}\n" if self._title else ""
            self._task = progress.add_task("", total=None, title=title, facts="starting")
            progress.start()
            self._progress = progress
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._progress is not None:
            self._progress.stop()

    def begin(self, run: SelfPlay) -> None:
        """Count the rate from here on."""
        self._seen.append((self._journal.played, run.iteration))

    def due(self, run: SelfPlay) -> int:
        """Return that it looks when others do."""
        return _NEVER

    def __call__(self, run: SelfPlay) -> None:
        """Show where the run is."""
        if self._progress is None or self._task is None:
            return
        if time.monotonic() - self._drawn < _OFTEN and len(self._seen) > 1:
            return
        self._drawn = time.monotonic()
        self._seen.append((self._journal.played, run.iteration))
        (before, first), (now, last) = self._seen[0], self._seen[-1]
        rate = (last - first) / max(now - before, 1e-9)
        left = time_left(self._journal, run.iteration, rate)
        done = None if left is None else self._journal.played
        total = None if left is None else max(self._journal.played + left, 1e-9)
        self._progress.update(
            self._task, completed=done or 0.0, total=total, facts=facts(self._journal, run, rate)
        )
        self._progress.refresh()


@final
class Counter:
    """Shows how many of something are done, on a terminal; elsewhere it shows nothing.

    Parameters
    ----------
    what
        What is counted, one of them.
    total
        How many there are to be.
    wanted
        Whether to show anything at all.
    """

    def __init__(self, what: str, total: int, *, wanted: bool = True) -> None:
        self._what, self._total = what, total
        self._shown = wanted and is_terminal(sys.stderr)
        self._progress: Progress | None = None
        self._began = self._drawn = time.monotonic()

    def __enter__(self) -> "Counter":
        if self._shown:
            self._progress = _progress()
            self._progress.add_task("", total=self._total, title="", facts="starting")
            self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._progress is not None:
            self._progress.stop()

    def at(self, done: int) -> None:
        """Show that so many are done."""
        now = time.monotonic()
        if self._progress is None or now - self._drawn < _OFTEN:
            return
        self._drawn, rate = now, done / max(now - self._began, 1e-9)
        words = [
            f"{self._what} {done:,} of {self._total:,}",
            f"{rate:,.0f}/s",
            f"{clock((self._total - done) / rate)} left",
        ]
        (task,) = self._progress.task_ids
        self._progress.update(task, completed=done, facts="  ".join(words))
        self._progress.refresh()


def _progress() -> "Progress":
    from rich.progress import BarColumn, Progress, TextColumn

    return Progress(
        BarColumn(bar_width=12),
        TextColumn("{task.fields[title]}{task.fields[facts]}", markup=False),
        console=console(sys.stderr),
        transient=True,
        auto_refresh=False,
    )


def facts(journal: Journal, run: SelfPlay, rate: float) -> str:
    """Return iterations, rate, gap and time left, as far as they are known."""
    of = f" of {journal.most:,}" if journal.most is not None else ""
    words = [
        f"iteration {run.iteration:,}{of}",
        f"{rate:,.4g}/s" if rate < 1000 else f"{rate:,.0f}/s",
    ]
    if journal.gap is not None:
        words.append(f"gap {journal.gap:.2e}")
    left = time_left(journal, run.iteration, rate)
    words.append("time left unknown" if left is None else f"{clock(left)} left")
    return "  ".join(words)


def clock(seconds: float) -> str:
    """Return a time as a clock shows it."""
    whole = math.ceil(seconds)
    hours, minutes = whole // 3600, whole // 60 % 60
    if hours >= 48:
        return f"{hours // 24} days"
    return f"{hours}:{minutes:02}:{whole % 60:02}"


def time_left(journal: Journal, iteration: int, rate: float) -> float | None:
    """Return the seconds until the first of the limits is reached, None if nobody can say."""
    guesses = []
    if journal.most is not None and rate > 0.0:
        guesses.append(max(journal.most - iteration, 0) / rate)
    if journal.seconds is not None:
        guesses.append(max(journal.seconds - journal.played, 0.0))
    if journal.target is not None and rate > 0.0:
        needed = iterations_to(journal.target, journal.iterations, journal.gaps)
        if needed is not None:
            guesses.append(max(needed - iteration, 0.0) / rate)
    return min(guesses, default=None)


def iterations_to(target: float, iterations: list[int], gaps: list[float]) -> float | None:
    """Guess when a gap will be reached, if it goes on falling by the same power of time.

    The power is that of the last half of what was measured; None where it did not fall.
    """
    then = len(gaps) // 2
    if len(gaps) < 8 or gaps[-1] <= 0.0 or not gaps[-1] < gaps[then]:
        return None
    power = math.log(gaps[then] / gaps[-1]) / math.log(iterations[-1] / iterations[then])
    exponent = math.log(gaps[-1] / target) / power
    return None if exponent > 60.0 else iterations[-1] * math.exp(exponent)
