"""The check of regret growth: which hyperparameters pass it, and which exemptions are due."""

from functools import partial

import numpy as np
import pytest
from test_checks import Idle, ShortOfMemory

import regretkit as rk
from regretkit import circuits as c
from regretkit import minimizers as m
from regretkit.checks import _growth, checks_of, run_check
from regretkit.checks._growth import ALL_ADVERSARIES, UNITS, fault, regret_grows_slowly
from regretkit.circuits import FiniteDeviations
from regretkit.minimizers import Entropy, Euclidean, LogBarrier, Tsallis, contrib
from regretkit.sets import Ball, Box, Hull, Polytope, ProductSet, Simplices, Singleton

TREE = rk.DecisionTree([0, 2], [2, 2])
FTRL, OMD = m.FollowTheRegularizedLeader, m.OnlineMirrorDescent

# Nothing is wrong with these, but a unit of utility that is far from theirs.
OF_ANOTHER_UNIT = {
    "hedge, timid": partial(rk.Hedge, 3, rate=1e-6),
    "hedge, bold": partial(rk.Hedge, 3, rate=100.0),
    "hedge, on the brink": partial(rk.Hedge, [2, 3], rate=1e12),
    "optimistic": partial(rk.OptimisticHedge, 3, rate=1e-9),
    "leader": partial(FTRL, 4, regularizer=Euclidean(), rate=1e4),
    "leader[tsallis]": partial(FTRL, 4, regularizer=Tsallis(q=0.01), rate=1e4),
    "mirror[barrier]": partial(OMD, 3, regularizer=LogBarrier(), rate=1e-7),
    "mirror[entropy]": partial(OMD, 3, regularizer=Entropy(), rate=1e7, optimistic=True),
    "gradient": partial(m.OnlineGradientDescent, Ball([9.0, 0.0], 1.0), rate=1e-8),
    "gradient[box]": partial(m.OnlineGradientDescent, Box([0.0], [1e6]), rate=1.0),
    "dilated": partial(m.DilatedMirrorDescent, TREE, rate=1.0, weight=1e6),
    "magnetic, no magnet": partial(m.MagneticMirrorDescent, 3, rate=1e-6, temperature=0.0),
    "smooth": partial(contrib.SmoothPredictiveRegretMatchingPlus, 3, rate=1e-6),
    "smooth optimistic": partial(contrib.SmoothOptimisticRegretMatchingPlus, 3, rate=1e-6),
    "extragradient": partial(contrib.ExtragradientRegretMatchingPlus, 3, rate=1e-6),
    "stable": partial(contrib.StablePredictiveRegretMatchingPlus, 3, floor=1e6),
    "scaled": lambda: c.AffineImage(rk.Hedge(3, rate=0.2), 1e9 * np.eye(3)),
    "cfr": lambda: rk.CFR(TREE, partial(rk.Hedge, rate=1e-6)),
}

# The way to their unit is long.
SLOW = {"hedge, on the brink", "leader[tsallis]", "mirror[barrier]", "mirror[entropy]", "scaled"}
SLOW |= {"smooth optimistic", "extragradient", "optimistic"}
each_of_another_unit = pytest.mark.parametrize(
    "make",
    [
        pytest.param(make, id=name, marks=[pytest.mark.slow] if name in SLOW else [])
        for name, make in OF_ANOTHER_UNIT.items()
    ],
)


@pytest.mark.deep_beyond(1)
@each_of_another_unit
def test_a_hyperparameter_made_for_another_unit_of_utility_is_no_fault(make):
    assert regret_grows_slowly in checks_of(make())
    run_check(regret_grows_slowly, make)


@pytest.mark.deep_beyond(3)
@each_of_another_unit
def test_and_in_the_unit_one_alone_it_would_be_taken_for_one(make):
    assert fault(make) is not None


