"""Trajectories: how strategies, averages and regrets move over time."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from regretkit._util._validate import check_kind, quote
from regretkit.display._style import (
    check_axes,
    label_log_axis,
    legend_of,
    plain,
    require_matplotlib,
    style,
    width_of_line,
)
from regretkit.play import TrajectoryRecorder
from regretkit.play._recorder import KINDS, Place

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TITLES = {
    "strategy": "current strategy (probability)",
    "average": "average strategy (probability)",
    "regret": "regret (units of payoff)",
}
_MOST = 12
"""More information sets than this are not drawn below one another."""


def trajectories(
    record: TrajectoryRecorder,
    *,
    information_sets: Iterable[Place] | None = None,
    kinds: Sequence[str] | None = None,
    log: bool = False,
    figsize: tuple[float, float] | None = None,
    axes: "NDArray[np.object_] | None" = None,
) -> "NDArray[np.object_]":
    """Draw how strategies, averages and regrets move over time: one line an action.

    Each row is an information set; its columns are the current strategy, the average, and the
    regrets that the rule there holds.

    Parameters
    ----------
    record
        What was written down.
    information_sets
        Which of those that were looked at, at most 12; by default all.
    kinds
        Which of ``"strategy"``, ``"average"`` and ``"regret"``; by default all, but regrets only
        where a rule holds some.
    log
        Whether the scale of the iterations is logarithmic.
    figsize, axes
        As in all figures, see ``display``; ``axes`` has shape
        ``(information sets, kinds)``, and so has the result.

    Raises
    ------
    TypeError
        When ``record`` is no ``TrajectoryRecorder``.
    ValueError
        When nothing was written down, an information set was not looked at, there are too many of
        them, there is no such kind, or ``axes`` has another shape.

    Examples
    --------
    >>> from regretkit.games import kuhn_poker
    >>> from regretkit.play import Every, solve
    >>> record = TrajectoryRecorder(["J", "Qb"])
    >>> run = solve(kuhn_poker(), "cfr", iterations=100, callbacks=[Every(5, record)])
    >>> axes = trajectories(record)
    >>> axes.shape, axes[1, 0].get_ylabel(), axes[1, 0].get_xlabel()
    ((2, 3), 'Qb (player 1)', 'iterations')
    """
    require_matplotlib("display.trajectories")
    check_kind(record, TrajectoryRecorder, "record", "TrajectoryRecorder(['K'])")
    if not record.iterations:
        raise ValueError("record is empty: pass it to a run, as in run(100, callbacks=[record])")
    places = list(record.seen if information_sets is None else information_sets)
    kinds = _kinds(record, places, kinds)
    if not 1 <= len(places) <= _MOST:
        raise ValueError(
            f"there are {len(places)} information sets to draw, and room for 1 to {_MOST}; choose "
            "some, as in information_sets=['K', (1, 'Kb')]"
        )
    grid = _panels(axes, len(places), len(kinds), figsize)
    for place, row in zip(places, grid, strict=True):
        for kind, ax in zip(kinds, row, strict=True):
            _draw(ax, record, place, kind, log)
        row[0].set_ylabel(plain(record.title(place)))
        lines = row[-1].get_lines()[-len(record.actions(place)) :]
        legend_of(
            row[-1], handles=lines, loc="upper left", bbox_to_anchor=(1.0, 1.02), frameon=False
        )
    for kind, top, bottom in zip(kinds, grid[0], grid[-1], strict=True):
        top.set_title(_TITLES[kind], fontsize="medium")
        bottom.set_xlabel("iterations")
    return grid


def _draw(ax: "Axes", record: TrajectoryRecorder, place: Place, kind: str, log: bool) -> None:
    path, iterations = record.path(place, kind), np.asarray(record.iterations, dtype=np.float64)
    for index, (action, values) in enumerate(zip(record.actions(place), path.T, strict=True)):
        look: Any = style(index) | {"linewidth": width_of_line(values[np.isfinite(values), None])}
        ax.plot(iterations, values, label=plain(action), **look)
    if kind != "regret":
        ax.set_ylim(-0.03, 1.03)
    if log:
        ax.set_xscale("log")
        label_log_axis(ax.xaxis)
    ax.grid(True)
    ax.set_axisbelow(True)


def _kinds(
    record: TrajectoryRecorder, places: list[Place], asked: Sequence[str] | None
) -> list[str]:
    """Return the kinds to draw, as asked, or all of which there is something to draw."""
    if asked is not None:
        wrong = [kind for kind in asked if kind not in KINDS]
        if isinstance(asked, str) or wrong or not asked:
            known = ", ".join(map(repr, KINDS))
            raise ValueError(f"kinds must be a sequence of some of {known}, got {quote(asked)}")
        return list(asked)
    held = any(np.isfinite(record.path(place, "regret")).any() for place in places)
    return list(KINDS) if held else list(KINDS[:2])


def _panels(
    axes: Any, rows: int, columns: int, figsize: tuple[float, float] | None
) -> "NDArray[np.object_]":
    """Return the axes that are given, or those of a new figure."""
    import matplotlib.pyplot as plt

    if axes is None:
        size = figsize or (2.6 * columns + 0.9, 1.9 * rows + 0.5)
        look: dict[str, Any] = {"figsize": size, "sharex": True, "layout": "constrained"}
        return np.asarray(plt.subplots(rows, columns, squeeze=False, **look)[1])
    if figsize is not None:
        raise ValueError(f"figsize is for a new figure, got {figsize} together with axes")
    grid = np.asarray(axes, dtype=object)
    if grid.shape != (rows, columns):
        raise ValueError(
            f"axes has shape {grid.shape}, but ({rows}, {columns}) is wanted, (information sets, "
            f"kinds); make it with plt.subplots({rows}, {columns}, squeeze=False)"
        )
    for ax in grid.flat:
        check_axes(ax, "each of axes")
    return grid
