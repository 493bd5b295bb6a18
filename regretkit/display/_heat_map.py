"""Probabilities as colors: heat maps of profiles, and grids of starting hands."""

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import check_kind, quote, whole_number
from regretkit.display._style import (
    LONGEST,
    axes_for,
    font_size,
    label_axes,
    plain,
    require_matplotlib,
)
from regretkit.evaluation import hold_em_report
from regretkit.games import Profile
from regretkit.games._profile import ProfileLike, label_of, simplices_of
from regretkit.games.poker._cards import RANKS
from regretkit.games.public import PublicGame
from regretkit.games.public._tree import Path
from regretkit.play._recorder import Place

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FEW, _WIDE = 40, 12
"""Most rows and columns with numbers in the cells; names of more columns are vertical."""
_HIGHEST = 14.0
"""Most inches of all rows together; with more rows, only some have names."""


class _Row(NamedTuple):
    player: int
    label: str
    actions: tuple[str, ...]
    probabilities: Vector
    reached: bool

    @property
    def mixed(self) -> float:
        """The entropy of the strategy, or -1 if the information set is not reached."""
        played = self.probabilities[self.probabilities > 0.0]
        return float(-played @ np.log(played)) if self.reached else -1.0


def heat_map(
    profile: Profile,
    *,
    information_sets: Iterable[Place] | None = None,
    limit: int = 60,
    title: str | None = None,
    figsize: tuple[float, float] | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw a profile as a heat map: rows are information sets, columns are actions.

    A cell is gray if the player has no such action, and hatched if the player's own strategy never
    reaches the information set. A black line separates the players.

    Parameters
    ----------
    profile
        A profile such as ``run.average``, with or without a tree.
    information_sets
        Labels, as ``"K"``, or pairs of a player and a label or number, as ``(0, "K")`` or
        ``(0, 2)``. By default all, up to ``limit``.
    limit
        Largest number of information sets to draw, at least 1. The reached ones with the largest
        entropy are chosen.
    title, figsize, ax
        See ``display``.

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
    require_matplotlib("display.heat_map")
    limit = whole_number(limit, "limit", minimum=1)
    check_kind(profile, Profile, "profile", "run.average")
    every = rows = _rows(profile, information_sets)
    if not rows:
        raise ValueError("information_sets must not be empty")
    if information_sets is None and len(every) > limit:
        by_entropy = sorted(range(len(every)), key=lambda i: -every[i].mixed)
        rows = [every[i] for i in sorted(by_entropy[:limit])]
    columns = list(dict.fromkeys(action for row in rows for action in row.actions))
    ax = axes_for(ax, figsize, _size(columns, rows))
    _paint(ax, rows, columns)
    chosen = f", the {len(rows)} most mixed of {len(every):,}" if len(rows) < len(every) else ""
    _name(ax, rows, columns)
    label_axes(ax, title=title, xlabel="action", ylabel=f"player: information set{chosen}")
    return ax


def _rows(profile: Profile, places: Iterable[Place] | None) -> list[_Row]:
    if places is None:
        counts = [simplices_of(domain, i).blocks for i, domain in enumerate(profile.domains)]
        chosen = [(player, index) for player, count in enumerate(counts) for index in range(count)]
    else:
        chosen = [profile._place(place) for place in places]
    unreached = [set(profile.unreached(player).tolist()) for player in range(len(profile))]
    rows = []
    for player, index in chosen:
        simplices = simplices_of(profile.domains[player], player)
        name = label_of(simplices, index)
        single = name is None and simplices.blocks == 1
        label = f"player {player}" if single else f"{player}: {index if name is None else name}"
        actions, reached = simplices.labels.actions(index), index not in unreached[player]
        rows.append(_Row(player, plain(label), actions, profile[player, index], reached))
    return rows


def _size(columns: Sequence[str], rows: Sequence[_Row]) -> tuple[float, float]:
    """Return the width and height of a figure in inches."""
    longest, cell = max(len(row.label) for row in rows), 4.5 if len(columns) <= _WIDE else 1.7
    width = 13.5 + 0.54 * longest + cell * len(columns)
    header_height = 8.0 + (0.6 * min(max(map(len, columns)), LONGEST) if _upright(columns) else 0.0)
    lines = max((1.95 if len(rows) <= _FEW else 1.25) * len(rows), 13.0)
    em = font_size() / 72.0
    return em * width, em * header_height + min(em * lines, _HIGHEST)


def _upright(columns: Sequence[str]) -> bool:
    """Return whether the names of actions are vertical."""
    return len(columns) > _WIDE or max(map(len, columns)) > 7


def _height(ax: "Axes") -> float:
    """Return the height of axes in inches, before constrained layout."""
    return max(ax.get_window_extent().height / ax.figure.dpi, 0.1)


def _paint(ax: "Axes", rows: Sequence[_Row], columns: Sequence[str]) -> None:
    """Color the cells, hatch unreached rows, and write probabilities in small maps."""
    import matplotlib as mpl
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Rectangle

    cells = np.full((len(rows), len(columns)), np.nan)  # NaN: no such action
    for index, row in enumerate(rows):
        cells[index, [columns.index(action) for action in row.actions]] = row.probabilities
    shades = ListedColormap(mpl.colormaps["Blues"](np.linspace(0.06, 1.0, 256)))  # never white
    lines = "white" if len(rows) <= 2 * _FEW else "none"
    mesh = ax.pcolormesh(cells, cmap=shades, vmin=0.0, vmax=1.0, edgecolor=lines, linewidth=1.0)
    ax.set_facecolor("0.8")
    ax.grid(visible=False)
    shrink = min(1.0, 3.0 / _height(ax))
    ax.figure.colorbar(mesh, ax=ax, label="probability", shrink=shrink, anchor=(0.0, 1.0))
    for index, column in np.argwhere(np.isfinite(cells)).tolist():
        probability, reached = float(cells[index, column]), rows[index].reached
        if not reached:
            cell = Rectangle((column, index), 1, 1, fc="0.93", ec="0.55", hatch="////", lw=0.0)
            ax.add_patch(cell)
        if len(rows) <= _FEW and len(columns) <= _WIDE:
            color = "white" if probability > 0.65 and reached else "black"
            place, text = (column + 0.5, index + 0.5), f"{probability:.2f}"
            ax.text(*place, text, color=color, ha="center", va="center", fontsize="small")


def _name(ax: "Axes", rows: Sequence[_Row], columns: Sequence[str]) -> None:
    """Label rows and columns, and draw a line between players."""
    for index, (upper, lower) in enumerate(itertools.pairwise(rows), start=1):
        if upper.player != lower.player:
            ax.axhline(index, color="black", linewidth=1.0)
    ax.set(ylim=(len(rows), 0), xlim=(0, len(columns)))
    ax.xaxis.tick_top()
    ax.xaxis.set_label_position("top")
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    names, centers = list(map(plain, columns)), np.arange(len(columns)) + 0.5
    ax.set_xticks(centers, names, rotation=90 if _upright(columns) else 0)
    shown = range(0, len(rows), max(1, math.ceil(len(rows) * font_size() / 72.0 / _height(ax))))
    ax.set_yticks([i + 0.5 for i in shown], [rows[i].label for i in shown], fontsize="small")


_PASSIVE = {"fold": "#9BBFDD", "check": "#8CC5A2", "call": "#8CC5A2"}
"""Colors of passive actions. Bets and raises are orange, darker for larger ones."""


def range_grid(
    game: PublicGame,
    profile: ProfileLike,
    node: Path = (),
    *,
    title: str | None = None,
    figsize: tuple[float, float] | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw a player's strategy at a node of ``hold_em``: a cell for each pair of ranks.

    Suited hands are above the diagonal, pairs on it, and offsuit hands below. The width of a color
    in a cell is the frequency of the action, averaged over the hands that reach the node. The
    height is the mean weight of these hands, relative to the largest cell. Empty cells have no
    hand.

    Parameters
    ----------
    game
        A game of ``hold_em``.
    profile
        A profile such as ``run.average``.
    node
        The actions before the decision, as ``"/check/bet 500"``.
    title
        Text above the figure, followed by the player and the node.
    figsize, ax
        See ``display``.

    Examples
    --------
    >>> from regretkit.games import hold_em
    >>> from regretkit.play import solve
    >>> game = hold_em("Ks Th 7s 4d 2s", ("22+,A2s+", "*"), 100, 200)
    >>> axes = range_grid(game, solve(game, "dcfr", iterations=20).average, title="River")
    >>> axes.get_title()
    'River: player 0 at /'
    >>> [text.get_text() for text in axes.get_legend().get_texts()][0][:6]
    'check '
    """
    require_matplotlib("display.range_grid")
    [(name, report)] = hold_em_report(game, profile, nodes=[node])["nodes"].items()
    actions, hands = report["actions"], report["hands"]
    ranks, cells = _cells(list(hands))
    weights = np.array([hand["weight"] for hand in hands.values()])
    behavior = np.array([hand["strategy"] for hand in hands.values()])
    count = np.bincount(cells, minlength=len(ranks) ** 2)
    played = [np.bincount(cells, weights * column, count.size) for column in behavior.T]
    total = np.sum(played, axis=0)
    shown = np.flatnonzero(total)
    rows, columns = np.divmod(shown, len(ranks))
    mean, left = total[shown] / count[shown], columns.astype(np.float64)
    height = mean / mean.max(initial=0.0)
    ax = axes_for(ax, figsize, (7.0, 7.4))
    bars = zip(actions, _colors(actions), played, report["frequencies"], strict=True)
    for action, color, weight, frequency in bars:
        width = weight[shown] / total[shown]
        label = plain(action) if frequency is None else f"{plain(action)} {frequency:.1%}"
        ax.barh(rows + 1 - height / 2, width, height, left, color=color, label=label)
        left = left + width
    _name_hands(ax, ranks, count)
    place = f"player {report['player']} at {name}"
    label_axes(ax, title=place if title is None else f"{title}: {place}")
    below: Any = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0), "frameon": False}
    ax.legend(ncols=min(len(actions), 4), **below)
    return ax


def _cells(hands: Sequence[str]) -> tuple[str, Indices]:
    """Return the ranks of hands, highest first, and the row-major cell of each hand."""
    ranks = "".join(rank for rank in reversed(RANKS) if rank in {*"".join(hands)})
    cells = []
    for name in hands:
        if len(name) != 4 or not {name[0], name[2]} <= {*ranks}:
            raise ValueError(
                f"types must be hands such as 'AhKh', got {quote(name)}; pass hold_em()"
            )
        high, low = sorted((ranks.index(name[0]), ranks.index(name[2])))
        row, column = (high, low) if name[1] == name[3] else (low, high)
        cells.append(row * len(ranks) + column)
    return ranks, np.array(cells)


def _colors(actions: Sequence[str]) -> list[object]:
    from matplotlib import colormaps

    bets = [action for action in actions if action not in _PASSIVE]
    shades = iter(colormaps["Oranges"](np.linspace(0.3, 0.75, len(bets))))
    return [_PASSIVE.get(action) or next(shades) for action in actions]


def _name_hands(ax: "Axes", ranks: str, hands: Indices) -> None:
    """Draw the grid, and the names of cells."""
    count = len(ranks)
    for cell in range(count**2):
        row, column = divmod(cell, count)
        high, low = ranks[min(row, column)], ranks[max(row, column)]
        kind = "" if row == column else "s" if row < column else "o"
        color = "black" if hands[cell] else "0.75"
        place = (column + 0.04, row + 0.04)
        ax.text(*place, f"{high}{low}{kind}", ha="left", va="top", fontsize="x-small", color=color)
    ax.set(xlim=(0, count), ylim=(count, 0), aspect="equal", xticks=[], yticks=[])
    for line in range(1, count):
        ax.axhline(line, color="0.6", linewidth=0.6)
        ax.axvline(line, color="0.6", linewidth=0.6)
