"""Game DAGs have the utilities and values of the tree."""

import itertools

import numpy as np
import pytest
from naive_games import Node, chance, decision, end, random_game, random_profile
from refusals import refusals

from regretkit import ExtensiveFormGame, games
from regretkit.games import (
    CHANCE,
    Dudo,
    GameDAG,
    GameTree,
    ImperfectRecallGame,
    LiarsDice,
    as_history,
)

CATALOGUE = {
    "kuhn of three": games.kuhn_poker(3),
    "leduc": games.leduc_poker(),
    "liars dice": games.liars_dice(sides=3),
    "dudo": games.dudo(sides=3),
    "goofspiel": games.goofspiel(3),
}


def random_behaviors(graph, seed=0):
    generator = np.random.default_rng(seed)
    return [
        simplices.normalize(generator.exponential(size=simplices.dimension))
        for simplices in graph.simplices
    ]


# Perfect recall


def assert_same_utilities(graph, game, behaviors):
    """Compare with the counterfactual utilities of the tree, and the sequence form."""
    profile = [d.sequence_form(b) for d, b in zip(game.domains, behaviors, strict=True)]
    for player, (domain, behavior) in enumerate(zip(game.domains, behaviors, strict=True)):
        expected_value, expected = domain.counterfactual(game.utility(player, profile), behavior)
        utility, _, value = graph.utility(player, behaviors)
        np.testing.assert_allclose(utility, expected, atol=1e-12)
        assert value == pytest.approx(expected_value, abs=1e-12)


@pytest.mark.parametrize("game", CATALOGUE.values(), ids=CATALOGUE)
def test_utilities_are_those_on_the_tree(game):
    graph = GameDAG.from_tree(game.tree)
    assert graph.nodes < game.tree.histories
    assert_same_utilities(graph, game, random_behaviors(graph))
    assert_same_utilities(graph, game, [simplices.uniform() for simplices in graph.simplices])


@pytest.mark.parametrize("seed", range(6))
def test_so_they_are_in_random_games(seed):
    generator = np.random.default_rng(seed)
    game = ExtensiveFormGame.from_history(random_game(generator, 2 + seed % 2))
    _, behavior = random_profile(generator, game)
    behaviors = [
        np.concatenate([[], *(behavior[player, label] for label in game.tree.labels[player])])
        for player in range(game.players)
    ]
    assert_same_utilities(GameDAG.from_tree(game.tree), game, behaviors)


@pytest.mark.parametrize(
    ("root", "game"),
    [(Dudo(sides=3), "dudo"), (LiarsDice(sides=3), "liars dice")],
    ids=["dudo", "liars dice"],
)
def test_a_graph_by_the_rules_is_unfolded_to_a_profile_of_the_same_value(root, game):
    # Numbers of information sets may come in another order.
    graph, game = GameDAG.from_history(root), CATALOGUE[game]
    behaviors = random_behaviors(graph)
    found = [graph.utility(player, behaviors)[2] for player in (0, 1)]
    profile = graph.to_tree_profile(behaviors, game)
    assert found == pytest.approx(game.value(profile).tolist(), abs=1e-12)


# Imperfect recall


def naive_value(tree, player, behaviors):
    """Sum over all histories: of the others' way there times what follows, and of one's own way."""
    first = [np.cumsum(sizes) - sizes for sizes in tree.sizes]
    children = [[] for _ in range(tree.histories)]
    for history, parent in enumerate(tree.parent):
        if parent >= 0:
            children[parent].append(history)
    ends = dict(zip(tree.terminals.tolist(), tree.payoffs, strict=True))
    utility, reach = np.zeros(behaviors[player].size), np.zeros(behaviors[player].size)

    def visit(history, reach_of_others, own_reach):
        if history in ends:
            return ends[history][player]
        mover, expected_mean = tree.player[history], 0.0
        for child in children[history]:
            if mover == CHANCE:
                p = tree.probability[child]
                expected_mean += p * visit(child, reach_of_others * p, own_reach * p)
                continue
            place = first[mover][tree.information_set[history]] + tree.action[child]
            p = behaviors[mover][place]
            if mover != player:
                expected_mean += p * visit(child, reach_of_others * p, own_reach)
                continue
            value_of_child = visit(child, reach_of_others, own_reach * p)
            utility[place] += reach_of_others * value_of_child
            reach[place] += own_reach
            expected_mean += p * value_of_child
        return expected_mean

    value = visit(0, 1.0, 1.0)
    return utility, reach, value


