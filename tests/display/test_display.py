"""Figures show the measurements, and readers can tell everything on them apart."""

import itertools
import re
import sys
import xml.etree.ElementTree as ET

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb
from refusals import refusals

import regretkit as rk
from regretkit import SelfPlay, display, games
from regretkit.display._style import CHANCE_COLOR, COLORS, PLAYERS, file_of, title_of
from regretkit.games import Profile
from regretkit.play import At, Recorder, TrajectoryRecorder, cfr, every, geometric


def measured(iterations=12):
    record = Recorder({"gap": "nash_conv"})
    cfr.start(games.kuhn_poker()).run(iterations, callbacks=[record])
    return record


def curves_of(axes):
    """Return the points of lines, by their names in the legend."""
    return {line.get_label(): line.get_xydata() for line in axes.get_lines()}


def texts(things):
    return [thing.get_text() for thing in things]


def legend_of(axes):
    return texts(axes.get_legend().get_texts())


def overlapping(axes, things):
    """Return the pairs of texts that overlap in the drawing."""
    axes.figure.canvas.draw()
    boxes = [thing.get_window_extent() for thing in things if thing.get_text()]
    return [pair for pair in itertools.combinations(boxes, 2) if pair[0].overlaps(pair[1])]


# Curves


@pytest.mark.parametrize("form", ["record", "columns", "frame"])
def test_a_line_shows_the_measurements(form):
    record = measured()
    columns = {"iteration": np.array(record.iterations), **record.values}
    given = {"record": record, "columns": columns, "frame": pd.DataFrame(columns)}[form]
    drawn = curves_of(display.convergence({"cfr": given}))
    assert list(drawn) == ["CFR"]
    np.testing.assert_array_equal(drawn["CFR"].T, [record.iterations, record.values["gap"]])


def test_any_column_can_be_drawn_against_any_other():
    table = {"seconds": [0.5, 1.0, 2.0], "iteration": [1, 2, 3], "value": [3.0, 2.0, 1.0]}
    timed = display.convergence({"run": table}, x="seconds")  # the only column left is the value
    np.testing.assert_array_equal(curves_of(timed)["run"], [[0.5, 3.0], [1.0, 2.0], [2.0, 1.0]])
    odd = display.convergence({"run": table}, x="value", y="iteration", log=False)
    assert odd.get_xscale() == odd.get_yscale() == "linear"
    named = display.convergence({"run": table}, xlabel="a", ylabel="b", y="value")
    labels = [(axes.get_xlabel(), axes.get_ylabel()) for axes in (timed, odd, named)]
    assert labels == [("time (seconds)", "value"), ("value", "iterations"), ("a", "b")]


def test_zero_has_a_triangle_at_the_edge_and_missing_values_are_left_out():
    table = {"iteration": [1, 5, 7, 10, 100], "gap": [1.0, None, np.nan, 0.0, -1e-17]}
    axes = display.convergence({"run": table})
    line, edge = axes.get_lines()[:2]
    np.testing.assert_array_equal(line.get_xydata(), [[1.0, 1.0]])
    np.testing.assert_array_equal(edge.get_xydata(), [[10.0, 0.0], [100.0, 0.0]])
    axes.figure.canvas.draw()
    place = edge.get_transform().transform((10.0, 0.0))  # in fractions of the axes
    assert place[1] == pytest.approx(axes.get_window_extent().y0)
    assert legend_of(axes) == ["run", "zero or less"]
    late = display.convergence({"run": {"seconds": [0.0, 1.0], "gap": [1.0, 0.5]}}, x="seconds")
    np.testing.assert_array_equal(curves_of(late)["run"], [[1.0, 0.5]])


@pytest.mark.parametrize(
    ("column", "told"),
    [("gap", "starts at equilibrium"), ("change", "zero or less throughout")],
)
def test_a_figure_says_where_there_is_no_gap_to_draw(column, told):
    axes = display.convergence({"run": {"iteration": [1, 9], column: [0.0, 0.0]}})
    assert texts(axes.texts) == [told]
    assert axes.get_xlim()[1] < 11


