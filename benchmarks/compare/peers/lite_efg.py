"""LiteEFG, with players who learn in turn."""

import os
import tempfile
from importlib import import_module
from typing import Any, final

from benchmarks.compare.games import Contest

leg: Any = import_module("LiteEFG")
pyspiel: Any = import_module("pyspiel")


def _graph(plus: bool) -> Any:
    """Return the rule: CFR's values up the tree, and regret matching at each decision point."""
    graph = leg.Graph()
    with leg.backward(is_static=True):
        value = leg.const(1, 0.0)
        graph.strategy = leg.const(graph.action_set_size, 1.0 / graph.action_set_size)
        regrets = leg.const(graph.action_set_size, 0.0)
    with leg.backward():
        utility = leg.aggregate(value, aggregator="sum") + graph.utility
        value.inplace(leg.dot(utility, graph.strategy))
        summed = regrets + utility - value
        regrets.inplace(leg.maximum(summed, 0.0) if plus else summed)
        played = leg.normalize(regrets, p_norm=1.0, ignore_negative=True)
        graph.strategy.inplace(played)
    return graph


@final
class Solver:
    """A computation graph over all information sets."""

    def __init__(self, game: Contest, algorithm: str) -> None:
        plus = algorithm == "cfr+"
        self._average = "linear-avg-iterate" if plus else "avg-iterate"
        # It writes the game to a file in the home directory, to read it from there.
        with tempfile.TemporaryDirectory() as home:
            os.environ["HOME"] = home
            loaded = pyspiel.load_game(game.theirs)
            self._game = leg.OpenSpielEnv(loaded, traverse_type="Enumerate", regenerate=True)
        self._graph = _graph(plus)
        self._game.set_graph(self._graph)

    def run(self, iterations: int) -> None:
        strategy = self._graph.strategy
        for _ in range(iterations):
            # The average takes in what is played, and not what comes of it.
            self._game.update_strategy(strategy)
            self._game.update(strategy, upd_player=1)
            self._game.update(strategy, upd_player=2)

    def gap(self) -> float:
        return float(sum(self._game.exploitability(self._graph.strategy, self._average)))


start = Solver
