"""The games and the solvers that are compared, as every library calls them.

Nothing is imported before a process needs it: in each of them there is one library.
"""

import os
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import Any, Protocol

from attrs import frozen

ALGORITHMS = ("cfr+", "cfr")
PACKAGES = (
    *("regretkit", "numpy", "llvmlite", "scipy"),
    *("numba", "open_spiel", "LiteEFG", "noregret"),
)

# Games


@frozen
class Contest:
    """A game, and how much faster than others regretkit means to be at it."""

    title: str
    call: str
    """Its name in regretkit."""
    openspiel: str
    """Its name in OpenSpiel."""
    over_open_spiel: float
    """Floor for OpenSpiel's C++ over the compiled engine, both in time per iteration."""
    over_lite_efg: float
    """Floor for LiteEFG over the compiled engine."""
    own_over_open_spiel: float
    """Goal for OpenSpiel's C++ over RM+ as a user writes it."""


def _liars_dice(sides: int, *marks: float) -> Contest:
    call, openspiel = f"liars_dice(sides={sides})", f"liars_dice(dice_sides={sides})"
    return Contest(f"Liar's dice, {sides} sides", call, openspiel, *marks)


def _goofspiel(cards: int, *marks: float) -> Contest:
    inner = f"goofspiel(imp_info=true,num_cards={cards},points_order=descending)"
    call = f"goofspiel(cards={cards}, information='hidden')"
    openspiel = f"turn_based_simultaneous_game(game={inner})"
    return Contest(f"Goofspiel, {cards} cards", call, openspiel, *marks)


GAMES: dict[str, Contest] = {
    "kuhn": Contest("Kuhn poker", "kuhn_poker", "kuhn_poker", 70, 25, 100),
    "goofspiel4": _goofspiel(4, 260, 40, 400),
    "leduc": Contest("Leduc poker", "leduc_poker", "leduc_poker", 320, 110, 550),
    "liars4": _liars_dice(4, 185, 95, 370),
    "goofspiel5": _goofspiel(5, 310, 220, 700),
    "liars5": _liars_dice(5, 170, 280, 350),
    "liars6": _liars_dice(6, 145, 370, 300),
}

# Solvers


class Solver(Protocol):
    """A solver that is ready for its first iteration."""

    def run(self, iterations: int) -> None:
        """Run some iterations, with alternating updates: one for each player."""
        ...

    def gap(self) -> float:
        """Return NashConv of the average, the sum over players, as the library measures it.

        The average is over x_1 to x_T; with weights 1, 2, ... in CFR+, and equal ones in CFR.
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


def plain_loop(contest: Contest, algorithm: str) -> Solver:
    from benchmarks.plain_loop import PlainLoop

    return PlainLoop(contest.call, algorithm)


class OpenSpiel:
    """One of OpenSpiel's CFR solvers in C++ or in Python, which alternate and average like ours."""

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
    """A computation graph over all information sets, with players who learn in turn."""

    def __init__(self, contest: Contest, algorithm: str) -> None:
        leg: Any = import_module("LiteEFG")
        plus = algorithm == "cfr+"
        self._average = "linear-avg-iterate" if plus else "avg-iterate"
        # It writes the game to a file in the home directory, to read it from there.
        with tempfile.TemporaryDirectory() as home:
            os.environ["HOME"] = home
            loaded = import_module("pyspiel").load_game(contest.openspiel)
            self._game = leg.OpenSpielEnv(loaded, traverse_type="Enumerate", regenerate=True)
        self._graph = self._rule(leg, plus)
        self._game.set_graph(self._graph)

    def _rule(self, leg: Any, plus: bool) -> Any:
        """Return CFR's values up the tree, and regret matching at each decision point."""
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
            # The average takes in what is played, and not what comes of it.
            self._game.update_strategy(strategy)
            self._game.update(strategy, upd_player=1)
            self._game.update(strategy, upd_player=2)

    def gap(self) -> float:
        return float(sum(self._game.exploitability(self._graph.strategy, self._average)))


class NoRegret:
    """A regret minimizer of noregret for each player, on the processor."""

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
        # Its exploitability is the mean over the two players.
        return 2.0 * float(self._game.exploitability(*averages))


@frozen
class Peer:
    """A solver, and the modules that are loaded before anything is timed."""

    title: str
    start: Callable[[Contest, str], Solver]
    modules: Sequence[str]


IN_PYTHON = "open_spiel.python.algorithms.cfr"
PEERS: dict[str, Peer] = {
    "compiled": Peer("regretkit, compiled", Ours, ("llvmlite.binding", "benchmarks.runs")),
    "plain loop": Peer("plain loop", plain_loop, ("numba", "benchmarks.plain_loop")),
    "OpenSpiel C++": Peer("OpenSpiel, C++", partial(OpenSpiel, module="pyspiel"), ("pyspiel",)),
    "OpenSpiel Python": Peer(
        "OpenSpiel, Python", partial(OpenSpiel, module=IN_PYTHON), ("pyspiel", IN_PYTHON)
    ),
    "LiteEFG": Peer("LiteEFG", LiteEFG, ("LiteEFG", "pyspiel")),
    # Its versions for Python 3.11, up to 0.0.0.dev3, have no kernels, and another interface.
    "noregret": Peer("noregret", NoRegret, ("noregret.kernels",)),
}
