"""What all plots share: matplotlib, loaded when it is needed, and a way to look."""

from typing import TYPE_CHECKING, TypedDict

from regretkit.games._pictures.svg import shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Of Okabe and Ito, who chose them so that everybody can tell them apart; their yellow is left
# out, which is too pale for a line on white.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
DASHES = ("-", "--", ":", "-.")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")

LONGEST = 40
"""Characters of a name that are shown."""


class Style(TypedDict):
    """How a line looks; as a group, no two of 28 look the same, not even without color."""

    color: str
    linestyle: str


def style(number: int) -> Style:
    """Return how the line of this number looks."""
    return Style(
        color=COLORS[number % len(COLORS)],
        linestyle=DASHES[(number % len(COLORS) + number // len(COLORS)) % len(DASHES)],
    )


def marker(number: int) -> str:
    """Return what the points of the line of this number look like."""
    return MARKERS[number % len(MARKERS)]


def plain(text: str) -> str:
    """Return a name that comes from a game as text that is no formula, cut where it is long."""
    return shortened(text, LONGEST).replace("$", r"\$")


def check_matplotlib(name: str) -> None:
    """Refuse to draw without matplotlib.

    Raises
    ------
    ImportError
        Naming the extra that installs it.
    """
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"plots.{name} needs matplotlib; install it with pip install 'regretkit[plot]'"
        ) from error


def new_axes(width: float, height: float) -> "Axes":
    """Return the axes of a new figure, so large in inches."""
    import matplotlib.pyplot as plt

    _, axes = plt.subplots(figsize=(width, height), layout="constrained")
    return axes


def check_axes(ax: object, name: str = "ax") -> None:
    """Refuse what cannot be drawn on."""
    from matplotlib.axes import Axes

    if not isinstance(ax, Axes):
        raise TypeError(f"{name} must be matplotlib's Axes, as plt.subplots() makes, got {ax!r}")
