"""How trees are numbered for machine code: decision points of equal shape stand side by side."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_games import random_game
from public_games import kuhn, leduc, river

import regretkit as rk
from regretkit.engine._layout import flatten_trees, groups_of, trees_in_ranges


def random_tree(players, seed):
    generator = np.random.default_rng([players, seed])
    return rk.ExtensiveFormGame.from_history(random_game(generator, players))


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
    flat = flatten_trees(game.domains)
    groups = groups_of(game, flat)
    trees = trees_in_ranges(flat, group=groups)
    for group in np.unique(groups):
        assert (np.diff(trees.point[groups == group].astype(int)) == 1).all()
