"""``regretkit convert``: games from one format into another."""

from pathlib import Path

import click

from regretkit import games
from regretkit._util._validate import quote
from regretkit.cli._arguments import GAME_HELP, GameType, NamedGame, OutputFile, name_of
from regretkit.cli._console import show, show_json
from regretkit.cli._exit_codes import DONE, Refusal, failing
from regretkit.cli._options import json_option, option


@click.command(short_help="Write a game into a Gambit file.", epilog=GAME_HELP)
@click.argument("source", metavar="IN", type=GameType())
@click.argument("target", metavar="OUT", type=OutputFile(".efg", ".nfg"))
@option("--for-gambit", "Replace what Gambit rejects, such as odd characters.", is_flag=True)
@json_option
def convert(source: NamedGame, target: Path, for_gambit: bool, as_json: bool) -> int:
    """Write the game IN into the file OUT, in Gambit's format.

    IN is a GAME. OUT ends in .efg for a game in extensive form and in .nfg for one in normal form.
    """
    game, path = source.game, quote(str(target))
    is_normal = isinstance(game, games.NormalFormGame)
    form, ending = ("normal", ".nfg") if is_normal else ("extensive", ".efg")
    if target.suffix != ending:
        raise Refusal(
            f"OUT: {name_of(game)} is in {form} form, got {path}; let the name end in {ending}"
        )
    with failing(f"OUT: cannot write {path}"):
        games.save(game, target, for_gambit=for_gambit)  # type: ignore[arg-type]
    if as_json:
        show_json({"game": name_of(game), "out": str(target)})
    else:
        show(f"{name_of(game)} written to {target}")
    return DONE
