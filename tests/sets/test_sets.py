"""Points, products and hulls: each is the set that its vertices span."""

import copy
import itertools
import pickle

import numpy as np
import pytest
from factories import random_behavior, random_tree

from regretkit import DecisionTree, Simplices
from regretkit.sets import Hull, ProductSet, Singleton, StrategySet


def interleaved(generator, factors):
    """Return the product of ``factors`` with its coordinates dealt out at random."""
    sizes = [factor.dimension for factor in factors]
    deal = generator.permutation(sum(sizes))
    return ProductSet(factors, np.split(deal, np.cumsum(sizes)[:-1]))


def vertices(domain):
    """Return every vertex of a set, and perhaps some other points of it."""
    if isinstance(domain, Singleton):
        return [domain.point]
    if isinstance(domain, Simplices):
        return [np.concatenate(rows) for rows in itertools.product(*map(np.eye, domain.sizes))]
    if isinstance(domain, Hull):
        return [vertex for member in domain.members for vertex in vertices(member)]
    laid = []
    for choice in itertools.product(*map(vertices, domain.factors)):
        vertex = np.empty(domain.dimension)
        for where, part in zip(domain.coordinates, choice, strict=True):
            vertex[where] = part
        laid.append(vertex)
    return laid


def polytope(generator):
    """Return a hull of points, a hull of products, and products of these."""
    points = Hull([Singleton(point) for point in generator.normal(size=(5, 3))])
    corner = ProductSet([Singleton(generator.normal(size=2)), Simplices([2, 2])])
    mixed = Hull([Simplices([2, 3, 1]), corner])
    return [
        Singleton(generator.normal(size=4)),
        points,
        mixed,
        interleaved(generator, [points, Simplices([2, 2]), Singleton([3.0])]),
        interleaved(generator, [mixed, points]),
        Hull([Simplices(3), points, Hull([Singleton([0.0, 0.0, 5.0]), Simplices(3)])]),
    ]


SETS = pytest.mark.parametrize("number", range(6))


@SETS
@pytest.mark.parametrize("seed", range(4))
def test_the_best_response_is_the_best_of_the_vertices(number, seed):
    generator = np.random.default_rng(seed)
    domain = polytope(generator)[number]
    utility = generator.normal(size=domain.dimension)

    value, response = domain.best_response(utility)

    worths = [utility @ vertex for vertex in vertices(domain)]
    assert value == pytest.approx(max(worths), abs=1e-12)
    assert utility @ response == pytest.approx(value, abs=1e-12)
    assert domain.contains(response)


@SETS
@pytest.mark.parametrize("seed", range(4))
def test_averages_of_vertices_are_inside_and_what_exceeds_the_best_is_not(number, seed):
    generator = np.random.default_rng(seed)
    domain = polytope(generator)[number]
    corners = np.array(vertices(domain))

    inside = generator.dirichlet(np.ones(len(corners))) @ corners
    direction = generator.normal(size=domain.dimension)
    value, farthest = domain.best_response(direction)
    outside = farthest + 1e-3 * direction / np.linalg.norm(direction)

    assert domain.contains(inside)
    assert domain.contains(farthest)
    assert not domain.contains(outside)
    assert domain.contains(outside, atol=1e-2)
    assert direction @ outside > value  # a hyperplane between them: the oracle agrees


@SETS
def test_the_interior_point_is_an_average_of_vertices_and_new_each_time(number):
    domain = polytope(np.random.default_rng(0))[number]
    point = domain.relative_interior_point()
    assert domain.contains(point)
    point += 100.0
    assert domain.contains(domain.relative_interior_point())


@SETS
def test_what_a_point_is_worth_is_its_inner_product(number):
    generator = np.random.default_rng(1)
    domain = polytope(generator)[number]
    utility = generator.normal(size=domain.dimension)
    point = domain.relative_interior_point()
    assert domain.value(utility, point) == pytest.approx(utility @ point, abs=1e-12)


@SETS
def test_sets_built_alike_are_equal_and_others_are_not(number):
    ours = polytope(np.random.default_rng(2))
    theirs, others = polytope(np.random.default_rng(2)), polytope(np.random.default_rng(3))
    assert isinstance(ours[number], StrategySet)
    assert ours[number] == theirs[number]
    assert hash(ours[number]) == hash(theirs[number])
    assert ours[number] != others[number]
    assert [domain == ours[number] for domain in ours] == [i == number for i in range(6)]


@SETS
def test_a_vector_of_another_length_is_refused_by_every_question(number):
    domain = polytope(np.random.default_rng(4))[number]
    wrong = np.zeros(domain.dimension + 1)
    for question in (domain.best_response, domain.contains):
        with pytest.raises(ValueError, match=f"dimension {domain.dimension} is wanted"):
            question(wrong)


def test_membership_of_a_hull_does_not_depend_on_where_it_lies():
    # The same triangle at the origin and far away, where fewer digits are left for the distance.
    generator = np.random.default_rng(5)
    corners = generator.normal(size=(3, 4))
    inside = np.array([0.2, 0.3, 0.5]) @ corners
    # A normal of the triangle: the right singular vector of its sides that belongs to zero.
    normal = np.linalg.svd(corners[1:] - corners[0])[2][-1]

    for shift in (0.0, 10.0, -1e3):
        triangle = Hull([Singleton(corner + shift) for corner in corners])
        assert triangle.contains(inside + shift)
        assert not triangle.contains(inside + shift + 1e-6 * normal)


