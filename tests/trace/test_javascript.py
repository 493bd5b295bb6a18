"""Kernels as JavaScript: under Node.js, their numbers are those of the kernels in Python."""

from functools import partial

import node
import numpy as np
import pytest
from engine_cases import RULES as LIBRARY
from random_rules import random_rule
from trace_steps import SIMPLICES, by_block, by_kernel, errors, learned_by
from user_rules import RULES as USERS

from regretkit import RegretMatching
from regretkit.circuits import Discount
from regretkit.minimizers import (
    AdaHedge,
    LogBarrier,
    MagneticMirrorDescent,
    NormalHedge,
    OnlineMirrorDescent,
    ReflectedMirrorDescent,
    Tsallis,
)
from regretkit.minimizers.contrib import (
    SmoothOptimisticRegretMatchingPlus,
    SmoothPredictiveRegretMatchingPlus,
    StablePredictiveRegretMatchingPlus,
)
from regretkit.trace import UntraceableError, as_javascript, find_kernel

RTOL = 1e-12
ITERATIONS = 30

BY_ROUNDING = {18}
"""Random rules that order numbers by the last digit of a power."""

SMOOTH = {
    "AdaHedge": AdaHedge,
    "NormalHedge": NormalHedge,
    "magnetic": partial(MagneticMirrorDescent, rate=0.2, temperature=0.3),
    "reflected": partial(ReflectedMirrorDescent, regularizer=Tsallis(), rate=0.2),
    "barrier": partial(OnlineMirrorDescent, regularizer=LogBarrier(), rate=0.2),
    "smooth": partial(SmoothPredictiveRegretMatchingPlus, rate=0.5),
    "smooth, optimistic": partial(SmoothOptimisticRegretMatchingPlus, rate=0.5),
    "stable": partial(StablePredictiveRegretMatchingPlus, floor=0.5),
}

PLAYED = """
function main(cases) { return cases.map(each); }

function each({script, ranges, utilities, values, state, numbers, parameters}) {
  const names = "return {propose, learn, parameters}";
  const kernel = new Function(script + names)();
  state = state.map(array => Float64Array.from(array));
  const row = new Float64Array(parameters), strategy = new Float64Array(utilities[0].length);
  const proposed = [];
  for (let t = 0; t <= utilities.length; t++) {
    kernel.parameters(t, numbers, row);
    ranges.forEach(([first, last], block) => {
      if (t > 0) {
        const utility = Float64Array.from(utilities[t - 1]), value = values[t - 1][block];
        kernel.learn(block, first, last, utility, value, strategy, state, row);
      }
      kernel.propose(block, first, last, strategy, state, row);
    });
    proposed.push(strategy.slice());
  }
  return {proposed, state, numbers};
}
"""


def case(rule, exact, state, utilities):
    """Return what Node.js is given, and what the kernel in Python proposes and learns from it."""
    kernel, simplices = find_kernel(rule, exact=exact), rule.simplices
    numbers = {path: float(getattr(rule, path)) for path in kernel.numbers}
    rows, after = kernel.parameters.following(numbers, 0, len(utilities))
    proposed, values = [], []
    held = {name: array.copy() for name, array in state.items()}
    nothing = np.zeros(simplices.dimension)
    for before, row, utility in zip(rows, rows[1:], utilities, strict=False):
        found = by_kernel(kernel, simplices, (before, row), held, utility)
        proposed.append(found["strategy"])
        with np.errstate(all="ignore"):
            values.append(simplices.expectation(utility, found["strategy"]))
        held = {name: found[name] for name in held}
    proposed.append(by_kernel(kernel, simplices, (rows[-1],) * 2, held, nothing)["strategy"])
    further = [
        np.zeros(simplices.dimension if of_action else simplices.blocks) if array is None else array
        for array, of_action in kernel.further
    ]
    ends = zip(simplices.first.tolist(), (simplices.first + simplices.sizes).tolist(), strict=True)
    given = {
        "script": as_javascript(kernel),
        "ranges": [*ends],
        "utilities": [utility.tolist() for utility in utilities],
        "values": [value.tolist() for value in values],
        "state": [np.asarray(array, float).tolist() for array in (*state.values(), *further)],
        "numbers": [*numbers.values()],
        "parameters": rows.shape[1],
    }
    return given, proposed, held, after


