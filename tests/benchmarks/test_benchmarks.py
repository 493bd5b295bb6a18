"""Benchmarks measure what they say: rows with columns, peers that play the same algorithm."""

import itertools
import time

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import regretkit as rk
from benchmarks import __main__ as command
from benchmarks import by_hand, compare, harness, poker, runs
from benchmarks.harness import benchmark, best_times, cpu_seconds, number, table
from benchmarks.peers import PEERS
from benchmarks.vector_form import VectorForm
from regretkit.checks import check_minimizer

# Times and tables


def test_time_is_that_of_the_processor_and_not_of_the_clock():
    def busy(seconds):
        end = time.process_time() + seconds
        while time.process_time() < end:
            pass

    assert cpu_seconds(time.sleep, 0.2) < 0.1
    assert cpu_seconds(busy, 0.05) >= 0.05


def test_the_best_turn_counts_and_disturbed_ones_do_not(monkeypatch):
    costs = {"cheap": 1e-3, "dear": 5e-3}
    disturbance = itertools.cycle([0.5, 0.0, 0.3])
    monkeypatch.setattr(
        harness, "cpu_seconds", lambda action, times: times * action(times) + next(disturbance)
    )
    actions = {name: lambda times, cost=cost: cost for name, cost in costs.items()}
    # Of three turns, each action has one that nothing disturbs.
    assert best_times(actions, turns=3) == pytest.approx(costs)


@pytest.mark.parametrize(
    ("arguments", "rows", "full"),
    [([], "ab", True), (["--quick"], "b", False), (["a"], "a", False)],
)
def test_columns_are_those_of_all_rows_and_only_a_full_run_draws(arguments, rows, full, capsys):
    drawn = []

    @benchmark(["a", "b"], quick=["b"], head="row", plot=drawn.append)
    def counted(row, quick):
        return {"measured": 1, row: 0.5, "_hidden": quick}

    counted(arguments)
    lines = capsys.readouterr().out.splitlines()
    read = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert read[0] == ["row", "measured", *rows]
    assert [line[:2] for line in read[2 : 2 + len(rows)]] == [[row, "1"] for row in rows]
    assert len(drawn) == full


@given(st.floats(1e-12, 1e12), st.integers(2, 6))
@example(9.57, 3)  # which without decimals would be 10
def test_a_number_keeps_its_leading_digits(value, digits):
    shown = number(value, digits)
    significant = shown.split("e")[0].replace(",", "").replace(".", "").lstrip("0")
    whole = shown.split(".")[0].replace(",", "")
    places = 0 if "e" in shown or whole == "0" else len(whole)
    assert float(shown.replace(",", "")) == float(f"{value:.{digits - 1}e}")
    assert len(significant) == max(digits, len(significant.rstrip("0")), places)


cells = st.text("abc 123.,()", max_size=12).map(str.strip)


@given(st.integers(1, 4).flatmap(lambda n: st.lists(st.lists(cells, min_size=n, max_size=n))))
def test_a_table_has_its_cells_in_their_places_and_lines_of_one_length(rows):
    header = [f"column {i}" for i in range(len(rows[0]) if rows else 2)]
    lines = table(header, rows).splitlines()
    read = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert [read[0], *read[2:]] == [header, *rows]
    assert len({len(line) for line in lines}) == 1


# Benchmarks


@pytest.mark.deep
@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("around", "Kuhn poker"),
        ("building", "OpenSpiel: kuhn_poker"),
        ("checkpointing", "kuhn_poker"),
        ("circuits", "RM"),
        ("correlated_trees", "nfcce kuhn_poker(players=3)"),
        ("deviations", "Kuhn poker: efce"),
        ("exact", "kuhn_poker"),
        ("finish", "kuhn_poker"),
        ("public_games", "own rule, river of every hand"),
        ("reading", "Kuhn poker"),
        ("regret_curves", "RegretMatching"),
        ("repeated_states", "1"),
        ("sampling", "Kuhn poker: external"),
        ("time_to_gap", "kuhn_poker: pcfr+"),
        ("workbench", "a run beside its iterations, ms"),
    ],
)
def test_a_row_is_measured(name, row):
    pytest.importorskip("pyspiel")
    made = command.command(name)
    assert row in made.rows
    figures = made.measure(row, True)
    numbers = [value for value in figures.values() if isinstance(value, int | float)]
    assert len(figures) >= 1
    assert np.isfinite(numbers).all()


def test_every_benchmark_has_a_summary(capsys):
    assert command.main([]) == 0
    listed = capsys.readouterr().out.splitlines()[2:]
    assert [line.split()[0] for line in listed] == list(command.BENCHMARKS)
    assert all(len(line.split()) > 3 for line in listed)


# Yardsticks


@pytest.mark.parametrize("name", by_hand.ROWS)
def test_a_minimizer_and_the_same_by_hand_play_the_same(name):
    composed, same = by_hand.ROWS[name].composed(), by_hand.ROWS[name].by_hand()
    for utility in np.random.default_rng(1).normal(size=(20, composed.dimension)):
        # Stationary distributions are not unique at first, where each method finds its own.
        ours, theirs = composed.next_strategy(), same.play()
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-9)
        composed.observe_utility(utility)
        same.learn(utility)


def test_the_rule_of_the_benchmark_plays_as_the_one_of_the_library():
    check_minimizer(lambda: runs.RegretMatchingPlus([2, 3]))
    players = runs.RegretMatchingPlus([2, 3, 1]), rk.RegretMatchingPlus([2, 3, 1])
    for utility in np.random.default_rng(1).normal(size=(50, 6)):
        strategies = [player.next_strategy() for player in players]
        np.testing.assert_allclose(*strategies, rtol=0, atol=1e-12)
        for player in players:
            player.observe_utility(utility)


# NashConv on Kuhn poker after 10 and 100 iterations, as OpenSpiel 2.0.2 has it
KUHN = {
    "cfr+": {10: 0.06537418134, 100: 0.002388808202},
    "cfr": {10: 0.1373975876, 100: 0.01645195463},
}


@pytest.mark.deep
@pytest.mark.parametrize("algorithm", KUHN)
@pytest.mark.parametrize("peer", PEERS)
def test_peers_come_to_the_same_gaps(peer, algorithm):
    for module in PEERS[peer][1]:
        pytest.importorskip(module)
    [worker] = compare.compared("Kuhn poker", algorithm, [peer], quick=True).values()
    assert worker.gaps == pytest.approx(KUHN[algorithm], rel=1e-9)
    assert 0.0 < worker.best < 0.1


@pytest.mark.parametrize(
    ("name", "iterations", "expected"),
    [  # The first two are OpenSpiel's, the others of one more solver in vector form.
        ("20 cards", 30, 1.91240605413),
        ("16 cards", 50, 1.01479246534),
        ("many sizes", 10, 60.0566897733),
        ("every hand", 10, 452.344652238),
    ],
)
def test_the_solver_in_vector_form_is_cfr_plus(name, iterations, expected):
    solver = VectorForm(poker.spot(name))
    solver.run(iterations)
    assert solver.gap() == pytest.approx(expected, rel=1e-9)


def test_the_solver_in_vector_form_deals_a_river():
    # As long as no regret is a tie, which suits of equal worth bring about
    game = rk.games.hold_em("2c3d3h4c", ("*", "*"), 40, 100, deck="2-4")
    solver = VectorForm(game)
    solver.run(4)
    average = rk.solve(game, "cfr+", iterations=4, engine="numpy").average
    assert solver.gap() == pytest.approx(rk.nash_conv(game, average), rel=1e-9)
