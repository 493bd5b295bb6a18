"""Figures and tables for papers, of the results of an experiment."""

import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from regretkit._util._validate import above_zero, quote
from regretkit.display._convergence import _LABELS, _band, _draw, _points, set_log_scales
from regretkit.display._style import (
    label_log_axis,
    number,
    plain,
    require_matplotlib,
    shortened,
    style,
    title_of,
)
from regretkit.play import Comparison
from regretkit.workbench._results import algorithms_of, measure_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

KINDS = ("curves", "profile")
WIDTHS = {"column": 3.35, "page": 7.0}
"""Inches, in a paper of two columns."""
_FONTS: dict[Any, Any] = {
    "font.size": 8.0,
    "axes.titlesize": 8.0,
    "axes.labelsize": 8.0,
    "legend.fontsize": 8.0,
    "xtick.labelsize": 7.0,
    "ytick.labelsize": 7.0,
}
_PANEL = 1.75
"""Width of a panel in inches, about."""
_TITLE = 23
"""Characters in a line of its title, of which there are two at most."""

Columns = Mapping[str, Sequence[Any]]


def paper_figure(
    results: Comparison,
    *,
    kind: Literal["curves", "profile"] = "curves",
    x: str = "iteration",
    y: str | None = None,
    width: str = "page",
    share: float = 1e-3,
) -> "Figure":
    """Return a figure as wide as a column or a page of a paper of two columns.

    Curves are small panels, one for each game, on logarithmic scales, with one legend: the median
    over seeds as a line, and a band between the quartiles. Triangles at an edge are values of zero
    or less.

    A performance profile says for how many of the games an algorithm needs at most a multiple of
    what the best one needs there, until the gap is a share of the largest one that an algorithm has
    after the first iteration.

    Parameters
    ----------
    results
        What ``Experiment.run`` or ``read_results`` returned.
    kind
        ``"curves"`` or ``"profile"``.
    x
        What is needed: ``"iteration"``, ``"visited"`` or ``"seconds"``.
    y
        The measure; by default the first one.
    width
        ``"column"`` or ``"page"``.
    share
        That of a profile, above zero.

    Examples
    --------
    >>> from regretkit.games import kuhn_poker
    >>> from regretkit.play import compare
    >>> figure = paper_figure(compare(kuhn_poker(), ["cfr", "cfr+"], 100), width="column")
    >>> [text.get_text() for text in figure.legends[0].get_texts()]
    ['CFR', 'CFR+']

    References
    ----------
    Dolan and More (2002), "Benchmarking optimization software with performance profiles",
    Mathematical Programming 91.
    """
    require_matplotlib("paper_figure")
    import matplotlib as mpl

    for value, known, name in ((kind, KINDS, "kind"), (width, WIDTHS, "width")):
        if value not in known:
            raise ValueError(f"{name} must be one of {', '.join(known)}, got {quote(value)}")
    above_zero(share, "share")
    y = measure_of(results, x, y)
    with mpl.rc_context(_FONTS):
        if kind == "curves":
            return _curves(results, x, y, WIDTHS[width])
        return _profile(results, x, y, WIDTHS[width], share)


def gap_table(
    results: Comparison, gap: float, *, x: str = "iteration", y: str | None = None
) -> str:
    r"""Return a table in LaTeX, for the package booktabs, of what it takes to reach a gap.

    It has a line for each game and a column for each algorithm, with the median over seeds of where
    the gap was first measured to be so small, in bold type where it is the least, and a dash where
    it was not.

    Parameters
    ----------
    results
        What ``Experiment.run`` or ``read_results`` returned.
    gap
        The gap, above zero, in units of payoff.
    x, y
        As ``paper_figure`` takes them.

    Examples
    --------
    >>> from regretkit.games import kuhn_poker
    >>> from regretkit.play import compare
    >>> print(gap_table(compare(kuhn_poker(), ["cfr", "cfr+"], 100), 0.05))
    \begin{tabular}{lrr}
    \toprule
    game & CFR & CFR+ \\
    \midrule
    Kuhn poker & 30 & \textbf{12} \\
    \bottomrule
    \end{tabular}
    """
    above_zero(gap, "gap")
    y = measure_of(results, x, y)
    needed, algorithms = _needed(results, x, y, lambda _: gap), algorithms_of(results)
    rows = [
        [
            _latex(title_of(game)),
            *(_cell(found.get(name), min(found.values())) for name in algorithms),
        ]
        for game, found in needed.items()
    ]
    return _tabular(["game", *(_latex(title_of(name)) for name in algorithms)], rows)


