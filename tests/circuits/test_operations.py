"""Products, hulls, sums, images and maps: their regret is that of their parts."""

import copy
import math
from functools import partial

import naive
import numpy as np
import pytest
from factories import ADVERSARIES, MAKERS, PREDICTIVE, meets, play, regret, same_play
from refusals import refusals

import regretkit as rk
from regretkit import sets
from regretkit.checks import check_minimizer
from regretkit.circuits import (
    AffineImage,
    MinkowskiSum,
    StochasticMatrices,
    constant_maps,
    internal_maps,
)
from regretkit.evaluation import RegretLedger

SEEDS = pytest.mark.parametrize("seed", range(4))
each_leaf = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


class Watched(rk.RegretMinimizer):
    """Plays as another minimizer does, and keeps the history of what it was told."""

    def __init__(self, watched):
        self.watched, self.domain = watched, watched.domain
        self.history = ()

    def _propose(self):
        return self.watched.next_strategy().copy()

    def _learn(self, utility, strategy):
        self.history = (*self.history, (strategy.copy(), utility.copy()))
        self.watched.observe_utility(utility)

    def regret(self):
        earned = math.fsum(u @ x for x, u in self.history)
        return self.domain.best_response(sum(u for _, u in self.history))[0] - earned


def watch(player, generator, iterations=100):
    """Play a mixture of adversaries, and return the watched player."""
    watched = player if isinstance(player, Watched) else Watched(player)
    for t in range(1, iterations + 1):
        adversary = list(ADVERSARIES.values())[t % len(ADVERSARIES)]
        watched.observe_utility(adversary(watched.next_strategy(), t, generator))
    return watched


def lists(history):
    return [(x.tolist(), u.tolist()) for x, u in history]


def swap(actions):
    return rk.SwapRegret(actions, rk.RegretMatching)


# The identities of regret


@SEEDS
@pytest.mark.parametrize("coordinates", [None, [[6, 0, 3], [1, 7], [5, 4, 2]]])
def test_the_regret_of_a_product_is_the_sum_of_its_parts(seed, coordinates):
    hull = rk.ConvexHull([rk.RegretMatching(3), rk.Point([0.0, 3.0, 0.0])], rk.RegretMatching(2))
    parts = [Watched(part) for part in (hull, swap(2), rk.Hedge(3, rate=0.5))]

    whole = watch(rk.Product(parts, coordinates), np.random.default_rng(seed))

    regrets = [part.regret() for part in parts]
    assert whole.regret() == pytest.approx(sum(regrets), rel=1e-9, abs=1e-9)


@pytest.mark.deep_beyond(4)
@SEEDS
@pytest.mark.parametrize("mixing", [rk.RegretMatching, rk.PredictiveRegretMatchingPlus, swap])
def test_the_regret_of_a_hull_is_at_most_the_mixers_and_the_largest_of_the_members(seed, mixing):
    generator = np.random.default_rng(seed)
    corners = [Watched(rk.Point(point)) for point in generator.normal(size=(2, 4))]
    product = rk.Product([rk.RegretMatchingPlus(2), swap(2)])
    members = [*corners, Watched(product), Watched(rk.RegretMatching(4))]
    weigher = Watched(mixing(4))

    whole = watch(rk.ConvexHull(members, weigher), generator)

    # Against the best point of member i: R = R_i + the mixing minimizer's regret against i.
    earned = math.fsum(u @ x for x, u in weigher.history)
    against = sum(u for _, u in weigher.history) - earned
    regrets = [member.regret() for member in members]
    assert whole.regret() == pytest.approx(max(against + regrets), rel=1e-9, abs=1e-9)
    assert whole.regret() <= weigher.regret() + max(regrets) + 1e-9


@pytest.mark.deep_beyond(52)
@SEEDS
@pytest.mark.parametrize(
    ("maps", "regret"),
    [
        (constant_maps(3), naive.external_regret),
        (internal_maps(3), naive.internal_regret),
        (StochasticMatrices(3), naive.swap_regret),
    ],
    ids=["external", "internal", "swap"],
)
@each_leaf
def test_regret_against_maps_is_the_regret_of_the_minimizer_over_maps(seed, maps, regret, make):
    picker = Watched(make(maps.coefficients))

    whole = watch(rk.PhiRegret(picker, maps), np.random.default_rng(seed), iterations=60)

    expected = regret(lists(whole.history))
    assert picker.regret() == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.deep_beyond(18)
