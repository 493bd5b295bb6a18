"""``regretkit games``, ``show``, ``convert``, ``trace`` and ``page``: games and rules."""

import inspect
import re
import shlex
from pathlib import Path
from typing import Any

import click

from regretkit import games
from regretkit.cli import _types as types
from regretkit.cli._console import Failure, Report, reason, reporting, write_file
from regretkit.cli._types import COUNT, GAME_HELP, GameType, NamedGame, option
from regretkit.display._games import game_figure, size_rows, sizes, table_lines, tree_lines
from regretkit.display._style import aligned, file_of, title_of
from regretkit.games import NormalFormGame, Profile
from regretkit.games.public import PublicGame
from regretkit.sets import Simplices
from regretkit.trace import UntraceableError, as_javascript, describe_kernel, find_kernel
from regretkit.workbench._names import algorithm_of, load_game, short

RULES_ALONE = {"phantom_tic_tac_toe": games.PhantomTicTacToe}
"""Games of the catalogue without a tree."""
LARGE: dict[str, dict[str, Any]] = {
    "dudo": {
        **{"form": "extensive", "players": 2},
        **{"histories": 294_883, "information_sets": [12_288, 12_288]},
    },
    "phantom_tic_tac_toe": {"form": "extensive", "players": 2},
}
"""Sizes of games that are slow to build, without the tree if it does not fit into memory."""


def _factory(name: str) -> Any:
    return RULES_ALONE.get(name) or getattr(games, name)


@click.command("games", short_help="List the games of the catalogue.")
@click.argument("name", required=False, metavar="[NAME]", shell_complete=GameType().shell_complete)
@types.as_json
def list_games(name: str | None) -> int:
    """List the games of the catalogue with their sizes, or explain the game NAME.

    The sizes are those of the default arguments. Other arguments can make a game much larger.
    """
    known = sorted({*games.names(), *RULES_ALONE})
    if name is not None:
        name = name.partition("(")[0].strip()
        if name not in known:
            with reporting("NAME"):
                games.load(name)
        call, text = _documentation(name)
        text = text[:1].upper() + text[1:]
        report = {"name": name, "call": call, "text": text}
        return Report(report, [call, "", *text.splitlines()]).write()
    rows: list[dict[str, Any]] = []
    for name in known:
        call, text = _documentation(name)
        row = {"name": name, "call": call, "what": text.partition("\n")[0].rstrip(".")}
        rows.append(row | (LARGE[name] if name in LARGE else sizes(load_game(name))))
    heads = ("game", "players", "histories", "information sets", "what it is")
    lines = aligned([heads, *map(_cells, rows)], right=(1, 2))
    lines += ["", "regretkit games NAME explains a game and its arguments."]
    return Report({"games": rows}, lines).write()


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    histories = f"{row['histories']:,}" if "histories" in row else ""
    sets = " + ".join(f"{count:,}" for count in row.get("information_sets", []))
    if "actions" in row:
        sets = f"{' x '.join(map(str, row['actions']))} actions"
    return row["name"], str(row["players"]), histories, sets, re.split("[,:]", row["what"])[0]


def _documentation(name: str) -> tuple[str, str]:
    """Return the call of a game with its default arguments, and its description."""
    signature = inspect.signature(_factory(name))
    text = re.split(r"\n(?:Raises|Examples)\n", inspect.getdoc(_factory(name)) or "")[0]
    text = text.replace("``", "").removeprefix("Return ").strip()
    return f"{name}{signature.replace(return_annotation=inspect.Signature.empty)}", text


@click.command("show", short_help="Show a game as text, or draw it.", epilog=GAME_HELP)
@types.game
@option("--limit", "Show at most N histories, or outcomes of a normal form.", COUNT, default=250)
@option("--plot", "Draw it instead, as .svg, .pdf or .png.", types.figure_file)
@types.as_json
def show_game(game: NamedGame, limit: int, plot: Path | None) -> int:
    """Show a game: its sizes, and its tree or its table of payoffs."""
    if plot is not None:
        with reporting("--plot"):
            drawing = file_of(game_figure(game.game, limit), plot.suffix[1:].lower())
        write_file(plot, drawing, "--plot")
    recalls = not game.forgets
    facts = {"name": game.name, **sizes(game.game), "perfect_recall": recalls}
    facts |= {"fingerprint": games.fingerprint(game.game) if recalls else None}
    recall = [] if recalls else [("recall", "imperfect recall")]
    lines = [game.name, *aligned([*size_rows(game.game), *recall])]
    lines += [f"drawn in {plot}"] if plot else ["", *_text(game.game, limit)]
    return Report({**facts, "plot": plot and str(plot)}, lines).write()


