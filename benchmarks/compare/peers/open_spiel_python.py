"""OpenSpiel's solver in Python."""

from importlib import import_module
from typing import Any, final

from benchmarks.compare.games import Contest

pyspiel: Any = import_module("pyspiel")
cfr: Any = import_module("open_spiel.python.algorithms.cfr")
policy: Any = import_module("open_spiel.python.policy")


@final
class Solver:
    """One of its CFR solvers."""

    def __init__(self, game: Contest, algorithm: str) -> None:
        self._game = pyspiel.load_game(game.theirs)
        solver = cfr.CFRPlusSolver if algorithm == "cfr+" else cfr.CFRSolver
        self._solver = solver(self._game)

    def run(self, iterations: int) -> None:
        for _ in range(iterations):
            self._solver.evaluate_and_update_policy()

    def gap(self) -> float:
        average = policy.python_policy_to_pyspiel_policy(self._solver.average_policy())
        return float(pyspiel.nash_conv(self._game, average))


start = Solver
