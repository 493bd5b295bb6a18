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


def by_a_computed_array(self, r):
    return r * (2.0 * self.prior)


def by_a_view(self, r):
    return r * self.prior[:]


def by_what_is_in_a_tuple(self, r):
    return PAIR[0](r) * PAIR[1]["factor"]


def by_what_is_held(self, r):
    return r * self.held[0] + self.described


def by_an_import(self, r):
    import changed_helper

    return changed_helper.change(r)


def by_a_name(self, r):
    return globals()["shifted"](r) * getattr(self, "prior")  # noqa: B009 - by its name


def by_a_builtin(self, r):
    return abs(r)


def prior_in_place(rule, monkeypatch):
    rule.prior[:] = rule.prior[::-1].copy()


def global_number(rule, monkeypatch):
    monkeypatch.setitem(globals(), "SHIFT", 3.0)


def dict_in_a_tuple(rule, monkeypatch):
    monkeypatch.setitem(PAIR[1], "factor", 2.0)


def link_of_shift(rule, monkeypatch):
    rule.link = shifted
    find_kernel(rule)
    monkeypatch.setitem(globals(), "SHIFT", 3.0)


def link_of_a_partial(rule, monkeypatch):
    rule.link = partial(lambda function, x: function(x), shifted)
    find_kernel(rule)
    monkeypatch.setitem(globals(), "SHIFT", 3.0)


def held_deque(rule, monkeypatch):
    rule.held = deque([1.0])
    find_kernel(rule)
    rule.held[0] = 4.0


def held_tuple(rule, monkeypatch):
    rule.held = (np.array(1.0), 2.0)
    find_kernel(rule)
    rule.held[0][...] = 4.0


def number_of_a_descriptor(rule, monkeypatch):
    monkeypatch.setattr(Descriptor, "number", 5.0)


def module_that_is_imported(rule, monkeypatch):
    monkeypatch.setattr(sys.modules["changed_helper"], "change", lambda x: -x)


def builtin_in_the_module(rule, monkeypatch):
    monkeypatch.setitem(globals(), "abs", lambda x: 3.0 * x)


def class_of_the_rule(rule, monkeypatch):
    rule.__class__ = type("Other", (type(rule),), {"change": lambda self, r: 3.0 * r})


@pytest.mark.parametrize(
    ("read", "change"),
    [
        (by_a_computed_array, prior_in_place),
        (by_a_view, prior_in_place),
        (by_what_is_in_a_tuple, global_number),
        (by_what_is_in_a_tuple, dict_in_a_tuple),
        (by_a_view, link_of_shift),
        (by_a_view, link_of_a_partial),
        (by_what_is_held, held_deque),
        (by_what_is_held, held_tuple),
        (by_what_is_held, number_of_a_descriptor),
        (by_an_import, module_that_is_imported),
        (by_a_name, global_number),
        (by_a_builtin, builtin_in_the_module),
        (by_a_view, class_of_the_rule),
    ],
)
def test_what_changes_out_of_sight_counts(read, change, monkeypatch):
    helper = types.ModuleType("changed_helper")
    helper.change = twice
    monkeypatch.setitem(sys.modules, "changed_helper", helper)
    rule = type("Mine", (Reading,), {"change": read})(SIMPLICES)
    assert_traced(rule)
    change(rule, monkeypatch)
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
