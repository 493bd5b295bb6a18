"""``regretkit resume``: what was stopped goes on, to the same bits as if it never was."""

import click

from regretkit.cli.algorithms_in import Choice, blamed, chosen
from regretkit.cli.exits import Failure, Refusal, reason, refusing, shell_word
from regretkit.cli.finishing import Outputs, saving_to
from regretkit.cli.games_in import is_known, settled
from regretkit.cli.journal import Journal
from regretkit.cli.limits import Limits
from regretkit.cli.options import every_option, limits, outputs
from regretkit.cli.recall import Found, found_game
from regretkit.cli.running import play
from regretkit.cli.sampling_in import estimator_of
from regretkit.cli.stopping import Stopping
from regretkit.play import SelfPlay
from regretkit.play._checkpoint import _recognized
from regretkit.play._saved_run import Saved, Ways


@click.command(short_help="Go on with a run that was saved.")
@click.argument("file", metavar="FILE")
@limits
@click.option(
    "--checkpoint", metavar="FILE", help="Save here from now on; by default in the file itself."
)
@every_option
@click.option("--game", metavar="GAME", help="The game, needed if it is not one of the catalogue.")
@click.option("--rule", metavar="MODULE:CLASS", help="The rule, if the run was begun with one.")
@outputs
def resume(
    file: str,
    iterations: int | None,
    gap: float | None,
    seconds: float | None,
    checkpoint: str | None,
    every: float,
    game: str | None,
    rule: str | None,
    out: str | None,
    plot: str | None,
    quiet: bool,
    as_json: bool,
) -> int:
    """Go on with a run that was saved, to the same bits as if it had never stopped.

    Without a limit it goes on to those it was begun with; new ones take the place of all of them,
    and count from the first iteration as those did. A rule of one's own has to be named again, and
    so has a game that is not of the catalogue: a file never decides which code is run, nor which
    other file is read.
    """
    with refusing("FILE", "name one that solve --checkpoint wrote"):
        saved = Saved.read(file)
    saving = saving_to(checkpoint or file, every, new=checkpoint not in (None, file))
    wanted = Outputs.asked(out, plot, quiet=quiet, as_json=as_json)
    with Stopping() as stopping:
        run, journal = _found(saved, Journal(stopping.asked), game, rule)
        Found(run.game, journal.forgetful).check_gap(gap)
        stops = Limits(iterations, gap, seconds)
        if not stops.none:
            stops.put_into(journal)
        if journal.most is None and journal.target is None and journal.seconds is None:
            raise Refusal(f"FILE: {file} does not say when to stop; pass --iterations N")
        return wanted.write(play(run, journal, stopping, saving=saving, quiet=quiet), saving)


def _found(
    saved: Saved, journal: Journal, game: str | None, rule: str | None
) -> tuple[SelfPlay, Journal]:
    """Return the run in a file, and its journal."""
    if list(saved.callbacks) == [Journal.__name__]:
        return _begun_here(saved, journal, game, rule), journal
    if saved.callbacks:
        raise Refusal(
            f"FILE: {saved.path} holds what callbacks {list(saved.callbacks)} have written down, "
            "which would be lost here; resume it from Python"
        )
    return _begun_elsewhere(saved, journal, game, rule), journal


def _begun_here(saved: Saved, journal: Journal, game: str | None, rule: str | None) -> SelfPlay:
    """Return a run of ``regretkit solve``, and put its journal back."""
    noted = _noted(saved, journal)
    if noted.rule is not None and rule is None:
        # A file from somebody else must not decide which code runs here.
        raise Refusal(
            f"--rule: {saved.path} was written with --rule {shell_word(noted.rule)}; pass it again"
        )
    found = _game_of(saved, noted.game, game)
    choice = chosen(noted.algorithm, rule)
    ways: Ways = {
        "order": choice.algorithm.order,
        "averaging": choice.algorithm.averaging,
        "callbacks": [journal],
    }
    with refusing(f"FILE: {saved.path} does not fit"):
        estimator = estimator_of(noted.sample, None)
    if estimator is not None:
        ways["estimator"] = estimator  # and what it has drawn so far is in the file
    run = _started(saved, found, choice, ways)
    journal.rule, journal.game = choice.rule, settled(game or noted.game)
    journal.forgetful = found.forgetful
    return run


def _noted(saved: Saved, journal: Journal) -> Journal:
    """Return the journal in a file, or refuse what is none."""
    noted, states = Journal(journal.asked), saved.state.get("callbacks")
    own = states.get("0") if isinstance(states, dict) else None
    with refusing(f"FILE: {saved.path} does not fit"):
        noted.load_state_dict(own if isinstance(own, dict) else {})
    return noted


def _begun_elsewhere(
    saved: Saved, journal: Journal, game: str | None, rule: str | None
) -> SelfPlay:
    """Return a run of the library's, with a journal that begins now."""
    found = _game_of(saved, saved.game["name"] or "", game)
    with refusing("FILE"):
        saved.check_game(found.game)
        name = None if rule is not None else _recognized(saved, found.game, found.kinds)
    choice = chosen(name, rule)
    run = _started(saved, found, choice, {})
    journal.game, journal.forgetful = settled(game or saved.game["name"] or ""), found.forgetful
    journal.algorithm, journal.rule, journal.most = choice.name, choice.rule, run.horizon
    return run


def _game_of(saved: Saved, name: str, game: str | None) -> Found:
    """Return the game of a run: the one that is named now, or the catalogue's of the saved name.

    A name in a checkpoint opens no other file and loads no other library.
    """
    if game is not None:
        # Only a run that was begun with --imperfect-recall has such a game.
        return found_game(game, "--game", forgetful=True)
    if name and not is_known(name):
        raise Refusal(
            f"--game: {saved.path} was written for the game {shell_word(name)}, which is not of "
            "the catalogue; pass it with --game"
        )
    try:
        return Found(saved.find_game())
    except ValueError as error:
        raise Refusal(f"FILE: {reason(error)}; pass it with --game") from error


def _started(saved: Saved, found: Found, choice: Choice, ways: Ways) -> SelfPlay:
    """Return the run where it was saved, of new minimizers."""
    try:
        minimizers = choice.algorithm.minimizers(found.game, found.kinds)
        return saved.start(SelfPlay, found.game, minimizers, ways)
    except (TypeError, ValueError) as error:
        raise Refusal(f"FILE: {error}") from error
    except (Exception, SystemExit) as error:
        raise Failure(f"--rule: {blamed(error, choice.label)}") from error
