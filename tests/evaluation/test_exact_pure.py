"""Pure equilibria, Pareto-optimal outcomes and dominance: by definition and by beliefs."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive_exact import fractions
from refusals import refusals

from regretkit import NormalFormGame, games, matrix_game
from regretkit.evaluation import (
    best_correlated_equilibrium,
    dominated_actions,
    eliminate_dominated,
    maxmin,
    pareto_optimal_outcomes,
    pure_equilibria,
    solve_zero_sum,
)

SHAPES = [(4,), (1, 3), (3, 4), (2, 3, 2), (2, 2, 2, 2)]


def random_game(generator, shape):
    """Return a game of few different payoffs, so that there are ties."""
    return NormalFormGame(generator.integers(0, 4, size=(len(shape), *shape)))


def some_games(seeds=4):
    return [
        random_game(np.random.default_rng([seed, *shape]), shape)
        for shape in SHAPES
        for seed in range(seeds)
    ]


each_game = pytest.mark.parametrize("game", some_games(), ids=repr)


def outcomes(game):
    return list(itertools.product(*map(range, game.payoffs.shape[1:])))


def paid(game, outcome):
    return game.payoffs[(slice(None), *outcome)]


# Pure equilibria


@each_game
def test_a_pure_equilibrium_is_where_no_player_gains_by_another_action(game):
    expected = []
    for outcome in outcomes(game):
        better = [
            paid(game, (*outcome[:i], second, *outcome[i + 1 :]))[i] > paid(game, outcome)[i]
            for i, count in enumerate(game.payoffs.shape[1:])
            for second in range(count)
        ]
        if not any(better):
            expected.append(outcome)
    assert pure_equilibria(game) == tuple(expected)


@pytest.mark.parametrize(
    ("game", "expected"),
    [
        (games.battle_of_the_sexes(), ((0, 0), (1, 1))),
        (games.chicken(), ((0, 1), (1, 0))),
        (games.prisoners_dilemma(), ((1, 1),)),
        (games.traffic_light(), ((0, 1), (1, 0))),
        (games.rock_paper_scissors(), ()),
        (games.shapley_game(), ()),
        (matrix_game([[0.0, 0.0]]), ((0, 0), (0, 1))),
    ],
)
def test_pure_equilibria_that_are_known(game, expected):
    assert pure_equilibria(game) == expected


@pytest.mark.parametrize("seed", range(5))
def test_a_game_with_a_potential_has_one_where_the_potential_is_largest(seed):
    # Each player is paid the potential and a term that it cannot change (Monderer and Shapley
    # 1996).
    generator = np.random.default_rng(seed)
    potential = generator.normal(size=(3, 4, 2))
    opponents = [generator.normal(size=shape) for shape in [(1, 4, 2), (3, 1, 2), (3, 4, 1)]]
    game = NormalFormGame([potential + second for second in opponents])
    assert np.unravel_index(potential.argmax(), potential.shape) in pure_equilibria(game)


@each_game
def test_only_the_order_of_payoffs_matters_to_what_is_pure(game):
    stretched = NormalFormGame(np.exp(3.0 * game.payoffs) - 7.0)
    assert pure_equilibria(stretched) == pure_equilibria(game)
    assert pareto_optimal_outcomes(stretched) == pareto_optimal_outcomes(game)
    for player, strictly in itertools.product(range(game.players), [True, False]):
        options = {"strictly": strictly, "by_mixed": False}
        assert dominated_actions(stretched, player, **options) == dominated_actions(
            game, player, **options
        )


def test_a_tolerance_lets_small_gains_pass():
    # 0.1 + 0.2 is a little more than 0.3, and to go where it is paid is a gain.
    game = NormalFormGame([[0.3, 0.1 + 0.2, 0.0]])
    assert pure_equilibria(game) == ((1,),)
    assert pure_equilibria(game, atol=1e-12) == ((0,), (1,))
    assert pure_equilibria(game, atol=1.0) == ((0,), (1,), (2,))


# Pareto-optimal outcomes


@each_game
def test_an_outcome_is_optimal_unless_another_is_better_for_one_player_and_worse_for_none(game):
    expected = tuple(
        outcome
        for outcome in outcomes(game)
        if not any(
            (paid(game, second) >= paid(game, outcome)).all()
            and (paid(game, second) > paid(game, outcome)).any()
            for second in outcomes(game)
        )
    )
    assert pareto_optimal_outcomes(game) == expected


@pytest.mark.parametrize(
    ("game", "expected"),
    [
        (games.prisoners_dilemma(), ((0, 0), (0, 1), (1, 0))),
        (games.battle_of_the_sexes(), ((0, 0), (1, 1))),
        (games.matching_pennies(), ((0, 0), (0, 1), (1, 0), (1, 1))),
        (NormalFormGame(np.zeros((2, 1, 2))), ((0, 0), (0, 1))),
        (NormalFormGame([[[0.0, -0.0]], [[-0.0, 0.0]]]), ((0, 0), (0, 1))),
    ],
)
def test_optimal_outcomes_that_are_known(game, expected):
    assert pareto_optimal_outcomes(game) == expected


def test_many_outcomes_are_compared_as_few_are():
    payoffs = np.random.default_rng(0).normal(size=(2, 300, 300))
    found = pareto_optimal_outcomes(NormalFormGame(payoffs))
    # Going down in the first payoff, the second has to rise.
    assert 1 < len(found) < 100
    pairs = np.sort([(payoffs[0][o], payoffs[1][o]) for o in found], axis=0)
    rising = sorted((payoffs[0][o], payoffs[1][o]) for o in found)
    np.testing.assert_array_equal([x for x, _ in rising], pairs[:, 0])
    np.testing.assert_array_equal([y for _, y in rising], pairs[::-1, 1])


# Dominance


def best_replies(payoffs, inside):
    """Return the actions that are best against some belief about an opponent of two actions.

    ``inside`` asks for beliefs that give both some probability. Between two beliefs at which
    actions change places, the same ones are best, so that one belief there stands for all.
    """
    payoffs = fractions(payoffs)
    crossings = {Fraction(0), Fraction(1)}
    for (a, b), (c, d) in itertools.combinations(payoffs, 2):
        if a - b != c - d:
            crossings.add((d - b) / (a - b - c + d))
    points = sorted(p for p in crossings if 0 <= p <= 1)
    between = [(p + q) / 2 for p, q in itertools.pairwise(points)]
    beliefs = between + [p for p in points if not inside or 0 < p < 1]
    best = set()
    for p in beliefs:
        worth = [p * a + (1 - p) * b for a, b in payoffs]
        best |= {action for action, w in enumerate(worth) if w == max(worth)}
    return best


@given(st.lists(st.tuples(st.integers(-5, 5), st.integers(-5, 5)), min_size=1, max_size=6))
def test_an_action_is_dominated_unless_some_belief_makes_it_a_best_reply(payoffs):
    # Pearce (1984): never best means strictly dominated; never best against beliefs that rule
    # nothing out means weakly dominated.
    game = NormalFormGame([payoffs, np.zeros_like(payoffs)])
    everything = set(range(len(payoffs)))
    strictly = dominated_actions(game, 0)
    weakly = dominated_actions(game, 0, strictly=False)
    assert set(strictly) == everything - best_replies(payoffs, inside=False)
    assert set(weakly) == everything - best_replies(payoffs, inside=True)


@each_game
@pytest.mark.parametrize("strictly", [True, False])
def test_pure_dominance_is_what_its_definition_says(game, strictly):
    for player in range(game.players):
        payoffs = np.moveaxis(game.payoffs[player], player, 0)
        payoffs = payoffs.reshape(len(payoffs), -1)
        enough = np.all if strictly else np.any
        expected = [
            a
            for a, actual in enumerate(payoffs)
            if any((b >= actual).all() and enough(b > actual) for b in payoffs)
        ]

        found = dominated_actions(game, player, strictly=strictly, by_mixed=False)
        by_mixed = dominated_actions(game, player, strictly=strictly)

        assert found == tuple(expected)
        assert set(found) <= set(by_mixed)


@each_game
def test_what_is_dominated_is_never_played(game):
    for player in range(game.players):
        for action in dominated_actions(game, player):
            # Neither in a pure equilibrium, nor in any correlated one, nor by who is careful
            assert all(outcome[player] != action for outcome in pure_equilibria(game))
            mediated = best_correlated_equilibrium(game, player).distribution
            told = np.moveaxis(mediated, player, 0)[action]
            assert told.sum() == pytest.approx(0.0, abs=1e-9)
            opponents = np.delete(np.arange(game.payoffs.shape[1 + player]), action)
            left = NormalFormGame(game.payoffs.take(opponents, axis=1 + player))
            assert maxmin(left, player).value == pytest.approx(
                maxmin(game, player).value, abs=1e-12
            )


def test_a_mixture_dominates_where_no_action_does():
    game = matrix_game([[4.0, 0.0], [0.0, 4.0], [1.0, 1.0], [2.0, 2.0]])
    # Half of the first and half of the second earn 2 always: more than 1, and no more than 2.
    assert dominated_actions(game, 0) == (2,)
    assert dominated_actions(game, 0, strictly=False) == (2,)
    assert dominated_actions(game, 0, by_mixed=False) == (2,)
    assert dominated_actions(matrix_game(game.payoffs[0][:3]), 0, by_mixed=False) == ()


def test_weak_dominance_needs_one_strict_gain():
    game = matrix_game([[4.0, 0.0, 1.0], [0.0, 4.0, 1.0], [2.0, 2.0, 0.0], [4.0, 0.0, 1.0]])
    assert dominated_actions(game, 0) == ()
    assert dominated_actions(game, 0, strictly=False) == (2,)
    assert dominated_actions(game, 0, strictly=False, by_mixed=False) == ()


@pytest.mark.deep_beyond(3)
@pytest.mark.parametrize("unit", [1e-300, 1e-9, 1e90])
@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("strictly", [True, False])
def test_neither_unit_nor_constant_matters(unit, offset, strictly):
    for seed in range(3):
        table = np.random.default_rng(seed).integers(0, 5, size=(5, 3)) + offset
        game, second = matrix_game(table), matrix_game(unit * table)
        for player in (0, 1):
            expected = dominated_actions(matrix_game(table - offset), player, strictly=strictly)
            assert dominated_actions(game, player, strictly=strictly) == expected
            assert dominated_actions(second, player, strictly=strictly) == expected


def test_a_tolerance_says_which_margin_of_a_mixture_counts():
    # Half and half earn 1, which is 1e-6 more, of a range of 2.
    game = matrix_game([[2.0, 0.0], [0.0, 2.0], [1.0 - 1e-6, 1.0 - 1e-6]])
    assert dominated_actions(game, 0) == (2,)
    assert dominated_actions(game, 0, rtol=1e-5) == ()
    assert dominated_actions(game, 0, strictly=False, rtol=1e-5) == ()
    # Comparisons of pure strategies are exact for every tolerance.
    assert dominated_actions(matrix_game([[1.0], [1.0 - 1e-15]]), 0, rtol=1.0) == (1,)


def test_of_two_actions_that_are_nearly_the_same_one_is_left():
    # Either gains 1e-11 of one penny's side and loses as much of the other's, which HiGHS does not
    # see; the last row is there to be worse.
    game = matrix_game([[1.0, 1.0 + 1e-11], [1.0 + 1e-11, 1.0], [0.0, 0.0]])
    for rtol in (0.0, 1e-9):
        assert len(dominated_actions(game, 0, strictly=False, rtol=rtol)) in (1, 2)
        assert eliminate_dominated(game, strictly=False, rtol=rtol).kept[0]


# Elimination


def one_at_a_time(game, generator):
    """Remove strictly dominated actions one by one, in random order; return what is left."""
    kept = [list(range(n)) for n in game.payoffs.shape[1:]]
    while True:
        left = NormalFormGame(game.payoffs[np.ix_(range(game.players), *kept)])
        found = [(i, a) for i in range(game.players) for a in dominated_actions(left, i)]
        if not found:
            return tuple(map(tuple, kept))
        player, action = found[generator.integers(len(found))]
        del kept[player][action]


@pytest.mark.deep_beyond(3)
@pytest.mark.parametrize("shape", [(4, 4), (3, 2, 3)], ids=str)
@pytest.mark.parametrize("seed", range(8))
def test_what_strict_dominance_leaves_does_not_depend_on_the_order(shape, seed):
    generator = np.random.default_rng(seed)
    game = random_game(generator, shape)
    left = eliminate_dominated(game)
    assert all(one_at_a_time(game, generator) == left.kept for _ in range(5))


@pytest.mark.deep_beyond(14)
@each_game
@pytest.mark.parametrize("strictly", [True, False])
def test_nothing_of_what_is_left_is_dominated_and_rounds_tell_what_went(game, strictly):
    left = eliminate_dominated(game, strictly=strictly)

    for player in range(game.players):
        assert dominated_actions(left.game, player, strictly=strictly) == ()
        gone = {action for step in left.rounds for i, action in step if i == player}
        assert gone | set(left.kept[player]) == set(range(game.payoffs.shape[1 + player]))
        assert len(gone) + len(left.kept[player]) == game.payoffs.shape[1 + player]
    table = game.payoffs[np.ix_(range(game.players), *left.kept)]
    np.testing.assert_array_equal(left.game.payoffs, table)
    if left.rounds:
        first = [
            (i, a)
            for i in range(game.players)
            for a in dominated_actions(game, i, strictly=strictly)
        ]
        assert left.rounds[0] == tuple(first)


@each_game
def test_strict_dominance_loses_no_equilibrium_and_invents_none(game):
    left = eliminate_dominated(game)
    numbered = [
        tuple(payoffs[a] for payoffs, a in zip(left.kept, outcome, strict=True))
        for outcome in pure_equilibria(left.game)
    ]
    assert tuple(numbered) == pure_equilibria(game)


@pytest.mark.deep_beyond(4)
@pytest.mark.parametrize("strictly", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_no_dominance_changes_the_value_of_a_zero_sum_game(strictly, seed):
    game = matrix_game(np.random.default_rng(seed).integers(-2, 4, size=(5, 5)))
    left = eliminate_dominated(game, strictly=strictly)
    assert solve_zero_sum(left.game).value == pytest.approx(solve_zero_sum(game).value, abs=1e-12)


def test_guessing_two_thirds_of_the_mean_ends_at_one_step_by_step():
    # Moulin's beauty contest of two: who says less wins, from 1 to 8; ties are shared. To say 8 is
    # never better than to say 1 and worse against 8, and so on.
    numbers = np.arange(1, 9)
    wins = np.where(numbers[:, None] == numbers, 0.5, numbers[:, None] < numbers)
    game = NormalFormGame([wins, 1.0 - wins], actions=[[str(n) for n in numbers]] * 2)
    left = eliminate_dominated(game, strictly=False)
    assert left.kept == ((0,), (0,))
    assert left.game.actions == (("1",), ("1",))


def test_a_duopoly_is_solved_by_dominance():
    # Cournot with price 12 - q - p and no costs: the best reply to p is (12 - p) / 2. Quantities
    # above 6 are dominated, then those below 3, then 6; then 4 ties with 5 against 3, 3 against 5.
    quantity = np.arange(0.0, 13.0)
    price = 12.0 - quantity[:, None] - quantity
    game = NormalFormGame([quantity[:, None] * price, quantity * price])
    left = eliminate_dominated(game)
    pair = [range(7, 13), range(3), [6]]
    assert left.rounds == tuple(tuple((i, q) for i in (0, 1) for q in gone) for gone in pair)
    assert left.kept == ((3, 4, 5), (3, 4, 5))
    assert eliminate_dominated(game, strictly=False).kept == ((4,), (4,))


# What is refused


test_other_games_tolerances_and_players_are_refused = refusals(
    (lambda: pure_equilibria(games.kuhn_poker()), TypeError, "game must be a NormalFormGame, .*"),
    (lambda: pareto_optimal_outcomes("chicken"), TypeError, "game must be a Game, got its name"),
    (lambda: pure_equilibria(games.chicken(), atol=-1e-9), ValueError, "atol must be"),
    (lambda: eliminate_dominated(games.chicken(), rtol=np.nan), ValueError, "rtol must be"),
    (lambda: dominated_actions(games.chicken(), 2), ValueError, "player must be one of 0 to 1"),
)
