"""Membership and nearest points from a linear oracle alone, against formulas and other solvers."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment, nnls

from regretkit.sets import (
    AffineImageSet,
    Ball,
    Box,
    MinkowskiSumSet,
    Polytope,
    Simplices,
    StrategySet,
)


class OracleSet(StrategySet):
    """A set that has nothing but a dimension and a linear oracle."""

    def __init__(self, dimension, maximizer):
        self._dimension, self._maximizer = dimension, maximizer

    @property
    def dimension(self):
        return self._dimension

    def best_response(self, utility):
        point = self._maximizer(utility)
        return float(utility @ point), point

    def relative_interior_point(self):
        units = np.eye(self.dimension)
        return np.mean([self._maximizer(d) for d in [*units, *-units]], axis=0)


def known_by_oracle(domain):
    return OracleSet(domain.dimension, lambda direction: domain.best_response(direction)[1])


def bistochastic(n):
    def maximizer(direction):
        rows, columns = linear_sum_assignment(-direction.reshape(n, n))
        matrix = np.zeros((n, n))
        matrix[rows, columns] = 1.0
        return matrix.ravel()

    return OracleSet(n * n, maximizer)


def unit(generator, n):
    direction = generator.normal(size=n)
    return direction / np.linalg.norm(direction)


def assert_distance(domain, point, expected, margin=1e-8):
    """Assert that ``contains`` changes its answer at the expected distance."""
    assert domain.contains(point, atol=expected + margin)
    if expected > margin:
        assert not domain.contains(point, atol=expected - margin)


@pytest.mark.parametrize("n", [1, 2, 10, 60])
def test_distances_are_those_of_the_projection_formulas(n):
    generator = np.random.default_rng(n)
    low = generator.normal(size=n)
    sets = [
        Simplices(n),
        Box(low, low + generator.exponential(size=n)),
        Ball(generator.normal(size=n), 1.0),
    ]
    for domain in sets:
        for scale in [0.1, 1.0, 10.0]:
            point = scale * generator.normal(size=n)
            expected = float(np.linalg.norm(point - domain.project(point)))
            assert_distance(known_by_oracle(domain), point, expected, 1e-6)


@pytest.mark.parametrize("n", [2, 5, 20])
def test_hulls_agree_with_nonnegative_least_squares(n):
    # Lawson and Hanson: the weights are in the proportion that minimizes |P w|^2 + (sum(w) - 1)^2.
    generator = np.random.default_rng(n)
    for count in [1, 2, n, 4 * n]:
        points = generator.normal(size=(count, n))
        point = 0.7 * generator.normal(size=n)
        system = np.vstack([(points - point).T, np.full(count, 1e4)])
        weights, _ = nnls(system, np.append(np.zeros(n), 1e4))
        nearest = weights @ points / weights.sum()
        assert ((points - nearest) @ (point - nearest)).max() <= 1e-10
        assert_distance(Polytope(points), point, float(np.linalg.norm(nearest - point)))


@pytest.mark.deep_beyond(12)
@pytest.mark.parametrize(
    ("shape", "n"),
    [(shape, n) for n in [2, 3, 10, 50] for shape in ["ball", "rounded", "ellipsoid"]],
)
@pytest.mark.parametrize("height", [-1e-3, -1e-6, 0.0, 9e-10, 1e-6, 0.1])
def test_a_curved_boundary_is_found_to_a_millionth(shape, n, height):
    generator = np.random.default_rng(n)
    center, normal = generator.normal(size=n), unit(generator, n)
    corners = Polytope(generator.normal(size=(2 * n, n)))
    domain = {
        "ball": known_by_oracle(Ball(center, 1.0)),
        "rounded": MinkowskiSumSet([corners, Ball(center, 1e-3)]),
        "ellipsoid": AffineImageSet(Ball(np.zeros(n), 1.0), np.diag(np.geomspace(0.2, 1.0, n))),
    }[shape]
    # The answer in a direction is a boundary point with that normal; no curve is tighter than
    # a ball of radius 1e-3, so that moving in by as much stays inside.
    point = domain.best_response(normal)[1] + height * normal
    assert domain.contains(point) == (height <= 1e-9)


@pytest.mark.parametrize("atol", [0.0, 1e-9])
@pytest.mark.parametrize("n", [2, 3, 10, 60])
def test_a_flat_boundary_is_found_to_a_billionth(n, atol):
    generator = np.random.default_rng(n)
    simplex, average = known_by_oracle(Simplices(n)), generator.dirichlet(np.ones(n))
    assert simplex.contains(average, atol)
    assert simplex.contains(np.eye(n)[0], atol)
    assert simplex.contains(average + 0.9 * atol / np.sqrt(n), atol)
    assert not simplex.contains(average + (atol + 1e-9) / np.sqrt(n), atol)
    # A corner, half of the way up: the normal cone has n/2 dimensions.
    point = np.where(np.arange(n) < n // 2, 1.0, generator.random(n))
    cube = known_by_oracle(Box(np.zeros(n), np.ones(n)))
    assert cube.contains(point, atol)
    point[0] += atol + 1e-9
    assert not cube.contains(point, atol)


@pytest.mark.parametrize("n", [3, 8, 14])
def test_bistochastic_matrices_are_told_from_others(n):
    generator, domain = np.random.default_rng(n), bistochastic(n)
    weights = generator.dirichlet(np.ones(4 * n))
    mixed = sum(w * np.eye(n)[generator.permutation(n)] for w in weights).ravel()
    assert domain.contains(mixed, 1e-12)
    assert domain.contains(np.full(n * n, 1.0 / n), 1e-12)
    assert not domain.contains(mixed + 2e-9 / n)
    swapped = np.eye(n) + 1e-6 * (np.eye(n)[::-1] - np.roll(np.eye(n), 1, axis=0))
    assert not domain.contains(swapped.ravel())


@pytest.mark.parametrize("scale", [1e-100, 1e-9, 1e9, 1e90])
def test_units_do_not_matter(scale):
    generator = np.random.default_rng(2)
    points, deviation = generator.normal(size=(12, 5)), 3.0 * unit(generator, 5)
    weights, _ = nnls(np.vstack([(points - deviation).T, np.ones(12)]), np.eye(6)[5])
    distance = np.linalg.norm(weights @ points / weights.sum() - deviation)
    assert_distance(Polytope(scale * points), scale * deviation, scale * distance, 1e-10 * scale)
    assert Polytope(scale * points).contains(scale * points.mean(axis=0), 0.0)
