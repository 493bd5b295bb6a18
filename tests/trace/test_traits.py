"""What engines rely on is derived from what a rule computes: published rules, and near misses."""

import math

import numpy as np
import pytest
from attrs import define

import regretkit as rk
from regretkit.minimizers import (
    DiscountedRegretMatching,
    DiscountedRegretMatchingPlus,
    Hedge,
    LinearRegretMatching,
    NormalHedge,
    OptimisticHedge,
    PredictiveRegretMatching,
    PredictiveRegretMatchingPlus,
    RegretMatching,
    RegretMatchingPlus,
)
from regretkit.sets import Simplices
from regretkit.trace import find_kernel

SIZES = Simplices([2, 3, 1])


def traits(rule):
    """Return the traits of a rule as letters."""
    found = find_kernel(rule).traits
    return "I" * found.invariant_to_zero_utility + "S" * found.ignores_singleton_blocks


class ExponentialWeights(RegretMatchingPlus):
    def link(self, regrets):
        return self.simplices.softmax(regrets, 1.0)


PUBLISHED = [
    (RegretMatching(SIZES), "IS", "R + 0 = R"),
    (RegretMatchingPlus(SIZES), "IS", "[Q + 0]+ = Q, as Q is never negative"),
    (LinearRegretMatching(SIZES), "IS", "R + t 0 = R"),
    (DiscountedRegretMatching(SIZES), "S", "R times a factor by sign"),
    (DiscountedRegretMatching(SIZES, alpha=math.inf, beta=math.inf), "IS", "nothing is discounted"),
    (DiscountedRegretMatchingPlus(SIZES, alpha=math.inf), "IS", "nothing is discounted"),
    (DiscountedRegretMatchingPlus(SIZES, shift=0.0), "IS", "nothing is discounted"),
    (DiscountedRegretMatchingPlus(SIZES, alpha=0.5), "S", "regrets vanish too fast"),
    (PredictiveRegretMatching(SIZES), "S", "it remembers the last utility"),
    (PredictiveRegretMatchingPlus(SIZES), "S", "it remembers the last utility"),
    (Hedge(SIZES, rate=0.5), "IS", "R + 0 = R, and a constant rate"),
    (OptimisticHedge(SIZES, rate=0.5), "S", "it remembers the last utility"),
    (NormalHedge(SIZES), "IS", "R + 0 = R"),
    (ExponentialWeights(SIZES), "IS", "[Q + 0]+ = Q"),
]


@pytest.mark.parametrize(
    ("rule", "expected", "reason"), PUBLISHED, ids=lambda value: str(value)[:60]
)
def test_traits_of_published_rules(rule, expected, reason):
    assert traits(rule) == expected, reason


@define(eq=False)
class Positive(rk.SimplexRule):
    """Regret matching, with a hook."""

    regrets: np.ndarray = rk.state()

    def _propose(self):
        return self.simplices.normalize(np.maximum(self.regrets, 0.0))

    def _learn(self, utility, strategy):
        self.regrets = self.kept() + self.simplices.regret(utility, strategy)

    def kept(self):
        return self.regrets


def learn_utilities(self, utility, strategy):
    self.regrets = self.regrets + utility


def propose_by_iteration(self):
    part = 1.0 / (self.iteration + 1)
    return part * self.simplices.uniform() + (1.0 - part) * Positive._propose(self)


def propose_less(self):
    part = 1.0 / (1.0 + self.simplices.repeat(self.simplices.sizes))
    return Positive._propose(self) * (1.0 - part)


def positive(self):
    return np.maximum(self.regrets, 0.0)


@pytest.mark.parametrize(
    ("expected", "start", "members", "reason"),
    [
        ("IS", 0.0, {}, "regret matching"),
        ("IS", 1.0, {}, "1 + 0 = 1, and it plays its only action"),
        ("", -1.0, {"kept": positive}, "the first zero utility changes it"),
        (
            "S",
            0.0,
            {"kept": positive},
            "[R]+ + r may be negative",
        ),
        ("S", 0.0, {"kept": lambda self: 0.5 * self.regrets}, "R is halved"),
        ("", 0.0, {"kept": lambda self: self.regrets + 1.0}, "R changes without utility"),
        ("", 0.0, {"_propose": propose_by_iteration}, "the strategy depends on the iteration"),
        ("I", 0.0, {"_learn": learn_utilities}, "the utility of a single action is added"),
        ("I", 0.0, {"_propose": propose_less}, "a single action has a probability below 1"),
    ],
)
def test_traits_of_near_misses(expected, start, members, reason):
    state = {"regrets": rk.state(start=start), "__annotations__": {"regrets": np.ndarray}}
    assert traits(type("Variant", (Positive,), {**state, **members})(SIZES)) == expected, reason
