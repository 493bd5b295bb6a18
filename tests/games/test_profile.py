"""A profile is a tuple of vectors that knows what its coordinates are called."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive_games import decision, end, random_game, random_profile
from refusals import refusals

from regretkit import ExtensiveFormGame, NormalFormGame, matrix_game
from regretkit.evaluation import nash_conv
from regretkit.games import Profile, kuhn_poker, rock_paper_scissors
from regretkit.sets import Hull, Simplices


def kuhn_profile(**mixed):
    """Return uniform play in Kuhn poker, but for some information sets."""
    return Profile.uniform(kuhn_poker()).replace(mixed)


# A tuple


def test_a_profile_is_a_tuple_of_the_vectors_it_was_made_of():
    game = rock_paper_scissors()
    x, y = np.array([0.5, 0.25, 0.25]), np.array([0.0, 1.0, 0.0])
    profile = Profile([x, y], game.domains)

    first, second = profile

    assert isinstance(profile, tuple)
    assert len(profile) == 2
    np.testing.assert_array_equal(first, x)
    np.testing.assert_array_equal(profile[-1], y)
    np.testing.assert_array_equal(second, y)
    assert [vector.tolist() for vector in profile[:1]] == [x.tolist()]
    np.testing.assert_array_equal(game.value(profile), game.value((x, y)))


def test_a_profile_keeps_no_reference_and_cannot_be_written_into():
    x = np.array([0.5, 0.5])
    profile = Profile([x, x], (Simplices(2), Simplices(2)))
    x[:] = 0.0
    np.testing.assert_array_equal(profile[0], [0.5, 0.5])
    for vector in profile:
        with pytest.raises(ValueError, match="read-only"):
            vector[0] = 1.0


@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, lambda p: pickle.loads(pickle.dumps(p))]
)
def test_a_copy_knows_all_that_the_original_does(duplicate):
    profile = kuhn_profile(K=[0.25, 0.75])
    other = duplicate(profile)
    assert isinstance(other, Profile)
    for vector, original in zip(other, profile, strict=True):
        np.testing.assert_array_equal(vector, original)
        assert not vector.flags.writeable
    np.testing.assert_array_equal(other["K"], [0.25, 0.75])
    assert str(other) == str(profile)


test_strategies_that_do_not_fit_the_sets_are_refused = refusals(
    ([np.ones(3)], "profile has 1 strategies, but the game has 2 players"),
    ([np.ones(3)] * 3, "profile has 3 strategies"),
    ([np.ones(3), np.ones(2)], r"profile\[1\] has shape \(2,\), .* pass shape \(3,\)"),
    call=lambda strategies: Profile(strategies, rock_paper_scissors().domains),
    error=ValueError,
)


# Information sets by their labels


def test_a_label_finds_the_distribution_at_its_information_set():
    profile = kuhn_profile(K=[0.25, 0.75], Kpb=[0.0, 1.0])
    np.testing.assert_array_equal(profile["K"], [0.25, 0.75])
    # A quarter of the kings comes to Kpb: what is shown is how it plays there, not how often.
    np.testing.assert_array_equal(profile["Kpb"], [0.0, 1.0])
    np.testing.assert_array_equal(profile[0, "Kpb"], profile["Kpb"])
    np.testing.assert_array_equal(profile[0, 5], profile["Kpb"])
    np.testing.assert_array_equal(profile["Kb"], [0.5, 0.5])


@pytest.mark.parametrize("seed", range(5))
def test_behavior_comes_back_wherever_it_was_reached(seed):
    generator = np.random.default_rng(seed)
    game = ExtensiveFormGame.from_history(random_game(generator, 3))
    vectors, behavior = random_profile(generator, game)
    profile = Profile(vectors, game.domains)

    for player, labels in enumerate(game.tree.labels):
        unreached = set(profile.unreached(player).tolist())
        for number, label in enumerate(labels):
            expected = behavior[player, label]
            if number in unreached:
                expected = np.full(expected.size, 1.0 / expected.size)
            np.testing.assert_allclose(profile[player, number], expected, atol=1e-15)
            np.testing.assert_allclose(profile[player, label], expected, atol=1e-15)


def test_a_label_that_two_players_share_asks_whose_is_meant():
    def choose(player, **children):
        return decision(player, "same", **children)

    root = choose(0, l=choose(1, a=end(1, 0), b=end(0, 1)), r=end(0, 0))
    game = ExtensiveFormGame.from_history(root)
    profile = Profile([[1.0, 0.25, 0.75], [1.0, 0.5, 0.5]], game.domains)

    with pytest.raises(ValueError, match=r"ambiguous: .*\[0, 'same'\], profile\[1, 'same'\]"):
        profile["same"]
    np.testing.assert_array_equal(profile[0, "same"], [0.25, 0.75])
    np.testing.assert_array_equal(profile[1, "same"], [0.5, 0.5])


def test_a_label_that_a_player_has_twice_asks_for_a_number():
    # Two information sets may print equally: here the number 1 and the text "1".
    root = decision(0, 1, l=decision(0, "1", a=end(1.0), b=end(0.0)), r=end(0.0))
    game = ExtensiveFormGame.from_history(root)
    profile = Profile([[1.0, 0.5, 0.5, 0.125, 0.375]], game.domains)
    for key in ("1", (0, "1")):
        with pytest.raises(ValueError, match="ambiguous"):
            profile[key]
    np.testing.assert_array_equal(profile[0, 0], [0.5, 0.5])
    np.testing.assert_array_equal(profile[0, 1], [0.25, 0.75])


GONE = "there is no player {}: they go from 0 to 1"
NO_KEY = "^(a player has a number|a key of several parts is)"


test_a_key_of_no_meaning_is_refused = refusals(
    ("Zb", ValueError, r"no player has an information set 'Zb'; .*'J'"),
    ((0, "Kb"), ValueError, r"'Kb'"),  # which is player 1's
    ((2, "K"), ValueError, GONE.format(2)),
    ((0, 6), ValueError, "6"),
    *((player, ValueError, GONE.format(player)) for player in (2, 7, -3)),
    *((key, TypeError, NO_KEY) for key in [("a", "J"), (0, 1, 2), (0,), 1.5, None, [0], ()]),
    call=lambda key: kuhn_profile()[key],
)


def test_without_information_sets_or_names_one_asks_for_a_player():
    hull = Profile([[0.5, 0.5]], (Hull([Simplices(2), Simplices(2)]),))
    domains = rock_paper_scissors().domains
    table = Profile([domain.uniform() for domain in domains], domains)

    with pytest.raises(ValueError, match=r"player 0 has no information sets.*ask for profile\[0\]"):
        hull[0, 0]
    assert "0.5" in str(hull)
    for key in ("rock", (0, "rock")):
        with pytest.raises(ValueError, match=r"'rock', because none .* as in profile\[0\]"):
            table[key]


# What play never comes to


def test_what_is_never_reached_is_uniform_and_flagged():
    profile = kuhn_profile(K=[0.0, 1.0], Kpb=[0.0, 1.0])
    assert profile.unreached(0).tolist() == [5]
    assert profile.unreached(1).tolist() == []
    np.testing.assert_array_equal(profile["Kpb"], [0.5, 0.5])
    flagged = [line for line in str(profile).splitlines() if "never reached" in line]
    assert len(flagged) == 1
    assert flagged[0].split()[0] == "Kpb"


def test_in_a_normal_form_everything_is_reached():
    profile = Profile([[1.0, 0.0], [0.0, 1.0]], matrix_game(np.eye(2)).domains)
    assert profile.unreached(0).size == profile.unreached(1).size == 0


# The table


def test_the_table_has_a_row_for_each_information_set_under_its_player():
    lines = str(kuhn_profile(Q=[0.875, 0.125])).splitlines()

    assert lines[0] == "player 0"
    assert lines[1].split() == ["J", "p", "0.5000", "b", "0.5000"]
    assert lines[2].split() == ["Q", "p", "0.8750", "b", "0.1250"]
    assert lines[7] == "player 1"
    assert len(lines) == 2 * (1 + 6)
    # Each player's columns line up, however long the labels are.
    for own in (lines[1:7], lines[8:14]):
        assert len({line.index("p 0.") for line in own}) == 1


def test_the_table_names_the_actions_of_a_normal_form_game():
    game = NormalFormGame(np.zeros((2, 2, 3)), actions=[["go", "stop"], ["x", "y", "z"]])
    shown = str(Profile([[0.25, 0.75], [0.5, 0.25, 0.25]], game.domains))
    assert "go 0.2500  stop 0.7500" in shown
    assert "x 0.5000  y 0.2500  z 0.2500" in shown


def test_a_long_table_is_cut_and_says_so():
    game = kuhn_poker(deck=13)  # 26 information sets a player
    wide = kuhn_poker(players=4)  # 40 a player
    merged = ExtensiveFormGame.from_history(
        decision(0, "root", **{f"a{i}": decision(0, i, x=end(0.0)) for i in range(99)})
    )

    uncut, cut = [str(Profile.uniform(each)) for each in (game, wide)], str(Profile.uniform(merged))

    assert not any("more information sets" in text for text in uncut)
    assert cut.splitlines()[-1].strip() == "... 40 more information sets"
    assert len(cut.splitlines()) == 1 + 60 + 1


# By hand


@given(st.integers(0, 10**6))
def test_uniform_play_has_equal_probabilities_at_every_information_set(seed):
    game = ExtensiveFormGame.from_history(random_game(np.random.default_rng(seed)))
    profile = Profile.uniform(game)
    for player, domain in enumerate(game.domains):
        for number, size in enumerate(domain.simplices.sizes):
            np.testing.assert_allclose(profile[player, number], np.full(size, 1 / size))


@given(st.integers(0, 10**6))
def test_a_profile_is_what_it_shows(seed):
    generator = np.random.default_rng(seed)
    game = ExtensiveFormGame.from_history(random_game(generator))
    profile = Profile(random_profile(generator, game)[0], game.domains, game)
    shown = {
        (player, number): profile[player, number]
        for player, domain in enumerate(game.domains)
        for number in range(domain.simplices.blocks)
    }
    again = Profile.from_labels(game, shown)
    replaced = Profile.uniform(game).replace(dict(enumerate(profile)))
    for vector, other, third in zip(profile, again, replaced, strict=True):
        np.testing.assert_allclose(vector, other, atol=1e-12)
        np.testing.assert_array_equal(vector, third)


def test_what_is_not_replaced_stays():
    profile = kuhn_profile(K=[0.25, 0.75])
    changed = profile.replace({"J": [0.8, 0.2], (1, "Kb"): np.array([0.0, 1.0])})
    assert changed["J"].tolist() == [0.8, 0.2]
    assert changed["Kb"].tolist() == [0.0, 1.0]
    assert changed["K"].tolist() == [0.25, 0.75]
    assert profile["J"].tolist() == [0.5, 0.5]


def test_the_equilibrium_of_kuhn_poker_is_written_down_by_hand():
    """In Kuhn's equilibria player 0 bets J with a, K with 3 a, and calls with Q at a + 1/3."""
    a = 0.2
    profile = Profile.from_labels(
        kuhn_poker(),
        {
            **{"J": [1 - a, a], "Q": [1, 0], "K": [1 - 3 * a, 3 * a]},
            **{"Jpb": [1, 0], "Qpb": [2 / 3 - a, a + 1 / 3], "Kpb": [0, 1]},
            **{"Jp": [2 / 3, 1 / 3], "Jb": [1, 0], "Qp": [1, 0], "Qb": [2 / 3, 1 / 3]},
            **{"Kp": [0, 1], "Kb": [0, 1]},
        },
    )
    assert nash_conv(kuhn_poker(), profile) == pytest.approx(0.0, abs=1e-12)
    assert kuhn_poker().value(profile)[0] == pytest.approx(-1 / 18)


