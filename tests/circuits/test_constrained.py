"""Constraints by a Lagrangian: the inequality that is proven, and what is refused."""

import copy
import math

import numpy as np
import pytest
from factories import ADVERSARIES, regret
from scipy.optimize import linprog

import regretkit as rk
from regretkit.circuits import AffineImage, Constrained, MinkowskiSum
from regretkit.evaluation import RegretLedger

SEEDS = pytest.mark.parametrize("seed", range(4))
RULES = [rk.RegretMatching, rk.RegretMatchingPlus, rk.PredictiveRegretMatchingPlus]
each_rule = pytest.mark.parametrize("rule", RULES)


def prices(count, cap, rule=rk.RegretMatchingPlus):
    """Return a minimizer over all prices of 0 or more that add up to at most ``cap``."""
    return AffineImage(rule(count + 1), cap * np.eye(count, count + 1))


def box_prices(count, cap, rule=rk.RegretMatchingPlus):
    """Return a minimizer over all prices from 0 to ``cap`` each."""
    return rk.Product([prices(1, cap, rule) for _ in range(count)])


def constraints(generator, size, count):
    """Return a matrix and a bound that a point of the simplex meets with a little room."""
    matrix, point = generator.normal(size=(count, size)), generator.dirichlet(np.ones(size))
    return matrix, matrix @ point + 0.05


def best_feasible(utility, matrix, bound):
    """Return by a linear program what the best point of the simplex under constraints earns."""
    program = linprog(
        -utility,
        A_ub=matrix,
        b_ub=bound,
        A_eq=np.ones((1, utility.size)),
        b_eq=[1.0],
        method="highs",
    )
    assert program.status == 0
    return -program.fun, program.x


def meets(player, seed, iterations):
    generator = np.random.default_rng(seed)
    for t in range(1, iterations + 1):
        strategy = player.next_strategy()
        adversary = list(ADVERSARIES.values())[t % len(ADVERSARIES)]
        utility = np.clip(adversary(strategy, t, generator), -3.0, 3.0)
        price = player.multipliers.next_strategy()
        yield strategy, price, utility
        player.observe_utility(utility)


# The bound


@pytest.mark.deep_beyond(4)
@SEEDS
@each_rule
def test_the_average_violation_is_that_of_the_average_and_stays_below_its_bound(seed, rule):
    generator = np.random.default_rng(seed)
    matrix, bound = constraints(generator, 4, 2)
    cap, iterations = 40.0, 400
    player = Constrained(rule(4), matrix, bound, box_prices(2, cap, rule))
    np.testing.assert_array_equal(player.average_violation, [0.0, 0.0])

    history = list(meets(player, seed, iterations))

    mean = np.mean([x for x, _, _ in history], axis=0)
    violation = np.maximum(matrix @ mean - bound, 0.0)
    np.testing.assert_allclose(player.average_violation, violation, atol=1e-12)
    regrets = regret(player.minimizer.domain, [(x, u - p @ matrix) for x, p, u in history])
    regrets += regret(player.multipliers.domain, [(p, matrix @ x - bound) for x, p, _ in history])
    widest = max(float(u.max() - u.min()) for _, _, u in history)
    assert violation.sum() <= (regrets / iterations + widest) / cap + 1e-12


# Regret against those who keep the constraints


def kinds_of_sets():
    """Return, by name, a minimizer and the vertices of the set that it plays on."""
    map_ = np.random.default_rng(0).normal(size=(3, 5))
    tree = rk.DecisionTree([0, 2], [2, 2])
    sums = [a + b for a in np.eye(3) for b in (np.zeros(3), np.array([0.5, 0.5, 1.0]))]
    return {
        "simplex": (lambda rule: rule(4), np.eye(4)),
        "tree": (
            lambda rule: rk.CFR(tree, rule),
            np.array([[1, 1, 0, 0, 0], [1, 0, 1, 1, 0], [1, 0, 1, 0, 1]], float),
        ),
        "image": (lambda rule: AffineImage(rule(5), map_), map_.T),
        "sum": (
            lambda rule: MinkowskiSum([rule(3), AffineImage(rule(2), [[0, 0.5]] * 2 + [[0, 1]])]),
            np.array(sums),
        ),
    }


