"""Sets: the laws of all, and each kind against its inequalities, vertices or a linear program."""

import copy
import inspect
import itertools
import pickle

import numpy as np
import pytest
from factories import random_behavior, random_tree
from refusals import refusals
from scipy.optimize import linprog

import regretkit as rk
from regretkit import DecisionTree, Simplices
from regretkit.sets import (
    AffineImageSet,
    Ball,
    Box,
    DecisionDAG,
    Hull,
    MinkowskiSumSet,
    Polytope,
    ProductSet,
    ScaledSet,
    Singleton,
    StrategySet,
)

SEEDS = pytest.mark.parametrize("seed", range(5))


def some_sets(seed):
    """Return one set of each kind, and some of several kinds."""
    generator = np.random.default_rng(seed)
    normal = generator.normal
    box = Box(normal(size=3) - 2.0, normal(size=3) + 2.0)
    ball = Ball(normal(size=3), 1.5)
    polytope = Polytope(normal(size=(6, 3)))
    return {
        "box": box,
        "flat box": Box([0.0, -1.0, 2.0], [0.0, 3.0, 2.0]),
        "ball": ball,
        "polytope": polytope,
        "flat polytope": Polytope(normal(size=(2, 3))),
        "image": AffineImageSet(Simplices([2, 3]), normal(size=(3, 5)), normal(size=3)),
        "shadow": AffineImageSet(ball, normal(size=(2, 3))),
        "raised": AffineImageSet(Simplices(2), normal(size=(4, 2))),
        "scaled": ScaledSet(polytope, -0.3),
        "scaled simplex": ScaledSet(Simplices(4), 2.5),
        "sum": MinkowskiSumSet([polytope, Simplices(3), Singleton(normal(size=3))]),
        "rounded box": MinkowskiSumSet([box, ScaledSet(ball, 0.25)]),
        "hull": Hull([ball, box]),
        "product": ProductSet([box, ScaledSet(polytope, 2.0)]),
        **spanned(generator),
    }


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
        for coordinates, part in zip(domain.coordinates, choice, strict=True):
            vertex[coordinates] = part
        laid.append(vertex)
    return laid


def spanned(generator):
    """Return a point, hulls of points and of products, and products of these."""
    points = Hull([Singleton(point) for point in generator.normal(size=(5, 3))])
    corner = ProductSet([Singleton(generator.normal(size=2)), Simplices([2, 2])])
    mixed = Hull([Simplices([2, 3, 1]), corner])
    return {
        "point": Singleton(generator.normal(size=4)),
        "hull of points": points,
        "hull of products": mixed,
        "interleaved": interleaved(generator, [points, Simplices([2, 2]), Singleton([3.0])]),
        "interleaved hulls": interleaved(generator, [mixed, points]),
        "nested hulls": Hull(
            [Simplices(3), points, Hull([Singleton([0.0, 0.0, 5.0]), Simplices(3)])]
        ),
    }


KINDS = pytest.mark.parametrize("kind", some_sets(0))


def combines(rows, point):
    """Say by a linear program whether ``point`` is an average of ``rows``."""
    equations = np.vstack([rows.T, np.ones(len(rows))])
    program = linprog(np.zeros(len(rows)), A_eq=equations, b_eq=[*point, 1.0], method="highs")
    return program.status == 0


# Laws of every set


@KINDS
@SEEDS
def test_the_best_response_is_inside_and_beats_every_other_point(kind, seed):
    domain = some_sets(seed)[kind]
    generator = np.random.default_rng(seed)
    utility = generator.normal(size=domain.dimension)

    value, best = domain.best_response(utility)

    assert value == pytest.approx(utility @ best, rel=1e-12, abs=1e-12)
    assert value == pytest.approx(domain.value(utility, best), rel=1e-12, abs=1e-12)
    assert domain.contains(best)
    middle = domain.relative_interior_point()
    assert domain.value(utility, middle) == pytest.approx(utility @ middle, rel=1e-12, abs=1e-12)
    for direction in generator.normal(size=(50, domain.dimension)):
        assert utility @ domain.best_response(direction)[1] <= value + 1e-12


