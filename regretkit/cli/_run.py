"""A run of the command line: its limits, its progress, its checkpoints, and its report."""

import io
import math
import os
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Self, TypeAlias, cast

from attrs import define, field
from click import ClickException

from regretkit._state import NOT_STATE, Stateful
from regretkit._util._files import replace_file
from regretkit._util._validate import quote
from regretkit.cli import _console as console
from regretkit.cli._arguments import Choice, NamedGame, Settings, is_known, names_file
from regretkit.cli._console import Failure, Refusal, answer, progress, reason, reporting, say, table
from regretkit.display._style import number, numbers
from regretkit.evaluation import nash_conv
from regretkit.games import History, Profile, VisitedProfile, fingerprint
from regretkit.play import AtGeometricSteps, Checkpoint, Comparison, LazyMCCFR, Recorder, SelfPlay
from regretkit.play._callbacks import Callback, Pace, clock, facts
from regretkit.play._checkpoint import CheckpointError
from regretkit.play._comparison import RATIO, RATIO_TO_GAP
from regretkit.play._measures import GAPS
from regretkit.play._self_play import EVER
from regretkit.sets import DecisionTree
from regretkit.workbench._names import located

Run: TypeAlias = SelfPlay | LazyMCCFR


@define
class Told:
    """What a command has to tell: facts for JSON, and lines."""

    facts: dict[str, Any]
    lines: list[str]

    def tell(self, *lines: str, **facts: Any) -> None:
        """Add lines and facts."""
        self.lines += lines
        self.facts |= facts

    def answer(self) -> int:
        """Write them on standard output, and return the exit code."""
        return answer(self.facts, self.lines)


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
    named: NamedGame = field(init=False, metadata=NOT_STATE)
    choice: Choice = field(init=False, metadata=NOT_STATE)
    request: console.StopRequest = field(init=False, metadata=NOT_STATE)
    progress: console.Progress = field(init=False, metadata=NOT_STATE)
    stopped_by: str = field(init=False, default="", metadata=NOT_STATE)
    """Which limit ended the run, now or before it was resumed, or an interrupt."""
    code: int = field(init=False, default=console.DONE, metadata=NOT_STATE)
    _start: tuple[float, int] = field(init=False, metadata=NOT_STATE)
    """Seconds and iterations before the run was started or resumed."""
    _pace: Pace = field(init=False, factory=Pace, metadata=NOT_STATE)

    def describe(self, game: NamedGame, choice: Choice, settings: Settings) -> Self:
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

    def _check_state(self, state: Mapping[str, Any]) -> None:
        columns = [[*state[name].values()] for name in ("iterations", "times", "gaps")]
        maximum = state["iterations_limit"]
        given = (maximum, state["gap_limit"], state["time_limit"])
        limits = [limit for limit in given if limit is not None]
        texts = [state[name] for name in ("algorithm", "rule", "sample")]
        numbers = chain([state["played"]], *columns, limits)
        if not (
            len(set(map(len, columns))) == 1
            and all(text is None or isinstance(text, str) for text in texts)
            and all(type(x) in (int, float) and -math.inf < x < 2**62 for x in numbers)
            and (maximum is None or type(maximum) is int)
            and all(limit > 0 for limit in limits)
        ):
            raise ValueError("the state of the command line is not one that it writes")

    def begin(self, run: Any) -> list[Callback]:
        """Start the clock; return what watches every iteration."""
        self._start = self.played - run.seconds, run.iteration
        self._pace(run)
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
        if self.named.by_rules:
            return  # no gap is known
        if self.iterations[-1:] != [run.iteration]:
            self.gaps.append(nash_conv(self.named.played, self.named.coarsen(run.average)))
            self.iterations.append(run.iteration)
            self.times.append(self.played)
            with reporting("--measure"):
                self.record(run)

    def _time_limit(self) -> float:
        return self.time_limit or math.inf

    def reached(self, run: Run) -> str:
        """Return which limit has been reached, nothing if none has."""
        if self.gaps and self.gaps[-1] <= (self.gap_limit or -math.inf):
            return "gap"
        if self.played >= self._time_limit():
            return "time"
        return "iterations" if run.iteration >= (self.iterations_limit or math.inf) else ""

    def _show_progress(self, iteration: int) -> None:
        seconds, first = self._start
        rate = (iteration - first) / max(self.played - seconds, 1e-9)
        maximum = self.iterations_limit
        needed = min(maximum or math.inf, iterations_to(self.gap_limit, self.iterations, self.gaps))
        remaining = min((needed - iteration) / rate, self._time_limit() - self.played)
        left = max(remaining, 0.0) if remaining < math.inf else None
        self.progress(facts(iteration, rate, maximum, self.gaps, left), self.played, left)

    def finish(self, run: Run) -> None:
        """Measure the last gap, and find out why the run ended."""
        interrupted = not self.reached(run)
        if run.iteration:
            self.measure(run)
        self.stopped_by = "interrupt" if interrupted else self.reached(run)
        if interrupted:
            self.code = self.request.code or console.INTERRUPTED
        elif self.gap_limit is not None and self.stopped_by != "gap":
            self.code = console.SHORT_OF_GAP

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
    run: Run, monitor: RunMonitor, settings: Settings, request: console.StopRequest, title: str = ""
) -> None:
    """Play until a limit is reached or the user requests a stop; the checkpoint saves the end."""
    before, path, saver = run.iteration, settings.checkpoint, None
    new = path is not None and not path.exists()
    monitor.request = request
    with reporting("--measure"):
        monitor.record.begin(cast("Any", run))
    if before and monitor.gap_limit is not None:
        monitor.measure(run)  # the last gap in the file may be of an earlier iteration
    if path is not None:
        if new:  # a run that cannot be saved is refused now, and not in an hour
            with _saving(path):
                run.save(path, callbacks=[monitor])
        saver = Checkpoint(path, seconds=settings.checkpoint_every, callbacks=[monitor])
    try:
        with progress(title) as monitor.progress:
            if not monitor.reached(run):
                _run(run, monitor, saver)
    except ClickException:
        if path is not None and new and run.iteration == before:
            path.unlink(missing_ok=True)
        raise
    if run.iteration == before:
        say(
            f"nothing is left to play after {run.iteration:,} iterations: a limit was reached "
            "before; limits count from the first iteration: to continue, pass more --iterations or "
            "--time, or a smaller --gap"
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


def _run(run: Run, monitor: RunMonitor, checkpoint: Checkpoint | None) -> None:
    """Play to the end, and refuse or report what fails."""
    limit = monitor.iterations_limit
    iterations = EVER if limit is None else limit - run.iteration
    callbacks = [monitor if checkpoint is None else checkpoint]
    try:
        # Rules may print, and standard output is for results.
        with redirect_stdout(sys.stderr), console.logging_shown(monitor.progress):
            run.run(iterations, callbacks=callbacks)
    except ClickException:
        raise
    except (Exception, SystemExit, KeyboardInterrupt) as error:
        saved, iteration = "", run.iteration + 1
        if checkpoint is not None and checkpoint.iteration is not None:
            saved = f"; the checkpoint holds iteration {checkpoint.iteration}"
        if isinstance(error, KeyboardInterrupt):
            say(f"ended within iteration {iteration}{saved}")
            raise
        if checkpoint is not None and isinstance(error, CheckpointError):
            with _saving(checkpoint.path):
                raise
        cause = error.__cause__ if isinstance(error, RuntimeError) and error.__cause__ else error
        # Without a tree, rules are built when they are first needed.
        building = monitor.rule is None or (monitor.named.by_rules and not run.iteration)
        if building and isinstance(cause, TypeError | ValueError):
            option = "--algorithm" if monitor.sample is None else "--sample"
            option = option if monitor.rule is None else monitor.choice.argument
            raise Refusal(f"{option}: {reason(cause)}") from error
        name = monitor.rule or monitor.algorithm or "the algorithm"
        raise Failure(
            f"iteration {iteration}: {located(cause, name)}{console.IN_FULL}{saved}"
        ) from error


Curve: TypeAlias = Mapping[str, Sequence[float]]
"""The measurements of a run: iterations, seconds and gaps."""

_SMALL = 60
"""Information sets up to which a strategy is shown."""


def meaning_of_gap(*, imperfect_recall: bool) -> str:
    """Return what a gap is, in words."""
    recall = " with perfect recall" if imperfect_recall else ""
    return f"what best responses{recall} would gain, summed over players"


def finish(run: Run, monitor: RunMonitor, settings: Settings) -> int:
    """Write the files, report the run, and return its exit code."""
    game, sampling = monitor.named, f", {monitor.sample} sampling" if monitor.sample else ""
    label, checkpoint, average = f"{monitor.choice.label}{sampling}", settings.checkpoint, None
    files: dict[str, Path | None] = {"checkpoint": checkpoint, "strategy": None, "figure": None}
    if run.iteration:
        average = game.coarsen(cast(Any, run.average))
        files |= {"strategy": settings.out, "figure": settings.plot}
        write_strategy(average, settings.out, game.played if game.by_rules else None)
        if settings.plot is not None:
            draw_curves({f"{game.name}, {label}": {label: monitor.curve}}, settings.plot)
    report = {
        "game": game.name,
        "fingerprint": fingerprint(run.game),
        "algorithm": monitor.algorithm,
        "rule": monitor.rule,
        "sample": monitor.sample,
        "iterations": run.iteration,
        "seconds": monitor.played,
        "stopped_by": monitor.stopped_by,
        **_known(run, monitor, average),
        **{name: path and str(path) for name, path in files.items()},
    }
    short = "; the gap asked for was not reached" if monitor.code == console.SHORT_OF_GAP else ""
    lines = _lines(report | {"algorithm": label}, average, short)
    answer(report, lines)
    if monitor.interrupted:
        say(f"interrupted; {how_to_resume(checkpoint, monitor)}")
    return monitor.code


def _known(run: Run, monitor: RunMonitor, average: Any) -> dict[str, Any]:
    """Return what is known with a tree, or without one."""
    if isinstance(run, LazyMCCFR):
        return {"information_sets": list(run.information_sets)}
    gap = None if average is None else monitor.gaps[-1]
    return {
        "imperfect_recall": monitor.named.original is not None,
        "engine": run.engine,
        "gap": gap,
        "exploitability": None if gap is None else gap / run.players,
        "value": None if average is None else run.game.value(average).tolist(),
        "curve": monitor.curve,
    }


def _lines(
    report: Mapping[str, Any], average: Profile | VisitedProfile | None, short: str
) -> Iterator[str]:
    iterations, seconds = report["iterations"], report["seconds"]
    took = f"{seconds:.3g} s" if seconds < 60.0 else clock(seconds)
    ends = {"interrupt": ", then interrupted", "time": ", then time was up"}
    end = f"{ends.get(report['stopped_by'], '')}{short}"
    rate = number(iterations / max(seconds, 1e-9))
    by_rules = "information_sets" in report
    yield f"game        {report['game']}{', without its tree: no gap is known' if by_rules else ''}"
    yield f"algorithm   {report['algorithm']}{'' if by_rules else ', ' + report['engine']}"
    yield f"iterations  {iterations:,} in {took}, {rate} a second{end}"
    if average is None:
        return
    recall = report.get("imperfect_recall", False)
    if by_rules:
        met = " + ".join(f"{count:,}" for count in report["information_sets"])
        yield f"visited     {met} information sets"
    else:
        meaning = meaning_of_gap(imperfect_recall=recall)
        yield f"gap         {number(report['gap'])} in units of payoff: {meaning}"
        for name, values in [*report["curve"].items()][3:]:
            yield f"{name:<11} {number(values[-1])}"
        yield f"value       {numbers(report['value'])}"
    for name in ("checkpoint", "strategy", "figure"):
        if report[name]:
            yield f"{name:<11} {report[name]}"
    profile = average.profile if isinstance(average, VisitedProfile) else average
    yield from strategy_lines(profile, written=report["strategy"] is not None)
    if recall and _information_sets(profile) <= _SMALL:
        yield ""
        yield "One information set is on several lines if the player forgets its own past."


def how_to_resume(checkpoint: Path | None, monitor: RunMonitor) -> str:
    """Return the command that resumes a run."""
    if checkpoint is None:
        return "with --checkpoint FILE a run can be resumed"
    words = ["regretkit", "resume", str(checkpoint)]
    words += [] if is_known(monitor.game) else ["--game", monitor.game]
    words += [] if monitor.rule is None else ["--rule", monitor.rule]
    return f"{shlex.join(words)} continues from here"


def write_strategy(profile: Any, path: Path | None, rules: History[Any] | None = None) -> None:
    """Write a strategy in the format of the file's ending, if there is one."""
    if path is not None:
        with reporting(f"cannot write the strategy to {quote(str(path))}", Failure):
            if path.suffix.lower() == ".json":
                profile.to_json(path, *([] if rules is None else [rules]))
            else:
                profile.to_csv(path)


def strategy_lines(profile: Profile, *, written: bool) -> list[str]:
    """Return the lines of a strategy if it is small."""
    if _information_sets(profile) <= _SMALL:
        return ["", *str(profile).splitlines()]
    return [] if written else ["", "The strategy is long: --out FILE writes it, as .json or .csv."]


def _information_sets(profile: Profile) -> int:
    return sum(d.points if isinstance(d, DecisionTree) else 1 for d in profile.domains)


def summary_lines(results: Comparison) -> list[str]:
    """Return the lines of the table of a comparison."""
    heads, rows = results.summary()
    return table(heads, rows, right=range(2, len(heads) - 1), soft=1)


def draw_curves(
    panels: Mapping[str, Mapping[str, Curve | Sequence[Curve]]], path: Path, *, x: str = "iteration"
) -> None:
    """Draw a panel for each game with a curve for each algorithm, and write them into a file."""
    from regretkit.display._convergence import convergence_panels

    drawn = io.BytesIO()
    figure = convergence_panels(panels, x=x, y="gap", ylabel="NashConv (units of payoff)")
    figure.savefig(drawn, format=path.suffix[1:].lower(), dpi=150)
    write_file(path, drawn.getbuffer(), "cannot write the figure to")


def write_file(path: Path, content: bytes | memoryview, task: str) -> None:
    """Write a file, or report that it failed."""
    with reporting(f"{task} {quote(str(path))}", Failure):
        replace_file(path, [content])
