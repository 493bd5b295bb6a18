"""Plots: what is drawn is what was measured, and it can be read."""

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
from regretkit.evaluation import nash_conv
from regretkit.games import Profile
from regretkit.play import At, Recorder, Simultaneous, TrajectoryRecorder, cfr, every, geometric

GAP = {"gap": lambda run: nash_conv(run.game, run.average)}


@pytest.fixture(autouse=True)
def _close_all():
    yield
    plt.close("all")


def measured(iterations=12):
    record = Recorder(GAP)
    cfr.start(games.kuhn_poker()).run(iterations, callbacks=[record])
    return record


def curves_of(axes):
    """Return what the lines show, by their names in the legend."""
    return {line.get_label(): line.get_xydata() for line in axes.get_lines()}


def legend_of(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def overlapping(axes, things):
    """Return those of the texts that lie on one another, once all is drawn."""
    renderer = axes.figure.canvas.get_renderer()
    axes.figure.canvas.draw()
    boxes = [thing.get_window_extent(renderer) for thing in things if thing.get_text()]
    return [pair for pair in itertools.combinations(boxes, 2) if pair[0].overlaps(pair[1])]


# Convergence


FORMS = {
    "record": lambda record: record,
    "columns": lambda record: {"iteration": record.iterations, **record.values},
    "arrays": lambda record: {
        "iteration": np.array(record.iterations),
        "gap": np.array(record.values["gap"]),
    },
    "rows": lambda record: [
        {"iteration": t, "gap": gap}
        for t, gap in zip(record.iterations, record.values["gap"], strict=True)
    ],
    "frame": lambda record: pd.DataFrame({"iteration": record.iterations, **record.values}),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_a_line_shows_the_measurements(form):
    record = measured()
    axes = display.convergence({"cfr": form(record)})
    drawn = curves_of(axes)
    assert list(drawn) == ["CFR"]
    np.testing.assert_array_equal(
        drawn["CFR"], np.transpose([record.iterations, record.values["gap"]])
    )


def test_any_column_can_be_drawn_against_any_other():
    table = {"seconds": [0.5, 1.0, 2.0], "iteration": [1, 2, 3], "value": [3.0, 2.0, 1.0]}
    timed = display.convergence({"run": table}, x="seconds")
    odd = display.convergence({"run": table}, x="value", y="iteration", log=False)
    assert timed.get_xlabel() == "time (seconds)"
    np.testing.assert_array_equal(curves_of(timed)["run"], [[0.5, 3.0], [1.0, 2.0], [2.0, 1.0]])
    assert timed.get_ylabel() == "value"  # the only one left
    assert (odd.get_xlabel(), odd.get_ylabel()) == ("value", "iterations")
    assert odd.get_xscale() == odd.get_yscale() == "linear"
    named = display.convergence({"run": table}, xlabel="a", ylabel="b", y="value")
    assert (named.get_xlabel(), named.get_ylabel()) == ("a", "b")


def test_zero_has_a_triangle_at_the_edge_and_not_a_place_in_the_line():
    table = {"iteration": [1, 10, 100], "gap": [1.0, 0.0, -1e-17]}
    axes = display.convergence({"run": table})
    line, edge = axes.get_lines()[:2]
    np.testing.assert_array_equal(line.get_xydata(), [[1.0, 1.0]])
    np.testing.assert_array_equal(edge.get_xydata(), [[10.0, 0.0], [100.0, 0.0]])
    axes.figure.canvas.draw()
    place = edge.get_transform().transform((10.0, 0.0))  # in fractions of the axes
    assert place[1] == pytest.approx(axes.get_window_extent().y0)
    assert legend_of(axes) == ["run", "zero or less"]


@pytest.mark.parametrize(
    ("column", "told"),
    [("gap", "starts at equilibrium"), ("strategy_change", "zero or less throughout")],
)
def test_a_figure_says_where_there_is_no_gap_to_draw(column, told):
    axes = display.convergence({"run": {"iteration": [1, 9], column: [0.0, 0.0]}})
    assert [text.get_text() for text in axes.texts] == [told]
    assert axes.get_xlim()[1] < 11
    left_out = display.convergence({"run": {"seconds": [0.0, 1.0], "gap": [1.0, 0.5]}}, x="seconds")
    np.testing.assert_array_equal(curves_of(left_out)["run"], [[1.0, 0.5]])


def test_missing_measurements_are_left_out():
    rows = [{"iteration": 1, "gap": 0.5}, {"iteration": 2}, {"iteration": 3, "gap": np.nan}]
    rows.append({"iteration": 4, "gap": 0.25})
    np.testing.assert_array_equal(
        curves_of(display.convergence({"run": rows}))["run"], [[1.0, 0.5], [4.0, 0.25]]
    )


@pytest.mark.parametrize(
    ("low", "high", "labels"),
    [
        (0.31, 0.34, 3),
        (0.02, 0.09, 2),
        (1.0, 90.0, 3),
        (0.5, 400.0, 3),
        (2e-3, 6.0, 3),
        (1.0, 1e6, 3),
    ],
)
def test_logarithmic_axes_have_few_labels_that_do_not_overlap(low, high, labels):
    table = {"iteration": [10, 20, 40], "gap": [high, np.sqrt(low * high), low]}
    axes = display.convergence({"run": table})
    axes.figure.canvas.draw()
    start, stop = sorted(axes.yaxis.get_view_interval())
    ticks = [*axes.yaxis.get_major_ticks(), *axes.yaxis.get_minor_ticks()]
    shown = [t.label1 for t in ticks if start <= t.get_loc() <= stop and t.label1.get_text()]
    assert labels <= len({text.get_text() for text in shown}) == len(shown) <= 8
    assert not overlapping(axes, shown)


def test_axes_say_which_gap_they_show_and_legends_spell_names_as_papers_do():
    columns = {"iteration": [1, 2], "exploitability": [1.0, 0.5]}
    curves = dict.fromkeys(["pcfr+", "cfr+, external sampling", "mine"], columns)
    axes = display.convergence(curves)
    assert axes.get_ylabel() == "exploitability (units of payoff)"
    assert legend_of(axes) == ["PCFR+", "CFR+, external sampling", "mine"]
    both = {"r": {"iteration": [1], "nash_conv": [1.0], "gap": [2.0]}}
    assert display.convergence(both).get_ylabel() == "NashConv (units of payoff)"
    correlated = {"r": {"iteration": [1], "efce_gap": [1.0]}}
    assert display.convergence(correlated).get_ylabel() == "EFCE gap (units of payoff)"


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("leduc_poker", "Leduc poker"),
        ("liars_dice", "Liar's dice"),
        ("kuhn_poker(deck=4, players=3)", "Kuhn poker (deck=4, players=3)"),
        ("kuhn_poker, dcfr", "Kuhn poker, DCFR"),
        ("my_game", "my_game"),
    ],
)
def test_games_and_algorithms_have_their_usual_names(name, title):
    assert title_of(name) == title


