"""``regretkit solve``, ``resume`` and ``compare``: new runs, a saved one, and many."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import click
from attrs import evolve

from regretkit._util._files import check_target, write_csv
from regretkit._util._validate import quote, shorten
from regretkit.cli import _arguments as arguments
from regretkit.cli._algorithms import Choice, choices_of, rule_error
from regretkit.cli._arguments import AnyGame, GameType, NamedGame, OutputFile, Settings, option
from regretkit.cli._console import DONE, FAILED, Failure, Refusal, answer, reporting, say, table
from regretkit.cli._interrupt import StopRequest
from regretkit.cli._report import Curve, draw_curves, finish, meaning_of_gap
from regretkit.cli._run import RunMonitor, play
from regretkit.display._style import number
from regretkit.play import SelfPlay
from regretkit.play._checkpoint import recognized
from regretkit.play._checkpoint_file import RunOptions, SavedRun

_COLUMNS = ("game", "algorithm", "iteration", "seconds", "gap")
_AXES = {"iterations": "iteration", "seconds": "seconds"}
"""The columns that figures can draw gaps against, by the values of ``--against``."""


@click.command(short_help="Solve a game by self-play.", epilog=arguments.GAME_HELP)
@arguments.game
@arguments.algorithm
@arguments.rule
@arguments.limits
@arguments.checkpoints
@arguments.outputs
@arguments.sampling
@arguments.imperfect_recall
@arguments.engine
def solve(game: NamedGame, algorithm: str | None, rule: str | None, **given: Any) -> int:
    """Solve a game by self-play, and report the gap of the average strategies.

    Without a limit it plays a thousand iterations; of several, the first one stops it. Ctrl-C ends
    the run between two iterations, saves the checkpoint, and reports the result so far.
    """
    settings = Settings(**given).or_default()
    choice = Choice.of(algorithm, rule, settings.sample)
    _check_new(settings.checkpoint)
    run = choice.start(game.accept(imperfect_recall=settings.imperfect_recall), settings)
    monitor = RunMonitor().describe(game, choice, settings)
    with StopRequest() as request:
        play(run, monitor, settings, request)
        return finish(run, monitor, settings)


def _check_new(checkpoint: Path | None) -> None:
    """Refuse to replace the checkpoint of another run."""
    if checkpoint is not None and checkpoint.exists():
        words = shlex.join(["regretkit", "resume", str(checkpoint)])
        raise Refusal(
            f"--checkpoint: {quote(str(checkpoint))} exists already; {words} continues it, or name "
            "another file, or delete it"
        )


@click.command(short_help="Continue a saved run.")
@click.argument("file", metavar="FILE")
@arguments.limits
@arguments.checkpoints
@option("--game", "The game, if it is not in the catalogue.", GameType())
@arguments.rule
@arguments.outputs
def resume(file: str, game: NamedGame | None, rule: str | None, **given: Any) -> int:
    """Continue a saved run, bitwise identically to one that was never stopped.

    Without a limit it continues to those that it was started with; new ones replace all of them,
    and count from the first iteration. A user-defined rule has to be named again, and so has a
    game outside the catalogue: a file never decides which code is run or which other file is read.
    """
    settings = Settings(**given)
    with reporting("FILE", hint="name one that solve --checkpoint wrote"):
        saved = SavedRun.read(file)
    with reporting("--checkpoint"):
        check_target(file)
    if settings.checkpoint is None:
        settings = evolve(settings, checkpoint=Path(file))
    elif str(settings.checkpoint) != file:
        _check_new(settings.checkpoint)
    with StopRequest() as request:
        run, monitor = _restored(saved, game, rule, settings)
        play(run, monitor, settings, request)
        return finish(run, monitor, settings)


def _monitor_in(saved: SavedRun) -> RunMonitor | None:
    """Return the monitor in a file, None for a run of the library."""
    if not saved.callbacks:
        return None
    if list(saved.callbacks) != [RunMonitor.__name__]:
        raise Refusal(
            f"FILE: {saved.path} holds the state of callbacks {list(saved.callbacks)}, which would "
            "be lost here; resume it from Python"
        )
    monitor, states = RunMonitor(), cast("Any", saved.state.get("callbacks"))
    with reporting(f"FILE: {saved.path} does not fit"):
        monitor.load_state_dict(states["0"] if isinstance(states, dict) else {})
    return monitor


def _restored(
    saved: SavedRun, game: NamedGame | None, rule: str | None, settings: Settings
) -> tuple[SelfPlay, RunMonitor]:
    """Return the run in a file and its monitor."""
    noted, parts = _monitor_in(saved), RunOptions()
    monitor = noted or RunMonitor()
    # A file from elsewhere must not decide which code is run or which other file is read.
    if monitor.rule is not None and rule is None:
        told = f"{saved.path} was written with --rule {_shell_word(monitor.rule)}"
        raise Refusal(f"--rule: {told}; pass it again")
    name = monitor.game if noted else saved.game["name"] or ""
    if game is None and not arguments.is_known(name):
        told = f"{saved.path} was written for the game {_shell_word(name)}"
        raise Refusal(f"--game: {told}, which is not in the catalogue; pass it with --game")
    with reporting("FILE"):
        if game is None:
            game = NamedGame(name, cast("AnyGame", saved.find_game()))
        saved.check_game(game.played)
        if not noted and rule is None:
            monitor.algorithm = recognized(saved, game.played, game.groups)
    choice = Choice.of(monitor.algorithm, rule, monitor.sample)
    if noted:
        algorithm = choice.algorithm  # the state of the estimator's generator is in the file
        parts = RunOptions(order=algorithm.order, averaging=algorithm.averaging)
        parts["estimator"] = algorithm.estimator()
    try:
        minimizers = choice.algorithm.minimizers(game.played, game.groups)
        run = saved.start(SelfPlay, game.played, minimizers, parts)
    except (TypeError, ValueError) as error:
        raise Refusal(f"FILE: {error}") from error
    except (Exception, SystemExit) as error:
        raise Failure(f"--rule: {rule_error(error, choice.label)}") from error
    game.check_gap(settings.gap)
    if not settings.limited:
        iterations = monitor.iterations_limit if noted else run.horizon
        gap, seconds = monitor.gap_limit, monitor.time_limit
        settings = evolve(settings, iterations=iterations, gap=gap, seconds=seconds)
    if not settings.limited:
        raise Refusal(f"FILE: {saved.path} does not say when to stop; pass --iterations N")
    return run, monitor.describe(game, choice, settings)


def _shell_word(text: str) -> str:
    """Return a text from a file as a shell would take it, printable and not too long."""
    return shorten(shlex.quote(text) if text.isprintable() else ascii(text), 150)


@click.command(short_help="Run many algorithms on many games.", epilog=arguments.GAME_HELP)
@click.argument("games", metavar="GAMES...", type=GameType(), nargs=-1, required=True)
@option(
    "--algorithms",
    "Names, and rules as module:Class, with commas between them.",
    metavar="A,B,...",
    multiple=True,
    required=True,
)
@arguments.limits
@option("--out", "Write all measurements as one table, in .csv.", OutputFile(".csv"))
@option("--plot", "Draw all curves, as .svg, .pdf or .png.", arguments.figure_file)
@option(
    "--against", "The horizontal axis of the figure.", click.Choice([*_AXES]), default="iterations"
)
@arguments.quiet
@arguments.as_json
@arguments.sampling
@arguments.imperfect_recall
@arguments.engine
def compare(
    games: tuple[NamedGame, ...], algorithms: tuple[str, ...], against: str, **given: Any
) -> int:
    """Run every algorithm on every game, and compare how their gaps fall.

    The limits are those of each run; without one it is a thousand iterations. A rule that fails
    does not stop the others, and Ctrl-C writes the results so far.
    """
    settings, choices = Settings(**given).or_default(), choices_of(algorithms, given["sample"])
    recall = settings.imperfect_recall
    unique = {game.text: game.accept(imperfect_recall=recall) for game in games}
    pairs = [(game, choice) for game in unique.values() for choice in choices]
    for game, choice in pairs:
        choice.start(game, settings)  # refuses now what could not run later
    code, results = _play(pairs, settings)
    rows = [row for monitor in results for row in _rows(monitor)]
    if settings.out is not None:
        with reporting(f"--out: cannot write {quote(str(settings.out))}", Failure):
            write_csv(settings.out, _COLUMNS, rows)
    if settings.plot is not None and results:
        panels: dict[str, dict[str, Curve]] = {}
        for monitor in results:
            panels.setdefault(monitor.named.text, {})[monitor.choice.label] = monitor.curve
        draw_curves(panels, settings.plot, x=_AXES[against])
    files = {name: given[name] and str(given[name]) for name in ("out", "plot")}
    report = {"rows": [dict(zip(_COLUMNS, row, strict=True)) for row in rows], **files}
    lines, written = _table(results), [file for file in files.values() if file]
    meaning = meaning_of_gap(imperfect_recall=any(game.original is not None for game in games))
    cut = ", and ... was interrupted" if any(monitor.interrupted for monitor in results) else ""
    lines += ["", f"Gaps are {meaning}, in units of payoff; * is the smallest of a game{cut}."]
    lines += [f"Written: {', '.join(written)}"] if written else []
    return answer(report, lines, as_json=settings.as_json, code=code)


def _rows(monitor: RunMonitor) -> list[tuple[Any, ...]]:
    names = (monitor.named.text, monitor.choice.label)
    return [(*names, *row) for row in zip(*monitor.curve.values(), strict=True)]


def _play(
    pairs: Sequence[tuple[NamedGame, Choice]], settings: Settings
) -> tuple[int, list[RunMonitor]]:
    """Play all runs, and return the exit code and their monitors."""
    code, results = DONE, []
    with StopRequest() as request:
        for index, (game, choice) in enumerate(pairs, start=1):
            place = f"{index} of {len(pairs)}"
            monitor = RunMonitor().describe(game, choice, settings)
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


def _table(results: Sequence[RunMonitor]) -> list[str]:
    """Return a table of the last gap of every run, with a mark at the smallest of each game."""
    gaps: dict[str, list[float]] = {}
    for monitor in results:
        if not monitor.interrupted:
            gaps.setdefault(monitor.game, []).append(monitor.gaps[-1])
    rows = []
    for monitor in results:
        game, algorithm, iteration, _, gap = _rows(monitor)[-1]
        smallest = len(gaps.get(monitor.game, [])) > 1 and gap == min(gaps[monitor.game])
        mark = "..." if monitor.interrupted else "*" if smallest else ""
        seconds = f"{monitor.played:.3g}"
        rows.append((game, algorithm, f"{iteration:,}", seconds, number(gap), mark))
    heads = ("game", "algorithm", "iterations", "seconds", "gap", "")
    return table(heads, rows, right=(2, 3, 4), soft=1)
