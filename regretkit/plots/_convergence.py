"""Convergence: how a gap falls as runs go on."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from regretkit._typing import Vector
from regretkit._validate import candidates
from regretkit.play import Record
from regretkit.plots._matplotlib import check_axes, check_matplotlib, marker, new_axes, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class _Columns(Protocol):
    """A table by columns: a mapping of their names to numbers, or a data frame of pandas."""

    def keys(self) -> object: ...
    def __getitem__(self, name: str, /) -> ArrayLike: ...


Curve: TypeAlias = Record | _Columns | Sequence[Mapping[str, object]]
"""What was measured of one run: a ``Record``, a table by columns, or a list of rows."""

_SCALES = {
    "iteration": "iterations",
    "iterations": "iterations",
    "seconds": "time (seconds)",
    "gap": "gap (units of payoff)",
    "nash_conv": "NashConv (units of payoff)",
    "exploitability": "exploitability (units of payoff)",
    "regret": "regret (units of payoff)",
}
"""What an axis says about the columns whose unit is known."""

_MARKED = 40
"""A curve of more points than this shows only some of them as markers."""


def convergence(
    curves: Mapping[str, Curve],
    *,
    x: str = "iteration",
    y: str | None = None,
    xlabel: str | None = None,
    ylabel: str | None = None,
    title: str | None = None,
    log: bool = True,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw how a gap falls, one line a run, on logarithmic scales.

    What has no place on a logarithmic scale is not hidden: where a curve is zero or less, there
    is a triangle at the lower edge, and where ``x`` is, one at the left edge. Points that are no
    finite numbers are left out.

    Parameters
    ----------
    curves
        By the name of a run, what was measured of it: a :class:`~regretkit.play.Record`, a
        mapping of columns to numbers, a list of rows, or a data frame.
    x
        The column to draw against: ``"iteration"``, or ``"seconds"``, or any other.
    y
        The column to draw; by default ``"gap"``, or the only one that there is beside
        ``"iteration"`` and ``x``.
    xlabel, ylabel
        What the axes say; by default the column, with its unit where that is known.
    title
        What stands above.
    log
        Whether both scales are logarithmic.
    ax
        Where to draw; by default in a new figure.

    Returns
    -------
    Axes
        Of matplotlib, to go on with: ``.set_title``, ``.figure.savefig(path)``.

    Raises
    ------
    ImportError
        When matplotlib is not installed.
    TypeError
        When ``curves`` is no mapping of names to what was measured, or ``ax`` cannot be drawn on.
    ValueError
        When there is no curve, a curve lacks a column, or its columns differ in length.

    Examples
    --------
    >>> from regretkit.evaluation import nash_conv
    >>> from regretkit.games import kuhn_poker
    >>> from regretkit.play import Geometrically, Record, solve
    >>> game, records = kuhn_poker(), {}
    >>> for name in ("cfr", "cfr+"):
    ...     records[name] = Record({"gap": lambda run: nash_conv(run.game, run.average)})
    ...     watch = Geometrically(records[name])
    ...     run = solve(game, name, iterations=100, callbacks=[watch])
    >>> axes = convergence(records, title="Kuhn poker")
    >>> axes.get_xlabel(), axes.get_ylabel(), axes.get_xscale()
    ('iterations', 'gap (units of payoff)', 'log')
    """
    check_matplotlib("convergence")
    measured = _checked(curves)
    columns = {name: _columns(curve, name) for name, curve in measured.items()}
    y = _chosen(columns, x) if y is None else y
    points = {name: _points(table, x, y, name) for name, table in columns.items()}
    if ax is None:
        ax = new_axes(6.4, 4.2)
    check_axes(ax)
    drawn = [
        _draw(ax, number, name, *point, log) for number, (name, point) in enumerate(points.items())
    ]
    if log:
        _scale(ax, points.values())
    ax.set_xlabel(_SCALES.get(x, x) if xlabel is None else xlabel)
    ax.set_ylabel(_SCALES.get(y, y) if ylabel is None else ylabel)
    if title is not None:
        ax.set_title(title)
    ax.grid(True, which="major", color="0.85", linewidth=0.8)
    ax.set_axisbelow(True)
    if len(points) > 1 or any(drawn):
        ax.legend(fontsize="small", framealpha=0.9)
    return ax


def _scale(ax: "Axes", points: Iterable[tuple[Vector, Vector]]) -> None:
    """Make scales logarithmic; one on which there is nothing but zero stays as it is."""
    shown = list(points)
    if any((across > 0.0).any() for across, _ in shown):
        ax.set_xscale("log")
    else:
        ax.set_xlim(0.0, 1.0)
    if any((up > 0.0).any() for _, up in shown):
        ax.set_yscale("log")
    else:
        ax.set_ylim(0.0, 1.0)


