"""What single benchmarks measure, and what they make of it."""

import inspect

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import regretkit as rk
from benchmarks import engines, equilibria, poker, reading, rules
from benchmarks.__main__ import command
from benchmarks.engines import size
from benchmarks.equilibria import Race
from benchmarks.games import held
from benchmarks.rules import LEFT_OUT, ON_SETS, RULES, SEARCHES
from benchmarks.runs import cfr_run, tree_game
from benchmarks.traced import OWN, traced
from benchmarks.vector_form import VectorForm
from regretkit import minimizers

ROWS = RULES | ON_SETS
SIMPLICES = rk.Simplices([2, 3, 3])


@pytest.mark.deep_beyond(2)
@pytest.mark.parametrize(
    ("name", "row", "columns", "module"),
    [
        ("around", "Kuhn poker", 3, "numpy"),
        ("circuits", "hull of RM and RM+", 3, "numpy"),
        ("correlated", "CCE 5", 4, "scipy"),
        ("correlated_gaps", "Kuhn poker", 6, "scipy"),
        ("exact", "kuhn_poker", 4, "scipy"),
        ("building", "kuhn_poker", 8, "scipy"),
        ("exact_choice", "kuhn_poker", 7, "scipy"),
        ("efr", "Kuhn poker: csps", 8, "pyspiel"),
        ("engines", "Kuhn poker", 4, "numpy"),
        ("linear_swap", "Kuhn poker", 7, "numpy"),
        ("look", "kuhn_poker", 4, "scipy"),
        ("openspiel_import", "kuhn_poker", 6, "pyspiel"),
        ("passes", "Kuhn poker", 5, "numpy"),
        ("public_games", "own rule in NumPy, river of every hand", 5, "numpy"),
        ("reading", "Kuhn poker", 8, "numpy"),
        ("regret_curves", "RegretMatching", 5, "numpy"),
        ("repeated_states", "1", 8, "scipy"),
        ("sampling_gaps", "external", 3, "numpy"),
        ("several", "RM+ against DCFR", 4, "numpy"),
        ("traced", "Kuhn poker", 4, "pyspiel"),
        ("tracing", "of the library", 4, "numpy"),
        ("triggers", "Kuhn poker: efce", 9, "pyspiel"),
        ("workbench", "a run beside its iterations, ms", 2, "numpy"),
    ],
)
def test_a_row_has_its_columns(name, row, columns, module):
    pytest.importorskip(module)
    benchmark = command(name)
    assert row in benchmark.rows or row == "kuhn_poker"
    assert len(benchmark.measure(row, True)) == columns


# Rules


def leaves():
    """Return every public minimizer among the leaves that can be built."""
    members = [*vars(minimizers).values(), *vars(minimizers.contrib).values()]
    found = {thing for thing in members if inspect.isclass(thing)}
    return {
        leaf
        for leaf in found
        if issubclass(leaf, rk.RegretMinimizer) and not inspect.isabstract(leaf)
    }


def test_every_leaf_has_a_row_or_a_reason_to_have_none():
    assert {type(make(SIMPLICES)) for make in ROWS.values()} == leaves() - set(LEFT_OUT)
    assert set(LEFT_OUT) <= leaves()
    assert all(LEFT_OUT.values())


def test_every_regularizer_has_a_row_unless_it_is_that_of_a_rule():
    # With entropy, following the leader and mirror descent both are Hedge.
    rows = [make(SIMPLICES) for make in RULES.values()]
    used = {type(row.regularizer) for row in rows if hasattr(row, "regularizer")}
    kinds = {thing for thing in vars(minimizers).values() if inspect.isclass(thing)}
    regularizers = {kind for kind in kinds if issubclass(kind, minimizers.Regularizer)}
    assert used | {minimizers.Entropy} == regularizers - {minimizers.Regularizer}


@pytest.mark.parametrize("make", ROWS.values(), ids=ROWS)
def test_a_row_plays_on_the_simplices_that_it_is_given(make):
    player = make(SIMPLICES)
    behaviors = []
    for utility in np.random.default_rng(0).normal(size=(5, player.dimension)):
        player.observe_utility(utility)
        # Dilated mirror descent has the empty sequence as well, in front.
        behaviors.append(player.next_strategy()[-SIMPLICES.dimension :])
    assert all(SIMPLICES.contains(behavior) for behavior in behaviors)
    assert not np.array_equal(behaviors[0], behaviors[-1])


def test_rows_do_not_double_and_searches_are_those_of_rows():
    assert not RULES.keys() & ON_SETS.keys()
    assert SEARCHES.keys() <= ROWS.keys()
    kinds = {type(ROWS[name](SIMPLICES)) for name in SEARCHES}
    # A search is in the formula, for all hyperparameters.
    assert {name for name, make in ROWS.items() if type(make(SIMPLICES)) in kinds} == set(SEARCHES)


def test_a_rule_has_costs_and_ratios_that_belong_together(monkeypatch):
    monkeypatch.setattr(rules, "ACTIONS", 30)
    figures = rules.rules.measure("ConicBlackwell", True)
    assert list(rules.rules.rows) == list(ROWS)
    *numbers, searches = figures.values()
    assert len(numbers) == 6
    assert min(numbers) > 0.0
    assert searches == "root of nearest points"


# Engines


