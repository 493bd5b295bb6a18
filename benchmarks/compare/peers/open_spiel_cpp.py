"""OpenSpiel's solver in C++, which alternates and averages like ours."""

from importlib import import_module
from typing import Any, final

from benchmarks.compare.games import Contest

pyspiel: Any = import_module("pyspiel")


@final
class Solver:
    """One of its CFR solvers."""

    def __init__(self, game: Contest, algorithm: str) -> None:
        self._game = pyspiel.load_game(game.theirs)
        solver = pyspiel.CFRPlusSolver if algorithm == "cfr+" else pyspiel.CFRSolver
        self._solver = solver(self._game)

    def run(self, iterations: int) -> None:
        for _ in range(iterations):
            self._solver.evaluate_and_update_policy()

    def gap(self) -> float:
        return float(pyspiel.nash_conv(self._game, self._solver.average_policy()))


start = Solver
