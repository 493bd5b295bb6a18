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
    Restart,
)
from regretkit.trace import UntraceableError, find_kernel

HEDGE = partial(rk.Hedge, rate=0.3)


def cubed(t):
    return 1.0 if t < 4 else float(t) ** 1.5


CIRCUITS = {
    "discount": lambda s: Discount(rk.RegretMatching(s), weight=float),
    "discount by a function": lambda s: Discount(rk.PredictiveRegretMatching(s), weight=cubed),
    "explore": lambda s: ExplorationMixture(HEDGE(s), gamma=0.1),
    "explore elsewhere": lambda s: ExplorationMixture(
        rk.RegretMatching(s), gamma=0.2, reference=s.normalize(np.arange(1.0, 12.0))
    ),
    "average": lambda s: LastIterateByAveraging(HEDGE(s)),
    "nested": lambda s: ExplorationMixture(
        LastIterateByAveraging(Discount(rk.RegretMatchingPlus(s), weight=float)), gamma=0.3
    ),
}


@pytest.mark.parametrize("name", CIRCUITS)
def test_a_circuit_around_a_rule_is_traced_with_it(name):
    minimizer = CIRCUITS[name](SIMPLICES)
    assert_traced(minimizer, iterations=10)
    moved = np.abs(minimizer.next_strategy() - SIMPLICES.uniform()).max()
    assert moved > 0.01


def test_a_part_that_is_played_as_it_is_learns_from_the_value_that_was_computed():
    # Otherwise its strategy would be computed a second time.
    around = find_kernel(Discount(rk.RegretMatching(SIMPLICES), weight=float))
    assert " / " not in around.learn.source.split("def learn")[1]


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda s: rk.SwapRegret(s, rk.RegretMatching), "plays on another set"),
        (
            lambda s: Restart(rk.RegretMatching(s), every=3),
            "ValueError: state must be a dict with the entries",
        ),
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
    many, each = Counting(SIMPLICES), Counting(SIMPLICES)
    schedule = find_kernel(many).parameters
    start = {"count": 0.0, "period": 1.0, "total": 0.0}
    rows, after = schedule.following(start, 0, 20)
    numbers = start
    for t in range(20):
        pair, numbers = schedule.following(numbers, t, 1)
        np.testing.assert_array_equal(pair[1], rows[t + 1])
        each.observe_utility(np.zeros(11))
        assert numbers == {name: getattr(each, name) for name in numbers}
    assert after == numbers


class Measuring(Counting):
    """Lets a number depend on a utility, of all blocks."""

    def _learn(self, utility, strategy):
        self.total = float(np.abs(utility).max())
        self.regrets += utility


def test_a_number_that_depends_on_utilities_is_refused():
    with pytest.raises(UntraceableError, match=r"\.max\(\) mixes the blocks.*test_circuits.py:\d+"):
        find_kernel(Measuring(SIMPLICES))


@define(eq=False)
class Noisy(rk.SimplexRule):
    """Draws from a generator that it makes anew."""

    regrets: np.ndarray = rk.state()

    def _propose(self):
        return self.simplices.softmax(self.regrets)

    def _learn(self, utility, strategy):
        self.regrets = self.regrets + np.random.default_rng().normal(size=utility.size)


def test_numpy_draws_random_numbers_while_a_rule_is_traced_and_the_rule_is_refused():
    # NumPy's compiled code makes arrays by the names that tracing replaces for rules.
    with pytest.raises(UntraceableError, match="computes something else every time"):
        find_kernel(Noisy(SIMPLICES))


class Shared(Noisy):
    """Makes one array of two, of which the next change in place would change both."""

    def __attrs_post_init__(self):
        super().__attrs_post_init__()
        self.other = np.zeros(self.dimension)

    def _learn(self, utility, strategy):
        self.regrets = self.regrets + utility
        self.other = self.regrets


class Single(Noisy):
    """Asks for numbers of single precision."""

    def _learn(self, utility, strategy):
        self.regrets = np.add(self.regrets, utility, dtype=np.float32)


@pytest.mark.parametrize(
    ("rule", "reason"), [(Shared, "become one array; write"), (Single, "numbers of float32")]
)
def test_what_numpy_would_compute_otherwise_is_refused(rule, reason):
    with pytest.raises(UntraceableError, match=reason):
        find_kernel(rule(SIMPLICES))


class MasksOfBooleans(Noisy):
    """Counts positive utilities once."""

    def _learn(self, utility, strategy):
        seen = utility > 0
        seen[utility > 1] = 0.5
        self.regrets = self.regrets + utility + 2.0 * seen


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


@pytest.mark.parametrize("kind", [MasksOfBooleans, SeveralParts])
def test_rules_of_other_forms_are_traced(kind):
    assert_traced(kind(SIMPLICES), iterations=10)
