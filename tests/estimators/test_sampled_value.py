"""Sampled play: the mean and the spread of what is earned, with a tree and without."""

import numpy as np
import pytest
from assert_games import changed
from naive_games import chance, end, expected_value, random_game, random_profile
from refusals import refusals

from regretkit import ExtensiveFormGame, games, matrix_game
from regretkit.evaluation import sampled_value
from regretkit.games import (
    Dudo,
    GameTree,
    ImperfectRecallGame,
    LiarsDice,
    Profile,
    as_history,
    uniform_behavior,
)

rng, SURE = np.random.default_rng, 1 - 1e-6


def second_moments(game, profile):
    """Return the mean of each player's squared payoff."""
    squared = changed(game.tree, payoffs=game.tree.payoffs**2)
    return ExtensiveFormGame(squared).value(profile)


def check(estimates, values, bounds=True):
    for estimate, value in zip(estimates, values, strict=True):
        low, high = estimate.normal_interval(SURE)
        assert low - 1e-12 <= value <= high + 1e-12
        if bounds:
            low, high = estimate.bernstein_interval(SURE)
            assert low - 1e-12 <= value <= high + 1e-12


@pytest.mark.parametrize("seed", range(3))
def test_every_way_of_playing_random_games_has_the_exact_mean(seed):
    generator = rng(seed)
    root = random_game(generator, 2 + seed % 2)
    game = ExtensiveFormGame.from_history(root)
    vectors, behavior = random_profile(generator, game)
    value = game.value(vectors)
    by_set = [
        {known: mixed for (player, known), mixed in behavior.items() if player == part}
        for part in range(game.players)
    ]

    def asked(player):
        return lambda known, actions: by_set[player][str(known)]

    np.testing.assert_allclose(expected_value(root, behavior), value, atol=1e-12)
    check(sampled_value(game, vectors, 5_000, generator), value)
    check(sampled_value(game.tree, by_set, 500, generator), value)
    functions = [asked(player) for player in range(game.players)]
    check(sampled_value(game, functions, 500, generator), value)
    labelled = Profile(vectors, game.domains)
    estimates = sampled_value(as_history(game), labelled, 500, generator, bounds=(-9.0, 9.0))
    check(estimates, value)


def test_rules_alone_are_played_by_dicts_functions_and_profiles_of_the_tree():
    game = games.dudo(sides=3)
    vectors, _ = random_profile(rng(5), game)
    profile, generator = Profile(vectors, game.domains), rng(6)

    estimates = sampled_value(Dudo(sides=3), profile, 500, generator)
    check(estimates, game.value(profile), bounds=False)
    assert estimates[0].bounds is None
    estimates = sampled_value(
        LiarsDice(sides=3), [uniform_behavior] * 2, 200, generator, bounds=(-1.0, 1.0)
    )
    liars = games.liars_dice(sides=3)
    check(estimates, liars.value([domain.relative_interior_point() for domain in liars.domains]))


@pytest.mark.parametrize("game", [games.kuhn_poker(3), games.leduc_poker()], ids=repr)
def test_the_spread_of_samples_is_that_of_the_ends_of_the_game(game):
    vectors, _ = random_profile(rng(1), game)
    value = game.value(vectors)
    variance = second_moments(game, vectors) - value**2

    estimates = sampled_value(game, vectors, 60_000, rng(2))
    check(estimates, value)
    spread = [estimate.variance for estimate in estimates]
    np.testing.assert_allclose(spread, variance, rtol=0.05)


def test_what_has_probability_zero_never_happens():
    root = chance([0.0, 0.5, 0.0, 0.5], a=end(9.0), b=end(1.0), c=end(9.0), d=end(-1.0))
    tree = GameTree.from_history(root)

    for game in (ExtensiveFormGame(tree), root):
        (estimate,) = sampled_value(game, [uniform_behavior], 500, rng(0))
        assert abs(estimate.mean) < 0.3
    value = sampled_value(ExtensiveFormGame(tree), [np.ones(1)], 70_000, rng(0))
    assert abs(value[0].mean) < 0.03
    assert value[0].variance == pytest.approx(1.0, rel=1e-2)


def test_matrices_are_played():
    game = matrix_game([[3.0, -1.0], [0.0, 2.0]])
    profile = Profile([np.array([0.25, 0.75]), np.array([0.5, 0.5])], game.domains)
    check(sampled_value(game, profile, 20_000, rng(3)), game.value(profile))
    found = sampled_value(as_history(game), profile, 4_000, rng(3), bounds=(-3.0, 3.0))
    check(found, game.value(profile))


def test_who_forgets_can_be_sampled():
    game = ImperfectRecallGame(GameTree.from_rules(Dudo(sides=2, memory=1)))
    played = game.refinement
    profile = Profile([d.relative_interior_point() for d in played.domains], played.domains, played)

    estimates = sampled_value(game, profile, 5_000, rng(4))
    check(estimates, played.value(profile))
    estimates = sampled_value(game, [uniform_behavior] * 2, 500, rng(4))
    check(estimates, played.value(profile))


KUHN = games.kuhn_poker()
UNIFORM = [uniform_behavior] * 2


def with_change(change):
    arguments = {"game": KUHN, "strategies": UNIFORM, "samples": 20, "generator": 0}
    return sampled_value(**arguments | change)


test_what_cannot_be_played_is_refused = refusals(
    ({"game": "kuhn_poker"}, TypeError, "game must be"),
    ({"strategies": [uniform_behavior]}, ValueError, "one per player, got 1, but player 1"),
    ({"strategies": uniform_behavior}, TypeError, "must be a Profile, or"),
    ({"game": Dudo(), "strategies": [3, 4]}, TypeError, r"strategies\[0\] must be"),
    ({"strategies": [{}, {}]}, ValueError, "must have an entry for"),
    ({"strategies": [lambda *_: [0.5, 0.6]] * 2}, ValueError, "sum to 1"),
    ({"samples": 0}, ValueError, "samples"),
    ({"bounds": (0.0, 1.0)}, ValueError, "must contain all samples"),
    call=with_change,
)


LEDUC = games.leduc_poker()
OF_LEDUC = Profile([d.relative_interior_point() for d in LEDUC.domains], LEDUC.domains)


test_a_profile_of_another_game_is_refused = refusals(
    (KUHN, OF_LEDUC, ValueError, "shape"),
    (KUHN.tree, OF_LEDUC, ValueError, "another game"),
    (Dudo(), OF_LEDUC, ValueError, "there is no decision point"),
    (Dudo(), list(OF_LEDUC), TypeError, "must be a function of an information set"),
    call=lambda game, strategies: sampled_value(game, strategies, 10, rng(0)),
)
