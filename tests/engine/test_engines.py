"""One iteration is the same in NumPy and compiled, from common states, in units of regret.

Sums have another order there, and iterations amplify rounding. Other modules compare the bits of
long runs where nothing is rounded, and of the kernels as plain Python and as machine code.
"""

from itertools import cycle

import numpy as np
import pytest
from engine_cases import (
    AVERAGINGS,
    KERNELS,
    RULES,
    apart,
    apart_in_payoffs,
    moved,
    orders,
    started,
)
from naive_games import random_game

from regretkit import CFR, ExtensiveFormGame, NormalFormGame, RegretMatching, SelfPlay, games
from regretkit.play import ExternalSampling


def random_tree(players, seed=0, **options):
    generator = np.random.default_rng([players, seed])
    return ExtensiveFormGame.from_history(random_game(generator, players, **options))


def normal_form(*sizes):
    generator = np.random.default_rng(sizes)
    return NormalFormGame(generator.normal(size=(len(sizes), *sizes)))


TIED = {"kuhn": games.kuhn_poker(), "leduc": games.leduc_poker(merge_suits=True)}
TWO_PLAYER_TREES = {"random tree": random_tree(2), "zero-sum tree": random_tree(2, zero_sum=True)}
OTHERS = {
    "tree for one": random_tree(1),
    "tree for three": random_tree(3),
    "tree for four": random_tree(4),
    "5": normal_form(5),
    "3 x 5": normal_form(3, 5),
    "1 x 4": normal_form(1, 4),
    "2 x 3 x 4": normal_form(2, 3, 4),
    "2 x 1 x 3 x 2": normal_form(2, 1, 3, 2),
}
GAMES = TIED | TWO_PLAYER_TREES | OTHERS | {"kuhn for three": games.kuhn_poker(players=3)}
FEW = ("rm+", "optimistic hedge")


def is_deep(name, rule):
    """Say whether machine code is made for nothing but this: the others share what they need.

    In the main suite are two kernels, which differ in what they are given, in one game, and one
    kernel in every game. Each kernel as plain Python is checked of its rule.
    """
    return rule != "rm+" and (name, rule) != ("kuhn", "drm")


def triples(names, rules):
    """Yield games, rules and orders, each with an averaging: all of these have their turn."""
    averagings = cycle(AVERAGINGS)
    for name in names:
        for rule in rules:
            marks = [pytest.mark.deep] * is_deep(name, rule)
            for order in orders(GAMES[name].players):
                yield pytest.param(name, rule, order, next(averagings), marks=marks)


ARGUMENTS = ("name", "rule", "order", "averaging")
each_of_some = pytest.mark.parametrize(
    ARGUMENTS,
    [
        *triples(["kuhn", "random tree"], KERNELS),
        *triples(["leduc"], list(KERNELS)[::3]),
        *triples(OTHERS, FEW),
    ],
)


# One iteration


def check_one_iteration(name, rule, order, averaging, distance=apart):
    game, worst = GAMES[name], 0.0
    run = started(game, RULES[rule], orders(game.players)[order], AVERAGINGS[averaging])
    for lead in (0, 0, 10):
        run.run(lead)
        compiled = moved(run, "compiled").run(1)
        worst = max(worst, distance(run.run(1), compiled))
        assert compiled.iteration == run.iteration
        for found, expected in (
            (run.last_profile, compiled.last_profile),
            (run.average, compiled.average),
        ):
            for x, y in zip(found, expected, strict=True):
                np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-15)
    assert worst <= 1e-12


@pytest.mark.deep_beyond(16)
@each_of_some
def test_one_iteration_from_a_common_state_is_the_same(name, rule, order, averaging):
    check_one_iteration(name, rule, order, averaging)


@pytest.mark.parametrize("rule", ["rm+", pytest.param("optimistic hedge", marks=pytest.mark.deep)])
def test_one_iteration_is_the_same_up_to_rounding_where_everything_is_tied(rule):
    # Three players in Kuhn poker: what begins as a regret of zero has no largest regret as a unit.
    check_one_iteration("kuhn for three", rule, "simultaneous", "last", apart_in_payoffs)


def test_sampled_iterations_are_the_same():
    runs = []
    for engine in ("numpy", "compiled"):
        players = [CFR(tree, RegretMatching) for tree in TIED["kuhn"].domains]
        sampling = ExternalSampling(np.random.default_rng(1))
        options = {"estimator": sampling, "averaging": AVERAGINGS["linear"], "engine": engine}
        runs.append(SelfPlay(TIED["kuhn"], players, **options).run(30))
    for found, expected in zip(*(run.average for run in runs), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-12)
