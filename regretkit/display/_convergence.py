"""Curves of gaps over iterations."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from regretkit._util._typing import Vector
from regretkit._util._validate import candidates, quote
from regretkit.display._style import (
    MARKERS,
    axes_for,
    label_axes,
    label_log_axis,
    plain,
    require_matplotlib,
    shortened,
    style,
    title_of,
)
from regretkit.play import Recorder

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class _Columns(Protocol):
    """A table: a mapping from column names to numbers, or a pandas data frame."""

    def keys(self) -> object: ...
    def __getitem__(self, name: str, /) -> ArrayLike: ...


Curve: TypeAlias = Recorder | _Columns
"""The measurements of one run: a ``Recorder``, or a table."""

AXES = "iteration", "visited", "seconds"
"""Columns for horizontal axes."""

_GAPS = ("nash_conv", "NashConv", "exploitability", "gap")
"""The columns drawn by default, in this order."""

_CORRELATED = "CCE", "CE", "EFCCE", "EFCE"
_IN_PAYOFFS = (
    *("exploitability", "gap", "local_best_response", "linear_gap"),
    *("regret", "external_regret", "swap_regret"),
)

LABELS = {
    "iteration": "iterations",
    "iterations": "iterations",
    "seconds": "time (seconds)",
    "visited": "histories visited",
    "last_nash_conv": "NashConv of the last iterate (units of payoff)",
    "nash_conv": "NashConv (units of payoff)",
    "NashConv": "NashConv (units of payoff)",
    **{f"{name.lower()}_gap": f"{name} gap (units of payoff)" for name in _CORRELATED},
    **{name: f"{name.replace('_', ' ')} (units of payoff)" for name in _IN_PAYOFFS},
}
"""Labels of axes, with units, by column."""

AT_EQUILIBRIUM = "starts at equilibrium"
"""The note on a game where the uniform profile has no gap."""
_ROUNDING = 1e-12
"""Smaller gaps are rounding."""

_MARKED = 40
"""Most markers of a curve."""


def convergence(
    curves: Mapping[str, Curve | Sequence[Curve]],
    *,
    x: str = "iteration",
    y: str | None = None,
    xlabel: str | None = None,
    ylabel: str | None = None,
    title: str | None = None,
    log: bool = True,
    figsize: tuple[float, float] | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw gaps against iterations on logarithmic scales, with a line for each run.

    On a logarithmic scale, triangles at the lower edge mark values of zero or less, and points with
    ``x <= 0`` are omitted. So are points that are not finite.

    Parameters
    ----------
    curves
        A mapping from names of runs to measurements: a ``Recorder``, a mapping from columns to
        numbers, or a data frame. A list has the measurements of one run for each seed: a line shows
        their median, and a band the quartiles. The legend writes algorithms as in papers:
        ``"cfr+"`` becomes CFR+.
    x
        The column of the horizontal axis, such as ``"iteration"`` or ``"seconds"``.
    y
        The column of the vertical axis. The default is ``"nash_conv"``, ``"exploitability"`` or
        ``"gap"``, or else the only column besides ``"iteration"`` and ``x``.
    xlabel, ylabel
        Labels of the axes; by default the column, with its unit if known.
    log
        Whether both scales are logarithmic.
    title, figsize, ax
        See ``display``.

    Examples
    --------
    >>> from regretkit.games import kuhn_poker
    >>> from regretkit.play import At, Recorder, geometric, solve
    >>> game, records = kuhn_poker(), {}
    >>> for name in ("cfr", "cfr+"):
    ...     records[name] = Recorder("nash_conv")
    ...     watch = At(geometric(), records[name])
    ...     run = solve(game, name, iterations=100, callbacks=[watch])
    >>> axes = convergence(records, title="Kuhn poker")
    >>> axes.get_xlabel(), axes.get_ylabel(), axes.get_xscale()
    ('iterations', 'NashConv (units of payoff)', 'log')
    >>> [text.get_text() for text in axes.get_legend().get_texts()]
    ['CFR', 'CFR+']
    """
    require_matplotlib("display.convergence")
    if not isinstance(curves, Mapping) or not curves:
        wanted = "curves must map names of runs to measurements, as in {'cfr+': record}"
        raise TypeError(f"{wanted}, got {shortened(repr(curves), 200)}")
    tables = {
        name: [_columns(run, f"curves[{quote(name)}]") for run in _runs(curve)]
        for name, curve in curves.items()
    }
    y = _default_column(tables, x) if y is None else y
    ax = axes_for(ax, figsize, None)
    draw_curves(ax, tables, x, y, looks={name: n for n, name in enumerate(tables)}, log=log)
    label_axes(
        ax,
        xlabel=LABELS.get(x, x) if xlabel is None else xlabel,
        ylabel=LABELS.get(y, y) if ylabel is None else ylabel,
        title=title,
    )
    if len(ax.get_legend_handles_labels()[1]) > 1:
        ax.legend()
    return ax


