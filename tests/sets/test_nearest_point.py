"""Distances known from a linear oracle only, against formulas and other solvers."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment, linprog, nnls

from regretkit.sets import Ball, Box, MinkowskiSumSet, Polytope, Simplices
from regretkit.sets._base import _Search, is_within


def nearest_point(point, oracle, tolerance, limit=None):
    """Return a nearly nearest point of a set, and bounds on the distance to the set."""
    search = _Search(point, oracle)
    search.run(
        lambda: search.upper - search.lower <= tolerance + search.rounding,
        limit,
        f"it to tolerance={tolerance}",
    )
    return point + search.nearest, search.lower, search.upper


def hull(points):
    return Polytope(points).best_response


def box(low, high):
    return Box(low, high).best_response


def ball(center):
    return Ball(center, 1.0).best_response


def ellipsoid(center, radii):
    def oracle(direction):
        scaled = radii * direction
        point = center + radii * scaled / np.linalg.norm(scaled)
        return float(direction @ point), point

    return oracle


def bistochastic(n):
    def oracle(direction):
        rows, columns = linear_sum_assignment(-direction.reshape(n, n))
        matrix = np.zeros((n, n))
        matrix[rows, columns] = 1.0
        return float(direction @ matrix.ravel()), matrix.ravel()

    return oracle


def unit(generator, n):
    direction = generator.normal(size=n)
    return direction / np.linalg.norm(direction)


def assert_distance(point, oracle, expected, nearest=None, tolerance=1e-10):
    found, lower, upper = nearest_point(point, oracle, tolerance)
    assert lower - 1e-13 <= expected <= upper + 1e-13
    assert upper - lower <= tolerance + 1e-13
    assert np.linalg.norm(found - point) == pytest.approx(upper, rel=1e-12, abs=1e-13)
    if nearest is not None:
        np.testing.assert_allclose(found, nearest, atol=1e-4)


DIMENSIONS = pytest.mark.parametrize("n", [1, 2, 3, 10, 60])


@DIMENSIONS
def test_the_simplex_has_its_projection_formula(n):
    generator, simplices = np.random.default_rng(n), Simplices(n)
    for scale in [0.1, 1.0, 10.0]:
        point = scale * generator.normal(size=n)
        nearest = simplices.project(point)
        expected = float(np.linalg.norm(point - nearest))
        assert_distance(point, simplices.best_response, expected, nearest)


@DIMENSIONS
def test_a_box_clips(n):
    generator = np.random.default_rng(n)
    low = generator.normal(size=n)
    high = low + generator.exponential(size=n)
    for scale in [0.5, 2.0]:
        point = scale * generator.normal(size=n)
        nearest = np.clip(point, low, high)
        assert_distance(point, box(low, high), float(np.linalg.norm(point - nearest)), nearest)


@DIMENSIONS
@pytest.mark.parametrize("depth", [-0.5, -1e-3, 0.0, 1e-3, 2.0])
def test_a_ball_shortens(n, depth):
    generator = np.random.default_rng(n)
    center, direction = generator.normal(size=n), unit(generator, n)
    point = center + (1.0 + depth) * direction
    nearest = center + min(1.0, 1.0 + depth) * direction
    assert_distance(point, ball(center), max(depth, 0.0), nearest)


@pytest.mark.parametrize("n", [2, 5, 20])
def test_hulls_agree_with_nonnegative_least_squares(n):
    # Lawson and Hanson: the weights nearest to zero minimize |P w|^2 + (sum(w) - 1)^2, scaled.
    generator = np.random.default_rng(n)
    for count in [2, n, 4 * n]:
        points = generator.normal(size=(count, n))
        point = 0.7 * generator.normal(size=n)
        weights, _ = nnls(np.vstack([(points - point).T, np.ones(count)]), np.eye(n + 1)[n])
        nearest = weights @ points / weights.sum()
        expected = float(np.linalg.norm(nearest - point))
        assert_distance(point, hull(points), expected, nearest)
        for atol in [0.0, 1e-9, 0.5 * expected, 1.5 * expected]:
            if abs(expected - atol) > 1e-10:
                assert is_within(point, hull(points), atol) == (expected <= atol)


@pytest.mark.parametrize("n", [2, 4, 8])
def test_membership_agrees_with_a_linear_program(n):
    generator, answers = np.random.default_rng(n), set()
    points = generator.normal(size=(6 * n, n))
    for _ in range(20):
        point = 0.6 * generator.normal(size=n)
        program = linprog(
            np.zeros(len(points)),
            A_eq=np.vstack([points.T, np.ones(len(points))]),
            b_eq=np.append(point, 1.0),
        )
        assert is_within(point, hull(points), 1e-9) == program.success
        answers.add(program.success)
    assert answers == {True, False}


@pytest.mark.deep_beyond(39)
@pytest.mark.parametrize(
    ("shape", "n"),
    [(shape, n) for shape in ["ball", "rounded"] for n in [2, 3, 10, 50, 200]]
    + [("ellipsoid", n) for n in [2, 3, 10]],
)
@pytest.mark.parametrize("height", [-1e-3, -1e-6, -1e-9, 0.0, 9e-10, 1.1e-9, 2e-9, 1e-6, 0.1])
def test_a_curved_boundary_is_told_to_a_billionth(shape, n, height):
    generator = np.random.default_rng(n)
    center, normal = generator.normal(size=n), unit(generator, n)
    oracle = {
        "ball": ball(center),
        "rounded": MinkowskiSumSet(
            [Polytope(generator.normal(size=(2 * n, n))), Ball(center, 1e-3)]
        ).best_response,
        "ellipsoid": ellipsoid(center, np.geomspace(0.2, 1.0, n)),
    }[shape]
    # The answer in a direction is a boundary point with that normal; no curve is tighter than
    # a ball of radius 1e-3, so that moving in by as much stays inside.
    assert is_within(oracle(normal)[1] + height * normal, oracle, 1e-9) == (height <= 1e-9)


def test_an_ellipsoid_of_dimension_fifty():
    generator = np.random.default_rng(50)
    oracle, normal = ellipsoid(np.zeros(50), np.geomspace(0.1, 1.0, 50)), unit(generator, 50)
    for depth in [-1e-6, 0.0, 2e-9]:
        assert is_within(oracle(normal)[1] + depth * normal, oracle, 1e-9) == (depth <= 1e-9)


@pytest.mark.parametrize("atol", [0.0, 1e-9])
@pytest.mark.parametrize("n", [2, 3, 10, 60, pytest.param(200, marks=pytest.mark.slow)])
def test_a_flat_boundary_is_told_to_a_billionth(n, atol):
    generator = np.random.default_rng(n)
    corners, average = np.eye(n), generator.dirichlet(np.ones(n))
    assert is_within(average, hull(corners), atol)
    assert is_within(corners[0], hull(corners), atol)
    assert is_within(average + 0.9 * atol / np.sqrt(n), hull(corners), atol)
    assert not is_within(average + (atol + 1e-9) / np.sqrt(n), hull(corners), atol)
    # A corner, half of the way up: the normal cone has n/2 dimensions.
    point = np.where(np.arange(n) < n // 2, 1.0, generator.random(n))
    cube = box(np.zeros(n), np.ones(n))
    assert is_within(point, cube, atol)
    point[0] += atol + 1e-9
    assert not is_within(point, cube, atol)


@pytest.mark.parametrize("n", [3, 8, pytest.param(14, marks=pytest.mark.slow)])
def test_bistochastic_matrices_are_told_from_others(n):
    generator = np.random.default_rng(n)
    weights = generator.dirichlet(np.ones(4 * n))
    mixed = sum(w * np.eye(n)[generator.permutation(n)] for w in weights).ravel()
    assert is_within(mixed, bistochastic(n), 1e-12)
    assert is_within(np.full(n * n, 1.0 / n), bistochastic(n), 1e-12)
    assert not is_within(mixed + 2e-9 / n, bistochastic(n), 1e-9)
    swapped = np.eye(n) + 1e-6 * (np.eye(n)[::-1] - np.roll(np.eye(n), 1, axis=0))
    assert not is_within(swapped.ravel(), bistochastic(n), 1e-9)


@pytest.mark.parametrize("n", [1, 2, 30])
def test_a_single_point_is_a_set(n):
    generator = np.random.default_rng(n)
    only = generator.normal(size=n)
    assert is_within(only, hull(only[None]), 0.0)
    for distance in [1e-9, 1.0, 1e6]:
        point = only + distance * unit(generator, n)
        expected = float(np.linalg.norm(point - only))
        assert_distance(point, hull(only[None]), expected, only, tolerance=1e-10 * distance)
        assert not is_within(point, hull(only[None]), 0.9 * distance)
        assert is_within(point, hull(only[None]), 1.1 * distance)


def test_repeated_and_collinear_points_change_nothing():
    generator = np.random.default_rng(1)
    ends = generator.normal(size=(2, 4))
    direction = np.linspace(0.0, 1.0, 7)[:, None]
    points = np.repeat(ends[0] + direction * (ends[1] - ends[0]), 3, axis=0)
    assert is_within(ends.mean(axis=0), hull(points), 1e-14)
    deviation = unit(generator, 4)
    deviation -= (
        (ends[1] - ends[0]) * (deviation @ (ends[1] - ends[0])) / np.sum((ends[1] - ends[0]) ** 2)
    )
    expected = float(np.linalg.norm(deviation))
    assert_distance(ends.mean(axis=0) + deviation, hull(points), expected, ends.mean(axis=0))


@pytest.mark.parametrize("scale", [1e-100, 1e-9, 1e9, 1e90])
def test_units_do_not_matter(scale):
    generator = np.random.default_rng(2)
    points, deviation = generator.normal(size=(12, 5)), 3.0 * unit(generator, 5)
    _, _, expected = nearest_point(deviation, hull(points), 1e-12)
    _, lower, upper = nearest_point(scale * deviation, hull(scale * points), 1e-12 * scale)
    assert lower == pytest.approx(scale * expected, rel=1e-11, abs=0.0)
    assert upper == pytest.approx(scale * expected, rel=1e-11, abs=0.0)
    assert is_within(scale * points.mean(axis=0), hull(scale * points), 0.0)


def test_a_hyperplane_settles_it_early():
    asked = []

    def oracle(direction):
        asked.append(direction)
        return ball(np.zeros(100))(direction)

    assert not is_within(np.full(100, 1.0), oracle, 1e-9)
    assert len(asked) == 1
    assert all(np.linalg.norm(direction) == pytest.approx(1.0) for direction in asked)


def test_where_an_oracle_contradicts_itself_nothing_is_claimed():
    # The value says that the set reaches as far as the point; the maximizer falls short of it.
    def oracle(direction):
        return 1.0, 0.5 * direction

    with pytest.raises(RuntimeError, match=r"between 0.0 and 0\.5"):
        is_within(np.array([1.0, 0.0]), oracle, 1e-9)


@pytest.mark.parametrize("limit", [0, 1, 5])
def test_a_search_that_runs_out_says_what_it_knows(limit):
    asked = []

    def oracle(direction):
        asked.append(direction)
        return ball(np.ones(20))(direction)

    point = np.ones(20) + unit(np.random.default_rng(3), 20)
    message = rf"between 0.0 and \S+ after {limit} calls .* within atol=1e-12; allow"
    with pytest.raises(RuntimeError, match=message):
        is_within(point, oracle, 1e-12, limit=limit)
    assert len(asked) == limit
    with pytest.raises(RuntimeError, match="to tolerance=1e-12; allow a larger one"):
        nearest_point(point, oracle, 1e-12, limit=limit)


def test_the_point_is_left_as_it_was():
    point = np.array([0.2, 0.9])
    point.setflags(write=False)
    found, _, _ = nearest_point(point, Simplices(2).best_response, 1e-9)
    assert not np.shares_memory(found, point)
    np.testing.assert_array_equal(point, [0.2, 0.9])
