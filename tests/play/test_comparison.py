"""A comparison is many runs of solve, in one table."""

import csv
import signal
from functools import partial

import numpy as np
import pytest
from refusals import refusals

import regretkit as rk
from regretkit import games
from regretkit.play import Algorithm, Comparison, Linear, _comparison, compare
from regretkit.play._measures import sampled_gap

KUHN, PENNIES = games.kuhn_poker(), games.matching_pennies()


def ends(found):
    return {
        (run.game, run.algorithm, run.seed): (run.columns["iteration"][-1], run.last)
        for run in found.runs
    }


def test_each_run_is_that_of_solve():
    found = compare(KUHN, ["cfr", "mccfr"], iterations=40, seeds=[3, 5])
    expected = {("kuhn_poker", "cfr", None): rk.solve(KUHN, "cfr", iterations=40)}
    for seed in (3, 5):
        run = rk.solve(KUHN, "mccfr", seed=seed, iterations=40)
        expected["kuhn_poker", "mccfr", seed] = run
    assert ends(found) == {
        place: (40, pytest.approx(run.nash_conv(), abs=1e-12)) for place, run in expected.items()
    }
    for run in found.runs:
        iterations = run.columns["iteration"]
        assert iterations[:3] == [1, 2, 3]
        assert len(iterations) == len(run.columns["nash_conv"]) == len(run.columns["seconds"])


def test_names_are_those_of_games_rules_and_mappings():
    algorithms = [rk.RegretMatching, Algorithm("cfr+"), ["cfr", "cfr+"]]
    found = compare([KUHN, PENNIES], algorithms, iterations=2)
    assert list(found.curves()["kuhn_poker"]) == ["RegretMatching", "cfr+", "cfr against cfr+"]
    sampled = [Algorithm("cfr+", sampling=how) for how in ("external", "outcome")]
    rates = [partial(rk.Hedge, rate=rate) for rate in (0.1, 1.0)]
    assert list(compare(KUHN, [*sampled, *rates], iterations=1).curves()["kuhn_poker"]) == [
        "cfr+, external sampling",
        "cfr+, outcome sampling",
        "Hedge(rate=0.1)",
        "Hedge(rate=1.0)",
    ]
    given = {"mine": Algorithm("cfr", averaging=Linear()), "its": "cfr"}
    named = compare({"a": KUHN, "b": games.kuhn_poker()}, given, iterations=2)
    assert {place: list(curves) for place, curves in named.curves().items()} == {
        "a": ["mine", "its"],
        "b": ["mine", "its"],
    }


def test_limits_and_measures_are_those_of_solve_and_recorder():
    found = compare(KUHN, "cfr+", target_gap=0.01, measures={"gap": "exploitability"})
    [run] = found.runs
    assert list(run.columns) == ["iteration", "gap", "seconds"]
    assert 2 * run.last <= 0.01 < 2 * run.columns["gap"][-2]
    assert run.columns["iteration"][-1] == rk.solve(KUHN, "cfr+", target_gap=0.01).iteration
    short = compare(PENNIES, "cfr", time_limit=0.05, measures=["strategy_change", "nash_conv"])
    assert short.runs[0].measure == "strategy_change"
    sampled = compare(KUHN, "cfr", iterations=2, sampling="outcome", seeds=[1])
    assert [run.seed for run in sampled.runs] == [1]


def test_a_comparison_is_a_table(tmp_path):
    pandas = pytest.importorskip("pandas")
    found = compare([KUHN, PENNIES], ["cfr", "mccfr"], iterations=5, seeds=range(2))
    rows = found.to_rows()
    columns = ["game", "algorithm", "seed", "iteration", "nash_conv", "seconds"]
    assert all(list(row) == columns for row in rows)
    assert len(rows) == sum(len(run.columns["iteration"]) for run in found.runs)
    frame = found.to_dataframe()
    assert list(frame.columns) == columns
    assert frame.groupby(["game", "algorithm"])["seed"].nunique().tolist() == [0, 2, 0, 2]
    assert pandas.isna(frame["seed"]).any()
    found.to_csv(tmp_path / "all.csv")
    with (tmp_path / "all.csv").open(newline="") as file:
        read = list(csv.DictReader(file))
    assert [float(row["nash_conv"]) for row in read] == [row["nash_conv"] for row in rows]
    assert "seed" not in compare(PENNIES, "cfr", iterations=1).to_rows()[0]


def test_what_is_printed_marks_the_smallest_mean():
    found = compare(KUHN, ["cfr", "mccfr"], iterations=30, seeds=range(3))
    heads, first, second = str(found).splitlines()
    names = "game algorithm iterations seconds nash_conv range seeds"
    assert " ".join(heads.split()) == names
    assert first.endswith("*")
    last = [run.last for run in found.runs if run.algorithm == "mccfr"]
    assert f"{np.mean(last):.3g}  {min(last):.3g} to {max(last):.3g}" in second
    assert repr(found) == "<Comparison of 4 runs>"
    assert str(Comparison()).split() == ["game", "algorithm", "iterations", "seconds"]


def test_the_figure_has_a_panel_for_each_game_and_a_band_for_seeds():
    pytest.importorskip("matplotlib")
    found = compare([KUHN, PENNIES], ["cfr", "mccfr"], iterations=5, seeds=range(2))
    figure = found.plot(x="seconds", figsize=(3.4, 2.2), title="mine")
    assert [*figure.get_size_inches()] == [3.4, 2.2]
    assert figure.axes[0].get_title() == "mine"
    assert [len(ax.collections) for ax in figure.axes] == [1, 1]
    with pytest.raises(ValueError, match="no runs to draw"):
        Comparison().plot()