# The last parameters without an exemption.
JUST_GOOD_ENOUGH = {
    "drm": partial(rk.DiscountedRegretMatching, 2, alpha=1.0, beta=-1.0),
    "drm+": partial(m.DiscountedRegretMatchingPlus, 2, alpha=1.0, shift=4.0),
    "drm+, no shift": partial(m.DiscountedRegretMatchingPlus, 2, alpha=-3.0, shift=0.0),
    "drm+, no end": partial(m.DiscountedRegretMatchingPlus, 2, alpha=np.inf, shift=1e9),
    "pdrm+": partial(m.PredictiveDiscountedRegretMatchingPlus, 2, alpha=1.0),
    "asymmetric": partial(contrib.AsymmetricRegretMatchingPlus, 2, weight=1.0),
    "adaptive, timid": partial(contrib.AdaptiveAsymmetricRegretMatchingPlus, 2, limit=1e9),
    "adaptive, bold": partial(contrib.AdaptiveAsymmetricRegretMatchingPlus, 2, limit=1e-9),
    "scheduled, short": partial(contrib.HSDiscountedRegretMatching, 2, horizon=1),
    "scheduled, long": partial(contrib.HSDiscountedRegretMatching, 2, horizon=10**9),
    "conic": partial(m.ConicBlackwell, Ball([2.0, 0.0], 1.0), kappa=2.0),
    "response": partial(m.ResponseBasedApproachability, Ball([2.0, 0.0], 1.0)),
    "conic[simplices]": partial(m.ConicBlackwell, Simplices([2, 3]), kappa=1.0),
    "conic, nothing to choose": partial(m.ConicBlackwell, Simplices(1), kappa=1e6),
    "phi[constants]": lambda: rk.PhiRegret(rk.RegretMatching(3), c.constant_maps(3)),
    "phi[pairs]": lambda: rk.PhiRegret(rk.RegretMatching(6), c.internal_maps(3)),
}


@pytest.mark.deep_beyond(2)
@pytest.mark.parametrize("make", JUST_GOOD_ENOUGH.values(), ids=JUST_GOOD_ENOUGH.keys())
def test_who_is_not_exempt_keeps_it(make):
    assert regret_grows_slowly in checks_of(make())
    run_check(regret_grows_slowly, make)


def dear_prices():
    """Return a minimizer of prices that are high in any unit."""
    return c.AffineImage(rk.RegretMatchingPlus(2), [[1e30, 0.0]])


STAY_OR_SWAP = FiniteDeviations([np.eye(2), np.eye(2)[::-1]])
CONSTANT = {n: f for n, f in ALL_ADVERSARIES.items() if n.startswith("constant")}
NEARLY = c.AveragedPowerIterate(1)

# One of every kind that is exempt, with parameters that make it fail the check.
NEEDY = {
    "AsymmetricRegretMatchingPlus": partial(contrib.AsymmetricRegretMatchingPlus, 3, weight=1e6),
    "LastIterateByAveraging": lambda: c.LastIterateByAveraging(rk.RegretMatching(3)),
    "BestResponse": partial(rk.BestResponse, Simplices(3)),
    "ConicBlackwell": partial(m.ConicBlackwell, Ball([1e3, 0.0], 1.0)),
    "ConicBlackwell, kappa": partial(m.ConicBlackwell, Simplices(3), kappa=100.0),
    "Constrained": lambda: c.Constrained(rk.RegretMatching(2), [[1.0, 0.0]], [0.1], dear_prices()),
    "DilatedMirrorDescent": partial(m.DilatedMirrorDescent, TREE, rate=1.0, temperature=1.0),
    "Discount": lambda: c.Discount(rk.RegretMatching(3), weight=lambda t: 0.5**t),
    "DiscountedRegretMatching": partial(rk.DiscountedRegretMatching, 3, alpha=1e-3),
    "DiscountedRegretMatchingPlus": partial(m.DiscountedRegretMatchingPlus, 3, alpha=1e-3),
    "DiscountedRegretMatchingPlus, shift": partial(m.DiscountedRegretMatchingPlus, 3, shift=1e6),
    "ExplorationMixture": lambda: c.ExplorationMixture(rk.RegretMatching(3), gamma=0.9),
    "MagneticMirrorDescent": partial(m.MagneticMirrorDescent, 3, rate=1.0, temperature=1.0),
    "PhiRegret": lambda: rk.PhiRegret(rk.RegretMatching(2), STAY_OR_SWAP),
    "PhiRegret, nearly": lambda: rk.PhiRegret(rk.RegretMatching(6), c.internal_maps(3), NEARLY),
    "PredictiveDiscountedRegretMatchingPlus": partial(
        m.PredictiveDiscountedRegretMatchingPlus, 3, alpha=1e-3
    ),
    "Restart": lambda: c.Restart(rk.RegretMatching(3), every=2),
    "TreeSwap": lambda: c.TreeSwap(lambda: rk.RegretMatching(3), layers=1, branching=2),
}


