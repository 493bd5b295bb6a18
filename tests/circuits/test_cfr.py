"""CFR is the circuit that it denotes, and the recursion of its paper; views of it; refusals."""

from functools import partial

import naive
import numpy as np
import pytest
from factories import (
    ADVERSARIES,
    LEAVES,
    MAKERS,
    PREDICTIVE,
    labelled_tree,
    play,
    random_tree,
    same_play,
    train,
)

import regretkit as rk

SEEDS = pytest.mark.parametrize("seed", range(6))
each_leaf = pytest.mark.parametrize("name", LEAVES)


def naive_cfr(tree, make):
    return naive.CFR(tree.parent_sequence.tolist(), tree.sizes.tolist(), make)


# Equal to the circuit


@pytest.mark.deep_beyond(4)
@SEEDS
@each_leaf
def test_cfr_plays_like_the_circuit_it_denotes(seed, name):
    generator = np.random.default_rng(seed)
    tree = labelled_tree(generator)
    direct, composed = rk.CFR(tree, MAKERS[name]), rk.circuit(tree, MAKERS[name])
    same_play(direct, composed, seed, iterations=25, atol=1e-10)


@pytest.mark.deep_beyond(4)
@SEEDS
@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize("name", PREDICTIVE)
def test_predictions_climb_the_tree_as_they_climb_the_circuit(seed, swap, name):
    generator = np.random.default_rng(seed)
    tree = labelled_tree(generator)
    local = partial(rk.SwapRegret, expert=PREDICTIVE[name]) if swap else PREDICTIVE[name]
    direct, composed = rk.CFR(tree, local), rk.circuit(tree, local)
    moved = (tree.sizes == 1).all()  # where there is nothing to decide, nothing moves

    for utility, prediction in generator.normal(size=(15, 2, tree.dimension)):
        direct.observe_utility(utility)
        composed.observe_utility(utility)
        previous = direct.next_strategy()
        direct.expect_utility(prediction)
        composed.expect_utility(prediction)
        np.testing.assert_allclose(direct.next_strategy(), composed.next_strategy(), atol=1e-10)
        moved |= (previous != direct.next_strategy()).any()
    assert moved


@pytest.mark.deep_beyond(5)
@each_leaf
def test_a_minimizer_for_each_point_plays_bitwise_as_one_leaf_for_all(name):
    tree = random_tree(np.random.default_rng(1), points=20)
    separate = rk.CFR(tree, rk.PerDecisionPoint(MAKERS[name], merge=False))

    same_play(rk.CFR(tree, MAKERS[name]), separate)


@each_leaf
def test_one_decision_is_played_bitwise_as_by_the_leaf(name):
    tree, leaf = rk.CFR(rk.DecisionTree([0], [5]), MAKERS[name]), MAKERS[name](5)

    for utility in np.random.default_rng(2).normal(size=(40, 6)):
        np.testing.assert_array_equal(tree.next_strategy()[1:], leaf.next_strategy())
        tree.observe_utility(utility)
        leaf.observe_utility(utility[1:])


# Equal to the recursion


@pytest.mark.deep_beyond(26)
@SEEDS
@each_leaf
def test_cfr_is_the_recursion_of_its_paper(seed, name):
    generator = np.random.default_rng(seed)
    tree = random_tree(generator)
    make, naive_make = LEAVES[name]
    player, recursion = rk.CFR(tree, make), naive_cfr(tree, naive_make)

    for utility in generator.normal(size=(25, tree.dimension)):
        np.testing.assert_allclose(player.next_strategy(), recursion.play(), atol=1e-10)
        player.observe_utility(utility)
        recursion.learn(utility.tolist())


