"""A run of the command line: its limits, its progress, its checkpoints, and how its gap fell."""

import math
import os
import sys
import time
from collections.abc import Mapping
from contextlib import redirect_stdout
from itertools import chain
from pathlib import Path
from typing import Any, final

from attrs import define, field, frozen
from click import ClickException
from typing_extensions import override

from regretkit._util._state import NOT_STATE, Stateful
from regretkit._util._validate import quote
from regretkit.cli._algorithms import Choice, rule_error
from regretkit.cli._arguments import NamedGame, Settings, names_file
from regretkit.cli._console import (
    DONE,
    SHORT_OF_GAP,
    Failure,
    Progress,
    Refusal,
    failing,
    progress,
    reason,
    refusing,
    say,
)
from regretkit.cli._interrupt import StopRequest
from regretkit.evaluation import nash_conv
from regretkit.games import Profile
from regretkit.play import AtGeometricSteps, Checkpoint, SelfPlay

_PERIOD = 0.05
"""Seconds between two calls, about."""

_RATIO, _RATIO_TO_GAP = 1.25, 1.05
"""By how much iterations grow from one measurement to the next; the second is that of `solve`."""


@final
@define(eq=False)
class RunMonitor(Stateful):
    """A callback that measures the gap now and then, stops a run at its limits, and shows progress.

    It is saved in every checkpoint, so that the file is all that is needed to resume a run.
    """

    game: str = field(init=False, default="")
    algorithm: str | None = field(init=False, default=None)
    rule: str | None = field(init=False, default=None)
    sample: str | None = field(init=False, default=None)
    iterations_limit: int | None = field(init=False, default=None)
    """Iterations after which to stop, counted from the first."""
    gap_limit: float | None = field(init=False, default=None)
    time_limit: float | None = field(init=False, default=None)
    """Seconds of play after which to stop, counted from the first iteration."""
    played: float = field(init=False, default=0.0)
    """Seconds of play so far, without measurements."""
    iterations: list[int] = field(init=False, factory=list)
    times: list[float] = field(init=False, factory=list)
    gaps: list[float] = field(init=False, factory=list)
    named: NamedGame = field(init=False, metadata=NOT_STATE)
    choice: Choice = field(init=False, metadata=NOT_STATE)
    request: StopRequest = field(init=False, metadata=NOT_STATE)
    progress: Progress = field(init=False, metadata=NOT_STATE)
    code: int = field(init=False, default=DONE, metadata=NOT_STATE)
    """The exit code of the run."""
    _start: tuple[float, int] = field(init=False, metadata=NOT_STATE)
    """Seconds and iterations before the run was started or resumed."""
    _clock: float = field(init=False, default=0.0, metadata=NOT_STATE)
    _last: int = field(init=False, default=0, metadata=NOT_STATE)
    """The seconds and the iteration of the last call."""
    _step: int = field(init=False, default=1, metadata=NOT_STATE)
    """Iterations until the next call."""

    @classmethod
    def of(cls, game: NamedGame, choice: Choice, settings: Settings) -> "RunMonitor":
        """Return the monitor of a new run."""
        monitor = cls()
        monitor.describe(game, choice, settings.sample)
        monitor.limit(settings)
        return monitor

    def describe(self, game: NamedGame, choice: Choice, sample: str | None) -> None:
        """Note what is played; the text names the same game from any folder."""
        text = game.text
        self.named, self.choice = game, choice
        self.game = os.path.abspath(text) if names_file(text) else text  # noqa: PTH100 # keeps links
        self.algorithm, self.rule, self.sample = choice.name, choice.rule, sample

    def limit(self, settings: Settings) -> None:
        """Stop at these limits."""
        self.iterations_limit, self.gap_limit = settings.iterations, settings.gap
        self.time_limit = settings.seconds

    @override
    def _check_state(self, state: Mapping[str, Any]) -> None:
        columns = [[*state[name].values()] for name in ("iterations", "times", "gaps")]
        most, limits = state["iterations_limit"], (state["gap_limit"], state["time_limit"])
        texts = [state[name] for name in ("algorithm", "rule", "sample")]
        numbers = chain([state["played"]], *columns, filter(None, [most, *limits]))
        if not (
            len(set(map(len, columns))) == 1
            and all(text is None or isinstance(text, str) for text in texts)
            and all(type(x) in (int, float) and -math.inf < x < 2**62 for x in numbers)
            and (most is None or type(most) is int)
        ):
            raise ValueError("the state of the command line is not one that it writes")

    # While the run plays

    def begin(self, run: SelfPlay) -> None:
        """Start the clock."""
        self._start, self._last = (self.played, run.iteration), run.iteration
        self._clock = time.monotonic()

    @property
    def _measurements(self) -> AtGeometricSteps:
        ratio = _RATIO if self.gap_limit is None else _RATIO_TO_GAP
        return AtGeometricSteps(self.measure, ratio=ratio)

    def next_call(self, run: SelfPlay) -> int:
        """Return the next iteration at which to read the clock, or to measure."""
        return min(self._measurements.next_call(run), run.iteration + self._step)

    def __call__(self, run: SelfPlay) -> bool:
        """Read the clock, measure if due, show progress, and return whether to stop."""
        seconds = max(time.monotonic() - self._clock, 1e-9)
        count, self._last = run.iteration - self._last, run.iteration
        self.played += seconds
        self._step = max(1, int(count * min(_PERIOD / seconds, 8.0)))
        self._measurements(run)
        self._show_progress(run.iteration)
        self._clock = time.monotonic()
        return self.request.requested() or self.is_over(run)

    def measure(self, run: SelfPlay) -> None:
        """Measure the gap, unless it was measured at this iteration."""
        if self.iterations[-1:] != [run.iteration]:
            self.gaps.append(nash_conv(run.game, self.average(run)))
            self.iterations.append(run.iteration)
            self.times.append(self.played)

    def _show_progress(self, iteration: int) -> None:
        seconds, first = self._start
        rate = (iteration - first) / max(self.played - seconds, 1e-9)
        left = self._seconds_left(iteration, rate)
        most = "" if self.iterations_limit is None else f" of {self.iterations_limit:,}"
        facts = [
            f"iteration {iteration:,}{most}",
            f"{rate:,.4g}/s" if rate < 1000 else f"{rate:,.0f}/s",
            *(f"gap {gap:.2e}" for gap in self.gaps[-1:]),
            f"{clock(left)} left" if left < math.inf else "time left unknown",
        ]
        self.progress(facts, self.played, left if left < math.inf else None)

    def _seconds_left(self, iteration: int, rate: float) -> float:
        """Return the seconds until the first of the limits is reached, infinity if unknown."""
        left = [math.inf]
        if self.iterations_limit is not None:
            left.append((self.iterations_limit - iteration) / rate)
        if self.gap_limit is not None:
            needed = iterations_to(self.gap_limit, self.iterations, self.gaps)
            left.append((needed - iteration) / rate)
        if self.time_limit is not None:
            left.append(self.time_limit - self.played)
        return max(min(left), 0.0)

    def is_over(self, run: SelfPlay) -> bool:
        """Return whether a limit has been reached."""
        most, seconds = self.iterations_limit, self.time_limit
        return (
            (most is not None and run.iteration >= most)
            or (seconds is not None and self.played >= seconds)
            or self.reached_gap
        )

    # Afterwards

    @property
    def reached_gap(self) -> bool:
        """Whether there is a limit of the gap, and the last gap is no larger."""
        return self.gap_limit is not None and self.gap is not None and self.gap <= self.gap_limit

    @property
    def gap(self) -> float | None:
        """The gap when it was measured last."""
        return self.gaps[-1] if self.gaps else None

    @property
    def curve(self) -> dict[str, list[Any]]:
        """How the gap fell."""
        return {"iteration": self.iterations, "seconds": self.times, "gap": self.gaps}

    @property
    def interrupted(self) -> bool:
        """Whether the user stopped the run."""
        return self.code not in (DONE, SHORT_OF_GAP)

    @property
    def stopped_by(self) -> str:
        """Which limit ended the run, now or before it was resumed, or an interrupt."""
        if self.interrupted:
            return "interrupt"
        if self.reached_gap:
            return "gap"
        over = self.time_limit is not None and self.played >= self.time_limit
        return "time" if over else "iterations"

    def average(self, run: SelfPlay) -> Profile:
        """Return the average strategies, coarsened in a game of imperfect recall."""
        return self.named.coarsen(run.average)

    @property
    def label(self) -> str:
        """The name of the algorithm in reports."""
        sampling = f", {self.sample} sampling" if self.sample else ""
        return f"{self.choice.label}{sampling}"


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


