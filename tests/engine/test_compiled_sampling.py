"""Sampled iterations in machine code: the same samples, the same state, and what comes of them."""

import pickle
import time
from types import FunctionType

import numpy as np
import pytest
from engine_cases import apart_in_payoffs, assert_same_bits, rules_of
from naive_games import random_game

import regretkit as rk
from regretkit import ExtensiveFormGame, SelfPlay, games
from regretkit.engine import _sampled_run
from regretkit.evaluation import exploitability
from regretkit.minimizers import DiscountedRegretMatchingPlus
from regretkit.play import (
    Alternating,
    AverageStrategySampling,
    ExternalSampling,
    Extragradient,
    Last,
    LearnedBaseline,
    Linear,
    OutcomeSampling,
    RandomPlayer,
    Simultaneous,
    Uniform,
)
from regretkit.trace import find_kernel

pytestmark = pytest.mark.deep  # nearly all the time goes into compiling


KUHN, KUHN_3, LEDUC = games.kuhn_poker(), games.kuhn_poker(players=3), games.leduc_poker()
RANDOM = ExtensiveFormGame.from_history(random_game(np.random.default_rng(12), players=3))


def drawing(kind, seed=1, **arguments):
    return lambda: kind(np.random.default_rng(seed), **arguments)


SAMPLERS = {
    "external": drawing(ExternalSampling),
    "outcome": drawing(OutcomeSampling),
    "average strategy": drawing(AverageStrategySampling, epsilon=0.1, tau=2.0, beta=5.0),
    "external, learned": lambda: ExternalSampling(
        np.random.default_rng(1), baseline=LearnedBaseline()
    ),
    "outcome, learned": lambda: OutcomeSampling(
        np.random.default_rng(1), baseline=LearnedBaseline(rate=0.1)
    ),
}
RULES = {
    "rm": rk.RegretMatching,
    "rm+": rk.RegretMatchingPlus,
    "linear": rk.LinearRegretMatching,
    "hedge": lambda simplices: rk.Hedge(simplices, rate=0.2),
}
ORDERS = {
    "alternating": lambda: Alternating(first=1),
    "simultaneous": Simultaneous,
    "random player": lambda: RandomPlayer(np.random.default_rng(4)),
}
# To make machine code takes seconds for each of them, where there is none yet.
SELDOM = {"robust", "external, learned"}
each_sampler = pytest.mark.parametrize(
    "make",
    [
        pytest.param(make, id=name, marks=[pytest.mark.slow] * (name in SELDOM))
        for name, make in SAMPLERS.items()
    ],
)


def started(game, make, engine, rule="rm", order=Alternating, averaging=None):
    players = [rk.CFR(tree, RULES[rule]) for tree in game.domains]
    ways = {"order": order(), "averaging": averaging or Uniform(), "engine": engine}
    return SelfPlay(game, players, estimator=make(), **ways)


def assert_alike(run, second):
    """Require the same samples, and states that differ by rounding only."""
    assert run.iteration == second.iteration
    assert drawn(run) == drawn(second)
    assert run.estimator.visited == second.estimator.visited
    for found, expected in zip(rules_of(run), rules_of(second), strict=True):
        assert found.iteration == expected.iteration
    assert apart_in_payoffs(run, second) < 1e-12
    for name in ("average", "current", "last_profile"):
        for found, expected in zip(getattr(run, name), getattr(second, name), strict=True):
            np.testing.assert_allclose(found, expected, atol=1e-12, err_msg=name)


def drawn(run):
    return run.estimator.generator.bit_generator.state


# One meaning


@each_sampler
@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
def test_machine_code_draws_the_same_samples_and_reaches_the_same_state(make, order):
    for game, rule, averaging in [(KUHN, "rm", Linear()), (RANDOM, "rm+", Uniform())]:
        runs = [
            started(game, make, engine, rule, order, averaging).run(60)
            for engine in ("numpy", "compiled")
        ]
        assert [run.engine for run in runs] == ["numpy", "compiled"]
        assert_alike(*runs)


