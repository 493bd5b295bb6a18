"""Normal-form games: utilities are plain sums over outcomes, and keep exact symmetries exact."""

import itertools
import math

import numpy as np
import pytest
from refusals import refusals

from regretkit.games import NormalFormGame, matrix_game

SHAPES = [(4,), (3, 2), (1, 5), (2, 3, 4), (3, 1, 2), (2, 3, 2, 3)]
each_shape = pytest.mark.parametrize("shape", SHAPES, ids=str)


def random_game(generator, shape):
    return NormalFormGame(generator.normal(size=(len(shape), *shape)))


def random_profile(generator, shape):
    return [generator.dirichlet(np.ones(n)) for n in shape]


def naive_utility(game, player, profile, of):
    total = [0.0] * game.payoffs.shape[1 + player]
    for outcome in itertools.product(*map(range, game.payoffs.shape[1:])):
        opponents = [
            x[a] for i, (x, a) in enumerate(zip(profile, outcome, strict=True)) if i != player
        ]
        total[outcome[player]] += math.prod(opponents) * game.payoffs[(of, *outcome)]
    return total


def naive_value(game, profile):
    return [x @ naive_utility(game, i, profile, i) for i, x in enumerate(profile)]


# What utilities and values are


@each_shape
@pytest.mark.parametrize("seed", range(3))
def test_utilities_are_sums_over_what_the_others_do(shape, seed):
    generator = np.random.default_rng(seed)
    game, profile = random_game(generator, shape), random_profile(generator, shape)
    for player, payoff_of in itertools.product(range(game.players), repeat=2):
        found = game.utility(player, profile, payoff_of=payoff_of)
        np.testing.assert_allclose(
            found, naive_utility(game, player, profile, payoff_of), atol=1e-13
        )
        if payoff_of == player:
            np.testing.assert_array_equal(game.utility(player, profile), found)


@each_shape
@pytest.mark.parametrize("seed", range(3))
def test_values_are_sums_over_all_outcomes(shape, seed):
    generator = np.random.default_rng(seed)
    game, profile = random_game(generator, shape), random_profile(generator, shape)
    np.testing.assert_allclose(game.value(profile), naive_value(game, profile), atol=1e-13)


def test_in_a_matrix_game_one_gets_what_the_other_pays():
    matrix = np.random.default_rng(8).normal(size=(3, 4))
    game = matrix_game(matrix)
    x, y = random_profile(np.random.default_rng(9), (3, 4))
    np.testing.assert_allclose(game.utility(0, [x, y]), matrix @ y, atol=1e-14)
    np.testing.assert_allclose(game.utility(1, [x, y]), -matrix.T @ x, atol=1e-14)
    np.testing.assert_allclose(game.value([x, y]), [x @ matrix @ y, -x @ matrix @ y], atol=1e-14)
    assert game.constant_sum == 0.0


def test_a_constant_sum_is_found_up_to_rounding_and_none_elsewhere():
    matrix = np.random.default_rng(10).normal(size=(5, 5))
    assert NormalFormGame([matrix, 0.3 - matrix]).constant_sum == pytest.approx(0.3, abs=1e-12)
    assert NormalFormGame([matrix, 0.3 - matrix + 1e-6 * np.eye(5)]).constant_sum is None


# Bitwise equality


@pytest.mark.parametrize("n", range(1, 51))
def test_actions_with_equal_payoffs_have_bitwise_equal_utilities(n):
    # Otherwise regret matching would turn the rounding into play, however small it is.
    generator = np.random.default_rng(n)
    columns = int(generator.integers(1, 51))
    kinds = generator.normal(size=(3, columns)) * 10.0 ** generator.integers(-9, 9, size=columns)
    kind = generator.integers(3, size=n)
    row_player, column_player = matrix_game(kinds[kind]), matrix_game(kinds[kind].T)
    y = generator.dirichlet(np.ones(columns))

    for game, player, profile in (
        (row_player, 0, [np.ones(n) / n, y]),
        (column_player, 1, [y, np.ones(n) / n]),
        # Strategies may come as views of something longer.
        (row_player, 0, [np.ones(n) / n, np.repeat(y, 3)[1::3]]),
    ):
        utility = game.utility(player, profile)
        for k in range(3):
            assert np.unique(utility[kind == k]).size <= 1


# One player, and arrays that are not shared


def test_payoffs_are_copied_in_and_read_only():
    payoffs = np.ones((2, 2, 2))
    game = NormalFormGame(payoffs)
    payoffs[:] = 5.0
    assert (game.payoffs == 1.0).all()
    with pytest.raises(ValueError, match="read-only"):
        game.payoffs[0, 0, 0] = 5.0


# What is refused


test_payoffs_of_the_wrong_shape_or_not_finite_are_refused = refusals(
    (np.zeros((3, 2, 2)), r"payoffs must have shape \(players, .*, got \(3, 2, 2\)"),
    (np.zeros((2, 2)), r"got \(2, 2\); .* use matrix_game"),
    (5.0, r"got \(\)"),
    (np.zeros((2, 0, 3)), r"got \(2, 0, 3\)"),
    ([[[1.0, np.nan]], [[0.0, 0.0]]], r"finite, got nan at \(0, 0, 1\)"),
    ([[[0.0, 1.1e100]], [[0.0, 0.0]]], r"at most 1e\+100 in size, .* \(0, 0, 1\)"),
    call=NormalFormGame,
    error=ValueError,
)


@pytest.mark.parametrize(
    ("profile", "message"),
    [
        ([np.ones(2)], "profile has 1 strategies, but the game has 2 players"),
        ([np.ones(2), np.ones(2)], r"profile\[1\] must have shape \(3,\), got \(2,\)"),
        ([np.ones((2, 1)), np.ones(3)], r"profile\[0\] must have shape .*, got \(2, 1\)"),
        ([np.ones(2) / 2, [np.nan, 0.0, 0.0]], r"profile\[1\] must be finite, got \[nan"),
    ],
)
def test_a_profile_that_does_not_fit_is_refused(profile, message):
    game = matrix_game(np.ones((2, 3)))
    with pytest.raises(ValueError, match=message):
        game.value(profile)
    with pytest.raises(ValueError, match=message):
        game.utility(0, profile)
