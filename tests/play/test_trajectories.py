"""NashConv of the average after 10, 100 and 1000 iterations, as other solvers have it.

The numbers are those of an independent sequence-form solver, equal to OpenSpiel's where that was
checked, and OpenSpiel's own. Rounding is amplified by iteration, so a number is pinned no further
than the rounding allows: each game is also played with payoffs that are rounded otherwise, in
their last two bits, and what those games differ by is the tolerance, next to the digits that were
published.
"""

import copy

import numpy as np
import pytest
from attrs import evolve
from corpus import reference

from regretkit import games
from regretkit.evaluation import nash_conv
from regretkit.play import Simultaneous, cfr, named

# game, algorithm, and what is published at T = 10, 100, 1000
PUBLISHED = [
    ("kuhn_poker", "cfr simultaneous", (".1924170004", ".05134947169", ".01453821282")),
    ("kuhn_poker", "cfr", (".1373975876", ".01645195463", ".001875233294")),
    ("kuhn_poker", "cfr+", (".06537418134", ".002388808202", ".000174730645")),
    ("kuhn_poker", "lcfr", (".04250146122", ".00217805473", ".0001870594723")),
    ("kuhn_poker", "dcfr", (".04555756785", ".003332683941", ".0002930004565")),
    ("leduc_poker", "cfr", ("1.777157966", ".1914327060", ".02363599811")),
    ("leduc_poker", "cfr+", ("1.220877803", ".02683198995", ".0005068525681")),
    ("leduc_poker", "dcfr", ("1.557604094", ".015512", ".000289")),
]

OPENSPIEL = {
    "cfr": "CFR (C++ CFRSolver)",
    "cfr+": "CFR+ (C++ CFRPlusSolver)",
    "lcfr": "LCFR (python)",
    "dcfr": "DCFR (python, alpha 3/2 beta 0 gamma 2)",
}


def rounded_otherwise(game, seed):
    """Return the same game with other last bits in its payoffs, the same for all players."""
    bits = np.random.default_rng(seed).integers(-2, 3, game.payoffs.shape[1])
    second = copy.copy(game)
    second.payoffs, second._rows = game.payoffs * (1.0 + bits * 2.0**-52), {}
    return second


def trajectory(game, name, iterations, engine="numpy"):
    algorithm = evolve(cfr, order=Simultaneous()) if name == "cfr simultaneous" else named(name)
    run, gaps = algorithm.start(game, engine=engine), []
    for t in iterations:
        run.run(t - run.iteration)
        gaps.append(nash_conv(game, run.average))
    return np.array(gaps)


def trajectories(name, algorithm, iterations, roundings=8):
    game = games.load(name)
    played = [trajectory(game, algorithm, iterations)]
    for seed in range(roundings):
        played.append(trajectory(rounded_otherwise(game, seed), algorithm, iterations))
    return np.array(played)


def last_digit(number):
    """Return the value of one unit in a published number's last digit."""
    return 10.0 ** -len(number.split(".")[1])


def check(played, published, digits, widening=2):
    spread = np.ptp(played, axis=0)
    # The roundings tried are a sample of all there are, so the range is widened by twice itself.
    assert (played.min(axis=0) - widening * spread - digits <= published).all()
    assert (published <= played.max(axis=0) + widening * spread + digits).all()
    # Where rounding decides more than a third, next to nothing would be tested.
    assert (spread <= published / 3).all()


def check_fast_ways(played, game, algorithm, iterations, digits):
    """Require that machine code ends where another rounding might have ended."""
    for engine in ("compiled", "numpy"):
        # It sums in two steps equal values, which is no order of single terms.
        gaps = trajectory(games.load(game), algorithm, iterations, engine)
        check(played, gaps, digits, widening=5)


@pytest.mark.deep_beyond(1)
@pytest.mark.parametrize(("game", "algorithm", "published"), PUBLISHED)
def test_the_gap_follows_the_published_trajectory(game, algorithm, published):
    played = trajectories(game, algorithm, (10, 100, 1000))
    digits = [last_digit(n) for n in published]

    check(played, np.array([float(n) for n in published]), digits)
    check_fast_ways(played, game, algorithm, (10, 100, 1000), digits)


@pytest.mark.deep_beyond(1)
@pytest.mark.parametrize("algorithm", OPENSPIEL)
@pytest.mark.parametrize("game", ["kuhn_poker", "kuhn_poker(players=3)", "leduc_poker"])
def test_the_gap_follows_openspiel(game, algorithm):
    taken = reference("cfr_reference.json")[game][OPENSPIEL[algorithm]]

    # Later numbers are the business of the test above: rounding decides too much of them.
    iterations = [int(t) for t in taken if int(t) <= 100]
    played = trajectories(game, algorithm, iterations)

    check(played, np.array([taken[str(t)] for t in iterations]), 1e-12)
    check_fast_ways(played, game, algorithm, iterations, 1e-12)


def test_rounding_does_not_decide_the_first_ten_iterations():
    # So that the tolerance above is no excuse: early on every digit is fixed.
    for name, algorithm, published in PUBLISHED:
        for engine in ("compiled", "numpy"):
            gap = trajectory(games.load(name), algorithm, (10,), engine)[0]

            assert abs(gap - float(published[0])) <= last_digit(published[0])
