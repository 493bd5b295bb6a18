"""Print strategies, averages and regrets of Monte Carlo CFR on Kuhn poker over time.

Chance sampling draws the cards and sweeps all bets. External sampling also draws the opponent's
actions, and sweeps only those of the updating player. Strategies do not converge, averages do, and
regrets grow about as the square root of the iterations.

With a path, the script also draws the curves (needs matplotlib).

    $ python examples/mccfr_kuhn.py
    $ python examples/mccfr_kuhn.py curves.svg
"""

import sys
from typing import Any

import numpy as np

from regretkit import CFR, RegretMatching
from regretkit.evaluation import exploitability
from regretkit.games import kuhn_poker
from regretkit.play import ChanceSampling, Estimator, ExternalSampling, SelfPlay

COLUMNS = ("iteration", "plays", "average", "regret", "exploitability")
Curves = dict[str, list[tuple[float, ...]]]


def watched(estimator: Estimator, iterations: int) -> list[tuple[float, ...]]:
    """Return measurements of a run, at iterations that grow by a third.

    They are the probability that player 0 calls a bet with the queen, and the largest regret of
    that information set. At equilibrium the probability is from 1/3 to 2/3.
    """
    game = kuhn_poker()
    players = [CFR(tree, RegretMatching) for tree in game.domains]
    run = SelfPlay(game, players, estimator=estimator)
    rows: list[tuple[float, ...]] = []
    while run.iteration < iterations:
        run.run(min(1 + run.iteration // 3, iterations - run.iteration))
        plays, average = run.current["Qpb"][1], run.average["Qpb"][1]
        state: Any = players[0]["Qpb"].state
        gap = exploitability(game, run.average)
        rows.append((run.iteration, plays, average, np.max(state["regrets"]), gap))
    return rows


def draw(curves: Curves, path: str) -> None:
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(2, 2, figsize=(8.0, 6.0))
    for axes, column in zip(panels.flat, range(1, len(COLUMNS)), strict=True):
        for name, rows in curves.items():
            axes.plot([row[0] for row in rows], [row[column] for row in rows], label=name)
        axes.set(xscale="log", xlabel="iterations", ylabel=COLUMNS[column])
    panels[0, 0].legend()
    panels[1, 1].set(yscale="log")
    figure.tight_layout()
    figure.savefig(path)


def main(iterations: int = 10_000, path: str | None = None) -> None:
    curves: Curves = {}
    estimators: dict[str, Estimator] = {
        "chance sampling": ChanceSampling(np.random.default_rng(seed=7)),
        "external sampling": ExternalSampling(np.random.default_rng(seed=7)),
    }
    for name, estimator in estimators.items():
        curves[name] = watched(estimator, iterations)
        print(f"{name}, at the queen after a pass and a bet\n")
        print(f"{COLUMNS[0]:>9}" + "".join(f"{column:>16}" for column in COLUMNS[1:]))
        for row in curves[name][::3]:
            print(f"{row[0]:9.0f}" + "".join(f"{value:16.4f}" for value in row[1:]))
        print()
    if path is not None:
        draw(curves, path)


if __name__ == "__main__":
    main(path=sys.argv[1] if len(sys.argv) > 1 else None)
