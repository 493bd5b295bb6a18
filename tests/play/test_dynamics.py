"""What play does over time in small games: who converges, to what, and who never does."""

import itertools

import numpy as np
import pytest

import regretkit as rk
from regretkit import NormalFormGame, SelfPlay, games, matrix_game
from regretkit.evaluation import CorrelatedPlay, best_response, nash_conv
from regretkit.play import Alternating, Last, Simultaneous

# The game in which Cai, Farina, Grand-Clement, Kroer, Lee, Luo and Zheng (2023) show that regret
# matching+ need not converge in its last iterate
UNSTABLE = matrix_game([[3.0, 0.0, -3.0], [0.0, 3.0, -4.0], [0.0, 0.0, 1.0]])

ALTERNATING, SIMULTANEOUS = Alternating(), Simultaneous()

ENGINES = ["numpy", pytest.param("compiled", marks=pytest.mark.deep)]
each_engine = pytest.mark.parametrize("engine", ENGINES)


# Correlated equilibrium in Shapley's game


def shapley(make, iterations=1_000, looks=5):
    """Return the CE gap of play so far at evenly spaced moments."""
    game = games.shapley_game()
    players = [make(), make()]
    # Uniform play is the equilibrium, and a fixed point.
    players[0].observe_utility([0.05, 0.0, 0.0])
    run, play, gaps = SelfPlay(game, players, order=SIMULTANEOUS), CorrelatedPlay(game), []
    for _ in range(looks):
        run.run(iterations // looks, callbacks=[play])
        gaps.append(play.gap("ce"))
    return gaps


def test_swap_regret_finds_a_correlated_equilibrium_of_shapleys_game():
    gaps = shapley(lambda: rk.SwapRegret(3, rk.RegretMatching))

    assert gaps[-1] < 0.02 < gaps[0]


# Coarse and full correlated equilibrium among three


@pytest.mark.deep_beyond(1)
@pytest.mark.parametrize("seed", range(3))
def test_swap_regret_among_three_comes_as_close_to_equilibrium_as_is_proven(seed):
    # Expert a has utilities in a range of x_a, so all of them together regret at most
    # sum_a sqrt(n sum_t x_t[a]^2)  <=  n sqrt(T).
    T = 1_000
    game = NormalFormGame(np.random.default_rng(seed).random((3, 3, 3, 3)))
    players = [rk.SwapRegret(3, rk.RegretMatching) for _ in range(3)]
    play = CorrelatedPlay(game)

    SelfPlay(game, players, order=SIMULTANEOUS).run(T, callbacks=[play])

    assert (play.gaps("ce") <= 3 / np.sqrt(T)).all()


# The last iterate


@each_engine
def test_alternating_and_predicting_even_the_last_iterate_converges(engine):
    players = [rk.PredictiveRegretMatchingPlus(3) for _ in "xy"]
    run = SelfPlay(UNSTABLE, players, order=ALTERNATING, averaging=Last(), engine=engine)

    run.run(1_000)

    assert nash_conv(UNSTABLE, run.average) < 1e-13
    np.testing.assert_allclose(run.current[0], [1 / 12, 1 / 12, 10 / 12], atol=1e-14)
    np.testing.assert_allclose(run.current[1], [4 / 12, 5 / 12, 3 / 12], atol=1e-14)


# Against one who does not learn


def test_against_a_biased_opponent_regret_matching_leaves_uniform_play_at_once():
    # Paper beats who plays rock too often: by 0.1, and after one iteration only its regret is
    # positive. One uniform iteration and 999 of paper are what is averaged.
    game = games.rock_paper_scissors()
    opponent = np.array([0.4, 0.3, 0.3])
    run = SelfPlay(game, [rk.RegretMatching(3), rk.Point(opponent)]).run(1_000)

    value, strategy = best_response(game, 0, run.current)

    expected = np.array([1 / 3, 999 + 1 / 3, 1 / 3]) / 1_000
    np.testing.assert_allclose(run.average[0], expected, atol=1e-15)
    np.testing.assert_array_equal(strategy, [0.0, 1.0, 0.0])
    assert value == pytest.approx(0.1, abs=1e-15)


# Multiplicative weights in matching pennies

RATE, X, Y = 0.1, np.array([0.7, 0.3]), np.array([0.4, 0.6])


def divergence(profile):
    """Return the sum over players of KL(equilibrium || strategy), the equilibrium being uniform."""
    return -sum(0.5 * np.log(2 * strategy).sum() for strategy in profile)


def divergences(players, iterations, engine):
    run = SelfPlay(games.matching_pennies(), players, order=SIMULTANEOUS, engine=engine)
    for strategy, expected in zip(run.current, (X, Y), strict=True):
        np.testing.assert_allclose(strategy, expected, atol=1e-15)
    found = [divergence(run.current)]
    run.run(iterations, callbacks=[lambda run: found.append(divergence(run.current))])
    return np.array(found)


@pytest.mark.deep_beyond(1)
@each_engine
def test_multiplicative_weights_spiral_away_from_equilibrium(engine):
    # Bailey and Piliouras (2018): further in every single step. The first strategies are there
    # after one utility of log(x) / rate.
    players = [rk.Hedge(2, rate=RATE), rk.Hedge(2, rate=RATE)]
    for player, strategy in zip(players, (X, Y), strict=True):
        player.observe_utility(np.log(strategy) / RATE)

    found = divergences(players, 1_000, engine)

    assert (np.diff(found) > 0.0).all()
    np.testing.assert_allclose(found[[1, 10, 100]], [0.1085, 0.1172, 0.2425], atol=5e-5)
    assert found[1_000] == pytest.approx(2.788, abs=5e-4)


@each_engine
def test_optimism_turns_the_spiral_inward(engine):
    # The numbers are those of  x_t+1 ~ x_t exp(rate (2 u_t - u_t-1))  with u_0 = u_1: the first
    # prediction is right. So x_1 is there with u_1 expected, and log(x_1) / rate - u_1 behind it.
    game = games.matching_pennies()
    players = [rk.OptimisticHedge(2, rate=RATE), rk.OptimisticHedge(2, rate=RATE)]
    for i, (player, strategy) in enumerate(zip(players, (X, Y), strict=True)):
        coming = game.utility(i, [X, Y])
        player.observe_utility(np.log(strategy) / RATE - coming)
        player.expect_utility(coming)

    found = divergences(players, 1_000, engine)

    # It is further away once, after the step in which it is Hedge.
    assert (np.diff(found)[1:] < 0.0).all()
    np.testing.assert_allclose(found[[1, 10, 100]], [0.1085, 0.1003, 0.0434], atol=5e-5)
    assert found[1_000] == pytest.approx(4.94e-6, abs=5e-9)


# Who is faster


def test_in_kuhn_poker_newer_algorithms_are_ahead_after_a_hundred_iterations():
    # The order of the published trajectories: alternation beats none, and weights beat no weights.
    game = games.kuhn_poker()
    local = rk.RegretMatching
    simultaneous = rk.Algorithm(local, order=SIMULTANEOUS)
    ranked = [simultaneous, "cfr", "dcfr", "cfr+", "lcfr", "pcfr+"]

    gaps = [nash_conv(game, rk.solve(game, name, iterations=100).average) for name in ranked]

    assert all(slow > fast for slow, fast in itertools.pairwise(gaps))
    assert gaps[1] < gaps[0] / 2
    assert gaps[-1] < gaps[1] / 100
