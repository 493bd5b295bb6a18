"""Strategies as functions and mappings are evaluated as the vectors that they stand for."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive_games import random_game

import regretkit as rk
from regretkit import evaluation, games
from regretkit.games import Profile, uniform_behavior
from regretkit.play import ExternalSampling, Sampled

KUHN = games.kuhn_poker()
FUNCTIONS = {
    "expected_value": evaluation.expected_value,
    "best_response_gains": evaluation.best_response_gains,
    "nash_conv": evaluation.nash_conv,
    "exploitability": evaluation.exploitability,
    "duality_gap": evaluation.duality_gap,
    "best_response": lambda game, profile: evaluation.best_response(game, 1, profile),
    "local_best_response": lambda game, profile: evaluation.local_best_response(game, 1, profile),
    "continuation": lambda game, profile: evaluation.local_best_response(
        game, 0, profile, continuation=profile[0]
    ),
    "security_value": lambda game, profile: evaluation.security_value(game, 0, profile[0]),
    "threshold": lambda game, profile: evaluation.threshold(game, profile, 0.3),
    "purify": lambda game, profile: evaluation.purify(game, profile),
    "CorrelatedPlay.add": lambda game, profile: played_once(game, profile),
    "sampled_value": lambda game, profile: evaluation.sampled_value(
        game, profile, 20, np.random.default_rng(1)
    ),
    "sampled_local_best_response": lambda game, profile: evaluation.sampled_local_best_response(
        game, 0, profile, 5, np.random.default_rng(1), rollouts=2
    ),
}


def played_once(game, profile):
    play = evaluation.CorrelatedPlay(game)
    play.add(profile)
    return play.gaps("cce")


def as_mappings(profile):
    """Return each player's strategy as a mapping of labels to distributions."""
    return [
        {
            domain.simplices.labels.block(number): profile[player, number]
            for number in range(domain.simplices.blocks)
        }
        for player, domain in enumerate(profile.domains)
    ]


def interior(game, seed):
    generator = np.random.default_rng(seed)
    strategies = []
    for domain in game.domains:
        behavior = domain.simplices.normalize(generator.random(domain.simplices.dimension) + 0.01)
        strategies.append(domain.sequence_form(behavior))
    return Profile(strategies, game.domains, game)


def same(found, wanted):
    flat = [np.concatenate([np.ravel(part) for part in leaves(item)]) for item in (found, wanted)]
    np.testing.assert_allclose(*flat, rtol=1e-9, atol=1e-12)


def leaves(value):
    if isinstance(value, evaluation.PurifiedProfile):
        value = (*value.profile, value.gap_before, value.gap_after)
    if isinstance(value, evaluation.Estimate):
        value = value.mean
    return (
        [leaf for part in value for leaf in leaves(part)] if isinstance(value, tuple) else [value]
    )


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_function_takes_mappings_functions_and_vectors_in_one_profile(function):
    profile = interior(KUHN, 5)
    mappings = as_mappings(profile)
    functions = [lambda known, actions, owner=owner: owner[str(known)] for owner in mappings]
    wanted = FUNCTIONS[function](KUHN, profile)
    if not function.startswith("sampled"):  # these draw by histories, in another order
        same(FUNCTIONS[function](KUHN, mappings), wanted)
        same(FUNCTIONS[function](KUHN, [mappings[0], profile[1]]), wanted)
    else:
        wanted = FUNCTIONS[function](KUHN, mappings)
        same(FUNCTIONS[function](KUHN, [mappings[0], profile[1]]), wanted)
    same(FUNCTIONS[function](KUHN, functions), FUNCTIONS[function](KUHN, mappings))


@given(st.integers(0, 10**6))
def test_gains_of_mappings_are_those_of_vectors_in_any_game(seed):
    game = rk.ExtensiveFormGame.from_history(random_game(np.random.default_rng(seed)))
    profile = interior(game, seed)
    by_number = [
        lambda known, actions, player=player: profile[player, known.number]
        for player in range(len(game.domains))
    ]
    np.testing.assert_allclose(
        evaluation.best_response_gains(game, by_number),
        evaluation.best_response_gains(game, profile),
        atol=1e-12,
    )


def test_the_gap_of_uniform_play_is_known():
    assert evaluation.nash_conv(KUHN, [uniform_behavior] * 2) == pytest.approx(11 / 12)
    pennies = games.matching_pennies()
    assert evaluation.nash_conv(pennies, [uniform_behavior, [1.0, 0.0]]) == pytest.approx(1.0)


def test_the_average_of_a_run_without_a_tree_is_measured_on_the_tree():
    rules = games.goofspiel(3)
    tree = rk.load("goofspiel(3)")
    sampling = ExternalSampling(np.random.default_rng(1))
    run = Sampled(rules, rk.RegretMatching, sampling).run(3_000)
    measured = evaluation.nash_conv(tree, run.average)
    assert measured < 0.3 * evaluation.nash_conv(tree, [uniform_behavior] * 2)


def test_the_ignored_player_is_not_asked():
    value, _ = evaluation.best_response(KUHN, 0, [{}, uniform_behavior])
    assert value == pytest.approx(1 / 2)


@pytest.mark.parametrize(
    ("profile", "problem"),
    [
        ([{}, uniform_behavior], r"strategies\[0\] must have an entry for 'J'"),
        ([{"j": [1, 0], "Jb": [1, 0]}, uniform_behavior], "did you mean 'Jb'"),
        ([uniform_behavior], "1 strategies, but the game has 2 players"),
        ([uniform_behavior] * 3, "3 strategies, but the game has 2 players"),
        ([lambda known, actions: [1.0], uniform_behavior], "there are 2 actions: 'p', 'b'"),
        ([lambda known, actions: [2.0, -1.0], uniform_behavior], "must be at least 0 and sum to 1"),
    ],
)
def test_strategies_that_are_none_are_refused(profile, problem):
    with pytest.raises(ValueError, match=problem):
        evaluation.nash_conv(KUHN, profile)