@pytest.mark.deep_beyond(6)
@pytest.mark.parametrize("memory", [1, 2, None])
@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize("make", [Dudo, LiarsDice])
def test_the_utility_of_a_merged_node_is_the_sum_over_its_histories(make, memory, player):
    root = make(sides=3, memory=memory)
    tree = GameTree.from_history(as_history(root))
    for graph in (GameDAG.from_tree(tree), GameDAG.from_history(root)):
        behaviors = random_behaviors(graph)
        order = [
            np.concatenate(
                [behavior.coordinates([behavior.labels.find(label)]) for label in labels]
            )
            for behavior, labels in zip(graph.simplices, tree.labels, strict=True)
        ]
        on_tree = [behavior[places] for behavior, places in zip(behaviors, order, strict=True)]

        expected = naive_value(tree, player, on_tree)
        utility, reach, value = graph.utility(player, behaviors)
        np.testing.assert_allclose(utility[order[player]], expected[0], atol=1e-12)
        np.testing.assert_allclose(reach[order[player]], expected[1], rtol=1e-12)
        assert value == pytest.approx(expected[2], abs=1e-12)
        assert graph.nodes < tree.histories / (1 if memory is None else 2)


def fork():
    """Return a game whose second decision lacks the player's first action, and two paths to it."""

    def continuation(payoffs):
        return decision(1, "other", l=end(*payoffs[0]), r=end(*payoffs[1]))

    answer = decision(
        0, "again", x=continuation([(4, -4), (0, 0)]), y=continuation([(-2, 2), (6, -6)])
    )
    return decision(0, "first", a=answer, b=answer, c=end(1, -1))


def test_a_small_fork_is_what_comes_out_by_hand():
    graph = GameDAG.from_history(fork(), state=id)
    assert graph.nodes == 9  # the fork, the decision after it, two of the other's, five ends
    first, second, answers = [0.5, 0.25, 0.25], [0.75, 0.25], [0.5, 0.5]
    behaviors = [np.array(first + second), np.array(answers)]

    utility, reach, value = graph.utility(0, behaviors)
    # After x it earns 2 and after y 2 as well; there are two ways to it, each its own.
    assert utility.tolist() == [2.0, 2.0, 1.0, 4.0, 4.0]
    assert reach.tolist() == [1.0, 1.0, 1.0, 0.75, 0.75]
    assert value == 0.75 * 2.0 + 0.25 * 1.0
    utility, reach, value = graph.utility(1, behaviors)
    # Player 0 comes to x with probability 9/16, to y with 3/16; player 1 has two ways to each.
    assert utility.tolist() == [-4 * 9 / 16 + 2 * 3 / 16, -6 * 3 / 16]
    assert reach.tolist() == [4.0, 4.0]
    assert value == -1.75


# How many there are


@pytest.mark.parametrize("memory", [1, 2, 3, None])
def test_there_is_a_state_for_each_thing_that_still_matters(memory):
    def walk(history):
        terminal = history.is_terminal()
        columns = [] if terminal else map(np.ravel, history.rules.state(history.h))
        state = tuple(number for column in columns for number in column.tolist())
        yield tuple(history.payoffs()) if terminal else ("state", *state)
        if not terminal:
            drawn = history.player() == CHANCE
            moves = history.chance_outcomes() if drawn else zip(history.actions())
            for action, *_ in moves:
                yield from walk(history.child(action))

    root = as_history(Dudo(sides=2, memory=memory))
    graph = GameDAG.from_history(root)
    assert graph.nodes == len(set(walk(root)))
    assert graph.players == 2
    # Every move leads to a later level.
    level = np.searchsorted(graph.levels, np.arange(graph.nodes), side="right")
    edges = graph.full.edges
    assert (level[edges.child] > level[edges.source]).all()


