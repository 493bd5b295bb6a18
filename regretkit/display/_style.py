"""Text, colors and axes of all figures."""

import html
import io
import math
import warnings
from collections.abc import Container, Sequence
from typing import TYPE_CHECKING, Any

from regretkit._util._errors import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

# The palette of Okabe and Ito, which color-blind readers can distinguish. Its yellow is omitted:
# it is too pale for lines on white.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
DASHES = ("-", "--", ":", "-.")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")

PLAYERS = ("#0072B2", "#D55E00", "#009E73", "#4B0092", "#661100", "#A0522D")
"""Colors of the players, dark enough for white text."""
CHANCE_COLOR = "#555555"

_DECADES = 2.0
"""A logarithmic axis with fewer decades has labels between powers of ten."""

LONGEST = 40
"""Most characters of a name."""

_FILES: Any = {"svg.hashsalt": "regretkit", "svg.fonttype": "none", "pdf.fonttype": 42}
"""Settings for reproducible SVG with text as text, and for PDF with TrueType fonts."""

_SPELLINGS = {
    "hold_em": "Hold'em",
    "liars_dice": "Liar's dice",
    "oshi_zumo": "Oshi-Zumo",
    "prisoners_dilemma": "Prisoner's dilemma",
    "pursuit_evasion": "Pursuit-evasion",
    "shapley_game": "Shapley's game",
}
"""Titles of games that are not their function names without underscores."""


def shortened(text: str, length: int = 28) -> str:
    """Return printable text on one line, of at most ``length`` characters."""
    line = printable(" ".join(text.split()))
    return line if len(line) <= length else f"{line[: length - 1]}…"


def plain(text: str, length: int = LONGEST) -> str:
    """Return shortened text for matplotlib, with ``$`` escaped."""
    return shortened(text, length).replace("$", r"\$")


def title_of(name: str) -> str:
    """Return the usual name of an algorithm or a game, such as CFR+ or Leduc poker.

    Each part between commas is converted. Unknown names are unchanged.
    """
    return ", ".join(map(_spelled, name.split(", ")))


def _spelled(name: str) -> str:
    from regretkit import games  # slow, and not needed to print minimizers
    from regretkit.play._algorithms import ALGORITHMS

    if name in ALGORITHMS:
        return name.upper()
    game, bracket, arguments = name.partition("(")
    if game not in games.names():
        return name
    title = _SPELLINGS.get(game, game.replace("_", " ").capitalize())
    return f"{title} ({arguments}" if bracket else title


def escaped(text: str) -> str:
    """Return text escaped for HTML and XML, also in attributes."""
    return html.escape(printable(text))


def number(value: float) -> str:
    """Return a number with six digits, without a sign of zero."""
    return f"{value + 0.0:.6g}"


def numbers(values: Sequence[float]) -> str:
    """Return numbers separated by commas."""
    return ", ".join(map(number, values))


def aligned(rows: Sequence[Sequence[str]], right: Container[int] = ()) -> list[str]:
    """Return the lines of a table, with the columns in ``right`` aligned to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    places = [f"{{:{'>' if n in right else '<'}{width}}}" for n, width in enumerate(widths)]
    return ["  ".join(places).format(*row).rstrip() for row in rows]


def style(index: int) -> dict[str, Any]:
    """Return the style of a line, with the colors of the user's ``axes.prop_cycle`` if it is set.

    Otherwise, the first 28 styles are distinct.
    """
    import matplotlib as mpl

    cycle = mpl.rcParams["axes.prop_cycle"]
    has_colors = cycle != mpl.rcParamsDefault["axes.prop_cycle"] and "color" in cycle.keys
    colors = cycle.by_key()["color"] if has_colors else COLORS
    return look_of(index, colors)


def look_of(index: int, colors: Sequence[str] = COLORS) -> dict[str, str]:
    """Return the color and the dashes of a line."""
    turn, number = divmod(index, len(colors))
    return {"color": colors[number], "linestyle": DASHES[(turn + number) % len(DASHES)]}


def color_of(player: int) -> str:
    """Return the color of a player, or of chance."""
    return CHANCE_COLOR if player < 0 else PLAYERS[player % len(PLAYERS)]


def require_matplotlib(name: str) -> None:
    """Raise an ImportError if matplotlib is missing."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"{name} needs matplotlib; install it with pip install 'regretkit[plot]'"
        ) from error


def axes_for(
    ax: "Axes | None", figsize: tuple[float, float] | None, natural: tuple[float, float] | None
) -> "Axes":
    """Return ``ax``, or the axes of a new figure.

    Its size in inches is ``figsize``, ``natural``, or matplotlib's ``figure.figsize``.
    """
    import matplotlib.pyplot as plt

    return ax or plt.subplots(figsize=figsize or natural, layout="constrained")[1]


def label_axes(ax: "Axes", *, title: str | None = None, **texts: str | None) -> None:
    """Set the title and other labels that are not None, as plain text."""
    named = texts | {"title": title and title_of(title)}
    ax.set(**{name: plain(text, 80) for name, text in named.items() if text is not None})


def label_log_axis(axis: "Axis") -> None:
    """Label a logarithmic axis at powers of ten, and between them if it has few decades."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

    axis.set_minor_formatter(NullFormatter())
    low, high = sorted(axis.get_view_interval())
    decades = math.log10(high / low)
    if decades < _DECADES:
        between = LogLocator(subs=(1.0, 2.0, 5.0) if decades < 1.0 else (1.0, 3.0))
        axis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]) if decades < 0.6 else between)
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def font_size() -> float:
    """Return matplotlib's font size in points."""
    import matplotlib as mpl

    return float(mpl.rcParams["font.size"])


def text_size() -> float:
    """Return the size of the text in drawings of games, in points."""
    return 0.9 * font_size()


def width_of(text: str, size: float, weight: str = "normal") -> float:
    """Return the width of one line of text in points."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font, shown = FontProperties(size=size, weight=weight), text.replace(r"\$", "$")
    with warnings.catch_warnings(action="ignore"):  # about glyphs that the font lacks
        return float(text_to_path.get_text_width_height_descent(shown, font, False)[0])


def file_of(figure: "Figure", kind: str = "svg") -> bytes:
    """Return a figure as reproducible SVG, PDF or PNG."""
    import matplotlib as mpl

    file, look = io.BytesIO(), _FILES
    date: dict[str, Any] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind, {})
    # Ignore warnings about missing glyphs: the reader's fonts may have them.
    with mpl.rc_context(look), warnings.catch_warnings(action="ignore"):
        figure.savefig(file, format=kind, metadata=date, dpi=150)
    return file.getvalue()