def test_progress_names_the_run():
    lines = []
    compare(KUHN, ["cfr", "cfr+"], iterations=3, progress=lines.append)
    assert lines[0].startswith("kuhn_poker, cfr: iteration 1 of 3")
    assert lines[-1].startswith("kuhn_poker, cfr+: iteration ")


test_what_cannot_be_compared_is_refused = refusals(
    ({"games": []}, "games must be one at least"),
    ({"games": "kuhn_poker"}, r"pass games.load\('kuhn_poker'\)"),
    ({"games": [KUHN, "leduc_poker"]}, r"pass games.load\('leduc_poker'\)"),
    ({"games": [KUHN, games.kuhn_poker()]}, "games has 'kuhn_poker' twice; give them names"),
    ({"algorithms": []}, "algorithms must be one at least"),
    ({"algorithms": ["cfr", "cfr"]}, "algorithms has 'cfr' twice"),
    ({"algorithms": ["cfr", "cfrs"]}, "did you mean 'cfr'"),
    ({"algorithms": [["cfr"]]}, "one entry for each of the 2 players"),
    ({"seeds": []}, "seeds must be different whole numbers"),
    ({"seeds": [1, 1]}, "seeds must be different whole numbers"),
    ({"seeds": 3}, r"seeds must be several .* pass range\(3\)"),
    ({"seeds": [-1]}, "seeds must be a whole number, at least 0"),
    ({"measures": "gap"}, "there is no measure 'gap'"),
    ({"iterations": None}, "are all missing"),
    ({"engine": "fast"}, "there is no engine 'fast'"),
    call=lambda given: compare(**{"games": KUHN, "algorithms": ["cfr"], "iterations": 1} | given),
    error=(TypeError, ValueError),
)


# Without trees


RULES = games.load_rules("kuhn_poker")


def test_games_without_trees_are_compared_by_sampled_responses():
    given = {"rules": RULES, "tree": KUHN}
    found = compare(given, ["cfr", "mccfr"], iterations=60, sampling="outcome", seeds=[3])
    mine = rk.solve(RULES, "cfr", sampling="outcome", seed=3, iterations=60)
    by_place = {(run.game, run.algorithm): run for run in found.runs}
    run = by_place["rules", "cfr"]
    assert run.columns["iteration"] == [60]
    assert run.columns["local_best_response"] == [sampled_gap(mine)]
    assert "local_best_response or nash_conv" in str(found)
    # The same play as on the tree, where the gap is exact and larger, up to the error of samples.
    assert sampled_gap(mine) <= by_place["tree", "cfr"].last + 0.3
    assert found.runs[0].seed == 3


def test_a_time_limit_covers_the_sampled_measurement(monkeypatch):
    limits = []

    def measured(run, time_limit=None):
        limits.append(time_limit)
        return sampled_gap(run, time_limit)

    monkeypatch.setattr(_comparison, "sampled_gap", measured)
    (run,) = compare(RULES, "cfr", sampling="outcome", time_limit=0.2).runs
    assert limits == [pytest.approx(0.04)]
    assert run.columns["seconds"][-1] >= 0.16
    assert compare(RULES, "cfr", iterations=2).runs[0].columns["iteration"] == [2]
    assert limits[1:] == [None]  # without a limit, all games are played
    with pytest.raises(ValueError, match="time_limit must be a finite number above 0"):
        compare(RULES, "cfr", time_limit=-1.0)


def test_a_sampled_gap_is_no_larger_than_the_gap():
    for iterations in (10, 500):
        run = rk.solve(RULES, "mccfr", seed=1, iterations=iterations)
        exact = rk.evaluation.nash_conv(KUHN, run.average)
        # Of 200 payoffs from -2 to 2, whose means miss by 0.3 once in 10,000 times at most
        assert -0.6 <= sampled_gap(run) <= exact + 0.6
    assert compare(RULES, "cfr", iterations=3).runs[0].seed == 0  # drawn externally by default


test_what_needs_a_tree_is_refused_before_the_first_run = refusals(
    ({"measures": "nash_conv"}, TypeError, "needs the game's tree.*local_best_response"),
    ({"measures": ["external_regret"]}, TypeError, "external_regret needs the game's tree"),
    ({"target_gap": 0.1}, ValueError, "target_gap needs the game's tree"),
    ({"engine": "numpy"}, ValueError, "engine needs the game's tree"),
    call=lambda given: compare({"tree": KUHN, "rules": RULES}, "cfr", iterations=10**9, **given),
)


# Ctrl-C


def interrupting(game, iteration):
    """Return a measure that presses Ctrl-C in a game at an iteration."""

    def measure(run):
        if run.game is game and run.iteration == iteration:
            signal.raise_signal(signal.SIGINT)
        return run.nash_conv()

    return measure


def test_ctrl_c_returns_the_runs_so_far_with_the_last_one_marked():
    measures = {"gap": interrupting(PENNIES, 9)}
    found = compare([KUHN, PENNIES], ["cfr", "cfr+"], iterations=30, measures=measures)
    assert [(run.game, run.algorithm, run.is_whole) for run in found.runs] == [
        ("kuhn_poker", "cfr", True),
        ("kuhn_poker", "cfr+", True),
        ("matching_pennies", "cfr", False),
    ]
    assert found.interrupted
    assert found.runs[-1].columns["iteration"][-1] == 7  # that of 9 was interrupted
    printed = str(found).splitlines()
    assert printed[3].endswith("...")
    assert printed[-1] == "interrupted"
    assert repr(found) == "<Comparison of 3 runs, interrupted>"
    assert not compare(KUHN, "cfr", iterations=3).interrupted


def test_ctrl_c_before_anything_was_measured_is_raised():
    with pytest.raises(KeyboardInterrupt):
        compare(KUHN, "cfr", iterations=30, measures={"gap": interrupting(KUHN, 1)})
