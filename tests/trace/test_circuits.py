"""Circuits and single numbers: what is traced of them is what NumPy computes."""

from functools import partial

import numpy as np
import pytest
from attrs import define, field
from trace_steps import SIMPLICES, assert_traced

import regretkit as rk
from regretkit.circuits import (
    Discount,
    ExplorationMixture,
    LastIterateByAveraging,
    Regularized,
    Restart,
)
from regretkit.trace import UntraceableError, find_kernel

HEDGE = partial(rk.Hedge, rate=0.3)


def cubed(t):
    return 1.0 if t < 4 else float(t) ** 1.5


class SeveralParts(rk.SimplexRule):
    """Plays the mean of rules that it holds in a list."""

    regrets: np.ndarray = rk.state()

    def __attrs_post_init__(self):
        super().__attrs_post_init__()
        self.rules = [rk.RegretMatching(self.simplices), HEDGE(self.simplices)]

    def _propose(self):
        return sum(rule.next_strategy() for rule in self.rules) / len(self.rules)

    def _learn(self, utility, strategy):
        for rule in self.rules:
            rule.observe_utility(utility)


CIRCUITS = {
    "discount": lambda s: Discount(rk.RegretMatching(s), weight=float),
    "discount by a function": lambda s: Discount(rk.PredictiveRegretMatching(s), weight=cubed),
    "explore": lambda s: ExplorationMixture(HEDGE(s), gamma=0.1),
    "average": lambda s: LastIterateByAveraging(HEDGE(s)),
    "nested": lambda s: ExplorationMixture(
        LastIterateByAveraging(Discount(rk.RegretMatchingPlus(s), weight=float)), gamma=0.3
    ),
    "regularized": lambda s: Regularized(
        rk.RegretMatchingPlus(s), lambda u, x, r: u - 0.1 * (x - r), every=3
    ),
    "several": SeveralParts,
}


@pytest.mark.parametrize("name", CIRCUITS)
def test_a_circuit_around_a_rule_is_traced_with_it(name):
    find_kernel(CIRCUITS[name](SIMPLICES))  # of an object that is gone
    minimizer = CIRCUITS[name](SIMPLICES)
    assert_traced(minimizer, iterations=10)
    assert np.abs(minimizer.next_strategy() - SIMPLICES.uniform()).max() > 0.01


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda s: rk.SwapRegret(s, rk.RegretMatching), "plays on another set"),
        (lambda s: Restart(rk.RegretMatching(s), every=3), "state must be a dict"),
    ],
)
def test_other_circuits_say_why_they_are_not(make, reason):
    with pytest.raises(UntraceableError, match=reason):
        find_kernel(make(SIMPLICES))


# Single numbers


@define(eq=False)
class Counting(rk.SimplexRule):
    """Regret matching that counts by itself, adds numbers up, and forgets at powers of two."""

    step: int = field(default=1, kw_only=True)
    regrets: np.ndarray = rk.state()
    count: int = field(default=0, init=False)
    period: int = field(default=1, init=False)
    total: float = field(default=0.0, init=False)

    def _propose(self):
        rate = 1.0 / np.sqrt(1.0 + self.total)
        return self.simplices.softmax(self.regrets, rate)

    def _learn(self, utility, strategy):
        self.count += self.step
        self.total = 0.5 * self.total + self.count
        self.regrets += self.count * self.simplices.regret(utility, strategy)
        if self.count >= self.period:
            self.period *= 2
            self.regrets *= 0.5


@pytest.mark.parametrize("step", [1, 3])
def test_numbers_that_a_rule_learns_are_traced(step):
    rule = Counting(SIMPLICES, step=step)
    assert set(find_kernel(rule).numbers) == {"count", "period", "total"}
    assert_traced(rule, iterations=10)


def test_parameters_of_many_iterations_are_those_of_each():
    rule = Counting(SIMPLICES)
    schedule = find_kernel(rule).parameters
    start = numbers = {"count": 0.0, "period": 1.0, "total": 0.0}
    rows, after = schedule.following(start, 0, 20)
    for t in range(20):
        pair, numbers = schedule.following(numbers, t, 1)
        np.testing.assert_array_equal(pair[1], rows[t + 1])
        rule.observe_utility(np.zeros(11))
        assert numbers == {name: getattr(rule, name) for name in numbers}
    assert after == numbers


def sharing(self, utility):
    self.regrets = self.regrets + utility
    self.other = self.regrets


def of_single_precision(self, utility):
    self.regrets = np.add(self.regrets, utility, dtype=np.float32)


@pytest.mark.parametrize(
    ("learn", "reason"),
    [
        (sharing, "become one array; write"),
        (of_single_precision, "numbers of float32"),
    ],
)
def test_what_is_no_number_of_the_iteration_or_no_array_of_its_own_is_refused(learn, reason):
    class Mine(Counting):
        def _learn(self, utility, strategy):
            learn(self, utility)

    rule = Mine(SIMPLICES)
    rule.other = np.zeros(rule.dimension)
    with pytest.raises(UntraceableError, match=reason):
        find_kernel(rule)
