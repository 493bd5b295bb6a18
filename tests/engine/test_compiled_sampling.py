"""What comes of sampled iterations in machine code."""

import time
from functools import partial

import numpy as np
import pytest
from engine_cases import UNIFORM

import regretkit as rk
from regretkit import SelfPlay, games
from regretkit.evaluation import exploitability
from regretkit.minimizers import DiscountedRegretMatchingPlus
from regretkit.play import ExternalSampling, LearnedBaseline, Linear, OutcomeSampling
from regretkit.trace import find_kernel

pytestmark = pytest.mark.deep  # nearly all the time goes into compiling

LEDUC = games.leduc_poker()
SAMPLERS = {
    "external": ExternalSampling,
    "outcome": OutcomeSampling,
    "outcome, learned": partial(OutcomeSampling, baseline=LearnedBaseline(rate=0.1)),
}


def started(sampler, rule=rk.RegretMatching, averaging=UNIFORM, seed=1):
    estimator = SAMPLERS[sampler](np.random.default_rng(seed))
    players = [rk.CFR(tree, rule) for tree in LEDUC.domains]
    ways = {"estimator": estimator, "averaging": averaging, "engine": "compiled"}
    return SelfPlay(LEDUC, players, **ways)


def test_averages_are_those_of_all_strategies_that_were_played_wherever_no_sample_came():
    played = []
    run = started("outcome", averaging=Linear())
    run.run(50, callbacks=[lambda run: played.append(run.last_profile)])

    weights = np.arange(1, 51) / np.arange(1, 51).sum()
    for player, average in enumerate(run.average):
        strategies = np.array([strategies[player] for strategies in played])
        np.testing.assert_allclose(average, weights @ strategies, atol=1e-14)
        seen = np.unique(strategies, axis=0)
        assert len(seen) > 5  # it does move


def test_decision_points_to_which_no_sample_came_stay_as_they_were():
    run = started("outcome").run(20)
    previous = [minimizer.rule.regrets.copy() for minimizer in run.minimizers]
    run.run(1)
    for minimizer, old in zip(run.minimizers, previous, strict=True):
        moved = minimizer.rule.simplices.max(np.abs(minimizer.rule.regrets - old)) > 0.0
        assert 1 <= moved.sum() <= 4


@pytest.mark.parametrize(
    "rule",
    [rk.DiscountedRegretMatching, DiscountedRegretMatchingPlus, rk.LinearRegretMatching],
    ids=str,
)
def test_parameters_of_many_iterations_are_those_of_each(rule):
    kernel = find_kernel(rule(3))
    rows, _ = kernel.parameters.following({}, 0, 50)
    # What a choice leaves out may be no number: s^-alpha before the first iteration.
    assert np.array_equal(rows, [kernel.parameters_at(t) for t in range(51)], equal_nan=True)


# What comes of it


def after_visits(run, visits):
    """Return a run after a number of visited histories."""
    while run.estimator.visited < 0.99 * visits:
        run.run(max(1, (visits - run.estimator.visited) // 60))
    return run


def test_external_sampling_takes_leduc_poker_to_an_exploitability_of_0_12_in_3_million_visits():
    found = [after_visits(started("external", seed=seed), 3_000_000) for seed in range(5)]
    assert max(run.estimator.visited for run in found) <= 3_000_000
    assert np.median([exploitability(LEDUC, run.average) for run in found]) <= 0.12


@pytest.mark.slow
@pytest.mark.parametrize("name", ["external", "outcome"])
def test_it_visits_ten_million_histories_a_second(name):
    # In the best of several turns: what else the machine does can only add to a time.
    run, best = started(name).run(1_000), 0.0
    for _ in range(10):
        previous, start = run.estimator.visited, time.process_time()
        run.run(5_000)
        best = max(best, (run.estimator.visited - previous) / (time.process_time() - start))
    assert best >= 1e7


@pytest.mark.slow
def test_at_equal_histories_it_is_no_worse_than_open_spiel():
    # Both follow every own action and draw one of all others: as many histories an iteration.
    pyspiel = pytest.importorskip("pyspiel")
    peer, found = [], []
    for seed in range(10):
        game = pyspiel.load_game("leduc_poker")
        solver = pyspiel.ExternalSamplingMCCFRSolver(game, seed)
        for _ in range(20_000):
            solver.run_iteration()
        peer.append(pyspiel.exploitability(game, solver.average_policy()))
        run = started("external", seed=seed).run(20_000)
        found.append(exploitability(LEDUC, run.average))

    error = np.hypot(np.std(peer), np.std(found)) / np.sqrt(10)
    assert np.mean(found) <= np.mean(peer) + 3 * error


def test_a_baseline_helps_outcome_sampling():
    names = "outcome", "outcome, learned"
    runs = [after_visits(started(name), 3_000_000) for name in names]
    gap, with_baseline = (exploitability(LEDUC, run.average) for run in runs)
    assert with_baseline < 0.8 * gap
