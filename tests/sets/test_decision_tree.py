"""The sequence form of a tree, against recursion and against trying every strategy."""

import naive
import numpy as np
import pytest
from factories import random_behavior, random_tree
from refusals import refusals

from regretkit import DecisionTree, Simplices

SEEDS = pytest.mark.parametrize("seed", range(12))


@pytest.fixture(params=range(12))
def case(request):
    """Return a random tree, a behavioral strategy, a utility, and their generator."""
    generator = np.random.default_rng(request.param)
    tree = random_tree(generator)
    behavior = random_behavior(generator, tree.simplices)
    return tree, behavior, generator.normal(size=tree.dimension), generator


def by_point(tree, vector):
    return [vector[tree.simplices.block(j)].tolist() for j in range(tree.points)]


def roots_of(tree):
    return naive.nested(tree.parent_sequence.tolist(), tree.sizes.tolist())


def shuffled(tree, generator):
    """Return the same tree with its points in another order that keeps parents before children.

    Also returns, for each new coordinate, the old one.
    """
    owner = np.append(-1, np.repeat(np.arange(tree.points), tree.sizes))
    order, waiting = [], list(range(tree.points))
    while waiting:
        ready = [j for j in waiting if owner[tree.parent_sequence[j]] in {-1, *order}]
        order.append(int(generator.choice(ready)))
        waiting.remove(order[-1])
    old = np.append(0, 1 + tree.simplices.coordinates(order))
    new = np.argsort(old)
    return DecisionTree(new[tree.parent_sequence[order]], tree.sizes[order]), old


# Down the tree, and up


def test_the_sequence_form_multiplies_probabilities_along_the_path(case):
    tree, behavior, _, _ = case
    strategy = tree.sequence_form(behavior)
    expected = naive.sequence_form(roots_of(tree), tree.sizes.tolist(), by_point(tree, behavior))
    np.testing.assert_allclose(strategy, expected, rtol=1e-14)
    assert tree.contains(strategy)


def test_behavior_undoes_the_sequence_form_where_play_comes_and_is_uniform_elsewhere(case):
    tree, behavior, _, _ = case
    strategy = tree.sequence_form(behavior)

    recovered = tree.behavior(strategy)

    comes = tree.simplices.repeat(tree.reach(strategy)) > 0.0
    expected = np.where(comes, behavior, tree.simplices.uniform())
    np.testing.assert_allclose(recovered, expected, rtol=1e-12)
    np.testing.assert_allclose(tree.sequence_form(recovered), strategy, rtol=1e-12)


def test_counterfactual_utilities_are_those_of_the_recursion(case):
    tree, behavior, utility, _ = case
    previous = utility.copy()

    value, worths = tree.counterfactual(utility, behavior)

    expected, by_points = naive.counterfactual(
        roots_of(tree), tree.sizes.tolist(), by_point(tree, behavior), utility.tolist()
    )
    assert value == pytest.approx(expected, abs=1e-12)
    np.testing.assert_allclose(worths, np.concatenate(by_points), atol=1e-12)
    np.testing.assert_array_equal(utility, previous)


def test_the_value_of_a_strategy_is_its_inner_product_with_the_utility(case):
    tree, behavior, utility, _ = case
    strategy = tree.sequence_form(behavior)
    assert tree.counterfactual(utility, behavior)[0] == pytest.approx(utility @ strategy, abs=1e-12)
    assert tree.value(utility, strategy) == pytest.approx(utility @ strategy, abs=1e-12)


