"""What a rule is compiled to: the code shown is the rule's, and a kernel is kept while it is."""

import math
import re

import numpy as np
import pytest
from attrs import define
from trace_steps import assert_traced
from user_rules import CubedRegrets, HalvedWhenLarge, Switchable

import regretkit as rk
from regretkit.circuits import Discount
from regretkit.minimizers import AdaHedge
from regretkit.sets import Simplices
from regretkit.trace import UntraceableError, describe_kernel, find_kernel


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
    assert section(describe_kernel(rule), "parameters") == "none"
    assert describe_kernel(rule, exact=True) != describe_kernel(rule)


def test_states_and_parameters_are_those_of_the_recurrence():
    hedge = section(describe_kernel(AdaHedge([2, 3])), "state").splitlines()
    assert hedge == ["s0 = regrets, per action", "b1 = gaps, per block"]
    text = describe_kernel(rk.DiscountedRegretMatching([2, 3], alpha=1.5, beta=0.0))
    # The discount before iteration t is (t - 1)^alpha / ((t - 1)^alpha + 1), and 1/2 for beta = 0.
    assert section(text, "parameters").splitlines() == [
        f"p0 = 0, 0.5, {27 / 28:.6g} in iterations 1, 2, 10",
        "p1 = 1, 0, 0 in iterations 1, 2, 10",  # nothing to discount yet
    ]
    circuit = Discount(rk.RegretMatching([2, 3]), weight=lambda t: 0.9)
    assert "minimizer.regrets" in section(describe_kernel(circuit), "state")


def test_what_cannot_be_shown_is_refused_with_the_line():
    with pytest.raises(UntraceableError, match=r"mixes the blocks.*user_rules\.py:\d"):
        describe_kernel(HalvedWhenLarge([2, 3]))
    with pytest.raises(TypeError, match="rule must be a minimizer, got 'cfr'"):
        describe_kernel("cfr")


def test_a_kernel_is_kept_and_equal_rules_of_the_library_share_it():
    for rule in (rk.RegretMatchingPlus(3), CubedRegrets(3), Switchable(3)):
        assert find_kernel(rule) is find_kernel(rule)
    one, other = rk.DiscountedRegretMatching(3), rk.DiscountedRegretMatching(3, alpha=2.0)
    assert find_kernel(one) is find_kernel(rk.DiscountedRegretMatching(3))
    assert find_kernel(one) is not find_kernel(other)
    # Machine code is kept by functions.
    assert find_kernel(one).propose is find_kernel(other).propose
    assert find_kernel(CubedRegrets(3)).propose is find_kernel(CubedRegrets(3)).propose


def test_rules_over_one_block_and_over_several_share_no_kernel():
    @define(eq=False)
    class Numbered(rk.RegretMatching):
        """Multiplies by the number of the block, which is one number where there is one block."""

        __module__ = "regretkit.numbered"  # rules of the library share kernels

        def _propose(self):
            number = np.arange(1.0, 1.0 + self.simplices.blocks)
            return self.simplices.softmax(self.regrets * self.simplices.repeat(number))

    for sizes in (3, [2, 3]):
        assert_traced(Numbered(Simplices(sizes)))
