"""Tracing leaves a rule and what it refers to as they were, though its code changes them."""

import functools
import itertools
import random
import types
from collections import deque

import numpy as np
import pytest
from attrs import define
from trace_steps import SIMPLICES, assert_traced

import regretkit as rk
from regretkit import games, play
from regretkit.checks import CHECKS, run_check
from regretkit.estimators import ExternalSampling
from regretkit.trace import UntraceableError, find_kernel

LOG = []
TOTAL = np.zeros(SIMPLICES.dimension)
BOX = types.SimpleNamespace(count=0)
GENERATOR = np.random.default_rng(3)
COUNT = 0


class Part:
    """Changes in each call, and by a method."""

    def __init__(self):
        self.count = 0

    def __call__(self, x):
        self.count += 1
        return x * self.count


class Slotted:
    __slots__ = ("count",)

    def __init__(self):
        self.count = 0

    def __call__(self, x):
        self.count += 1
        return x * self.count


def counting():
    count = 0

    def call(x):
        nonlocal count
        count += 1
        return x * count

    return call


def remembering(x, seen=[]):  # noqa: B006 - what changes is what is tested
    seen.append(x)
    return x * len(seen)


def marked(x):
    marked.calls = getattr(marked, "calls", 0) + 1
    return x * marked.calls


COUNTER = counting()


@define(eq=False, slots=False)
class Holding(rk.SimplexRule):
    """Regret matching that holds much, which is passed through a function."""

    regrets: np.ndarray = rk.state()
    listed = []  # noqa: RUF012 - held by the class

    def __attrs_post_init__(self):
        super().__attrs_post_init__()
        self.weights = np.linspace(0.5, 1.5, self.dimension)
        self.whole = np.zeros(self.dimension, int)
        self.matrix = np.ones((2, self.dimension))
        inner = types.SimpleNamespace(x=1.0)
        self.box = types.SimpleNamespace(count=1.0, inner=inner, array=np.ones(self.dimension))
        self.history = deque([1.0], maxlen=3)
        self.nested = {"list": [1.0, {"x": 2.0}], "array": np.ones(self.dimension)}
        self.seen = {1}
        self.objects = np.array([None, 1.0], object)
        self.random = random.Random(3)
        self.part, self.slotted, self.closure = Part(), Slotted(), counting()
        self.bound, self.partial = Part().__call__, functools.partial(Part().__call__)

    def _propose(self):
        return self.simplices.normalize(np.maximum(self.regrets, 0.0))

    def _learn(self, utility, strategy):
        r = self.simplices.regret(utility, strategy)
        self.regrets = self.regrets + self.change(r)


def holding(change, **held):
    rule = type("Mine", (Holding,), {"change": change})(SIMPLICES)
    for name, value in held.items():
        setattr(rule, name, value)
    return rule


# Arrays


def scaled(self, r):
    self.weights *= 0.9
    return r * self.weights


def set_whole(self, r):
    self.weights[...] = 0.9 * self.weights
    return r * self.weights


def set_by_out(self, r):
    np.multiply(self.weights, 0.9, out=self.weights)
    return r * self.weights


def set_by_a_view(self, r):
    view = self.weights[:]
    view *= 0.9
    return r * self.weights


def filled(self, r):
    self.weights.fill(0.3)
    return r * self.weights


def changed_by_regrets(self, r):
    self.weights += r
    return r * self.weights


def copied_to(self, r):
    np.copyto(self.weights, r)
    return r * self.weights


@pytest.mark.parametrize(
    "change",
    [scaled, set_whole, set_by_out, set_by_a_view, filled, changed_by_regrets, copied_to],
)
def test_an_array_that_is_changed_in_place_is_learned_and_tracing_leaves_it(change):
    rule = holding(change)
    before = rule.weights.copy()
    assert "weights" in find_kernel(rule).learned
    np.testing.assert_array_equal(rule.weights, before)
    assert_traced(rule)


@define(eq=False, slots=False)
class Fading(rk.SimplexRule):
    """Discounts what it hears by an array that it does not declare."""

    regrets: np.ndarray = rk.state()

    def __attrs_post_init__(self):
        super().__attrs_post_init__()
        self.weights = np.ones(self.dimension)

    def _propose(self):
        return self.simplices.normalize(np.maximum(self.regrets, 0.0))

    def _learn(self, utility, strategy):
        self.weights *= 0.9
        self.regrets += self.weights * self.simplices.regret(utility, strategy)