@SEEDS
def test_counterfactual_utilities_are_the_gradient_of_the_value_over_reach(seed):
    # Moving b at one action by h changes the value by h q[a] times the reach of its point.
    generator = np.random.default_rng(seed)
    tree = random_tree(generator, points=6)
    behavior = random_behavior(generator, tree.simplices)
    utility = generator.normal(size=tree.dimension)
    reach = tree.simplices.repeat(tree.reach(tree.sequence_form(behavior)))

    _, worths = tree.counterfactual(utility, behavior)

    for action, step in enumerate(np.eye(tree.simplices.dimension)):
        # The value is linear in one action's probability, so that any step will do.
        moved = utility @ tree.sequence_form(behavior + step)
        change = moved - utility @ tree.sequence_form(behavior)
        assert change == pytest.approx(worths[action] * reach[action], abs=1e-12)


def test_the_order_in_which_points_are_listed_does_not_matter(case):
    tree, behavior, utility, generator = case
    second, old = shuffled(tree, generator)
    moved = behavior[old[1:] - 1]

    value, worths = tree.counterfactual(utility, behavior)
    other_value, other_worths = second.counterfactual(utility[old], moved)

    assert other_value == pytest.approx(value, abs=1e-12)
    np.testing.assert_allclose(other_worths, worths[old[1:] - 1], atol=1e-12)
    strategy = tree.sequence_form(behavior)
    np.testing.assert_array_equal(second.sequence_form(moved), strategy[old])
    assert second.best_response(utility[old])[0] == pytest.approx(tree.best_response(utility)[0])
    assert second.depth == tree.depth


def test_levels_hold_the_points_by_the_number_of_decisions_before_them(case):
    tree, behavior, _, _ = case
    owner, depth = tree.point_of_sequence, []
    assert owner.tolist() == [-1, *(j for j in range(tree.points) for _ in range(tree.sizes[j]))]
    for parent in tree.parent_sequence:
        depth.append(1 + depth[owner[parent]] if parent else 0)
    strategy = tree.sequence_form(behavior)
    assert len(tree.levels) == tree.depth == 1 + max(depth)
    for number, level in enumerate(tree.levels):
        sequences = np.arange(tree.dimension)[level.sequences]
        points = [j for j in range(tree.points) if depth[j] == number]
        assert sequences.tolist() == [s for s in range(tree.dimension) if owner[s] in points]
        assert (np.arange(tree.dimension - 1)[level.actions] == sequences - 1).all()
        np.testing.assert_array_equal(level.simplices.sizes, tree.sizes[points])
        np.testing.assert_array_equal(level.sources, tree.parent_sequence[owner[sequences]])
        np.testing.assert_array_equal(level.inflow(strategy), strategy[level.sources])
        sums, added = np.zeros(tree.dimension), np.arange(1.0, len(points) + 1.0)
        level.add_to_parents(sums, added)
        expected = np.bincount(tree.parent_sequence[points], added, tree.dimension)
        np.testing.assert_array_equal(sums, expected)


# As a set


@SEEDS
def test_the_best_response_beats_every_pure_strategy_and_is_one(seed):
    generator = np.random.default_rng(seed)
    tree = random_tree(generator, points=int(generator.integers(1, 6)))
    utility = generator.normal(size=tree.dimension)
    pure = np.array(list(naive.pure_strategies(tree.parent_sequence, tree.sizes.tolist())))

    value, response = tree.best_response(utility)

    assert value == pytest.approx((pure @ utility).max(), abs=1e-12)
    assert utility @ response == pytest.approx(value, abs=1e-12)
    assert (pure == response).all(axis=1).any()
    for strategy in pure:
        expected = value - utility @ strategy
        assert tree.gain(utility, strategy) == pytest.approx(expected, abs=1e-12)


def test_of_equal_best_responses_the_first_action_is_played():
    tree = DecisionTree([0, 1, 2], [2, 3, 2])
    _, response = tree.best_response(np.zeros(8))
    np.testing.assert_array_equal(response, [1, 1, 0, 1, 0, 0, 0, 0])


