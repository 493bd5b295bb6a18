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
    dominated_actions,
    eliminate_dominated,
    pareto_optimal_outcomes,
    pure_equilibria,
)


def random_game(seed, shape):
    """Return a game of few different payoffs, so that there are ties."""
    generator = np.random.default_rng([seed, *shape])
    return NormalFormGame(generator.integers(0, 4, size=(len(shape), *shape)))


SHAPES = [(4,), (1, 3), (3, 4), (2, 3, 2), (2, 2, 2, 2)]
each_game = pytest.mark.parametrize(
    "game", [random_game(seed, shape) for shape in SHAPES for seed in range(2)], ids=repr
)


def outcomes(game):
    return itertools.product(*map(range, game.payoffs.shape[1:]))


def paid(game, outcome):
    return game.payoffs[(slice(None), *outcome)]


@each_game
def test_outcomes_are_those_of_the_definitions(game):
    pure, optimal = [], []
    for outcome in outcomes(game):
        own = paid(game, outcome)
        if not any(
            paid(game, (*outcome[:i], other, *outcome[i + 1 :]))[i] > own[i]
            for i, count in enumerate(game.payoffs.shape[1:])
            for other in range(count)
        ):
            pure.append(outcome)
        others = [paid(game, other) for other in outcomes(game)]
        if not any((other >= own).all() and (other > own).any() for other in others):
            optimal.append(outcome)
    assert pure_equilibria(game) == tuple(pure)
    assert pareto_optimal_outcomes(game) == tuple(optimal)


def test_a_tolerance_lets_small_gains_pass():
    # 0.1 + 0.2 is a little more than 0.3, and to go where it is paid is a gain.
    game = NormalFormGame([[0.3, 0.1 + 0.2, 0.0]])
    assert pure_equilibria(game) == ((1,),)
    assert pure_equilibria(game, atol=1e-12) == ((0,), (1,))


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
    best = set()
    for p in between + [p for p in points if not inside or 0 < p < 1]:
        worth = [p * a + (1 - p) * b for a, b in payoffs]
        best |= {action for action, w in enumerate(worth) if w == max(worth)}
    return best


@given(st.lists(st.tuples(st.integers(-5, 5), st.integers(-5, 5)), min_size=1, max_size=6))
def test_an_action_is_dominated_unless_some_belief_makes_it_a_best_reply(payoffs):
    # Pearce (1984): never best means strictly dominated; never best against beliefs that rule
    # nothing out means weakly dominated.
    game, everything = NormalFormGame([payoffs, np.zeros_like(payoffs)]), set(range(len(payoffs)))
    for strictly in True, False:
        found = dominated_actions(game, 0, strictly=strictly)
        assert set(found) == everything - best_replies(payoffs, inside=not strictly)


@each_game
@pytest.mark.parametrize("strictly", [True, False])
def test_pure_dominance_is_what_its_definition_says(game, strictly):
    enough = np.all if strictly else np.any
    for player in range(game.players):
        payoffs = np.moveaxis(game.payoffs[player], player, 0)
        payoffs = payoffs.reshape(len(payoffs), -1)
        expected = [
            a
            for a, actual in enumerate(payoffs)
            if any((b >= actual).all() and enough(b > actual) for b in payoffs)
        ]
        found = dominated_actions(game, player, strictly=strictly, by_mixed=False)
        assert found == tuple(expected)
        assert set(found) <= set(dominated_actions(game, player, strictly=strictly))


def test_a_mixture_dominates_where_no_action_does_and_by_enough():
    # Half and half earn 1, which is 1e-6 more, of a range of 2.
    game = matrix_game([[2.0, 0.0], [0.0, 2.0], [1.0 - 1e-6, 1.0 - 1e-6]])
    assert dominated_actions(game, 0) == (2,)
    assert dominated_actions(game, 0, by_mixed=False) == ()
    for strictly in True, False:
        assert dominated_actions(game, 0, strictly=strictly, rtol=1e-5) == ()
    # Comparisons of pure strategies are exact for every tolerance.
    assert dominated_actions(matrix_game([[1.0], [1.0 - 1e-15]]), 0, rtol=1.0) == (1,)


# Elimination


@pytest.mark.parametrize("shape", [(4, 4), (3, 2, 3)], ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_what_strict_dominance_leaves_does_not_depend_on_the_order(shape, seed):
    game, generator = random_game(seed, shape), np.random.default_rng(seed)
    left = eliminate_dominated(game)
    for _ in range(3):
        kept = [list(range(n)) for n in shape]
        while True:  # one action after the other, in random order
            rest = NormalFormGame(game.payoffs[np.ix_(range(game.players), *kept)])
            found = [(i, a) for i in range(game.players) for a in dominated_actions(rest, i)]
            if not found:
                break
            player, action = found[generator.integers(len(found))]
            del kept[player][action]
        assert tuple(map(tuple, kept)) == left.kept
    # No equilibrium is lost or invented.
    by_number = [
        tuple(k[a] for k, a in zip(left.kept, o, strict=True)) for o in outcomes(left.game)
    ]
    pure = [
        o
        for o, new in zip(by_number, outcomes(left.game), strict=True)
        if new in pure_equilibria(left.game)
    ]
    assert tuple(pure) == pure_equilibria(game)


def test_a_duopoly_is_solved_by_dominance():
    # Cournot with price 12 - q - p and no costs: the best reply to p is (12 - p) / 2. Quantities
    # above 6 are dominated, then those below 3, then 6; then 4 ties with 5 against 3, 3 against 5.
    quantity = np.arange(0.0, 13.0)
    price = 12.0 - quantity[:, None] - quantity
    names = [[str(int(q)) for q in quantity]] * 2
    game = NormalFormGame([quantity[:, None] * price, quantity * price], actions=names)
    left = eliminate_dominated(game)
    pair = [range(7, 13), range(3), [6]]
    assert left.rounds == tuple(tuple((i, q) for i in (0, 1) for q in gone) for gone in pair)
    assert left.kept == ((3, 4, 5), (3, 4, 5))
    assert left.game.actions == (("3", "4", "5"),) * 2
    np.testing.assert_array_equal(left.game.payoffs, game.payoffs[:, 3:6, 3:6])
    assert eliminate_dominated(game, strictly=False).kept == ((4,), (4,))


test_other_games_tolerances_and_players_are_refused = refusals(
    (lambda: pure_equilibria(games.kuhn_poker()), TypeError, "game must be a NormalFormGame"),
    (lambda: pareto_optimal_outcomes("chicken"), TypeError, "game must be a Game, got a name"),
    (lambda: pure_equilibria(games.chicken(), atol=-1e-9), ValueError, "atol must be"),
    (lambda: dominated_actions(games.chicken(), 2), ValueError, "player must be one of 0 to 1"),
)
