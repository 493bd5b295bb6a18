"""Callbacks that observe or stop a run, and schedules of their calls."""

import math
import sys
import time
from bisect import bisect
from collections.abc import Callable, Iterable
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from attrs import define, field
from attrs.validators import is_callable

from regretkit._state import NOT_STATE, Stateful
from regretkit._util._validate import must_be, number, positive, whole_number
from regretkit.evaluation import nash_conv
from regretkit.games import Game, Profile

if TYPE_CHECKING:
    from regretkit.play._run import Run
    from regretkit.play._self_play import SelfPlay

Callback: TypeAlias = Callable[["SelfPlay"], object]
"""A function of a run, called after iterations. A result ``True`` stops the run.

Two methods are optional:

- ``next_call(run)`` returns the next iteration at which the callback needs a call. Without it, the
  callback is called after every iteration. It must allow more calls, which other callbacks cause.
- ``begin(run)`` is called once before the first iteration. It may return more callbacks, which are
  called after every iteration, before the others.
"""

Schedule: TypeAlias = Callable[[int], int]
"""Maps an iteration to the next one at which to call, which is larger."""


# Lists of callbacks


def as_callbacks(callbacks: Iterable[Callable[..., object]]) -> list[Callable[..., object]]:
    """Return callbacks as a list, or raise a TypeError."""
    watching: list[Any] = [*callbacks] if isinstance(callbacks, Iterable) else [None]
    if any(isinstance(watcher, type) or not callable(watcher) for watcher in watching):
        raise TypeError(must_be("callbacks", "functions of the run, in a sequence", callbacks))
    return watching


def begin(callbacks: Iterable[Callable[..., object]], run: Any) -> list[Callable[..., object]]:
    """Call each method ``begin``; return the callbacks for every iteration, each one once."""
    prepared = [getattr(callback, "begin", None) for callback in callbacks]
    watching = [prepare(run) or () for prepare in prepared if prepare is not None]
    return list({id(watcher): watcher for watcher in chain.from_iterable(watching)}.values())


def next_call(run: "Run", callbacks: Iterable[Callable[..., object]], end: int) -> int:
    """Return the next iteration at which a callback needs a call, at most ``end``."""
    following = run.iteration + 1
    for callback in callbacks:
        asked = getattr(callback, "next_call", None)
        end = min(end, following if asked is None else max(int(asked(run)), following))
    return end


def stopped(run: "Run", callbacks: Iterable[Callable[..., object]]) -> bool:
    """Call all callbacks, also after one stops the run; return whether any stops it."""
    said = [callback(run) for callback in callbacks]
    return any(isinstance(word, bool | np.bool_) and word for word in said)


