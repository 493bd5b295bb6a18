"""Games as a shell names them: of the catalogue, in a file, or OpenSpiel's."""

import os
from pathlib import Path
from typing import Any

from regretkit import games
from regretkit._util._validate import quote
from regretkit.cli.exits import Refusal, refusing
from regretkit.cli.screen import patience, silent_descriptor
from regretkit.games import (
    ExtensiveFormGame,
    Game,
    ImperfectRecallGame,
    NormalFormGame,
    fingerprint,
)
from regretkit.games._game import constant
from regretkit.games._imperfect_recall import game_from_tree

OPENSPIEL = "openspiel:"

HELP = (
    "A GAME is one of the catalogue, with arguments if you like, such as kuhn_poker or "
    "'liars_dice(sides=4)'; or a file of Gambit's, such as game.efg or ./game; or one of "
    "OpenSpiel's, such as openspiel:leduc_poker. Parentheses need quotation marks in a shell."
)


def game_of(text: str, argument: str = "GAME") -> Game:
    """Return the game that a text names, or refuse it."""
    with patience("building the game takes its time; Ctrl-C ends it"):
        return _loaded(text, argument)


def _loaded(text: str, argument: str) -> Game:
    others = f"a file that is there, or {OPENSPIEL}NAME"
    if not text.strip():
        raise Refusal(f"{argument}: got nothing; name a game of the catalogue, {others}")
    if Path(text).suffix.lower() == ".json":
        raise Refusal(
            f"{argument}: got {quote(text)}, but games are in files of Gambit's, and strategies in "
            ".json; the game comes first"
        )
    with refusing(argument, "name a file that is there, or a game that regretkit games lists"):
        if text.startswith(OPENSPIEL):
            with silent_descriptor():
                return _of_openspiel(text.removeprefix(OPENSPIEL))
        if is_file(text):
            return games.load(Path(text))
        name, colon, rest = text.partition(":")
        if colon and name in games.names():
            raise ValueError(
                f"cannot read {quote(text)}; write '{name}({rest})' in quotation marks"
            )
        if is_known(text.replace("-", "_")) and not is_known(text):
            raise ValueError(
                f"cannot read {quote(text)}; did you mean {quote(text.replace('-', '_'))}?"
            )
        try:
            return games.load(text)
        except ValueError as error:
            raise error if is_known(text) else ValueError(f"{error}; or name {others}") from error


def _of_openspiel(name: str) -> Game:
    from regretkit.games.openspiel._tree import tree_from_openspiel  # which few commands need

    name, tree = tree_from_openspiel(name)
    return game_from_tree(tree, name)


def is_known(text: str) -> bool:
    """Say whether a text begins with the name of a game of the catalogue."""
    return text.partition("(")[0].strip() in games.names()


def is_file(text: str) -> bool:
    """Say whether a text names a file; a name of the catalogue never does."""
    if is_known(text):
        return False
    path = Path(text)
    return path.suffix.lower() in (".efg", ".nfg") or os.sep in text or path.exists()


def settled(text: str) -> str:
    """Return a text that names the same game from any folder."""
    file = not text.startswith(OPENSPIEL) and is_file(text)
    return os.path.abspath(text) if file else text  # noqa: PTH100 # it may be a link, and stay one


def name_of(game: Game) -> str:
    """Return what a game is called."""
    return getattr(game, "name", None) or "a game without a name"


def facts_of(game: Game) -> dict[str, Any]:
    """Return what there is to know about a game before it is played, as JSON has it."""
    facts = {"name": name_of(game), "form": "normal", "players": 0, "actions": None}
    if isinstance(game, NormalFormGame):
        return facts | {
            "players": game.players,
            "actions": [domain.dimension for domain in game.domains],
            "histories": None,
            "terminals": None,
            "depth": None,
            "information_sets": [1] * game.players,
            "constant_sum": game.constant_sum,
            "perfect_recall": True,
            "fingerprint": fingerprint(game),
        }
    if not isinstance(game, ExtensiveFormGame | ImperfectRecallGame):
        raise Refusal(f"GAME: {quote(game)} is neither in normal nor in extensive form")
    tree, recall = game.tree, isinstance(game, ExtensiveFormGame)
    return facts | {
        "form": "extensive",
        "players": tree.players,
        "histories": tree.histories,
        "terminals": int(tree.terminals.size),
        "depth": tree.depth,
        "information_sets": list(tree.information_sets),
        "constant_sum": constant(tree.payoffs.sum(axis=1), tree.payoffs),
        "perfect_recall": recall,
        "fingerprint": fingerprint(game) if recall else None,
    }
