"""Reports on endgames against sums over pairs of hands."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose
from test_public_games import random_profile

from regretkit.evaluation import hold_em_report, nash_conv
from regretkit.games import Profile, hold_em, load

TERMS = {
    **{"board": "2c3d3h5c6c", "ranges": ("66,54s:0.5,42", "*"), "pot": 40, "stack": 180},
    **{"deck": "2-6"},
}
GAME = hold_em(**TERMS, rake=0.05, cap=3)


def profile():
    return random_profile(GAME, 1)


def test_the_summary_is_in_chips_and_in_shares_of_the_pot():
    report = hold_em_report(GAME, profile())
    assert report["pot"] == 40
    assert_allclose(report["value"], GAME.value(profile()))
    assert_allclose(sum(report["share"]), 1 - report["rake"] / 40)
    assert 0 < report["rake"] < 3
    lost = report["exploitability"]
    assert_allclose(lost["chips"], nash_conv(GAME, profile()) / 2)
    assert_allclose(lost["percent"], lost["chips"] / 40 * 100)


def test_all_of_it_is_json():
    report = hold_em_report(GAME, profile())
    assert json.loads(json.dumps(report, allow_nan=False)) == report
    assert list(report["nodes"])[:2] == ["/", "/check"]
    assert len(report["nodes"]) == 12


def test_frequencies_and_evs_of_a_node_are_sums_over_pairs_of_hands():
    path = "/check/bet 40"
    node = hold_em_report(GAME, profile(), nodes=[path])["nodes"][path]
    assert node["player"] == 0
    assert node["actions"] == ["fold", "call", "raise 160", "all-in 180"]
    meet, (own, other) = GAME.deal.pairs(), (GAME.reach(p, profile(), path) for p in (0, 1))
    weight = own * (meet @ other)
    hands = node["hands"]
    assert [*hands] == [name for name, w in zip(GAME.deal.types[0], own, strict=True) if w]
    strategies = np.array([hand["strategy"] for hand in hands.values()])
    assert_allclose(node["frequencies"], weight @ strategies / weight.sum())
    for hand in hands.values():
        assert_allclose(hand["ev"], np.dot(hand["strategy"], hand["evs"]))
        assert hand["evs"][0] == pytest.approx(-20)
    first, second = GAME.deal.strengths[""]
    wins = (first[:, None] > second) + (first[:, None] == second) / 2
    equity = (meet * wins) @ other / (meet @ other)
    assert_allclose([hand["equity"] for hand in hands.values()], equity)
    assert_allclose([hand["weight"] for hand in hands.values()], own)


def test_a_turn_reports_the_hands_before_the_river_is_dealt():
    game = hold_em("2c3d3h4c", ("*", "*"), 40, 100, deck="2-4")
    report = hold_em_report(game, Profile.uniform(game))
    assert len(report["nodes"]) == 8
    assert all("/2" not in path for path in report["nodes"])
    river = hold_em_report(game, Profile.uniform(game), nodes=["/check/check/2d"])
    hands = river["nodes"]["/check/check/2d"]["hands"]
    assert all("2d" not in (name[:2], name[2:]) for name in hands)


def test_locked_nodes_are_left_out_and_what_follows_is_not():
    game = hold_em().lock({"/": [0.5, 0.5]})
    report = hold_em_report(game, Profile.uniform(game))
    assert list(report["nodes"]) == ["/check", "/check/all-in 100", "/all-in 100"]
    assert report["pot"] == 100


def test_what_is_no_endgame_is_refused():
    with pytest.raises(TypeError, match=r"game must be a PublicGame, got.*such as games.hold_em"):
        hold_em_report(load("kuhn_poker"), [])
    with pytest.raises(ValueError, match="node must be a decision, got '/check/check'"):
        hold_em_report(GAME, profile(), nodes=["/check/check"])
