"""``regretkit resume``: a saved run, continued bitwise identically."""

from pathlib import Path

import click
from attrs import evolve

from regretkit._util._files import check_target
from regretkit.cli._arguments import Choice, GameType, NamedGame, is_known
from regretkit.cli._commands._solve import check_new
from regretkit.cli._exit_codes import Failure, Refusal, reason, refusing, shell_word
from regretkit.cli._interrupt import StopRequest
from regretkit.cli._monitor import RunMonitor
from regretkit.cli._options import (
    CheckpointOptions,
    Limits,
    Outputs,
    Sampling,
    checkpoint_options,
    limit_options,
    option,
    output_options,
    rule_option,
)
from regretkit.cli._report import finish
from regretkit.cli._rules import rule_error
from regretkit.cli._run import play
from regretkit.play import SelfPlay
from regretkit.play._checkpoint import recognized
from regretkit.play._checkpoint_file import RunOptions, SavedRun


@click.command(short_help="Continue a saved run.")
@click.argument("file", metavar="FILE")
@limit_options
@checkpoint_options
@option("--game", "The game, if it is not in the catalogue.", GameType())
@rule_option
@output_options
def resume(
    file: str,
    limits: Limits,
    checkpoint: CheckpointOptions,
    game: NamedGame | None,
    rule: str | None,
    outputs: Outputs,
) -> int:
    """Continue a saved run, bitwise identically to one that was never stopped.

    Without a limit it continues to those that it was started with; new ones replace all of them,
    and count from the first iteration. A user-defined rule has to be named again, and so has a
    game outside the catalogue: a file never decides which code is run or which other file is read.
    """
    with refusing("FILE", "name one that solve --checkpoint wrote"):
        saved = SavedRun.read(file)
    with refusing("--checkpoint"):
        check_target(file)
    if checkpoint.path is None:
        checkpoint = evolve(checkpoint, path=Path(file))
    elif str(checkpoint.path) != file:
        check_new(checkpoint)
    with StopRequest() as request:
        monitor = RunMonitor(request.requested)
        run = _restored(saved, monitor, game, rule)
        if monitor.named is not None:
            monitor.named.check_gap(limits.gap)
        if limits != Limits(None, None, None):
            monitor.limit(limits)
        if monitor.iterations_limit is monitor.gap_limit is monitor.time_limit is None:
            raise Refusal(f"FILE: {file} does not say when to stop; pass --iterations N")
        outcome = play(run, monitor, request, checkpoint=checkpoint, quiet=outputs.quiet)
        return finish(outcome, outputs, checkpoint.path)


def _restored(
    saved: SavedRun, monitor: RunMonitor, game: NamedGame | None, rule: str | None
) -> SelfPlay:
    """Return the run in a file, and restore its monitor; a run of the library gets a new one."""
    has_monitor = list(saved.callbacks) == [RunMonitor.__name__]
    if saved.callbacks and not has_monitor:
        raise Refusal(
            f"FILE: {saved.path} holds the state of callbacks {list(saved.callbacks)}, which would "
            "be lost here; resume it from Python"
        )
    noted = RunMonitor(monitor.stop_requested)
    noted.game = saved.game["name"] or ""
    if has_monitor:
        states = saved.state.get("callbacks")
        state = states.get("0") if isinstance(states, dict) else None
        with refusing(f"FILE: {saved.path} does not fit"):
            noted.load_state_dict(state if isinstance(state, dict) else {})
    if noted.rule is not None and rule is None:
        # A file from elsewhere must not decide which code is run.
        raise Refusal(
            f"--rule: {saved.path} was written with --rule {shell_word(noted.rule)}; pass it again"
        )
    named = _game_of(saved, noted.game, game)
    with refusing("FILE"):
        saved.check_game(named.played)
        if not has_monitor and rule is None:
            noted.algorithm = recognized(saved, named.played, named.groups)
    choice, options = Choice.of(noted.algorithm, rule), RunOptions()
    if has_monitor:
        order, averaging = choice.algorithm.order, choice.algorithm.averaging
        options = RunOptions(order=order, averaging=averaging, callbacks=[monitor])
        estimator = Sampling(noted.sample).estimator()
        if estimator is not None:
            options["estimator"] = estimator  # the state of its generator is in the file
    run = _started(saved, named, choice, options)
    monitor.describe(named, choice, noted.sample)
    if not has_monitor:
        monitor.limit(Limits(run.horizon, None, None))
    return run


def _game_of(saved: SavedRun, name: str, game: NamedGame | None) -> NamedGame:
    """Return the game that is named now, or the one of the catalogue with the saved name."""
    if game is not None:
        return game
    if name and not is_known(name):
        raise Refusal(
            f"--game: {saved.path} was written for the game {shell_word(name)}, which is not in "
            "the catalogue; pass it with --game"
        )
    try:
        return NamedGame(name, saved.find_game())
    except ValueError as error:
        raise Refusal(f"FILE: {reason(error)}; pass it with --game") from error


def _started(saved: SavedRun, game: NamedGame, choice: Choice, options: RunOptions) -> SelfPlay:
    """Return the run at its saved iteration, with new minimizers."""
    try:
        minimizers = choice.algorithm.minimizers(game.played, game.groups)
        return saved.start(SelfPlay, game.played, minimizers, options)
    except (TypeError, ValueError) as error:
        raise Refusal(f"FILE: {error}") from error
    except (Exception, SystemExit) as error:
        raise Failure(f"--rule: {rule_error(error, choice.label)}") from error
