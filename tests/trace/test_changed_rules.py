"""A rule that is changed after it was traced is traced anew: what ran before never runs again."""

import textwrap
import types

import numpy as np
import pytest
from trace_steps import SIMPLICES, assert_traced

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


def helper_anew(namespace, rule):
    exec("def helper(x, shift=0.25):\n    return inner(x) - 3.0 * SCALE", namespace)


def inner_helper_anew(namespace, rule):
    exec("def inner(x):\n    return 0.5 * x - 1.0", namespace)


def constant_anew(namespace, rule):
    namespace["SCALE"] = -3.0


def table_entry(namespace, rule):
    namespace["TABLE"]["floor"] = 7.0


def list_entry(namespace, rule):
    namespace["OFFSETS"][0] = 7.0


def other_module(namespace, rule):
    namespace["other"].shift = 4.0


def hyperparameter(namespace, rule):
    rule.rate = 0.3


def array_in_place(namespace, rule):
    rule.prior[0] = 5.0


def array_anew(namespace, rule):
    rule.prior = rule.prior[::-1].copy()


def hyperparameter_in_a_dict(namespace, rule):
    rule.numbers["eta"] = 0.9


def function_that_is_held(namespace, rule):
    rule.link = np.square


def object_that_is_held(namespace, rule):
    rule.part = namespace["Part"]()
    rule.part.strength = -1.0


def number_of_an_object_that_is_held(namespace, rule):
    rule.part.strength = 3.0


def class_of_an_object_that_is_held(namespace, rule):
    namespace["Part"].apply = lambda self, x: x - 1.0


def method_of_the_class(namespace, rule):
    namespace["Mine"].method = lambda self, x: 2.0 * x


def method_of_the_object(namespace, rule):
    rule.method = lambda x: 4.0 * x


def method_of_the_parent(namespace, rule):
    namespace["Parent"].inherited = lambda self, x: -x


def hook_of_the_class(namespace, rule):
    namespace["Mine"]._propose = lambda self: self.simplices.softmax(self.regrets)


def property_of_the_class(namespace, rule):
    namespace["Mine"].doubled = property(lambda self: -self.rate)


def static_method(namespace, rule):
    namespace["Mine"].fixed = staticmethod(lambda x: -5.0 * x)


def constant_of_the_class(namespace, rule):
    namespace["Mine"].constant = 2.0


def closure_anew(namespace, rule):
    namespace["triple"] = namespace["made"](5.0)


def cell_of_a_closure(namespace, rule):
    namespace["triple"].__closure__[0].cell_contents = 5.0


def default_argument(namespace, rule):
    namespace["helper"].__defaults__ = (4.0,)


def code_of_a_function(namespace, rule):
    namespace["helper"].__code__ = (lambda x, shift: 3.0 * x).__code__


IN_PLACE = [table_entry, list_entry, array_in_place, array_anew, hyperparameter_in_a_dict]
CHANGES = [
    *(helper_anew, inner_helper_anew, constant_anew, other_module, hyperparameter),
    *(function_that_is_held, object_that_is_held, number_of_an_object_that_is_held),
    *(class_of_an_object_that_is_held, method_of_the_class, method_of_the_object),
    *(method_of_the_parent, hook_of_the_class, property_of_the_class, static_method),
    *(constant_of_the_class, closure_anew, cell_of_a_closure, default_argument),
    code_of_a_function,
]


@pytest.mark.parametrize("change", IN_PLACE + CHANGES, ids=lambda change: change.__name__)
def test_after_a_change_the_kernel_is_that_of_the_changed_rule(change):
    namespace, rule = cell()
    assert_traced(rule)
    change(namespace, rule)
    assert_traced(rule)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_kernel_that_was_kept_is_not_after_a_change(change):
    namespace, rule = cell(LEAN)
    assert_traced(rule)
    assert find_kernel(rule) is find_kernel(rule)
    change(namespace, rule)
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
    "change",
    [
        *(helper_anew, constant_anew, hyperparameter, array_in_place, method_of_the_class),
        *(class_of_an_object_that_is_held, table_entry, cell_of_a_closure),
    ],
    ids=lambda change: change.__name__,
)
def test_a_run_in_machine_code_follows_a_change(change):
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
            change(namespace, minimizer.rule)
        run.run(4)
        averages.append(run.average)
    for one, other in zip(*averages, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)
