"""Maps of swap regret and its kin: linear in their coefficients, with fixed points."""

import copy

import numpy as np
import pytest
from factories import PREDICTIVE, meets, random_behavior

import regretkit as rk
from regretkit.circuits import (
    FiniteDeviations,
    MarkovDeviations,
    StochasticMatrices,
    constant_maps,
    internal_maps,
)
from regretkit.evaluation import RegretLedger

SEEDS = pytest.mark.parametrize("seed", range(4))
MAPS = [
    constant_maps(4),
    internal_maps(3),
    StochasticMatrices([2, 3, 1, 2]),
    FiniteDeviations(np.random.default_rng(0).dirichlet(np.ones(5), size=(7, 5))),
]


@SEEDS
@pytest.mark.parametrize("maps", MAPS, ids=repr)
def test_what_a_map_earns_is_linear_in_its_coefficients_and_has_a_fixed_point(maps, seed):
    generator = np.random.default_rng(seed)
    coefficients = random_behavior(generator, maps.coefficients)
    point = random_behavior(generator, maps.domain)
    utility = generator.normal(size=maps.domain.dimension)

    moved = maps.apply(coefficients, point)

    assert maps.domain.contains(moved)
    assert coefficients @ maps.utility(utility, point) == pytest.approx(utility @ moved, abs=1e-12)
    fixed = maps.stationary(coefficients)
    assert maps.domain.contains(fixed)
    np.testing.assert_allclose(maps.apply(coefficients, fixed), fixed, atol=1e-12)


def test_internal_maps_move_one_action_and_constant_maps_move_all():
    point = np.array([0.2, 0.3, 0.5])
    moves = [internal_maps(3).apply(unit, point).tolist() for unit in np.eye(6)]

    assert sorted(moves) == sorted(
        (point + point[a] * (np.eye(3)[b] - np.eye(3)[a])).tolist()
        for a in range(3)
        for b in range(3)
        if a != b
    )
    for unit in np.eye(3):
        np.testing.assert_allclose(constant_maps(3).apply(unit, point), unit)


class Own(MarkovDeviations):
    """Maps as a user would write them, with a fixed point that may be none."""

    def __init__(self, maps, point=None):
        self.maps, self.point = maps, point
        self.domain, self.coefficients = maps.domain, maps.coefficients

    def apply(self, coefficients, point):
        return self.maps.apply(coefficients, point)

    def utility(self, utility, point):
        return self.maps.utility(utility, point)

    def stationary(self, coefficients):
        return self.maps.stationary(coefficients) if self.point is None else self.point


@SEEDS
@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("maps", MAPS, ids=repr)
def test_regret_against_maps_is_what_the_best_of_them_would_have_earned_more(maps, own, seed):
    player = rk.RegretMatching(maps.domain)
    tracker = RegretLedger(player).tracker(player)
    gains, earned = np.zeros(maps.coefficients.dimension), 0.0

    for x, u in meets(player, seed):
        gains += maps.utility(u, x)
        earned += u @ x

    best, _ = maps.coefficients.best_response(gains)
    found = (Own(maps) if own else maps).regret(tracker)
    assert found == pytest.approx(best - earned, rel=1e-9, abs=1e-9)


def test_regret_against_pairs_and_constants_is_internal_and_external_regret():
    player = rk.RegretMatching(4)
    tracker = RegretLedger(player).tracker(player)
    list(meets(player, seed=3))

    assert internal_maps(4).regret(tracker) == pytest.approx(tracker.internal)
    assert constant_maps(4).regret(tracker) == pytest.approx(tracker.external)
    assert StochasticMatrices(4).regret(tracker) == pytest.approx(tracker.swap)
    assert tracker.internal > 0.1


@pytest.mark.parametrize("maps", MAPS, ids=repr)
def test_maps_of_ones_own_are_played_like_those_of_the_library(maps):
    player = rk.PhiRegret(rk.RegretMatching(maps.coefficients), maps)
    own = rk.PhiRegret(rk.RegretMatching(maps.coefficients), Own(maps))
    RegretLedger(own, strict=True)

    for x, u in meets(player, seed=4):
        np.testing.assert_array_equal(own.next_strategy(), x)
        own.observe_utility(u)


