"""Laws of every strategy set, against its vertices, linear programs, formulas and identities."""

import copy
import itertools
import math
import pickle

import numpy as np
import pytest
from factories import random_dag, random_tree, unrolled
from naive import pure_strategies
from refusals import refusals
from scipy.optimize import linprog

from regretkit.sets import (
    AffineImageSet,
    Ball,
    Box,
    DecisionDAG,
    DecisionTree,
    Hull,
    MinkowskiSumSet,
    Polytope,
    ProductSet,
    Simplices,
    Singleton,
)


def interleaved(generator, factors):
    """Return the product of ``factors`` with its coordinates dealt out at random."""
    sizes = [factor.dimension for factor in factors]
    deal = generator.permutation(sum(sizes))
    return ProductSet(factors, np.split(deal, np.cumsum(sizes)[:-1]))


def polytopes(seed):
    """Return sets that have vertices, one of each kind, and some of several kinds."""
    generator = np.random.default_rng(seed)
    normal = generator.normal
    box, polytope = Box(normal(size=3) - 2.0, normal(size=3) + 2.0), Polytope(normal(size=(6, 3)))
    points = Hull([Singleton(point) for point in normal(size=(5, 3))])
    corner = ProductSet([Singleton(normal(size=2)), Simplices([2, 2])])
    mixed = Hull([Simplices([2, 3, 1]), corner])
    tree = random_tree(generator, points=3)
    return {
        "box": box,
        "flat box": Box([0.0, -1.0, 2.0], [0.0, 3.0, 2.0]),
        "polytope": polytope,
        "flat polytope": Polytope(normal(size=(2, 3))),
        "point": Singleton(normal(size=4)),
        "simplices": Simplices([2, 3, 1 + seed % 3]),
        "tree": tree,
        "dag": random_dag(generator, points=3),
        "image": AffineImageSet(Simplices([2, 3]), normal(size=(3, 5)), normal(size=3)),
        "raised": AffineImageSet(Simplices(2), normal(size=(4, 2))),
        "scaled": AffineImageSet(polytope, -0.3 * np.eye(3)),
        "sum": MinkowskiSumSet([polytope, Simplices(3), Singleton(normal(size=3))]),
        "hull of points": points,
        "hull of products": mixed,
        "nested hulls": Hull([Simplices(3), points, Hull([Singleton([0.0, 0.0, 5.0]), box])]),
        "product": ProductSet([box, AffineImageSet(polytope, 2.0 * np.eye(3))]),
        "interleaved": interleaved(generator, [points, tree, Singleton([3.0])]),
    }


def curved(seed):
    """Return sets with curved boundaries."""
    generator = np.random.default_rng(seed)
    normal = generator.normal
    box, ball = Box(normal(size=3) - 2.0, normal(size=3) + 2.0), Ball(normal(size=3), 1.5)
    return {
        "ball": ball,
        "shadow": AffineImageSet(ball, normal(size=(2, 3))),
        "rounded box": MinkowskiSumSet([box, Ball(ball.center, 0.375)]),
        "hull of a ball": Hull([ball, box]),
    }


def some_sets(seed):
    return polytopes(seed) | curved(seed)


def vertices(domain):
    """Return every vertex of a set, and perhaps some other points of it."""
    match domain:
        case Singleton():
            return [domain.point]
        case Polytope():
            return list(domain.vertices)
        case Box():
            bounds = np.stack([domain.low, domain.high], axis=1)
            return list(map(np.array, itertools.product(*bounds)))
        case Simplices():
            return [np.concatenate(rows) for rows in itertools.product(*map(np.eye, domain.sizes))]
        case DecisionTree():
            return list(map(np.array, pure_strategies(domain.parent_sequence, domain.sizes)))
        case DecisionDAG():
            tree, coordinates, _ = unrolled(domain)
            return [np.bincount(coordinates, vertex) for vertex in vertices(tree)]
        case Hull():
            return [vertex for member in domain.members for vertex in vertices(member)]
        case MinkowskiSumSet():
            return list(map(sum, itertools.product(*map(vertices, domain.summands))))
        case AffineImageSet():
            return [domain.matrix @ vertex + domain.offset for vertex in vertices(domain.source)]
    laid = []
    for choice in itertools.product(*map(vertices, domain.factors)):
        laid.append(np.empty(domain.dimension))
        for coordinates, part in zip(domain.coordinates, choice, strict=True):
            laid[-1][coordinates] = part
    return laid


def combines(rows, point):
    """Say by a linear program whether ``point`` is an average of ``rows``."""
    equations = np.vstack([np.transpose(rows), np.ones(len(rows))])
    program = linprog(np.zeros(len(rows)), A_eq=equations, b_eq=[*point, 1.0], method="highs")
    return program.status == 0


