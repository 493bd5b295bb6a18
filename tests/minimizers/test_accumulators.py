"""Accumulators are pure functions of a state."""

import numpy as np
import pytest
from factories import INF

from regretkit.minimizers import Cumulative, Discounted, LinearAccumulator, NonNegative
from regretkit.sets import Simplices

ACCUMULATORS = [
    Cumulative(),
    NonNegative(),
    LinearAccumulator(),
    Discounted(alpha=1.5, beta=0.0),
    Discounted(alpha=INF, beta=-INF),
    Discounted(alpha=-INF, beta=INF),
    Discounted(alpha=2.3, beta=-1.0),
]


def test_a_discount_so_strong_that_it_overflows_is_its_limit():
    discounted = Discounted(alpha=-1e6, beta=1e6).update(
        Simplices(2), {"regrets": np.array([4.0, -4.0])}, np.zeros(2), 3
    )

    np.testing.assert_array_equal(discounted["regrets"], [0.0, -4.0])


def test_nothing_is_discounted_before_the_second_iteration_unless_all_is():
    regrets = Simplices(2), {"regrets": np.array([4.0, -4.0])}, np.zeros(2), 1

    for exponent, kept in [(-5.0, 1.0), (0.0, 1.0), (3.0, 1.0), (INF, 1.0), (-INF, 0.0)]:
        discounted = Discounted(alpha=exponent, beta=exponent).update(*regrets)["regrets"]
        np.testing.assert_array_equal(discounted, kept * np.array([4.0, -4.0]))


@pytest.mark.parametrize("accumulator", ACCUMULATORS, ids=str)
def test_an_update_changes_nothing_that_it_was_given(accumulator):
    generator = np.random.default_rng(16)
    state, regret = {"regrets": generator.normal(size=4)}, generator.normal(size=4)
    before = state["regrets"].copy(), regret.copy()

    after = accumulator.update(Simplices(4), state, regret, 3)
    after["regrets"] += 1.0

    np.testing.assert_array_equal(state["regrets"], before[0])
    np.testing.assert_array_equal(regret, before[1])