@SEEDS
@each_leaf
def test_swap_regret_is_the_sum_of_the_experts_regrets(seed, make):
    experts = []

    def expert(actions):
        experts.append(Watched(make(actions)))
        return experts[-1]

    whole = watch(
        rk.SwapRegret(4, rk.PerDecisionPoint(expert)), np.random.default_rng(seed), iterations=60
    )

    experts = experts[-4:]  # the others are not played
    swap_regret = naive.swap_regret(lists(whole.history))
    total = sum(expert.regret() for expert in experts)
    assert swap_regret == pytest.approx(total, rel=1e-9, abs=1e-9)
    for number, expert in enumerate(experts):
        shares = [x[number] * u for x, u in whole.history]
        np.testing.assert_array_equal([u for _, u in expert.history], shares)


@pytest.mark.parametrize("adversary", ADVERSARIES)
def test_swap_regret_keeps_the_bound_of_its_experts(adversary):
    # Each of n experts is a regret matcher: together at most sum_a sqrt( sum_t x_a^2 |g_a|^2 ).
    player = swap(3)
    x, u = play(player, ADVERSARIES[adversary], 400, np.random.default_rng(1))

    history = list(zip(x.tolist(), u.tolist(), strict=True))
    ranges = u.max(axis=1) - u.min(axis=1)
    bound = sum(math.sqrt(3 * ((x[:, a] * ranges) ** 2).sum()) for a in range(3))
    assert naive.swap_regret(history) <= bound + 1e-9


# The same thing built in two ways


@each_leaf
def test_regret_against_constants_is_minimized_by_the_plain_rule(make):
    same_play(rk.PhiRegret(make(4), constant_maps(4)), make(4), seed=1, atol=1e-11)


@each_leaf
def test_swap_regret_is_regret_against_all_stochastic_matrices(make):
    maps = StochasticMatrices([2, 3])

    same_play(rk.PhiRegret(make(maps.coefficients), maps), rk.SwapRegret([2, 3], make), seed=2)


@pytest.mark.deep_beyond(5)
@each_leaf
def test_swap_regret_over_two_blocks_is_swap_regret_in_each(make):
    joint = rk.SwapRegret([2, 3, 2], make)
    separate = rk.Product([rk.SwapRegret(size, make) for size in (2, 3, 2)])

    same_play(joint, separate, seed=3)


@pytest.mark.deep_beyond(5)
@each_leaf
def test_experts_of_one_leaf_are_experts_of_their_own(make):
    same_play(rk.SwapRegret([2, 3], make), rk.SwapRegret([2, 3], rk.PerDecisionPoint(make)), seed=4)


@each_leaf
def test_a_hull_of_the_corners_is_its_mixer(make):
    corners = [rk.Point(corner) for corner in np.eye(4)]

    same_play(rk.ConvexHull(corners, make(4)), make(4), seed=5, atol=1e-12)


def test_two_experts_of_two_actions_balance_what_they_send_to_each_other():
    # With rows (1 - p, p) and (q, 1 - q) the fixed point is (q, p) / (p + q).
    player = watch(swap(2), np.random.default_rng(6)).watched
    (_, p), (q, _) = player.minimizer.next_strategy().reshape(2, 2)

    np.testing.assert_allclose(player.next_strategy(), np.array([q, p]) / (p + q), rtol=1e-14)


def test_a_fixed_point_of_ones_own_is_used():
    def by_linear_solve(maps, coefficients):
        matrix = coefficients.reshape(3, 3).T - np.eye(3)
        return np.linalg.solve(np.vstack([matrix[:2], np.ones(3)]), [0.0, 0.0, 1.0])

    maps, rule = StochasticMatrices(3), partial(rk.Hedge, rate=0.5)  # no row is ever reducible
    custom = rk.PhiRegret(rule(maps.coefficients), maps, by_linear_solve)

    same_play(custom, rk.SwapRegret(3, rule), seed=7, atol=1e-9)


# Predictions


def test_a_hull_tells_its_mixer_what_the_coming_proposals_would_be_worth():
    generator = np.random.default_rng(8)
    make = rk.PredictiveRegretMatchingPlus
    members, mixing = [make(3), make(3), rk.Point([0.0, 0.0, 2.0])], make(3)
    hull = watch(rk.ConvexHull(members, mixing), generator).watched
    alone, weigher = copy.deepcopy(members), copy.deepcopy(mixing)
    prediction = generator.normal(size=3)

    hull.expect_utility(prediction)

    for member in alone:
        member.expect_utility(prediction)
    proposals = np.array([member.next_strategy() for member in alone])
    weigher.expect_utility(proposals @ prediction)
    expected = weigher.next_strategy() @ proposals
    np.testing.assert_allclose(hull.next_strategy(), expected, atol=1e-12)


def test_where_everything_earns_the_same_a_nest_of_circuits_never_moves():
    members = [rk.Product([swap(3), rk.RegretMatching(7)]) for _ in range(3)]
    player = rk.ConvexHull(members, rk.RegretMatching)
    start = player.next_strategy().copy()

    for worth in (0.1, -1e90, 1e-200):
        player.observe_utility(np.full(10, worth))

    np.testing.assert_allclose(player.next_strategy(), start, atol=1e-15)
    assert player.mixing.regrets.tolist() == [0.0] * 6


