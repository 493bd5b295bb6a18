"""HTML in notebooks: games, profiles, runs and results as tables, and small games as figures."""

import base64
import sys
import xml.etree.ElementTree as ET

import matplotlib.pyplot as plt
import numpy as np
import pytest
from test_game_figures import DRIVER, EVERY, MATRICES, TREES

import regretkit as rk
from regretkit import games
from regretkit.evaluation import RegretLedger, best_correlated_equilibrium, solve_zero_sum
from regretkit.games import NormalFormGame, Profile, read_efg
from regretkit.sets import Ball

# In notebooks


def shown(thing):
    return ET.fromstring(f"<div>{thing._repr_html_()}</div>")


def content(element):
    return "".join(element.itertext())


def image_of(root):
    """Return the figure that is shown."""
    (image,) = root.iter("img")
    return ET.fromstring(base64.b64decode(image.get("src").partition("base64,")[2]))


def cells(root):
    return [[content(cell).strip() for cell in row] for row in root.iter("tr")]


@pytest.mark.deep_beyond(4)
@pytest.mark.parametrize(
    "make",
    [
        TREES["kuhn"],
        TREES["driver"],
        TREES["long names"],
        lambda: games.kuhn_poker().tree,
        *MATRICES.values(),
    ],
)
def test_a_small_game_is_drawn(make):
    assert image_of(shown(make())).tag.endswith("svg")
    assert not plt.get_fignums()


def test_a_small_game_is_shown_as_text_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    named = NormalFormGame(np.zeros((3, 1, 1, 2)), actions=[["<a&b>"], ["c"], ["d", "e\x1b"]])
    tree, table = (content(shown(game)) for game in (games.kuhn_poker(), named))
    assert tree.count("player 1 at 'Qb'") == 2
    assert "pays 2, -2" in tree
    assert "player 2: e\\x1b" in table
    assert "<a&b>" in table


def test_any_character_may_be_in_labels_actions_and_names():
    actions = [f"{start}{''.join(EVERY[start : start + 3])}" for start in range(0, len(EVERY), 3)]
    tree = rk.DecisionTree([0], [len(actions)], labels=["".join(EVERY[:9])], actions=[actions])
    profile = Profile([tree.relative_interior_point()], [tree])
    large = NormalFormGame(np.zeros((1, 121)), name="".join(EVERY[0xD7F0:0xE100]))
    run = rk.SelfPlay(large, [rk.RegretMatching(121)])
    (row,) = cells(shown(profile))
    assert len(row) == 1 + len(actions)
    for start, cell in zip(range(0, len(EVERY), 3), row[1:], strict=True):
        assert cell.startswith(str(start))
    assert r"\ud800" in content(shown(large))
    assert r"\ud800" in content(shown(run))


def test_a_large_game_is_shown_by_its_sizes():
    root = shown(games.leduc_poker())

    assert not list(root.iter("img"))
    facts = dict(cells(root))
    # 6 cards, 936 information sets: the standard count.
    assert facts["information sets"] == "468 + 468"
    assert facts["histories"] == "9,457"
    assert facts["payoffs add up to"] == "0"
    assert dict(cells(shown(games.blotto())))["outcomes"] == "441"
    assert (
        dict(cells(shown(games.battleship(loss_multiplier=2))))["payoffs add up to"]
        == "no constant"
    )


def test_a_game_that_cannot_be_played_says_why():
    assert "imperfect recall" in content(shown(read_efg(DRIVER)))


def test_a_profile_shows_each_probability_at_its_information_set():
    game = games.kuhn_poker()
    profile = rk.solve(game, "cfr+", iterations=50).average
    rows = cells(shown(profile))
    assert len(rows) == 12
    for label, *actions in rows:
        told = dict(cell.split() for cell in actions)
        assert list(told) == ["p", "b"]
        np.testing.assert_allclose([float(p) for p in told.values()], profile[label], atol=5e-5)


def test_a_profile_flags_unreached_information_sets_and_is_cut_if_long():
    tree = games.kuhn_poker().domains[0]
    folding = Profile([tree.sequence_form(np.tile([0.0, 1.0], 6))], [tree])
    large = games.leduc_poker()
    flagged = [row[0] for row in cells(shown(folding)) if row[-1] == "never reached"]
    assert flagged == ["Jpb", "Qpb", "Kpb"]  # after passing, which is never done
    many = shown(
        Profile([domain.relative_interior_point() for domain in large.domains], large.domains)
    )
    assert len(cells(many)) == 2 * 60
    assert content(many).count("408 more information sets") == 2


def test_a_profile_on_a_ball_shows_its_vectors():
    profile = Profile([np.array([0.5, 0.25])], [Ball([0.0, 0.0], 1.0)])
    assert "[0.5  0.25]" in content(shown(profile))


def test_a_run_shows_its_facts_as_printed():
    run = rk.solve(games.kuhn_poker(), "cfr+", iterations=30)
    found = dict(cells(shown(run)))
    assert [*found] == ["game", "algorithm", "iterations", "gap", "value", "engine", "seconds"]
    assert [line.split()[1] for line in str(run).splitlines()] == [
        fact.split()[0] for fact in found.values()
    ]


def test_results_show_their_numbers_and_their_profiles():
    exact = cells(shown(solve_zero_sum(games.kuhn_poker())))
    assert dict(exact[:5])["value"] == "-0.0555556"
    assert [row[0] for row in exact[:5]] == ["value", "lower", "upper", "gap", "by"]
    assert exact[4] == ["by", "linear program"]
    assert len(exact) == 5 + 12


def test_a_ledger_shows_its_regrets():
    player = rk.Product([rk.RegretMatching(2), rk.RegretMatching(3)])
    ledger = RegretLedger(player)
    player.observe_utility([1.0, 0.0, 0.0, 0.0, 3.0])
    header, top, first, second = cells(shown(ledger))
    assert header == ["node", "external", "internal", "swap", "bound"]
    assert top[:2] == ["top", "2.5"]
    assert (first[0], second[0], second[1]) == ("parts[0]", "parts[1]", "2")


def test_a_correlated_equilibrium_shows_its_numbers():
    found = best_correlated_equilibrium(games.chicken())
    told = dict(cells(shown(found)))
    assert float(told["value"]) == pytest.approx(found.value, rel=1e-5)


def test_comparisons_are_tables():
    found = rk.compare(games.kuhn_poker(), ["cfr", "cfr+"], 2)
    assert cells(shown(found)) == [found.summary()[0], *found.summary()[1]]
