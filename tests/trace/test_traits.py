"""What engines rely on is derived from what a rule computes: published rules, and near misses."""

import math

import numpy as np
import pytest
from attrs import define

import regretkit as rk
from regretkit.minimizers import (
    AdaHedge,
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
        "D": found.only_discounts_on_zero_utility,
        "S": found.ignores_singleton_blocks,
    }
    return "".join(letter for letter, holds in letters.items() if holds)


class ExponentialWeights(RegretMatchingPlus):
    def link(self, regrets):
        return self.simplices.softmax(regrets, 1.0)


class DiscountedExponentialWeights(DiscountedRegretMatching):
    def link(self, regrets):
        return self.simplices.softmax(regrets, 1.0)


PUBLISHED = [
    (RegretMatching(SIZES), "IS", "R + 0 = R"),
    (RegretMatchingPlus(SIZES), "IS", "[Q + 0]+ = Q, as Q is never negative"),
    (LinearRegretMatching(SIZES), "IS", "R + t 0 = R"),
    (DiscountedRegretMatching(SIZES), "DS", "R times a factor by sign"),
    (DiscountedRegretMatching(SIZES, alpha=math.inf, beta=-1.0), "DS", "half of it is discounted"),
    (DiscountedRegretMatching(SIZES, alpha=math.inf, beta=math.inf), "IS", "nothing is discounted"),
    (DiscountedRegretMatching(SIZES, alpha=0.5), "S", "positive regrets vanish too fast"),
    (DiscountedRegretMatching(SIZES, alpha=-math.inf), "S", "positive regrets are dropped"),
    (DiscountedRegretMatchingPlus(SIZES, alpha=math.inf), "IS", "nothing is discounted"),
    (DiscountedRegretMatchingPlus(SIZES, shift=0.0), "IS", "nothing is discounted"),
    (DiscountedRegretMatchingPlus(SIZES, alpha=0.5), "S", "regrets vanish too fast"),
    (PredictiveRegretMatching(SIZES), "S", "it remembers the last utility"),
    (PredictiveRegretMatchingPlus(SIZES), "S", "it remembers the last utility"),
    (Hedge(SIZES, rate=0.5), "IS", "R + 0 = R, and a constant rate"),
    (OptimisticHedge(SIZES, rate=0.5), "S", "it remembers the last utility"),
    (NormalHedge(SIZES), "IS", "R + 0 = R"),
    (ExponentialWeights(SIZES), "IS", "[Q + 0]+ = Q"),
    (
        DiscountedExponentialWeights(SIZES),
        "S",
        "exponential weights are not proportional to regrets",
    ),
]


@pytest.mark.parametrize(
    ("rule", "expected", "reason"), PUBLISHED, ids=lambda value: str(value)[:60]
)
def test_traits_of_published_rules(rule, expected, reason):
    assert traits(rule) == expected, reason


def test_a_rate_that_is_learned_leaves_no_doubt():
    assert "D" not in traits(AdaHedge(SIZES))


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


class Squares(Positive):
    """Discounted, and played in proportion to squares."""

    def _propose(self):
        return self.simplices.normalize(np.maximum(self.regrets, 0.0) ** 2)

    def kept(self):
        return 0.999 * self.regrets


@define(eq=False)
class TwoArrays(Positive):
    """Discounts two arrays."""

    last: np.ndarray = rk.state()

    def _learn(self, utility, strategy):
        t = self.iteration + 1
        self.regrets = self.regrets * (t / (t + 1)) + utility
        self.last = self.last * (t / (t + 1)) + utility


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


def power(exponent):
    def kept(self):
        t = (self.iteration + 1) ** exponent
        return self.regrets * (t / (t + 1.0))

    return kept


def periodic(self):
    return 0.5 * self.regrets if (self.iteration + 1) % 100 == 0 else self.regrets


KEPT = [
    (StartsBelow.kept, "S", "[R]+ + r may be below zero, so that a zero utility changes it"),
    (lambda self: 0.5 * self.regrets, "S", "what is positive is zero after a thousand iterations"),
    (power(0.5), "S", "R t^0.5 / (t^0.5 + 1) vanishes faster than any power"),
    (power(1), "DS", "R t / (t + 1) does not"),
    (lambda self: self.regrets * np.where(self.regrets > 0.0, 1.0, -1.0), "S", "negative factor"),
    (lambda self: self.regrets * np.where(self.regrets > 1.0, 0.5, 1.0), "S", "by size, not sign"),
    (lambda self: self.regrets + 1.0, "", "no utility is needed to change it"),
    (periodic, "S", "R is halved every hundredth time"),
]


@pytest.mark.parametrize(("kept", "expected", "reason"), KEPT)
def test_traits_by_what_is_kept_of_regrets(kept, expected, reason):
    assert traits(type("Mine", (Positive,), {"kept": kept})(SIZES)) == expected, reason


NEAR_MISSES = {
    Positive: "IS",
    StartsAtOne: "IS",  # 1 + 0 = 1, and it plays its only action
    StartsBelow: "",
    ByIteration: "",
    Squares: "S",
    TwoArrays: "",
    Utilities: "I",
    ActionsMatter: "I",
}


@pytest.mark.parametrize("kind", NEAR_MISSES, ids=lambda kind: kind.__name__)
def test_traits_of_near_misses(kind):
    assert traits(kind(SIZES)) == NEAR_MISSES[kind]
