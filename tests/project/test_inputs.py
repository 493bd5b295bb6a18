"""What users pass in is checked where it enters: one case for each kind of mistake."""

import math
from fractions import Fraction

import numpy as np
import pytest
from refusals import refusals

import regretkit as rk
from regretkit.play import Stateful

test_a_wrong_utility_is_refused = refusals(
    ([1.0, 2.0], ValueError, r"utility must have shape \(3,\), got \(2,\)"),
    ([[1.0, 2.0, 3.0]], ValueError, r"utility must have shape \(3,\), got \(1, 3\)"),
    ([1.0, math.nan, 0.0], ValueError, "got nan at coordinate 1"),
    ([1.0, 0.0, 1e101], ValueError, r"at most 1e\+100 in size, got 1e\+101 at coordinate 2"),
    ("123", TypeError, "utility must be numbers, got '123'"),
    ({0: 1.0, 1: 2.0, 2: 3.0}, TypeError, "utility must be numbers"),
    ([1j, 0.0, 0.0], TypeError, "utility must be numbers"),
    ([[1.0], [2.0, 3.0]], TypeError, "utility must be numbers"),
    call=lambda utility: rk.RegretMatching(3).observe_utility(utility),
)


@pytest.mark.parametrize(
    "utility", [(1, 2, 3), [Fraction(1), Fraction(2), Fraction(3)], np.float32([1, 2, 3])]
)
def test_numbers_of_every_kind_are_a_utility(utility):
    player = rk.RegretMatching(3)
    player.observe_utility(utility)
    np.testing.assert_array_equal(player.next_strategy(), [0.0, 0.0, 1.0])


class Several(Stateful):
    """Holds a part in a list, numbers in a dict, a list that grows, and what it may lack."""

    def __init__(self, size):
        self.parts = [rk.RegretMatching(size)]
        self.sums = {"a": np.zeros(size), "b": 0}
        self.seen = []
        self.best = None
        self.generator = np.random.default_rng(size)


def several(size=2):
    held = Several(size)
    held.parts[0].observe_utility(np.arange(float(size)))
    held.sums["a"] += 0.5
    held.sums["b"] = 7
    held.seen = [1, 2.5, "three"]
    held.best = np.ones(size)
    held.generator.random(3)
    return held


def test_a_state_of_nested_things_continues_bitwise():
    held, fresh = several(), Several(2)
    fresh.load_state_dict(held.state_dict())

    np.testing.assert_equal(fresh.state_dict(), held.state_dict())
    assert fresh.generator.random() == held.generator.random()
    assert fresh.seen == [1, 2.5, "three"]


def without(name):
    return lambda state: state.pop(name)


def placed(value, *place):
    *upper, last = place

    def change(state):
        for name in upper:
            state = state[name]
        state[last] = value

    return change


WRONG = {
    "missing": without("seen"),
    "another shape": placed(np.zeros(3), "sums", "a"),
    "another type": placed(np.zeros(2, int), "sums", "a"),
    "no number": placed(np.array([0.0, math.nan]), "sums", "a"),
    "no number alone": placed(math.nan, "sums", "b"),
    "text": placed("many", "sums", "b"),
    "an object": placed(object(), "best"),
    "an array of objects": placed(np.array([object()]), "best"),
    "a part too few": placed({}, "parts"),
    "a count below zero": placed(-1, "parts", "0", "iteration"),
    "a count beyond all": placed(2**63, "parts", "0", "iteration"),
    "another generator": placed(np.random.MT19937(1).state, "generator"),
    "half a generator": placed({"bit_generator": "PCG64"}, "generator"),
}


@pytest.mark.parametrize("change", WRONG.values(), ids=WRONG)
def test_a_state_that_does_not_fit_changes_nothing(change):
    held, twin = several(), several()
    held.generator.random()
    twin.generator.random()
    state = several().state_dict()
    state["parts"]["0"]["iteration"] = 9  # would be seen if a part had been replaced
    change(state)

    with pytest.raises((TypeError, ValueError), match=r"^state"):
        held.load_state_dict(state)
    np.testing.assert_equal(held.state_dict(), twin.state_dict())
