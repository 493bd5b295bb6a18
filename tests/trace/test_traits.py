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
    letters = {
        "I": found.invariant_to_zero_utility,
        "S": found.ignores_singleton_blocks,
    }
    return "".join(letter for letter, holds in letters.items() if holds)


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


# Near misses


@define(eq=False)
class Positive(rk.SimplexRule):
    """Regret matching."""

    regrets: np.ndarray = rk.state()

    def _propose(self):
        return self.simplices.normalize(np.maximum(self.regrets, 0.0))

    def _learn(self, utility, strategy):
        self.regrets = self.kept() + self.simplices.regret(utility, strategy)

    def kept(self):
        return self.regrets


@define(eq=False)
class StartsAtOne(Positive):
    """Starts at 1, where there is one action as well."""

    regrets: np.ndarray = rk.state(start=1.0)


@define(eq=False)
class StartsBelow(Positive):
    """[Q + r]+ that starts below zero, which the first zero utility changes."""

    regrets: np.ndarray = rk.state(start=-1.0)

    def kept(self):
        return np.maximum(self.regrets, 0.0)


class ByIteration(Positive):
    """Plays otherwise in every iteration."""

    def _propose(self):
        part = 1.0 / (self.iteration + 1)
        return part * self.simplices.uniform() + (1.0 - part) * super()._propose()


class Utilities(Positive):
    """Adds up utilities, also where there is one action."""

    def _learn(self, utility, strategy):
        self.regrets = self.regrets + utility


class ActionsMatter(Positive):
    """Plays less than everything where there is one action."""

    def _propose(self):
        return super()._propose() * (
            1.0 - 1.0 / (1.0 + self.simplices.repeat(self.simplices.sizes))
        )


KEPT = [
    (StartsBelow.kept, "S", "[R]+ + r may be below zero, so that a zero utility changes it"),
    (lambda self: 0.5 * self.regrets, "S", "R is halved"),
    (lambda self: self.regrets + 1.0, "", "no utility is needed to change it"),
]


@pytest.mark.parametrize(("kept", "expected", "reason"), KEPT)
def test_traits_by_what_is_kept_of_regrets(kept, expected, reason):
    assert traits(type("Mine", (Positive,), {"kept": kept})(SIZES)) == expected, reason


NEAR_MISSES = {
    Positive: "IS",
    StartsAtOne: "IS",  # 1 + 0 = 1, and it plays its only action
    StartsBelow: "",
    ByIteration: "",
    Utilities: "I",
    ActionsMatter: "I",
}


@pytest.mark.parametrize("kind", NEAR_MISSES, ids=lambda kind: kind.__name__)
def test_traits_of_near_misses(kind):
    assert traits(kind(SIZES)) == NEAR_MISSES[kind]
