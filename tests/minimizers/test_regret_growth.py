"""The check of regret growth: what passes it, which exemptions are due, and who is found out."""

from functools import partial

import numpy as np
import pytest

import regretkit as rk
from regretkit import circuits as c
from regretkit import minimizers as m
from regretkit.checks import CHECKS, checks_of, run_check
from regretkit.minimizers import contrib
from regretkit.sets import Ball, Box, Hull, Polytope, ProductSet, Simplices, Singleton

(GROWTH,) = [check for check in CHECKS if check.__name__ == "regret_grows_slowly"]
TREE = rk.DecisionTree([0, 2], [2, 2])
FTRL, OMD = m.FollowTheRegularizedLeader, m.OnlineMirrorDescent


def side_by_side(points):
    """Return a tree of decisions between two actions each, none of which leads to another."""
    return rk.DecisionTree([0] * points, [2] * points)


# With the last hyperparameters that have no exemption, in a unit of utility that is far from
# theirs, and on sets where it is hardest to tell.
GOOD_ENOUGH = {
    "drm": partial(rk.DiscountedRegretMatching, 2, alpha=1.0, beta=-1.0),
    "drm+": partial(m.DiscountedRegretMatchingPlus, 2, alpha=1.0, shift=4.0),
    "pdrm+": partial(m.PredictiveDiscountedRegretMatchingPlus, 2, alpha=1.0),
    "asymmetric": partial(contrib.AsymmetricRegretMatchingPlus, 2, weight=1.0),
    "conic": partial(m.ConicBlackwell, Ball([2.0, 0.0], 1.0), kappa=2.0),
    "conic, nothing to choose": partial(m.ConicBlackwell, Simplices(1), kappa=1e6),
    "phi[constants]": lambda: rk.PhiRegret(rk.RegretMatching(3), c.constant_maps(3)),
    "hedge, timid": partial(rk.Hedge, 3, rate=1e-3),
    "dilated": partial(m.DilatedMirrorDescent, TREE, rate=1.0, weight=1e3),
    "cfr": lambda: rk.CFR(side_by_side(10), rk.RegretMatching),
    "corners": lambda: c.AffineImage(rk.RegretMatching(16), np.hstack([np.eye(8), -np.eye(8)])),
}


@pytest.mark.deep_beyond(6)
@pytest.mark.parametrize("make", GOOD_ENOUGH.values(), ids=GOOD_ENOUGH)
def test_who_is_not_exempt_keeps_it(make):
    assert GROWTH in checks_of(make())
    run_check(GROWTH, make)


def dear_prices():
    """Return a minimizer of prices that are high in any unit."""
    return c.AffineImage(rk.RegretMatchingPlus(2), [[1e30, 0.0]])


STAY_OR_SWAP = c.FiniteDeviations([np.eye(2), np.eye(2)[::-1]])

