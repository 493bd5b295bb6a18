"""MCCFR: histories a second next to OpenSpiel's C++, and the gap against histories visited.

With regret matching, alternating updates and the uniform average. How many histories OpenSpiel
visits is not said by it; both libraries follow every own action and draw one of all others, and so
visit as many in an iteration after equally many. OpenSpiel hardly gets further while it is timed,
so what ours visits at the beginning counts for it, and what ours visits in the end, for ours.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from time import process_time
from typing import Any

import numpy as np

import regretkit as rk
from benchmarks import harness
from benchmarks.harness import Action, Curves, Figures, Found, benchmark, best_times, repeated
from benchmarks.peers import GAMES, Contest
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

CURVES = harness.PAGE.with_name("sampling.md")
EQUAL = 20_000
"""Iterations that both have played before they are timed."""
CALL = 0.2
"""Seconds that a solver is asked to run: what a call of ours costs once is part of it."""
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
VISITS = {"kuhn": 1e7, "leduc": 3e7, "liars6": 1e8, "goofspiel4": 1e7}
"""Histories to visit in a game."""
ROWS = {
    f"{GAMES[game].title}, {kind}": (GAMES[game], kind)
    for game in VISITS
    for kind in ("external", "outcome")
}
QUICK = [*ROWS][:4]


def started(contest: Contest, name: str, seed: int) -> SelfPlay:
    game = tree_game(contest.call)
    players = [rk.CFR(tree, rk.RegretMatching) for tree in game.domains]
    estimator = ESTIMATORS[name](np.random.default_rng(seed))
    return SelfPlay(game, players, estimator=estimator, engine="compiled")


def visited(run: Any) -> int:
    """Return how many histories a run has visited."""
    if isinstance(run.estimator, ExactUtility):
        return int(run.iteration * run.players * run.game.tree.histories)
    return int(run.estimator.visited)


def open_spiel(contest: Contest, kind: str) -> dict[str, Action]:
    """Return what runs OpenSpiel's solvers in C++ and in Python, nothing where it is missing."""
    try:
        pyspiel: Any = import_module("pyspiel")
    except ImportError:
        return {}
    game = pyspiel.load_game(contest.openspiel)
    name = f"{kind.capitalize()}Sampling"
    module: Any = import_module(f"open_spiel.python.algorithms.{kind}_sampling_mccfr")
    return {
        "C++": repeated(getattr(pyspiel, f"{name}MCCFRSolver")(game).run_iteration),
        "Python": repeated(getattr(module, f"{name}Solver")(game).iteration),
    }


@benchmark([*ROWS], quick=QUICK, page=CURVES)
def sampling(row: str, quick: bool) -> Figures:
    """How many histories external and outcome sampling visit in a second, next to OpenSpiel."""
    contest, kind = ROWS[row]
    run = started(contest, kind, seed=1).run(EQUAL)

    def visits() -> float:
        """Return how many histories an iteration visits, as the strategies are now."""
        first, iterations = visited(run), 5_000
        run.run(iterations)
        return (visited(run) - first) / iterations

    begun = visits()
    actions: dict[str, Action] = {"ours": run.run}
    if "C++" in (openspiel := open_spiel(contest, kind)):
        openspiel["C++"](EQUAL)
        actions["C++"] = openspiel["C++"]
    best = best_times(actions, 2 if quick else 15, CALL)
    speed = {"million/s": visits() / best["ours"] / 1e6}
    if "C++" in best:
        speed["OpenSpiel, million/s"] = begun / best["C++"] / 1e6
        speed["times"] = speed["million/s"] / speed["OpenSpiel, million/s"]
    return {"histories an iteration": begun, **speed}


@benchmark([*ROWS], quick=QUICK)
def sampling_without_tree(row: str, quick: bool) -> Figures:
    """How many histories ``Sampled`` visits in a second on OpenSpiel's states, next to OpenSpiel.

    Once two million histories have been visited. OpenSpiel's C++ has then played as many
    iterations; its Python begins anew, and walks all states in each of them.
    """
    contest, kind = ROWS[row]
    estimator: Any = ESTIMATORS[kind](np.random.default_rng(1))
    run = Sampled(rk.games.openspiel_history(contest.openspiel), rk.RegretMatching, estimator)
    while estimator.visited < (1e4 if quick else 2e6):
        run.run(100)
    openspiel = open_spiel(contest, kind)
    if "C++" not in openspiel:
        raise SystemExit("OpenSpiel is not installed, and is what this is measured against")
    openspiel["C++"](run.iteration)
    start = run.iteration, estimator.visited
    best = best_times({"ours": run.run, **openspiel}, 2 if quick else 15, CALL)
    visits = (estimator.visited - start[1]) / (run.iteration - start[0])
    return {
        "histories an iteration": visits,
        "million/s": visits / best["ours"] / 1e6,
        "times OpenSpiel's C++": best["C++"] / best["ours"],
        "times its Python": best["Python"] / best["ours"],
    }


