"""A rule that has changed is traced again: a new run never runs old code."""

import math
import textwrap
import types

import numpy as np
import pytest
from attrs import define
from trace_steps import SIMPLICES, assert_traced

import regretkit as rk
from regretkit import SelfPlay, games
from regretkit.circuits import CFR
from regretkit.trace import find_kernel

CELL = """
    import attrs
    import numpy as np
    import regretkit as rk

    SCALE = 2.0
    TABLE = {"floor": 0.125}

    def inner(x):
        return x + 1.0

    def helper(x, shift=0.25):
        return inner(x) * SCALE + shift + TABLE["floor"]

    def made(factor):
        def multiply(x):
            return factor * x
        return multiply

    triple = made(3.0)

    class Part:
        strength = 0.5

        def apply(self, x):
            return self.strength * x

    class Parent(rk.SimplexRule):
        def inherited(self, x):
            return x * 0.75

    @attrs.define(eq=False, slots=False)
    class Mine(Parent):
        rate: float = attrs.field(default=1.0, kw_only=True)
        prior: np.ndarray = attrs.field(default=None, kw_only=True)
        numbers: dict = attrs.field(factory=lambda: {"eta": 0.5}, kw_only=True)
        link: object = attrs.field(default=np.abs, kw_only=True)
        part: object = attrs.field(factory=Part, kw_only=True)
        regrets: np.ndarray = rk.state()
        constant = 0.1

        @property
        def doubled(self):
            return 2.0 * self.rate

        def method(self, x):
            return helper(x) + self.constant

        def _propose(self):
            return self.simplices.normalize(np.abs(self.regrets) + self.prior)

        def _learn(self, utility, strategy):
            r = self.part.apply(self.simplices.regret(utility, strategy))
            r = self.method(r) * self.doubled + self.inherited(r) + triple(r)
            self.regrets = self.regrets * self.numbers["eta"] + self.link(r) + other.shift
"""


def cell():
    """Return the namespace of a notebook in which a rule was defined."""
    namespace = {"__name__": "__main__", "other": types.ModuleType("other")}
    namespace["other"].shift = 0.5
    exec(textwrap.dedent(CELL), namespace)
    return namespace


def mine(namespace, simplices=SIMPLICES):
    return namespace["Mine"](simplices, prior=np.linspace(0.5, 1.0, simplices.dimension))


HYPERPARAMETERS = {
    "number": "rule.rate = 0.3",
    "array in place": "rule.prior[0] = 5.0",
    "entry of a dict": "rule.numbers['eta'] = 0.9",
    "function": "rule.link = np.square",
    "object": "rule.part = Part(); rule.part.strength = -1.0",
    "number of an object": "rule.part.strength = 3.0",
    "class": "rule.__class__ = type('B', (Mine,), {'method': lambda self, r: 3.0 * r})",
}
OTHERS = {
    "helper": "def helper(x, shift=0.25): return inner(x) - 3.0 * SCALE",
    "helper of the helper": "def inner(x): return 0.5 * x - 1.0",
    "global": "SCALE = -3.0",
    "entry of a global table": "TABLE['floor'] = 7.0",
    "other module": "other.shift = 4.0",
    "class of an object that is held": "Part.apply = lambda self, x: x - 1.0",
    "method of the parent": "Parent.inherited = lambda self, x: -x",
    "hook of the class": "Mine._propose = lambda self: self.simplices.softmax(self.regrets)",
    "property of the class": "Mine.doubled = property(lambda self: -self.rate)",
    "cell of a closure": "triple.__closure__[0].cell_contents = 5.0",
    "class anew": CELL.replace("np.abs(self.regrets)", "self.regrets**2"),
}
"""What is run in a later cell of the notebook."""


@pytest.mark.parametrize("name", HYPERPARAMETERS)
def test_after_a_hyperparameter_has_changed_the_rule_is_traced_again(name):
    namespace = cell()
    rule = namespace["rule"] = mine(namespace)
    assert_traced(rule)
    assert find_kernel(rule) is find_kernel(rule)
    exec(HYPERPARAMETERS[name], namespace)
    assert_traced(rule)


@pytest.mark.parametrize("name", OTHERS)
def test_a_new_rule_is_traced_as_it_is_then(name):
    namespace = cell()
    assert_traced(mine(namespace))
    exec(textwrap.dedent(OTHERS[name]), namespace)
    assert_traced(mine(namespace))


KUHN = games.kuhn_poker()


@pytest.mark.parametrize(
    "name", [*(pytest.param(n, marks=pytest.mark.deep) for n in OTHERS), "helper", "global"]
)
def test_a_new_run_with_the_same_minimizers_never_runs_old_code(name):
    averages = []
    for engine in ("numpy", "compiled"):
        namespace = cell()
        minimizers = [CFR(tree, lambda s, space=namespace: mine(space, s)) for tree in KUHN.domains]
        SelfPlay(KUHN, minimizers, engine=engine).run(3)
        exec(textwrap.dedent(OTHERS[name]), namespace)
        averages.append(SelfPlay(KUHN, minimizers, engine=engine).run(4).average)
    for one, other in zip(*averages, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)


@define(eq=False, slots=False)
class Holding(rk.SimplexRule):
    """Regret matching that scales its regrets by what it holds."""

    regrets: np.ndarray = rk.state()
    held: object = None

    def _propose(self):
        return self.simplices.softmax(self.regrets, 0.5)

    def _learn(self, utility, strategy):
        part = self.held[1] if isinstance(self.held, tuple) else self.held
        factor = (2.0 + math.copysign(1.0, part)) * (1.0 + isinstance(part, bool))
        self.regrets = self.regrets + factor * self.simplices.regret(utility, strategy)


@pytest.mark.parametrize(("one", "other"), [(0.0, -0.0), (1, True), ((1.0, 0.0), (1, -0.0))])
def test_equal_numbers_that_are_not_the_same_are_told_apart(one, other):
    rule = Holding(SIMPLICES, held=one)
    assert_traced(rule)
    rule.held = other
    assert_traced(rule)
