"""Heat maps: what a profile does at each information set."""

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from regretkit._typing import Vector
from regretkit.games import Profile
from regretkit.games._strategy_rows import label_of, simplices_of
from regretkit.play.recording import Place
from regretkit.plots._matplotlib import LONGEST, check_axes, check_matplotlib, new_axes, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FEW = 40
"""Up to so many rows there are numbers in the cells and all rows are named."""

_WIDE = 12
"""More columns than this are named from bottom to top, and have no numbers in their cells."""

_BETWEEN = 0.14
"""Inches from one row's name to the next one's, at least."""

_LEAST, _MOST = 1.8, 14.0
"""Inches that the cells are high: the name of the axis has room beside them, and it ends."""

_LIGHT = 0.06
"""Where on matplotlib's scale of blues zero is, so that it is not taken for no cell at all."""


class _Row(NamedTuple):
    player: int
    label: str
    actions: tuple[str, ...]
    probabilities: Vector
    reached: bool


def heat_map(
    profile: Profile,
    *,
    information_sets: Iterable[Place] | None = None,
    annotate: bool | None = None,
    title: str | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw a profile as a table of colors: information sets downwards, actions across.

    A place is grey where the player has no such action. What is hatched is never reached by the
    player's own play, and uniform play there stands for none at all. Of hundreds of information
    sets, only some are named, evenly spread. A black line parts the players.

    Parameters
    ----------
    profile
        Such as ``run.average``.
    information_sets
        Which ones: labels, as ``"K"``, or with their player, as ``(0, "K")`` or ``(0, 2)``; by
        default all of all players.
    annotate
        Whether to write probabilities into the cells; by default where there are few.
    title
        What stands above.
    ax
        Where to draw; by default in a new figure, as high as the rows need.

    Returns
    -------
    Axes
        Of matplotlib, to go on with.

    Raises
    ------
    ImportError
        When matplotlib is not installed.
    TypeError
        When ``profile`` is none, or ``ax`` cannot be drawn on.
    ValueError
        When an information set is not in the game, there is none at all, or a player's set is not
        made of decisions.

    Examples
    --------
    >>> from regretkit.games import kuhn_poker
    >>> from regretkit.play import solve
    >>> profile = solve(kuhn_poker(), "cfr+", iterations=100).average
    >>> axes = heat_map(profile, title="Kuhn poker")
    >>> [text.get_text() for text in axes.get_yticklabels()][:3]
    ['0: J', '0: Q', '0: K']
    >>> [text.get_text() for text in axes.get_xticklabels()]
    ['p', 'b']
    """
    check_matplotlib("heat_map")
    if not isinstance(profile, Profile):
        raise TypeError(f"profile must be a Profile, such as run.average, got {profile!r}")
    rows = _rows(profile, information_sets)
    if not rows:
        raise ValueError("there is no information set to draw; pass information_sets=['K']")
    columns = list(dict.fromkeys(action for row in rows for action in row.actions))
    cells = _cells(rows, columns)
    if ax is None:
        ax = new_axes(*_size(len(rows), columns, rows))
    check_axes(ax)
    few = len(rows) <= _FEW and len(columns) <= _WIDE
    _paint(ax, cells, lines=len(rows) <= 2 * _FEW)
    _hatch(ax, rows, cells)
    if few if annotate is None else annotate:
        _write(ax, cells)
    _name(ax, rows, columns)
    if title is not None:
        ax.set_title(title)
    return ax


def _rows(profile: Profile, places: Iterable[Place] | None) -> list[_Row]:
    if places is None:
        counts = [simplices_of(domain, i).blocks for i, domain in enumerate(profile.domains)]
        chosen = [
            (player, number) for player, count in enumerate(counts) for number in range(count)
        ]
    else:
        chosen = [profile._place(place) for place in places]
    unreached = [set(profile.unreached(player).tolist()) for player in range(len(profile))]
    rows = []
    for player, number in chosen:
        simplices = simplices_of(profile.domains[player], player)
        name = label_of(simplices, number)
        label = f"player {player}" if name is None and simplices.blocks == 1 else ""
        rows.append(
            _Row(
                player,
                label or f"{player}: {number if name is None else name}",
                simplices.labels.actions(number),
                profile[player, number],
                number not in unreached[player],
            )
        )
    return rows


def _cells(rows: Sequence[_Row], columns: Sequence[str]) -> Vector:
    """Return the probabilities, shape ``(rows, columns)``, NaN where there is no action."""
    place = {action: column for column, action in enumerate(columns)}
    cells = np.full((len(rows), len(columns)), np.nan)
    for number, row in enumerate(rows):
        cells[number, [place[action] for action in row.actions]] = row.probabilities
    return cells


def _size(count: int, columns: Sequence[str], rows: Sequence[_Row]) -> tuple[float, float]:
    """Return the width and the height of a figure in inches."""
    longest = min(max(len(row.label) for row in rows), LONGEST)
    each = 0.62 if len(columns) <= _WIDE else 0.24
    above = 0.08 * min(max(map(len, columns)), LONGEST) if _upright(columns) else 0.0
    few, many = 0.27 * min(count, _FEW), min(0.03 * count, _MOST)
    height = max(few, many, _LEAST)
    return 1.9 + 0.075 * longest + each * len(columns), 1.1 + above + height


def _upright(columns: Sequence[str]) -> bool:
    """Say whether the names of actions go from bottom to top."""
    return len(columns) > _WIDE or max(map(len, columns)) > 7


def _paint(ax: "Axes", cells: Vector, *, lines: bool) -> None:
    import matplotlib as mpl
    from matplotlib.colors import ListedColormap

    blues = ListedColormap(mpl.colormaps["Blues"](np.linspace(_LIGHT, 1.0, 256)))
    mesh = ax.pcolormesh(cells, cmap=blues, vmin=0.0, vmax=1.0)
    if lines:
        mesh.set(edgecolor="white", linewidth=1.0)
    ax.set_facecolor("0.8")
    shrink = min(1.0, 3.0 / _height(ax))
    ax.figure.colorbar(mesh, ax=ax, label="probability", shrink=shrink, anchor=(0.0, 1.0))


def _height(ax: "Axes") -> float:
    """Return the height of axes in inches, as far as it is known before all is laid out."""
    return max(ax.get_window_extent().height / ax.figure.dpi, 0.1)


def _hatch(ax: "Axes", rows: Sequence[_Row], cells: Vector) -> None:
    from matplotlib.patches import Rectangle

    for number, row in enumerate(rows):
        for column in np.flatnonzero(np.isfinite(cells[number])).tolist():
            if not row.reached:
                cell = Rectangle((column, number), 1, 1, facecolor="0.93", linewidth=0.0)
                cell.set(hatch="////", edgecolor="0.55")
                ax.add_patch(cell)


def _write(ax: "Axes", cells: Vector) -> None:
    for number, column in np.argwhere(np.isfinite(cells)).tolist():
        probability = float(cells[number, column])
        ax.text(
            column + 0.5,
            number + 0.5,
            f"{probability:.2f}",
            horizontalalignment="center",
            verticalalignment="center",
            fontsize="small",
            color="white" if probability > 0.6 else "black",
        )


def _name(ax: "Axes", rows: Sequence[_Row], columns: Sequence[str]) -> None:
    for number, (above, below) in enumerate(itertools.pairwise(rows), start=1):
        if above.player != below.player:
            ax.axhline(number, color="black", linewidth=1.0)
    ax.set_ylim(len(rows), 0)
    ax.set_xlim(0, len(columns))
    ax.xaxis.set_ticks_position("top")
    ax.xaxis.set_label_position("top")
    ax.tick_params(length=0)
    for spine in ax.spines.values():
        spine.set_visible(False)
    ax.set_xticks(
        np.arange(len(columns)) + 0.5,
        list(map(plain, columns)),
        rotation=90 if _upright(columns) else 0,
    )
    step = max(1, math.ceil(len(rows) * _BETWEEN / _height(ax)))
    shown = range(0, len(rows), step)
    ax.set_yticks(
        [row + 0.5 for row in shown], [plain(rows[row].label) for row in shown], fontsize="small"
    )
    ax.set_ylabel("player: information set")
    ax.set_xlabel("action")