def test_plots_obey_the_parameters_of_matplotlib():
    look = {
        "figure.figsize": (5.0, 3.0),
        "lines.linewidth": 3.5,
        "axes.prop_cycle": plt.cycler(color=["#123456", "#654321"]),
        "axes.edgecolor": "#abcdef",
        "axes.facecolor": "#111111",
        "grid.color": "#222222",
    }
    with plt.rc_context(look):
        line = display.convergence({"cfr": measured()}).get_lines()[0]
        lines = display.simplex(np.eye(3)).get_lines()

    assert tuple(line.figure.get_size_inches()) == (5.0, 3.0)
    assert (line.get_linewidth(), line.get_color()) == (3.5, "#123456")
    assert line.axes.get_xgridlines()[0].get_color() == "#222222"
    assert lines[9].get_color() == "#abcdef"
    assert to_rgb(lines[-2].get_markerfacecolor()) == to_rgb("#111111")


HOLD_EM = games.hold_em()


def test_figures_are_drawn_on_the_given_axes():
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
        texts = ["".join(text.itertext()) for text in ET.fromstring(file_of(axes.figure)).iter()]
        assert any(re.search("a.*b", text) for text in texts)


# TrajectoryRecorder


def moved(keys=("J", "Qb"), iterations=40, rule=rk.RegretMatching):
    record = TrajectoryRecorder(keys)
    game = games.kuhn_poker()
    run = SelfPlay(game, [rk.CFR(tree, rule) for tree in game.domains])
    run.run(iterations, callbacks=[At(every(2), record)])
    return record


def sixteen():
    record = TrajectoryRecorder()
    cfr.start(games.kuhn_poker(deck=4)).run(1, callbacks=[record])
    return record