@pytest.mark.deep_beyond(3)
@pytest.mark.parametrize("name", NEEDY)
def test_who_is_exempt_needs_to_be(monkeypatch, name):
    monkeypatch.setattr(_growth, "UNITS", UNITS[::4])  # some of them, which takes less time
    make = NEEDY[name]

    assert type(make()).__name__ == name.partition(",")[0]
    assert regret_grows_slowly not in checks_of(make())
    with pytest.raises(AssertionError, match=r"^regret_grows_slowly is broken by"):
        run_check(regret_grows_slowly, make)


@pytest.mark.deep_beyond(1)
@pytest.mark.parametrize("rate", [1e-9, 1.0])
def test_no_unit_of_utility_helps_a_rule_that_discounts_too_fast(rate):
    with pytest.raises(AssertionError, match=r"and no other unit of utility is any better for it$"):
        run_check(regret_grows_slowly, partial(ShortOfMemory, 3, rate=rate))


@pytest.mark.deep_beyond(1)
@pytest.mark.parametrize("factor", [1e-12, 1e12])
def test_no_allowance_for_rounding_hides_who_never_learns(monkeypatch, factor):
    monkeypatch.setattr(_growth, "UNITS", UNITS[::8])
    with pytest.raises(AssertionError, match=r"^regret_grows_slowly is broken by AffineImage"):
        run_check(regret_grows_slowly, lambda: c.AffineImage(Idle(3), factor * np.eye(3)))


@pytest.mark.deep_beyond(1)
@pytest.mark.parametrize("power", [-39, 3, 27])
def test_what_suits_the_unit_one_suits_another_unit_at_another_rate(power):
    # Larger utilities by as much as the rate is smaller: the same is played, and regretted.
    make = partial(rk.Hedge, 3, rate=0.3 * 2.0**-power)

    assert fault(partial(rk.Hedge, 3, rate=0.3)) is None
    assert fault(make, 2.0**power) is None
    assert 2.0**power in UNITS


# A minimizer that does not learn violates it, on every set


def side_by_side(points):
    """Return a tree of decisions between two actions each, none of which leads to another."""
    return rk.DecisionTree([0] * points, [2] * points)


SETS = {
    "tree, 3 points": side_by_side(3),
    "tree, 10 points": side_by_side(10),
    "tree, nested": TREE,
    "ball": Ball(np.zeros(10), 1.0),
    "ball, far": Ball(np.full(3, 100.0), 0.01),
    "box": Box(-np.ones(10), np.ones(10)),
    "box, flat": Box([0.0, -1e-3, 5.0], [1e3, 1e-3, 5.0]),
    "simplex": Simplices(7),
    "simplices": Simplices([2] * 12),
    "product": ProductSet([Ball(np.zeros(6), 1.0), side_by_side(3), Simplices(3)]),
    "hull": Hull([Ball(np.zeros(4), 1.0), Singleton([3.0, 0.0, 0.0, 0.0])]),
    "polytope": Polytope([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]),
    "polytope, symmetric": Polytope(np.vstack([np.eye(8), -np.eye(8)])),
}
on_every_set = pytest.mark.parametrize("domain", SETS.values(), ids=SETS.keys())


class Careless(rk.RegretMinimizer):
    """Cycles through the same points independently of its utilities."""

    def __init__(self, domain, points):
        self.domain = domain
        self.points = points
        self.played = 0

    def _propose(self):
        return self.points[self.played % len(self.points)]

    def _learn(self, utility, strategy):
        self.played += 1


def careless(domain):
    """Yield minimizers that learn nothing: in the middle, in a corner, and all over the place."""
    directions = np.random.default_rng(3).normal(size=(5, domain.dimension))
    corners = [domain.best_response(direction)[1] for direction in directions]
    for points in (
        [domain.relative_interior_point()],
        *([corner] for corner in corners[:2]),
        corners,
    ):
        yield partial(Careless, domain, points)


