"""Graphs of states: the utilities and values of the tree, and fewer nodes."""

import itertools

import numpy as np
import pytest
from naive_games import chance, decision, end, random_game
from refusals import refusals

import regretkit as rk
from regretkit import ExtensiveFormGame, games
from regretkit.evaluation import nash_conv
from regretkit.games import (
    CHANCE,
    Dudo,
    GameTree,
    GraphGame,
    ImperfectRecallGame,
    LiarsDice,
    as_history,
)

DUDO = GraphGame.from_rules(Dudo(sides=2, memory=1))


def random_behaviors(graph, seed=0):
    generator = np.random.default_rng(seed)
    return [d.normalize(generator.exponential(size=d.dimension)) for d in graph.domains]


def naive(tree, player, behaviors):
    """Sum over all histories: the others' way there times what follows, and one's own way."""
    first = [np.cumsum(sizes) - sizes for sizes in tree.sizes]
    children = [[] for _ in range(tree.histories)]
    for history, parent in enumerate(tree.parent):
        if parent >= 0:
            children[parent].append(history)
    ends = dict(zip(tree.terminals.tolist(), tree.payoffs, strict=True))
    utility, reach = np.zeros(behaviors[player].size), np.zeros(behaviors[player].size)

    def visit(history, of_others, own):
        if history in ends:
            return ends[history][player]
        mover, mean = tree.player[history], 0.0
        for child in children[history]:
            if mover == CHANCE:
                p = tree.probability[child]
                mean += p * visit(child, of_others * p, own * p)
                continue
            place = first[mover][tree.information_set[history]] + tree.action[child]
            p = behaviors[mover][place]
            if mover != player:
                mean += p * visit(child, of_others * p, own)
                continue
            value = visit(child, of_others, own * p)
            utility[place] += of_others * value
            reach[place] += own * p
            mean += p * value
        return mean

    return utility, reach, visit(0, 1.0, 1.0)


def assert_naive(graph, tree):
    behaviors = random_behaviors(graph)
    order = [
        domain.coordinates(np.array([*map(domain.labels.find, labels)], dtype=np.int64))
        for domain, labels in zip(graph.domains, tree.labels, strict=True)
    ]
    on_tree = [behavior[places] for behavior, places in zip(behaviors, order, strict=True)]
    for player, places in enumerate(order):
        utility, reach, value = naive(tree, player, on_tree)
        np.testing.assert_allclose(graph.utility(player, behaviors)[places], utility, atol=1e-12)
        found = graph.realization(player, behaviors[player])
        np.testing.assert_allclose(found[places], reach, rtol=1e-12)
        assert graph.value(behaviors)[player] == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_utility_reach_and_value_are_sums_over_histories_in_random_games(seed):
    tree = GameTree.from_history(random_game(np.random.default_rng(seed), 2 + seed % 2))
    assert_naive(GraphGame.from_tree(tree), tree)


@pytest.mark.parametrize("rules", [Dudo(sides=3, memory=1), LiarsDice(2, 2, memory=2)], ids=repr)
def test_a_tree_of_imperfect_recall_is_the_same_game(rules):
    tree = GameTree.from_rules(rules)
    assert_naive(ImperfectRecallGame(tree), tree)


@pytest.mark.parametrize("memory", [1, 2, None])
@pytest.mark.parametrize("make", [Dudo, LiarsDice])
def test_so_they_are_where_players_forget(make, memory):
    rules = make(sides=3, memory=memory)
    tree = GameTree.from_rules(rules)
    for graph in (GraphGame.from_tree(tree), GraphGame.from_rules(rules)):
        assert_naive(graph, tree)
        assert graph.nodes < tree.histories / (1 if memory is None else 2)


def fork():
    """Return a game whose second decision lacks the player's first action, and two paths to it."""

    def answer(payoffs):
        return decision(1, "other", l=end(*payoffs[0]), r=end(*payoffs[1]))

    again = decision(0, "again", x=answer([(4, -4), (0, 0)]), y=answer([(-2, 2), (6, -6)]))
    return decision(0, "first", a=again, b=again, c=end(1, -1))


