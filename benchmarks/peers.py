"""The compared games and solvers, with the interface of each library.

Imports are local, because each process loads only one library.
"""

import os
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import Any, Protocol, TypeAlias

from attrs import frozen

# Games


@frozen
class Contest:
    """The names of a game."""

    call: str
    """The name in regretkit."""
    openspiel: str
    """The name in OpenSpiel."""


def _liars_dice(sides: int) -> Contest:
    return Contest(f"liars_dice(sides={sides})", f"liars_dice(dice_sides={sides})")


def _goofspiel(cards: int) -> Contest:
    inner = f"goofspiel(imp_info=true,num_cards={cards},points_order=descending)"
    call = f"goofspiel(cards={cards}, information='hidden')"
    return Contest(call, f"turn_based_simultaneous_game(game={inner})")


CONTESTS: dict[str, Contest] = {
    "Kuhn poker": Contest("kuhn_poker", "kuhn_poker"),
    "Goofspiel, 4 cards": _goofspiel(4),
    "Leduc poker": Contest("leduc_poker", "leduc_poker"),
    "Liar's dice, 4 sides": _liars_dice(4),
    "Goofspiel, 5 cards": _goofspiel(5),
    "Liar's dice, 5 sides": _liars_dice(5),
    "Liar's dice, 6 sides": _liars_dice(6),
}
QUICK = ("Kuhn poker", "Leduc poker")

# Solvers


class Solver(Protocol):
    """A solver before its first iteration."""

    def run(self, iterations: int) -> None:
        """Run iterations with alternating updates, one for each player."""
        ...

    def gap(self) -> float:
        """Return the library's NashConv of the average, summed over players.

        The average of x_1, ..., x_T has weights 1, 2, ... in CFR+, and equal weights in CFR.
        """
        ...


class Ours:
    """A compiled run of self-play."""

    def __init__(self, contest: Contest, algorithm: str) -> None:
        import regretkit as rk
        from benchmarks import runs

        plus = algorithm == "cfr+"
        rule = rk.RegretMatchingPlus if plus else rk.RegretMatching
        game = runs.tree_game(contest.call)
        self._play = runs.cfr_run(game, rule, linear=plus)
        self._gap = rk.nash_conv

    def run(self, iterations: int) -> None:
        self._play.run(iterations)

    def gap(self) -> float:
        return float(self._gap(self._play.game, self._play.average))


class OpenSpiel:
    """A CFR solver of OpenSpiel in C++ or Python, with our order and averages."""

    def __init__(self, contest: Contest, algorithm: str, *, module: str) -> None:
        self._spiel: Any = import_module("pyspiel")
        self._game = self._spiel.load_game(contest.openspiel)
        solver = "CFRPlusSolver" if algorithm == "cfr+" else "CFRSolver"
        self._solver: Any = getattr(import_module(module), solver)(self._game)
        self._in_python = module != "pyspiel"

    def run(self, iterations: int) -> None:
        for _ in range(iterations):
            self._solver.evaluate_and_update_policy()

    def gap(self) -> float:
        average = self._solver.average_policy()
        if self._in_python:
            policy: Any = import_module("open_spiel.python.policy")
            average = policy.python_policy_to_pyspiel_policy(average)
        return float(self._spiel.nash_conv(self._game, average))


class LiteEFG:
    """A computation graph over all information sets, with alternating updates."""

    def __init__(self, contest: Contest, algorithm: str) -> None:
        leg: Any = import_module("LiteEFG")
        plus = algorithm == "cfr+"
        self._average = "linear-avg-iterate" if plus else "avg-iterate"
        # LiteEFG writes the game to a file in the home directory, and reads it again.
        with tempfile.TemporaryDirectory() as home:
            os.environ["HOME"] = home
            loaded = import_module("pyspiel").load_game(contest.openspiel)
            self._game = leg.OpenSpielEnv(loaded, traverse_type="Enumerate", regenerate=True)
        self._graph = self._rule(leg, plus)
        self._game.set_graph(self._graph)

    def _rule(self, leg: Any, plus: bool) -> Any:
        """Return the graph: CFR's values up the tree, and regret matching."""
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
            graph.strategy.inplace(leg.normalize(regrets, p_norm=1.0, ignore_negative=True))
        return graph

    def run(self, iterations: int) -> None:
        strategy = self._graph.strategy
        for _ in range(iterations):
            # Add the strategies to the average before the updates.
            self._game.update_strategy(strategy)
            self._game.update(strategy, upd_player=1)
            self._game.update(strategy, upd_player=2)

    def gap(self) -> float:
        return float(sum(self._game.exploitability(self._graph.strategy, self._average)))


class NoRegret:
    """A minimizer of noregret for each player, on the CPU."""

    def __init__(self, contest: Contest, algorithm: str) -> None:
        noregret: Any = import_module("noregret")
        kernel = noregret.FloatingPointKernel()
        named = noregret.OpenSpielGame(kernel, contest.openspiel)
        self._game = noregret.to_extensive_form_game(kernel, named)
        kind = noregret.CFR_plus if algorithm == "cfr+" else noregret.CFR
        self._players = [kind(kernel, tree) for tree in self._game.sequence_form_polytopes]
        self._strategies = [player.output() for player in self._players]

    def run(self, iterations: int) -> None:
        for _ in range(iterations):
            for i, player in enumerate(self._players):
                player.observe(self._game.utility(i, self._strategies[1 - i]))
                self._strategies[i] = player.output()

    def gap(self) -> float:
        averages = [player.average_strategy for player in self._players]
        # noregret's exploitability is the mean over the two players.
        return 2.0 * float(self._game.exploitability(*averages))


Start: TypeAlias = Callable[[Contest, str], Solver]
IN_PYTHON = "open_spiel.python.algorithms.cfr"
PEERS: dict[str, tuple[Start, Sequence[str]]] = {
    "regretkit": (Ours, ("llvmlite.binding", "benchmarks.runs")),
    "OpenSpiel, C++": (partial(OpenSpiel, module="pyspiel"), ("pyspiel",)),
    "OpenSpiel, Python": (partial(OpenSpiel, module=IN_PYTHON), ("pyspiel", IN_PYTHON)),
    "LiteEFG": (LiteEFG, ("LiteEFG", "pyspiel")),
    # The versions for Python 3.11, up to 0.0.0.dev3, have another interface and no kernels.
    "noregret": (NoRegret, ("noregret.kernels",)),
}
"""Solvers, and the modules to load before timing."""
