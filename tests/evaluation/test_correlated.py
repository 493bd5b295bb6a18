"""Correlated equilibria: gaps next to whole histories, and the best ones next to all corners."""

import itertools

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_exact import best_of_equilibria, careless
from naive_games import random_game, random_profile
from refusals import refusals

from regretkit import (
    ExtensiveFormGame,
    Hedge,
    NormalFormGame,
    SelfPlay,
    games,
    matrix_game,
)
from regretkit.evaluation import (
    CorrelatedPlay,
    best_coarse_correlated_equilibrium,
    best_correlated_equilibrium,
    cce_gaps,
    ce_gaps,
    maxmin,
    pure_equilibria,
    solve_zero_sum,
)
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
        changed = list(outcome)
        changed[player] = instead[outcome[player]]
        change = game.payoffs[(player, *changed)] - game.payoffs[(player, *outcome)]
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
        assert play.gaps("cce")[player] == pytest.approx(gaps[0], abs=1e-12)
        assert play.gaps("ce")[player] == pytest.approx(gaps[1], abs=1e-12)
    assert play.gap("cce") == play.gaps("cce").max()
    assert play.gap("ce") == play.gaps("ce").max()


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
    np.testing.assert_allclose(weighted.gaps("cce"), repeated.gaps("cce"), atol=1e-13)
    np.testing.assert_allclose(weighted.gaps("ce"), repeated.gaps("ce"), atol=1e-13)
    assert weighted.total_weight == repeated.total_weight == 7.0


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
        assert play.gaps("cce")[player] == pytest.approx((best - earned) / 10, abs=1e-12)
    with pytest.raises(TypeError, match="game must be in normal form for its CE gaps"):
        play.gaps("ce")


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
    np.testing.assert_allclose(play.gaps("cce"), cce_gaps(game, joint), atol=1e-13)
    np.testing.assert_allclose(play.gaps("ce"), ce_gaps(game, joint), atol=1e-13)


def test_restored_counts_continue_bitwise_identically():
    game, played, weights = history_of(np.random.default_rng(6), (3, 4))
    whole, first = add_all(game, played, weights), add_all(game, played[:11], weights[:11])
    second = CorrelatedPlay(game)
    second.load_state_dict(first.state_dict())
    for profile, weight in zip(played[11:], weights[11:], strict=True):
        second.add(profile, weight)
    np.testing.assert_array_equal(second.gaps("cce"), whole.gaps("cce"))
    np.testing.assert_array_equal(second.gaps("ce"), whole.gaps("ce"))


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
    np.testing.assert_allclose(
        [(payoffs_of_player * mu).sum() for payoffs_of_player in game.payoffs], payoff, atol=1e-14
    )


def test_told_to_crash_a_driver_gains_by_stopping():
    # Both go in one round of ten.
    mu = [[0.1, 0.45], [0.45, 0.0]]
    np.testing.assert_allclose(ce_gaps(games.traffic_light(), mu), [9.55, 9.55], atol=1e-12)


# The best ones

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


def random_table(seed, shape=(3, 4)):
    return NormalFormGame(np.random.default_rng(seed).normal(size=(len(shape), *shape)))


def check_best(game, found, coarse, size=1.0):
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
    check_best(game, found, coarse)


def test_in_the_prisoners_dilemma_both_defect_for_every_objective():
    for best, objective in itertools.product(BEST.values(), ["welfare", 0, 1, [-1.0, 2.0]]):
        found = best(games.prisoners_dilemma(), objective)
        np.testing.assert_allclose(found.distribution, [[0.0, 0.0], [0.0, 1.0]], atol=1e-14)


# By fractions


@each_kind
@settings(max_examples=40)
@given(game=bimatrices, weights=st.tuples(entries, entries))
def test_no_corner_of_the_set_is_better(coarse, game, weights):
    found = BEST[coarse](game, weights)
    expected = float(best_of_equilibria(game, weights, coarse))
    assert found.value == pytest.approx(expected, abs=1e-9)
    assert found.bound == pytest.approx(expected, abs=1e-9)
    check_best(game, found, coarse)


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
    game = random_table(seed, shape)
    for objective in ["welfare", *range(len(shape)), -np.ones(len(shape))]:
        check_best(game, BEST[coarse](game, objective), coarse)


@pytest.mark.parametrize("seed", range(10))
def test_whom_it_is_best_for_gets_more_where_less_is_asked(seed):
    # Nash equilibria are correlated, correlated ones are coarse, and coarse ones are outcomes;
    # and no player gets less than its security level.
    game = random_table(seed, (3, 3))
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
@pytest.mark.parametrize("unit", [1e-300, 1e-9, 1e6, 1e90])
@pytest.mark.parametrize("seed", range(3))
def test_the_equilibrium_does_not_depend_on_the_unit_of_a_player(coarse, unit, seed):
    game = random_table(seed)
    expected = BEST[coarse](game, 1)
    found = BEST[coarse](NormalFormGame(game.payoffs * [[[1.0]], [[unit]]]), 1)
    assert found.value == pytest.approx(unit * expected.value, rel=1e-9)
    assert found.gaps[1] <= 1e-10 * unit
    # Of another's payoff it is not asked, and still it must not be wronged.
    np.testing.assert_allclose(found.distribution, expected.distribution, atol=1e-9)