@pytest.mark.deep_beyond(7)
@SEEDS
@pytest.mark.parametrize("adversary", ADVERSARIES)
@pytest.mark.parametrize("local", [rk.RegretMatching, rk.RegretMatchingPlus])
def test_the_regret_is_at_most_the_sum_of_the_local_positive_regrets(seed, adversary, local):
    generator = np.random.default_rng(seed)
    tree = random_tree(generator)
    player, recursion = rk.CFR(tree, local), naive_cfr(tree, naive.RegretMatching)
    histories = [[] for _ in range(tree.points)]
    earned, total = 0.0, np.zeros(tree.dimension)

    for t in range(1, 101):
        strategy = player.next_strategy()
        utility = ADVERSARIES[adversary](strategy, t, generator)
        behavior = np.split(player.rule.next_strategy(), tree.simplices.first[1:])
        sizes = tree.sizes.tolist()
        _, worths = naive.counterfactual(recursion.roots, sizes, behavior, utility.tolist())
        for history, played, worth in zip(histories, behavior, worths, strict=True):
            history.append((played.tolist(), worth))
        earned, total = earned + strategy @ utility, total + utility
        player.observe_utility(utility)

    local_regrets = [naive.external_regret(history) for history in histories]
    regret = tree.best_response(total)[0] - earned
    assert regret <= sum(max(r, 0.0) for r in local_regrets) + 1e-9


@SEEDS
def test_where_the_tree_is_flat_the_regret_is_the_sum_of_the_local_regrets(seed):
    # Points that all come first are a product: equality, and not only a bound.
    generator = np.random.default_rng(seed)
    tree = rk.DecisionTree([0, 0, 0], [2, 3, 4])
    player = rk.CFR(tree, rk.RegretMatching)
    strategies, utilities = play(player, ADVERSARIES["drifting"], 100, generator)

    regret = tree.best_response(utilities.sum(axis=0))[0] - (strategies * utilities).sum()

    local = [player[j].state["regrets"].max() for j in range(3)]
    assert regret == pytest.approx(sum(local), rel=1e-9)


def test_equal_utilities_leave_the_strategy_unchanged():
    # One unit wherever play ends: every action of every point has the same value.
    tree = rk.DecisionTree([0, 1, 1, 3], [2, 2, 3, 2])
    utility = np.zeros(tree.dimension)
    utility[2] = 2.0
    utility[[4, 5, 6, 7, 8, 9]] = 1.0
    player = rk.CFR(tree, rk.RegretMatching)

    for scale in (0.1, 1e90, 1e-200):
        player.observe_utility(scale * utility)

    np.testing.assert_array_equal(player.next_strategy(), tree.relative_interior_point())


# Different rules at different points


@SEEDS
def test_different_rules_at_different_points_play_as_in_the_circuit_and_the_recursion(seed):
    generator = np.random.default_rng(seed)
    tree = labelled_tree(generator, points=7)
    names = generator.choice(list(LEAVES), size=tree.points).tolist()
    rules = {f"point {j}": MAKERS[name] for j, name in enumerate(names) if j != 3}
    local = rk.ByDecisionPoint(rules, otherwise=MAKERS[names[3]])
    player, composed = rk.CFR(tree, local), rk.circuit(tree, local)
    naive_rules = iter(names)
    recursion = naive_cfr(tree, lambda size: LEAVES[next(naive_rules)][1](size))

    for utility in generator.normal(size=(25, tree.dimension)):
        np.testing.assert_allclose(player.next_strategy(), composed.next_strategy(), atol=1e-10)
        np.testing.assert_allclose(player.next_strategy(), recursion.play(), atol=1e-10)
        player.observe_utility(utility)
        composed.observe_utility(utility)
        recursion.learn(utility.tolist())


# Views of single decision points


@SEEDS
@pytest.mark.parametrize("local", [rk.RegretMatching, rk.PerDecisionPoint(rk.RegretMatching)])
def test_a_view_shows_what_happens_at_one_decision_point(seed, local):
    generator = np.random.default_rng(seed)
    tree = labelled_tree(generator)
    player = train(rk.CFR(tree, local), generator)
    parents, sizes = tree.parent_sequence.tolist(), tree.sizes.tolist()
    recursion = naive.CFR(parents, sizes, naive.RegretMatching)
    for rule, j in zip(recursion.rules, range(tree.points), strict=True):
        rule.R = player[j].state["regrets"].tolist()

    utility = generator.normal(size=tree.dimension)
    worths = recursion.learn(utility.tolist())
    player.observe_utility(utility)

    for j in range(tree.points):
        view = player[f"point {j}"]
        assert view.label == f"point {j}"
        assert view.actions == tuple(str(a) for a in range(tree.sizes[j]))
        np.testing.assert_allclose(view.utilities, worths[j], atol=1e-12)
        np.testing.assert_allclose(view.strategy, recursion.rules[j].play(), atol=1e-10)
        np.testing.assert_allclose(view.state["regrets"], recursion.rules[j].R, atol=1e-12)
        behavior = tree.behavior(player.next_strategy())[tree.simplices.block(j)]
        reached = tree.reach(player.next_strategy())[j] > 0.0
        np.testing.assert_allclose(behavior, view.strategy if reached else 1 / tree.sizes[j])


