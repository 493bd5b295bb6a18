"""Constraints by a Lagrangian: the best feasible point on every scale, and the regret bounds."""

import copy
import itertools
import math
from contextlib import suppress

import naive
import numpy as np
import pytest
from factories import ADVERSARIES, regret
from scipy.optimize import linprog

import regretkit as rk
from regretkit.circuits import AffineImage, Constrained, MinkowskiSum
from regretkit.evaluation import RegretLedger
from regretkit.sets import Ball, Box

SEEDS = pytest.mark.parametrize("seed", range(4))


def prices(count, cap, rule=rk.RegretMatchingPlus):
    """Return a minimizer over the prices from 0 to ``cap`` of some constraints."""
    return rk.Product([AffineImage(rule(2), [[cap, 0.0]]) for _ in range(count)])


def restricted(minimizer, matrix, bound):
    return Constrained(minimizer, matrix, bound, prices(len(bound), 1.0))


def best(player, utility):
    """Return the best feasible point at one utility, its value, and an upper bound."""
    player = copy.deepcopy(player)
    player.observe_utility(utility)
    return player.best_feasible()


# The best feasible point

TREE = rk.DecisionTree([0, 1, 1, 2], [2, 2, 2, 2])
MAP = np.random.default_rng(0).normal(size=(3, 5))
BLOCKS = [np.concatenate(pair) for pair in itertools.product(np.eye(3), np.eye(4))]
HALF = AffineImage(rk.RegretMatching(2), [[0, 0.5], [0, 0.5], [0, 1]])
SETS = {  # minimizers, and the vertices of their sets
    "simplices": (rk.RegretMatching([3, 4]), BLOCKS),
    "box": (rk.BestResponse(Box([0.0] * 5, [2.0] * 5)), [*itertools.product([0.0, 2.0], repeat=5)]),
    "tree": (rk.CFR(TREE, rk.RegretMatching), [*naive.pure_strategies([0, 1, 1, 2], [2] * 4)]),
    "image": (AffineImage(rk.RegretMatching(5), MAP), MAP.T),
    "sum": (
        MinkowskiSum([rk.RegretMatching(3), HALF]),
        [a + b for a in np.eye(3) for b in (np.zeros(3), np.array([0.5, 0.5, 1.0]))],
    ),
}


@pytest.mark.deep_beyond(6)
@SEEDS
@pytest.mark.parametrize("count", [1, 3, 6])
@pytest.mark.parametrize("name", SETS)
def test_the_best_point_is_that_of_a_linear_program_over_all_vertices(name, seed, count):
    minimizer, vertices = SETS[name]
    generator, vertices = np.random.default_rng(seed), np.array(vertices)
    matrix = generator.normal(size=(count, vertices.shape[1]))
    inside = generator.dirichlet(np.ones(len(vertices))) @ vertices
    bound = matrix @ inside + 0.01 * generator.random(count)
    player = restricted(copy.deepcopy(minimizer), matrix, bound)

    for utility in generator.normal(size=(3, vertices.shape[1])):
        point, lower, upper = best(player, utility)
        whole = np.ones((1, len(vertices)))
        program = linprog(-vertices @ utility, matrix @ vertices.T, bound, whole, [1.0])
        assert lower == pytest.approx(-program.fun, abs=1e-9)
        assert 0.0 <= upper - lower < 1e-12
        assert utility @ point == pytest.approx(lower, abs=1e-12)
        assert player.domain.contains(point)
        assert (matrix @ point <= bound + 1e-12).all()


@pytest.mark.deep_beyond(1)
@SEEDS
def test_on_a_ball_the_bounds_come_within_their_tolerance_of_the_formula(seed):
    # Where <a, x> <= b cuts, the best point has that share of a, and all else along u.
    generator = np.random.default_rng(seed)
    normal, utility, center = generator.normal(size=(3, 6))
    normal /= np.linalg.norm(normal)
    direction, across = utility @ normal, utility - (utility @ normal) * normal
    share, radius = direction / np.linalg.norm(utility) - 0.3, 3.0  # less than without a constraint

    limit = [normal @ center + radius * share]
    ball = rk.BestResponse(Ball(center, radius))
    point, lower, upper = best(restricted(ball, [normal], limit), utility)

    value = share * direction + np.sqrt(1.0 - share**2) * np.linalg.norm(across)
    value = utility @ center + radius * value
    assert lower <= value + 1e-9
    assert value <= upper + 1e-12
    assert upper - lower < 1e-9 * 2.0 * radius * np.linalg.norm(utility)
    assert normal @ (point - center) <= radius * share + 1e-9


