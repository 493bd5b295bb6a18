"""Flows through a DAG, against the tree of all its paths and against a DAG that is a tree."""

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
from refusals import refusals

import regretkit as rk
from regretkit.circuits import SharedStrategies
from regretkit.evaluation import RegretLedger
from regretkit.sets import DecisionDAG

SEEDS = pytest.mark.parametrize("seed", range(12))


def as_dag(tree):
    return DecisionDAG([[p] for p in tree.parent_sequence], tree.sizes)


def largest_inflows(dag):
    """Return the largest inflow of each decision point."""
    splits = np.split(dag.parent_sequences, np.cumsum(dag.parent_counts)[:-1])
    units = [np.isin(np.arange(dag.dimension), sequences) * 1.0 for sequences in splits]
    return np.array([dag.best_response(unit)[0] for unit in units])


@pytest.fixture(params=range(12))
def case(request):
    """Return a DAG, the tree of its paths, the DAG's coordinates in the tree, and a generator."""
    generator = np.random.default_rng(request.param)
    dag = random_dag(generator)
    tree, coordinates, _ = unrolled(dag)
    return dag, tree, coordinates, generator


# A DAG is the tree of its paths, with equal behavior wherever a decision point is reached


def test_a_flow_is_the_sum_over_all_paths(case):
    dag, tree, coordinates, generator = case
    behavior = random_behavior(generator, dag.simplices)
    flow = dag.sequence_form(behavior)
    paths = tree.sequence_form(behavior[coordinates[1:] - 1])
    np.testing.assert_allclose(flow, np.bincount(coordinates, paths), rtol=1e-13)
    assert dag.contains(flow)


def test_any_strategy_on_the_paths_makes_a_flow(case):
    dag, tree, coordinates, generator = case
    paths = tree.sequence_form(random_behavior(generator, tree.simplices))
    flow = np.bincount(coordinates, paths)
    assert dag.contains(flow)
    np.testing.assert_allclose(dag.sequence_form(dag.behavior(flow)), flow, rtol=1e-12)


def test_values_counterfactual_utilities_and_best_responses_are_those_of_the_paths(case):
    dag, tree, coordinates, generator = case
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
    assert dag.contains(response)


def test_a_point_is_inside_exactly_when_its_flow_is_conserved(case):
    dag, _, _, _ = case
    flow = dag.relative_interior_point()
    assert dag.contains(flow)
    assert (flow > 0.0).all()
    for unit in 1e-3 * np.eye(dag.dimension):
        assert not dag.contains(flow + unit)
        assert dag.contains(flow + unit, atol=1e-2)


def test_a_sequence_gives_all_its_weight_to_each_point_that_it_leads_to():
    dag = DecisionDAG([[0], [0], [1, 3]], [2, 2, 1])
    flow = dag.sequence_form(np.array([0.25, 0.75, 0.5, 0.5, 1.0]))
    np.testing.assert_array_equal(flow, [1.0, 0.25, 0.75, 0.5, 0.5, 0.75])
    np.testing.assert_array_equal(dag.reach(flow), [1.0, 1.0, 0.75])
    np.testing.assert_array_equal(largest_inflows(dag), [1.0, 1.0, 2.0])
    assert dag.depth == 2


@pytest.mark.parametrize("depth", [1, 2, 50])
def test_depth_is_the_longest_path(depth):
    # The last decision point follows the first as well.
    parents = [[0], *[[2 * j - 1] for j in range(1, depth)], [1, 2 * depth]]
    assert DecisionDAG(parents, [2] * (depth + 1)).depth == depth + 1


@SEEDS
def test_with_one_parent_for_each_point_it_is_a_tree_to_the_bit(seed):
    generator = np.random.default_rng(seed)
    tree = random_tree(generator)
    dag, behavior = as_dag(tree), random_behavior(generator, tree.simplices)
    utility = generator.normal(size=tree.dimension)

    assert (dag.depth, dag.dimension, dag.points) == (tree.depth, tree.dimension, tree.points)
    assert dag != tree
    flow = tree.sequence_form(behavior)
    np.testing.assert_array_equal(dag.sequence_form(behavior), flow)
    np.testing.assert_array_equal(dag.reach(flow), tree.reach(flow))
    for mine, its in zip(
        (*dag.counterfactual(utility, behavior), *dag.best_response(utility)),
        (*tree.counterfactual(utility, behavior), *tree.best_response(utility)),
        strict=True,
    ):
        np.testing.assert_array_equal(mine, its)


def test_a_dag_without_decisions_has_one_strategy():
    dag = DecisionDAG([], [])
    assert (dag.points, dag.dimension, dag.depth) == (0, 1, 0)
    assert dag.best_response([7.0])[0] == 7.0
    assert dag.contains([1.0])
    np.testing.assert_array_equal(dag.relative_interior_point(), [1.0])