def test_an_array_that_is_not_declared_is_learned_where_information_sets_are_visited_too():
    (check,) = (check for check in CHECKS if check.__name__ == "kernel_agrees")
    run_check(check, lambda: Fading(SIMPLICES))
    sampling = ExternalSampling(np.random.default_rng(0))
    run = play.LazyMCCFR(games.kuhn_poker(), Fading, sampling).run(20)
    assert run.iteration == 20


def test_a_view_and_a_copy_of_what_is_never_changed_are_constants():
    def change(self, r):
        return r * self.weights + 2.0 * self.weights.copy() + self.weights[:]

    rule = holding(change)
    assert find_kernel(rule).learned == ("regrets",)
    assert_traced(rule)


# All else


def entries_set(self, r):
    self.weights[0] += 1.0
    return r * self.weights


def sorted_backwards(self, r):
    self.weights[::-1].sort()
    return r * self.weights


def whole_numbers(self, r):
    self.whole += 1
    return r * self.whole


def row(self, r):
    self.matrix[0] *= 0.5
    return r * self.matrix[0]


def counted_in_a_box(self, r):
    self.box.count += 1
    return r * self.box.count


def new_in_a_box(self, r):
    self.box.last = r
    return r


def gone_from_a_box(self, r):
    del self.box.count
    return r


def in_a_box_in_a_box(self, r):
    self.box.inner.x = r
    return r


def array_in_a_box(self, r):
    self.box.array *= 0.5
    return r * self.box.array


def appended(self, r):
    self.history.append(r)
    return r


def in_a_nested_list(self, r):
    self.nested["list"].append(r)
    return r


def in_a_nested_dict(self, r):
    self.nested["list"][1]["x"] *= 0.5
    return r * self.nested["list"][1]["x"]


def array_in_a_dict(self, r):
    self.nested["array"] *= 0.5
    return r * self.nested["array"]


def added_to_a_set(self, r):
    self.seen.add(len(self.seen) + 1)
    return r * len(self.seen)


def in_an_array_of_objects(self, r):
    self.objects[0] = r
    return r


def by_a_part(self, r):
    return self.part(r)


def by_slots(self, r):
    return self.slotted(r)


def by_a_closure(self, r):
    return self.closure(r)


def by_a_bound_method(self, r):
    return self.bound(r)


def by_a_partial(self, r):
    return self.partial(r)


def drawn(self, r):
    return r * self.random.random()


OWN = [
    *(entries_set, sorted_backwards, whole_numbers, row, counted_in_a_box, new_in_a_box),
    *(gone_from_a_box, in_a_box_in_a_box, array_in_a_box, appended, in_a_nested_list),
    *(in_a_nested_dict, array_in_a_dict, added_to_a_set, in_an_array_of_objects, by_a_part),
    *(by_slots, by_a_closure, by_a_bound_method, by_a_partial, drawn),
]


def logged(self, r):
    LOG.append(r)
    return r


def counted_globally(self, r):
    global COUNT
    COUNT += 1
    return r * COUNT


def defined_globally(self, r):
    global LATEST
    LATEST = r
    return r


def totalled(self, r):
    np.add(TOTAL, 1.0, out=TOTAL)
    return r * TOTAL


def counted_in_a_global_box(self, r):
    BOX.count += 1
    return r * BOX.count


def by_a_global_closure(self, r):
    return COUNTER(r)


def by_a_default(self, r):
    return remembering(r)


def by_an_attribute_of_a_function(self, r):
    return marked(r)


def listed_by_the_class(self, r):
    self.listed.append(r)
    return r


def set_in_the_class(self, r):
    type(self).latest = r
    return r


def drawn_globally(self, r):
    return r * GENERATOR.random()


def drawn_by_numpy(self, r):
    return r * np.random.random()  # noqa: NPY002 - the generator that all share


def drawn_by_python(self, r):
    return r * random.random()