@SEEDS
@pytest.mark.parametrize("kind", spanned(np.random.default_rng(0)))
def test_the_best_response_is_the_best_of_the_vertices(kind, seed):
    generator = np.random.default_rng(seed)
    domain = spanned(generator)[kind]
    utility = generator.normal(size=domain.dimension)
    worths = [utility @ vertex for vertex in vertices(domain)]
    assert domain.best_response(utility)[0] == pytest.approx(max(worths), abs=1e-12)


@KINDS
@SEEDS
def test_averages_are_inside_and_what_exceeds_the_best_is_not(kind, seed):
    domain = some_sets(seed)[kind]
    generator = np.random.default_rng(seed)
    directions = generator.normal(size=(domain.dimension + 2, domain.dimension))
    corners = np.array([domain.best_response(direction)[1] for direction in directions])

    farthest = corners[0]
    exterior = farthest + 1e-3 * directions[0] / np.linalg.norm(directions[0])

    assert domain.contains(generator.dirichlet(np.ones(len(corners))) @ corners)
    assert not domain.contains(exterior)
    assert domain.contains(exterior, atol=1e-2)


@KINDS
@SEEDS
def test_the_interior_point_is_on_the_edge_only_where_all_of_the_set_is(kind, seed):
    domain = some_sets(seed)[kind]
    generator = np.random.default_rng(seed)

    point = domain.relative_interior_point()

    assert domain.contains(point)
    for direction in generator.normal(size=(30, domain.dimension)):
        maximum, minimum = domain.best_response(direction)[0], -domain.best_response(-direction)[0]
        flat = maximum - minimum < 1e-12
        assert flat or minimum + 1e-6 < direction @ point < maximum - 1e-6
    point += 100.0
    assert domain.contains(domain.relative_interior_point())


@KINDS
def test_sets_built_alike_are_equal_and_others_are_not(kind):
    first, equal, different = some_sets(1), some_sets(1), some_sets(2)
    assert isinstance(first[kind], StrategySet)
    assert first[kind] == equal[kind]
    assert hash(first[kind]) == hash(equal[kind])
    assert [name for name in first if first[name] == first[kind]] == [kind]
    if kind not in {"flat box", "scaled simplex"}:
        assert first[kind] != different[kind]


@KINDS
def test_a_set_shows_how_to_build_it_again_and_copies_are_equal(kind):
    domain = some_sets(3)[kind]
    if not kind.startswith("interleaved"):  # coordinates are not shown
        assert eval(repr(domain)) == domain
    utility = np.ones(domain.dimension)
    for twin in (copy.deepcopy(domain), pickle.loads(pickle.dumps(domain))):
        assert twin == domain
        best, best_of_twin = domain.best_response(utility)[1], twin.best_response(utility)[1]
        np.testing.assert_array_equal(best, best_of_twin)


@pytest.mark.parametrize(
    "domain", [DecisionTree([0, 1], [2, 3]), DecisionDAG([[0], [1, 2]], [3, 2])], ids=repr
)
@pytest.mark.parametrize("twin_of", [copy.deepcopy, lambda d: pickle.loads(pickle.dumps(d))])
def test_copies_of_decision_problems_answer_alike(domain, twin_of):
    twin, utility = twin_of(domain), np.arange(domain.dimension)
    assert twin == domain
    np.testing.assert_array_equal(twin.best_response(utility)[1], domain.best_response(utility)[1])


@KINDS
def test_a_vector_of_another_length_is_refused_by_every_question(kind):
    domain = some_sets(4)[kind]
    wrong = np.zeros(domain.dimension + 1)
    questions = [domain.best_response, domain.contains]
    for question in [*questions, getattr(domain, "project", domain.contains)]:
        with pytest.raises(ValueError, match=rf"must have shape \({domain.dimension},\)"):
            question(wrong)


EVERY_SET = some_sets(0) | {
    "simplices": Simplices([2, 3]),
    "tree": DecisionTree([0, 1], [2, 3]),
    "dag": DecisionDAG([[0], [1, 2]], [3, 2]),
}


def test_every_kind_of_set_is_among_those_asked_about_a_tolerance():
    kinds = {kind for kind in vars(rk.sets).values() if inspect.isclass(kind)}
    sets = {k for k in kinds if issubclass(k, StrategySet) and not inspect.isabstract(k)}
    assert sets == {type(domain) for domain in EVERY_SET.values()}


