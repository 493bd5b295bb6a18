"""``regretkit games`` and ``regretkit show``: which games there are, and what they look like."""

import difflib
import inspect
import re
import sys
from typing import Any

import click

from regretkit import games
from regretkit._errors import problem_of
from regretkit._util._files import replace_file
from regretkit._util._validate import quote
from regretkit.cli import figures
from regretkit.cli.exits import DONE, Refusal, failing
from regretkit.cli.files_out import DRAWINGS, checked
from regretkit.cli.games_in import HELP, facts_of, game_of
from regretkit.cli.options import complete_game, count, game_argument, json_option
from regretkit.cli.screen import number, show, show_json, show_table
from regretkit.games import ExtensiveFormGame, Game, ImperfectRecallGame, NormalFormGame
from regretkit.games._registry import _FACTORIES

LARGE: dict[str, dict[str, Any]] = {
    "dudo": {
        "form": "extensive",
        "players": 2,
        "actions": None,
        "histories": 294_883,
        "information_sets": [12_288, 12_288],
    }
}
"""The sizes of games that take more than a moment to build."""

LIMIT = 250


@click.command("games", short_help="List the games of the catalogue.")
@click.argument("name", required=False, metavar="[NAME]", shell_complete=complete_game)
@json_option
def list_games(name: str | None, as_json: bool) -> int:
    """List the games of the catalogue with their sizes, or explain the one called NAME.

    The sizes are those without arguments; with other arguments a game can be much larger.
    """
    if name is not None:
        return _explain(name, as_json)
    rows = [_row(known) for known in games.names()]
    if as_json:
        show_json({"games": rows})
        return DONE
    show_table(
        ("game", "players", "histories", "information sets", "what it is"),
        [
            (
                row["name"],
                str(row["players"]),
                _count(row["histories"]),
                _sets(row),
                re.split("[,:]", row["what"])[0],
            )
            for row in rows
        ],
        right=(1, 2),
    )
    show("", "regretkit games NAME explains a game and its arguments.")
    return DONE


def _row(name: str) -> dict[str, Any]:
    sizes = LARGE[name] if name in LARGE else sizes_of(games.load(name))
    return {"name": name, "call": _call(name), "what": _summary(name), **sizes}


def sizes_of(game: Game) -> dict[str, Any]:
    """Return what there is to count in a game."""
    facts = facts_of(game)
    return {name: facts[name] for name in LARGE["dudo"]}


def _count(histories: int | None) -> str:
    return "" if histories is None else f"{histories:,}"


def _sets(row: dict[str, Any]) -> str:
    if row["actions"] is not None:
        return f"{' x '.join(map(str, row['actions']))} actions"
    return " + ".join(f"{count:,}" for count in row["information_sets"])


def _summary(name: str) -> str:
    first = (inspect.getdoc(_FACTORIES[name]) or "").partition("\n")[0]
    return first.replace("``", "").removeprefix("Return ").rstrip(".")


def _call(name: str) -> str:
    signature = inspect.signature(_FACTORIES[name])
    return f"{name}{signature.replace(return_annotation=inspect.Signature.empty)}"


def _explain(text: str, as_json: bool) -> int:
    name = text.partition("(")[0].strip()
    if name not in games.names():
        close = difflib.get_close_matches(name, games.names()) or [
            known for known in games.names() if name and name in known
        ]
        hint = f"did you mean {' or '.join(close)}? It" if close else "it"
        raise Refusal(
            f"NAME: there is no game {quote(text)} in the catalogue; {hint} has "
            f"{', '.join(games.names())}"
        )
    text = (inspect.getdoc(_FACTORIES[name]) or "").partition("\nRaises\n")[0]
    text = text.partition("\nExamples\n")[0].replace("``", "").removeprefix("Return ").strip()
    text = text[:1].upper() + text[1:]
    if as_json:
        show_json({"name": name, "call": _call(name), "text": text})
    else:
        show(_call(name), "", *text.splitlines())
    return DONE


@click.command("show", short_help="Show a game as text, or draw it.", epilog=HELP)
@game_argument
@click.option(
    "--limit",
    type=count,
    metavar="N",
    default=LIMIT,
    show_default=True,
    help="Show at most N histories, or outcomes of a normal form.",
)
@click.option("--svg", metavar="FILE", help="Draw it into an SVG file instead.")
@json_option
def show_game(game: str, limit: int, svg: str | None, as_json: bool) -> int:
    """Show a game: its sizes, and its tree or its table of payoffs."""
    path = checked(svg, "--svg", DRAWINGS)
    if path is not None:
        figures.check("--svg")
    found = game_of(game)
    facts = facts_of(found)
    if path is not None:
        picture = _picture(found, limit)
        with failing(f"--svg: cannot write {quote(str(path))}"):
            replace_file(path, [picture.encode()])
    if as_json:
        show_json({**facts, "svg": None if path is None else str(path)})
        return DONE
    show(*_facts(facts))
    if path is None:
        show("", *_text(found, limit))
    else:
        show(f"picture           {path}")
    return DONE


def _picture(game: Game, limit: int) -> str:
    from regretkit.display._game_figure import game_figure, size_of
    from regretkit.display._style import svg_of

    try:
        return svg_of(game_figure(game, limit))
    except (TypeError, ValueError) as error:
        size = size_of(game)[0]
        raise Refusal(f"--svg: {problem_of(error)}; pass --limit {size} to draw it") from error


def _facts(facts: dict[str, Any]) -> list[str]:
    players = f"{facts['players']} player{'s' if facts['players'] > 1 else ''}"
    recall = "" if facts["perfect_recall"] else ", somebody forgets"
    lines = [
        f"{facts['name']}",
        f"form              {facts['form']}, {players}{recall}",
    ]
    if facts["form"] == "normal":
        lines.append(f"actions           {' x '.join(map(str, facts['actions']))}")
    else:
        lines += [
            f"histories         {facts['histories']:,}, of which {facts['terminals']:,} are ends; "
            f"the longest has {facts['depth']:,} actions",
            f"information sets  {' + '.join(f'{n:,}' for n in facts['information_sets'])}",
        ]
    total = facts["constant_sum"]
    kind = "general sum" if total is None else f"they sum to {number(total)}"
    return [*lines, f"payoffs           {kind}"]


def _text(game: Game, limit: int) -> list[str]:
    from regretkit.display._text import table_lines, tree_lines

    if isinstance(game, NormalFormGame):
        outcomes = game.payoffs[0].size
        if outcomes > limit:
            return [f"It has {outcomes:,} outcomes: --limit {outcomes} shows them."]
        lines = list(table_lines(game))
        return lines if lines[0] else lines[1:]
    if not isinstance(game, ExtensiveFormGame | ImperfectRecallGame):
        return []
    lines = list(tree_lines(game.tree, limit, ascii_only=not _is_fine()))
    hidden = game.tree.histories - limit
    if hidden > 0:
        all_of_them = f"--limit {game.tree.histories} shows them too"
        lines += ["", f"{hidden:,} longer histories are left out: {all_of_them}."]
    return lines


def _is_fine() -> bool:
    """Say whether the branches of a tree can be shown as lines."""
    try:
        "├─└│".encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
