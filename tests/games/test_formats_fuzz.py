"""Any text is a game or is refused with a line and a column; written games are read again."""

import math
import re
from pathlib import Path

import numpy as np
from assert_games import assert_same_game
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_games import Node

import regretkit as rk
from regretkit.games import (
    CHANCE,
    GameTree,
    read_efg,
    read_nfg,
    write_efg,
    write_nfg,
)

SHIPPED = sorted((Path(__file__).parents[2] / "examples" / "games").iterdir())
VALID = [path.read_text() for path in SHIPPED]
TOKENS = re.compile(r'"[^"]*"|[{},]|[^\s{},"]+')
# Everything that means something in one of the formats, and some that comes close
PIECES = [
    *sorted({token for text in VALID for token in TOKENS.findall(text)}),
    *('"', "\\", '\\"', "{", "}", "{ }", ",", "//", "/*", "*/", "\n", "\r", "\t", "\0", "\ufeff"),
    *("0", "-1", "1/0", "0/0", "1e400", "-1e-400", "1e", ".", "-", "+", "nan", "inf", "1_0", "½"),
    *("1/3", "7" * 5000, "1/" + "7" * 5000, "9" * 30, "1.5", "2 2", "0 0", "1 -1", "\N{NBSP}", "é"),
    *('p "" 1 1 0', 't "" 0', 't "" 1', 'c "" 1 0', "EFG 2 R", "NFG 1 R", '"" { 1, -1 }', '""'),
]
SETTINGS = settings(max_examples=300)


def read(text):
    """Return the game in a text, or None where it is refused as it should be."""
    reader = read_nfg if text.lstrip().startswith("NFG") else read_efg
    try:
        return reader(text)
    except ValueError as error:
        refusal = str(error)
    assert re.match(r"line \d+, column \d+: .", refusal)
    return None


def check(text):
    """Check that a text is refused properly, or is a game that comes back when it is written."""
    game = read(text)
    if isinstance(game, rk.NormalFormGame):
        assert_same_game(read_nfg(write_nfg(game)), game)
    elif game is not None:
        assert_same_game(read_efg(write_efg(game)), game)


# Damaged texts


@st.composite
def respelled(draw):
    """Return a valid text in which some of its words were exchanged, with space around them."""
    words = TOKENS.findall(draw(st.sampled_from(VALID)))
    for _ in range(draw(st.integers(1, 3))):
        words[draw(st.integers(0, len(words) - 1))] = draw(st.sampled_from(PIECES))
    return " ".join(words)


@SETTINGS
@given(respelled())
def test_a_text_with_other_words_is_a_game_or_is_refused(text):
    check(text)


@SETTINGS
@given(st.text())
def test_any_text_is_refused(text):
    assert read(text) is None


def test_the_texts_that_are_spoiled_are_good():
    assert all(read(text) is not None for text in VALID)
    assert all(read(" ".join(TOKENS.findall(text))) is not None for text in VALID)


# Random games

NAMES = st.text(max_size=6)
NONEMPTY = st.text(min_size=1, max_size=6)
PAYOFFS = st.floats(-1e300, 1e300) | st.sampled_from([0.0, 1 / 3, 5e-324, -1e300, 0.1])


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


@settings(max_examples=200)
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
