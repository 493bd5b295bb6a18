"""Any text is refused with a line and a column; any game that is written is read again."""

import math

import numpy as np
import pytest
from assert_games import assert_same_game
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_games import Node

import regretkit as rk
from regretkit.games import CHANCE, GameTree, read_efg, read_nfg, write_efg, write_nfg

SETTINGS = settings(max_examples=300)


@SETTINGS
@given(st.text())
def test_any_text_is_refused_where_it_breaks_the_grammar(text):
    for read in (read_efg, read_nfg):
        with pytest.raises(ValueError, match=r"^line \d+, column \d+: ."):
            read(f"{text}\n")  # and no name of a file


# Random games

NAMES = st.text(max_size=6)
NONEMPTY = st.text(min_size=1, max_size=6)
PAYOFFS = st.floats(-1e100, 1e100) | st.sampled_from([0.0, 1 / 3, 5e-324, -1e100, 0.1])


@st.composite
def tables(draw):
    """Return a game in normal form with any names and payoffs."""
    sizes = draw(st.lists(st.integers(1, 3), min_size=1, max_size=4))
    shape = (len(sizes), *sizes)
    count = math.prod(shape)
    payoffs = draw(st.lists(PAYOFFS, min_size=count, max_size=count))
    actions = [draw(st.lists(NONEMPTY, min_size=size, max_size=size)) for size in sizes]
    return rk.NormalFormGame(
        np.reshape(payoffs, shape),
        actions=draw(st.sampled_from([None, actions])),
        name=draw(st.none() | NONEMPTY),
    )


@st.composite
def histories(draw, players, depth):
    """Return a random game; information sets may hold any histories with the same actions."""
    kind = draw(st.integers(-2, players - 1)) if depth else -2
    if kind == -2:
        return Node(earned=tuple(draw(PAYOFFS) for _ in range(players)))
    actions = draw(st.lists(NONEMPTY, min_size=1, max_size=3, unique=True))
    children = {action: draw(histories(players, depth - 1)) for action in actions}
    if kind == CHANCE:
        weights = draw(st.lists(st.integers(1, 9), min_size=len(actions), max_size=len(actions)))
        return Node(children, chances=tuple(weight / sum(weights) for weight in weights))
    return Node(children, kind, (draw(st.integers(0, 1)), tuple(actions)))


@SETTINGS
@given(tables())
def test_any_table_comes_back_when_it_is_written(game):
    assert_same_game(read_nfg(write_nfg(game)), game)
    for_gambit = read_nfg(write_nfg(game, for_gambit=True))
    np.testing.assert_array_equal(for_gambit.payoffs, game.payoffs)


@settings(max_examples=50)
@given(st.integers(1, 3).flatmap(lambda players: histories(players, 4)))
def test_any_tree_comes_back_when_it_is_written(root):
    tree = GameTree.from_history(root)
    written = write_efg(tree)
    found = read_efg(written)
    assert_same_game(found, type(found)(tree))
    for_gambit = read_efg(write_efg(tree, for_gambit=True)).tree
    np.testing.assert_array_equal(for_gambit.information_set, tree.information_set)
    np.testing.assert_array_equal(for_gambit.payoffs, tree.payoffs)


@SETTINGS
@given(NAMES, NAMES, NAMES)
def test_any_names_come_back_when_they_are_written(title, label, action):
    tree = GameTree.from_history(Node({action: Node(earned=(0.0,))}, 0, label))
    found = read_efg(write_efg(rk.ExtensiveFormGame(tree, name=title)))
    assert found.name == (title or None)
    assert found.tree.labels == ((label or "1",),)
    assert found.tree.actions == (((action or "1",),),)
