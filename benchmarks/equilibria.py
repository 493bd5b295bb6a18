"""Time to an equilibrium: by linear programs, by ``finish``, and to a gap by runs."""

import math
import time
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any, TypeVar, cast

import numpy as np

import regretkit as rk
from benchmarks import harness
from benchmarks.harness import Figures, Found, benchmark, cpu_seconds, number
from benchmarks.runs import tree_game
from regretkit import evaluation
from regretkit.evaluation import best_extensive_form_correlated_equilibrium, solve_zero_sum
from regretkit.evaluation.correlated._programs import Concept
from regretkit.games import matrix_game
from regretkit.play import ALGORITHMS

EXACT = [
    *("kuhn_poker", "leduc_poker(merge_suits=True)", "leduc_poker", "dudo(sides=4)"),
    *("dudo(sides=5)", "dudo(sides=6)", "random 100 x 100", "random 300 x 300"),
]
LONG = 2.0
"""Actions that take more seconds are not repeated."""
Answer = TypeVar("Answer")


def best_time(action: Callable[[], Answer]) -> tuple[Answer, float]:
    """Return a result, and its processor seconds: the best of three, or of one if long."""
    times: list[float] = []
    while True:
        start = time.process_time()
        answer = action()
        times.append(time.process_time() - start)
        if len(times) == 3 or times[-1] > LONG:
            return answer, min(times)


@benchmark(EXACT, quick=EXACT[:3])
def exact(call: str, quick: bool) -> Figures:
    """Time and accuracy of linear programs for the values of zero-sum games.

    Columns are both players' sequences, the value for player 0, the gap between both bounds, and
    processor seconds: the best of three, or of one if long.
    """
    n = int(call.split()[1]) if call.startswith("random") else 0
    payoffs = np.random.default_rng(0).normal(size=(n, n))
    game = matrix_game(payoffs, name=call) if n else tree_game(call)
    solution, seconds = best_time(partial(solve_zero_sum, game))
    return {
        "sequences": " + ".join(str(domain.dimension) for domain in game.domains),
        "value": f"{solution.value:.15f}",
        "gap": f"{solution.gap:.0e}",
        "seconds": seconds,
    }


FINISHED = ("dcfr", "pdcfr+")
FINISHING = [
    *("kuhn_poker", "goofspiel(cards=4)", "goofspiel(cards=4, information='hidden')"),
    *("leduc_poker(merge_suits=True)", "leduc_poker", "liars_dice(sides=4)"),
    *("goofspiel(cards=5, information='hidden')", "liars_dice(sides=5)", "goofspiel(cards=5)"),
    *("liars_dice(sides=6)", "leduc_poker(ranks=13, merge_suits=True)", "oshi_zumo(coins=8)"),
]
PROGRAM = "linear program, ms"


@benchmark(FINISHING, quick=FINISHING[:1])
def finish(call: str, quick: bool) -> Figures:
    """Time of the linear program relative to a run with ``finish``, to 1e-12 of the payoffs.

    Medians of nine alternating turns (three, if quick or long), with compiled code on disk; 0 if
    the run takes more than five times as long. ``solve`` is the compiled
    ``solve(game, exact=True)``, which chooses the algorithm and merges symmetries first.
    """
    game = tree_game(call)
    times: dict[str, list[float]] = {name: [] for name in (PROGRAM, *FINISHED, "solve")}
    rounds = 4 if quick else 10
    while len(times[PROGRAM]) < rounds:
        began = time.perf_counter()
        times[PROGRAM].append(cpu_seconds(solve_zero_sum, game))
        took = time.perf_counter() - began
        rounds = 4 if took > LONG / 4 else rounds
        for name in (*FINISHED, "solve"):
            times[name].append(cpu_seconds(play_to_the_end, game, name, 5.0 * max(took, LONG / 4)))
            if OUT_OF_TIME:
                times[name][-1] = math.inf
    middle = {name: median(taken[1:]) for name, taken in times.items()}  # the first loads libraries
    ratios = {name: middle[PROGRAM] / middle[name] for name in times if name != PROGRAM}
    sequences = sum(domain.dimension for domain in game.domains)
    return {"sequences": sequences, PROGRAM: 1e3 * middle[PROGRAM], **ratios}


OUT_OF_TIME: list[str] = []
"""The method of the last solution, if it reached the time limit."""


def play_to_the_end(game: Any, name: str, limit: float) -> None:
    """Solve a game by a run and ``finish``."""
    if name == "solve":
        solution: Any = rk.solve(game, exact=True, engine="compiled", time_limit=limit)
    else:
        run = ALGORITHMS[name].start(game, engine="compiled")
        solution = evaluation.finish(run, time_limit=limit)
    OUT_OF_TIME[:] = [solution.method] if "out of" in solution.method else []


