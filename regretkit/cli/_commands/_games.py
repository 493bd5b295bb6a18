"""``regretkit games``, ``show``, ``convert`` and ``trace``: what games and rules are."""

import inspect
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from regretkit import games
from regretkit._util._errors import reason
from regretkit._util._validate import quote
from regretkit.circuits import Product
from regretkit.circuits._base import local_minimizer
from regretkit.cli import _arguments as arguments
from regretkit.cli._arguments import COUNT, GAME_HELP, AnyGame, Choice, GameType, NamedGame, option
from regretkit.cli._console import Failure, Refusal, answer, reporting, table
from regretkit.cli._run import write_file
from regretkit.display._style import number
from regretkit.games import NormalFormGame
from regretkit.games._game import constant
from regretkit.games._registry import _FACTORIES, _RULES, unknown_game
from regretkit.games.public import PublicGame
from regretkit.sets import Simplices
from regretkit.trace import UntraceableError, describe_kernel

_SIZES = ("form", "players", "actions", "histories", "information_sets")
LARGE: dict[str, tuple[Any, ...]] = {
    "dudo": ("extensive", 2, None, 294_883, [12_288, 12_288]),
    "phantom_tic_tac_toe": ("extensive", 2, None, None, None),
}
"""The sizes of games that take more than a moment to build, None where no tree fits."""
_KNOWN = {**_RULES, **_FACTORIES}


@click.command("games", short_help="List the games of the catalogue.")
@click.argument("name", required=False, metavar="[NAME]", shell_complete=GameType().shell_complete)
@arguments.as_json
def list_games(name: str | None) -> int:
    """List the games of the catalogue with their sizes, or explain the game NAME.

    The sizes are those without arguments; with other arguments a game can be much larger.
    """
    if name is not None:
        return _explain(name.partition("(")[0].strip())
    rows: list[dict[str, Any]] = []
    for known in sorted(_KNOWN):
        facts = {} if known in LARGE else _facts(arguments.load_game(known, "NAME"))
        sizes = LARGE[known] if known in LARGE else [facts[name] for name in _SIZES]
        call, text = _documentation(known)
        row = {"name": known, "call": call, "what": text.partition("\n")[0].rstrip(".")}
        rows.append(row | dict(zip(_SIZES, sizes, strict=True)))
    heads = ("game", "players", "histories", "information sets", "what it is")
    lines = table(heads, map(_cells, rows), right=(1, 2), soft=len(heads) - 1)
    lines += ["", "regretkit games NAME explains a game and its arguments."]
    return answer({"games": rows}, lines)


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    histories = "" if row["histories"] is None else f"{row['histories']:,}"
    sets = " + ".join(f"{count:,}" for count in row["information_sets"] or [])
    if row["actions"] is not None:
        sets = f"{' x '.join(map(str, row['actions']))} actions"
    return row["name"], str(row["players"]), histories, sets, re.split("[,:]", row["what"])[0]


def _explain(name: str) -> int:
    if name not in _KNOWN:
        with reporting("NAME"):
            raise unknown_game(name)
    call, text = _documentation(name)
    text = text[:1].upper() + text[1:]
    report = {"name": name, "call": call, "text": text}
    return answer(report, [call, "", *text.splitlines()])


def _documentation(name: str) -> tuple[str, str]:
    """Return how a game is called with its default arguments, and what it is."""
    signature = inspect.signature(_KNOWN[name])
    text = re.split(r"\n(?:Raises|Examples)\n", inspect.getdoc(_KNOWN[name]) or "")[0]
    text = text.replace("``", "").removeprefix("Return ").strip()
    return f"{name}{signature.replace(return_annotation=inspect.Signature.empty)}", text


@click.command("show", short_help="Show a game as text, or draw it.", epilog=GAME_HELP)
@arguments.game
@option("--limit", "Show at most N histories, or outcomes of a normal form.", COUNT, default=250)
@option("--plot", "Draw it instead, as .svg, .pdf or .png.", arguments.figure_file)
@arguments.as_json
def show_game(game: NamedGame, limit: int, plot: Path | None) -> int:
    """Show a game: its sizes, and its tree or its table of payoffs."""
    facts = _facts(game.game)
    if plot is not None:
        drawing = _drawing(game.game, limit, plot.suffix[1:].lower())
        write_file(plot, drawing, "--plot: cannot write")
    lines = _lines(facts, [f"drawing           {plot}"] if plot else ["", *_text(game.game, limit)])
    return answer({**facts, "plot": plot and str(plot)}, lines)


def _lines(facts: dict[str, Any], drawing: Sequence[str]) -> Iterator[str]:
    players = f"{facts['players']} player{'s' if facts['players'] > 1 else ''}"
    recall = "" if facts["perfect_recall"] else ", imperfect recall"
    yield facts["name"]
    yield f"form              {facts['form']}, {players}{recall}"
    if facts["form"] == "normal":
        yield f"actions           {' x '.join(map(str, facts['actions']))}"
    elif facts["histories"] is not None:
        yield (
            f"histories         {facts['histories']:,}, of which {facts['terminals']:,} are "
            f"terminal; the longest has {facts['depth']:,} actions"
        )
    if facts["form"] != "normal":
        yield f"information sets  {' + '.join(f'{n:,}' for n in facts['information_sets'])}"
    total = facts["constant_sum"]
    yield f"payoffs           {'general sum' if total is None else f'they sum to {number(total)}'}"
    yield from drawing


