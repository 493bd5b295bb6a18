"""The simplex: strategies of three actions as points of a triangle."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from regretkit._typing import Vector
from regretkit._validate import strings
from regretkit.plots._matplotlib import check_axes, check_matplotlib, new_axes, plain, style

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
    title
        What stands above.
    ax
        Where to draw; by default in a new figure.

    Returns
    -------
    Axes
        Of matplotlib, to go on with.

    Raises
    ------
    ImportError
        When matplotlib is not installed.
    TypeError
        When a path does not hold numbers, or ``ax`` cannot be drawn on.
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
    check_matplotlib("simplex")
    several = isinstance(paths, Mapping)
    named = dict(paths) if isinstance(paths, Mapping) else {"path": paths}
    if not named:
        raise ValueError("paths must hold at least one path, got none")
    points = {
        name: _points(path, f"paths[{name!r}]" if several else "paths")
        for name, path in named.items()
    }
    corners = strings(actions if actions is None else list(actions), 3, "actions")
    if ax is None:
        ax = new_axes(4.6, 4.4)
    check_axes(ax)
    _frame(ax, corners or ("0", "1", "2"))
    for number, (name, path) in enumerate(points.items()):
        _draw(ax, number, name, path)
    if title is not None:
        ax.set_title(title)
    if several:
        ax.legend(loc="upper right", fontsize="small", frameon=False)
    return ax


def _points(path: ArrayLike, name: str) -> Vector:
    """Return where the strategies of a path lie in the plane, shape ``(points, 2)``."""
    try:
        strategies = np.asarray(path, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must be an array of numbers, got {path!r}") from error
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
    for level in (0.25, 0.5, 0.75):
        for corner in range(3):
            one, other = (corner + 1) % 3, (corner + 2) % 3
            ends = level * CORNERS[corner] + (1.0 - level) * CORNERS[[one, other]]
            ax.plot(*ends.T, color="0.88", linewidth=0.8, zorder=1)
    ax.plot(*CORNERS[[0, 1, 2, 0]].T, color="0.35", linewidth=1.2, zorder=2)
    where: tuple[tuple[int, int, str, str], ...] = (
        (-4, -4, "right", "top"),
        (4, -4, "left", "top"),
        (0, 5, "center", "bottom"),
    )
    for corner, action, (right, up, across, along) in zip(CORNERS, actions, where, strict=True):
        ax.annotate(
            plain(action),
            (float(corner[0]), float(corner[1])),
            xytext=(right, up),
            textcoords="offset points",
            horizontalalignment=across,
            verticalalignment=along,
        )
    ax.set_aspect("equal")
    ax.set_xlim(-0.12, 1.12)
    ax.set_ylim(-0.08, 0.94)
    ax.set_axis_off()


def _draw(ax: "Axes", number: int, name: str, path: Vector) -> None:
    look = style(number)
    ax.plot(*path.T, linewidth=1.1, label=name, zorder=3, **look)
    for end, filled in ((path[0], False), (path[-1], True)):
        ax.plot(
            *end,
            linestyle="none",
            marker="o",
            markersize=7,
            markeredgecolor=look["color"],
            markerfacecolor=look["color"] if filled else "white",
            zorder=4,
        )
