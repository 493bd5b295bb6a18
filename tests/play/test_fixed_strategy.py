"""Fixed-strategy iteration: CFR under perfect recall, and its results under imperfect recall."""

import numpy as np
import pytest
from naive_games import decision, random_game
from refusals import refusals

import regretkit as rk
from regretkit import ExtensiveFormGame, games
from regretkit.evaluation import nash_conv
from regretkit.games import (
    Dudo,
    GameDAG,
    GameTree,
    ImperfectRecallGame,
    as_history,
    uniform_behavior,
)
from regretkit.play import (
    Alternating,
    Extragradient,
    FixedStrategyIteration,
    Linear,
    RandomPlayer,
    SelfPlay,
    Simultaneous,
    StrategyAgent,
    play_match,
)

RULES = {
    "regret matching": rk.RegretMatching,
    "plus": rk.RegretMatchingPlus,
    "hedge": lambda simplices: rk.Hedge(simplices, rate=0.5),
}


def forgetful(sides, memory):
    root = Dudo(sides=sides, memory=memory)
    return GameDAG.from_history(root), ImperfectRecallGame(GameTree.from_rules(root))


def gap(run, graph, game):
    return nash_conv(game.refinement, graph.to_tree_profile(run.average, game))


# With perfect recall it is CFR


@pytest.mark.deep_beyond(4)
@pytest.mark.parametrize("order", [Simultaneous(), Alternating(), Alternating(first=1)], ids=repr)
@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_with_perfect_recall_it_is_cfr_on_the_tree(rule, order):
    # Payoffs without ties, which regret matching would leave to rounding
    for seed in range(4):
        root = random_game(np.random.default_rng(seed), 2 + seed % 2, 4)
        game = ExtensiveFormGame.from_history(root)
        graph = GameDAG.from_tree(game.tree)
        run = FixedStrategyIteration(graph, rule, order=order, averaging=Linear()).run(8)
        players = [rk.CFR(tree, rule) for tree in game.domains]
        tree = SelfPlay(game, players, order=order, averaging=Linear()).run(8)

        for found, cfr in zip(run.minimizers, players, strict=True):
            np.testing.assert_allclose(found.next_strategy(), cfr.rule.next_strategy(), atol=1e-12)
        averages = graph.to_tree_profile(run.average, game)
        for found, expected in zip(averages, tree.average, strict=True):
            np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("order", [Simultaneous(), Alternating()], ids=repr)
@pytest.mark.parametrize(
    "game", [games.liars_dice(sides=3), games.leduc_poker()], ids=["liars dice", "leduc"]
)
def test_so_it_is_in_games_of_the_catalogue(game, order):
    graph = GameDAG.from_tree(game.tree)
    run = FixedStrategyIteration(graph, rk.RegretMatching, order=order).run(50)
    players = [rk.CFR(tree, rk.RegretMatching) for tree in game.domains]
    tree = SelfPlay(game, players, order=order).run(50)

    found = nash_conv(game, graph.to_tree_profile(run.average, game))
    assert found == pytest.approx(nash_conv(game, tree.average), rel=1e-9)


def test_a_known_number_comes_out():
    # NashConv of simultaneous CFR on Kuhn poker after 100 iterations
    game = games.kuhn_poker()
    graph = GameDAG.from_tree(game.tree)
    run = FixedStrategyIteration(graph, rk.RegretMatching).run(100)

    found = nash_conv(game, graph.to_tree_profile(run.average, game))
    assert found == pytest.approx(0.05134947169, abs=1e-10)


def test_what_does_not_matter_changes_nothing():
    # Before Kuhn poker player 0 makes a move that no information set records.
    kuhn = as_history(games.kuhn_poker())
    root = decision(0, "before the deal", hello=kuhn, well=kuhn)
    graph = GameDAG.from_history(root, state=_of_kuhn)
    alone = GameDAG.from_tree(games.kuhn_poker().tree)
    first = FixedStrategyIteration(graph, rk.RegretMatching).run(50)
    second = FixedStrategyIteration(alone, rk.RegretMatching).run(50)

    assert graph.nodes == 1 + GameDAG.from_history(kuhn, state=_of_kuhn).nodes
    for known in ("J", "Qpb"):
        np.testing.assert_allclose(first.average[0, known], second.average[0, known], atol=1e-12)
    for known in ("Jp", "Qb"):
        np.testing.assert_allclose(first.average[1, known], second.average[1, known], atol=1e-12)
    assert first.average[0, "before the deal"].tolist() == [0.5, 0.5]