def play(
    run: SelfPlay, monitor: RunMonitor, settings: Settings, request: StopRequest, title: str = ""
) -> None:
    """Play until a limit is reached or the user requests a stop, and save the run at the end."""
    before, path, saver = run.iteration, settings.checkpoint, None
    new = path is not None and not path.exists()
    if path is not None:
        if new:  # a run that cannot be saved is refused now, and not in an hour
            _save(run, monitor, path)
        saver = Checkpoint(path, seconds=settings.every, callbacks=[monitor])
    monitor.request = request
    try:
        with progress(title, quiet=settings.quiet) as monitor.progress:
            if not monitor.is_over(run):
                _run(run, monitor, saver)
    except ClickException:
        if new and path is not None and run.iteration == before:
            path.unlink(missing_ok=True)
        raise
    if run.iteration == before:
        say(
            "nothing is left to play: a limit was reached before; to continue, pass more "
            "--iterations or --time, or a smaller --gap"
        )
    elif path is not None and saver is not None and saver.iteration != run.iteration:
        _save(run, monitor, path)
    stopped = request.code is not None and not monitor.is_over(run)
    if run.iteration:
        monitor.measure(run)
    short = monitor.gap_limit is not None and not monitor.reached_gap
    monitor.code = (stopped and request.code) or (SHORT_OF_GAP if short else DONE)