TREES = ("sheriff", "battleship(loss_multiplier=2)", "kuhn_poker(players=3)")
CONCEPTS = ("nfcce", "efcce", "efce")


@benchmark(
    [f"{concept} {call}" for call in TREES for concept in CONCEPTS],
    quick=[f"{concept} {TREES[0]}" for concept in CONCEPTS],
)
def correlated_trees(row: str, quick: bool) -> Figures:
    """Time of the best correlated equilibria of trees for player 0, with building.

    Other columns are the mediator's sequences, the largest gain of a deviation, and the dual gap.
    """
    concept, _, call = row.partition(" ")
    chosen = cast("Concept", concept)
    best = partial(best_extensive_form_correlated_equilibrium, tree_game(call), 0, concept=chosen)
    found, seconds = best_time(best)
    return {
        "sequences": f"{found.plan.weights.size:,}",
        "payoff": f"{found.value:.12f}",
        "gain": f"{found.gap:.0e}",
        "dual": f"{found.bound - found.value:.0e}",
        "seconds": seconds,
    }


# Time to a gap

GAPS = (1e-3, 1e-6, 1e-9)
RACED = (
    *("kuhn_poker", "goofspiel(cards=4, information='hidden')", "leduc_poker"),
    *("liars_dice(sides=4)", "liars_dice(sides=5)"),
)
RACERS = [n for n, a in ALGORITHMS.items() if a.sampling is None and a.circuit is rk.CFR]
LIMIT = 10.0
"""Seconds for each algorithm and game."""


def draw_gaps(found: Found) -> None:
    rows = {row.split(": ")[1]: figures for row, figures in found.items() if "leduc" in row}
    curves = {name: figures["_curve"] for name, figures in rows.items()}
    axes = "seconds", "NashConv of the average"
    harness.draw(harness.IMAGES / "time_to_gap.svg", {"Leduc poker": curves}, *axes)


@benchmark(
    [f"{call}: {name}" for call in RACED for name in [*RACERS, "linear program"]],
    quick=[f"{RACED[0]}: {name}" for name in ("cfr+", "linear program")],
    head="game: algorithm",
    plot=draw_gaps,
)
def time_to_gap(row: str, quick: bool) -> Figures:
    """Time to a gap of every form of CFR, compared with ``finish`` and a linear program.

    Processor seconds of compiled iterations until NashConv of the average (summed over players, in
    units of payoff) is at most 1e-3, 1e-6 and 1e-9; or the smallest gap within ten seconds, in
    parentheses. Gaps are measured at iterations that grow by 10 %; their time does not count.
    *finish* is the time from the start of a run until ``finish`` reaches 1e-9.
    """
    call, name = row.split(": ")
    game = tree_game(call)
    solve_zero_sum(rk.games.matching_pennies())  # loads the library
    answers: list[Any] = []
    if name == "linear program":
        seconds = cpu_seconds(lambda: answers.append(solve_zero_sum(game)))
        return {**reached([seconds], [answers[0].gap]), "_curve": ([seconds], [answers[0].gap])}
    algorithm = ALGORITHMS[name]
    algorithm.start(game, engine="compiled").run(1)  # loads machine code
    run = algorithm.start(game, engine="compiled").run(0)
    times, gaps, seconds = list[float](), list[float](), 0.0
    while seconds < (0.5 if quick else LIMIT) and min(gaps, default=1.0) > GAPS[-1]:
        # Enough iterations to hide the fixed cost of a call.
        more = max(10, run.iteration // 10, int(3e-4 * run.iteration / max(seconds, 3e-4)))
        seconds += cpu_seconds(run.run, more)
        times.append(seconds)
        gaps.append(float(rk.nash_conv(game, run.average)))
    tolerance = GAPS[-1] / float(np.ptp(game.tree.payoffs[:, 0]))
    other = algorithm.start(game, engine="compiled")
    ended = cpu_seconds(
        lambda: answers.append(evaluation.finish(other, tolerance=tolerance, time_limit=LIMIT))
    )
    return {
        **reached(times, gaps),
        "iterations": run.iteration,
        "us each": seconds / run.iteration * 1e6,
        "finish": f"{number(ended, 2)} s" if answers[0].gap <= GAPS[-1] else "",
        "_curve": (times, gaps),
    }


def reached(times: list[float], gaps: list[float]) -> Figures:
    """Return the time to each gap, or the smallest gap in parentheses."""
    found: Figures = {}
    for gap in GAPS:
        first = [seconds for seconds, each in zip(times, gaps, strict=True) if each <= gap]
        shown = f"{number(first[0], 2)} s" if first else f"({min(gaps):.0e})"
        found[f"gap {gap:.0e}"] = shown
    return found