@pytest.mark.parametrize(
    ("low", "high", "labels"),
    [
        (0.31, 0.34, 3),
        (0.02, 0.09, 2),
        (1.0, 90.0, 3),
        (0.5, 400.0, 3),
        (2e-3, 6.0, 3),
        (1, 1e6, 3),
    ],
)
def test_logarithmic_axes_have_few_labels_that_do_not_overlap(low, high, labels):
    table = {"iteration": [10, 20, 40], "gap": [high, np.sqrt(low * high), low]}
    axes = display.convergence({"run": table})
    axes.figure.canvas.draw()
    start, stop = sorted(axes.yaxis.get_view_interval())
    ticks = [*axes.yaxis.get_major_ticks(), *axes.yaxis.get_minor_ticks()]
    shown = [t.label1 for t in ticks if start <= t.get_loc() <= stop and t.label1.get_text()]
    assert labels <= len({*texts(shown)}) == len(shown) <= 8
    assert not overlapping(axes, shown)


def test_axes_name_the_gap_and_legends_spell_names_as_papers_do():
    columns = {"iteration": [1, 2], "exploitability": [1.0, 0.5]}
    axes = display.convergence(dict.fromkeys(["pcfr+", "cfr+, external sampling", "mine"], columns))
    assert axes.get_ylabel() == "exploitability (units of payoff)"
    assert legend_of(axes) == ["PCFR+", "CFR+, external sampling", "mine"]
    for columns, label in (
        ({"nash_conv": [1.0], "gap": [2.0]}, "NashConv (units of payoff)"),
        ({"efce_gap": [1.0]}, "EFCE gap (units of payoff)"),
    ):
        assert display.convergence({"r": {"iteration": [1]} | columns}).get_ylabel() == label
    for name, title in {
        "leduc_poker": "Leduc poker",
        "liars_dice": "Liar's dice",
        "kuhn_poker(deck=4, players=3)": "Kuhn poker (deck=4, players=3)",
        "kuhn_poker, dcfr": "Kuhn poker, DCFR",
        "my_game": "my_game",
    }.items():
        assert title_of(name) == title


def test_several_runs_of_one_name_are_a_median_and_a_band_between_quartiles():
    runs = [{"iteration": [1, 2, 4], "gap": [4.0, 2.0, 1.0]}]
    runs += [{"iteration": [1, 4], "gap": [height, 2.0]} for height in (8.0, 16.0, 20.0, 24.0)]
    axes = display.convergence({"cfr": runs, "cfr+": {"iteration": [1, 4], "gap": [3.0, 1.0]}})
    [band], line = axes.collections, axes.get_lines()[0]
    np.testing.assert_allclose(line.get_xdata(), [1, 2, 4])
    np.testing.assert_allclose(line.get_ydata()[::2], [16.0, 2.0])
    assert {tuple(point) for point in band.get_paths()[0].vertices} >= {(1, 8), (1, 20), (4, 2)}
    short = [{"iteration": [1, 8], "gap": [1.0, 0.5]}, {"iteration": [2, 4], "gap": [1.0, 0.5]}]
    line = display.convergence({"cfr": short}).get_lines()[0]
    np.testing.assert_allclose(line.get_xdata(), [2, 4])  # where all runs are


def test_plots_obey_the_parameters_of_matplotlib_and_given_axes():
    look = {
        **{"figure.figsize": (5.0, 3.0), "lines.linewidth": 3.5, "grid.color": "#222222"},
        **{"axes.prop_cycle": plt.cycler(color=["#123456"]), "axes.edgecolor": "#abcdef"},
        "axes.facecolor": "#111111",
    }
    with plt.rc_context(look):
        line = display.convergence({"cfr": measured()}).get_lines()[0]
        lines = display.simplex(np.eye(3)).get_lines()
    assert tuple(line.figure.get_size_inches()) == (5.0, 3.0)
    assert (line.get_linewidth(), line.get_color()) == (3.5, "#123456")
    assert line.axes.get_xgridlines()[0].get_color() == "#222222"
    assert lines[9].get_color() == "#abcdef"
    assert to_rgb(lines[-2].get_markerfacecolor()) == to_rgb("#111111")
    plt.close("all")
    (_, ax), (_, axes) = plt.subplots(), plt.subplots(2, 3)
    assert display.convergence({"cfr": measured()}, ax=ax) is ax
    assert (display.trajectories(moved(), axes=axes) == axes).all()
    assert len(plt.get_fignums()) == 2


