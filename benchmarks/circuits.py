"""Circuits over all decision points, or one object for each; linear swap regret."""

from collections.abc import Callable
from functools import partial

import regretkit as rk
from benchmarks.engines import CONTESTS
from benchmarks.harness import PAGE, Figures, benchmark, best_times
from benchmarks.runs import Vector, cfr_run, tree_game
from regretkit.circuits import (
    ExplorationMixture,
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


COST = PAGE.with_name("circuits.md")
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


@benchmark([*CIRCUITS], quick=["hull of RM and RM+"], head="at a decision point", page=COST)
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


class Magnet(rk.RegretMinimizer):
    """Pulls what CFR plays towards a reference point, which moves every 100 iterations."""

    def __init__(self, inner: rk.RegretMinimizer) -> None:
        self.inner, self.domain = inner, inner.domain
        self.reference = inner.domain.relative_interior_point()

    def _propose(self) -> Vector:
        return self.inner.next_strategy().copy()

    def _learn(self, utility: Vector, strategy: Vector) -> None:
        self.inner.observe_utility(utility - 0.01 * (strategy - self.reference))
        if (self.iteration + 1) % 100 == 0:
            self.reference = strategy.copy()


AROUND: dict[str, Callable[[rk.CFR], rk.RegretMinimizer]] = {
    "exploration": lambda cfr: ExplorationMixture(cfr, gamma=0.01),
    "last iterate": LastIterateByAveraging,
    "magnet": Magnet,
}


@benchmark([*CONTESTS], quick=["Kuhn poker"], head="game", page=COST)
def around(title: str, quick: bool) -> Figures:
    """What circuits around whole trees cost in machine code.

    How many times as long an iteration of CFR+ takes with a circuit around each player's tree:
    ``ExplorationMixture``, ``LastIterateByAveraging``, and a magnet of a user. All take turns, and
    the best of each counts.
    """
    game = tree_game(CONTESTS[title].call)
    runs = {}
    for name, make in {"CFR+": lambda cfr: cfr, **AROUND}.items():
        players = [make(rk.CFR(tree, rk.RegretMatchingPlus)) for tree in game.domains]
        run = rk.SelfPlay(game, players, averaging=rk.play.Linear(), engine="compiled")
        runs[name] = run.run
    best = best_times(runs, 3) if quick else best_times(runs, 8, length=0.2)
    return {name: best[name] / best["CFR+"] for name in AROUND}


GAMES = {
    "Kuhn poker": "kuhn_poker",
    "Kuhn poker, 3 players": "kuhn_poker(players=3)",
    "Sheriff": "sheriff(items=3, bribe=3, rounds=2)",
    "Goofspiel 4": "goofspiel(cards=4)",
    "Leduc poker": "leduc_poker",
}


@benchmark(
    [*GAMES],
    quick=["Kuhn poker"],
    head="game",
    page=PAGE.with_name("linear_swap_regret.md"),
)
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
