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
each_bad = each("bad/manifest.json", lambda known: known["verdict"] == "reject")
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


@pytest.mark.deep_beyond(17)
@each("expected.json", lambda known: known.get("perfect_recall") is not False)
def test_uniform_play_earns_what_is_known_and_so_does_the_best_response(name):
    game, known = load(name), known_of(name)
    uniform = [domain.relative_interior_point() for domain in game.domains]
    best = [
        domain.best_response(game.utility(player, uniform))[0]
        for player, domain in enumerate(game.domains)
    ]

    np.testing.assert_allclose(
        game.value(uniform), numbers(known["uniform_payoffs"]), rtol=1e-9, atol=1e-9
    )
    np.testing.assert_allclose(
        best, numbers(known["best_response_to_uniform"]), rtol=1e-9, atol=1e-9
    )


@each("expected.json", lambda known: known.get("perfect_recall") is False)
def test_uniform_play_earns_what_is_known_under_imperfect_recall(name):
    tree = load(name).tree
    reach = np.ones(tree.histories)
    children = np.bincount(tree.parent[1:], minlength=tree.histories)
    for history in range(1, tree.histories):
        parent = tree.parent[history]
        by_chance = tree.player[parent] == rk.games.CHANCE
        share = tree.probability[history] if by_chance else 1.0 / children[parent]
        reach[history] = reach[parent] * share

    np.testing.assert_allclose(
        reach[tree.terminals] @ tree.payoffs,
        numbers(known_of(name)["uniform_payoffs"]),
        rtol=1e-9,
        atol=1e-9,
    )


# The value, by a linear program


# What is written


@pytest.mark.deep_beyond(77)
@each_game
def test_a_written_game_is_read_as_the_same_game(name):
    game = load(name)
    normal = isinstance(game, rk.NormalFormGame)
    text = write_nfg(game) if normal else write_efg(game)
    assert_same_game(read_nfg(text) if normal else read_efg(text), game)


# What is refused

FAULTS = {
    "chance_all_zero.efg": (4, 14, "sum to 0"),
    "chance_missing_probability.efg": (4, 18, '"r"'),
    "chance_rounded_thirds.efg": (4, 14, "0.99"),
    "chance_sum_1.1.efg": (4, 14, "1.1"),
    "git_lfs_pointer.efg": (1, 1, "version"),
    "gzip_magic.efg": (1, 2, "0x8b"),
    "infoset_never_declared.efg": (4, 8, "information set 7 of player 1"),
    "missing_last_terminal.efg": (10, 1, "the end of the file"),
    "nfg_inf.nfg": (5, 6, "inf"),
    "nfg_negative_count.nfg": (1, 33, "-2"),
    "nfg_outcome_negative.nfg": (6, 5, "-1"),
    "nfg_strategy_lists_3_for_2.nfg": (2, 27, "2 players"),
    "nfg_text_payoff.nfg": (5, 6, "two"),
    "no_number_type.efg": (1, 7, "R or D"),
    "outcome_0_with_payoffs.efg": (6, 6, "outcome 0"),
    "outcome_redeclared_differently.efg": (10, 6, "outcome 1"),
    "outcome_too_few_payoffs.efg": (6, 16, "player 2"),
    "outcome_unknown.efg": (6, 6, "outcome 9"),
    "payoff_nan.efg": (6, 14, "nan"),
    "payoff_word.efg": (6, 14, "one"),
    "player_0.efg": (4, 6, "got 0"),
    "player_3_of_2.efg": (4, 6, "got 3"),
    "players_not_closed.efg": (4, 1, "'p'"),
    "truncated_170.efg": (9, 16, "the end of the file"),
    "truncated_20.efg": (1, 21, "the end of the file"),
    "unquoted_title.efg": (1, 9, "title"),
    "version_word.efg": (1, 5, "two"),
    "whitespace_only.efg": (3, 1, "EFG"),
}


@each_bad
def test_a_bad_file_is_refused_in_no_time_where_its_fault_is(name):
    path = place(f"bad/{name}")
    start = time.perf_counter()
    with pytest.raises(ValueError, match=r"line \d+, column \d+: ") as refusal:
        rk.load(path)
    assert time.perf_counter() - start < 1.0
    line, column, reason = FAULTS[name]
    assert str(refusal.value).startswith(f"{path}, line {line}, column {column}: ")
    assert reason in str(refusal.value)


@each("bad/manifest.json", lambda known: known["verdict"] == "either")
def test_a_file_that_others_read_in_part_is_refused_as_a_whole(name):
    with pytest.raises(ValueError, match=r"line \d+, column \d+: "):
        rk.load(place(f"bad/{name}"))


@each_odd
def test_an_odd_file_is_read(name):
    assert rk.load(place(f"odd/{name}")).players >= 2