@pytest.mark.deep_beyond(4)
@pytest.mark.parametrize("character", ["\x00", "\x1b", "\ud800", "\uffff", "$", "<", "&", "\n"])
def test_figures_are_well_formed_with_any_character_in_names_and_titles(character):
    name = f"a{character}b{character}"
    table = {"iteration": [1, 2], "gap": [0.5, 0.1]}
    tree = rk.DecisionTree([0], [1], labels=[name], actions=[[name]])
    drawn = [
        display.convergence({name: table, "c": table}, title=name, xlabel=name, ylabel=name),
        display.simplex({name: np.eye(3)}, actions=[name] * 3, title=name),
        display.heat_map(Profile([tree.relative_interior_point()], [tree]), title=name),
    ]
    for axes in drawn:
        shown = ["".join(text.itertext()) for text in ET.fromstring(file_of(axes.figure)).iter()]
        assert any(re.search("a.*b", text) for text in shown)


# Trajectories


def moved(keys=("J", "Qb"), iterations=40, rule=rk.RegretMatching):
    record, game = TrajectoryRecorder(keys), games.kuhn_poker()
    run = SelfPlay(game, [rk.CFR(tree, rule) for tree in game.domains])
    run.run(iterations, callbacks=[At(every(2), record)])
    return record


def no_regrets(simplices):
    return rk.PerDecisionPoint(lambda n: rk.SwapRegret(n, rk.RegretMatching))(simplices)


def test_each_panel_shows_one_kind_at_one_information_set():
    record = moved()
    axes = display.trajectories(record)
    assert axes.shape == (2, 3)
    for row, place in zip(axes, ("J", "Qb"), strict=True):
        for ax, kind in zip(row, ("strategy", "average", "regret"), strict=True):
            paths = record.path(place, kind).T
            for line, action, path in zip(ax.get_lines(), ("p", "b"), paths, strict=True):
                assert line.get_label() == action
                np.testing.assert_array_equal(line.get_xydata().T, [record.iterations, path])
    assert [row[0].get_ylabel() for row in axes] == ["J (player 0)", "Qb (player 1)"]
    assert [ax.get_xlabel() for ax in axes[1]] == ["iterations"] * 3
    titles = [ax.get_title().split()[-1].strip("()") for ax in axes[0]]
    assert titles == ["probability"] * 2 + ["payoff"]
    assert legend_of(axes[0, 2]) == ["p", "b"]
    assert display.trajectories(moved(rule=no_regrets)).shape == (2, 2)


def test_iterations_that_grow_are_drawn_on_a_logarithmic_axis():
    even = display.trajectories(moved(), information_sets=[(1, "Qb")], kinds=["regret"])
    assert even.shape == (1, 1)
    assert even[0, 0].get_xscale() == even[0, 0].get_yscale() == "linear"
    record = TrajectoryRecorder(["J"])
    cfr.start(games.kuhn_poker()).run(100, callbacks=[At(geometric(), record)])
    assert display.trajectories(record)[0, 0].get_xscale() == "log"
    assert display.trajectories(record, log=False)[0, 0].get_xscale() == "linear"


# The simplex


def heights(points):
    """Return the distances from the three sides, in heights of the triangle: the probabilities."""
    x, y = np.transpose(points)
    top = y / np.sqrt(0.75)
    right = x - top / 2.0
    return np.transpose([1.0 - right - top, right, top])


def test_points_of_the_simplex_are_as_far_from_the_sides_as_they_are_probable():
    paths = dict(zip("ab", np.random.default_rng(3).dirichlet(np.ones(3), (2, 50)), strict=True))
    axes = display.simplex(paths, title="a game")
    assert legend_of(axes) == ["a", "b"]
    for name, path in paths.items():
        np.testing.assert_allclose(heights(curves_of(axes)[name]), path, rtol=0, atol=1e-12)


def test_corners_have_the_names_of_actions_and_a_path_begins_hollow_and_ends_filled():
    names = ["rock", "paper", "scissors"]
    axes = display.simplex(np.eye(3), actions=names)
    assert not overlapping(axes, axes.texts)
    corners, paper = curves_of(axes)["path"], axes.figure.bbox
    assert texts(axes.texts) == names
    for text, corner in zip(axes.texts, corners, strict=True):
        np.testing.assert_array_equal(text.xy, corner)
        box = text.get_window_extent()
        assert paper.x0 <= box.x0 <= box.x1 <= paper.x1
        assert paper.y0 <= box.y0 <= box.y1 <= paper.y1
    assert axes.get_aspect() == 1.0
    begin, end = axes.get_lines()[-2:]
    assert to_rgb(begin.get_markerfacecolor()) == (1.0, 1.0, 1.0)
    assert end.get_markerfacecolor() == COLORS[0]
    np.testing.assert_array_equal([*begin.get_xydata(), *end.get_xydata()], corners[[0, 2]])


