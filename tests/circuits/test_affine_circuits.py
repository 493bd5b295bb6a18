"""Images and sums: what they play, what their parts learn, and that regret carries over exactly."""

import copy

import numpy as np
import pytest
from factories import MAKERS, PREDICTIVE, meets, regret

import regretkit as rk
from regretkit import sets
from regretkit.circuits import AffineImage, MinkowskiSum, Scaled
from regretkit.evaluation import RegretLedger

RM = rk.RegretMatching
SEEDS = pytest.mark.parametrize("seed", range(4))
each_leaf = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
each_predictive = pytest.mark.parametrize("make", PREDICTIVE.values(), ids=PREDICTIVE)


def matrix(seed, shape=(3, 5)):
    return np.random.default_rng(seed).normal(size=shape)


def hull(seed):
    corners = np.random.default_rng(seed).normal(size=(2, 3))
    return rk.ConvexHull([rk.Point(corner) for corner in corners], rk.RegretMatching(2))


# Theorems


@SEEDS
@each_leaf
def test_the_regret_of_an_affine_image_is_that_of_its_minimizer(seed, make):
    M, b = matrix(seed), np.random.default_rng(seed).normal(size=3)
    inner, alone = make([2, 3]), make([2, 3])
    player, ours, theirs = AffineImage(inner, M, b), [], []

    for x, u in meets(player, seed):
        np.testing.assert_array_equal(x, M @ alone.next_strategy() + b)
        ours.append((x, u))
        theirs.append((alone.next_strategy(), M.T @ u))
        alone.observe_utility(u @ M)

    expected = regret(inner.domain, theirs)
    assert regret(player.domain, ours) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@SEEDS
@pytest.mark.parametrize("factor", [3.0, -0.25])
def test_the_regret_of_a_scaled_minimizer_is_its_own(seed, factor):
    alone, player, ours, theirs = hull(seed), Scaled(hull(seed), factor), [], []

    for x, u in meets(player, seed):
        np.testing.assert_array_equal(x, factor * alone.next_strategy())
        ours.append((x, u))
        theirs.append((alone.next_strategy(), factor * u))
        alone.observe_utility(factor * u)

    expected = regret(alone.domain, theirs)
    assert regret(player.domain, ours) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@SEEDS
def test_the_regret_of_a_sum_is_the_sum_of_the_regrets(seed):
    def build():
        image = AffineImage(rk.RegretMatchingPlus(4), matrix(seed, (3, 4)))
        return [rk.RegretMatching(3), hull(seed), image, rk.Hedge(3, rate=0.5)]

    alone, player, ours = build(), MinkowskiSum(build()), []
    theirs = [[] for _ in alone]

    for x, u in meets(player, seed):
        proposals = [part.next_strategy() for part in alone]
        np.testing.assert_allclose(x, sum(proposals), atol=1e-12)
        ours.append((x, u))
        for part, proposal, history in zip(alone, proposals, theirs, strict=True):
            history.append((proposal, u))
            part.observe_utility(u)

    regrets = [regret(part.domain, own) for part, own in zip(alone, theirs, strict=True)]
    assert regret(player.domain, ours) == pytest.approx(sum(regrets), rel=1e-9, abs=1e-9)


def test_an_image_of_a_product_under_a_sum_is_the_sum():
    # x_1 + x_2 is what the matrix [I I] makes of (x_1, x_2).
    both = np.hstack([np.eye(3), np.eye(3)])
    image = AffineImage(rk.Product([rk.RegretMatching(3), hull(0)]), both)
    total = MinkowskiSum([rk.RegretMatching(3), hull(0)])

    for x, u in meets(total, seed=0):
        np.testing.assert_allclose(image.next_strategy(), x, atol=1e-12)
        image.observe_utility(u)