BATCHES = {
    "Liar's dice, 2 dice, external": (2, "liars_dice(numdice=2)", 400),
    "Liar's dice, 1 die, external": (1, "liars_dice", 5_000),
}
"""Dice, the name in OpenSpiel, and the iterations of a turn."""
TOUCHED = 2**25
"""Numbers that are written to memory before a turn."""
PLAYED = 1_000
"""Iterations that both have played before they are timed."""


@benchmark([*BATCHES], quick=[*BATCHES][1:], page=CURVES)
def batches_without_tree(row: str, quick: bool) -> Figures:
    """How many histories ``Sampled`` visits in a second on a batch, next to OpenSpiel's C++.

    In machine code, after as many iterations of both, with regret matching; iterations visit as
    many histories in both on average, and are as many in each turn. Memory is touched before each
    turn, so that neither waits until the host of a virtual machine provides it.
    """
    dice, openspiel, turn = BATCHES[row]
    estimator = ExternalSampling(np.random.default_rng(1))
    run = Sampled(rk.games.LiarsDice(dice=dice), rk.RegretMatching, estimator)
    run.run(PLAYED)
    try:
        pyspiel: Any = import_module("pyspiel")
    except ImportError as error:
        raise SystemExit("OpenSpiel is not installed, and this is measured against it") from error
    solver = pyspiel.ExternalSamplingMCCFRSolver(pyspiel.load_game(openspiel))
    actions = {"ours": run.run, "C++": repeated(solver.run_iteration)}
    actions["C++"](PLAYED)
    begun, turns, seconds = estimator.visited, 2 if quick else 9, dict.fromkeys(actions, 0.0)
    for _ in range(turns):
        for title, action in actions.items():
            np.ones(TOUCHED)
            start = process_time()
            action(turn)
            seconds[title] += (process_time() - start) / (turn * turns)
    visits = (estimator.visited - begun) / (turn * turns)
    ours, theirs = seconds["ours"], seconds["C++"]
    return {
        "histories an iteration": visits,
        "million/s": visits / ours / 1e6,
        "OpenSpiel, million/s": visits / theirs / 1e6,
        "times": theirs / ours,
    }


# The gap against histories visited


def curve(name: str, game: str, quick: bool) -> tuple[list[float], list[float]]:
    """Return histories visited, and the exploitability there, as the median over seeds."""
    maximum = VISITS[game] * (1e-2 if quick else 1.0)
    found = []
    for seed in range(1 if quick or name == "full sweep" else 3):
        run, points = started(GAMES[game], name, seed), []
        for stop in np.geomspace(maximum / 1e3, maximum, 10):
            advance(run, stop)
            points.append((visited(run), rk.exploitability(run.game, run.average)))
        found.append(points)
    x_values, y_values = np.median(found, axis=0).T.tolist()
    return x_values, y_values


def advance(run: SelfPlay, stop: float) -> None:
    """Play until about this number of histories is visited."""
    run.run(1)
    while (left := stop - visited(run)) > 0.0:
        visits = visited(run) / run.iteration
        if left < visits:
            return
        run.run(max(1, int(0.9 * left / visits)))


def draw_gaps(found: Found) -> None:
    panels: dict[str, Curves] = {
        GAMES[game].title: {name: row["_curves"][game] for name, row in found.items()}
        for game in VISITS
    }
    harness.draw(harness.IMAGES / "sampling.svg", panels, "histories visited", "exploitability")


@benchmark([*ESTIMATORS], head="estimator", page=CURVES, plot=draw_gaps)
def sampling_gaps(name: str, quick: bool) -> Figures:
    """The exploitability that each estimator reaches, and after how many visited histories.

    Medians over three seeds. A full run draws curves.
    """
    curves = {game: curve(name, game, quick) for game in [*VISITS][: 2 if quick else None]}
    ends = {
        GAMES[game].title: f"{harness.number(y_values[-1])} at {x_values[-1]:.0e}"
        for game, (x_values, y_values) in curves.items()
    }
    return {**ends, "_curves": curves}
