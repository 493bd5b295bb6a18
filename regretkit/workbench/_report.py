"""Interactive HTML pages of the results of an experiment."""

import json
import re
from pathlib import Path

from regretkit.display._convergence import AT_EQUILIBRIUM, AXES, LABELS
from regretkit.display._style import look_of, title_of
from regretkit.workbench._comparison import Comparison
from regretkit.workbench._names import split

_PAGE = Path(__file__).with_name("report.html")


def html_report(
    results: Comparison, *, x: str = "iteration", y: str | None = None, title: str = "Results"
) -> str:
    """Return one interactive HTML page with all results.

    The page has a panel for each game with a curve for each run, and shows values under the
    pointer. Boxes select games and algorithms, sliders hyperparameters, and lists the axes. A table
    gives the command that repeats each result, if its game and algorithm are strings. The page
    needs no server or network.

    Parameters
    ----------
    results
        From ``Experiment.run`` or ``read_results``.
    x, y
        The initial axes, as for ``Comparison.plot``.
    title
        The title of the page.

    Examples
    --------
    >>> from regretkit.games import kuhn_poker
    >>> from regretkit import compare
    >>> page = html_report(compare(kuhn_poker(), ["cfr", "cfr+"], 100), title="CFR and CFR+")
    >>> '"title": "CFR and CFR+"' in page
    True
    """
    try:
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        cure = "install it with pip install 'regretkit[report]'"
        raise ImportError(f"html_report needs plotly; {cure}") from error
    y = results.measure(x, y)
    columns = list(dict.fromkeys(name for run in results.runs for name in run.columns))
    games, equal = list(results.curves()), results.at_equilibrium(y)
    data = {
        **{"title": title, "x": x, "y": y, "axes": AXES, "columns": columns},
        "labels": {name: LABELS.get(name, name) for name in columns},
        "games": [title_of(game) + f" ({AT_EQUILIBRIUM})" * (game in equal) for game in games],
        "algorithms": [
            {"title": title_of(name), "given": _hyperparameters(name), **look_of(place)}
            for place, name in enumerate(results.algorithms)
        ],
        "runs": [
            {
                "game": games.index(run.game),
                "algorithm": results.algorithms.index(run.algorithm),
                **{"seed": run.seed, "command": run.command, "columns": dict(run.columns)},
            }
            for run in results.runs
        ],
    }
    before, after = _PAGE.read_text(encoding="utf-8").split("@DATA@")
    shown = json.dumps(data, default=float).replace("<", r"\u003c")  # no "</script>" in strings
    return before.replace("@PLOTLY@", get_plotlyjs()) + shown + after


def _hyperparameters(name: str) -> dict[str, str]:
    """Return the arguments in an algorithm's name, such as ``dcfr(alpha=1.5,gamma=4)``."""
    found = re.fullmatch(r"[^(]*\((.*)\)", name)
    pairs = [word.partition("=") for word in split(found[1], ",")] if found else []
    return {key.strip(): value.strip() for key, equals, value in pairs if equals}
