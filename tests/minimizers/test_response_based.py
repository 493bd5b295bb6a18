"""Response-based approachability: its theorem, and the regrets that follow from it."""

import numpy as np
import pytest
from factories import ADVERSARIES, meets, random_tree

import regretkit as rk
from regretkit.circuits import LinearDeviations
from regretkit.evaluation import RegretLedger
from regretkit.minimizers import ResponseBasedApproachability
from regretkit.sets import Ball, Box

SEEDS = pytest.mark.parametrize("seed", range(4))


def some_set(seed):
    generator = np.random.default_rng(seed)
    tree = random_tree(generator, points=4)
    return (tree, rk.Simplices(3), Ball([1.0, 0.0, 2.0], 1.5), Box([0.0, 1.0], [2.0, 4.0]))[seed]


@SEEDS
def test_the_sums_of_products_differ_by_no_more_than_the_root_of_the_squares(seed):
    domain = some_set(seed)
    player = ResponseBasedApproachability(domain)
    ledger = RegretLedger(player, strict=True)
    squares, generator = 0.0, np.random.default_rng(seed)
    for t in range(1, 60):
        strategy = player.next_strategy()
        utility = list(ADVERSARIES.values())[t % len(ADVERSARIES)](strategy, t, generator)
        previous = player._excess.copy()
        player.observe_utility(utility)

        assert domain.contains(strategy)
        added = player._excess - previous
        assert (added * previous).sum() <= 1e-8 * np.linalg.norm(added) * player.distance
        squares += (added**2).sum()
        # What was taken away is the product of v and a best response to it.
        product = np.outer(utility, np.append(strategy, 1.0)) - added
        other, unit = product[:, -1], max(np.abs(utility).max(), np.abs(previous).max())
        assert np.linalg.norm(other) <= np.linalg.norm(utility) + 1e-12 * unit
        best = domain.best_response(other)[0]
        assert np.trace(product[:, :-1]) == pytest.approx(best, abs=1e-12 * unit)

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
    distance = np.linalg.norm(maps.matrix(coefficients) - np.eye(tree.dimension))
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
