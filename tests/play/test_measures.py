"""A Recorder measures by name what could be measured by hand, and hands it on as a table."""

import csv

import numpy as np
import pytest
from refusals import refusals

import regretkit as rk
from regretkit import games, solve
from regretkit.evaluation import CorrelatedPlay, RegretLedger, exploitability, nash_conv
from regretkit.play import (
    Algorithm,
    At,
    Recorder,
    SelfPlay,
    Simultaneous,
    every,
    geometric,
)

KUHN = games.kuhn_poker()
SHAPLEY = games.shapley_game()


def recorded(record, game=KUHN, algorithm="cfr", iterations=60, period=20):
    return solve(game, algorithm, iterations=iterations, callbacks=[At(every(period), record)])


def test_gaps_by_name_are_those_of_the_average():
    record = Recorder(["nash_conv", "exploitability"])
    recorded(record)
    for place, iterations in enumerate(record.iterations):
        average = solve(KUHN, "cfr", iterations=iterations).average
        gap = nash_conv(KUHN, average)
        assert record.values["nash_conv"][place] == pytest.approx(gap, abs=1e-12)
        assert record.values["exploitability"][place] == pytest.approx(
            exploitability(KUHN, average), abs=1e-12
        )


# Regret


@pytest.mark.parametrize("period", [1, 7])
def test_regrets_are_those_of_the_correlated_play(period):
    record, play = Recorder(["external_regret", "swap_regret"]), CorrelatedPlay(SHAPLEY)
    players = [rk.RegretMatching(3), rk.Hedge(3, rate=0.1)]
    run = SelfPlay(SHAPLEY, players, order=Simultaneous())
    run.run(42, callbacks=[play, At(every(period), record)])
    assert record.iterations[-1] == 42
    assert record.values["external_regret"][-1] == pytest.approx(42 * play.gap("cce"))
    assert record.values["swap_regret"][-1] == pytest.approx(42 * play.gap("ce"))


def test_regret_on_a_tree_bounds_the_gap_of_the_average():
    """The folk theorem: NashConv is the sum of the players' regrets over time."""
    record = Recorder(["external_regret", "nash_conv"])
    players = [rk.CFR(tree, rk.RegretMatching) for tree in KUHN.domains]
    run = SelfPlay(KUHN, players, order=Simultaneous())
    run.run(100, callbacks=[At(geometric(2.0), record)])
    for t, regret, gap in zip(record.iterations, *record.values.values(), strict=True):
        assert 0.0 < gap <= 2 * regret / t + 1e-12


@pytest.mark.parametrize("game", [KUHN, SHAPLEY])
def test_regrets_continue_in_a_resumed_run(game, tmp_path):
    names = ["external_regret", *["swap_regret"] * (game is SHAPLEY)]
    hedge = Algorithm(lambda simplices: rk.Hedge(simplices, rate=0.1))
    whole, first, again = (Recorder(names) for _ in range(3))
    solve(game, hedge, iterations=50, callbacks=[At(every(5), whole)])
    run = solve(game, hedge, iterations=30, callbacks=[At(every(5), first)])
    run.save(tmp_path / "run", callbacks=[first])
    resumed = rk.play.resume(tmp_path / "run", game, algorithm=hedge, callbacks=[again])
    resumed.run(20, callbacks=[At(every(5), again)])
    assert again.values == whole.values
    resumed = rk.play.resume(tmp_path / "run", game, algorithm=hedge, callbacks=[again])
    first.load_state_dict(again.state_dict())
    other = rk.play.resume(tmp_path / "run", game, algorithm=hedge).run(1)
    with pytest.raises(ValueError, match="pass the Recorder to a new run"):
        other.run(5, callbacks=[first])


@pytest.mark.parametrize(
    ("game", "sampling"),
    [(KUHN, None), (KUHN, "external"), (SHAPLEY, None), (games.kuhn_poker(players=3), None)],
)
def test_the_regrets_that_regret_matching_holds_are_those_of_a_ledger(game, sampling):
    """CFR's regret is that of its parts, each weighted by the reach of the comparator."""
    run = Algorithm("cfr", sampling=sampling).start(game, seed=1, engine="numpy")
    same = Algorithm("cfr", sampling=sampling).start(game, seed=1, engine="numpy")
    ledger, record = RegretLedger(run), Recorder("external_regret")
    run.run(17)
    same.run(17, callbacks=[At(every(17), record)])
    regrets = [ledger.external(minimizer) for minimizer in run.minimizers]
    assert record.values["external_regret"] == pytest.approx([max(regrets)], abs=1e-9)
    assert all(minimizer._tracker is None for minimizer in same.minimizers)


