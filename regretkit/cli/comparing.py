"""``regretkit compare``: many algorithms on many games, in one table and one figure."""

import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from attrs import field, frozen

from regretkit._util._files import write_csv
from regretkit._util._validate import quote
from regretkit.cli import figures
from regretkit.cli.algorithms_in import Choice, listed, split, started
from regretkit.cli.exits import DONE, FAILED, Refusal, failing
from regretkit.cli.files_out import FIGURES, TABLES, checked
from regretkit.cli.games_in import HELP
from regretkit.cli.journal import Journal
from regretkit.cli.limits import Limits
from regretkit.cli.options import (
    complete_game,
    engine_option,
    json_option,
    limits,
    quiet_option,
    sampling,
)
from regretkit.cli.recall import Found, found_game, recall_option, responses
from regretkit.cli.running import Ended, play
from regretkit.cli.sampling_in import estimator_of
from regretkit.cli.screen import number, say, show, show_json, show_table
from regretkit.cli.stopping import Stopping
from regretkit.play import ALGORITHMS


@frozen
class Cell:
    """One algorithm on one game."""

    text: str
    """How somebody named the game."""
    found: Found
    choice: Choice


@frozen
class Result:
    """What is left of a run; the run itself may be large."""

    curve: dict[str, list[float]]
    iterations: int
    seconds: float
    gap: float
    interrupted: bool


@frozen
class Comparison:
    """All that is to run, in which way and how long, and what came of it so far."""

    cells: Sequence[Cell]
    limits: Limits
    engine: str
    sample: str | None = None
    seed: int | None = None
    results: dict[tuple[str, str], Result] = field(factory=dict)
    """By the game and the algorithm."""

    def check(self) -> None:
        """Refuse what could not run, before anything does."""
        for cell in self.cells:
            self.limits.check(cell.found, cell.choice, estimator_of(self.sample, self.seed))
            self._start(cell)

    def _start(self, cell: Cell) -> Any:
        return started(
            cell.choice,
            cell.found,
            horizon=self.limits.iterations,
            engine=self.engine,
            estimator=estimator_of(self.sample, self.seed),
            argument="--algorithms",
        )

    def run(self, *, quiet: bool) -> int:
        """Run everything, and return the exit code."""
        code = DONE
        with Stopping() as stopping:
            for place, cell in enumerate(self.cells, start=1):
                journal = Journal(stopping.asked)
                journal.algorithm, journal.rule = cell.choice.name, cell.choice.rule
                journal.sample, journal.forgetful = self.sample, cell.found.forgetful
                self.limits.put_into(journal)
                title = f"{place} of {len(self.cells)}: {cell.text}, {cell.choice.label}"
                try:
                    ended = play(self._start(cell), journal, stopping, title=title, quiet=quiet)
                except click.ClickException as error:
                    say(f"{cell.text}: {error.format_message()}; the others go on")
                    code = FAILED
                    continue
                self._keep(cell, ended)
                if ended.interrupted:
                    say(
                        f"interrupted at {place} of {len(self.cells)}; this is what there is by now"
                    )
                    return ended.code
                code = code or ended.code
        return code

    def _keep(self, cell: Cell, ended: Ended) -> None:
        if ended.gap is not None:
            self.results[cell.text, cell.choice.label] = Result(
                ended.columns(),
                ended.run.iteration,
                ended.journal.played,
                ended.gap,
                ended.interrupted,
            )

    def rows(self) -> list[tuple[str, str, int, float, float]]:
        """Return a row for each measurement: game, algorithm, iteration, seconds and gap."""
        return [
            (game, algorithm, int(iteration), seconds, gap)
            for (game, algorithm), result in self.results.items()
            for iteration, seconds, gap in zip(*result.curve.values(), strict=True)
        ]

    def panels(self) -> dict[str, dict[str, figures.Columns]]:
        """Return the curves of each game by algorithm."""
        found: dict[str, dict[str, figures.Columns]] = {}
        for (game, algorithm), result in self.results.items():
            found.setdefault(game, {})[algorithm] = result.curve
        return found

    def remark(self, game: str, result: Result) -> str:
        """Return what is to be said of a result, next to those of the same game."""
        if result.interrupted:
            return "..."
        others = [r.gap for (g, _), r in self.results.items() if g == game and not r.interrupted]
        return "*" if result.gap == min(others) and len(others) > 1 else ""


