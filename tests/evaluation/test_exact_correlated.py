"""The best correlated equilibria: next to all corners of the set, all deviations, and duality."""

import itertools

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_exact import best_of_equilibria, careless
from test_correlated import naive_cce_gap, naive_ce_gap

from regretkit import NormalFormGame, games, matrix_game
from regretkit.evaluation import (
    best_coarse_correlated_equilibrium,
    best_correlated_equilibrium,
    maxmin,
    pure_equilibria,
    solve_zero_sum,
)

BEST = {False: best_correlated_equilibrium, True: best_coarse_correlated_equilibrium}
GAP = {False: naive_ce_gap, True: naive_cce_gap}
each_kind = pytest.mark.parametrize("coarse", [False, True], ids=["ce", "cce"])

# Cooperate, defect or stay at home: to be told to cooperate is a temptation to defect.
TABLE = np.array([[2.0, 0.0, 0.0], [3.0, 0.0, 0.0], [1.0, 1.0, 1.0]])
TEMPTATION = NormalFormGame([TABLE, TABLE.T])

entries = st.integers(-3, 3)
bimatrices = st.lists(entries, min_size=8, max_size=8).map(
    lambda numbers: NormalFormGame(np.reshape(numbers, (2, 2, 2)))
)


def random_game(seed, shape=(3, 4)):
    return NormalFormGame(np.random.default_rng(seed).normal(size=(len(shape), *shape)))


def check(game, found, coarse, size=1.0):
    """Hold an answer to what it says of itself, deviation by deviation."""
    mu = found.distribution
    assert mu.shape == game.payoffs.shape[1:]
    assert (mu >= 0.0).all()
    assert mu.sum() == pytest.approx(1.0, abs=1e-14)
    for player in range(game.players):
        gap = GAP[coarse](game, mu, player)
        assert found.gaps[player] == pytest.approx(gap, abs=1e-12 * size)
        assert gap <= 1e-10 * size
        paid = (mu * game.payoffs[player]).sum()
        assert found.payoffs[player] == pytest.approx(paid, abs=1e-12 * size)
    assert found.gap == found.gaps.max()
    assert found.bound == pytest.approx(found.value, abs=1e-9 * size)


# Numbers from outside


@pytest.mark.parametrize(
    ("game", "coarse", "welfare"),
    [
        (games.chicken(), False, 10.5),
        (games.traffic_light(), False, 1.0),
        (games.shapley_game(), False, 1.0),
        (games.prisoners_dilemma(), False, 2.0),
        (games.prisoners_dilemma(), True, 2.0),
        (games.battle_of_the_sexes(), False, 5.0),
        (games.rock_paper_scissors(), False, 0.0),
        (TEMPTATION, False, 2.0),
        (TEMPTATION, True, 3.0),
    ],
)
def test_known_welfare_is_found(game, coarse, welfare):
    found = BEST[coarse](game)
    assert found.value == pytest.approx(welfare, abs=1e-12)
    check(game, found, coarse)


def test_in_chicken_the_mediator_never_lets_both_dare():
    found = best_correlated_equilibrium(games.chicken())
    np.testing.assert_allclose(found.distribution, [[0.0, 0.25], [0.25, 0.5]], atol=1e-14)


def test_in_the_prisoners_dilemma_both_defect_for_every_objective():
    for best, objective in itertools.product(BEST.values(), ["welfare", 0, 1, [-1.0, 2.0]]):
        found = best(games.prisoners_dilemma(), objective)
        np.testing.assert_allclose(found.distribution, [[0.0, 0.0], [0.0, 1.0]], atol=1e-14)


def test_before_being_told_one_may_agree_to_what_one_would_not_do_when_told():
    # Half of the time both cooperate, else both stay: to defect always would pay 3/2 as well.
    found = best_coarse_correlated_equilibrium(TEMPTATION)
    np.testing.assert_allclose(found.distribution, np.diag([0.5, 0.0, 0.5]), atol=1e-14)
    np.testing.assert_allclose(found.gaps, 0.0, atol=1e-14)


# By fractions


@each_kind
@settings(max_examples=40)
@given(game=bimatrices, weights=st.tuples(entries, entries))
def test_no_corner_of_the_set_is_better(coarse, game, weights):
    found = BEST[coarse](game, weights)
    expected = float(best_of_equilibria(game, weights, coarse))
    assert found.value == pytest.approx(expected, abs=1e-9)
    assert found.bound == pytest.approx(expected, abs=1e-9)
    check(game, found, coarse)


