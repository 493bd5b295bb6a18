"""Payoffs as machine code goes through them, and one iteration, in random games of every shape."""

import numpy as np
import pytest
from attrs import evolve
from engine_cases import RULES, apart, moved, orders, rules_of, started
from factories import random_behavior
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_games import Node, chance, decision, end, random_game

import regretkit as rk
from regretkit import ExtensiveFormGame, NormalFormGame
from regretkit.play import Simultaneous

# Games with special payoffs: equal ones, none at all, players without decisions

PAYOFFS = {
    "any": lambda numbers: numbers,
    "few": lambda numbers: np.sign(np.rint(numbers)),
    "none": np.zeros_like,
    "tiny": lambda numbers: 1e-200 * numbers,
    "huge": lambda numbers: 1e90 * numbers,
    "of one player": lambda numbers: numbers * (np.arange(len(numbers)) == 0),
}


def changed(node, payoffs, spectator):
    """Return a game with other payoffs, and perhaps with one more player, who never moves."""
    children = {name: changed(child, payoffs, spectator) for name, child in node.children.items()}
    earned = np.array(node.earned)
    if node.earned and spectator:
        earned = np.append(earned, earned.sum())
    return evolve(node, children=children, earned=tuple(payoffs(earned)) if node.earned else ())


@st.composite
def trees(draw):
    players, depth = draw(st.integers(1, 4)), draw(st.integers(0, 5))
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    spectator = players < 4 and draw(st.booleans())
    root = random_game(generator, players, depth)
    return ExtensiveFormGame.from_history(
        changed(root, PAYOFFS[draw(st.sampled_from(sorted(PAYOFFS)))], spectator)
    )


@st.composite
def normal_forms(draw):
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    payoffs = generator.normal(size=(len(sizes), *sizes))
    if draw(st.booleans()):  # the same action twice
        axis = draw(st.integers(1, len(sizes)))
        payoffs = np.concatenate([payoffs, payoffs.take([0], axis=axis)], axis=axis)
    return NormalFormGame(
        np.apply_along_axis(PAYOFFS[draw(st.sampled_from(sorted(PAYOFFS)))], 0, payoffs)
    )


GAMES = st.one_of(trees(), normal_forms())


def strategies_of(game, generator):
    """Return a strategy for each player, and the distributions that it is made of."""
    profile, behaviors = [], []
    for domain in game.domains:
        simplices = domain.simplices if isinstance(domain, rk.DecisionTree) else domain
        behaviors.append(random_behavior(generator, simplices))
        trees = isinstance(domain, rk.DecisionTree)
        profile.append(domain.sequence_form(behaviors[-1]) if trees else behaviors[-1])
    return profile, behaviors


def assert_worth(found, expected, game):
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-12 * np.abs(game.payoffs).sum())


@settings(max_examples=60)
@given(game=GAMES, seed=st.integers(0, 2**32 - 1))
def test_decision_points_are_worth_what_the_game_says(game, seed):
    profile, behaviors = strategies_of(game, np.random.default_rng(seed))
    run = started(game, RULES["rm+"], Simultaneous, engine="compiled")
    for rule, behavior in zip(rules_of(run), behaviors, strict=True):
        state = rule.state_dict()
        state["regrets"] = behavior
        rule.load_state_dict(state)

    run.run(1)

    for player, (minimizer, domain) in enumerate(zip(run.minimizers, game.domains, strict=True)):
        utility = game.utility(player, profile)
        if isinstance(domain, rk.DecisionTree):
            _, expected = domain.counterfactual(utility, behaviors[player])
            for point in range(domain.points):
                block = domain.simplices.block(point)
                assert_worth(minimizer[point].utilities, expected[block], game)
        else:
            regret = np.maximum(behaviors[player] + domain.regret(utility, profile[player]), 0.0)
            assert_worth(minimizer.regrets, regret, game)


@settings(max_examples=60)
@given(game=GAMES, seed=st.integers(0, 2**32 - 1), data=st.data())
@pytest.mark.parametrize("rule", ["rm+", pytest.param("optimistic hedge", marks=pytest.mark.deep)])
def test_one_iteration_from_any_state_is_the_same(rule, game, seed, data):
    # A state without ties, for any payoffs
    generator = np.random.default_rng(seed)
    size = max(np.abs(game.payoffs).max(), 1e-100)
    run = started(
        game,
        RULES[rule],
        orders(game.players)[data.draw(st.sampled_from(sorted(orders(game.players))))],
    )
    for rule_of_player in rules_of(run):
        state = rule_of_player.state_dict()
        state["regrets"] = size * generator.uniform(1.0, 2.0, size=rule_of_player.dimension)
        rule_of_player.load_state_dict(state)
    compiled = moved(run, "compiled").run(1)
    assert apart(run.run(1), compiled) <= 1e-12
    for x, y in zip(run.current, compiled.current, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-10, atol=1e-12)


# Corner cases

NO_MOVE = end(3.0, -3.0)
ONE_ACTION = decision(0, "a", only=decision(1, "b", only=end(1.0, 2.0)))
ONLY_CHANCE = chance([0.25, 0.75], left=end(1.0, -1.0), right=end(0.0, 5.0))
ONE_DECIDES = decision(1, "b", left=end(1.0, -1.0), right=end(0.0, 5.0))


@pytest.mark.parametrize("root", [NO_MOVE, ONE_ACTION, ONLY_CHANCE, ONE_DECIDES])
def test_games_in_which_there_is_little_to_decide_are_played(root):
    game = ExtensiveFormGame.from_history(root)
    run = started(game, RULES["rm+"], engine="compiled").run(10)
    reference = started(game, RULES["rm+"]).run(10)
    np.testing.assert_array_equal(game.value(run.average), game.value(reference.average))
    for found, expected in zip(rules_of(run), rules_of(reference), strict=True):
        np.testing.assert_array_equal(found.regrets, expected.regrets)


def twins(node):
    """Return a game with every last move of players 0 and 1 twice over, which changes nothing."""
    children = {name: twins(child) for name, child in node.children.items()}
    if children and node.acting >= 0 and all(child.is_terminal() for child in children.values()):
        children |= {f"{name} again": child for name, child in children.items()}
    return Node(children, node.acting, node.label, node.chances, node.earned)


@pytest.mark.deep_beyond(1)
def test_equal_actions_are_merged_and_come_out_as_equals():
    simple = decision(0, "a", up=end(1.0, -1.0), down=end(-2.0, 2.0))
    hidden = decision(
        0,
        "a",
        up=decision(1, "b", l=end(3.0, 1.0), r=end(0.0, 0.0)),
        down=decision(1, "b", l=end(1.0, 0.0), r=end(2.0, 4.0)),
    )
    for root in (simple, hidden):
        game = ExtensiveFormGame.from_history(twins(root))
        run = started(game, RULES["optimistic hedge"], engine="compiled").run(30)
        for strategy, domain in zip(run.average, game.domains, strict=True):
            for point in range(domain.points):
                behavior = strategy[1:][domain.simplices.block(point)]
                if behavior.size == 4:
                    np.testing.assert_array_equal(behavior[:2], behavior[2:])
