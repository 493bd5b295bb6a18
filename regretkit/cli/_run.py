"""A run of the command line: with progress, checkpoints, and limits."""

import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from attrs import frozen
from click import ClickException

from regretkit._util._validate import quote
from regretkit.cli._arguments import Choice, NamedGame
from regretkit.cli._console import say
from regretkit.cli._exit_codes import (
    DONE,
    SHORT_OF_GAP,
    Failure,
    Refusal,
    failing,
    reason,
    refusing,
)
from regretkit.cli._interrupt import StopRequest
from regretkit.cli._monitor import RunMonitor
from regretkit.cli._options import CheckpointOptions, Limits, Sampling
from regretkit.cli._progress import ProgressLine
from regretkit.cli._rules import rule_error
from regretkit.games import Profile
from regretkit.play import Checkpoint, SelfPlay

_UNLIMITED = 2**62


@frozen
class Outcome:
    """A run that has ended, and why."""

    run: SelfPlay
    monitor: RunMonitor
    gap: float | None
    """The gap of its average, None before the first iteration."""
    code: int
    """The exit code."""

    @property
    def average(self) -> Profile:
        """The average strategies."""
        return self.monitor.average(self.run)

    def curve(self) -> dict[str, list[float]]:
        """Return how the gap fell."""
        return self.monitor.curve(self.run, self.gap)

    @property
    def interrupted(self) -> bool:
        """Whether the user stopped it."""
        return self.code not in (DONE, SHORT_OF_GAP)

    @property
    def stopped_by(self) -> str:
        """Which limit ended the run, now or before it was resumed, or an interrupt."""
        monitor = self.monitor
        if self.interrupted:
            return "interrupt"
        if self.gap is not None and monitor.gap_limit is not None and self.code == DONE:
            return "gap"
        over = monitor.time_limit is not None and monitor.played >= monitor.time_limit
        return "time" if over else "iterations"


@frozen
class RunPlan:
    """What a new run is built of."""

    game: NamedGame
    choice: Choice
    limits: Limits
    sampling: Sampling
    engine: str

    def start(self) -> SelfPlay:
        """Return the run before its first iteration, or refuse it."""
        estimator = self.sampling.estimator()
        self.limits.check(self.game, self.choice, estimator)
        return self.choice.start(self.game, self.limits.iterations, self.engine, estimator)

    def play(self, run: SelfPlay, request: StopRequest, **options: Any) -> Outcome:
        """Play the run with a new monitor, and the options of :func:`play`."""
        monitor = RunMonitor(request.requested)
        monitor.describe(self.game, self.choice, self.sampling.sample)
        monitor.limit(self.limits)
        return play(run, monitor, request, **options)


def play(
    run: SelfPlay,
    monitor: RunMonitor,
    request: StopRequest,
    *,
    checkpoint: CheckpointOptions | None = None,
    title: str = "",
    quiet: bool = False,
) -> Outcome:
    """Play until a limit is reached or the user requests a stop, and save the run at the end."""
    before, path = run.iteration, None if checkpoint is None else checkpoint.path
    new, saver = path is not None and not path.exists(), None
    if checkpoint is not None and path is not None:
        if new:  # a run that cannot be saved is refused now, and not in an hour
            _save(run, monitor, path)
        saver = Checkpoint(path, seconds=checkpoint.seconds, callbacks=[monitor])
    try:
        with ProgressLine(title, quiet=quiet) as monitor.line:
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
    gap = monitor.gap_of(run) if run.iteration else None
    return Outcome(run, monitor, gap, _exit_code(run, monitor, gap, request))


def _exit_code(run: SelfPlay, monitor: RunMonitor, gap: float | None, request: StopRequest) -> int:
    if request.code is not None and not monitor.is_over(run):
        return request.code
    target = monitor.gap_limit
    return DONE if target is None or (gap is not None and gap <= target) else SHORT_OF_GAP


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
    iterations = _UNLIMITED if limit is None else limit - run.iteration
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