@pytest.mark.parametrize(
    ("point", "error", "message"),
    [
        ([9.0, 9.0], ValueError, r"stationary returned array\(\[9., 9.\]\), which is no point"),
        ([0.9, 0.1], ValueError, r"maps.stationary returned .* the map moves by 0\.4, more than"),
        ([0.5], ValueError, r"what maps.stationary returned has shape \(1,\), but dimension 2"),
        ("half", TypeError, "what maps.stationary returned must be numbers, got 'half'"),
    ],
)
def test_a_stationary_distribution_of_ones_own_is_checked(point, error, message):
    maps = Own(StochasticMatrices(2), point)

    with pytest.raises(error, match=message):
        rk.PhiRegret(rk.RegretMatching([2, 2]), maps)


@pytest.mark.parametrize(
    ("fixed_point", "message"),
    [
        (
            lambda a: a,
            "fixed_point must be a function of 2 arguments, got .*; pass one of the maps",
        ),
        (0.5, r"fixed_point must be a function, got 0\.5; pass one of the maps and of coef"),
        (lambda maps, c: None, "fixed_point returned None; return a point that the map sends to"),
    ],
)
def test_what_is_no_fixed_point_at_all_is_refused(fixed_point, message):
    with pytest.raises(TypeError, match=message):
        rk.PhiRegret(rk.RegretMatching([2, 2]), StochasticMatrices(2), fixed_point)


def test_a_fixed_point_may_come_in_an_array_that_is_used_again():
    buffer = np.zeros(2)

    def first_come(maps, coefficients):
        buffer[:] = maps.stationary(coefficients)
        return buffer

    player = rk.PhiRegret(rk.RegretMatching([2, 2]), StochasticMatrices(2), first_come)
    played = player.next_strategy()
    buffer[:] = 9.0

    np.testing.assert_array_equal(played, [0.5, 0.5])


@pytest.mark.parametrize(
    ("atol", "error"),
    [
        *((atol, ValueError) for atol in (5, -1e-9, np.nan, np.inf)),
        *((atol, TypeError) for atol in (None, "0", True)),
    ],
)
def test_how_far_rows_may_be_off_is_a_small_number(atol, error):
    with pytest.raises(error, match=r"atol must be a number from 0 to 0\.001, got"):
        FiniteDeviations([[[2.0, 0.0], [0.0, 2.0]]], atol=atol)


def test_rows_that_are_nearly_distributions_make_maps_that_keep_their_theorem():
    rows = np.random.default_rng(0).dirichlet(np.ones(3), size=(4, 3))
    off = rows * np.random.default_rng(1).uniform(0.9995, 1.0005, size=(4, 3, 1))
    maps = FiniteDeviations(off, atol=1e-3)
    player = rk.PhiRegret(rk.RegretMatching(4), maps)
    RegretLedger(player, strict=True)

    list(meets(player, seed=5))

    np.testing.assert_allclose(maps.matrices, rows, rtol=1e-12)
    with pytest.raises(ValueError, match="leaves the simplex"):
        FiniteDeviations(off)


@pytest.mark.parametrize("name", PREDICTIVE)
def test_an_expert_is_told_to_expect_its_share_of_what_is_expected(name):
    player = rk.SwapRegret(3, PREDICTIVE[name])
    last = [x.copy() for x, _ in meets(player, seed=6, iterations=9)][-1]
    alone, unaware = copy.deepcopy(player.minimizer), copy.deepcopy(player.minimizer)
    prediction = np.array([-5.0, 3.0, 4.0])

    player.expect_utility(prediction)

    alone.expect_utility(np.outer(last, prediction).ravel())
    told = player.minimizer.next_strategy()
    np.testing.assert_array_equal(told, alone.next_strategy())
    assert np.abs(told - unaware.next_strategy()).max() > 0.01
