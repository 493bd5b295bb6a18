"""Minimizers of many decision points, merged: they play as those of each point would."""

import warnings
from functools import partial
from itertools import count

import numpy as np
import pytest
from attrs import define, field
from factories import random_tree, same_play

import regretkit as rk
from regretkit import games
from regretkit._state import with_parts
from regretkit.checks import check_minimizer
from regretkit.circuits import (
    Discount,
    ExplorationMixture,
    Freeze,
    LastIterateByAveraging,
    Restart,
    Thresholded,
    TreeSwap,
)
from regretkit.evaluation import RegretLedger
from regretkit.minimizers import AdaHedge, ConicBlackwell
from regretkit.play import SelfPlay
from regretkit.sets import DecisionTree, Simplices

SEEDS = pytest.mark.parametrize("seed", range(3))


@define(eq=False)
class ByBlock(rk.SimplexRule):
    """A user's rule that works on many blocks."""

    total: np.ndarray = rk.state()

    def _propose(self):
        return self.simplices.normalize(np.maximum(self.total, 0.0) ** 3)

    def _learn(self, utility, strategy):
        self.total += self.simplices.regret(utility, strategy)


@define(eq=False)
class ForOneSimplex(ByBlock):
    """A user's rule that sums over all that it plays."""

    def _propose(self):
        weights = np.exp(self.total - self.total.max())
        return weights / weights.sum()


@define(eq=False)
class AtRandom(ByBlock):
    """A user's rule that draws."""

    generator: np.random.Generator = field(factory=lambda: np.random.default_rng(5))

    def _learn(self, utility, strategy):
        self.total += utility * self.generator.random()


def hull(actions, *, members=(rk.RegretMatching, rk.RegretMatchingPlus), mixing=rk.RegretMatching):
    return rk.ConvexHull([make(actions) for make in members], mixing(Simplices(len(members))))


def nested(actions):
    slow = Restart(hull(actions, mixing=rk.PredictiveRegretMatchingPlus), every=7)
    members = [slow, rk.SwapRegret(actions, hedge), hull(actions, members=[hedge, AdaHedge])]
    return rk.ConvexHull(members, mixing=AdaHedge)


def hedge(actions):
    return rk.Hedge(actions, rate=0.3)


def discounted(actions, power=1.5):
    return Discount(hull(actions), weight=lambda t: t**power)


ALIKE = {
    "leaf": rk.PredictiveRegretMatching,
    "hull": hull,
    "three members": partial(hull, members=[rk.PredictiveRegretMatchingPlus, hedge, AdaHedge]),
    "nested": nested,
    "swap": lambda n: rk.SwapRegret(n, hull_of_rows),
    "swap of a class": lambda n: rk.SwapRegret(n, rk.RegretMatching),
    "discount": discounted,
    "freeze": lambda n: Freeze(hull(n), after=15),
    "exploration": lambda n: ExplorationMixture(hull(n), gamma=0.1),
    "threshold": lambda n: Thresholded(hull(n), threshold=0.2),
    "layers": lambda n: TreeSwap(lambda: hull(n), layers=3, branching=3),
    "last iterate": lambda n: LastIterateByAveraging(hull(n)),
    "a user's rule": partial(hull, members=[ByBlock, rk.RegretMatching], mixing=ByBlock),
}


def hull_of_rows(simplices):
    return rk.ConvexHull([rk.RegretMatching(simplices), hedge(simplices)], rk.RegretMatching)


def by_size(actions):
    return rk.Hedge(actions, rate=0.1 * actions)


def trained(actions):
    rule = rk.RegretMatching(actions)
    rule.observe_utility(np.arange(actions))
    return rule


RATES = [0.1, 0.7, 0.7, 0.2]


def of_several_kinds():
    number = count()
    return lambda actions: discounted(actions, RATES[next(number) % len(RATES)])


