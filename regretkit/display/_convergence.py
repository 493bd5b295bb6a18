"""Convergence: how a gap falls as runs go on."""

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
    legend_of,
    plain,
    require_matplotlib,
    shortened,
    style,
    title_of,
    width_of_line,
)
from regretkit.play import Recorder
from regretkit.play._measures import AXES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class _Columns(Protocol):
    """A table by columns: a mapping of their names to numbers, or a data frame of pandas."""

    def keys(self) -> object: ...
    def __getitem__(self, name: str, /) -> ArrayLike: ...


Curve: TypeAlias = Recorder | _Columns | Sequence[Mapping[str, object]]
"""What was measured of one run: a ``Recorder``, a table by columns, or a list of rows."""

_CORRELATED = "CCE", "CE", "EFCCE", "EFCE"
_IN_PAYOFFS = (
    *("exploitability", "gap", "local_best_response", "linear_gap"),
    *("regret", "external_regret", "swap_regret"),
)

_LABELS = {
    "iteration": "iterations",
    "iterations": "iterations",
    "seconds": "time (seconds)",
    "visited": "histories visited",
    "last_nash_conv": "NashConv of the last iterate (units of payoff)",
    "best_nash_conv": "NashConv of the best iterate (units of payoff)",
    "nash_conv": "NashConv (units of payoff)",
    "NashConv": "NashConv (units of payoff)",
    "strategy_change": "change of strategy",
    **{f"{name.lower()}_gap": f"{name} gap (units of payoff)" for name in _CORRELATED},
    **{name: f"{name.replace('_', ' ')} (units of payoff)" for name in _IN_PAYOFFS},
}
"""Labels of the axes for the columns whose unit is known."""

_GAPS = ("nash_conv", "NashConv", "exploitability", "gap")
"""The columns drawn by default, the first of these that there is."""

_MARKED = 40
"""The most points of a curve that have markers."""


