"""Last sequences, found level by level and by looking up, against a walk from every history."""

import numpy as np
import pytest
from naive_games import random_game

from regretkit.games import GameTree, kuhn_poker, liars_dice
from regretkit.games.tree import _sequences


def by_walking(tree):
    """Return last sequences, each found by walking from its history to the root."""
    first = [1 + np.cumsum(sizes) - sizes for sizes in tree.sizes]
    last = np.zeros((tree.players, tree.histories), dtype=np.int64)
    for player in range(tree.players):
        for history in range(tree.histories):
            at = history
            while at > 0 and tree.player[tree.parent[at]] != player:
                at = tree.parent[at]
            if at > 0:
                here = tree.information_set[tree.parent[at]]
                last[player, history] = first[player][here] + tree.action[at]
    return last


TREES = {
    "kuhn": kuhn_poker().tree,
    "kuhn of three": kuhn_poker(players=3).tree,
    "liar's dice": liars_dice(sides=2).tree,
    **{
        f"random {seed}": GameTree.from_history(random_game(np.random.default_rng(seed), depth=4))
        for seed in range(6)
    },
}


each_tree = pytest.mark.parametrize("name", TREES)
each_way = pytest.mark.parametrize("few", [10**9, 1], ids=["narrow", "level by level"])


@each_way
@each_tree
def test_last_sequences_are_those_of_a_walk(name, few, monkeypatch):
    monkeypatch.setattr(_sequences, "_NARROW", few)
    np.testing.assert_array_equal(_sequences.last_sequences(TREES[name]), by_walking(TREES[name]))


@each_way
@each_tree
def test_the_reach_of_chance_is_the_product_along_a_walk(name, few, monkeypatch):
    monkeypatch.setattr(_sequences, "_NARROW", few)
    tree = TREES[name]
    products = np.ones(tree.histories)
    for history in range(1, tree.histories):
        products[history] = products[tree.parent[history]] * tree.probability[history]
    np.testing.assert_array_equal(_sequences.reach_of_chance(tree), products)
