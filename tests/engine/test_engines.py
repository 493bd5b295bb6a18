"""The ways to run self-play agree: what one iteration does, and what a hundred of them come to.

Rounding is amplified by iteration, and where two actions are worth exactly the same, sums in
another order even decide which of them is played. So one iteration is compared from common states,
in units of regret; and a hundred by the gap of the average, in games whose numbers are random. In
Kuhn and Leduc poker, which are full of ties, as far as the order of sums decides nothing.
"""

from itertools import cycle

import numpy as np
import pytest
from engine_cases import (
    AVERAGINGS,
    DISCOUNTED,
    FAST,
    KERNELS,
    RULES,
    apart,
    apart_in_payoffs,
    gap,
    moved,
    orders,
    started,
    switching,
)
from naive_games import random_game
from test_trajectories import rounded_otherwise

from regretkit import ExtensiveFormGame, NormalFormGame, games


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
        moved_runs = [moved(run, engine).run(1) for engine in FAST]
        run.run(1)
        for moved_run in moved_runs:
            worst = max(worst, distance(run, moved_run))
            assert moved_run.iteration == run.iteration
            for found, expected in (
                (run.last_profile, moved_run.last_profile),
                (run.average, moved_run.average),
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
    check_one_iteration("kuhn for three", rule, "simultaneous", "linear", apart_in_payoffs)


# A hundred

# Regret falls back to exactly zero here, for both actions of a decision point. NumPy leaves no
# rounding there; "compiled" does not look.
DECIDED_BY_ROUNDING = {("kuhn", "prm", "random")}


def spread(game, rule, order, averaging):
    """Return how far the gap differs when payoffs are rounded otherwise."""
    gaps = []
    for seed in range(8):
        rounded = rounded_otherwise(game, seed)
        gaps.append(gap(started(rounded, rule, order, averaging).run(100)))
    return np.ptp(gaps)


def check_a_hundred_iterations(name, rule, order, averaging):
    game = GAMES[name]
    parts = (RULES[rule], orders(game.players)[order], AVERAGINGS[averaging])
    expected = gap(started(game, *parts).run(100))
    found = [gap(started(game, *parts, engine).run(100)) for engine in FAST]
    found.append(gap(switching(game, *parts)))

    # Where a last iterate is an equilibrium, what is left of its gap is rounding.
    allowed = (1e-3 if rule in DISCOUNTED else 1e-9) * expected + 1e-13
    if name in TIED and np.abs(np.array(found) - expected).max() > allowed:
        # A sample of all orders: some decide ten times as much as those that were tried.
        allowed += 10.0 * spread(game, *parts)
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=allowed)


@pytest.mark.deep_beyond(16)
@each_of_some
def test_a_hundred_iterations_come_to_the_same_gap(name, rule, order, averaging):
    if (name, rule, order) not in DECIDED_BY_ROUNDING:
        check_a_hundred_iterations(name, rule, order, averaging)


@pytest.mark.parametrize(("name", "rule", "order"), DECIDED_BY_ROUNDING)
def test_no_regret_that_fell_back_to_zero_is_rounding(name, rule, order):
    run, found = started(GAMES[name], RULES[rule], orders(2)[order]), False
    for _ in range(100):
        run.run(1)
        for minimizer in run.minimizers:
            for point in range(minimizer.tree.points):
                local = minimizer[point]
                regret = np.abs(local.state["regrets"]).max()
                found |= 0.0 < regret < 1e-14 * np.abs(local.utilities).max()
    assert not found


@pytest.mark.deep
@pytest.mark.parametrize("order", ["simultaneous", "from 2"])
def test_rules_that_never_jump_come_to_the_same_gap_where_everything_is_tied(order):
    check_a_hundred_iterations("kuhn for three", "optimistic hedge", order, "uniform")


# Everything


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", [*TIED, *TWO_PLAYER_TREES, *OTHERS])
def test_every_triple_agrees(name, rule):
    for order in orders(GAMES[name].players):
        check_one_iteration(name, rule, order, "linear")
        if (name, rule, order) not in DECIDED_BY_ROUNDING:
            for averaging in AVERAGINGS:
                check_a_hundred_iterations(name, rule, order, averaging)
