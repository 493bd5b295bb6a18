"""Optimal correlated equilibria of trees."""

import itertools

import naive_optima
import numpy as np
import pytest
from naive_correlation import information_sets
from naive_exact import with_payoffs
from naive_games import chance, decision, end, random_game, random_profile
from refusals import refusals

from regretkit.evaluation import (
    CorrelatedPlay,
    MediatorGame,
    best_coarse_correlated_equilibrium,
    best_correlated_equilibrium,
    best_extensive_form_correlated_equilibrium,
    maxmin,
    team_maxmin,
)
from regretkit.games import (
    ExtensiveFormGame,
    NormalFormGame,
    battleship,
    chicken,
    goofspiel,
    kuhn_poker,
    prisoners_dilemma,
    read_efg,
    sheriff,
    signalling,
)

CONCEPTS = "nfcce", "efcce", "efce"
best = best_extensive_form_correlated_equilibrium


def ships(height, width, shots):
    return battleship(height, width, shots=shots, loss_multiplier=2.0)


def points(players=2):
    return goofspiel(3, players=players, returns="total_points")


# The numbers of three linear programs that are not this one, on three other spaces of plans.
KNOWN = [
    (signalling, "welfare", (None, 10, 10)),
    (signalling, 1, (None, None, 13 / 2)),
    (lambda: sheriff(2, 1, 1), "welfare", (70 / 13, 235 / 93, 10 / 7)),
    (lambda: sheriff(10, 2, 2), "welfare", (150 / 11, 220 / 23, 935 / 103)),
    (lambda: ships(1, 3, 2), "welfare", (0, -13 / 18, -13 / 18)),
    (lambda: ships(1, 2, 1), "welfare", (0, -3 / 4, -3 / 4)),
    (points, [-1, -1], (-231 / 65, -231 / 65, -471464 / 131253)),
    (points, "welfare", (6, 6, 6)),
    (
        lambda: points(3),
        [-1, -1, -1],
        (-2.09334353481, -2.34373113302, -2.38836381490),
    ),
    pytest.param(
        lambda: kuhn_poker(players=3),
        0,
        (-0.0182403433476, -0.0199037056143, -1 / 48),
        marks=pytest.mark.deep,
    ),
]


@pytest.mark.parametrize(("make", "objective", "values"), KNOWN)
def test_the_optima_of_the_literature_and_of_other_programs(make, objective, values):
    game = make()
    for concept, value in zip(CONCEPTS, values, strict=True):
        if value is not None:
            found = best(game, objective, concept=concept)
            assert found.value == pytest.approx(value, abs=1e-9)
            assert abs(found.bound - found.value) <= 1e-9
            assert found.gap <= 1e-9


@pytest.mark.parametrize(
    ("make", "payoffs"),
    [
        (lambda: sheriff(10, 2, 2), (748 / 103, 187 / 103)),
        (lambda: ships(1, 3, 2), (-1 / 9, -11 / 18)),
    ],
)
def test_payoffs_in_the_equilibrium_of_the_largest_welfare(make, payoffs):
    np.testing.assert_allclose(best(make()).payoffs, payoffs, rtol=0.0, atol=1e-9)


def test_how_often_no_ship_sinks_in_the_equilibrium_of_the_largest_welfare():
    game = ships(1, 3, 2)
    plan = best(game).plan
    peaceful = game.sequences[:, (game.payoffs == 0.0).all(axis=0)]
    share = sum(map(plan.probability, peaceful.T.tolist()))
    assert share == pytest.approx(5 / 18, abs=1e-9)


def as_tree(game):
    """Return a normal form as a tree in which no player sees what others do."""

    def grow(outcome):
        player = len(outcome)
        if player == game.players:
            return end(*game.payoffs[(slice(None), *outcome)].tolist())
        actions = range(game.payoffs.shape[1 + player])
        children = {f"{action}": grow((*outcome, action)) for action in actions}
        return decision(player, f"player {player}", **children)

    return ExtensiveFormGame.from_history(grow(()))


@pytest.mark.parametrize("shape", [(2, 3), (3, 2, 2), (4, 4)])
def test_in_one_move_they_are_the_equilibria_of_the_normal_form(shape):
    generator = np.random.default_rng(sum(shape))
    for _ in range(5):
        game = NormalFormGame(generator.normal(size=(len(shape), *shape)))
        weights = generator.normal(size=len(shape))
        correlated = best_correlated_equilibrium(game, weights)
        coarse = best_coarse_correlated_equilibrium(game, weights)
        tree = as_tree(game)
        wanted = dict.fromkeys(CONCEPTS, coarse.value) | {"efce": correlated.value}
        for concept, value in wanted.items():
            assert best(tree, weights, concept=concept).value == pytest.approx(value, abs=1e-8)


