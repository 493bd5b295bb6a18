"""Sequence forms of trees and DAGs, against recursion, all pure strategies, and all paths."""

from functools import partial

import naive
import numpy as np
import pytest
from factories import (
    ADVERSARIES,
    MAKERS,
    play,
    random_behavior,
    random_dag,
    random_tree,
    unrolled,
)

import regretkit as rk
from regretkit import DecisionTree
from regretkit.circuits import SharedStrategy
from regretkit.evaluation import RegretLedger
from regretkit.sets import DecisionDAG

SEEDS = pytest.mark.parametrize("seed", range(6))


@pytest.fixture(params=range(8))
def case(request):
    """Return a random tree, a behavioral strategy, and a utility."""
    generator = np.random.default_rng(request.param)
    tree = random_tree(generator)
    behavior = random_behavior(generator, tree.simplices)
    return tree, behavior, generator.normal(size=tree.dimension)


@pytest.fixture(params=range(8))
def dag_case(request):
    """Return a DAG, the tree of its paths, the DAG's coordinates in the tree, and a generator."""
    generator = np.random.default_rng(request.param)
    dag = random_dag(generator)
    tree, coordinates, _ = unrolled(dag)
    return dag, tree, coordinates, generator


# Trees


def test_the_passes_down_and_up_are_those_of_the_recursion(case):
    tree, behavior, utility = case
    sizes = tree.sizes.tolist()
    roots = naive.nested(tree.parent_sequence.tolist(), sizes)
    played = [behavior[tree.simplices.block(j)].tolist() for j in range(tree.points)]
    strategy = tree.sequence_form(behavior)
    value, worths = tree.counterfactual(utility, behavior)

    expected = naive.sequence_form(roots, sizes, played)
    np.testing.assert_allclose(strategy, expected, rtol=1e-14)
    whole, worth = naive.counterfactual(roots, sizes, played, utility.tolist())
    assert value == pytest.approx(whole, abs=1e-12)
    assert value == pytest.approx(utility @ strategy, abs=1e-12)
    np.testing.assert_allclose(worths, np.concatenate(worth), atol=1e-12)


def test_behavior_undoes_the_sequence_form_where_play_comes_and_is_uniform_elsewhere(case):
    tree, behavior, _ = case
    strategy = tree.sequence_form(behavior)

    recovered = tree.behavior(strategy)

    comes = tree.simplices.repeat(tree.reach(strategy)) > 0.0
    expected = np.where(comes, behavior, tree.simplices.uniform())
    np.testing.assert_allclose(recovered, expected, rtol=1e-12)
    np.testing.assert_allclose(tree.sequence_form(recovered), strategy, rtol=1e-12)


def test_levels_hold_the_points_by_the_number_of_decisions_before_them(case):
    tree, behavior, _ = case
    owner, depth = tree.point_of_sequence, []
    for parent in tree.parent_sequence:
        depth.append(1 + depth[owner[parent]] if parent else 0)
    strategy = tree.sequence_form(behavior)
    assert len(tree.levels) == tree.depth == 1 + max(depth)
    for number, level in enumerate(tree.levels):
        sequences = np.arange(tree.dimension)[level.sequences]
        points = [j for j in range(tree.points) if depth[j] == number]
        assert sequences.tolist() == [s for s in range(tree.dimension) if owner[s] in points]
        np.testing.assert_array_equal(level.simplices.sizes, tree.sizes[points])
        before = strategy[tree.parent_sequence[owner[sequences]]]
        np.testing.assert_array_equal(level.inflow(strategy), before)
        sums, added = np.zeros(tree.dimension), np.arange(1.0, len(points) + 1.0)
        level.add_to_parents(sums, added)
        expected = np.bincount(tree.parent_sequence[points], added, tree.dimension)
        np.testing.assert_array_equal(sums, expected)


@pytest.mark.parametrize("kind", ["tree", "dag"])
def test_a_point_is_inside_exactly_when_its_flow_is_conserved(kind, case, dag_case):
    problem = case[0] if kind == "tree" else dag_case[0]
    flow = problem.relative_interior_point()
    assert problem.contains(flow)
    assert (flow > 0.0).all()
    for unit in 1e-3 * np.eye(problem.dimension):
        for change in (unit, -unit):
            assert not problem.contains(flow + change)
            assert problem.contains(flow + change, atol=1e-2)
    assert not DecisionTree([0], [2]).contains([1.0, 1.1, -0.1])


@pytest.mark.parametrize("problem", [DecisionTree([], []), DecisionDAG([], [])])
def test_without_decisions_there_is_one_strategy(problem):
    assert (problem.points, problem.dimension, problem.depth) == (0, 1, 0)
    assert problem.best_response([7.0])[0] == 7.0
    assert problem.contains([1.0])
    assert not problem.contains([0.9])


@pytest.mark.parametrize("problem", [DecisionTree([0, 0], [1, 1]), DecisionDAG([0, 0], [1, 1])])
def test_values_that_cancel_up_to_rounding_are_zero(problem):
    for rest, expected in [(-0.1 - 0.2, 0.0), (-0.1 - 0.2 - 1e-9, -1e-9)]:
        utility = np.array([0.0, 0.3, rest])
        values = problem.counterfactual(utility, np.ones(2))[0], problem.best_values(utility)[0]
        assert values == pytest.approx((expected, expected), abs=1e-16 * (expected < 0.0), rel=0)


