"""Game trees drawn by matplotlib: left to right, each end of the game on a line of its own."""

import itertools
from collections import defaultdict
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from regretkit._util._typing import Vector
from regretkit.display._style import NAME, PayoffColumns, color_of, plain, text_size, width_of
from regretkit.games import CHANCE, TERMINAL, GameTree

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class TreeFigure:
    """The positions of everything in the drawing of a game tree, in points, y downwards.

    Histories of one length stand in a column; left of it are the names of the actions, and lanes
    for the vertical lines that join information sets.
    """

    def __init__(self, tree: GameTree) -> None:
        self.tree, self.size = tree, text_size()
        self.line = 1.9 * self.size
        self.depth, lines = _layout(tree)
        self.y: list[float] = (self.line * lines).tolist()
        self.height = self.line * tree.terminals.size
        self.payoffs = PayoffColumns(tree.payoffs.tolist())
        self.captions = [_caption(tree, history) for history in range(tree.histories)]
        self.actions = [_action(tree, history) for history in range(tree.histories)]
        self.sets: dict[tuple[int, int], list[int]] = defaultdict(list)
        for history in np.lexsort((lines, tree.player)).tolist():
            if tree.player[history] >= 0:
                key = int(tree.player[history]), int(tree.information_set[history])
                self.sets[key].append(history)
        self.lanes = self._lanes()
        self._place_columns()

    def _lanes(self) -> dict[tuple[int, int], int]:
        """Return the lane of each information set in one column; no two in a lane overlap."""
        lanes, ends = {}, defaultdict[int, list[float]](list)
        for key, histories in sorted(self.sets.items(), key=lambda item: self.y[item[1][0]]):
            depths = {self.depth[history] for history in histories}
            if len(histories) > 1 and len(depths) == 1:
                taken, top = ends[depths.pop()], self.y[histories[0]]
                lane = next((i for i, end in enumerate(taken) if end < top), len(taken))
                taken[lane : lane + 1] = [self.y[histories[-1]]]
                lanes[key] = lane
        return lanes

    def _place_columns(self) -> None:
        """Find where each column begins, and the names of the actions before it."""
        boxes, names, lanes = np.zeros((3, max(self.depth) + 1))
        for level, caption, action in zip(self.depth, self.captions, self.actions, strict=True):
            box = width_of(caption, self.size) if caption else self.payoffs.width
            boxes[level] = max(boxes[level], box + 1.2 * self.size)
            names[level] = max(names[level], width_of(action, self.size) + 0.8 * self.size)
        for key, lane in self.lanes.items():
            level = self.depth[self.sets[key][0]]
            lanes[level] = max(lanes[level], 0.6 * self.size * (lane + 2))
        fans = 2.8 * self.size * (np.arange(boxes.size) > 0)
        names[0] = 0.0
        columns = np.cumsum(fans + names + lanes + boxes) - boxes
        self.columns: list[float] = columns.tolist()
        self.names: list[float] = (columns - names - lanes).tolist()
        self.width = float(columns[-1] + boxes[-1])

    def draw(self, ax: "Axes") -> None:
        """Draw the tree; a unit of the axes is a point."""
        self._draw_edges(ax)
        for key, histories in self.sets.items():
            self._join(ax, key, histories)
        size, look = self.size, {"fontsize": self.size, "verticalalignment": "center_baseline"}
        for history, caption in enumerate(self.captions):
            if caption:
                color = color_of(int(self.tree.player[history]))
                box = {"boxstyle": "round,pad=0.3", "facecolor": color, "edgecolor": "none"}
                place = self.columns[self.depth[history]] + 0.6 * size, self.y[history]
                ax.text(*place, caption, color="white", bbox=box, **look)  # type: ignore[arg-type]
        for history, payoffs in zip(self.tree.terminals, self.tree.payoffs.tolist(), strict=True):
            place = self.columns[self.depth[history]] + 0.4 * size, self.y[history]
            self.payoffs.write(ax, place, payoffs)

    def _draw_edges(self, ax: "Axes") -> None:
        import matplotlib as mpl
        from matplotlib.collections import LineCollection

        edges = []
        for history, parent in enumerate(self.tree.parent.tolist()[1:], start=1):
            level, above, y = self.depth[history], self.y[parent], self.y[history]
            start, name = self.columns[level - 1] + self.size, self.names[level]
            bend = name - 2.4 * self.size
            edges.append([(start, above), (bend, above), (name, y), (self.columns[level], y)])
            place, size = (name + 0.4 * self.size, y - 0.15 * self.size), 0.9 * self.size
            ax.text(*place, self.actions[history], fontsize=size, verticalalignment="baseline")
        color = mpl.rcParams["grid.color"]
        ax.add_collection(LineCollection(edges, colors=color, linewidths=0.8, zorder=0.5))

    def _join(self, ax: "Axes", key: tuple[int, int], histories: list[int]) -> None:
        """Draw a dashed line through the histories of an information set, from top to bottom."""
        look: dict[str, Any] = {"color": color_of(key[0]), "linewidth": 1.1, "linestyle": "--"}
        aside, path = 0.3 * self.size, []
        for upper, lower in itertools.pairwise(histories):
            left, right = self.columns[self.depth[upper]], self.columns[self.depth[lower]]
            top, bottom = self.y[upper], self.y[lower]
            if key in self.lanes:
                lane = left - 0.6 * self.size * (self.lanes[key] + 1)
                top, bottom = top + aside, bottom - aside
                path += [(left, top), (lane, top), (lane, bottom), (left, bottom), (np.nan, np.nan)]
            else:
                bow = {"arrowstyle": "-", "connectionstyle": "arc3,rad=-0.3", **look}
                ends = (right + self.size, bottom), (left + self.size, top)
                ax.annotate("", *ends, arrowprops=bow, zorder=0.6)
        if path:
            ax.plot(*np.transpose(path), zorder=0.7, **look)


