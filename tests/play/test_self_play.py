"""Self-play: gaps are regrets, and a run that was cut, copied or saved continues the same."""

from functools import partial

import numpy as np
import pytest
from naive_games import random_game
from refusals import refusals

import regretkit as rk
from regretkit import SelfPlay, games, matrix_game
from regretkit.evaluation import duality_gap
from regretkit.play import (
    ALGORITHMS,
    Alternating,
    Simultaneous,
)

LOCAL = {
    "rm": rk.RegretMatching,
    "rm+": rk.RegretMatchingPlus,
    "linear": rk.LinearRegretMatching,
    "discounted": rk.DiscountedRegretMatching,
    "prm+": rk.PredictiveRegretMatchingPlus,
    "hedge": partial(rk.Hedge, rate=0.5),
    "optimistic hedge": partial(rk.OptimisticHedge, rate=0.5),
    "swap": lambda simplices: rk.SwapRegret(simplices, rk.RegretMatching),
}
each_local = pytest.mark.parametrize("local", LOCAL.values(), ids=LOCAL)

ZERO_SUM = {
    "3 x 5": matrix_game(np.random.default_rng(1).normal(size=(3, 5))),
    "7 x 2": matrix_game(np.random.default_rng(2).normal(size=(7, 2))),
    "random tree": rk.ExtensiveFormGame.from_history(
        random_game(np.random.default_rng(3), zero_sum=True)
    ),
    "kuhn": games.kuhn_poker(),
    "leduc": games.leduc_poker(merge_suits=True),
}
each_zero_sum_game = pytest.mark.parametrize("game", ZERO_SUM.values(), ids=ZERO_SUM)


# How to play, with randomness that belongs to the run
def minimizers(game, local):
    return [rk.play.Algorithm(local).minimizer(domain) for domain in game.domains]


# Gaps and regrets


@pytest.mark.deep_beyond(14)
@each_local
@each_zero_sum_game
def test_in_simultaneous_play_the_gap_of_the_averages_is_the_sum_of_average_regrets(game, local):
    # The certificate of every self-play: equality, for all minimizers.
    run = SelfPlay(game, minimizers(game, local), order=Simultaneous())
    run.minimizers[0].observe_utility(np.linspace(-1.0, 1.0, game.domains[0].dimension))
    T, totals, earned = 40, [np.zeros(d.dimension) for d in game.domains], 0.0

    for _ in range(T):
        for player in (0, 1):
            utility = game.utility(player, run.current)
            totals[player] += utility
            earned += utility @ run.current[player]
        run.run(1)

    best = [d.best_response(u)[0] for d, u in zip(game.domains, totals, strict=True)]
    regret = (sum(best) - earned) / T
    assert duality_gap(game, run.average) == pytest.approx(regret, abs=1e-11)
    assert regret > 1e-4


@pytest.mark.deep_beyond(15)
@pytest.mark.parametrize("name", ALGORITHMS)
@each_zero_sum_game
def test_every_named_algorithm_closes_the_gap(game, name):
    times = 1 if ALGORITHMS[name].sampling is None else 50
    runs = [rk.solve(game, name, iterations=t * times) for t in (3, 150)]
    few, many = (duality_gap(game, run.average) for run in runs)

    assert many < 0.35 * few


# Cut, copied, saved


# Sets that are none of the game's

KUHN, RPS = games.kuhn_poker(), games.rock_paper_scissors()


def test_points_and_hulls_inside_a_players_set_are_welcome():
    points = [rk.Point([0.4, 0.3, 0.3]), rk.Point([0.0, 1.0, 0.0])]
    hull = rk.ConvexHull([rk.Point([0.0, 0.5, 0.5]), points[1]], rk.RegretMatching(2))
    trees = KUHN.domains
    strategies = [rk.CFR(trees[0], rk.RegretMatching), rk.Point(trees[1].relative_interior_point())]

    assert SelfPlay(RPS, [points[0], hull]).run(3).iteration == 3
    assert SelfPlay(KUHN, strategies).run(3).iteration == 3


# What is refused


def matchers(*sizes):
    return [rk.RegretMatching(n) for n in sizes]


PENNIES, SHARED = games.matching_pennies(), rk.RegretMatching(2)
WITH_SHARED = [rk.ConvexHull([SHARED, rk.RegretMatching(2)], rk.RegretMatching(2)) for _ in "ab"]
test_parts_that_cannot_play_are_refused = refusals(
    ({"minimizers": matchers(2)}, ValueError, "2 players, got 1"),
    (
        {"minimizers": matchers(2, 3)},
        ValueError,
        r"\[1\] must play on .* player 1, got Simplices\(3\)",
    ),
    (
        {"game": KUHN, "minimizers": matchers(13, 13)},
        ValueError,
        r"\[0\] must play on .* player 0, got",
    ),
    ({"minimizers": [SHARED] * 2}, ValueError, "same minimizer occurs twice"),
    ({"minimizers": WITH_SHARED}, ValueError, "same minimizer occurs twice"),
    ({"minimizers": [SHARED, 2]}, TypeError, r"minimizers\[1\] must be a"),
    ({"minimizers": SHARED}, TypeError, "minimizers must be a sequence"),
    ({"game": "kuhn_poker"}, TypeError, r"game must be a Game, .*games\.load\('kuhn_poker'\)"),
    ({"order": Alternating}, TypeError, "order"),
    ({"averaging": 2.0}, TypeError, "averaging"),
    ({"estimator": None}, TypeError, "estimator"),
    ({"horizon": 0}, ValueError, "horizon must be a whole number, at least 1"),
    call=lambda change: SelfPlay(**{"game": PENNIES, "minimizers": matchers(2, 2)} | change),
)


def test_a_run_has_no_average_before_its_first_iteration():
    with pytest.raises(ValueError, match="the average needs at least one iteration"):
        _ = SelfPlay(PENNIES, matchers(2, 2)).average