def test_chicken_as_a_tree():
    game = as_tree(chicken())
    assert best(game).value == pytest.approx(21 / 2, abs=1e-9)
    assert best(game, [-1, -1]).value == pytest.approx(-36 / 5, abs=1e-9)


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
    [
        (2, 4),
        (3, 4),
        *(
            pytest.param(n, count, marks=pytest.mark.deep)
            for n, count in [(2, 80), (3, 80), (4, 40)]
        ),
    ],
)
def test_the_optimum_is_that_over_all_joint_plans(players, count):
    generator = np.random.default_rng(players)
    for root in small_games(players, count):
        game, weights = ExtensiveFormGame.from_history(root), generator.normal(size=players)
        for concept in CONCEPTS:
            found = best(game, weights, concept=concept)
            over_plans = naive_optima.best_over_plans(root, players, weights, concept)
            assert found.value == pytest.approx(over_plans, abs=1e-8)
            assert abs(found.bound - found.value) <= 1e-9
            assert max(naive_optima.gaps(game, found.plan.probability, concept)) <= 1e-9


@pytest.mark.parametrize("concept", CONCEPTS)
def test_without_chance_relevant_pairs_have_the_same_optimum(concept):
    games = sheriff(2, 1, 1), sheriff(1, 1, 2), ships(1, 3, 2), points(), as_tree(chicken())
    for game in games:
        for weights in [1.0, 1.0], [-1.0, -1.0], [-1.0, -2.0]:
            found = best(game, weights, concept=concept)
            over_pairs = naive_optima.best_over_pairs(game, weights, concept)
            assert found.value == pytest.approx(over_pairs, abs=1e-9)
            assert found.plan.weights.size <= len(naive_optima.relevant_pairs(game))


@pytest.mark.parametrize(
    ("make", "sequences", "pairs"),
    [
        (lambda: sheriff(10, 2, 2), [243, 43], 3_717),
        pytest.param(lambda: ships(2, 2, 3), [741, 917], 35_241, marks=pytest.mark.deep),
    ],
)
def test_the_dag_is_no_larger_than_the_relevant_pairs(make, sequences, pairs):
    game = make()
    assert [domain.dimension for domain in game.domains] == sequences
    assert len(naive_optima.relevant_pairs(game)) == pairs
    assert MediatorGame(game, penalty=1.0).domains[0].dimension <= pairs


