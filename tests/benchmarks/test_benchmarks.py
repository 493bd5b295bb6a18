"""What single benchmarks measure, and what they make of it."""

import inspect

import numpy as np
import pytest

import regretkit as rk
from benchmarks import engines, equilibria, poker
from benchmarks.__main__ import command
from benchmarks.games import held
from benchmarks.rules import LEFT_OUT, ON_SETS, RULES
from benchmarks.runs import cfr_run, tree_game
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


# Engines


def test_each_array_is_counted_once():
    one, two = np.zeros(3), np.ones((2, 2))
    assert held([(one, (two, one)), [two], 5, "name"]) == one.nbytes + two.nbytes


def test_the_arrays_of_a_run_hold_at_least_its_state():
    run = cfr_run(tree_game("leduc_poker"))
    dimension = sum(tree.dimension for tree in run.game.domains)
    # Strategy, distributions, utility, sum of strategies and regrets: 8 bytes each
    assert engines.laid_out(run) >= 5 * 8 * dimension


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


# Files, and times to a gap


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
