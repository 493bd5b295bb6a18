"""Products, hulls, sums, images and maps: their regret is that of their parts."""

import copy
import math
from functools import partial

import numpy as np
import pytest
from factories import ADVERSARIES, MAKERS, PREDICTIVE, same_play

import regretkit as rk
from regretkit.circuits import (
    AffineImage,
    MinkowskiSum,
    StochasticMatrices,
    constant_maps,
)

SEEDS = pytest.mark.parametrize("seed", range(4))
each_leaf = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
MATRIX, VERTICES, CORNERS = (np.random.default_rng(k).normal(size=(5, 3)) for k in range(3))


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

    def against(self, point):
        return math.fsum(u @ (point - x) for x, u in self.history)

    def regret(self):
        return self.against(self.domain.best_response(sum(u for _, u in self.history))[1])


def watch(player, seed, iterations=60):
    """Let a mixture of adversaries play against a player, and return it watched."""
    player, generator = Watched(player), np.random.default_rng(seed)
    for t in range(1, iterations + 1):
        adversary = list(ADVERSARIES.values())[t % len(ADVERSARIES)]
        player.observe_utility(adversary(player.next_strategy(), t, generator))
    return player


def swap(actions):
    return rk.SwapRegret(actions, rk.RegretMatching)


def hull():
    return rk.ConvexHull(map(rk.Point, CORNERS[:2]), rk.RegretMatching(2))


# The identities of regret


@pytest.mark.deep_beyond(4)
@SEEDS
@pytest.mark.parametrize(
    "build",
    [rk.Product, partial(rk.Product, coordinates=[[6, 0, 3], [1, 7], [5, 4, 2]]), MinkowskiSum],
)
def test_the_regret_of_independent_parts_is_the_sum_of_theirs(seed, build):
    image = AffineImage(swap(2), CORNERS[:2].T)
    middle = image if build is MinkowskiSum else swap(2)
    parts = [Watched(part) for part in (hull(), middle, rk.Hedge(3, rate=0.5))]
    whole = watch(build(parts), seed)
    regrets = [part.regret() for part in parts]
    assert whole.regret() == pytest.approx(sum(regrets), rel=1e-9, abs=1e-9)


@pytest.mark.deep_beyond(4)
@SEEDS
@pytest.mark.parametrize("mixing", [rk.RegretMatching, rk.PredictiveRegretMatchingPlus, swap])
def test_the_regret_of_a_hull_is_at_most_the_mixers_and_the_largest_of_the_members(seed, mixing):
    product = rk.Product([rk.RegretMatchingPlus(2), swap(2)])
    points = map(rk.Point, np.random.default_rng(seed).normal(size=(2, 4)))
    members = [Watched(part) for part in (*points, product, rk.RegretMatching(4))]
    weigher = Watched(mixing(4))

    whole = watch(rk.ConvexHull(members, weigher), seed)

    # Against the best point of member i: R = R_i + the mixing minimizer's regret against i.
    regrets = [member.regret() for member in members]
    best = max(weigher.against(e) + r for e, r in zip(np.eye(4), regrets, strict=True))
    assert whole.regret() == pytest.approx(best, rel=1e-9, abs=1e-9)
    assert whole.regret() <= weigher.regret() + max(regrets) + 1e-9


@pytest.mark.deep_beyond(20)
@SEEDS
@each_leaf
def test_the_regret_of_an_image_is_that_of_its_minimizer(seed, make):
    inner, alone = Watched(make([2, 3])), make([2, 3])
    whole = watch(AffineImage(inner, MATRIX.T, CORNERS[0]), seed)
    assert whole.regret() == pytest.approx(inner.regret(), rel=1e-9, abs=1e-9)
    for x, u in whole.history:
        expected = MATRIX.T @ alone.next_strategy() + CORNERS[0]
        np.testing.assert_allclose(x, expected, atol=1e-12)
        alone.observe_utility(u @ MATRIX.T)


def test_each_expert_of_swap_regret_learns_its_share_of_the_utility():
    experts = []

    def expert(actions):
        experts.append(Watched(rk.RegretMatching(actions)))
        return experts[-1]

    whole = watch(rk.SwapRegret(4, rk.PerDecisionPoint(expert)), seed=1)
    for number, one in enumerate(experts[-4:]):  # the others are not played
        shares = [x[number] * u for x, u in whole.history]
        np.testing.assert_array_equal([u for _, u in one.history], shares)


# The same thing built in two ways

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
        lambda make: MinkowskiSum([make(3), hull()]),
        lambda make: AffineImage(rk.Product([make(3), hull()]), np.tile(np.eye(3), 2)),
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
    make, generator = rk.PredictiveRegretMatchingPlus, np.random.default_rng(8)
    members, mixing = [make(3), make(3), rk.Point([0.0, 0.0, 2.0])], make(3)
    player = watch(rk.ConvexHull(members, mixing), seed=8).watched
    alone, weigher = copy.deepcopy(members), copy.deepcopy(mixing)
    prediction = generator.normal(size=3)

    player.expect_utility(prediction)

    for member in alone:
        member.expect_utility(prediction)
    proposals = np.array([member.next_strategy() for member in alone])
    weigher.expect_utility(proposals @ prediction)
    expected = weigher.next_strategy() @ proposals
    np.testing.assert_allclose(player.next_strategy(), expected, atol=1e-12)


@pytest.mark.parametrize("make", PREDICTIVE.values(), ids=PREDICTIVE)
def test_a_prediction_goes_through_as_the_parts_would_see_it(make):
    u, m, M = np.array([1.0, -2.0, 0.5]), np.array([0.3, 2.0, -1.0]), MATRIX.T
    total = MinkowskiSum([make(3), rk.Point(np.ones(3)), make(3)])
    pairs = [(AffineImage(make(5), M, np.ones(3)), M, M), (total, np.eye(3), 2.0 * np.eye(3))]
    for player, seen, shown in pairs:
        behind = make(len(seen.T))
        player.observe_utility(u)
        player.expect_utility(m)
        behind.observe_utility(u @ seen)
        behind.expect_utility(m @ seen)
        expected = shown @ behind.next_strategy() + 1.0
        np.testing.assert_allclose(player.next_strategy(), expected, atol=1e-12)
