"""Products, hulls, sums, images and maps: their regret is that of their parts."""

import copy
import math

import naive
import numpy as np
import pytest
from factories import ADVERSARIES, MAKERS, PREDICTIVE, meets, regret, same_play

import regretkit as rk
from regretkit.circuits import (
    AffineImage,
    MinkowskiSum,
    StochasticMatrices,
    constant_maps,
    internal_maps,
)

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


# The same thing built in two ways

VERTICES = np.random.default_rng(1).normal(size=(5, 3))
TWICE = {
    "regret against constants": (
        lambda make: rk.PhiRegret(make(4), constant_maps(4)),
        lambda make: make(4),
    ),
    "regret against all stochastic matrices": (
        lambda make: rk.PhiRegret(make([2, 2, 3, 3, 3]), StochasticMatrices([2, 3])),
        lambda make: rk.SwapRegret([2, 3], make),
    ),
    "swap regret in blocks": (
        lambda make: rk.SwapRegret([2, 3, 2], make),
        lambda make: rk.Product([rk.SwapRegret(size, make) for size in (2, 3, 2)]),
    ),
    "experts of their own": (
        lambda make: rk.SwapRegret([2, 3], make),
        lambda make: rk.SwapRegret([2, 3], rk.PerDecisionPoint(make)),
    ),
    "a hull of the corners": (
        lambda make: rk.ConvexHull(map(rk.Point, np.eye(4)), make(4)),
        lambda make: make(4),
    ),
    "an image of a simplex": (
        lambda make: AffineImage(make(5), VERTICES.T),
        lambda make: rk.ConvexHull(map(rk.Point, VERTICES), make(5)),
    ),
    "a sum": (
        lambda make: MinkowskiSum([make(3), hull(0)]),
        lambda make: AffineImage(rk.Product([make(3), hull(0)]), np.tile(np.eye(3), 2)),
    ),
}


@pytest.mark.deep_beyond(30)
@each_leaf
@pytest.mark.parametrize("name", TWICE)
def test_circuits_are_each_other_in_special_cases(name, make):
    one, other = TWICE[name]
    same_play(one(make), other(make), iterations=40, atol=1e-9)


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


# Images and sums


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
