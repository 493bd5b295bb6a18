"""Paths of strategies in the simplex, and trajectories of runs."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from regretkit._util._typing import Vector
from regretkit._util._validate import check_kind, floats, quote, strings
from regretkit.display._style import (
    axes_for,
    label_axes,
    label_log_axis,
    plain,
    require_matplotlib,
    style,
    title_of,
)
from regretkit.play import TrajectoryRecorder
from regretkit.play._recorder import KINDS, Place

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])
"""Corner of each action, shape ``(3, 2)``: a triangle of side 1."""

_ATOL = 1e-6
_THIN = 1.0
"""Width of lines, thin because paths often overlap."""


def simplex(
    paths: ArrayLike | Mapping[str, ArrayLike],
    *,
    actions: Sequence[str] | None = None,
    title: str | None = None,
    figsize: tuple[float, float] | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw the path of a strategy of three actions through the simplex.

    A corner is a pure strategy. The probability of an action is the distance from the side opposite
    its corner, relative to the height of the triangle. A path begins at a hollow circle and ends at
    a filled one.

    Parameters
    ----------
    paths
        Strategies in order, shape ``(points, 3)``; or a mapping from names to such paths.
    actions
        The names of the bottom left, bottom right and top corner; by default 0, 1 and 2.
    title, figsize, ax
        See ``display``.

    Examples
    --------
    >>> axes = simplex([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.4, 0.3, 0.3]], actions="RPS")
    >>> [text.get_text() for text in axes.texts]
    ['R', 'P', 'S']
    >>> axes.get_lines()[-3].get_xydata().round(2)
    array([[0.  , 0.  ],
           [0.5 , 0.  ],
           [0.45, 0.26]])
    """
    require_matplotlib("display.simplex")
    named = dict(paths) if isinstance(paths, Mapping) else {"path": paths}
    points = {name: _points(path, f"paths[{quote(name)}]") for name, path in named.items()}
    corners = None if actions is None else strings(list(actions), 3, "actions")
    ax = axes_for(ax, figsize, (4.6, 4.4))
    _frame(ax, corners or ("0", "1", "2"))
    for index, (name, path) in enumerate(points.items()):
        _draw_path(ax, index, plain(title_of(str(name))), path)
    label_axes(ax, title=title)
    if isinstance(paths, Mapping):
        below: Any = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.02), "frameon": False}
        ax.legend(ncols=min(len(points), 3), **below)
    return ax


def _points(path: ArrayLike, name: str) -> Vector:
    """Return the points of a path in the plane, shape ``(points, 2)``."""
    strategies = floats(path, name)
    if strategies.ndim != 2 or strategies.shape[1] != 3 or not len(strategies):
        raise ValueError(f"{name} must have shape (points, 3), got {strategies.shape}")
    if (strategies < -_ATOL).any() or (np.abs(strategies.sum(axis=1) - 1.0) > _ATOL).any():
        raise ValueError(f"{name} must have rows of probabilities that sum to 1")
    points: Vector = strategies @ CORNERS
    return points


def _frame(ax: "Axes", actions: Sequence[str]) -> None:
    import matplotlib as mpl

    grid, edge = mpl.rcParams["grid.color"], mpl.rcParams["axes.edgecolor"]
    for level in (0.25, 0.5, 0.75):
        for corner in range(3):
            following, opposite = (corner + 1) % 3, (corner + 2) % 3
            ends = level * CORNERS[corner] + (1.0 - level) * CORNERS[[following, opposite]]
            ax.plot(*ends.T, color=grid, linewidth=0.6, zorder=1)
    ax.plot(*CORNERS[[0, 1, 2, 0]].T, color=edge, linewidth=1.2, zorder=2)
    sides = ((-4, -4, "right", "top"), (4, -4, "left", "top"), (0, 5, "center", "bottom"))
    for corner, action, (right, dy, across, turn) in zip(CORNERS, actions, sides, strict=True):
        offset: Any = {"xytext": (right, dy), "textcoords": "offset points"}
        ax.annotate(plain(action), tuple(corner.tolist()), ha=across, va=turn, **offset)
    ax.set(aspect="equal", xlim=(-0.12, 1.12), ylim=(-0.08, 0.94))
    ax.set_axis_off()


def _draw_path(ax: "Axes", index: int, name: str, path: Vector) -> None:
    look: Any = style(index) | {"linewidth": _THIN}
    line = ax.plot(*path.T, label=name, zorder=3, **look)[0]
    color = line.get_color()
    for end, fill in ((path[0], ax.get_facecolor()), (path[-1], color)):
        ax.plot(*end, "o", markerfacecolor=fill, markeredgecolor=color, markersize=7, zorder=4)


