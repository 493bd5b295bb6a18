"""Rules that users write keep the contract, block by block, and play games."""

import numpy as np
import pytest
from user_rules import NEEDS_PYTHON, RULES

from regretkit.checks import CHECKS, parametrize_with_checks, run_check
from regretkit.sets import Simplices

SIMPLICES = Simplices([2, 3])
RANDOM = {"RandomLeader"}
COUPLED = {"HalvedWhenLarge"}


def rules(leave_out=()):
    rows = [pytest.param(make, id=name) for name, make in RULES if name not in leave_out]
    return pytest.mark.parametrize("make", rows)


def played(player, utilities):
    strategies = []
    for utility in utilities:
        strategies.append(player.next_strategy())
        player.observe_utility(utility)
    return np.array(strategies)


@pytest.mark.deep_beyond(199)
@parametrize_with_checks({name: lambda make=make: make(SIMPLICES) for name, make in RULES})
def test_each_rule_keeps_the_contract(check, make):
    run_check(check, make)


EXEMPTIONS = [
    pytest.param(check, make, id=f"{name}:{check.__name__}")
    for name, make in RULES
    for check in CHECKS
    if check.__name__ in make(SIMPLICES).exemptions()
]


def breaks(check, make):
    try:
        run_check(check, make)
    except AssertionError:
        return True
    return False


@pytest.mark.deep_beyond(3)
@pytest.mark.parametrize(("check", "make"), EXEMPTIONS)
def test_a_rule_is_exempt_only_from_what_it_breaks(check, make):
    assert any(breaks(check, lambda size=size: make(Simplices(size))) for size in (3, [2, 3]))


@pytest.mark.deep_beyond(8)
@rules(leave_out={name for name, make in RULES if make(SIMPLICES)._weaker_guarantee()})
def test_without_an_exemption_regret_grows_slowly_on_one_simplex_as_well(make):
    (check,) = (check for check in CHECKS if check.__name__ == "regret_grows_slowly")
    run_check(check, lambda: make(Simplices(3)))


# What is drawn, and what is decided for all blocks at once, depends on the other blocks.
@rules(leave_out=RANDOM | COUPLED)
def test_each_block_is_played_as_if_it_were_alone(make):
    utilities = np.random.default_rng(3).normal(size=(60, SIMPLICES.dimension))
    together = played(make(SIMPLICES), utilities)

    assert len(np.unique(together, axis=0)) > 10
    for number, size in enumerate(SIMPLICES.sizes):
        block = SIMPLICES.block(number)
        alone = played(make(Simplices(size)), utilities[:, block])
        np.testing.assert_array_equal(together[:, block], alone)


@pytest.mark.deep_beyond(13)
@rules()
def test_strategies_in_a_matrix_game_are_distributions(make):
    payoffs = np.array([[2.0, -1.0, 0.0], [-1.0, 1.0, 0.5]])
    row, column = make(Simplices(2)), make(Simplices(3))
    for _ in range(200):
        x, y = row.next_strategy(), column.next_strategy()
        assert row.domain.contains(x)
        assert column.domain.contains(y)
        row.observe_utility(payoffs @ y)
        column.observe_utility(-x @ payoffs)


def test_names_are_unique_and_those_that_need_python_exist():
    names = [name for name, _ in RULES]
    assert len(set(names)) == len(names) >= 20
    assert set(names) > set(NEEDS_PYTHON) | RANDOM | COUPLED
