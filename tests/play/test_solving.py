"""One call from a game to a solution, and play against a best response."""

import numpy as np
import pytest
from naive_games import random_game
from refusals import refusals

import regretkit as rk
from regretkit import ExtensiveFormGame, SelfPlay, games, solve
from regretkit.evaluation import best_response, nash_conv
from regretkit.play import (
    Alternating,
    At,
    Recorder,
    geometric,
)

KUHN = games.kuhn_poker()
NAMES = ["cfr", "cfr+", "lcfr", "dcfr", "pcfr+"]


# Solving


# OpenSpiel's tests hold its algorithms to this; for its CFR-BR see below.
@pytest.mark.deep_beyond(4)
@pytest.mark.parametrize("engine", ["numpy", "compiled"])
@pytest.mark.parametrize(("name", "iterations"), [("cfr", 300), ("cfr+", 200), ("dcfr", 300)])
def test_the_value_of_kuhn_poker_is_found_as_fast_as_elsewhere(name, iterations, engine):
    run = solve(KUHN, name, iterations=iterations, engine=engine)

    assert KUHN.value(run.average)[0] == pytest.approx(-1 / 18, abs=1e-3)
    if name == "cfr+":
        assert nash_conv(KUHN, run.average) / 2 <= 1e-3


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.deep] * (name != "cfr+")) for name in NAMES]
)
@pytest.mark.parametrize("target", [0.1, 1e-3])
def test_a_target_ends_the_run_at_the_first_look_that_meets_it(name, target):
    # It looks whenever the run has grown by a twentieth.
    look = Recorder({"gap": lambda run: nash_conv(run.game, run.average)})

    run = solve(KUHN, name, target_gap=target, callbacks=[At(geometric(1.05), look)])

    assert look.iterations[-1] == run.iteration
    *previous, last = look.values["gap"]
    assert last <= target < min(previous)


def test_iterations_are_the_most_there_are():
    assert solve(KUHN, target_gap=1e-9, iterations=7).iteration == 7
    assert solve(KUHN, target_gap=10.0, iterations=7).iteration == 1
    assert solve(KUHN, iterations=0).iteration == 0


test_what_cannot_be_solved_is_refused = refusals(
    ({}, ValueError, "pass iterations, target_gap or time_limit"),
    ({"game": "nosuch", "iterations": 1}, TypeError, r"game must be a Game.*games\.load\("),
    ({"game": 3, "exact": True}, TypeError, "game must be a Game, got 3"),
    ({"exact": True, "iterations": 3}, ValueError, "exact=True supports"),
    ({"iterations": -1}, ValueError, "iterations must be a whole number, at least 0"),
    ({"target_gap": 0.0}, ValueError, "target must be"),
    ({"algorithm": "dcfrs", "iterations": 1}, ValueError, "did you mean 'dcfr'"),
    call=lambda arguments: solve(**({"game": KUHN} | arguments)),
)


# Against a best response


@pytest.mark.parametrize(("iterations", "error"), [(300, 2e-3), (600, 1e-3)])
def test_cfr_against_best_responses_finds_the_value_of_kuhn_poker(iterations, error):
    # CFR-BR: the one who answers best moves first, so that CFR learns from the answer to x_t. Each
    # side is trained so for itself, and then both meet. OpenSpiel's test asks for 1e-3 after 300,
    # but which of several best answers is taken decides more than that: betting instead of passing
    # in case of doubt, the error is 0.8e-3; it is 1.2e-3 the way it is done here.
    trained = []
    for side in (0, 1):
        players = [rk.CFR(tree, rk.RegretMatching) for tree in KUHN.domains]
        players[1 - side] = rk.BestResponse(KUHN.domains[1 - side])
        run = SelfPlay(KUHN, players, order=Alternating(first=1 - side)).run(iterations)
        trained.append(run.average[side])

    assert KUHN.value(trained)[0] == pytest.approx(-1 / 18, abs=error)
    assert nash_conv(KUHN, trained) / 2 <= 0.05


def test_a_best_response_answers_what_it_last_saw():
    generator = np.random.default_rng(2)
    game = ExtensiveFormGame.from_history(random_game(generator))
    players = [rk.CFR(game.domains[0], rk.RegretMatching), rk.BestResponse(game.domains[1])]
    run = SelfPlay(game, players, order=Alternating(first=1))

    for _ in range(5):
        seen = run.current
        run.run(1)

        expected = best_response(game, 1, seen)[1]
        np.testing.assert_array_equal(run.current[1], expected)