def compare(cases):
    """Require that Node.js computes what Python does; return the largest relative difference."""
    worst = 0.0
    seen = node.run(PLAYED, [given for given, *_ in cases.values()])
    for (name, (_, proposed, held, after)), found in zip(cases.items(), seen, strict=True):
        scales = np.ones(SIMPLICES.blocks)
        learned = [np.array(array, float) for array in found["state"][: len(held)]]
        for t, strategy in enumerate(proposed):
            wrong = difference(np.array(found["proposed"][t], float), strategy, scales)
            assert wrong <= RTOL, f"{name} after iteration {t}"
            worst = max(worst, wrong)
        for array, expected in zip(learned, held.values(), strict=True):
            assert difference(array, expected, by_block(SIMPLICES, expected)) <= RTOL, name
        assert np.allclose(found["numbers"], [*after.values()], rtol=RTOL, atol=0.0), name
    return worst


def difference(found, expected, scales):
    """Return the largest relative error where a finite number is expected."""
    finite = np.isfinite(expected)
    assert (np.isfinite(found) == finite).all()
    both = {"x": np.where(finite, found, 0.0)}, {"x": np.where(finite, expected, 0.0)}
    return float(errors(SIMPLICES, *both, np.nan_to_num(scales, posinf=1.0) + 1.0).max())


def test_rules_of_the_library_and_of_users_are_computed_alike():
    generator, cases = np.random.default_rng(0), {}
    utilities = generator.normal(size=(ITERATIONS, SIMPLICES.dimension))
    utilities[::5] = np.round(utilities[::5])  # with ties
    for name, make in {**LIBRARY, **dict(USERS), **SMOOTH}.items():
        try:
            rule = make(SIMPLICES)
            kernel = find_kernel(rule, exact=True)
        except UntraceableError:
            continue
        cases[name] = case(rule, True, learned_by(rule, kernel), utilities)
    assert len(cases) >= 40
    assert compare(cases) > 0.0


def random_cases(seeds):
    cases = {}
    for seed in {*seeds} - BY_ROUNDING:
        generator, (source, kind) = np.random.default_rng(seed), random_rule(seed)
        rule, exact = kind(SIMPLICES), seed % 2 == 1
        try:
            state = learned_by(rule, find_kernel(rule, exact=exact))
        except UntraceableError:
            continue
        for name, array in state.items():  # with zeros and equal numbers
            drawn = generator.normal(size=array.size)
            state[name] = np.where(generator.random(array.size) < 0.3, np.round(drawn), drawn)
        utilities = generator.normal(size=(3, SIMPLICES.dimension))
        cases[f"{seed}:\n{source}"] = case(rule, exact, state, utilities)
    return cases


def test_random_rules_are_computed_alike():
    cases = random_cases(range(50))
    assert len(cases) >= 45
    compare(cases)


@pytest.mark.deep
def test_five_hundred_random_rules_are_computed_alike():
    compare(random_cases(range(50, 550)))


def test_a_script_needs_no_python():
    class Scheduled(RegretMatching):
        def weight(self, t):
            return 1.0 / (1.0 + (t % 3))

        def accumulate(self, regrets, regret, t):
            return regrets + self.weight(t) * regret

    rule = Discount(RegretMatching([2, 3]), weight=lambda t: 0.5 + 0.4 * (int(t) in (3, 7)))
    with pytest.raises(UntraceableError, match="in each iteration"):
        as_javascript(find_kernel(rule))
    assert "remainder(t, 3)" in as_javascript(find_kernel(Scheduled([2, 3])))
