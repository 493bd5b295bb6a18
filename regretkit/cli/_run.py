"""A run of the command line: its limits, its progress, its checkpoints, and how its gap fell."""

import math
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from functools import partial
from itertools import chain
from typing import Any, Self, TypeAlias, cast, final

from attrs import define, field, frozen
from click import ClickException
from typing_extensions import override

from regretkit._util._state import NOT_STATE, Stateful
from regretkit._util._validate import quote
from regretkit.cli._algorithms import Choice
from regretkit.cli._arguments import AnyNamed, NamedRules, Settings, names_file
from regretkit.cli._console import (
    DONE,
    IN_FULL,
    SHORT_OF_GAP,
    Failure,
    Progress,
    Refusal,
    compiling_shown,
    progress,
    reason,
    reporting,
    say,
)
from regretkit.cli._interrupt import INTERRUPTED, StopRequest
from regretkit.evaluation import nash_conv
from regretkit.play import AtGeometricSteps, Checkpoint, LazyMCCFR, Recorder, SelfPlay
from regretkit.play._callbacks import Callback, Pace
from regretkit.play._comparison import RATIO, RATIO_TO_GAP
from regretkit.play._measures import GAPS
from regretkit.play._progress import facts
from regretkit.workbench._expressions import rule_error

Run: TypeAlias = SelfPlay | LazyMCCFR


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
    gap_limit: float | None = field(init=False, default=None)
    time_limit: float | None = field(init=False, default=None)
    """Limits count from the first iteration, and seconds without measurements."""
    played: float = field(init=False, default=0.0)
    """Seconds of play so far."""
    iterations: list[int] = field(init=False, factory=list)
    times: list[float] = field(init=False, factory=list)
    gaps: list[float] = field(init=False, factory=list)
    measured: str = field(init=False, default="")
    """The names of further gaps, with spaces between them,"""
    record: Recorder = field(init=False, factory=partial(Recorder, ()))
    """and what they were."""
    named: AnyNamed = field(init=False, metadata=NOT_STATE)
    choice: Choice = field(init=False, metadata=NOT_STATE)
    request: StopRequest = field(init=False, metadata=NOT_STATE)
    progress: Progress = field(init=False, metadata=NOT_STATE)
    stopped_by: str = field(init=False, default="", metadata=NOT_STATE)
    """Which limit ended the run, now or before it was resumed, or an interrupt."""
    code: int = field(init=False, default=DONE, metadata=NOT_STATE)
    _start: tuple[float, int] = field(init=False, metadata=NOT_STATE)
    """Seconds and iterations before the run was started or resumed."""
    _pace: Pace = field(init=False, factory=Pace, metadata=NOT_STATE)

    def describe(self, game: AnyNamed, choice: Choice, settings: Settings) -> Self:
        """Note what is played, and when to stop; the text names the same game from any folder."""
        text = game.text
        self.named, self.choice = game, choice
        self.game = os.path.abspath(text) if names_file(text) else text  # noqa: PTH100 # keeps links
        self.algorithm, self.rule, self.sample = choice.name, choice.rule, choice.algorithm.sampling
        self.iterations_limit, self.gap_limit = settings.iterations, settings.gap
        self.time_limit = settings.seconds
        return self.measuring(settings.measure) if settings.measure else self

    def measuring(self, names: Iterable[str]) -> Self:
        """Measure further gaps, of those that there are."""
        known = dict.fromkeys(name for name in names if name in GAPS)
        self.measured, self.record = " ".join(known), Recorder([*known])
        return self

    @override
    def _check_state(self, state: Mapping[str, Any]) -> None:
        columns = [[*state[name].values()] for name in ("iterations", "times", "gaps")]
        most = state["iterations_limit"]
        given = (most, state["gap_limit"], state["time_limit"])
        limits = [limit for limit in given if limit is not None]
        texts = [state[name] for name in ("algorithm", "rule", "sample")]
        numbers = chain([state["played"]], *columns, limits)
        if not (
            len(set(map(len, columns))) == 1
            and all(text is None or isinstance(text, str) for text in texts)
            and all(type(x) in (int, float) and -math.inf < x < 2**62 for x in numbers)
            and (most is None or type(most) is int)
            and all(limit > 0 for limit in limits)
        ):
            raise ValueError("the state of the command line is not one that it writes")

    def begin(self, run: Any) -> list[Callback]:
        """Start the clock; return what watches every iteration."""
        self._start = self.played - run.seconds, run.iteration
        self._pace(run)
        with reporting("--measure"):
            return self.record.begin(run)

    @property
    def _measurements(self) -> AtGeometricSteps:
        ratio = RATIO if self.gap_limit is None else RATIO_TO_GAP
        return AtGeometricSteps(self.measure, ratio=ratio)

    def next_call(self, run: Any) -> int:
        """Return the next iteration at which to read the clock, or to measure."""
        return min(self._measurements.next_call(run), self._pace.next_call(run))

    def __call__(self, run: Any) -> bool:
        """Read the clock, measure if due, show progress, and return whether to stop."""
        self._pace(run)
        self.played = self._start[0] + run.seconds
        self._measurements(run)
        self._show_progress(run.iteration)
        return self.request.requested() or bool(self.reached(run))

    def measure(self, run: Any) -> None:
        """Measure the gap, unless it was measured at this iteration, or there is no tree."""
        if isinstance(self.named, NamedRules):
            return  # no gap is known
        if self.iterations[-1:] != [run.iteration]:
            self.gaps.append(nash_conv(self.named.played, self.named.coarsen(run.average)))
            self.iterations.append(run.iteration)
            self.times.append(self.played)
            with reporting("--measure"):
                self.record(run)

    def reached(self, run: Run) -> str:
        """Return which limit has been reached, nothing if none has."""
        if self.gaps and self.gaps[-1] <= (self.gap_limit or -math.inf):
            return "gap"
        if self.played >= (self.time_limit or math.inf):
            return "time"
        return "iterations" if run.iteration >= (self.iterations_limit or math.inf) else ""

    def _show_progress(self, iteration: int) -> None:
        seconds, first = self._start
        rate = (iteration - first) / max(self.played - seconds, 1e-9)
        most = self.iterations_limit
        needed = min(most or math.inf, iterations_to(self.gap_limit, self.iterations, self.gaps))
        remaining = min((needed - iteration) / rate, (self.time_limit or math.inf) - self.played)
        left = max(remaining, 0.0) if remaining < math.inf else None
        self.progress(facts(iteration, rate, most, self.gaps, left), self.played, left)

    def finish(self, run: Run) -> None:
        """Measure the last gap, and find out why the run ended."""
        interrupted = not self.reached(run)
        if run.iteration:
            self.measure(run)
        self.stopped_by = "interrupt" if interrupted else self.reached(run)
        if interrupted:
            self.code = self.request.code or INTERRUPTED
        elif self.gap_limit is not None and self.stopped_by != "gap":
            self.code = SHORT_OF_GAP

    @property
    def interrupted(self) -> bool:
        """Whether the user stopped the run."""
        return self.stopped_by == "interrupt"

    @property
    def curve(self) -> dict[str, list[Any]]:
        """How the gap fell, and others."""
        times: dict[str, list[Any]] = {"iteration": self.iterations, "seconds": self.times}
        return times | {"gap": self.gaps} | self.record.values


