"""Conversion of games from and to pygambit."""

import io
from typing import Any, TypeAlias

from regretkit._util._lazy_import import optional
from regretkit._util._validate import quote
from regretkit.games._extensive_form import ExtensiveFormGame, ImperfectRecallGame
from regretkit.games._normal_form import NormalFormGame
from regretkit.games.formats._efg import read_efg, write_efg
from regretkit.games.formats._nfg import read_nfg, write_nfg
from regretkit.games.tree._game_tree import GameTree

PygambitGame: TypeAlias = Any


def from_pygambit(game: PygambitGame) -> ExtensiveFormGame | ImperfectRecallGame | NormalFormGame:
    """Convert a game of pygambit, in extensive or normal form.

    Gambit's exact numbers become the nearest doubles. Titles and labels remain.

    Examples
    --------
    >>> import io, pygambit
    >>> text = b'NFG 1 R "Dilemma" { "Row" "Column" } { 2 2 } 2 2 3 0 0 3 1 1'
    >>> from_pygambit(pygambit.read_nfg(io.BytesIO(text))).payoffs[0]
    array([[2., 0.],
           [3., 1.]])

    References
    ----------
    Savani and Turocy, "Gambit: The package for computation in game theory", gambit-project.org.
    """
    pygambit: Any = optional("pygambit", "gambit")
    if not isinstance(game, pygambit.Game):
        raise TypeError(f"game must be a game of pygambit, got {quote(game)}")
    is_tree = getattr(game, "is_tree", None)  # of pygambit 16
    if is_tree is None:
        is_tree = isinstance(game, pygambit.ExtensiveGame)
    return read_efg(game.to_efg()) if is_tree else read_nfg(game.to_nfg())


def to_pygambit(
    game: ExtensiveFormGame | ImperfectRecallGame | GameTree | NormalFormGame,
) -> PygambitGame:
    """Convert a game to a ``pygambit.Game``, in extensive or normal form.

    Payoffs keep their exact values, so that ``from_pygambit`` returns bitwise identical payoffs.
    Names change as in ``write_efg`` with ``for_gambit=True``. Players are named by number, from 1.

    Examples
    --------
    >>> from regretkit.games import kuhn_poker
    >>> poker = to_pygambit(kuhn_poker())
    >>> poker.title, len(poker.players)
    ('kuhn_poker', 2)
    """
    pygambit: Any = optional("pygambit", "gambit")
    if isinstance(game, NormalFormGame):
        text, read = write_nfg(game, for_gambit=True), pygambit.read_nfg
    elif isinstance(game, ExtensiveFormGame | ImperfectRecallGame | GameTree):
        text, read = write_efg(game, for_gambit=True), pygambit.read_efg
    else:
        raise TypeError(f"game must be in extensive form or in normal form, got {quote(game)}")
    return read(io.BytesIO(text.encode()))