SEEDS = pytest.mark.parametrize("seed", range(3))
KINDS = pytest.mark.parametrize("kind", some_sets(0))
WITH_VERTICES = pytest.mark.parametrize("kind", polytopes(0))


# Laws


@WITH_VERTICES
@SEEDS
def test_the_best_response_is_the_best_of_the_vertices_and_averages_are_inside(kind, seed):
    domain, generator = polytopes(seed)[kind], np.random.default_rng(seed)
    corners = np.unique(vertices(domain), axis=0)
    for utility in generator.normal(size=(4, domain.dimension)):
        value, _ = domain.best_response(utility)
        assert value == pytest.approx(max(corners @ utility), abs=1e-12)
        weights = generator.dirichlet(np.ones(len(corners)))
        average = weights @ corners
        assert domain.contains(average)
        assert domain.contains(0.2 * average + 0.8 * corners[weights.argmax()])
        for point in (average + 1e-3 * utility, average + utility):
            assert domain.contains(point) == combines(corners, point)


@KINDS
@SEEDS
def test_the_best_response_is_inside_and_beats_every_other_point(kind, seed):
    domain, generator = some_sets(seed)[kind], np.random.default_rng(seed)
    utility = generator.normal(size=domain.dimension)
    outwards = 1e-3 * utility / np.linalg.norm(utility)

    value, best = domain.best_response(utility)

    assert value == pytest.approx(utility @ best, rel=1e-12, abs=1e-12)
    assert value == pytest.approx(domain.value(utility, best), rel=1e-12, abs=1e-12)
    assert domain.contains(best)
    assert not domain.contains(best + outwards)
    assert domain.contains(best + outwards, atol=1e-2)
    for direction in generator.normal(size=(20, domain.dimension)):
        other = domain.best_response(direction)[1]
        assert utility @ other <= value + 1e-12
        gain = value - utility @ other
        assert domain.gain(utility, other) == pytest.approx(gain, abs=1e-12)
        assert domain.value(utility, other) == pytest.approx(utility @ other, abs=1e-12)


@KINDS
@SEEDS
def test_the_interior_point_is_on_the_edge_only_where_all_of_the_set_is(kind, seed):
    domain = some_sets(seed)[kind]
    point = domain.relative_interior_point()
    assert domain.contains(point)
    for direction in np.random.default_rng(seed).normal(size=(30, domain.dimension)):
        maximum, minimum = domain.best_response(direction)[0], -domain.best_response(-direction)[0]
        flat = maximum - minimum < 1e-12
        assert flat or minimum + 1e-6 < direction @ point < maximum - 1e-6


@KINDS
def test_sets_are_values(kind):
    first, again, other = some_sets(1), some_sets(1), some_sets(2)
    domain = first[kind]
    assert domain == again[kind]
    assert hash(domain) == hash(again[kind])
    assert [name for name in first if first[name] == domain] == [kind]
    assert (domain != other[kind]) == (kind != "flat box")
    utility = np.arange(domain.dimension)
    for twin in (copy.deepcopy(domain), pickle.loads(pickle.dumps(domain))):
        assert twin == domain
        np.testing.assert_array_equal(
            twin.best_response(utility)[1], domain.best_response(utility)[1]
        )
    if kind not in ("interleaved", "tree", "dag"):  # whose coordinates are not shown
        assert eval(repr(domain)) == domain


@KINDS
def test_a_set_hands_out_new_arrays_and_takes_vectors_of_its_dimension(kind):
    domain = some_sets(3)[kind]
    ones, exterior = np.ones(domain.dimension), domain.relative_interior_point() + 1e3
    value, best = domain.best_response(ones)
    middle = domain.relative_interior_point()
    best[:] = middle[:] = 1e6
    assert domain.best_response(ones)[0] == value
    assert domain.contains(domain.relative_interior_point())
    assert not domain.contains(exterior, atol=np.float32(1.0))
    assert domain.contains(exterior, atol=1e4)
    for question in (domain.best_response, domain.contains):
        with pytest.raises(ValueError, match="must have shape"):
            question(np.append(ones, 0.0))


def test_equality_is_that_of_shapes_and_not_of_names():
    assert Simplices([2, 3]) == Simplices((2, 3), labels=["a", "b"]) != Simplices([3, 2])
    assert Simplices(6) != Simplices([3, 3])
    tree, dag = DecisionTree([0, 2], [2, 3]), DecisionDAG([[0], [1, 2]], [2, 3])
    assert tree == DecisionTree((0, 2), np.array([2, 3]), labels=["a", "b"])
    assert tree not in (DecisionTree([0, 1], [2, 3]), DecisionTree([0, 2], [2, 2]), dag)
    assert dag == DecisionDAG([0, 1, 2], [2, 3], parent_counts=[1, 2])
    # The same parents in a row, cut elsewhere
    assert DecisionDAG([[0], [0, 1], [2]], [1] * 3) != DecisionDAG([[0], [0], [1, 2]], [1] * 3)


