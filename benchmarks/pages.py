"""Tables and plots, and where they go in the documents."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from benchmarks.machine import ROOT

PAGE = ROOT / "docs" / "explanation" / "performance.md"
IMAGES = ROOT / "docs" / "images"

Curves = Mapping[str, tuple[Sequence[float], Sequence[float]]]


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown, the first column to the left and the others to the right."""
    cells = [list(header), *map(list, rows)]
    widths = [max(3, *map(len, column)) for column in zip(*cells, strict=True)]
    lines = []
    for row in cells:
        padded = [row[0].ljust(widths[0])]
        padded += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        lines.append(f"| {' | '.join(padded)} |")
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    lines.insert(1, f"| {' | '.join(rule)} |")
    return "\n".join(lines)


def number(value: float | None, digits: int = 3) -> str:
    """Return a number with a given count of digits, without an exponent unless it is tiny."""
    if value is None:
        return ""
    if value == 0.0 or not abs(value) >= 1e-3:
        return f"{value:.{digits - 1}e}" if value else "0"
    rounded = float(f"{value:.{digits - 1}e}")
    if abs(rounded) >= 1.0:
        whole = len(str(int(abs(rounded))))
        return f"{rounded:,.{max(digits - whole, 0)}f}"
    leading = next(place for place in range(1, 5) if abs(rounded) >= 10.0**-place)
    return f"{rounded:.{leading + digits - 1}f}"


def put(page: Path, name: str, text: str) -> None:
    """Put text on a page between the two comments that say ``begin name`` and ``end name``.

    Raises
    ------
    ValueError
        When the page does not have each of them once, in this order.
    """
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    before = page.read_text()
    parts = re.split(f"({re.escape(begin)}|{re.escape(end)})", before)
    if parts[1::2] != [begin, end]:
        raise ValueError(f"{page} must have {begin} and {end}, each once and in this order")
    page.write_text(f"{parts[0]}{begin}\n\n{text.strip()}\n\n{end}{parts[4]}")


def draw(path: Path, curves: Curves, x: str, y: str, title: str) -> None:
    """Draw curves on logarithmic scales; without matplotlib, say that there is no plot."""
    try:
        import matplotlib as mpl
        import matplotlib.pyplot as plt
    except ImportError:
        print(f"no {path.name}: it needs matplotlib (pip install 'regretkit[plot]')")
        return
    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "regretkit"
    figure, axes = plt.subplots(figsize=(7.0, 4.5))
    for name, (across, up) in curves.items():
        axes.loglog(across, up, marker="o", markersize=4, label=name)
    axes.set(xlabel=x, ylabel=y, title=title)
    axes.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
