"""The leaves that benchmarks compare, with hyperparameters to start from."""

from collections.abc import Callable
from functools import partial

import numpy as np

import regretkit as rk
from regretkit import minimizers
from regretkit.sets import Simplices

Make = Callable[[Simplices], rk.RegretMinimizer]


def dilated(simplices: Simplices) -> rk.RegretMinimizer:
    """Return mirror descent on a tree that decides at all simplices side by side."""
    tree = rk.DecisionTree(np.zeros(simplices.blocks, dtype=np.int64), simplices.sizes)
    return minimizers.DilatedMirrorDescent(tree, rate=0.1)


def _ftrl(regularizer: minimizers.Regularizer, optimistic: bool = False) -> Make:
    return partial(
        minimizers.FollowTheRegularizedLeader,
        regularizer=regularizer,
        rate=0.1,
        optimistic=optimistic,
    )


def _omd(regularizer: minimizers.Regularizer, optimistic: bool = False) -> Make:
    return partial(
        minimizers.OnlineMirrorDescent, regularizer=regularizer, rate=0.1, optimistic=optimistic
    )


RULES: dict[str, Make] = {
    "RegretMatching": rk.RegretMatching,
    "RegretMatchingPlus": rk.RegretMatchingPlus,
    "LinearRegretMatching": rk.LinearRegretMatching,
    "DiscountedRegretMatching": rk.DiscountedRegretMatching,
    "DiscountedRegretMatchingPlus": minimizers.DiscountedRegretMatchingPlus,
    "HSDiscountedRegretMatching, horizon 300": partial(
        minimizers.contrib.HSDiscountedRegretMatching, horizon=300
    ),
    "PredictiveRegretMatching": rk.PredictiveRegretMatching,
    "PredictiveRegretMatchingPlus": rk.PredictiveRegretMatchingPlus,
    "PredictiveDiscountedRegretMatchingPlus": minimizers.PredictiveDiscountedRegretMatchingPlus,
    "AsymmetricRegretMatchingPlus": minimizers.contrib.AsymmetricRegretMatchingPlus,
    "AdaptiveAsymmetricRegretMatchingPlus": minimizers.contrib.AdaptiveAsymmetricRegretMatchingPlus,
    "SmoothPredictiveRegretMatchingPlus": partial(
        minimizers.contrib.SmoothPredictiveRegretMatchingPlus, rate=0.1
    ),
    "SmoothOptimisticRegretMatchingPlus": partial(
        minimizers.contrib.SmoothOptimisticRegretMatchingPlus, rate=0.1
    ),
    "StablePredictiveRegretMatchingPlus": partial(
        minimizers.contrib.StablePredictiveRegretMatchingPlus, floor=1.0
    ),
    "ExtragradientRegretMatchingPlus": partial(
        minimizers.contrib.ExtragradientRegretMatchingPlus, rate=0.1
    ),
    "IREGPredictiveRegretMatchingPlus": minimizers.contrib.IREGPredictiveRegretMatchingPlus,
    "Hedge, rate 0.1": partial(rk.Hedge, rate=0.1),
    "OptimisticHedge, rate 0.1": partial(rk.OptimisticHedge, rate=0.1),
    "AdaHedge": minimizers.AdaHedge,
    "NormalHedge": minimizers.NormalHedge,
    "MagneticMirrorDescent, rate 0.1": partial(
        minimizers.MagneticMirrorDescent, rate=0.1, temperature=0.1
    ),
    "MagneticMirrorDescent, optimistic, rate 0.1": partial(
        minimizers.MagneticMirrorDescent, rate=0.1, temperature=0.1, optimistic=True
    ),
    "ReflectedMirrorDescent, Euclidean, rate 0.1": partial(
        minimizers.ReflectedMirrorDescent, regularizer=minimizers.Euclidean(), rate=0.1
    ),
    "FTRL, Euclidean, rate 0.1": _ftrl(minimizers.Euclidean()),
    "FTRL, Euclidean, optimistic, rate 0.1": _ftrl(minimizers.Euclidean(), optimistic=True),
    "OMD, Euclidean, rate 0.1": _omd(minimizers.Euclidean()),
    "OMD, Euclidean, optimistic, rate 0.1": _omd(minimizers.Euclidean(), optimistic=True),
    "FTRL, Tsallis, rate 0.1": _ftrl(minimizers.Tsallis()),
    "FTRL, LogBarrier, rate 0.1": _ftrl(minimizers.LogBarrier()),
}
"""Rules that play any simplices."""

ON_SETS: dict[str, Make] = {
    "OnlineGradientDescent, rate 0.1": partial(minimizers.OnlineGradientDescent, rate=0.1),
    "ConicBlackwell": minimizers.ConicBlackwell,
    "DilatedMirrorDescent, rate 0.1": dilated,
}
"""Rules that play other sets too, and see simplices, or a tree made of them, as one set."""

LEFT_OUT: dict[type[rk.RegretMinimizer], str] = {
    minimizers.Composed: "costs what the roles cost of which it is made",
    minimizers.Point: "plays a constant and learns nothing",
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
