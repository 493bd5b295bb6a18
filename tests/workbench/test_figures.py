"""Figures and tables for papers show the numbers that they are about."""

import math

import numpy as np
import pytest
from refusals import refusals

from regretkit.workbench import ComparedRun, Comparison, gap_table

pytest.importorskip("matplotlib")

AT = [1, 10, 100]


def run(game, algorithm, gaps, seed=None):
    columns = {"iteration": AT, "nash_conv": gaps, "visited": [7 * at for at in AT]}
    return ComparedRun(game, algorithm, seed, columns)


def comparison():
    """Return runs of two algorithms on two games, of which one is drawn four times."""
    drawn = [
        run("kuhn_poker", "mccfr", [1.0, x, x / 10], seed) for seed, x in enumerate([1, 2, 4, 9])
    ]
    return Comparison(
        [
            run("kuhn_poker", "cfr+", [1.0, 0.1, 0.001]),
            *drawn,
            run("chicken_&_50%", "mccfr", [2.0, 0.0, 0.0], 0),
            run("chicken_&_50%", "cfr+", [1.0, 0.5, 0.0015]),
        ]
    )


def test_curves_are_medians_in_the_same_colors_with_bands_between_quartiles():
    figure = comparison().plot(width="page")
    kuhn, chicken = figure.axes
    assert figure.get_figwidth() == 7.0
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        *("CFR+", "MCCFR", "zero or less")
    ]
    lines = {line.get_label(): line for line in kuhn.get_lines()}
    assert lines["MCCFR"].get_ydata() == pytest.approx([1.0, 3.0, 0.3])
    low, high = np.quantile([1.0, 2.0, 4.0, 9.0], [0.25, 0.75])
    corners = kuhn.collections[0].get_paths()[0].vertices
    assert {*corners[corners[:, 0] == 10.0, 1]} == {low, high}
    others = {line.get_label(): line for line in chicken.get_lines()}
    for name in ("CFR+", "MCCFR"):
        assert lines[name].get_color() == others[name].get_color()
    assert kuhn.get_xscale() == kuhn.get_yscale() == "log"
    assert comparison().plot(width="column", x="visited").get_figwidth() == 3.35


def test_a_profile_is_the_share_of_games_within_a_factor_of_the_best():
    # Kuhn poker is at 1 % after 100 iterations by cfr+ alone; of chicken, whose first gap is 2,
    # mccfr is there after 10, and cfr+ after 100.
    figure = comparison().plot(width="page", kind="profile", share=0.01)
    shares = {line.get_label(): line.get_xydata() for line in figure.axes[0].get_lines()}
    assert shares["CFR+"][:-1].tolist() == [[1.0, 0.0], [1.0, 0.5], [10.0, 1.0]]
    assert shares["MCCFR"][:-1].tolist() == [[1.0, 0.0], [1.0, 0.5]]


def test_a_table_says_where_a_gap_is_first_reached_and_which_is_the_least():
    lines = gap_table(comparison(), 0.1).splitlines()
    assert lines[2] == r"game & CFR+ & MCCFR \\"
    assert lines[4] == r"Kuhn poker & \textbf{10} & $>$ 100 \\"
    assert lines[5] == r"chicken\_\&\_50\% & 100 & \textbf{10} \\"
    assert r"\textbf{70}" in gap_table(comparison(), 0.1, x="visited")
    odd = gap_table(Comparison([run("a{b}\\c$#", "cfr", [1.0, 0.1, 0.001])]), 1.0)
    assert r"a\{b\}\textbackslash c\$\#" in odd


def test_the_median_over_seeds_counts_those_that_are_never_there():
    gaps = [[1.0, 0.1, 0.01], [1.0, 1.0, 0.01], [1.0, 1.0, 1.0]]
    runs = [run("kuhn_poker", "mccfr", row, seed) for seed, row in enumerate(gaps)]
    assert r"\textbf{100}" in gap_table(Comparison(runs), 0.1)
    assert "& $>$ 100 " in gap_table(
        Comparison([*runs, run("kuhn_poker", "mccfr", gaps[2], 3)]), 0.1
    )


def drawing(**options):
    return lambda: comparison().plot(**options)


test_what_cannot_be_shown_is_refused = refusals(
    (drawing(kind="bars"), "kind must be one of curves, profile, got 'bars'"),
    (drawing(width="wide"), "width must be one of column, page"),
    (drawing(x="hours"), "has no column 'hours', only iteration, nash_conv, visited"),
    (drawing(y="gap"), "has no column 'gap'"),
    (drawing(share=0.0), "share must be"),
    (drawing(share=math.nan), "share must be"),
    (lambda: Comparison().plot(), "there are no runs to show"),
    (lambda: gap_table(Comparison(), 0.1), "there are no runs to show"),
    (lambda: gap_table(comparison(), -1.0), "gap must be"),
    error=ValueError,
)


def test_panels_leave_few_places_empty():
    runs = [run(f"game {n}", name, [1.0, 0.1, 0.01]) for n in range(6) for name in "abcd"]
    assert Comparison(runs).plot(width="page").axes[0].get_gridspec().get_geometry() == (2, 3)