@pytest.mark.parametrize(
    "rule", ["rm", "rm+", "linear", pytest.param("hedge", marks=pytest.mark.slow)]
)
def test_so_it_does_with_every_rule_that_rests(rule):
    for game, averaging in [(LEDUC, Uniform()), (KUHN_3, Last())]:
        runs = [
            started(game, SAMPLERS["external"], engine, rule, averaging=averaging).run(40)
            for engine in ("numpy", "compiled")
        ]
        assert_alike(*runs)


def plain_function(function, results=0):
    return function


@each_sampler
def test_the_same_functions_as_plain_python_come_to_the_same_bits(make, monkeypatch):
    for order in (Alternating, Simultaneous):
        compiled = started(KUHN, make, "compiled", order=order).run(50)
        with monkeypatch.context() as patched:
            patched.setattr(_sampled_run, "MachineCode", plain_function)
            plain = started(KUHN, make, "compiled", order=order).run(50)

        assert isinstance(plain._executor._code.iterate, FunctionType)
        assert not isinstance(compiled._executor._code.iterate, FunctionType)
        assert_same_bits(compiled, plain)
        assert str(compiled.state_dict()) == str(plain.state_dict())


def test_averages_are_those_of_all_strategies_that_were_played_wherever_no_sample_came():
    played = []
    run = started(LEDUC, SAMPLERS["outcome"], "compiled", averaging=Linear())
    run.run(50, callbacks=[lambda run: played.append(run.last_profile)])

    weights = np.arange(1, 51) / np.arange(1, 51).sum()
    for player, average in enumerate(run.average):
        strategies = np.array([strategies[player] for strategies in played])
        np.testing.assert_allclose(average, weights @ strategies, atol=1e-14)
        seen = np.unique(strategies, axis=0)
        assert len(seen) > 5  # it does move


def test_decision_points_to_which_no_sample_came_stay_as_they_were():
    run = started(LEDUC, SAMPLERS["outcome"], "compiled").run(20)
    previous = [minimizer.rule.regrets.copy() for minimizer in run.minimizers]
    run.run(1)
    for minimizer, old in zip(run.minimizers, previous, strict=True):
        moved = minimizer.rule.simplices.max(np.abs(minimizer.rule.regrets - old)) > 0.0
        assert 1 <= moved.sum() <= 4


@each_sampler
def test_what_a_decision_point_shows_is_what_it_learned_from_last(make):
    runs = [started(LEDUC, make, engine).run(30) for engine in ("numpy", "compiled")]
    for found, expected in zip(*(run.minimizers for run in runs), strict=True):
        for number in range(found.tree.points):
            np.testing.assert_allclose(
                found[number].utilities, expected[number].utilities, atol=1e-11
            )


# Cut, saved, moved


@each_sampler
def test_a_run_cut_in_two_is_bitwise_identical(make):
    whole = started(LEDUC, make, "compiled", "rm+").run(3_000)
    cut = started(LEDUC, make, "compiled", "rm+").run(1_234)
    saved = pickle.loads(pickle.dumps(cut.state_dict()))
    fresh, used = (started(LEDUC, make, "compiled", "rm+") for _ in range(2))
    used.run(7)

    for second in (fresh, used):
        second.load_state_dict(saved)
        assert_same_bits(whole, second.run(1_766))

    assert_same_bits(whole, cut.run(0).run(1_765).run(1))
    assert str(whole.state_dict()) == str(cut.state_dict())


@each_sampler
def test_a_run_may_change_its_way_every_few_iterations(make):
    reference = started(KUHN, make, "numpy").run(100)
    run = started(KUHN, make, "numpy")
    for number in range(10):
        second = started(KUHN, make, ("compiled", "numpy")[number % 2])
        second.load_state_dict(run.state_dict())
        run = second.run(10)
    assert_alike(reference, run)


@each_sampler
@pytest.mark.parametrize("engine", ["compiled", "numpy"])
def test_a_checkpoint_goes_on_to_the_same_bits(make, engine, tmp_path):
    def minimizers():
        return [rk.CFR(tree, rk.RegretMatching) for tree in KUHN.domains]

    run = SelfPlay(KUHN, minimizers(), estimator=make(), engine=engine).run(37)
    run.save(tmp_path / "run")

    loaded = SelfPlay.load(tmp_path / "run", KUHN, minimizers(), estimator=make())

    assert_same_bits(run.run(63), loaded.run(63))
    assert drawn(run) == drawn(loaded)
    assert loaded.estimator.visited == run.estimator.visited
    assert repr(loaded.estimator) == repr(run.estimator)


