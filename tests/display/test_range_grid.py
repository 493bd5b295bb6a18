"""Grids of hands show the shares of actions that a report has."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from regretkit import display
from regretkit.evaluation import hold_em_report
from regretkit.games import Profile, hold_em, load
from regretkit.play import solve

RANGES = "22+,A2s+,AKo:0.5,98s", "*"


def bars_of(axes):
    """Return the bars of each action: where they begin, the middle row, width and height."""
    return [
        np.array([[b.get_x(), b.get_y(), b.get_width(), b.get_height()] for b in container])
        for container in axes.containers
    ]


def test_cells_show_the_average_play_of_their_hands():
    game = hold_em("Ks Th 7s 4d 2s", RANGES, 100, 200, "50%,a", "a")
    profile = solve(game, "cfr+", iterations=20).average
    axes = display.range_grid(game, profile, title="River")
    bars, report = bars_of(axes), hold_em_report(game, profile, nodes=["/"])["nodes"]["/"]

    assert_allclose(sum(bar[:, 2] for bar in bars), 1.0)  # the widths of a cell
    assert len(bars[0]) == 13 + 12 + 1 + 1
    aces = [hand for name, hand in report["hands"].items() if name[0] + name[2] == "AA"]
    expected = np.mean([hand["strategy"] for hand in aces], axis=0)
    assert_allclose([bar[0, 2] for bar in bars], expected)
    corners = {(round(x), round(y + h)): h for x, y, _, h in bars[0]}
    assert corners[0, 1] == pytest.approx(1.0)  # aces, in the first row
    assert corners[0, 2] == pytest.approx(0.5)  # AKo has half the weight
    assert corners[1, 1] == pytest.approx(1.0)  # AKs
    shown = [text.get_text() for text in axes.get_legend().get_texts()]
    pairs = zip(report["actions"], report["frequencies"], strict=True)
    assert shown == [f"{action} {frequency:.1%}" for action, frequency in pairs]
    assert axes.get_title() == "River: player 0 at /"


def test_a_small_deck_has_a_small_grid():
    game = hold_em("2c3d3h5c6c", ("*", "*"), 40, 180, deck="2-6")
    axes = display.range_grid(game, Profile.uniform(game), "/check")
    assert len(axes.containers[0]) == 25
    assert axes.get_xlim() == (0, 5)
    assert axes.get_title() == "player 1 at /check"


def test_what_has_no_hands_is_refused():
    with pytest.raises(TypeError, match=r"game must be a PublicGame.*hold_em\(\)"):
        display.range_grid(load("kuhn_poker"), [])
    game = hold_em()
    with pytest.raises(ValueError, match="node must be a decision, got '/check/check'"):
        display.range_grid(game, Profile.uniform(game), "/check/check")
    with pytest.raises(ValueError, match="is no action at"):
        display.range_grid(game, Profile.uniform(game), "/bet 7")
