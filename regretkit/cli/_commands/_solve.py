"""``regretkit solve``, ``resume`` and ``compare``: new runs, a saved one, and many."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import click
from attrs import evolve

from regretkit._util._files import check_target
from regretkit._util._validate import quote, shorten
from regretkit.cli import _arguments as arguments
from regretkit.cli import _console as console
from regretkit.cli._arguments import Choice, GameType, NamedGame, Settings, check_seeds, option
from regretkit.cli._console import Failure, Refusal, StopRequest, answer, reporting, say
from regretkit.cli._run import (
    Run,
    RunMonitor,
    draw_curves,
    finish,
    meaning_of_gap,
    play,
    summary_lines,
)
from regretkit.games import History
from regretkit.games._registry import check_small
from regretkit.play import Algorithm, ComparedRun, Comparison, LazyMCCFR, SelfPlay
from regretkit.play import resume as resume_run
from regretkit.play._checkpoint import recognized
from regretkit.play._checkpoint_file import RunOptions, SavedRun
from regretkit.play._measures import SAMPLED_GAP, sampled_gap

_MEASURED = 0.2
"""Seconds that measuring a run without a tree takes at most, for each of its time limit."""
_AXES = {"iterations": "iteration", "seconds": "seconds"}
"""The columns that figures can draw gaps against, by the values of ``--against``."""


@click.command(short_help="Solve a game by self-play.", epilog=arguments.GAME_HELP)
@arguments.game_or_rules
@arguments.algorithm
@arguments.rule
@arguments.limits
@arguments.measure
@arguments.checkpoints
@arguments.outputs
@arguments.sampling
@arguments.imperfect_recall
@arguments.engine
def solve(game: NamedGame, algorithm: str | None, rule: str | None, **given: Any) -> int:
    """Solve a game by self-play, and report the gap of the average strategies.

    Without a limit it plays a thousand iterations; of several, the first one stops it. Ctrl-C ends
    the run between two iterations, saves the checkpoint, and reports the result so far.

    With --sample external or outcome, a game whose tree does not fit is played by its rules alone.
    """
    settings = Settings(**given).or_default()
    choice = Choice.of(algorithm, rule, settings.sample)
    check_seeds([choice], seed=settings.seed)
    _check_new(settings.checkpoint)
    run = choice.start(game.accept(imperfect_recall=settings.imperfect_recall), settings)
    return _played(run, RunMonitor().describe(game, choice, settings), settings)


def _played(run: Run, monitor: RunMonitor, settings: Settings) -> int:
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
@option("--game", "The game, if it is not in the catalogue.", GameType(or_rules=True))
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
    return _played(*_restored(saved, game, rule, settings), settings)


def _monitor_in(saved: SavedRun) -> RunMonitor | None:
    """Return the monitor in a file, None for a run of the library."""
    if not saved.callbacks:
        return None
    if list(saved.callbacks) != [RunMonitor.__name__]:
        raise Refusal(
            f"FILE: {saved.path} holds the state of callbacks {list(saved.callbacks)}, which would "
            "be lost here; resume it from Python"
        )
    states = cast("Any", saved.state.get("callbacks"))
    with reporting(f"FILE: {saved.path} does not fit"):
        state = states["0"] if isinstance(states, dict) else {}
        monitor = RunMonitor().measuring(str(state.get("measured")).split())
        monitor.load_state_dict(state)
    return monitor


def _restored(
    saved: SavedRun, game: NamedGame | None, rule: str | None, settings: Settings
) -> tuple[Run, RunMonitor]:
    """Return the run in a file and its monitor."""
    noted = _monitor_in(saved)
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
        if saved.by_rules:
            if game is None:
                check_small(name)
            game = NamedGame.of_rules(name if game is None else game.text)
        elif game is None:
            with arguments.building():
                game = NamedGame(name, saved.find_game())
        saved.check_game(game.played)
        if not noted and rule is None:
            known = [] if game.by_rules else [game.played, game.groups]
            monitor.algorithm = recognized(saved, *known)
    choice = Choice.of(monitor.algorithm, rule, monitor.sample)
    try:
        with choice.blamed(TypeError, ValueError):
            run = _run_in(saved, game, choice.algorithm, noted=noted is not None)
    except (TypeError, ValueError) as error:
        raise Refusal(f"FILE: {error}") from error
    game.check_gap(settings.gap)
    if not settings.limited:
        iterations = monitor.iterations_limit if noted else run.horizon
        gap, seconds = monitor.gap_limit, monitor.time_limit
        settings = evolve(settings, iterations=iterations, gap=gap, seconds=seconds)
    if not settings.limited:
        raise Refusal(f"FILE: {saved.path} does not say when to stop; pass --iterations N")
    return run, monitor.describe(game, choice, settings)


def _run_in(saved: SavedRun, game: NamedGame, algorithm: Algorithm, *, noted: bool) -> Run:
    """Return the run in a file; the state of the estimator's generator is in there."""
    if game.by_rules:
        rules: History[Any] = game.played
        return resume_run(saved.path, rules, algorithm=algorithm)
    minimizers, parts = algorithm.minimizers(game.played, game.groups), RunOptions()
    if noted:
        parts = RunOptions(order=algorithm.order, averaging=algorithm.averaging)
        parts["estimator"] = algorithm.estimator()
    return saved.start(SelfPlay, game.played, minimizers, parts)


