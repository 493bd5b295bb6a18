"""Values of zero-sum games and security levels: next to fractions, duality and what is known."""

import itertools

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given
from hypothesis import strategies as st
from naive_exact import careless, value_of_matrix, with_payoffs
from naive_games import chance, decision, end, random_game
from refusals import refusals

from regretkit import ExtensiveFormGame, NormalFormGame, games, matrix_game
from regretkit.evaluation import (
    best_response,
    maxmin,
    minmax,
    nash_conv,
    security_value,
    solve_zero_sum,
)
from regretkit.games._memory_budget import memory_capped

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


@pytest.mark.parametrize(
    ("game", "value"),
    [
        (games.rock_paper_scissors(), 0.0),
        (games.biased_rock_paper_scissors(), 0.0),
        (games.matching_pennies(), 0.0),
        (matrix_game(CAI_ET_AL), 0.25),
        (games.kuhn_poker(), -1 / 18),
        (games.leduc_poker(merge_suits=True), LEDUC),
        (games.leduc_poker(), LEDUC),
        (games.load("dudo(sides=3)"), 1 / 9),
        (games.load("dudo(sides=5)"), 1 / 125),
    ],
)
def test_known_values_are_found_with_strategies_that_prove_them(game, value):
    solution = solve_zero_sum(game)
    assert solution.value == pytest.approx(value, abs=1e-12)
    check(game, solution)


@pytest.mark.slow
def test_dudo_with_one_die_each_is_worth_what_is_known():
    # 24,571 sequences for each player; the value from a comment in OpenSpiel's tests
    game = games.load("dudo")
    solution = solve_zero_sum(game)
    assert solution.value == pytest.approx(-7 / 258, abs=1e-12)
    check(game, solution)


@pytest.mark.parametrize(
    ("game", "x", "y"),
    [
        (games.rock_paper_scissors(), [1 / 3] * 3, [1 / 3] * 3),
        (games.biased_rock_paper_scissors(), [1 / 16, 10 / 16, 5 / 16], [1 / 16, 10 / 16, 5 / 16]),
        (matrix_game(CAI_ET_AL), [1 / 12, 1 / 12, 10 / 12], [4 / 12, 5 / 12, 3 / 12]),
    ],
)
def test_an_equilibrium_that_is_the_only_one_is_found(game, x, y):
    profile = solve_zero_sum(game).profile
    np.testing.assert_allclose(profile[0], x, atol=1e-13)
    np.testing.assert_allclose(profile[1], y, atol=1e-13)


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
    found = [games.kuhn_poker(), games.leduc_poker(merge_suits=True), matrix_game(CAI_ET_AL)]
    found += [matrix_game(random_matrix(seed)) for seed in range(3)]
    return [*found, *map(random_tree_game, range(8))]


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
        # Complementary slackness: what is played earns its dual.
        assert solution.profile[player] @ slack == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("game", solved_games(), ids=repr)
def test_of_all_duals_they_are_the_least(game):
    # Somewhere at each decision point the inequality is an equality, so that none can be lowered.
    solution = solve_zero_sum(game)
    for player, domain in enumerate(game.domains):
        E, _ = constraints(domain)
        slack = E.T @ solution.duals[player] - game.utility(player, solution.profile)
        # A constraint lowers what stands with +1 in its row.
        assert all(slack[row > 0].min() == pytest.approx(0.0, abs=1e-13) for row in E)


# Invariances


@given(matrices, st.integers(-60, 60))
def test_the_unit_of_payoff_changes_no_bit(matrix, power):
    first = solve_zero_sum(matrix_game(matrix))
    second = solve_zero_sum(matrix_game(np.ldexp(np.array(matrix, float), power)))
    for player in (0, 1):
        np.testing.assert_array_equal(first.profile[player], second.profile[player])
        np.testing.assert_array_equal(np.ldexp(first.duals[player], power), second.duals[player])
    assert np.ldexp([first.value, first.gap], power).tolist() == [second.value, second.gap]


@pytest.mark.parametrize("unit", [1e-300, 1e-9, 1e-3, 1e6, 1e98])
@pytest.mark.parametrize("seed", range(3))
def test_no_unit_is_too_large_or_too_small(unit, seed):
    matrix = random_matrix(seed)
    value = solve_zero_sum(matrix_game(matrix)).value
    game = matrix_game(unit * matrix)
    solution = solve_zero_sum(game)
    assert solution.value == pytest.approx(unit * value, rel=1e-12)
    assert abs(solution.gap) <= 1e-13 * unit