def convergence(
    curves: Mapping[str, Curve | Sequence[Curve]] | Recorder,
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
    """Draw how a gap falls, one line a run, on logarithmic scales.

    A value of zero or less has no place on a logarithmic scale: a triangle at the lower edge
    marks such values of ``y``, and one at the left edge those of ``x``. Points that are not finite
    are left out.

    Parameters
    ----------
    curves
        By the name of a run, what was measured of it: a ``Recorder``, a
        mapping of columns to numbers, a list of rows, or a data frame; or a list of these, one for
        each seed, of which the mean is a line, and the range from the least to the largest a band,
        between those measurements that all have. The legend spells names of algorithms as papers
        do: ``"cfr+"`` is CFR+. Or a ``Recorder`` alone.
    x
        The column to draw against: ``"iteration"``, or ``"seconds"``, or any other.
    y
        The column to draw; by default ``"nash_conv"``, ``"exploitability"`` or ``"gap"``, or the
        only one that there is beside ``"iteration"`` and ``x``.
    xlabel, ylabel
        Labels of the axes; by default the column, with its unit where that is known.
    log
        Whether both scales are logarithmic.
    title, figsize, ax
        As in all figures, see ``display``.

    Raises
    ------
    TypeError
        When ``curves`` is no mapping of names to measurements.
    ValueError
        When there is no curve, a curve lacks a column, or its columns differ in length.

    Examples
    --------
    >>> from regretkit.evaluation import nash_conv
    >>> from regretkit.games import kuhn_poker
    >>> from regretkit.play import At, Recorder, geometric, solve
    >>> game, records = kuhn_poker(), {}
    >>> for name in ("cfr", "cfr+"):
    ...     records[name] = Recorder({"nash_conv": lambda run: nash_conv(run.game, run.average)})
    ...     watch = At(geometric(), records[name])
    ...     run = solve(game, name, iterations=100, callbacks=[watch])
    >>> axes = convergence(records, title="Kuhn poker")
    >>> axes.get_xlabel(), axes.get_ylabel(), axes.get_xscale()
    ('iterations', 'NashConv (units of payoff)', 'log')
    >>> [text.get_text() for text in axes.get_legend().get_texts()]
    ['CFR', 'CFR+']
    """
    require_matplotlib("display.convergence")
    columns = _checked(curves)
    y = _default_column(columns, x) if y is None else y
    bands = [
        _band([_points(table, x, y, f"curves[{quote(name)}]") for table in tables])
        for name, tables in columns.items()
    ]
    points = [(across, heights.mean(axis=0)) for across, heights in bands]
    ax = axes_for(ax, figsize, None)
    for index, (name, (across, heights)) in enumerate(zip(columns, bands, strict=True)):
        _draw(ax, index, plain(title_of(str(name))), across, heights, log=log)
    if log:
        set_log_scales(ax, points)
    label_axes(
        ax,
        xlabel=_LABELS.get(x, x) if xlabel is None else xlabel,
        ylabel=_LABELS.get(y, y) if ylabel is None else ylabel,
        title=title,
    )
    ax.grid(True, which="major")
    ax.set_axisbelow(True)
    if len(points) > 1 or len(ax.get_lines()) > 1:
        legend_of(ax)
    return ax


def set_log_scales(ax: "Axes", points: Sequence[tuple[Vector, Vector]]) -> None:
    """Make both scales logarithmic; one with nothing positive to show stays linear."""
    for values, name in zip(zip(*points, strict=True), "xy", strict=True):
        positive = any((curve > 0.0).any() for curve in values)
        ax.set(**{f"{name}scale": "log"} if positive else {f"{name}lim": (0.0, 1.0)})
    for axis in (ax.xaxis, ax.yaxis):
        if axis.get_scale() == "log":
            label_log_axis(axis)


def convergence_panels(
    panels: Mapping[str, Mapping[str, Curve | Sequence[Curve]]],
    *,
    figsize: tuple[float, float] | None = None,
    **options: Any,
) -> "Figure":
    """Return a figure, unknown to pyplot, with a panel of ``convergence`` for each game."""
    from matplotlib.figure import Figure

    if "ax" in options:
        raise ValueError(
            "ax is for one panel, and this is a figure of all games; draw one game with "
            "display.convergence(found.curves()[game], ax=ax)"
        )

    columns = min(len(panels), math.ceil(math.sqrt(len(panels))), 4)
    rows = math.ceil(len(panels) / columns)
    size = (6.4, 4.2) if len(panels) == 1 else (4.8 * columns, 3.6 * rows)
    figure = Figure(figsize=figsize or size, layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for ax, (game, curves) in zip(axes, panels.items(), strict=False):
        convergence(curves, **{"title": title_of(game), "ax": ax, **options})
    for ax in axes[len(panels) :]:
        ax.set_axis_off()
    return figure


def _band(curves: Sequence[tuple[Vector, Vector]]) -> tuple[Vector, Vector]:
    """Return where curves are drawn, and the height of each there, interpolated linearly."""
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


def _draw(
    ax: "Axes",
    index: int,
    name: str,
    across: Vector,
    runs: Vector,
    *,
    log: bool,
    quartiles: bool = False,
) -> None:
    """Draw one curve, and triangles at the edges for what has no place on the scales.

    Of several runs, the rows of ``runs``, it is the mean, with a band from the least to the
    largest; or the median, with a band between the quartiles.
    """
    heights = np.median(runs, axis=0) if quartiles else runs.mean(axis=0)
    nonpositive, left = ((values <= 0.0) & log for values in (heights, across))
    shown = np.flatnonzero(~(nonpositive | left))
    look: dict[str, Any] = {"marker": MARKERS[index % len(MARKERS)], "markersize": 3.5}
    look["markevery"] = max(1, math.ceil(shown.size / _MARKED))
    path = np.stack([across[shown], heights[shown]], axis=1)
    look["linewidth"] = width_of_line(np.log10(path) if log else path) if shown.size else None
    label = name if shown.size else "_nothing"
    line = ax.plot(across[shown], heights[shown], label=label, **style(index), **look)[0]
    if len(runs) > 1:
        low, high = np.quantile(runs, (0.25, 0.75) if quartiles else (0.0, 1.0), axis=0)[:, shown]
        low = np.where((low <= 0.0) & log, np.nan, low)
        ax.fill_between(across[shown], low, high, color=line.get_color(), alpha=0.2, linewidth=0)
    below, hidden = nonpositive & ~left, "_" * bool((nonpositive & ~left).any())  # said once
    # In fractions of the axes, so that zero is the edge; the tips of the triangles lie on it.
    edges = (
        (below, ax.get_xaxis_transform(), 7, f"{name}: zero or less"),
        (nonpositive & left, ax.transAxes, 7, f"{hidden}{name}: zero or less"),
        (left & ~nonpositive, ax.get_yaxis_transform(), 4, f"{name}: at zero or before"),
    )
    for is_outside, transform, triangle, label in edges:
        if is_outside.any():
            look = {"marker": triangle, "linestyle": "none", "color": line.get_color()}
            look["markevery"] = max(1, math.ceil(is_outside.sum() / _MARKED))
            places = np.maximum(across[is_outside], 0.0), np.maximum(heights[is_outside], 0.0)
            ax.plot(*places, transform=transform, clip_on=False, label=label, **look)


def _checked(
    curves: Mapping[str, Curve | Sequence[Curve]] | Recorder,
) -> dict[str, list[Mapping[str, ArrayLike]]]:
    """Return the columns of each run, one or several under each name."""
    if isinstance(curves, Recorder):
        curves = {"run": curves}
    if not isinstance(curves, Mapping):
        hint = ""
        if hasattr(curves, "last_profile"):
            hint = "; a run is measured by solve(..., callbacks=[record]), with record = Recorder()"
        if hasattr(curves, "curves"):
            hint = "; a comparison is drawn by its method plot()"
        raise TypeError(
            "curves must map the names of runs to what was measured of them, as in "
            f"{{'cfr+': record}}, got {shortened(repr(curves), 200)}{hint}"
        )
    if not curves:
        raise ValueError("curves must hold at least one curve, got none; pass {'cfr+': record}")
    return {
        name: [_columns(run, f"curves[{quote(name)}]") for run in _runs(curve)]
        for name, curve in curves.items()
    }


def _runs(curve: Any) -> list[Any]:
    """Return the runs of a list of them, and else the only one."""
    multiple = isinstance(curve, Sequence) and not isinstance(curve, str) and curve
    return list(curve) if multiple and not any(map(_is_row, curve)) else [curve]


def _is_row(entry: object) -> bool:
    """Return whether an entry of a list is a row of numbers, and no run of its own."""
    if isinstance(entry, Mapping):
        return all(np.ndim(value) == 0 for value in entry.values())
    return not (isinstance(entry, Recorder | Sequence) or hasattr(entry, "keys"))


def _columns(curve: Curve, argument: str) -> Mapping[str, ArrayLike]:
    """Return what was measured of a run, as a mapping of columns."""
    shown = shortened(repr(curve), 200)
    if isinstance(curve, Recorder):
        if not curve.iterations:
            raise ValueError(
                f"{argument} is a Recorder without rows; record a run by solve(..., "
                "callbacks=[record]), of more iterations where it is called every few"
            )
        return dict(curve.values, iteration=curve.iterations)  # type: ignore[arg-type]
    if isinstance(curve, Sequence) and not isinstance(curve, str):
        if not all(isinstance(row, Mapping) for row in curve):
            runs = any(hasattr(row, "average") for row in curve)
            hint = "; record runs by solve(..., callbacks=[Recorder()]), and pass records" * runs
            raise TypeError(f"{argument} must be a list of rows, each a dict, got {shown}{hint}")
        names = dict.fromkeys(key for row in curve for key in row)
        columns: dict[str, Any] = {key: [row.get(key) for row in curve] for key in names}
        return columns
    if hasattr(curve, "keys") and hasattr(curve, "__getitem__"):
        return {str(key): curve[key] for key in curve.keys()}  # type: ignore[attr-defined]  # noqa: SIM118
    hint = "; pass its columns" if hasattr(curve, "columns") else ""
    raise TypeError(
        f"{argument} must be a Recorder, a mapping of columns such as {{'iteration': [1, 2], "
        f"'gap': [0.5, 0.2]}}, or a list of rows, got {shown}{hint}"
    )


def _default_column(columns: Mapping[str, Sequence[Mapping[str, ArrayLike]]], x: str) -> str:
    tables = (table for runs in columns.values() for table in runs)
    names = dict.fromkeys(name for table in tables for name in table)
    measured = [name for name in names if name not in (x, *AXES)]
    known = [name for name in _GAPS if name in measured]
    if known or len(measured) == 1:
        return (known or measured)[0]
    raise ValueError(f"y must be one of {candidates(measured)}, for there is no column 'nash_conv'")


def _points(table: Mapping[str, ArrayLike], x: str, y: str, argument: str) -> tuple[Vector, Vector]:
    for column in (x, y):
        if column not in table:
            known = candidates(list(table))
            raise ValueError(f"{argument} has no column {quote(column)}; its columns are {known}")
    try:  # what was not measured, None, becomes NaN
        across, heights = (np.asarray(table[column], dtype=np.float64) for column in (x, y))
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"{argument} must hold numbers under {quote(x)} and {quote(y)}: {error}"
        ) from error
    if across.ndim != 1 or across.shape != heights.shape:
        raise ValueError(
            f"{argument} must have as many numbers under {quote(x)} as under {quote(y)}, got "
            f"shapes {across.shape} and {heights.shape}"
        )
    finite = np.isfinite(across) & np.isfinite(heights)
    return across[finite], heights[finite]
