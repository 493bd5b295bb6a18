"""Games one history at a time: the same tree comes out, whichever way they went in."""

import numpy as np
import pytest
from assert_games import assert_same_tree
from naive_games import random_game

from regretkit import ExtensiveFormGame, games, matrix_game
from regretkit.games import GameTree, LiarsDice, as_history


@pytest.mark.parametrize("seed", range(3))
def test_a_tree_walked_one_history_at_a_time_is_the_tree(seed):
    root = random_game(np.random.default_rng(seed), 2 + seed % 2)
    game = ExtensiveFormGame.from_history(root)
    assert as_history(root) is root
    assert_same_tree(GameTree.from_history(as_history(game)), game.tree)
    assert_same_tree(GameTree.from_history(as_history(game.tree)), game.tree)


@pytest.mark.parametrize(("dice", "sides", "players"), [(1, 3, 2), (2, 1, 2), (1, 2, 3)])
def test_a_level_walked_one_history_at_a_time_is_its_tree(dice, sides, players):
    tree = games.liars_dice(dice, sides, players).tree
    assert_same_tree(GameTree.from_history(as_history(LiarsDice(dice, sides, players))), tree)


def test_a_normal_form_is_played_unseen():
    matrix = np.array([[3.0, -1.0, 0.0], [0.0, 2.0, 5.0]])
    game = ExtensiveFormGame.from_history(as_history(matrix_game(matrix)))
    assert game.tree.information_sets == (1, 1)
    x, y = np.array([0.25, 0.75]), np.array([0.5, 0.25, 0.25])
    value = game.value([np.append(1.0, x), np.append(1.0, y)])
    assert value[0] == x @ matrix @ y


def test_names_that_are_not_unique_can_be_told_apart():
    game = games.read_efg("""EFG 2 R "Twice" { "One" }
        p "" 1 1 "same" { "go" "go" } 0
        t "" 1 "" { 1 }
        t "" 2 "" { 2 }""")
    root = as_history(game)
    first, second = root.actions()
    assert first != second
    assert [root.child(action).payoffs() for action in (first, second)] == [[1.0], [2.0]]


@pytest.mark.parametrize("wrong", ["kuhn_poker", 3, games.kuhn_poker, type(games.kuhn_poker())])
def test_invalid_games_are_refused(wrong):
    with pytest.raises(TypeError, match="game must be"):
        as_history(wrong)


# OpenSpiel's


def openspiel(name):
    pyspiel = pytest.importorskip("pyspiel", reason="OpenSpiel is not installed")
    return pyspiel.load_game(name)


@pytest.mark.parametrize(
    "name",
    ["kuhn_poker(players=3)", "goofspiel(num_cards=3,imp_info=True)", "tiny_hanabi", "matrix_brps"],
)
def test_a_game_of_openspiel_walked_one_history_at_a_time_is_its_tree(name):
    game = openspiel(name)
    found, known = GameTree.from_history(as_history(game)), games.from_openspiel(name).tree
    for part in ("parent", "player", "information_set", "probability", "payoffs"):
        np.testing.assert_array_equal(getattr(found, part), getattr(known, part))
    assert found.labels == known.labels


def test_play_continues_from_a_state_of_openspiel():
    game = openspiel("kuhn_poker")
    state, history = game.new_initial_state(), as_history(game).child(0).child(2)
    state.apply_action(0)
    state.apply_action(2)
    found = as_history(state)
    state.apply_action(1)  # it is a copy
    assert (found.player(), found.actions()) == (history.player(), history.actions())
    assert found.information_set() == history.information_set()


# A short memory


@pytest.mark.parametrize("memory", [1, 2])
def test_the_same_holds_of_bids(memory):
    whole = GameTree.from_rules(LiarsDice(2, 2))
    short = GameTree.from_rules(LiarsDice(2, 2, memory=memory))

    np.testing.assert_array_equal(whole.parent, short.parent)
    np.testing.assert_array_equal(whole.payoffs, short.payoffs)
    for player in (0, 1):
        histories = np.flatnonzero(whole.player == player)
        numbers = zip(
            whole.information_set[histories], short.information_set[histories], strict=True
        )
        for one, second in set(numbers):
            dice, *bids = whole.labels[player][one].split()
            assert short.labels[player][second].split() == [dice, *bids[-memory:]]


def test_bids_of_more_than_one_word_are_all_observed():
    history = as_history(LiarsDice(dice=6))  # 72 bids, of 60 that share a number
    for move in [*"111111222222", "1-1", "10-6", "11-2", "12-1", "12-6"]:
        history = history.child(move)
    assert history.information_set() == "222222 1-1 10-6 11-2 12-1 12-6"
    assert history.actions() == ("liar",)
