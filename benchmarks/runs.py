"""Runs for benchmarks, before their first iteration."""

from typing import TypeAlias

import numpy as np
from attrs import define
from numpy.typing import NDArray

import regretkit as rk
from regretkit.circuits import LocalRule
from regretkit.play import Linear, SelfPlay, Uniform

Vector: TypeAlias = NDArray[np.float64]


def tree_game(call: str) -> rk.ExtensiveFormGame:
    """Return the extensive-form game of a name."""
    game = rk.load(call)
    if not isinstance(game, rk.ExtensiveFormGame):
        raise TypeError(f"{call} is not in extensive form")
    return game


def cfr_run(
    game: rk.ExtensiveFormGame,
    rule: LocalRule = rk.RegretMatchingPlus,
    *,
    engine: str = "compiled",
    linear: bool = True,
) -> SelfPlay:
    """Return a run of CFR with a rule, by default CFR+."""
    players = [rk.CFR(tree, rule) for tree in game.domains]
    averaging = Linear() if linear else Uniform()
    return SelfPlay(game, players, averaging=averaging, engine=engine).run(0)


@define(eq=False)
class RegretMatchingPlus(rk.SimplexRule):
    """RM+ as a user writes it."""

    regrets: Vector = rk.state()

    def _propose(self) -> Vector:
        return self.simplices.normalize(self.regrets)

    def _learn(self, utility: Vector, strategy: Vector) -> None:
        self.regrets += self.simplices.regret(utility, strategy)
        np.maximum(self.regrets, 0.0, out=self.regrets)


@define(eq=False)
class CubedRegretMatching(rk.SimplexRule):
    """The ten-line rule of the README."""

    regrets: Vector = rk.state()

    def _propose(self) -> Vector:
        return self.simplices.normalize(np.maximum(self.regrets, 0.0) ** 3)

    def _learn(self, utility: Vector, strategy: Vector) -> None:
        self.regrets += self.simplices.regret(utility, strategy)
