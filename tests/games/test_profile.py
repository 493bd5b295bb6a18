"""A profile is a tuple of vectors with names of its coordinates."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive_games import decision, end, random_game, random_profile
from refusals import refusals

from regretkit import ExtensiveFormGame, NormalFormGame, games, solve
from regretkit.evaluation import nash_conv, sampled_value
from regretkit.games import Profile, kuhn_poker, rock_paper_scissors


def kuhn_profile(**mixed):
    """Return uniform play in Kuhn poker, but for some information sets."""
    return Profile.uniform(kuhn_poker()).replace(mixed)


def sampled(game, iterations=200, seed=1):
    """Return the average of a run without a tree."""
    return solve(game, "mccfr", sampling="external", iterations=iterations, seed=seed).average


# A tuple


def test_a_profile_is_a_tuple_of_read_only_copies():
    domains = rock_paper_scissors().domains
    x, y = np.array([0.5, 0.25, 0.25]), np.array([0.0, 1.0, 0.0])
    profile = Profile([x, y], domains)
    x[:] = 0.0
    first, second = profile
    np.testing.assert_array_equal(first, [0.5, 0.25, 0.25])
    np.testing.assert_array_equal(second, profile[-1])
    assert len(profile) == 2
    assert profile[:1][0] is first
    with pytest.raises(ValueError, match="read-only"):
        first[0] = 1.0


@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, lambda p: pickle.loads(pickle.dumps(p))]
)
@pytest.mark.parametrize("profile", [kuhn_profile(K=[0.25, 0.75]), sampled(games.KuhnPoker())])
def test_a_copy_equals_the_original(duplicate, profile):
    other = duplicate(profile)
    for vector, original in zip(other, profile, strict=True):
        np.testing.assert_array_equal(vector, original)
        assert not vector.flags.writeable
    assert other.visited == profile.visited
    assert other.to_dict() == profile.to_dict()
    assert duplicate(other).to_dict() == profile.to_dict()


test_strategies_that_do_not_fit_the_sets_are_refused = refusals(
    ([np.ones(3)], "profile has 1 strategies, but the game has 2 players"),
    ([np.ones(3), np.ones(2)], r"profile\[1\] must have shape .*, got \(2,\)"),
    call=lambda strategies: Profile(strategies, rock_paper_scissors().domains),
    error=ValueError,
)


# Information sets by their labels


def test_a_label_finds_the_distribution_at_its_information_set():
    profile = kuhn_profile(K=[0.25, 0.75], Kpb=[0.0, 1.0])
    for key in ("Kpb", (0, "Kpb"), (0, 5)):
        np.testing.assert_array_equal(profile[key], [0.0, 1.0])
    np.testing.assert_array_equal(profile["K"], [0.25, 0.75])


@pytest.mark.parametrize("seed", range(5))
def test_behavior_is_that_of_the_vectors_wherever_they_reach(seed):
    generator = np.random.default_rng(seed)
    game = ExtensiveFormGame.from_history(random_game(generator, 3))
    vectors, behavior = random_profile(generator, game)
    profile = Profile(vectors, game.domains)
    for player, labels in enumerate(game.tree.labels):
        unreached, play = profile.unreached(player), profile.behavior(player)
        for number, label in enumerate(labels):
            actions = game.tree.actions[player][number]
            uniform = np.full(len(actions), 1.0 / len(actions))
            expected = uniform if number in unreached else behavior[player, label]
            for found in (profile[player, number], profile[player, label], play(label, actions)):
                np.testing.assert_allclose(found, expected, atol=1e-15)


def test_a_label_of_several_information_sets_is_ambiguous():
    inner = decision(1, "same", a=end(1, 0), b=end(0, 1))
    shared = ExtensiveFormGame.from_history(decision(0, "same", l=inner, r=end(0, 0)))
    profile = Profile.uniform(shared)
    with pytest.raises(ValueError, match=r"ambiguous: .*\[0, 'same'\], profile\[1, 'same'\]"):
        profile["same"]
    assert profile[1, "same"].tolist() == [0.5, 0.5]
    # Two information sets may print equally: here the number 1 and the text "1".
    twice = decision(0, 1, l=decision(0, "1", a=end(1.0), b=end(0.0)), r=end(0.0))
    profile = Profile.uniform(ExtensiveFormGame.from_history(twice))
    with pytest.raises(ValueError, match="ambiguous"):
        profile["1"]
    assert profile[0, 1].tolist() == [0.5, 0.5]


test_a_key_without_a_meaning_is_refused = refusals(
    ("Zpb", ValueError, "no player has an information set 'Zpb'; did you mean"),
    ((0, "Kb"), ValueError, "'Kb'"),  # player 1's
    ((0, 6), ValueError, "6"),
    *((key, IndexError, "range") for key in (2, -3, (2, "K"))),
    *((key, TypeError, "indices") for key in (1.5, None, ("a", "J"))),
    call=lambda key: kuhn_profile()[key],
)


# By hand


@given(st.integers(0, 10**6))
def test_a_profile_is_made_of_the_distributions_that_it_shows(seed):
    generator = np.random.default_rng(seed)
    game = ExtensiveFormGame.from_history(random_game(generator))
    profile = Profile(random_profile(generator, game)[0], game.domains, game)
    shown = {
        (player, number): profile[player, number]
        for player, domain in enumerate(game.domains)
        for number in range(domain.points)
    }
    again = Profile.uniform(game).replace(shown)
    replaced = Profile.uniform(game).replace(dict(enumerate(profile)))
    for vector, other, third in zip(profile, again, replaced, strict=True):
        np.testing.assert_allclose(vector, other, atol=1e-12)
        np.testing.assert_array_equal(vector, third)


test_strategies_by_hand_that_do_not_fit_are_refused = refusals(
    ({"Jpbb": [1, 0]}, ValueError, "did you mean 'Jpb'"),
    ({"J": [1, 0, 0]}, ValueError, r"\['J'\] must have 2 probabilities, of the actions 'p', 'b'"),
    ({"J": [[0.5, 0.5]]}, ValueError, "must have 2 probabilities"),
    *(({"J": p}, ValueError, "from 0 to 1 that sum") for p in ([1.5, -0.5], [0.5, 0.4])),
    ({"J": [0.5, np.nan]}, ValueError, "got .*nan"),
    ({"J": [1, 0], (0, "J"): [0, 1]}, ValueError, r"\(0, 'J'\) twice"),
    ({0: np.ones(13)}, ValueError, "must be a strategy of player 0"),
    ({"J": {"p": 1.0}}, TypeError, "must be numbers"),
    ([1], TypeError, "strategies must be a mapping"),
    call=Profile.uniform(kuhn_poker()).replace,
)


def test_only_a_game_has_a_uniform_profile():
    with pytest.raises(TypeError, match="game must be a Game"):
        Profile.uniform("kuhn_poker")


# The table


def test_the_table_has_an_aligned_row_for_each_information_set():
    lines = str(kuhn_profile(Q=[0.875, 0.125], K=[0.0, 1.0])).splitlines()
    assert lines[0] == "player 0"
    assert lines[2].split() == ["Q", "p", "0.8750", "b", "0.1250"]
    assert lines[6].endswith("b 0.5000  (never reached)")
    assert lines[7] == "player 1"
    assert len(lines) == 2 * (1 + 6)
    assert len({line.index("p 0.") for line in lines[1:7]}) == 1


def test_actions_line_up_and_zeros_beyond_three_are_counted():
    names = [["go", "stop"], list("abcdefgh")]
    game = NormalFormGame(np.zeros((2, 2, 8)), actions=names)
    shown = str(Profile([[0.25, 0.75], [0.5, 0.25, 0.25, 0, 0, 0, 0, 0]], game.domains))
    assert "go   0.2500  stop 0.7500" in shown
    assert "a 0.5000  b 0.2500  c 0.2500  5 others 0.0000" in shown
    assert "\n    h 0.1250" in str(Profile([[0.25, 0.75], [1 / 8] * 8], game.domains))


# Play without a tree


@pytest.mark.parametrize("game", [games.KuhnPoker(), kuhn_poker(), games.kuhn_poker(players=3)])
def test_a_run_without_a_tree_returns_a_profile_of_what_it_visited(game):
    tree = game if hasattr(game, "tree") else kuhn_poker()
    run = solve(games.as_history(game), "mccfr", sampling="external", iterations=300, seed=1)
    average = run.average
    assert average.visited
    whole = average.on(tree.domains, tree)
    assert not whole.visited
    for player, labels in enumerate(tree.tree.labels):
        for label in labels:
            np.testing.assert_allclose(average[player, label], whole[player, label], atol=1e-12)
    assert nash_conv(tree, average) == pytest.approx(nash_conv(tree, whole), abs=1e-12)
    np.testing.assert_allclose(tree.value(average), tree.value(whole), atol=1e-12)


def test_play_is_uniform_where_a_run_never_came():
    tree, average = games.leduc_poker(), sampled(games.LeducPoker(), 3)
    met = [
        set(domain.simplices.labels.block(i) for i in range(domain.points))
        for domain in average.domains
    ]
    whole = average.on(tree.domains)
    for player, labels in enumerate(tree.tree.labels):
        play = average.behavior(player)
        unmet = [label for label in labels if label not in met[player]]
        assert unmet
        for label in unmet:
            size = whole[player, label].size
            np.testing.assert_array_equal(whole[player, label], np.full(size, 1 / size))
            np.testing.assert_array_equal(play(label, range(size)), np.full(size, 1 / size))


def test_a_strategy_of_another_game_is_refused_where_actions_differ():
    play = Profile.uniform(kuhn_poker()).behavior(0)
    with pytest.raises(ValueError, match=r"has actions \['p', 'b'\] at 'J', but .*another game"):
        play("J", ["fold", "call"])
    with pytest.raises(ValueError, match="another game"):
        sampled_value(kuhn_poker(deck=5).tree, Profile.uniform(kuhn_poker()), 20, 1)


@pytest.mark.parametrize("profile", [kuhn_profile(J=[0.9, 0.1]), sampled(games.KuhnPoker())])
def test_a_threshold_removes_rare_actions(profile):
    for minimum in (0.0, 0.2, 1.0):
        cleaned = profile.threshold(minimum)
        for label in kuhn_poker().tree.labels[0][:3]:
            played = profile[label]
            kept = np.where(played >= min(minimum, played.max()), played, 0.0)
            np.testing.assert_allclose(cleaned[label], kept / kept.sum(), atol=1e-12)
    assert profile.threshold(0.0).to_dict() == profile.to_dict()
    with pytest.raises(ValueError, match=r"minimum must be .*at most 1, got 2"):
        profile.threshold(2)