def every(period: int) -> Schedule:
    """Return the schedule of the multiples of ``period``.

    Examples
    --------
    >>> every(10)(0), every(10)(9), every(10)(10)
    (10, 10, 20)
    """
    period = whole_number(period, "period", minimum=1)
    return lambda iteration: (iteration // period + 1) * period


def geometric(ratio: float = 1.1) -> Schedule:
    """Return the schedule of iterations that grow by ``ratio``, such as 1, 2, 4, 8, ... for 2.

    The successor of t is ``max(t + 1, ceil(t * ratio))``, and ``ratio`` must be above 1. The calls
    are evenly spaced on a logarithmic axis. They do not depend on where a run is resumed.

    Examples
    --------
    >>> schedule = geometric(2)
    >>> [schedule(t) for t in (0, 1, 2, 3, 4, 100)]
    [1, 2, 4, 4, 8, 128]
    """
    if not number(ratio, "ratio") > 1.0:
        raise ValueError(f"ratio must be above 1, got {ratio}")
    steps = [1]

    def schedule(iteration: int) -> int:
        while steps[-1] <= iteration:
            steps.append(max(steps[-1] + 1, math.ceil(steps[-1] * ratio)))
        return steps[bisect(steps, iteration)]

    return schedule


@define(eq=False)
class At(Stateful):
    """Call a callback at the iterations of a schedule.

    The compiled engine plays the iterations between two calls without returning to Python.

    Parameters
    ----------
    schedule
        ``every(period)``, ``geometric(ratio)``, or a function that maps an iteration to the next
        one at which to call.
    callback
        A function of the run.

    Examples
    --------
    >>> from regretkit.games import matching_pennies
    >>> from regretkit.play import solve
    >>> seen = []
    >>> watch = At(every(10), lambda run: seen.append(run.iteration))
    >>> run = solve(matching_pennies(), iterations=30, callbacks=[watch])
    >>> seen
    [10, 20, 30]
    """

    schedule: Schedule = field(validator=is_callable())
    callback: Callback = field(validator=is_callable())

    def begin(self, run: Any) -> list[Callable[..., object]]:
        """Call ``begin`` of the callback."""
        return begin([self.callback], run)

    def __call__(self, run: Any) -> object:
        """Call the callback if the iteration is in the schedule."""
        due = self.schedule(run.iteration - 1) == run.iteration
        return self.callback(run) if due else None

    def next_call(self, run: Any) -> int:
        """Return the next iteration in the schedule."""
        return self.schedule(run.iteration)


# Stopping


@define(eq=False)
class StopAtGap(Stateful):
    """Stop once a gap of the average is at most ``target``.

    Parameters
    ----------
    target
        The largest gap at which to stop, positive, in the unit of ``gap``.
    gap
        A function of the game and the average; ``nash_conv`` by default.

    Attributes
    ----------
    last
        The last measured gap, None before the first call.

    Examples
    --------
    >>> from regretkit.games import kuhn_poker
    >>> from regretkit.play import solve
    >>> stop = At(every(10), StopAtGap(0.01))
    >>> run = solve(kuhn_poker(), "cfr+", iterations=10_000, callbacks=[stop])
    >>> run.iteration < 100
    True
    """

    target: float = field(validator=positive)
    gap: Callable[[Game, Profile], float] = field(default=nash_conv, validator=is_callable())
    last: float | None = field(default=None, init=False)

    def __call__(self, run: "SelfPlay") -> bool:
        """Measure the gap, and return whether to stop."""
        self.last = self.gap(run.game, run.average)
        return self.last <= self.target


@define(eq=False)
class StopAtTime(Stateful):
    """Stop once the iterations of a call of ``run`` have taken ``limit`` seconds.

    The time excludes callbacks. The run finishes the current iteration.

    Parameters
    ----------
    limit
        The number of seconds, positive.

    Examples
    --------
    >>> from regretkit.games import kuhn_poker
    >>> from regretkit.play import solve
    >>> run = solve(kuhn_poker(), "cfr", iterations=10**9, callbacks=[StopAtTime(0.01)])
    >>> 0.01 <= run.seconds < 5.0
    True
    """

    limit: float = field(validator=positive)
    _start: float = field(default=0.0, init=False, repr=False, metadata=NOT_STATE)

    def begin(self, run: Any) -> None:
        """Store the run's time before the first iteration."""
        self._start = run.seconds

    def __call__(self, run: Any) -> bool:
        """Return whether to stop."""
        return bool(run.seconds - self._start >= self.limit)

    def next_call(self, run: Any) -> int:
        """Return an iteration about 50 ms later."""
        return int(run.iteration + run.pace)


# Progress


@define(eq=False)
class Progress:
    """A callback that shows the iteration, the speed and the time left.

    ``write`` is a function of a line of text, called about once a second, or None for standard
    error. There, in terminals and notebooks, each line overwrites the last one.
    """

    write: Callable[[str], object] | None
    end: int | None
    """The planned last iteration."""
    limit: float | None
    """The time limit in seconds."""
    _written: float = field(default=-math.inf, init=False)
    _longest: int = field(default=0, init=False)

    def next_call(self, run: Any) -> int:
        return int(run.iteration + run.pace)

    def __call__(self, run: Any) -> None:
        stream = sys.stderr
        rewrites = stream.isatty() or type(stream).__module__.startswith("ipykernel")
        every = 1.0 if self.write else 0.2 if rewrites else 10.0
        if time.monotonic() - self._written < every:
            return
        self._written, text = time.monotonic(), self._text(run)
        if self.write is not None:
            self.write(text)
            return
        self._longest = max(self._longest, len(text)) if rewrites else 0
        stream.write(f"\r{text:<{self._longest}}" if rewrites else f"{text}\n")
        stream.flush()

    def _text(self, run: Any) -> str:
        rate = run.iteration / max(run.seconds, 1e-9)
        left = [] if self.end is None else [(self.end - run.iteration) / rate]
        left += [] if self.limit is None else [self.limit - run.seconds]
        of = "" if self.end is None else f" of {self.end:,}"
        shown = f"{rate:,.4g}/s" if rate < 1000 else f"{rate:,.0f}/s"
        seconds = math.ceil(max(min(left, default=0.0), 0.0))
        clock = f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02} left"
        facts = [f"iteration {run.iteration:,}{of}", shown, clock if left else "time left unknown"]
        return "  ".join(facts)

    def close(self) -> None:
        """End the line on standard error."""
        if self._longest:
            sys.stderr.write("\n")
            sys.stderr.flush()
