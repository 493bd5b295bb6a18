"""Small games as text and figures: trees, and tables of payoffs."""

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from regretkit._util._errors import printable
from regretkit._util._typing import Vector
from regretkit._util._validate import quote, whole_number
from regretkit.display._style import (
    aligned,
    axes_for,
    color_of,
    number,
    numbers,
    plain,
    require_matplotlib,
    text_size,
    title_of,
    width_of,
)
from regretkit.games import (
    CHANCE,
    TERMINAL,
    ExtensiveFormGame,
    Game,
    GameTree,
    ImperfectRecallGame,
    NormalFormGame,
)
from regretkit.games._game import tree_hint
from regretkit.games.public import PublicGame

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LIMIT = 250
"""Default limit of histories, or outcomes of a normal form, in a drawing."""

NAME = 28
"""Most characters of a name in figures."""

_EXAMPLE = "; pass one such as games.load('kuhn_poker')"

_LEGEND: dict[str, Any] = {
    **{"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "borderaxespad": 0.0, "frameon": False},
    **{"handlelength": 0.9, "handleheight": 0.9},
}
"""Style of the legend: one line between the title and the drawing."""

NewAxes: TypeAlias = "Callable[[tuple[float, float]], Axes]"
"""Creates axes for a figure of a given size in inches."""

# Text


def sizes(game: Any) -> dict[str, Any]:
    """Return the form and the sizes of a game by name, as JSON data."""
    found: dict[str, Any]
    if isinstance(game, NormalFormGame):
        found = {"form": "normal", "players": game.players}
        found |= {"actions": [*game.payoffs.shape[1:]], "outcomes": game.payoffs[0].size}
    elif isinstance(game, PublicGame):
        found = {"form": "public", "players": game.players, "public_tree": repr(game.tree)}
        found |= {"types": [*game.deal.sizes]}
        found |= {"information_sets": [domain.points for domain in game.domains]}
    else:
        tree = tree_of(game)
        found = {"form": "extensive", "players": tree.players, "histories": tree.histories}
        found |= {"terminals": tree.terminals.size, "depth": tree.depth}
        found |= {"information_sets": [*tree.information_sets]}
    if isinstance(game, ExtensiveFormGame | PublicGame):
        found["sequences"] = [domain.dimension for domain in game.domains]
    if not isinstance(game, GameTree | ImperfectRecallGame):
        found["constant_sum"] = game.constant_sum
    return found


def size_rows(game: Any) -> list[tuple[str, str]]:
    """Return the form and the sizes of a game as text."""
    return [(name.replace("_", " "), _size(name, size)) for name, size in sizes(game).items()]


def _size(name: str, size: Any) -> str:
    if isinstance(size, list):
        return (" x " if name in ("actions", "types") else " + ").join(f"{n:,}" for n in size)
    if isinstance(size, int):
        return f"{size:,}"
    return size if isinstance(size, str) else "none" if size is None else number(size)


def tree_lines(tree: GameTree, limit: int) -> Iterator[str]:
    """Yield the first ``limit`` histories in breadth-first order, as lines of an indented tree."""
    count = np.bincount(tree.parent[1:], minlength=tree.histories)
    first = 1 + np.cumsum(count) - count  # siblings are contiguous
    payoffs = dict(zip(tree.terminals.tolist(), tree.payoffs.tolist(), strict=True))
    waiting = [(0, "", "")]
    while waiting:
        history, branch, margin = waiting.pop()
        start, end = int(first[history]), int(first[history] + count[history])
        children = range(start, min(end, max(start, limit)))
        hidden = end - start - len(children)
        parts = filter(None, (_line_action(tree, history), _situation(tree, history, payoffs)))
        yield f"{branch}{'  '.join(parts)}{f'  ... {hidden} more' if hidden else ''}"
        subtrees = [(child, f"{margin}├─ ", f"{margin}│  ") for child in children]
        if subtrees:
            subtrees[-1] = (children[-1], f"{margin}└─ ", f"{margin}   ")
        waiting.extend(reversed(subtrees))


def _line_action(tree: GameTree, history: int) -> str:
    name = printable(tree.history_path(history)[-1]) if history else ""
    by_chance = history and tree.player[tree.parent[history]] == CHANCE
    return f"{name} ({number(float(tree.probability[history]))})" if by_chance else name


def _situation(tree: GameTree, history: int, payoffs: dict[int, list[float]]) -> str:
    player = int(tree.player[history])
    if player == CHANCE:
        return "chance"
    if player == TERMINAL:
        return f"pays {numbers(payoffs[history])}"
    label = tree.labels[player][int(tree.information_set[history])]
    return f"player {player} at {quote(label)}"


def payoff_tables(game: NormalFormGame) -> Iterator[tuple[str, list[list[str]]]]:
    """Yield a heading and a table for each joint action of the third and later players."""
    names = [list(map(printable, domain.labels.actions(0))) for domain in game.domains]
    columns = names[1] if game.players > 1 else ["payoff"]
    by_outcome = np.moveaxis(game.payoffs, 0, -1)
    for choices in itertools.product(*(range(len(actions)) for actions in names[2:])):
        chosen = [f"player {i}: {names[i][a]}" for i, a in enumerate(choices, start=2)]
        rows = [["", *columns]]
        for row, name in enumerate(names[0]):
            outcomes = [(row, column, *choices)[: game.players] for column in range(len(columns))]
            rows.append([name, *(numbers(by_outcome[outcome].tolist()) for outcome in outcomes)])
        yield ", ".join(chosen), rows


def table_lines(game: NormalFormGame) -> Iterator[str]:
    """Yield the tables of payoffs as lines."""
    for heading, rows in payoff_tables(game):
        if heading:
            yield from ("", heading)
        yield from aligned(rows, range(1, len(rows[0])))


# Figures


class TreeFigure:
    """The layout of a drawing of a game tree, in points, with y downwards.

    Histories of equal length form a column. On its left are the names of the actions, and lanes for
    the vertical lines that join information sets.
    """

    def __init__(self, tree: GameTree) -> None:
        self.tree, self.players, self.size = tree, tree.players, text_size()
        self.chance = bool((tree.player == CHANCE).any())
        self.line = 1.9 * self.size
        self.depth, lines = _layout(tree)
        self.y: list[float] = (self.line * lines).tolist()
        self.height = self.line * tree.terminals.size
        payoffs = map(numbers, tree.payoffs.tolist())
        self.payoffs = dict(zip(tree.terminals.tolist(), payoffs, strict=True))
        self.captions = [
            self.payoffs.get(history) or _caption(tree, history)
            for history in range(tree.histories)
        ]
        self.actions = [_action(tree, history) for history in range(tree.histories)]
        self.sets: dict[tuple[int, int], list[int]] = defaultdict(list)
        for history in np.lexsort((lines, tree.player)).tolist():
            if tree.player[history] >= 0:
                key = int(tree.player[history]), int(tree.information_set[history])
                self.sets[key].append(history)
        self.lanes = self._lanes()
        self._place_columns()

    def _lanes(self) -> dict[tuple[int, int], int]:
        """Return the lane of each information set in a single column, without overlaps."""
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
        """Compute the positions of columns, and of the action names before them."""
        boxes, names, lanes = np.zeros((3, max(self.depth) + 1))
        for level, caption, action in zip(self.depth, self.captions, self.actions, strict=True):
            boxes[level] = max(boxes[level], width_of(caption, self.size) + 1.2 * self.size)
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
        """Draw the tree on axes whose unit is a point."""
        self._draw_edges(ax)
        for key, histories in self.sets.items():
            self._join(ax, key, histories)
        for history, caption in enumerate(self.captions):
            look: dict[str, Any] = {"fontsize": self.size, "va": "center_baseline"}
            if history not in self.payoffs:
                color = color_of(int(self.tree.player[history]))
                box = {"boxstyle": "round,pad=0.3", "facecolor": color, "edgecolor": "none"}
                look |= {"color": "white", "bbox": box}
            place = self.columns[self.depth[history]] + 0.6 * self.size, self.y[history]
            ax.text(*place, caption, **look)

    def _draw_edges(self, ax: "Axes") -> None:
        import matplotlib as mpl
        from matplotlib.collections import LineCollection

        edges = []
        for history, parent in enumerate(self.tree.parent.tolist()[1:], start=1):
            level, top, y = self.depth[history], self.y[parent], self.y[history]
            start, name = self.columns[level - 1] + self.size, self.names[level]
            bend = name - 2.4 * self.size
            edges.append([(start, top), (bend, top), (name, y), (self.columns[level], y)])
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
    """Return the depth and line of each history; a parent is in the middle of its children."""
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
    if player == CHANCE:
        return "chance"
    return f"{player}: {plain(tree.labels[player][index], NAME) or f'number {index}'}"


def _action(tree: GameTree, history: int) -> str:
    """Return the last action of a history, with its probability if it is chance's."""
    name = plain(tree.history_path(history)[-1], NAME) if history else ""
    if not history or tree.player[tree.parent[history]] != CHANCE:
        return name
    return f"{name}  {probability(float(tree.probability[history]))}"


def probability(value: float) -> str:
    """Return a probability, as a fraction if its denominator is at most 1000."""
    fraction = Fraction(value).limit_denominator(1_000)
    near = np.isclose(float(fraction), value, rtol=1e-12, atol=0.0)
    return str(fraction) if near else f"{value:.4g}"


class TableFigure:
    """The layout of a column of payoff tables, in points, with y downwards.

    Rows are actions of player 0, and columns are actions of player 1.
    """

    chance = False

    def __init__(self, game: NormalFormGame) -> None:
        self.players, self.size, self.line = game.players, text_size(), 2.1 * text_size()
        self.tables = [(plain(heading, 200), rows) for heading, rows in payoff_tables(game)]
        for _, rows in self.tables:
            rows[0] = [plain(name, NAME) for name in rows[0]]
            for row in rows:
                row[0] = plain(row[0], NAME)
        rows = [row for _, rows in self.tables for row in rows]
        widest = [
            max(width_of(text, self.size) for text in column) for column in zip(*rows, strict=True)
        ]
        pad = 1.6 * self.size
        self.columns = [pad + widest[0], *[pad + max(widest[1:])] * (len(widest) - 1)]
        headings = max(self._width(heading) for heading, _ in self.tables)
        self.width = max(sum(self.columns), headings) + 0.2 * self.size
        lines = sum(len(rows) + 1.4 * bool(heading) for heading, rows in self.tables)
        self.height = self.line * lines + 0.2 * self.size

    def _width(self, text: str) -> float:
        return width_of(text, self.size) + 1.6 * self.size

    def draw(self, ax: "Axes") -> None:
        """Draw the tables on axes whose unit is a point."""
        import matplotlib as mpl
        from matplotlib.transforms import Bbox

        top, grid = 0.0, mpl.rcParams["grid.color"]
        for heading, rows in self.tables:
            if heading:
                ax.text(0.0, top + 0.8 * self.line, heading, size=self.size, va="center_baseline")
                top += 1.4 * self.line
            bottom = top + self.line * len(rows)
            place = Bbox(ax.transLimits.transform([(0.0, bottom), (sum(self.columns), top)]))
            table = ax.table(rows, colWidths=self.columns, cellLoc="center", bbox=place)
            table.auto_set_font_size(False)
            table.set_fontsize(self.size)
            for (row, column), cell in table.get_celld().items():
                name = row == 0 or column == 0
                cell.set(edgecolor=grid, linewidth=0.0 if name else 0.8)
                if name and self.players > 1:
                    cell.get_text().set_color(color_of(int(row == 0)))
            top = bottom


def draw_game(
    game: Game | GameTree,
    *,
    limit: int = LIMIT,
    title: str | None = None,
    figsize: tuple[float, float] | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw a game: its tree, or its table of payoffs.

    A tree grows from left to right. A box is a history, in the color of the acting player, with the
    player's number and the label of the information set. A dashed line joins the histories of an
    information set. Edges are actions, with probabilities if they are chance's. Terminals show the
    payoffs of all players. A normal form has one table of payoffs for each joint action of the
    third and later players.

    Parameters
    ----------
    game
        The game to draw.
    limit
        Largest number of histories, or outcomes of a normal form, to draw; at least 1.
    title
        Text above the figure; by default the name of the game.
    figsize, ax
        See ``display``.

    Examples
    --------
    >>> from regretkit.games import kuhn_poker, leduc_poker
    >>> axes = draw_game(kuhn_poker())
    >>> axes.get_title(loc="left")
    'Kuhn poker'
    >>> draw_game(leduc_poker())
    Traceback (most recent call last):
    ...
    ValueError: game has 9457 histories, more than the limit of 250
    """
    require_matplotlib("display.draw_game")
    return _draw(game, limit, title, partial(axes_for, ax, figsize))


def game_figure(game: Game | GameTree, limit: int = LIMIT) -> "Figure":
    """Return the figure of ``draw_game``, outside pyplot."""
    require_matplotlib("a drawing of a game")
    from matplotlib.figure import Figure

    def new_axes(natural: tuple[float, float]) -> "Axes":
        return Figure(natural, layout="constrained").add_subplot()

    return cast("Figure", _draw(game, limit, None, new_axes).figure)


def size_of(game: object) -> tuple[int, str]:
    """Return the size of a game and its unit, outcomes or histories."""
    if isinstance(game, NormalFormGame):
        return int(game.payoffs[0].size), "outcomes"
    return tree_of(game).histories, "histories"


def tree_of(game: object) -> GameTree:
    """Return the tree of a game, or raise a TypeError."""
    if isinstance(game, GameTree):
        return game
    if isinstance(game, ExtensiveFormGame | ImperfectRecallGame):
        return game.tree
    raise TypeError(
        f"game must be in normal or extensive form, or a GameTree, got {quote(game)}"
        f"{tree_hint(game) or _EXAMPLE}"
    )


def _draw(game: Game | GameTree, limit: int, title: str | None, new_axes: NewAxes) -> "Axes":
    """Draw a game with its title, and a legend of the players' colors."""
    from matplotlib.patches import Patch

    limit = whole_number(limit, "limit", minimum=1)
    count, unit = size_of(game)
    if count > limit:
        raise ValueError(f"game has {count} {unit}, more than the limit of {limit}")
    name = str(getattr(game, "name", None) or "Game")
    heading = plain(title_of(name) if title is None else title, 80)
    picture = TableFigure(game) if isinstance(game, NormalFormGame) else TreeFigure(tree_of(game))
    size, roles = text_size(), {f"player {i}": i for i in range(picture.players)}
    if picture.chance:
        roles["chance"] = CHANCE
    legend = sum(width_of(role, size) + 3.5 * size for role in roles)
    width = max(picture.width, legend, width_of(heading, 1.4 * size))
    ax = new_axes(((width + 2.0 * size) / 72.0, (picture.height + 6.0 * size) / 72.0))
    ax.set(xlim=(0.0, width), ylim=(picture.height, 0.0))
    picture.draw(ax)
    for artist in (*ax.texts, *ax.lines, *ax.collections, *ax.tables):
        artist.set_in_layout(False)  # the axes are large enough, and layout is slow
    ax.set_axis_off()
    ax.set_title(heading, loc="left", pad=2.4 * size)
    handles = [Patch(color=color_of(player), label=role) for role, player in roles.items()]
    ax.legend(handles=handles, fontsize=size, ncols=len(roles), **_LEGEND)
    return ax
