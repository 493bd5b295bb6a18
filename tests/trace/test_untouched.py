"""Tracing leaves a rule and what it refers to as they were, though its code changes them."""

import functools
import itertools
import random
import types
from collections import deque

import numpy as np
import pytest
from attrs import define
from trace_steps import SIMPLICES, assert_traced, written

import regretkit as rk
from regretkit import games, play
from regretkit.checks import CHECKS, run_check
from regretkit.estimators import ExternalSampling
from regretkit.trace import UntraceableError, find_kernel

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


COUNTER = counting()


@define(eq=False, slots=False)
class Holding(rk.SimplexRule):
    """Regret matching that holds much, which is passed through a function."""

    regrets: np.ndarray = rk.state()
    listed = []  # noqa: RUF012 - held by the class

    def __attrs_post_init__(self):
        super().__attrs_post_init__()
        self.weights = np.linspace(0.5, 1.5, self.dimension)
        self.matrix = np.ones((2, self.dimension))
        self.box = types.SimpleNamespace(count=1.0)
        self.history = deque([1.0], maxlen=3)
        self.nested = {"list": [1.0, {"x": 2.0}]}
        self.seen = {1}
        self.random = random.Random(3)
        self.part, self.slotted = Part(), Slotted()
        self.partial = functools.partial(Part().__call__)

    def _propose(self):
        return self.simplices.normalize(np.maximum(self.regrets, 0.0))

    def _learn(self, utility, strategy):
        r = self.simplices.regret(utility, strategy)
        self.regrets = self.regrets + self.change(r)


def changing(code):
    """Return a rule that passes regrets through some code."""
    return type("Mine", (Holding,), {"change": written(code, globals())})(SIMPLICES)


# Arrays


IN_PLACE = [
    "self.weights *= 0.9; return r * self.weights",
    "self.weights[...] = 0.9 * self.weights; return r * self.weights",
    "np.multiply(self.weights, 0.9, out=self.weights); return r * self.weights",
    "view = self.weights[:]; view *= 0.9; return r * self.weights",
    "self.weights.fill(0.3); return r * self.weights",
    "np.copyto(self.weights, r); return r * self.weights",
]


@pytest.mark.parametrize("code", IN_PLACE)
def test_an_array_that_is_changed_in_place_is_learned_and_tracing_leaves_it(code):
    rule = changing(code)
    before = rule.weights.copy()
    assert "weights" in find_kernel(rule).learned
    np.testing.assert_array_equal(rule.weights, before)
    assert_traced(rule)


def test_an_array_that_is_not_declared_is_learned_where_information_sets_are_visited_too():
    (check,) = (check for check in CHECKS if check.__name__ == "kernel_agrees")
    run_check(check, lambda: changing(IN_PLACE[0]))
    kind, sampling = type(changing(IN_PLACE[0])), ExternalSampling(np.random.default_rng(0))
    assert play.Sampled(games.kuhn_poker(), kind, sampling).run(20).iteration == 20


def test_a_view_and_a_copy_of_what_is_never_changed_are_constants():
    rule = changing("return r * self.weights + 2.0 * self.weights.copy() + self.weights[:]")
    assert find_kernel(rule).learned == ("regrets",)
    assert_traced(rule)


# All else


OWN = {
    "self.weights[0] += 1.0; return r * self.weights": lambda rule: rule.weights.tolist(),
    "self.matrix[0] *= 0.5; return r * self.matrix[0]": lambda rule: rule.matrix.tolist(),
    "self.box.count += 1; return r * self.box.count": lambda rule: vars(rule.box),
    "self.box.last = r; return r": lambda rule: vars(rule.box),
    "del self.box.count; return r": lambda rule: vars(rule.box),
    "self.history.append(r); return r": lambda rule: rule.history,
    'self.nested["list"].append(r); return r': lambda rule: rule.nested,
    'self.nested["list"][1]["x"] *= 0.5; return r': lambda rule: rule.nested,
    "self.listed.append(r); return r": lambda rule: rule.listed,
    "self.seen.add(len(self.seen) + 1); return r * len(self.seen)": lambda rule: rule.seen,
    "return self.part(r)": lambda rule: rule.part.count,
    "return self.slotted(r)": lambda rule: rule.slotted.count,
    "return self.partial(r)": lambda rule: rule.partial.func.__self__.count,
    "return r * self.random.random()": lambda rule: rule.random.getstate(),
}
GLOBAL = [
    "global COUNT; COUNT += 1; return r * COUNT",
    "np.add(TOTAL, 1.0, out=TOTAL); return r * TOTAL",
    "BOX.count += 1; return r * BOX.count",
    "return COUNTER(r)",
    "return remembering(r)",
    "return r * GENERATOR.random()",
    "return r * np.random.random()",
]


@pytest.mark.parametrize("code", OWN)
def test_what_else_a_rule_changes_is_refused_with_its_place_and_as_it_was(code):
    rule, look = changing(code), OWN[code]
    before = repr(look(rule))
    with pytest.raises(UntraceableError, match=rf"\({__file__}:\d+\)$"):
        find_kernel(rule)
    assert repr(look(rule)) == before


@pytest.mark.parametrize("code", GLOBAL)
def test_what_differs_every_time_is_refused(code):
    with pytest.raises(UntraceableError, match="result changes from call to call"):
        find_kernel(changing(code))


# What is the rule itself, or an array of it


class Back:
    """Refers to the rule that holds it."""

    def __init__(self, rule):
        self.rule = rule

    def __call__(self, x):
        return x + 0.5 * self.rule.regrets


def plus(self, x):
    return x + 0.5 * np.maximum(self.regrets, 0.0)


@pytest.mark.parametrize(
    "make",
    [
        Back,
        lambda rule: types.MethodType(plus, rule),
        lambda rule: functools.partial(plus, rule),
        lambda rule: lambda x: plus(rule, x),
        lambda rule: types.MethodType(Back.__call__, types.SimpleNamespace(rule=rule)),
    ],
)
def test_what_refers_to_the_rule_itself_is_traced_with_it(make):
    rule = changing("return self.held(r)")
    rule.held = make(rule)
    assert_traced(rule)


@pytest.mark.parametrize("name", ["regrets", "weights"])
@pytest.mark.parametrize("change", [lambda a: a, lambda a: a[:], lambda a: a[:2]])
def test_an_array_that_is_learned_under_two_names_is_refused(name, change):
    rule = changing("self.weights *= 0.9; return r * self.weights + np.sum(self.other)")
    rule.other = change(getattr(rule, name))
    with pytest.raises(UntraceableError, match=f"self.other and self.{name} share memory"):
        find_kernel(rule)


@pytest.mark.parametrize("make", [lambda: itertools.count(1), lambda: iter([1.0, 2.0])])
def test_an_iterator_is_refused_and_not_advanced(make):
    rule = changing("return r * next(self.held)")
    rule.held = make()
    with pytest.raises(UntraceableError, match=r"sets self.held"):
        find_kernel(rule)
    assert next(rule.held) == 1


def test_a_generator_is_refused():
    rule = changing("return r * next(self.held)")
    rule.held = (x for x in (1.0, 2.0))
    with pytest.raises(UntraceableError, match=r"self.held cannot be copied.*:\d+\)$"):
        find_kernel(rule)