def _save(run: SelfPlay, monitor: RunMonitor, path: Path) -> None:
    with refusing("--checkpoint"), failing(f"--checkpoint: cannot write {quote(str(path))}"):
        run.save(path, callbacks=[monitor])


@frozen
class _Saver:
    """A callback that saves, and whose errors are told from those of the run."""

    checkpoint: Checkpoint

    def next_call(self, run: SelfPlay) -> int:
        return self.checkpoint.next_call(run)

    def __call__(self, run: SelfPlay) -> bool:
        with failing(f"--checkpoint: cannot write {quote(str(self.checkpoint.path))}"):
            return self.checkpoint(run)


def _run(run: SelfPlay, monitor: RunMonitor, checkpoint: Checkpoint | None) -> None:
    """Play to the end, and refuse or report what fails."""
    limit = monitor.iterations_limit
    iterations = 2**62 if limit is None else limit - run.iteration
    try:
        with redirect_stdout(sys.stderr):  # rules may print, and standard output is for results
            run._prepare(iterations)  # compiles, so that the first iteration is no slower
            monitor.begin(run)
            run.run(iterations, callbacks=[monitor if checkpoint is None else _Saver(checkpoint)])
    except ClickException:
        raise
    except (Exception, SystemExit, KeyboardInterrupt) as error:
        saved, iteration = "", run.iteration + 1
        if checkpoint is not None and checkpoint.iteration is not None:
            saved = f"; the checkpoint holds iteration {checkpoint.iteration}"
        if isinstance(error, KeyboardInterrupt):
            say(f"ended within iteration {iteration}{saved}")
            raise
        cause = error.__cause__ if isinstance(error, RuntimeError) and error.__cause__ else error
        if monitor.rule is None and isinstance(cause, TypeError | ValueError):
            option = "--algorithm" if monitor.sample is None else "--sample"
            raise Refusal(f"{option}: {reason(cause)}") from error
        name = monitor.rule or monitor.algorithm or "the algorithm"
        raise Failure(f"iteration {iteration}: {rule_error(cause, name)}{saved}") from error