@pytest.mark.parametrize("offset", [-1e6, -3.0, 1e3, 1e6, 1e9])
@pytest.mark.parametrize("seed", range(3))
def test_a_constant_moves_the_value_and_nothing_else(offset, seed):
    # Payoffs of 1e9 + 1 have 1e-7 left for what comes after the point.
    rounding = 1e-15 * abs(offset)
    matrix = random_matrix(seed)
    tree_game = random_tree_game(seed)
    moved = with_payoffs(tree_game, tree_game.tree.payoffs + np.array([offset, -offset]))

    for game, shifted in [(matrix_game(matrix), matrix_game(matrix + offset)), (tree_game, moved)]:
        solution = solve_zero_sum(shifted)

        assert solution.value - offset == pytest.approx(
            solve_zero_sum(game).value, abs=1e-12 + 10 * rounding
        )
        assert abs(solution.gap) <= 1e-12 + 10 * rounding
        # Measured where nothing is rounded away
        assert nash_conv(game, solution.profile) <= 1e-12 + 10 * rounding


@pytest.mark.parametrize("seed", range(3))
def test_payoffs_that_add_up_to_another_constant_are_no_less_exact(seed):
    matrix = random_matrix(seed)
    zero, five = matrix_game(matrix), NormalFormGame([matrix, 5.0 - matrix])
    solution = solve_zero_sum(five)
    np.testing.assert_array_equal(solution.profile[0], solve_zero_sum(zero).profile[0])
    assert solution.duals[0][0] == pytest.approx(solution.value, abs=1e-12)
    assert solution.duals[1][0] == pytest.approx(5.0 - solution.value, abs=1e-12)


# Degenerate games


def no_player_moves():
    return ExtensiveFormGame.from_history(chance([0.5, 0.5], h=end(3.0, -3.0), t=end(-1.0, 1.0)))


def one_moves():
    return ExtensiveFormGame.from_history(decision(1, "only", a=end(3.0, -3.0), b=end(-1.0, 1.0)))


DEGENERATE = [
    (matrix_game([[7.0]]), 7.0),
    (matrix_game([[1.0, -2.0, 3.0]]), -2.0),
    (matrix_game([[1.0], [-2.0], [3.0]]), 3.0),
    (matrix_game(np.zeros((3, 4))), 0.0),
    (matrix_game(np.full((2, 2), -0.1)), -0.1),
    (matrix_game([[1.0, -1.0]] * 2 + [[-1.0, 1.0]] * 3), 0.0),
    (matrix_game([[2.0, 3.0], [1.0, 0.0]]), 2.0),
    (no_player_moves(), 1.0),
    (one_moves(), -1.0),
]


@pytest.mark.parametrize(("game", "value"), DEGENERATE)
def test_degenerate_games_have_their_plain_value(game, value):
    solution = solve_zero_sum(game)
    assert solution.value == pytest.approx(value, abs=1e-15)
    check(game, solution)


def test_small_differences_count_next_to_a_huge_constant_payoff():
    pennies = np.array([[1.0, -1.0], [-1.0, 1.0]])
    solution = solve_zero_sum(matrix_game(1e6 + 1e-3 * pennies))
    np.testing.assert_allclose(solution.profile[0], [0.5, 0.5], atol=1e-6)
    np.testing.assert_allclose(solution.profile[1], [0.5, 0.5], atol=1e-6)


@pytest.mark.parametrize("decades", [5, 9, 18])
def test_payoffs_of_very_different_sizes_cost_no_more_than_the_gap_says(decades):
    generator = np.random.default_rng(decades)
    for _ in range(30):
        sizes = 10.0 ** generator.integers(-decades, 1, size=(8, 8))
        game = matrix_game(generator.normal(size=(8, 8)) * sizes)
        solution = solve_zero_sum(game)
        assert solution.gap <= (1e-13 if decades == 5 else 1e-8)
        assert solution.gap == pytest.approx(nash_conv(game, solution.profile), rel=1e-9, abs=1e-15)


