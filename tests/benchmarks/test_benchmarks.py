"""The table of rules that benchmarks run holds every leaf of the package, and runs."""

import inspect

import numpy as np
import pytest

import regretkit as rk
from benchmarks import rules
from benchmarks.rule_table import LEFT_OUT, ON_SETS, RULES, SEARCHES
from regretkit import minimizers

ROWS = RULES | ON_SETS
SIMPLICES = rk.Simplices([2, 3, 3])
each_rule = pytest.mark.parametrize("make", ROWS.values(), ids=ROWS)


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


def test_a_leaf_that_can_be_optimistic_has_a_row_for_each_way():
    # Dilated mirror descent and online gradient descent are the same code in both.
    rows = [make(SIMPLICES) for make in RULES.values()]
    ways = {(type(row), row.optimistic) for row in rows if hasattr(row, "optimistic")}

    assert {(kind, not way) for kind, way in ways} == ways


def test_every_regularizer_has_a_row_unless_it_is_that_of_a_rule():
    # With entropy, following the leader and mirror descent both are Hedge.
    rows = [make(SIMPLICES) for make in RULES.values()]
    used = {type(row.regularizer) for row in rows if hasattr(row, "regularizer")}

    kinds = {thing for thing in vars(minimizers).values() if inspect.isclass(thing)}
    regularizers = {kind for kind in kinds if issubclass(kind, minimizers.Regularizer)}
    assert used | {minimizers.Entropy} == regularizers - {minimizers.Regularizer}


@each_rule
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


def test_the_benchmark_prints_a_cost_and_a_ratio_for_every_row(capsys):
    rules.main(actions=30, turns=1)

    lines = capsys.readouterr().out.splitlines()[2:-2]
    assert [line[:44].strip() for line in lines] == list(ROWS)
    for line in lines:
        numbers = [float(number) for number in line[44:].split()[:4]]
        assert len(numbers) == 4
        assert min(numbers) > 0.0
        assert " ".join(line[44:].split()[4:]) == SEARCHES.get(line[:44].strip(), "")