@pytest.mark.parametrize("domain", EVERY_SET.values(), ids=EVERY_SET)
@pytest.mark.parametrize(
    ("atol", "error"),
    [
        (np.nan, ValueError),
        (-1e-9, ValueError),
        (-np.inf, ValueError),
        ("1e-9", TypeError),
        (None, TypeError),
        (True, TypeError),
    ],
)
def test_a_tolerance_that_is_none_is_refused_by_every_set(domain, atol, error):
    with pytest.raises(error, match=f"atol must be .*, got {atol!r}"):
        domain.contains(domain.relative_interior_point(), atol=atol)


@pytest.mark.parametrize("domain", EVERY_SET.values(), ids=EVERY_SET)
def test_a_tolerance_lets_in_what_is_that_near_and_zero_is_one(domain):
    exterior = domain.relative_interior_point() + 1e3
    assert not domain.contains(exterior, atol=0)
    assert not domain.contains(exterior, atol=np.float32(1.0))
    assert domain.contains(exterior, atol=1e4)


@KINDS
def test_a_set_does_not_move_when_what_it_was_built_from_or_handed_out_does(kind):
    domain = some_sets(5)[kind]
    value, best = domain.best_response(np.ones(domain.dimension))
    best[:] = 1e6
    assert domain.best_response(np.ones(domain.dimension))[0] == value
    assert domain == some_sets(5)[kind]


def test_arrays_that_a_set_was_built_from_are_copied_and_may_not_be_written():
    low, high, rows, offset = np.zeros(2), np.ones(2), np.eye(2), np.zeros(2)
    domains = [Box(low, high), Ball(low, 1.0), Polytope(rows), Singleton(high)]
    copies = [Box([0, 0], [1, 1]), Ball([0, 0], 1.0), Polytope(np.eye(2)), Singleton([1, 1])]
    shifted = AffineImageSet(Simplices(2), rows, offset)

    for array in (low, high, rows, offset):
        array += 7.0

    assert domains == copies
    assert shifted == AffineImageSet(Simplices(2), np.eye(2))
    arrays = [domains[0].low, domains[0].high, domains[1].center, domains[2].vertices]
    for array in [*arrays, domains[3].point, shifted.matrix, shifted.offset]:
        assert not array.flags.writeable


# Each kind by its definition


@SEEDS
def test_a_box_is_the_polytope_of_its_corners(seed):
    generator = np.random.default_rng(seed)
    low, high = -generator.random(3), generator.random(3)
    box = Box(low, high)
    corners = Polytope(list(itertools.product(*zip(low, high, strict=True))))
    for utility in generator.normal(size=(20, 3)):
        assert box.best_response(utility)[0] == pytest.approx(corners.best_response(utility)[0])
        assert box.contains(utility) == corners.contains(utility)


def test_a_box_measures_each_coordinate_by_itself():
    box = Box([0.0, 0.0], [1.0, 1.0])
    assert box.contains([1.0 + 0.9e-3, -0.9e-3], atol=1e-3)
    assert not box.contains([1.0 + 1.1e-3, 0.5], atol=1e-3)


@pytest.mark.parametrize("bound", [5e-324, 1.0, 1.5e308, np.finfo(float).max])
def test_the_middle_of_a_box_is_in_it_however_large_or_small_the_box(bound):
    low, high = [-bound, 0.0, bound, -bound], [bound, bound, bound, -bound]
    box = Box(low, high)
    middle = box.relative_interior_point()
    assert box.contains(middle, atol=0.0)
    np.testing.assert_allclose(middle, [0.0, bound / 2.0, bound, -bound], atol=5e-324)


def test_what_earns_nothing_is_played_low_in_a_box_and_in_the_middle_of_a_ball():
    np.testing.assert_array_equal(Box([1.0, 2.0], [3.0, 4.0]).best_response([0, 0])[1], [1, 2])
    np.testing.assert_array_equal(Ball([1.0, 2.0], 5.0).best_response([0, 0])[1], [1, 2])


