"""MCCFR: histories per second compared with OpenSpiel's C++, and gaps by histories visited.

All runs use regret matching, alternating updates and the uniform average.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import numpy as np

import regretkit as rk
from benchmarks import harness
from benchmarks.harness import Curves, Figures, Found, benchmark, best_times, repeated
from benchmarks.peers import CONTESTS
from benchmarks.runs import tree_game
from regretkit.play import (
    AverageStrategySampling,
    ChanceSampling,
    Estimator,
    ExactUtility,
    ExternalSampling,
    LearnedBaseline,
    OutcomeSampling,
    Sampled,
    SelfPlay,
)

ESTIMATORS: Mapping[str, Callable[[np.random.Generator], Estimator]] = {
    "full sweep": lambda generator: ExactUtility(),
    "chance": ChanceSampling,
    "external": ExternalSampling,
    "average strategy": AverageStrategySampling,
    "outcome": OutcomeSampling,
    "outcome, learned baseline": lambda generator: OutcomeSampling(
        generator, baseline=LearnedBaseline(rate=0.1)
    ),
}
VISITS = {
    **{"Kuhn poker": 1e7, "Leduc poker": 3e7},
    **{"Liar's dice, 6 sides": 1e8, "Goofspiel, 4 cards": 1e7},
}
"""Histories to visit in a game."""
STATES, COLUMNS = "OpenSpiel's states of Leduc poker", "Liar's dice, 2 dice, without a tree"


def started(title: str, kind: str, seed: int) -> SelfPlay:
    game = tree_game(CONTESTS[title].call)
    players = [rk.CFR(tree, rk.RegretMatching) for tree in game.domains]
    estimator = ESTIMATORS[kind](np.random.default_rng(seed))
    return SelfPlay(game, players, estimator=estimator, engine="compiled")


def visited(run: Any) -> int:
    """Return the number of histories that a run visited."""
    if isinstance(run.estimator, ExactUtility):
        return int(run.iteration * run.players * run.game.tree.histories)
    return int(run.estimator.visited)


@benchmark(
    [
        f"{title}: {kind}"
        for title in (*VISITS, STATES, COLUMNS)
        for kind in ("external", "outcome")
    ],
    quick=["Kuhn poker: external", "Leduc poker: outcome"],
    head="game: sampling",
)
def sampling(row: str, quick: bool) -> Figures:
    """The speed of external and outcome sampling, compared with OpenSpiel's C++.

    Both libraries visit as many histories per iteration after equally many iterations. Columns are
    histories per iteration, millions per second, and OpenSpiel's relative time per iteration. Both
    alternate in turns of 0.2 seconds.
    """
    title, kind = row.split(": ")
    name, call, iterations = "", "", 20_000
    run: SelfPlay | Sampled
    estimator: Any = ESTIMATORS[kind](np.random.default_rng(1))
    if title == STATES:
        name, iterations = "leduc_poker", 2_000
        run = Sampled(rk.games.openspiel_history(name), rk.RegretMatching, estimator)
    elif title == COLUMNS:
        name, call, iterations = "liars_dice(numdice=2)", "liars_dice(dice=2)", 1_000
        run = Sampled(rk.games.load_rules(call), rk.RegretMatching, estimator)
    else:
        name, run = CONTESTS[title].openspiel, started(title, kind, seed=1)
    game = import_module("pyspiel").load_game(name)
    solver: Any = getattr(import_module("pyspiel"), f"{kind.capitalize()}SamplingMCCFRSolver")
    openspiel = repeated(solver(game).run_iteration)
    run.run(iterations)
    openspiel(iterations)
    begun = run.iteration, visited(run)
    best = best_times({"ours": run.run, "C++": openspiel}, 2 if quick else 15, 0.2)
    visits = (visited(run) - begun[1]) / (run.iteration - begun[0])
    return {
        "histories an iteration": visits,
        "million/s": visits / best["ours"] / 1e6,
        "OpenSpiel, C++": best["C++"] / best["ours"],
    }


# Gaps by histories visited


def curve(kind: str, title: str, quick: bool) -> tuple[list[float], list[float]]:
    """Return numbers of visited histories and exploitabilities, as medians over seeds."""
    maximum = VISITS[title] * (1e-2 if quick else 1.0)
    found = []
    for seed in range(1 if quick or kind == "full sweep" else 3):
        run, points = started(title, kind, seed), []
        for stop in np.geomspace(maximum / 1e3, maximum, 10):
            advance(run, stop)
            points.append((visited(run), rk.exploitability(run.game, run.average)))
        found.append(points)
    x_values, y_values = np.median(found, axis=0).T.tolist()
    return x_values, y_values


def advance(run: SelfPlay, stop: float) -> None:
    """Run until about ``stop`` histories are visited."""
    run.run(1)
    while (left := stop - visited(run)) > 0.0:
        visits = visited(run) / run.iteration
        if left < visits:
            return
        run.run(max(1, int(0.9 * left / visits)))


def draw_gaps(found: Found) -> None:
    panels: dict[str, Curves] = {
        title: {kind: row["_curves"][title] for kind, row in found.items()} for title in VISITS
    }
    harness.draw(harness.IMAGES / "sampling.svg", panels, "histories visited", "exploitability")


@benchmark([*ESTIMATORS], head="estimator", plot=draw_gaps)
def sampling_gaps(kind: str, quick: bool) -> Figures:
    """The final exploitability of each estimator, and the number of visited histories.

    Values are medians over three seeds. A full run draws curves.
    """
    curves = {title: curve(kind, title, quick) for title in [*VISITS][: 2 if quick else None]}
    ends = {
        title: f"{harness.number(y_values[-1])} at {x_values[-1]:.0e}"
        for title, (x_values, y_values) in curves.items()
    }
    return {**ends, "_curves": curves}