def test_a_view_can_be_looked_at_only():
    player = train(rk.CFR(rk.DecisionTree([0], [3]), rk.RegretMatching), np.random.default_rng(3))
    previous = player.next_strategy()

    view = player[0]
    assert not view.strategy.flags.writeable
    assert not view.utilities.flags.writeable
    view.state["regrets"][:] = 7.0
    with pytest.raises(AttributeError):
        view.strategy = np.ones(3)

    np.testing.assert_array_equal(player.next_strategy(), previous)
    assert 7.0 not in player.rule.regrets


def test_a_view_knows_no_utilities_before_the_first_and_after_a_restore():
    player = rk.CFR(rk.DecisionTree([0], [2]), rk.RegretMatching)
    assert player[0].utilities is None

    player.observe_utility([0.0, 1.0, 2.0])
    np.testing.assert_array_equal(player[0].utilities, [1.0, 2.0])

    player.load_state_dict(player.state_dict())
    assert player[0].utilities is None


@pytest.mark.parametrize(
    ("label", "message"),
    [("b", r"ambiguous: decision points \[1, 2\]"), ("z", "the labels are 'a'"), (3, "0 to 2")],
)
def test_a_view_of_no_single_point_is_refused(label, message):
    tree = rk.DecisionTree([0, 0, 0], [2, 3, 2], labels=["a", "b", "b"])

    with pytest.raises(ValueError, match=message):
        rk.CFR(tree, rk.RegretMatching)[label]


# Refusals


@pytest.mark.parametrize(
    ("local", "error", "message"),
    [
        (
            rk.RegretMatching([2, 2]),
            TypeError,
            "local must be a rule's class, or a",
        ),
        (rk.PerDecisionPoint(lambda size: rk.RegretMatching(3)), ValueError, r"on Simplices\(2\)"),
        (rk.PerDecisionPoint(lambda size: None), TypeError, "what make returned must be"),
        (lambda simplices: rk.RegretMatching, TypeError, "must be a RegretMinimizer"),
        (None, TypeError, "local must be a rule's class, or a function of simplices, got None"),
    ],
)
@pytest.mark.parametrize("build", [rk.CFR, rk.circuit])
def test_what_makes_no_local_minimizers_is_refused(build, local, error, message):
    with pytest.raises(error, match=message):
        build(rk.DecisionTree([0, 0], [2, 2]), local)
    with pytest.raises(TypeError, match="tree must be a DecisionTree"):
        build(3, rk.RegretMatching)


def test_a_rule_that_knows_a_single_simplex_is_told_how_to_play_many():
    with pytest.raises(ValueError, match=r"one simplex goes in as PerDecisionPoint\(rule\)"):
        rk.CFR(rk.DecisionTree([0, 0], [2, 2]), lambda simplices: rk.RegretMatching(2))


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"a": rk.RegretMatching}, "leave out decision point 'b' and 1 more"),
        ({"z": rk.RegretMatching}, "no decision point 'z'; the labels are 'a', 'b', 'b'"),
        ({"b": rk.RegretMatching}, r"'b' is ambiguous: decision points \[1, 2\]"),
        ({"a": rk.RegretMatching, 0: rk.Hedge}, "decision point 0 twice, the second time as 0"),
    ],
)
def test_rules_that_do_not_say_who_plays_where_are_refused(rules, message):
    tree = rk.DecisionTree([0, 0, 0], [2, 3, 2], labels=["a", "b", "b"])

    with pytest.raises(ValueError, match=message):
        rk.CFR(tree, rk.ByDecisionPoint(rules))
