"""Sets of maps, their fixed points and regrets, and TreeSwap with its bound."""

from typing import ClassVar

import naive
import numpy as np
import pytest
from factories import MAKERS, meets, random_behavior, random_tree

import regretkit as rk
from regretkit.circuits import (
    FiniteDeviations,
    LinearDeviations,
    PhiRegret,
    StochasticMatrices,
    TreeSwap,
    TriggerDeviations,
    constant_maps,
    internal_maps,
)
from regretkit.evaluation import RegretLedger

SEEDS = pytest.mark.parametrize("seed", range(6))
MATRICES = np.random.default_rng(0).dirichlet(np.ones(5), size=(7, 5))
MAPS = {
    "constant": lambda tree: constant_maps(4),
    "internal": lambda tree: internal_maps(3),
    "stochastic": lambda tree: StochasticMatrices(4),
    "stochastic, in blocks": lambda tree: StochasticMatrices([2, 3, 1, 2]),
    "finite": lambda tree: FiniteDeviations(MATRICES),
    "triggers": TriggerDeviations,
    "coarse triggers": lambda tree: TriggerDeviations(tree, coarse=True),
    "linear": LinearDeviations,
}
NAIVE = {
    "constant": naive.external_regret,
    "internal": naive.internal_regret,
    "stochastic": naive.swap_regret,
}
each_set = pytest.mark.parametrize("make", MAPS.values(), ids=MAPS)


def random_map(maps, generator, kind):
    """Return the coefficients of a map; some kinds are nearly reducible, or have a tiny leak."""
    if kind == "pure":
        directions = generator.normal(size=maps.coefficients.dimension)
        return maps.coefficients.best_response(directions)[1]
    on_simplices = isinstance(maps.coefficients, rk.Simplices)
    simplices = maps.coefficients if on_simplices else maps.coefficients.simplices
    behavior = generator.random(simplices.dimension)
    if kind == "sparse":
        behavior *= generator.random(simplices.dimension) < 0.4
    elif kind == "leaking":
        behavior *= 10.0 ** -(12.0 * generator.integers(0, 2, size=behavior.size))
    elif kind != "plain":
        behavior = 10.0 ** (-kind * behavior) * (generator.random(behavior.size) < 0.8)
    behavior = simplices.normalize(behavior)
    return behavior if on_simplices else maps.coefficients.sequence_form(behavior)


@pytest.mark.deep_beyond(42)
@SEEDS
@pytest.mark.parametrize("kind", ["plain", "pure", "sparse", "leaking", 30.0, 300.0])
@each_set
def test_a_map_keeps_its_set_earns_linearly_and_has_a_fixed_point(make, kind, seed):
    generator = np.random.default_rng(seed)
    for _ in range(3):
        maps = make(random_tree(generator, points=int(generator.integers(1, 8))))
        coefficients = random_map(maps, generator, kind)
        tree = maps.domain if isinstance(maps.domain, rk.DecisionTree) else None
        point = random_behavior(generator, tree.simplices if tree else maps.domain)
        point = tree.sequence_form(point) if tree else point
        utility = generator.normal(size=point.size)

        moved, fixed = maps.apply(coefficients, point), maps.fixed_point(coefficients)

        assert maps.domain.contains(moved, atol=1e-14)
        assert maps.utility(utility, point) @ coefficients == pytest.approx(
            utility @ moved, abs=1e-11
        )
        close = 1e-15 * max(fixed.size, 10)
        assert maps.domain.contains(fixed, atol=close)
        np.testing.assert_allclose(maps.apply(coefficients, fixed), fixed, rtol=0.0, atol=close)


