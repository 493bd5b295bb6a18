"""Iterations of CFR+ in each engine: their time, that of each pass, and the cost of runs."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any, TypeAlias, cast

import numpy as np
from attrs import define, field

import regretkit as rk
from benchmarks import harness
from benchmarks.games import held
from benchmarks.harness import Action, Figures, Found, benchmark, best_times, number, repeated
from benchmarks.peers import GAMES
from benchmarks.runs import RegretMatchingPlus, cfr_run, tree_game
from regretkit._compiler import lanes
from regretkit.engine._players import parameters_for
from regretkit.engine.kernels._iteration import update_range
from regretkit.engine.kernels._payoffs import compute_utility
from regretkit.engine.kernels._walks import at_points, backward, forward, value_of
from regretkit.play import Checkpoint, Linear, Sampled, SelfPlay, named
from regretkit.sets import DecisionTree

CONTESTS = {contest.title: contest for contest in GAMES.values()}
QUICK = [GAMES[name].title for name in ("kuhn", "leduc")]

# Whole iterations

Kind: TypeAlias = Callable[..., rk.RegretMinimizer]
ENGINES: dict[str, tuple[Kind, Kind, str]] = {
    "objects": (rk.circuit, rk.RegretMatchingPlus, "numpy"),
    "numpy": (rk.CFR, rk.RegretMatchingPlus, "numpy"),
    "compiled": (rk.CFR, rk.RegretMatchingPlus, "compiled"),
    "own rule": (rk.CFR, RegretMatchingPlus, "compiled"),
}
MOST = 6_000
"""Information sets up to which there is time for an object for each."""


@benchmark([*CONTESTS], quick=QUICK, page=harness.PAGE)
def engines(title: str, quick: bool) -> Figures:
    """One iteration of CFR+ in each engine, and with an object for each information set.

    Microseconds of processor time per iteration, in which both players learn once, the best of
    several turns: one object for each information set (``circuit``), the flat ``CFR`` in NumPy, and
    whole iterations in machine code: of the library's RM+, and of RM+ as one would write it (own
    rule). A turn takes half a second, so that what a call of ``run`` costs once hardly counts.
    """
    game, runs = tree_game(CONTESTS[title].call), {}
    for name, (make, rule, engine) in ENGINES.items():
        if name != "objects" or sum(tree.points for tree in game.domains) <= MOST:
            players = [make(tree, rule) for tree in game.domains]
            runs[name] = SelfPlay(game, players, averaging=Linear(), engine=engine).run
    best = best_times(runs, 3) if quick else best_times(runs, 8, length=0.5)
    return {name: best[name] * 1e6 if name in best else "" for name in ENGINES}


FLAT = 2.0
"""How far apart the costs of a terminal may be."""


def flatness(found: Found) -> str:
    costs = [row["ns a terminal"] for row in found.values() if "ns a terminal" in row]
    factor = max(costs, default=1.0) / min(costs, default=1.0)
    reached = "within" if factor <= FLAT else "**not within**"
    return (
        "From the cheapest to the dearest, the cost of a terminal differs by a factor of "
        f"{factor:.2f}: {reached} the factor of {FLAT:g} that is the target."
    )


def draw_size(found: Found) -> None:
    rows = [row for row in found.values() if "ns a terminal" in row]
    curve = [row["terminals"] for row in rows], [row["ns a terminal"] for row in rows]
    axes = "terminals of the game", "nanoseconds a terminal in each iteration"
    title = "Liar's dice, 3 sides and more"
    harness.draw(harness.IMAGES / "size.svg", {title: {"CFR+, compiled": curve}}, *axes)


@benchmark(
    [str(sides) for sides in range(3, 10)],
    quick=[str(sides) for sides in range(3, 7)],
    head="sides",
    fresh=True,
    rounds=3,
    conclude=flatness,
    page=harness.PAGE,
    plot=draw_size,
)
def size(sides: str, quick: bool) -> Figures:
    """What an iteration costs on games of growing size: Liar's dice with three sides and more.

    Nanoseconds of processor time for each terminal of the game in one compiled iteration of CFR+,
    in which both players learn once; the best of several calls of a second, so that what a call
    costs once hardly counts. The games take turns as well, so that what else a machine does meets
    all of them. With it, seconds to build the game and its arrays, and the most memory that the
    process held.
    """
    import llvmlite.binding  # noqa: F401 - to import it is no part of building

    start = time.process_time()
    try:
        game = tree_game(f"liars_dice(sides={sides})")
        run = cfr_run(game)
    except MemoryError:
        return {"terminals": "too large for the memory"}
    built, terminals = time.process_time() - start, int(game.tree.terminals.size)
    iteration = best_times({"": run.run}, turns=5, length=1.0)[""]
    return {
        "terminals": terminals,
        "ns a terminal": iteration / terminals * 1e9,
        "an iteration, ms": iteration * 1e3,
        "building, s": built,
        "peak memory, MiB": harness.peak(),
    }


# Passes of iterations

PASSES = ("payoffs", "backward", "rule", "forward and average")


def set_values(r: int, player: int, given: tuple[()], arrays: Any) -> None:
    """Set the value of each point of a range, and learn nothing."""
    at_points(r, set_value, arrays.payoffs.negligible[player], arrays)


def set_value(
    point: int, first: int, n: int, stride: int, wide: int, negligible: float, arrays: Any
) -> None:
    iterates = arrays.iterates
    utility = lanes(iterates.utility, first, stride, wide)
    played = lanes(iterates.behavior, first, stride, wide)
    lanes(iterates.values, point, 1, wide)[0] = value_of(n, negligible, utility, played)


def go(upto: int, numbers: Any, arrays: Any, times: int) -> None:
    """Do the first pass of an iteration so often, or the first two, or three."""
    for _ in range(times):
        for player in range(2):
            compute_utility(player, arrays.payoffs, arrays.trees, arrays.iterates)
            if upto == 1:
                backward(player, set_values, (), arrays)
            if upto > 1:
                backward(player, update_range, (0, numbers), arrays)
            if upto > 2:
                forward(player, 1.0, 1.0, arrays.trees, arrays.iterates)


def prefixes(run: SelfPlay) -> Sequence[Action]:
    """Return machine code that does the first pass of an iteration so often, the first two, ..."""
    from regretkit._machine_code import MachineCode

    executor = run._executor
    arrays = vars(executor)["_arrays"]
    numbers = np.concatenate(
        parameters_for(vars(executor)["_players"], np.full((1, 1), -1)), axis=1
    )
    compiled = MachineCode(go)
    return [partial(compiled, upto, numbers, arrays) for upto in range(len(PASSES))]


def differences(upto: Sequence[float]) -> list[float]:
    """Return the time of each pass, from that of all passes up to it; noise takes no time."""
    times: list[float] = np.maximum(np.diff(upto, prepend=0.0), 0.0).tolist()
    return times


def micro(seconds: float, whole: float) -> str:
    return f"{number(seconds * 1e6)} ({seconds / whole:.0%})"


@benchmark([*CONTESTS], quick=QUICK)
def passes(title: str, quick: bool) -> Figures:
    """Where the time of a compiled iteration goes, pass by pass.

    CFR+: microseconds for payoffs, for the backward pass of each tree, for the rule, and for the
    forward pass with the average. Each is what an iteration takes with it less what it takes
    without it. All take turns, and the best counts.
    """
    run = cfr_run(tree_game(CONTESTS[title].call)).run(100)
    actions = {"whole": run.run, **dict(zip(PASSES, prefixes(run), strict=True))}
    best = best_times(actions, 5 if quick else 40)
    taken = differences([best[name] for name in PASSES])
    shares = [micro(seconds, sum(taken)) for seconds in taken]
    return {"whole": best["whole"] * 1e6, **dict(zip(PASSES, shares, strict=True))}


# Payoffs and memory


def laid_out(run: SelfPlay) -> int:
    """Return how many bytes a compiled run has laid out for machine code."""
    return held(vars(run._executor)["_arrays"])


def adder() -> Callable[[np.ndarray[Any, Any], int], float]:
    """Return machine code that adds up an array repeatedly, in any order."""
    import numba  # pyright: ignore[reportMissingImports] - only the extra bench has it

    def add(numbers: np.ndarray[Any, Any], times: int) -> float:
        total = 0.0
        for i in range(times):
            numbers[0] = i  # or the compiler would do it once
            for j in range(numbers.size):
                total += numbers[j]
        return total

    compiled: Callable[[np.ndarray[Any, Any], int], float] = numba.njit(
        fastmath={"reassoc", "contract", "nsz"}, error_model="numpy"
    )(add)
    compiled(np.ones(2), 1)
    return compiled


@benchmark(["liars_dice(sides=6)"], fresh=True)
def stream(call: str, quick: bool) -> Figures:
    """What a payoff costs, next to what reading memory costs at least.

    One compiled iteration of CFR+, in nanoseconds for each player and each terminal of the game,
    beside machine code that does nothing but add up an array: one with as many bytes as all arrays
    that the iteration goes through, and one as large as the payoffs would be if each were stored
    with the number of its column, twelve bytes for each player and terminal. They take turns, and
    the best counts.
    """
    game = tree_game(call)
    run, add = cfr_run(game).run(100), adder()
    entries = game.players * game.tree.terminals.size
    laid, stored = np.ones(laid_out(run) // 8), np.ones(12 * entries // 8)
    actions: dict[str, Action] = {
        "iteration": run.run,
        "laid": lambda times: add(laid, times),
        "stored": lambda times: add(stored, times),
    }
    best = best_times(actions, 20 if quick else 200)
    nanoseconds = {name: seconds / entries * 1e9 for name, seconds in best.items()}
    return {
        "an iteration, ns": nanoseconds["iteration"],
        "laid out, MiB": laid.nbytes / 2**20,
        "adding that, ns": nanoseconds["laid"],
        "times": best["iteration"] / best["laid"],
        "adding 12 bytes each, ns": nanoseconds["stored"],
        "times that": best["iteration"] / best["stored"],
    }


TURNS: dict[str, dict[str, Any]] = {
    "167 x 250 hands, two sizes": {
        "ranges": (
            "66+,A8s+,A5s-A4s,AJo+,K9s+,KQo,QTs+,JTs,96s+,85s+,75s+,65s,54s",
            "QQ-22,AQs-A2s,ATo+,K5s+,KJo+,Q8s+,J8s+,T7s+,96s+,86s+,75s+,64s+,53s+",
        ),
        "bets": "50%,100%",
    },
    "1,128 x 1,128 hands, one size": {"ranges": ("*", "*"), "bets": "100%"},
    "the same, of one suit and merged": {
        **{"board": "Td9d6dQd", "ranges": ("*", "*"), "bets": "100%", "isomorphism": True},
    },
}


def play_a_river() -> float:
    """Play the smallest river in machine code; return the most memory that the process held."""
    game: Any = rk.load("hold_em")
    rk.nash_conv(game, cfr_run(game).run(10).average)
    return harness.peak()


@benchmark([*TURNS], head="hands", fresh=True)
def turn_memory(hands: str, quick: bool) -> Figures:
    """What a turn of hold'em adds to the memory of a process that has solved a river.

    The most that a fresh process held, in MiB: with the game, after ten compiled iterations of
    CFR+, and once its average and NashConv are known. At most 238 MiB, 250 MB, are wanted for 1,128
    hands of both players until then: six numbers for each of 3.3 million sequences, namely two
    strategies, their distributions, utilities, regrets and the sum of the average, are 153 MiB; the
    decision trees and their layout, 36 bytes for each of 1.5 million decision points, are 50. The
    average in sequence form, and NashConv, go through levels in NumPy, and their indices are as
    large again.
    """
    with ProcessPoolExecutor(1, get_context("spawn")) as other:
        other.submit(play_a_river).result()  # which compiles what is not on disk, and takes memory
    before = play_a_river()
    terms: dict[str, Any] = {"board": "Td9d6hQc", "pot": 200, "stack": 900, "raises": "100%"}
    game: Any = rk.load("hold_em", **terms | TURNS[hands])
    figures: Figures = {"sequences": sum(domain.dimension for domain in game.domains)}
    figures["game, MiB"] = harness.peak() - before
    run = cfr_run(game).run(10)
    figures["iterations, MiB"] = harness.peak() - before
    rk.nash_conv(game, run.average)
    return {**figures, "NashConv, MiB": harness.peak() - before}


# Around iterations


@benchmark(
    ["kernels on disk", "nothing on disk"],
    quick=["kernels on disk"],
    head="with",
    fresh=True,
    rounds=5,
    page=harness.PAGE,
)
def start(disk: str, quick: bool) -> Figures:
    """How long a fresh process takes to its first compiled iteration.

    Seconds of processor time from the start of Python to the end of the first iteration of CFR+ on
    Kuhn poker in machine code, imports included: with kernels that are on disk already, and with
    nothing on disk, where everything is compiled. Best of several processes. A quick run is one
    process with kernels on disk, which compiles them where there are none yet.
    """
    imported = time.process_time()
    with tempfile.TemporaryDirectory() as nothing:
        if disk == "nothing on disk":
            os.environ["REGRETKIT_CACHE_DIR"] = nothing
        cfr_run(tree_game("kuhn_poker")).run(1)
        first = time.process_time()
    return {"regretkit imported, s": imported, "first iteration, s": first}


@benchmark(["nothing on disk"], head="with", rounds=3)
def first_command(disk: str, quick: bool) -> Figures:
    """How long the README's first command takes on a machine that never ran it.

    Seconds from the start of Python to the end of ``examples/kuhn_poker.py``, by the clock and of
    processor time, with no machine code on disk. They should be less than 3.
    """
    command = [sys.executable, str(harness.ROOT / "examples" / "kuhn_poker.py")]
    with tempfile.TemporaryDirectory() as nothing:
        environment = os.environ | {"REGRETKIT_CACHE_DIR": nothing}
        before, start = processor_seconds_of_children(), time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
        seconds = time.perf_counter() - start
        return {"s": seconds, "of a processor, s": processor_seconds_of_children() - before}


def processor_seconds_of_children() -> float:
    """Return what the processes took that this one has started and that have ended."""
    times = os.times()
    return times.children_user + times.children_system


@define(eq=False)
class Timed:
    """A checkpoint, and how long it took when it saved, and when it only looked at the clock."""

    watch: Checkpoint
    saves: list[float] = field(factory=list)
    looks: list[float] = field(factory=list)

    def __call__(self, run: SelfPlay) -> bool:
        saved, start = self.watch.iteration, time.perf_counter()
        stop = self.watch(run)
        times = self.looks if self.watch.iteration == saved else self.saves
        times.append(time.perf_counter() - start)
        return stop

    def next_call(self, run: SelfPlay) -> int:
        return self.watch.next_call(run)


def clock_and_cpu(
    run: SelfPlay | Sampled, iterations: int, watching: Sequence[Timed] = ()
) -> tuple[float, float]:
    """Return what some iterations took by the clock, and of the processor."""
    start, began = time.perf_counter(), time.process_time()
    run.run(iterations, callbacks=watching)
    return time.perf_counter() - start, time.process_time() - began


WITHOUT_A_TREE = "liars_dice(dice=2)"


def begun(name: str) -> SelfPlay | Sampled:
    """Return a run in machine code, after some iterations."""
    if name == WITHOUT_A_TREE:
        return rk.solve(rk.games.load_rules(name), "mccfr", iterations=300, seed=1)
    return named("cfr+").start(tree_game(name), engine="compiled").run(10)


def infosets_of(run: SelfPlay | Sampled) -> Sequence[int]:
    """Return how many information sets each player has, or has met."""
    if isinstance(run, Sampled):
        return run.information_sets
    return [cast("DecisionTree", domain).points for domain in run.game.domains]


@benchmark(["kuhn_poker", "leduc_poker", "liars_dice", WITHOUT_A_TREE])
def checkpointing(name: str, quick: bool) -> Figures:
    """What it costs to save a run every ten seconds.

    CFR+ in turns of a little more than ten seconds, without and with a checkpoint that is written
    every ten seconds; or MCCFR without a tree in turns of a second, after which it is large. The
    file's size, the time of one save (median and longest), the share of the turn that went into
    saving and into looking at the clock, by the clock, how much more processor time the turns took
    in all, and how long it takes to save the last state, as a multiple of what ``np.savez`` takes
    for as many bytes and for each information set.
    """
    seconds, turns = (0.5, 2) if quick else (1.0 if name == WITHOUT_A_TREE else 10.0, 5)
    alone, saved = begun(name), begun(name)
    pace = 10
    while (took := clock_and_cpu(alone, pace)[0]) < seconds / 20:
        pace *= 2
    iterations = int(1.05 * seconds * pace / took)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        timed = Timed(Checkpoint(path, seconds=seconds))
        pairs = [
            (clock_and_cpu(alone, iterations), clock_and_cpu(saved, iterations, [timed]))
            for _ in range(turns)
        ]
        saved.save(path)
        size, other = path.stat().st_size, Path(folder, "other.npz")
        ours, numbers = partial(saved.save, path), partial(np.savez, other, np.ones(size // 8))
        best = best_times({"ours": repeated(ours), "numpy": repeated(numbers)}, turns)
    (_, cpu_alone), (clock, cpu) = np.sum(pairs, axis=0).tolist()
    return {
        "KiB": size / 2**10,
        "saves": len(timed.saves),
        "median, ms": 1e3 * median(timed.saves),
        "longest, ms": 1e3 * max(timed.saves),
        "looks": len(timed.looks),
        "share of the time": f"{sum(timed.saves + timed.looks) / clock:.2%}",
        "more processor time": f"{cpu / cpu_alone - 1.0:.2%}",
        "over np.savez": best["ours"] / best["numpy"],
        "us a set": 1e6 * best["ours"] / sum(infosets_of(saved)),
    }
