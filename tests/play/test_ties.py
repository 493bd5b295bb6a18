"""Exact ties stay exact: rounding is never played, whichever engine runs."""

from functools import cache

import naive_precise
import numpy as np
import pytest
from naive_games import chance, decision, end

import regretkit as rk
from regretkit.games import ExtensiveFormGame, GameTree, load, matrix_game

ENGINES = ("numpy", "compiled")
GAMES = (
    "kuhn_poker(deck=5)",
    "kuhn_poker(deck=5) / 3",
    "kuhn_poker(deck=7)",
    "kuhn_poker(players=3)",
    "oshi_zumo / 3",
    "goofspiel(4, information='hidden') / 3",
    "goofspiel(3, order='random', information='hidden')",
    "goofspiel(3, players=3) / 3",
    "battleship",
)
LARGE_GAMES = (
    "oshi_zumo",
    "goofspiel(4, information='hidden')",
    "goofspiel(4)",
    "goofspiel(4) / 3",
    "goofspiel(4, order='random', information='hidden')",
    "liars_dice(sides=3)",
    "dudo(sides=3)",
    "leduc_poker(ranks=2)",
    "leduc_poker(ranks=2) / 3",
)


def game_of(text: str) -> ExtensiveFormGame:
    """Return a game by name, with payoffs divided by 3 where that is written behind it."""
    name, _, divisor = text.partition(" / ")
    game = load(name)
    assert isinstance(game, ExtensiveFormGame)
    if divisor:
        tree = game.tree
        game = ExtensiveFormGame(divided(tree, float(divisor)))
    return game


def divided(tree: GameTree, divisor: float) -> GameTree:
    """Return a tree with payoffs divided."""
    tree = GameTree.from_history(rk.games.as_history(ExtensiveFormGame(tree)))
    object.__setattr__(tree, "payoffs", tree.payoffs / divisor)
    return tree


@cache
def expected(text: str, algorithm: str) -> list[float]:
    """Return NashConv of the average in 60 digits, for 20 iterations."""
    game = naive_precise.PreciseGame(game_of(text))
    return list(naive_precise.nash_convs(game, algorithm, 20))


def assert_as_exact(text: str, algorithm: str, engine: str) -> None:
    """Require NashConv of the average after each of 20 iterations."""
    game = game_of(text)
    run = rk.solve(game, algorithm, iterations=1, engine=engine)
    for t, exact in enumerate(expected(text, algorithm), start=1):
        if t > 1:
            run.run(1)
        assert rk.nash_conv(game, run.average) == pytest.approx(exact, abs=1e-9, rel=0.0), t


@pytest.mark.deep_beyond(1)
@pytest.mark.parametrize("algorithm", naive_precise.POWERS)
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "text", [*GAMES, *(pytest.param(text, marks=pytest.mark.slow) for text in LARGE_GAMES)]
)
def test_twenty_iterations_are_those_of_sixty_digits(text, engine, algorithm):
    assert_as_exact(text, algorithm, engine)


@pytest.mark.deep_beyond(1)
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("algorithm", naive_precise.POWERS)
def test_terms_that_cancel_up_to_rounding_are_not_played(algorithm, engine):
    assert 0.1 / 3 + 0.2 / 3 - 0.3 / 3 != 0.0
    game = matrix_game([[0.1, 0.2, -0.3], [0.0, 0.0, 0.0]])
    run = rk.solve(game, algorithm, iterations=1, engine=engine)
    assert run.current[0].tolist() == [0.5, 0.5]


@pytest.mark.deep_beyond(1)
@pytest.mark.parametrize("engine", ENGINES)
def test_regrets_of_rare_decisions_are_not_taken_for_rounding(engine):
    # Chance comes to the right half with probability 1e-20; there the first action pays.
    left = decision(0, "left", first=end(0.0, 0.0), second=end(1.0, -1.0))
    right = decision(0, "right", first=end(1.0, -1.0), second=end(0.0, 0.0))
    game = ExtensiveFormGame.from_history(chance([1.0, 1e-20], left=left, right=right))
    run = rk.solve(game, "cfr+", iterations=3, engine=engine)
    assert run.current[0][1:].tolist() == [0.0, 1.0, 1.0, 0.0]


def test_a_regret_is_zero_where_it_is_rounding_beside_what_was_added():
    simplices = rk.sets.Simplices(3)
    utility = np.array([1.0, np.nextafter(1.0, 2.0), 0.5])
    strategy = np.array([0.5, 0.5, 0.0])
    regret = simplices.regret(utility, strategy)
    assert regret.tolist() == [0.0, 0.0, -0.5]
    assert simplices.regret(utility * 2.0**900, strategy).tolist() == [0.0, 0.0, -0.5 * 2.0**900]


def test_regrets_that_cancel_add_up_to_zero_and_small_ones_are_kept():
    simplices = rk.sets.Simplices(3)
    added = simplices.add(np.array([0.1 + 0.2, 1.0, 1e-300]), np.array([-0.3, -1.0 + 1e-12, 0.0]))
    assert added[0] == 0.0
    assert added[1] == pytest.approx(1e-12, rel=1e-3)
    assert added[2] == 1e-300


@pytest.mark.deep_beyond(2)
@pytest.mark.parametrize("players", [2, 3])
@pytest.mark.parametrize("engine", ENGINES)
def test_small_payoffs_of_a_normal_form_are_not_taken_for_rounding(engine, players):
    # The others avoid an outcome in which both actions pay 1; elsewhere one of them pays 1e-17.
    payoffs = np.zeros((players, *[2] * players))
    payoffs[0, 0, ...] = 1e-17
    payoffs[(0, slice(None)) + (1,) * (players - 1)] = 1.0
    for opponent in range(1, players):
        np.moveaxis(payoffs[opponent], opponent, 0)[1] = -1.0
    run = rk.solve(rk.NormalFormGame(payoffs), "cfr+", iterations=3, engine=engine)
    assert run.current[1].tolist() == [1.0, 0.0]
    assert run.current[0].tolist() == [1.0, 0.0]
