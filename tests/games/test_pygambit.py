"""Games go to pygambit and come back the same, and Gambit computes in them what we do.

The tests use what pygambit 16 and 17 share.
"""

import io
import sys

import numpy as np
import pytest
from assert_games import assert_same_game, assert_same_tree
from gambit import values
from naive_games import uniform

from regretkit import games

pygambit = pytest.importorskip(
    "pygambit", reason="pygambit is not installed: pip install 'regretkit[gambit]'"
)

TREES = ["kuhn_poker", "kuhn_poker(players=3)", "liars_dice(sides=2)", "goofspiel(cards=3)"]
TABLES = ["prisoners_dilemma", "shapley_game", "blotto(soldiers=3, fields=2)"]


def read_efg(text):
    return pygambit.read_efg(io.BytesIO(text.encode()))


def read_nfg(text):
    return pygambit.read_nfg(io.BytesIO(text.encode()))


@pytest.mark.parametrize("name", [*TREES, *TABLES])
def test_a_game_comes_back_as_it_was_and_has_the_same_values(name):
    game = games.load(name)
    tree = name in TREES
    there = games.to_pygambit(game)
    plain = read_efg(games.write_efg(game)) if tree else read_nfg(games.write_nfg(game))
    for each in (there, plain):
        assert_same_game(game, games.from_pygambit(each))
        profile = each.mixed_behavior_profile() if tree else each.mixed_strategy_profile()
        np.testing.assert_allclose(values(profile), game.value(uniform(game)), atol=1e-12)


def test_payoffs_at_inner_nodes_are_paid_on_every_way_through_them():
    there = read_efg("""EFG 2 R "Truth or bluff" { "Alice" "Bob" }
        c "" 1 "" { "Ace" 1/3 "King" 2/3 } 1 "ante" { 1/7, 0 }
        p "" 1 1 "ace" { "raise" "fold" } 0
        p "" 2 1 "raised" { "meet" "pass" } 0  t "" 2 "" { 2, -2 }  t "" 3 "" { 1, -1 }
        t "" 0
        p "" 1 2 "king" { "raise" "fold" } 0
        p "" 2 1 "raised" { "meet" "pass" } 0  t "" 4 "" { -2, 2 }  t "" 3
        t "" 0""")
    game = games.from_pygambit(there)
    assert game.tree.information_sets == (2, 1)
    assert (game.tree.payoffs[:, 0] == [1 / 7 + won for won in (0, 0, 2, 1, -2, 1)]).all()
    found = values(there.mixed_behavior_profile())
    np.testing.assert_allclose(game.value(uniform(game)), found, atol=1e-12)


def test_imperfect_recall_comes_as_an_imperfect_recall_game():
    there = read_efg("""EFG 2 R "Absent-minded driver" { "Driver" }
        p "" 1 1 "" { "leave" "go on" } 0  t "" 1 "" { 0 }
        p "" 1 1 "" { "leave" "go on" } 0  t "" 2 "" { 4 }  t "" 3 "" { 1 }""")
    game = games.from_pygambit(there)
    assert isinstance(game, games.ImperfectRecallGame)
    assert_same_tree(games.from_pygambit(games.to_pygambit(game)).tree, game.tree)


@pytest.mark.parametrize("wrong", [None, "kuhn_poker", [[1, 2]]])
def test_other_objects_are_refused(wrong):
    with pytest.raises(TypeError, match="game must be a game of pygambit, got"):
        games.from_pygambit(wrong)
    with pytest.raises(TypeError, match="must be in extensive form or in normal form, got"):
        games.to_pygambit(wrong)


def test_without_pygambit_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "pygambit", None)
    for call in (games.from_pygambit, games.to_pygambit):
        with pytest.raises(ImportError, match=r"pip install 'regretkit\[gambit\]'"):
            call(games.kuhn_poker())
