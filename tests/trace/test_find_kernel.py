"""The kernel of a rule is kept, for as long as its code is the same."""

from attrs import define
from user_rules import CubedRegrets, Switchable

import regretkit as rk
from regretkit.trace import find_kernel


def test_a_kernel_is_kept():
    for rule in (rk.RegretMatchingPlus(3), CubedRegrets(3), Switchable(3)):
        assert find_kernel(rule) is find_kernel(rule)


def test_equal_rules_have_one_kernel():
    assert find_kernel(CubedRegrets(3)) is find_kernel(CubedRegrets(3))


def test_what_a_method_is_replaced_by_counts():
    @define(eq=False, slots=False)
    class Rule(CubedRegrets):
        def _propose(self):
            return self.simplices.normalize(self.regrets)

    rule = Rule(3)
    before = find_kernel(rule)
    Rule._propose = lambda self: self.simplices.uniform()
    assert find_kernel(rule) is not before
