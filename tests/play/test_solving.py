"""One call from a game to a solution, and play against a best response."""

import numpy as np
import pytest
from naive_games import decision, end, random_game
from refusals import refusals

import regretkit as rk
from regretkit import ExtensiveFormGame, NormalFormGame, SelfPlay, games, solve
from regretkit.evaluation import best_response, nash_conv
from regretkit.play import (
    Algorithm,
    Alternating,
    At,
    Averaging,
    ChanceSampling,
    Power,
    Recorder,
    geometric,
)

KUHN = games.kuhn_poker()
NAMES = ["cfr", "cfr+", "lcfr", "dcfr", "pcfr+"]


class WholeHorizon(Averaging):
    """Count only the iteration that the run was planned to end with."""

    def weight(self, t, horizon):
        return float(t == horizon)


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


def test_a_target_alone_is_enough_where_payoffs_have_a_constant_sum():
    matrix = np.array([[3.0, 0.0, -3.0], [0.0, 3.0, -4.0], [0.0, 0.0, 1.0]])

    run = solve(NormalFormGame([matrix, 7.0 - matrix]), "cfr+", target_gap=1e-3)

    assert run.game.value(run.average) == pytest.approx([0.25, 6.75], abs=1e-3)


def test_an_algorithm_of_ones_own_an_estimator_and_callbacks_take_part():
    seen = []
    found = Algorithm(rk.RegretMatching, order=Alternating(first=1), averaging=Power(3.0))
    estimator = ChanceSampling(np.random.default_rng(1))

    run = solve(KUHN, found, iterations=5, estimator=estimator, callbacks=[seen.append])

    assert seen == [run] * 5
    assert run.estimator is estimator
    assert (run.order, run.averaging) == (Alternating(first=1), Power(3.0))


def test_the_number_of_iterations_is_the_horizon_of_the_average():
    run = solve(KUHN, Algorithm(rk.RegretMatching, averaging=WholeHorizon()), iterations=9)

    for x, y in zip(run.average, run.last_profile, strict=True):
        np.testing.assert_array_equal(x, y)


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


def test_solving_a_game_of_one_player_is_maximizing():
    game = ExtensiveFormGame.from_history(
        decision(0, "a", l=end(1.0), r=decision(0, "b", l=end(0.0), r=end(3.0)))
    )

    run = solve(game, "cfr+", iterations=100)

    assert game.value(run.current) == pytest.approx([3.0])
