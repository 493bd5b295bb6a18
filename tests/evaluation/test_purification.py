"""Purified profiles: which actions are removed, which remain, and the gaps of both."""

import itertools

import numpy as np
import pytest
from naive_games import expected_value, random_game, random_profile
from naive_games import nash_conv as naive_nash_conv
from refusals import refusals

import regretkit as rk
from regretkit import ExtensiveFormGame, NormalFormGame, games, matrix_game
from regretkit.evaluation import exploitability, nash_conv, purify, threshold
from regretkit.games import Profile
from regretkit.sets import Hull, Simplices

KUHN = games.kuhn_poker()
RPS = games.rock_paper_scissors()


def random_games():
    for seed in range(4):
        generator = np.random.default_rng(seed)
        root = random_game(generator, 2 + seed % 2)
        game = ExtensiveFormGame.from_history(root)
        yield seed, root, game, *random_profile(generator, game)


def naively_cleaned(behavior, minimum):
    """Return the same, information set by information set, in plain Python."""
    cleaned = {}
    for key, mixed in behavior.items():
        kept = [p if p >= minimum or p == max(mixed) else 0.0 for p in mixed]
        cleaned[key] = np.array(kept) / sum(kept)
    return cleaned


@pytest.mark.parametrize("minimum", [0.0, 0.1, 0.3, 0.6, 1.0])
def test_a_cleaned_strategy_is_the_one_found_action_by_action(minimum):
    for _, root, game, profile, behavior in random_games():
        cleaned = threshold(game, profile, minimum)
        expected = naively_cleaned(behavior, minimum)
        for player, labels in enumerate(game.tree.labels):
            unreached = set(cleaned.profile.unreached(player).tolist())
            for number in {*range(len(labels))} - unreached:
                found = cleaned.profile[player, number]
                np.testing.assert_allclose(found, expected[player, labels[number]], atol=1e-14)
        # Unreached information sets, which become uniform, do not affect the value.
        value = expected_value(root, expected)
        np.testing.assert_allclose(game.value(cleaned.profile), value, atol=1e-12)


@pytest.mark.parametrize("minimum", [0.0, 0.2, 1.0])
def test_both_gaps_are_those_of_the_profiles(minimum):
    changed = 0
    for _, root, game, profile, behavior in random_games():
        cleaned = threshold(game, profile, minimum)
        gap_before = naive_nash_conv(root, behavior)
        assert cleaned.gap_before == pytest.approx(gap_before, abs=1e-12)
        assert cleaned.gap_after == nash_conv(game, cleaned.profile)
        changed += cleaned.gap_after != cleaned.gap_before
        assert threshold(game, profile, minimum, gap=exploitability).gap_before == pytest.approx(
            gap_before / game.players, abs=1e-12
        )
    assert (changed > 1) == (minimum > 0.0)


def test_a_threshold_of_zero_leaves_every_bit_as_it_was():
    strategies = [np.array([0.1, 0.2, 0.7]), np.ones(3) / 3]
    for vector, cleaned in zip(strategies, threshold(RPS, strategies, 0.0).profile, strict=True):
        np.testing.assert_array_equal(vector, cleaned)


def test_thresholding_is_idempotent_and_monotone_in_the_threshold():
    for _, _, game, profile, _ in random_games():
        thresholded = [
            threshold(game, profile, minimum).profile for minimum in (0.05, 0.2, 0.5, 1.0)
        ]
        for minimum, first in zip((0.05, 0.2, 0.5, 1.0), thresholded, strict=True):
            for found, repeated in zip(first, threshold(game, first, minimum).profile, strict=True):
                np.testing.assert_allclose(found, repeated, atol=1e-15)
        for more, less in itertools.pairwise(thresholded):
            for player in range(game.players):
                assert not (less[player] > 0.0)[more[player] == 0.0].any()


def test_the_most_probable_actions_stay_however_high_the_threshold():
    game = NormalFormGame(np.zeros((2, 4, 3)))
    profile = [np.array([0.3, 0.2, 0.3, 0.2]), np.array([0.25, 0.5, 0.25])]
    first, second = purify(game, profile).profile
    np.testing.assert_array_equal(first, [0.5, 0.0, 0.5, 0.0])
    np.testing.assert_array_equal(second, [0.0, 1.0, 0.0])
    for found, expected in zip(threshold(game, profile, 1.0).profile, [first, second], strict=True):
        np.testing.assert_array_equal(found, expected)


def test_a_probability_at_the_threshold_stays():
    profile = [np.array([0.25, 0.25, 0.5]), np.ones(3) / 3]
    kept = threshold(RPS, profile, 0.25).profile[0]
    gone = threshold(RPS, profile, np.nextafter(0.25, 1.0)).profile[0]
    np.testing.assert_array_equal(kept, profile[0])
    np.testing.assert_array_equal(gone, [0.0, 0.0, 1.0])


def test_a_pure_equilibrium_hidden_in_an_average_is_found():
    game = matrix_game([[3.0, 2.0], [1.0, 0.0]])
    run = rk.solve(game, "cfr", iterations=20)
    cleaned = purify(game, run.average)
    assert cleaned.gap_before > 0.01
    assert cleaned.gap_after == 0.0
    np.testing.assert_array_equal(cleaned.profile[0], [1.0, 0.0])


def test_a_little_cleaning_helps_and_too_much_hurts_in_poker():
    average = rk.solve(KUHN, "cfr+", iterations=100).average
    little, much = threshold(KUHN, average, 0.05), purify(KUHN, average)
    assert little.gap_after < little.gap_before == much.gap_before < much.gap_after


def test_what_was_passed_is_as_it_was_and_the_result_can_be_written(tmp_path):
    profile = [np.array([0.1, 0.2, 0.7]), np.ones(3) / 3]
    purify(RPS, profile).profile.to_json(tmp_path / "pure.json")
    np.testing.assert_array_equal(profile[0], [0.1, 0.2, 0.7])
    np.testing.assert_array_equal(Profile.from_json(tmp_path / "pure.json")[0], [0.0, 0.0, 1.0])


class OnAHull(games.Game):
    domains = (Hull([Simplices(2), Simplices(2)]),)

    def _utility(self, player, strategies, payoff_of):
        return np.zeros(2)


test_what_has_no_threshold_is_refused = refusals(
    (RPS, [np.ones(3) / 3] * 2, 1.1, ValueError, "minimum must be from 0 to 1, got 1.1"),
    (RPS, [np.ones(3) / 3] * 2, "0.1", TypeError, "minimum must be a number"),
    (RPS, [np.array([0.5, 0.4, 0.0])] * 2, 0.1, ValueError, r"profile\[0\] must be one of"),
    (OnAHull(), [np.array([0.5, 0.5])], 0.1, ValueError, "plays on Hull.* no information sets"),
    call=threshold,
)