def _tabular(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table of booktabs, with numbers in all columns but the first."""
    first, *lines = [" & ".join(cells) + r" \\" for cells in (heads, *rows)]
    begin = rf"\begin{{tabular}}{{l{'r' * (len(heads) - 1)}}}"
    middle = [r"\toprule", first, r"\midrule", *lines, r"\bottomrule"]
    return "\n".join([begin, *middle, r"\end{tabular}"])


def _cell(value: float | None, minimum: float) -> str:
    if value is None or value == math.inf:
        return "--"
    text = f"{value:,.0f}" if value == int(value) else f"{value:.3g}"
    return rf"\textbf{{{text}}}" if value == minimum else text


def _latex(text: str) -> str:
    """Return a name in which nothing is a command."""
    text = text.replace("\\", r"\textbackslash ")
    return "".join(f"\\{letter}" if letter in "&%$#_{}" else letter for letter in text)


# What is needed


def _needed(
    results: Comparison, x: str, y: str, target: Callable[[Sequence[Columns]], float]
) -> dict[str, dict[str, float]]:
    """Return by game and algorithm where a target is first reached, infinity if it is not."""
    found: dict[str, dict[str, float]] = {}
    for game, curves in results.curves().items():
        goal = target([columns for runs in curves.values() for columns in runs])
        found[game] = {
            name: median(_first(columns, x, y, goal) for columns in runs)
            for name, runs in curves.items()
        }
    return found


def _first(columns: Columns, x: str, y: str, goal: float) -> float:
    pairs = zip(columns[x], columns[y], strict=True)
    return next((float(at) for at, gap in pairs if gap is not None and gap <= goal), math.inf)


# Figures


def _figure(width: float, panels: int, ratio: float) -> tuple["Figure", list["Axes"]]:
    from matplotlib.figure import Figure

    rows = math.ceil(panels / max(1, round(width / _PANEL)))
    across = math.ceil(panels / rows)  # so that few places stay empty
    figure = Figure(figsize=(width, rows * width / across * ratio + 0.4), layout="constrained")
    axes = figure.subplots(rows, across, squeeze=False).ravel()
    for ax in axes[panels:]:
        ax.set_axis_off()
    return figure, list(axes[:panels])


def _finish(figure: "Figure", axes: Sequence["Axes"], width: float) -> "Figure":
    """Add one legend for all panels."""
    handles: dict[str, Any] = {}
    for ax in axes:
        ax.grid(visible=True, which="major", linewidth=0.4)
        ax.set_axisbelow(True)
        for line in ax.get_lines():
            label = str(line.get_label())
            if line.get_linestyle() != "None" and not label.startswith("_"):  # no triangle
                handles.setdefault(label, line)
    columns = min(len(handles), 4 if width > WIDTHS["column"] else 2)
    figure.set_figheight(figure.get_figheight() + 0.16 * math.ceil(len(handles) / columns))
    look: Any = {"loc": "outside upper center", "frameon": False, "ncols": columns}
    look["columnspacing"] = 1.2
    figure.legend([*handles.values()], [*handles], **look)
    return figure


def _curves(results: Comparison, x: str, y: str, width: float) -> "Figure":
    panels, algorithms = results.curves(), algorithms_of(results)
    figure, axes = _figure(width, len(panels), 0.85)
    for ax, (game, curves) in zip(axes, panels.items(), strict=True):
        points = []
        for index, name in enumerate(algorithms):
            if name in curves:
                band = _band([_points(columns, x, y, game) for columns in curves[name]])
                points.append((band[0], np.median(band[1], axis=0)))
                _draw(ax, index, plain(title_of(name)), *band, log=True, quartiles=True)
        set_log_scales(ax, points)
        title = textwrap.wrap(shortened(title_of(game), 2 * _TITLE - 2), _TITLE)
        ax.set_title("\n".join(map(plain, title)))
        for line in ax.get_lines():
            line.set(markersize=2.5, linewidth=1.0)
            line.set_markevery(max(1, np.size(line.get_xdata()) // 7))
    figure.supxlabel(_LABELS.get(x, x), fontsize=8.0)
    figure.supylabel(_LABELS.get(y, y), fontsize=8.0)
    return _finish(figure, axes, width)


def _ratio(found: Mapping[str, float], name: str) -> float:
    """Return what an algorithm needs as a multiple of the least, infinity if it is never there."""
    own = found.get(name, math.inf)
    return own / max(min(found.values()), 1e-9) if own < math.inf else math.inf


def _profile(results: Comparison, x: str, y: str, width: float, share: float) -> "Figure":
    needed = _needed(
        results, x, y, lambda tables: share * max(table[y][0] or 0.0 for table in tables)
    )
    ratios = {
        name: np.sort([_ratio(found, name) for found in needed.values()])
        for name in algorithms_of(results)
    }
    last = max((r for row in ratios.values() for r in row if r < math.inf), default=1.0)
    figure, [ax] = _figure(width, 1, min(0.6, 2.6 / width))
    for index, (name, row) in enumerate(ratios.items()):
        reached = row[row < math.inf]
        across = np.concatenate([[1.0], reached, [1.1 * last]])
        shares = np.concatenate([[0.0], np.arange(1, reached.size + 1), [reached.size]]) / row.size
        ax.step(across, shares, where="post", label=plain(title_of(name)), **style(index))
    ax.set(xscale="log", xlim=(1.0, 1.1 * last), ylim=(0.0, 1.02))
    label_log_axis(ax.xaxis)
    ax.set_xlabel(f"{_LABELS.get(x, x)} to {number(share)} of the first gap, over the least")
    ax.set_ylabel("share of games")
    return _finish(figure, [ax], width)
