"""Callbacks: what watches a run, records it, or stops it."""

import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import TYPE_CHECKING, Any, TextIO, TypeAlias, TypeVar

import numpy as np
from attrs import Attribute, define, field

from regretkit._state import NOT_STATE, Stateful
from regretkit._util._validate import above_one, at_least_one, positive, quote
from regretkit.evaluation import nash_conv
from regretkit.games import Game, Profile
from regretkit.play._measures import StrategyChange

if TYPE_CHECKING:
    from regretkit.play._run import Run
    from regretkit.play._self_play import SelfPlay

Callback: TypeAlias = Callable[["SelfPlay"], object]
"""Sees a run after an iteration; a result that is ``True`` stops the run.

A method ``next_call(run)`` returns the next iteration at which it needs to be called; a callback
without one is called after every iteration. Calls in between, for other callbacks, must do no harm.
A method ``begin(run)`` is called once before iterations are played; the callbacks that it returns,
if any, are called after every iteration, before the others.
"""


Function = TypeVar("Function", bound=Callable[..., object])


def check_callable(_: object, attribute: "Attribute[Function]", value: Function) -> None:
    """Require something that can be called."""
    _require_callable(value, attribute.name)


def _require_callable(value: object, name: str) -> None:
    if isinstance(value, type):
        kind = value.__name__
        raise TypeError(f"{name} must be an object, got its class {kind}; pass {kind}(...)")
    if not callable(value):
        raise TypeError(f"{name} must be a function or something like one, got {quote(value)}")


def as_callbacks(callbacks: Iterable[Function]) -> list[Function]:
    """Return callbacks as a list, or refuse what came."""
    if not isinstance(callbacks, Iterable):
        raise TypeError(
            f"callbacks must be a sequence of functions, got {quote(callbacks)}; "
            "for a single one pass callbacks=[callback]"
        )
    watching = list(callbacks)
    for number, callback in enumerate(watching):
        _require_callable(callback, f"callbacks[{number}]")
    return watching


def begin(callbacks: Iterable[Callable[..., object]], run: Any) -> list[Callback]:
    """Call the method ``begin`` of those that have one; return what is to watch every iteration."""
    prepared = [getattr(callback, "begin", None) for callback in callbacks]
    watching = [prepare(run) or () for prepare in prepared if prepare is not None]
    return list({id(watcher): watcher for watcher in chain.from_iterable(watching)}.values())


def next_call(run: "Run", callbacks: Iterable[Callable[..., object]], end: int) -> int:
    """Return the next iteration at which a callback is due, ``end`` at the latest."""
    following = run.iteration + 1
    for callback in callbacks:
        asked = getattr(callback, "next_call", None)
        end = min(end, following if asked is None else max(int(asked(run)), following))
    return end


def stopped(run: "Run", callbacks: Iterable[Callable[..., object]]) -> bool:
    """Call all callbacks, without short-circuiting, and return whether one stops the run."""
    said = [callback(run) for callback in callbacks]
    return any(isinstance(word, bool | np.bool_) and word for word in said)