# Hulls by block, products of blocks


def hull_of_blocks(simplices, mixing=rk.RegretMatching):
    return rk.ConvexHull([rk.RegretMatching(simplices), rk.Hedge(simplices, rate=0.3)], mixing)


def test_a_mixing_minimizer_has_weights_for_each_block():
    assert hull_of_blocks([2, 3]).mixing.domain == rk.Simplices([2, 2])
    points = [rk.Point([1.0]), rk.Point([2.0])]
    assert rk.ConvexHull(points, rk.RegretMatching).mixing.domain == rk.Simplices(2)


def test_a_hull_of_members_on_one_tree_plays_there():
    tree = rk.DecisionTree([0, 1], [2, 2])
    hull = rk.ConvexHull([rk.CFR(tree, rk.RegretMatching) for _ in range(2)], rk.RegretMatching)
    assert hull.domain == tree
    assert hull.mixing.domain == rk.Simplices(2)


@SEEDS
def test_the_regret_of_a_hull_of_blocks_is_bounded_by_that_of_its_parts(seed):
    player = hull_of_blocks([2, 3, 3], rk.RegretMatchingPlus)
    ledger = RegretLedger(player, strict=True)
    for utility in np.random.default_rng(seed).normal(size=(60, player.dimension)):
        player.observe_utility(utility)
    ledger.check()


def test_a_hull_of_blocks_keeps_the_contract():
    check_minimizer(lambda: hull_of_blocks([2, 3], partial(rk.Hedge, rate=0.3)))


def test_products_of_whole_blocks_are_simplices_in_any_order():
    product = rk.Product([rk.RegretMatching([2, 1]), rk.RegretMatching(3)], [[4, 5, 0], [1, 2, 3]])
    assert product.domain == rk.Simplices([1, 3, 2])
    split = rk.Product([rk.RegretMatching(2), rk.RegretMatching(2)], [[0, 2], [1, 3]])
    assert not isinstance(split.domain, rk.Simplices)


# Images and sums


RM = rk.RegretMatching
each_predictive = pytest.mark.parametrize("make", PREDICTIVE.values(), ids=PREDICTIVE)


def matrix(seed, shape=(3, 5)):
    return np.random.default_rng(seed).normal(size=shape)


def hull(seed):
    corners = np.random.default_rng(seed).normal(size=(2, 3))
    return rk.ConvexHull([rk.Point(corner) for corner in corners], rk.RegretMatching(2))


# Theorems


@pytest.mark.deep_beyond(52)
@SEEDS
@each_leaf
def test_the_regret_of_an_image_is_that_of_its_minimizer(seed, make):
    M, b = matrix(seed), np.random.default_rng(seed).normal(size=3)
    inner, alone = make([2, 3]), make([2, 3])
    player = AffineImage(inner, M, b)
    found, reference = [], []

    for x, u in meets(player, seed):
        np.testing.assert_array_equal(x, M @ alone.next_strategy() + b)
        found.append((x, u))
        reference.append((alone.next_strategy(), M.T @ u))
        alone.observe_utility(u @ M)

    expected = regret(inner.domain, reference)
    assert regret(player.domain, found) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@SEEDS
def test_the_regret_of_a_sum_is_the_sum_of_the_regrets(seed):
    def build():
        image = AffineImage(rk.RegretMatchingPlus(4), matrix(seed, (3, 4)))
        return [rk.RegretMatching(3), hull(seed), image, rk.Hedge(3, rate=0.5)]

    alone, player, history_of_sum = build(), MinkowskiSum(build()), []
    histories = [[] for _ in alone]

    for x, u in meets(player, seed):
        proposals = [part.next_strategy() for part in alone]
        np.testing.assert_allclose(x, sum(proposals), atol=1e-12)
        history_of_sum.append((x, u))
        for part, proposal, history in zip(alone, proposals, histories, strict=True):
            history.append((proposal, u))
            part.observe_utility(u)

    regrets = [
        regret(part.domain, history_of_part)
        for part, history_of_part in zip(alone, histories, strict=True)
    ]
    assert regret(player.domain, history_of_sum) == pytest.approx(sum(regrets), rel=1e-9, abs=1e-9)


def test_an_image_of_a_product_under_a_sum_is_the_sum():
    # x_1 + x_2 is what the matrix [I I] makes of (x_1, x_2).
    pair = np.hstack([np.eye(3), np.eye(3)])
    image = AffineImage(rk.Product([rk.RegretMatching(3), hull(0)]), pair)
    total = MinkowskiSum([rk.RegretMatching(3), hull(0)])

    same_play(total, image, atol=1e-12)


