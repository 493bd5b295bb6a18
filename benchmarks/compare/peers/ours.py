"""regretkit: a built-in rule in machine code, and a rule of one's own in NumPy."""

from typing import TypeAlias, final

import numba  # noqa: F401 - loaded before anything is timed, as the libraries of others are
import numpy as np
from attrs import define
from numpy.typing import NDArray
from typing_extensions import override

import regretkit as rk
from benchmarks.compare.games import Contest
from benchmarks.runs import cfr_run, tree_game
from regretkit.circuits import LocalRule

Vector: TypeAlias = NDArray[np.float64]


@final
@define(eq=False)
class OwnRegretMatchingPlus(rk.SimplexRule):
    """RM+ as one would write it."""

    regrets: Vector = rk.state()

    @override
    def _propose(self) -> Vector:
        return self.simplices.normalize(self.regrets)

    @override
    def _learn(self, utility: Vector, strategy: Vector) -> None:
        self.regrets += self.simplices.regret(utility, strategy)
        np.maximum(self.regrets, 0.0, out=self.regrets)


@final
@define(eq=False)
class OwnRegretMatching(rk.SimplexRule):
    """Regret matching as one would write it."""

    regrets: Vector = rk.state()

    @override
    def _propose(self) -> Vector:
        return self.simplices.normalize(np.maximum(self.regrets, 0.0))

    @override
    def _learn(self, utility: Vector, strategy: Vector) -> None:
        self.regrets += self.simplices.regret(utility, strategy)


@final
class Ours:
    """A run of self-play."""

    def __init__(self, game: str, rule: LocalRule, algorithm: str, engine: str) -> None:
        linear = algorithm == "cfr+"
        self._play = cfr_run(tree_game(game), rule, engine=engine, linear=linear)

    def run(self, iterations: int) -> None:
        self._play.run(iterations)

    def gap(self) -> float:
        return float(rk.nash_conv(self._play.game, self._play.average))


def compiled(game: Contest, algorithm: str) -> Ours:
    """Return a run of a built-in rule, from end to end in machine code."""
    rule = rk.RegretMatchingPlus if algorithm == "cfr+" else rk.RegretMatching
    return Ours(game.ours, rule, algorithm, "compiled")


def own_rule(game: Contest, algorithm: str) -> Ours:
    """Return a run of a rule in NumPy, with payoffs and passes over the tree in machine code."""
    rule = OwnRegretMatchingPlus if algorithm == "cfr+" else OwnRegretMatching
    return Ours(game.ours, rule, algorithm, "vectorized")