# Heat maps


def average(name="kuhn_poker", iterations=20):
    return rk.solve(games.load(name), "cfr+", iterations=iterations).average


def mesh_of(axes):
    """Return the probabilities in the cells, NaN where there is none."""
    return axes.collections[0].get_array().filled(np.nan)


def test_cells_are_the_probabilities_of_the_profile():
    profile = average()
    axes = display.heat_map(profile, title="Kuhn poker")
    rows = texts(axes.get_yticklabels())
    assert len(rows) == 12
    for label, cells in zip(rows, mesh_of(axes), strict=True):
        player, name = label.split(": ")
        np.testing.assert_array_equal(cells, profile[int(player), name])
    assert texts(axes.get_xticklabels()) == ["p", "b"]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("action", "player: information set")
    assert axes.get_ylim() == (12.0, 0.0)  # from top to bottom, each name beside its row
    np.testing.assert_array_equal(axes.get_yticks(), np.arange(12) + 0.5)
    assert axes.collections[0].get_clim() == (0.0, 1.0)
    certain = display.heat_map(Profile([np.array([0.0, 1.0])], [rk.Simplices(2)]))
    assert [text.get_color() for text in certain.texts] == ["black", "white"]


def test_of_hundreds_of_information_sets_the_most_mixed_are_drawn():
    profile, entropies = average("leduc_poker", 3), {}
    for player, domain in enumerate(profile.domains):
        unreached = set(profile.unreached(player).tolist())
        for index in set(range(domain.simplices.blocks)) - unreached:
            played = profile[player, index]
            label = f"{player}: {domain.simplices.labels.block(index)}"
            entropies[label] = float(-np.sum(played * np.log(np.maximum(played, 1e-300))))
    axes = display.heat_map(profile)
    assert mesh_of(axes).shape == (60, 3)
    assert axes.get_ylabel() == "player: information set, the 60 most mixed of 936"
    named = texts(axes.get_yticklabels())
    drawn = sorted((entropies[name] for name in named), reverse=True)
    np.testing.assert_allclose(drawn, sorted(entropies.values(), reverse=True)[:60], atol=1e-12)
    assert [name[0] for name in named] == sorted(name[0] for name in named)
    every = display.heat_map(profile, limit=1_000)
    assert mesh_of(every).shape == (936, 3)
    assert not every.texts
    assert every.figure.get_figheight() < 20.0
    assert len(every.get_yticklabels()) > 50
    assert not overlapping(every, every.get_yticklabels())


def test_cells_without_an_action_or_without_a_tree_or_never_reached():
    game, profile = games.leduc_poker(), average("leduc_poker", 3)
    axes = display.heat_map(profile, information_sets=[(0, 0), (1, 0)])
    columns = texts(axes.get_xticklabels())
    for player, cells in enumerate(mesh_of(axes)):
        there = [name for name in columns if name in game.tree.actions[player][0]]
        assert [columns[i] for i in np.flatnonzero(np.isfinite(cells))] == there
    visited = rk.solve(games.load_rules("kuhn_poker"), "mccfr", 50, seed=1).average
    every = [visited[i, k] for i, tree in enumerate(visited.domains) for k in range(tree.points)]
    np.testing.assert_allclose(mesh_of(display.heat_map(visited)), every)
    game = games.kuhn_poker()
    folding = [tree.sequence_form(np.tile([0.0, 1.0], 6)) for tree in game.domains]
    folded = Profile(folding, game.domains)
    hatched = {int(p.get_y()) for p in display.heat_map(folded).patches if p.get_hatch()}
    assert hatched == set(folded.unreached(0)) == {3, 4, 5}


# All of them


def long_names():
    tree = rk.DecisionTree([0], [3], labels=["w" * 60], actions=[["a" * 30, "b", "c" * 60]])
    return Profile([tree.relative_interior_point()], [tree])


@pytest.mark.deep_beyond(4)
@pytest.mark.parametrize(
    "draw",
    [
        lambda: display.convergence({"cfr": measured(), "other": measured(4)}, title="Kuhn poker"),
        lambda: display.trajectories(moved())[0, 0],
        lambda: display.simplex(np.eye(3), actions=["first", "second", "third"], title="three"),
        lambda: display.heat_map(average(), title="Kuhn poker"),
        lambda: display.heat_map(average("leduc_poker", 2), title="Leduc poker"),
        lambda: display.heat_map(average("blotto"), title="Blotto"),
        lambda: display.heat_map(average("matching_pennies")),
        lambda: display.heat_map(long_names()),
    ],
)
def test_nothing_is_cut_off_at_the_border_of_the_figure(draw):
    figure = draw().figure
    figure.canvas.draw()
    drawn, paper = figure.get_tightbbox(), figure.bbox_inches
    assert paper.x0 - 0.005 <= drawn.x0 < drawn.x1 <= paper.x1 + 0.005
    assert paper.y0 - 0.005 <= drawn.y0 < drawn.y1 <= paper.y1 + 0.005


