"""``regretkit compare``: many algorithms on many games, in one table and one figure."""

from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

import click
from attrs import frozen

from regretkit._util._files import write_csv
from regretkit._util._validate import quote
from regretkit.cli._arguments import (
    FIGURE_FILE,
    GAME_HELP,
    Choice,
    GamesType,
    NamedGame,
    OutputFile,
    choices_of,
)
from regretkit.cli._console import say, show, show_json, show_table
from regretkit.cli._exit_codes import DONE, FAILED, failing
from regretkit.cli._interrupt import StopRequest
from regretkit.cli._monitor import RunMonitor
from regretkit.cli._options import (
    Limits,
    Sampling,
    engine_option,
    json_option,
    limit_options,
    quiet_option,
    recall_option,
    sampling_options,
)
from regretkit.cli._report import Curve, best_responses, draw_curves
from regretkit.cli._run import Outcome, play
from regretkit.display._style import number
from regretkit.play import SelfPlay

_COLUMNS = ("game", "algorithm", "iteration", "seconds", "gap")
_AXES = {"iterations": "iteration", "seconds": "seconds"}
"""The columns that figures can draw gaps against, by the values of ``--against``."""


@frozen
class _Result:
    """What is kept of a run, which itself may be large."""

    game: str
    algorithm: str
    curve: Curve
    seconds: float
    interrupted: bool

    @property
    def gap(self) -> float:
        return self.curve["gap"][-1]

    @classmethod
    def of(cls, game: NamedGame, choice: Choice, outcome: Outcome) -> "_Result":
        curve = outcome.monitor.curve(outcome.run, outcome.gap)
        seconds = outcome.monitor.played
        return cls(game.text, choice.label, curve, seconds, outcome.interrupted)


@frozen
class _Task:
    """An algorithm on a game."""

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

    def play(self, request: StopRequest, title: str, *, quiet: bool) -> Outcome:
        """Play the run to its end."""
        monitor = RunMonitor(request.requested)
        monitor.describe(self.game, self.choice, self.sampling.sample)
        monitor.limit(self.limits)
        return play(self.start(), monitor, request, title=title, quiet=quiet)


@click.command(short_help="Run many algorithms on many games.", epilog=GAME_HELP)
@click.argument("games", metavar="GAMES...", type=GamesType(), nargs=-1, required=True)
@click.option(
    "--algorithms",
    metavar="A,B,...",
    multiple=True,
    required=True,
    help="Names, and rules as module:Class, with commas between them.",
)
@limit_options
@click.option(
    "--out",
    metavar="FILE",
    type=OutputFile(".csv"),
    is_eager=True,
    help="Write all measurements as one table, in .csv.",
)
@click.option(
    "--plot",
    metavar="FILE",
    type=FIGURE_FILE,
    is_eager=True,
    help="Draw all curves, as .svg, .pdf or .png.",
)
@click.option(
    "--against",
    type=click.Choice(list(_AXES)),
    default="iterations",
    show_default=True,
    help="The horizontal axis of the figure.",
)
@quiet_option
@json_option
@sampling_options
@recall_option
@engine_option
def compare(
    games: tuple[NamedGame, ...],
    algorithms: tuple[str, ...],
    limits: Limits,
    out: Path | None,
    plot: Path | None,
    against: str,
    quiet: bool,
    as_json: bool,
    sampling: Sampling,
    imperfect_recall: bool,
    engine: str,
) -> int:
    """Run every algorithm on every game, and compare how their gaps fall.

    The limits are those of each run; without one it is a thousand iterations. A rule that fails
    does not stop the others, and Ctrl-C writes the results so far.
    """
    choices, unique = choices_of(algorithms), {game.text: game for game in games}.values()
    for game in unique:
        game.accept(imperfect_recall=imperfect_recall)
    limits = limits.or_default()
    tasks = [_Task(g, choice, limits, sampling, engine) for g in unique for choice in choices]
    for task in tasks:
        task.start()  # refuses now what could not run later
    code, results = _play_all(tasks, quiet=quiet)
    rows = [
        (result.game, result.algorithm, int(iteration), seconds, gap)
        for result in results
        for iteration, seconds, gap in zip(*result.curve.values(), strict=True)
    ]
    if out is not None:
        with failing(f"--out: cannot write {quote(str(out))}"):
            write_csv(out, _COLUMNS, rows)
    if plot is not None and results:
        draw_curves(_panels(results), plot, x=_AXES[against])
    files = {name: path and str(path) for name, path in (("out", out), ("plot", plot))}
    if as_json:
        show_json({"rows": [dict(zip(_COLUMNS, row, strict=True)) for row in rows], **files})
    else:
        recall = any(game.original is not None for game in unique)
        _show(results, [file for file in files.values() if file], imperfect_recall=recall)
    return code


def _play_all(tasks: Sequence[_Task], *, quiet: bool) -> tuple[int, list[_Result]]:
    """Play all runs, and return the exit code and the results."""
    code, results = DONE, []
    with StopRequest() as request:
        for place, task in enumerate(tasks, start=1):
            place_of_all = f"{place} of {len(tasks)}"
            title = f"{place_of_all}: {task.game.text}, {task.choice.label}"
            try:
                outcome = task.play(request, title, quiet=quiet)
            except click.ClickException as error:
                say(f"{task.game.text}: {error.format_message()}; the other runs continue")
                code = FAILED
                continue
            if outcome.gap is not None:
                results.append(_Result.of(task.game, task.choice, outcome))
            if outcome.interrupted:
                say(f"interrupted at {place_of_all}; these are the results so far")
                return outcome.code, results
            code = code or outcome.code
    return code, results


_Panels: TypeAlias = dict[str, dict[str, Curve]]


def _panels(results: Sequence[_Result]) -> _Panels:
    panels: _Panels = {}
    for result in results:
        panels.setdefault(result.game, {})[result.algorithm] = result.curve
    return panels


def _show(results: Sequence[_Result], files: Sequence[str], *, imperfect_recall: bool) -> None:
    """Show the last gap of every run, and the smallest of each game."""
    gaps: dict[str, list[float]] = {}
    for result in results:
        if not result.interrupted:
            gaps.setdefault(result.game, []).append(result.gap)
    rows = [
        (
            result.game,
            result.algorithm,
            f"{int(result.curve['iteration'][-1]):,}",
            f"{result.seconds:.3g}",
            number(result.gap),
            _mark(result, gaps.get(result.game, [])),
        )
        for result in results
    ]
    heads = ("game", "algorithm", "iterations", "seconds", "gap", "")
    show_table(heads, rows, right=(2, 3, 4), soft=1)
    responses = best_responses(imperfect_recall=imperfect_recall)
    cut = ", and ... was interrupted" if any(result.interrupted for result in results) else ""
    show(
        "",
        f"Gaps are what {responses} would gain, summed over players, in units of payoff; * is the "
        f"smallest of a game{cut}.",
    )
    if files:
        show(f"Written: {', '.join(files)}")


def _mark(result: _Result, gaps: Sequence[float]) -> str:
    if result.interrupted:
        return "..."
    return "*" if len(gaps) > 1 and result.gap == min(gaps) else ""
