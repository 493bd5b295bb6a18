"""Tables of payoffs drawn by matplotlib, one for each choice of the third and later players."""

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from regretkit.display._style import NAME, PayoffColumns, color_of, plain, text_size, width_of
from regretkit.games import NormalFormGame

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class MatrixFigure:
    """The positions in the drawing of a game in normal form, in points, y downwards.

    Rows are actions of player 0, and columns those of player 1.
    """

    def __init__(self, game: NormalFormGame) -> None:
        self.game, self.size, self.line = game, text_size(), 2.1 * text_size()
        names = [[plain(a, NAME) for a in domain.labels.actions(0)] for domain in game.domains]
        self.rows, self.columns = names[0], names[1] if game.players > 1 else [""]
        self.payoffs = PayoffColumns(game.payoffs.reshape(game.players, -1).T.tolist())
        self.headings = {
            choices: ", ".join(f"player {i}: {names[i][a]}" for i, a in enumerate(choices, start=2))
            for choices in itertools.product(*map(range, game.payoffs.shape[3:]))
        }
        pad = 1.6 * self.size
        self.head = pad + self._widest(self.rows)
        self.cell = pad + max(self.payoffs.width, self._widest(self.columns))
        lines = len(self.rows) + (game.players > 1) + 1.4 * (game.players > 2)
        self.height = self.line * lines * len(self.headings) + 0.2 * self.size
        table = self.head + self.cell * len(self.columns)
        self.width = max(table, self._widest(list(self.headings.values()))) + 0.2 * self.size

    def _widest(self, texts: list[str]) -> float:
        return max(width_of(text, self.size) for text in texts)

    def draw(self, ax: "Axes") -> None:
        """Draw the tables below one another; a unit of the axes is a point."""
        look: dict[str, Any] = {"fontsize": self.size, "verticalalignment": "center_baseline"}
        top = 0.0
        for choices, heading in self.headings.items():
            if choices:
                ax.text(0.0, top + 0.8 * self.line, heading, **look)
                top += 1.4 * self.line
            if self.game.players > 1:
                for column, action in enumerate(self.columns):
                    place = self.head + self.cell * (column + 0.5), top + self.line / 2
                    ax.text(*place, action, color=color_of(1), ha="center", **look)
                top += self.line
            for row, action in enumerate(self.rows):
                place = self.head - 0.8 * self.size, top + self.line * (row + 0.5)
                ax.text(*place, action, color=color_of(0), ha="right", **look)
            self._draw_cells(ax, top, choices)
            top += self.line * len(self.rows)

    def _draw_cells(self, ax: "Axes", top: float, choices: tuple[int, ...]) -> None:
        import matplotlib as mpl

        xs = [self.head + self.cell * column for column in range(len(self.columns) + 1)]
        ys = [top + self.line * row for row in range(len(self.rows) + 1)]
        look: dict[str, Any] = {"colors": mpl.rcParams["grid.color"], "linewidth": 0.8}
        ax.hlines(ys, xs[0], xs[-1], **look)
        ax.vlines(xs, ys[0], ys[-1], **look)
        by_outcome = np.moveaxis(self.game.payoffs, 0, -1)
        for row, column in itertools.product(range(len(self.rows)), range(len(self.columns))):
            outcome = (row, column, *choices)[: self.game.players]
            place = xs[column] + (self.cell - self.payoffs.width) / 2, ys[row] + self.line / 2
            self.payoffs.write(ax, place, by_outcome[outcome].tolist())