def test_arrays_that_a_set_was_built_from_are_copied_and_may_not_be_written():
    low, high, rows, sizes = np.zeros(2), np.ones(2), np.eye(2), np.array([2, 2])

    def build():
        tree = DecisionTree(np.array([0, 2]), sizes)
        image = AffineImageSet(Simplices(2), rows, low)
        return [Box(low, high), Ball(low, 1.0), Polytope(rows), Singleton(high), image, tree]

    sets, copies = build(), build()
    for array in (low, high, rows, sizes):
        array += 7
    assert sets == copies != build()
    box, ball, polytope, point, image, tree = sets
    arrays = [box.low, box.high, ball.center, polytope.vertices, point.point, image.matrix]
    arrays += [image.offset, tree.parent_sequence, tree.sizes, tree.simplices.first]
    assert not any(array.flags.writeable for array in arrays)


# Boxes, balls and polytopes


def test_ties_go_to_the_low_corner_the_center_the_first_vertex_and_the_first_actions():
    np.testing.assert_array_equal(Box([1.0, 2.0], [3.0, 4.0]).best_response([0, 0])[1], [1, 2])
    np.testing.assert_array_equal(Ball([1.0, 2.0], 5.0).best_response([0, 0])[1], [1, 2])
    tree = DecisionTree([0, 1, 2], [2, 3, 2])
    np.testing.assert_array_equal(tree.best_response(np.zeros(8))[1], [1, 1, 0, 1, 0, 0, 0, 0])
    # Vertices that differ only where nothing is earned
    generator = np.random.default_rng(1)
    for size in (1, 2, 5, 8, 33):
        equal = np.tile(generator.normal(size=size), (11, 1))
        polytope = Polytope(np.hstack([equal, np.arange(11.0)[:, None]]))
        for utility in generator.normal(size=(20, size)):
            assert polytope.best_response([*utility, 0.0])[1][-1] == 0.0


@SEEDS
@pytest.mark.parametrize("unit", [1e-200, 1.0, 1e100])
def test_a_ball_is_what_is_near_its_center_in_every_unit(seed, unit):
    center, utility = np.random.default_rng(seed).normal(size=(2, 4))
    ball, direction = Ball(unit * center, unit * 2.0), utility / np.linalg.norm(utility)

    value, best = ball.best_response(utility)

    np.testing.assert_allclose(best / unit, center + 2.0 * direction, rtol=1e-12)
    assert value / unit == pytest.approx(utility @ center + 2.0 * np.linalg.norm(utility))
    assert ball.contains(unit * (center + 1.999 * direction), atol=0.0)
    assert not ball.contains(unit * (center + 2.001 * direction), atol=0.0)
    assert ball.contains(unit * (center + 2.001 * direction), atol=0.002 * unit)
    for exponent in (-300, 300):
        np.testing.assert_array_equal(ball.best_response(2.0**exponent * utility)[1], best)


@SEEDS
@pytest.mark.parametrize(
    ("kind", "near"),
    [
        *((kind, 1e-12) for kind in ("box", "flat box", "ball", "simplices")),
        *((kind, 1e-8) for kind in ("polytope", "tree", "sum", "hull of a ball")),
    ],
)
def test_a_projection_meets_the_variational_inequality(kind, near, seed):
    # p is nearest to v exactly when <v - p, y - p> <= 0 for every y of the set.
    domain = some_sets(seed)[kind]
    for point in 3.0 * np.random.default_rng(seed).normal(size=(4, domain.dimension)):
        nearest = domain.project(point)
        assert domain.contains(nearest, atol=near)
        farthest, _ = domain.best_response(point - nearest)
        assert farthest - (point - nearest) @ nearest <= 100.0 * near
        assert domain.contains(point) == np.allclose(point, nearest, rtol=0.0, atol=1e-9)
        np.testing.assert_allclose(domain.project(nearest), nearest, rtol=near, atol=near)


# Sets made of sets


