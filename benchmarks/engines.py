"""Runs of CFR+: iterations in each engine, the first iteration, checkpoints."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeAlias

import numpy as np

import regretkit as rk
from benchmarks import harness
from benchmarks.harness import Figures, benchmark, best_times, repeated
from benchmarks.peers import CONTESTS, QUICK
from benchmarks.runs import RegretMatchingPlus, tree_game
from regretkit.play import Linear, Sampled, SelfPlay, resume

Kind: TypeAlias = Callable[..., rk.RegretMinimizer]
ENGINES: dict[str, tuple[Kind, Kind, str]] = {
    "objects": (rk.circuit, rk.RegretMatchingPlus, "numpy"),
    "numpy": (rk.CFR, rk.RegretMatchingPlus, "numpy"),
    "compiled": (rk.CFR, rk.RegretMatchingPlus, "compiled"),
    "own rule": (rk.CFR, RegretMatchingPlus, "compiled"),
}
MOST = 6_000
"""Information sets up to which there is time for an object for each."""


@benchmark([*CONTESTS], quick=QUICK)
def engines(title: str, quick: bool) -> Figures:
    """One iteration of CFR+ in each engine, and with an object for each information set.

    Microseconds of processor time per iteration, in which both players learn once, the best of
    several turns of half a second. *Objects* is one object for each information set (``circuit``),
    *numpy* the flat ``CFR``, *own rule* RM+ in ten lines of a user, compiled.
    """
    game, runs = tree_game(CONTESTS[title].call), {}
    for name, (make, rule, engine) in ENGINES.items():
        if name != "objects" or sum(tree.points for tree in game.domains) <= MOST:
            players = [make(tree, rule) for tree in game.domains]
            runs[name] = SelfPlay(game, players, averaging=Linear(), engine=engine).run
    best = best_times(runs, 3) if quick else best_times(runs, 8, length=0.5)
    return {name: best[name] * 1e6 if name in best else "" for name in ENGINES}


# Starts

FIRST = "import regretkit as rk; rk.solve(rk.load('leduc_poker'), {}, iterations=1)"
OWN = "import sys; sys.path.insert(0, '.'); from benchmarks.runs import CubedRegretMatching; "
STARTS = {
    "Leduc poker, nothing on disk": ["-c", FIRST.format("'cfr+'")],
    "Leduc poker, from disk": ["-c", FIRST.format("'cfr+'")],
    "Leduc poker, a new rule": ["-c", OWN + FIRST.format("CubedRegretMatching")],
    "examples/kuhn_poker.py, nothing on disk": ["examples/kuhn_poker.py"],
}


@benchmark([*STARTS], head="process")
def start(row: str, quick: bool) -> Figures:
    """How long a process takes, by what is on disk.

    Seconds from the start of Python to its end, by the clock and of processor time, imports
    included: the first compiled iteration of a run with its machine code on disk, with nothing on
    disk, or with everything but a rule; and the README's first command. The best of three.
    """
    taken = []
    for _ in range(1 if quick else 3):
        with tempfile.TemporaryDirectory() as folder:
            if "nothing" not in row:
                processor_seconds(STARTS["Leduc poker, from disk"], folder)
            taken.append(processor_seconds(STARTS[row], folder))
    clock, cpu = np.min(taken, axis=0).tolist()
    return {"s": clock, "of a processor, s": cpu}


def processor_seconds(arguments: list[str], folder: str) -> tuple[float, float]:
    """Return the time of a process with its machine code in a folder, by the clock and the CPU."""
    environment = os.environ | {"REGRETKIT_CACHE_DIR": folder}
    before, began = os.times(), time.perf_counter()
    subprocess.run(
        [sys.executable, *arguments],
        check=True,
        stdout=subprocess.DEVNULL,
        env=environment,
        cwd=harness.ROOT,
    )
    after, clock = os.times(), time.perf_counter() - began
    cpu = after.children_user + after.children_system - before.children_user
    return clock, cpu - before.children_system


# Checkpoints

WITHOUT_A_TREE = "liars_dice(dice=2)"


@benchmark(["kuhn_poker", "leduc_poker", "liars_dice", WITHOUT_A_TREE])
def checkpointing(name: str, quick: bool) -> Figures:
    """What it costs to save a run, over ``np.savez`` of as many bytes.

    A run of CFR+, or of external sampling without a tree after 100,000 iterations. The file's size,
    milliseconds of a save and of loading it, and nanoseconds of a save for each information set.
    """
    run: SelfPlay | Sampled
    if name == WITHOUT_A_TREE:
        iterations = 1_000 if quick else 100_000
        run = rk.solve(rk.games.load_rules(name), "mccfr", iterations=iterations, seed=1)
        sets = sum(run.information_sets)
    else:
        run = rk.solve(tree_game(name), "cfr+", iterations=10)
        sets = sum(tree.points for tree in tree_game(name).domains)
    with tempfile.TemporaryDirectory() as folder:
        path, other = Path(folder, "run"), Path(folder, "other.npz")
        run.save(path)
        numbers = np.ones(path.stat().st_size // 8)
        actions = {
            "save": repeated(partial(run.save, path)),
            "load": repeated(partial(resume, path)),
            "numpy": repeated(partial(np.savez, other, numbers)),
        }
        best = best_times(actions, 2 if quick else 5)
    return {
        "KiB": numbers.nbytes / 2**10,
        "save, ms": 1e3 * best["save"],
        "load, ms": 1e3 * best["load"],
        "over np.savez": best["save"] / best["numpy"],
        "ns an information set": 1e9 * best["save"] / sets,
    }
