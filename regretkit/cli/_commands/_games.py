"""``regretkit games``: the catalogue."""

import difflib
import inspect
import re
from typing import Any

import click

from regretkit import games
from regretkit._util._validate import quote
from regretkit.cli._arguments import GameType
from regretkit.cli._console import show, show_json, show_table
from regretkit.cli._exit_codes import DONE, Refusal
from regretkit.cli._options import json_option
from regretkit.cli._report import facts_of
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


@click.command("games", short_help="List the games of the catalogue.")
@click.argument("name", required=False, metavar="[NAME]", shell_complete=GameType().shell_complete)
@json_option
def list_games(name: str | None, as_json: bool) -> int:
    """List the games of the catalogue with their sizes, or explain the game NAME.

    The sizes are those without arguments; with other arguments a game can be much larger.
    """
    if name is not None:
        return _explain(name, as_json)
    rows = [_row(known) for known in games.names()]
    if as_json:
        show_json({"games": rows})
        return DONE
    heads = ("game", "players", "histories", "information sets", "what it is")
    show_table(heads, map(_cells, rows), right=(1, 2), soft=-1 % len(heads))
    show("", "regretkit games NAME explains a game and its arguments.")
    return DONE


def _row(name: str) -> dict[str, Any]:
    facts = LARGE[name] if name in LARGE else facts_of(games.load(name))
    what = _documentation(name).partition("\n")[0].rstrip(".")
    return {"name": name, "call": _call(name), "what": what, **{k: facts[k] for k in LARGE["dudo"]}}


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    histories = "" if row["histories"] is None else f"{row['histories']:,}"
    if row["actions"] is None:
        sets = " + ".join(f"{count:,}" for count in row["information_sets"])
    else:
        sets = f"{' x '.join(map(str, row['actions']))} actions"
    return row["name"], str(row["players"]), histories, sets, re.split("[,:]", row["what"])[0]


def _documentation(name: str) -> str:
    text = (inspect.getdoc(_FACTORIES[name]) or "").partition("\nRaises\n")[0]
    return text.partition("\nExamples\n")[0].replace("``", "").removeprefix("Return ").strip()


def _call(name: str) -> str:
    signature = inspect.signature(_FACTORIES[name])
    return f"{name}{signature.replace(return_annotation=inspect.Signature.empty)}"


def _explain(text: str, as_json: bool) -> int:
    name, known = text.partition("(")[0].strip(), games.names()
    if name not in known:
        close = difflib.get_close_matches(name, known) or [n for n in known if name and name in n]
        hint = f"did you mean {' or '.join(close)}? It" if close else "it"
        raise Refusal(
            f"NAME: there is no game {quote(text)} in the catalogue; {hint} has {', '.join(known)}"
        )
    text = _documentation(name)
    text = text[:1].upper() + text[1:]
    if as_json:
        show_json({"name": name, "call": _call(name), "text": text})
    else:
        show(_call(name), "", *text.splitlines())
    return DONE
