"""Where play itself ends up, without an average; and the order of play of extragradients."""

import math
from functools import partial

import numpy as np
import pytest
from naive import add, dot, in_proportion, positive, project, regret

import regretkit as rk
from regretkit import minimizers as m
from regretkit.evaluation import duality_gap, nash_conv
from regretkit.games import kuhn_poker
from regretkit.play import (
    ALGORITHMS,
    Alternating,
    Extragradient,
    HorizonPower,
    Linear,
    Power,
    Simultaneous,
    Uniform,
    hs_dcfr,
    hs_pcfr_plus,
    solve,
)

# Cai et al. (2025); worth 1/4, with the only equilibrium (1, 1, 10)/12 against (4, 5, 3)/12.
PAYOFF = np.array([[3.0, 0.0, -3.0], [0.0, 3.0, -4.0], [0.0, 0.0, 1.0]])
CIRCLING = rk.matrix_game(PAYOFF)
EQUILIBRIUM = np.array([1.0, 1.0, 10.0]) / 12.0, np.array([4.0, 5.0, 3.0]) / 12.0

RM_PLUS, PRM_PLUS = rk.RegretMatchingPlus, rk.PredictiveRegretMatchingPlus
SMOOTH = partial(m.contrib.SmoothPredictiveRegretMatchingPlus, rate=0.1)
OPTIMISTIC = partial(m.contrib.SmoothOptimisticRegretMatchingPlus, rate=0.1)
EXTRA = partial(m.contrib.ExtragradientRegretMatchingPlus, rate=0.1)
NORM = m.contrib.IREGPredictiveRegretMatchingPlus


def stable(floor):
    return partial(m.contrib.StablePredictiveRegretMatchingPlus, floor=floor)


def play(make, order, iterations, game=CIRCLING):
    players = [make(domain.dimension) for domain in game.domains]
    return rk.SelfPlay(game, players, order=order).run(iterations)


# The three by three matrix


CIRCLES = {
    "rm+": (RM_PLUS, Simultaneous()),
    "rm+ alternating": (RM_PLUS, Alternating()),
    "prm+": (PRM_PLUS, Simultaneous()),
    "stable, by a low floor": (stable(1.0), Simultaneous()),
}
SETTLES = {
    "smooth": (SMOOTH, Simultaneous()),
    "optimistic": (OPTIMISTIC, Simultaneous()),
    "extra": (EXTRA, Extragradient()),
    "norm": (NORM, Simultaneous()),
    "stable": (stable(5.0), Simultaneous()),
}
ALTERNATES = {
    "smooth alternating": (SMOOTH, Alternating()),
    "norm alternating": (NORM, Alternating()),
    "stable alternating": (stable(5.0), Alternating()),
}


def each_of(ways):
    return pytest.mark.parametrize(("make", "order"), ways.values(), ids=ways)


@pytest.mark.deep_beyond(2)
@each_of(CIRCLES)
def test_the_last_iterate_does_not_converge_where_averages_do(make, order):
    run, gaps = play(make, order, 2_000), []

    for _ in range(20):
        gaps.append(duality_gap(CIRCLING, run.run(100).current))

    assert min(gaps) > 0.05
    assert max(gaps) > 0.25
    assert duality_gap(CIRCLING, run.average) < 0.05


@pytest.mark.deep_beyond(4)
@each_of(SETTLES | ALTERNATES)
def test_the_last_iterate_converges(make, order):
    run = play(make, order, 1_500)

    assert duality_gap(CIRCLING, run.current) < 1e-12
    for strategy, equilibrium in zip(run.current, EQUILIBRIUM, strict=True):
        np.testing.assert_allclose(strategy, equilibrium, atol=1e-10)


# The order of play


def lifted(numbers):
    return positive(numbers) if sum(positive(numbers)) >= 1.0 else project(numbers)


def naive_extragradient(iterations, rate):
    """Yield what is played, by the formula of the paper in plain Python."""
    payoffs = [[list(row) for row in PAYOFF], [[-entry for entry in row] for row in PAYOFF.T]]
    w = [[1.0 / 3.0] * 3 for _ in "xy"]

    def step(strategies):
        """Return where both go from ``w`` by the regrets at the strategies ``at``."""
        worths = [[dot(row, strategies[1 - i]) for row in payoffs[i]] for i in (0, 1)]
        gains = [regret(worths[i], strategies[i]) for i in (0, 1)]
        return [lifted(add(w[i], [rate * gain for gain in gains[i]])) for i in (0, 1)]

    for _ in range(iterations):
        lookahead = step([in_proportion(block) for block in w])
        played = [in_proportion(block) for block in lookahead]
        yield played
        w = step(played)


