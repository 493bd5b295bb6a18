"""What moves at information sets, as it is written down, put into tables, and kept in files."""

import csv

import numpy as np
import pytest

import regretkit as rk
from regretkit import SelfPlay, games
from regretkit.play import (
    At,
    TrajectoryRecorder,
    cfr,
    cfr_plus,
    every,
    solve,
)

KINDS = ["strategy", "average", "regret"]
COLUMNS = ["iteration", "player", "information_set", "label", "action", *KINDS]
KUHN = games.kuhn_poker()


def watched(record, iterations=60, algorithm=cfr, engine="numpy", period=20):
    run = algorithm.start(KUHN, engine=engine)
    return run.run(iterations, callbacks=[At(every(period), record)])


@pytest.fixture
def record():
    record = TrajectoryRecorder(["K", (1, "Qb"), (0, 4)])
    watched(record)
    return record


# What is written down


@pytest.mark.deep_beyond(1)
@pytest.mark.parametrize("engine", ["compiled", "numpy"])
@pytest.mark.parametrize("algorithm", [cfr, cfr_plus])
def test_each_look_sees_what_a_run_of_that_length_has(engine, algorithm):
    record = TrajectoryRecorder(["K", (1, "Qb"), (0, 4)])
    watched(record, algorithm=algorithm, engine=engine)

    assert record.iterations == [20, 40, 60]
    for look, iterations in enumerate(record.iterations):
        run = algorithm.start(KUHN, engine=engine).run(iterations)
        for key, owner, label in (("K", 0, "K"), ((1, "Qb"), 1, "Qb"), ((0, 4), 0, "Qpb")):
            held = run.minimizers[owner][label].state["regrets"]
            seen = [record.path(key, kind)[look] for kind in ("strategy", "average", "regret")]
            np.testing.assert_allclose(seen[0], run.current[label], rtol=0, atol=1e-12)
            np.testing.assert_allclose(seen[1], run.average[label], rtol=0, atol=1e-12)
            np.testing.assert_allclose(seen[2], held, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "rule",
    [
        lambda n: rk.SwapRegret(n, rk.RegretMatching),  # which holds a regret for each pair
        lambda n: rk.ConvexHull([rk.Point(row) for row in np.eye(n)], mixing=rk.RegretMatching(n)),
    ],
)
def test_where_a_rule_holds_no_regrets_of_actions_there_are_none(rule):
    record = TrajectoryRecorder()
    SelfPlay(games.rock_paper_scissors(), [rule(3), rule(3)]).run(3, callbacks=[record])

    assert np.isnan(record.path((0, 0), "regret")).all()
    assert {row["regret"] for row in record.to_rows()} == {None}
    assert record.path((0, 0), "strategy").sum() == pytest.approx(3.0)


# As a table


def test_the_table_has_a_row_for_each_action_at_each_look(record, tmp_path):
    pytest.importorskip("pandas")
    rows = record.to_rows()

    assert len(rows) == 3 * 3 * 2
    assert all(list(row) == COLUMNS for row in rows)
    for row in rows:
        look = record.iterations.index(row["iteration"])
        place = row["player"], row["information_set"]
        column = record.actions(place).index(row["action"])
        for kind in ("strategy", "average", "regret"):
            assert row[kind] == record.path(place, kind)[look, column]
    assert {row["label"] for row in rows} == {"K", "Qb", "Qpb"}
    assert record.to_dataframe().to_dict("records") == rows
    record.to_csv(tmp_path / "moves.csv")
    with (tmp_path / "moves.csv").open(newline="") as file:
        read = list(csv.DictReader(file))
    assert read == [{key: str(value) for key, value in row.items()} for row in rows]


# In checkpoints


def test_a_record_goes_on_from_a_checkpoint(tmp_path):
    whole, first, second = (TrajectoryRecorder(["K", "Qb"]) for _ in range(3))
    game = KUHN
    watched(whole, iterations=60)
    run = cfr.start(game, engine="numpy").run(40, callbacks=[At(every(20), first)])
    run.save(tmp_path / "run", callbacks=[At(every(20), first)])

    watch = At(every(20), second)
    players = [rk.CFR(tree, rk.RegretMatching) for tree in game.domains]
    resumed = SelfPlay.load(tmp_path / "run", game, players, callbacks=[watch])
    resumed.run(20, callbacks=[watch])

    assert second.to_rows() == whole.to_rows()


# What is refused


@pytest.mark.parametrize("place", ["X", (2, "K"), (0, 6), "K"])
def test_what_is_no_information_set_or_one_twice_is_refused(place):
    with pytest.raises(
        (ValueError, IndexError), match=r"there is no|no player has|out of range|must be distinct"
    ):
        solve(KUHN, "cfr", iterations=1, callbacks=[TrajectoryRecorder(["K", place])])


def test_another_game_in_the_same_record_is_refused(record):
    with pytest.raises(ValueError, match="use a new TrajectoryRecorder"):
        solve(games.kuhn_poker(deck=4), "cfr", iterations=1, callbacks=[record])


def test_a_label_of_two_players_needs_the_player():
    game = games.read_efg(
        """EFG 2 R "both" { "One" "Two" }
        p "" 1 1 "here" { "l" "r" } 0
        p "" 2 1 "here" { "l" "r" } 0
        t "" 1 "" { 1 0 }
        t "" 2 "" { 0 1 }
        t "" 3 "" { 2 2 }"""
    )
    record = TrajectoryRecorder()
    solve(game, "cfr", iterations=5, callbacks=[record])

    with pytest.raises(ValueError, match=r"'here' is ambiguous: it may be '\(0, 0\)', '\(1, 0\)'"):
        record.path("here")
    assert record.title((1, "here")) == "here (player 1)"
