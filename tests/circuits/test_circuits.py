"""What is proven about circuits: their regret is that of their parts."""

import copy
import math
from functools import partial

import naive
import numpy as np
import pytest
from factories import ADVERSARIES, MAKERS, play, same_play

import regretkit as rk
from regretkit import circuits
from regretkit.circuits import StochasticMatrices, constant_maps, internal_maps

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


@SEEDS
@pytest.mark.parametrize("mixer", [rk.RegretMatching, rk.PredictiveRegretMatchingPlus, swap])
def test_the_regret_of_a_hull_is_at_most_the_mixers_and_the_largest_of_the_members(seed, mixer):
    generator = np.random.default_rng(seed)
    corners = [Watched(rk.Point(point)) for point in generator.normal(size=(2, 4))]
    product = rk.Product([rk.RegretMatchingPlus(2), swap(2)])
    members = [*corners, Watched(product), Watched(rk.RegretMatching(4))]
    weigher = Watched(mixer(4))

    whole = watch(rk.ConvexHull(members, weigher), generator)

    # Against the best point of member i: R = R_i + the mixer's regret against i.
    earned = math.fsum(u @ x for x, u in weigher.history)
    against = sum(u for _, u in weigher.history) - earned
    regrets = [member.regret() for member in members]
    assert whole.regret() == pytest.approx(max(against + regrets), rel=1e-9, abs=1e-9)
    assert whole.regret() <= weigher.regret() + max(regrets) + 1e-9


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

    assert len(experts) == 4
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


@each_leaf
def test_swap_regret_over_two_blocks_is_swap_regret_in_each(make):
    together = rk.SwapRegret([2, 3, 2], make)
    apart = rk.Product([rk.SwapRegret(size, make) for size in (2, 3, 2)])

    same_play(together, apart, seed=3)


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
    own = rk.PhiRegret(rule(maps.coefficients), maps, by_linear_solve)

    same_play(own, rk.SwapRegret(3, rule), seed=7, atol=1e-9)


# Predictions


def test_a_hull_tells_its_mixer_what_the_coming_proposals_would_be_worth():
    generator = np.random.default_rng(8)
    make = rk.PredictiveRegretMatchingPlus
    members, mixer = [make(3), make(3), rk.Point([0.0, 0.0, 2.0])], make(3)
    hull = watch(rk.ConvexHull(members, mixer), generator).watched
    alone, weigher = copy.deepcopy(members), copy.deepcopy(mixer)
    prediction = generator.normal(size=3)

    hull.expect_utility(prediction)

    for member in alone:
        member.expect_utility(prediction)
    proposals = np.array([member.next_strategy() for member in alone])
    weigher.expect_utility(proposals @ prediction)
    expected = weigher.next_strategy() @ proposals
    np.testing.assert_allclose(hull.next_strategy(), expected, atol=1e-12)


def test_a_circuit_with_one_part_that_is_not_scale_free_is_not():
    hedge = partial(rk.Hedge, rate=1.0)

    assert not rk.Product([rk.RegretMatching(2), hedge(2)]).scale_free
    assert not rk.ConvexHull([rk.Point([1.0]), rk.Point([2.0])], hedge(2)).scale_free
    assert not rk.SwapRegret(2, hedge).scale_free
    for wrap in (
        partial(circuits.Scaled, factor=2.0),
        partial(circuits.AffineImage, matrix=np.eye(2)),
        partial(circuits.Restart, every=7),
        partial(circuits.Discount, weight=float),
        partial(circuits.Freeze, after=9),
        lambda part: circuits.MinkowskiSum([rk.RegretMatching(2), part]),
    ):
        assert wrap(rk.RegretMatching(2)).scale_free
        assert not wrap(hedge(2)).scale_free


def test_where_everything_earns_the_same_a_nest_of_circuits_never_moves():
    members = [rk.Product([swap(3), rk.RegretMatching(7)]) for _ in range(3)]
    player = rk.ConvexHull(members, rk.RegretMatching(3))
    start = player.next_strategy().copy()

    for worth in (0.1, -1e200, 1e-200):
        player.observe_utility(np.full(10, worth))

    np.testing.assert_allclose(player.next_strategy(), start, atol=1e-15)
    assert player.mixer.regrets.tolist() == [0.0] * 3
