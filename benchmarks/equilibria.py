"""How long it takes to an equilibrium: exactly by linear programs, or to a gap by iterations."""

import functools
import math
import multiprocessing
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from statistics import median
from typing import Any, TypeVar, cast

import numpy as np
from attrs import define, field

import regretkit as rk
from benchmarks import harness
from benchmarks.harness import Figures, Found, benchmark, best_times, cpu_seconds, number, repeated
from benchmarks.peers import GAMES
from benchmarks.runs import tree_game
from regretkit import evaluation
from regretkit.evaluation import (
    ExactSolution,
    best_correlated_equilibrium,
    best_extensive_form_correlated_equilibrium,
    solve_zero_sum,
)
from regretkit.evaluation.correlated._programs import Concept
from regretkit.evaluation.exact._finish import Systems
from regretkit.games import ExtensiveFormGame, Game, NormalFormGame, load, matrix_game
from regretkit.games._extensive_form import merged_by_symmetry
from regretkit.play import ALGORITHMS, SelfPlay
from regretkit.play._solve import likely_first

LONG = 2.0
"""Seconds after which nothing is repeated."""
EXACT = [
    *("kuhn_poker", "leduc_poker(merge_suits=True)", "leduc_poker", "dudo(sides=4)"),
    *("dudo(sides=5)", "dudo(sides=6)", "leduc_poker(ranks=6)", "random 10 x 10"),
    *("random 100 x 100", "random 300 x 300"),
]

Answer = TypeVar("Answer")


def best_time(action: Callable[[], Answer]) -> tuple[Answer, float]:
    """Return an answer, and the best time of three to find it, or of one where it is long."""
    times: list[float] = []
    while True:
        start = time.perf_counter()
        answer = action()
        times.append(time.perf_counter() - start)
        if len(times) == 3 or times[-1] > LONG:
            return answer, min(times)


@benchmark(EXACT, quick=EXACT[:3])
def exact(call: str, quick: bool) -> Figures:
    """How long the values of zero-sum games take by linear programs, and how exact they are.

    The two players' sequences, the value to player 0, how far apart the proofs of both players are,
    and the best time of three (of one where it is long).
    """
    if call.startswith("random"):
        n = int(call.split()[1])
        game: object = matrix_game(np.random.default_rng(0).normal(size=(n, n)), name=call)
    else:
        game = load(call)
    if not isinstance(game, NormalFormGame | ExtensiveFormGame):
        raise TypeError(f"{call} has no linear program")
    solution, seconds = best_time(partial(solve_zero_sum, game))
    return {
        "sequences": " + ".join(str(domain.dimension) for domain in game.domains),
        "value": f"{solution.value:.15f}",
        "gap": f"{solution.gap:.0e}",
        "seconds": seconds,
    }


FINISHED = ("dcfr", "dcfr+", "pdcfr+")
DEFAULT = "solve"
FINISHING = [
    *("kuhn_poker", "goofspiel(cards=4)", "goofspiel(cards=4, information='hidden')"),
    *("leduc_poker(merge_suits=True)", "leduc_poker", "liars_dice(sides=4)"),
    *("goofspiel(cards=5, information='hidden')", "liars_dice(sides=5)", "goofspiel(cards=5)"),
    *("liars_dice(sides=6)", "leduc_poker(ranks=13, merge_suits=True)", "oshi_zumo(coins=8)"),
]
LONGEST = 5.0
"""How much longer than the linear program a run may take."""


def geometric_mean(found: Found) -> str:
    """Return the geometric means of the best ratios and of the default's."""
    best = [max(row[name] for name in (*FINISHED, DEFAULT)) for row in found.values()]
    both = {"the best": best, "what solve chooses": [row[DEFAULT] for row in found.values()]}
    means = [f"of {name} {np.exp(np.log(row).mean()):.2f}" for name, row in both.items()]
    return f"geometric means: {', '.join(means)}"


