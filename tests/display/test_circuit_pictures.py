"""Circuits as indented text, as nested boxes, and as figures."""

import xml.etree.ElementTree as ET

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.patches import FancyBboxPatch
from test_random_compositions import Lot, anywhere

import regretkit as rk
from regretkit import display
from regretkit._state import with_parts
from regretkit.circuits import AffineImage, Discount, Restart
from regretkit.sets import DecisionTree

TREE = DecisionTree([0, 2, 2], [2, 3, 2])


def nested(simplices):
    members = [Restart(rk.RegretMatching(simplices), every=10), rk.Hedge(simplices, rate=0.5)]
    return rk.ConvexHull(members, mixing=rk.RegretMatchingPlus)


def boxes(player):
    """Return the texts in each box of HTML without the boxes in it, outer ones first."""
    found = []
    for element in ET.fromstring(player._repr_html_()).iter("div"):
        if "border-radius" in element.get("style", ""):
            own = [child for child in element if child.find("div") is None]
            found.append(["".join(child.itertext()) for child in own])
    return found


def test_a_circuit_is_an_indented_tree_or_boxes_in_boxes():
    player = rk.CFR(TREE, nested)
    assert str(player).splitlines() == [
        "CFR                                tree of 3 decision points  dimension 8",
        "  rule: ConvexHull                 3 simplices                dimension 7",
        "    members[0]: Restart(every=10)  3 simplices                dimension 7",
        "      minimizer: RegretMatching    3 simplices                dimension 7",
        "    members[1]: Hedge(rate=0.5)    3 simplices                dimension 7",
        "    mixing: RegretMatchingPlus     3 simplices                dimension 6",
    ]
    assert boxes(player)[::5] == [
        ["CFR", "tree of 3 decision points, dimension 8"],
        ["mixing", "RegretMatchingPlus", "3 simplices, dimension 6"],
    ]


@pytest.mark.parametrize(
    ("player", "line"),
    [
        (Discount(rk.RegretMatching(2), weight=float), "Discount(weight=float)"),
        (Discount(rk.RegretMatching(2), weight=lambda t: 1.0), "Discount(weight=function)"),
        (AffineImage(rk.RegretMatching(2), [[1.0, 0.0]]), "AffineImage(matrix=[[1.0, 0.0]])"),
        (AffineImage(rk.RegretMatching(2), np.ones((5, 2))), "AffineImage(matrix=array of 5 x 2)"),
        (rk.DiscountedRegretMatching(2, alpha=1.5), "DiscountedRegretMatching"),
        (rk.DiscountedRegretMatching(2, alpha=1.0), "DiscountedRegretMatching(alpha=1)"),
        (rk.SwapRegret(2, rk.RegretMatching), "SwapRegret"),
        (rk.Hedge(2, rate=0.3, optimistic=True), "Hedge(optimistic=True, rate=0.3)"),
    ],
)
def test_hyperparameters_are_shown_where_they_are_not_the_default_ones(player, line):
    assert str(player).splitlines()[0].split("  ")[0] == line


def test_equal_parts_are_one_line_and_of_many_parts_the_first_are_shown():
    lines = str(rk.Product([rk.RegretMatching(2) for _ in range(40)])).splitlines()
    assert len(lines) == 2
    assert lines[1].startswith("  parts[0 to 39], 40 equal: RegretMatching ")
    lines = str(rk.Product([rk.RegretMatching(2 + n % 2) for n in range(40)])).splitlines()
    assert len(lines) == 14
    assert lines[-1] == "  ... 28 more"


def test_a_figure_has_a_box_for_each_part_that_holds_its_text_and_no_other_box():
    axes = display.draw_circuit(rk.CFR(TREE, nested), title="A $circuit$")
    axes.figure.canvas.draw()
    drawn = [patch for patch in axes.patches if isinstance(patch, FancyBboxPatch)]
    extents = [patch.get_window_extent() for patch in drawn]
    assert len(drawn) == 6
    assert axes.get_title(loc="left") == r"A \$circuit\$"
    texts = {text.get_text() for text in axes.texts}
    assert {"CFR", "rule", "Hedge(rate=0.5)", "3 simplices, dimension 6"} <= texts
    for number, one in enumerate(extents):
        assert not any(one.overlaps(other) for other in extents[number + 1 :])
    for inner in (text.get_window_extent() for text in axes.texts):
        holding = [
            box.x0 <= inner.x0 and inner.x1 <= box.x1 and box.y0 <= inner.y0 <= box.y1
            for box in extents
        ]
        assert sum(holding) == 1
    # A circuit is amid its parts, which are one column to the right.
    places = sorted((round(box.x0), (box.y0 + box.y1) / 2) for box in extents)
    (_, top), (_, rule), (_, last), _, (_, first) = places[:5]
    assert top == pytest.approx(rule) == pytest.approx((first + last) / 2)


def test_a_figure_obeys_figsize_axes_and_settings():
    small = display.draw_circuit(nested(3), figsize=(7, 2))
    assert small.figure.get_size_inches().tolist() == [7, 2]
    _, own = plt.subplots()
    assert display.draw_circuit(nested(3), ax=own) is own
    with plt.rc_context({"font.size": 20.0}):
        large = display.draw_circuit(nested(3)).figure.get_size_inches()
    assert (large > 1.5 * display.draw_circuit(nested(3)).figure.get_size_inches()).all()


@pytest.mark.deep_beyond(3)
@pytest.mark.parametrize("seed", range(12))
def test_any_circuit_has_all_its_pictures(seed):
    player = anywhere(Lot(seed, promising=False), 3, 5)
    count = sum(isinstance(part, rk.RegretMinimizer) for part in with_parts(player))
    assert 1 <= len(str(player).splitlines()) <= count
    assert len(boxes(player)) == len(str(player).splitlines())
    assert len(display.draw_circuit(player).patches) == len(boxes(player))
