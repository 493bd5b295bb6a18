"""Response-based approachability: its theorem, and the regrets that follow from it."""

import numpy as np
import pytest
from factories import meets, random_tree

import regretkit as rk
from regretkit.circuits import LinearDeviations
from regretkit.evaluation import RegretLedger
from regretkit.minimizers import ResponseBasedApproachability
from regretkit.sets import Ball, Box, Hull, Polytope

SEEDS = pytest.mark.parametrize("seed", range(4))


def some_set(seed):
    generator = np.random.default_rng(seed)
    corners = Polytope(generator.normal(size=(3, 3)))
    sets = [rk.Simplices(3), Ball([1.0, 0.0, 2.0], 1.5), Box([0.0, 1.0], [2.0, 4.0])]
    return [random_tree(generator, points=4), Hull([corners, rk.Simplices(3)]), *sets][seed]


@pytest.mark.parametrize("seed", range(5))
def test_the_sums_of_products_differ_by_no_more_than_the_root_of_the_squares(seed):
    domain = some_set(seed)
    player = ResponseBasedApproachability(domain)
    ledger = RegretLedger(player, strict=True)
    squares, excess = 0.0, np.zeros((domain.dimension, domain.dimension + 1))
    for strategy, utility in meets(player, seed):
        assert domain.contains(strategy)
        # x has the smallest |W (x, 1)| exactly when <W (x, 1), W (y - x, 0)> >= 0 for every y.
        played = np.append(strategy, 1.0)
        image, unit = excess @ played, 1.0 + np.abs(excess).max() ** 2
        smallest = -domain.best_response(-image @ excess[:, :-1])[0]
        assert smallest - image @ excess[:, :-1] @ strategy >= -1e-8 * unit
        # What is added to W, by the documentation
        size, added = np.linalg.norm(image), np.outer(utility, played)
        if size > 1e-8 * np.linalg.norm(excess):
            target = image * (np.linalg.norm(utility) / size)
            added -= np.outer(target, np.append(domain.best_response(target)[1], 1.0))
        assert (added * excess).sum() <= 1e-8 * np.linalg.norm(added) * np.linalg.norm(excess)
        assert player.distance == pytest.approx(np.linalg.norm(excess))
        squares, excess = squares + (added**2).sum(), excess + added

    assert player.distance <= np.sqrt(squares) * (1 + 1e-9)
    (bound,) = ledger.regret_bounds().values()
    assert bound.regret <= bound.bound


@SEEDS
def test_the_regret_against_a_linear_map_is_at_most_its_distance_from_the_identity_times_w(seed):
    tree = random_tree(np.random.default_rng(seed), points=4)
    maps, player = LinearDeviations(tree), ResponseBasedApproachability(tree)
    gains, earned = np.zeros(maps.coefficients.dimension), 0.0
    for strategy, utility in meets(player, seed, iterations=60):
        gains += maps.utility(utility, strategy)
        earned += utility @ strategy

    best, coefficients = maps.coefficients.best_response(gains)
    images = [maps.apply(coefficients, unit) for unit in np.eye(tree.dimension)]
    distance = np.linalg.norm(np.transpose(images) - np.eye(tree.dimension))
    assert best - earned <= distance * player.distance


def test_swap_regret_grows_as_the_root_of_time():
    player, generator = ResponseBasedApproachability(3), np.random.default_rng(7)
    ledger = RegretLedger(player)
    for _ in range(400):
        # Utilities turn slowly around: external regret alone would be small by following them.
        angle = 2.0 * np.pi * player.iteration / 100.0
        turning = np.array([np.cos(angle), np.sin(angle), 0.0])
        player.observe_utility(turning + generator.normal(scale=0.1, size=3))

    # The farthest stochastic matrices from the identity have no fixed state.
    assert ledger.swap(player) <= np.sqrt(6.0) * player.distance
    assert player.distance <= 2.0 * 1.5 * np.sqrt(2.0) * np.sqrt(400)
