"""Gambit's format of games in normal form, ``.nfg``."""

import math

import numpy as np

from regretkit._util._typing import Vector
from regretkit._util._validate import quote
from regretkit.games._normal_form import NormalFormGame
from regretkit.games.formats._tokens import (
    Source,
    Tokens,
    number_unnamed,
    read_header,
    read_names,
    read_payoffs,
    write_header,
    write_names,
    write_number,
)


def read_nfg(source: Source) -> NormalFormGame:
    """Read a game in normal form in Gambit's format ``.nfg``.

    The function reads both variants of the format, with payoffs and with outcomes. Numbers, names
    and comments are as in ``read_efg``.

    Parameters
    ----------
    source
        The text of the game, or a ``pathlib.Path`` to a file in UTF-8.

    Examples
    --------
    The strategies of the first player vary fastest:

    >>> game = read_nfg('NFG 1 R "Pick" { "Row" "Column" } { 2 3 } 1 0 2 0 3 0 4 0 5 0 6 0')
    >>> game.payoffs[0]
    array([[1., 3., 5.],
           [2., 4., 6.]])
    """
    return parse_nfg(Tokens(source))


def parse_nfg(tokens: Tokens) -> NormalFormGame:
    """Read the tokens of a game in normal form, up to the end of the file."""
    title, players = read_header(tokens, "NFG", "1")
    actions, sizes = _strategies(tokens, players)
    if tokens.at_name():
        tokens.name("the description of the game")
    cells = math.prod(sizes)
    table = (_outcomes if tokens.accept("{") else _payoffs)(tokens, players, cells)
    if tokens.current:
        raise tokens.unexpected(f"the end of the file after all {cells} cells of the table")
    # The first player's strategies vary fastest.
    payoffs = [column.reshape(sizes, order="F") for column in table.T]
    return NormalFormGame(np.array(payoffs), actions=actions, name=title)


def _strategies(
    tokens: Tokens, players: int
) -> tuple[tuple[tuple[str, ...], ...] | None, list[int]]:
    """Read each player's strategies: names and their number, or only the number."""
    tokens.expect("{", "before the strategies")
    named = tokens.current == "{"
    labels, sizes = [], []
    for player in range(1, players + 1):
        start = tokens.position
        if named:
            tokens.expect("{", f"before the strategies of player {player}")
            labels.append(number_unnamed(read_names(tokens, "the name of a strategy")))
            sizes.append(len(labels[-1]))
        else:
            sizes.append(tokens.whole_number(f"the number of strategies of player {player}"))
        if not sizes[-1]:
            raise tokens.error(f"player {player} needs at least one strategy", start)
    tokens.expect("}", f"after the strategies of {players} players")
    return tuple(labels) if named else None, sizes


def _payoffs(tokens: Tokens, players: int, cells: int) -> Vector:
    """Read the payoffs of each cell, shape ``(cells, players)``."""
    total = cells * players
    payoffs = [tokens.number(f"payoff {number} of {total}") for number in range(1, total + 1)]
    table: Vector = np.array(payoffs).reshape(cells, players)
    return table


def _outcomes(tokens: Tokens, players: int, cells: int) -> Vector:
    """Read outcomes and each cell's outcome, 0 for none; return payoffs ``(cells, players)``."""
    outcomes = [(0.0,) * players]
    while not tokens.accept("}"):
        tokens.expect("{", "before an outcome, or '}' after the last")
        tokens.name("the name of an outcome")
        outcomes.append(read_payoffs(tokens, players))
    numbers = []
    for cell in range(1, cells + 1):
        start = tokens.position
        numbers.append(tokens.whole_number(f"the number of the outcome in cell {cell} of {cells}"))
        if numbers[-1] >= len(outcomes):
            raise tokens.error(
                f"outcome {numbers[-1]} is not declared; there are {len(outcomes) - 1}", start
            )
    table: Vector = np.array(outcomes)[numbers]
    return table


def write_nfg(game: NormalFormGame, *, for_gambit: bool = False) -> str:
    """Return the text of a game in normal form in Gambit's format ``.nfg``.

    ``read_nfg`` returns the same game: bitwise identical payoffs, the same name and the same names
    of actions. Players are named by number.

    Parameters
    ----------
    game
        The game.
    for_gambit
        Whether question marks replace characters that are not printable ASCII, which Gambit 16
        cannot read.

    Examples
    --------
    >>> from regretkit.games import matching_pennies
    >>> print(write_nfg(matching_pennies()), end="")
    NFG 1 R "matching_pennies" { "Player 1" "Player 2" }
    { { "heads" "tails" } { "heads" "tails" } }
    ""
    1 -1
    -1 1
    -1 1
    1 -1
    """
    if not isinstance(game, NormalFormGame):
        raise TypeError(f"game must be a NormalFormGame, got {quote(game)}; use write_efg on trees")
    strategies = list(map(str, game.payoffs.shape[1:]))
    if game.actions is not None:
        strategies = [write_names(names, for_gambit) for names in game.actions]
    # The first player's actions vary fastest.
    cells = game.payoffs.reshape(game.players, -1, order="F").T
    lines = [
        write_header("NFG 1", game.name, game.players, for_gambit=for_gambit),
        f"{{ {' '.join(strategies)} }}",
        '""',
        *(" ".join(map(write_number, cell)) for cell in cells.tolist()),
    ]
    return "\n".join(lines) + "\n"
