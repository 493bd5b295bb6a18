"""Payoffs as machine code goes through them, and one iteration, in random games of every shape."""

import numpy as np
import pytest
from attrs import evolve
from engine_cases import RULES, assert_alike, orders, rules_of, started
from factories import random_behavior
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_games import random_game

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
    order = orders(game.players)[data.draw(st.sampled_from(sorted(orders(game.players))))]
    runs = [started(game, RULES[rule], order, engine=e) for e in ("compiled", "numpy")]
    for rules in zip(*map(rules_of, runs), strict=True):
        state = rules[0].state_dict()
        state["regrets"] = size * generator.uniform(1.0, 2.0, size=rules[0].dimension)
        for each in rules:
            each.load_state_dict(state)
    assert_alike(*(run.run(1) for run in runs))