# One of every kind that is exempt, with parameters that make it fail the check.
NEEDY = {
    "AsymmetricRegretMatchingPlus": partial(contrib.AsymmetricRegretMatchingPlus, 3, weight=1e6),
    "MagneticMirrorDescent": partial(m.MagneticMirrorDescent, 3, rate=1.0, temperature=1.0),
    "DilatedMirrorDescent": partial(m.DilatedMirrorDescent, TREE, rate=1.0, temperature=1.0),
    "LastIterateByAveraging": lambda: c.LastIterateByAveraging(rk.RegretMatching(3)),
    "Regularized": lambda: c.Regularized(rk.RegretMatching(3), lambda u, x, r: -u),
    "BestResponse": partial(rk.BestResponse, Simplices(3)),
    "ConicBlackwell": partial(m.ConicBlackwell, Ball([1e3, 0.0], 1.0)),
    "ConicBlackwell, kappa": partial(m.ConicBlackwell, Simplices(3), kappa=100.0),
    "Constrained": lambda: c.Constrained(rk.RegretMatching(2), [[1.0, 0.0]], [0.1], dear_prices()),
    "Discount": lambda: c.Discount(rk.RegretMatching(3), weight=lambda t: 0.5**t),
    "DiscountedRegretMatching": partial(rk.DiscountedRegretMatching, 3, alpha=1e-3),
    "DiscountedRegretMatchingPlus": partial(m.DiscountedRegretMatchingPlus, 3, alpha=1e-3),
    "DiscountedRegretMatchingPlus, shift": partial(m.DiscountedRegretMatchingPlus, 3, shift=1e6),
    "ExplorationMixture": lambda: c.ExplorationMixture(rk.RegretMatching(3), gamma=0.9),
    "PhiRegret": lambda: rk.PhiRegret(rk.RegretMatching(2), STAY_OR_SWAP),
    "PhiRegret, nearly": lambda: rk.PhiRegret(rk.RegretMatching(6), c.internal_maps(3), steps=1),
    "PredictiveDiscountedRegretMatchingPlus": partial(
        m.PredictiveDiscountedRegretMatchingPlus, 3, alpha=1e-3
    ),
    "Restart": lambda: c.Restart(rk.RegretMatching(3), every=2),
    "TreeSwap": lambda: c.TreeSwap(lambda: rk.RegretMatching(3), layers=1, branching=2),
}


def found_out(make):
    with pytest.raises(AssertionError, match=r"^regret_grows_slowly is broken by"):
        run_check(GROWTH, make)


@pytest.mark.deep_beyond(6)
@pytest.mark.parametrize("name", NEEDY)
def test_who_is_exempt_needs_to_be(name):
    make = NEEDY[name]
    assert type(make()).__name__ == name.partition(",")[0]
    assert GROWTH not in checks_of(make())
    found_out(make)


# A minimizer that does not learn violates it, on every set


SETS = {
    "nested tree": TREE,
    "tree": side_by_side(10),
    "ball": Ball(np.full(3, 100.0), 0.01),
    "box": Box([0.0, -1e-3, 5.0], [1e3, 1e-3, 5.0]),
    "simplices": Simplices([2] * 12),
    "product": ProductSet([Ball(np.zeros(6), 1.0), side_by_side(3), Simplices(3)]),
    "hull": Hull([Ball(np.zeros(4), 1.0), Singleton([3.0, 0.0, 0.0, 0.0])]),
    "polytope": Polytope(np.vstack([np.eye(8), -np.eye(8)])),
}


class Careless(rk.RegretMinimizer):
    """Cycles through the same points whatever the utilities are, in any unit."""

    scale_free = True

    def __init__(self, domain, points):
        self.domain, self.points, self.played = domain, points, 0

    def _propose(self):
        return self.points[self.played % len(self.points)]

    def _learn(self, utility, strategy):
        self.played += 1


@pytest.mark.deep_beyond(4)
@pytest.mark.parametrize("domain", SETS.values(), ids=SETS)
def test_who_does_not_learn_breaks_it_on_every_set(domain):
    directions = np.random.default_rng(3).normal(size=(5, domain.dimension))
    corners = [domain.best_response(direction)[1] for direction in directions]
    for points in ([domain.relative_interior_point()], corners[:1], corners):
        found_out(partial(Careless, domain, points))


@pytest.mark.parametrize("factor", [1e-12, 1e12])
def test_no_allowance_for_rounding_hides_who_never_learns(factor):
    idle = partial(Careless, Simplices(3), [np.full(3, 1 / 3)])
    found_out(lambda: c.AffineImage(idle(), factor * np.eye(3)))


@pytest.mark.deep
@pytest.mark.parametrize("rate", [1e-9, 1.0])
def test_no_unit_of_utility_helps_a_rule_that_discounts_too_fast(rate):
    class ShortOfMemory(rk.minimizers.Hedge):
        """Forgets half of all regret in every iteration."""

        def accumulate(self, regrets, regret, t):
            return 0.5 * regrets + regret

    with pytest.raises(AssertionError, match=r"and no other unit of utility is any better for it$"):
        run_check(GROWTH, partial(ShortOfMemory, 3, rate=rate))
