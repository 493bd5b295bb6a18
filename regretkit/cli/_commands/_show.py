"""``regretkit show``: a game as text, or as a drawing."""

import sys
from pathlib import Path
from typing import Any

import click

from regretkit._util._errors import problem_of
from regretkit._util._files import replace_file
from regretkit._util._validate import quote
from regretkit.cli._arguments import COUNT, GAME_HELP, NamedGame, OutputFile
from regretkit.cli._console import show, show_json
from regretkit.cli._exit_codes import DONE, Refusal, failing
from regretkit.cli._options import game_argument, json_option, option
from regretkit.cli._report import facts_of
from regretkit.display._style import number
from regretkit.games import ExtensiveFormGame, Game, ImperfectRecallGame, NormalFormGame


@click.command("show", short_help="Show a game as text, or draw it.", epilog=GAME_HELP)
@game_argument
@option("--limit", "Show at most N histories, or outcomes of a normal form.", COUNT, default=250)
@option("--svg", "Draw it into an SVG file instead.", OutputFile(".svg", figure=True))
@json_option
def show_game(game: NamedGame, limit: int, svg: Path | None, as_json: bool) -> int:
    """Show a game: its sizes, and its tree or its table of payoffs."""
    facts = facts_of(game.game)
    if svg is not None:
        drawing = _drawing(game.game, limit)
        with failing(f"--svg: cannot write {quote(str(svg))}"):
            replace_file(svg, [drawing.encode()])
    if as_json:
        show_json({**facts, "svg": None if svg is None else str(svg)})
        return DONE
    show(*_facts(facts))
    if svg is None:
        show("", *_text(game.game, limit))
    else:
        show(f"drawing           {svg}")
    return DONE


def _drawing(game: Game, limit: int) -> str:
    from regretkit.display._games import game_figure, size_of
    from regretkit.display._style import svg_of

    try:
        return svg_of(game_figure(game, limit))
    except (TypeError, ValueError) as error:
        size = size_of(game)[0]
        raise Refusal(f"--svg: {problem_of(error)}; pass --limit {size} to draw it") from error


def _facts(facts: dict[str, Any]) -> list[str]:
    players = f"{facts['players']} player{'s' if facts['players'] > 1 else ''}"
    recall = "" if facts["perfect_recall"] else ", imperfect recall"
    lines = [facts["name"], f"form              {facts['form']}, {players}{recall}"]
    if facts["form"] == "normal":
        lines.append(f"actions           {' x '.join(map(str, facts['actions']))}")
    else:
        lines += [
            f"histories         {facts['histories']:,}, of which {facts['terminals']:,} are "
            f"terminal; the longest has {facts['depth']:,} actions",
            f"information sets  {' + '.join(f'{n:,}' for n in facts['information_sets'])}",
        ]
    total = facts["constant_sum"]
    kind = "general sum" if total is None else f"they sum to {number(total)}"
    return [*lines, f"payoffs           {kind}"]


def _text(game: Game, limit: int) -> list[str]:
    from regretkit.display._games import table_lines, tree_lines

    if isinstance(game, NormalFormGame):
        outcomes = game.payoffs[0].size
        if outcomes > limit:
            return [f"It has {outcomes:,} outcomes: --limit {outcomes} shows them."]
        lines = list(table_lines(game))
        return lines if lines[0] else lines[1:]
    if not isinstance(game, ExtensiveFormGame | ImperfectRecallGame):
        return []
    lines = list(tree_lines(game.tree, limit, ascii_only=not _shows_branches()))
    hidden = game.tree.histories - limit
    if hidden > 0:
        advice = f"--limit {game.tree.histories} shows them too"
        lines += ["", f"{hidden:,} longer histories are left out: {advice}."]
    return lines


def _shows_branches() -> bool:
    """Return whether the encoding of standard output has the lines of branches."""
    try:
        "├─└│".encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
