"""Circuits over all decision points, or one object for each; linear swap regret."""

from collections.abc import Callable
from functools import partial

import regretkit as rk
from benchmarks.harness import PAGE, Figures, benchmark, best_times
from benchmarks.runs import cfr_run, tree_game
from regretkit.circuits import (
    LastIterateByAveraging,
    LinearDeviations,
    Restart,
    linear_swap_regret,
)


def hull(actions: int) -> rk.ConvexHull:
    """Return a hull of two rules on one simplex."""
    return rk.ConvexHull([rk.RegretMatching(actions), rk.RegretMatchingPlus(actions)], RM)


def nested(actions: int) -> rk.ConvexHull:
    """Return a hull of a restarted hull and a minimizer of swap regret."""
    return rk.ConvexHull([Restart(hull(actions), every=10), rk.SwapRegret(actions, RM)], RM)


RM = rk.RegretMatching
CIRCUITS: dict[str, Callable[[int], rk.RegretMinimizer]] = {
    "RM": RM,
    "hull of RM and RM+": hull,
    "swap regret by RM": partial(rk.SwapRegret, expert=RM),
    "last iterate of RM": lambda actions: LastIterateByAveraging(RM(actions)),
    "hull, nested": nested,
}


def each(make: Callable[[int], rk.RegretMinimizer], simplices: rk.Simplices) -> rk.RegretMinimizer:
    """Return one object for each decision point."""
    return rk.Product([make(n) for n in simplices.sizes.tolist()])


@benchmark([*CIRCUITS], quick=["hull of RM and RM+"], head="at a decision point", page=PAGE)
def circuits(name: str, quick: bool) -> Figures:
    """What one circuit over all decision points of Leduc poker saves.

    Milliseconds of an iteration with one object for each of the 936 decision points of the two
    players, the same with one circuit, and how many times as long the first takes. All take turns,
    and the best of each counts.
    """
    game, make = tree_game("leduc_poker"), CIRCUITS[name]
    runs = {
        name: cfr_run(game, local, engine="numpy").run
        for name, local in (("each", partial(each, make)), ("once", rk.PerDecisionPoint(make)))
    }
    best = best_times(runs, 2 if quick else 10)
    return {
        "each, ms": 1e3 * best["each"],
        "at once, ms": 1e3 * best["once"],
        "ratio": best["each"] / best["once"],
    }


GAMES = {
    "Kuhn poker": "kuhn_poker",
    "Kuhn poker, 3 players": "kuhn_poker(players=3)",
    "Sheriff": "sheriff(items=3, bribe=3, rounds=2)",
    "Goofspiel 4": "goofspiel(cards=4)",
    "Leduc poker": "leduc_poker",
}


@benchmark([*GAMES], quick=["Kuhn poker"], head="game", page=PAGE)
def linear_swap(name: str, quick: bool) -> Figures:
    """What an iteration of linear swap regret costs next to one of CFR.

    Milliseconds of an iteration of all players in NumPy, both by RM+ with simultaneous updates,
    and how many times as long and as many coordinates the first has; the last column is the
    quotient of the two. Both take turns, and the best of each counts.
    """
    game, rule, order = tree_game(GAMES[name]), rk.RegretMatchingPlus, rk.play.Simultaneous()
    players: dict[str, list[rk.RegretMinimizer]] = {
        "CFR": [rk.CFR(tree, rule) for tree in game.domains],
        "linear swap": [linear_swap_regret(tree, rule) for tree in game.domains],
    }
    runs = {
        kind: rk.SelfPlay(game, each, order=order, engine="numpy") for kind, each in players.items()
    }
    best = best_times({kind: run.run for kind, run in runs.items()}, 2 if quick else 10)
    sequences = sum(tree.dimension for tree in game.domains)
    pairs = sum(LinearDeviations(tree).coefficients.dimension for tree in game.domains)
    ratio = best["linear swap"] / best["CFR"]
    return {
        "sequences": sequences,
        "coefficients": pairs,
        "CFR, ms": 1e3 * best["CFR"],
        "linear swap, ms": 1e3 * best["linear swap"],
        "times as long": ratio,
        "times as many": pairs / sequences,
        "quotient": ratio * sequences / pairs,
    }
