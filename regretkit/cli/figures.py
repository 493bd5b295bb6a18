"""Figures of how gaps fell, drawn by ``regretkit.plots``."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from regretkit.cli.exits import Failure, failing
from regretkit.cli.games_in import name_of
from regretkit.cli.running import Ended

Columns: TypeAlias = Mapping[str, Sequence[float]]
"""What was measured of a run: iterations, seconds and gaps."""


def check(argument: str) -> None:
    """Refuse to promise a figure where nothing can draw one."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise Failure(
            f"{argument}: figures need matplotlib; install it with pip install 'regretkit[plot]'"
        ) from error


def draw_run(ended: Ended, path: Path | None) -> None:
    """Draw how the gap of a run fell, if there is somewhere to draw it."""
    if path is not None:
        label = ended.journal.label
        draw({f"{name_of(ended.run.game)}, {label}": {label: ended.columns()}}, path)


def draw(panels: Mapping[str, Mapping[str, Columns]], path: Path, *, x: str = "iteration") -> None:
    """Draw a panel for each game with a curve for each algorithm, and write them into a file."""
    from matplotlib.figure import Figure

    from regretkit import plots

    across = min(len(panels), math.ceil(math.sqrt(len(panels))), 4)
    down = math.ceil(len(panels) / across)
    size = (6.4, 4.2) if len(panels) == 1 else (4.8 * across, 3.6 * down)
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(down, across, squeeze=False).ravel()
    for ax, (game, curves) in zip(axes, panels.items(), strict=False):
        plots.convergence(curves, x=x, y="gap", title=game, ax=ax)
    for ax in axes[len(panels) :]:
        ax.set_axis_off()
    with failing(f"cannot write the figure to {str(path)!r}"):
        figure.savefig(path, dpi=150)