@each_kind
@pytest.mark.parametrize(("offset", "unit"), [(-1e6, 1.0), (1e6, 1.0), (2e6, 1e-4)])
@pytest.mark.parametrize("seed", range(3))
def test_a_constant_for_each_player_changes_nothing(coarse, offset, unit, seed):
    game, accuracy = random_table(seed), 1e-8 / unit
    found = BEST[coarse](NormalFormGame(unit * game.payoffs + [[[offset]], [[-3.0]]]))
    expected = BEST[coarse](game)
    assert (found.value - offset + 3.0) / unit == pytest.approx(expected.value, abs=accuracy)
    np.testing.assert_allclose(found.distribution, expected.distribution, atol=accuracy)


@each_kind
def test_what_highs_leaves_outside_is_repaired(coarse, monkeypatch):
    monkeypatch.setattr(scipy.optimize, "linprog", careless(scipy.optimize.linprog))
    found = BEST[coarse](games.chicken())
    check_best(games.chicken(), found, coarse, size=10.0)
    assert found.bound >= 10.5


@each_kind
def test_a_power_of_two_changes_no_bit(coarse):
    game = random_table(0)
    found = BEST[coarse](game)
    scaled = BEST[coarse](NormalFormGame(np.ldexp(game.payoffs, 40)))
    np.testing.assert_array_equal(scaled.distribution, found.distribution)
    assert scaled.value == np.ldexp(found.value, 40)


@each_kind
def test_weights_are_what_the_named_objectives_stand_for(coarse):
    game = random_table(0)
    for named, weights in [("welfare", [1, 1]), (0, [1, 0]), (np.int64(1), [0, 1])]:
        first, second = BEST[coarse](game, named), BEST[coarse](game, weights)
        assert first.value == second.value
        np.testing.assert_array_equal(first.distribution, second.distribution)


@each_kind
@pytest.mark.parametrize(
    "payoffs", [[[[3.0]], [[-1.0]]], np.zeros((2, 2, 3)), np.full((2, 3, 2), 7.0), [[1.0, 4.0]]]
)
def test_degenerate_games_have_equilibria_too(coarse, payoffs):
    game = NormalFormGame(payoffs)
    found = BEST[coarse](game)
    assert found.value == pytest.approx(game.payoffs.sum(axis=0).max(), abs=1e-14)
    check_best(game, found, coarse)


@each_kind
def test_where_payoffs_differ_too_much_the_bound_is_still_a_bound(coarse):
    # Next to a crash of -1e10, HiGHS does not see the value of a green light, and offers as the
    # worst equilibrium one that pays something. None pays less than nothing, as the bound knows.
    game = games.traffic_light(crash=-1e10)
    worst = BEST[coarse](game, [-1.0, -1.0])
    assert worst.bound >= -1e-5
    assert worst.value <= worst.bound + 1e-5
    assert worst.gap <= 1e-10 * 1e10


# What is refused


TAILS = np.array([0.0, 1.0])
PENNIES = games.matching_pennies()


@pytest.mark.parametrize("weight", [-1.0, np.nan])
@pytest.mark.parametrize("profile", [[TAILS] * 2, [TAILS, np.array([5.0, 0.0])]])
def test_what_is_no_joint_strategy_or_weight_is_not_added_not_even_in_part(profile, weight):
    play = CorrelatedPlay(PENNIES)
    with pytest.raises(ValueError, match="nothing was played yet"):
        play.gap("ce")
    play.add([np.array([1.0, 0.0])] * 2)
    with pytest.raises(ValueError, match=r"weight must be|profile\[1\] must be"):
        play.add(profile, weight)
    assert play.total_weight == 1.0
    np.testing.assert_array_equal(play.gaps("cce"), [0.0, 2.0])


test_other_distributions_games_and_objectives_are_refused = refusals(
    (ce_gaps, (PENNIES, np.ones((2, 3)) / 6), ValueError, r"shape \(2, 2\) of the outcomes"),
    (cce_gaps, (PENNIES, [[0.5, 0.5], [0.5, 0.5]]), ValueError, "sum to one"),
    (cce_gaps, (PENNIES, [[1.5, -0.5], [0.0, 0.0]]), ValueError, "nonnegative"),
    (ce_gaps, (PENNIES, [["a", "b"], ["c", "d"]]), TypeError, "distribution must be numbers"),
    (ce_gaps, (games.kuhn_poker(), [[1.0]]), TypeError, "game must be a NormalFormGame, .*Corr"),
    (BEST[True], (games.kuhn_poker(),), TypeError, "game must be a NormalFormGame"),
    (BEST[False], (PENNIES, "wellfare"), ValueError, "objective must be 'welfare', a player or"),
    (BEST[False], (PENNIES, 1.0), TypeError, "objective must be 'welfare', a player or .* got 1.0"),
    (BEST[True], (PENNIES, 2), ValueError, "player must be one of 0 to 1, got 2"),
    (BEST[True], (PENNIES, [1.0]), ValueError, r"objective must have shape .* got \(1,\)"),
    (BEST[True], (PENNIES, [1.0, np.nan]), ValueError, "objective must be finite"),
    call=lambda function, arguments: function(*arguments),
)
