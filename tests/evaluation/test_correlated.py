"""Correlated play: gaps from sums are those of the whole history, and of known distributions."""

import itertools

import numpy as np
import pytest
from naive_games import random_game, random_profile

from regretkit import CFR, ExtensiveFormGame, Hedge, NormalFormGame, RegretMatching, SelfPlay, games
from regretkit.evaluation import CorrelatedPlay, best_response, cce_gaps, ce_gaps
from regretkit.play import Alternating, Simultaneous

# The game of section 2.2 of Gibson (2013), "Regret minimization in non-zero-sum games"; the second
# player is paid nothing.
GIBSON = NormalFormGame([[[1, 0], [0, 2], [-1, 1]], np.zeros((3, 2))])
SHAPES = [(3,), (3, 4), (2, 3, 2)]
each_shape = pytest.mark.parametrize("shape", SHAPES, ids=str)


def history_of(generator, shape, iterations=30):
    """Return a random game of this shape, joint strategies that were played, and weights."""
    game = NormalFormGame(generator.normal(size=(len(shape), *shape)))
    played = [[generator.dirichlet(np.ones(n)) for n in shape] for _ in range(iterations)]
    return game, played, generator.exponential(size=iterations)


def add_all(game, played, weights):
    play = CorrelatedPlay(game)
    for profile, weight in zip(played, weights, strict=True):
        play.add(profile, weight)
    return play


def distribution_of(played, weights):
    """Return the joint distribution over outcomes, every one of them by itself."""
    joint = np.zeros([strategy.size for strategy in played[0]])
    for profile, weight in zip(played, weights, strict=True):
        for outcome in np.ndindex(*joint.shape):
            joint[outcome] += weight * np.prod(
                [x[a] for x, a in zip(profile, outcome, strict=True)]
            )
    return joint / sum(weights)


def gain_from(game, distribution, player, instead):
    """Return what a player gains over a distribution by playing ``instead[a]`` wherever told a."""
    gain = 0.0
    for outcome in np.ndindex(*distribution.shape):
        other = list(outcome)
        other[player] = instead[outcome[player]]
        change = game.payoffs[(player, *other)] - game.payoffs[(player, *outcome)]
        gain += distribution[outcome] * change
    return gain


def naive_cce_gap(game, distribution, player):
    n = distribution.shape[player]
    return max(gain_from(game, distribution, player, [a] * n) for a in range(n))


def naive_ce_gap(game, distribution, player):
    n = distribution.shape[player]
    rules = itertools.product(range(n), repeat=n)
    return max(gain_from(game, distribution, player, rule) for rule in rules)


# Sums instead of history


@each_shape
@pytest.mark.parametrize("seed", range(3))
def test_gaps_from_sums_are_those_of_the_whole_history(shape, seed):
    game, played, weights = history_of(np.random.default_rng(seed), shape)
    joint = distribution_of(played, weights)
    play = add_all(game, played, weights)
    for player in range(game.players):
        gaps = naive_cce_gap(game, joint, player), naive_ce_gap(game, joint, player)
        assert play.cce_gaps()[player] == pytest.approx(gaps[0], abs=1e-12)
        assert play.ce_gaps()[player] == pytest.approx(gaps[1], abs=1e-12)
    assert play.cce_gap() == play.cce_gaps().max()
    assert play.ce_gap() == play.ce_gaps().max()


@each_shape
@pytest.mark.parametrize("seed", range(3))
def test_gaps_of_a_distribution_try_every_rule(shape, seed):
    generator = np.random.default_rng(seed)
    game, _, _ = history_of(generator, shape)
    joint = generator.dirichlet(np.ones(np.prod(shape))).reshape(shape)
    expected = [naive_cce_gap(game, joint, player) for player in range(game.players)]
    np.testing.assert_allclose(cce_gaps(game, joint), expected, atol=1e-13)
    expected = [naive_ce_gap(game, joint, player) for player in range(game.players)]
    np.testing.assert_allclose(ce_gaps(game, joint), expected, atol=1e-13)
    # Following a rule includes ignoring what one was told, and includes obeying.
    assert (ce_gaps(game, joint) >= np.maximum(cce_gaps(game, joint), 0.0) - 1e-13).all()


def test_weights_count_as_repetitions_do():
    game, played, _ = history_of(np.random.default_rng(3), (3, 4), iterations=5)
    weighted = add_all(game, played, [1.0, 2.0, 0.0, 3.0, 1.0])
    repeated = add_all(game, [played[i] for i in (0, 1, 1, 3, 3, 3, 4)], [1.0] * 7)
    np.testing.assert_allclose(weighted.cce_gaps(), repeated.cce_gaps(), atol=1e-13)
    np.testing.assert_allclose(weighted.ce_gaps(), repeated.ce_gaps(), atol=1e-13)
    assert weighted.total_weight == repeated.total_weight == 7.0


