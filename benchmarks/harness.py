"""Tools of benchmarks: rows of measurements, times, processes, tables and figures.

A benchmark is a function that measures one row and returns its columns. :func:`benchmark` turns it
into the command ``python -m benchmarks NAME [ROW ...] [--quick]`` with the function's name.
"""

import importlib.metadata
import json
import math
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from attrs import frozen

ROOT = Path(__file__).parent.parent
IMAGES = ROOT / "docs" / "images"
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
ONE_THREAD: dict[str, str] = dict.fromkeys(THREADS, "1")
PACKAGES = ("regretkit", "numpy", "scipy", "llvmlite", "open_spiel", "LiteEFG", "noregret")
TURN = 0.02
"""Seconds of a turn: long enough to measure, short enough to avoid other load."""

Figures: TypeAlias = dict[str, Any]
"""The columns of a row: numbers or texts. Names that begin with _ are hidden."""
Found: TypeAlias = Mapping[str, Figures]
"""Figures by row."""
Curves: TypeAlias = Mapping[str, tuple[Sequence[float], Sequence[float]]]
Action: TypeAlias = Callable[[int], object]
"""Repeats an action a given number of times."""

# Rows


@frozen
class Benchmark:
    """A table whose rows are measured one by one."""

    measure: Callable[[str, bool], Figures]
    """Measures a row; the flag selects a quick measurement."""
    rows: Sequence[str]
    quick: Sequence[str]
    head: str
    """The heading of the column of rows."""
    fresh: bool
    """Whether each row has its own process."""
    plot: Callable[[Found], None]
    """Draws the figure after a full run."""

    def __call__(self, arguments: Sequence[str]) -> None:
        """Measure the named rows, or all of them, and print the table."""
        quick, pinned = "--quick" in arguments, pin()
        asked = [argument for argument in arguments if not argument.startswith("--")]
        if "--measure" in arguments:
            print(json.dumps(self.measure(asked[0], quick)))
            return
        found: dict[str, Figures] = {}
        for row in asked or (self.quick if quick else self.rows):
            found[row] = self.figures(row, quick)
            shown = [f"{k} {_cell(v)}" for k, v in found[row].items() if k[0] != "_"]
            print(f"{row}: {', '.join(shown)}", file=sys.stderr)
        columns = dict.fromkeys(name for row in found.values() for name in row if name[0] != "_")
        cells = ([row, *map(figures.get, columns)] for row, figures in found.items())
        print(f"{table([self.head, *columns], cells)}\n\n{versions()}, {pinned}")
        if not (quick or asked):
            self.plot(found)

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


def benchmark(
    rows: Sequence[str],
    *,
    quick: Sequence[str] | None = None,
    head: str = "game",
    fresh: bool = False,
    plot: Callable[[Found], None] = lambda found: None,
) -> Callable[[Callable[[str, bool], Figures]], Benchmark]:
    """Return a decorator that makes a benchmark from a function that measures a row."""
    few = rows if quick is None else quick
    return lambda measure: Benchmark(measure, rows, few, head, fresh, plot)


# Times


def pin() -> str:
    """Pin the process to one core, the same for every process, if the system supports it."""
    if sys.platform != "linux":
        return "any core"
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    return "one core"


def peak() -> float:
    """Return the peak memory of this process, in MiB."""
    status = Path("/proc/self/status")
    if status.exists():
        # getrusage includes the peak of the parent process before exec.
        [line] = [line for line in status.read_text().splitlines() if line.startswith("VmHWM")]
        return float(line.split()[1]) / 2**10
    import resource

    maximum = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return maximum / (2**20 if sys.platform == "darwin" else 2**10)


def cpu_seconds(action: Callable[..., object], *arguments: object) -> float:
    """Return the processor seconds of a call in this process."""
    start = time.process_time()
    action(*arguments)
    return time.process_time() - start


def best_times(actions: Mapping[str, Action], turns: int, length: float = TURN) -> dict[str, float]:
    """Return seconds per repetition of each action, the best of several turns.

    A turn repeats the action for about ``length`` seconds. Actions alternate, so other load affects
    all of them.
    """
    often = {name: times_in_a_turn(action, length) for name, action in actions.items()}
    best = dict.fromkeys(actions, math.inf)
    for _ in range(turns):
        for name, action in actions.items():
            best[name] = min(best[name], cpu_seconds(action, often[name]) / often[name])
    return best


def times_in_a_turn(action: Action, length: float = TURN) -> int:
    """Return the repetitions of an action that fill a turn, at least one."""
    action(1)  # may load compiled code
    times = 1
    while (took := cpu_seconds(action, times)) < length:
        times = max(2 * times, int(times * length / max(took, 1e-6)))
    return times


def repeated(action: Callable[[], object]) -> Action:
    """Return a function that calls ``action`` a given number of times."""

    def repeat(times: int) -> None:
        for _ in range(times):
            action()

    return repeat


def versions() -> str:
    """Return the versions of Python and of packages in benchmarks."""
    found = [f"Python {platform.python_version()}"]
    for package in PACKAGES:
        try:
            found.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    return ", ".join(found)


# Tables and figures


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a Markdown table; all columns but the first are aligned to the right."""
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
    """Return a number with ``digits`` significant digits, without an exponent unless tiny."""
    scientific = f"{value:.{digits - 1}e}"
    exponent = int(scientific.partition("e")[2])
    if value == 0.0 or exponent < -3:
        return scientific if value else "0"
    return f"{float(scientific):,.{max(digits - 1 - exponent, 0)}f}"


def draw(path: Path, panels: Mapping[str, Curves], x: str, y: str) -> None:
    """Draw curves on logarithmic scales, a panel for each title."""
    from matplotlib.figure import Figure

    from regretkit.display import convergence
    from regretkit.display._style import file_of

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
    fitting = int(72 * size[0] / (5.3 * max(map(len, names)) + 45))
    figure.legend(lines, names, loc="outside upper center", ncols=fitting, frameon=False)
    path.write_bytes(file_of(figure))
