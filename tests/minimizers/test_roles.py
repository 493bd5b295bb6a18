"""Roles are pure functions of a state; memories know what idleness does to them."""

import numpy as np
import pytest
from factories import INF

from regretkit.minimizers import Cumulative, Discounted, LinearAccumulator, Memory, Plus
from regretkit.sets import Simplices

MEMORIES = [
    Cumulative(),
    Plus(),
    LinearAccumulator(),
    Discounted(alpha=1.5, beta=0.0),
    Discounted(alpha=INF, beta=-INF),
    Discounted(alpha=-INF, beta=INF),
    Discounted(alpha=2.3, beta=-1.0),
]


@pytest.mark.parametrize("memory", MEMORIES, ids=str)
@pytest.mark.parametrize(("iteration", "count"), [(1, 1), (1, 7), (2, 0), (5, 1), (40, 300)])
def test_an_idle_memory_is_one_that_saw_no_regret(memory, iteration, count):
    generator = np.random.default_rng(15)
    simplices = Simplices([2, 3])
    state = memory.remember(simplices, memory.start(simplices), generator.normal(size=5), 1)
    before = state["regrets"].copy()

    idle = memory.idle(simplices, state, iteration, count)

    replayed = state
    for later in range(iteration, iteration + count):
        replayed = memory.remember(simplices, replayed, np.zeros(5), later)
    np.testing.assert_allclose(idle["regrets"], replayed["regrets"], rtol=1e-12, atol=0.0)
    default = Memory.idle(memory, simplices, state, iteration, count)
    np.testing.assert_array_equal(default["regrets"], replayed["regrets"])
    np.testing.assert_array_equal(state["regrets"], before)


def test_a_discount_so_strong_that_it_overflows_is_its_limit():
    faded = Discounted(alpha=-1e6, beta=1e6).remember(
        Simplices(2), {"regrets": np.array([4.0, -4.0])}, np.zeros(2), 3
    )

    np.testing.assert_array_equal(faded["regrets"], [0.0, -4.0])


def test_nothing_is_discounted_before_the_second_iteration_unless_all_is():
    regrets = Simplices(2), {"regrets": np.array([4.0, -4.0])}, np.zeros(2), 1

    for exponent, kept in [(-5.0, 1.0), (0.0, 1.0), (3.0, 1.0), (INF, 1.0), (-INF, 0.0)]:
        faded = Discounted(alpha=exponent, beta=exponent).remember(*regrets)["regrets"]
        np.testing.assert_array_equal(faded, kept * np.array([4.0, -4.0]))


@pytest.mark.parametrize("memory", MEMORIES, ids=str)
def test_remembering_changes_nothing_that_it_was_given(memory):
    generator = np.random.default_rng(16)
    state, regret = {"regrets": generator.normal(size=4)}, generator.normal(size=4)
    before = state["regrets"].copy(), regret.copy()

    after = memory.remember(Simplices(4), state, regret, 3)
    after["regrets"] += 1.0

    np.testing.assert_array_equal(state["regrets"], before[0])
    np.testing.assert_array_equal(regret, before[1])
