"""How the command line plays a run: watched, saved, and stopped when it is time."""

import sys
from contextlib import redirect_stdout
from pathlib import Path

from attrs import frozen
from click import ClickException

from regretkit._util._validate import quote
from regretkit.cli.algorithms_in import blamed
from regretkit.cli.exits import DONE, SHORT_OF_GAP, Failure, Refusal, failing, reason, refusing
from regretkit.cli.journal import GAP, STOPPED, Journal
from regretkit.cli.progress import Line
from regretkit.cli.screen import say
from regretkit.cli.stopping import Stopping
from regretkit.games import Profile
from regretkit.play import Checkpoint, SelfPlay

_EVER = 2**62


@frozen
class Saving:
    """Where to save a run, and how often."""

    path: Path
    seconds: float


@frozen
class Ended:
    """A run that has ended, and why."""

    run: SelfPlay
    journal: Journal
    gap: float | None
    """The gap of its average, None where nothing was played."""
    code: int
    """The exit code that it asks for."""

    @property
    def average(self) -> Profile:
        """The average strategies."""
        return self.journal.average(self.run)

    @property
    def interrupted(self) -> bool:
        """Whether somebody wanted out before it was done."""
        return self.code not in (DONE, SHORT_OF_GAP)

    def columns(self) -> dict[str, list[float]]:
        """Return how the gap fell, up to the last iteration."""
        journal, iteration = self.journal, self.run.iteration
        rows = list(zip(journal.iterations, journal.times, journal.gaps, strict=True))
        if self.gap is not None and (not rows or rows[-1][0] != iteration):
            rows.append((iteration, journal.played, self.gap))
        names = ("iteration", "seconds", "gap")
        return {name: [row[k] for row in rows] for k, name in enumerate(names)}


def play(
    run: SelfPlay,
    journal: Journal,
    stopping: Stopping,
    *,
    saving: Saving | None = None,
    title: str = "",
    quiet: bool = False,
) -> Ended:
    """Play until a limit is reached or somebody wants out, and save the run at the end.

    Parameters
    ----------
    run
        The run, which may have begun earlier.
    journal
        Has the limits, and is saved with the run.
    stopping
        Notes who wants out.
    saving
        Where to save, if anywhere.
    title
        Stands in front of the progress.
    quiet
        Whether to show no progress.
    """
    before, new = run.iteration, saving is not None and not saving.path.exists()
    watch: Journal | _Saver = journal
    if saving is not None:
        if new:  # what cannot be saved is refused now, and not in an hour
            save(run, journal, saving.path)
        watch = _Saver(Checkpoint(saving.path, seconds=saving.seconds, callbacks=[journal]))
    try:
        with Line(journal, title, wanted=not quiet) as line:
            journal.begin(run)
            if not _is_over(journal, run):
                _run(run, watch, journal, line)
    except ClickException:
        if new and saving is not None and run.iteration == before:
            saving.path.unlink(missing_ok=True)
        raise
    if run.iteration == before:
        say(
            "nothing is left to play: the limit was reached before; more --iterations or --time, "
            "or a smaller --gap, go further"
        )
    elif saving is not None and _saved_at(watch) != run.iteration:
        save(run, journal, saving.path)
    gap = journal.gap_of(run) if run.iteration else None
    return Ended(run, journal, gap, _code(run, journal, gap, stopping))


def _is_over(journal: Journal, run: SelfPlay) -> bool:
    """Say whether a limit was reached before."""
    return (
        (journal.most is not None and run.iteration >= journal.most)
        or (journal.seconds is not None and journal.played >= journal.seconds)
        or (
            journal.target is not None and journal.gap is not None and journal.gap <= journal.target
        )
    )


@frozen
class _Saver:
    """A callback that saves, and whose errors are told from those of what plays."""

    checkpoint: Checkpoint

    def due(self, run: SelfPlay) -> int:
        """Return the next iteration at which it wants to be called."""
        return self.checkpoint.due(run)

    def __call__(self, run: SelfPlay) -> bool:
        """Save the run when it is time."""
        with failing(f"--checkpoint: cannot write {quote(str(self.checkpoint.path))}"):
            return self.checkpoint(run)


def _run(run: SelfPlay, watch: Journal | _Saver, journal: Journal, line: Line) -> None:
    left = _EVER if journal.most is None else journal.most - run.iteration
    try:
        with redirect_stdout(sys.stderr):  # where rules may print; the other is for results
            run._prepare(left)  # makes machine code, so that no iteration takes as long
            journal.begin(run)
            line.begin(run)
            run.run(left, callbacks=[watch, line])
    except ClickException:
        raise
    except KeyboardInterrupt:
        say(f"ended within iteration {run.iteration + 1}{_left_behind(watch)}")
        raise
    except (Exception, SystemExit) as error:
        cause = error.__cause__ if isinstance(error, RuntimeError) and error.__cause__ else error
        if journal.rule is None and isinstance(cause, TypeError | ValueError):
            option = "--algorithm" if journal.sample is None else "--sample"
            raise Refusal(f"{option}: {reason(cause)}") from error
        what = journal.rule or journal.algorithm or "the algorithm"
        raise Failure(
            f"iteration {run.iteration + 1}: {blamed(cause, what)}{_left_behind(watch)}"
        ) from error


def _saved_at(watch: Journal | _Saver) -> int | None:
    return watch.checkpoint.iteration if isinstance(watch, _Saver) else None


def _left_behind(watch: Journal | _Saver) -> str:
    saved = _saved_at(watch)
    return "" if saved is None else f"; the checkpoint holds iteration {saved}"


def save(run: SelfPlay, journal: Journal, path: Path) -> None:
    """Write a checkpoint now."""
    with refusing("--checkpoint"), failing(f"--checkpoint: cannot write {quote(str(path))}"):
        run.save(path, callbacks=[journal])


def _code(run: SelfPlay, journal: Journal, gap: float | None, stopping: Stopping) -> int:
    finished = journal.most is not None and run.iteration >= journal.most
    if journal.why == STOPPED and not finished and stopping.code is not None:
        return stopping.code
    if journal.target is None or journal.why == GAP or (gap is not None and gap <= journal.target):
        return DONE
    return SHORT_OF_GAP