@define(eq=False)
class Every(Stateful):
    """Call another callback at regular intervals of iterations.

    Parameters
    ----------
    period
        Number of iterations between two calls, at least 1.
    callback
        What to call.

    Raises
    ------
    TypeError, ValueError
        When ``period`` is not a whole number, at least 1, or ``callback`` cannot be called.

    Examples
    --------
    >>> from regretkit.games import matching_pennies
    >>> from regretkit.play import solve
    >>> seen = []
    >>> watch = Every(10, lambda run: seen.append(run.iteration))
    >>> run = solve(matching_pennies(), iterations=30, callbacks=[watch])
    >>> seen
    [10, 20, 30]
    """

    period: int = field(validator=at_least_one)
    callback: Callback = field(validator=check_callable)

    def begin(self, run: "SelfPlay") -> list[Callback]:
        """Let the other callback begin."""
        return begin([self.callback], run)

    def __call__(self, run: "SelfPlay") -> object:
        """Pass the call on when it is time."""
        return self.callback(run) if run.iteration % self.period == 0 else None

    def next_call(self, run: "SelfPlay") -> int:
        """Return the next iteration at which it passes a call on."""
        return (run.iteration // self.period + 1) * self.period


@define(eq=False)
class AtGeometricSteps(Stateful):
    """Call another callback at iterations that grow by a ratio, as 1, 2, 4, 8, ... do by 2.

    What it costs per iteration falls over the run, and what it records is evenly spread
    over a logarithmic axis. The iterations are the same in every run, wherever it is first called:
    1, and after t the next one that is at least t times the ratio.

    Parameters
    ----------
    callback
        What to call.
    ratio
        Smallest ratio of two iterations at which it is called, above 1.

    Raises
    ------
    TypeError, ValueError
        When ``callback`` cannot be called, or ``ratio`` is not a finite number above 1.

    Examples
    --------
    >>> from regretkit.games import matching_pennies
    >>> from regretkit.play import solve
    >>> seen = []
    >>> watch = AtGeometricSteps(lambda run: seen.append(run.iteration), ratio=2.0)
    >>> run = solve(matching_pennies(), iterations=30, callbacks=[watch])
    >>> seen
    [1, 2, 4, 8, 16]
    """

    callback: Callback = field(validator=check_callable)
    ratio: float = field(default=1.1, kw_only=True, validator=above_one)
    _at: int = field(default=1, init=False, repr=False, metadata=NOT_STATE)
    """One of these iterations; where the search for others begins."""

    def begin(self, run: "SelfPlay") -> list[Callback]:
        """Let the other callback begin."""
        return begin([self.callback], run)

    def __call__(self, run: "SelfPlay") -> object:
        """Pass the call on when it is time."""
        return self.callback(run) if self._first_from(run.iteration) == run.iteration else None

    def next_call(self, run: "SelfPlay") -> int:
        """Return the next iteration at which it passes a call on."""
        return self._first_from(run.iteration + 1)

    def _first_from(self, iteration: int) -> int:
        """Return the first of the iterations that is no earlier than this one."""
        iteration_at = self._at if self._at <= iteration else 1
        while iteration_at < iteration:
            self._at = iteration_at
            iteration_at = max(iteration_at + 1, math.ceil(iteration_at * self.ratio))
        return iteration_at


@define(eq=False)
class StopAtGap(Stateful):
    """Stop once a gap of the average is small enough.

    Parameters
    ----------
    target
        The gap at which to stop, positive, in the unit of the gap.
    gap
        Called with the game and the average; ``nash_conv`` by default, the sum over players.

    Attributes
    ----------
    last
        The gap when it was last measured, None before.

    Raises
    ------
    TypeError, ValueError
        When ``target`` is not a finite number above zero, or ``gap`` cannot be called.

    Examples
    --------
    >>> from regretkit.games import kuhn_poker
    >>> from regretkit.play import solve
    >>> run = solve(kuhn_poker(), "cfr+", iterations=10_000, callbacks=[Every(10, StopAtGap(0.01))])
    >>> run.iteration < 100
    True
    """

    target: float = field(validator=positive)
    gap: Callable[[Game, Profile], float] = field(default=nash_conv, validator=check_callable)
    last: float | None = field(default=None, init=False)

    def __call__(self, run: "SelfPlay") -> bool:
        """Measure the gap, and say whether to stop."""
        self.last = self.gap(run.game, run.average)
        return self.last <= self.target


@define(eq=False)
class StopAtTime(Stateful):
    """Stop after some seconds of play.

    They are those of iterations, without callbacks, since ``run.run`` was called. An iteration is
    never left half-way.

    Parameters
    ----------
    limit
        The seconds, positive.

    Raises
    ------
    TypeError, ValueError
        When ``limit`` is not a finite number above zero.

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

    def begin(self, run: "Run") -> None:
        """Note the time before the first iteration."""
        self._start = run.seconds

    def __call__(self, run: "Run") -> bool:
        """Say whether to stop."""
        return run.seconds - self._start >= self.limit

    def next_call(self, run: "Run") -> int:
        """Return the next iteration at which to read the clock."""
        return run.iteration + run.pace


@define(eq=False)
class StopWhenConverged(Stateful):
    """Stop once no coordinate of the average moved further than a tolerance since the last call.

    An average of t iterations moves by one over t at most, so it grows still in any case: use it
    with ``Every``, and measure the gap of what comes out. Play that starts at an equilibrium
    by chance, as uniform play is in many matrix games, never moves at all. In another run, or one
    that was put back, it begins anew.

    Parameters
    ----------
    atol
        Largest change of a coordinate, positive, a probability.
    current
        Watch the current strategies instead of the average.

    Raises
    ------
    TypeError, ValueError
        When ``atol`` is not a finite number above zero.

    Examples
    --------
    >>> from regretkit.games import kuhn_poker
    >>> from regretkit.play import solve
    >>> still = Every(100, StopWhenConverged(atol=1e-3))
    >>> run = solve(kuhn_poker(), "cfr+", iterations=100_000, callbacks=[still])
    >>> run.iteration < 10_000
    True
    """

    atol: float = field(validator=positive, kw_only=True)
    current: bool = field(default=False, kw_only=True)
    _change: StrategyChange = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        self._change = StrategyChange(current=self.current)

    def __call__(self, run: "SelfPlay") -> bool:
        """Compare with the last call, and say whether to stop."""
        change = self._change(run)
        return change is not None and change <= self.atol


def clock(seconds: float) -> str:
    """Return a time as hours, minutes and seconds."""
    whole = math.ceil(seconds)
    hours, minutes = whole // 3600, whole // 60 % 60
    return f"{hours // 24} days" if hours >= 48 else f"{hours}:{minutes:02}:{whole % 60:02}"


def facts(
    iteration: int, rate: float, maximum: int | None, gaps: Sequence[float], left: float | None
) -> list[str]:
    """Return what progress shows: iterations, their rate, the last gap and the time left."""
    return [
        f"iteration {iteration:,}{'' if maximum is None else f' of {maximum:,}'}",
        f"{rate:,.4g}/s" if rate < 1000 else f"{rate:,.0f}/s",
        *(f"gap {gap:.2e}" for gap in gaps[-1:]),
        "time left unknown" if left is None else f"{clock(left)} left",
    ]


@define(eq=False)
class _Progress(Stateful):
    """A callback that hands on a line of text from time to time."""

    write: Callable[[str], object] = field(metadata=NOT_STATE)
    iterations: int | None
    seconds: float | None
    every: float
    """Seconds between two lines."""
    _written: float = field(default=-math.inf, init=False, metadata=NOT_STATE)

    def next_call(self, run: Any) -> int:
        return int(run.iteration + run.pace)

    def __call__(self, run: Any) -> None:
        seconds = time.monotonic()
        if seconds - self._written < self.every:
            return
        self._written = seconds
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
    else:
        line = _Line(sys.stderr)
        try:
            yield [_Progress(line.write, iterations, seconds, every=0.2 if line.rewrites else 10.0)]
        finally:
            line.end()


class _Line:
    """A line of a stream, written over and over at a terminal and in a notebook."""

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._longest = stream, 0
        self.rewrites = stream.isatty() or type(stream).__module__.startswith("ipykernel")

    def write(self, text: str) -> None:
        self._longest = max(self._longest, len(text))
        self._stream.write(f"\r{text:<{self._longest}}" if self.rewrites else f"{text}\n")
        self._stream.flush()

    def end(self) -> None:
        if self._longest and self.rewrites:
            self._stream.write("\n")
            self._stream.flush()
