"""CFR is the circuit that it denotes, and the recursion of its paper; views of it; refusals."""

from functools import partial
from itertools import count

import naive
import numpy as np
import pytest
from attrs import define, field
from factories import (
    ADVERSARIES,
    LEAVES,
    MAKERS,
    PREDICTIVE,
    apart,
    labelled_tree,
    play,
    random_tree,
    same_play,
    train,
)

import regretkit as rk
from regretkit import circuits, games
from regretkit.minimizers import AdaHedge, ConicBlackwell
from regretkit.sets import Simplices

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
    separate = rk.CFR(tree, apart(MAKERS[name]))

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


# A minimizer for each decision point


@define(eq=False)
class ForOneSimplex(rk.SimplexRule):
    """A user's rule that sums over all that it plays."""

    total: np.ndarray = rk.state()

    def _propose(self):
        weights = np.exp(self.total - self.total.max())
        return weights / weights.sum()

    def _learn(self, utility, strategy):
        self.total += self.simplices.regret(utility, strategy)


@define(eq=False)
class AtRandom(rk.SimplexRule):
    """A user's rule that draws."""

    total: np.ndarray = rk.state()
    generator: np.random.Generator = field(factory=lambda: np.random.default_rng(5))

    def _propose(self):
        return self.simplices.softmax(self.total)

    def _learn(self, utility, strategy):
        self.total += utility * self.generator.random()


def hedge(actions):
    return rk.Hedge(actions, rate=0.3)


def hull(actions, members=(rk.RegretMatching, hedge), mixing=rk.RegretMatchingPlus):
    return rk.ConvexHull([make(actions) for make in members], mixing)


def nested(actions):
    members = [circuits.Restart(hull(actions), every=7), rk.SwapRegret(actions, hull)]
    return rk.ConvexHull(members, AdaHedge)


NUMBERS = count()


def scheduled(actions):
    return rk.Hedge(actions, rate=0.1 + next(NUMBERS) % 3)


AT_ONCE = {
    "leaf": rk.PredictiveRegretMatching,
    "hull": hull,
    "nested": nested,
    "swap": lambda n: rk.SwapRegret(n, rk.RegretMatching),
    "discount": lambda n: circuits.Discount(hull(n), weight=float),
    "exploration": lambda n: circuits.ExplorationMixture(hull(n), gamma=0.1),
    "last iterate": lambda n: circuits.LastIterateByAveraging(hull(n)),
}
ONE_EACH = {
    "for one simplex": ForOneSimplex,
    "in a hull": lambda n: hull(n, members=[ForOneSimplex, rk.RegretMatching]),
    "random": AtRandom,
    "a rate by the number of actions": lambda n: rk.Hedge(n, rate=0.1 * n),
    "a rate for two actions": lambda n: rk.Hedge(n, rate=0.5 if n == 2 else 0.1),
    "optimistic with two actions": lambda n: rk.RegretMatching(n, optimistic=n == 2),
    "another rate at each call": scheduled,
    "conic": lambda n: ConicBlackwell(Simplices(n)),
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", AT_ONCE)
def test_what_plays_by_block_plays_all_decision_points_at_once(name, seed):
    tree = random_tree(np.random.default_rng(seed), points=12)
    at_once = rk.CFR(tree, rk.PerDecisionPoint(AT_ONCE[name]))
    assert at_once.rule.domain == tree.simplices
    assert not isinstance(at_once.rule, rk.Product)
    each = rk.CFR(tree, apart(AT_ONCE[name]))
    same_play(at_once, each, seed, iterations=40, atol=1e-9, told="sometimes")


@pytest.mark.parametrize("name", ONE_EACH)
def test_what_may_not_is_one_object_for_each_decision_point(name):
    tree = random_tree(np.random.default_rng(0), points=12)
    player = rk.CFR(tree, rk.PerDecisionPoint(ONE_EACH[name]))
    assert len(player.rule.parts) == tree.points
    if name != "another rate at each call":
        same_play(player, rk.CFR(tree, apart(ONE_EACH[name])), iterations=40)


def test_leduc_poker_is_played_by_as_many_parts_as_one_decision():
    domains = rk.DecisionTree([0], [2]), *games.leduc_poker().domains
    rules = [rk.CFR(tree, rk.PerDecisionPoint(hull)).rule for tree in domains]
    assert [len(rule.members) for rule in rules] == [2, 2, 2]


def test_decision_points_of_one_rule_are_one_minimizer_wherever_they_are():
    tree = random_tree(np.random.default_rng(0), points=9)
    rules = {n: rk.RegretMatchingPlus for n in (0, 4, 7)}
    mixed = rk.CFR(tree, rk.ByDecisionPoint(rules, otherwise=rk.RegretMatching))
    each = rk.circuit(tree, rk.ByDecisionPoint(rules, otherwise=rk.RegretMatching))
    assert [type(part) for part in mixed.rule.parts] == [rk.RegretMatchingPlus, rk.RegretMatching]
    same_play(mixed, each, atol=1e-9)
    first = mixed.rule.parts[0]
    np.testing.assert_array_equal(mixed[4].state["regrets"], first.regrets[first.domain.block(1)])


def test_cfr_warns_of_rules_that_bound_the_sum_of_all_regrets_alone():
    tree = rk.DecisionTree([0, 2], [2, 3])
    for local in (ConicBlackwell, lambda s: circuits.Restart(ConicBlackwell(s), every=5)):
        with pytest.warns(RuntimeWarning, match="CFR has no regret bound here: "):
            player = rk.CFR(tree, local)
        assert "regret_grows_slowly" in player.exemptions()


@pytest.mark.filterwarnings("error")
def test_cfr_does_not_warn_of_rules_by_decision_point():
    rk.CFR(rk.DecisionTree([0, 2], [2, 3]), hull)
    rk.CFR(rk.DecisionTree([0, 2], [2, 3]), rk.PerDecisionPoint(ONE_EACH["conic"]))
    rk.CFR(rk.DecisionTree([0], [3]), ConicBlackwell)
    rk.CFR(rk.DecisionTree([], []), hull)


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
    with pytest.raises(TypeError, match="tree must be a Decision"):
        build(3, rk.RegretMatching)


def test_a_rule_that_knows_a_single_simplex_is_told_how_to_play_many():
    with pytest.raises(ValueError, match=r"one simplex goes in as PerDecisionPoint\(rule\)"):
        rk.CFR(rk.DecisionTree([0, 0], [2, 2]), lambda simplices: rk.RegretMatching(2))


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"a": rk.RegretMatching}, r"leave out decision points \['b', 'b'\]; pass otherwise"),
        ({"z": rk.RegretMatching}, "no decision point 'z'; the labels are 'a', 'b', 'b'"),
        ({"b": rk.RegretMatching}, r"'b' is ambiguous: decision points \[1, 2\]"),
        ({"a": rk.RegretMatching, 0: rk.Hedge}, "name a decision point twice"),
    ],
)
def test_rules_that_do_not_say_who_plays_where_are_refused(rules, message):
    tree = rk.DecisionTree([0, 0, 0], [2, 3, 2], labels=["a", "b", "b"])

    with pytest.raises(ValueError, match=message):
        rk.CFR(tree, rk.ByDecisionPoint(rules))
