"""noregret, on the processor."""

from importlib import import_module
from typing import Any, final

from benchmarks.compare.games import Contest

noregret: Any = import_module("noregret")


@final
class Solver:
    """A regret minimizer for each player."""

    def __init__(self, game: Contest, algorithm: str) -> None:
        kernel = noregret.FloatingPointKernel()
        named = noregret.OpenSpielGame(kernel, game.theirs)
        self._game = noregret.to_extensive_form_game(kernel, named)
        kind = noregret.CFR_plus if algorithm == "cfr+" else noregret.CFR
        self._players = [kind(kernel, tree) for tree in self._game.sequence_form_polytopes]
        self._strategies = [player.output() for player in self._players]

    def run(self, iterations: int) -> None:
        game, strategies = self._game, self._strategies
        first, second = self._players
        for _ in range(iterations):
            first.observe(game.utility(0, strategies[1]))
            strategies[0] = first.output()
            second.observe(game.utility(1, strategies[0]))
            strategies[1] = second.output()

    def gap(self) -> float:
        averages = [player.average_strategy for player in self._players]
        # Its exploitability is the mean over the two players.
        return 2.0 * float(self._game.exploitability(*averages))


start = Solver
