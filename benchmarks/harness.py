"""What benchmarks share: rows of measurements, times, processes, tables and pages.

A benchmark is a function that measures one row and returns its columns; :func:`benchmark` makes
the command ``python -m benchmarks NAME [ROW ...] [--quick]`` of it, called like the function.
"""

import importlib.metadata
import json
import math
import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from attrs import frozen

from regretkit.display import convergence
from regretkit.display._style import file_of

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "explanation" / "performance.md"
IMAGES = ROOT / "docs" / "images"
OPTIONS = ("--quick", "--measure")
ONE_THREAD: dict[str, str] = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)
TURN = 0.02
"""Seconds that are long enough to be measured, and short enough not to be disturbed."""

Figures: TypeAlias = dict[str, Any]
"""A row by its columns: numbers, or text as it is printed; what begins with _ is not printed."""
Found: TypeAlias = Mapping[str, Figures]
"""Figures by row."""
Curves: TypeAlias = Mapping[str, tuple[Sequence[float], Sequence[float]]]
Action: TypeAlias = Callable[[int], object]
"""Does what is timed as often as it is told."""

# Rows


@frozen
class Benchmark:
    """A table whose rows are measured one by one."""

    measure: Callable[[str, bool], Figures]
    """Measures a row, quickly or in full."""
    rows: Sequence[str]
    quick: Sequence[str]
    head: str
    """The head of the column of rows."""
    fresh: bool
    """Whether each row is measured in a process of its own."""
    rounds: int
    """How often a full run measures all rows; the least of each figure counts."""
    conclude: Callable[[Found], str]
    """What to print below the table; pages have the table alone."""
    page: Path | None
    """Where a full run writes the table."""
    plot: Callable[[Found], None]
    """What a full run draws."""

    def __call__(self, arguments: Sequence[str]) -> None:
        """Measure the rows that are named, or all of them, and print the table."""
        quick = "--quick" in arguments
        if unknown := [a for a in arguments if a[:2] == "--" and a not in OPTIONS]:
            raise SystemExit(f"there is no option {unknown[0]}; options are {', '.join(OPTIONS)}")
        asked = [argument for argument in arguments if not argument.startswith("--")]
        pin()
        if "--measure" in arguments:
            print(json.dumps(self.measure(asked[0], quick)))
            return
        found = self.found(asked or (self.quick if quick else self.rows), quick)
        shown = self.table(found)
        print("\n\n".join(filter(None, [shown, self.conclude(found)])))
        if not (quick or asked):
            self.plot(found)
            if self.page is not None:
                put(self.page, self.measure.__name__, shown)

    def found(self, rows: Sequence[str], quick: bool) -> Found:
        """Measure some rows, and say right away what came of it."""
        found: dict[str, Figures] = {}
        for _ in range(1 if quick else self.rounds):
            for row in rows:
                figures = self.figures(row, quick)
                shown = [f"{name} {_cell(figures[name])}" for name in figures if name[0] != "_"]
                print(f"{row}: {', '.join(shown)}", file=sys.stderr)
                known = found.get(row)
                comparable = known is not None and all(
                    type(known.get(k)) is type(figures[k]) for k in figures
                )
                found[row] = (
                    {k: min(figures[k], known[k]) for k in figures}
                    if known and comparable
                    else figures
                )
        return found

    def figures(self, row: str, quick: bool) -> Figures:
        """Measure a row."""
        if not self.fresh:
            return self.measure(row, quick)
        command = [sys.executable, "-m", "benchmarks", self.measure.__name__, "--measure", row]
        done = subprocess.run(
            command + ["--quick"] * quick, check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT
        )
        figures: Figures = json.loads(done.stdout.splitlines()[-1])
        return figures

    def table(self, found: Found) -> str:
        """Return the table in Markdown."""
        columns = dict.fromkeys(name for row in found.values() for name in row if name[0] != "_")
        cells = ([row, *map(figures.get, columns)] for row, figures in found.items())
        return table([self.head, *columns], cells)


def benchmark(
    rows: Sequence[str],
    *,
    quick: Sequence[str] | None = None,
    head: str = "game",
    fresh: bool = False,
    rounds: int = 1,
    conclude: Callable[[Found], str] = lambda found: "",
    page: Path | None = None,
    plot: Callable[[Found], None] = lambda found: None,
) -> Callable[[Callable[[str, bool], Figures]], Benchmark]:
    """Make a benchmark of the function that measures one of its rows."""

    def made(measure: Callable[[str, bool], Figures]) -> Benchmark:
        few = rows if quick is None else quick
        return Benchmark(measure, rows, few, head, fresh, rounds, conclude, page, plot)

    return made


# Times


