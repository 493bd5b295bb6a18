"""Averages: iteration t counts exactly as often as its scheme says."""

import math

import numpy as np
import pytest
from refusals import refusals

import regretkit as rk
from regretkit import Average, games
from regretkit.play import Averaging, Delayed, Last, Linear, Power, Quadratic, Uniform

EPSILON = np.finfo(np.float64).eps
POWERS = [(Uniform(), 0.0), (Linear(), 1.0), (Quadratic(), 2.0)]
POWERS += [(Power(p), p) for p in (0.0, 0.5, 1.0, 2.0, 5.0, -1.0)]


class LateHalf(Averaging):
    """Count only the second half of what is planned."""

    def weight(self, t, horizon):
        return 1.0 if t > horizon / 2 else 0.0


def averaged(strategies, averaging, **arguments):
    average = Average(averaging, **arguments)
    for strategy in strategies:
        average.add(strategy)
    return average


@pytest.mark.parametrize(("averaging", "power"), POWERS)
def test_iteration_t_weighs_t_to_the_power(averaging, power):
    # Each iteration plays a corner of its own, so that the average is the weights themselves.
    found = averaged(np.eye(6), averaging).strategy

    t = np.arange(1.0, 7.0)
    np.testing.assert_allclose(found, t**power / (t**power).sum(), rtol=1e-15)
    assert [averaging.weight(t, None) for t in range(1, 2_000)] == [
        float(t) ** power for t in range(1, 2_000)
    ]


def test_a_delayed_average_forgets_what_was_before():
    strategies = np.random.default_rng(5).dirichlet(np.ones(3), size=9)
    averaging = Delayed(2.0, delay=5)

    late = averaged(strategies, averaging).strategy
    early = averaged(strategies[:5], averaging).strategy

    weights = np.arange(1.0, 10.0) ** 2
    np.testing.assert_allclose(late, np.average(strategies[5:], axis=0, weights=weights[5:]))
    np.testing.assert_allclose(early, np.average(strategies[:5], axis=0, weights=weights[:5]))
    assert averaging.weights(1, 9, None).tolist() == [
        averaging.weight(t, None) for t in range(1, 10)
    ]
    with pytest.raises(ValueError, match="delay"):
        Delayed(2.0, delay=0)


def test_an_average_of_nothing_or_of_what_does_not_count_is_refused():
    with pytest.raises(ValueError, match="at least one iteration of positive weight"):
        _ = Average().strategy
    with pytest.raises(ValueError, match="at least one iteration of positive weight"):
        _ = averaged(np.eye(2), LateHalf(), horizon=9).strategy


@pytest.mark.parametrize("power", [40.0, -1.0])
def test_a_large_power_still_averages(power):
    # 100 ** 40 is 1e80, and even ten million iterations later it is a number.
    strategies = np.random.default_rng(4).dirichlet(np.ones(3), size=100)
    assert np.isfinite(Power(power).weight(10_000_000, None))

    found = averaged(strategies, Power(power)).strategy

    expected = np.average(strategies, axis=0, weights=(np.arange(1, 101) / 100.0) ** power)
    np.testing.assert_allclose(found, expected, atol=1e-13)


class BadAtThree(Averaging):
    """Give the third iteration a weight that is none."""

    def weight(self, t, horizon):
        return -1.0 if t == 3 else 1.0


NO_STRATEGIES = [
    (Last(), [np.nan, 1.0], ValueError, "strategy must be finite"),
    (Last(), ["a", "b"], TypeError, "strategy"),
    (Last(), np.ones(3) / 3, ValueError, r"must have shape \(2,\), got \(3,\)"),
    (BadAtThree(), np.ones(2) / 2, ValueError, r"must be at least 0, got -1\.0"),
]


@pytest.mark.parametrize(("averaging", "strategy", "error", "message"), NO_STRATEGIES)
def test_a_strategy_that_cannot_be_added_is_refused_and_changes_nothing(
    averaging, strategy, error, message
):
    average = averaged(np.eye(2), averaging)
    previous = average.strategy

    with pytest.raises(error, match=message):
        average.add(strategy)

    np.testing.assert_array_equal(average.strategy, previous)
    assert average.iteration == 2


test_what_is_no_scheme_or_out_of_the_range_of_power_is_refused = refusals(
    *((Average, x, TypeError, "averaging must be an Averaging, got") for x in ("x", Linear, 2.0)),
    *((Power, x, ValueError, r"power must be .*finite") for x in (math.nan, math.inf, -math.inf)),
    *((Power, x, ValueError, "'power' must be .=") for x in (-1.01, -40.0, 40.5)),
    call=lambda make, argument: make(argument),
)


@pytest.mark.parametrize("game", [games.leduc_poker(), games.rock_paper_scissors()])
def test_an_average_is_a_strategy_however_much_its_sum_has_drifted(game):
    run = rk.solve(game, iterations=20)
    state, generator = run.state_dict(), np.random.default_rng(6)
    for average in state["_averages"].values():
        average["_total"] *= 1.0 + 1e-9 * generator.normal(size=average["_total"].shape)
    run.load_state_dict(state)

    for domain, strategy in zip(game.domains, run.average, strict=True):
        if isinstance(domain, rk.DecisionTree):
            assert strategy[0] == 1.0
            reach, sizes = domain.reach(strategy), domain.simplices.sizes
            sums, strategy = domain.simplices.sum(strategy[1:]), domain.behavior(strategy)
            np.testing.assert_allclose(sums, reach, rtol=sizes.max() * EPSILON, atol=0.0)
        simplices = getattr(domain, "simplices", domain)
        np.testing.assert_allclose(
            simplices.sum(strategy), 1.0, rtol=simplices.sizes.max() * EPSILON, atol=0.0
        )


@pytest.mark.parametrize("first", [1, 2**26 - 500, 10**9])
@pytest.mark.parametrize("scheme", [Power(2.0), Power(1.5), Linear(), Uniform()])
def test_weights_of_a_call_are_those_of_its_iterations(scheme, first):
    expected = [scheme.weight(t, None) for t in range(first, first + 1_000)]
    np.testing.assert_array_equal(scheme.weights(first, 1_000, None), expected)
