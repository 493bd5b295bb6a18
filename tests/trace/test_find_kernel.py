"""The kernel of a rule is kept, for as long as its code is the same."""

import pytest
from user_rules import CubedRegrets, Switchable

import regretkit as rk
from regretkit.trace import find_kernel


def test_a_kernel_is_kept():
    for rule in (rk.RegretMatchingPlus(3), CubedRegrets(3), Switchable(3)):
        assert find_kernel(rule) is find_kernel(rule)


def test_equal_rules_of_the_library_have_one_kernel():
    one, other = rk.DiscountedRegretMatching(3), rk.DiscountedRegretMatching(3, alpha=2.0)
    assert find_kernel(one) is find_kernel(rk.DiscountedRegretMatching(3))
    assert find_kernel(one) is not find_kernel(other)
    assert find_kernel(one).propose is find_kernel(other).propose


def test_equal_rules_of_a_user_have_the_same_code():
    assert find_kernel(CubedRegrets(3)).propose is find_kernel(CubedRegrets(3)).propose


def test_what_is_not_built_is_refused():
    class Unbuilt(CubedRegrets):
        def __init__(self, simplices):
            self.simplices = simplices

    for use in (find_kernel, lambda rule: rule.dimension):
        with pytest.raises(AttributeError, match=r"Unbuilt has no domain; its __init__ must"):
            use(Unbuilt(3))