def draw_curves(
    ax: "Axes",
    curves: Mapping[str, Sequence[Mapping[str, Any]]],
    x: str,
    y: str,
    *,
    looks: Mapping[str, int],
    log: bool = True,
) -> None:
    """Draw named curves, with the style numbers in ``looks``."""
    points = {
        name: [_points(table, x, y, f"curves[{quote(name)}]") for table in tables]
        for name, tables in curves.items()
    }
    across = [values for runs in points.values() for values, _ in runs]
    heights = [values for runs in points.values() for _, values in runs]
    if log:
        for values, name in ((across, "x"), (heights, "y")):
            positive = any((each > 0.0).any() for each in values)
            if positive:
                ax.set(**{f"{name}scale": "log"})
            else:
                ax.set(**{f"{name}ticks": ()})
    empty = log and ax.get_yscale() == "linear"
    if empty or starts_at_equilibrium(y, heights):
        note = AT_EQUILIBRIUM if starts_at_equilibrium(y, heights) else "zero or less throughout"
        place = 0.5, 0.5 if empty else 0.06
        look: Any = {"ha": "center", "va": "center", "fontsize": "small"}
        ax.text(*place, note, transform=ax.transAxes, **look)
    if empty and ax.get_xscale() == "log":
        places = np.concatenate(across)
        ax.set_xlim(0.9 * places[places > 0.0].min(), 1.1 * places.max())
    below = False
    for name, runs in points.items():
        below |= _draw(ax, looks[name], plain(title_of(str(name))), *_together(runs), log=log)
    if below:
        ax.plot([], [], marker=7, linestyle="none", color="0.5", label="zero or less")
    for axis in (ax.xaxis, ax.yaxis):
        if axis.get_scale() == "log":
            label_log_axis(axis)
    ax.grid(True, which="major", linewidth=0.5)
    ax.set_axisbelow(True)


def starts_at_equilibrium(y: str, curves: Sequence[ArrayLike]) -> bool:
    """Return whether y is a gap and its first measurement is zero in all curves."""
    gap = y in _GAPS or y.endswith(("_gap", "nash_conv"))
    firsts = [np.asarray(curve, dtype=np.float64)[:1] for curve in curves]
    return gap and all(first.size > 0 and first[0] <= _ROUNDING for first in firsts)


def _together(curves: Sequence[tuple[Vector, Vector]]) -> tuple[Vector, Vector]:
    """Return a common grid, and each curve interpolated linearly on it."""
    if len(curves) == 1 or not all(across.size for across, _ in curves):
        return curves[0][0], curves[0][1][None]
    ordered = [
        (across[order], heights[order])
        for across, heights in curves
        for order in [np.argsort(across, kind="stable")]
    ]
    first, last = max(across[0] for across, _ in ordered), min(across[-1] for across, _ in ordered)
    grid = np.unique(np.concatenate([across for across, _ in ordered]))
    grid = grid[(first <= grid) & (grid <= last)]
    return grid, np.array([np.interp(grid, *curve) for curve in ordered])


def _draw(ax: "Axes", index: int, name: str, across: Vector, runs: Vector, *, log: bool) -> bool:
    """Draw the median and the quartiles of several runs, the rows of ``runs``.

    Return whether triangles at the lower edge mark values of zero or less.
    """
    low, heights, high = np.quantile(runs, (0.25, 0.5, 0.75), axis=0)
    shown = (across > 0.0) & (heights > 0.0) if log else np.ones(across.shape, dtype=bool)
    look: dict[str, Any] = {"marker": MARKERS[index % len(MARKERS)], "markersize": 3.5}
    look["markevery"] = max(1, math.ceil(shown.sum() / _MARKED))
    line = ax.plot(across[shown], heights[shown], label=name, **style(index), **look)[0]
    if len(runs) > 1:
        low = np.where((low <= 0.0) & log, np.nan, low)
        color = line.get_color()
        ax.fill_between(across[shown], low[shown], high[shown], color=color, alpha=0.2, linewidth=0)
    below = (across > 0.0) & ~shown & (ax.get_yscale() == "log")
    if below.any():  # y in axes coordinates: tips of the triangles on the edge
        edge: Any = {"transform": ax.get_xaxis_transform(), "clip_on": False, "marker": 7}
        edge |= {"markevery": max(1, math.ceil(below.sum() / _MARKED)), "linestyle": "none"}
        ax.plot(across[below], np.zeros(below.sum()), color=line.get_color(), **edge)
    return bool(below.any())


def _runs(curve: Any) -> list[Any]:
    return list(curve) if isinstance(curve, list | tuple) else [curve]


def _columns(run: Any, argument: str) -> Mapping[str, ArrayLike]:
    """Return the columns of a run."""
    if isinstance(run, Recorder):
        if not run.iterations:
            raise ValueError(f"{argument} is an empty Recorder; pass it to a run")
        columns: dict[str, Any] = {"iteration": run.iterations, **run.values}
        return columns
    if not hasattr(run, "keys"):
        example = "{'iteration': [1, 2], 'gap': [0.5, 0.2]}"
        wanted = f"{argument} must be a Recorder or a table such as {example}"
        raise TypeError(f"{wanted}, got {shortened(repr(run), 200)}")
    return {str(key): run[key] for key in run.keys()}  # noqa: SIM118 # a data frame


def _default_column(columns: Mapping[str, Sequence[Mapping[str, ArrayLike]]], x: str) -> str:
    tables = (table for runs in columns.values() for table in runs)
    names = dict.fromkeys(name for table in tables for name in table)
    measured = [name for name in names if name not in (x, *AXES)]
    known = [name for name in _GAPS if name in measured]
    if known or len(measured) == 1:
        return (known or measured)[0]
    raise ValueError(f"y must be one of {candidates(measured)} without a column 'nash_conv'")


def _points(table: Mapping[str, ArrayLike], x: str, y: str, argument: str) -> tuple[Vector, Vector]:
    for column in (x, y):
        if column not in table:
            known = candidates(list(table))
            raise ValueError(f"{argument} has no column {quote(column)}; its columns are {known}")
    # None, a missing measurement, becomes NaN.
    across, heights = (np.asarray(table[column], dtype=np.float64) for column in (x, y))
    if across.shape != heights.shape:
        raise ValueError(f"{argument} has columns of different lengths, {quote(x)} and {quote(y)}")
    finite = np.isfinite(across) & np.isfinite(heights)
    return across[finite], heights[finite]
