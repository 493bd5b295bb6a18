"""Sampled CFR: histories a second beside OpenSpiel's C++, and the gap against histories visited.

Times are the processor's, the best of several turns. How many histories OpenSpiel visits is not
said by it; both libraries follow every own action and draw one of all others, and so visit as many
in an iteration after equally many. OpenSpiel hardly gets further while it is timed, so what ours
visits at the beginning counts for it, and what ours visits in the end, for ours. Without a tree,
the game is OpenSpiel's own, and so is the solver in Python that stands beside. The curves are
medians over seeds. A full run writes tables and curves into docs/.

    $ python -m benchmarks sampling
    $ python -m benchmarks sampling --speed
    $ python -m benchmarks sampling --quick
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

import regretkit as rk
from benchmarks.machine import best_times, pin
from benchmarks.pages import IMAGES, PAGE, number, put, table
from benchmarks.runs import tree_game
from regretkit.play import (
    AverageStrategySampling,
    ChanceSampling,
    Estimator,
    ExactUtility,
    ExternalSampling,
    LazyMCCFR,
    LearnedBaseline,
    OutcomeSampling,
    RobustSampling,
    SelfPlay,
)

CURVES = PAGE.parent / "sampling.md"
SEEDS = range(3)
EQUAL = 20_000
"""Iterations that both have played before they are timed."""
CALL = 0.2
"""Seconds that a solver is asked to run: what a call of ours costs once is part of it."""
Make = Callable[[np.random.Generator], Estimator]
ESTIMATORS: Mapping[str, Make] = {
    "full sweep": lambda generator: ExactUtility(),
    "chance": ChanceSampling,
    "external": ExternalSampling,
    "average strategy": AverageStrategySampling,
    "robust, 2 actions": lambda generator: RobustSampling(generator, actions=2),
    "outcome": OutcomeSampling,
    "outcome, learned baseline": lambda generator: OutcomeSampling(
        generator, baseline=LearnedBaseline(rate=0.1)
    ),
}
IN_PYTHON = {"chance"}
"""Estimators that machine code does not know."""


class Place(NamedTuple):
    """A game, what OpenSpiel calls it, and how many histories to visit in it."""

    title: str
    ours: str
    theirs: str
    visits: float
    in_python: float


GAMES = [
    Place("Kuhn poker", "kuhn_poker", "kuhn_poker", 1e7, 3e5),
    Place("Leduc poker", "leduc_poker", "leduc_poker", 3e7, 1e7),
    Place("Liar's dice", "liars_dice", "liars_dice", 1e8, 1e7),
    Place(
        "Goofspiel, 4 cards",
        "goofspiel(cards=4, information='hidden')",
        "turn_based_simultaneous_game(game="
        "goofspiel(imp_info=true,num_cards=4,points_order=descending))",
        1e7,
        1e7,
    ),
]


def started(game: rk.ExtensiveFormGame, estimator: Estimator, engine: str = "compiled") -> SelfPlay:
    players = [rk.CFR(tree, rk.RegretMatching) for tree in game.domains]
    return SelfPlay(game, players, estimator=estimator, engine=engine)


def visited(run: SelfPlay) -> int:
    """Return how many histories a run has visited."""
    if isinstance(run.estimator, ExactUtility) and isinstance(run.game, rk.ExtensiveFormGame):
        return run.iteration * run.players * run.game.tree.histories
    return int(getattr(run.estimator, "visited", 0))


# Histories a second


def solvers(theirs: str) -> dict[str, Any]:
    """Return OpenSpiel's solvers, none where it is not installed."""
    try:
        import pyspiel  # type: ignore[import-not-found]
    except ImportError:
        print("without OpenSpiel, which cannot be imported")
        return {}
    game = pyspiel.load_game(theirs)
    return {
        "external": pyspiel.ExternalSamplingMCCFRSolver(game),
        "outcome": pyspiel.OutcomeSamplingMCCFRSolver(game),
    }


def repeated(iteration: Callable[[], object]) -> Callable[[int], None]:
    def iterate(times: int) -> None:
        for _ in range(times):
            iteration()

    return iterate


def visits_in(run: SelfPlay) -> float:
    """Return how many histories an iteration visits, as the strategies are now."""
    before, iterations = visited(run), 5_000
    run.run(iterations)
    return (visited(run) - before) / iterations


def rates(place: Place, turns: int) -> list[list[str]]:
    """Return a row for each of two ways to sample."""
    game, rows = tree_game(place.ours), []
    others = solvers(place.theirs)
    for name in ("external", "outcome"):
        run = started(game, ESTIMATORS[name](np.random.default_rng(1))).run(EQUAL)
        begun = visits_in(run)
        actions: dict[str, Callable[[int], object]] = {"ours": run.run}
        if name in others:
            repeated(others[name].run_iteration)(EQUAL)
            actions["theirs"] = repeated(others[name].run_iteration)
        best = best_times(actions, turns, CALL)
        ours = visits_in(run) / best["ours"] / 1e6
        theirs = begun / best.get("theirs", float("nan")) / 1e6
        figures = [begun, ours, theirs, ours / theirs]
        rows.append([f"{place.title}, {name}", *map(number, figures)])
    return rows


# Without a tree


