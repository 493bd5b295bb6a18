"""Optimal correlated equilibria of trees: next to other programs, all joint plans, and learned."""

import itertools

import naive_optima
import numpy as np
import pytest
from naive_correlation import information_sets
from naive_exact import with_payoffs
from naive_games import chance, decision, end, random_game, random_profile
from refusals import refusals

import regretkit as rk
from regretkit.evaluation import (
    CorrelatedPlay,
    MediatorGame,
    best_correlated_equilibrium,
    best_extensive_form_correlated_equilibrium,
    maxmin,
    team_maxmin,
)
from regretkit.games import (
    ExtensiveFormGame,
    NormalFormGame,
    as_history,
    battleship,
    chicken,
    goofspiel,
    kuhn_poker,
    sheriff,
    signalling,
)

CONCEPTS = "nfcce", "efcce", "efce"
best = best_extensive_form_correlated_equilibrium
from_root = ExtensiveFormGame.from_history
each_concept = pytest.mark.parametrize("concept", CONCEPTS)


def ships(width, shots):
    return battleship(1, width, shots=shots, loss_multiplier=2.0)


def points(players=2):
    return goofspiel(3, players=players, returns="total_points")


def drawn_game(seed, players=2):
    return from_root(random_game(np.random.default_rng(seed), players, depth=4))


def random_point(domain, generator):
    weights = domain.simplices.normalize(generator.exponential(size=domain.dimension - 1))
    return domain.sequence_form(weights)


# Numbers of three linear programs that are not this one, on three other spaces of plans
KNOWN = [
    (signalling, "welfare", (None, 10, 10)),
    (signalling, 1, (None, None, 13 / 2)),
    (lambda: sheriff(2, 1, 1), "welfare", (70 / 13, 235 / 93, 10 / 7)),
    (lambda: ships(3, 2), "welfare", (0, -13 / 18, -13 / 18)),
    (lambda: ships(2, 1), "welfare", (0, -3 / 4, -3 / 4)),
    (points, [-1, -1], (-231 / 65, -231 / 65, -471464 / 131253)),
    (lambda: from_root(as_history(chicken())), [-1, -1], (-36 / 5, -36 / 5, -36 / 5)),
    (kuhn_poker, 0, (-1 / 18, -1 / 18, -1 / 18)),
]
LARGE = [
    (lambda: sheriff(10, 2, 2), "welfare", (150 / 11, 220 / 23, 935 / 103)),
    (lambda: points(3), [-1, -1, -1], (-2.09334353481, -2.34373113302, -2.38836381490)),
    (lambda: kuhn_poker(players=3), 0, (-0.0182403433476, -0.0199037056143, -1 / 48)),
]
KNOWN += [pytest.param(*row, marks=pytest.mark.deep) for row in LARGE]


@pytest.mark.parametrize(("make", "objective", "values"), KNOWN)
def test_the_optima_of_the_literature_and_of_other_programs(make, objective, values):
    game = make()
    for concept, value in zip(CONCEPTS, values, strict=True):
        if value is not None:
            found = best(game, objective, concept=concept)
            assert found.value == pytest.approx(value, abs=1e-9)
            assert abs(found.bound - found.value) <= 1e-9
            assert found.gap <= 1e-9


@pytest.mark.parametrize("shape", [(2, 3), (3, 2, 2)])
def test_in_one_move_they_are_the_equilibria_of_the_normal_form(shape):
    generator = np.random.default_rng(sum(shape))
    game = NormalFormGame(generator.normal(size=(len(shape), *shape)))
    weights, tree = generator.normal(size=len(shape)), from_root(as_history(game))
    coarse = best_correlated_equilibrium(game, weights, coarse=True).value
    correlated = best_correlated_equilibrium(game, weights).value
    for concept, value in zip(CONCEPTS, [coarse, coarse, correlated], strict=True):
        assert best(tree, weights, concept=concept).value == pytest.approx(value, abs=1e-8)


def small_games(players, count, maximum=200):
    """Yield random games with chance that have few joint plans."""
    seeds = itertools.count()
    while count:
        root = random_game(np.random.default_rng(next(seeds)), players, depth=players + 1)
        sets = [information_sets(root, player) for player in range(players)]
        joint = np.prod([float(len(acts)) for own in sets for acts, _ in own.values()])
        if 8 <= joint <= maximum and sum(map(len, sets)) >= players + 1:
            yield root
            count -= 1


