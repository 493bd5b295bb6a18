"""What is left of a run: a report, a strategy in a file, a figure."""

import shlex
from pathlib import Path

from attrs import frozen

from regretkit._util._validate import quote
from regretkit.cli import figures
from regretkit.cli.exits import Refusal
from regretkit.cli.files_out import FIGURES, STRATEGIES, checked, write_strategy
from regretkit.cli.games_in import is_known
from regretkit.cli.journal import Journal
from regretkit.cli.reports import of_run, show_run
from regretkit.cli.running import Ended, Saving
from regretkit.cli.screen import say, show_json


@frozen
class Outputs:
    """What somebody wants to have of a run."""

    strategy: Path | None
    figure: Path | None
    quiet: bool
    as_json: bool

    @classmethod
    def asked(cls, out: str | None, plot: str | None, *, quiet: bool, as_json: bool) -> "Outputs":
        """Return what the options ask for, or refuse what could not be written later."""
        figure = checked(plot, "--plot", FIGURES)
        if figure is not None:
            figures.check("--plot")
        return cls(checked(out, "--out", STRATEGIES), figure, quiet, as_json)

    def write(self, ended: Ended, saving: Saving | None) -> int:
        """Write everything, report, and return the exit code."""
        saved = None if saving is None else str(saving.path)
        files = {"checkpoint": saved, "strategy": None, "figure": None}
        if ended.run.iteration:
            write_strategy(ended.average, self.strategy)
            figures.draw_run(ended, self.figure)
            files["strategy"] = None if self.strategy is None else str(self.strategy)
            files["figure"] = None if self.figure is None else str(self.figure)
        if self.as_json:
            show_json(of_run(ended, files))
        else:
            show_run(ended, files)
        if ended.interrupted:
            say(f"interrupted; {_how_to_go_on(saved, ended.journal)}")
        return ended.code


def _how_to_go_on(saved: str | None, journal: Journal) -> str:
    if saved is None:
        return "with --checkpoint FILE a run can be resumed"
    words = ["regretkit", "resume", saved]
    if not is_known(journal.game):
        words += ["--game", journal.game]
    if journal.rule is not None:
        words += ["--rule", journal.rule]
    return f"{shlex.join(words)} goes on from here"


def saving_to(path: str | None, seconds: float, *, new: bool) -> Saving | None:
    """Return where to save, or refuse to write over a run of earlier."""
    file = checked(path, "--checkpoint")
    if file is None:
        return None
    if new and file.exists():
        goes_on = shlex.join(["regretkit", "resume", str(file)])
        raise Refusal(
            f"--checkpoint: {quote(path)} is there already; {goes_on} goes on with it, or name "
            "another file, or delete it"
        )
    return Saving(file, seconds)
