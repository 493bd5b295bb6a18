"""A page of HTML to click through, of the results of an experiment."""

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
    """Return a page of HTML with all results, for one file.

    It has a panel for each game with a curve for each run; the pointer shows the values of a curve.
    Boxes choose games and algorithms, a slider each hyperparameter, and lists the axes. A table has
    the command that plays each result again, for experiments that were made from texts. A browser
    shows the page without server or network.

    Parameters
    ----------
    results
        From ``Experiment.run`` or ``read_results``.
    x, y
        The axes at first, as ``paper_figure`` takes them.
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
        told = "html_report needs plotly; install it with pip install 'regretkit[report]'"
        raise ImportError(told) from error
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
    shown = json.dumps(data, default=float).replace("<", r"\u003c")  # so that no text ends a script
    return before.replace("@PLOTLY@", get_plotlyjs()) + shown + after


def _hyperparameters(name: str) -> dict[str, str]:
    """Return the arguments in the name of an algorithm, as in ``dcfr(alpha=1.5,gamma=4)``."""
    found = re.fullmatch(r"[^(]*\((.*)\)", name)
    pairs = [word.partition("=") for word in split(found[1], ",")] if found else []
    return {key.strip(): value.strip() for key, equals, value in pairs if equals}