COLUMNS = ("game", "algorithm", "iteration", "seconds", "gap")

_AXES = {"iterations": "iteration", "seconds": "seconds"}
"""The columns that figures can draw gaps against, by what to call them."""


@click.command(short_help="Run many algorithms on many games.", epilog=HELP)
@click.argument("games", metavar="GAMES...", nargs=-1, required=True, shell_complete=complete_game)
@click.option(
    "--algorithms",
    metavar="A,B,...",
    multiple=True,
    required=True,
    help="Names, and rules as module:Class, with commas between them.",
)
@limits
@click.option("--out", metavar="FILE", help="Write all that was measured as one table, in .csv.")
@click.option("--plot", metavar="FILE", help="Draw all curves, as .svg, .pdf or .png.")
@click.option(
    "--against",
    type=click.Choice(list(_AXES)),
    default="iterations",
    show_default=True,
    help="What the figure draws gaps against.",
)
@quiet_option
@json_option
@sampling
@recall_option
@engine_option
def compare(
    games: tuple[str, ...],
    algorithms: tuple[str, ...],
    iterations: int | None,
    gap: float | None,
    seconds: float | None,
    out: str | None,
    plot: str | None,
    against: str,
    quiet: bool,
    as_json: bool,
    sample: str | None,
    seed: int | None,
    forgetful: bool,
    engine: str,
) -> int:
    """Run every algorithm on every game, and compare how their gaps fall.

    The limits are those of each run; without one it is a thousand iterations. A rule that fails
    does not stop the others, and Ctrl-C writes what there is by then.
    """
    table, figure = checked(out, "--out", TABLES), checked(plot, "--plot", FIGURES)
    if figure is not None:
        figures.check("--plot")
    choices = listed(algorithms)
    found = {text: _game(text, forgetful=forgetful) for text in games}
    cells = [Cell(text, game, choice) for text, game in found.items() for choice in choices]
    wanted = Limits(iterations, gap, seconds).or_default()
    comparison = Comparison(cells, wanted, engine, sample, seed)
    comparison.check()
    code = comparison.run(quiet=quiet)
    if table is not None:
        _write_table(comparison, table)
    if figure is not None and comparison.panels():
        figures.draw(comparison.panels(), figure, x=_AXES[against])
    if as_json:
        rows = [dict(zip(COLUMNS, row, strict=True)) for row in comparison.rows()]
        show_json({"rows": rows, "out": out, "plot": plot})
    else:
        _show(comparison, [out, plot])
    return code


def _game(text: str, *, forgetful: bool) -> Found:
    pieces = split(text)
    parts = [piece.strip() for piece in pieces if piece.strip()]
    if parts and len(pieces) > 1 and not os.path.exists(text):  # noqa: PTH110 # and no name is too long
        raise Refusal(
            f"GAMES: got {quote(text)}, but games are separated by spaces; write "
            f"{shlex.join(parts)}"
        )
    if text in ALGORITHMS:
        raise Refusal(
            f"GAMES: {text} is an algorithm; write all of them behind --algorithms, with commas "
            "between them and no spaces"
        )
    return found_game(text, "GAMES", forgetful=forgetful)


def _write_table(comparison: Comparison, path: Path) -> None:
    with failing(f"--out: cannot write {quote(str(path))}"):
        write_csv(path, COLUMNS, comparison.rows())


def _show(comparison: Comparison, files: Sequence[str | None]) -> None:
    """Show where every run ended, and which came closest in each game."""
    rows = [
        (
            game,
            algorithm,
            f"{result.iterations:,}",
            f"{result.seconds:.3g}",
            number(result.gap),
            comparison.remark(game, result),
        )
        for (game, algorithm), result in comparison.results.items()
    ]
    heads = ("game", "algorithm", "iterations", "seconds", "gap", "")
    show_table(heads, rows, right=(2, 3, 4), gives_way=1)
    written = [file for file in files if file is not None]
    cut = any(result.interrupted for result in comparison.results.values())
    forgetful = any(cell.found.forgetful is not None for cell in comparison.cells)
    show(
        "",
        f"Gaps are what {responses(forgetful)} would gain, summed over players, in units of "
        f"payoff; * is the smallest of a game{', and ... was interrupted' if cut else ''}.",
    )
    if written:
        show(f"Written: {', '.join(written)}")