# What players are sure of, and can be held to


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
    payoffs = game.payoffs[0] if player == 0 else game.payoffs[1].T
    expected = pytest.approx(float(value_of_matrix(payoffs)), abs=1e-12)
    sure, held = maxmin(game, player), minmax(game, player)
    assert sure.value == expected
    assert held.value == expected
    assert sure.gap == held.gap == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("shape", [(4,), (3, 4), (2, 3, 2), (3, 2, 1, 2)], ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_no_joint_action_of_the_others_earns_a_player_less(shape, seed):
    game = NormalFormGame(np.random.default_rng(seed).normal(size=(len(shape), *shape)))

    for player in range(len(shape)):
        payoffs = np.moveaxis(game.payoffs[player], player, 0)
        sure, held = maxmin(game, player), minmax(game, player)

        opponents = itertools.product(*(range(n) for n in payoffs.shape[1:]))
        minimum = min(sure.strategy @ payoffs[(slice(None), *actions)] for actions in opponents)
        maximum = max((held.strategy * payoffs[action]).sum() for action in range(len(payoffs)))
        assert sure.value == pytest.approx(minimum, abs=1e-13)
        assert held.value == pytest.approx(maximum, abs=1e-13)
        assert held.strategy.shape == payoffs.shape[1:]
        assert held.strategy.sum() == pytest.approx(1.0, abs=1e-14)
        # Mixed strategies and the minimax theorem
        assert sure.value == pytest.approx(held.value, abs=1e-12)
        assert sure.value == pytest.approx(security_value(game, player, sure.strategy), abs=1e-13)


def test_several_may_punish_harder_together_than_each_by_a_coin_of_its_own():
    # Player 0 guesses whether the others' pennies match; independent pennies leave it more.
    equal = np.eye(2)
    payoffs = np.zeros((3, 2, 2, 2))
    payoffs[0] = [3.0 * equal * [[1.0, 0.0], [0.0, 0.0]], 3.0 * equal * [[0.0, 0.0], [0.0, 1.0]]]
    payoffs[0] += 2.0 * (1.0 - equal)
    game = NormalFormGame(payoffs)

    held = minmax(game, 0)

    # Together: half both heads, half both tails, and player 0 earns 3/2 either way.
    assert held.value == pytest.approx(1.5, abs=1e-14)
    np.testing.assert_allclose(held.strategy, 0.5 * equal, atol=1e-14)
    p, q = np.meshgrid(np.linspace(0, 1, 101), np.linspace(0, 1, 101))
    separate = 2 * (p * (1 - q) + q * (1 - p)) + 3 * np.maximum(p * q, (1 - p) * (1 - q))
    assert separate.min() > 1.6


@pytest.mark.parametrize("seed", range(6))
def test_in_a_tree_it_is_the_value_of_the_game_in_which_the_other_only_harms(seed):
    game = ExtensiveFormGame.from_history(random_game(np.random.default_rng(seed)))

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
    second = NormalFormGame(unit * (game.payoffs + offset))
    for ask in (maxmin, minmax):
        expected = ask(game, 1).value + offset
        assert ask(second, 1).value / unit == pytest.approx(
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
        first, second = ask(game, 1), ask(NormalFormGame(indifferent), 1)
        assert first.value == second.value
        np.testing.assert_array_equal(first.strategy, second.strategy)


# What is refused

THREE = games.kuhn_poker(players=3)

test_what_has_no_value_is_refused = refusals(
    (lambda: solve_zero_sum("kuhn_poker"), TypeError, "game must be a Game, got its name"),
    (lambda: solve_zero_sum(games.chicken()), ValueError, "must be constant-sum, .* <chicken"),
    (lambda: solve_zero_sum(THREE), ValueError, "game must have two players, got 3"),
    (lambda: solve_zero_sum(games.hold_em()), TypeError, "a NormalFormGame or an ExtensiveForm"),
    (lambda: maxmin(games.chicken(), 2), ValueError, "player must be one of 0 to 1, got 2"),
    (lambda: minmax(THREE, 0), ValueError, "two players in extensive form, got 3: what several"),
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
        memory_capped(1e6),
        pytest.raises(MemoryError, match=r"8,6\d\d entries, .* linear program"),
    ):
        solve_zero_sum(leduc)