def test_a_small_fork_is_what_comes_out_by_hand():
    graph = GraphGame.from_history(fork(), state=id)
    assert graph.nodes == 9  # the fork, the decision after it, two of the other's, five ends
    behaviors = [np.array([0.5, 0.25, 0.25, 0.75, 0.25]), np.array([0.5, 0.5])]
    # After x it earns 2 and after y 2 as well; there are two ways to it, each its own.
    assert graph.utility(0, behaviors).tolist() == [2.0, 2.0, 1.0, 4.0, 4.0]
    assert graph.realization(0, behaviors[0]).tolist() == [0.5, 0.25, 0.25, 0.5625, 0.1875]
    assert graph.value(behaviors).tolist() == [1.75, -1.75]
    # Player 0 comes to x with probability 9/16, to y with 3/16; player 1 has two ways to each.
    assert graph.utility(1, behaviors).tolist() == [-4 * 9 / 16 + 2 * 3 / 16, -6 * 3 / 16]
    assert graph.realization(1, behaviors[1]).tolist() == [2.0, 2.0]


# How many nodes there are


@pytest.mark.parametrize("memory", [1, 2, 3, None])
def test_there_is_a_node_for_each_state(memory):
    def walk(history):
        if history.is_terminal():
            yield tuple(history.payoffs())
            return
        columns = map(np.ravel, history.rules.state(history.h))
        yield "state", *(number for column in columns for number in column.tolist())
        drawn = history.player() == CHANCE
        for action, *_ in history.chance_outcomes() if drawn else zip(history.actions()):
            yield from walk(history.child(action))

    rules = Dudo(sides=2, memory=memory)
    graph = GraphGame.from_rules(rules)
    assert graph.nodes == len(set(walk(as_history(rules))))
    assert GraphGame.from_tree(GameTree.from_rules(rules)).nodes <= graph.nodes
    # Every move leads to a later level.
    level = np.searchsorted(graph.levels, np.arange(graph.nodes), side="right")
    assert (level[graph.edges.child] > level[graph.edges.source]).all()


def test_objects_and_columns_make_the_same_graph():
    rules = LiarsDice(sides=3, memory=2)
    by_columns = GraphGame.from_rules(rules)

    def state(history):
        columns = map(np.ravel, history.rules.state(history.h))
        return tuple(x for column in columns for x in column.tolist())

    by_objects = GraphGame.from_history(as_history(rules), state)
    assert by_columns.levels.tolist() == by_objects.levels.tolist()
    assert [simplices.blocks for simplices in by_columns.domains] == [48, 48]
    behaviors = random_behaviors(by_columns)
    np.testing.assert_array_equal(by_columns.value(behaviors), by_objects.value(behaviors))


# What chance leaves


class Grid:
    """Draws the numbers that it is given."""

    def __init__(self, numbers):
        self.numbers = list(numbers)

    def random(self):
        return self.numbers.pop(0)


@pytest.mark.parametrize(
    ("graph", "draws", "steps"),
    [(GraphGame.from_tree(games.kuhn_poker().tree), 2, 6), (DUDO, 2, 2)],
    ids=["kuhn", "dudo"],
)
def test_what_chance_leaves_has_the_mean_of_the_whole(graph, draws, steps):
    behaviors = random_behaviors(graph)
    numbers = [(step + 0.5) / steps for step in range(steps)]
    parts = [graph.sample_chance(Grid(p)) for p in itertools.product(numbers, repeat=draws)]
    mean = np.mean([part.value(behaviors) for part in parts], axis=0)
    np.testing.assert_allclose(mean, graph.value(behaviors), atol=1e-12)
    for player in range(graph.players):
        for of in (
            lambda game: game.utility(player, behaviors),  # noqa: B023
            lambda game: game.realization(player, behaviors[player]),  # noqa: B023
        ):
            np.testing.assert_allclose(np.mean([*map(of, parts)], axis=0), of(graph), atol=1e-12)