@pytest.mark.parametrize("seed", range(10))
def test_a_hull_of_the_corners_of_the_simplex_is_the_simplex(seed):
    generator = np.random.default_rng(seed)
    simplex, hull = Simplices(4), Hull([Singleton(corner) for corner in np.eye(4)])
    point = random_behavior(generator, simplex) + generator.choice([0.0, 1e-4]) * np.eye(4)[0]
    assert hull.contains(point) == simplex.contains(point)


@pytest.mark.parametrize("seed", range(5))
def test_splitting_undoes_joining_for_all_coordinates(seed):
    generator = np.random.default_rng(seed)
    product = interleaved(generator, [Simplices([2, 3]), Singleton([1.0, 2.0]), Simplices(1)])
    vector = generator.normal(size=product.dimension)
    parts = product.split(vector)
    np.testing.assert_array_equal(product.join(parts), vector)
    for where, part in zip(product.coordinates, parts, strict=True):
        np.testing.assert_array_equal(part, vector[where])


def test_a_product_knows_which_coordinates_are_whose():
    product = ProductSet([Simplices(2), Singleton([7.0])], [[2, 0], [1]])
    assert product.contains([0.25, 7.0, 0.75])
    assert not product.contains([0.25, 0.75, 7.0])
    value, response = product.best_response([5.0, 1.0, 4.0])
    assert value == 12.0
    np.testing.assert_array_equal(response, [1.0, 7.0, 0.0])


def test_products_with_other_coordinates_are_other_sets():
    straight = ProductSet([Simplices(2), Singleton([7.0])])
    assert straight == ProductSet([Simplices(2), Singleton([7.0])], [[0, 1], [2]])
    assert straight != ProductSet([Simplices(2), Singleton([7.0])], [[1, 2], [0]])


def test_a_tree_is_a_hull_of_products_by_its_definition():
    # After the second of two actions come two more: {1} x hull of (e_0, 0) and e_1 x simplex.
    tree = DecisionTree([0, 2], [2, 2])
    left = Singleton([1.0, 0.0, 0.0, 0.0])
    right = ProductSet([Singleton([0.0, 1.0]), Simplices(2)])
    same = ProductSet([Singleton([1.0]), Hull([left, right])])
    generator = np.random.default_rng(6)

    for _ in range(20):
        utility = generator.normal(size=5)
        assert tree.best_response(utility)[0] == pytest.approx(same.best_response(utility)[0])
        strategy = tree.sequence_form(random_behavior(generator, tree.simplices))
        assert same.contains(strategy)
        assert not same.contains(strategy + 1e-4 * utility)


def test_a_product_of_one_of_each_kind_nests():
    generator = np.random.default_rng(7)
    tree = random_tree(generator)
    hull = Hull([Simplices(3), Singleton([0.0, 0.0, 4.0])])
    product = interleaved(generator, [tree, hull, ProductSet([tree, Singleton([1.0])])])
    utility = generator.normal(size=product.dimension)

    value, response = product.best_response(utility)

    parts = zip(product.factors, product.split(utility), strict=True)
    assert value == pytest.approx(sum(factor.best_response(own)[0] for factor, own in parts))
    assert product.contains(response)


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda: Hull([]), ValueError, "one or more in one space"),
        (lambda: Hull([Simplices(2), Simplices(3)]), ValueError, r"of dimensions \[2, 3\]"),
        (lambda: ProductSet([]), ValueError, "one or more sets, got none"),
        (lambda: ProductSet([Simplices(2)], [[0]]), ValueError, r"must give \[2\] of them"),
        (lambda: ProductSet([Simplices(2)], [[0], [1]]), ValueError, r"got \[1, 1\]"),
        (lambda: ProductSet([Simplices(2)], [[0, 0]]), ValueError, "each of 0 to 1 once"),
        (lambda: ProductSet([Simplices(2)], [[0, 2]]), ValueError, "each of 0 to 1 once"),
        (lambda: ProductSet([Simplices(2)], [[0.0, 1.0]]), TypeError, "whole numbers"),
        (lambda: Singleton([1.0, np.nan]), ValueError, "point must be finite"),
        (lambda: Singleton([[1.0, 2.0]]), ValueError, r"point has shape \(1, 2\)"),
        (lambda: Singleton(["a"]), TypeError, "point must be numbers"),
        (lambda: Hull([np.eye(2)]), TypeError, "members"),
        (lambda: ProductSet([[1.0, 0.0]]), TypeError, "factors"),
    ],
)
def test_what_is_no_set_is_refused(build, error, message):
    with pytest.raises(error, match=message):
        build()


def test_a_point_does_not_move_when_the_array_it_was_built_from_does():
    array = np.array([1.0, 2.0])
    point = Singleton(array)
    array[:] = 0.0
    assert point.contains([1.0, 2.0])
    assert not point.point.flags.writeable


@SETS
def test_a_copy_of_a_set_is_equal_and_answers_alike(number):
    generator = np.random.default_rng(8)
    domain = polytope(generator)[number]
    utility = generator.normal(size=domain.dimension)

    for twin in (copy.deepcopy(domain), pickle.loads(pickle.dumps(domain))):
        assert twin == domain
        np.testing.assert_array_equal(
            twin.best_response(utility)[1], domain.best_response(utility)[1]
        )
