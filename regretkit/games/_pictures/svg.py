"""Pieces of SVG, and how much room text takes."""

import html
import re
import unicodedata
from collections.abc import Iterable

FONT = "DejaVu Sans, Verdana, sans-serif"
SIZE, TITLE = 12.0, 15.0
"""Height of text in pixels, and of the name above."""
TOP, MARGIN = 54.0, 16.0
"""How far below the upper border a picture begins, and how far from the others."""

INK, PALE = "#222222", "#8a8a8a"
PLAYERS = ("#0072B2", "#D55E00", "#009E73", "#4B0092", "#661100", "#A0522D")
"""Colors of the players, dark enough for white text and told apart by everybody."""
CHANCE_COLOR = "#555555"

_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML has no way to write, escaped or not."""

_NARROW, _WIDE = frozenset(" !'()*,-./:;I[]fijlrt|\"\\"), frozenset("%@MWmw#&+<=>~_QGOD")


def color_of(player: int) -> str:
    """Return a player's color, or that of chance."""
    return CHANCE_COLOR if player < 0 else PLAYERS[player % len(PLAYERS)]


def escaped(text: str) -> str:
    """Return text as it may stand in XML and in HTML, in attributes too."""
    return html.escape(_FORBIDDEN.sub("\ufffd", text))


def shortened(text: str, length: int = 28) -> str:
    """Return text on one line, cut where it is long."""
    line = " ".join(text.split())
    return line if len(line) <= length else f"{line[: length - 1]}…"


def width_of(text: str, size: float = SIZE) -> float:
    """Return a width that text surely has room in, whatever the sans-serif font."""
    return size * sum(map(_width, text))


def _width(character: str) -> float:
    if character in _NARROW:
        return 0.52
    if character in _WIDE:
        return 1.0
    if unicodedata.east_asian_width(character) in "WF" or not character.isprintable():
        return 1.1
    if character.isascii():
        return 0.74 if character.isupper() else 0.66
    return 1.0


def number(value: float) -> str:
    """Return a payoff as people write it, to six digits."""
    return f"{value + 0.0:.6g}"


def text(
    x: float,
    y: float,
    content: str,
    *,
    fill: str = INK,
    anchor: str = "start",
    weight: str = "normal",
    kind: str | None = None,
) -> str:
    """Return one line of text, whose middle is at height ``y``."""
    css = "" if kind is None else f' class="{kind}"'
    return (
        f'<text{css} x="{x:.1f}" y="{y + 0.35 * SIZE:.1f}" fill="{fill}" text-anchor="{anchor}" '
        f'font-weight="{weight}">{escaped(content)}</text>'
    )


def payoffs(x: float, y: float, values: Iterable[float], *, anchor: str = "start") -> str:
    """Return the payoffs of all players, each in the color of its player."""
    spans = [
        f'<tspan fill="{color_of(player)}">{number(value)}</tspan>'
        for player, value in enumerate(values)
    ]
    return (
        f'<text class="payoff" x="{x:.1f}" y="{y + 0.35 * SIZE:.1f}" text-anchor="{anchor}">'
        f"{', '.join(spans)}</text>"
    )


def payoffs_width(values: Iterable[float]) -> float:
    """Return the room that :func:`payoffs` take."""
    return width_of(", ".join(map(number, values)))


def _legend(x: float, y: float, players: int, *, chance: bool) -> tuple[list[str], float]:
    """Return who has which color, and where the line of that ends."""
    drawn = []
    names = [(player, f"player {player}") for player in range(players)]
    for player, name in [*names, *([(-1, "chance")] if chance else [])]:
        box = f'<rect x="{x:.1f}" y="{y - 5:.1f}" width="10" height="10" rx="3"'
        drawn.append(f'{box} fill="{color_of(player)}"/>')
        drawn.append(text(x + 15, y, name))
        x += 15 + width_of(name) + 14
    return drawn, x


def page(
    name: str, body: Iterable[str], size: tuple[float, float], *, players: int, chance: bool = False
) -> str:
    """Return a whole picture on white: the name, who has which color, and below it the body.

    ``size`` is the width and the height of the body.
    """
    legend, end = _legend(0.0, 30.0, players, chance=chance)
    width = f"{max(size[0], end, width_of(name, TITLE)) + 2 * MARGIN:.0f}"
    height = f"{TOP + size[1] + MARGIN:.0f}"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" font-family="{FONT}" font-size="{SIZE:g}">',
        f"<title>{escaped(name)}</title>",
        f'<rect width="{width}" height="{height}" fill="white"/>',
        f'<g transform="translate({MARGIN:g} 0)">',
        f'<g font-size="{TITLE:g}">{text(0.0, 12.0, shortened(name, 80), weight="bold")}</g>',
        *legend,
        "</g>",
        f'<g transform="translate({MARGIN:g} {TOP:g})">',
        *body,
        "</g>",
        "</svg>",
    ]
    return "\n".join([*lines, ""])