def _of_kuhn(history):
    return getattr(history, "number", "before")


# Where they do


@pytest.mark.parametrize("memory", [2, 3])
def test_with_some_memory_the_gap_goes_down_as_on_the_tree(memory):
    graph, game = forgetful(3, memory)
    dudo = games.dudo(sides=3)
    players = [rk.CFR(tree, rk.RegretMatching) for tree in dudo.domains]
    tree = SelfPlay(dudo, players, order=Simultaneous())
    run = FixedStrategyIteration(graph, rk.RegretMatching)

    for iterations in (100, 900):
        expected = nash_conv(dudo, tree.run(iterations).average)
        assert gap(run.run(iterations), graph, game) < 2 * expected


def test_who_remembers_one_claim_is_still_far_better_than_who_plays_anyhow():
    graph, game = forgetful(3, 1)
    uniform = graph.to_tree_profile([simplices.uniform() for simplices in graph.simplices], game)
    assert nash_conv(game.refinement, uniform) == pytest.approx(10 / 9)

    assert gap(FixedStrategyIteration(graph, rk.RegretMatching).run(300), graph, game) < 0.15
    drawn = FixedStrategyIteration(graph, rk.RegretMatching, generator=1).run(1_500)
    assert gap(drawn, graph, game) < 0.3
    # A sweep looks at all states for each player; a draw at what its dice leave.
    assert drawn.visited < 1_500 * 2 * graph.nodes / 6


def test_what_is_learned_plays_the_game_by_its_rules():
    root = Dudo(memory=1)
    run = FixedStrategyIteration(GameDAG.from_history(root), rk.RegretMatchingPlus).run(60)
    agents = [
        StrategyAgent(strategy, np.random.default_rng(seed))
        for seed, strategy in enumerate([run.average, uniform_behavior])
    ]

    match = play_match(root, agents, 400, np.random.default_rng(2), rotate=True, bounds=(-1, 1))
    assert match.estimate(0).bernstein_interval(0.99)[0] > 0.1


# As a run


@pytest.mark.parametrize("generator", [False, True], ids=["swept", "drawn"])
def test_a_restored_run_continues_bitwise_identically(generator):
    graph, _ = forgetful(2, 1)

    def start():
        return FixedStrategyIteration(
            graph,
            rk.RegretMatching,
            averaging=Linear(),
            generator=np.random.default_rng(3) if generator else None,
        )

    whole, first, second = start().run(12), start().run(5), start()
    second.run(1).load_state_dict(first.state_dict())
    second.run(7)
    assert second.iteration == whole.iteration == 12
    for found, expected in zip(second.average, whole.average, strict=True):
        np.testing.assert_array_equal(found, expected)
    for found, expected in zip(second.current, whole.current, strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    "order", [Extragradient(), RandomPlayer(np.random.default_rng(0))], ids=["extra", "random"]
)
def test_every_order_of_play_leads_a_run(order):
    game = games.kuhn_poker()
    graph = GameDAG.from_tree(game.tree)
    run = FixedStrategyIteration(graph, rk.RegretMatchingPlus, order=order).run(200)

    assert nash_conv(game, graph.to_tree_profile(run.average, game)) < 0.15


GRAPH = forgetful(2, 1)[0]
test_what_cannot_be_played_is_refused = refusals(
    (games.kuhn_poker(), rk.RegretMatching, {}, TypeError, "graph must be"),
    (GRAPH, rk.RegretMatching(2), {}, TypeError, "local must be"),
    (GRAPH, rk.RegretMatching, {"order": "alternating"}, TypeError, "order"),
    (GRAPH, rk.RegretMatching, {"averaging": 2}, TypeError, "averaging"),
    (GRAPH, rk.RegretMatching, {"generator": 2.0}, TypeError, "generator"),
    (GRAPH, rk.RegretMatching, {"order": Alternating(first=2)}, ValueError, "first"),
    call=lambda graph, rule, ways: FixedStrategyIteration(graph, rule, **ways),
)


def test_a_run_that_has_not_begun_has_no_average():
    run = FixedStrategyIteration(GRAPH, rk.RegretMatching)
    with pytest.raises(ValueError, match="nothing to average"):
        run.average  # noqa: B018
    with pytest.raises(ValueError, match="iterations"):
        run.run(-1)
