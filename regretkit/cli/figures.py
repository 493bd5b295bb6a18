"""Figures of how gaps fell, drawn by ``regretkit.display``."""

import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from regretkit._util._files import replace_file
from regretkit._util._validate import quote
from regretkit.cli.exits import Failure, failing
from regretkit.cli.games_in import name_of
from regretkit.cli.running import Ended

Columns: TypeAlias = Mapping[str, Sequence[float]]
"""What was measured of a run: iterations, seconds and gaps."""


def check(argument: str) -> None:
    """Refuse to promise a figure if matplotlib is missing."""
    from regretkit.display._style import require_matplotlib

    try:
        require_matplotlib("a figure")
    except ImportError as error:
        raise Failure(f"{argument}: {error}") from error


def draw_run(ended: Ended, path: Path | None) -> None:
    """Draw how the gap of a run fell, if there is somewhere to draw it."""
    if path is not None:
        label = ended.journal.label
        draw({f"{name_of(ended.run.game)}, {label}": {label: ended.columns()}}, path)


def draw(panels: Mapping[str, Mapping[str, Columns]], path: Path, *, x: str = "iteration") -> None:
    """Draw a panel for each game with a curve for each algorithm, and write them into a file."""
    from matplotlib.figure import Figure

    from regretkit.display import convergence
    from regretkit.display._style import title_of

    across = min(len(panels), math.ceil(math.sqrt(len(panels))), 4)
    down = math.ceil(len(panels) / across)
    size = (6.4, 4.2) if len(panels) == 1 else (4.8 * across, 3.6 * down)
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(down, across, squeeze=False).ravel()
    for ax, (game, curves) in zip(axes, panels.items(), strict=False):
        ylabel = "NashConv (units of payoff)"  # which is what the journal calls gap
        convergence(curves, x=x, y="gap", ylabel=ylabel, title=title_of(game), ax=ax)
    for ax in axes[len(panels) :]:
        ax.set_axis_off()
    drawn = io.BytesIO()
    figure.savefig(drawn, format=path.suffix[1:].lower(), dpi=150)
    with failing(f"cannot write the figure to {quote(str(path))}"):
        replace_file(path, [drawn.getbuffer()])
