"""Figures and tables for papers."""

import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from regretkit._util._validate import above_zero, quote
from regretkit.display._convergence import AT_EQUILIBRIUM, LABELS, draw_curves
from regretkit.display._style import (
    font_size,
    label_log_axis,
    number,
    plain,
    require_matplotlib,
    shortened,
    style,
    title_of,
    width_of,
)
from regretkit.workbench._comparison import Comparison

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

KINDS = ("curves", "profile")
WIDTHS = {"column": 3.35, "page": 7.0}
"""Widths of a two-column paper, in inches."""
_FONTS: dict[Any, Any] = {
    "font.size": 8.0,
    "axes.titlesize": 8.0,
    "axes.labelsize": 8.0,
    "legend.fontsize": 8.0,
    "xtick.labelsize": 7.0,
    "ytick.labelsize": 7.0,
}
_PANEL = 1.75
"""Approximate width of a panel, in inches."""

Columns = Mapping[str, Sequence[Any]]


def gap_table(
    results: Comparison, gap: float, *, x: str = "iteration", y: str | None = None
) -> str:
    r"""Return a LaTeX table of the work to reach a gap, for the package booktabs.

    The table has a line for each game and a column for each algorithm. An entry is the median over
    seeds of the work at the first measurement of at most ``gap``. The least of a line is bold.
    ``> 1,000`` means that 1,000 iterations did not reach the gap, and a dash that no run exists.

    Parameters
    ----------
    results
        From ``Experiment.run`` or ``read_results``.
    gap
        The gap, above zero, in units of payoff.
    x, y
        The work and the measure, as for ``Comparison.plot``.

    Examples
    --------
    >>> from regretkit.games import kuhn_poker
    >>> from regretkit import compare
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
    y, algorithms = results.measure(x, y), results.present()
    equal, rows = results.at_equilibrium(y), list[list[str]]()
    for game, found in _needed(results, x, y, lambda _: gap).items():
        runs = results.curves()[game]
        least = min(found.values())
        cells = [
            _cell(found[name], least, max(columns[x][-1] for columns in runs[name]))
            if name in found
            else "--"
            for name in algorithms
        ]
        note = rf" ({AT_EQUILIBRIUM})" if game in equal else ""
        rows.append([_latex(title_of(game)) + note, *cells])
    return _tabular(["game", *(_latex(title_of(name)) for name in algorithms)], rows)


def _tabular(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a booktabs table; all columns but the first are aligned to the right."""
    first, *lines = [" & ".join(cells) + r" \\" for cells in (heads, *rows)]
    begin = rf"\begin{{tabular}}{{l{'r' * (len(heads) - 1)}}}"
    middle = [r"\toprule", first, r"\midrule", *lines, r"\bottomrule"]
    return "\n".join([begin, *middle, r"\end{tabular}"])


def _cell(value: float, least: float, most: float) -> str:
    if value == math.inf:
        return f"$>$ {_number(most)}"
    return rf"\textbf{{{_number(value)}}}" if value == least else _number(value)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:.3g}"


def _latex(text: str) -> str:
    """Return a name with LaTeX's special characters escaped."""
    text = text.replace("\\", r"\textbackslash ")
    return "".join(f"\\{letter}" if letter in "&%$#_{}" else letter for letter in text)


def _needed(
    results: Comparison, x: str, y: str, target: Callable[[Sequence[Columns]], float]
) -> dict[str, dict[str, float]]:
    """Return, by game and algorithm, the work to reach a target, or infinity."""
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


def draw(
    results: Comparison, kind: str, x: str, y: str, width: float | str | None, share: float
) -> "Figure":
    """Return the figure of ``Comparison.plot``."""
    require_matplotlib("a figure")
    import matplotlib as mpl

    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {quote(kind)}")
    if isinstance(width, str) and width not in WIDTHS:
        raise ValueError(f"width must be one of {', '.join(WIDTHS)}, got {quote(width)}")
    above_zero(share, "share")
    on_paper = isinstance(width, str)
    inches = WIDTHS[width] if isinstance(width, str) else width
    with mpl.rc_context(_FONTS if on_paper else {}):
        if kind == "profile":
            return _profile(results, x, y, inches or 6.4, share)
        return _panels(results, x, y, inches, _PANEL if on_paper else 3.2)


