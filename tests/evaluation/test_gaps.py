"""Best responses and gaps: next to brute force, and next to each other."""

import numpy as np
import pytest
from naive_games import best_value, expected_value, pure_strategies, random_game, random_profile
from refusals import refusals

from regretkit import ExtensiveFormGame, NormalFormGame, evaluation, games, matrix_game
from regretkit.evaluation import (
    best_response,
    best_response_gains,
    duality_gap,
    exploitability,
    nash_conv,
    security_value,
)
from regretkit.evaluation import expected_value as value_of
from regretkit.games import Profile

KUHN = games.kuhn_poker()


def uniform(game):
    return [domain.sequence_form(domain.simplices.uniform()) for domain in game.domains]


def small_game(seed, players):
    """Return a random game in which one can list all pure strategies, and its first history."""
    generator = np.random.default_rng(seed)
    while True:
        root = random_game(generator, players, depth=3)
        game = ExtensiveFormGame.from_history(root)
        counts = [np.prod([float(n) for n in domain.sizes]) for domain in game.domains]
        if 100 < max(counts) < 2_000:
            return root, game


# Best responses


@pytest.mark.parametrize("players", [2, 3])
@pytest.mark.parametrize("seed", range(5))
def test_a_best_response_earns_what_it_promises(seed, players):
    generator = np.random.default_rng(seed)
    root = random_game(generator, players)
    game = ExtensiveFormGame.from_history(root)
    profile, behavior = random_profile(generator, game)
    for player in range(players):
        value, strategy = best_response(game, player, profile)
        played = [strategy if i == player else x for i, x in enumerate(profile)]
        assert game.domains[player].contains(strategy)
        assert set(np.unique(strategy)) <= {0.0, 1.0}
        assert value_of(game, played)[player] == pytest.approx(value, abs=1e-13)
        assert value == pytest.approx(best_value([(1.0, root)], player, behavior), abs=1e-13)


def test_of_several_best_responses_the_first_is_taken_and_the_responders_strategy_ignored():
    game = matrix_game([[0.0, 5.0], [2.0, 1.0], [2.0, 1.0]])
    value, strategy = best_response(game, 0, [np.full(3, np.nan), np.array([1.0, 0.0])])
    assert value == 2.0
    np.testing.assert_array_equal(strategy, [0.0, 1.0, 0.0])


# Gaps, by each other