@each_leaf
def test_a_vertex_representation_is_the_hull_of_its_points(make):
    # The image of a simplex: the minimizer mixes the columns, as a hull's mixer does its points.
    vertices = matrix(1, (5, 3))
    image = AffineImage(make(5), vertices.T)
    mixed = rk.ConvexHull([rk.Point(vertex) for vertex in vertices], make(5))

    for x, u in meets(image, seed=1, iterations=40):
        np.testing.assert_allclose(mixed.next_strategy(), x, atol=1e-9)
        mixed.observe_utility(u)


# Domains


@SEEDS
def test_play_stays_in_a_domain_that_is_derived_from_the_parts(seed):
    M, b = matrix(seed), np.ones(3)
    image = AffineImage(rk.RegretMatching([2, 3]), M, b)
    total = MinkowskiSum([image, Scaled(rk.Hedge(3, rate=1.0), -2.0)])
    simplices = rk.Simplices([2, 3])

    assert image.domain == sets.AffineImageSet(simplices, M, b)
    assert total.domain == sets.MinkowskiSumSet(
        [image.domain, sets.ScaledSet(rk.Simplices(3), -2.0)]
    )
    for x, _ in meets(total, seed, iterations=20):
        assert total.domain.contains(x)
        assert image.domain.contains(image.next_strategy())


# Predictions, worth, units


@each_predictive
def test_a_prediction_goes_through_as_the_parts_would_see_it(make):
    M, u, m = matrix(3), np.array([1.0, -2.0, 0.5]), np.array([0.3, 2.0, -1.0])
    image, scaled, total = (
        AffineImage(make(5), M, np.ones(3)),
        Scaled(make(3), -4.0),
        MinkowskiSum([make(3), rk.Point([1.0, 1.0, 1.0]), make(3)]),
    )
    behind_image, behind_scaled, behind_total = make(5), make(3), make(3)

    for player in (image, scaled, total):
        player.observe_utility(u)
        player.expect_utility(m)
    for player, times in ((behind_image, M), (behind_scaled, -4.0 * np.eye(3))):
        player.observe_utility(u @ times)
        player.expect_utility(m @ times)
    behind_total.observe_utility(u)
    behind_total.expect_utility(m)

    expected = M @ behind_image.next_strategy() + 1.0
    np.testing.assert_array_equal(image.next_strategy(), expected)
    np.testing.assert_array_equal(scaled.next_strategy(), -4.0 * behind_scaled.next_strategy())
    np.testing.assert_allclose(total.next_strategy(), 2 * behind_total.next_strategy() + 1.0)


@pytest.mark.parametrize(
    "make",
    [
        lambda: AffineImage(hull(4), matrix(4, (2, 3)), [5.0, -1.0]),
        lambda: Scaled(hull(4), -3.0),
        lambda: MinkowskiSum([hull(4), rk.RegretMatching(3)]),
    ],
    ids=["image", "scaled", "sum"],
)
def test_a_hull_may_weigh_images_and_sums(make):
    # Their value is that of their point.
    player = make()
    for x, u in meets(player, seed=4, iterations=30):
        assert player._value(u) == pytest.approx(u @ x, rel=1e-9, abs=1e-9)

    other = rk.Point(np.zeros(player.dimension))
    both = rk.ConvexHull([make(), other], rk.RegretMatching(2))
    ledger = RegretLedger(both, strict=True)
    for _ in meets(both, seed=5):
        pass
    assert ledger.regret_bounds()["top"].gap <= 1e-9


# State and refusal


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: AffineImage(RM(2), 1e10 * np.eye(2)), "utility @ matrix"),
        (lambda: Scaled(RM(2), 1e10), r"factor \* utility"),
        (lambda: rk.ConvexHull([Scaled(RM(2), 1e10), RM(2)], RM(2)), r"factor \* utility"),
        (lambda: AffineImage(RM(2), 1e10 * np.array([[1, 1], [1, -1]])), "utility @ matrix"),
    ],
    ids=["image", "scaled", "hull", "cancelling"],
)
@pytest.mark.parametrize("verb", ["observe_utility", "expect_utility"])
def test_a_utility_that_overflows_on_its_way_is_refused_and_nothing_has_changed(make, name, verb):
    player = make()
    player.observe_utility([1.0, 2.0])
    state, before = copy.deepcopy(player.state_dict()), player.next_strategy().copy()

    with pytest.raises(ValueError, match=f"{name} must be finite and at most 1e\\+300"):
        getattr(player, verb)([1e299, -1e299])

    np.testing.assert_equal(player.state_dict(), state)
    np.testing.assert_array_equal(player.next_strategy(), before)


