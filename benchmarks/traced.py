"""Rules that are traced: how fast they run, how long tracing takes, and several rules at once."""

import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from importlib import import_module
from math import inf
from statistics import median
from typing import Any

import regretkit as rk
from benchmarks import harness
from benchmarks.engines import CONTESTS, QUICK
from benchmarks.harness import Action, Figures, Found, benchmark, best_times, cpu_seconds, repeated
from benchmarks.peers import OpenSpiel
from benchmarks.rules import RULES
from benchmarks.runs import CubedRegretMatching, RegretMatchingPlus, cfr_run, tree_game
from regretkit.circuits import LocalRule
from regretkit.play import Linear, SelfPlay
from regretkit.sets import Simplices
from regretkit.trace import UntraceableError
from regretkit.trace._build import _functions, build_kernel
from regretkit.trace._rule import trace_rule

TURN = 0.1
"""Seconds of a turn, of which a call of ``run`` takes a half of a thousandth."""

# An iteration

OWN = {"RM+ in ten lines": RegretMatchingPlus, "README's rule": CubedRegretMatching}
AS_BUILT_IN = 1.1
"""What the ratio should be, at most."""
OPENSPIEL = "OpenSpiel"


def largest(found: Found) -> str:
    ratio = max(float(row[name]) for row in found.values() for name in OWN)
    missed = [title for title, row in found.items() if row.get(OPENSPIEL, inf) < row["its goal"]]
    return (
        f"The largest ratio of a rule of one's own to the library's RM+ is {ratio:.2f} (goal: "
        f"{AS_BUILT_IN}). OpenSpiel's goal is missed on {', '.join(missed) or 'no game'}."
    )


@benchmark([*CONTESTS], quick=QUICK, conclude=largest)
def traced(title: str, quick: bool) -> Figures:
    """What an iteration takes with a rule of one's own, over the library's RM+.

    Ratios of processor times of a compiled iteration: rules that a user writes in ten lines over
    the library's RM+; and CFR+ of OpenSpiel's C++, where it is installed, over RM+ in ten lines.
    All take turns, and the best of each counts.
    """
    game = tree_game(CONTESTS[title].call)
    rules: dict[str, LocalRule] = {"RM+": rk.RegretMatchingPlus, **OWN}
    runs: dict[str, Action] = {name: cfr_run(game, rule).run for name, rule in rules.items()}
    with suppress(ImportError):
        runs[OPENSPIEL] = OpenSpiel(CONTESTS[title], "cfr+", module="pyspiel").run
    best = best_times(runs, 3 if quick else 25, TURN)
    figures = {name: best[name] / best["RM+"] for name in OWN}
    if OPENSPIEL in runs:
        figures[OPENSPIEL] = best[OPENSPIEL] / best[next(iter(OWN))]
    return figures | {"its goal": CONTESTS[title].own_over_open_spiel}


# To trace a rule


def written_by_users() -> Mapping[str, Callable[..., Any]]:
    """Return the rules by which tests look at what users write."""
    sys.path.insert(0, str(harness.ROOT / "tests" / "helpers"))
    return dict(import_module("user_rules").RULES)


@benchmark(["of the library", "of users, in tests"], head="rules", fresh=True)
def tracing(whose: str, quick: bool) -> Figures:
    """How long it takes to trace a rule and to write its loops, in milliseconds.

    Every rule that can be traced, the best of five times, each from the beginning. The goal is 50
    milliseconds for each.
    """
    made = RULES if whose == "of the library" else written_by_users()

    def trace(rule: Any) -> None:
        _functions.cache_clear()
        build_kernel(trace_rule(rule))

    took = {}
    for name, make in [*made.items()][: 3 if quick else None]:
        rule = make(Simplices([2, 3]))
        try:
            took[name] = 1e3 * min(cpu_seconds(trace, rule) for _ in range(5))
        except UntraceableError:
            continue
    slowest = max(took, key=lambda name: took[name])
    return {
        "traced": len(took),
        "median, ms": median(took.values()),
        "longest, ms": took[slowest],
        "which is": slowest,
    }


# Several rules


def each_its_own(simplices: rk.Simplices) -> rk.RegretMinimizer:
    """Return one object for each decision point."""
    return rk.Product([rk.RegretMatchingPlus(n) for n in simplices.sizes.tolist()])


PLAYERS: dict[str, tuple[LocalRule, LocalRule]] = {
    "RM+": (rk.RegretMatchingPlus, rk.RegretMatchingPlus),
    "RM+ for each decision point": (each_its_own, each_its_own),
    "RM+ against DCFR": (rk.RegretMatchingPlus, rk.DiscountedRegretMatching),
}


@benchmark([*PLAYERS], quick=["RM+ against DCFR"], head="rules", fresh=True)
def several(players: str, quick: bool) -> Figures:
    """What it costs on Leduc poker that players, or decision points, have rules of their own.

    Seconds of processor time from the start of Python to the end of the first compiled iteration,
    imports included, with nothing on disk; milliseconds of a call of ``run`` for one iteration;
    microseconds of an iteration in long calls, and how many times as long that is as with the
    library's RM+ everywhere, which takes turns with it.
    """
    with tempfile.TemporaryDirectory() as nothing:
        if not quick:
            os.environ["REGRETKIT_CACHE_DIR"] = nothing
        game = tree_game("leduc_poker")
        minimizers = map(rk.CFR, game.domains, PLAYERS[players])
        run = SelfPlay(game, [*minimizers], averaging=Linear(), engine="compiled").run(1)
        first = time.process_time()
        call = best_times({"": repeated(partial(run.run, 1))}, 3)[""]
        actions = {"": run.run, "RM+": cfr_run(game).run}
        best = best_times(actions, 5, TURN if quick else 20.0 * TURN)
    return {
        "first iteration, s": first,
        "a call, ms": call * 1e3,
        "an iteration, us": best[""] * 1e6,
        "times RM+": best[""] / best["RM+"],
    }