# Of people who lack one of three receptors (Machado, Oliveira and Fernandes 2009), in linear RGB.
SEEN = {
    "everything": np.eye(3),
    "no red": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
               [-0.003882, -0.048116, 1.051998]],
    "no green": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
                 [-0.011820, 0.042940, 0.968881]],
    "no blue": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602],
                [0.004733, 0.691367, 0.303900]],
}  # fmt: skip
XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def linear(color):
    parts = np.array(to_rgb(color))
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    """Return a color where distances are what people see: CIE 1976 L*a*b*."""
    whole = XYZ @ np.clip(rgb, 0.0, 1.0) / XYZ.sum(axis=1)
    x, y, z = np.where(whole > 0.008856, np.cbrt(whole), 7.787 * whole + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("seen", SEEN.values(), ids=SEEN)
def test_the_colors_are_distinguishable_with_every_color_vision(seen):
    for colors in (COLORS, (*PLAYERS, CHANCE_COLOR)):
        points = [lab(np.array(seen) @ linear(color)) for color in colors]
        apart = min(np.linalg.norm(x - y) for x, y in itertools.combinations(points, 2))
        assert apart > 15.0  # and 2.3 is what one just notices
    for color in (*PLAYERS, CHANCE_COLOR):  # white text on it, as WCAG asks of bold or large text
        assert 1.05 / (XYZ[1] @ linear(color) + 0.05) > 3.0


# What cannot be drawn


def test_without_matplotlib_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for draw in (
        lambda: display.convergence({"a": {"iteration": [1], "gap": [1.0]}}),
        lambda: display.trajectories(TrajectoryRecorder()),
        lambda: display.simplex(np.eye(3)),
        lambda: display.heat_map(average()),
        lambda: display.draw_game(games.kuhn_poker()),
    ):
        with pytest.raises(ImportError, match=r"display\.\w+ needs matplotlib; .*regretkit\[plot"):
            draw()


def sixteen():
    record = TrajectoryRecorder()
    cfr.start(games.kuhn_poker(deck=4)).run(1, callbacks=[record])
    return record


COLUMNS = {"iteration": [1], "a": [1], "b": [1]}
UNEQUAL = {"iteration": [1, 2], "gap": [1.0]}
PROFILE = Profile([np.array([0.0, 1.0])], [rk.Simplices(2)])
test_what_cannot_be_drawn_is_refused = refusals(
    (lambda: display.convergence({}), TypeError, "curves must map names of runs"),
    (lambda: display.convergence({"run": 3}), TypeError, r"curves\['run'\] must be a Recorder"),
    (lambda: display.convergence({"r": Recorder()}), ValueError, "an empty Recorder"),
    (lambda: display.convergence({"r": {"gap": [1.0]}}), ValueError, "no column 'iteration'"),
    (lambda: display.convergence({"r": COLUMNS}), ValueError, "y must be one of 'a', 'b'"),
    (lambda: display.convergence({"r": UNEQUAL}), ValueError, "columns of different lengths"),
    (lambda: display.trajectories(moved(), kinds=["speed"]), ValueError, "kinds must be"),
    (lambda: display.trajectories(moved(), axes=np.empty((2, 2))), ValueError, r"\(2, 3\), got"),
    (lambda: display.trajectories(sixteen()), ValueError, "1 to 12, got 16"),
    (lambda: display.trajectories(TrajectoryRecorder(["K"])), ValueError, "record is empty"),
    (lambda: display.simplex([[0.5, 0.5]]), ValueError, r"shape \(points, 3\), got \(1, 2\)"),
    (lambda: display.simplex([[0.5, 0.5, 0.5]]), ValueError, "that sum to 1"),
    (lambda: display.simplex(np.eye(3), actions=["a", "b"]), ValueError, "actions"),
    (
        lambda: display.heat_map(PROFILE, information_sets=[]),
        ValueError,
        "information_sets must not be empty",
    ),
    call=lambda draw: draw(),
)