def pin() -> None:
    """Stay on one core, the same one for every process of a benchmark, where a system can."""
    if sys.platform == "linux":
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def peak() -> float:
    """Return the most memory that this process ever held, in MiB."""
    status = Path("/proc/self/status")
    if status.exists():
        # What getrusage says begins with what the process that started this one held.
        [line] = [line for line in status.read_text().splitlines() if line.startswith("VmHWM")]
        return float(line.split()[1]) / 2**10
    import resource

    maximum = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return maximum / (2**20 if sys.platform == "darwin" else 2**10)


def cpu_seconds(action: Callable[..., object], *arguments: object) -> float:
    """Return the processor time of a call, without that of other processes."""
    start = time.process_time()
    action(*arguments)
    return time.process_time() - start


def best_times(actions: Mapping[str, Action], turns: int, length: float = TURN) -> dict[str, float]:
    """Return seconds for one time of each action, the best of several turns.

    An action is told how often to do what it does: so often that a turn takes ``length`` seconds.
    All take turns, so that what else a machine does meets each of them.
    """
    often = {name: times_in_a_turn(action, length) for name, action in actions.items()}
    best = dict.fromkeys(actions, float("inf"))
    for _ in range(turns):
        for name, action in actions.items():
            best[name] = min(best[name], cpu_seconds(action, often[name]) / often[name])
    return best


def times_in_a_turn(action: Action, length: float = TURN) -> int:
    """Return how often an action can be done in the time of a turn, at least once."""
    action(1)  # may load machine code
    times = 1
    while (took := cpu_seconds(action, times)) < length:
        times = max(2 * times, int(times * length / max(took, 1e-6)))
    return times


def repeated(action: Callable[[], object]) -> Action:
    """Return what calls a function as often as it is told."""

    def repeat(times: int) -> None:
        for _ in range(times):
            action()

    return repeat


def versions(packages: Sequence[str]) -> str:
    """Return the versions of Python and of what is installed of some packages."""
    found = [f"Python {platform.python_version()}"]
    for package in packages:
        try:
            found.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            found.append(f"no {package}")
    return ", ".join(found)


# Tables and pages


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table in Markdown, the first column to the left and the others to the right."""
    cells = [list(header), *([_cell(cell) for cell in row] for row in rows)]
    widths = [max(3, *map(len, column)) for column in zip(*cells, strict=True)]
    cells.insert(1, ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])])
    sides = ["<", *">" * len(widths)]
    padded = (
        [f"{cell:{side}{width}}" for cell, side, width in zip(row, sides, widths, strict=False)]
        for row in cells
    )
    return "\n".join(f"| {' | '.join(row)} |" for row in padded)


def _cell(content: object) -> str:
    if isinstance(content, int):
        return f"{content:,}"
    return (
        number(content) if isinstance(content, float) else str("" if content is None else content)
    )


def number(value: float, digits: int = 3) -> str:
    """Return a number with a given count of digits, without an exponent unless it is tiny."""
    scientific = f"{value:.{digits - 1}e}"
    exponent = int(scientific.partition("e")[2])
    if value == 0.0 or exponent < -3:
        return scientific if value else "0"
    return f"{float(scientific):,.{max(digits - 1 - exponent, 0)}f}"


def put(page: Path, name: str, text: str) -> None:
    """Put text on a page between the two comments that say ``begin name`` and ``end name``.

    Raises
    ------
    ValueError
        When the page does not have each of them once, in this order.
    """
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    content = page.read_text()
    parts = re.split(f"({re.escape(begin)}|{re.escape(end)})", content)
    if parts[1::2] != [begin, end]:
        raise ValueError(f"{page} must have {begin} and {end}, each once and in this order")
    page.write_text(f"{parts[0]}{begin}\n\n{text.strip()}\n\n{end}{parts[4]}")


def draw(path: Path, panels: Mapping[str, Curves], x: str, y: str) -> None:
    """Draw curves on logarithmic scales, a panel for each title; without matplotlib, say so."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        print(f"no {path.name}: it needs matplotlib (pip install 'regretkit[plot]')")
        return
    columns = math.ceil(math.sqrt(len(panels)))
    rows = math.ceil(len(panels) / columns)
    size = (7.0, 4.8) if len(panels) == 1 else (4.5 * columns, 3.5 * rows + 0.6)
    figure = Figure(size, layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False).ravel()
    for axes, (title, curves) in zip(grid, panels.items(), strict=False):
        tables = {name: {x: across, y: heights} for name, (across, heights) in curves.items()}
        convergence(tables, x=x, y=y, title=title, ax=axes)
        if axes.get_legend():
            axes.get_legend().remove()
    lines, names = grid[0].get_legend_handles_labels()  # all panels have the same curves
    if len(names) > 1:  # outside, for the curves leave no room
        fitting = int(72 * size[0] / (5.3 * max(map(len, names)) + 45))
        figure.legend(lines, names, loc="outside upper center", ncols=fitting, frameon=False)
    path.write_bytes(file_of(figure))
