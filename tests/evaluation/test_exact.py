"""Values of zero-sum games and security levels: next to fractions, duality and what is known."""

import itertools

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given
from hypothesis import strategies as st
from naive_exact import careless, value_of_matrix, with_payoffs
from naive_games import chance, decision, end, random_game
from refusals import memory_left, refusals

from regretkit import ExtensiveFormGame, NormalFormGame, games, matrix_game, solve
from regretkit.evaluation import (
    best_response,
    finish,
    maxmin,
    nash_conv,
    security_value,
    solve_zero_sum,
)

LEDUC = -1454920850547486749701863871533 / 16995463438839962469905132501930
CAI_ET_AL = [[3.0, 0.0, -3.0], [0.0, 3.0, -4.0], [0.0, 0.0, 1.0]]

entries = st.integers(-3, 3)
matrices = st.integers(1, 4).flatmap(
    lambda n: st.lists(st.lists(entries, min_size=n, max_size=n), min_size=1, max_size=4)
)


bimatrices = st.tuples(st.integers(1, 3), st.integers(1, 3)).flatmap(
    lambda shape: st.lists(
        entries, min_size=2 * shape[0] * shape[1], max_size=2 * shape[0] * shape[1]
    ).map(lambda numbers: NormalFormGame(np.reshape(numbers, (2, *shape))))
)


def random_matrix(seed, shape=(5, 7)):
    return np.random.default_rng(seed).normal(size=shape)


def random_tree_game(seed):
    return ExtensiveFormGame.from_history(random_game(np.random.default_rng(seed), zero_sum=True))


def check(game, solution, size=1.0):
    """Hold a solution to what it says of itself, measured by best responses to it."""
    x, y = solution.profile
    sure = security_value(game, 0, x), best_response(game, 0, [x, y])[0]
    assert sure == pytest.approx((solution.lower, solution.upper), abs=1e-13 * size)
    assert solution.lower - 1e-14 * size <= solution.value <= solution.upper + 1e-14 * size
    assert solution.gap == pytest.approx(nash_conv(game, solution.profile), abs=1e-13 * size)
    assert solution.gap == pytest.approx(0.0, abs=1e-12 * size)
    for strategy, domain in zip(solution.profile, game.domains, strict=True):
        assert domain.contains(strategy, atol=1e-14 * domain.dimension)
        assert (strategy >= 0.0).all()


# Numbers from outside


def test_kuhn_poker_is_solved_within_the_family_of_its_equilibria():
    # Kuhn (1950): player 0 bets the jack with some alpha up to 1/3, the king three times as often,
    # and calls with the queen 1/3 more often; what player 1 does is fixed.
    profile = solve_zero_sum(games.kuhn_poker()).profile
    bets = {
        label: profile[label][1]
        for label in ["J", "Q", "K", "Qpb", "Kpb", "Jp", "Qp", "Kp", "Jb", "Qb", "Kb"]
    }
    alpha = bets["J"]
    assert -1e-12 <= alpha <= 1 / 3 + 1e-12
    expected = [alpha, 0, 3 * alpha, alpha + 1 / 3, 1, 1 / 3, 0, 1, 0, 1 / 3, 1]
    np.testing.assert_allclose(list(bets.values()), expected, atol=1e-12)


# By fractions


@given(matrices)
def test_small_matrix_games_have_the_value_that_fractions_give(matrix):
    game = matrix_game(matrix)
    solution = solve_zero_sum(game)
    assert solution.value == pytest.approx(float(value_of_matrix(matrix)), abs=1e-12)
    check(game, solution)


# Duality


def constraints(domain):
    """Return E and e of ``E x = e``, row by row."""
    if not hasattr(domain, "points"):
        return np.ones((1, domain.dimension)), np.ones(1)
    rows = np.zeros((1 + domain.points, domain.dimension))
    rows[0, 0] = 1.0
    for j in range(domain.points):
        rows[1 + j, domain.first_sequence[j] : domain.first_sequence[j] + domain.sizes[j]] = 1.0
        rows[1 + j, domain.parent_sequence[j]] -= 1.0
    return rows, np.eye(1 + domain.points)[0]


def solved_games():
    found = [games.kuhn_poker(), matrix_game(CAI_ET_AL), matrix_game(random_matrix(0))]
    return [*found, *map(random_tree_game, range(4))]