# What applies


def test_a_long_run_becomes_machine_code_by_itself():
    run = started(KUHN, SAMPLERS["external"], "auto").run(20_000)
    assert run.engine == "compiled"


@pytest.mark.parametrize(
    ("ways", "message"),
    [
        (
            {"rule": rk.PredictiveRegretMatching},
            "PredictiveRegretMatching.* changes at a zero utility",
        ),
        ({"rule": rk.PredictiveRegretMatchingPlus}, "changes at a zero utility"),
        ({"rule": lambda s: rk.SwapRegret(s, rk.RegretMatching)}, "plays on another set"),
        ({"order": Extragradient()}, "does more in an iteration"),
        ({"game": games.matching_pennies()}, "not in extensive form"),
    ],
)
def test_an_engine_says_what_is_in_its_way(ways, message):
    game = ways.get("game", KUHN)
    rule = ways.get("rule", rk.RegretMatching)
    baseline = {"baseline": ways["baseline"]} if "baseline" in ways else {}
    estimator = ways.get("estimator", ExternalSampling)(np.random.default_rng(1), **baseline)
    players = [
        rk.CFR(domain, rule) if hasattr(domain, "points") else rule(2) for domain in game.domains
    ]
    order = {"order": ways["order"]} if "order" in ways else {}

    with pytest.raises(ValueError, match=message):
        SelfPlay(game, players, estimator=estimator, engine="compiled", **order)


def test_one_generator_for_order_and_estimator_is_drawn_from_in_turn():
    generator = np.random.default_rng(1)
    ways = {"order": RandomPlayer(generator), "estimator": ExternalSampling(generator)}
    players = [rk.CFR(tree, rk.RegretMatching) for tree in KUHN.domains]
    with pytest.raises(ValueError, match="draw from one generator, in turn"):
        SelfPlay(KUHN, players, engine="compiled", **ways)
    assert SelfPlay(KUHN, players, **ways).run(200).engine == "numpy"


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


def after_visits(make, visits, rule=rk.RegretMatching):
    """Return a run on Leduc poker after a number of visited histories."""
    players = [rk.CFR(tree, rule) for tree in LEDUC.domains]
    run = SelfPlay(LEDUC, players, estimator=make(), engine="compiled")
    while run.estimator.visited < 0.99 * visits:
        run.run(max(1, (visits - run.estimator.visited) // 60))
    return run


def test_external_sampling_takes_leduc_poker_to_an_exploitability_of_0_12_in_3_million_visits():
    found = [after_visits(drawing(ExternalSampling, seed=seed), 3_000_000) for seed in range(5)]
    assert max(run.estimator.visited for run in found) <= 3_000_000
    assert np.median([exploitability(LEDUC, run.average) for run in found]) <= 0.12


@pytest.mark.slow
@pytest.mark.parametrize("name", ["external", "outcome"])
def test_it_visits_ten_million_histories_a_second(name):
    # In the best of several turns: what else the machine does can only add to a time.
    run, best = started(LEDUC, SAMPLERS[name], "compiled").run(1_000), 0.0
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
        run = started(LEDUC, drawing(ExternalSampling, seed=seed), "compiled").run(20_000)
        found.append(exploitability(LEDUC, run.average))

    error = np.hypot(np.std(peer), np.std(found)) / np.sqrt(10)
    assert np.mean(found) <= np.mean(peer) + 3 * error


def test_a_baseline_helps_outcome_sampling():
    gaps = {}
    for name in ("outcome", "outcome, learned"):
        runs = [after_visits(SAMPLERS[name], 3_000_000)]
        gaps[name] = np.median([exploitability(LEDUC, run.average) for run in runs])
    assert gaps["outcome, learned"] < 0.8 * gaps["outcome"]
