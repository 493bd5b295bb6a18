"""Pages that run algorithms on a game in the browser, and their data."""

import base64
import hashlib
import html
import json
import re
from collections.abc import Mapping, Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

from attrs import frozen

from regretkit._util._validate import check_kind, whole_number
from regretkit.display._page_data import Code, algorithm_data, game_data
from regretkit.display._solution import solution_data
from regretkit.display._style import title_of
from regretkit.games import ExtensiveFormGame, Game, NormalFormGame, Profile
from regretkit.play import (
    Algorithm,
    AlgorithmLike,
    named,
)

_FOLDER = Path(__file__).with_name("page_files")
_OF_RUNS = ("engine.js", "charts.js", "timeline.js", "hands.js", "page.js")
_OF_SOLUTIONS = ("charts.js", "solution.js", "page.js")


@frozen(repr=False)
class Page:
    """A page in HTML, which notebooks show.

    Examples
    --------
    >>> import regretkit as rk
    >>> page = rk.display.page(rk.load("matching_pennies"), ["cfr"])
    >>> page.html[:15]
    '<!doctype html>'
    """

    html: str
    """The text of the page."""

    def save(self, path: str | Path) -> None:
        """Write the page to a file."""
        Path(path).write_text(self.html, encoding="utf-8")

    def _repr_html_(self) -> str:
        look = 'style="width: 100%; height: 860px; border: 0" sandbox="allow-scripts"'
        return f'<iframe title="regretkit" {look} srcdoc="{html.escape(self.html)}"></iframe>'

    def __repr__(self) -> str:
        return f"<Page: {len(self.html):,} characters>"


def page(
    shown: Game | Profile,
    algorithms: Mapping[str, AlgorithmLike] | Sequence[AlgorithmLike] = (),
    *,
    title: str | None = None,
    iterations: int = 1000,
    command: str = "",
) -> Page:
    """Return one HTML page on which algorithms run, or which shows a profile.

    The page needs no server or network. It runs the rules themselves: their NumPy code is traced
    and written as JavaScript. Anything else, such as a rule that cannot be traced or an algorithm
    that samples, is run here, and the page plays the recorded run.

    Parameters
    ----------
    shown
        A game in normal or extensive form, or a profile of any game.
    algorithms
        For a game: algorithms as for ``solve``, or a dict with a name for each.
    title
        The title of the page.
    iterations
        The length of recorded runs, and the horizon of averaging schemes that depend on it.
    command
        The command that makes the page, to show on it.

    Examples
    --------
    >>> import regretkit as rk
    >>> game = rk.load("kuhn_poker")
    >>> rk.display.page(game, ["cfr", "cfr+"])
    <Page: ... characters>
    >>> rk.display.page(rk.solve(game, "cfr+", iterations=100).average)
    <Page: ... characters>
    """
    named_game = shown._game if isinstance(shown, Profile) else shown
    name = title_of(str(getattr(named_game, "name", None) or "Game"))
    data: dict[str, Any] = {"title": title or name, "version": version("regretkit")}
    data["command"] = command
    if isinstance(shown, Profile):
        data["solution"] = solution_data(shown)
        return Page(_filled(data, [*map(_read, _OF_SOLUTIONS)], "page.css", "solution.css"))
    if not isinstance(shown, NormalFormGame | ExtensiveFormGame):
        check_kind(shown, ExtensiveFormGame, "shown", "load('kuhn_poker')")
    given = algorithms if isinstance(algorithms, Mapping) else {_name(x): x for x in algorithms}
    if not given:
        raise ValueError("algorithms must have at least one, got none")
    game, code = cast("NormalFormGame | ExtensiveFormGame", shown), Code()
    whole_number(iterations, "iterations", minimum=1)
    data["game"] = game_data(game)
    data["algorithms"] = [
        {"label": label, **algorithm_data(game, named(algorithm), iterations, code)}
        for label, algorithm in given.items()
    ]
    engine, *others = map(_read, _OF_RUNS)
    return Page(_filled(data, [engine, code.script(), *others], "page.css"))


def _read(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")


def _filled(data: Mapping[str, Any], scripts: Sequence[str], *styles: str) -> str:
    """Return the text of a page: the template with data, scripts and styles."""
    style, script = "\n".join(map(_read, styles)), "\n".join(scripts)
    shown = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    hashes = f"script-src {_hash(script)}; style-src {_hash(style)}"
    parts = {
        "csp": f"default-src 'none'; img-src data:; {hashes}",
        "title": html.escape(data["title"]),
        "style": style,
        "data": shown.replace("<", "\\u003c"),
        "script": script,
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], _read("page.html"))


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _name(algorithm: Any) -> str:
    if isinstance(algorithm, str):
        return title_of(algorithm)
    made = algorithm.local if isinstance(algorithm, Algorithm) else algorithm
    while isinstance(made, partial):
        made = made.func
    return getattr(made, "__name__", "algorithm")