def test_a_cost_that_grows_with_the_game_is_flat():
    def found(*costs):
        return {str(cost): {"ns a terminal": cost} for cost in costs} | {"9": {"terminals": ""}}

    assert "a factor of 1.00: within" in size.conclude(found(3.0, 3.0, 3.0))
    assert "a factor of 3.00: **not within**" in size.conclude(found(6.0, 2.0))


@given(st.lists(st.floats(0.0, 1.0), min_size=1))
def test_passes_add_up_to_the_whole(times):
    upto = np.cumsum(times).tolist()
    assert engines.differences(upto) == pytest.approx(times, abs=1e-9)
    assert sum(engines.differences(upto)) == pytest.approx(upto[-1])


def test_noise_takes_no_time():
    assert engines.differences([3.0, 2.0, 5.0]) == [3.0, 0.0, 3.0]


@pytest.mark.slow
@pytest.mark.sample
def test_the_first_passes_of_an_iteration_take_less_than_all_of_it():
    run = cfr_run(tree_game("leduc_poker")).run(10)
    first, *_, last = engines.prefixes(run)
    times = engines.best_times({"first": first, "last": last, "whole": run.run}, 5)
    assert times["first"] < times["last"]
    # All passes one after the other are what an iteration does.
    assert times["last"] == pytest.approx(times["whole"], rel=0.5)


def test_a_ratio_that_misses_its_goal_is_named():
    row = dict.fromkeys(OWN, 1.0) | {"its goal": 100.0}
    found = {"Kuhn": row | {"OpenSpiel": 50.0, "README's rule": 1.5}, "Leduc": row}
    assert "RM+ is 1.50 (goal: 1.1)" in traced.conclude(found)
    assert traced.conclude(found).endswith("missed on Kuhn.")


def test_each_array_is_counted_once():
    one, two = np.zeros(3), np.ones((2, 2))
    assert held([(one, (two, one)), [two], 5, "name"]) == one.nbytes + two.nbytes


def test_the_arrays_of_a_run_hold_at_least_its_state():
    run = cfr_run(tree_game("leduc_poker"))
    dimension = sum(tree.dimension for tree in run.game.domains)
    # Strategy, distributions, utility, sum of strategies and regrets: 8 bytes each
    assert engines.laid_out(run) >= 5 * 8 * dimension


def test_adding_up_is_what_it_says():
    pytest.importorskip("numba", reason="adds in any order, which our compiler never does")
    numbers = np.random.default_rng(0).normal(size=1000)
    total = engines.adder()(numbers, 1)  # it counts the times in the first one
    assert numbers[0] == 0.0
    assert total == pytest.approx(float(numbers.sum()), rel=1e-12)


# Endgames of poker


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


def test_a_row_that_misses_its_floor_is_named():
    rows = {"game tree, river of 20 cards": {"measured": 2.4}, "a decision point, ns": {}}
    rows["a decision point, ns"]["measured"] = 7.9
    assert poker.verdict(rows) == "Floors are missed by game tree, river of 20 cards."
    rows["game tree, river of 20 cards"]["measured"] = 2.6
    assert poker.verdict(rows) == "Floors are missed by none."


@pytest.mark.deep
def test_algorithms_race_to_a_share_of_the_pot():
    game = poker.spot("16 cards")
    run = rk.play.ALGORITHMS["dcfr"].start(game, engine="numpy").run(0)
    race = poker.Race("dcfr", run, 40.0)
    race.go(1000, 60.0)
    name, *reached, minimum, _ = race.row()
    assert name == "`dcfr`"
    assert all(reached)
    assert race.percents[-1] <= 0.03 < race.percents[-2]
    shown = 50.0 * rk.nash_conv(game, run.average) / 40.0
    assert race.percents[-1] == pytest.approx(shown)
    assert minimum.endswith(" %")


# Files, and times to a gap


def test_reading_says_whether_the_slowest_file_is_quick_enough():
    quick = {"nodes": 50_000, "players": 2, "nodes a second": 5e5}
    slow = {**quick, "nodes a second": 25e3}
    tiny, crowded = {**slow, "nodes": 50}, {**slow, "players": 1000}
    conclude = reading.reading.conclude
    assert "500,000 nodes a second (quick), which reaches" in conclude(
        {"tiny": tiny, "quick": quick, "crowded": crowded}
    )
    assert "25,000 nodes a second (slow), **which does not reach**" in conclude(
        {"quick": quick, "slow": slow}
    )


def test_a_gap_is_reached_when_it_is_first_measured_to_be_as_small():
    run = rk.Algorithm(rk.RegretMatchingPlus).start(tree_game("kuhn_poker"))
    race = Race(run, 0.3, [0.1, 0.2, 0.3], [1e-2, 1e-4, 1e-3])
    assert race.reached(1e-2) == "0.10 s"
    assert race.reached(1e-3) == "0.20 s"
    assert race.reached(1e-6) == "(1e-04)"
    assert race.is_over(0.3)
    assert not race.is_over(0.4)


@pytest.mark.slow
@pytest.mark.sample
def test_every_algorithm_races_to_the_same_equilibrium_value():
    races = equilibria.raced(tree_game("kuhn_poker"), 0.02)
    algorithms = rk.play.ALGORITHMS.items()
    assert list(races) == [n for n, a in algorithms if n != "mccfr" and a.circuit is rk.CFR]
    for race in races.values():
        assert race.times == sorted(race.times)
        assert race.gaps[-1] < race.gaps[0]
        # Within the gap of -1/18
        value = float(race.run.game.value(race.run.average)[0])
        assert abs(value + 1 / 18) <= race.gaps[-1] + 1e-12
