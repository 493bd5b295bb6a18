"""The data of a page that shows a profile."""

import json

import numpy as np
import pytest

from regretkit import load, nash_conv, solve
from regretkit.display._solution import solution_data
from regretkit.games import hold_em

RANGES = "AA,KK,AhKh", "QQ,JTs:0.5"


def test_reach_is_the_product_of_the_strategy_on_the_way():
    game = load("leduc_poker")
    profile = solve(game, "cfr+", iterations=20).average
    data = json.loads(json.dumps(solution_data(profile)))
    for own in data["sets"]:
        for information_set in own:
            reach, at = 1.0, information_set["after"]
            while at is not None:
                reach *= own[at[0]]["strategy"][at[1]]
                at = own[at[0]]["after"]
            assert information_set["reach"] == pytest.approx(reach, abs=1e-4)
    gains = [float(fact.rpartition(" ")[2]) for _, fact in data["facts"]]
    assert sum(gains) == pytest.approx(nash_conv(game, profile), rel=0.01)


def test_a_profile_without_a_game_shows_its_information_sets():
    average = solve(load("kuhn_poker"), "cfr", iterations=5).average
    profile = type(average)(average, average.domains)
    assert solution_data(profile)["facts"] == []
    assert len(solution_data(profile)["sets"][0]) == 6


def test_public_nodes_show_hands_and_locks():
    game = hold_em("Ks Th 7s 4d 2s", RANGES, pot=100, stack=200, bets="50%", raises="a")
    locked = game.lock({"/bet 50": [0.5, 0.25, 0.25]})
    profile = solve(locked, "dcfr", iterations=50).average
    data = json.loads(json.dumps(solution_data(profile)))
    assert data["sets"] is None
    root = data["tree"][0]
    report = root["report"]
    assert report["actions"] == ["check", "bet 50"]
    assert max(report["weight"]) == 1.0
    assert len({len(report[name]) for name in ("hands", "weight", "equity", "ev", "evs")}) == 1
    # The EV of a hand is the mean of the EVs of its actions.
    played, evs = np.array(report["strategy"]), np.array(report["evs"])
    np.testing.assert_allclose((played * evs).sum(axis=1), report["ev"], rtol=5e-3, atol=1e-2)
    nodes = [data["tree"][game.tree.find(path)] for path in ("/bet 50", "/bet 50/fold")]
    assert nodes[0]["player"] == -3
    assert nodes[0]["note"] == "player 1's strategy is locked"
    assert nodes[1]["note"] == "payoffs 50, -50"
    showdown = data["tree"][game.tree.find("/bet 50/call")]["note"]
    assert showdown == "showdown: player 0 wins 100 or loses 100"
    half = solution_data(profile, nodes=["/check"])["tree"]
    assert [node["edge"] for node in half if node["report"]] == ["check"]
    assert 0.5 in half[1]["report"]["weight"]  # JTs:0.5