APART = {
    "for one simplex": ForOneSimplex,
    "in a hull": partial(hull, members=[ForOneSimplex, rk.RegretMatching]),
    "random": AtRandom,
    "trained": trained,
    "conic": lambda n: ConicBlackwell(Simplices(n)),
    "one mixing minimizer for all rows": lambda n: rk.SwapRegret(n, one_mixer),
}


def one_mixer(simplices):
    return rk.ConvexHull([rk.RegretMatching(simplices), hedge(simplices)], rk.RegretMatching(2))


def assert_alike(one, other):
    """Require two states to be equal to rounding."""
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for name, value in one.items():
            assert_alike(value, other[name])
    else:
        np.testing.assert_allclose(one, other, atol=1e-9)


def parts_of(rule):
    return rule.parts if isinstance(rule, rk.Product) else (rule,)


@pytest.mark.deep_beyond(13)
@SEEDS
@pytest.mark.parametrize("name", ALIKE)
def test_what_is_merged_plays_as_one_minimizer_for_each_decision_point(name, seed):
    generator = np.random.default_rng(seed)
    tree = random_tree(generator, points=12)
    merged = rk.CFR(tree, rk.PerDecisionPoint(ALIKE[name]))
    apart = rk.CFR(tree, rk.PerDecisionPoint(ALIKE[name], merge=False))

    assert len(parts_of(merged.rule)) == 1
    assert len(parts_of(apart.rule)) == tree.points
    same_play(merged, apart, seed, iterations=40, atol=1e-9, told="sometimes")
    for point in range(tree.points):
        np.testing.assert_allclose(merged[point].strategy, apart[point].strategy, atol=1e-9)
        assert_alike(merged[point].state, apart[point].state)


@pytest.mark.deep_beyond(8)
@SEEDS
@pytest.mark.parametrize("name", APART)
def test_what_does_not_play_alike_stays_apart(name, seed):
    generator = np.random.default_rng(seed)
    tree = random_tree(generator, points=12)
    merged = rk.CFR(tree, rk.PerDecisionPoint(APART[name]))
    apart = rk.CFR(tree, rk.PerDecisionPoint(APART[name], merge=False))

    assert len(parts_of(merged.rule)) == tree.points
    same_play(merged, apart, seed, iterations=40, atol=1e-9, told="sometimes")


@pytest.mark.deep_beyond(1)
@SEEDS
def test_minimizers_of_several_kinds_are_merged_by_kind(seed):
    generator = np.random.default_rng(seed)
    tree = random_tree(generator, points=12)
    kinds = {of_several_kinds: len(set(RATES)), lambda: by_size: np.unique(tree.sizes).size}
    for make, expected in kinds.items():
        merged = rk.CFR(tree, rk.PerDecisionPoint(make()))
        apart = rk.CFR(tree, rk.PerDecisionPoint(make(), merge=False))

        assert len(parts_of(merged.rule)) == expected
        same_play(merged, apart, seed, iterations=40, atol=1e-9, told="sometimes")
        for point in range(tree.points):
            assert merged[point].state.keys() == apart[point].state.keys()


@pytest.mark.deep_beyond(1)
@pytest.mark.parametrize("name", ["hull", "nested", "swap", "discount"])
def test_a_game_is_played_as_by_one_minimizer_for_each_decision_point(name):
    game = games.leduc_poker()
    runs = [
        SelfPlay(
            game,
            [rk.CFR(tree, rk.PerDecisionPoint(ALIKE[name], merge=m)) for tree in game.domains],
            engine="numpy",
        ).run(4)
        for m in (True, False)
    ]

    for one, other in zip(runs[0].average, runs[1].average, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)


def test_the_circuit_of_hulls_and_products_plays_the_same():
    tree = random_tree(np.random.default_rng(2), points=8)
    local = rk.PerDecisionPoint(hull)
    same_play(rk.CFR(tree, local), rk.circuit(tree, local), atol=1e-9)


def test_no_part_is_made_for_each_decision_point():
    counts = [
        sum(1 for _ in with_parts(rk.CFR(tree, rk.PerDecisionPoint(hull))))
        for tree in (DecisionTree([0], [2]), *games.leduc_poker().domains)
    ]
    assert len(set(counts)) == 1


