"""A comparison is many runs of solve, in one table, with one look for each algorithm."""

import csv
import signal
from functools import partial

import numpy as np
import pytest

import regretkit as rk
from regretkit import games
from regretkit.play import Algorithm, Linear, Recorder
from regretkit.workbench import Comparison, gap_table

KUHN, PENNIES = games.kuhn_poker(), games.matching_pennies()


def names(found):
    return {game: list(curves) for game, curves in found.curves().items()}


def test_names_are_those_of_games_rules_and_mappings():
    algorithms = [rk.RegretMatching, Algorithm("cfr+"), ["cfr", "cfr+"]]
    found = rk.compare([KUHN, PENNIES], algorithms, 2)
    given = ["RegretMatching", "cfr+", "cfr against cfr+"]
    assert names(found) == {"kuhn_poker": given, "matching_pennies": given}
    sampled = [Algorithm("cfr+", sampling=how) for how in ("external", "outcome")]
    rates = [partial(rk.Hedge, rate=rate) for rate in (0.1, 1.0)]
    assert names(rk.compare(KUHN, [*sampled, *rates], 1)) == {
        "kuhn_poker": [
            *("cfr+, external sampling", "cfr+, outcome sampling"),
            *("Hedge(rate=0.1)", "Hedge(rate=1.0)"),
        ]
    }
    own = {"mine": Algorithm("cfr", averaging=Linear()), "its": "cfr"}
    twice = rk.compare({"a": KUHN, "b": "kuhn_poker"}, own, 2)
    assert names(twice) == {"a": ["mine", "its"], "b": ["mine", "its"]}


def test_functions_of_a_run_are_measured_too():
    measures = {"twice": lambda run: 2 * run.nash_conv(), "gap": "nash_conv"}
    [run] = rk.compare(KUHN, "cfr+", 20, measures=measures).runs
    assert run.measure == "twice"
    assert run.last == 2 * run.columns["gap"][-1]


def test_a_comparison_is_a_table(tmp_path):
    pandas = pytest.importorskip("pandas")
    found = rk.compare([KUHN, PENNIES], ["cfr", "mccfr"], 5, seeds=range(2))
    rows = found.to_rows()
    columns = ["game", "algorithm", "seed", "iteration", "nash_conv", *Recorder(["seconds"]).values]
    assert [name for name in rows[0] if name in columns] == columns
    assert len(rows) == sum(len(run.columns["iteration"]) for run in found.runs)
    frame = found.to_dataframe()
    assert frame.groupby(["game", "algorithm"])["seed"].nunique().tolist() == [0, 2, 0, 2]
    assert pandas.isna(frame["seed"]).any()
    found.to_csv(tmp_path / "all.csv")
    with (tmp_path / "all.csv").open(newline="") as file:
        read = list(csv.DictReader(file))
    assert [float(row["nash_conv"]) for row in read] == [row["nash_conv"] for row in rows]
    assert "seed" not in rk.compare(PENNIES, "cfr", 1).to_rows()[0]


def test_what_is_printed_marks_the_least_and_games_that_start_at_equilibrium():
    found = rk.compare([KUHN, PENNIES], ["cfr", "mccfr"], 30, seeds=range(3))
    heads, first, second, *pennies = str(found).splitlines()
    assert " ".join(heads.split()) == "game algorithm iterations seconds nash_conv range seeds"
    assert first.endswith("*")
    last = [run.last for run in found.runs if (run.game, run.algorithm) == ("kuhn_poker", "mccfr")]
    assert f"{np.median(last):.3g}  {min(last):.3g} to {max(last):.3g}" in second
    assert all(line.endswith("starts at equilibrium") for line in pennies)
    assert repr(found) == "<Comparison of 8 runs>"
    assert str(Comparison()).split() == ["game", "algorithm", "iterations", "seconds"]


