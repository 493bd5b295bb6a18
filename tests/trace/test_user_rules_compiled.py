"""Rules that users write run in machine code, and random rules do in theirs as in plain Python."""

import numpy as np
import pytest
from attrs import define
from random_rules import random_rule
from trace_steps import RTOL, are_finite, by_kernel, errors
from user_rules import NEEDS_PYTHON, RULES

import regretkit as rk
from regretkit import games, play
from regretkit._machine_code import MachineCode
from regretkit.sets import Simplices
from regretkit.trace import UntraceableError, find_kernel

SIMPLICES = Simplices([2, 3])
GAMES = {"kuhn": (games.kuhn_poker, 60), "leduc": (games.leduc_poker, 15)}


def kernel_of(make, simplices=SIMPLICES):
    try:
        return find_kernel(make(simplices))
    except UntraceableError as error:
        return str(error)


COMPILED = [(name, make) for name, make in RULES if not isinstance(kernel_of(make), str)]


def test_at_least_17_of_20_rules_have_a_kernel_and_the_others_say_why_not():
    reasons = {name: kernel_of(make) for name, make in RULES}
    refused = {name: reason for name, reason in reasons.items() if isinstance(reason, str)}
    assert len(refused) <= 0.15 * len(RULES)
    assert refused.keys() <= NEEDS_PYTHON.keys()
    for reason in refused.values():
        assert ".py:" in reason


@define(eq=False)
class Dividing(rk.SimplexRule):
    """Divides and takes powers, which its kernel guards where it is plain Python."""

    regrets: np.ndarray = rk.state()

    def _propose(self):
        return self.simplices.softmax(self.regrets / (1.0 + np.abs(self.regrets) ** 1.3))

    def _learn(self, utility, strategy):
        self.regrets = self.regrets + self.simplices.regret(utility, strategy) / 3.0


def test_what_is_compiled_is_the_code_that_divides_as_numpy_does():
    runs = [
        rk.solve(games.kuhn_poker(), play.Algorithm(Dividing), iterations=5, engine=engine)
        for engine in ("numpy", "compiled")
    ]
    for one, other in zip(*(run.average for run in runs), strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)


@pytest.mark.deep
@pytest.mark.parametrize(
    ("make", "game"),
    [pytest.param(make, "kuhn", id=f"{name}-kuhn") for name, make in COMPILED]
    + [pytest.param(make, "leduc", id=f"{name}-leduc") for name, make in COMPILED[::4]],
)
def test_machine_code_plays_as_numpy_does(make, game):
    build, iterations = GAMES[game]
    runs = [
        rk.solve(build(), play.Algorithm(make), iterations=iterations, engine=engine)
        for engine in ("numpy", "compiled")
    ]
    for one, other in zip(*(run.average for run in runs), strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-9)


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(24))
def test_machine_code_of_a_random_rule_is_its_plain_python(seed):
    generator = np.random.default_rng(seed)
    simplices = Simplices([3, 1, 7, 2])
    rule = random_rule(seed)[1](simplices)
    kernel = find_kernel(rule)
    compiled = [MachineCode(function, {}) for function in (kernel.propose, kernel.learn)]
    for t in range(3):
        state = {n: generator.normal(size=a.size) for n, a in rule._learned().items()}
        utility = generator.normal(size=simplices.dimension)
        plain = by_kernel(kernel, simplices, t, state, utility)
        found = by_kernel(
            kernel, simplices, t, state, utility, strategy=plain["strategy"], compiled=compiled
        )
        wrong = errors(simplices, found, plain, np.ones(simplices.blocks)) > RTOL
        assert not (wrong & are_finite(simplices, plain)).any()