@pytest.mark.parametrize("game", solved_games(), ids=repr)
def test_the_duals_prove_that_the_other_player_can_do_no_better(game):
    # Weak duality: E^T d >= u and E x = e give <u, x> <= <e, d> for all x, so that e d bounds
    # what a player earns; here it is no more than what it does earn.
    solution = solve_zero_sum(game)

    for player, domain in enumerate(game.domains):
        E, e = constraints(domain)
        utility, d = game.utility(player, solution.profile), solution.duals[player]
        slack = E.T @ d - utility

        assert d.shape == e.shape
        assert (slack >= -1e-13).all()
        assert e @ d == pytest.approx((-1) ** player * solution.value, abs=1e-12)
        # They are the least: none can be lowered, for somewhere the inequality is an equality.
        assert all(slack[row > 0].min() == pytest.approx(0.0, abs=1e-13) for row in E)
        # Complementary slackness: what is played earns its dual.
        assert solution.profile[player] @ slack == pytest.approx(0.0, abs=1e-12)


# Invariances


@given(matrices, st.integers(-60, 60))
def test_the_unit_of_payoff_changes_no_bit(matrix, power):
    first = solve_zero_sum(matrix_game(matrix))
    second = solve_zero_sum(matrix_game(np.ldexp(np.array(matrix, float), power)))
    for player in (0, 1):
        np.testing.assert_array_equal(first.profile[player], second.profile[player])
        np.testing.assert_array_equal(np.ldexp(first.duals[player], power), second.duals[player])
    assert np.ldexp([first.value, first.gap], power).tolist() == [second.value, second.gap]


@pytest.mark.parametrize("offset", [-3.0, 1e6, 1e9])
def test_a_constant_moves_the_value_and_nothing_else(offset):
    # Payoffs of 1e9 + 1 have 1e-7 left for what comes after the point.
    matrix, tree, rounding = random_matrix(1), random_tree_game(1), 1e-12 + 1e-14 * abs(offset)
    moved = with_payoffs(tree, tree.tree.payoffs + np.array([offset, -offset]))
    for game, shifted in [(matrix_game(matrix), matrix_game(matrix + offset)), (tree, moved)]:
        solution, value = solve_zero_sum(shifted), solve_zero_sum(game).value
        assert solution.value - offset == pytest.approx(value, abs=rounding)
        assert abs(solution.gap) <= rounding
        # Measured where nothing is rounded away
        assert nash_conv(game, solution.profile) <= rounding
    five = solve_zero_sum(NormalFormGame([matrix, 5.0 - matrix]))
    assert five.duals[0][0] == pytest.approx(five.value, abs=1e-12)
    assert five.duals[1][0] == pytest.approx(5.0 - five.value, abs=1e-12)


# Degenerate games


from_root = ExtensiveFormGame.from_history
DEGENERATE = [
    (matrix_game([[7.0]]), 7.0),
    (matrix_game([[1.0, -2.0, 3.0]]), -2.0),
    (matrix_game([[1.0], [-2.0], [3.0]]), 3.0),
    (matrix_game(np.zeros((3, 4))), 0.0),
    (matrix_game([[1.0, -1.0]] * 2 + [[-1.0, 1.0]] * 3), 0.0),
    (from_root(chance([0.5, 0.5], h=end(3.0, -3.0), t=end(-1.0, 1.0))), 1.0),
    (from_root(decision(1, "only", a=end(3.0, -3.0), b=end(-1.0, 1.0))), -1.0),
]


@pytest.mark.parametrize(("game", "value"), DEGENERATE)
def test_degenerate_games_have_their_plain_value(game, value):
    for solution in solve_zero_sum(game), finish(solve(game, "dcfr", iterations=1, engine="numpy")):
        assert solution.value == pytest.approx(value, abs=1e-15)
        check(game, solution)


# What players are sure of, and can be held to


@given(bimatrices, st.sampled_from([0, 1]))
def test_both_are_the_value_that_fractions_give_to_the_players_own_payoffs(game, player):
    payoffs = game.payoffs[0] if player == 0 else game.payoffs[1].T
    expected = pytest.approx(float(value_of_matrix(payoffs)), abs=1e-12)
    level = maxmin(game, player)
    assert level.value == expected
    assert level.gap == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("shape", [(4,), (3, 4), (2, 3, 2)], ids=str)
