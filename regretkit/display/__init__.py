"""Figures of runs, strategies and games, drawn by matplotlib."""

from regretkit.display._convergence import Curve as Curve
from regretkit.display._convergence import convergence as convergence
from regretkit.display._game_figure import draw_game as draw_game
from regretkit.display._heat_map import heat_map as heat_map
from regretkit.display._simplex import simplex as simplex
from regretkit.display._trajectories import trajectories as trajectories