def test_a_point_is_inside_exactly_when_its_flow_is_conserved(case):
    tree, behavior, _, _ = case
    strategy = tree.sequence_form(behavior)

    assert tree.contains(strategy)
    assert tree.contains(tree.relative_interior_point())
    assert (tree.relative_interior_point() > 0.0).all()
    for coordinate in range(tree.dimension):
        for change in (1e-3, -1e-3):
            exterior = strategy.copy()
            exterior[coordinate] += change
            assert not tree.contains(exterior)
            assert tree.contains(exterior, atol=1e-2)


def test_a_negative_probability_is_outside_even_when_flow_is_conserved():
    assert not DecisionTree([0], [2]).contains([1.0, 1.1, -0.1])


def test_a_tree_without_decisions_has_one_strategy():
    tree = DecisionTree([], [])
    assert (tree.points, tree.dimension, tree.depth) == (0, 1, 0)
    value, response = tree.best_response([7.0])
    assert value == 7.0
    np.testing.assert_array_equal(response, [1.0])
    assert tree.contains([1.0])
    assert not tree.contains([0.9])


@pytest.mark.parametrize(("parents", "depth"), [([0, 0, 0], 1), ([0, 1, 3, 5], 4), ([0, 0, 3], 2)])
def test_depth_is_the_largest_number_of_decisions_on_a_path(parents, depth):
    assert DecisionTree(parents, [2] * len(parents)).depth == depth


def test_trees_are_equal_when_their_shapes_are():
    tree = DecisionTree([0, 2], [2, 3], labels=["a", "b"])
    assert tree == DecisionTree((0, 2), np.array([2, 3]))
    assert hash(tree) == hash(DecisionTree([0, 2], [2, 3]))
    assert tree != DecisionTree([0, 1], [2, 3])
    assert tree != DecisionTree([0, 2], [2, 2])
    assert tree != Simplices([2, 3])


def test_a_tree_does_not_change_when_the_arrays_it_was_built_from_do():
    parents, sizes = np.array([0, 2]), np.array([2, 3])
    tree = DecisionTree(parents, sizes)
    parents[:], sizes[:] = 0, 1
    assert tree == DecisionTree([0, 2], [2, 3])
    for array in (tree.parent_sequence, tree.sizes, tree.simplices.first):
        assert not array.flags.writeable


def test_utilities_of_the_largest_size_that_is_accepted_add_up():
    value, response = DecisionTree([0, 1], [1, 2]).best_response([0.0, 1e300, 1e300, 0.0])
    assert value == 2e300
    np.testing.assert_array_equal(response, [1, 1, 1, 0])


# Refusals


test_an_invalid_tree_is_refused = refusals(
    ([0, 3], [2, 2], ValueError, "decision point 1 has the parent sequence 3, .* from 0 to 2"),
    ([1], [2], ValueError, "list parents first"),
    ([3, 0], [2, 2], ValueError, "decision point 0 has"),
    ([0, -1], [2, 2], ValueError, "parent sequence -1"),
    ([0, 1, 2], [2, 2], ValueError, "sizes has 2 decision points"),
    ([0, 1], [2, 0], ValueError, "at least 1"),
    ([0.0, 1.0], [2, 2], TypeError, "parent_sequence must be whole numbers"),
    call=DecisionTree,
)


test_a_vector_of_another_shape_is_refused = refusals(
    (lambda tree: tree.best_response([1.0, 2.0]), r"utility must have shape .* got \(2,\)"),
    (
        lambda tree: tree.counterfactual(np.zeros(2), np.zeros(2)),
        r"utility must have shape .* got \(2,\)",
    ),
    (
        lambda tree: tree.counterfactual(np.zeros(3), np.zeros(3)),
        r"behavior must have shape .* got \(3,\)",
    ),
    (lambda tree: tree.sequence_form(np.zeros(3)), r"behavior must have shape .* got \(3,\)"),
    (lambda tree: tree.best_response([1.0, 2.0, np.nan]), "nan at coordinate 2"),
    call=lambda use: use(DecisionTree([0], [2])),
    error=ValueError,
)
