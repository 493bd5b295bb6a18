"""Runs of CFR+: iterations by engine, start times, and checkpoints."""

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
"""Most information sets for runs with an object for each."""


@benchmark([*CONTESTS], quick=QUICK)
def engines(title: str, quick: bool) -> Figures:
    """One iteration of CFR+ in each engine, and with an object for each information set.

    Microseconds of processor time per iteration with one update of each player: the best of several
    turns of half a second. *objects* is ``circuit``, with an object for each information set.
    *numpy* is the flat ``CFR``. *own rule* is a user's compiled RM+ of ten lines.
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
    """The time of a process, with and without compiled code on disk.

    Wall-clock and processor seconds from the start to the end of Python, the best of three. Rows
    run the first compiled iteration with its code on disk, with nothing on disk, or with all but a
    new rule; the last row is the README's first command.
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
    """Return wall-clock and processor seconds of a process, with a folder for compiled code."""
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
    """The cost of saving a run, relative to ``np.savez`` of as many bytes.

    Runs are CFR+, and external sampling without a tree after 100,000 iterations. Columns are the
    size of the file, milliseconds to save and to load, and nanoseconds to save an information set.
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