def _text(game: Any, limit: int) -> list[str]:
    if isinstance(game, NormalFormGame):
        outcomes = game.payoffs[0].size
        if outcomes > limit:
            return [f"{outcomes:,} outcomes: --limit {outcomes} shows them"]
        lines = list(table_lines(game))
        return lines if lines[0] else lines[1:]
    if isinstance(game, PublicGame):
        return []
    lines = list(tree_lines(game.tree, limit))
    if (rest := game.tree.histories - limit) > 0:
        lines += ["", f"{rest:,} longer histories omitted: --limit {rest + limit} shows them"]
    return lines


@click.command(short_help="Write a game to a Gambit file.", epilog=GAME_HELP)
@click.argument("source", metavar="IN", type=GameType())
@click.argument("target", metavar="OUT", type=types.OutputFile(".efg", ".nfg"))
@option("--for-gambit", "Replace characters and names that Gambit rejects.", is_flag=True)
@types.as_json
def convert(source: NamedGame, target: Path, for_gambit: bool) -> int:
    """Write the game IN to the file OUT, in Gambit's format.

    IN is a GAME. OUT ends in .efg for a game in extensive form and in .nfg for one in normal form.
    """
    with reporting("OUT"):
        games.save(source.game, target, for_gambit=for_gambit)
    report = Report({"game": source.name, "out": str(target)})
    report.add(f"{source.name} written to {target}")
    return report.write()


@click.command("trace", short_help="Show the compiled code of a rule.")
@click.argument("name", metavar="NAME")
@click.option("--driver", is_flag=True, help="Also show the loops over the game that call it.")
@click.option("--javascript", is_flag=True, help="Show a script for Node.js or a browser instead.")
@types.as_json
def show_trace(name: str, driver: bool, javascript: bool) -> int:
    """Show the compiled code of the rule NAME: its graph, and the loops generated from it.

    NAME is an algorithm, such as cfr+, or a rule of yours as my_rule.py:MyRule, with
    hyperparameters if needed, as in 'my_rule.py:MyRule(power=2)'.
    """
    with reporting("NAME"):
        rule = algorithm_of(name).minimizer(Simplices([2, 3]))
    try:
        described = as_javascript(find_kernel(rule, exact=True)) if javascript else ""
        text = described or describe_kernel(rule, exact=True)
    except UntraceableError as error:
        raise Failure(f"NAME: {name} cannot be traced: {reason(error)}") from error
    if driver:
        from regretkit.engine.kernels import _iteration, _walks  # slow to import

        found: list[Any] = [_iteration.iterate, _iteration.update, _iteration.update_range]
        found += [_walks.backward, _walks.gather, _walks.value_of, _walks.forward]
        text = "\n\n".join([text, "driver:", *map(inspect.getsource, found)])
    return Report({"name": name, "text": text}, text.splitlines()).write()


@click.command("page", short_help="Write a page that runs algorithms.", epilog=GAME_HELP)
@click.argument("shown", metavar="GAME|STRATEGY")
@click.argument("algorithms", metavar="[ALGORITHMS]...", nargs=-1)
@option("--out", "The page, as .html.", types.OutputFile(".html"), default="page.html")
@option("--title", "The title of the page.")
@option("--iterations", "Iterations of runs that are recorded.", COUNT, default=1_000)
@types.as_json
def write_page(
    shown: str, algorithms: tuple[str, ...], out: Path, title: str | None, iterations: int
) -> int:
    """Write one HTML page that runs algorithms on a game, or shows a strategy.

    The page runs the rules in the browser, without a server or network. ALGORITHMS are names such
    as cfr+ or rules of yours as my_rule.py:MyRule. STRATEGY is a file of solve --out, in .json.
    """
    from regretkit.display import page  # slow to import

    words = ["page", shown, *algorithms, "--out", out.name]
    words += ["--title", title] if title else []
    command = shlex.join(["regretkit", *words])
    if shown.endswith(".json"):
        with reporting("STRATEGY"):
            if algorithms:
                raise ValueError("is shown without algorithms; pass a GAME to run them")
            made = page(Profile.from_json(shown), title=title, command=command)
    else:
        game = GameType().convert(shown, click.Argument(["game"]), None)
        with reporting("ALGORITHMS"):
            listed = {title_of(short(text)): algorithm_of(text) for text in algorithms}
            made = page(game.played, listed, title=title, iterations=iterations, command=command)
    write_file(out, made.html.encode())
    report = Report({"out": str(out), "characters": len(made.html)})
    report.add(f"page written to {out}")
    return report.write()