def test_minimizers_that_make_returned_learn_themselves_where_they_are_not_merged():
    made = []

    def make(actions):
        made.append(rk.RegretMatching(actions))
        return made[-1]

    tree = DecisionTree([0, 0], [2, 2])
    player = rk.CFR(tree, rk.PerDecisionPoint(make, merge=False))
    player.observe_utility([0.0, 1.0, 0.0, 0.0, 1.0])
    assert [rule.iteration for rule in made] == [1, 1]


# Hulls by block


def test_a_mixer_that_is_made_weighs_by_block():
    members = [rk.RegretMatching([2, 3]), hedge([2, 3])]
    assert rk.ConvexHull(members, rk.RegretMatching).mixing.domain == Simplices([2, 2])
    assert rk.ConvexHull([rk.Point([1.0]), rk.Point([2.0])], hedge).mixing.domain == Simplices(2)


@SEEDS
def test_the_regret_in_each_block_is_bounded_by_that_of_its_parts(seed):
    generator = np.random.default_rng(seed)
    blocks = Simplices([2, 3, 3])
    player = rk.ConvexHull([rk.RegretMatching(blocks), hedge(blocks)], rk.RegretMatchingPlus)
    ledger = RegretLedger(player, strict=True)
    for utility in generator.normal(size=(60, player.dimension)):
        player.observe_utility(utility)
    ledger.check()


def test_a_hull_by_block_keeps_the_contract():
    check_minimizer(lambda: rk.ConvexHull([rk.RegretMatching([2, 3]), hedge([2, 3])], hedge))


def test_cfr_warns_of_one_mixer_for_all_decision_points():
    tree = DecisionTree([0, 2], [2, 3])
    for local in (one_mixer, lambda s: Restart(one_mixer(s), every=5), ConicBlackwell):
        with pytest.warns(RuntimeWarning, match="CFR has no regret bound here: "):
            player = rk.CFR(tree, local)
        assert "regret_grows_slowly" in player.exemptions()


@pytest.mark.parametrize("local", [hull_of_rows, rk.PerDecisionPoint(APART["conic"])])
def test_cfr_does_not_warn_of_mixers_by_decision_point(local):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rk.CFR(DecisionTree([0, 2], [2, 3]), local)
        rk.CFR(DecisionTree([0], [3]), one_mixer)
        rk.CFR(DecisionTree([], []), hull_of_rows)


def test_a_hull_with_one_mixer_for_several_blocks_plays_on_no_other_simplices():
    assert one_mixer(Simplices([2, 3])).on_domain(Simplices([2, 2])) is None
    assert hull(2).on_domain(Simplices([3, 2])).mixing.domain == Simplices([2, 2])


# Products of blocks that do not follow one another


def test_products_of_whole_blocks_are_simplices_in_any_order():
    product = rk.Product([rk.RegretMatching([2, 1]), rk.RegretMatching(3)], [[4, 5, 0], [1, 2, 3]])
    assert product.domain == Simplices([1, 3, 2])
    split = rk.Product([rk.RegretMatching(2), rk.RegretMatching(2)], [[0, 2], [1, 3]])
    assert not isinstance(split.domain, Simplices)


def test_decision_points_of_one_rule_are_one_minimizer_wherever_they_are():
    tree = random_tree(np.random.default_rng(0), points=9)
    rules = {n: rk.RegretMatchingPlus for n in (0, 4, 7)}
    mixed = rk.CFR(tree, rk.ByDecisionPoint(rules, otherwise=rk.RegretMatching))
    each = rk.circuit(tree, rk.ByDecisionPoint(rules, otherwise=rk.RegretMatching))
    assert [type(part) for part in mixed.rule.parts] == [rk.RegretMatchingPlus, rk.RegretMatching]
    same_play(mixed, each, atol=1e-9)
    view = mixed[4]
    np.testing.assert_array_equal(
        view.state["regrets"],
        mixed.rule.parts[0].regrets[mixed.rule.parts[0].domain.block(1)],
    )
