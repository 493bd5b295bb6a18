"""What a rule is compiled to, as text: the code there is the rule's, and so are the numbers."""

import math
import re

import numpy as np
import pytest
from attrs import define

import regretkit as rk
from regretkit.circuits import Discount
from regretkit.minimizers import AdaHedge
from regretkit.trace import UntraceableError, describe_kernel


@define(eq=False)
class DecidesByRegrets(rk.SimplexRule):
    regrets: np.ndarray = rk.state()

    def _propose(self):
        if self.regrets[0] > 0.0:
            return self.simplices.uniform()
        return self.simplices.normalize(self.regrets)

    def _learn(self, utility, strategy):
        self.regrets += utility


def section(text, title):
    return re.search(rf"^{title}:\n(.*?)(?=\n\n\w[\w, ]*:\n|\Z)", text, re.DOTALL | re.MULTILINE)[1]


def test_the_code_does_what_the_rule_does():
    rule, utility = rk.RegretMatchingPlus([2, 3]), np.array([1.0, 0.0, 0.5, 2.0, 1.0])
    functions = {"inf": math.inf}
    exec(section(describe_kernel(rule), "code"), functions)
    state, strategy = (np.zeros(5),), rule.next_strategy().copy()

    rule.observe_utility(utility)
    for block, (first, last) in enumerate([(0, 2), (2, 5)]):
        value = float(utility[first:last] @ strategy[first:last])
        functions["learn"](block, first, last, utility, value, strategy, state, ())
        functions["propose"](block, first, last, strategy, state, ())

    assert np.allclose(strategy, rule.next_strategy(), rtol=0.0, atol=1e-15)


def test_the_state_says_what_the_names_in_the_code_are():
    assert section(describe_kernel(AdaHedge([2, 3])), "state").splitlines() == [
        "s0 = regrets, per action",
        "b1 = gaps, per block",
    ]


def test_parameters_of_a_discounted_rule_are_its_discounts():
    text = describe_kernel(rk.DiscountedRegretMatching([2, 3], alpha=1.5, beta=0.0))
    positive, negative = section(text, "parameters").splitlines()

    # The discount before iteration t is (t - 1)^alpha / ((t - 1)^alpha + 1), and 1/2 for beta = 0.
    assert positive == f"p0 = 1, 0.5, {27 / 28:.6g} in iterations 1, 2, 10"
    assert negative == "p1 = 1, 0.5, 0.5 in iterations 1, 2, 10"
    assert "only_discounts_on_zero_utility: True" in text


def test_a_rule_without_parameters_says_so():
    assert section(describe_kernel(rk.RegretMatching(3)), "parameters") == "none"


def test_the_exact_engine_has_code_of_its_own():
    rule = rk.RegretMatching([2, 3])
    assert describe_kernel(rule, exact=True) != describe_kernel(rule)


def test_why_a_rule_cannot_be_traced_is_said_with_the_line():
    with pytest.raises(
        UntraceableError, match=r"picks single entries.*test_describe_kernel\.py:\d"
    ):
        describe_kernel(DecidesByRegrets([2, 3]))


def test_what_is_no_rule_is_refused():
    with pytest.raises(TypeError, match="rule must be a minimizer, got 'cfr'"):
        describe_kernel("cfr")


def test_a_circuit_around_a_rule_is_shown_as_one():
    circuit = Discount(rk.RegretMatching([2, 3]), weight=lambda t: 0.9)
    assert "minimizer.regrets" in section(describe_kernel(circuit), "state")