@pytest.mark.deep_beyond(21)
@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("kind", MAPS)
def test_regret_against_maps_is_what_the_best_of_them_would_have_earned_more(kind, name):
    # A ledger's own sums know nothing of coefficients.
    maps = MAPS[kind](random_tree(np.random.default_rng(11), points=5))
    local, coefficients = MAKERS[name], maps.coefficients
    flat = isinstance(coefficients, rk.Simplices)
    player = PhiRegret(local(coefficients) if flat else rk.CFR(coefficients, local), maps)
    ledger = RegretLedger(player, strict=True)
    gains, earned, history = np.zeros(coefficients.dimension), 0.0, []

    for x, u in meets(player, seed=3, iterations=30):
        history.append((x.tolist(), u.tolist()))
        gains += maps.utility(u, x)
        earned += u @ x

    best = coefficients.best_response(gains)[0] - earned
    assert maps.regret(ledger.tracker(player)) == pytest.approx(best, rel=1e-8, abs=1e-8)
    assert ledger.external(player.minimizer) == pytest.approx(best, rel=1e-8, abs=1e-8)
    if kind in NAIVE:
        assert NAIVE[kind](history) == pytest.approx(best, rel=1e-8, abs=1e-8)


class Listening(rk.RegretMinimizer):
    """Writes down what it is shown, and always plays the same point."""

    heard: ClassVar = {}

    def __init__(self, name):
        self.name = name
        self.domain = rk.Simplices(2)

    def _propose(self):
        return np.array([0.5, 0.5])

    def _learn(self, utility, strategy):
        Listening.heard.setdefault(self.name, []).append(utility.tolist())


def test_layer_k_learns_the_mean_of_m_to_the_k_utilities():
    Listening.heard = {}
    names = iter(range(3))
    player = TreeSwap(lambda: Listening(next(names)), layers=3, branching=2)

    utilities = np.arange(16.0).reshape(8, 2)
    for utility in utilities:
        player.observe_utility(utility)

    for k in range(3):
        means = utilities.reshape(-1, 2**k, 2).mean(axis=1)
        np.testing.assert_allclose(Listening.heard[k], means)


def regrets_of_periods(utilities, branching, layer, rule, actions):
    """Return what a layer's regrets add up to, and that of what it has not yet learned."""
    size, period = branching**layer, branching ** (layer + 1)
    total, rest = 0.0, 0.0
    for start in range(0, len(utilities), period):
        minimizer, history = rule(actions), []
        for first in range(start, min(start + period, len(utilities)), size):
            block = utilities[first : first + size]
            pair = (minimizer.next_strategy(), block.sum(axis=0) / size)
            if len(block) == size:
                history.append(pair)
                minimizer.observe_utility(pair[1])
            else:
                rest += size * naive.external_regret([pair])
        total += naive.external_regret(history) if history else 0.0
    return total, rest


RULES = [rk.RegretMatching, rk.PredictiveRegretMatchingPlus]


@pytest.mark.deep_beyond(4)
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("layers", "branching"), [(1, 3), (2, 4), (3, 2), (4, 3)])
def test_the_ledger_knows_the_theorem_in_the_middle_of_every_period(rule, layers, branching):
    player = TreeSwap(lambda: rule(3), layers=layers, branching=branching)
    ledger = RegretLedger(player, strict=True)
    utilities = np.random.default_rng(layers).normal([0.5, 0.0, -0.5], size=(50, 3))
    strategies = []

    for t, utility in enumerate(utilities, start=1):
        strategies.append(player.next_strategy())
        player.observe_utility(utility)
        seen = utilities[:t]
        bound = (seen.max(axis=1) - seen.min(axis=1)).sum()
        for layer in range(layers - 1):
            regrets, rest = regrets_of_periods(seen, branching, layer, rule, 3)
            bound += branching**layer * regrets + rest
        proven = ledger.regret_bounds()["top"]
        assert proven.bound == pytest.approx(bound / layers, abs=1e-9)
    history = list(zip(strategies, utilities, strict=True))
    assert proven.regret == pytest.approx(naive.swap_regret(history), abs=1e-9)


@pytest.mark.parametrize("begins", range(10))
def test_the_ledger_says_nothing_where_it_began_within_what_a_layer_learns_from(begins):
    player = TreeSwap(lambda: rk.RegretMatching(2), layers=3, branching=2)
    for _ in range(begins):
        player.observe_utility([1.0, 0.0])
    ledger = RegretLedger(player, strict=True)
    for utility in np.random.default_rng(begins).normal(size=(20, 2)):
        player.observe_utility(utility)

    assert ("top" in ledger.regret_bounds()) == (begins % 4 == 0)