def test_not_run_not_reached_and_at_equilibrium_differ():
    whole = rk.compare([KUHN, PENNIES], ["cfr", "cfr+"], 20)
    runs = [run for run in whole.runs if run.game != "kuhn_poker" or run.algorithm == "cfr"]
    lines = gap_table(Comparison(runs), 1e-3).splitlines()
    assert lines[4] == r"Kuhn poker & $>$ 20 & -- \\"
    assert lines[5].startswith("Matching pennies (starts at equilibrium) & ")


def test_some_runs_keep_the_order_and_take_other_labels():
    found = rk.compare([KUHN, PENNIES], ["cfr", "cfr+", "dcfr"], 5)
    some = found.only(["kuhn_poker"], ["dcfr", "cfr+"], {"dcfr": "Discounted"})
    assert names(some) == {"kuhn_poker": ["cfr+", "Discounted"]}
    assert some.algorithms == ["cfr", "cfr+", "Discounted"]
    for given, problem in (
        ({"games": ["chess"]}, "no results of the game 'chess', only of 'kuhn_poker'"),
        ({"labels": {"x": "y"}}, "no algorithm 'x' to label"),
        ({"labels": {"cfr": "dcfr"}}, "labels must differ"),
    ):
        with pytest.raises(ValueError, match=problem):
            found.only(**given)


def test_an_algorithm_keeps_its_color_and_a_game_at_equilibrium_is_said_to():
    pytest.importorskip("matplotlib")
    found = rk.compare([KUHN, PENNIES], ["cfr", "mccfr", "cfr+"], 5, seeds=range(2))
    figure, alone = found.plot(x="seconds", width=5.0), found.only(algorithms=["cfr+"]).plot()
    assert figure.get_figwidth() == 5.0
    assert [text.get_text() for text in figure.legends[0].get_texts()][:3] == [
        *("CFR", "MCCFR", "CFR+")
    ]
    looks = [
        {line.get_label(): line.get_color() for line in each.axes[0].get_lines()}["CFR+"]
        for each in (figure, alone)
    ]
    assert looks[0] == looks[1]
    assert [len(ax.collections) for ax in figure.axes] == [1, 1]  # the bands of seeds
    assert [text.get_text() for text in figure.axes[1].texts] == ["starts at equilibrium"]
    with pytest.raises(ValueError, match="no runs to show"):
        Comparison().plot()


def test_what_fails_alone_is_raised_and_beside_others_told():
    def broken(simplices):
        raise ZeroDivisionError("divided")

    with pytest.raises(RuntimeError, match="ZeroDivisionError: divided"):
        rk.compare(KUHN, broken, 5)
    found = rk.compare(KUHN, {"cfr": "cfr", "mine": broken}, 5)
    assert str(found).splitlines()[2].split() == ["kuhn_poker", "mine", "failed"]
    assert "mine on kuhn_poker: failed with ZeroDivisionError: divided" in str(found)
    rules = games.load_rules("kuhn_poker")
    with pytest.raises(RuntimeError, match="pass sampling="):
        rk.compare(rules, "cfr", 5)


def interrupting(game, iteration):
    """Return a measure that presses Ctrl-C in a game at an iteration."""

    def measure(run):
        if run.game is game and run.iteration == iteration:
            signal.raise_signal(signal.SIGINT)
        return run.nash_conv()

    return measure


def test_ctrl_c_returns_the_runs_so_far_and_watch_hears_of_each():
    measures, seen = {"gap": interrupting(PENNIES, 9)}, []
    watch = lambda *told: seen.append(told)  # noqa: E731
    found = rk.compare([KUHN, PENNIES], ["cfr", "cfr+"], 30, measures=measures, watch=watch)
    assert [told[:2] for told in seen] == [(1, 4), (2, 4)]
    assert seen[0][2].startswith("cfr on kuhn_poker: gap ")
    assert [run.algorithm for run in found.runs] == ["cfr", "cfr+"]
    assert found.interrupted
    assert str(found).splitlines()[-1] == "interrupted"
    assert repr(found) == "<Comparison of 2 runs, interrupted>"
    with pytest.raises(KeyboardInterrupt):
        rk.compare(KUHN, "cfr", 30, measures={"gap": interrupting(KUHN, 1)})
