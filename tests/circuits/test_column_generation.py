"""The best point of a set under linear constraints, and whether there is one, on every scale."""

import copy

import numpy as np
import pytest
from scipy.optimize import linprog

import regretkit as rk
from regretkit.circuits import AffineImage, Constrained
from regretkit.sets import (
    Ball,
    Box,
)

SEEDS = pytest.mark.parametrize("seed", range(6))


class Restricted:
    """The points of a set that meet constraints, as a ``Constrained`` minimizer knows them."""

    def __init__(self, source, matrix, bound):
        self.player = Constrained(
            rk.BestResponse(source),
            matrix,
            bound,
            AffineImage(rk.RegretMatching(len(bound) + 1), np.eye(len(bound), len(bound) + 1)),
        )

    def best_response(self, utility):
        """Return the best point, its value, and an upper bound on all values."""
        player = copy.deepcopy(self.player)
        player.observe_utility(utility)
        return player.best_feasible()


def is_feasible(source, matrix, bound):
    try:
        Restricted(source, matrix, bound)
    except ValueError as error:
        if "cannot be met" in str(error):
            return False
        raise
    return True


# The best point


def simplices(generator):
    """Return simplices, with matrix and vector of what their points fulfil."""
    return rk.Simplices([3, 4]), [[1.0] * 3 + [0.0] * 4, [0.0] * 3 + [1.0] * 4], [1.0, 1.0]


def box(generator):
    return Box(np.zeros(5), np.full(5, 2.0)), None, None


def tree(generator):
    # After each action of decision 0 comes another decision; after the first, two.
    flows = [
        [1, 0, 0, 0, 0, 0, 0, 0, 0],
        [-1, 1, 1, 0, 0, 0, 0, 0, 0],
        [0, -1, 0, 1, 1, 0, 0, 0, 0],
        [0, -1, 0, 0, 0, 1, 1, 0, 0],
        [0, 0, -1, 0, 0, 0, 0, 1, 1],
    ]
    return rk.DecisionTree([0, 1, 1, 2], [2, 2, 2, 2]), flows, [1.0, 0.0, 0.0, 0.0, 0.0]


@pytest.mark.deep_beyond(18)
@SEEDS
@pytest.mark.parametrize("count", [1, 3, 6])
@pytest.mark.parametrize("make", [simplices, box, tree])
def test_the_best_point_is_that_of_a_linear_program_over_an_explicit_description(make, seed, count):
    generator = np.random.default_rng(seed)
    source, equal, total = make(generator)
    matrix = generator.normal(size=(count, source.dimension))
    bound = matrix @ source.relative_interior_point() + 0.01 * generator.random(count)
    found = Restricted(source, matrix, bound)

    for utility in generator.normal(size=(3, source.dimension)):
        point, lower, upper = found.best_response(utility)
        high = 2.0 if make is box else 1.0
        program = linprog(-utility, matrix, bound, equal, total, bounds=(0.0, high))
        assert lower == pytest.approx(-program.fun, abs=1e-9)
        assert 0.0 <= upper - lower < 1e-12
        assert utility @ point == pytest.approx(lower, abs=1e-12)
        assert source.contains(point)
        assert (matrix @ point <= bound + 1e-12).all()


@SEEDS
def test_on_a_ball_the_bounds_come_within_their_tolerance_of_the_formula(seed):
    # Where <a, x> <= b cuts, the best point has that share of a, and all else along u.
    generator = np.random.default_rng(seed)
    normal, utility, center = generator.normal(size=(3, 6))
    normal /= np.linalg.norm(normal)
    direction, across = utility @ normal, utility - (utility @ normal) * normal
    share, radius = direction / np.linalg.norm(utility) - 0.3, 3.0  # less than without a constraint

    found = Restricted(Ball(center, radius), [normal], [normal @ center + radius * share])
    point, lower, upper = found.best_response(utility)

    best = share * direction + np.sqrt(1.0 - share**2) * np.linalg.norm(across)
    best = utility @ center + radius * best
    assert lower <= best + 1e-9
    assert best <= upper + 1e-12
    assert upper - lower < 1e-9 * 2.0 * radius * np.linalg.norm(utility)
    assert normal @ (point - center) <= radius * share + 1e-9


