"""Minimizers for correlated equilibria, compared with CFR and with OpenSpiel's EFR."""

from functools import partial
from importlib import import_module
from typing import Any

import regretkit as rk
from benchmarks.harness import Action, Figures, benchmark, best_times, repeated
from regretkit.circuits import DEVIATION_TYPES, EFR, TriggerDeviations, trigger_regret
from regretkit.circuits import linear_swap_regret as linear_swap
from regretkit.play import SelfPlay, Simultaneous

GAMES = {
    "Kuhn poker": "kuhn_poker",
    "Kuhn poker, 3 players": "kuhn_poker(players=3)",
    "Sheriff": "sheriff(max_items=3,max_bribe=3,num_rounds=2)",
    "Leduc poker": "leduc_poker",
}
"""Games by their names in OpenSpiel."""
IN_OPENSPIEL = {
    **{name: name.replace("_", " ") for name in DEVIATION_TYPES},
    **dict.fromkeys(("efce", "efcce", "linear swap"), "csps"),
}
"""The deviations of OpenSpiel's EFR; ``csps`` contains the triggers."""
RULE = rk.RegretMatchingPlus
LEARNERS: dict[str, Any] = {
    **{name: partial(EFR, deviations=name) for name in DEVIATION_TYPES},
    "efce": partial(trigger_regret, local=RULE),
    "efcce": partial(trigger_regret, local=RULE, coarse=True),
    "linear swap": partial(linear_swap, local=RULE),
}
ENGINES = ("numpy", "compiled")
ROWS = [f"{game}: {name}" for game in GAMES for name in ("csps", "efce", "efcce", "linear swap")]
ROWS += [f"Kuhn poker: {name}" for name in DEVIATION_TYPES if name != "csps"]


@benchmark(ROWS, quick=["Kuhn poker: efce"], head="game: deviations")
def deviations(row: str, quick: bool) -> Figures:
    """An iteration of EFR, trigger and linear swap regret, compared with OpenSpiel and CFR.

    Milliseconds of an iteration of all players with simultaneous updates. OpenSpiel's EFR in Python
    uses the same deviations, or ``csps`` for triggers and linear swap. Ratios are OpenSpiel over
    regretkit, and regretkit over CFR in the same engine. NashConv is that of the average after 10
    iterations; it agrees if both use the same deviations. All alternate.
    """
    title, name = row.split(": ")
    game = rk.games.from_openspiel(GAMES[title])

    def started(learner: Any, engine: str) -> SelfPlay:
        players = [learner(tree) for tree in game.domains]
        return SelfPlay(game, players, order=Simultaneous(), engine=engine)

    solver: Any = import_module("open_spiel.python.algorithms.efr").EFRSolver(
        import_module("pyspiel").load_game(GAMES[title]), IN_OPENSPIEL[name]
    )
    actions: dict[str, Action] = {"OpenSpiel": repeated(solver.evaluate_and_update_policy)}
    used = ENGINES[:1] if name == "linear swap" else ENGINES
    for engine in used:
        actions[engine] = started(LEARNERS[name], engine).run
        actions[f"{engine}: CFR"] = started(partial(rk.CFR, local=RULE), engine).run
    best = best_times(actions, 2 if quick else 10)
    average = started(LEARNERS[name], "numpy").run(10).average
    figures: Figures = {"OpenSpiel, ms": 1e3 * best["OpenSpiel"]}
    for engine in used:
        figures[f"{engine}, ms"] = 1e3 * best[engine]
        figures[f"{engine}: OpenSpiel over it"] = best["OpenSpiel"] / best[engine]
        figures[f"{engine}: over CFR"] = best[engine] / best[f"{engine}: CFR"]
    if name in ("efce", "efcce"):
        maps = [TriggerDeviations(tree, coarse=name == "efcce") for tree in game.domains]
        more = sum(each.coefficients.dimension for each in maps)
        figures["coefficients"] = more / sum(tree.dimension for tree in game.domains)
    return {**figures, "NashConv": f"{rk.nash_conv(game, average):.10f}"}