# DAGs: a DAG is the tree of its paths, with equal behavior wherever a decision point is reached


def test_a_flow_is_the_sum_over_all_paths(dag_case):
    dag, tree, coordinates, generator = dag_case
    behavior = random_behavior(generator, dag.simplices)
    flow = dag.sequence_form(behavior)
    paths = tree.sequence_form(behavior[coordinates[1:] - 1])
    np.testing.assert_allclose(flow, np.bincount(coordinates, paths), rtol=1e-13)
    # Any strategy on the paths makes a flow.
    other = np.bincount(coordinates, tree.sequence_form(random_behavior(generator, tree.simplices)))
    assert dag.contains(other)
    np.testing.assert_allclose(dag.sequence_form(dag.behavior(other)), other, rtol=1e-12)


def test_values_and_counterfactual_utilities_are_those_of_the_paths(dag_case):
    dag, tree, coordinates, generator = dag_case
    utility = generator.normal(size=dag.dimension)
    behavior = random_behavior(generator, dag.simplices)

    value, worths = dag.counterfactual(utility, behavior)
    best, response = dag.best_response(utility)

    other = tree.counterfactual(utility[coordinates], behavior[coordinates[1:] - 1])
    assert value == pytest.approx(other[0], abs=1e-12)
    np.testing.assert_allclose(worths[coordinates[1:] - 1], other[1], atol=1e-12)
    flow = dag.sequence_form(behavior)
    assert dag.value(utility, flow) == pytest.approx(utility @ flow, abs=1e-11)
    assert best == pytest.approx(tree.best_response(utility[coordinates])[0], abs=1e-12)
    assert best == pytest.approx(utility @ response, abs=1e-12)
    assert dag.gain(utility, flow) == pytest.approx(best - utility @ flow, abs=1e-11)


def test_a_sequence_gives_all_its_weight_to_each_point_that_it_leads_to():
    dag = DecisionDAG([[0], [0], [1, 3]], [2, 2, 1])
    flow = dag.sequence_form(np.array([0.25, 0.75, 0.5, 0.5, 1.0]))
    np.testing.assert_array_equal(flow, [1.0, 0.25, 0.75, 0.5, 0.5, 0.75])
    np.testing.assert_array_equal(dag.reach(flow), [1.0, 1.0, 0.75])


@pytest.mark.parametrize("depth", [1, 2, 50])
def test_depth_is_the_longest_path(depth):
    # The last decision point follows the first as well.
    parents = [[0], *[[2 * j - 1] for j in range(1, depth)], [1, 2 * depth]]
    assert DecisionDAG(parents, [2] * (depth + 1)).depth == depth + 1


# CFR over a DAG


@SEEDS
@pytest.mark.parametrize("name", ["rm", "rm+", "prm", "prm+"])
def test_cfr_plays_as_over_all_paths_with_one_strategy_for_each_point(seed, name):
    # There a point learns once for each path to it, which regret matching does not notice.
    generator = np.random.default_rng(seed)
    dag = random_dag(generator)
    tree, coordinates, points = unrolled(dag)
    player = rk.CFR(dag, MAKERS[name])
    on_paths = rk.CFR(tree, partial(SharedStrategy, local=MAKERS[name], groups=points))

    for utility, prediction in generator.normal(size=(20, 2, dag.dimension)):
        player.expect_utility(prediction)
        on_paths.expect_utility(prediction[coordinates])
        flow = np.bincount(coordinates, on_paths.next_strategy())
        np.testing.assert_allclose(player.next_strategy(), flow, atol=1e-9)
        player.observe_utility(utility)
        on_paths.observe_utility(utility[coordinates])


@SEEDS
@pytest.mark.parametrize("local", [rk.RegretMatching, rk.RegretMatchingPlus])
def test_the_regret_over_a_dag_keeps_its_bound(seed, local):
    generator = np.random.default_rng(seed)
    dag = random_dag(generator)
    player = rk.CFR(dag, local)
    ledger = RegretLedger(player, strict=True)
    adversaries = list(ADVERSARIES.values())

    for t in range(1, 40):
        adversary = adversaries[t % len(adversaries)]
        player.observe_utility(adversary(player.next_strategy(), t, generator))

    splits = np.split(dag.parent_sequences, np.cumsum(dag.parent_counts)[:-1])
    units = [np.isin(np.arange(dag.dimension), sequences) * 1.0 for sequences in splits]
    inflows = np.array([dag.best_response(unit)[0] for unit in units])
    (bound,) = [b for b in ledger.regret_bounds().values() if "inflow" in b.statement]
    positive = np.maximum(ledger.tracker(player.rule).blocks, 0.0)
    assert bound.regret <= bound.bound * (1 + 1e-12)
    assert bound.bound <= inflows @ positive * (1 + 1e-12)


def test_the_largest_inflow_is_needed_in_the_bound():
    # Two copies of the weight meet at the last decision point, whose regret counts twice.
    dag = DecisionDAG([[0], [0], [1, 2]], [1, 1, 2])
    player = rk.CFR(dag, rk.RegretMatching)
    ledger = RegretLedger(player)
    play(player, lambda x, t, g: np.array([0, 0, 0, 1.0, 0]), 1, None)

    (bound,) = [b for b in ledger.regret_bounds().values() if "inflow" in b.statement]
    assert bound.regret == bound.bound == 2 * ledger.tracker(player.rule).external == 1.0