def _draw(ax: "Axes", number: int, name: str, across: Vector, up: Vector, log: bool) -> bool:
    """Draw one curve, and say whether some of it is beyond what the scales can show."""
    shown = (across > 0.0) & (up > 0.0) if log else np.full(across.shape, True)
    ax.plot(
        across[shown],
        up[shown],
        **style(number),
        marker=marker(number),
        markersize=3.5,
        markevery=_markevery(shown),
        linewidth=1.6,
        label=name if shown.any() else "_nothing",
    )
    if shown.all():
        return False
    low, left = (up <= 0.0) & (across > 0.0), (up > 0.0) & (across <= 0.0)
    corner, nothing = ~(shown | low | left), f"{name}: zero or less"
    look = {"color": style(number)["color"], "linestyle": "none", "clip_on": False}
    # In parts of the axes, so that zero is the edge; the tips of the triangles lie on it.
    edges = (
        (low, ax.get_xaxis_transform(), 7, nothing),
        (corner, ax.transAxes, 7, "_corner" if low.any() else nothing),
        (left, ax.get_yaxis_transform(), 4, f"{name}: at zero or before"),
    )
    for beyond, transform, triangle, label in edges:
        if beyond.any():
            places = np.maximum(across[beyond], 0.0), np.maximum(up[beyond], 0.0)
            line = ax.plot(*places, label=label, transform=transform, marker=triangle)[0]
            line.set(markevery=_markevery(beyond), **look)
    return True


def _markevery(chosen: NDArray[np.bool_]) -> int:
    return max(1, math.ceil(int(chosen.sum()) / _MARKED))


def _checked(curves: Mapping[str, Curve]) -> Mapping[str, Curve]:
    if not isinstance(curves, Mapping):
        raise TypeError(
            "curves must map the names of runs to what was measured of them, as in "
            f"{{'cfr+': record}}, got {curves!r}"
        )
    if not curves:
        raise ValueError("curves must hold at least one curve, got none; pass {'cfr+': record}")
    return curves


def _columns(curve: Curve, name: str) -> Mapping[str, ArrayLike]:
    """Return what was measured of a run, as a mapping of columns."""
    where = f"curves[{name!r}]"
    if isinstance(curve, Record):
        return {"iteration": curve.iterations, **{k: _floats(v) for k, v in curve.values.items()}}
    if isinstance(curve, Sequence) and not isinstance(curve, str):
        if not all(isinstance(row, Mapping) for row in curve):
            raise TypeError(f"{where} must be a list of rows, each a dict, got {curve!r}")
        names = dict.fromkeys(key for row in curve for key in row)
        return {key: _floats([row.get(key) for row in curve]) for key in names}
    if hasattr(curve, "keys") and hasattr(curve, "__getitem__"):
        return {str(key): curve[key] for key in curve.keys()}  # type: ignore[attr-defined]  # noqa: SIM118
    raise TypeError(
        f"{where} must be a Record, a mapping of columns such as {{'iteration': [1, 2], 'gap': "
        f"[0.5, 0.2]}}, or a list of rows, got {curve!r}"
    )


def _floats(values: Sequence[object]) -> ArrayLike:
    """Return numbers, NaN in place of what was not measured."""
    return [math.nan if value is None else value for value in values]  # type: ignore[return-value]


def _chosen(columns: Mapping[str, Mapping[str, ArrayLike]], x: str) -> str:
    """Return the column to draw where nobody said which."""
    names = list(dict.fromkeys(name for table in columns.values() for name in table))
    others = [name for name in names if name not in (x, "iteration", "seconds")]
    if "gap" in others:
        return "gap"
    if len(others) == 1:
        return others[0]
    raise ValueError(f"y must be one of {candidates(others)}, for there is no column 'gap'")


def _points(table: Mapping[str, ArrayLike], x: str, y: str, name: str) -> tuple[Vector, Vector]:
    for column in (x, y):
        if column not in table:
            known = candidates(list(table))
            raise ValueError(f"curves[{name!r}] has no column {column!r}; its columns are {known}")
    try:
        across, up = (np.asarray(table[column], dtype=np.float64) for column in (x, y))
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"curves[{name!r}] must hold numbers under {x!r} and {y!r}: {error}"
        ) from error
    if across.ndim != 1 or across.shape != up.shape:
        raise ValueError(
            f"curves[{name!r}] must have as many numbers under {x!r} as under {y!r}, got shapes "
            f"{across.shape} and {up.shape}"
        )
    finite = np.isfinite(across) & np.isfinite(up)
    return across[finite], up[finite]
