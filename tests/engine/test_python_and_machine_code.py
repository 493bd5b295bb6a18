"""The functions of the engine as machine code and as the Python that they are: the same bits."""

from functools import partial

import numpy as np
import pytest
from engine_cases import RULES, Written, apart, assert_same_bits, orders, started
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_games import random_game
from public_games import kuhn, leduc, river

import regretkit as rk
from regretkit.circuits import Discount, ExplorationMixture
from regretkit.engine import _compiled
from regretkit.engine._layout import flatten_trees, trees_in_ranges
from regretkit.play import ChanceSampling, Linear, SelfPlay

pytestmark = pytest.mark.deep  # nearly all the time goes into Python


def random_tree(players, seed):
    generator = np.random.default_rng([players, seed])
    return rk.ExtensiveFormGame.from_history(random_game(generator, players))


def normal_form(*sizes):
    return rk.NormalFormGame(np.random.default_rng(sizes).normal(size=(len(sizes), *sizes)))


def forced_moves():
    """Return a game with single moves."""
    return rk.games.liars_dice(sides=2)


GAMES = {
    "tree for two": random_tree(2, 0),
    "forced moves": forced_moves(),
    "tree for three": random_tree(3, 0),
    "tree for one": random_tree(1, 0),
    "7 x 29": normal_form(7, 29),
    "2 x 7 x 9": normal_form(2, 7, 9),
    "1 x 2 x 1 x 2": normal_form(1, 2, 1, 2),
    "public": leduc(2),
    "river": river(5, 2, 0.05, ties=True),
}


def compiled_and_written(start):
    compiled = start().run(4).run(3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_compiled, "MachineCode", Written)
        return compiled, start().run(4).run(3)


def assert_as_written(start):
    assert_same_bits(*compiled_and_written(start))


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("rule", ["rm+", "prm+"])
def test_games_of_all_kinds(name, rule):
    game = GAMES[name]
    for order in orders(game.players).values():
        assert_as_written(partial(started, game, RULES[rule], order, Linear(), "compiled"))


@settings(max_examples=20)
@given(st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_random_trees(players, seed):
    game = random_tree(players, seed)
    assert_as_written(partial(started, game, RULES["drm"], engine="compiled"))


@pytest.mark.parametrize("rule", RULES)
def test_rules_of_all_kinds(rule):
    # At numbers of actions for which code is unrolled, or not; functions such as hypot may differ
    # in the last digit
    for game in (normal_form(5, 3), GAMES["tree for two"]):
        start = partial(started, game, RULES[rule], engine="compiled")
        assert apart(*compiled_and_written(start)) <= 1e-12


def test_several_rules_of_a_player():
    def start():
        game = GAMES["tree for two"]
        rule = rk.circuits.ByDecisionPoint({1: rk.RegretMatchingPlus}, otherwise=RULES["hedge"])
        return SelfPlay(game, [rk.CFR(tree, rule) for tree in game.domains], engine="compiled")

    assert_as_written(start)


def test_draws_of_chance():
    def start():
        estimator = ChanceSampling(np.random.default_rng(1))
        game = rk.games.kuhn_poker()
        players = [rk.CFR(tree, rk.RegretMatching) for tree in game.domains]
        return SelfPlay(game, players, estimator=estimator, engine="compiled")

    assert_as_written(start)


def test_circuits_around_trees():
    def start():
        game = GAMES["tree for two"]
        cfr = (rk.CFR(tree, rk.RegretMatching) for tree in game.domains)
        players = [ExplorationMixture(Discount(x, weight=float), gamma=0.1) for x in cfr]
        return SelfPlay(game, players, engine="compiled")

    assert_as_written(start)


# How trees are numbered


@settings(max_examples=50)
@given(st.integers(1, 3), st.integers(0, 2**32 - 1))
def test_ranges_have_all_decision_points_and_their_actions(players, seed):
    game = random_tree(players, seed)
    flat = flatten_trees(game.domains)
    trees = trees_in_ranges(flat)
    places = {}
    for player in range(players):
        for r in range(*trees.range_offsets[player : player + 2]):
            point, count, stride, actions, first = trees.ranges[r]
            assert count <= stride
            for i in range(count):
                places[point + i] = player, [first + stride * k + i for k in range(actions)]
    assert len(places) == flat.first.size
    for j, point in enumerate(trees.point.tolist()):
        player, numbers = places[point]
        assert trees.sequence[flat.first[j] : flat.last[j]].tolist() == numbers
        assert flat.infoset_offsets[player] <= j < flat.infoset_offsets[player + 1]
        parent = trees.sequence[flat.parent[j]]
        assert trees.parent[point] == parent
        own = trees.children[trees.child_offsets[parent] : trees.child_offsets[parent + 1]]
        assert point in own
    assert len({*trees.sequence.tolist()}) == trees.sequence.size


@pytest.mark.parametrize("game", [kuhn(5), leduc(2), river(9)], ids=repr)
def test_types_of_a_public_node_are_neighbours(game):
    from regretkit.engine._layout import groups_of

    flat = flatten_trees(game.domains)
    groups = groups_of(game, flat)
    trees = trees_in_ranges(flat, group=groups)
    for group in np.unique(groups):
        assert (np.diff(trees.point[groups == group].astype(int)) == 1).all()
