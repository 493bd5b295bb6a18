"""Maps of swap regret, their fixed points, and TreeSwap with the bound that it was made for."""

from typing import ClassVar

import naive
import numpy as np
import pytest
from factories import meets, random_behavior

import regretkit as rk
from regretkit.circuits import (
    FiniteDeviations,
    StochasticMatrices,
    TreeSwap,
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
    fixed = maps.fixed_point(coefficients)
    assert maps.domain.contains(fixed)
    np.testing.assert_allclose(maps.apply(coefficients, fixed), fixed, atol=1e-12)


@SEEDS
@pytest.mark.parametrize("maps", MAPS, ids=repr)
def test_regret_against_maps_is_what_the_best_of_them_would_have_earned_more(maps, seed):
    player = rk.RegretMatching(maps.domain)
    tracker = RegretLedger(player).tracker(player)
    gains, earned = np.zeros(maps.coefficients.dimension), 0.0

    for x, u in meets(player, seed):
        gains += maps.utility(u, x)
        earned += u @ x

    best, _ = maps.coefficients.best_response(gains)
    assert maps.regret(tracker) == pytest.approx(best - earned, rel=1e-9, abs=1e-9)


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
