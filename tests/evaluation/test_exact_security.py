"""What players are sure of and can be held to: by definition, by fractions, and by each other."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive_exact import value_of_matrix, with_payoffs
from naive_games import random_game

from regretkit import ExtensiveFormGame, NormalFormGame, games
from regretkit.evaluation import (
    best_response,
    maxmin,
    minmax,
    security_value,
    solve_zero_sum,
)

entries = st.integers(-3, 3)
bimatrices = st.tuples(st.integers(1, 3), st.integers(1, 3)).flatmap(
    lambda shape: st.lists(
        entries, min_size=2 * shape[0] * shape[1], max_size=2 * shape[0] * shape[1]
    ).map(lambda numbers: NormalFormGame(np.reshape(numbers, (2, *shape))))
)


def general_tree(seed):
    return ExtensiveFormGame.from_history(random_game(np.random.default_rng(seed)))


@pytest.mark.parametrize(
    ("game", "player", "value", "strategy"),
    [
        (games.chicken(), 0, 2.0, [0.0, 1.0]),
        (games.prisoners_dilemma(), 1, 1.0, [0.0, 1.0]),
        (games.battle_of_the_sexes(), 0, 6 / 5, [2 / 5, 3 / 5]),
        (games.battle_of_the_sexes(), 1, 6 / 5, [3 / 5, 2 / 5]),
        (games.rock_paper_scissors(), 1, 0.0, [1 / 3] * 3),
        (games.traffic_light(), 0, 0.0, [0.0, 1.0]),
    ],
)
def test_what_players_of_known_games_are_sure_of(game, player, value, strategy):
    sure = maxmin(game, player)
    assert sure.value == pytest.approx(value, abs=1e-14)
    np.testing.assert_allclose(sure.strategy, strategy, atol=1e-14)


@given(bimatrices, st.sampled_from([0, 1]))
def test_both_are_the_value_that_fractions_give_to_the_players_own_payoffs(game, player):
    own = game.payoffs[0] if player == 0 else game.payoffs[1].T
    expected = pytest.approx(float(value_of_matrix(own)), abs=1e-12)
    sure, held = maxmin(game, player), minmax(game, player)
    assert sure.value == expected
    assert held.value == expected
    assert sure.gap == held.gap == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("shape", [(4,), (3, 4), (2, 3, 2), (3, 2, 1, 2)], ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_no_joint_action_of_the_others_earns_a_player_less(shape, seed):
    game = NormalFormGame(np.random.default_rng(seed).normal(size=(len(shape), *shape)))

    for player in range(len(shape)):
        own = np.moveaxis(game.payoffs[player], player, 0)
        sure, held = maxmin(game, player), minmax(game, player)

        others = itertools.product(*(range(n) for n in own.shape[1:]))
        least = min(sure.strategy @ own[(slice(None), *actions)] for actions in others)
        most = max((held.strategy * own[action]).sum() for action in range(len(own)))
        assert sure.value == pytest.approx(least, abs=1e-13)
        assert held.value == pytest.approx(most, abs=1e-13)
        assert held.strategy.shape == own.shape[1:]
        assert held.strategy.sum() == pytest.approx(1.0, abs=1e-14)
        # Mixed strategies and the minimax theorem
        assert sure.value == pytest.approx(held.value, abs=1e-12)
        assert sure.value == pytest.approx(security_value(game, player, sure.strategy), abs=1e-13)


def test_several_may_punish_harder_together_than_each_by_a_coin_of_its_own():
    # Player 0 guesses whether the others' pennies match; independent pennies leave it more.
    same = np.eye(2)
    payoffs = np.zeros((3, 2, 2, 2))
    payoffs[0] = [3.0 * same * [[1.0, 0.0], [0.0, 0.0]], 3.0 * same * [[0.0, 0.0], [0.0, 1.0]]]
    payoffs[0] += 2.0 * (1.0 - same)
    game = NormalFormGame(payoffs)

    held = minmax(game, 0)

    # Together: half both heads, half both tails, and player 0 earns 3/2 either way.
    assert held.value == pytest.approx(1.5, abs=1e-14)
    np.testing.assert_allclose(held.strategy, 0.5 * same, atol=1e-14)
    p, q = np.meshgrid(np.linspace(0, 1, 101), np.linspace(0, 1, 101))
    apart = 2 * (p * (1 - q) + q * (1 - p)) + 3 * np.maximum(p * q, (1 - p) * (1 - q))
    assert apart.min() > 1.6


@pytest.mark.parametrize("seed", range(6))
def test_in_a_tree_it_is_the_value_of_the_game_in_which_the_other_only_harms(seed):
    game = general_tree(seed)

    for player in (0, 1):
        own = game.tree.payoffs[:, player]
        payoffs = np.stack([own, -own] if player == 0 else [-own, own], axis=1)
        solution = solve_zero_sum(with_payoffs(game, payoffs))

        sure, held = maxmin(game, player), minmax(game, player)

        value = (-1) ** player * solution.value
        assert sure.value == pytest.approx(value, abs=1e-12)
        assert held.value == pytest.approx(value, abs=1e-12)
        assert security_value(game, player, sure.strategy) == pytest.approx(value, abs=1e-12)
        profile = [sure.strategy, held.strategy][:: (-1) ** player]
        assert best_response(game, player, profile)[0] == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("offset", [0.0, 1e6, -1e6])
@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_it_is_a_payoff_in_its_unit(offset, unit):
    game = NormalFormGame(np.random.default_rng(7).normal(size=(3, 2, 3, 2)))
    other = NormalFormGame(unit * (game.payoffs + offset))
    for ask in (maxmin, minmax):
        expected = ask(game, 1).value + offset
        assert ask(other, 1).value / unit == pytest.approx(
            expected, abs=1e-12 + 1e-15 * abs(offset)
        )


def test_the_value_is_what_the_strategy_guarantees_also_where_the_gap_is_wide():
    generator = np.random.default_rng(0)
    for _ in range(10):
        matrix = generator.normal(size=(6, 6)) * 10.0 ** generator.integers(-9, 9, size=(6, 6))
        game = NormalFormGame([matrix, np.zeros((6, 6))])
        sure, held = maxmin(game, 0), minmax(game, 0)
        assert sure.value == pytest.approx((sure.strategy @ matrix).min(), rel=1e-9)
        assert held.value == pytest.approx((matrix @ held.strategy).max(), rel=1e-9)
        assert held.value - sure.value == pytest.approx(sure.gap, rel=1e-9)
        assert held.gap == sure.gap


def test_the_others_payoffs_do_not_matter():
    game = NormalFormGame(np.random.default_rng(8).normal(size=(3, 2, 3, 2)))
    indifferent = game.payoffs.copy()
    indifferent[[0, 2]] = 0.0
    for ask in (maxmin, minmax):
        one, other = ask(game, 1), ask(NormalFormGame(indifferent), 1)
        assert one.value == other.value
        np.testing.assert_array_equal(one.strategy, other.strategy)


@pytest.mark.parametrize("ask", [maxmin, minmax])
def test_an_invalid_game_or_player_is_refused(ask):
    with pytest.raises(TypeError, match=r"game must be a Game, got its name"):
        ask("chicken", 0)
    with pytest.raises(ValueError, match="player must be one of 0 to 1, got 2"):
        ask(games.chicken(), 2)
    with pytest.raises(ValueError, match="two players in extensive form, got 3: what several"):
        ask(games.kuhn_poker(players=3), 0)


def test_what_comes_out_cannot_be_written_to():
    for found in (maxmin(games.chicken(), 0), minmax(games.chicken(), 0)):
        with pytest.raises(ValueError, match="read-only"):
            found.strategy[0] = 2.0
