"""CFR equals its circuit and the recursion of its paper; views of it; local rules."""

from itertools import count

import naive
import numpy as np
import pytest
from attrs import define
from factories import LEAVES, MAKERS, apart, labelled_tree, random_tree, same_play, train

import regretkit as rk
from regretkit import circuits
from regretkit.minimizers import AdaHedge, ConicBlackwell
from regretkit.sets import Simplices

SEEDS = pytest.mark.parametrize("seed", range(6))


def recursion_of(tree, make):
    return naive.CFR(tree.parent_sequence.tolist(), tree.sizes.tolist(), make)


@pytest.mark.deep_beyond(26)
@SEEDS
@pytest.mark.parametrize("name", [*LEAVES, "several"])
def test_cfr_is_its_circuit_and_the_recursion_of_its_paper(seed, name):
    generator = np.random.default_rng(seed)
    tree = labelled_tree(generator, points=7)
    names = generator.choice([*LEAVES], size=tree.points) if name == "several" else [name] * 7
    rules = {f"point {j}": MAKERS[name] for j, name in enumerate(names) if j != 3}
    local = rk.ByDecisionPoint(rules, otherwise=MAKERS[names[3]])
    naive_rules = iter(names)
    recursion = recursion_of(tree, lambda size: LEAVES[next(naive_rules)][1](size))
    player, composed = rk.CFR(tree, local), rk.circuit(tree, local)

    for utility in generator.normal(size=(25, tree.dimension)):
        np.testing.assert_allclose(player.next_strategy(), composed.next_strategy(), atol=1e-10)
        np.testing.assert_allclose(player.next_strategy(), recursion.play(), atol=1e-10)
        player.observe_utility(utility)
        composed.observe_utility(utility)
        recursion.learn(utility.tolist())


@SEEDS
@pytest.mark.parametrize("name", ["prm", "prm+"])
def test_cfr_plays_as_its_circuit_with_predictions(seed, name):
    tree, make = random_tree(np.random.default_rng(seed), points=7), MAKERS[name]
    cfr, circuit = rk.CFR(tree, make), rk.circuit(tree, make)
    same_play(cfr, circuit, iterations=20, atol=1e-9, told="sometimes")


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


# Views of single decision points


SEVERAL = rk.ByDecisionPoint({0: rk.RegretMatching}, otherwise=lambda s: rk.RegretMatching(s))


@SEEDS
@pytest.mark.parametrize("local", [rk.RegretMatching, SEVERAL])
def test_a_view_shows_what_happens_at_one_decision_point(seed, local):
    generator = np.random.default_rng(seed)
    tree = labelled_tree(generator)
    player = train(rk.CFR(tree, local), generator)
    recursion = recursion_of(tree, naive.RegretMatching)
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


# A minimizer for each decision point


@define(eq=False)
class ForOneSimplex(rk.SimplexRule):
    """A user's rule that sums over all that it plays, or draws."""

    total: np.ndarray = rk.state()
    generator: np.random.Generator | None = None

    def _propose(self):
        if self.generator:
            return self.simplices.softmax(self.total)
        weights = np.exp(self.total - self.total.max())
        return weights / weights.sum()

    def _learn(self, utility, strategy):
        drawn = self.generator.random() if self.generator else 1.0
        self.total += drawn * self.simplices.regret(utility, strategy)


def hedge(actions):
    return rk.Hedge(actions, rate=0.3)


def hull(actions, members=(rk.RegretMatching, hedge), mixing=rk.RegretMatchingPlus):
    return rk.ConvexHull([make(actions) for make in members], mixing)


def nested(actions):
    members = [circuits.Restart(hull(actions), every=7), rk.SwapRegret(actions, hull)]
    return rk.ConvexHull(members, AdaHedge)


NUMBERS = count()


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
    "random": lambda n: ForOneSimplex(n, np.random.default_rng(5)),
    "a rate by the number of actions": lambda n: rk.Hedge(n, rate=0.1 * n),
    "a rate for two actions": lambda n: rk.Hedge(n, rate=0.5 if n == 2 else 0.1),
    "optimistic with two actions": lambda n: rk.RegretMatching(n, optimistic=n == 2),
    "another rate at each call": lambda n: rk.Hedge(n, rate=0.1 + next(NUMBERS) % 3),
    "conic": lambda n: ConicBlackwell(Simplices(n)),
}


@pytest.mark.parametrize("name", AT_ONCE)
def test_what_plays_by_block_plays_all_decision_points_at_once(name):
    tree = random_tree(np.random.default_rng(1), points=9)
    at_once = rk.CFR(tree, rk.PerDecisionPoint(AT_ONCE[name]))
    assert at_once.rule.domain == tree.simplices
    assert not isinstance(at_once.rule, rk.Product)
    each = rk.CFR(tree, apart(AT_ONCE[name]))
    same_play(at_once, each, iterations=20, atol=1e-9, told="sometimes")


@pytest.mark.parametrize("name", ONE_EACH)
def test_what_may_not_is_one_object_for_each_decision_point(name):
    tree = random_tree(np.random.default_rng(0), points=12)
    player = rk.CFR(tree, rk.PerDecisionPoint(ONE_EACH[name]))
    assert len(player.rule.parts) == tree.points
    if name != "another rate at each call":
        same_play(player, rk.CFR(tree, apart(ONE_EACH[name])), iterations=40)