def _layout(tree: GameTree) -> tuple[list[int], Vector]:
    """Return the depth and the line of each history: ends in order, others amid their children."""
    paths: list[tuple[int, ...]] = [()]
    for parent, action in zip(tree.parent[1:].tolist(), tree.action[1:].tolist(), strict=True):
        paths.append((*paths[parent], action))
    first, last = np.full(tree.histories, np.inf), np.full(tree.histories, -np.inf)
    for line, end in enumerate(sorted(tree.terminals.tolist(), key=paths.__getitem__)):
        first[end] = last[end] = line + 0.5
    for history in range(tree.histories - 1, 0, -1):  # children come after their parents
        parent, line = tree.parent[history], (first[history] + last[history]) / 2
        first[parent], last[parent] = min(first[parent], line), max(last[parent], line)
    return list(map(len, paths)), (first + last) / 2


def _caption(tree: GameTree, history: int) -> str:
    player, index = int(tree.player[history]), int(tree.information_set[history])
    if player in (TERMINAL, CHANCE):
        return "" if player == TERMINAL else "chance"
    return f"{player}: {plain(tree.labels[player][index], NAME) or f'number {index}'}"


def _action(tree: GameTree, history: int) -> str:
    """Return the action that leads to a history, with its probability if chance takes it."""
    name = plain(tree.history_path(history)[-1], NAME) if history else ""
    if not history or tree.player[tree.parent[history]] != CHANCE:
        return name
    return f"{name}  {probability(float(tree.probability[history]))}"


def probability(value: float) -> str:
    """Return a probability, as a fraction if its denominator is at most 1000."""
    fraction = Fraction(value).limit_denominator(1_000)
    near = np.isclose(float(fraction), value, rtol=1e-12, atol=0.0)
    return str(fraction) if near else f"{value:.4g}"