def in_python(theirs: str) -> dict[str, Any]:
    """Return OpenSpiel's solvers in Python."""
    import pyspiel
    from open_spiel.python.algorithms import (  # type: ignore[import-untyped]
        external_sampling_mccfr,
        outcome_sampling_mccfr,
    )

    game = pyspiel.load_game(theirs)
    return {
        "external": external_sampling_mccfr.ExternalSamplingSolver(game),
        "outcome": outcome_sampling_mccfr.OutcomeSamplingSolver(game),
    }


def without_a_tree(place: Place, turns: int, before: float) -> list[list[str]]:
    """Return a row for each of two ways to sample, once ``before`` histories have been visited.

    OpenSpiel's C++ has then played as many iterations; its Python begins anew, and walks all states
    in each of them.
    """
    others, rows = solvers(place.theirs), []
    for name, solver in others.items():
        estimator = ESTIMATORS[name](np.random.default_rng(1))
        history = rk.games.openspiel_history(place.theirs)
        run = LazyMCCFR(history, rk.RegretMatching, estimator)  # type: ignore[arg-type]
        while estimator.visited < before:  # type: ignore[attr-defined]
            run.run(100)
        repeated(solver.run_iteration)(run.iteration)
        python = in_python(place.theirs)[name]
        actions: dict[str, Callable[[int], object]] = {
            "ours": run.run,
            "C++": repeated(solver.run_iteration),
            "Python": repeated(python.iteration),
        }
        start = run.iteration, estimator.visited  # type: ignore[attr-defined]
        best = best_times(actions, turns, CALL)
        visits = (estimator.visited - start[1]) / (run.iteration - start[0])  # type: ignore[attr-defined]
        speed = number(visits / best["ours"] / 1e6)
        ratios = [number(best[other] / best["ours"]) for other in ("C++", "Python")]
        rows.append([f"{place.title}, {name}", number(visits), speed, *ratios])
    return rows


# The gap against histories visited


Curve = tuple[list[float], list[float]]


def curve(place: Place, name: str, seeds: Sequence[int], share: float) -> Curve:
    """Return histories visited, and the exploitability there, as the median over seeds."""
    game = tree_game(place.ours)
    slow = name in IN_PYTHON
    most = share * (place.in_python if slow else place.visits)
    stops = np.geomspace(most / 1e3, most, 10)
    found = []
    for seed in [0] if name == "full sweep" else seeds:
        estimator = ESTIMATORS[name](np.random.default_rng(seed))
        run, points = started(game, estimator, _engine(name)), []
        for stop in stops:
            advance(run, stop)
            points.append((visited(run), rk.exploitability(game, run.average)))
        found.append(points)
    across, up = np.median(found, axis=0).T
    return across.tolist(), up.tolist()


def _engine(name: str) -> str:
    return "numpy" if name in IN_PYTHON else "compiled"


def advance(run: SelfPlay, stop: float) -> None:
    """Play until about this number of histories is visited."""
    run.run(1)
    while (left := stop - visited(run)) > 0.0:
        each = visited(run) / run.iteration
        if left < each:
            return
        run.run(max(1, int(0.9 * left / each)))


def draw(found: Mapping[str, Mapping[str, Curve]]) -> None:
    """Draw the curves of each game."""
    try:
        import matplotlib as mpl
        import matplotlib.pyplot as plt
    except ImportError:
        print("no sampling.svg: it needs matplotlib (pip install 'regretkit[plot]')")
        return
    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "regretkit"
    figure, panels = plt.subplots(2, 2, figsize=(9.0, 7.5))
    for axes, (title, curves) in zip(panels.flat, found.items(), strict=False):
        for name, (across, up) in curves.items():
            axes.loglog(across, up, marker="o", markersize=3, label=name)
        axes.set(title=title, xlabel="histories visited", ylabel="exploitability")
    panels.flat[0].legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(IMAGES / "sampling.svg", metadata={"Date": None})
    plt.close(figure)


def summary(found: Mapping[str, Mapping[str, Curve]]) -> str:
    """Return a table of what was reached in the end."""
    rows = []
    for name in ESTIMATORS:
        ends = [curves[name] for curves in found.values()]
        rows.append([name, *(f"{number(up[-1])} at {across[-1]:.0e}" for across, up in ends)])
    return table(["estimator", *found], rows)


RATES = ["game", "histories an iteration", "million/s", "OpenSpiel, million/s", "times"]
FREE = ["game", "histories an iteration", "million/s", "times OpenSpiel's C++", "times its Python"]


def main(arguments: Sequence[str]) -> None:
    pin()
    quick = "--quick" in arguments
    places, turns = (GAMES[:2], 2) if quick else (GAMES, 15)
    speeds = table(RATES, [row for place in places for row in rates(place, turns)])
    print(speeds, flush=True)
    warm = 1e4 if quick else 2e6
    free = table(FREE, [row for place in places for row in without_a_tree(place, turns, warm)])
    print(free, flush=True)
    if not quick:
        put(CURVES, "rates", speeds)
        put(CURVES, "free", free)
    if "--speed" not in arguments:
        gaps(places, quick)


def gaps(places: Sequence[Place], quick: bool) -> None:
    """Follow the gap of all estimators."""
    found: dict[str, dict[str, Curve]] = {}
    for place in places:
        seeds, share = ([0], 1e-2) if quick else (SEEDS, 1.0)
        found[place.title] = {name: curve(place, name, seeds, share) for name in ESTIMATORS}
    print(summary(found))
    if not quick:
        put(CURVES, "reached", summary(found))
        draw(found)


if __name__ == "__main__":
    main(sys.argv[1:])
