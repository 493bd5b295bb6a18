"""Figures of games: trees and tables of payoffs, of games small enough to be read."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from regretkit._util._errors import advised
from regretkit._util._validate import quote, whole_number
from regretkit.display._matrix_figure import MatrixFigure
from regretkit.display._style import (
    axes_for,
    color_of,
    plain,
    require_matplotlib,
    text_size,
    title_of,
    width_of,
)
from regretkit.display._tree_figure import TreeFigure
from regretkit.games import (
    CHANCE,
    ExtensiveFormGame,
    Game,
    GameTree,
    ImperfectRecallGame,
    NormalFormGame,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LIMIT = 250
"""Histories, or outcomes of a normal form, that are drawn unless more are asked for."""

_LEGEND: dict[str, Any] = {
    **{"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "borderaxespad": 0.0, "frameon": False},
    **{"handlelength": 0.9, "handleheight": 0.9},
}
"""The legend stands in one line, between the title and the picture."""

NewAxes: TypeAlias = "Callable[[tuple[float, float]], Axes]"
"""Makes axes in a figure of a size in inches."""


def draw_game(
    game: Game | GameTree,
    *,
    limit: int = LIMIT,
    title: str | None = None,
    figsize: tuple[float, float] | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw a game: its tree, or its table of payoffs.

    A game in extensive form is drawn as its tree, from left to right. A box is a history, in the
    color of the player who acts there, with the number of that player and the label of its
    information set; a dashed line joins the histories of one information set. Edges are actions,
    those of chance with their probabilities, and at the ends are the payoffs of all players. A
    game in normal form is drawn as its table of payoffs, one for each choice of actions of the
    third and later players.

    Parameters
    ----------
    game
        The game to draw.
    limit
        The most histories, or outcomes of a normal form, to draw, at least 1.
    title
        Text above the figure; by default the name of the game.
    figsize, ax
        As in all figures, see :mod:`regretkit.display`.

    Raises
    ------
    TypeError
        When ``game`` is in neither form.
    ValueError
        When it has more histories or outcomes than ``limit``.

    Examples
    --------
    >>> from regretkit.games import kuhn_poker, leduc_poker
    >>> axes = draw_game(kuhn_poker())
    >>> axes.get_title(loc="left")
    'Kuhn poker'
    >>> draw_game(leduc_poker())
    Traceback (most recent call last):
    ...
    ValueError: game has 9457 histories, and a picture of more than 250 is hard to read; pass
    limit=9457 to draw it anyway
    """
    require_matplotlib("display.draw_game")
    return _draw(game, limit, title, partial(axes_for, ax, figsize))


def game_figure(game: Game | GameTree, limit: int = LIMIT) -> "Figure":
    """Return the figure of :func:`draw_game`, unknown to pyplot."""
    require_matplotlib("a drawing of a game")
    from matplotlib.figure import Figure

    def new_axes(natural: tuple[float, float]) -> "Axes":
        return Figure(natural, layout="constrained").add_subplot()

    return cast("Figure", _draw(game, limit, None, new_axes).figure)


def size_of(game: object) -> tuple[int, str]:
    """Return how many outcomes or histories a game has, and which of them.

    Raises
    ------
    TypeError
        When it cannot be drawn.
    """
    if isinstance(game, NormalFormGame):
        return int(game.payoffs[0].size), "outcomes"
    return tree_of(game).histories, "histories"


def tree_of(game: object) -> GameTree:
    """Return the tree of a game in extensive form, or refuse what has none."""
    if isinstance(game, GameTree):
        return game
    if isinstance(game, ExtensiveFormGame | ImperfectRecallGame):
        return game.tree
    raise TypeError(
        f"game must be in normal or extensive form, or a GameTree, got {quote(game)}; pass one "
        "such as games.load('kuhn_poker')"
    )


def _draw(game: Game | GameTree, limit: int, title: str | None, new_axes: NewAxes) -> "Axes":
    limit = whole_number(limit, "limit", least=1)
    size, unit = size_of(game)
    if size > limit:
        problem = f"game has {size} {unit}, and a picture of more than {limit} is hard to read"
        raise advised(ValueError, problem, f"pass limit={size} to draw it anyway")
    name = str(getattr(game, "name", None) or "Game")
    heading = plain(title_of(name) if title is None else title, 80)
    if isinstance(game, NormalFormGame):
        roles = {f"player {player}": player for player in range(game.players)}
        return _framed(MatrixFigure(game), heading, roles, new_axes)
    tree = tree_of(game)
    roles = {f"player {player}": player for player in range(tree.players)}
    chance = {"chance": CHANCE} if (tree.player == CHANCE).any() else {}
    return _framed(TreeFigure(tree), heading, roles | chance, new_axes)


def _framed(
    picture: MatrixFigure | TreeFigure, heading: str, roles: dict[str, int], new_axes: NewAxes
) -> "Axes":
    """Draw a picture under its title and a legend of the players' colors; a unit is a point."""
    from matplotlib.patches import Patch

    size, look = text_size(), _LEGEND | {"ncols": len(roles)}
    legend = sum(width_of(role, size) + 3.5 * size for role in roles)
    width = max(picture.width, legend, width_of(heading, 1.4 * size))
    ax = new_axes(((width + 2.0 * size) / 72.0, (picture.height + 6.0 * size) / 72.0))
    picture.draw(ax)
    for artist in (*ax.texts, *ax.lines, *ax.collections):
        artist.set_in_layout(False)  # the axes are large enough, and measuring takes long
    ax.set(xlim=(0.0, width), ylim=(picture.height, 0.0))
    ax.set_axis_off()
    ax.set_title(heading, loc="left", pad=2.4 * size)
    handles = [Patch(color=color_of(player), label=role) for role, player in roles.items()]
    ax.legend(handles=handles, fontsize=size, **look)
    return ax