def test_no_graph_is_smaller_than_that_of_the_tree():
    root = Dudo(sides=3, memory=1)
    tree = GameTree.from_rules(root)
    assert GameDAG.from_tree(tree).nodes <= GameDAG.from_history(root).nodes


def test_six_sides_shrink_to_a_few_thousand_states():
    # Dice, what is remembered and whose turn it is: 36 rolls, and 2 of 13 claims and "dudo" at most
    graph = GameDAG.from_history(Dudo(memory=2))
    assert graph.nodes < 1 + 6 + 36 * 2 * (1 + 12 + 12 * 11 / 2) + 2
    assert graph.nodes < games.liars_dice().tree.histories / 60


# What chance leaves


class Grid:
    """Draws the numbers that it is given."""

    def __init__(self, numbers):
        self.numbers = list(numbers)

    def random(self):
        return self.numbers.pop(0)


@pytest.mark.parametrize(
    ("graph", "draws", "steps"),
    [
        (GameDAG.from_tree(games.kuhn_poker().tree), 2, 6),
        (GameDAG.from_history(Dudo(sides=2, memory=1)), 2, 2),
    ],
    ids=["kuhn", "dudo"],
)
def test_what_chance_leaves_has_the_mean_of_the_whole(graph, draws, steps):
    behaviors = random_behaviors(graph)
    numbers = [(step + 0.5) / steps for step in range(steps)]
    for player in range(graph.players):
        found = [
            graph.utility(player, behaviors, graph.sample_chance(Grid(drawn)))
            for drawn in itertools.product(numbers, repeat=draws)
        ]
        whole = graph.utility(player, behaviors)
        for actual, expected in zip(zip(*found, strict=True), whole, strict=True):
            np.testing.assert_allclose(np.mean(actual, axis=0), expected, atol=1e-12)


def test_chance_in_the_middle_of_a_game_is_drawn_once_in_each_state():
    late = chance([0.25, 0.75], h=end(4.0), t=end(0.0))
    root = chance([0.5, 0.5], u=decision(0, "u", x=late, y=late), d=decision(0, "d", x=end(1.0)))
    graph = GameDAG.from_history(root, state=id)

    up_heads, up_tails = (graph.sample_chance(Grid([0.1, coin])) for coin in (0.2, 0.3))
    vertical = graph.sample_chance(Grid([0.9]))
    uniform = [simplices.uniform() for simplices in graph.simplices]
    for part, expected in ((up_heads, [4, 4, 0]), (up_tails, [0, 0, 0]), (vertical, [0, 0, 1])):
        assert graph.utility(0, uniform, part)[0].tolist() == expected
    assert graph.sample_chance(Grid([0.1, 0.2])) is up_heads  # kept


def test_a_game_without_chance_is_left_as_it_is():
    graph = GameDAG.from_history(fork(), state=id)
    behaviors, part = random_behaviors(graph), graph.sample_chance(Grid([]))
    np.testing.assert_equal(graph.utility(0, behaviors, part), graph.utility(0, behaviors))


# What is refused


def test_histories_with_different_continuations_cannot_share_a_state():
    def columns(history):
        return history.h.deal[0].tolist(), history.h.said[0].tolist(), history.h.length

    def forgetting_the_other_die(history):
        deal, said, length = columns(history)
        return (deal[length % 2], *said, length) if length > 1 else (*deal, length)

    for forgetting in (
        forgetting_the_other_die,
        lambda h: h.h.length,
        lambda h: (min(h.h.length, 2), *columns(h)[1]),
        lambda h: (*columns(h)[0], h.h.length),
    ):
        with pytest.raises(ValueError, match=r"two histories of one state, .* differ: "):
            GameDAG.from_history(Dudo(sides=3), forgetting)


