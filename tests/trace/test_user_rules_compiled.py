"""Rules that users write run in machine code."""

import pytest
from trace_steps import SIMPLICES, assert_traced
from user_rules import NEEDS_PYTHON, RULES

from regretkit.sets import Simplices
from regretkit.trace import UntraceableError, find_kernel


@pytest.mark.parametrize(("name", "make"), RULES)
def test_rules_have_a_kernel_or_say_why_not(name, make):
    if name in NEEDS_PYTHON:
        with pytest.raises(UntraceableError, match=r"\.py:\d"):
            find_kernel(make(Simplices([2, 3])))
    else:
        find_kernel(make(Simplices([2, 3])))


# Rules as people write them who have not read how rules are traced

NAIVE = """
from math import sqrt
import math
import numpy as np
from regretkit import SimplexRule, state

class Naive(SimplexRule):
    regrets, other = state(), state()
    count = 0

    def _propose(self):
        S, R = self.simplices, self.regrets
        {propose}

    def _learn(self, utility, strategy):
        S, r = self.simplices, self.simplices.regret(utility, strategy)
        {learn}
"""
POSITIVE, ADD = "return S.normalize(np.maximum(R, 0.0))", "self.regrets = self.regrets + r"
TRACED = [
    ("p = np.maximum(R, 0); p **= 2; return S.normalize(p)", ADD),
    ("v, order = S.sort(R); w = np.zeros_like(v); w[order] = v**2; return S.normalize(w)", ADD),
    ("return S.softmax(R, 1.0 / sqrt(self.iteration + 1))", ADD),
    ("p = S.uniform()\nfor _ in range(3): p = S.normalize(p * np.exp(R))\nreturn p", ADD),
    (POSITIVE, "m = r > 0; self.regrets[m] += r[m]; self.regrets[~m] += 0.5 * r[~m]"),
    (POSITIVE, "self.count += 1; self.regrets = self.regrets * (1 - 1 / (self.count + 1)) + r"),
    (POSITIVE, "self.regrets += utility - S.repeat(S.dot(utility, strategy))"),
    (POSITIVE, "self.regrets += S.regret(utility, self.next_strategy())"),
]


def naive(propose, learn):
    bodies = [part.replace("\n", "\n        ") for part in (propose, learn)]
    names = {"__name__": __name__}
    text = NAIVE.format(propose=bodies[0], learn=bodies[1])
    exec(compile(text, __file__, "exec"), names)
    return names["Naive"]


@pytest.mark.parametrize(("propose", "learn"), TRACED)
def test_naive_rules_compute_the_same(propose, learn):
    assert_traced(naive(propose, learn)(SIMPLICES), iterations=8)
