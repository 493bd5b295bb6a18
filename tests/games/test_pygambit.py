"""Games go to pygambit and come back the same, and Gambit itself computes in them what we do."""

import io
import sys
from fractions import Fraction

import numpy as np
import pytest
from assert_games import assert_same_game, assert_same_tree
from naive_games import uniform

import regretkit as rk
from regretkit import evaluation, games

pygambit = pytest.importorskip(
    "pygambit", reason="pygambit is not installed: pip install 'regretkit[gambit]'"
)

TREES = ["kuhn_poker", "kuhn_poker(players=3)", "liars_dice(sides=2)", "goofspiel(cards=3)"]
TABLES = [
    "prisoners_dilemma",
    "shapley_game",
    "rock_paper_scissors",
    "blotto(soldiers=3, fields=2)",
]


@pytest.mark.parametrize("name", [*TREES, *TABLES])
def test_a_game_comes_back_as_it_was(name):
    game = games.load(name)
    returned = games.from_pygambit(games.to_pygambit(game))
    if name in TREES:
        assert_same_game(game, returned)
    else:
        np.testing.assert_array_equal(returned.payoffs, game.payoffs)
        assert returned.name == game.name


@pytest.mark.parametrize("name", [*TREES, *TABLES])
def test_uniform_play_has_the_same_value_in_gambit(name):
    game = games.load(name)
    gambit_game = games.to_pygambit(game)
    tree = name in TREES
    profile = gambit_game.mixed_behavior_profile() if tree else gambit_game.mixed_strategy_profile()

    found = [float(profile.payoff(player)) for player in gambit_game.players]

    assert gambit_game.is_tree == tree
    if tree:
        sizes = [len(player.infosets) for player in gambit_game.players]
        assert sizes == list(game.tree.information_sets)
    np.testing.assert_allclose(found, game.value(uniform(game)), atol=1e-12)


def test_the_equilibrium_that_gambit_finds_is_one_here():
    game = games.kuhn_poker()
    gambit_game = games.to_pygambit(game)

    equilibrium = pygambit.nash.lp_solve(gambit_game, rational=False).equilibria[0]

    # Gambit numbers a player's information sets as they come first in depth, and we in breadth.
    profile = []
    for player, domain, labels in zip(
        gambit_game.players, game.domains, game.tree.labels, strict=True
    ):
        played = {
            infoset.label: [float(equilibrium[action]) for action in infoset.actions]
            for infoset in player.infosets
        }
        rows = [played[label] for label in labels]
        profile.append(domain.sequence_form(np.concatenate(rows)))
    assert evaluation.nash_conv(game, profile) < 1e-9
    assert game.value(profile)[0] == pytest.approx(-1 / 18, abs=1e-9)


@pytest.mark.parametrize("name", [*TREES, "leduc_poker"])
def test_gambit_reads_plain_files_of_trees(name):
    game = games.load(name)
    gambit_game = pygambit.read_efg(io.BytesIO(games.write_efg(game).encode()))

    sizes = [len(player.infosets) for player in gambit_game.players]
    assert (len(gambit_game.nodes), sizes) == (game.tree.histories, [*game.tree.information_sets])
    if name == "kuhn_poker":
        solved = pygambit.nash.lp_solve(gambit_game).equilibria[0]
        assert solved.payoff(gambit_game.players["Player 1"]) == Fraction(-1, 18)


@pytest.mark.parametrize("sizes", [(4,), (2, 3), (2, 3, 4)])
def test_gambit_reads_plain_files_of_tables(sizes):
    game = rk.NormalFormGame(np.random.default_rng(1).normal(size=(len(sizes), *sizes)))
    gambit_game = pygambit.read_nfg(io.BytesIO(games.write_nfg(game).encode()))

    found = [np.array(table, dtype=float) for table in gambit_game.to_arrays()]
    np.testing.assert_array_equal(found, game.payoffs)


def truth_or_bluff():
    """Return a game that is made with pygambit's own verbs, with payoffs at an inner node."""
    game = pygambit.Game.new_tree(players=["Alice", "Bob"], title="Truth or bluff")
    game.append_move(game.root, game.players.chance, ["Ace", "King"])
    game.set_chance_probs(game.root.infoset, [Fraction(1, 3), Fraction(2, 3)])
    for node in list(game.root.children):
        game.append_move(node, "Alice", ["raise", "fold"])
    raised = [node.children["raise"] for node in game.root.children]
    game.append_move(raised, "Bob", ["meet", "pass"])
    game.set_outcome(game.root, game.add_outcome("ante", [Fraction(1, 7), 0]))
    for node, won in zip(raised, (2, -2), strict=True):
        game.set_outcome(node.children["meet"], game.add_outcome(f"met {won}", [won, -won]))
        game.set_outcome(node.children["pass"], game.add_outcome(f"passed {won}", [1, -1]))
    return game


def test_a_game_that_was_made_with_pygambit_is_the_same_here():
    gambit_game = truth_or_bluff()
    game = games.from_pygambit(gambit_game)

    assert game.name == "Truth or bluff"
    assert game.tree.information_sets == (2, 1)
    assert game.tree.actions[1][0] == ("meet", "pass")
    # An outcome of an inner node is paid on every way through it.
    assert (game.tree.payoffs[:, 0] == [1 / 7 + won for won in (0, 0, 2, 1, -2, 1)]).all()
    profile = gambit_game.mixed_behavior_profile()
    found = [float(profile.payoff(player)) for player in gambit_game.players]
    np.testing.assert_allclose(game.value(uniform(game)), found, atol=1e-12)
    assert rk.solve(game, "cfr+", iterations=10).iteration == 10


def test_exact_numbers_become_the_nearest_doubles():
    gambit_game = pygambit.Game.from_arrays([[Fraction(1, 3), 0.1]], [[10**30, Fraction(-2, 7)]])
    game = games.from_pygambit(gambit_game)
    assert game.payoffs[:, 0].tolist() == [[1 / 3, 0.1], [1e30, -2 / 7]]


def test_imperfect_recall_comes_as_an_imperfect_recall_game():
    gambit_game = pygambit.Game.new_tree(players=["Driver"], title="Absent-minded driver")
    gambit_game.append_move(gambit_game.root, "Driver", ["leave", "go on"])
    gambit_game.append_infoset(gambit_game.root.children["go on"], gambit_game.root.infoset)
    game = games.from_pygambit(gambit_game)
    assert isinstance(game, games.ImperfectRecallGame)
    with pytest.raises(ValueError, match="imperfect recall"):
        rk.solve(game, "cfr+", iterations=1)
    assert_same_tree(games.from_pygambit(games.to_pygambit(game)).tree, game.tree)


@pytest.mark.parametrize("wrong", [None, "kuhn_poker", games.kuhn_poker()])
def test_what_is_no_game_of_pygambit_is_refused(wrong):
    with pytest.raises(TypeError, match="game must be a game of pygambit, got"):
        games.from_pygambit(wrong)


@pytest.mark.parametrize("wrong", [None, "kuhn_poker", [[1, 2]]])
def test_what_is_in_neither_form_is_refused(wrong):
    with pytest.raises(TypeError, match="must be in extensive form or in normal form, got"):
        games.to_pygambit(wrong)


def test_without_pygambit_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "pygambit", None)
    with pytest.raises(ImportError, match=r"pip install 'regretkit\[gambit\]'"):
        games.from_pygambit(None)
    with pytest.raises(ImportError, match=r"pip install 'regretkit\[gambit\]'"):
        games.to_pygambit(games.kuhn_poker())
