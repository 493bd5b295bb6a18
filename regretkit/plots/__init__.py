"""Pictures of runs, strategies and games; all but those of games need matplotlib."""

from regretkit.games._pictures.drawing import draw_game as draw_game
from regretkit.plots._convergence import Curve as Curve
from regretkit.plots._convergence import convergence as convergence
from regretkit.plots._heat_map import heat_map as heat_map
from regretkit.plots._simplex import simplex as simplex
from regretkit.plots._trajectories import trajectories as trajectories