def iterations_to(target: float | None, iterations: list[int], gaps: list[float]) -> float:
    """Estimate when a gap will be reached, if it continues to fall by the same power of time.

    The power is that of the last half of the measurements; infinity if the gap did not fall, or
    without a target.
    """
    middle = len(gaps) // 2
    if target is None or len(gaps) < 8 or not 0.0 < gaps[-1] < gaps[middle]:
        return math.inf
    power = math.log(gaps[middle] / gaps[-1]) / math.log(iterations[-1] / iterations[middle])
    exponent = math.log(gaps[-1] / target) / power
    return math.inf if exponent > 60.0 else iterations[-1] * math.exp(exponent)


def play(
    run: Run, monitor: RunMonitor, settings: Settings, request: StopRequest, title: str = ""
) -> None:
    """Play until a limit is reached or the user requests a stop; the checkpoint saves the end."""
    iterations_before, path, saver = run.iteration, settings.checkpoint, None
    new = path is not None and not path.exists()
    monitor.request = request
    with reporting("--measure"):
        monitor.record.begin(cast("Any", run))
    if iterations_before and monitor.gap_limit is not None:
        monitor.measure(run)  # the last gap in the file may be of an earlier iteration
    if path is not None:
        if new:  # a run that cannot be saved is refused now, and not in an hour
            with _saving(path):
                run.save(path, callbacks=[monitor])
        saver = Checkpoint(path, seconds=settings.checkpoint_every, callbacks=[monitor])
    try:
        with progress(title, quiet=settings.quiet) as monitor.progress:
            if not monitor.reached(run):
                _run(run, monitor, saver)
    except ClickException:
        if path is not None and new and run.iteration == iterations_before:
            path.unlink(missing_ok=True)
        raise
    if run.iteration == iterations_before:
        say(
            "nothing is left to play: a limit was reached before; to continue, pass more "
            "--iterations or --time, or a smaller --gap"
        )
    monitor.finish(run)


@contextmanager
def _saving(path: object) -> Iterator[None]:
    with reporting("--checkpoint"):
        try:
            yield
        except OSError as error:
            told = f"--checkpoint: cannot write {quote(str(path))}: {reason(error)}"
            raise Failure(told) from error


@frozen
class _Saver:
    """A callback that saves, and whose errors are told from those of the run."""

    checkpoint: Checkpoint

    def begin(self, run: Any) -> list[Callback]:
        return self.checkpoint.begin(run)

    def next_call(self, run: Any) -> int:
        return self.checkpoint.next_call(run)

    def __call__(self, run: Any) -> bool:
        with _saving(self.checkpoint.path):
            return self.checkpoint(run)


def _run(run: Run, monitor: RunMonitor, checkpoint: Checkpoint | None) -> None:
    """Play to the end, and refuse or report what fails."""
    limit = monitor.iterations_limit
    iterations = 2**62 if limit is None else limit - run.iteration
    try:
        with redirect_stdout(sys.stderr):  # rules may print, and standard output is for results
            with monitor.request.raising(), compiling_shown(monitor.progress):
                if isinstance(run, SelfPlay):
                    run._prepare(iterations)  # compiles, so that the first iteration is no slower
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
        # Without a tree, rules are built when they are first needed.
        building = monitor.rule is None or (isinstance(run, LazyMCCFR) and not run.iteration)
        if building and isinstance(cause, TypeError | ValueError):
            option = "--algorithm" if monitor.sample is None else "--sample"
            option = option if monitor.rule is None else monitor.choice.argument
            raise Refusal(f"{option}: {reason(cause)}") from error
        name = monitor.rule or monitor.algorithm or "the algorithm"
        raise Failure(
            f"iteration {iteration}: {rule_error(cause, name)}{IN_FULL}{saved}"
        ) from error
