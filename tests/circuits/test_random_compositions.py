"""Circuits of random parts, up to five levels deep, pass every check and keep every bound."""

import inspect
from functools import partial

import numpy as np
import pytest
from factories import parts_of
from test_contract import classes
from test_invariances import RULES as OVER_SIMPLICES

import regretkit as rk
from regretkit import circuits as c
from regretkit import minimizers as m
from regretkit.checks import CHECKS, check_minimizer, checks_of
from regretkit.circuits._base import Circuit
from regretkit.evaluation import RegretLedger
from regretkit.sets import Ball, Box, as_simplices

# Every rule over simplices, once or more; each is called with simplices, or with a number.
RULES = [make for name, make in OVER_SIMPLICES.items() if "mmd" not in name]
RULES += [
    m.contrib.IREGPredictiveRegretMatchingPlus,
    partial(m.ReflectedMirrorDescent, regularizer=m.Euclidean(), rate=0.3),
    partial(m.MagneticMirrorDescent, rate=0.3, temperature=0.0),
]
# These two promise no small regret.
RECKLESS = [
    partial(m.MagneticMirrorDescent, rate=0.3, temperature=0.2, optimistic=True),
    lambda simplices: rk.BestResponse(as_simplices(simplices)),
]


class Lot:
    """Draws numbers, and rules from a deck that is shuffled again when it is used up."""

    def __init__(self, seed, promising):
        self.numbers = np.random.default_rng(seed)
        self.promising = promising
        self.deck = []

    def rule(self):
        if not self.deck:
            rules = RULES if self.promising else [*RULES, *RECKLESS]
            self.deck = [rules[number] for number in self.numbers.permutation(len(rules))]
        return self.deck.pop()

    def pick(self, *choices):
        return choices[int(self.numbers.integers(len(choices)))]

    def upto(self, maximum):
        return int(self.numbers.integers(maximum + 1))

    def again(self, make, depth):
        """Return a factory that makes the same at each call with the same actions."""
        seed = self.numbers.integers(2**32)
        return lambda actions: make(Lot(seed, self.promising), depth, actions)


# Leaves on a random set


def anything(lot, dimension):
    """Return a leaf of this dimension, on a random set."""
    center, radius = 0.5 * lot.numbers.normal(size=dimension), 1.0 + lot.numbers.random()
    domain = lot.pick(Ball(center, radius), Box(center - radius, center + radius))
    choices = [
        partial(lot.rule(), dimension),
        partial(m.OnlineGradientDescent, domain, rate=0.3, optimistic=lot.pick(True, False)),
        partial(m.ConicBlackwell, domain, kappa=radius),
        partial(m.ResponseBasedApproachability, domain),
        partial(rk.Point, center),
    ]
    choices += [] if lot.promising else [partial(rk.BestResponse, domain)]
    return lot.pick(*choices)()


def descent(lot, tree):
    return m.DilatedMirrorDescent(
        tree,
        rate=0.3,
        regularizer=lot.pick(m.Entropy(), m.Euclidean(), m.Tsallis()),
        temperature=0.0 if lot.promising else lot.pick(0.0, 0.1),
        optimistic=lot.pick(True, False),
    )


# Circuits: called with a lot, the levels that they are to have, at least 1, and a dimension


def split(lot, total):
    """Return two or more numbers, each at least 1, that add up to ``total``."""
    cuts = np.flatnonzero(lot.numbers.random(total - 1) < 0.5) + 1
    cuts = cuts if cuts.size else np.array([lot.numbers.integers(1, total)])
    return np.diff([0, *cuts, total]).tolist()


def product(lot, depth, dimension):
    sizes = split(lot, dimension)
    order = np.split(lot.numbers.permutation(dimension), np.cumsum(sizes)[:-1])
    depths = [depth - 1, *(lot.upto(min(1, depth - 1)) for _ in sizes[1:])]
    made = [anywhere(lot, part, size) for part, size in zip(depths, sizes, strict=True)]
    return rk.Product(made, order)


def hull(lot, depth, dimension, make=None):
    depths = lot.numbers.permutation([depth - 1, 0, lot.upto(min(1, depth - 1))]).tolist()
    members = [(make or anywhere)(lot, part, dimension) for part in depths[:2]]
    return rk.ConvexHull(members, on_simplex(lot, depths[2], 2))


def image(lot, depth, dimension):
    inner = int(lot.numbers.integers(1, 4))
    matrix = lot.numbers.normal(size=(dimension, inner))
    return c.AffineImage(
        anywhere(lot, depth - 1, inner), matrix, lot.numbers.normal(size=dimension)
    )


def minkowski_sum(lot, depth, dimension):
    return c.MinkowskiSum([anywhere(lot, part, dimension) for part in (depth - 1, 0)])


def on_tree(lot, depth, dimension):
    """Return CFR on a random tree of this dimension, with minimizers as deep at each point."""
    parents, sizes = [], []
    while (missing := dimension - 1 - sum(sizes)) > 0:
        parents.append(int(lot.numbers.integers(0, 1 + sum(sizes))))
        sizes.append(min(missing, int(lot.numbers.integers(1, 4))))
    tree = rk.DecisionTree(parents, sizes)
    if depth == 0:
        return descent(lot, tree)
    if depth == 1:
        make = lot.pick(partial(c.EFR, deviations="csps"), c.linear_swap_regret, rk.CFR)
        return make(tree, local=lot.rule())
    return rk.CFR(tree, rk.PerDecisionPoint(lot.again(on_simplex, depth - 2)))