def _facts(game: AnyGame) -> dict[str, Any]:
    """Return the sizes and properties of a game, as in JSON."""
    tree, actions, sets = None, None, [1] * game.players
    if isinstance(game, NormalFormGame):
        form, total = "normal", game.constant_sum
        actions = [domain.dimension for domain in game.domains]
    elif isinstance(game, PublicGame):
        form, total = "public", game.constant_sum
        sets = [domain.points for domain in game.domains]
    else:
        form, tree = "extensive", game.tree
        total, sets = constant(tree.payoffs.sum(axis=1), tree.payoffs), [*tree.information_sets]
    perfect_recall = not isinstance(game, games.ImperfectRecallGame)
    return {
        "name": game.name or "a game without a name",
        "form": form,
        "players": game.players,
        "actions": actions,
        "histories": tree and tree.histories,
        "terminals": tree and int(tree.terminals.size),
        "depth": tree and tree.depth,
        "information_sets": sets,
        "constant_sum": total,
        "perfect_recall": perfect_recall,
        "fingerprint": games.fingerprint(game) if perfect_recall else None,
    }


def _drawing(game: AnyGame, limit: int, kind: str) -> bytes:
    from regretkit.display._games import game_figure, size_of
    from regretkit.display._style import file_of

    try:
        return file_of(game_figure(game, limit), kind)
    except TypeError as error:
        raise Refusal(f"--plot: {reason(error)}") from error
    except ValueError as error:
        size = size_of(game)[0]
        raise Refusal(f"--plot: {reason(error)}; pass --limit {size} to draw it") from error


def _text(game: AnyGame, limit: int) -> list[str]:
    from regretkit.display._games import table_lines, tree_lines

    if isinstance(game, NormalFormGame):
        outcomes = game.payoffs[0].size
        if outcomes > limit:
            return [f"It has {outcomes:,} outcomes: --limit {outcomes} shows them."]
        lines = list(table_lines(game))
        return lines if lines[0] else lines[1:]
    if isinstance(game, PublicGame):
        return [f"{game.tree!r}, {' x '.join(f'{n:,}' for n in game.deal.sizes)} types"]
    try:  # whether the encoding of the output has these letters
        ascii_only = not "├─└│".encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        ascii_only = True
    lines = list(tree_lines(game.tree, limit, ascii_only=ascii_only))
    if game.tree.histories > limit:
        advice = f"--limit {game.tree.histories} shows them too"
        lines += ["", f"{game.tree.histories - limit:,} longer histories are left out: {advice}."]
    return lines


@click.command(short_help="Write a game into a Gambit file.", epilog=GAME_HELP)
@click.argument("source", metavar="IN", type=GameType())
@click.argument("target", metavar="OUT", type=arguments.OutputFile(".efg", ".nfg"))
@option("--for-gambit", "Replace what Gambit rejects, such as odd characters.", is_flag=True)
@arguments.as_json
def convert(source: NamedGame, target: Path, for_gambit: bool) -> int:
    """Write the game IN into the file OUT, in Gambit's format.

    IN is a GAME. OUT ends in .efg for a game in extensive form and in .nfg for one in normal form.
    """
    game, path, name = source.game, quote(str(target)), source.name
    if isinstance(game, PublicGame):
        raise Refusal(f"IN: {name} is a public game, which Gambit's formats do not have")
    form, ending = ("normal", "nfg") if isinstance(game, NormalFormGame) else ("extensive", "efg")
    if target.suffix != f".{ending}":
        raise Refusal(f"OUT: {name} is in {form} form, got {path}; let the name end in .{ending}")
    with reporting(f"OUT: cannot write {path}", Failure):
        games.save(game, target, for_gambit=for_gambit)
    report = {"game": name, "out": str(target)}
    return answer(report, [f"{name} written to {target}"])


@click.command("trace", short_help="Show what a rule is compiled to.")
@click.argument("name", metavar="NAME")
@option(
    "--exact",
    "Show the code of whole iterations, which compares sums with their terms.",
    is_flag=True,
)
@arguments.as_json
def show_trace(name: str, exact: bool) -> int:
    """Show what the rule NAME is compiled to: its graph, and the loops that are made of it.

    NAME is an algorithm, such as cfr+, or module:Class, with hyperparameters if needed, as in
    'my_rules:MyRule(power=2)'; modules are looked for in this folder too.
    """
    choice = Choice.of(name, None, argument="NAME")
    local = choice.algorithm.local
    if isinstance(local, tuple):
        raise Refusal(f"NAME: must be one rule, got {name}; name one of them")
    with choice.blamed():
        rule = local_minimizer(local, Simplices([2, 3]))
    if isinstance(rule, Product):
        raise Failure(f"NAME: {name} cannot be traced: it plays several rules; name one of them")
    try:
        text = describe_kernel(rule, exact=exact)
    except UntraceableError as error:
        raise Failure(f"NAME: {name} cannot be traced: {error}") from error
    return answer({"name": name, "exact": exact, "text": text}, text.splitlines())
