"""The regret of each rule against five adversaries, and how fast it solves Leduc poker.

Prints a table in Markdown: the largest regret over five adversaries on a simplex of five actions,
in units of the widest utility, after 100, 1,000 and 10,000 iterations; and NashConv of the
average on Leduc poker after 300 iterations of CFR with this rule, alternating, averaged linearly.
With a path, draws the regrets as curves (needs matplotlib).

    $ python -m benchmarks.regret_curves docs/images/regret_curves.svg
"""

import sys
from collections.abc import Callable

import numpy as np

import regretkit as rk
from benchmarks.rule_table import RULES
from regretkit.checks._regret_bound import ADVERSARIES, Adversary
from regretkit.games import leduc_poker
from regretkit.play import Linear
from regretkit.sets import Simplices

TIMES = (10, 30, 100, 300, 1_000, 3_000, 10_000)
SHOWN = (100, 1_000, 10_000)
DRAWN = (
    "RegretMatching",
    "RegretMatchingPlus",
    "PredictiveRegretMatchingPlus",
    "IREGPredictiveRegretMatchingPlus",
    "Hedge, rate 0.1",
    "AdaHedge",
    "NormalHedge",
)

Make = Callable[[Simplices], rk.RegretMinimizer]


def regrets(make: Make, adversary: Adversary) -> list[float]:
    """Return the regret at each of ``TIMES``, in units of the widest utility."""
    simplex = Simplices(5)
    player, generator = make(simplex), np.random.default_rng(7)
    total, earned, width, found = np.zeros(5), 0.0, 0.0, []
    for t in range(TIMES[-1]):
        strategy = player.next_strategy()
        utility = adversary(strategy, t, generator)
        total += utility
        earned += float(utility @ strategy)
        width = max(width, float(np.ptp(utility)))
        player.observe_utility(utility)
        if t + 1 in TIMES:
            found.append((float(total.max()) - earned) / width)
    return found


def worst(make: Make) -> dict[int, float]:
    curves = [regrets(make, adversary) for adversary in ADVERSARIES.values()]
    return dict(zip(TIMES, np.max(curves, axis=0).tolist(), strict=True))


def on_leduc(make: Make) -> float:
    game = leduc_poker()
    run = rk.SelfPlay(game, [rk.CFR(tree, make) for tree in game.domains], averaging=Linear())
    return rk.nash_conv(game, run.run(300).average)


def draw(curves: dict[str, dict[int, float]], path: str) -> None:
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    mpl.rcParams["svg.hashsalt"] = "regretkit"
    figure, axes = plt.subplots(figsize=(7.0, 4.5))
    for name in DRAWN:
        axes.loglog(TIMES, [max(curves[name][t], 0.1) for t in TIMES], marker="o", label=name)
    axes.loglog(TIMES, np.sqrt(TIMES), color="grey", linestyle=":", label="square root of T")
    axes.set_xlabel("iterations T")
    axes.set_ylabel("regret, in units of the widest utility")
    axes.set_title("Largest regret over five adversaries, five actions")
    axes.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    curves = {}
    print("| rule | " + " | ".join(f"T = {t:,}" for t in SHOWN) + " | Leduc, 300 iterations |")
    print("|---|" + "---:|" * (len(SHOWN) + 1))
    for name, make in RULES.items():
        curves[name] = worst(make)
        row = " | ".join(f"{curves[name][t]:.1f}" for t in SHOWN)
        print(f"| `{name}` | {row} | {on_leduc(make):.4f} |", flush=True)
    if len(sys.argv) > 1:
        draw(curves, sys.argv[1])


if __name__ == "__main__":
    main()