def test_a_player_of_a_normal_form_is_a_key():
    game = rock_paper_scissors()
    profile = Profile.from_labels(game, {0: [1, 0, 0], 1: [0, 1, 0]})
    assert game.value(profile).tolist() == [-1.0, 1.0]


def by_hand(strategies):
    return Profile.from_labels(kuhn_poker(), strategies, otherwise="uniform")


test_strategies_by_hand_that_are_none_are_refused = refusals(
    ({"Jpbb": [1, 0]}, "did you mean 'Jpb'"),
    ({(0, "Jbp"): [1, 0]}, "did you mean 'Jpb'"),
    ({"J": [1, 0, 0]}, r"strategies\['J'\] must have 2 probabilities, of the actions 'p', 'b'"),
    ({"J": 1.0}, "must have 2 probabilities"),
    ({"J": [[0.5, 0.5]]}, "must have 2 probabilities"),
    ({"J": [1.5, -0.5]}, "must have probabilities from 0 to 1, got 1.5"),
    ({"J": [0.5, float("nan")]}, "must have probabilities from 0 to 1, got nan"),
    ({"J": [0.5, 0.4]}, "sum to 1 within 1e-06, got 0.9"),
    ({"J": [1, 0], (0, "J"): [0, 1]}, r"\(0, 'J'\) twice"),
    ({0: [1.0, 0.0]}, "0"),
    ({0: np.ones(13)}, "must be one of player 0's"),
    ({2: [1.0]}, "there is no player 2"),
    call=by_hand,
    error=ValueError,
)

test_what_are_no_strategies_by_hand_is_refused = refusals(
    *(({"J": wrong}, "must be numbers") for wrong in ({"p": 1.0}, "pb", {0.5, 1.0})),
    ({1.5: [1]}, "a player has a number"),
    ([1], "strategies must map information sets"),
    call=by_hand,
    error=TypeError,
)


def test_a_profile_that_lacks_information_sets_is_refused():
    with pytest.raises(
        ValueError, match=r"lacks 'Q', 'K', 'Jpb'.* and 5 more; .*otherwise='uniform'"
    ):
        Profile.from_labels(kuhn_poker(), {"J": [1, 0]})
    with pytest.raises(ValueError, match="otherwise must be"):
        Profile.from_labels(kuhn_poker(), {}, otherwise="pure")
    with pytest.raises(TypeError, match="game must be a Game"):
        Profile.uniform("kuhn_poker")
