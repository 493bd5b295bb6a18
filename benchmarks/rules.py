"""Growth of the regret of each rule."""

from collections.abc import Callable
from functools import partial

import numpy as np

import regretkit as rk
from benchmarks import harness
from benchmarks.harness import Curves, Figures, Found, benchmark
from benchmarks.runs import cfr_run, tree_game
from regretkit import minimizers
from regretkit.checks._growth import ADVERSARIES, Adversary
from regretkit.minimizers import contrib
from regretkit.sets import Simplices

Make = Callable[[Simplices], rk.RegretMinimizer]


def rated(kind: Callable[..., rk.RegretMinimizer], **options: object) -> Make:
    return partial(kind, rate=0.1, **options)


FTRL = partial(rated, minimizers.FollowTheRegularizedLeader)
OMD = partial(rated, minimizers.OnlineMirrorDescent)
MMD = partial(rated, minimizers.MagneticMirrorDescent, temperature=0.1)

RULES: dict[str, Make] = {
    "RegretMatching": rk.RegretMatching,
    "RegretMatchingPlus": rk.RegretMatchingPlus,
    "LinearRegretMatching": rk.LinearRegretMatching,
    "DiscountedRegretMatching": rk.DiscountedRegretMatching,
    "DiscountedRegretMatchingPlus": minimizers.DiscountedRegretMatchingPlus,
    "HSDiscountedRegretMatching, horizon 300": partial(
        contrib.HSDiscountedRegretMatching, horizon=300
    ),
    "PredictiveRegretMatching": rk.PredictiveRegretMatching,
    "PredictiveRegretMatchingPlus": rk.PredictiveRegretMatchingPlus,
    "PredictiveDiscountedRegretMatchingPlus": minimizers.PredictiveDiscountedRegretMatchingPlus,
    "AsymmetricRegretMatchingPlus": contrib.AsymmetricRegretMatchingPlus,
    "AdaptiveAsymmetricRegretMatchingPlus": contrib.AdaptiveAsymmetricRegretMatchingPlus,
    "SmoothPredictiveRegretMatchingPlus": rated(contrib.SmoothPredictiveRegretMatchingPlus),
    "SmoothOptimisticRegretMatchingPlus": rated(contrib.SmoothOptimisticRegretMatchingPlus),
    "StablePredictiveRegretMatchingPlus": partial(
        contrib.StablePredictiveRegretMatchingPlus, floor=1.0
    ),
    "ExtragradientRegretMatchingPlus": rated(contrib.ExtragradientRegretMatchingPlus),
    "IREGPredictiveRegretMatchingPlus": contrib.IREGPredictiveRegretMatchingPlus,
    "Hedge, rate 0.1": rated(rk.Hedge),
    "OptimisticHedge, rate 0.1": rated(rk.OptimisticHedge),
    "AdaHedge": minimizers.AdaHedge,
    "NormalHedge": minimizers.NormalHedge,
    "MagneticMirrorDescent, rate 0.1": MMD(),
    "MagneticMirrorDescent, optimistic, rate 0.1": MMD(optimistic=True),
    "ReflectedMirrorDescent, Euclidean, rate 0.1": rated(
        minimizers.ReflectedMirrorDescent, regularizer=minimizers.Euclidean()
    ),
    "FTRL, Euclidean, rate 0.1": FTRL(regularizer=minimizers.Euclidean()),
    "FTRL, Euclidean, optimistic, rate 0.1": FTRL(
        regularizer=minimizers.Euclidean(), optimistic=True
    ),
    "OMD, Euclidean, rate 0.1": OMD(regularizer=minimizers.Euclidean()),
    "OMD, Euclidean, optimistic, rate 0.1": OMD(
        regularizer=minimizers.Euclidean(), optimistic=True
    ),
    "FTRL, Tsallis, rate 0.1": FTRL(regularizer=minimizers.Tsallis()),
    "FTRL, LogBarrier, rate 0.1": FTRL(regularizer=minimizers.LogBarrier()),
}
"""Rules for any simplices."""

TIMES = (10, 30, 100, 300, 1_000, 3_000, 10_000)
SHOWN = (100, 1_000, 10_000)
DRAWN = (
    *("RegretMatching", "RegretMatchingPlus", "PredictiveRegretMatchingPlus"),
    *("IREGPredictiveRegretMatchingPlus", "Hedge, rate 0.1", "AdaHedge", "NormalHedge"),
)


def regrets(make: Make, adversary: Adversary) -> list[float]:
    """Return the regret at each of ``TIMES``, relative to the largest range of utilities."""
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


def draw_regrets(found: Found) -> None:
    curves: Curves = {
        name: (TIMES, np.maximum(found[name]["_regrets"], 0.1).tolist()) for name in DRAWN
    }
    curves = {**curves, "square root of T": (TIMES, np.sqrt(TIMES).tolist())}
    title = "Largest regret over five adversaries, five actions"
    axes = "iterations T", "regret, in units of the widest utility"
    harness.draw(harness.IMAGES / "regret_curves.svg", {title: curves}, *axes)


@benchmark([*RULES], quick=[*RULES][:2], head="rule", plot=draw_regrets)
def regret_curves(rule: str, quick: bool) -> Figures:
    """The regret of each rule against five adversaries, and its gap on Leduc poker.

    The largest regret over five adversaries on a simplex of five actions, relative to the largest
    range of utilities, after 100, 1,000 and 10,000 iterations. Then NashConv of the linear average
    on Leduc poker after 300 alternating iterations of CFR. A full run draws curves.
    """
    found = [regrets(RULES[rule], adversary) for adversary in [*ADVERSARIES.values()][:5]]
    worst: list[float] = np.max(found, axis=0).tolist()
    run = cfr_run(tree_game("leduc_poker"), RULES[rule], engine="numpy").run(300)
    return {
        **{f"T = {t:,}": f"{worst[TIMES.index(t)]:.1f}" for t in SHOWN},
        "Leduc, 300 iterations": f"{rk.nash_conv(run.game, run.average):.4f}",
        "_regrets": worst,
    }