@pytest.mark.parametrize("lost", [0, 4])
def test_nor_are_those_of_rules_whose_state_lacks_a_column(lost):
    class Lossy(LiarsDice):
        def state(self, h):
            return tuple(column for k, column in enumerate(super().state(h)) if k != lost)

    with pytest.raises(ValueError, match=r"two histories of one state, .* differ: .* may have"):
        GameDAG.from_history(Lossy(sides=2, memory=1))


def test_masks_may_have_different_numbers_of_columns():
    class Padded(LiarsDice):
        def legal(self, h):
            legal = super().legal(h)
            return np.pad(legal, [(0, 0)] * (legal.ndim - 1) + [(0, 20 * (h.length % 2))])

    rules = {"sides": 3, "memory": 1}
    assert (
        GameDAG.from_history(Padded(**rules)).nodes
        == GameDAG.from_history(LiarsDice(**rules)).nodes
    )


def test_levels_and_histories_make_the_same_graph():
    level = LiarsDice(sides=3, memory=2)
    from_level = GameDAG.from_history(level)
    # One after the other: the same rules, and the dice, the last bids and the turn as a key
    keys = {}

    def state(history):
        columns = map(np.ravel, history.rules.state(history.h))
        return keys.setdefault(tuple(x for column in columns for x in column.tolist()), len(keys))

    from_history = GameDAG.from_history(as_history(level), state)
    assert from_level.nodes == from_history.nodes
    assert from_level.levels.tolist() == from_history.levels.tolist()
    assert [simplices.blocks for simplices in from_level.simplices] == [48, 48]


def test_two_dice_each_fit_into_a_graph_but_into_no_tree():
    with pytest.raises(MemoryError):
        games.liars_dice(dice=2)
    graph = GameDAG.from_history(LiarsDice(dice=2, sides=4, memory=1))
    assert graph.nodes < 2**15
    uniform = [simplices.uniform() for simplices in graph.simplices]
    first, second = (graph.utility(player, uniform)[2] for player in (0, 1))
    assert first == pytest.approx(-second, abs=1e-12)


def test_a_game_must_come_to_an_end():
    circle = Node(acting=0, label="round and round")
    back = Node(acting=0, label="and back")
    circle.children["again"], circle.children["out"] = back, end(1.0)
    back.children["again"] = circle
    with pytest.raises(ValueError, match="on a cycle"):
        GameDAG.from_history(circle, state=id)


test_what_makes_no_graph_is_refused = refusals(
    (lambda: GameDAG.from_tree(games.kuhn_poker()), TypeError, "pass game.tree"),
    (lambda: GameDAG.from_history(games.kuhn_poker()), TypeError, "return a key"),
    (lambda: GameDAG.from_history(Dudo(), 3), TypeError, "return a key"),
    (lambda: GameDAG.from_history("dudo"), TypeError, "game must be"),
    (lambda: GameDAG.from_history(chance([0.5], a=end(1)), id), ValueError, "sum to 1"),
    (
        lambda: GameDAG.from_history(decision(0, "x", a=decision(0, "x", b=end(1)), b=end(1)), id),
        ValueError,
        "has different actions",
    ),
    (
        lambda: GameDAG.from_history(decision(1, "x", a=end(1)), id),
        ValueError,
        "each needs a payoff",
    ),
    (
        lambda: GameDAG.from_history(decision(-7, "here", a=end(0)), id),
        ValueError,
        r"player\(\) must be a player, numbered from 0, .* got -7",
    ),
)


def test_a_game_of_other_information_sets_is_no_place_to_unfold():
    graph = GameDAG.from_history(Dudo(sides=2, memory=1))
    behaviors = [simplices.uniform() for simplices in graph.simplices]

    with pytest.raises(ValueError, match="which this graph does not have"):
        graph.to_tree_profile(behaviors, games.dudo(sides=2))
    with pytest.raises(TypeError, match="extensive form"):
        graph.to_tree_profile(behaviors, games.chicken())
    imperfect = ImperfectRecallGame(GameTree.from_rules(Dudo(sides=2, memory=1)))
    profile = graph.to_tree_profile(behaviors, imperfect)
    value = graph.utility(0, behaviors)[2]
    assert imperfect.refinement.value(profile)[0] == pytest.approx(value, abs=1e-15)