def _figure(width: float, panels: int, ratio: float, panel: float) -> tuple["Figure", list["Axes"]]:
    from matplotlib.figure import Figure

    rows = math.ceil(panels / max(1, round(width / panel)))
    across = math.ceil(panels / rows)  # balances the rows
    figure = Figure(figsize=(width, rows * width / across * ratio + 0.4), layout="constrained")
    axes = figure.subplots(rows, across, squeeze=False).ravel()
    for ax in axes[panels:]:
        ax.set_axis_off()
    return figure, list(axes[:panels])


def _add_legend(figure: "Figure", axes: Sequence["Axes"]) -> None:
    """Add one legend above all panels, with as many columns as fit."""
    pairs = [zip(*ax.get_legend_handles_labels(), strict=True) for ax in axes]
    found = {label: handle for handles in pairs[::-1] for handle, label in handles}
    size = font_size()
    widest = max(width_of(label, size) for label in found) + 4.5 * size
    columns = max(1, min(len(found), int(72 * figure.get_figwidth() / widest)))
    rows = math.ceil(len(found) / columns)
    figure.set_figheight(figure.get_figheight() + 1.5 * size * rows / 72)
    look: Any = {"loc": "outside upper center", "frameon": False, "ncols": columns}
    figure.legend([*found.values()], [*found], columnspacing=1.2, **look)


def _panels(results: Comparison, x: str, y: str, width: float | None, panel: float) -> "Figure":
    """Return a panel for each game; an algorithm has the color of its position."""
    curves = results.curves()
    if width is None:
        width = 6.4 if len(curves) == 1 else panel * min(len(curves), 3)
    looks = {name: place for place, name in enumerate(results.algorithms)}
    figure, axes = _figure(width, len(curves), 0.85 if len(curves) > 1 else 0.65, panel)
    columns = math.ceil(len(curves) / math.ceil(len(curves) / max(1, round(width / panel))))
    letters = max(12, int((72 * width / columns / font_size() - 4.5) / 0.53))
    for ax, (game, runs) in zip(axes, curves.items(), strict=True):
        ordered = {name: runs[name] for name in results.algorithms if name in runs}
        draw_curves(ax, ordered, x, y, looks=looks)
        title = textwrap.wrap(shortened(title_of(game), 3 * letters - 2), letters)
        ax.set_title("\n".join(map(plain, title)))
        for line in ax.get_lines():
            line.set(markersize=2.5, linewidth=1.0)
            line.set_markevery(max(1, np.size(line.get_xdata()) // 7))
    figure.supxlabel(LABELS.get(x, x), fontsize="medium")
    figure.supylabel(LABELS.get(y, y), fontsize="medium")
    _add_legend(figure, axes)
    return figure


def _profile(results: Comparison, x: str, y: str, width: float, share: float) -> "Figure":
    names, equal = results.present(), results.at_equilibrium(y)
    reached = _needed(results, x, y, lambda runs: share * max(run[y][0] or 0.0 for run in runs))
    rows = [
        [found[name] for name in names]
        for game, found in reached.items()
        if len(found) == len(names) and game not in equal
    ]
    if not rows:
        raise ValueError("a profile needs a game with results of all algorithms")
    figure, [ax] = _figure(width, 1, min(0.6, 2.6 / width), width)
    needed = np.array(rows)
    least = np.maximum(needed.min(axis=1, keepdims=True), 1e-9)
    ratios = needed / np.where(np.isfinite(least), least, 1.0)
    last = ratios[np.isfinite(ratios)].max(initial=1.0)
    for name, column in zip(names, ratios.T, strict=True):
        row = np.sort(column[np.isfinite(column)])
        across = np.concatenate([[1.0], row, [1.1 * last]])
        shares = np.concatenate([[0.0], np.arange(1, row.size + 1), [row.size]]) / len(rows)
        look = style(list(results.algorithms).index(name))
        ax.step(across, shares, where="post", label=plain(title_of(name)), **look)
    ax.set(xscale="log", xlim=(1.0, 1.1 * last), ylim=(0.0, 1.02))
    label_log_axis(ax.xaxis)
    ax.set_xlabel(f"{LABELS.get(x, x)} to {number(share)} of the first gap, over the least")
    ax.set_ylabel(f"share of {len(rows)} games")
    ax.grid(visible=True)
    ax.set_axisbelow(True)
    _add_legend(figure, [ax])
    return figure