@each_leaf
def test_a_vertex_representation_is_the_hull_of_its_points(make):
    # The image of a simplex: the minimizer mixes the columns, as a hull mixes its points.
    vertices = matrix(1, (5, 3))
    image = AffineImage(make(5), vertices.T)
    mixed = rk.ConvexHull([rk.Point(vertex) for vertex in vertices], make(5))

    same_play(image, mixed, iterations=40, atol=1e-9)


# Domains


@SEEDS
def test_play_stays_in_a_domain_that_is_derived_from_the_parts(seed):
    M, b = matrix(seed), np.ones(3)
    image = AffineImage(rk.RegretMatching([2, 3]), M, b)
    total = MinkowskiSum([image, AffineImage(rk.Hedge(3, rate=1.0), -2.0 * np.eye(3))])
    simplices = rk.Simplices([2, 3])

    assert image.domain == sets.AffineImageSet(simplices, M, b)
    assert total.domain == sets.MinkowskiSumSet(
        [image.domain, sets.AffineImageSet(rk.Simplices(3), -2.0 * np.eye(3))]
    )
    for x, _ in meets(total, seed, iterations=20):
        assert total.domain.contains(x)
        assert image.domain.contains(image.next_strategy())


# Predictions, worth, units


@each_predictive
def test_a_prediction_goes_through_as_the_parts_would_see_it(make):
    M, u, m = matrix(3), np.array([1.0, -2.0, 0.5]), np.array([0.3, 2.0, -1.0])
    image = AffineImage(make(5), M, np.ones(3))
    total = MinkowskiSum([make(3), rk.Point([1.0, 1.0, 1.0]), make(3)])
    behind_image, behind_total = make(5), make(3)

    for player in (image, total):
        player.observe_utility(u)
        player.expect_utility(m)
    behind_image.observe_utility(u @ M)
    behind_image.expect_utility(m @ M)
    behind_total.observe_utility(u)
    behind_total.expect_utility(m)

    expected = M @ behind_image.next_strategy() + 1.0
    np.testing.assert_array_equal(image.next_strategy(), expected)
    np.testing.assert_allclose(total.next_strategy(), 2 * behind_total.next_strategy() + 1.0)


@pytest.mark.parametrize(
    "make",
    [
        lambda: AffineImage(hull(4), matrix(4, (2, 3)), [5.0, -1.0]),
        lambda: MinkowskiSum([hull(4), rk.RegretMatching(3)]),
    ],
    ids=["image", "sum"],
)
def test_the_value_of_images_and_sums_is_that_of_their_point(make):
    player = make()
    for x, u in meets(player, seed=4, iterations=30):
        assert player._value(u) == pytest.approx(u @ x, rel=1e-9, abs=1e-9)


# State and refusal


SHARED = rk.RegretMatching(2)


test_what_cannot_be_an_image_or_a_sum_is_refused = refusals(
    (lambda: AffineImage(rk.RegretMatching, np.eye(2)), TypeError, "must be a RegretMinimizer"),
    (lambda: AffineImage(rk.Simplices(2), np.eye(2)), TypeError, "must be a RegretMinimizer"),
    (lambda: AffineImage(SHARED, [1.0, 2.0]), ValueError, r"matrix must have shape .* got \(2,\)"),
    (lambda: AffineImage(SHARED, np.eye(3)), ValueError, r"dimension 2; pass shape \(3, 2\)"),
    (lambda: AffineImage(SHARED, [[np.nan, 0.0]]), ValueError, "got nan at coordinate 0, 0"),
    (lambda: AffineImage(SHARED, "eye"), TypeError, "matrix must be numbers"),
    (
        lambda: AffineImage(SHARED, np.eye(2), [1.0]),
        ValueError,
        r"offset must have shape \(2,\), got \(1,\)",
    ),
    (lambda: AffineImage(SHARED, np.eye(2), [1.0, np.inf]), ValueError, "offset must be fin"),
    (lambda: MinkowskiSum([]), ValueError, r"of dimensions \[\]"),
    (lambda: MinkowskiSum([SHARED, rk.Point([1.0])]), ValueError, r"of dimensions \[2, 1\]"),
    (lambda: MinkowskiSum([SHARED, SHARED]), ValueError, "stands in two places"),
    (lambda: rk.Product([SHARED, AffineImage(SHARED, np.eye(2))]), ValueError, "two places"),
    (lambda: MinkowskiSum(SHARED), TypeError, "not iterable"),
    (lambda: MinkowskiSum([SHARED, 1]), TypeError, "parts must be a RegretMinimizer"),
)


def test_the_matrix_that_was_passed_may_be_written_to_afterwards():
    M, b = np.eye(2), np.zeros(2)
    player = AffineImage(rk.RegretMatching(2), M, b)

    M[:], b[:] = 9.0, 9.0

    np.testing.assert_array_equal(player.next_strategy(), [0.5, 0.5])
