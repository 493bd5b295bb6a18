"""A normal-form game as SVG: a table of payoffs, or several where there are several players."""

import itertools
from collections.abc import Sequence

from regretkit.games._pictures import svg
from regretkit.games.normal_form import NormalFormGame

_LINE = 26.0
_PAD = 10.0


def matrix_svg(game: NormalFormGame, name: str) -> str:
    """Return the payoffs of a game: rows for player 0, columns for player 1, tables for others."""
    rows, columns = _names(game, 0), _names(game, 1) if game.players > 1 else [""]
    head = max(map(svg.width_of, rows)) + 2 * _PAD
    outcomes = itertools.product(*map(range, game.payoffs.shape[1:]))
    widest = max(svg.payoffs_width(_payoffs(game, outcome)) for outcome in outcomes)
    cell = max(widest, *map(svg.width_of, columns)) + 2 * _PAD
    width, y = head + cell * len(columns), 0.0
    body: list[str] = []
    for others in itertools.product(*map(range, game.payoffs.shape[3:])):
        if others:
            chosen = ", ".join(
                f"player {player}: {_names(game, player)[action]}"
                for player, action in enumerate(others, start=2)
            )
            body.append(svg.text(0.0, y + _LINE / 2, chosen))
            width, y = max(width, svg.width_of(chosen)), y + _LINE
        body += _table(game, (rows, columns), others, (y, head, cell))
        y += _LINE * (len(rows) + (game.players > 1)) + _LINE / 2
    return svg.page(name, body, (width, y - _LINE / 2), players=game.players)


def _names(game: NormalFormGame, player: int) -> list[str]:
    return [svg.shortened(action) for action in game.domains[player].labels.actions(0)]


def _payoffs(game: NormalFormGame, outcome: Sequence[int]) -> list[float]:
    return [float(payoffs[tuple(outcome)]) for payoffs in game.payoffs]


def _table(
    game: NormalFormGame,
    names: tuple[list[str], list[str]],
    others: tuple[int, ...],
    room: tuple[float, float, float],
) -> list[str]:
    """Return one table: what players 0 and 1 may do, and what everybody earns."""
    (rows, columns), (y, head, cell) = names, room
    drawn = []
    if game.players > 1:
        for column, action in enumerate(columns):
            x = head + cell * (column + 0.5)
            drawn.append(svg.text(x, y + _LINE / 2, action, fill=svg.color_of(1), anchor="middle"))
        y += _LINE
    drawn.append(f'<g fill="none" stroke="{svg.PALE}">')
    places = list(itertools.product(range(len(rows)), range(len(columns))))
    drawn += [
        f'<rect class="outcome" x="{head + cell * column:.1f}" y="{y + _LINE * row:.1f}" '
        f'width="{cell:.1f}" height="{_LINE:.1f}"/>'
        for row, column in places
    ]
    drawn.append("</g>")
    for row, action in enumerate(rows):
        middle = y + _LINE * (row + 0.5)
        drawn.append(svg.text(head - _PAD, middle, action, fill=svg.color_of(0), anchor="end"))
    for row, column in places:
        outcome = (row, column, *others)[: game.players]
        x, middle = head + cell * (column + 0.5), y + _LINE * (row + 0.5)
        drawn.append(svg.payoffs(x, middle, _payoffs(game, outcome), anchor="middle"))
    return drawn