@pytest.mark.parametrize("players", [1, 2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_gaps_are_sums_of_gains_over_players(seed, players):
    generator = np.random.default_rng(seed)
    game = ExtensiveFormGame.from_history(random_game(generator, players))
    profile, _ = random_profile(generator, game)
    best = [best_response(game, i, profile)[0] for i in range(players)]
    expected = np.array(best) - game.value(profile)
    np.testing.assert_allclose(best_response_gains(game, profile), expected, atol=1e-13)
    assert nash_conv(game, profile) == pytest.approx(expected.sum(), abs=1e-12)
    assert exploitability(game, profile) == pytest.approx(expected.sum() / players, abs=1e-12)
    assert (best_response_gains(game, profile) >= -1e-13).all()


def zero_sum_games():
    found = []
    for seed in range(3):
        generator = np.random.default_rng(seed)
        matrix = matrix_game(generator.normal(size=(3, 5)))
        found.append((matrix, [generator.dirichlet(np.ones(n)) for n in (3, 5)]))
        tree = ExtensiveFormGame.from_history(random_game(generator, 2, zero_sum=True))
        found.append((tree, random_profile(generator, tree)[0]))
    return found


@pytest.mark.parametrize(("game", "profile"), zero_sum_games())
def test_in_zero_sum_games_all_gaps_are_one(game, profile):
    gap = nash_conv(game, profile)
    worst = [security_value(game, player, profile[player]) for player in (0, 1)]
    assert gap > 1e-3
    assert duality_gap(game, profile) == pytest.approx(gap, abs=1e-12)
    assert duality_gap(game, profile, payoff_of=1) == pytest.approx(gap, abs=1e-12)
    # What both can be sure of falls short of the value by what the others could gain.
    assert -sum(worst) == pytest.approx(gap, abs=1e-12)
    assert worst[0] == pytest.approx(-best_response(game, 1, profile)[0], abs=1e-12)


def test_the_duality_gap_of_a_general_game_depends_on_the_payoffs_of_one_player():
    generator = np.random.default_rng(4)
    payoffs = generator.normal(size=(2, 3, 4))
    profile = [generator.dirichlet(np.ones(n)) for n in (3, 4)]
    x, y = profile
    for payoff_of in (0, 1):
        rows = payoffs[payoff_of] if payoff_of == 0 else payoffs[payoff_of].T
        strategy, opponent = (x, y) if payoff_of == 0 else (y, x)
        expected = (rows @ opponent).max() - (strategy @ rows).min()
        assert duality_gap(NormalFormGame(payoffs), profile, payoff_of=payoff_of) == pytest.approx(
            expected
        )


@pytest.mark.parametrize("seed", range(3))
def test_in_extensive_form_too_the_worst_case_ignores_the_payoffs_of_the_others(seed):
    root, game = small_game(seed, 2)
    profile, behavior = random_profile(np.random.default_rng(seed), game)
    for player in (0, 1):
        found = security_value(game, player, profile[player])
        opponents = pure_strategies(game, 1 - player)
        earned = [expected_value(root, behavior | chosen)[player] for chosen in opponents]
        assert found == pytest.approx(min(earned), abs=1e-12)


# Strategies as functions and mappings are evaluated as the vectors that they stand for

FUNCTIONS = {
    "gains": best_response_gains,
    "expected_value": value_of,
    "duality_gap": duality_gap,
    "best_response": lambda game, profile: best_response(game, 1, profile),
    "local_best_response": lambda game, profile: evaluation.local_best_response(
        game, 0, profile, continuation=profile[0]
    ),
    "security_value": lambda game, profile: security_value(game, 0, profile[0]),
    "CorrelatedPlay.add": lambda game, profile: played_once(game, profile),
    "sampled_value": lambda game, profile: means(evaluation.sampled_value(game, profile, 20, 1)),
    "sampled_local_best_response": lambda game, profile: means(
        [evaluation.sampled_local_best_response(game, 0, profile, 5, 1, rollouts=2)]
    ),
}


def played_once(game, profile):
    play = evaluation.CorrelatedPlay(game)
    play.add(profile)
    return play.gaps("cce")


def flat(found):
    return np.hstack(found if isinstance(found, tuple | list) else [found])


def means(estimates):
    return [estimate.mean for estimate in estimates]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_takes_mappings_functions_and_vectors_in_one_profile(name):
    function, generator = FUNCTIONS[name], np.random.default_rng(5)
    profile = Profile(random_profile(generator, KUHN)[0], KUHN.domains, KUHN)
    mappings = [
        {labels.block(j): profile[player, j] for j in range(domain.points)}
        for player, domain in enumerate(KUHN.domains)
        for labels in [domain.simplices.labels]
    ]
    functions = [lambda known, actions, owner=owner: owner[str(known)] for owner in mappings]
    wanted = flat(function(KUHN, mappings))
    for given in functions, [mappings[0], profile[1]]:
        np.testing.assert_allclose(flat(function(KUHN, given)), wanted, atol=1e-12)
    if not name.startswith("sampled"):  # these draw by histories, in another order
        np.testing.assert_allclose(flat(function(KUHN, profile)), wanted, atol=1e-12)


def test_the_gap_of_uniform_play_is_known():
    assert nash_conv(KUHN, [games.uniform_behavior] * 2) == pytest.approx(11 / 12)
    pennies = games.matching_pennies()
    assert nash_conv(pennies, [games.uniform_behavior, [1.0, 0.0]]) == pytest.approx(1.0)


# What is refused

RPS, THREE = games.rock_paper_scissors(), games.kuhn_poker(players=3)
UNIFORM, THIRDS, PLAIN = uniform(KUHN), np.ones(3) / 3, games.uniform_behavior

test_what_has_no_meaning_is_refused = refusals(
    (duality_gap, (THREE, uniform(THREE)), ValueError, "two players for a saddle point, got 3"),
    (security_value, (THREE, 0, uniform(THREE)[0]), ValueError, "two players in extensive form"),
    (security_value, (KUHN, 0, np.ones(13)), ValueError, "strategy must be a strategy of player 0"),
    (best_response, (KUHN, 2, UNIFORM), ValueError, "player must be one of 0 to 1, got 2"),
    (nash_conv, (KUHN, UNIFORM[:1]), ValueError, "1 strategies, but the game has 2 players"),
    (nash_conv, (KUHN, [{"j": [1, 0], "Jb": [1, 0]}, PLAIN]), ValueError, "did you mean 'Jb'"),
    (nash_conv, (KUHN, [{}, PLAIN]), ValueError, r"strategies\[0\] must have an entry for 'J'"),
    (nash_conv, (KUHN, [lambda *_: [2.0, -1.0], PLAIN]), ValueError, "at least 0 and sum to 1"),
    (nash_conv, (KUHN, [lambda *_: [1.0], PLAIN]), ValueError, "there are 2 actions: 'p', 'b'"),
    (nash_conv, (RPS, [THIRDS, np.array([np.nan, 1.0, 0.0])]), ValueError, r"profile\[1\] must be"),
    (
        nash_conv,
        (KUHN, [d.simplices.uniform() for d in KUHN.domains]),
        ValueError,
        r"profile\[0\] must have shape \(13,\)",
    ),
    (nash_conv, ("rps", [THIRDS] * 2), TypeError, "game must be a Game"),
    (nash_conv, (RPS, 3), TypeError, "profile must be one vector for each player"),
    call=lambda measure, arguments: measure(*arguments),
)


def test_rounding_of_a_long_run_is_forgiven():
    profile = [np.array([0.5, 0.5, 0.0]) + 1e-8, np.array([0.5, 0.5 + 1e-8, -1e-9])]
    for measure in value_of, best_response_gains, duality_gap, exploitability:
        measure(RPS, profile)
