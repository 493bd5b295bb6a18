"""Runs of self-play that are measured, laid out and before their first iteration."""

import regretkit as rk
from regretkit.circuits import LocalRule
from regretkit.play import Linear, SelfPlay, Uniform


def tree_game(call: str) -> rk.ExtensiveFormGame:
    """Return the extensive-form game of this name."""
    game = rk.load(call)
    if not isinstance(game, rk.ExtensiveFormGame):
        raise TypeError(f"{call} is no game in extensive form")
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