_TITLES = {
    "strategy": "current strategy (probability)",
    "average": "average strategy (probability)",
    "regret": "regret (units of payoff)",
}
_MOST = 12
"""Most information sets in one figure."""


def trajectories(
    record: TrajectoryRecorder,
    *,
    information_sets: Iterable[Place] | None = None,
    kinds: Sequence[str] | None = None,
    log: bool | None = None,
    figsize: tuple[float, float] | None = None,
    axes: "NDArray[np.object_] | None" = None,
) -> "NDArray[np.object_]":
    """Draw strategies, averages and regrets against iterations, with a line for each action.

    Each row is an information set. Its columns are the current strategy, the average strategy, and
    the regrets of the rule.

    Parameters
    ----------
    record
        A record of a run.
    information_sets
        At most 12 information sets of the record; by default all.
    kinds
        Some of ``"strategy"``, ``"average"`` and ``"regret"``; by default all, without regrets if
        no rule has them.
    log
        Whether iterations have a logarithmic scale; by default if the recorded iterations grow
        geometrically.
    figsize, axes
        See ``display``. ``axes`` and the result have shape ``(information sets, kinds)``.

    Examples
    --------
    >>> from regretkit.games import kuhn_poker
    >>> from regretkit.play import At, every, solve
    >>> record = TrajectoryRecorder(["J", "Qb"])
    >>> run = solve(kuhn_poker(), "cfr", iterations=100, callbacks=[At(every(5), record)])
    >>> axes = trajectories(record)
    >>> axes.shape, axes[1, 0].get_ylabel(), axes[1, 0].get_xlabel()
    ((2, 3), 'Qb (player 1)', 'iterations')
    """
    require_matplotlib("display.trajectories")
    check_kind(record, TrajectoryRecorder, "record", "TrajectoryRecorder(['K'])")
    if not record.iterations:
        raise ValueError("record is empty; pass it to a run, as in run(100, callbacks=[record])")
    places = list(record.seen if information_sets is None else information_sets)
    if not 1 <= len(places) <= _MOST:
        raise ValueError(
            f"information_sets must have length 1 to {_MOST}, got {len(places)}; choose some, as "
            "in information_sets=['K', (1, 'Kb')]"
        )
    if kinds is None:
        held = any(np.isfinite(record.path(place, "regret")).any() for place in places)
        kinds = KINDS if held else KINDS[:2]
    if not kinds or {*kinds} - {*KINDS}:
        raise ValueError(f"kinds must be some of {', '.join(KINDS)}, got {quote(kinds)}")
    steps = np.diff(record.iterations)
    log = bool(steps.size > 1 and steps[-1] > 2 * steps[0]) if log is None else log
    grid = _panels(axes, len(places), len(kinds), figsize)
    for place, row in zip(places, grid, strict=True):
        for kind, ax in zip(kinds, row, strict=True):
            _draw(ax, record, place, kind, log)
        row[0].set_ylabel(plain(record.title(place)))
        lines = row[-1].get_lines()[-len(record.actions(place)) :]
        row[-1].legend(handles=lines, loc="upper left", bbox_to_anchor=(1.0, 1.02), frameon=False)
    for kind, top, bottom in zip(kinds, grid[0], grid[-1], strict=True):
        top.set_title(_TITLES[kind], fontsize="medium")
        bottom.set_xlabel("iterations")
    return grid


def _draw(ax: "Axes", record: TrajectoryRecorder, place: Place, kind: str, log: bool) -> None:
    path, iterations = record.path(place, kind), np.asarray(record.iterations, dtype=np.float64)
    for index, (action, values) in enumerate(zip(record.actions(place), path.T, strict=True)):
        look: Any = style(index) | {"linewidth": _THIN}
        ax.plot(iterations, values, label=plain(action), **look)
    if kind != "regret":
        ax.set_ylim(-0.03, 1.03)
    if log:
        ax.set_xscale("log")
        label_log_axis(ax.xaxis)
    ax.grid(True, linewidth=0.5)
    ax.set_axisbelow(True)


def _panels(
    axes: Any, rows: int, columns: int, figsize: tuple[float, float] | None
) -> "NDArray[np.object_]":
    """Return ``axes``, or the axes of a new figure."""
    import matplotlib.pyplot as plt

    if axes is None:
        size = figsize or (2.6 * columns + 0.9, 1.9 * rows + 0.5)
        look: dict[str, Any] = {"figsize": size, "sharex": True, "layout": "constrained"}
        return np.asarray(plt.subplots(rows, columns, squeeze=False, **look)[1])
    grid = np.asarray(axes, dtype=object)
    if grid.shape != (rows, columns):
        raise ValueError(f"axes must have shape ({rows}, {columns}), got {grid.shape}")
    return grid