def test_each_panel_shows_one_kind_at_one_information_set():
    record = moved()

    axes = display.trajectories(record)

    assert axes.shape == (2, 3)
    for row, place in zip(axes, ("J", "Qb"), strict=True):
        for ax, kind in zip(row, ("strategy", "average", "regret"), strict=True):
            for line, action, path in zip(
                ax.get_lines(), ("p", "b"), record.path(place, kind).T, strict=True
            ):
                assert line.get_label() == action
                np.testing.assert_array_equal(line.get_xdata(), record.iterations)
                np.testing.assert_array_equal(line.get_ydata(), path)
    assert [row[0].get_ylabel() for row in axes] == ["J (player 0)", "Qb (player 1)"]
    assert [ax.get_xlabel() for ax in axes[1]] == ["iterations"] * 3
    titles = [ax.get_title() for ax in axes[0]]
    assert [title.split()[-1].strip("()") for title in titles] == ["probability"] * 2 + ["payoff"]
    assert legend_of(axes[0, 2]) == ["p", "b"]


def test_iterations_that_grow_are_drawn_on_a_logarithmic_axis():
    even = display.trajectories(moved(), information_sets=[(1, "Qb")], kinds=["regret"])
    assert even.shape == (1, 1)
    assert even[0, 0].get_xscale() == even[0, 0].get_yscale() == "linear"
    record = TrajectoryRecorder(["J"])
    cfr.start(games.kuhn_poker()).run(100, callbacks=[At(geometric(), record)])
    assert display.trajectories(record)[0, 0].get_xscale() == "log"
    assert display.trajectories(record, log=False)[0, 0].get_xscale() == "linear"


def test_rules_without_regrets_have_no_panel_of_them():
    assert display.trajectories(moved(rule=_no_regrets)).shape == (2, 2)


def _no_regrets(simplices):
    return rk.PerDecisionPoint(lambda n: rk.SwapRegret(n, rk.RegretMatching))(simplices)


# The simplex


def heights(points):
    """Return the distances from the three sides, in heights of the triangle: the probabilities."""
    x, y = np.transpose(points)
    top = y / np.sqrt(0.75)
    right = x - top / 2.0
    return np.transpose([1.0 - right - top, right, top])


def test_points_of_the_simplex_are_as_far_from_the_sides_as_they_are_probable():
    path = np.random.default_rng(3).dirichlet(np.ones(3), size=50)
    axes = display.simplex(path)
    drawn = curves_of(axes)["path"]
    np.testing.assert_allclose(heights(drawn), path, rtol=0, atol=1e-12)


def test_corners_are_named_after_their_actions_and_names_do_not_overlap():
    names = ["rock", "paper", "scissors"]
    axes = display.simplex(np.eye(3), actions=names)
    axes.figure.canvas.draw()

    # What is always played is the corner itself.
    corners = curves_of(axes)["path"]
    assert [text.get_text() for text in axes.texts] == names
    for text, corner in zip(axes.texts, corners, strict=True):
        np.testing.assert_array_equal(text.xy, corner)
        box, figure = text.get_window_extent(), axes.figure.bbox
        assert figure.x0 <= box.x0 <= box.x1 <= figure.x1
        assert figure.y0 <= box.y0 <= box.y1 <= figure.y1
    assert not overlapping(axes, axes.texts)
    assert axes.get_aspect() == 1.0


