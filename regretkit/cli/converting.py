"""``regretkit convert``: games from one format into another."""

import click

from regretkit import games
from regretkit._util._validate import quote
from regretkit.cli.exits import DONE, Refusal, failing
from regretkit.cli.files_out import GAMES, checked
from regretkit.cli.games_in import HELP, game_of, name_of
from regretkit.cli.options import complete_game, json_option
from regretkit.cli.screen import show, show_json


@click.command(short_help="Write a game into a file of another format.", epilog=HELP)
@click.argument("source", metavar="IN", shell_complete=complete_game)
@click.argument("target", metavar="OUT")
@click.option(
    "--for-gambit", is_flag=True, help="Change what Gambit itself refuses, such as odd letters."
)
@json_option
def convert(source: str, target: str, for_gambit: bool, as_json: bool) -> int:
    """Write the game IN into the file OUT, in Gambit's format.

    IN is a GAME. OUT ends in .efg for a game in
    extensive form and in .nfg for one in normal form.
    """
    path = checked(target, "OUT", GAMES)
    game = game_of(source, "IN")
    wanted = ".nfg" if isinstance(game, games.NormalFormGame) else ".efg"
    if path is None or path.suffix != wanted:
        form = "normal" if wanted == ".nfg" else "extensive"
        raise Refusal(
            f"OUT: {name_of(game)} is in {form} form, got {quote(target)}; let the name end in "
            f"{wanted}"
        )
    with failing(f"OUT: cannot write {quote(target)}"):
        games.save(game, path, for_gambit=for_gambit)  # type: ignore[arg-type]
    if as_json:
        show_json({"game": name_of(game), "out": str(path)})
    else:
        show(f"{name_of(game)} written to {path}")
    return DONE