def test_dags_are_equal_when_their_shapes_are():
    dag = DecisionDAG([[0], [1, 2]], [2, 3], labels=["a", "b"])
    assert dag == DecisionDAG((0, np.array([1, 2])), np.array([2, 3]))
    assert dag == DecisionDAG([0, 1, 2], [2, 3], parent_counts=[1, 2])
    assert hash(dag) == hash(DecisionDAG([[0], [1, 2]], [2, 3]))
    assert dag != DecisionDAG([[0], [2]], [2, 3])
    # The same parents in a row, cut elsewhere
    assert DecisionDAG([[0], [0, 1], [2]], [1] * 3) != DecisionDAG([[0], [0], [1, 2]], [1] * 3)


test_an_invalid_dag_is_refused = refusals(
    ([[0], [3]], [2, 2], ValueError, "decision point 1 has the parent sequence 3, .* from 0 to 2"),
    ([[0], [-1]], [2, 2], ValueError, "parent sequence -1"),
    ([[0], []], [2, 2], ValueError, "decision point 1 has no parent"),
    ([[0], [1, 2, 1]], [2, 2], ValueError, r"parents\[1\] has 1 twice"),
    ([[0]], [2, 2], ValueError, "sizes has 2 decision points"),
    ([[0], [0.0]], [2, 2], TypeError, r"parents\[1\] must be whole numbers"),
    (3, [2], TypeError, "not iterable"),
    call=DecisionDAG,
)


test_counts_that_do_not_fit_are_refused = refusals(
    ([2, 2], "add up to 3"),
    ([4, -1], "decision point 1 has no parent"),
    ([3, 0], "decision point 1 has no parent"),
    ([1, 1, 1], "sizes has 2 decision points"),
    call=lambda counts: DecisionDAG([0, 0, 1], [2, 2], parent_counts=counts),
    error=ValueError,
)


# CFR over a DAG


@SEEDS
@pytest.mark.parametrize("name", ["rm", "rm+", "prm", "prm+"])
def test_cfr_plays_as_over_all_paths_with_one_strategy_for_each_point(seed, name):
    # There a point learns once for each path to it, which regret matching does not notice.
    generator = np.random.default_rng(seed)
    dag = random_dag(generator)
    tree, coordinates, points = unrolled(dag)
    player = rk.CFR(dag, MAKERS[name])
    on_paths = rk.CFR(tree, SharedStrategies(MAKERS[name], points))

    for utility, prediction in generator.normal(size=(20, 2, dag.dimension)):
        player.expect_utility(prediction)
        on_paths.expect_utility(prediction[coordinates])
        flow = np.bincount(coordinates, on_paths.next_strategy())
        np.testing.assert_allclose(player.next_strategy(), flow, atol=1e-9)
        player.observe_utility(utility)
        on_paths.observe_utility(utility[coordinates])


@SEEDS
def test_the_regret_against_a_flow_is_the_sum_of_local_regrets_times_inflow(seed):
    generator = np.random.default_rng(seed)
    dag = random_dag(generator)
    player = rk.CFR(dag, rk.RegretMatching)
    behavior = random_behavior(generator, dag.simplices)
    flow, regret, local = dag.sequence_form(behavior), 0.0, np.zeros(dag.points)

    for utility in generator.normal(size=(20, dag.dimension)):
        _, worths = dag.counterfactual(utility, player.rule.next_strategy())
        local += dag.simplices.dot(worths, behavior - player.rule.next_strategy())
        regret += utility @ (flow - player.next_strategy())
        player.observe_utility(utility)

    assert regret == pytest.approx(dag.reach(flow) @ local, abs=1e-10)


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

    (bound,) = [b for b in ledger.regret_bounds().values() if "inflow" in b.statement]
    positive = np.maximum(ledger.tracker(player.rule).blocks, 0.0)
    assert bound.regret <= bound.bound * (1 + 1e-12)
    assert bound.bound <= largest_inflows(dag) @ positive * (1 + 1e-12)


def test_the_largest_inflow_is_needed_in_the_bound():
    # Two copies of the weight meet at the last decision point, whose regret counts twice.
    dag = DecisionDAG([[0], [0], [1, 2]], [1, 1, 2])
    player = rk.CFR(dag, rk.RegretMatching)
    ledger = RegretLedger(player)
    play(player, lambda x, t, g: np.array([0, 0, 0, 1.0, 0]), 1, None)

    (bound,) = [b for b in ledger.regret_bounds().values() if "inflow" in b.statement]
    assert bound.regret == bound.bound == 2 * ledger.tracker(player.rule).external == 1.0
