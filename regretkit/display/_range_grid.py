"""Grids of hands: what a range plays at a node, as players draw it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from regretkit._util._typing import Indices
from regretkit._util._validate import quote
from regretkit.display._style import axes_for, label_axes, legend_of, plain, require_matplotlib
from regretkit.evaluation import hold_em_report
from regretkit.games._behavioral import ProfileLike
from regretkit.games.poker._cards import RANKS
from regretkit.games.public import PublicGame
from regretkit.games.public._tree import Path

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_PASSIVE = {"fold": "#9BBFDD", "check": "#8CC5A2", "call": "#8CC5A2"}
"""Colors of what is no bet; bets and raises are orange, the larger the darker."""


def range_grid(
    game: PublicGame,
    profile: ProfileLike,
    node: Path = (),
    *,
    title: str | None = None,
    figsize: tuple[float, float] | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw what a range plays at a node of ``hold_em``: a cell for each pair of ranks.

    Suited hands are above the diagonal, pairs on it, and the others below. The width of a color
    in a cell is how often the action is played, on average over the hands with which the play
    comes to the node, and the height is how much of the cell's hands that is, against the most of
    all cells. Empty cells have no hand.

    Parameters
    ----------
    game
        A game of ``hold_em``.
    profile
        Such as ``run.average``.
    node
        The actions before the decision, as ``"/check/bet 500"``.
    title, figsize, ax
        As in all figures, see ``display``.

    Raises
    ------
    TypeError
        When ``game`` is no public game.
    ValueError
        When types are no hands, there is no such node, or no player decides there.

    Examples
    --------
    >>> from regretkit.games import hold_em
    >>> from regretkit.play import solve
    >>> game = hold_em("Ks Th 7s 4d 2s", ("22+,A2s+", "*"), 100, 200)
    >>> axes = range_grid(game, solve(game, "dcfr", iterations=20).average, title="River")
    >>> [text.get_text() for text in axes.get_legend().get_texts()][0][:6]
    'check '
    """
    require_matplotlib("display.range_grid")
    (report,) = hold_em_report(game, profile, nodes=[node])["nodes"].values()
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
    _name(ax, ranks, count)
    label_axes(ax, title=title)
    place = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0)}
    legend_of(ax, **place, ncols=min(len(actions), 4), frameon=False)
    return ax


def _cells(hands: Sequence[str]) -> tuple[str, Indices]:
    """Return the ranks of hands, the highest first, and the cell of each hand, row by row."""
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


def _name(ax: "Axes", ranks: str, hands: Indices) -> None:
    """Draw the lines between cells and the names of those with hands."""
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