def test_no_joint_action_of_the_others_earns_a_player_less(shape):
    game = NormalFormGame(np.random.default_rng(0).normal(size=(len(shape), *shape)))
    for player in range(len(shape)):
        payoffs = np.moveaxis(game.payoffs[player], player, 0)
        sure = maxmin(game, player)
        opponents = itertools.product(*(range(n) for n in payoffs.shape[1:]))
        minimum = min(sure.strategy @ payoffs[(slice(None), *actions)] for actions in opponents)
        maximum = max((sure.opponents * own).sum() for own in payoffs)
        assert sure.value == pytest.approx(minimum, abs=1e-13)
        assert sure.value + sure.gap == pytest.approx(maximum, abs=1e-13)
        assert sure.opponents.shape == payoffs.shape[1:]
        # Mixed strategies and the minimax theorem
        assert sure.gap == pytest.approx(0.0, abs=1e-12)
        assert sure.value == pytest.approx(security_value(game, player, sure.strategy), abs=1e-13)


@pytest.mark.parametrize("seed", range(3))
def test_in_a_tree_it_is_the_value_of_the_game_in_which_the_other_only_harms(seed):
    game = ExtensiveFormGame.from_history(random_game(np.random.default_rng(seed)))

    for player in (0, 1):
        own = game.tree.payoffs[:, player]
        payoffs = np.stack([own, -own] if player == 0 else [-own, own], axis=1)
        solution = solve_zero_sum(with_payoffs(game, payoffs))

        sure, value = maxmin(game, player), (-1) ** player * solution.value
        assert sure.value == pytest.approx(value, abs=1e-12)
        assert sure.gap == pytest.approx(0.0, abs=1e-12)
        assert security_value(game, player, sure.strategy) == pytest.approx(value, abs=1e-12)
        profile = [sure.strategy, sure.opponents][:: (-1) ** player]
        assert best_response(game, player, profile)[0] == pytest.approx(value, abs=1e-12)


# What is refused

THREE = games.kuhn_poker(players=3)

test_what_has_no_value_is_refused = refusals(
    (lambda: solve_zero_sum("kuhn_poker"), TypeError, "game must be a Game, got a name"),
    (lambda: solve_zero_sum(games.chicken()), ValueError, "must be constant-sum, .* <chicken"),
    (lambda: solve_zero_sum(THREE), ValueError, "game must have two players, got 3"),
    (lambda: solve_zero_sum(games.hold_em()), TypeError, "a NormalFormGame or an ExtensiveForm"),
    (lambda: maxmin(games.chicken(), 2), ValueError, "player must be one of 0 to 1, got 2"),
    (lambda: maxmin(THREE, 0), ValueError, "two players in extensive form, got 3; team"),
)


# The solver


@pytest.mark.parametrize(
    ("game", "value"), [(games.kuhn_poker(), -1 / 18), (matrix_game(CAI_ET_AL), 0.25)], ids=repr
)
def test_what_highs_leaves_outside_is_repaired(game, value, monkeypatch):
    monkeypatch.setattr(scipy.optimize, "linprog", careless(scipy.optimize.linprog))
    solution = solve_zero_sum(game)
    assert solution.value == pytest.approx(value, abs=1e-8)
    assert solution.lower < value < solution.upper
    for strategy, domain in zip(solution.profile, game.domains, strict=True):
        assert domain.contains(strategy, atol=1e-15 * domain.dimension)
        assert (strategy >= 0.0).all()


def test_where_the_simplex_method_gives_up_an_interior_point_is_tried(monkeypatch):
    asked, real = [], scipy.optimize.linprog

    def moody(*arguments, method, **keywords):
        asked.append(method)
        solved = real(*arguments, method=method, **keywords)
        solved.status = 4 if method == "highs-ds" else solved.status
        return solved

    monkeypatch.setattr(scipy.optimize, "linprog", moody)

    solution = solve_zero_sum(games.kuhn_poker())

    assert asked == ["highs-ds", "highs-ipm"]
    assert solution.value == pytest.approx(-1 / 18, abs=1e-9)
    assert solution.gap < 1e-9


def test_a_linear_program_has_limits_of_time_and_memory():
    with pytest.raises(RuntimeError, match=r"within time_limit=0 seconds.*; solve\(game, exact=Tr"):
        solve_zero_sum(games.leduc_poker(), time_limit=0.0)
    assert solve_zero_sum(games.kuhn_poker(), time_limit=60.0).gap < 1e-12
    leduc = games.leduc_poker()
    with (
        memory_left(1e6),
        pytest.raises(MemoryError, match=r"8,\d+ entries, .* linear program"),
    ):
        solve_zero_sum(leduc)