@benchmark(FINISHING, quick=FINISHING[:1], page=harness.PAGE, conclude=geometric_mean)
def finish(call: str, quick: bool) -> Figures:
    """How much longer the linear program takes than a run and ``finish``, to 1e-12 of the payoffs.

    Medians of nine (three, if quick or long), taken in turns, the compiled code on disk; 0 where
    the run takes more than five times as long. ``solve`` is ``solve(game, exact=True)`` with
    machine code asked for, which chooses the algorithm and merges symmetries first; and the
    iteration at which the run with the best ratio ended.
    """
    game: Any = load(call)
    program = "linear program, ms"
    times: dict[str, list[float]] = {name: [] for name in (program, *FINISHED, DEFAULT)}
    ended: dict[str, int] = {}
    while len(times[program]) < (4 if quick or times[program][-1:] > [1e3 * LONG / 4] else 10):
        began = time.perf_counter()
        times[program].append(cpu_seconds(partial(solve_zero_sum, game)) * 1e3)
        limit = LONGEST * max(time.perf_counter() - began, LONG / 4)
        for name in (*FINISHED, DEFAULT):
            play = partial(play_to_the_end, game, name, limit, ended)
            times[name].append(cpu_seconds(play) * (1e3 if name in ended else math.inf))
    middle = {name: median(taken[1:]) for name, taken in times.items()}  # the first loads libraries
    best = min(ended, key=lambda name: middle[name], default="")
    ratios = {name: middle[program] / middle[name] for name in times if name != program}
    return {program: middle[program], **ratios, "iterations": ended.get(best, 0)}


def play_to_the_end(game: Any, name: str, limit: float, ended: dict[str, int]) -> None:
    """Play and finish, and note the last iteration."""
    if name == DEFAULT:
        options: dict[str, Any] = {"exact": True, "engine": "compiled", "time_limit": limit}
        solution = rk.solve(game, **options)
    else:
        run = ALGORITHMS[name].start(game, engine="compiled")
        solution = evaluation.finish(run, time_limit=limit)
    ended.pop(name, None)
    if "out of" not in solution.method:
        ended[name] = int(solution.method.split()[2])


LADDER = [
    *("kuhn_poker", "kuhn_poker(deck=13)", "liars_dice(sides=3)"),
    *("goofspiel(cards=4, information='hidden')", "goofspiel(cards=4)", "leduc_poker"),
    *("leduc_poker(ranks=5)", "liars_dice(sides=4)", "oshi_zumo(coins=6)", "leduc_poker(ranks=9)"),
    *("goofspiel(cards=5, information='hidden')", "liars_dice(sides=5)", "goofspiel(cards=5)"),
]
"""Games of growing size."""
COMPILING = 10.0
"""Milliseconds added to a solution by machine code, to be worth compiling it once."""
WAYS: dict[str, Callable[[Any], ExactSolution]] = {
    "program": solve_zero_sum,
    "finish": lambda game: evaluation.finish(
        ALGORITHMS[likely_first(game)].start(game, engine="compiled")
    ),
}


def best_sizes(found: Found) -> str:
    """Return from which size on to finish, by ratios and by the time that it saves."""

    def best(gain: Callable[[Figures], float]) -> int:
        sizes: list[int] = [row["sequences"] for row in found.values()]
        gains = dict(zip(sizes, map(gain, found.values()), strict=True))
        return max(sizes, key=lambda n: sum(gains[size] for size in sizes if size >= n))

    first = best(lambda row: math.log(row["first, ratio"]))
    later = best(lambda row: math.log(row["later, ratio"]))
    worth = best(
        lambda row: math.log(row["later, program, ms"] / (row["later, finish, ms"] + COMPILING))
    )
    return (
        f"sequences from which on to finish: {first:,} by the ratios of first solutions, {later:,} "
        f"of later ones, and {worth:,} with {COMPILING:g} ms more for each, since compiling takes "
        "seconds once a machine"
    )


def times_of(call: str, way: str, count: int) -> list[float]:
    """Return how many milliseconds some solutions of a game take, one after the other."""
    game = merged(call)
    return [1e3 * cpu_seconds(WAYS[way], game) for _ in range(count)]