def test_chance_in_the_middle_of_a_game_is_drawn_once_in_each_state():
    late = chance([0.25, 0.75], h=end(4.0), t=end(0.0))
    root = chance([0.5, 0.5], u=decision(0, "u", x=late, y=late), d=decision(0, "d", x=end(1.0)))
    graph = GraphGame.from_history(root, state=id)
    heads, tails, down = (graph.sample_chance(Grid(p)) for p in ([0.1, 0.2], [0.1, 0.3], [0.9]))
    uniform = [simplices.uniform() for simplices in graph.domains]
    for part, expected in ((heads, [4, 4, 0]), (tails, [0, 0, 0]), (down, [0, 0, 1])):
        assert part.utility(0, uniform).tolist() == expected
    assert graph.sample_chance(Grid([0.1, 0.2])) is heads  # kept


# What is refused


@pytest.mark.parametrize("lost", [0, 4])
def test_histories_with_different_continuations_cannot_share_a_state(lost):
    class Lossy(LiarsDice):
        def state(self, h):
            return tuple(column for k, column in enumerate(super().state(h)) if k != lost)

    with pytest.raises(ValueError, match=r"history .* have equal states, but different"):
        GraphGame.from_rules(Lossy(sides=2, memory=1))


def test_a_game_must_come_to_an_end():
    out = decision(0, "round and round", out=end(1.0))
    out.children["again"] = decision(0, "and back", again=out)
    with pytest.raises(ValueError, match="on a cycle"):
        GraphGame.from_history(out, state=id)


test_what_makes_no_graph_is_refused = refusals(
    (lambda: GraphGame.from_tree(games.kuhn_poker()), TypeError, "pass game.tree"),
    (lambda: GraphGame.from_rules(games.KuhnPoker()), TypeError, r"no method state\(h\)"),
    (lambda: GraphGame.from_history(fork()), TypeError, "pass a function as state"),
    (lambda: GraphGame.from_history(chance([0.5], a=end(1)), id), ValueError, "sum to 1"),
    (lambda: GraphGame.from_history(end(np.nan), id), ValueError, "finite"),
    (
        lambda: GraphGame.from_history(decision(0, "x", a=fork(), b=end("much", 0)), id),
        ValueError,
        "one number for each player, everywhere, got .* at history 'b'",
    ),
    (
        lambda: GraphGame.from_history(
            decision(0, "x", a=decision(0, "x", b=end(1)), b=end(1)), id
        ),
        ValueError,
        "has actions",
    ),
)


def test_a_graph_is_unfolded_on_the_tree_for_best_responses():
    behaviors = random_behaviors(DUDO)
    game = ImperfectRecallGame(GameTree.from_rules(Dudo(sides=2, memory=1)))
    profile = DUDO.to_tree_profile(behaviors, game)
    np.testing.assert_allclose(game.refinement.value(profile), DUDO.value(behaviors), atol=1e-15)

    with pytest.raises(ValueError, match="this graph has no information set"):
        DUDO.to_tree_profile(behaviors, games.dudo(sides=2))
    with pytest.raises(ValueError, match="not linear in the behaviors"):
        nash_conv(DUDO, behaviors)
    recalled = GraphGame.from_rules(Dudo(sides=3))  # information sets come in another order
    uniform = [simplices.uniform() for simplices in recalled.domains]
    unfolded, dudo = recalled.to_tree_profile(uniform, games.dudo(sides=3)), games.dudo(sides=3)
    np.testing.assert_allclose(dudo.value(unfolded), recalled.value(uniform), atol=1e-15)
    assert isinstance(dudo, ExtensiveFormGame)
    assert isinstance(rk.solve(DUDO, "cfr+", iterations=3).game, GraphGame)