@pytest.mark.parametrize("concept", CONCEPTS)
def test_gaps_of_other_plans_are_at_least_those_of_one_trigger(concept):
    generator = np.random.default_rng(7)
    game = ExtensiveFormGame.from_history(random_game(generator, 2, depth=4))
    mediator = MediatorGame(game, concept=concept, penalty=1.0)
    domain = mediator.domains[0]
    behavior = domain.simplices.normalize(generator.exponential(size=domain.dimension - 1))
    rest = [deviator.relative_interior_point() for deviator in mediator.domains[1:]]
    found = mediator.equilibrium([domain.sequence_form(behavior), *rest])
    of_one = np.array(naive_optima.gaps(game, found.plan.probability, concept))
    assert (found.gaps >= of_one - 1e-12).all()
    assert of_one.max() > 0.01
    if concept == "nfcce":
        np.testing.assert_allclose(found.gaps, of_one, rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("players", [2, 3])
def test_gaps_of_independent_play_are_those_that_a_run_measures(players):
    generator = np.random.default_rng(8)
    game = ExtensiveFormGame.from_history(random_game(generator, players, depth=4))
    profile, behavior = random_profile(generator, game)
    play = CorrelatedPlay(game, ["efce", "efcce"])
    play.add(profile)
    measured = play.gaps("cce"), play.gaps("efcce"), play.gaps("efce")
    for concept, gaps in zip(CONCEPTS, measured, strict=True):
        mediator = MediatorGame(game, concept=concept, penalty=1.0)
        # Whose plan draws at each information set by itself
        sets = mediator.equilibrium(rest_of(mediator)).plan._dag.information_sets.T.tolist()
        drawn = [behavior[player, game.tree.labels[player][number]] for player, number in sets]
        independent = mediator.domains[0].sequence_form(np.concatenate(drawn))
        found = mediator.equilibrium([independent, *rest_of(mediator)[1:]])
        np.testing.assert_allclose(found.gaps, gaps, rtol=0.0, atol=1e-12)
        np.testing.assert_allclose(found.payoffs, game.value(profile), rtol=0.0, atol=1e-12)
        for last in game.sequences.T.tolist():
            reach = np.prod([x[s] for x, s in zip(profile, last, strict=True)])
            assert found.plan.probability(last) == pytest.approx(reach, abs=1e-12)


def rest_of(mediator):
    return [domain.relative_interior_point() for domain in mediator.domains]


# Plans


@pytest.mark.parametrize("concept", CONCEPTS)
def test_draws_of_a_plan_have_its_probabilities(concept):
    game = ExtensiveFormGame.from_history(random_game(np.random.default_rng(3), 2, depth=4))
    plan, generator = best(game, concept=concept).plan, np.random.default_rng(1)
    draws = [plan.draw(generator) for _ in range(2_000)]
    assert all(d.contains(x) for draw in draws for d, x in zip(game.domains, draw, strict=True))
    assert {x for draw in draws for vector in draw for x in vector.tolist()} == {0.0, 1.0}
    counted = sum(np.outer(*draw) for draw in draws) / len(draws)
    exact = np.array([[plan.probability(pair) for pair in row] for row in pairs_of(game)])
    # Five standard deviations of each share, or one draw where hardly any is expected
    spread = np.sqrt(exact * (1 - exact) / len(draws))
    assert (np.abs(counted - exact) <= 5 * spread + 1 / len(draws)).all()


def pairs_of(game):
    first, second = (range(domain.dimension) for domain in game.domains)
    return [[(s, t) for t in second] for s in first]


def test_probabilities_of_a_plan_add_up_as_those_of_plans_do():
    game = sheriff(2, 1, 1)
    plan = best(game).plan
    table = np.array([[plan.probability(pair) for pair in row] for row in pairs_of(game)])
    assert table[0, 0] == pytest.approx(1.0, abs=1e-12)
    for domain, part in zip(game.domains, (table, table.T), strict=True):
        for column in part.T:
            flow = domain.simplices.sum(column[1:]) - domain.reach(column)
            np.testing.assert_allclose(flow, 0.0, rtol=0.0, atol=1e-12)


def test_a_plan_pays_what_the_equilibrium_says():
    game = ExtensiveFormGame.from_history(random_game(np.random.default_rng(2), 3, depth=5))
    found = best(game, [1.0, -2.0, 0.5])
    reach = [found.plan.probability(z) for z in game.sequences.T.tolist()]
    np.testing.assert_allclose(game.payoffs @ reach, found.payoffs, rtol=0.0, atol=1e-12)
    assert found.value == pytest.approx(np.dot([1.0, -2.0, 0.5], found.payoffs), abs=1e-12)


# What must hold of all optima


def test_in_a_zero_sum_game_each_player_gets_the_value():
    game = kuhn_poker()
    for concept, player in itertools.product(CONCEPTS, (0, 1)):
        found = best(game, player, concept=concept)
        assert found.payoffs[0] == pytest.approx(-1 / 18, abs=1e-9)


def test_payoffs_of_any_size_and_offset():
    root = random_game(np.random.default_rng(4), 2, depth=4)
    game = ExtensiveFormGame.from_history(root)
    values = best(game, 0).value
    for factor, offset in (2.0**60, 0.0), (2.0**-60, 0.0), (1.0, 2.0**20), (2.0**40, 2.0**60):
        tree = with_payoffs(game, game.tree.payoffs * factor + offset)
        found = best(tree, 0)
        scale = max(factor, abs(offset))
        assert found.value == pytest.approx(values * factor + offset, abs=1e-9 * scale)
        assert abs(found.bound - found.value) <= 1e-9 * scale


# Edge cases


from_root = ExtensiveFormGame.from_history


def test_one_player_gets_the_most_that_it_can():
    coin = chance([0.5, 0.5], heads=end(1.0), tails=end(4.0))
    stop = decision(0, "second", stay=end(2.0), leave=end(0.0))
    game = from_root(decision(0, "first", flip=coin, stop=stop))
    for concept in CONCEPTS:
        found = best(game, concept=concept)
        assert found.value == pytest.approx(2.5, abs=1e-12)
        assert found.plan.probability([1]) == pytest.approx(1.0, abs=1e-12)


def test_a_player_without_decisions_has_no_say():
    game = from_root(decision(1, "only", give=end(3.0, 1.0), keep=end(0.0, 2.0)))
    for concept in CONCEPTS:
        found = best(game, 0, concept=concept)
        np.testing.assert_allclose(found.payoffs, [0.0, 2.0], rtol=0.0, atol=1e-12)
        assert found.gaps[0] == 0.0
        assert found.plan.draw(1)[0].tolist() == [1.0]
    assert team_maxmin(game, opponent=1).value == pytest.approx(0.0, abs=1e-12)


def test_a_game_of_chance_alone():
    found = best(from_root(chance([0.25, 0.75], a=end(4.0, 0.0), b=end(0.0, 4.0))))
    assert found.value == found.bound == 4.0
    np.testing.assert_allclose(found.payoffs, [1.0, 3.0])


def test_equal_payoffs_make_everything_an_equilibrium():
    game = with_payoffs(kuhn_poker(), np.ones((30, 2)))
    for concept in CONCEPTS:
        found = best(game, concept=concept)
        assert found.value == pytest.approx(2.0, abs=1e-12)
        assert found.gap == 0.0


def test_what_chance_never_does_does_not_matter():
    def game(never):
        left = decision(0, "left", up=end(1.0, 0.0), down=end(0.0, 2.0))
        there = decision(1, "never", give=end(*never), take=end(0.0, 0.0))
        return from_root(chance([1.0, 0.0], happens=left, never=there))

    for concept in CONCEPTS:
        values = [best(game(never), concept=concept).value for never in [(9.0, 9.0), (-9.0, 1.0)]]
        assert values == pytest.approx([1.0, 1.0], abs=1e-12)


# Teams


@pytest.mark.parametrize("opponent", [0, 1])
def test_a_team_of_one_is_a_player(opponent):
    game, level = kuhn_poker(), maxmin(kuhn_poker(), 1 - opponent)
    found = team_maxmin(game, opponent)
    assert found.value == pytest.approx(level.value, abs=1e-9)
    assert abs(found.gap) <= 1e-9


@pytest.mark.parametrize("opponent", [0, 1, 2])
def test_a_team_guarantees_what_all_its_joint_plans_do(opponent):
    for root in small_games(3, count=3):
        found = team_maxmin(from_root(root), opponent)
        assert found.value == pytest.approx(naive_optima.team_value(root, 3, opponent), abs=1e-9)


def test_the_plan_of_a_team_is_for_its_members():
    found = team_maxmin(kuhn_poker(players=3), opponent=1)
    assert abs(found.gap) <= 1e-9
    assert found.plan.players == (0, 2)
    assert [x.size for x in found.plan.draw(1)] == [33, 33]
    assert found.plan.probability([0, 0]) == pytest.approx(1.0)


# Refusals

DRIVER = """EFG 2 R "Absent-minded driver" { "Driver" }
    p "" 1 1 "exit" { "leave" "go on" } 0
    t "" 1 "first" { 0 }
    p "" 1 1 0
    t "" 2 "second" { 4 }
    t "" 3 "missed" { 1 }"""

test_what_has_no_optimum_is_refused = refusals(
    (lambda: best(prisoners_dilemma()), TypeError, "use best_correlated_equilibrium"),
    (lambda: best(read_efg(DRIVER)), ValueError, "imperfect recall: player 0 cannot tell"),
    (lambda: team_maxmin(read_efg(DRIVER), 0), ValueError, "imperfect recall"),
    (lambda: best(sheriff(1, 1, 1), "payoff"), ValueError, "objective must be 'welfare'"),
    (lambda: best(sheriff(1, 1, 1), [1.0, np.nan]), ValueError, "objective"),
    (lambda: best(sheriff(1, 1, 1), 2), ValueError, "player must be one of 0 to 1, got 2"),
    (lambda: best(sheriff(1, 1, 1), concept="ce"), ValueError, "concept must be 'efce'"),
    (
        lambda: best(kuhn_poker(players=3), memory_limit=1e6),
        MemoryError,
        "sequences of correlated plans, which take about .*or learn an equilibrium",
    ),
    (lambda: team_maxmin(kuhn_poker(), 2), ValueError, "opponent must be one of 0 to 1, got 2"),
    (lambda: team_maxmin(chicken(), 0), TypeError, "as_history.* makes one"),
    (lambda: best(sheriff(1, 1, 1)).plan.probability([0]), ValueError, "sequences must have"),
    (lambda: best(sheriff(1, 1, 1)).plan.probability([0, 99]), ValueError, "sequences must have"),
    (lambda: best(sheriff(1, 1, 1)).plan.draw(-1), TypeError, "generator must be"),
)
