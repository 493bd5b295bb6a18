"""What one sees of CFR at a single decision point, and what it refuses."""

import naive
import numpy as np
import pytest
from factories import labelled_tree, train

import regretkit as rk

SEEDS = pytest.mark.parametrize("seed", range(6))


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
    before = player.next_strategy()

    view = player[0]
    assert not view.strategy.flags.writeable
    assert not view.utilities.flags.writeable
    view.state["regrets"][:] = 7.0
    with pytest.raises(AttributeError):
        view.strategy = np.ones(3)

    np.testing.assert_array_equal(player.next_strategy(), before)
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


def only_one_simplex(simplices):
    return rk.RegretMatching(2)


@pytest.mark.parametrize(
    ("local", "error", "message"),
    [
        (rk.RegretMatching([2, 2]), TypeError, "local must make a minimizer, .* pass its class"),
        (only_one_simplex, ValueError, r"rule for one simplex goes in as PerDecisionPoint\(rule\)"),
        (
            rk.PerDecisionPoint(lambda size: rk.RegretMatching(3)),
            ValueError,
            r"return one on Simplices\(2\)",
        ),
        (rk.PerDecisionPoint(lambda size: None), TypeError, "what make returned must be"),
        (lambda simplices: rk.RegretMatching, TypeError, "got the class RegretMatching"),
        (None, TypeError, "local must be a function of simplices or a leaf's class, got None"),
    ],
)
@pytest.mark.parametrize("build", [rk.CFR, rk.circuit])
def test_what_makes_no_local_minimizers_is_refused(build, local, error, message):
    if build is rk.circuit and local is only_one_simplex:
        return  # it is asked for one simplex at a time
    with pytest.raises(error, match=message):
        build(rk.DecisionTree([0, 0], [2, 2]), local)


def test_what_is_no_tree_is_refused():
    with pytest.raises(TypeError, match="tree must be a DecisionTree"):
        rk.CFR(3, rk.RegretMatching)


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
