"""``regretkit solve`` and ``regretkit resume``: a new run, and a saved one."""

import shlex
from pathlib import Path
from typing import Any, cast

import click
from attrs import evolve

from regretkit._util._files import check_target
from regretkit._util._validate import quote, shorten
from regretkit.cli._algorithms import Choice, algorithm_options, check_gap, rule_error
from regretkit.cli._arguments import (
    GAME_HELP,
    AnyGame,
    GameType,
    NamedGame,
    Settings,
    checkpoint_options,
    engine_option,
    game_argument,
    is_known,
    limit_options,
    option,
    output_options,
    recall_option,
    rule_option,
    sampling_options,
)
from regretkit.cli._console import Failure, Refusal, reason, refusing
from regretkit.cli._interrupt import StopRequest
from regretkit.cli._report import finish
from regretkit.cli._run import RunMonitor, play
from regretkit.play import SelfPlay
from regretkit.play._checkpoint import recognized
from regretkit.play._checkpoint_file import RunOptions, SavedRun


@click.command(short_help="Solve a game by self-play.", epilog=GAME_HELP)
@game_argument
@algorithm_options
@limit_options
@checkpoint_options
@output_options
@sampling_options
@recall_option
@engine_option
def solve(game: NamedGame, algorithm: str | None, rule: str | None, **given: Any) -> int:
    """Solve a game by self-play, and report the gap of the average strategies.

    Without a limit it plays a thousand iterations; of several, the first one stops it. Ctrl-C ends
    the run between two iterations, saves the checkpoint, and reports the result so far.
    """
    choice, settings = Choice.of(algorithm, rule), Settings(**given).or_default()
    _check_new(settings.checkpoint)
    run = choice.start(game.accept(imperfect_recall=settings.imperfect_recall), settings)
    monitor = RunMonitor.of(game, choice, settings)
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
@limit_options
@checkpoint_options
@option("--game", "The game, if it is not in the catalogue.", GameType())
@rule_option
@output_options
def resume(file: str, game: NamedGame | None, rule: str | None, **given: Any) -> int:
    """Continue a saved run, bitwise identically to one that was never stopped.

    Without a limit it continues to those that it was started with; new ones replace all of them,
    and count from the first iteration. A user-defined rule has to be named again, and so has a
    game outside the catalogue: a file never decides which code is run or which other file is read.
    """
    settings = Settings(**given)
    with refusing("FILE", "name one that solve --checkpoint wrote"):
        saved = SavedRun.read(file)
    with refusing("--checkpoint"):
        check_target(file)
    if settings.checkpoint is None:
        settings = evolve(settings, checkpoint=Path(file))
    elif str(settings.checkpoint) != file:
        _check_new(settings.checkpoint)
    with StopRequest() as request:
        run, monitor = _restored(saved, game, rule)
        check_gap(monitor.named, settings.gap)
        if settings.limited:
            monitor.limit(settings)
        if monitor.iterations_limit is monitor.gap_limit is monitor.time_limit is None:
            raise Refusal(f"FILE: {file} does not say when to stop; pass --iterations N")
        play(run, monitor, settings, request)
        return finish(run, monitor, settings)


def _restored(
    saved: SavedRun, game: NamedGame | None, rule: str | None
) -> tuple[SelfPlay, RunMonitor]:
    """Return the run in a file and its monitor; a run of the library gets a new one."""
    monitor, parts = RunMonitor(), RunOptions()
    monitored = list(saved.callbacks) == [RunMonitor.__name__]
    if saved.callbacks and not monitored:
        raise Refusal(
            f"FILE: {saved.path} holds the state of callbacks {list(saved.callbacks)}, which would "
            "be lost here; resume it from Python"
        )
    if monitored:
        states: Any = saved.state.get("callbacks")
        with refusing(f"FILE: {saved.path} does not fit"):
            monitor.load_state_dict(states["0"] if isinstance(states, dict) else {})
    if monitor.rule is not None and rule is None:
        # A file from elsewhere must not decide which code is run.
        raise Refusal(
            f"--rule: {saved.path} was written with --rule {_shell_word(monitor.rule)}; pass it "
            "again"
        )
    named = game or _known_game(saved, monitor.game if monitored else saved.game["name"] or "")
    with refusing("FILE"):
        saved.check_game(named.played)
        if not monitored and rule is None:
            monitor.algorithm = recognized(saved, named.played, named.groups)
    choice = Choice.of(monitor.algorithm, rule)
    if monitored:
        parts = RunOptions(order=choice.algorithm.order, averaging=choice.algorithm.averaging)
        estimator = Settings(sample=monitor.sample).estimator()
        if estimator is not None:
            parts["estimator"] = estimator  # the state of its generator is in the file
    try:
        minimizers = choice.algorithm.minimizers(named.played, named.groups)
        run = saved.start(SelfPlay, named.played, minimizers, parts)
    except (TypeError, ValueError) as error:
        raise Refusal(f"FILE: {error}") from error
    except (Exception, SystemExit) as error:
        raise Failure(f"--rule: {rule_error(error, choice.label)}") from error
    monitor.describe(named, choice, monitor.sample)
    if not monitored:
        monitor.iterations_limit = run.horizon
    return run, monitor


def _known_game(saved: SavedRun, name: str) -> NamedGame:
    """Return the game of the catalogue with the saved name."""
    if name and not is_known(name):
        raise Refusal(
            f"--game: {saved.path} was written for the game {_shell_word(name)}, which is not in "
            "the catalogue; pass it with --game"
        )
    try:
        return NamedGame(name, cast("AnyGame", saved.find_game()))
    except ValueError as error:
        raise Refusal(f"FILE: {reason(error)}; pass it with --game") from error


def _shell_word(text: str) -> str:
    """Return a text from a file as a shell would take it, printable and not too long."""
    return shorten(shlex.quote(text) if text.isprintable() else ascii(text), 150)
