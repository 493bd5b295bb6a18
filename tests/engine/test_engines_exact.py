"""Where no operation rounds, the ways to run give the same bits; so does one way, cut anywhere."""

import numpy as np
import pytest
from engine_cases import ENGINES, RULES, assert_same_bits, learned, orders, rules_of, started
from naive_games import Node, random_game

from regretkit import ExtensiveFormGame, NormalFormGame
from regretkit.play import Linear

pytestmark = pytest.mark.deep  # nearly all the time goes into compiling


# Games of small dyadic fractions


def rounded(node):
    """Return a game like this one: two children at most, even chances and whole payoffs."""
    kept = list(node.children.items())[: 4 if len(node.children) >= 4 else 2]
    children = {name: rounded(child) for name, child in kept}
    chances = (1.0 / len(children),) * len(children) if node.chances else ()
    return Node(
        children, node.acting, node.label, chances, tuple(np.rint(2.0 * np.array(node.earned)))
    )


def dyadic_tree(players, seed):
    root = random_game(np.random.default_rng([players, seed]), players)
    return ExtensiveFormGame.from_history(rounded(root))


def dyadic_form(*sizes):
    payoffs = np.random.default_rng(sizes).integers(-8, 9, size=(len(sizes), *sizes))
    return NormalFormGame(payoffs / 4.0)


TREES = {f"tree {seed}": dyadic_tree(2, seed) for seed in range(3)}
OTHERS = {
    "tree for three": dyadic_tree(3, 0),
    "tree for four": dyadic_tree(4, 0),
    "tree for one": dyadic_tree(1, 0),
    "2 x 4": dyadic_form(2, 4),
    "2 x 2 x 4": dyadic_form(2, 2, 4),
    "1 x 2 x 1 x 2": dyadic_form(1, 2, 1, 2),
}
GAMES = TREES | OTHERS
FEW = ("rm+", "optimistic hedge")

PLAYED_IN, LEARNED_IN = 2.0**3, 2.0**20
"""Strategies of eighths, and regrets of so small parts, leave room for all products."""


def is_exact(run):
    """Say whether what is played now, and was learned so far, leaves nothing to round."""
    played = np.concatenate([np.concatenate([[1.0], r.next_strategy()]) for r in rules_of(run)])
    arrays = [array for rule in rules_of(run) for array in learned(rule).values()]
    held = np.concatenate([np.zeros(1), *arrays])
    whole = (held * LEARNED_IN == np.rint(held * LEARNED_IN)).all() and np.abs(held).max() < 2.0**12
    return whole and (played * PLAYED_IN == np.rint(played * PLAYED_IN)).all()


ALL_EXACT = ("rm", "rm+", "linear", "drm", "drm(inf,-inf)", "prm", "prm+")


@pytest.mark.parametrize("rule", ALL_EXACT)
@pytest.mark.parametrize("order", ["simultaneous", "random", "from 0", "from 1"])
def test_as_long_as_nothing_is_rounded_the_bits_are_the_same(rule, order):
    iterations = 0
    for name in [*TREES, *(OTHERS if rule == "rm+" else ())]:
        game = GAMES[name]
        if game.players < 2:
            continue
        runs = [started(game, RULES[rule], orders(2)[order], Linear(), e) for e in ENGINES]
        # Those who move late in an iteration learn from what the others play next.
        fast, slow = runs
        while slow.iteration < 10 and is_exact(slow) and is_exact(slow.run(1)):
            assert_same_bits(fast.run(1), slow)
            iterations += 1
    assert iterations >= 2 * len(TREES)
