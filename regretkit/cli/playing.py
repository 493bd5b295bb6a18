"""``regretkit play``: somebody at the terminal against a strategy, or strategies by themselves."""

from collections.abc import Sequence

import click

from regretkit._util._validate import quote
from regretkit.cli.exits import Refusal
from regretkit.cli.games_in import HELP, name_of
from regretkit.cli.matching import play_by_themselves
from regretkit.cli.options import count, from_zero, game_argument, json_option, quiet_option
from regretkit.cli.recall import found_game
from regretkit.cli.seats import Table
from regretkit.cli.sitting import play_at_terminal
from regretkit.cli.strategies_in import UNIFORM, profile_of
from regretkit.games import ExtensiveFormGame, NormalFormGame


@click.command("play", short_help="Play against a strategy, or let strategies play.", epilog=HELP)
@game_argument
@click.argument("strategies", metavar="[STRATEGY]...", nargs=-1)
@click.option(
    "--matches",
    type=count,
    metavar="N",
    help="Let strategies play N matches against each other, without you.",
)
@click.option(
    "--rounds", type=count, metavar="N", help="Stop after N rounds; by default when you leave."
)
@click.option(
    "--seat",
    type=from_zero,
    metavar="P",
    help="Which player you are, from 0; with --matches, which one the first strategy is. By "
    "default everybody changes places after every round.",
)
@click.option(
    "--seed",
    type=from_zero,
    metavar="N",
    help="What to draw from; by default 0 with --matches, and something new whenever you play.",
)
@quiet_option
@json_option
def play(
    game: str,
    strategies: tuple[str, ...],
    matches: int | None,
    rounds: int | None,
    seat: int | None,
    seed: int | None,
    quiet: bool,
    as_json: bool,
) -> int:
    """Play GAME at the terminal against strategies, or let strategies play against each other.

    STRATEGY is a file that solve or exact wrote, in JSON; or uniform, which is to do everything
    equally often, and is what plays if none is named. One plays for all the others, with
    --matches for everybody; more are one for each of them, in order.

    An action is answered by its name or the beginning of it. You leave with Ctrl-D, which is the
    end of the input, or with Ctrl-C. Both say what you have earned; the exit code is 0 after the
    one, and 130 after the other.

    With --matches, the report says what each strategy earned per match, and what is expected: what
    the same seatings earn on average, exactly. An interval holds that with a confidence of about
    95 %, for many matches.

    Games in which somebody forgets are played without a switch.
    """
    if matches is not None and rounds is not None:
        raise Refusal(
            "--rounds: is how long you play, got --matches as well; leave one of them out"
        )
    found = found_game(game, forgetful=True)
    players = len(found.game.domains)
    if seat is not None and seat >= players:
        raise Refusal(
            f"--seat: {name_of(found.game)} has {_counted(players, 'player')}, numbered from 0 to "
            f"{players - 1}, got {seat}"
        )
    names = _invited(name_of(found.game), players, strategies, alone=matches is not None)
    if matches is not None and len(names) == 1 and seat is not None:
        raise Refusal(
            f"--seat: {names[0]} plays for everybody, got {seat}; leave it out, or name a strategy "
            "for each player"
        )
    if not isinstance(found.game, ExtensiveFormGame | NormalFormGame):
        raise Refusal(f"GAME: {quote(found.game)} is neither in normal nor in extensive form")
    known = {name: found.forgotten(profile_of(found.game, name)) for name in dict.fromkeys(names)}
    table = Table(found.game, tuple((name, known[name]) for name in names), seat)
    if matches is not None:
        return play_by_themselves(table, matches, seed or 0, quiet=quiet, as_json=as_json)
    return play_at_terminal(table, rounds, seed, as_json=as_json)


def _invited(game: str, players: int, strategies: Sequence[str], *, alone: bool) -> list[str]:
    """Return who plays beside the person, if there is one, or refuse what does not add up."""
    places = players if alone else players - 1
    names = list(strategies) or [UNIFORM] * bool(places)
    if len(names) in (min(1, places), places):
        return names
    others = _counted(players, "player") + ("" if alone else ", of which you are one")
    one_each = "" if places <= 1 else f", or {places}, one for each"
    whom = "everybody" if alone else "all the others"
    raise Refusal(
        f"STRATEGY: {game} has {others}; name "
        f"{f'one for {whom}{one_each}' if places else 'none'}, got {len(names)}"
    )


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