@pytest.mark.parametrize("engine", ["numpy", pytest.param("compiled", marks=pytest.mark.deep)])
def test_external_regret_of_regret_matching_is_known_with_any_engine(engine):
    record, late = Recorder("external_regret"), Recorder("external_regret")
    run = solve(KUHN, "cfr", iterations=60, engine=engine, callbacks=[At(every(30), record)])
    assert run.engine == engine
    run.run(30, callbacks=[At(every(30), late)])
    watched = Algorithm("cfr").start(KUHN, engine="numpy")
    ledger, expected = RegretLedger(watched), []
    for _ in range(3):
        watched.run(30)
        expected.append(max(map(ledger.external, watched.minimizers)))
    found = [*record.values["external_regret"], *late.values["external_regret"]]
    assert found == pytest.approx(expected, abs=1e-9)


def test_regrets_that_are_summed_up_are_refused_with_what_would_do():
    recorder = Recorder("external_regret")
    with pytest.raises(ValueError, match="leave out engine, or measure cce_gap"):
        solve(KUHN, "cfr+", iterations=3, engine="compiled", callbacks=[recorder])
    begun = solve(SHAPLEY, "cfr+", iterations=5)
    with pytest.raises(ValueError, match="external_regret needs all iterations"):
        begun.run(5, callbacks=[Recorder("external_regret")])
    with pytest.raises(TypeError, match="measure 'external_regret' or 'efce_gap'"):
        recorded(Recorder("swap_regret"))
    learned = [rk.RegretMatching(3) for _ in range(2)]
    learned[0].observe_utility(np.ones(3))  # before the run, which its regrets are not of
    run = SelfPlay(SHAPLEY, learned)
    record = Recorder("external_regret")
    run.run(5, callbacks=[record])
    assert learned[0]._tracker is not None
    assert learned[1]._tracker is None


# Names


test_what_are_no_measures_is_refused = refusals(
    ("nashconv", "did you mean 'nash_conv'"),
    (["seconds", "NashConv"], "did you mean 'nash_conv'"),
    ({"gap": "gaps"}, "there is no measure 'gaps', only 'nash_conv', 'exploitability'"),
    ({"gap": 3}, r"measures\['gap'\] must be a name or a function of the run, got 3"),
    ([print], "measures must be a list of names, such as"),
    (print, "measures must be a list of names, such as"),
    (3, "measures must be a list of names, such as"),
    call=Recorder,
    error=(TypeError, ValueError),
)


def test_a_measure_that_fails_leaves_whole_rows():
    def fails(run):
        if run.iteration == 2:
            raise ValueError("not this one")
        return 1.0

    record = Recorder({"one": lambda run: 1.0, "two": fails})
    with pytest.raises(ValueError, match="not this one"):
        solve(SHAPLEY, iterations=3, callbacks=[record])
    assert record.iterations == [1]
    assert record.values == {"one": [1.0], "two": [1.0]}


# Tables


def test_a_record_is_a_table(tmp_path):
    pandas = pytest.importorskip("pandas")
    record = Recorder({"gap": "nash_conv", "half": "exploitability"})
    recorded(record)
    rows = record.to_rows()
    assert [row["iteration"] for row in rows] == [20, 40, 60]
    assert all(row["gap"] == 2 * row["half"] for row in rows)
    pandas.testing.assert_frame_equal(record.to_dataframe(), pandas.DataFrame(rows))
    record.to_csv(tmp_path / "gaps.csv")
    with (tmp_path / "gaps.csv").open(newline="") as file:
        read = list(csv.DictReader(file))
    assert [{name: float(cell) for name, cell in row.items()} for row in read] == rows
    assert list(Recorder().to_dataframe().columns) == ["iteration", "nash_conv", "seconds"]