@SEEDS
@pytest.mark.parametrize("unit", [1e-200, 1.0, 1e100])
def test_a_ball_is_what_is_near_its_center_in_every_unit(seed, unit):
    generator = np.random.default_rng(seed)
    center, utility = generator.normal(size=(2, 4))
    ball = Ball(unit * center, unit * 2.0)
    direction = utility / np.linalg.norm(utility)

    value, best = ball.best_response(utility)

    np.testing.assert_allclose(best / unit, center + 2.0 * direction, rtol=1e-12)
    assert value / unit == pytest.approx(utility @ center + 2.0 * np.linalg.norm(utility))
    assert ball.contains(unit * (center + 1.999 * direction), atol=0.0)
    assert not ball.contains(unit * (center + 2.001 * direction), atol=0.0)
    assert ball.contains(unit * (center + 2.001 * direction), atol=0.002 * unit)


@pytest.mark.parametrize("exponent", [-900, -30, 30, 900])
def test_the_unit_of_utility_does_not_matter_to_a_ball(exponent):
    ball, utility = Ball([0.3, -0.7, 0.1], 1.7), np.array([0.3, -2.0, 0.9])
    best = ball.best_response(2.0**exponent * utility)[1]
    np.testing.assert_array_equal(best, ball.best_response(utility)[1])


@SEEDS
@pytest.mark.parametrize("kind", ["box", "flat box", "ball"])
def test_a_projection_is_the_nearest_point(kind, seed):
    domain = some_sets(seed)[kind]
    generator = np.random.default_rng(seed)

    for point in 3.0 * generator.normal(size=(20, 3)):
        nearest = domain.project(point)

        assert domain.contains(nearest)
        # No point of the set lies further in the direction that leads out to the point.
        direction = point - nearest
        assert domain.best_response(direction)[0] == pytest.approx(
            direction @ nearest, rel=1e-9, abs=1e-9
        )
        assert domain.contains(point) == np.allclose(point, nearest, rtol=0.0, atol=1e-9)
        np.testing.assert_allclose(domain.project(nearest), nearest, rtol=1e-12, atol=1e-12)


@SEEDS
def test_a_polytope_is_the_averages_of_its_vertices(seed):
    generator = np.random.default_rng(seed)
    vertices = generator.normal(size=(7, 3))
    polytope = Polytope(vertices)
    for point in 0.7 * generator.normal(size=(20, 3)):
        assert polytope.contains(point) == combines(vertices, point)


@pytest.mark.parametrize("size", [1, 2, 5, 8, 33])
def test_ties_go_to_the_first_vertex(size):
    # Vertices that differ only where nothing is earned, so that they are worth the same.
    generator = np.random.default_rng(size)
    for utility in generator.normal(size=(50, size)):
        equal = np.tile(generator.normal(size=size), (11, 1))
        polytope = Polytope(np.hstack([equal, np.arange(11.0)[:, None]]))
        assert polytope.best_response([*utility, 0.0])[1][-1] == 0.0


@SEEDS
def test_the_image_of_a_simplex_is_the_polytope_of_the_columns(seed):
    generator = np.random.default_rng(seed)
    matrix, offset = generator.normal(size=(3, 6)), generator.normal(size=3)
    image = AffineImageSet(Simplices(6), matrix, offset)
    polytope = Polytope((matrix + offset[:, None]).T)

    for utility in generator.normal(size=(20, 3)):
        assert image.best_response(utility)[0] == pytest.approx(polytope.best_response(utility)[0])
        point = offset + 0.5 * utility
        assert image.contains(point) == polytope.contains(point)
        assert image.contains(point) == combines(polytope.vertices, point)


@SEEDS
def test_the_image_of_a_ball_is_an_ellipsoid(seed):
    generator = np.random.default_rng(seed)
    matrix, offset = generator.normal(size=(3, 3)), generator.normal(size=3)
    image = AffineImageSet(Ball(np.zeros(3), 1.0), matrix, offset)

    for point in generator.normal(size=(6, 3)):
        # Just inside and just outside of the surface, and wherever the point is.
        surface = matrix @ (point / np.linalg.norm(point))
        assert image.contains(offset + (1.0 - 1e-6) * surface)
        assert not image.contains(offset + (1.0 + 1e-5) * surface)
        preimage = np.linalg.solve(matrix, point - offset)
        assert image.contains(point) == (np.linalg.norm(preimage) <= 1.0)