def merged(call: str) -> ExtensiveFormGame:
    """Return a game as ``solve(game, exact=True)`` solves it."""
    game = tree_game(call)
    return merged_by_symmetry(game) or game


@benchmark(LADDER, quick=LADDER[:2], conclude=best_sizes)
def exact_choice(call: str, quick: bool) -> Figures:
    """From which number of sequences on ``finish`` is faster than the linear program.

    Symmetries are merged first, as ``solve(game, exact=True)`` does. Milliseconds of the processor,
    medians of three processes: for the first solution of a process, which loads libraries and
    machine code from the disk, and for the fourth. Above a ratio of one, ``finish`` is faster.
    """
    times: dict[str, list[list[float]]] = {way: [] for way in WAYS}
    for way in [*WAYS] * (2 if quick else 4):
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            times[way].append(pool.apply(times_of, (call, way, 4)))
    figures: Figures = {"sequences": sum(domain.dimension for domain in merged(call).domains)}
    for when, place in ("first", 0), ("later", 3):  # in the first process, code may be compiled
        program, finish = (median(taken[place] for taken in times[way][1:]) for way in WAYS)
        columns = {"program, ms": program, "finish, ms": finish, "ratio": program / finish}
        figures |= {f"{when}, {name}": value for name, value in columns.items()}
    return figures


LOOKS = {"leduc_poker": (2_000, 300), "liars_dice(sides=5)": (300, 100)}
"""Iterations before a look, and the number of iterations in whose time it should be done."""


def long_looks(found: Found) -> str:
    """Return which looks take longer, in words."""
    missed = [row for row in found if found[row]["ratio"] > LOOKS[row][1]]
    limits = ", ".join(f"{row} {maximum}" for row, (_, maximum) in LOOKS.items())
    told = f"above: {', '.join(missed)}" if missed else "none is above"
    return f"Iterations in the time of a look, at most: {limits}; {told}."


@benchmark([*LOOKS], quick=["leduc_poker"], conclude=long_looks)
def look(call: str, quick: bool) -> Figures:
    """How long ``finish`` takes to look once, next to an iteration of DCFR in machine code.

    A look takes the likely supports of the average, solves the systems of both players there, and
    bounds what it finds by best responses.
    """
    before, _ = LOOKS.get(call, (50, 0))
    run = ALGORITHMS["dcfr"].start(tree_game(call), engine="compiled").run(before)
    systems, profile = Systems.of(run.game), run.average

    def once() -> None:
        average = systems.bounded(*profile)
        systems.look(systems.likely_supports(average), average)

    best = best_times({"look": repeated(once), "iteration": run.run}, 2 if quick else 10)
    figures: Figures = {f"{name}, ms": 1e3 * seconds for name, seconds in best.items()}
    return {**figures, "ratio": best["look"] / best["iteration"]}


KINDS: dict[str, Callable[..., Any]] = {
    "CE": best_correlated_equilibrium,
    "CCE": functools.partial(best_correlated_equilibrium, coarse=True),
}


@benchmark([f"{kind} {n}" for n in (5, 10, 20, 40) for kind in KINDS], quick=["CE 5", "CCE 5"])
def correlated(row: str, quick: bool) -> Figures:
    """How long the largest welfare in (coarse) correlated equilibria of random games takes.

    In games of two players with n actions each; with what is left to gain, and what the dual leaves
    open.
    """
    kind, n = row.split()
    game = NormalFormGame(np.random.default_rng(int(n)).normal(size=(2, int(n), int(n))))
    found, seconds = best_time(partial(KINDS[kind], game))
    return {
        "welfare": f"{found.value:.15f}",
        "gain": f"{found.gap:.0e}",
        "dual": f"{found.bound - found.value:.0e}",
        "seconds": seconds,
    }


TREES = [
    *("sheriff", "goofspiel(cards=3, players=3, returns='total_points')"),
    *("battleship(loss_multiplier=2)", "kuhn_poker(players=3)"),
]


