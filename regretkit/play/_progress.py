"""Progress of a run: how far it has come, and how long it may still take."""

import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TextIO, final

from attrs import define, field

from regretkit._util._state import NOT_STATE, Stateful
from regretkit._util._validate import quote
from regretkit.play._callbacks import Callback, Pace


def clock(seconds: float) -> str:
    """Return a time as hours, minutes and seconds."""
    whole = math.ceil(seconds)
    hours, minutes = whole // 3600, whole // 60 % 60
    return f"{hours // 24} days" if hours >= 48 else f"{hours}:{minutes:02}:{whole % 60:02}"


def facts(
    iteration: int, rate: float, most: int | None, gaps: Sequence[float], left: float | None
) -> list[str]:
    """Return what progress shows: iterations, their rate, the last gap and the time left."""
    return [
        f"iteration {iteration:,}{'' if most is None else f' of {most:,}'}",
        f"{rate:,.4g}/s" if rate < 1000 else f"{rate:,.0f}/s",
        *(f"gap {gap:.2e}" for gap in gaps[-1:]),
        "time left unknown" if left is None else f"{clock(left)} left",
    ]


@final
@define(eq=False)
class _Progress(Stateful):
    """A callback that hands on a line of text from time to time."""

    write: Callable[[str], object] = field(metadata=NOT_STATE)
    iterations: int | None
    seconds: float | None
    every: float
    """Seconds between two lines."""
    _pace: Pace = field(factory=Pace, init=False, metadata=NOT_STATE)
    _written: float = field(default=-math.inf, init=False, metadata=NOT_STATE)

    def next_call(self, run: Any) -> int:
        return self._pace.next_call(run)

    def __call__(self, run: Any) -> None:
        self._pace(run)
        now = time.monotonic()
        if now - self._written < self.every:
            return
        self._written = now
        rate = run.iteration / max(run.seconds, 1e-9)
        remaining = [] if self.iterations is None else [(self.iterations - run.iteration) / rate]
        remaining += [] if self.seconds is None else [self.seconds - run.seconds]
        left = max(min(remaining), 0.0) if remaining else None
        self.write("  ".join(facts(run.iteration, rate, self.iterations, [], left)))


@contextmanager
def shown_progress(
    progress: bool | Callable[[str], object], iterations: int | None, seconds: float | None
) -> Iterator[list[Callback]]:
    """Give the callbacks that show progress: none, one on standard error, or one of the caller."""
    if callable(progress):
        yield [_Progress(progress, iterations, seconds, every=1.0)]
    elif not isinstance(progress, bool):
        raise TypeError(
            f"progress must be True, False or a function of a line of text, got {quote(progress)}"
        )
    elif not progress:
        yield []
    elif _rewrites(sys.stderr):
        line = _Line(sys.stderr)
        try:
            yield [_Progress(line.write, iterations, seconds, every=0.2)]
        finally:
            line.end()
    else:
        lines = _Line(sys.stderr, end="\n")
        yield [_Progress(lines.write, iterations, seconds, every=10.0)]


def _rewrites(stream: TextIO) -> bool:
    """Return whether a line may be written over: at a terminal, and in a notebook."""
    return stream.isatty() or type(stream).__module__.startswith("ipykernel")


@final
@define(eq=False)
class _Line:
    """A line of a stream that is written over and over."""

    stream: TextIO
    end_with: str = field(default="", alias="end")
    _longest: int = field(default=0, init=False)

    def write(self, text: str) -> None:
        self._longest = max(self._longest, len(text))
        start, padding = ("", 0) if self.end_with else ("\r", self._longest)
        self.stream.write(f"{start}{text:<{padding}}{self.end_with}")
        self.stream.flush()

    def end(self) -> None:
        if self._longest:
            self.stream.write("\n")
            self.stream.flush()