def test_a_utility_of_zero_or_of_any_size_is_met():
    found = Restricted(rk.Simplices(3), [[1.0, 2.0, 0.0]], [0.5])
    assert found.best_response(np.zeros(3))[1:] == (0.0, 0.0)
    _, lower, upper = found.best_response(1e99 * np.array([3.0, 2.0, 1.0]))
    np.testing.assert_allclose([lower, upper], 2e99, rtol=1e-9)


# Whether there are any points, on every scale


@pytest.mark.parametrize("top", [1.0, 1e6, 1e18, 1e90])
def test_on_a_large_set_violations_count_down_to_a_share_of_it(top):
    line, square = Box([0.0], [top]), Box([0.0, 0.0], [top, top])
    below, above = [1.0, 1.0], [[-1.0, 0.0], [0.0, -1.0]]

    assert not is_feasible(line, [[1.0]], [-1.0])
    assert not is_feasible(line, [[1.0]], [-1e-9])
    assert is_feasible(line, [[1.0]], [0.0])
    # x + y <= b, but each of them is 3/8 of the side or more
    least = [-0.375 * top, -0.375 * top]
    assert not is_feasible(square, [below, *above], [0.5 * top, *least])
    assert not is_feasible(square, [below, *above], [(0.75 - 1e-7) * top, *least])
    assert is_feasible(square, [below, *above], [0.75 * top, *least])
    _, lower, upper = Restricted(square, [below, *above], [0.875 * top, *least]).best_response(
        np.array([2.0, 1.0])
    )
    np.testing.assert_allclose([lower, upper], 1.375 * top, rtol=1e-9)


@pytest.mark.parametrize("shift", [1e3, 1e9, -1e12])
def test_on_a_shifted_set_differences_count_down_to_rounding(shift):
    line, square = Box([shift], [shift + 1.0]), Box([shift] * 2, [shift + 1.0] * 2)
    matrix = [[1.0, 1.0], [-1.0, 0.0], [0.0, -1.0]]

    assert not is_feasible(line, [[1.0]], [shift - 0.5])
    assert is_feasible(line, [[1.0]], [shift])
    assert is_feasible(line, [[1.0]], [shift - 2e-16 * abs(shift)])  # that is a rounding error
    assert not is_feasible(square, matrix, [2.0 * shift + 1.0, -shift - 0.75, -shift - 0.75])
    assert is_feasible(square, matrix, [2.0 * shift + 1.5, -shift - 0.75, -shift - 0.75])
    with pytest.raises(ValueError, match="cannot be met by any x"):
        Restricted(line, [[1.0]], [shift - 0.5])


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
    plain = is_feasible(Box(np.zeros(3), np.full(3, 1.0)), matrix, bound)

    assert plain == (gap > 0.0)
    for scale in (2.0**40, 2.0**-40, 2.0 ** generator.integers(-60, 60, size=3)):
        units = 2.0 ** generator.integers(-60, 60, size=4)
        scaled = matrix / scale * units[:, None]
        top = np.ones(3) * scale
        assert is_feasible(Box(np.zeros(3), top), scaled, bound * units) == plain


def test_what_rounding_breaks_is_not_broken():
    # Numbers that would fit exactly, were they not written in binary.
    third, tenths = 1.0 / 3.0, 0.1 + 0.2

    assert is_feasible(Box([1.0, 1.0], [2.0, 5.0]), [[1.0, -third], [-3.0, 1.0]], [0.0, 0.0])
    assert is_feasible(rk.Simplices(3), [[1.0] * 3, [-1.0] * 3], [0.7 + 0.2 + 0.1, -1.0])
    assert is_feasible(
        rk.Simplices(3), [[1, 1, 0], [-1, -1, 0], [0, 0, 1], [0, 0, -1]], [0.3, -tenths, 0.7, -0.7]
    )
    assert is_feasible(Box([-1e12], [1e12]), [[1.0], [-1.0]], [0.3, -0.3])
    assert not is_feasible(Box([-1e6], [1e6]), [[1.0], [-1.0]], [0.3, -0.4])


def test_a_refusal_is_its_own_proof():
    matrix, bound = np.array([[2.0, 0.0, 1.0], [0.0, 1.0, 0.0]]), np.array([0.5, 0.25])
    with pytest.raises(ValueError, match="cannot be met by any x") as refused:
        Restricted(rk.Simplices(3), matrix, bound)
    # Added up, 2 x + y + z <= 3/4, and on the simplex that is 1 or more.
    assert "weights [1. 1.]" in str(refused.value)
    assert "broken by 0.25 at least" in str(refused.value)