@pytest.mark.parametrize(
    ("players", "count"),
    [(2, 3), (3, 2), *(pytest.param(n, 60, marks=pytest.mark.deep) for n in (2, 3, 4))],
)
def test_the_optimum_is_that_over_all_joint_plans(players, count):
    generator = np.random.default_rng(players)
    for root in small_games(players, count):
        game, weights = from_root(root), generator.normal(size=players)
        for concept in CONCEPTS:
            found = best(game, weights, concept=concept)
            over_plans = naive_optima.best_over_plans(root, players, weights, concept)
            assert found.value == pytest.approx(over_plans, abs=1e-8)
            assert abs(found.bound - found.value) <= 1e-9
            assert max(naive_optima.gaps(game, found.plan.probability, concept)) <= 1e-9
            # And the plan pays what the equilibrium says.
            reach = [found.plan.probability(z) for z in game.sequences.T.tolist()]
            np.testing.assert_allclose(game.payoffs @ reach, found.payoffs, atol=1e-12)


@pytest.mark.parametrize("players", [2, 3])
def test_gaps_of_independent_play_are_those_that_a_run_measures(players):
    game = drawn_game(8, players)
    profile, behavior = random_profile(np.random.default_rng(8), game)
    play = CorrelatedPlay(game, ["efce", "efcce"])
    play.add(profile)
    for concept, name in zip(CONCEPTS, ["cce", "efcce", "efce"], strict=True):
        mediator = MediatorGame(game, concept=concept, penalty=1.0)
        rest = [domain.relative_interior_point() for domain in mediator.domains]
        # Whose plan draws at each information set by itself
        sets = mediator.equilibrium(rest).plan._dag.information_sets.T.tolist()
        drawn = [behavior[player, game.tree.labels[player][number]] for player, number in sets]
        independent = mediator.domains[0].sequence_form(np.concatenate(drawn))
        found = mediator.equilibrium([independent, *rest[1:]])
        np.testing.assert_allclose(found.gaps, play.gaps(name), rtol=0.0, atol=1e-12)
        np.testing.assert_allclose(found.payoffs, game.value(profile), rtol=0.0, atol=1e-12)
        for last in game.sequences.T.tolist():
            reach = np.prod([x[s] for x, s in zip(profile, last, strict=True)])
            assert found.plan.probability(last) == pytest.approx(reach, abs=1e-12)


@each_concept
def test_draws_of_a_plan_have_its_probabilities_which_add_up(concept):
    game = drawn_game(3)
    plan, generator = best(game, concept=concept).plan, np.random.default_rng(1)
    draws = [plan.draw(generator) for _ in range(300)]
    assert all(d.contains(x) for draw in draws for d, x in zip(game.domains, draw, strict=True))
    assert {x for draw in draws for vector in draw for x in vector.tolist()} == {0.0, 1.0}
    counted = sum(np.outer(*draw) for draw in draws) / len(draws)
    exact = np.zeros_like(counted)
    for pair in np.ndindex(exact.shape):
        exact[pair] = plan.probability(pair)
    # Five standard deviations of each share, or one draw where hardly any is expected
    spread = np.sqrt(exact * (1 - exact) / len(draws))
    assert (np.abs(counted - exact) <= 5 * spread + 1 / len(draws)).all()
    for domain, part in zip(game.domains, (exact, exact.T), strict=True):
        for column in part.T:
            flow = domain.simplices.sum(column[1:]) - domain.reach(column)
            np.testing.assert_allclose(flow, 0.0, rtol=0.0, atol=1e-12)


@pytest.mark.parametrize(("factor", "offset"), [(2.0**60, 0.0), (2.0**-60, 0.0), (1.0, 2.0**20)])
def test_payoffs_of_any_size_and_offset(factor, offset):
    game = drawn_game(4)
    found = best(with_payoffs(game, game.tree.payoffs * factor + offset), 0)
    accuracy = 1e-9 * max(factor, abs(offset))
    assert found.value == pytest.approx(best(game, 0).value * factor + offset, abs=accuracy)
    assert abs(found.bound - found.value) <= accuracy


@each_concept
def test_edge_cases(concept):
    coin = chance([0.5, 0.5], heads=end(1.0), tails=end(4.0))
    stop = decision(0, "second", stay=end(2.0), leave=end(0.0))
    alone = best(from_root(decision(0, "first", flip=coin, stop=stop)), concept=concept)
    assert alone.value == pytest.approx(2.5, abs=1e-12)
    assert alone.plan.probability([1]) == pytest.approx(1.0, abs=1e-12)
    # A player without decisions has no say.
    game = from_root(decision(1, "only", give=end(3.0, 1.0), keep=end(0.0, 2.0)))
    found = best(game, 0, concept=concept)
    np.testing.assert_allclose(found.payoffs, [0.0, 2.0], rtol=0.0, atol=1e-12)
    assert found.plan.draw(1)[0].tolist() == [1.0]
    # What chance never does does not matter.
    for never in (9.0, 9.0), (-9.0, 1.0):
        left = decision(0, "left", up=end(1.0, 0.0), down=end(0.0, 2.0))
        there = decision(1, "never", give=end(*never), take=end(0.0, 0.0))
        game = from_root(chance([1.0, 0.0], happens=left, never=there))
        assert best(game, concept=concept).value == pytest.approx(1.0, abs=1e-12)


# Teams


