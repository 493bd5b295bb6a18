"""Draw the figures of the gallery in the documentation.

The argument is the folder of the SVG files, by default `gallery`.

    $ python examples/gallery.py docs/images/gallery
"""

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

import regretkit as rk
from regretkit import display
from regretkit.circuits import Restart, trigger_regret
from regretkit.evaluation import best_extensive_form_correlated_equilibrium
from regretkit.games import (
    biased_rock_paper_scissors,
    extended_shapley,
    hold_em,
    kuhn_poker,
    leduc_poker,
    load,
    shapley_game,
    sheriff,
)
from regretkit.play import At, Recorder, Simultaneous, TrajectoryRecorder, geometric

GAMES = Path(__file__).parent / "games"


def convergence(iterations: int) -> object:
    game, records = leduc_poker(), {}
    for name in ("cfr", "cfr+", "dcfr", "pcfr+"):
        records[name] = Recorder("nash_conv")
        watch = At(geometric(1.25), records[name])
        rk.solve(game, name, iterations=iterations, callbacks=[watch])
    return display.convergence(records, title="Leduc poker").figure


def trajectories(iterations: int) -> object:
    record = TrajectoryRecorder(["J", "Qb"])
    watch = At(geometric(1.1), record)
    rk.solve(kuhn_poker(), "cfr", iterations=iterations, callbacks=[watch])
    return display.trajectories(record, log=True)[0, 0].figure


def simplex(iterations: int) -> object:
    game, paths = biased_rock_paper_scissors(), {}
    actions: tuple[str, ...] = ()
    for rule in (rk.Hedge, rk.OptimisticHedge):
        record = TrajectoryRecorder()
        run = rk.SelfPlay(game, [rule(3, rate=0.025) for _ in range(2)], order=Simultaneous())
        run.run(iterations, callbacks=[record])
        paths[rule.__name__], actions = record.path((0, 0), "strategy"), record.actions((0, 0))
    return display.simplex(paths, actions=actions, title="Current strategies").figure


def heat_map(iterations: int) -> object:
    average = rk.solve(kuhn_poker(), "cfr+", iterations=iterations).average
    return display.heat_map(average, title="Kuhn poker").figure


def large_heat_map(iterations: int) -> object:
    average = rk.solve(leduc_poker(), "cfr+", iterations=iterations).average
    return display.heat_map(average, limit=48, title="Leduc poker").figure


def nested_circuit(_: int) -> object:
    def local(simplices: rk.Simplices) -> rk.ConvexHull:
        restarted = Restart(rk.RegretMatchingPlus(simplices), every=100)
        swap = rk.SwapRegret(simplices, rk.RegretMatching)
        return rk.ConvexHull([restarted, swap], mixing=rk.PredictiveRegretMatchingPlus)

    player = rk.CFR(leduc_poker().domains[0], local)
    return display.draw_circuit(player, title="A circuit on Leduc poker").figure


def payoffs(_: int) -> object:
    import matplotlib.pyplot as plt

    game, corners = sheriff(items=2, bribe=1, rounds=1), 2.0 * np.pi * np.arange(90) / 90
    axes = plt.figure(figsize=(4.6, 4.4)).add_subplot()
    for concept in ("nfcce", "efcce", "efce"):
        found = [
            best_extensive_form_correlated_equilibrium(game, weights, concept=concept).payoffs
            for weights in np.column_stack([np.cos(corners), np.sin(corners)])
        ]
        axes.fill(*np.transpose(found), label=concept.upper())
    axes.set(xlabel="payoff of the smuggler", ylabel="payoff of the sheriff")
    axes.set_title("Equilibria of a small Sheriff game")
    axes.legend(frameon=False)
    return axes.figure


def range_grid(iterations: int) -> object:
    ranges = "22+,A2s+,K9s+,QTs+,JTs,AJo+,KQo", "JJ-22,A2s+,K9s+,QTs+,J9s+,T9s,98s,AQo-ATo,KJo+"
    game = hold_em("Qs Jh 2h 8c 3d", ranges, 180, 910, "50%,a", "60%,a")
    average = rk.solve(game, "dcfr", iterations=iterations).average
    return display.range_grid(game, average, "/bet 90", title="Facing a bet of half the pot").figure


def correlated_gaps(iterations: int) -> object:
    game, records = extended_shapley(), {}
    for name, make, gap in (
        ("CFR, gap to NFCCE", rk.CFR, "cce_gap"),
        ("CFR, gap to EFCE", rk.CFR, "efce_gap"),
        ("without trigger regret, gap to EFCE", trigger_regret, "efce_gap"),
    ):
        records[name] = Recorder({"gap": gap})
        players = [make(tree, rk.RegretMatching) for tree in game.domains]
        players[0].observe_utility([0.0, 0.05, *[0.0] * 8])  # leave the fixed point
        watch = At(geometric(1.25), records[name])
        rk.SelfPlay(game, players, order=Simultaneous()).run(10 * iterations, callbacks=[watch])
    return display.convergence(records, title="Shapley's game with a bet").figure


FIGURES: dict[str, Callable[[int], object]] = {
    "convergence.svg": convergence,
    "trajectories.svg": trajectories,
    "simplex.svg": simplex,
    "heat_map.svg": heat_map,
    "large_heat_map.svg": large_heat_map,
    "range_grid.svg": range_grid,
    "circuit.svg": nested_circuit,
    "payoffs.svg": payoffs,
    "correlated_gaps.svg": correlated_gaps,
    "kuhn_poker.svg": lambda _: display.draw_game(kuhn_poker()).figure,
    "shapley_game.svg": lambda _: display.draw_game(shapley_game()).figure,
    "three_voters.svg": lambda _: display.draw_game(load(GAMES / "three_voters.nfg")).figure,
    "absent_minded_driver.svg": lambda _: (
        display.draw_game(load(GAMES / "absent_minded_driver.efg")).figure
    ),
}


def main(folder: str = "gallery", iterations: int = 300) -> None:
    import matplotlib as mpl
    from matplotlib.figure import Figure

    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    for name, draw in FIGURES.items():
        with mpl.rc_context({"svg.hashsalt": "regretkit"}):  # for reproducible files
            figure = draw(iterations)
            assert isinstance(figure, Figure)
            figure.savefig(path / name, metadata={"Date": None})
        print(path / name)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "gallery")
