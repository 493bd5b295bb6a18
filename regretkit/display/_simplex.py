"""The simplex: strategies of three actions as points of a triangle."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from regretkit._util._typing import Vector
from regretkit._util._validate import floats, quote, strings
from regretkit.display._style import (
    axes_for,
    label_axes,
    legend_of,
    plain,
    require_matplotlib,
    style,
    title_of,
    width_of_line,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])
"""Where the actions are: a triangle of side 1, standing on the edge of the first two."""

_ATOL = 1e-6


def simplex(
    paths: ArrayLike | Mapping[str, ArrayLike],
    *,
    actions: Sequence[str] | None = None,
    title: str | None = None,
    figsize: tuple[float, float] | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw the path of a strategy of three actions through the simplex.

    Each corner is an action that is always played, and the nearer a point is to a corner, the
    more probable that action: the probability is one minus the distance, in heights of the
    triangle, from that corner's level. A hollow circle is where a path begins, a filled one where
    it ends.

    Parameters
    ----------
    paths
        Strategies in order, shape ``(points, 3)``; or several such paths by their names.
    actions
        What the corners are called, bottom left, bottom right, and top; by default 0, 1 and 2.
    title, figsize, ax
        As in all figures, see ``display``.

    Raises
    ------
    TypeError
        When a path does not hold numbers.
    ValueError
        When a path is empty, does not hold three probabilities at each point that sum to 1
        within 1e-6, or ``actions`` are not three.

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
    several = isinstance(paths, Mapping)
    named = dict(paths) if isinstance(paths, Mapping) else {"path": paths}
    if not named:
        raise ValueError("paths must hold at least one path, got none")
    points = {
        name: _points(path, f"paths[{quote(name)}]" if several else "paths")
        for name, path in named.items()
    }
    corners = strings(actions if actions is None else list(actions), 3, "actions")
    ax = axes_for(ax, figsize, (4.6, 4.4))
    _frame(ax, corners or ("0", "1", "2"))
    for index, (name, path) in enumerate(points.items()):
        _draw(ax, index, plain(title_of(str(name))), path)
    label_axes(ax, title=title)
    if several:
        legend_of(ax, loc="upper right", frameon=False)
    return ax


def _points(path: ArrayLike, name: str) -> Vector:
    """Return where the strategies of a path lie in the plane, shape ``(points, 2)``."""
    strategies = floats(path, name)
    if strategies.ndim != 2 or strategies.shape[1] != 3 or not len(strategies):
        raise ValueError(
            f"{name} has shape {strategies.shape}, but (points, 3) is wanted: strategies of three "
            "actions, one a row"
        )
    least, sums = strategies.min(axis=1), strategies.sum(axis=1)
    wrong = np.flatnonzero(~((least >= -_ATOL) & (np.abs(sums - 1.0) <= _ATOL)))
    if wrong.size:
        raise ValueError(
            f"{name} must hold probabilities that sum to 1 within {_ATOL:g}, got "
            f"{strategies[wrong[0]]} at point {wrong[0]}"
        )
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


def _draw(ax: "Axes", index: int, name: str, path: Vector) -> None:
    look: Any = style(index) | {"linewidth": width_of_line(path)}
    line = ax.plot(*path.T, label=name, zorder=3, **look)[0]
    color = line.get_color()
    for end, fill in ((path[0], ax.get_facecolor()), (path[-1], color)):
        ax.plot(*end, "o", markerfacecolor=fill, markeredgecolor=color, markersize=7, zorder=4)