@SEEDS
@pytest.mark.parametrize("factor", [2.5, -0.4])
def test_scaling_is_the_image_under_a_multiple_of_the_identity(seed, factor):
    generator = np.random.default_rng(seed)
    polytope = Polytope(generator.normal(size=(6, 3)))
    scaled, image = ScaledSet(polytope, factor), AffineImageSet(polytope, factor * np.eye(3))
    np.testing.assert_allclose(scaled.relative_interior_point(), image.relative_interior_point())
    for utility in generator.normal(size=(20, 3)):
        assert scaled.best_response(utility)[0] == pytest.approx(image.best_response(utility)[0])
        assert scaled.contains(0.5 * utility) == image.contains(0.5 * utility)


def test_a_scaled_set_keeps_its_own_measure_in_the_new_unit():
    large = ScaledSet(Box([0.0], [1.0]), 100.0)
    assert large.contains([100.09], atol=0.1)
    assert not large.contains([100.11], atol=0.1)
    assert not ScaledSet(Box([0.0], [1.0]), 1e-200).contains([1e200])


@SEEDS
def test_rounding_puts_no_best_response_outside_however_large_the_numbers(seed):
    generator = np.random.default_rng(seed)
    for utility, center in 1e9 * generator.normal(size=(50, 2, 3)):
        ball = Ball(center, 1e9 * generator.random())
        scaled = ScaledSet(Box(center, center), generator.normal())
        for domain in (ball, scaled, ScaledSet(ball, generator.normal())):
            assert domain.contains(domain.best_response(utility)[1])


@SEEDS
def test_the_sum_of_boxes_is_a_box_and_the_sum_of_balls_a_ball(seed):
    generator = np.random.default_rng(seed)
    lows, highs = -generator.random((3, 2)), generator.random((3, 2))
    boxes = MinkowskiSumSet([Box(low, high) for low, high in zip(lows, highs, strict=True)])
    box = Box(lows.sum(axis=0), highs.sum(axis=0))
    balls = MinkowskiSumSet(
        [Ball(low, high[0] + 0.1) for low, high in zip(lows, highs, strict=True)]
    )
    ball = Ball(lows.sum(axis=0), highs[:, 0].sum() + 0.3)

    for utility in 1.5 * generator.normal(size=(20, 2)):
        for total, single in ((boxes, box), (balls, ball)):
            assert total.best_response(utility)[0] == pytest.approx(
                single.best_response(utility)[0]
            )
            assert total.contains(utility) == single.contains(utility)


@SEEDS
def test_the_sum_of_polytopes_is_the_polytope_of_all_sums(seed):
    generator = np.random.default_rng(seed)
    first, second = generator.normal(size=(4, 3)), generator.normal(size=(5, 3))
    total = MinkowskiSumSet([Polytope(first), Polytope(second)])
    sums = np.array([one + summand for one in first for summand in second])

    for point in generator.normal(size=(20, 3)):
        assert total.contains(point) == combines(sums, point)
        np.testing.assert_allclose(
            total.best_response(point)[0], Polytope(sums).best_response(point)[0]
        )


def test_a_projection_of_the_product_on_its_sum_is_the_sum():
    # x + y is what the matrix [I I] makes of (x, y).
    generator = np.random.default_rng(0)
    parts = [Polytope(generator.normal(size=(4, 2))), Ball([1.0, 0.0], 0.5)]
    total = MinkowskiSumSet(parts)
    image = AffineImageSet(ProductSet(parts), np.hstack([np.eye(2), np.eye(2)]))

    for point in generator.normal(size=(20, 2)):
        assert total.contains(point) == image.contains(point)
        assert total.best_response(point)[0] == pytest.approx(image.best_response(point)[0])


# Hulls and products


