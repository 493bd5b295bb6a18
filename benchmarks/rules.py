"""The rules of the package: what an iteration of each costs, and how its regret grows."""

import itertools
from collections.abc import Callable
from functools import partial

import numpy as np

import regretkit as rk
from benchmarks import harness
from benchmarks.harness import Action, Curves, Figures, Found, benchmark, best_times, repeated
from benchmarks.runs import cfr_run, tree_game
from regretkit import minimizers
from regretkit.checks._contract import ADVERSARIES, Adversary
from regretkit.minimizers import contrib
from regretkit.sets import Simplices

Make = Callable[[Simplices], rk.RegretMinimizer]


def dilated(simplices: Simplices) -> rk.RegretMinimizer:
    """Return mirror descent on a tree that decides at all simplices side by side."""
    tree = rk.DecisionTree(np.zeros(simplices.blocks, dtype=np.int64), simplices.sizes)
    return minimizers.DilatedMirrorDescent(tree, rate=0.1)


def rated(kind: Callable[..., rk.RegretMinimizer], **options: object) -> Make:
    return partial(kind, rate=0.1, **options)


FTRL = partial(rated, minimizers.FollowTheRegularizedLeader)
OMD = partial(rated, minimizers.OnlineMirrorDescent)

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
    "MagneticMirrorDescent, rate 0.1": rated(minimizers.MagneticMirrorDescent, temperature=0.1),
    "MagneticMirrorDescent, optimistic, rate 0.1": rated(
        minimizers.MagneticMirrorDescent, temperature=0.1, optimistic=True
    ),
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
"""Rules that play any simplices."""

ON_SETS: dict[str, Make] = {
    "OnlineGradientDescent, rate 0.1": rated(minimizers.OnlineGradientDescent),
    "ConicBlackwell": minimizers.ConicBlackwell,
    "DilatedMirrorDescent, rate 0.1": dilated,
}
"""Rules that play other sets too, and see simplices, or a tree made of them, as one set."""

LEFT_OUT: dict[type[rk.RegretMinimizer], str] = {
    minimizers.RegretRule: "is regret matching, unless a function of it is replaced",
    minimizers.Point: "plays a constant and learns nothing",
    minimizers.ResponseBasedApproachability: "costs a best response, more as an optimum comes near",
    minimizers.BestResponse: "plays what the set's oracle answers and learns nothing else",
}
"""Leaves in neither table, and why."""

SEARCHES: dict[str, str] = {
    "SmoothPredictiveRegretMatchingPlus": "nearest point",
    "SmoothOptimisticRegretMatchingPlus": "nearest point",
    "ExtragradientRegretMatchingPlus": "nearest point",
    "IREGPredictiveRegretMatchingPlus": "level of a norm",
    "NormalHedge": "root",
    "FTRL, Euclidean, rate 0.1": "nearest point",
    "FTRL, Euclidean, optimistic, rate 0.1": "nearest point",
    "OMD, Euclidean, rate 0.1": "nearest point",
    "OMD, Euclidean, optimistic, rate 0.1": "nearest point",
    "FTRL, Tsallis, rate 0.1": "root",
    "FTRL, LogBarrier, rate 0.1": "root",
    "OnlineGradientDescent, rate 0.1": "nearest point",
    "ConicBlackwell": "root of nearest points",
}
"""What the formula of a rule makes it search for in each block, in every iteration."""

# What an iteration costs

ACTIONS = 999_999


def iterations(player: rk.RegretMinimizer) -> Action:
    """Return what makes ``player`` go through iterations, with three utilities in turn."""
    utilities = itertools.cycle(np.random.default_rng(0).normal(size=(3, player.dimension)))

    def iterate() -> None:
        player.next_strategy()
        player.observe_utility(next(utilities))

    return repeated(iterate)


@benchmark([*RULES, *ON_SETS], quick=[*RULES][:3], head="rule")
def rules(rule: str, quick: bool) -> Figures:
    """What an iteration of each rule costs, in nanoseconds for an action.

    Every rule plays a million actions, in blocks of three and in ragged blocks of two to four,
    against three utilities in turn. Next to it, how many iterations of regret matching+ that is,
    and how many calls of ``np.add`` over vectors of that length, which take turns with it, and what
    the rule's formula makes it search for, if anything.
    """
    make, figures = (RULES | ON_SETS)[rule], Figures()
    ragged = np.random.default_rng(0).integers(2, 5, ACTIONS // 3)
    for layout, sizes in (("blocks of 3", [3] * (ACTIONS // 3)), ("ragged", ragged)):
        simplices = Simplices(sizes)
        u = np.zeros(simplices.dimension)
        actions = {
            "rule": iterations(make(simplices)),
            "RM+": iterations(rk.RegretMatchingPlus(simplices)),
            "np.add": repeated(partial(np.add, u, u)),
        }
        best = best_times(actions, 2 if quick else 9)
        figures[f"{layout}, ns"] = best["rule"] / simplices.dimension * 1e9
        figures |= {
            f"times {name}, {layout}": best["rule"] / best[name] for name in ("RM+", "np.add")
        }
    return figures | {"searches for": SEARCHES.get(rule, "")}


# How regret grows

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


def draw_regrets(found: Found) -> None:
    curves: Curves = {
        name: (TIMES, np.maximum(found[name]["_regrets"], 0.1).tolist()) for name in DRAWN
    }
    curves = {**curves, "square root of T": (TIMES, np.sqrt(TIMES).tolist())}
    title = "Largest regret over five adversaries, five actions"
    axes = "iterations T", "regret, in units of the widest utility"
    harness.draw(harness.IMAGES / "regret_curves.svg", {title: curves}, *axes)


@benchmark(
    [*RULES],
    quick=[*RULES][:2],
    head="rule",
    page=harness.PAGE.with_name("choose_a_minimizer.md"),
    plot=draw_regrets,
)
def regret_curves(rule: str, quick: bool) -> Figures:
    """The regret of each rule against five adversaries, and how fast it solves Leduc poker.

    The largest regret over five adversaries on a simplex of five actions, in units of the widest
    utility, after 100, 1,000 and 10,000 iterations; and NashConv of the average on Leduc poker
    after 300 iterations of CFR with this rule, alternating, averaged linearly. A full run draws
    curves.
    """
    make = RULES[rule]
    found = [regrets(make, adversary) for adversary in ADVERSARIES.values()]
    worst: list[float] = np.max(found, axis=0).tolist()
    run = cfr_run(tree_game("leduc_poker"), make, engine="numpy").run(300)
    return {
        **{f"T = {t:,}": f"{worst[TIMES.index(t)]:.1f}" for t in SHOWN},
        "Leduc, 300 iterations": f"{rk.nash_conv(run.game, run.average):.4f}",
        "_regrets": worst,
    }