def _shell_word(text: str) -> str:
    """Return a text from a file as a shell would take it, printable and not too long."""
    return shorten(shlex.quote(text) if text.isprintable() else ascii(text), 150)


@click.command(short_help="Run many algorithms on many games.", epilog=arguments.GAME_HELP)
@click.argument("games", metavar="GAMES...", type=GameType(or_rules=True), nargs=-1, required=True)
@option(
    "--algorithms",
    "Names, and rules as module:Class, with commas between them; 'dcfr(alpha=1:3:0.5)' is a grid.",
    metavar="A,B,...",
    multiple=True,
    required=True,
)
@arguments.limits
@arguments.measure
@option("--out", "Write all measurements as one table, in .csv.", arguments.OutputFile(".csv"))
@option("--plot", "Draw all curves, as .svg, .pdf or .png.", arguments.figure_file)
@option(
    "--against", "The horizontal axis of the figure.", click.Choice([*_AXES]), default="iterations"
)
@arguments.quiet
@arguments.as_json
@arguments.sampling
@option(
    "--seeds",
    "Run what samples with N seeds, counted from --seed; figures have bands.",
    arguments.COUNT,
)
@arguments.imperfect_recall
@arguments.engine
def compare(
    games: tuple[NamedGame, ...],
    algorithms: tuple[str, ...],
    against: str,
    seeds: int | None,
    **given: Any,
) -> int:
    """Run every algorithm on every game, and compare how their gaps fall.

    The limits are those of each run; without one it is a thousand iterations. A rule that fails
    does not stop the others, and Ctrl-C writes the results so far.

    Games whose trees do not fit are compared by --sample external or outcome, and at the end of
    each run by sampled local best responses, which gain no more than the gap.
    """
    settings = Settings(**given).or_default()
    choices, recall = arguments.choices_of(algorithms, settings.sample), settings.imperfect_recall
    check_seeds(choices, seed=settings.seed, seeds=seeds)
    unique = {game.text: game.accept(imperfect_recall=recall) for game in games}
    first = settings.seed or 0
    numbers = [evolve(settings, seed=seed) for seed in range(first, first + (seeds or 1))]
    unseeded = [evolve(settings, seed=None)]
    cases = [
        (game, choice, seeded)
        for game in unique.values()
        for choice in choices
        for seeded in (numbers if choice.algorithm.sampling is not None else unseeded)
    ]
    for game, choice, seeded in cases:
        choice.start(game, seeded)  # refuses now what could not run later
    code, results = _play(cases)
    if settings.out is not None:
        with reporting(f"--out: cannot write {quote(str(settings.out))}", Failure):
            results.to_csv(settings.out)
    if settings.plot is not None and results.runs:
        draw_curves(results.curves(), settings.plot, x=_AXES[against])
    files = {name: given[name] and str(given[name]) for name in ("out", "plot")}
    report = {"rows": results.to_rows(), **files}
    written = [file for file in files.values() if file]
    recall = any(game.original is not None for game in games)
    gaps = f"Gaps are {meaning_of_gap(imperfect_recall=recall)}"
    if any(game.by_rules for game in games):
        gaps += ", and local_best_response is less than the gap, up to the error of samples"
    cut = "" if all(run.is_whole for run in results.runs) else ", and ... was interrupted"
    lines = [
        *summary_lines(results),
        "",
        f"{gaps}, in units of payoff; * is the smallest of a game{cut}.",
    ]
    lines += [f"Written: {', '.join(written)}"] if written else []
    return answer(report, lines, code=code)


def _play(cases: Sequence[tuple[NamedGame, Choice, Settings]]) -> tuple[int, Comparison]:
    """Play all runs, and return the exit code and what was measured."""
    code, results = console.DONE, Comparison()
    with StopRequest() as request:
        for index, (game, choice, settings) in enumerate(cases, start=1):
            place = f"{index} of {len(cases)}"
            monitor, run = RunMonitor().describe(game, choice, settings), None
            try:
                run = choice.start(game, settings)
                play(run, monitor, settings, request, f"{place}: {game.text}, {choice.label}")
                curve = _curve(run, monitor, request)
            except click.ClickException as error:
                say(f"{game.text}: {error.format_message()}; the other runs continue")
                code = console.FAILED
                continue
            except KeyboardInterrupt:
                playing = run is not None and run.iteration and not monitor.stopped_by
                if playing or not results.runs:  # else while compiling or measuring
                    raise
                say(f"interrupted at {place}; these are the results so far")
                return request.code or console.INTERRUPTED, results
            if curve["iteration"]:
                names = game.text, choice.label, settings.seed
                results.runs.append(ComparedRun(*names, curve, not monitor.interrupted))
            if monitor.interrupted:
                say(f"interrupted at {place}; these are the results so far")
                return monitor.code, results
            code = code or monitor.code
    return code, results


def _curve(run: Run, monitor: RunMonitor, request: StopRequest) -> dict[str, list[Any]]:
    """Return what was measured of a run; without a tree, at its end, if it was not interrupted."""
    if not isinstance(run, LazyMCCFR) or monitor.interrupted:
        return monitor.curve
    with request.raising():
        gap = sampled_gap(run, monitor.time_limit and _MEASURED * monitor.time_limit)
    return {"iteration": [run.iteration], "seconds": [monitor.played], SAMPLED_GAP: [gap]}
