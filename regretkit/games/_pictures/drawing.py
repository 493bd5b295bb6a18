"""A picture of a game, where it is small enough to be read."""

from regretkit._validate import whole_number
from regretkit.games._pictures.matrix import matrix_svg
from regretkit.games._pictures.tree import tree_svg
from regretkit.games.extensive_form import ExtensiveFormGame
from regretkit.games.game import Game
from regretkit.games.game_tree import GameTree
from regretkit.games.imperfect_recall import ImperfectRecallGame
from regretkit.games.normal_form import NormalFormGame


def draw_game(game: Game | GameTree, *, limit: int = 250) -> str:
    """Return a picture of a game as the text of an SVG file.

    A game in extensive form is drawn as its tree, from left to right. A box is a history, in the
    color of the player who acts there, with the number of that player and the label of its
    information set; histories that a player cannot tell apart are joined by a dashed line. Edges
    are actions, those of chance with their probabilities, and at the ends are the payoffs of all
    players. A game in normal form is drawn as its table of payoffs. It takes no package to draw.

    Parameters
    ----------
    game
        What to draw.
    limit
        How many histories, or outcomes of a normal form, are drawn at most, at least 1.

    Returns
    -------
    str
        To be written into a file whose name ends in ``.svg``, or shown in a notebook.

    Raises
    ------
    TypeError
        When ``game`` is in neither form.
    ValueError
        When it has more histories or outcomes than ``limit``.

    Examples
    --------
    >>> from regretkit.games import kuhn_poker, leduc_poker
    >>> picture = draw_game(kuhn_poker())
    >>> picture[:4], picture.count('class="information-set"'), picture.count('class="payoff"')
    ('<svg', 12, 30)
    >>> draw_game(leduc_poker())
    Traceback (most recent call last):
    ...
    ValueError: game has 9457 histories, and a picture of more than 250 is hard to read; pass
    limit=9457 to have it all the same
    """
    limit = whole_number(limit, "limit", least=1)
    size, unit = size_of(game)
    if size > limit:
        raise ValueError(
            f"game has {size} {unit}, and a picture of more than {limit} is hard to read; pass "
            f"limit={size} to have it all the same"
        )
    if isinstance(game, NormalFormGame):
        return matrix_svg(game, game.name or "Game in normal form")
    if isinstance(game, ExtensiveFormGame | ImperfectRecallGame):
        return tree_svg(game.tree, game.name or "Game in extensive form")
    return tree_svg(_tree(game), "Game tree")


def _tree(game: object) -> GameTree:
    if isinstance(game, GameTree):
        return game
    raise TypeError(
        f"game must be in normal or extensive form, or a GameTree, got {game!r}; pass one such as "
        "games.load('kuhn_poker')"
    )


def size_of(game: object) -> tuple[int, str]:
    """Return how much of a game there is to draw, and of what.

    Raises
    ------
    TypeError
        When it is no game that could be drawn.
    """
    if isinstance(game, NormalFormGame):
        return int(game.payoffs[0].size), "outcomes"
    if isinstance(game, ExtensiveFormGame | ImperfectRecallGame):
        return game.tree.histories, "histories"
    return _tree(game).histories, "histories"
