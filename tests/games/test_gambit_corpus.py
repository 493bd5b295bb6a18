"""Real games, written by many hands: they are read as others read them, and written again."""

import time
from fractions import Fraction

import numpy as np
import pytest
from assert_games import assert_same_game
from corpus import each, place, reference

import regretkit as rk
from regretkit.games import read_efg, read_nfg, write_efg, write_nfg

each_game = each("expected.json")
each_tree = each("expected.json", lambda known: known["form"] == "efg")
each_bad = each("bad/manifest.json", lambda known: known["verdict"] in ("reject", "either"))
each_odd = each("odd/manifest.json")


def known_of(name):
    return reference("expected.json")[name]


def load(name):
    return rk.load(place(name))


def numbers(texts):
    return [float(Fraction(text)) for text in texts]


# What is read


@pytest.mark.deep_beyond(17)
@each_tree
def test_a_tree_has_the_known_sizes(name):
    game, known = load(name), known_of(name)
    tree = game.tree

    assert tree.histories == known["nodes"]
    assert tree.terminals.size == known["terminals"]
    assert tree.depth == known["depth"]
    assert list(tree.information_sets) == known["infosets"]
    assert [sum(map(len, by_set)) for by_set in tree.actions] == known["actions"]
    assert (tree.player == rk.games.CHANCE).sum() == known["chance_nodes"]
    assert (game.name or "") == known["title"]


@pytest.mark.deep_beyond(26)
@each("expected.json", lambda known: known["form"] == "nfg")
def test_a_table_has_the_known_sizes(name):
    game, known = load(name), known_of(name)
    assert list(game.payoffs.shape) == [known["players"], *known["strategies"]]
    assert game.payoffs[0].size == known["cells"]
    assert (game.name or "") == known["title"]


@pytest.mark.deep_beyond(26)
@each_game
def test_uniform_play_earns_what_is_known_and_so_does_the_best_response(name):
    game, known = load(name), known_of(name)
    uniform = rk.games.Profile.uniform(game)
    paid = numbers(known["uniform_payoffs"])
    np.testing.assert_allclose(game.value(uniform), paid, rtol=1e-9, atol=1e-9)
    if known.get("perfect_recall") is not False:
        best = [d.best_response(game.utility(i, uniform))[0] for i, d in enumerate(game.domains)]
        expected = numbers(known["best_response_to_uniform"])
        np.testing.assert_allclose(best, expected, rtol=1e-9, atol=1e-9)


# What is written


@pytest.mark.deep_beyond(77)
@each_game
def test_a_written_game_is_read_as_the_same_game(name):
    game = load(name)
    normal = isinstance(game, rk.NormalFormGame)
    text = write_nfg(game) if normal else write_efg(game)
    assert_same_game(read_nfg(text) if normal else read_efg(text), game)


# What is refused


@each_bad
def test_a_bad_file_is_refused_in_no_time_with_a_line_and_a_column(name):
    path, start = place(f"bad/{name}"), time.perf_counter()
    with pytest.raises(ValueError, match=rf"^{path}, line \d+, column \d+: ."):
        rk.load(path)
    assert time.perf_counter() - start < 1.0


@each_odd
def test_an_odd_file_is_read(name):
    assert rk.load(place(f"odd/{name}")).players >= 2
