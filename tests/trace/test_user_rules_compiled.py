"""Rules that users write run in machine code, and random rules do in theirs as in plain Python."""

import numpy as np
import pytest
from trace_steps import SIMPLICES, assert_traced
from user_rules import NEEDS_PYTHON, RULES

import regretkit as rk
from regretkit import games, play
from regretkit.sets import Simplices
from regretkit.trace import UntraceableError, find_kernel


def refusal_of(make):
    try:
        find_kernel(make(Simplices([2, 3])))
    except UntraceableError as error:
        return str(error)
    return ""


def test_six_of_seven_rules_have_a_kernel_and_the_others_say_why_not():
    reasons = {name: refusal_of(make) for name, make in RULES}
    refused = {name for name, reason in reasons.items() if reason}
    assert refused == NEEDS_PYTHON
    assert len(refused) <= len(RULES) / 7
    assert all(".py:" in reasons[name] for name in refused)


@pytest.mark.deep_beyond(2)
@pytest.mark.parametrize(
    "make", [pytest.param(m, id=name) for name, m in RULES if name not in NEEDS_PYTHON]
)
def test_machine_code_plays_as_numpy_does(make):
    for game, iterations in ((games.kuhn_poker(), 60), (games.leduc_poker(), 5)):
        runs = [
            rk.solve(game, play.Algorithm(make), iterations=iterations, engine=engine)
            for engine in ("numpy", "compiled")
        ]
        for one, other in zip(*(run.average for run in runs), strict=True):
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-9)


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
    ("w = np.where(R > 0, R, 1e-3); return w / S.repeat(S.sum(w))", ADD),
    ("return S.normalize(np.abs(R) ** 1.5)", ADD),
    ("p = np.maximum(R, 0); p **= 2; return S.normalize(p)", ADD),
    ("return S.normalize(S.cumulate(np.maximum(R, 0)))", ADD),
    ("return S.best_response(R)[1]", ADD),
    ("v, order = S.sort(R); w = np.zeros_like(v); w[order] = v**2; return S.normalize(w)", ADD),
    ("return S.softmax(R, 1.0 / sqrt(self.iteration + 1))", ADD),
    ("return S.softmax(R / np.sqrt(1e-8 + self.other))", f"self.other += r**2; {ADD}"),
    ("p = S.uniform()\nfor _ in range(3): p = S.normalize(p * np.exp(R))\nreturn p", ADD),
    (POSITIVE, "m = r > 0; self.regrets[m] += r[m]; self.regrets[~m] += 0.5 * r[~m]"),
    (POSITIVE, "self.regrets = np.clip(self.regrets + r, -1.0, 5.0)"),
    (POSITIVE, "self.regrets += r\nif self.iteration % 3 == 2: self.regrets *= 0.5"),
    (POSITIVE, "self.other = 0.9 * self.other + r; self.regrets += self.other"),
    (POSITIVE, "self.count += 1; self.regrets = self.regrets * (1 - 1 / (self.count + 1)) + r"),
    (POSITIVE, "self.regrets += utility - S.repeat(S.dot(utility, strategy))"),
    (POSITIVE, "self.regrets += S.regret(utility, self.next_strategy())"),
]
REFUSED = [
    ("w = np.maximum(R, 0); return w / w.sum()", ADD, "use self.simplices.sum(x)"),
    ("return S.normalize(np.cumsum(R))", ADD, "use self.simplices.cumulate(x)"),
    ("return S.normalize(np.sort(R))", ADD, "use self.simplices.sort(x)"),
    ("return S.normalize(np.eye(R.size) @ R)", ADD, "mixes the blocks"),
    ("return np.array([max(x, 0.0) for x in R])", ADD, "a Python loop iterates over entries"),
    ("x = R.copy()\nfor i in range(R.size): x[i] = 1.0\nreturn x", ADD, "sets single entries"),
    ("return S.normalize(R + np.random.rand(R.size))", ADD, "changes from call to call"),
    (POSITIVE, "self.other = self.regrets; self.regrets += r", "become one array"),
    (POSITIVE, "self.regrets += r\nif self.regrets.max() > 3: self.regrets *= 0.5", "mixes the"),
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


@pytest.mark.parametrize(("propose", "learn", "reason"), REFUSED)
def test_naive_rules_are_refused_with_a_cure(propose, learn, reason):
    assert reason in refusal_of(naive(propose, learn))
