"""EFR next to OpenSpiel's, by game and type of deviations."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import regretkit as rk
from benchmarks.harness import PAGE, Action, Figures, Found, benchmark, best_times, repeated
from regretkit.circuits import DEVIATION_TYPES, EFR
from regretkit.play import SelfPlay, Simultaneous

GAMES = {
    "Kuhn poker": "kuhn_poker",
    "Kuhn poker, 3 players": "kuhn_poker(players=3)",
    "Sheriff": "sheriff(max_items=3,max_bribe=3,num_rounds=2)",
    "Leduc poker": "leduc_poker",
}
"""Names in OpenSpiel."""
NAMES = {
    "blind_cf": "blind cf",
    "informed_cf": "informed cf",
    "blind_action": "blind action",
    "informed_action": "informed action",
}
"""Types whose name in OpenSpiel is another one."""
ROWS = [
    *(f"Kuhn poker: {name}" for name in DEVIATION_TYPES),
    *(f"{game}: csps" for game in GAMES if game != "Kuhn poker"),
]
ENGINES = ("numpy", "vectorized")
ITERATIONS = 10
"""Iterations after which gaps are compared."""


FLOOR = 50.0
"""How many times as long OpenSpiel should take for ``csps``."""


def conclude(found: Found) -> str:
    """Return where an engine misses the floor."""
    missed = [
        f"{row} ({engine}, {figures[f'{engine}: ratio']:.0f})"
        for row, figures in found.items()
        for engine in ENGINES
        if row.endswith("csps") and figures[f"{engine}: ratio"] < FLOOR
    ]
    below = f"below: {', '.join(missed)}" if missed else "none is below"
    return f"The floor for `csps` is {FLOOR:g} times; {below}."


@benchmark(ROWS, quick=["Kuhn poker: csps"], head="game: deviations", page=PAGE, conclude=conclude)
def efr(row: str, quick: bool) -> Figures:
    """How long an iteration of EFR takes, and OpenSpiel's in Python, of the same deviations.

    Milliseconds of an iteration of all players, how many times as long OpenSpiel takes, and
    NashConv of both averages after 10 iterations. All take turns, and the best of each counts.
    """
    title, name = row.split(": ")
    game = rk.games.from_openspiel(GAMES[title])
    runs = {engine: _run(game, name, engine) for engine in ENGINES}
    solver, gap = _openspiel(GAMES[title], NAMES.get(name, name))
    for _ in range(ITERATIONS):
        solver.evaluate_and_update_policy()
    gaps = rk.nash_conv(game, runs["numpy"].run(ITERATIONS).average), gap()
    keys: dict[str, Action] = {engine: run.run for engine, run in runs.items()}
    keys["OpenSpiel"] = repeated(solver.evaluate_and_update_policy)
    best = best_times(keys, 2 if quick else 10)
    players = [EFR(tree, name) for tree in game.domains]
    figures: Figures = {"sums": sum(player.rule.dimension for player in players)}
    figures["OpenSpiel, ms"] = 1e3 * best["OpenSpiel"]
    for engine in ENGINES:
        figures[f"{engine}, ms"] = 1e3 * best[engine]
        figures[f"{engine}: ratio"] = best["OpenSpiel"] / best[engine]
    figures["gap"], figures["gap, OpenSpiel"] = (f"{found:.10f}" for found in gaps)
    return figures


def _run(game: rk.ExtensiveFormGame, name: str, engine: str) -> SelfPlay:
    """Return a run of EFR before its first iteration."""
    players = [EFR(tree, name) for tree in game.domains]
    return SelfPlay(game, players, order=Simultaneous(), engine=engine)


def _openspiel(name: str, deviations: str) -> tuple[Any, Callable[[], float]]:
    """Return a solver of OpenSpiel, and what measures NashConv of its average."""
    module = "open_spiel.python.algorithms."
    game = import_module("pyspiel").load_game(name)
    solver = import_module(f"{module}efr").EFRSolver(game, deviations)
    nash_conv = import_module(f"{module}exploitability").nash_conv
    return solver, lambda: float(nash_conv(game, solver.average_policy()))
