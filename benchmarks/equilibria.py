"""How long it takes to an equilibrium: by linear programs, by ``finish``, or to a gap."""

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
"""Seconds after which nothing is repeated."""
Answer = TypeVar("Answer")


def best_time(action: Callable[[], Answer]) -> tuple[Answer, float]:
    """Return an answer, and the best processor time of three to find it, or of one."""
    times: list[float] = []
    while True:
        start = time.process_time()
        answer = action()
        times.append(time.process_time() - start)
        if len(times) == 3 or times[-1] > LONG:
            return answer, min(times)


@benchmark(EXACT, quick=EXACT[:3])
def exact(call: str, quick: bool) -> Figures:
    """How long the values of zero-sum games take by linear programs, and how exact they are.

    The two players' sequences, the value to player 0, the difference between the proofs of both
    players, and the best time of three (of one where it is long).
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
    """How much longer the linear program takes than a run and ``finish``, to 1e-12 of the payoffs.

    Medians of nine (three, if quick or long), taken in turns, with machine code on disk; 0 where
    the run takes more than five times as long. ``solve`` is ``solve(game, exact=True)`` with
    machine code asked for, which chooses the algorithm and merges symmetries first.
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
"""The method of the last solution, if it ran out of time."""


def play_to_the_end(game: Any, name: str, limit: float) -> None:
    """Play and finish."""
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
    """How long the best correlated equilibria of trees for player 0 take, with building.

    With the mediator's sequences, the largest gain of a deviation, and the gap to the dual.
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
    """How long every form of CFR takes to a gap, next to ``finish`` and a linear program.

    Seconds of processor time that compiled iterations take until NashConv of the average (the sum
    over players, in units of payoff) is at most 1e-3, 1e-6 and 1e-9; in parentheses, the smallest
    gap within ten seconds. The gap is measured at iterations that grow by a tenth, and measuring is
    not counted. *Finish* is the time of a run from its start until ``finish`` ends at 1e-9.
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
        # A call costs once what some iterations of small games cost.
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
    """Return when each gap was reached, or the smallest one in parentheses."""
    found: Figures = {}
    for gap in GAPS:
        first = [seconds for seconds, each in zip(times, gaps, strict=True) if each <= gap]
        shown = f"{number(first[0], 2)} s" if first else f"({min(gaps):.0e})"
        found[f"gap {gap:.0e}"] = shown
    return found