@each_kind
def test_no_corner_of_a_game_of_three_is_better(coarse):
    # Two actions, two actions and one: with a player who chooses nothing and is paid all the same
    game = NormalFormGame(np.random.default_rng(1).integers(-3, 4, size=(3, 2, 2, 1)))
    for weights in ([1, 1, 1], [0, 0, 1], [1, -1, 2]):
        found = BEST[coarse](game, weights)
        expected = float(best_of_equilibria(game, weights, coarse))
        assert found.value == pytest.approx(expected, abs=1e-12)


# What has to hold


@each_kind
@pytest.mark.parametrize("shape", [(3,), (1, 4), (3, 4), (2, 3, 2)], ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_no_player_gains_by_a_deviation_and_the_dual_agrees(coarse, shape, seed):
    game = random_game(seed, shape)
    for objective in ["welfare", *range(len(shape)), -np.ones(len(shape))]:
        check(game, BEST[coarse](game, objective), coarse)


@pytest.mark.parametrize("seed", range(10))
def test_whom_it_is_best_for_gets_more_where_less_is_asked(seed):
    # Nash equilibria are correlated, correlated ones are coarse, and coarse ones are outcomes;
    # and no player gets less than its security level.
    game = random_game(seed, (3, 3))
    nash = pure_equilibria(game)

    for player in (0, 1):
        fine = best_correlated_equilibrium(game, player).value
        coarse = best_coarse_correlated_equilibrium(game, player).value

        assert all(game.payoffs[(player, *outcome)] <= fine + 1e-12 for outcome in nash)
        assert fine <= coarse + 1e-12
        assert coarse <= game.payoffs[player].max() + 1e-12
        worst = -best_coarse_correlated_equilibrium(game, -np.eye(2)[player]).value
        assert maxmin(game, player).value <= worst + 1e-12


@each_kind
@pytest.mark.parametrize("seed", range(3))
def test_in_a_zero_sum_game_all_of_them_pay_the_value(coarse, seed):
    game = matrix_game(np.random.default_rng(seed).normal(size=(4, 5)))
    value = solve_zero_sum(game).value
    for weights in ([1.0, 0.0], [-1.0, 0.0]):
        found = BEST[coarse](game, weights)
        np.testing.assert_allclose(found.payoffs, [value, -value], atol=1e-12)


@each_kind
@pytest.mark.parametrize("seed", range(3))
def test_players_and_actions_may_be_renumbered(coarse, seed):
    game, generator = random_game(seed), np.random.default_rng(seed)
    rows, columns = generator.permutation(3), generator.permutation(4)
    renumbered = NormalFormGame(game.payoffs[:, rows][:, :, columns])
    exchanged = NormalFormGame(game.payoffs[::-1].transpose(0, 2, 1))
    found = BEST[coarse](game, [1.0, 2.0])
    assert BEST[coarse](renumbered, [1.0, 2.0]).value == pytest.approx(found.value, abs=1e-12)
    assert BEST[coarse](exchanged, [2.0, 1.0]).value == pytest.approx(found.value, abs=1e-12)


@each_kind
@pytest.mark.parametrize("unit", [1e-300, 1e-9, 1e6, 1e290])
@pytest.mark.parametrize("seed", range(3))
def test_the_equilibrium_does_not_depend_on_the_unit_of_a_player(coarse, unit, seed):
    game = random_game(seed)
    expected = BEST[coarse](game, 1)
    found = BEST[coarse](NormalFormGame(game.payoffs * [[[1.0]], [[unit]]]), 1)
    assert found.value == pytest.approx(unit * expected.value, rel=1e-9)
    assert found.gaps[1] <= 1e-10 * unit
    # Of another's payoff it is not asked, and still it must not be wronged.
    np.testing.assert_allclose(found.distribution, expected.distribution, atol=1e-9)


@each_kind
@pytest.mark.parametrize("offset", [-1e6, 1e6])
@pytest.mark.parametrize("seed", range(3))
def test_a_constant_for_each_player_changes_nothing(coarse, offset, seed):
    game = random_game(seed)
    found = BEST[coarse](NormalFormGame(game.payoffs + np.array([[[offset]], [[-3.0]]])))
    expected = BEST[coarse](game)
    assert found.value - offset + 3.0 == pytest.approx(expected.value, abs=1e-8)
    np.testing.assert_allclose(found.distribution, expected.distribution, atol=1e-8)


@each_kind
@pytest.mark.parametrize("seed", range(3))
def test_small_differences_count_next_to_a_huge_constant_payoff(coarse, seed):
    game = random_game(seed)
    found = BEST[coarse](NormalFormGame(1e6 + 1e-4 * game.payoffs))
    expected = BEST[coarse](game)
    assert (found.value - 2e6) / 1e-4 == pytest.approx(expected.value, abs=1e-4)
    np.testing.assert_allclose(found.distribution, expected.distribution, atol=1e-4)


@each_kind
def test_what_highs_leaves_outside_is_repaired(coarse, monkeypatch):
    monkeypatch.setattr(scipy.optimize, "linprog", careless(scipy.optimize.linprog))
    found = BEST[coarse](games.chicken())
    check(games.chicken(), found, coarse, size=10.0)
    assert found.bound >= 10.5


@each_kind
def test_a_power_of_two_changes_no_bit(coarse):
    game = random_game(0)
    found = BEST[coarse](game)
    scaled = BEST[coarse](NormalFormGame(np.ldexp(game.payoffs, 40)))
    np.testing.assert_array_equal(scaled.distribution, found.distribution)
    assert scaled.value == np.ldexp(found.value, 40)


@each_kind
def test_weights_are_what_the_named_objectives_stand_for(coarse):
    game = random_game(0)
    for named, weights in [("welfare", [1, 1]), (0, [1, 0]), (np.int64(1), [0, 1])]:
        one, other = BEST[coarse](game, named), BEST[coarse](game, weights)
        assert one.value == other.value
        np.testing.assert_array_equal(one.distribution, other.distribution)


@each_kind
@pytest.mark.parametrize(
    "payoffs", [[[[3.0]], [[-1.0]]], np.zeros((2, 2, 3)), np.full((2, 3, 2), 7.0), [[1.0, 4.0]]]
)
def test_degenerate_games_have_equilibria_too(coarse, payoffs):
    game = NormalFormGame(payoffs)
    found = BEST[coarse](game)
    assert found.value == pytest.approx(game.payoffs.sum(axis=0).max(), abs=1e-14)
    check(game, found, coarse)


@each_kind
def test_where_payoffs_differ_too_much_the_bound_is_still_a_bound(coarse):
    # Next to a crash of -1e10, HiGHS does not see the value of a green light, and offers as the
    # worst equilibrium one that pays something. None pays less than nothing, as the bound knows.
    game = games.traffic_light(crash=-1e10)
    worst = BEST[coarse](game, [-1.0, -1.0])
    assert worst.bound >= -1e-5
    assert worst.value <= worst.bound + 1e-5
    assert worst.gap <= 1e-10 * 1e10


def test_what_comes_out_cannot_be_written_to():
    found = best_correlated_equilibrium(games.chicken())
    for array in (found.distribution, found.payoffs, found.gaps):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 2.0
    assert repr(found).startswith("CorrelatedEquilibrium(value=10.5, bound=10.5, payoffs=")


# What is refused


@each_kind
@pytest.mark.parametrize(
    ("objective", "error", "message"),
    [
        ("wellfare", ValueError, "objective must be 'welfare', a player or a weight for each"),
        (2, ValueError, "player must be one of 0 to 1, got 2"),
        (-1, ValueError, "player must be one of 0 to 1, got -1"),
        ([1.0], ValueError, r"objective has shape \(1,\)"),
        ([1.0, np.nan], ValueError, "objective must be finite"),
        ([1e300, 1e300], ValueError, "objective must leave weighted payoffs finite"),
        (True, TypeError, "objective must be 'welfare', a player or a weight for each, got True"),
        (None, TypeError, "objective must be 'welfare', a player or a weight for each, got None"),
        (1.0, TypeError, "objective must be 'welfare', a player or a weight for each, got 1.0"),
        (["a", "b"], TypeError, "objective must be numbers"),
    ],
)
def test_an_objective_that_is_none_is_refused(coarse, objective, error, message):
    game = NormalFormGame(1e10 * games.chicken().payoffs)
    with pytest.raises(error, match=message):
        BEST[coarse](game, objective)


@each_kind
def test_trees_and_names_are_refused(coarse):
    for game in (games.kuhn_poker(), "chicken", None):
        with pytest.raises(TypeError, match="game must be a"):
            BEST[coarse](game)
