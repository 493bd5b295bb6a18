"""Optimal correlated equilibria of trees."""

import itertools

import naive_correlated
import numpy as np
import pytest
from naive_games import decision, end, random_game

from regretkit.evaluation import (
    best_coarse_correlated_equilibrium,
    best_correlated_equilibrium,
    best_extensive_form_correlated_equilibrium,
)
from regretkit.games import (
    ExtensiveFormGame,
    NormalFormGame,
    battleship,
    chicken,
    goofspiel,
    kuhn_poker,
    sheriff,
    signalling,
)

CONCEPTS = "nfcce", "efcce", "efce"
best = best_extensive_form_correlated_equilibrium


def ships(height, width, shots):
    return battleship(height, width, shots=shots, loss_multiplier=2.0)


def points(players=2):
    return goofspiel(3, players=players, returns="total_points")


# The numbers of three linear programs that are not this one, on three other spaces of plans.
KNOWN = [
    (signalling, "welfare", (None, 10, 10)),
    (signalling, 1, (None, None, 13 / 2)),
    (lambda: sheriff(2, 1, 1), "welfare", (70 / 13, 235 / 93, 10 / 7)),
    (lambda: sheriff(10, 2, 2), "welfare", (150 / 11, 220 / 23, 935 / 103)),
    (lambda: ships(1, 3, 2), "welfare", (0, -13 / 18, -13 / 18)),
    (lambda: ships(1, 2, 1), "welfare", (0, -3 / 4, -3 / 4)),
    (points, [-1, -1], (-231 / 65, -231 / 65, -471464 / 131253)),
    (points, "welfare", (6, 6, 6)),
    (
        lambda: points(3),
        [-1, -1, -1],
        (-2.09334353481, -2.34373113302, -2.38836381490),
    ),
    pytest.param(
        lambda: kuhn_poker(players=3),
        0,
        (-0.0182403433476, -0.0199037056143, -1 / 48),
        marks=pytest.mark.deep,
    ),
]


@pytest.mark.parametrize(("make", "objective", "values"), KNOWN)
def test_the_optima_of_the_literature_and_of_other_programs(make, objective, values):
    game = make()
    for concept, value in zip(CONCEPTS, values, strict=True):
        if value is not None:
            found = best(game, objective, concept=concept)
            assert found.value == pytest.approx(value, abs=1e-9)
            assert abs(found.bound - found.value) <= 1e-9
            assert found.gap <= 1e-9


def as_tree(game):
    """Return a normal form as a tree in which nobody sees what others do."""

    def grow(outcome):
        player = len(outcome)
        if player == game.players:
            return end(*game.payoffs[(slice(None), *outcome)].tolist())
        actions = range(game.payoffs.shape[1 + player])
        children = {f"{action}": grow((*outcome, action)) for action in actions}
        return decision(player, f"player {player}", **children)

    return ExtensiveFormGame.from_history(grow(()))


@pytest.mark.parametrize("shape", [(2, 3), (3, 2, 2), (4, 4)])
def test_in_one_move_they_are_the_equilibria_of_the_normal_form(shape):
    generator = np.random.default_rng(sum(shape))
    for _ in range(5):
        game = NormalFormGame(generator.normal(size=(len(shape), *shape)))
        weights = generator.normal(size=len(shape))
        correlated = best_correlated_equilibrium(game, weights)
        coarse = best_coarse_correlated_equilibrium(game, weights)
        tree = as_tree(game)
        wanted = dict.fromkeys(CONCEPTS, coarse.value) | {"efce": correlated.value}
        for concept, value in wanted.items():
            assert best(tree, weights, concept=concept).value == pytest.approx(value, abs=1e-8)


def test_chicken_as_a_tree():
    game = as_tree(chicken())
    assert best(game).value == pytest.approx(21 / 2, abs=1e-9)
    assert best(game, [-1, -1]).value == pytest.approx(-36 / 5, abs=1e-9)


def small_games(players, count, most=200):
    """Yield random games with chance that have few joint plans."""
    seeds = itertools.count()
    while count:
        root = random_game(np.random.default_rng(next(seeds)), players, depth=players + 1)
        sets = naive_correlated.information_sets(root, players)
        joint = np.prod([float(count) for player in sets for count, _ in player.values()])
        if 8 <= joint <= most and sum(map(len, sets)) >= players + 1:
            yield root
            count -= 1


@pytest.mark.parametrize("concept", CONCEPTS)
@pytest.mark.parametrize("players", [2, 3])
def test_the_optimum_is_that_over_all_joint_plans(players, concept):
    generator = np.random.default_rng(players)
    for root in small_games(players, count=8):
        weights = generator.normal(size=players)
        found = best(ExtensiveFormGame.from_history(root), weights, concept=concept)
        naive = naive_correlated.best(root, players, weights, concept)
        assert found.value == pytest.approx(naive, abs=1e-8)


@pytest.mark.parametrize("concept", CONCEPTS)
@pytest.mark.parametrize("players", [2, 3])
def test_nobody_gains_by_the_definition_and_the_bound_is_tight(players, concept):
    generator = np.random.default_rng(players)
    for seed in range(4):
        root = random_game(np.random.default_rng(seed), players, depth=4)
        game = ExtensiveFormGame.from_history(root)
        found = best(game, generator.normal(size=players), concept=concept)
        assert abs(found.bound - found.value) <= 1e-9
        assert max(found.gaps) <= 1e-9
        assert max(naive_correlated.gaps(game, found.plan.probability, concept)) <= 1e-9


def test_gaps_of_any_plan_are_those_of_the_definition(): ...