SHARED = rk.RegretMatching(2)


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda: AffineImage(rk.RegretMatching, np.eye(2)), TypeError, "got the class"),
        (lambda: AffineImage(rk.Simplices(2), np.eye(2)), TypeError, "must be a RegretMinimizer"),
        (lambda: AffineImage(SHARED, [1.0, 2.0]), ValueError, r"matrix has shape \(2,\)"),
        (lambda: AffineImage(SHARED, np.eye(3)), ValueError, r"dimension 2; pass shape \(3, 2\)"),
        (lambda: AffineImage(SHARED, [[np.nan, 0.0]]), ValueError, "got nan at row 0, column 0"),
        (lambda: AffineImage(SHARED, "eye"), TypeError, "matrix must be numbers"),
        (lambda: AffineImage(SHARED, np.eye(2), [1.0]), ValueError, r"offset has shape \(1,\)"),
        (lambda: AffineImage(SHARED, np.eye(2), [1.0, np.inf]), ValueError, "offset must be fin"),
        (lambda: Scaled(SHARED, 0.0), ValueError, "factor must not be 0"),
        (lambda: Scaled(SHARED, np.inf), ValueError, "factor must be a finite number"),
        (lambda: Scaled(3.0, SHARED), TypeError, "minimizer must be a RegretMinimizer, got 3.0"),
        (lambda: MinkowskiSum([]), ValueError, r"of dimensions \[\]"),
        (lambda: MinkowskiSum([SHARED, rk.Point([1.0])]), ValueError, r"of dimensions \[2, 1\]"),
        (lambda: MinkowskiSum([SHARED, SHARED]), ValueError, "stands in two places"),
        (lambda: MinkowskiSum([SHARED, Scaled(SHARED, 2.0)]), ValueError, "stands in two places"),
        (lambda: rk.Product([SHARED, Scaled(SHARED, 3.0)]), ValueError, "stands in two places"),
        (lambda: MinkowskiSum(SHARED), TypeError, "a sequence, not a single"),
        (lambda: MinkowskiSum([SHARED, 1]), TypeError, r"parts\[1\] must be a RegretMinimizer"),
    ],
)
def test_what_cannot_be_an_image_or_a_sum_is_refused(build, error, message):
    with pytest.raises(error, match=message):
        build()


def test_the_matrix_that_was_passed_may_be_written_to_afterwards():
    M, b = np.eye(2), np.zeros(2)
    player = AffineImage(rk.RegretMatching(2), M, b)

    M[:], b[:] = 9.0, 9.0

    np.testing.assert_array_equal(player.next_strategy(), [0.5, 0.5])
    np.testing.assert_array_equal(player.matrix, np.eye(2))


def test_a_refusal_deep_in_a_circuit_leaves_all_of_it_as_it_was():
    # The first part has learned by the time that the second one refuses.
    image = AffineImage(rk.RegretMatching(2), 1e10 * np.eye(2))
    player = rk.Product([rk.RegretMatching(2), image])
    player.observe_utility([1.0, 0.0, 0.5, 0.0])
    before = player.state_dict()

    with pytest.raises(ValueError, match="1e\\+300"):
        player.observe_utility([0.0, 7.0, 1e295, 0.0])

    np.testing.assert_equal(player.state_dict(), before)
    player.observe_utility([0.0, 7.0, 1.0, 0.0])
    assert player.iteration == 2