CONCEPTS = "nfcce", "efcce", "efce"
SECONDS = {"efce sheriff": 0.7, "efce kuhn_poker(players=3)": 30.0}
"""How long some of them should take at most."""


def slow(found: Found) -> str:
    """Return which of them take longer, in words."""
    took = {row: found[row]["seconds"] for row in SECONDS if row in found}
    missed = [f"{row} ({took[row]:.2g} s)" for row in took if took[row] > SECONDS[row]]
    limits = ", ".join(f"{row} at most {seconds:g} s" for row, seconds in SECONDS.items())
    return f"{limits}; {f'above: {missed}' if missed else 'none takes longer'}."


@benchmark(
    [f"{concept} {call}" for call in TREES for concept in CONCEPTS],
    quick=[f"{concept} {TREES[0]}" for concept in CONCEPTS],
    conclude=slow,
)
def correlated_trees(row: str, quick: bool) -> Figures:
    """How long the best correlated equilibria of trees for player 0 take, with building.

    With the sequences of the mediator, what is left to gain, and what the dual leaves open.
    """
    concept, _, call = row.partition(" ")
    game = tree_game(call)
    chosen = cast("Concept", concept)
    best = partial(best_extensive_form_correlated_equilibrium, game, 0, concept=chosen)
    found, seconds = best_time(best)
    return {
        "sequences": f"{found.plan.weights.size:,}",
        "payoff": f"{found.value:.12f}",
        "gain": f"{found.gap:.0e}",
        "dual": f"{found.bound - found.value:.0e}",
        "seconds": seconds,
    }


# Time to a gap

TITLES = {
    GAMES[name].call: GAMES[name].title
    for name in ("kuhn", "goofspiel4", "leduc", "liars4", "liars5")
}
GAPS = (1e-3, 1e-6, 1e-9)
LIMIT = 10.0
"""Seconds for each algorithm and game."""
RATIO = 1.1
"""The gap is measured at iterations that grow by this."""
SHORTEST = 3e-4
"""Seconds below which a call of ``run`` would be a large part of what is measured."""
FIRST = 10
"""Iterations before the gap is measured for the first time."""


@define
class Race:
    """One algorithm on its way."""

    run: SelfPlay
    seconds: float = 0.0
    times: list[float] = field(factory=list)
    gaps: list[float] = field(factory=list)

    def go_on(self) -> None:
        """Play a little more, and measure the gap."""
        more = FIRST
        if self.run.iteration:
            pace = self.seconds / self.run.iteration
            more = max(math.ceil(self.run.iteration * (RATIO - 1.0)), int(SHORTEST / pace))
        self.seconds += cpu_seconds(self.run.run, more)
        self.times.append(self.seconds)
        self.gaps.append(float(rk.nash_conv(self.run.game, self.run.average)))

    def is_over(self, limit: float) -> bool:
        """Say whether there is nothing more to find out."""
        return self.seconds >= limit or min(self.gaps, default=1.0) <= min(GAPS)

    def reached(self, gap: float) -> str:
        """Return when a gap was reached, or the smallest so far."""
        for seconds, found in zip(self.times, self.gaps, strict=True):
            if found <= gap:
                return f"{number(seconds, 2)} s"
        return f"({min(self.gaps):.0e})"


def started(name: str, game: Game) -> Race:
    """Return a race of an algorithm by name, with its machine code loaded."""
    algorithm = ALGORITHMS[name]
    try:
        algorithm.start(game, engine="compiled").run(1)
        return Race(algorithm.start(game, engine="compiled").run(0))
    except ValueError:  # its rule has no kernel
        return Race(algorithm.start(game).run(0))


def raced(game: rk.ExtensiveFormGame, limit: float) -> Mapping[str, Race]:
    """Run all algorithms in turns, until each is there or out of time."""
    races = {
        name: started(name, game)
        for name, algorithm in ALGORITHMS.items()
        if algorithm.sampling is None and algorithm.circuit is rk.CFR
    }
    while going := [race for race in races.values() if not race.is_over(limit)]:
        # The race with the least time so far, so that disturbances are shared equally.
        min(going, key=lambda race: race.seconds).go_on()
    return races


