"""``regretkit play``: the user against a strategy, or strategies against each other."""

from collections.abc import Sequence

import click

from regretkit._util._validate import quote
from regretkit.cli._arguments import (
    COUNT,
    FROM_ZERO,
    GAME_HELP,
    UNIFORM,
    NamedGame,
    load_strategy,
    name_of,
)
from regretkit.cli._commands._dialog import play_at_terminal
from regretkit.cli._commands._match import Lineup, play_matches
from regretkit.cli._exit_codes import Refusal
from regretkit.cli._options import game_argument, json_option, option, quiet_option
from regretkit.games import ExtensiveFormGame, NormalFormGame


@click.command(
    "play", short_help="Play against a strategy, or let strategies play.", epilog=GAME_HELP
)
@game_argument
@click.argument("strategies", metavar="[STRATEGY]...", nargs=-1)
@option("--matches", "Let strategies play N matches against each other, without you.", COUNT)
@option("--rounds", "Stop after N rounds; by default when you leave.", COUNT)
@option(
    "--seat",
    "Which player you are, from 0; with --matches, which one the first strategy is. By default "
    "seats rotate after every round.",
    FROM_ZERO,
)
@option("--seed", "The seed; by default 0 with --matches, else a new one.", FROM_ZERO)
@quiet_option
@json_option
def play(
    game: NamedGame,
    strategies: tuple[str, ...],
    matches: int | None,
    rounds: int | None,
    seat: int | None,
    seed: int | None,
    quiet: bool,
    as_json: bool,
) -> int:
    """Play GAME at the terminal against strategies, or let strategies play against each other.

    STRATEGY is a JSON file that solve or exact wrote; or uniform, the default, which plays all
    actions with the same probability. One strategy plays for all the others, with --matches for
    all players; more are one for each of them, in order.

    Answer with the name of an action or the beginning of it. You leave with Ctrl-D, which is the
    end of the input, or with Ctrl-C. Both report what you have earned; the exit code is 0 after
    the one, and 130 after the other.

    With --matches, the report has the mean payoff of each strategy per match, and its exact
    expectation over the same seatings. The interval contains that with a confidence of about 95 %,
    for many matches.

    Games of imperfect recall need no option.
    """
    if matches is not None and rounds is not None:
        raise Refusal(
            "--rounds: is how long you play, got --matches as well; leave one of them out"
        )
    played = game.played
    players, name = len(played.domains), name_of(played)
    if seat is not None and seat >= players:
        raise Refusal(
            f"--seat: {name} has {_counted(players)}, numbered from 0 to {players - 1}, got {seat}"
        )
    names = _participants(name, players, strategies, alone=matches is not None)
    if matches is not None and len(names) == 1 and seat is not None:
        raise Refusal(
            f"--seat: {names[0]} plays for all players, got {seat}; leave it out, or name a "
            "strategy for each player"
        )
    if not isinstance(played, ExtensiveFormGame | NormalFormGame):
        raise Refusal(f"GAME: {quote(played)} is neither in normal nor in extensive form")
    profiles = {n: game.coarsen(load_strategy(played, n)) for n in dict.fromkeys(names)}
    lineup = Lineup(played, tuple((n, profiles[n]) for n in names), seat)
    if matches is not None:
        return play_matches(lineup, matches, seed or 0, quiet=quiet, as_json=as_json)
    return play_at_terminal(lineup, rounds, seed, as_json=as_json)


def _participants(game: str, players: int, strategies: Sequence[str], *, alone: bool) -> list[str]:
    """Return the strategies that play, beside the user if there is one, or refuse their number."""
    places = players if alone else players - 1
    names = list(strategies) or [UNIFORM] * bool(places)
    if len(names) in (min(1, places), places):
        return names
    user = "" if alone else ", of which you are one"
    one_each = "" if places <= 1 else f", or {places}, one for each"
    wanted = f"one for all {'players' if alone else 'the others'}{one_each}" if places else "none"
    raise Refusal(
        f"STRATEGY: {game} has {_counted(players)}{user}; name {wanted}, got {len(names)}"
    )


def _counted(players: int) -> str:
    return f"{players} player{'' if players == 1 else 's'}"