@SEEDS
def test_sums_of_boxes_of_balls_and_of_anything_are_what_they_are_in_other_words(seed):
    generator = np.random.default_rng(seed)
    lows, highs = -generator.random((3, 2)), generator.random((3, 2)) + 0.1
    parts = [Polytope(generator.normal(size=(4, 2))), Ball([1.0, 0.0], 0.5)]
    alike = [
        (MinkowskiSumSet(map(Box, lows, highs)), Box(lows.sum(axis=0), highs.sum(axis=0))),
        (MinkowskiSumSet(map(Ball, lows, highs[:, 0])), Ball(lows.sum(axis=0), highs[:, 0].sum())),
        (MinkowskiSumSet(parts), AffineImageSet(ProductSet(parts), np.tile(np.eye(2), 2))),
    ]
    for utility in 1.5 * generator.normal(size=(20, 2)):
        for total, single in alike:
            support = single.best_response(utility)[0]
            assert total.best_response(utility)[0] == pytest.approx(support)
            assert total.contains(utility) == single.contains(utility)


@SEEDS
def test_a_product_has_its_factors_at_their_coordinates(seed):
    generator = np.random.default_rng(seed)
    factors = [random_tree(generator), Hull([Simplices(3), Singleton([0.0, 0.0, 4.0])])]
    product = interleaved(generator, [*factors, ProductSet([factors[0], Singleton([1.0])])])
    utility = generator.normal(size=product.dimension)
    parts = product.split(utility)
    np.testing.assert_array_equal(product.join(parts), utility)
    for coordinates, part in zip(product.coordinates, parts, strict=True):
        np.testing.assert_array_equal(part, utility[coordinates])
    values = [f.best_response(part)[0] for f, part in zip(product.factors, parts, strict=True)]
    assert product.best_response(utility)[0] == pytest.approx(math.fsum(values))


def test_products_and_hulls_are_simplices_where_they_can_be():
    product = ProductSet([Simplices([2, 3]), Simplices(1)], [[4, 5, 1, 2, 3], [0]])
    assert product.canonical() == Simplices([1, 3, 2])
    assert [blocks.tolist() for blocks in product.blocks] == [[2, 1], [0]]
    scattered = [
        ProductSet([Simplices([2, 3]), Simplices(1)], coordinates)
        for coordinates in ([[5, 4, 1, 2, 3], [0]], [[4, 5, 0, 2, 3], [1]])
    ]
    mixed = Hull([Simplices(3), Singleton([1.0, 0.0, 0.0])])
    for domain in (*scattered, mixed, ProductSet([Simplices(2), Singleton([1.0])])):
        assert domain.canonical() == domain
    assert Hull([Simplices(3), Simplices(3)]).canonical() == Simplices(3)


# Refusals: one for each kind of mistake


test_an_invalid_set_is_refused = refusals(
    (lambda: Box([0.0, 2.0], [1.0, 1.0]), ValueError, "low must not be above high"),
    (lambda: Box([0.0], [1.0, 1.0]), ValueError, "high must have shape"),
    (lambda: Box([np.nan], [1.0]), ValueError, "low must be finite"),
    (lambda: Ball([0.0], 0.0), ValueError, "radius must be a finite number above 0"),
    (lambda: Ball([0.0], "1"), TypeError, "radius must be a number"),
    (lambda: Polytope(np.zeros((0, 3))), ValueError, "k at least 1"),
    (lambda: Simplices([2, 0]), ValueError, "each at least 1"),
    (lambda: Simplices([2.5]), TypeError, "whole numbers"),
    (lambda: AffineImageSet(np.eye(2), np.eye(2)), TypeError, "source must be a StrategySet"),
    (lambda: AffineImageSet(Simplices(2), np.eye(3)), ValueError, r"pass shape \(3, 2\)"),
    (lambda: MinkowskiSumSet([]), ValueError, "one or more of one dimension"),
    (lambda: Hull([Simplices(2), Simplices(3)]), ValueError, r"one dimension, got \[2, 3\]"),
    (lambda: ProductSet([]), ValueError, "one or more sets, got none"),
    (lambda: ProductSet([Simplices(2)], [[0, 0]]), ValueError, "each once"),
    (lambda: Simplices(2).best_response([1.0, np.nan]), ValueError, "nan at coordinate 1"),
    (lambda: DecisionTree([0, 3], [2, 2]), ValueError, "list parents first"),
    (lambda: DecisionTree([0, 1, 2], [2, 2]), ValueError, "sizes has 2 decision points"),
    (lambda: DecisionTree([0], [2]).sequence_form(np.zeros(3)), ValueError, "behavior must have"),
    (lambda: DecisionDAG([[0], []], [2, 2]), ValueError, "decision point 1 has no parent"),
    (lambda: DecisionDAG([[0], [1, 2, 1]], [2, 2]), ValueError, r"parents\[1\] has 1 twice"),
    (
        lambda: DecisionDAG([0, 0, 1], [2, 2], parent_counts=[2, 2]),
        ValueError,
        "add up to 3",
    ),
)