def test_one_joint_strategy_gains_what_best_responses_to_it_gain():
    game, played, _ = history_of(np.random.default_rng(4), (3, 4), iterations=1)
    play = add_all(game, played, [0.7])
    gains = [best_response(game, i, played[0])[0] - game.value(played[0])[i] for i in (0, 1)]
    # Independent recommendations carry no information: swaps gain no more than one fixed action.
    np.testing.assert_allclose(play.cce_gaps(), gains, atol=1e-13)
    np.testing.assert_allclose(play.ce_gaps(), gains, atol=1e-13)


@pytest.mark.parametrize("players", [2, 3])
def test_in_extensive_form_the_gap_is_that_of_the_best_fixed_strategy(players):
    generator = np.random.default_rng(5)
    game = ExtensiveFormGame.from_history(random_game(generator, players))
    played = [random_profile(generator, game)[0] for _ in range(10)]

    play = add_all(game, played, np.ones(10))

    for player in range(players):
        total = sum(game.utility(player, profile) for profile in played)
        best = game.domains[player].best_response(total)[0]
        earned = sum(game.value(profile)[player] for profile in played)
        assert play.cce_gaps()[player] == pytest.approx((best - earned) / 10, abs=1e-12)
    with pytest.raises(TypeError, match="game must be in normal form for its CE gaps"):
        play.ce_gaps()


# Watching a run


@pytest.mark.parametrize("order", [Simultaneous(), Alternating()])
def test_the_joint_play_of_a_run_is_evaluated_for_every_order(order):
    game = games.shapley_game()
    players = [Hedge(3, rate=0.2), Hedge(3, rate=0.3)]
    players[0].observe_utility([0.05, 0.0, 0.0])
    run, play, history = SelfPlay(game, players, order=order), CorrelatedPlay(game), []

    for _ in range(20):
        history.append(run.current)
        run.run(1, callbacks=[play])

    joint = distribution_of(history, [1.0] * 20)
    np.testing.assert_allclose(play.cce_gaps(), cce_gaps(game, joint), atol=1e-13)
    np.testing.assert_allclose(play.ce_gaps(), ce_gaps(game, joint), atol=1e-13)


def test_in_simultaneous_play_the_gap_is_the_largest_average_regret():
    game = games.kuhn_poker()
    players = [CFR(tree, RegretMatching) for tree in game.domains]
    run, play = SelfPlay(game, players, order=Simultaneous()), CorrelatedPlay(game)
    totals, earned = [np.zeros(13), np.zeros(13)], np.zeros(2)

    for _ in range(50):
        for player in (0, 1):
            utility = game.utility(player, run.current)
            totals[player] += utility
            earned[player] += utility @ run.current[player]
        run.run(1, callbacks=[play])

    best = [tree.best_response(total)[0] for tree, total in zip(game.domains, totals, strict=True)]
    np.testing.assert_allclose(play.cce_gaps(), (best - earned) / 50, atol=1e-12)


def test_restored_counts_continue_bitwise_identically():
    game, played, weights = history_of(np.random.default_rng(6), (3, 4))
    whole, first = add_all(game, played, weights), add_all(game, played[:11], weights[:11])
    second = CorrelatedPlay(game)
    second.load_state_dict(first.state_dict())
    for profile, weight in zip(played[11:], weights[11:], strict=True):
        second.add(profile, weight)
    np.testing.assert_array_equal(second.cce_gaps(), whole.cce_gaps())
    np.testing.assert_array_equal(second.ce_gaps(), whole.ce_gaps())


# Distributions that are known


def test_gibsons_distribution_is_coarsely_correlated_but_not_correlated():
    # Told C, player 0 gains one by playing B, a quarter of the time. What it is told earns 5/4 and
    # B alone earns 1, so that nothing fixed gains: OpenSpiel calls that 0, and here it is -1/4.
    mu = [[0.5, 0.0], [0.0, 0.25], [0.0, 0.25]]
    np.testing.assert_allclose(cce_gaps(GIBSON, mu), [-0.25, 0.0], atol=1e-15)
    np.testing.assert_allclose(ce_gaps(GIBSON, mu), [0.25, 0.0], atol=1e-15)