@pytest.mark.deep_beyond(6)
@SEEDS
@pytest.mark.parametrize("kind", kinds_of_sets())
def test_feasible_regret_is_what_a_linear_program_over_all_vertices_says(kind, seed):
    make, vertices = kinds_of_sets()[kind]
    generator = np.random.default_rng(seed)
    matrix = generator.normal(size=(2, vertices.shape[1]))
    bound = matrix @ (generator.dirichlet(np.ones(len(vertices))) @ vertices) + 0.05
    player = Constrained(make(rk.RegretMatchingPlus), matrix, bound, box_prices(2, 10.0))
    assert player.feasible_regret == 0.0

    history = list(meets(player, seed, 100))

    total = sum(u for _, _, u in history)
    earned = math.fsum(float(u @ x) for x, _, u in history)
    shares = np.ones((1, len(vertices)))
    program = linprog(-vertices @ total, matrix @ vertices.T, bound, shares, [1.0])
    assert player.feasible_regret == pytest.approx(-program.fun - earned, abs=1e-8)
    point, earns, maximum = player.best_feasible()
    assert total @ point == pytest.approx(earns, abs=1e-9)
    assert 0.0 <= maximum - earns < 1e-6
    assert player.domain.contains(point)
    assert (matrix @ point <= bound + 1e-9).all()


# The ledger


@pytest.mark.deep_beyond(4)
@SEEDS
@each_rule
def test_the_ledger_holds_the_theorem_with_the_numbers_of_the_history(seed, rule):
    generator = np.random.default_rng(seed)
    matrix, bound = constraints(generator, 4, 2)
    player = Constrained(rule(4), matrix, bound, box_prices(2, 10.0, rule))
    list(meets(player, seed, 7))  # before there is a ledger
    ledger = RegretLedger(player, strict=True)

    history = list(meets(player, seed, 80))

    proven = ledger.regret_bounds()["top"]
    (identity,) = proven.also
    inner = [(x, u - p @ matrix) for x, p, u in history]
    outer = [(p, matrix @ x - bound) for x, p, _ in history]
    both = regret(player.minimizer.domain, inner) + regret(player.multipliers.domain, outer)
    assert proven.bound == pytest.approx(both, abs=1e-8)
    assert identity.bound == pytest.approx(both, abs=1e-8)
    earned = math.fsum(float(u @ x) for x, _, u in history)
    worst = 10.0 * np.maximum(sum(g for _, g in outer), 0.0).sum()
    feasible = best_feasible(sum(u for _, _, u in history), matrix, bound)[0] - earned
    assert proven.regret == pytest.approx(feasible + worst, abs=1e-7)
    # Each corner pays for its own violation, at the prices of each iteration.
    paying = max(
        math.fsum(float(u @ corner - p @ (matrix @ corner - bound)) for _, p, u in history)
        for corner in np.eye(4)
    )
    assert identity.regret == pytest.approx(paying - earned + worst, abs=1e-8)
    assert (proven.exact, identity.exact) == (False, True)


# Predictions, domain and state


def test_a_prediction_is_priced_with_what_the_multipliers_will_play():
    rule, rows = rk.PredictiveRegretMatchingPlus, np.array([[1.0, 0.0, 2.0]])
    player = Constrained(rule(3), rows, [0.5], prices(1, 4.0))
    for _ in meets(player, seed=1, iterations=10):
        pass
    alone, price = copy.deepcopy(player.minimizer), player.multipliers.next_strategy()
    prediction = np.array([1.0, -2.0, 0.5])

    player.expect_utility(prediction)

    alone.expect_utility(prediction - price @ rows)
    np.testing.assert_array_equal(player.next_strategy(), alone.next_strategy())
    np.testing.assert_array_equal(player.multipliers.next_strategy(), price)
