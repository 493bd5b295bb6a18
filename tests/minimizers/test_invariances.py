"""What holds of every rule over simplices: blocks, units, constants, actions, predictions."""

from functools import partial

import numpy as np
import pytest
from factories import MAKERS, same_play
from test_mirror_descent import RULES as LEADERS
from test_recurrences import FAMILY, FLOOR, RATE

import regretkit as rk
from regretkit import minimizers as m
from regretkit.minimizers import contrib

RULES = MAKERS | {name: make for name, (make, _) in FAMILY.items()} | LEADERS
SCALE_FREE = [name for name, make in RULES.items() if make(2).scale_free]
HAVE_A_UNIT = {"smooth", "smooth optimistic", "extragradient", "stable"}
each_rule = pytest.mark.parametrize("name", RULES)


@pytest.mark.deep_beyond(23)
@each_rule
def test_a_rule_over_several_blocks_is_bitwise_a_product_of_rules(name):
    sizes, make = [3, 1, 30, 3, 2], RULES[name]
    # At first too, and where blocks begin at different times
    for waiting in (0, 5):
        joint, separate = make(sizes), rk.Product([make(size) for size in sizes])
        for t, utility in enumerate(np.random.default_rng(1).normal(size=(40, 39))):
            if t % 4 == 3:
                for player in (joint, separate):
                    player.expect_utility(utility[::-1])
            np.testing.assert_array_equal(joint.next_strategy(), separate.next_strategy())
            utility[: 10 * (waiting - t // 5)] *= t > 25 or not waiting
            joint.observe_utility(utility)
            separate.observe_utility(utility)


@pytest.mark.parametrize("name", sorted(HAVE_A_UNIT))
@pytest.mark.parametrize("exponent", [20, -20])
def test_a_rate_has_the_inverse_unit_of_utility_and_a_floor_its_unit(name, exponent):
    others = {"hedge", "optimistic", "volatility"}
    assert RULES.keys() - SCALE_FREE == HAVE_A_UNIT | LEADERS.keys() | others
    unit = 2.0**exponent
    rate = {"floor": FLOOR * unit} if name == "stable" else {"rate": RATE / unit}
    player, second = RULES[name]([3, 5]), RULES[name].func([3, 5], **rate)
    same_play(player, second, told="sometimes", seen=lambda utility: unit * utility)


@pytest.mark.parametrize("name", sorted(RULES.keys() - HAVE_A_UNIT))
def test_an_untrained_rule_is_uniform_and_stays_so_while_all_actions_earn_the_same(name):
    player = RULES[name]([3, 7, 11, 1])

    for value in (0.1, 1e-200, -1e90, 7.0):
        np.testing.assert_array_equal(player.next_strategy(), player.simplices.uniform())
        player.observe_utility(np.full(22, value))
    np.testing.assert_array_equal(player.next_strategy(), player.simplices.uniform())


# Predictions


BITWISE = {
    rk.PredictiveRegretMatching: rk.RegretMatching,
    rk.PredictiveRegretMatchingPlus: rk.RegretMatchingPlus,
    partial(rk.OptimisticHedge, rate=0.5): partial(rk.Hedge, rate=0.5),
}


@pytest.mark.deep_beyond(10)
@pytest.mark.parametrize(
    ("predictive", "plain"),
    [
        *BITWISE.items(),
        (
            m.PredictiveDiscountedRegretMatchingPlus,
            partial(m.DiscountedRegretMatchingPlus, alpha=2.3, shift=1.0),
        ),
        (contrib.AsymmetricRegretMatchingPlus, rk.RegretMatchingPlus),
        (contrib.AdaptiveAsymmetricRegretMatchingPlus, rk.RegretMatchingPlus),
        # The positive part of Q + g is no shorter than Q when g is orthogonal to Q.
        (contrib.IREGPredictiveRegretMatchingPlus, rk.RegretMatchingPlus),
        (RULES["smooth"], RULES["extragradient"]),
        (RULES["smooth optimistic"], RULES["extragradient"]),
        *(
            (make, LEADERS[name.removesuffix("+optimism")])
            for name, make in LEADERS.items()
            if name.endswith("+optimism") and "mmd" not in name
        ),
    ],
)
def test_a_prediction_of_zero_turns_prediction_off(predictive, plain):
    atol = 1e-12 * (predictive not in BITWISE)
    same_play(predictive([2, 3]), plain([2, 3]), atol=atol, told=np.zeros(5))
