"""``regretkit compare``: many algorithms on many games, in one table and one figure."""

from collections.abc import Sequence
from pathlib import Path

import click
from attrs import frozen

from regretkit._util._files import write_csv
from regretkit._util._validate import quote
from regretkit.cli._arguments import (
    FIGURE_FILE,
    GAME_HELP,
    GamesType,
    NamedGame,
    OutputFile,
    choices_of,
)
from regretkit.cli._console import say, show, show_json, show_table
from regretkit.cli._exit_codes import DONE, FAILED, failing
from regretkit.cli._interrupt import StopRequest
from regretkit.cli._options import (
    Limits,
    Sampling,
    engine_option,
    json_option,
    limit_options,
    option,
    quiet_option,
    recall_option,
    sampling_options,
)
from regretkit.cli._report import Curve, best_responses, draw_curves
from regretkit.cli._run import RunPlan
from regretkit.display._style import number

_COLUMNS = ("game", "algorithm", "iteration", "seconds", "gap")
_AXES = {"iterations": "iteration", "seconds": "seconds"}
"""The columns that figures can draw gaps against, by the values of ``--against``."""


@click.command(short_help="Run many algorithms on many games.", epilog=GAME_HELP)
@click.argument("games", metavar="GAMES...", type=GamesType(), nargs=-1, required=True)
@option(
    "--algorithms",
    "Names, and rules as module:Class, with commas between them.",
    metavar="A,B,...",
    multiple=True,
    required=True,
)
@limit_options
@option("--out", "Write all measurements as one table, in .csv.", OutputFile(".csv"))
@option("--plot", "Draw all curves, as .svg, .pdf or .png.", FIGURE_FILE)
@option(
    "--against", "The horizontal axis of the figure.", click.Choice([*_AXES]), default="iterations"
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
    limits, choices = limits.or_default(), choices_of(algorithms)
    unique = {game.text: game.accept(imperfect_recall=imperfect_recall) for game in games}
    plans = [
        RunPlan(game, choice, limits, sampling, engine)
        for game in unique.values()
        for choice in choices
    ]
    for plan in plans:
        plan.start()  # refuses now what could not run later
    code, results = _play(plans, quiet=quiet)
    rows = [row for result in results for row in result.rows()]
    if out is not None:
        with failing(f"--out: cannot write {quote(str(out))}"):
            write_csv(out, _COLUMNS, rows)
    if plot is not None and results:
        panels: dict[str, dict[str, Curve]] = {}
        for result in results:
            panels.setdefault(result.game, {})[result.algorithm] = result.curve
        draw_curves(panels, plot, x=_AXES[against])
    files = {name: path and str(path) for name, path in (("out", out), ("plot", plot))}
    if as_json:
        show_json({"rows": [dict(zip(_COLUMNS, row, strict=True)) for row in rows], **files})
    else:
        refined = any(game.original is not None for game in games)
        _show(results, [file for file in files.values() if file], imperfect_recall=refined)
    return code


@frozen
class _Result:
    """What is kept of a run, which itself may be large."""

    game: str
    algorithm: str
    curve: Curve
    seconds: float
    interrupted: bool

    def rows(self) -> list[tuple[str, str, int, float, float]]:
        """Return a row for each measurement."""
        return [
            (self.game, self.algorithm, int(iteration), seconds, gap)
            for iteration, seconds, gap in zip(*self.curve.values(), strict=True)
        ]


def _play(plans: Sequence[RunPlan], *, quiet: bool) -> tuple[int, list[_Result]]:
    """Play all runs, and return the exit code and the results."""
    code, results = DONE, []
    with StopRequest() as request:
        for index, plan in enumerate(plans, start=1):
            place, game, label = f"{index} of {len(plans)}", plan.game.text, plan.choice.label
            try:
                title = f"{place}: {game}, {label}"
                outcome = plan.play(plan.start(), request, title=title, quiet=quiet)
            except click.ClickException as error:
                say(f"{game}: {error.format_message()}; the other runs continue")
                code = FAILED
                continue
            if outcome.gap is not None:
                seconds = outcome.monitor.played
                result = _Result(game, label, outcome.curve(), seconds, outcome.interrupted)
                results.append(result)
            if outcome.interrupted:
                say(f"interrupted at {place}; these are the results so far")
                return outcome.code, results
            code = code or outcome.code
    return code, results


def _show(results: Sequence[_Result], files: Sequence[str], *, imperfect_recall: bool) -> None:
    """Show the last gap of every run, and the smallest of each game."""
    gaps: dict[str, list[float]] = {}
    for result in results:
        if not result.interrupted:
            gaps.setdefault(result.game, []).append(result.curve["gap"][-1])
    rows = []
    for result in results:
        _, _, iteration, _, gap = result.rows()[-1]
        smallest = len(gaps.get(result.game, [])) > 1 and gap == min(gaps[result.game])
        mark = "..." if result.interrupted else "*" if smallest else ""
        cells = (f"{iteration:,}", f"{result.seconds:.3g}", number(gap), mark)
        rows.append((result.game, result.algorithm, *cells))
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
