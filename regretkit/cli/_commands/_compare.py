"""``regretkit compare``: many algorithms on many games, in one table and one figure."""

from collections.abc import Sequence
from typing import Any

import click

from regretkit._util._files import write_csv
from regretkit._util._validate import quote
from regretkit.cli._algorithms import Choice, choices_of
from regretkit.cli._arguments import (
    GAME_HELP,
    GameType,
    NamedGame,
    OutputFile,
    Settings,
    engine_option,
    figure_file,
    json_option,
    limit_options,
    option,
    quiet_option,
    recall_option,
    sampling_options,
)
from regretkit.cli._console import DONE, FAILED, failing, say, show, show_json, show_table
from regretkit.cli._interrupt import StopRequest
from regretkit.cli._report import Curve, draw_curves, meaning_of_gap
from regretkit.cli._run import RunMonitor, play
from regretkit.display._style import number

_COLUMNS = ("game", "algorithm", "iteration", "seconds", "gap")
_AXES = {"iterations": "iteration", "seconds": "seconds"}
"""The columns that figures can draw gaps against, by the values of ``--against``."""


@click.command(short_help="Run many algorithms on many games.", epilog=GAME_HELP)
@click.argument("games", metavar="GAMES...", type=GameType(), nargs=-1, required=True)
@option(
    "--algorithms",
    "Names, and rules as module:Class, with commas between them.",
    metavar="A,B,...",
    multiple=True,
    required=True,
)
@limit_options
@option("--out", "Write all measurements as one table, in .csv.", OutputFile(".csv"))
@option("--plot", "Draw all curves, as .svg, .pdf or .png.", figure_file)
@option(
    "--against", "The horizontal axis of the figure.", click.Choice([*_AXES]), default="iterations"
)
@quiet_option
@json_option
@sampling_options
@recall_option
@engine_option
def compare(
    games: tuple[NamedGame, ...], algorithms: tuple[str, ...], against: str, **given: Any
) -> int:
    """Run every algorithm on every game, and compare how their gaps fall.

    The limits are those of each run; without one it is a thousand iterations. A rule that fails
    does not stop the others, and Ctrl-C writes the results so far.
    """
    settings, choices = Settings(**given).or_default(), choices_of(algorithms)
    recall = settings.imperfect_recall
    unique = {game.text: game.accept(imperfect_recall=recall) for game in games}
    pairs = [(game, choice) for game in unique.values() for choice in choices]
    for game, choice in pairs:
        choice.start(game, settings)  # refuses now what could not run later
    code, results = _play(pairs, settings)
    rows = [row for monitor in results for row in _rows(monitor)]
    if settings.out is not None:
        with failing(f"--out: cannot write {quote(str(settings.out))}"):
            write_csv(settings.out, _COLUMNS, rows)
    if settings.plot is not None and results:
        panels: dict[str, dict[str, Curve]] = {}
        for monitor in results:
            panels.setdefault(monitor.named.text, {})[monitor.choice.label] = monitor.curve
        draw_curves(panels, settings.plot, x=_AXES[against])
    files = {name: given[name] and str(given[name]) for name in ("out", "plot")}
    if settings.as_json:
        show_json({"rows": [dict(zip(_COLUMNS, row, strict=True)) for row in rows], **files})
        return code
    _show_table(results)
    refined = any(game.original is not None for game in games)
    cut = ", and ... was interrupted" if any(monitor.interrupted for monitor in results) else ""
    show(
        "",
        f"Gaps are {meaning_of_gap(imperfect_recall=refined)}, in units of payoff; * is the "
        f"smallest of a game{cut}.",
    )
    if written := ", ".join(filter(None, files.values())):
        show(f"Written: {written}")
    return code


def _rows(monitor: RunMonitor) -> list[tuple[Any, ...]]:
    """Return a row for each measurement."""
    names = (monitor.named.text, monitor.choice.label)
    return [(*names, *row) for row in zip(*monitor.curve.values(), strict=True)]


def _play(
    pairs: Sequence[tuple[NamedGame, Choice]], settings: Settings
) -> tuple[int, list[RunMonitor]]:
    """Play all runs, and return the exit code and the results."""
    code, results = DONE, []
    with StopRequest() as request:
        for index, (game, choice) in enumerate(pairs, start=1):
            place = f"{index} of {len(pairs)}"
            monitor = RunMonitor.of(game, choice, settings)
            try:
                run = choice.start(game, settings)
                play(run, monitor, settings, request, f"{place}: {game.text}, {choice.label}")
            except click.ClickException as error:
                say(f"{game.text}: {error.format_message()}; the other runs continue")
                code = FAILED
                continue
            if run.iteration:
                results.append(monitor)
            if monitor.interrupted:
                say(f"interrupted at {place}; these are the results so far")
                return monitor.code, results
            code = code or monitor.code
    return code, results


def _show_table(results: Sequence[RunMonitor]) -> None:
    """Show the last gap of every run, and mark the smallest of each game."""
    gaps: dict[str, list[float]] = {}
    for monitor in results:
        if not monitor.interrupted:
            gaps.setdefault(monitor.game, []).append(monitor.gaps[-1])
    rows = []
    for monitor in results:
        game, algorithm, iteration, _, gap = _rows(monitor)[-1]
        smallest = len(gaps.get(monitor.game, [])) > 1 and gap == min(gaps[monitor.game])
        mark = "..." if monitor.interrupted else "*" if smallest else ""
        cells = (f"{iteration:,}", f"{monitor.played:.3g}", number(gap), mark)
        rows.append((game, algorithm, *cells))
    heads = ("game", "algorithm", "iterations", "seconds", "gap", "")
    show_table(heads, rows, right=(2, 3, 4), soft=1)
