"""A run of the command line: with progress, checkpoints, and limits."""

import sys
from contextlib import redirect_stdout
from pathlib import Path

from attrs import frozen
from click import ClickException

from regretkit._util._validate import quote
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
from regretkit.cli._monitor import GAP, INTERRUPT, TIME, RunMonitor
from regretkit.cli._options import CheckpointOptions
from regretkit.cli._progress import ProgressLine, RunProgress
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

    @property
    def interrupted(self) -> bool:
        """Whether the user stopped it."""
        return self.code not in (DONE, SHORT_OF_GAP)

    @property
    def stopped_by(self) -> str:
        """Which limit ended the run, now or before it was resumed, or an interrupt."""
        monitor, limit = self.monitor, self.monitor.iterations_limit
        if self.interrupted:
            return INTERRUPT
        if monitor.stopped_by in (GAP, TIME):
            return monitor.stopped_by
        if limit is not None and self.run.iteration >= limit:
            return "iterations"
        return TIME if self.code == SHORT_OF_GAP or monitor.gap_limit is None else GAP


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
    new = path is not None and not path.exists()
    watch: RunMonitor | _Saver = monitor
    if checkpoint is not None and path is not None:
        if new:  # a run that cannot be saved is refused now, and not in an hour
            save(run, monitor, path)
        watch = _Saver(Checkpoint(path, seconds=checkpoint.seconds, callbacks=[monitor]))
    try:
        with ProgressLine(title, quiet=quiet) as line:
            monitor.begin(run)
            if not monitor.is_over(run):
                _run(run, monitor, watch, RunProgress(line, monitor))
    except ClickException:
        if new and path is not None and run.iteration == before:
            path.unlink(missing_ok=True)
        raise
    if run.iteration == before:
        say(
            "nothing is left to play: a limit was reached before; to continue, pass more "
            "--iterations or --time, or a smaller --gap"
        )
    elif path is not None and _saved_iteration(watch) != run.iteration:
        save(run, monitor, path)
    gap = monitor.gap_of(run) if run.iteration else None
    return Outcome(run, monitor, gap, _exit_code(run, monitor, gap, request))


@frozen
class _Saver:
    """A callback that saves, and whose errors are told from those of the run."""

    checkpoint: Checkpoint

    def next_call(self, run: SelfPlay) -> int:
        return self.checkpoint.next_call(run)

    def __call__(self, run: SelfPlay) -> bool:
        with failing(f"--checkpoint: cannot write {quote(str(self.checkpoint.path))}"):
            return self.checkpoint(run)


def _run(
    run: SelfPlay, monitor: RunMonitor, watch: RunMonitor | _Saver, progress: RunProgress
) -> None:
    limit = monitor.iterations_limit
    iterations = _UNLIMITED if limit is None else limit - run.iteration
    try:
        with redirect_stdout(sys.stderr):  # rules may print, and standard output is for results
            run._prepare(iterations)  # compiles, so that the first iteration is no slower
            monitor.begin(run)
            progress.begin(run)
            run.run(iterations, callbacks=[watch, progress])
    except ClickException:
        raise
    except KeyboardInterrupt:
        say(f"ended within iteration {run.iteration + 1}{_in_checkpoint(watch)}")
        raise
    except (Exception, SystemExit) as error:
        cause = error.__cause__ if isinstance(error, RuntimeError) and error.__cause__ else error
        if monitor.rule is None and isinstance(cause, TypeError | ValueError):
            option = "--algorithm" if monitor.sample is None else "--sample"
            raise Refusal(f"{option}: {reason(cause)}") from error
        name = monitor.rule or monitor.algorithm or "the algorithm"
        told = f"iteration {run.iteration + 1}: {rule_error(cause, name)}{_in_checkpoint(watch)}"
        raise Failure(told) from error


def _saved_iteration(watch: RunMonitor | _Saver) -> int | None:
    return watch.checkpoint.iteration if isinstance(watch, _Saver) else None


def _in_checkpoint(watch: RunMonitor | _Saver) -> str:
    saved = _saved_iteration(watch)
    return "" if saved is None else f"; the checkpoint holds iteration {saved}"


def save(run: SelfPlay, monitor: RunMonitor, path: Path) -> None:
    """Write a checkpoint."""
    with refusing("--checkpoint"), failing(f"--checkpoint: cannot write {quote(str(path))}"):
        run.save(path, callbacks=[monitor])


def _exit_code(run: SelfPlay, monitor: RunMonitor, gap: float | None, request: StopRequest) -> int:
    limit, target = monitor.iterations_limit, monitor.gap_limit
    finished = limit is not None and run.iteration >= limit
    if monitor.stopped_by == INTERRUPT and not finished and request.code is not None:
        return request.code
    if target is None or monitor.stopped_by == GAP or (gap is not None and gap <= target):
        return DONE
    return SHORT_OF_GAP
