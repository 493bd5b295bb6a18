"""A rule that is changed after it was traced is traced anew: what ran before never runs again."""

import math
import sys
import textwrap
import types
from collections import deque
from functools import partial

import numpy as np
import pytest
from attrs import define
from trace_steps import SIMPLICES, assert_traced, written

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
    OFFSETS = [0.5, 1.0]

    def inner(x):
        return x + 1.0

    def helper(x, shift=0.25):
        return inner(x) * SCALE + shift + TABLE["floor"] + OFFSETS[0]

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

        @staticmethod
        def fixed(x):
            return x + 0.0625

        def method(self, x):
            return helper(x) + self.constant

        def _propose(self):
            return self.simplices.normalize(np.abs(self.regrets) + self.prior)

        def _learn(self, utility, strategy):
            r = self.part.apply(self.simplices.regret(utility, strategy))
            r = self.method(r) * self.doubled + self.inherited(r) + self.fixed(r) + triple(r)
            self.regrets = self.regrets * self.numbers["eta"] + self.link(r) + other.shift
"""


# What can be changed in place makes every look-up trace anew: without it, a kernel is kept.
LEAN = CELL
for mutable in (' + TABLE["floor"] + OFFSETS[0]', '    TABLE = {"floor": 0.125}\n'):
    LEAN = LEAN.replace(mutable, "")
for mutable in ("    OFFSETS = [0.5, 1.0]\n", " + self.prior"):
    LEAN = LEAN.replace(mutable, "")
LEAN = LEAN.replace(' * self.numbers["eta"]', "").replace('lambda: {"eta": 0.5}', "tuple")


def cell(source=CELL):
    """Return the namespace of a notebook in which a rule was defined, and one such rule."""
    namespace = {"__name__": "__main__", "other": types.ModuleType("other")}
    namespace["other"].shift = 0.5
    exec(textwrap.dedent(source), namespace)
    prior = np.linspace(0.5, 1.0, SIMPLICES.dimension) if source is CELL else None
    return namespace, namespace["Mine"](SIMPLICES, prior=prior)


IN_PLACE = {
    "entry of a table": "TABLE['floor'] = 7.0",
    "entry of a list": "OFFSETS[0] = 7.0",
    "array in place": "rule.prior[0] = 5.0",
    "array anew": "rule.prior = rule.prior[::-1].copy()",
    "hyperparameter in a dict": "rule.numbers['eta'] = 0.9",
}
CHANGES = {
    "helper anew": "def helper(x, shift=0.25): return inner(x) - 3.0 * SCALE",
    "helper of the helper anew": "def inner(x): return 0.5 * x - 1.0",
    "constant anew": "SCALE = -3.0",
    "other module": "other.shift = 4.0",
    "hyperparameter": "rule.rate = 0.3",
    "function that is held": "rule.link = np.square",
    "object that is held": "rule.part = Part(); rule.part.strength = -1.0",
    "number of an object that is held": "rule.part.strength = 3.0",
    "class of an object that is held": "Part.apply = lambda self, x: x - 1.0",
    "method of the class": "Mine.method = lambda self, x: 2.0 * x",
    "method of the object": "rule.method = lambda x: 4.0 * x",
    "method of the parent": "Parent.inherited = lambda self, x: -x",
    "hook of the class": "Mine._propose = lambda self: self.simplices.softmax(self.regrets)",
    "property of the class": "Mine.doubled = property(lambda self: -self.rate)",
    "static method": "Mine.fixed = staticmethod(lambda x: -5.0 * x)",
    "constant of the class": "Mine.constant = 2.0",
    "closure anew": "triple = made(5.0)",
    "cell of a closure": "triple.__closure__[0].cell_contents = 5.0",
    "default argument": "helper.__defaults__ = (4.0,)",
    "code of a function": "helper.__code__ = (lambda x, shift: 3.0 * x).__code__",
}
"""What is run in a later cell of the notebook."""


def change(name, namespace, rule):
    namespace["rule"] = rule
    exec((IN_PLACE | CHANGES)[name], namespace)


@pytest.mark.parametrize("name", IN_PLACE | CHANGES)
def test_after_a_change_the_kernel_is_that_of_the_changed_rule(name):
    namespace, rule = cell()
    assert_traced(rule)
    change(name, namespace, rule)
    assert_traced(rule)


@pytest.mark.parametrize("name", CHANGES)
def test_a_kernel_that_was_kept_is_not_after_a_change(name):
    namespace, rule = cell(LEAN)
    assert_traced(rule)
    assert find_kernel(rule) is find_kernel(rule)
    change(name, namespace, rule)
    assert_traced(rule)


def test_a_class_that_is_defined_anew_has_a_kernel_of_its_own():
    namespace, old = cell()
    assert_traced(old)
    exec(textwrap.dedent(CELL).replace("np.abs(self.regrets)", "self.regrets**2"), namespace)
    new = namespace["Mine"](SIMPLICES, prior=np.ones(SIMPLICES.dimension))
    assert_traced(new)
    assert_traced(old)


KUHN = games.kuhn_poker()


@pytest.mark.deep
@pytest.mark.parametrize(
    "name",
    [
        *("helper anew", "constant anew", "hyperparameter", "array in place", "entry of a table"),
        *("method of the class", "class of an object that is held", "cell of a closure"),
    ],
)
def test_a_run_in_machine_code_follows_a_change(name):
    averages = []
    for engine in ("numpy", "compiled"):
        namespace, _ = cell()
        kind = namespace["Mine"]

        def local(simplices, kind=kind):
            return kind(simplices, prior=np.linspace(0.5, 1.0, simplices.dimension))

        minimizers = [CFR(tree, local) for tree in KUHN.domains]
        run = SelfPlay(KUHN, minimizers, engine=engine)
        run.run(3)
        for minimizer in minimizers:
            change(name, namespace, minimizer.rule)
        run.run(4)
        averages.append(run.average)
    for one, other in zip(*averages, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)


# What is held, or reached by another way


def shifted(x):
    return x + SHIFT


def twice(x):
    return 2.0 * x


SHIFT = 0.25
PAIR = (shifted, {"factor": 0.5})


class Descriptor:
    """Reads a number of its own, which can change."""

    number = 1.0

    def __get__(self, held, kind):
        return type(self).number


@define(eq=False, slots=False)
class Reading(rk.SimplexRule):
    """Regret matching that passes its regrets through something that it holds."""

    regrets: np.ndarray = rk.state()
    described = Descriptor()

    def __attrs_post_init__(self):
        super().__attrs_post_init__()
        self.prior = np.linspace(0.5, 1.0, self.dimension)
        self.link, self.held = twice, [1.0]

    def _propose(self):
        return self.simplices.softmax(self.regrets, 0.5)

    def _learn(self, utility, strategy):
        r = self.link(self.simplices.regret(utility, strategy))
        self.regrets = self.regrets + self.change(r)


VIEW, HELD = "return r * self.prior[:]", "return r * self.held[0] + self.described"
TUPLE = "return PAIR[0](r) * PAIR[1]['factor']"
GLOBAL = "monkeypatch.setitem(globals(), 'SHIFT', 3.0)"


@pytest.mark.parametrize(
    ("read", "change"),
    [
        ("return r * (2.0 * self.prior)", "rule.prior[:] = rule.prior[::-1].copy()"),
        (VIEW, "rule.prior[:] = rule.prior[::-1].copy()"),
        (TUPLE, GLOBAL),
        (TUPLE, "monkeypatch.setitem(PAIR[1], 'factor', 2.0)"),
        (VIEW, f"rule.link = shifted; find_kernel(rule); {GLOBAL}"),
        (VIEW, f"rule.link = partial(lambda f, x: f(x), shifted); find_kernel(rule); {GLOBAL}"),
        (HELD, "rule.held = deque([1.0]); find_kernel(rule); rule.held[0] = 4.0"),
        (HELD, "rule.held = np.array(1.0), 2.0; find_kernel(rule); rule.held[0][...] = 4.0"),
        (HELD, "monkeypatch.setattr(Descriptor, 'number', 5.0)"),
        (
            "import changed_helper; return changed_helper.change(r)",
            "monkeypatch.setattr(sys.modules['changed_helper'], 'change', lambda x: -x)",
        ),
        ("return globals()['shifted'](r) * getattr(self, 'prior')", GLOBAL),
        ("return abs(r)", "monkeypatch.setitem(globals(), 'abs', lambda x: 3.0 * x)"),
        (VIEW, "rule.__class__ = type('B', (type(rule),), {'change': lambda self, r: 3.0 * r})"),
    ],
)
def test_what_changes_out_of_sight_counts(read, change, monkeypatch):
    helper = types.ModuleType("changed_helper")
    helper.change = twice
    monkeypatch.setitem(sys.modules, "changed_helper", helper)
    rule = type("Mine", (Reading,), {"change": written(read, globals())})(SIMPLICES)
    assert_traced(rule)
    names = {"rule": rule, "monkeypatch": monkeypatch, "partial": partial, "deque": deque}
    exec(change, globals(), names)
    assert_traced(rule)


@pytest.mark.parametrize(("one", "other"), [(0.0, -0.0), (1, True), ((1.0, 0.0), (1, -0.0))])
def test_equal_numbers_that_are_not_the_same_have_kernels_of_their_own(one, other):
    def change(self, r):
        part = self.held[1] if isinstance(self.held, tuple) else self.held
        return r * (2.0 + math.copysign(1.0, part)) * (1.0 + isinstance(part, bool))

    kind = type("Mine", (Reading,), {"change": change})
    for held in (one, other):
        rule = kind(SIMPLICES)
        rule.held = held
        assert_traced(rule)