def test_a_utility_of_zero_or_of_any_size_is_met():
    player = restricted(rk.RegretMatching(3), [[1.0, 2.0, 0.0]], [0.5])
    assert best(player, np.zeros(3))[1:] == (0.0, 0.0)
    _, lower, upper = best(player, 1e99 * np.array([3.0, 2.0, 1.0]))
    np.testing.assert_allclose([lower, upper], 2e99, rtol=1e-9)


# Whether there are feasible points, on every scale


def is_feasible(box, matrix, bound):
    with suppress(ValueError):
        return restricted(rk.BestResponse(box), matrix, bound) is not None
    return False


LINE = np.array([[1.0]])
SQUARE = np.array([[1.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])  # x + y <= b, but x and y are large


@pytest.mark.deep
@pytest.mark.parametrize("top", [1.0, 1e6, 1e18, 1e90])
def test_on_a_large_set_violations_count_down_to_a_share_of_it(top):
    line, square, least = Box([0.0], [top]), Box([0.0, 0.0], [top, top]), -0.375 * top

    assert not is_feasible(line, LINE, [-1.0])
    assert not is_feasible(line, LINE, [-1e-9])
    assert is_feasible(line, LINE, [0.0])
    assert not is_feasible(square, SQUARE, [0.5 * top, least, least])
    assert not is_feasible(square, SQUARE, [(0.75 - 1e-7) * top, least, least])
    assert is_feasible(square, SQUARE, [0.75 * top, least, least])


@pytest.mark.deep
@pytest.mark.parametrize("shift", [1e3, 1e9, -1e12])
def test_on_a_shifted_set_differences_count_down_to_rounding(shift):
    line, square = Box([shift], [shift + 1.0]), Box([shift] * 2, [shift + 1.0] * 2)

    assert not is_feasible(line, LINE, [shift - 0.5])
    assert is_feasible(line, LINE, [shift])
    assert is_feasible(line, LINE, [shift - 2e-16 * abs(shift)])  # a rounding error
    assert not is_feasible(square, SQUARE, [2.0 * shift + 1.0, -shift - 0.75, -shift - 0.75])
    assert is_feasible(square, SQUARE, [2.0 * shift + 1.5, -shift - 0.75, -shift - 0.75])


@pytest.mark.deep_beyond(2)
@SEEDS
@pytest.mark.parametrize("gap", [-1e-3, -1e-7, 1e-12, 1e-7, 1e-3])
def test_units_of_coordinates_and_of_constraints_decide_nothing(seed, gap):
    # A box in other units, powers of two: the same numbers but for their exponents.
    generator = np.random.default_rng(seed)
    matrix, point = generator.normal(size=(4, 3)), generator.random(3)
    weights = generator.random(4)
    matrix[3] = -(weights[:3] @ matrix[:3]) / weights[3]  # so that with weights they add up to 0
    bound = matrix @ point
    bound[0] += gap * np.abs(matrix[0]).sum()

    for scale in (1.0, 2.0**40, 2.0**-40, 2.0 ** generator.integers(-60, 60, size=3)):
        units = 2.0 ** generator.integers(-60, 60, size=4)
        scaled, top = matrix / scale * units[:, None], np.ones(3) * scale
        assert is_feasible(Box(np.zeros(3), top), scaled, bound * units) == (gap > 0.0)


@pytest.mark.deep
def test_rounding_errors_violate_nothing():
    # Numbers that would fit exactly, were they not written in binary.
    third = 1.0 / 3.0
    assert is_feasible(Box([1.0, 1.0], [2.0, 5.0]), [[1.0, -third], [-3.0, 1.0]], [0.0, 0.0])
    assert is_feasible(rk.Simplices(3), [[1.0] * 3, [-1.0] * 3], [0.7 + 0.2 + 0.1, -1.0])
    rows, limits = np.array([[1, 1, 0], [-1, -1, 0], [0, 0, 1], [0, 0, -1]]), [0.3, -(0.1 + 0.2)]
    assert is_feasible(rk.Simplices(3), rows, [*limits, 0.7, -0.7])
    assert is_feasible(Box([-1e12], [1e12]), [[1.0], [-1.0]], [0.3, -0.3])
    assert not is_feasible(Box([-1e6], [1e6]), [[1.0], [-1.0]], [0.3, -0.4])


def test_a_refusal_is_its_own_proof():
    matrix, bound = np.array([[2.0, 0.0, 1.0], [0.0, 1.0, 0.0]]), np.array([0.5, 0.25])
    # Added up, 2 x + y + z <= 3/4, and on the simplex that is 1 or more.
    with pytest.raises(ValueError, match=r"weights \[1\. 1\.\] is violated by 0\.25 at least"):
        restricted(rk.RegretMatching(3), matrix, bound)


# The bounds


@pytest.mark.deep_beyond(2)
@SEEDS
@pytest.mark.parametrize("rule", [rk.RegretMatching, rk.PredictiveRegretMatchingPlus])
def test_the_ledger_holds_the_theorem_with_the_numbers_of_the_history(seed, rule):
    generator = np.random.default_rng(seed)
    matrix = generator.normal(size=(2, 4))
    bound, cap = matrix @ generator.dirichlet(np.ones(4)) + 0.05, 40.0
    player = Constrained(rule(4), matrix, bound, prices(2, cap, rule))
    np.testing.assert_array_equal(player.average_violation, [0.0, 0.0])
    ledger, history = RegretLedger(player, strict=True), []
    for t in range(1, 51):
        x, p = player.next_strategy(), player.multipliers.next_strategy()
        adversary = list(ADVERSARIES.values())[t % len(ADVERSARIES)]
        history.append((x, p, np.clip(adversary(x, t, generator), -3.0, 3.0)))
        player.observe_utility(history[-1][2])

    mean, total = np.mean([x for x, _, _ in history], axis=0), sum(u for _, _, u in history)
    violation = np.maximum(matrix @ mean - bound, 0.0)
    np.testing.assert_allclose(player.average_violation, violation, atol=1e-12)
    both = regret(player.minimizer.domain, [(x, u - p @ matrix) for x, p, u in history])
    both += regret(player.multipliers.domain, [(p, matrix @ x - bound) for x, p, _ in history])
    widest = max(float(np.ptp(u)) for _, _, u in history)
    assert violation.sum() <= (both / len(history) + widest) / cap + 1e-12
    proven = ledger.regret_bounds()["top"]
    (identity,) = proven.also
    assert (proven.exact, identity.exact) == (False, True)
    assert proven.bound == pytest.approx(both, abs=1e-8)
    assert identity.bound == pytest.approx(both, abs=1e-8)
    earned = math.fsum(float(u @ x) for x, _, u in history)
    worst = cap * len(history) * violation.sum()
    program = linprog(-total, matrix, bound, np.ones((1, 4)), [1.0])
    assert player.feasible_regret == pytest.approx(-program.fun - earned, abs=1e-7)
    assert proven.regret == pytest.approx(-program.fun - earned + worst, abs=1e-7)
    # Each corner pays for its own violation, at the prices of each iteration.
    paying = max(
        math.fsum(float(u @ corner - p @ (matrix @ corner - bound)) for _, p, u in history)
        for corner in np.eye(4)
    )
    assert identity.regret == pytest.approx(paying - earned + worst, abs=1e-8)


def test_a_prediction_is_priced_with_what_the_multipliers_will_play():
    rule, rows = rk.PredictiveRegretMatchingPlus, np.array([[1.0, 0.0, 2.0]])
    player = Constrained(rule(3), rows, [0.5], prices(1, 4.0))
    for utility in np.random.default_rng(1).normal(size=(10, 3)):
        player.observe_utility(utility)
    alone, price = copy.deepcopy(player.minimizer), player.multipliers.next_strategy()
    prediction = np.array([1.0, -2.0, 0.5])

    player.expect_utility(prediction)

    alone.expect_utility(prediction - price @ rows)
    np.testing.assert_array_equal(player.next_strategy(), alone.next_strategy())
    np.testing.assert_array_equal(player.multipliers.next_strategy(), price)