@pytest.mark.parametrize(
    ("game", "mu", "payoff"),
    [
        (games.chicken(), [[0.0, 0.25], [0.25, 0.5]], 5.25),
        (games.traffic_light(), [[0.0, 0.5], [0.5, 0.0]], 0.5),
        (games.shapley_game(), np.full((3, 3), 1 / 9), 1 / 3),
        # Shapley's players are paid off one diagonal each, and never on the third.
        (games.shapley_game(), [[1 / 6, 1 / 6, 0], [0, 1 / 6, 1 / 6], [1 / 6, 0, 1 / 6]], 0.5),
    ],
)
def test_known_correlated_equilibria_have_known_payoffs_and_no_gains(game, mu, payoff):
    np.testing.assert_allclose(ce_gaps(game, mu), 0.0, atol=1e-15)
    np.testing.assert_allclose(cce_gaps(game, mu).clip(min=0.0), 0.0, atol=1e-15)
    np.testing.assert_allclose([(own * mu).sum() for own in game.payoffs], payoff, atol=1e-14)


def test_told_to_crash_a_driver_gains_by_stopping():
    # Both go in one round of ten.
    mu = [[0.1, 0.45], [0.45, 0.0]]
    np.testing.assert_allclose(ce_gaps(games.traffic_light(), mu), [9.55, 9.55], atol=1e-12)


# What is refused


@pytest.mark.parametrize("weight", [-1.0, np.nan, np.inf])
def test_a_weight_that_is_none_is_refused_and_nothing_is_added(weight):
    play = CorrelatedPlay(games.matching_pennies())
    with pytest.raises(ValueError, match="weight must be a finite number, at least 0, got"):
        play.add([np.ones(2) / 2] * 2, weight)
    assert play.total_weight == 0.0


def test_gaps_of_nothing_are_refused():
    play = CorrelatedPlay(games.matching_pennies())
    with pytest.raises(ValueError, match="nothing was played yet"):
        play.cce_gap()
    with pytest.raises(ValueError, match="nothing was played yet"):
        play.ce_gap()


@pytest.mark.parametrize("profile", [[np.ones(2) / 2], [np.ones(2) / 2, np.ones(3) / 3]])
def test_a_profile_that_does_not_fit_is_refused_and_nothing_is_added(profile):
    play = CorrelatedPlay(games.matching_pennies())
    play.add([np.array([1.0, 0.0])] * 2)
    with pytest.raises(ValueError, match="profile"):
        play.add(profile)
    assert play.total_weight == 1.0
    np.testing.assert_array_equal(play.cce_gaps(), [0.0, 2.0])


@pytest.mark.parametrize(
    ("mu", "message"),
    [
        (np.ones((2, 3)) / 6, r"distribution has shape \(2, 3\), .* shape \(2, 2\)"),
        ([[0.5, 0.5], [0.5, 0.5]], "sum to one"),
        ([[1.5, -0.5], [0.0, 0.0]], "nonnegative"),
        ([[np.nan, 0.5], [0.5, 0.0]], "distribution"),
    ],
)
def test_what_is_no_distribution_is_refused(mu, message):
    for gaps in (cce_gaps, ce_gaps):
        with pytest.raises(ValueError, match=message):
            gaps(games.matching_pennies(), mu)


@pytest.mark.parametrize("weight", ["2", None, True])
def test_a_weight_that_is_no_number_is_refused_and_nothing_is_added(weight):
    play = CorrelatedPlay(games.matching_pennies())
    with pytest.raises(TypeError, match="weight must be a number, got"):
        play.add([np.ones(2) / 2] * 2, weight)
    assert play.total_weight == 0.0


def test_what_is_no_strategy_is_not_added_not_even_in_part():
    play = CorrelatedPlay(games.matching_pennies())
    play.add([np.array([1.0, 0.0])] * 2)
    for wrong in ([5.0, 0.0], [np.nan, 0.0]):
        with pytest.raises(ValueError, match=r"profile\[1\] must be"):
            play.add([np.array([0.0, 1.0]), np.array(wrong)])
    assert play.total_weight == 1.0
    np.testing.assert_array_equal(play.cce_gaps(), [0.0, 2.0])


@pytest.mark.parametrize("gaps", [cce_gaps, ce_gaps])
def test_distributions_are_over_the_outcomes_of_a_normal_form(gaps):
    for game in (games.kuhn_poker(), "chicken"):
        with pytest.raises(TypeError, match=r"game must be a NormalFormGame, .*CorrelatedPlay"):
            gaps(game, np.ones((2, 2)) / 4)
    for distribution in ("x", [["a", "b"], ["c", "d"]], None, [[1.0], [1.0, 2.0]]):
        with pytest.raises((TypeError, ValueError), match="distribution"):
            gaps(games.matching_pennies(), distribution)
