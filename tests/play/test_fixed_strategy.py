"""Self-play on graphs, FSICFR: CFR under perfect recall, and its results under imperfect recall."""

import numpy as np
import pytest
from naive_games import random_game

import regretkit as rk
from regretkit import ExtensiveFormGame, games
from regretkit.evaluation import nash_conv
from regretkit.games import (
    Dudo,
    GameTree,
    GraphGame,
    ImperfectRecallGame,
    uniform_behavior,
)
from regretkit.play import (
    Alternating,
    ChanceSampling,
    Extragradient,
    Linear,
    RandomPlayer,
    SelfPlay,
    Simultaneous,
    StrategyAgent,
    play_match,
    solve,
)

RULES = {
    "regret matching": rk.RegretMatching,
    "plus": rk.RegretMatchingPlus,
    "hedge": lambda simplices: rk.Hedge(simplices, rate=0.5),
}


def start(graph, rule=rk.RegretMatching, order=None, **options):
    players = [rule(simplices) for simplices in graph.domains]
    return SelfPlay(graph, players, order=order or Simultaneous(), **options)


def forgetful(sides, memory):
    rules = Dudo(sides=sides, memory=memory)
    return GraphGame.from_rules(rules), ImperfectRecallGame(GameTree.from_rules(rules))


def gap(run, game):
    return nash_conv(game.refinement, run.game.to_tree_profile(run.average, game))


@pytest.mark.parametrize("order", [Simultaneous(), Alternating(), Alternating(first=1)], ids=repr)
@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_with_perfect_recall_it_is_cfr_on_the_tree(rule, order):
    # Payoffs without ties, which regret matching would leave to rounding
    for seed in range(2):
        root = random_game(np.random.default_rng(seed), 2 + seed % 2, 4)
        game = ExtensiveFormGame.from_history(root)
        run = start(GraphGame.from_tree(game.tree), rule, order, averaging=Linear()).run(8)
        players = [rk.CFR(tree, rule) for tree in game.domains]
        tree = SelfPlay(game, players, order=order, averaging=Linear()).run(8)

        for found, cfr in zip(run.minimizers, players, strict=True):
            np.testing.assert_allclose(found.next_strategy(), cfr.rule.next_strategy(), atol=1e-12)
        averages = run.game.to_tree_profile(run.average, game)
        for found, expected in zip(averages, tree.average, strict=True):
            np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("memory", [2, 3])
def test_with_some_memory_the_gap_goes_down_as_on_the_tree(memory):
    graph, game = forgetful(3, memory)
    dudo, run = games.dudo(sides=3), start(graph)
    tree = SelfPlay(
        dudo, [rk.CFR(tree, rk.RegretMatching) for tree in dudo.domains], order=Simultaneous()
    )
    for iterations in (100, 900):
        expected = nash_conv(dudo, tree.run(iterations).average)
        assert gap(run.run(iterations), game) < 2 * expected


def test_who_remembers_one_claim_is_still_far_better_than_who_plays_anyhow():
    graph, game = forgetful(3, 1)
    uniform = graph.to_tree_profile([simplices.uniform() for simplices in graph.domains], game)
    assert nash_conv(game.refinement, uniform) == pytest.approx(10 / 9)

    assert gap(start(graph).run(300), game) < 0.15
    sampling = ChanceSampling(np.random.default_rng(1))
    assert gap(start(graph, estimator=sampling).run(1_500), game) < 0.3
    # A sweep looks at all states for each player; a draw at what its dice leave.
    assert sampling.visited < 1_500 * 2 * graph.nodes / 6


def test_what_is_learned_plays_the_game_by_its_rules():
    rules = Dudo(memory=1)
    run = solve(GraphGame.from_rules(rules), "cfr+", iterations=60)
    agents = [
        StrategyAgent(strategy, np.random.default_rng(seed))
        for seed, strategy in enumerate([run.average, uniform_behavior])
    ]
    match = play_match(rules, agents, 400, np.random.default_rng(2), rotate=True, bounds=(-1, 1))
    assert match.estimate(0).bernstein_interval(0.99)[0] > 0.1


@pytest.mark.parametrize(
    "order", [Extragradient(), RandomPlayer(np.random.default_rng(0))], ids=["extra", "random"]
)
def test_every_order_of_play_leads_a_run(order):
    game = games.kuhn_poker()
    run = start(GraphGame.from_tree(game.tree), rk.RegretMatchingPlus, order).run(200)
    assert gap(run, game) < 0.15