def test_membership_of_a_hull_does_not_depend_on_where_it_lies():
    # The same triangle at the origin and far away, where fewer digits are left for the distance.
    generator = np.random.default_rng(5)
    corners = generator.normal(size=(3, 4))
    interior = np.array([0.2, 0.3, 0.5]) @ corners
    # A normal of the triangle: the right singular vector of its sides that belongs to zero.
    normal = np.linalg.svd(corners[1:] - corners[0])[2][-1]

    for shift in (0.0, 10.0, -1e3):
        triangle = Hull([Singleton(corner + shift) for corner in corners])
        assert triangle.contains(interior + shift)
        assert not triangle.contains(interior + shift + 1e-6 * normal)


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
    for coordinates, part in zip(product.coordinates, parts, strict=True):
        np.testing.assert_array_equal(part, vector[coordinates])


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
    equal = ProductSet([Singleton([1.0]), Hull([left, right])])
    generator = np.random.default_rng(6)

    for _ in range(20):
        utility = generator.normal(size=5)
        assert tree.best_response(utility)[0] == pytest.approx(equal.best_response(utility)[0])
        strategy = tree.sequence_form(random_behavior(generator, tree.simplices))
        assert equal.contains(strategy)
        assert not equal.contains(strategy + 1e-4 * utility)


def test_a_product_of_one_of_each_kind_nests():
    generator = np.random.default_rng(7)
    tree = random_tree(generator)
    hull = Hull([Simplices(3), Singleton([0.0, 0.0, 4.0])])
    product = interleaved(generator, [tree, hull, ProductSet([tree, Singleton([1.0])])])
    utility = generator.normal(size=product.dimension)

    value, response = product.best_response(utility)

    parts = zip(product.factors, product.split(utility), strict=True)
    assert value == pytest.approx(sum(factor.best_response(share)[0] for factor, share in parts))
    assert product.contains(response)


# Refusal


test_an_invalid_set_is_refused = refusals(
    (lambda: Box([0.0, 2.0], [1.0, 1.0]), ValueError, "low must not be above high, .* 2.0 and 1.0"),
    (lambda: Box([0.0], [1.0, 1.0]), ValueError, r"high must have shape .* got \(2,\)"),
    (lambda: Box([np.nan], [1.0]), ValueError, "low must be finite"),
    (lambda: Ball([0.0], 0.0), ValueError, "radius must be above 0"),
    (lambda: Ball([0.0], np.inf), ValueError, "radius must be a finite number"),
    (lambda: Ball([0.0], "1"), TypeError, "radius must be a number"),
    (lambda: Polytope([1.0, 2.0]), ValueError, r"vertices must have shape .* got \(2,\)"),
    (lambda: Polytope(np.zeros((0, 3))), ValueError, "a row at least"),
    (lambda: Polytope([[1.0, np.nan]]), ValueError, "nan at coordinate 0, 1"),
    (lambda: Singleton([[1.0, 2.0]]), ValueError, r"point must have shape .* got \(1, 2\)"),
    (lambda: AffineImageSet(np.eye(2), np.eye(2)), TypeError, "source must be a StrategySet"),
    (lambda: AffineImageSet(Simplices(2), np.eye(3)), ValueError, r"pass shape \(3, 2\)"),
    (lambda: AffineImageSet(Simplices(2), np.eye(2), [1.0]), ValueError, "offset must have shape"),
    (lambda: ScaledSet(Simplices(2), 0), ValueError, "factor must not be 0"),
    (lambda: ScaledSet(Simplices(1), 1e200), ValueError, "factor must be from"),
    (lambda: MinkowskiSumSet([]), ValueError, "one or more in one space"),
    (lambda: MinkowskiSumSet([Simplices(2), 1.0]), TypeError, r"summands\[1\] .* got 1.0"),
    (lambda: Hull([Simplices(2), Simplices(3)]), ValueError, r"dimensions \[2, 3\]"),
    (lambda: ProductSet([]), ValueError, "one or more sets, got none"),
    (lambda: ProductSet([[1.0, 0.0]]), TypeError, "factors"),
    (lambda: ProductSet([Simplices(2)], [[0]]), ValueError, r"got \[\[0\]\]"),
    (lambda: ProductSet([Simplices(2)], [[0], [1]]), ValueError, r"got \[\[0\], \[1\]\]"),
    (lambda: ProductSet([Simplices(2)], [[0, 0]]), ValueError, "each once"),
    (lambda: ProductSet([Simplices(2)], [[0, 2]]), ValueError, "each once"),
    (lambda: ProductSet([Simplices(2)], [[0.0, 1.0]]), TypeError, "whole numbers"),
)