GLOBAL = [
    *(logged, counted_globally, defined_globally, totalled, counted_in_a_global_box),
    *(by_a_global_closure, by_a_default, by_an_attribute_of_a_function, listed_by_the_class),
    *(set_in_the_class, drawn_globally, drawn_by_numpy, drawn_by_python),
]


def contents(value):
    """Return all that something holds, as text."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, dict):
        return {name: contents(held) for name, held in value.items()}
    if isinstance(value, list | tuple | deque):
        return [contents(held) for held in value]
    if isinstance(value, np.random.Generator):
        return contents(value.bit_generator.state)
    if isinstance(value, random.Random):
        return value.getstate()
    if isinstance(value, types.MethodType):
        return contents(value.__self__)
    if isinstance(value, functools.partial):
        return contents(value.func)
    if isinstance(value, types.FunctionType):
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        return contents([vars(value), value.__defaults__, cells])
    if isinstance(value, Slotted):
        return value.count
    if isinstance(value, Holding | Part | types.SimpleNamespace):
        return contents(dict(sorted(vars(value).items())))
    return repr(value)


def world(rule):
    kind = type(rule)
    names = {"LATEST": "LATEST" in globals(), "latest": hasattr(kind, "latest")}
    held = [LOG, COUNT, TOTAL, BOX, COUNTER, remembering, marked, GENERATOR, kind.listed, names]
    legacy = np.random.get_state()  # noqa: NPY002 - the generator that all share
    return repr(contents([rule, *held, list(legacy), random.getstate()]))


@pytest.mark.parametrize("change", OWN + GLOBAL, ids=lambda change: change.__name__)
def test_what_is_changed_elsewhere_is_refused_with_its_place_and_as_it_was(change):
    rule = holding(change)
    before = world(rule)
    with pytest.raises(UntraceableError, match=rf"\({__file__}:\d+\)$"):
        find_kernel(rule)
    assert world(rule) == before


# What is the rule itself, or an array of it


class Back:
    """Refers to the rule that holds it."""

    def __init__(self, rule):
        self.rule = rule

    def __call__(self, x):
        return x + 0.5 * self.rule.regrets


def by_what_is_held(self, r):
    return self.held(r)


def plus(self, x):
    return x + 0.5 * np.maximum(self.regrets, 0.0)


def test_a_method_that_the_rule_holds_is_that_of_its_copy():
    rule = holding(by_what_is_held)
    rule.held = types.MethodType(plus, rule)
    assert_traced(rule)


@pytest.mark.parametrize(
    "make",
    [
        Back,
        lambda rule: functools.partial(plus, rule),
        lambda rule: lambda x: plus(rule, x),
        lambda rule: types.MethodType(Back.__call__, types.SimpleNamespace(rule=rule)),
    ],
)
def test_what_refers_to_the_rule_itself_is_refused(make):
    rule = holding(by_what_is_held)
    rule.held = make(rule)
    with pytest.raises(UntraceableError, match="refers to the rule itself; write a method"):
        find_kernel(rule)


@pytest.mark.parametrize("name", ["regrets", "weights"])
@pytest.mark.parametrize("change", [lambda a: a, lambda a: a[:], lambda a: a[:2]])
def test_an_array_that_is_learned_under_two_names_is_refused(name, change):
    def read(self, r):
        self.weights *= 0.9
        return r * self.weights + np.sum(self.other)

    rule = holding(read)
    rule.other = change(getattr(rule, name))
    with pytest.raises(UntraceableError, match=f"self.other and self.{name}, which is learned"):
        find_kernel(rule)


@pytest.mark.parametrize(
    "iterator", [itertools.count(1), iter([1.0, 2.0]), (x for x in (1.0, 2.0, 3.0))]
)
def test_an_iterator_is_refused_before_it_is_read(iterator):
    def read(self, r):
        return r * next(self.held)

    with pytest.raises(UntraceableError, match=r"self.held changes when it is read.*:\d+\)$"):
        find_kernel(holding(read, held=iterator))
    assert next(iterator) == 1


class Library:
    """Has no namespace, like the objects that stand for libraries of C."""

    __dict__ = property(lambda self: print)


LIBRARY = Library()


def test_attributes_that_are_no_namespace_are_left_alone():
    def read(self, r):
        return r if LIBRARY is None else 2.0 * r

    assert find_kernel(holding(read))
