"""Self-play on games of imperfect recall."""

import contextlib

import numpy as np
import pytest
from assert_games import changed
from naive_games import random_game
from refusals import refusals

import regretkit as rk
from regretkit import solve
from regretkit.circuits import SharedStrategy
from regretkit.games import CHANCE, GameTree, ImperfectRecallGame, read_efg
from regretkit.play import Simultaneous, Uniform
from regretkit.play._algorithms import Algorithm

DRIVER = """EFG 2 R "Absent-minded driver" { "Driver" }
p "" 1 1 "exit" { "leave" "go on" } 0
t "" 1 "first" { 0 }
p "" 1 1 0
t "" 2 "second" { 4 }
t "" 3 "missed" { 1 }"""


def blurred(seed, kinds=2):
    """Return a random game whose players confuse information sets of equal sizes at random."""
    generator = np.random.default_rng(seed)
    tree = GameTree.from_history(random_game(generator, depth=4))
    information_set = tree.information_set.astype(np.int64).copy()
    labels, actions = [], []
    for player, sizes in enumerate(tree.sizes):
        keys = list(zip(sizes.tolist(), generator.integers(kinds, size=sizes.size), strict=True))
        numbers, names = {}, []
        for history in np.flatnonzero(tree.player == player):  # in breadth-first order
            old = int(tree.information_set[history])
            if keys[old] not in numbers:
                numbers[keys[old]] = len(numbers)
                names.append(list(tree.actions[player][old]))
            information_set[history] = numbers[keys[old]]
        labels.append([str(number) for number in range(len(names))])
        actions.append(names)
    return changed(tree, information_set=information_set, labels=labels, actions=actions)


def played(regret):
    positive = np.maximum(regret, 0.0)
    return positive / positive.sum() if positive.any() else np.ones(regret.size) / regret.size


def naive_cfr(tree, iterations):
    """Return what textbook CFR with simultaneous updates plays in the end, set by set."""
    regrets = [[np.zeros(n) for n in sizes] for sizes in tree.sizes]
    children = [[] for _ in range(tree.histories)]
    for history in range(1, tree.histories):
        children[tree.parent[history]].append(history)
    end = {history: number for number, history in enumerate(tree.terminals.tolist())}
    for _ in range(iterations):
        behavior = [[played(regret) for regret in by_set] for by_set in regrets]

        def walk(history, reach, behavior=behavior):
            if history in end:
                return tree.payoffs[end[history]]
            player, following = int(tree.player[history]), children[history]
            information_set = int(tree.information_set[history])
            chances = [tree.probability[child] for child in following]
            shares = chances if player == CHANCE else behavior[player][information_set]
            worths = []
            for child, share in zip(following, shares, strict=True):
                more = list(reach)
                more[player] *= share  # chance's factor is the last one
                worths.append(walk(child, more))
            value = shares @ np.array(worths)
            if player != CHANCE:
                opponents = np.prod(np.delete(reach, player))
                regrets[player][information_set] += opponents * (
                    np.array(worths)[:, player] - value[player]
                )
            return value

        walk(0, [1.0] * (tree.players + 1))
    return [[played(regret) for regret in by_set] for by_set in regrets]


def imperfect_recall_games(count):
    games, seed = [], 0
    while len(games) < count:
        with contextlib.suppress(ValueError):  # this one has perfect recall
            games.append(ImperfectRecallGame(blurred(seed)))
        seed += 1
    return games


@pytest.mark.parametrize("game", imperfect_recall_games(10))
def test_regrets_are_those_of_textbook_cfr_on_the_sets_as_they_are(game):
    textbook = Algorithm(rk.RegretMatching, order=Simultaneous(), averaging=Uniform())
    run = solve(game, textbook, iterations=30, imperfect_recall=True)
    # What it would play next, which the regrets of all iterations decide
    behaviors = [minimizer.rule.next_strategy() for minimizer in run.minimizers]
    for player, expected in enumerate(naive_cfr(game.tree, 30)):
        simplices = game.refinement.domains[player].simplices
        for part, kind in enumerate(game.coarse_information_set[player]):
            found = behaviors[player][simplices.block(part)]
            np.testing.assert_allclose(found, expected[kind], atol=1e-9)


def test_the_parts_of_a_set_share_a_strategy_and_keep_the_past_of_their_player():
    game = read_efg(DRIVER)
    assert game.refinement.domains[0].simplices.labels.block(0) == "exit"
    assert game.coarse_information_set[0].tolist() == [0, 0]
    run = solve(game, "cfr+", iterations=50, imperfect_recall=True)
    at_first, at_second = run.current[0][1:3], run.current[0][3:5]
    np.testing.assert_allclose(at_second, at_first * at_first[1], atol=1e-15)


def test_the_driver_ends_where_equal_weights_of_both_exits_lead():
    # 4 = 4 (1 - p) + p + 1: leaving earns as much as continuing, each exit weighted by one
    game = read_efg(DRIVER)
    run = solve(game, "cfr", iterations=3_000, imperfect_recall=True)
    coarse = game.coarsen(run.average)
    np.testing.assert_allclose(coarse[0, 0], [2 / 3, 1 / 3], atol=1e-3)
    np.testing.assert_array_equal(coarse[0, 0], coarse[0, 1])


@pytest.mark.parametrize("game", imperfect_recall_games(3))
def test_self_play_on_behaviors_is_that_on_the_refinement(game):
    textbook = Algorithm("cfr", order=Simultaneous(), averaging=Uniform())
    run = solve(game, textbook, iterations=20, imperfect_recall=True)
    players = [rk.RegretMatching(simplices) for simplices in game.domains]
    own = rk.SelfPlay(game, players, order=Simultaneous()).run(20)
    found = game.refinement.value(game.coarsen(run.current))
    np.testing.assert_allclose(game.value(own.current), found, atol=1e-9)


def test_forgetting_weights_parts_by_how_likely_the_player_comes_to_them():
    game = read_efg(DRIVER)
    # Leaves with 1/4 at the first exit, and with 2/3 at the second
    strategy = np.array([1.0, 0.25, 0.75, 0.5, 0.25])
    coarse = game.coarsen([strategy])
    np.testing.assert_allclose(coarse[0, 0], [0.75 / 1.75, 1.0 / 1.75])


test_without_the_switch_or_for_a_gap_it_is_refused = refusals(
    ({}, r"imperfect recall: player 0 .*imperfect_recall=True"),
    (
        {"target_gap": 0.1, "imperfect_recall": True},
        "target_gap does not support games of imperfect recall",
    ),
    call=lambda options: solve(read_efg(DRIVER), "cfr", **options),
    error=ValueError,
)


def test_shared_strategies_learn_the_sum_and_are_played_everywhere():
    player = SharedStrategy([3, 2, 3], rk.RegretMatching, [1, 0, 1])
    twin = rk.RegretMatching([2, 3])
    generator = np.random.default_rng(3)
    for _ in range(20):
        u = generator.normal(size=8)
        player.observe_utility(u)
        twin.observe_utility(np.concatenate([u[3:5], u[:3] + u[5:]]))
        y = twin.next_strategy()
        x = player.next_strategy()
        np.testing.assert_allclose(x, np.concatenate([y[2:], y[:2], y[2:]]), atol=1e-12)