def test_extragradient_play_is_that_of_the_paper_and_so_is_its_average():
    run, total = play(EXTRA, Extragradient(), 0), np.zeros((2, 3))

    for t, played in enumerate(naive_extragradient(60, 0.1), start=1):
        run.run(1)
        total += played
        for i in (0, 1):
            np.testing.assert_allclose(run.last_profile[i], played[i], atol=1e-10)
            np.testing.assert_allclose(run.average[i], total[i] / t, atol=1e-10)


def test_predictors_of_their_own_are_silenced_before_the_unaided_strategies_are_asked():
    run = play(PRM_PLUS, Extragradient(), 5)
    unaided = [in_proportion(player.regrets.tolist()) for player in run.minimizers]
    twins = play(PRM_PLUS, Extragradient(), 5).minimizers

    run.run(1)

    for player, twin in enumerate(twins):
        twin.expect_utility(CIRCLING.utility(player, [np.array(x) for x in unaided]))
        np.testing.assert_allclose(run.last_profile[player], twin.next_strategy(), atol=1e-12)


# Named algorithms, and an average that knows its horizon


@pytest.mark.parametrize(
    ("name", "rule", "averaging"),
    [
        ("cfr", rk.RegretMatching, Uniform()),
        ("cfr+", RM_PLUS, Linear()),
        ("lcfr", rk.LinearRegretMatching, Linear()),
        ("dcfr", partial(rk.DiscountedRegretMatching, alpha=1.5, beta=0.0), Power(2.0)),
        ("pcfr+", PRM_PLUS, Power(2.0)),
        ("dcfr+", partial(m.DiscountedRegretMatchingPlus, alpha=1.5, shift=1.5), Power(4.0)),
        ("pdcfr+", partial(m.PredictiveDiscountedRegretMatchingPlus, alpha=2.3), Power(5.0)),
        ("sapcfr+", partial(m.contrib.AsymmetricRegretMatchingPlus, weight=1 / 3), Power(2.0)),
        ("vad-cfr", m.contrib.VolatilityAdaptiveRegretMatching, Power(2.0)),
        ("apcfr+", partial(m.contrib.AdaptiveAsymmetricRegretMatchingPlus, limit=5.0), Power(2.0)),
    ],
)
def test_a_name_stands_for_the_rule_and_the_average_of_its_paper(name, rule, averaging):
    game = kuhn_poker()
    by_parts = rk.SelfPlay(game, [rk.CFR(d, rule) for d in game.domains], averaging=averaging)

    run = solve(game, name, iterations=40)
    for x, y in zip(run.average, by_parts.run(40).average, strict=True):
        np.testing.assert_allclose(x, y, atol=1e-12)
    assert name in ALGORITHMS


def test_schedules_of_the_whole_run_solve_kuhn_poker():
    game = kuhn_poker()

    assert nash_conv(game, solve(game, hs_pcfr_plus, iterations=200).average) < 1e-12
    gaps = [nash_conv(game, solve(game, hs_dcfr(t), iterations=t).average) for t in (50, 1_000)]
    assert gaps[1] < 0.05 * gaps[0]


@pytest.mark.parametrize(("power", "horizon"), [(15.0, 20), (30.0, 7), (30.0, 1), (5.0, 12)])
def test_weights_are_the_discounts_of_the_paper_multiplied_up(power, horizon):
    averaging = HorizonPower(power)
    weights = [averaging.weight(t, horizon) for t in range(1, horizon + 11)]

    # Multiplying what came before by the discount of every later iteration, as the paper does
    expected = [1.0] * len(weights)
    for t in range(2, len(weights) + 1):
        discount = ((t - 1) / t) ** (power - 5.0 * min((t - 1) / horizon, 1.0))
        expected[: t - 1] = [discount * weight for weight in expected[: t - 1]]

    np.testing.assert_allclose(np.array(weights) / weights[-1], expected, rtol=1e-11)
    assert weights[horizon - 1] == pytest.approx(1.0, rel=1e-12)


def test_a_schedule_without_a_horizon_is_refused_before_anything_is_played():
    with pytest.raises(ValueError, match=r"HorizonPower\(power=15.0\) needs a horizon"):
        rk.SelfPlay(CIRCLING, [NORM(3), NORM(3)], averaging=HorizonPower(15.0))
    with pytest.raises(ValueError, match="needs a horizon"):
        hs_pcfr_plus.start(kuhn_poker())
    with pytest.raises(ValueError, match="needs a horizon"):
        solve(kuhn_poker(), hs_pcfr_plus, target_gap=1e-3)
    with pytest.raises(ValueError, match=r"horizon must be .*at least 1"):
        hs_dcfr(0)
    with pytest.raises(ValueError, match="power must be a finite number"):
        HorizonPower(math.inf)