FINISHERS = ("dcfr", "pdcfr+")


def finished(name: str, game: rk.ExtensiveFormGame) -> Race:
    """Return when runs of an algorithm, each from its start, are finished to each gap."""
    race, width = started(name, game), float(np.ptp(game.tree.payoffs[:, 0]))
    for gap in GAPS:
        answers: list[ExactSolution] = []
        runs = [started(name, game).run for _ in range(3)]
        times = [cpu_seconds(finish_to, run, gap / width, answers) for run in runs]
        race.run, race.seconds = runs[-1], median(times)
        race.times.append(race.seconds)
        race.gaps.append(max(answer.gap for answer in answers))
    return race


def finish_to(run: SelfPlay, tolerance: float, answers: list[ExactSolution]) -> None:
    """Finish a run, and keep the answer."""
    answers.append(evaluation.finish(run, tolerance=tolerance))


def solved(game: rk.ExtensiveFormGame) -> tuple[float, float]:
    """Return how long the linear program takes, and the gap of its answer."""
    answers: list[ExactSolution] = []
    solve_zero_sum(rk.games.kuhn_poker())  # loads the library
    return cpu_seconds(lambda: answers.append(solve_zero_sum(game))), answers[0].gap


def page(
    title: str,
    races: Mapping[str, Race],
    ends: Mapping[str, Race],
    program: tuple[float, float],
) -> str:
    """Return the table of one game."""
    seconds, exact = program
    header = [title, *(f"gap {gap:.0e}" for gap in GAPS), "iterations", "microseconds each"]
    rows = []
    for name, race in races.items():
        times = [race.reached(gap) for gap in GAPS]
        micro = race.seconds / race.run.iteration * 1e6
        rows.append([f"`{name}`", *times, f"{race.run.iteration:,}", number(micro)])
    for name, race in ends.items():
        times = [race.reached(gap) for gap in GAPS]
        rows.append([f"`{name}`, then `finish`", *times, f"{race.run.iteration:,}", ""])
    took = [f"{number(seconds, 2)} s" if exact <= gap else f"({exact:.0e})" for gap in GAPS]
    rows.append([f"linear program, to {exact:.0e}", *took, "", ""])
    return harness.table(header, rows)


def time_to_gap(arguments: Sequence[str]) -> None:
    """How long every form of CFR takes to a gap, next to ``finish`` and a linear program.

    Seconds of processor time that the iterations take, in the compiled way where a rule has a
    kernel, until NashConv of the average (the sum over players, in units of payoff) is at most
    1e-3, 1e-6 and 1e-9; where time runs out before, the smallest gap that was measured. Measuring
    the gap is not counted. The algorithms take turns, so that what else a machine does meets all of
    them. Next to them, the median time of three runs until ``finish`` ends at each gap, all that it
    does counted; and the time that HiGHS takes for the linear program over sequence forms, and how
    exact its answer is. A full run draws the figure of docs/.
    """
    harness.pin()
    quick = "--quick" in arguments
    asked = [argument for argument in arguments if argument != "--quick"]
    for call in asked or list(TITLES)[: 3 if quick else None]:
        game = tree_game(call)
        races, program = raced(game, 0.5 if quick else LIMIT), solved(game)
        ends = {name: finished(name, game) for name in FINISHERS}
        print(f"{page(TITLES.get(call, call), races, ends, program)}\n", flush=True)
        if call == "leduc_poker" and not (quick or asked):
            both = {**races, **{f"{name}, finish": race for name, race in ends.items()}}
            curves = {name: (race.times, race.gaps) for name, race in both.items()}
            curves["linear program"] = [program[0]], [program[1]]
            title = "Leduc poker, by every algorithm"
            axes = "seconds", "NashConv of the average"
            harness.draw(harness.IMAGES / "time_to_gap.svg", {title: curves}, *axes)
