"""Linear maps of strategies: all matrices, triggers, stationary distributions, ties."""

import naive
import numpy as np
import pytest
from factories import random_behavior, random_tree
from scipy.optimize import linprog

import regretkit as rk
from regretkit.circuits import (
    LinearDeviations,
    TriggerDeviations,
    linear_swap_regret,
    stationary_distribution,
)

EXACT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
SEEDS = pytest.mark.parametrize("seed", range(8))


def small_case(seed, points=4):
    """Return a tree, its maps, utilities and strategies in some iterations, and a generator."""
    generator = np.random.default_rng(seed)
    tree = random_tree(generator, points=int(generator.integers(1, points)))
    utilities = generator.normal(size=(5, tree.dimension))
    behaviors = [random_behavior(generator, tree.simplices) for _ in utilities]
    strategies = np.array([tree.sequence_form(behavior) for behavior in behaviors])
    return tree, LinearDeviations(tree), utilities, strategies, generator


def constraints(tree):
    """Return E and e, so that the strategies are x >= 0 with E x = e."""
    rows = np.eye(1, tree.dimension)
    for j in range(tree.points):
        row = np.zeros(tree.dimension)
        row[tree.first_sequence[j] + np.arange(tree.sizes[j])] = 1.0
        row[tree.parent_sequence[j]] -= 1.0
        rows = np.vstack([rows, row])
    return rows, np.eye(1, 1 + tree.points)[0]


def best_of_all_matrices(tree, joint):
    """Return the largest <A, joint> over the matrices that keep all pure strategies inside."""
    pure = np.array(list(naive.pure_strategies(tree.parent_sequence, tree.sizes.tolist())))
    rows, right = constraints(tree)
    solved = linprog(
        -joint.ravel(),
        A_ub=-np.vstack([np.kron(np.eye(tree.dimension), x) for x in pure]),
        b_ub=np.zeros(len(pure) * tree.dimension),
        A_eq=np.vstack([np.kron(rows, x) for x in pure]),
        b_eq=np.tile(right, len(pure)),
        bounds=(None, None),
        options=EXACT,
    )
    return -solved.fun


# The maps


@SEEDS
def test_the_best_map_is_the_best_of_all_matrices_that_keep_the_set(seed):
    tree, maps, utilities, strategies, _ = small_case(seed)
    earned = [maps.utility(u, x) for u, x in zip(utilities, strategies, strict=True)]
    joint = utilities.T @ strategies

    best, coefficients = maps.coefficients.best_response(np.sum(earned, axis=0))

    assert best == pytest.approx(best_of_all_matrices(tree, joint), abs=1e-9)
    assert best == pytest.approx(
        sum(u @ maps.apply(coefficients, x) for u, x in zip(utilities, strategies, strict=True)),
        abs=1e-10,
    )


@SEEDS
def test_gaps_of_trigger_deviations_are_at_most_that_of_linear_maps(seed):
    tree, maps, utilities, strategies, generator = small_case(seed, points=8)
    earned = (utilities * strategies).sum()
    gains = [tree.best_response(utilities.sum(axis=0))[0] - earned]
    for coarse in (True, False):
        triggers = TriggerDeviations(tree, coarse=coarse)
        sums = sum(map(triggers.utility, utilities, strategies))
        gains.append(triggers.best_gain(sums))
        # Each of them is linear: the best linear map earns as much, at each of the points.
        some = triggers.coefficients.best_response(generator.normal(size=sums.size))[1]
        moved = [triggers.apply(some, strategy) for strategy in strategies]
        joint = sum(map(maps.utility, moved, strategies))
        assert maps.coefficients.best_response(joint)[0] >= (np.array(moved) ** 2).sum() - 1e-9
    sums = sum(map(maps.utility, utilities, strategies))
    gains.append(maps.coefficients.best_response(sums)[0] - earned)
    assert (np.diff(gains) >= -1e-10).all()


@pytest.mark.parametrize("leak", [0.5, 1e-4, 1e-8, 1e-10, 1e-13])
def test_the_fixed_point_of_a_matrix_is_its_stationary_distribution(leak):
    generator = np.random.default_rng(5)
    matrix = (1.0 - leak) * np.eye(5) + leak * generator.dirichlet(np.ones(5), size=5)
    maps = LinearDeviations(rk.DecisionTree([0], [5]))
    behavior = np.concatenate([np.eye(6)[5], matrix.ravel()])  # query, then a row
    point = maps.fixed_point(maps.coefficients.sequence_form(behavior))[1:]
    np.testing.assert_allclose(point @ matrix, point, rtol=0.0, atol=1e-15)
    if leak >= 1e-4:
        np.testing.assert_allclose(point, stationary_distribution(matrix))


def test_payoffs_in_other_units_are_played_alike():
    # Queries at different times earn the same: a tie that rounding must not break.
    def strategies(unit):
        game = rk.games.load("kuhn_poker")
        players = [linear_swap_regret(tree, rk.RegretMatchingPlus) for tree in game.domains]
        for _ in range(100):
            profile = [player.next_strategy() for player in players]
            for number, player in enumerate(players):
                player.observe_utility(game.utility(number, profile) * unit)
            yield np.concatenate(profile)

    for plain, third in zip(strategies(1.0), strategies(1.0 / 3.0), strict=True):
        np.testing.assert_allclose(plain, third, rtol=0.0, atol=1e-9)
