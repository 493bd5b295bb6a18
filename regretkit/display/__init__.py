"""Figures of runs, strategies and games, drawn by matplotlib.

All functions return matplotlib axes. ``axes.figure.savefig(path)`` writes SVG, PDF or PNG. They
share these parameters:

title
    Text above the figure.
figsize
    Width and height of a new figure in inches; by default as large as its content needs.
ax
    Axes to draw on; by default those of a new figure.

They raise an ImportError if matplotlib is not installed, and a TypeError if ``ax`` is not an axes
object.
"""

from typing import TYPE_CHECKING

from regretkit._util._lazy_import import lazy_import

_LATER = {
    "_circuits": "draw_circuit",
    "_convergence": "Curve convergence",
    "_games": "draw_game",
    "_heat_map": "heat_map range_grid",
    "_page": "Page page",
    "_trajectories": "simplex trajectories",
}
if TYPE_CHECKING:
    from regretkit.display._circuits import draw_circuit as draw_circuit
    from regretkit.display._convergence import Curve as Curve
    from regretkit.display._convergence import convergence as convergence
    from regretkit.display._games import draw_game as draw_game
    from regretkit.display._heat_map import heat_map as heat_map
    from regretkit.display._heat_map import range_grid as range_grid
    from regretkit.display._page import Page as Page
    from regretkit.display._page import page as page
    from regretkit.display._trajectories import simplex as simplex
    from regretkit.display._trajectories import trajectories as trajectories
else:
    __getattr__, __dir__, __all__ = lazy_import(__name__, _LATER)
