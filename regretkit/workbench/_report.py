"""A page of HTML to click through, of the results of an experiment."""

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from regretkit.display._convergence import AT_EQUILIBRIUM, AXES, LABELS
from regretkit.display._style import DASHES, escaped, look_of, shortened, title_of
from regretkit.workbench._comparison import ComparedRun, Comparison
from regretkit.workbench._figures import present
from regretkit.workbench._names import split

_PAGE = Path(__file__).with_name("report.html")
_DASHES: dict[str, str] = dict(zip(DASHES, ("solid", "dash", "dot", "dashdot"), strict=True))
_BORDERS: dict[str, str] = dict(zip(DASHES, ("solid", "dashed", "dotted", "double"), strict=True))
_MARKERS = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "x")


def html_report(
    results: Comparison, *, x: str = "iteration", y: str | None = None, title: str = "Results"
) -> str:
    """Return a page of HTML with all results, to be written into one file.

    It has a panel for each game with a curve for each run, whose values are shown under the
    pointer; boxes that choose games and algorithms, a slider for each hyperparameter, and the axes
    by all that was measured; and a table with the command that plays each result again, for those
    of ``Experiment`` that were made from texts. A browser shows it without server or network.

    Parameters
    ----------
    results
        What ``Experiment.run`` or ``read_results`` returned.
    x, y
        The axes that are shown first, as ``paper_figure`` takes them.
    title
        The title of the page.

    Examples
    --------
    >>> from regretkit.games import kuhn_poker
    >>> from regretkit import compare
    >>> page = html_report(compare(kuhn_poker(), ["cfr", "cfr+"], 100))
    >>> page.count('class="plotly-graph-div"')
    1
    """
    try:
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        told = "html_report needs plotly; install it with pip install 'regretkit[report]'"
        raise ImportError(told) from error
    y = results.measure(x, y)
    columns = list(dict.fromkeys(name for run in results.runs for name in run.columns))
    games: dict[str, list[ComparedRun]] = {}
    for run in results.runs:
        games.setdefault(run.game, []).append(run)
    algorithms = {name: n for n, name in enumerate(results.algorithms)}
    given = [_hyperparameters(name) for name in algorithms]
    chosen = list(dict.fromkeys(name for curves in given for name in curves))
    shown = [algorithms[name] for name in present(results)]
    labels = [_line(n) + escaped(title_of(name)) for name, n in algorithms.items()]
    equal = results.at_equilibrium(y)
    titles = [title_of(game) + f" ({AT_EQUILIBRIUM})" * (game in equal) for game in games]
    parts = {
        "TITLE": escaped(title),
        "FACTS": f"{len(results.runs)} runs of {len(shown)} algorithms on {len(games)} games.",
        "PLOTLY": get_plotlyjs(),
        "X": _options([name for name in columns if name in AXES], x, columns),
        "Y": _options([name for name in columns if name not in AXES], y, columns),
        "GAMES": _boxes("game", dict(enumerate(map(escaped, titles)))),
        "ALGORITHMS": _boxes("algorithm", {n: labels[n] for n in shown}),
        "HYPERPARAMETERS": "".join(_slider(name, given) for name in chosen),
        "PARAMETERS": json.dumps(given).replace("<", r"\u003c"),
        "PANELS": "".join(
            _panel(n, title, runs, algorithms, columns, x, y)
            for n, (title, runs) in enumerate(zip(titles, games.values(), strict=True))
        ),
        "TABLE": _table(titles, games.values(), algorithms, labels, given, chosen, y),
    }
    return re.sub("@([A-Z]+)@", lambda found: parts[found[1]], _PAGE.read_text(encoding="utf-8"))


def _hyperparameters(name: str) -> dict[str, str]:
    """Return those that stand in the name of an algorithm, ``dcfr(alpha=1.5,gamma=4)``."""
    found = re.fullmatch(r"[^(]*\((.*)\)", name)
    pairs = [word.partition("=") for word in split(found[1], ",")] if found else []
    return {key.strip(): value.strip() for key, equals, value in pairs if equals}


# Controls


def _boxes(kind: str, labels: Mapping[int, str]) -> str:
    return "".join(
        f'<label><input type="checkbox" name="{kind}" value="{n}" checked> {label}</label>'
        for n, label in labels.items()
    )


def _line(index: int) -> str:
    look = look_of(index)
    border = f"color:{look['color']};border-top-style:{_BORDERS[look['linestyle']]}"
    return f'<span class="line" style="{border}"></span>'


def _slider(name: str, given: Sequence[Mapping[str, str]]) -> str:
    """Return a slider over the values of a hyperparameter, if there are two, from all of them."""
    values = sorted({row[name] for row in given if name in row}, key=_size)
    if len(values) < 2:
        return ""
    asked = f'name="{escaped(name)}" data-values="{escaped(json.dumps(values))}"'
    slider = f'<input type="range" min="0" max="{len(values)}" value="0" {asked}>'
    return f"<fieldset><legend>{escaped(name)}</legend>{slider}<output>all</output></fieldset>"