def test_a_path_begins_hollow_and_ends_filled():
    axes = display.simplex([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    begin, end = axes.get_lines()[-2:]
    assert to_rgb(begin.get_markerfacecolor()) == (1.0, 1.0, 1.0)
    assert end.get_markerfacecolor() == COLORS[0]
    np.testing.assert_array_equal(begin.get_xydata(), [[0.0, 0.0]])
    np.testing.assert_array_equal(end.get_xydata(), [[1.0, 0.0]])


def test_several_paths_have_names():
    game = games.biased_rock_paper_scissors()
    record = TrajectoryRecorder()
    players = [rk.RegretMatching(3), rk.RegretMatching(3)]
    SelfPlay(game, players, order=Simultaneous()).run(30, callbacks=[record])
    paths = {kind: record.path((0, 0), kind) for kind in ("strategy", "average")}
    axes = display.simplex(paths, actions=record.actions((0, 0)), title="a game")
    assert legend_of(axes) == ["strategy", "average"]
    for name, path in paths.items():
        np.testing.assert_allclose(heights(curves_of(axes)[name]), path, rtol=0, atol=1e-12)


# Heat maps


def average(name="kuhn_poker", iterations=20):
    return rk.solve(games.load(name), "cfr+", iterations=iterations).average


def mesh_of(axes):
    """Return the probabilities in the cells, NaN where there is none."""
    return axes.collections[0].get_array().filled(np.nan)


def test_cells_are_the_probabilities_of_the_profile():
    profile = average()

    axes = display.heat_map(profile, title="Kuhn poker")

    rows = [text.get_text() for text in axes.get_yticklabels()]
    assert len(rows) == 12
    for label, cells in zip(rows, mesh_of(axes), strict=True):
        player, name = label.split(": ")
        np.testing.assert_array_equal(cells, profile[int(player), name])
    assert [text.get_text() for text in axes.get_xticklabels()] == ["p", "b"]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("action", "player: information set")
    # From top to bottom, each name beside its row.
    assert axes.get_ylim() == (12.0, 0.0)
    np.testing.assert_array_equal(axes.get_yticks(), np.arange(12) + 0.5)
    assert axes.collections[0].get_clim() == (0.0, 1.0)


def test_of_hundreds_of_information_sets_the_most_mixed_are_drawn():
    profile = average("leduc_poker", 3)
    entropies = {}
    for player, domain in enumerate(profile.domains):
        unreached = set(profile.unreached(player).tolist())
        for index in set(range(domain.simplices.blocks)) - unreached:
            played = profile[player, index]
            label = f"{player}: {domain.simplices.labels.block(index)}"
            entropies[label] = float(-np.sum(played * np.log(np.maximum(played, 1e-300))))

    axes = display.heat_map(profile)

    assert mesh_of(axes).shape == (60, 3)
    assert axes.get_ylabel() == "player: information set, the 60 most mixed of 936"
    named = [text.get_text() for text in axes.get_yticklabels()]
    drawn = sorted((entropies[name] for name in named), reverse=True)
    np.testing.assert_allclose(drawn, sorted(entropies.values(), reverse=True)[:60], atol=1e-12)
    assert [name[0] for name in named] == sorted(name[0] for name in named)
    assert mesh_of(display.heat_map(profile, limit=5)).shape[0] == 5


def test_what_was_visited_without_a_tree_is_drawn():
    run = rk.solve(games.load_rules("kuhn_poker"), "mccfr", 50, seed=1)
    cells = mesh_of(display.heat_map(run.average))
    profile = run.average
    expected = [profile[i, k] for i, tree in enumerate(profile.domains) for k in range(tree.points)]
    np.testing.assert_allclose(cells, expected)


def test_hundreds_of_information_sets_are_named_as_far_as_there_is_room():
    axes = display.heat_map(average("leduc_poker", 3), limit=1_000)
    assert mesh_of(axes).shape == (936, 3)
    assert not axes.texts
    assert axes.figure.get_figheight() < 20.0
    named = axes.get_yticklabels()
    assert len(named) > 50
    assert not overlapping(axes, named)


def test_there_is_no_cell_where_there_is_no_such_action():
    game = games.leduc_poker()
    profile = average("leduc_poker", 3)
    axes = display.heat_map(profile, information_sets=[(0, 0), (1, 0)])
    columns = [text.get_text() for text in axes.get_xticklabels()]
    for player, cells in enumerate(mesh_of(axes)):
        actions = game.tree.actions[player][0]
        assert [columns[i] for i in np.flatnonzero(np.isfinite(cells))] == [
            name for name in columns if name in actions
        ]


def test_the_users_colormap_is_obeyed_and_numbers_in_it_can_be_read():
    profile = Profile([np.array([0.0, 1.0])], [rk.Simplices(2)])
    colors = []
    for settings in ({"image.cmap": "gray"}, {"image.cmap": "gray_r"}, {}):
        with plt.rc_context(settings):
            axes = display.heat_map(profile)
        colors.append([text.get_color() for text in axes.texts])
    assert colors == [["white", "black"], ["black", "white"], ["black", "white"]]


def test_unreached_information_sets_are_hatched():
    game = games.kuhn_poker()
    folding = [tree.sequence_form(np.tile([0.0, 1.0], 6)) for tree in game.domains]
    profile = Profile(folding, game.domains)
    axes = display.heat_map(profile)
    hatched = {int(patch.get_y()) for patch in axes.patches if patch.get_hatch()}
    assert hatched == set(profile.unreached(0)) == {3, 4, 5}


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


@pytest.mark.parametrize(
    "draw",
    [
        lambda: display.convergence({"a": {"iteration": [1], "gap": [1.0]}}),
        lambda: display.trajectories(TrajectoryRecorder()),
        lambda: display.simplex(np.eye(3)),
        lambda: display.heat_map(average()),
        lambda: display.draw_game(games.kuhn_poker()),
    ],
)
def test_without_matplotlib_the_error_names_the_extra(draw, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"display\.\w+ needs matplotlib; .*'regretkit\[plot\]'"):
        draw()


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
@pytest.mark.parametrize("colors", [COLORS, (*PLAYERS, CHANCE_COLOR)], ids=["lines", "players"])
def test_the_colors_are_distinguishable_with_every_color_vision(colors, seen):
    points = [lab(np.array(seen) @ linear(color)) for color in colors]
    apart = min(np.linalg.norm(x - y) for x, y in itertools.combinations(points, 2))
    assert apart > 15.0  # and 2.3 is what one just notices


def test_white_text_can_be_read_on_the_players_colors():
    for color in (*PLAYERS, CHANCE_COLOR):
        assert 1.05 / (XYZ[1] @ linear(color) + 0.05) > 3.0  # as WCAG asks of bold or large text


# Bands over seeds


def test_several_runs_of_one_name_are_a_median_and_a_band_between_quartiles():
    runs = [{"iteration": [1, 2, 4], "gap": [4.0, 2.0, 1.0]}]
    runs += [{"iteration": [1, 4], "gap": [height, 2.0]} for height in (8.0, 16.0, 20.0, 24.0)]
    ax = display.convergence({"cfr": runs, "cfr+": {"iteration": [1, 4], "gap": [3.0, 1.0]}})
    [band] = ax.collections
    line = ax.get_lines()[0]
    np.testing.assert_allclose(line.get_xdata(), [1, 2, 4])
    np.testing.assert_allclose(line.get_ydata()[::2], [16.0, 2.0])
    vertices = {tuple(point) for point in band.get_paths()[0].vertices}
    assert vertices >= {(1, 8), (1, 20), (4, 2)}


def test_a_band_ends_where_a_run_ends_and_rows_are_one_run():
    runs = [
        [{"iteration": 1, "gap": 1.0}, {"iteration": 8, "gap": 0.5}],
        [{"iteration": 2, "gap": 1.0}, {"iteration": 4, "gap": 0.5}],
    ]
    line = display.convergence({"cfr": runs}).get_lines()[0]
    np.testing.assert_allclose(line.get_xdata(), [2, 4])
    alone = display.convergence({"cfr": runs[0]})
    assert not alone.collections
    np.testing.assert_allclose(alone.get_lines()[0].get_xdata(), [1, 8])


# What cannot be drawn

COLUMNS = {"iteration": [1], "a": [1], "b": [1]}
PROFILE = Profile([np.array([0.0, 1.0])], [rk.Simplices(2)])
test_what_cannot_be_drawn_is_refused = refusals(
    (lambda: display.convergence({}), TypeError, "curves must map the names of runs"),
    (lambda: display.convergence({"run": 3}), TypeError, r"curves\['run'\] must be a Recorder"),
    (lambda: display.convergence({"r": {"gap": [1.0]}}), ValueError, "no column 'iteration'"),
    (lambda: display.convergence({"r": COLUMNS}), ValueError, "y must be one of 'a', 'b'"),
    (
        lambda: display.convergence({"r": {"iteration": [1, 2], "gap": [1.0]}}),
        *(ValueError, "columns of different lengths"),
    ),
    (lambda: display.trajectories(moved(), kinds=["speed"]), ValueError, "kinds must be"),
    (lambda: display.trajectories(moved(), axes=np.empty((2, 2))), ValueError, r"\(2, 3\), got"),
    (lambda: display.trajectories(sixteen()), ValueError, "16 information sets to draw"),
    (lambda: display.trajectories(TrajectoryRecorder(["K"])), ValueError, "record is empty"),
    (lambda: display.simplex([[0.5, 0.5]]), ValueError, r"shape \(points, 3\), got \(1, 2\)"),
    (lambda: display.simplex([[0.5, 0.5, 0.5]]), ValueError, "sum to 1 in each row"),
    (lambda: display.simplex(np.eye(3), actions=["a", "b"]), ValueError, "actions"),
    (lambda: display.heat_map(PROFILE, information_sets=[]), ValueError, "no information set"),
    call=lambda draw: draw(),
)
