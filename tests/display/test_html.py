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

KUHN = games.kuhn_poker()


def shown(thing):
    return ET.fromstring(f"<div>{thing._repr_html_()}</div>")


def content(element):
    return "".join(element.itertext())


def cells(thing):
    return [[content(cell).strip() for cell in row] for row in shown(thing).iter("tr")]


@pytest.mark.deep_beyond(4)
@pytest.mark.parametrize(
    "make",
    [TREES["kuhn"], TREES["driver"], TREES["long names"], lambda: KUHN.tree, *MATRICES.values()],
)
def test_a_small_game_is_drawn(make):
    (image,) = shown(make()).iter("img")
    drawn = ET.fromstring(base64.b64decode(image.get("src").partition("base64,")[2]))
    assert drawn.tag.endswith("svg")
    assert not plt.get_fignums()


def test_a_small_game_is_shown_as_text_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    named = NormalFormGame(np.zeros((3, 1, 1, 2)), actions=[["<a&b>"], ["c"], ["d", "e\x1b"]])
    tree, table = (content(shown(game)) for game in (KUHN, named))
    assert tree.count("player 1 at 'Qb'") == 2
    assert "pays 2, -2" in tree
    assert "player 2: e\\x1b" in table
    assert "<a&b>" in table


def test_any_character_may_be_in_labels_actions_and_names():
    actions = [f"{start}{''.join(EVERY[start : start + 3])}" for start in range(0, len(EVERY), 3)]
    tree = rk.DecisionTree([0], [len(actions)], labels=["".join(EVERY[:9])], actions=[actions])
    large = NormalFormGame(np.zeros((1, 121)), name="".join(EVERY[0xD7F0:0xE100]))
    (row,) = cells(Profile([tree.relative_interior_point()], [tree]))
    assert len(row) == 1 + len(actions)
    for start, cell in zip(range(0, len(EVERY), 3), row[1:], strict=True):
        assert cell.startswith(str(start))
    for thing in (large, rk.SelfPlay(large, [rk.RegretMatching(121)])):
        assert r"\ud800" in content(shown(thing))


def test_a_large_game_is_shown_by_its_sizes():
    leduc = games.leduc_poker()
    facts = dict(cells(leduc))
    assert not list(shown(leduc).iter("img"))
    # 6 cards, 936 information sets: the standard count.
    sizes = [facts[name] for name in ("information sets", "histories", "constant sum")]
    assert sizes == ["468 + 468", "9,457", "0"]
    assert dict(cells(games.blotto()))["outcomes"] == "441"
    general = games.battleship(loss_multiplier=2)
    assert dict(cells(general))["constant sum"] == "none"
    assert "imperfect recall" in content(shown(read_efg(DRIVER)))


def test_a_profile_shows_each_probability_and_is_cut_if_long():
    profile = rk.solve(KUHN, "cfr+", iterations=50).average
    assert len(cells(profile)) == 12
    for label, *actions in cells(profile):
        played = dict(cell.split() for cell in actions)
        assert list(played) == ["p", "b"]
        np.testing.assert_allclose([*map(float, played.values())], profile[label], atol=5e-5)
    tree = KUHN.domains[0]
    folding = Profile([tree.sequence_form(np.tile([0.0, 1.0], 6))], [tree])
    flagged = [row[0] for row in cells(folding) if row[-1] == "never reached"]
    assert flagged == ["Jpb", "Qpb", "Kpb"]  # after passing, which is never done
    domains = games.leduc_poker().domains
    many = Profile([domain.relative_interior_point() for domain in domains], domains)
    assert len(cells(many)) == 2 * 60
    assert content(shown(many)).count("408 more information sets") == 2
    ball = Profile([np.array([0.5, 0.25])], [Ball([0.0, 0.0], 1.0)])
    assert "[0.5  0.25]" in content(shown(ball))


def test_runs_solutions_and_comparisons_show_their_numbers():
    run = rk.solve(KUHN, "cfr", iterations=200)
    found = dict(cells(run))
    assert [*found] == ["game", "algorithm", "iterations", "gap", "value", "engine", "seconds"]
    printed = [line.split()[1] for line in str(run).splitlines()]
    assert printed == [fact.split()[0] for fact in found.values()]
    exact = cells(solve_zero_sum(KUHN))
    assert [row[0] for row in exact[:5]] == ["value", "lower", "upper", "gap", "by"]
    assert (exact[0][1], exact[4][1]) == ("-0.0555556", "linear program")
    assert len(exact) == 5 + 12
    best = best_correlated_equilibrium(games.chicken())
    assert float(dict(cells(best))["value"]) == pytest.approx(best.value, rel=1e-5)
    compared = rk.compare(KUHN, ["cfr", "cfr+"], 2)
    assert cells(compared) == [compared.summary()[0], *compared.summary()[1]]


def test_a_ledger_shows_its_regrets():
    player = rk.Product([rk.RegretMatching(2), rk.RegretMatching(3)])
    ledger = RegretLedger(player)
    player.observe_utility([1.0, 0.0, 0.0, 0.0, 3.0])
    header, top, first, second = cells(ledger)
    assert header == ["node", "external", "internal", "swap", "bound"]
    assert top[:2] == ["top", "2.5"]
    assert (first[0], second[0], second[1]) == ("parts[0]", "parts[1]", "2")
