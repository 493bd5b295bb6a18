"""A mediator learns optimal correlated equilibria against deviators."""

import numpy as np
import pytest
from naive_games import random_game
from refusals import refusals

import regretkit as rk
from regretkit.evaluation import MediatorGame, best_extensive_form_correlated_equilibrium
from regretkit.games import ExtensiveFormGame, battleship, kuhn_poker, sheriff


def random_mediator(seed, concept="efce"):
    game = ExtensiveFormGame.from_history(random_game(np.random.default_rng(seed), 3, depth=4))
    return MediatorGame(game, [1.0, -2.0, 0.5], concept=concept, penalty=3.0)


def random_point(domain, generator):
    weights = domain.simplices.normalize(generator.exponential(size=domain.dimension - 1))
    return domain.sequence_form(weights)


@pytest.mark.parametrize("concept", ["nfcce", "efcce", "efce"])
def test_utilities_are_the_gradients_of_payoffs(concept):
    generator, mediator = np.random.default_rng(1), random_mediator(5, concept)
    profile = [random_point(domain, generator) for domain in mediator.domains]
    values = mediator.value(profile)
    for player, payer in np.ndindex(values.size, values.size):
        utility = mediator.utility(player, profile, payoff_of=payer)
        assert utility @ profile[player] == pytest.approx(values[payer], abs=1e-12)
        changed = [*profile]
        changed[player] = random_point(mediator.domains[player], generator)
        moved = mediator.value(changed)[payer]
        assert utility @ changed[player] == pytest.approx(moved, abs=1e-12)


def test_every_bound_is_one():
    generator, mediator = np.random.default_rng(2), random_mediator(6)
    best = best_extensive_form_correlated_equilibrium(mediator.game, [1.0, -2.0, 0.5])
    for _ in range(8):
        profile = [random_point(domain, generator) for domain in mediator.domains]
        found = mediator.equilibrium(profile)
        assert found.bound >= best.value - 1e-9
        assert found.value == pytest.approx(np.dot([1.0, -2.0, 0.5], found.payoffs), abs=1e-12)


def test_a_price_that_is_too_low_leaves_gains():
    low = MediatorGame(sheriff(2, 1, 1), penalty=2.0)
    found = low.equilibrium(rk.solve(low, "pdcfr+", iterations=50).average)
    assert found.gap > 0.1
    assert found.bound > 10 / 7 + 0.1


def ships():
    return battleship(1, 3, shots=2, loss_multiplier=2.0)


CASES = [
    (ships, "nfcce", 10.0, 0.0, 50),
    (lambda: sheriff(2, 1, 1), "efce", 20.0, 10 / 7, 2_000),
    (lambda: sheriff(2, 1, 1), "nfcce", 10.0, 70 / 13, 1_000),
    (lambda: sheriff(2, 1, 1), "efcce", 25.0, 235 / 93, 5_000),
    (ships, "efce", 40.0, -13 / 18, 4_000),
    (sheriff, "nfcce", 30.0, 150 / 11, 4_000),
    (sheriff, "efcce", 30.0, 220 / 23, 5_000),
    (sheriff, "efce", 110.0, 935 / 103, 6_000),
    (ships, "efcce", 40.0, -13 / 18, 20_000),
]


@pytest.mark.deep_beyond(1)
@pytest.mark.parametrize(("make", "concept", "penalty", "value", "iterations"), CASES)
def test_learning_finds_the_optimum(make, concept, penalty, value, iterations):
    mediator = MediatorGame(make(), concept=concept, penalty=penalty)
    algorithm = "pdcfr+" if iterations < 10_000 else "dcfr"
    found = mediator.equilibrium(rk.solve(mediator, algorithm, iterations=iterations).average)
    assert found.value == pytest.approx(value, abs=1e-4)
    assert value - 1e-9 <= found.bound
    assert found.gap <= 1e-4


def test_nash_conv_is_the_distance_of_the_bounds():
    mediator = MediatorGame(kuhn_poker(), 0, penalty=2.0)
    profile = rk.solve(mediator, "cfr+", iterations=20).average
    minimum = mediator.value(profile)[0] - sum(
        domain.best_response(mediator.utility(i, profile))[0] - mediator.value(profile)[i]
        for i, domain in enumerate(mediator.domains)
        if i
    )
    bound = mediator.equilibrium(profile).bound
    assert rk.nash_conv(mediator, profile) == pytest.approx(bound - minimum, abs=1e-12)


test_refused = refusals(
    (lambda: MediatorGame(rk.games.chicken(), penalty=1.0), TypeError, "must be an Extensive"),
    (lambda: MediatorGame(kuhn_poker(), penalty=-1.0), ValueError, "penalty must be"),
    (lambda: MediatorGame(kuhn_poker(), "none", penalty=1.0), ValueError, "objective must be"),
    (lambda: MediatorGame(kuhn_poker(), concept="ce", penalty=1.0), ValueError, "concept must be"),
    (
        lambda: MediatorGame(kuhn_poker(), penalty=1.0).utility(3, []),
        ValueError,
        "player must be one of 0 to 2",
    ),
)