def _size(text: str) -> tuple[float, str]:
    try:
        return float(text), text
    except ValueError:
        return math.inf, text


def _options(names: Sequence[str], chosen: str, columns: Sequence[str]) -> str:
    return "".join(
        f'<option value="{columns.index(name)}"{" selected" * (name == chosen)}>'
        f"{escaped(LABELS.get(name, name))}</option>"
        for name in names
    )


# Panels


def _panel(
    place: int,
    title: str,
    runs: Sequence[ComparedRun],
    algorithms: Mapping[str, int],
    columns: Sequence[str],
    x: str,
    y: str,
) -> str:
    from plotly.io import to_html

    axis = {"type": "log", "exponentformat": "power", "automargin": True, "ticks": "outside"}
    axis |= {"linecolor": "#444", "gridcolor": "#e5e5e5", "zeroline": False}
    layout = {
        f"{name}axis": axis | {"title": {"text": LABELS.get(column, column)}}
        for name, column in (("x", x), ("y", y))
    } | {
        "title": {"text": _text(title), "font": {"size": 15}, "x": 0.01},
        "showlegend": False,
        "hovermode": "closest",
        "plot_bgcolor": "white",
        "margin": {"l": 10, "r": 10, "t": 40, "b": 10},
    }
    data = [_curve(run, algorithms[run.algorithm], columns, x, y) for run in runs]
    options: Any = {"config": {"responsive": True, "displayModeBar": False}, "validate": False}
    options |= {"include_plotlyjs": False, "full_html": False, "div_id": f"panel{place}"}
    return f'<div class="panel">{to_html({"data": data, "layout": layout}, **options)}</div>'


def _curve(run: ComparedRun, index: int, columns: Sequence[str], x: str, y: str) -> dict[str, Any]:
    """Return a curve for plotly, in which a point has the row of its measurements."""
    empty, look = [None] * len(run.columns[x]), look_of(index)
    values = [
        f"{escaped(LABELS.get(name, name))}: %{{customdata[{place}]:.5~g}}"
        for place, name in enumerate(columns)
        if name in run.columns
    ]
    seed = [] if run.seed is None else [f"seed {run.seed}"]
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": _text(title_of(run.algorithm)),
        "meta": index,
        "x": run.columns[x],
        "y": run.columns[y],
        "customdata": list(zip(*(run.columns.get(name, empty) for name in columns), strict=True)),
        "line": {"color": look["color"], "dash": _DASHES[look["linestyle"]], "width": 1.5},
        "marker": {"size": 5, "symbol": _MARKERS[index % len(_MARKERS)]},
        "hovertemplate": "<br>".join(["<b>%{fullData.name}</b>", *seed, *values])
        + "<extra></extra>",
    }


def _text(text: str) -> str:
    """Return a name in which plotly sees no markup."""
    return shortened(text, 60).replace("&", "&amp;").replace("<", "&lt;")


# The table


def _table(
    titles: Sequence[str],
    games: Iterable[Sequence[ComparedRun]],
    algorithms: Mapping[str, int],
    labels: Sequence[str],
    given: Sequence[Mapping[str, str]],
    names: Sequence[str],
    y: str,
) -> str:
    """Return a table with a row for each game and algorithm."""
    rows = []
    for place, every in enumerate(games):
        groups: dict[int, list[ComparedRun]] = {}
        for run in every:
            groups.setdefault(algorithms[run.algorithm], []).append(run)
        for index, runs in groups.items():
            lasts = [run.columns[y][-1] for run in runs if run.columns[y][-1] is not None]
            spread = f"{min(lasts):.3g} to {max(lasts):.3g}" if len(lasts) > 1 else ""
            cells = [
                _cell(escaped(titles[place])),
                _cell(labels[index]),
                *(_cell(escaped(given[index].get(name, ""))) for name in names),
                _numeric(len(runs)),
                _numeric(median(run.columns["iteration"][-1] for run in runs)),
                _numeric(median(lasts)) if lasts else _cell(""),
                _cell(spread),
                _numeric(median(run.columns.get("seconds", [0.0])[-1] for run in runs)),
                _cell(f"<code>{escaped(runs[-1].command)}</code>" if runs[-1].command else ""),
            ]
            rows.append(f'<tr data-game="{place}" data-algorithm="{index}">{"".join(cells)}</tr>')
    heads = ["game", "algorithm", *names, "runs", "iterations", y, "range", "seconds", "command"]
    buttons = "".join(f"<th><button>{escaped(head)}</button></th>" for head in heads)
    return f"<table><thead><tr>{buttons}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _cell(content: str) -> str:
    return f"<td>{content}</td>"


def _numeric(value: float) -> str:
    text = f"{value:,.0f}" if value == int(value) else f"{value:.4g}"
    return f'<td class="number" data-value="{value!r}">{text}</td>'
