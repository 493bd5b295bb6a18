"""EFR and triggers next to OpenSpiel's EFR, by game and deviations; what gaps cost to measure."""

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from typing import Any

import regretkit as rk
from benchmarks.harness import Action, Figures, Found, benchmark, best_times, repeated
from benchmarks.runs import tree_game
from regretkit.circuits import DEVIATION_TYPES, EFR, TriggerDeviations, trigger_regret
from regretkit.evaluation import CorrelatedPlay
from regretkit.play import Algorithm, SelfPlay, Simultaneous, named

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
ENGINES = ("numpy", "compiled")
ITERATIONS = 10
"""Iterations after which gaps are compared."""


FLOORS = {"numpy": dict.fromkeys(GAMES, 50.0), "compiled": dict.fromkeys(GAMES, 1_000.0)}
"""How many times as long OpenSpiel should take for ``csps``, by game."""


def conclude(found: Found) -> str:
    """Return where an engine misses the floor."""
    told = [below(found, engine, "csps", floors) for engine, floors in FLOORS.items()]
    return "\n".join(told)


def below(found: Found, engine: str, name: str, floors: Mapping[str, float]) -> str:
    """Return in which games a name is below the floors of an engine, in words."""
    missed = [
        f"{game} ({figures[f'{engine}: ratio']:,.1f})"
        for game, floor in floors.items()
        if (figures := found.get(f"{game}: {name}")) and figures[f"{engine}: ratio"] < floor
    ]
    told = f"below: {', '.join(missed)}" if missed else "none is below"
    asked = " / ".join(f"{floor:,g}" for floor in dict.fromkeys(floors.values()))
    return f"`{name}` in {engine} should be {asked} times as fast as OpenSpiel; {told}."


@benchmark(ROWS, quick=["Kuhn poker: csps"], head="game: deviations", conclude=conclude)
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


# Triggers

RATIOS = {
    "numpy": dict(zip(GAMES, (100.0, 100.0, 60.0, 200.0), strict=True)),
    "compiled": dict.fromkeys(GAMES, 2_000.0),
}
"""How many times as long OpenSpiel should take as an iteration of ``efce``, by game."""
QUOTIENTS = {("numpy", "efce"): 4.0, ("numpy", "efcce"): 3.0} | {
    ("compiled", "efce"): 2.0,
    ("compiled", "efcce"): 1.5,
}
"""How many times as long as CFR an iteration should take at most, for as many coefficients."""


def above(found: Found, figure: str, maximum: float) -> str:
    """Return the rows in which a figure is above its limit, in words."""
    missed = [
        f"{row} ({values[figure]:.2f})" for row, values in found.items() if values[figure] > maximum
    ]
    return f"above: {', '.join(missed)}" if missed else "none is above"


def missed_quotient(found: Found) -> str:
    """Return where triggers miss a floor, or cost more than CFR by a larger quotient."""

    def rows(name: str) -> Found:
        return {row: figures for row, figures in found.items() if row.endswith(f": {name}")}

    told = [below(found, engine, "efce", floors) for engine, floors in RATIOS.items()]
    if bound := found.get("Kuhn poker: efce"):
        told[0] += f" CFR in numpy is {bound['_CFR: ratio']:.0f} times as fast on Kuhn poker."
    told += [
        f"The quotient of {engine} for `{name}` should be at most {maximum:g}; "
        f"{above(rows(name), f'{engine}: quotient', maximum)}."
        for (engine, name), maximum in QUOTIENTS.items()
    ]
    return "\n".join(told)


@benchmark(
    [f"{game}: {name}" for game in GAMES for name in ("efce", "efcce")],
    quick=["Kuhn poker: efce"],
    head="game: algorithm",
    conclude=missed_quotient,
)
def triggers(row: str, quick: bool) -> Figures:
    """How long an iteration without trigger regret takes, next to CFR and to OpenSpiel's EFR.

    Milliseconds of an iteration of all players, RM+ and simultaneous; OpenSpiel's in Python, of
    ``csps``, whose deviations contain the triggers; and how many times as long as CFR in the same
    engine it takes, over how many more coefficients there are. All take turns, and the best of each
    counts.
    """
    title, name = row.split(": ")
    game = rk.games.from_openspiel(GAMES[title])
    plain = Algorithm(rk.RegretMatchingPlus, order=Simultaneous())
    solver, _ = _openspiel(GAMES[title], "csps")
    keys: dict[str, Action] = {"OpenSpiel": repeated(solver.evaluate_and_update_policy)}
    for engine in ENGINES:
        keys[engine] = named(name).start(game, engine=engine).run
        keys[f"{engine}: CFR"] = plain.start(game, engine=engine).run
    best = best_times(keys, 2 if quick else 10)
    maps = [TriggerDeviations(tree, coarse=name == "efcce") for tree in game.domains]
    coefficients = sum(each.coefficients.dimension for each in maps)
    more = coefficients / sum(tree.dimension for tree in game.domains)
    figures: Figures = {"coefficients": coefficients, "OpenSpiel, ms": 1e3 * best["OpenSpiel"]}
    figures["_CFR: ratio"] = best["OpenSpiel"] / best["numpy: CFR"]
    for engine in ENGINES:
        figures[f"{engine}, ms"] = 1e3 * best[engine]
        figures[f"{engine}: ratio"] = best["OpenSpiel"] / best[engine]
        figures[f"{engine}: quotient"] = best[engine] / best[f"{engine}: CFR"] / more
    return figures


# Gaps

MEASURED = {
    "Kuhn poker": "kuhn_poker",
    "Kuhn poker, 3 players": "kuhn_poker(players=3)",
    "Sheriff": "sheriff(3, 3, 2)",
    "Sheriff, 10 items": "sheriff",
    "Leduc poker, merged suits": "leduc_poker(merge_suits=True)",
}
GAPS = {"NFCCE": [], "EFCCE": ["efcce"], "EFCE": ["efce"], "linear": ["linear"]}
SHARE = 0.5
"""How much of an iteration the sums of EFCE should take at most."""


def measured_share(found: Found) -> str:
    """Return where the sums of EFCE take more than their share."""
    missed = above(found, "EFCE: share", SHARE)
    return f"EFCE should take a share of at most {SHARE:g}; {missed}."


@benchmark([*MEASURED], quick=["Kuhn poker"], conclude=measured_share)
def correlated_gaps(row: str, quick: bool) -> Figures:
    """What it costs to add an iteration to a ``CorrelatedPlay``, by gap.

    Milliseconds of an iteration of players without trigger regret (RM+ in CFR, simultaneous), then
    of ``add`` with the sums of one gap each, and the share of the iteration that EFCE takes.
    """
    game = tree_game(MEASURED[row])
    players = [trigger_regret(tree, rk.RegretMatchingPlus) for tree in game.domains]
    run = SelfPlay(game, players, order=Simultaneous()).run(1)
    plays = {name: CorrelatedPlay(game, asked) for name, asked in GAPS.items()}
    actions: dict[str, Action] = {"iteration": run.run}
    for name, play in plays.items():
        actions[name] = repeated(partial(play.add, run.last_profile))
    best = best_times(actions, 2 if quick else 10)
    figures: Figures = {f"{name}, ms": 1e3 * seconds for name, seconds in best.items()}
    figures["EFCE: share"] = best["EFCE"] / best["iteration"]
    return figures