def test_a_team_of_one_is_a_player():
    for opponent in (0, 1):
        found, level = team_maxmin(kuhn_poker(), opponent), maxmin(kuhn_poker(), 1 - opponent)
        assert found.value == pytest.approx(level.value, abs=1e-9)
        assert abs(found.gap) <= 1e-9


@pytest.mark.parametrize("opponent", [0, 1, 2])
def test_a_team_guarantees_what_all_its_joint_plans_do(opponent):
    for root in small_games(3, count=2):
        found = team_maxmin(from_root(root), opponent)
        assert found.value == pytest.approx(naive_optima.team_value(root, 3, opponent), abs=1e-9)
        assert abs(found.gap) <= 1e-9
        assert found.plan.players == tuple({0, 1, 2} - {opponent})
        assert len(found.plan.draw(1)) == 2


# A mediator learns them


@each_concept
def test_utilities_of_the_mediator_game_are_the_gradients_of_payoffs(concept):
    generator = np.random.default_rng(1)
    mediator = MediatorGame(drawn_game(5, 3), [1.0, -2.0, 0.5], concept=concept, penalty=3.0)
    profile = [random_point(domain, generator) for domain in mediator.domains]
    values = mediator.value(profile)
    for player, payer in np.ndindex(values.size, values.size):
        utility = mediator.utility(player, profile, payoff_of=payer)
        assert utility @ profile[player] == pytest.approx(values[payer], abs=1e-12)
        changed = [*profile]
        changed[player] = random_point(mediator.domains[player], generator)
        moved = mediator.value(changed)[payer]
        assert utility @ changed[player] == pytest.approx(moved, abs=1e-12)


def test_every_bound_of_the_mediator_game_is_one():
    generator, weights = np.random.default_rng(2), [1.0, -2.0, 0.5]
    mediator = MediatorGame(drawn_game(6, 3), weights, penalty=3.0)
    optimum = best(mediator.game, weights).value
    for _ in range(5):
        profile = [random_point(domain, generator) for domain in mediator.domains]
        found = mediator.equilibrium(profile)
        assert found.bound >= optimum - 1e-9
        assert found.value == pytest.approx(np.dot(weights, found.payoffs), abs=1e-12)
        # NashConv is the distance of the bounds.
        values = mediator.value(profile)
        minimum = values[0] - sum(
            domain.best_response(mediator.utility(i, profile))[0] - values[i]
            for i, domain in enumerate(mediator.domains)
            if i
        )
        gap = rk.nash_conv(mediator, profile)
        assert gap == pytest.approx(found.bound - minimum, abs=1e-12)


def test_a_price_that_is_too_low_leaves_gains():
    low = MediatorGame(sheriff(2, 1, 1), penalty=2.0)
    found = low.equilibrium(rk.solve(low, "pdcfr+", iterations=50).average)
    assert found.gap > 0.1
    assert found.bound > 10 / 7 + 0.1


CASES = [
    (lambda: ships(3, 2), "nfcce", 10.0, 0.0, 50),
    (lambda: sheriff(2, 1, 1), "efce", 20.0, 10 / 7, 2_000),
    (lambda: sheriff(2, 1, 1), "efcce", 25.0, 235 / 93, 5_000),
    (lambda: ships(3, 2), "efce", 40.0, -13 / 18, 4_000),
    (sheriff, "nfcce", 30.0, 150 / 11, 4_000),
    (sheriff, "efce", 110.0, 935 / 103, 6_000),
]


@pytest.mark.deep_beyond(1)
@pytest.mark.parametrize(("make", "concept", "penalty", "value", "iterations"), CASES)
def test_learning_finds_the_optimum(make, concept, penalty, value, iterations):
    mediator = MediatorGame(make(), concept=concept, penalty=penalty)
    found = mediator.equilibrium(rk.solve(mediator, "pdcfr+", iterations=iterations).average)
    assert found.value == pytest.approx(value, abs=1e-4)
    assert value - 1e-9 <= found.bound
    assert found.gap <= 1e-4


KUHN = kuhn_poker()

test_bad_input_is_refused = refusals(
    (lambda: best(chicken()), TypeError, "must be an ExtensiveFormGame, .*best_correlated"),
    (lambda: best(KUHN, concept="ce"), ValueError, "concept must be 'efce', 'efcce' or 'nfcce'"),
    (
        lambda: best(kuhn_poker(players=3), memory_limit=1e6),
        MemoryError,
        "sequences of correlated plans",
    ),
    (lambda: team_maxmin(KUHN, 2), ValueError, "opponent must be one of 0 to 1"),
    (lambda: best(KUHN).plan.probability([0]), ValueError, "sequences must be one for each of"),
    (lambda: MediatorGame(KUHN, penalty=-1.0), ValueError, "penalty must be"),
    (lambda: MediatorGame(KUHN, "none", penalty=1.0), ValueError, "objective must be"),
)