@pytest.mark.deep_beyond(1)
@on_every_set
def test_who_does_not_learn_breaks_it_on_every_set(monkeypatch, domain):
    monkeypatch.setattr(_growth, "UNITS", UNITS[::16])
    for make in careless(domain):
        with pytest.raises(AssertionError, match=r"^regret_grows_slowly is broken by Careless"):
            run_check(regret_grows_slowly, make)


@pytest.mark.deep_beyond(4)
@on_every_set
def test_a_constant_adversary_and_its_opposite_suffice_for_that(domain):
    for make in careless(domain):
        assert fault(make, adversaries=CONSTANT) is not None


@pytest.mark.deep_beyond(4)
@on_every_set
def test_what_it_loses_to_both_adds_up_to_the_range_of_payoffs_in_every_iteration(domain):
    generator, nowhere = np.random.default_rng(0), np.zeros(domain.dimension)
    utilities = [adversary(nowhere, 0, generator) for adversary in CONSTANT.values()]
    best = [domain.best_response(utility)[0] for utility in utilities]

    assert sum(best) > 0.0
    for make in careless(domain):
        regrets = [
            _growth.regret_and_bound(make(), adversary, 400, 1.0)[0]
            for adversary in CONSTANT.values()
        ]
        assert sum(regrets) == pytest.approx(400 * sum(best), rel=1e-6)


def idle_cfr(points):
    return rk.CFR(side_by_side(points), Idle)


COMPOSED = {
    "cfr, 3 points": partial(idle_cfr, 3),
    "cfr, 10 points": partial(idle_cfr, 10),
    "cfr, nested": lambda: rk.CFR(TREE, Idle),
    "product": lambda: rk.Product([Idle(2) for _ in range(8)]),
    "hull": lambda: rk.ConvexHull([Idle(3), rk.Point([3.0, 0.0, 0.0])], Idle(2)),
    "sum": lambda: c.MinkowskiSum([Idle(3), Idle(3)]),
    "image": lambda: c.AffineImage(Idle(3), [[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]),
}


@pytest.mark.deep_beyond(2)
@pytest.mark.parametrize("make", COMPOSED.values(), ids=COMPOSED.keys())
def test_circuits_of_rules_that_do_not_learn_break_it(monkeypatch, make):
    monkeypatch.setattr(_growth, "UNITS", UNITS[::8])
    with pytest.raises(AssertionError, match=r"^regret_grows_slowly is broken by"):
        run_check(regret_grows_slowly, make)


@pytest.mark.slow
def test_sixty_points_are_not_too_many_to_catch_it(monkeypatch):
    monkeypatch.setattr(_growth, "UNITS", UNITS[::16])
    tree = side_by_side(60)
    for make in (partial(idle_cfr, 60), partial(Careless, tree, [tree.relative_interior_point()])):
        with pytest.raises(AssertionError, match=r"^regret_grows_slowly is broken by"):
            run_check(regret_grows_slowly, make)


# Where it is hardest to tell, and who learns is nevertheless far below the bound.
WHO_LEARN = {
    "cfr": lambda: rk.CFR(side_by_side(10), rk.RegretMatching),
    "cfr, hedge": lambda: rk.CFR(side_by_side(10), partial(rk.Hedge, rate=0.3)),
    "gradient, ball": partial(m.OnlineGradientDescent, SETS["ball"], rate=0.3),
    "gradient, box": partial(m.OnlineGradientDescent, SETS["box"], rate=0.3),
    "corners": lambda: c.AffineImage(rk.RegretMatching(16), np.hstack([np.eye(8), -np.eye(8)])),
}


@pytest.mark.deep_beyond(2)
@pytest.mark.parametrize("make", WHO_LEARN.values(), ids=WHO_LEARN.keys())
def test_who_learns_keeps_it_on_the_same_sets(make):
    assert regret_grows_slowly in checks_of(make())
    run_check(regret_grows_slowly, make)


def test_units_are_tried_from_one_outwards():
    assert UNITS[0] == 1.0
    assert sorted(UNITS) == [2.0**power for power in range(-48, 49, 3)]
    assert list(UNITS) == sorted(UNITS, key=lambda unit: abs(np.log2(unit)))