def swap(lot, depth, actions):
    expert = lot.rule() if depth == 1 else rk.PerDecisionPoint(lot.again(on_simplex, depth - 2))
    return rk.SwapRegret(actions, expert)


def internal(lot, depth, actions, steps=None):
    maps = c.internal_maps(actions) if 1 < actions < 4 else c.constant_maps(actions)
    return rk.PhiRegret(on_simplex(lot, depth - 1, maps.coefficients.dimension), maps, steps)


def constrained(part):
    """Keep the sum of the coordinates below what the middle of the set has, and a little more."""
    ones = np.ones((1, part.dimension))
    bound = ones @ part.domain.relative_interior_point() + 0.1
    return c.Constrained(part, ones, bound, m.OnlineGradientDescent(Box([0.0], [5.0]), rate=0.3))


WRAPPERS = [
    partial(c.Restart, every=7),
    partial(c.Discount, weight=lambda t: float(t)),
    c.LastIterateByAveraging,
    partial(c.ExplorationMixture, gamma=0.1),
    partial(c.Regularized, change=lambda u, x, r: u - 0.1 * (x - r), every=5),
    constrained,
]


def wrapped(lot, depth, dimension, make=None):
    part = (make or anywhere)(lot, depth - 1, dimension)
    return lot.pick(*WRAPPERS)(part)


def layered(lot, depth, dimension, make=None):
    repeated = lot.again(make or anywhere, depth - 2)
    return c.TreeSwap(lambda: repeated(dimension), layers=2, branching=4)


def on_simplex(lot, depth, actions):
    """Return a minimizer on one simplex, of a given number of nested circuits."""
    if depth == 0:
        return lot.rule()(actions)
    kinds = [swap, internal, partial(hull, make=on_simplex)]
    if not lot.promising:
        kinds += [partial(internal, steps=9), partial(wrapped, make=on_simplex)]
        kinds += [partial(layered, make=on_simplex)] if depth > 1 else []
    return lot.pick(*kinds)(lot, depth, actions)


def anywhere(lot, depth, dimension):
    """Return a minimizer of this dimension on a random set, with ``depth`` levels of circuits."""
    if depth == 0 and dimension > 1 and lot.pick(True, False, False):
        return on_tree(lot, 0, dimension)
    if depth == 0:
        return anything(lot, dimension)
    kinds = [hull, image, minkowski_sum, on_simplex]
    kinds += [product, on_tree] if dimension > 1 else []
    if not lot.promising:
        kinds += [wrapped, layered] if depth > 1 else [wrapped]
    return lot.pick(*kinds)(lot, depth, dimension)


# The compositions


def composed(seed, promising=False):
    """Return a circuit of random parts: of parts that promise small regret only, or of any."""
    # With this 7 a few draws meet every part, as tests below ask.
    lot = Lot([7, seed], promising)
    return anywhere(lot, (3, 1, 4, 2, 5, 3)[seed % 6], int(lot.numbers.integers(2, 5)))


OF_ANY, PROMISING = range(36), range(12)
slowly = [pytest.param(seed, marks=pytest.mark.slow) for seed in range(36, 240)]
promising_slowly = [pytest.param(seed, marks=pytest.mark.slow) for seed in range(12, 96)]


def drawn():
    return [composed(seed) for seed in OF_ANY] + [composed(seed, True) for seed in PROMISING]


@pytest.mark.deep_beyond(2)
@pytest.mark.parametrize("seed", [*OF_ANY, *slowly])
def test_a_random_circuit_keeps_every_law(seed):
    check_minimizer(partial(composed, seed))


@pytest.mark.deep_beyond(1)
@pytest.mark.parametrize("seed", [*PROMISING, *promising_slowly])
def test_a_random_circuit_of_parts_that_pass_all_checks_passes_all_checks(seed):
    make = partial(composed, seed, promising=True)

    assert checks_of(make()) == list(CHECKS)
    check_minimizer(make)


@pytest.mark.deep_beyond(10)
@pytest.mark.parametrize("promising", [False, True])
@pytest.mark.parametrize("seed", [*OF_ANY, *slowly])
def test_a_random_circuit_keeps_every_theorem(seed, promising):
    player = composed(seed, promising)
    ledger = RegretLedger(player, strict=True)

    for utility in np.random.default_rng(seed).normal(size=(30, player.dimension)):
        player.observe_utility(utility)

    assert ledger.tracker(player).iterations == 30


# What was drawn, so that the tests above say something


def test_every_circuit_was_drawn():
    met = {type(node) for player in drawn() for node in parts_of(player)}
    library = [cls for cls in classes() if not cls.__module__.endswith("._base")]
    kinds = {cls for cls in library if issubclass(cls, Circuit) and not inspect.isabstract(cls)}
    # SharedStrategy makes several decision points one, which nothing that is drawn has any use for.
    assert kinds - met == {c.SharedStrategy}
