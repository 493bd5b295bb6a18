"""What solve takes for an algorithm, and how it samples, stops and shows progress."""

import pickle
from functools import partial

import numpy as np
import pytest
from attrs import evolve
from refusals import refusals

import regretkit as rk
from regretkit import games, solve
from regretkit.circuits import EFR, linear_swap_regret, trigger_regret
from regretkit.evaluation import nash_conv
from regretkit.play import (
    ALGORITHMS,
    Algorithm,
    ExternalSampling,
    Linear,
    OutcomeSampling,
    Power,
    Sampled,
    SelfPlay,
    Simultaneous,
    StopAtTime,
    Uniform,
    named,
)

KUHN = games.kuhn_poker()
DRIVER = games.read_efg("""EFG 2 R "Absent-minded driver" { "Driver" }
    p "" 1 1 "exit" { "leave" "go on" } 0
    t "" 1 "first" { 0 }
    p "" 1 1 0
    t "" 2 "second" { 4 }
    t "" 3 "missed" { 1 }""")


def same(run, other):
    for x, y in zip(run.average, other.average, strict=True):
        np.testing.assert_array_equal(x, y)


# What is an algorithm


@pytest.mark.parametrize("name", ALGORITHMS)
def test_an_algorithm_of_a_name_is_the_named_one(name):
    assert Algorithm(name) == named(name) == Algorithm(named(name)) == ALGORITHMS[name]
    assert named(name) is ALGORITHMS[name]
    assert pickle.loads(pickle.dumps(Algorithm("cfr+"))) == Algorithm("cfr+")


def test_a_named_algorithm_is_changed_in_part():
    mine = Algorithm("cfr+", averaging=Power(3.0))
    assert (mine.local, mine.averaging) == (rk.RegretMatchingPlus, Power(3.0))
    assert evolve(mine, averaging=Linear()) == ALGORITHMS["cfr+"]


def test_a_list_gives_each_player_its_own_rule():
    run = solve(KUHN, ["cfr", "cfr+"], iterations=40)
    rules = [rk.RegretMatching, rk.RegretMatchingPlus]
    players = [rk.CFR(tree, rule) for tree, rule in zip(KUHN.domains, rules, strict=True)]
    same(run, SelfPlay(KUHN, players).run(40))
    same(run, solve(KUHN, rules, iterations=40))
    assert nash_conv(KUHN, solve(KUHN, ["cfr", "cfr+"], iterations=2_000).average) < 0.02


def test_a_list_of_one_algorithm_averages_as_it_does():
    same(solve(KUHN, ["cfr+", "cfr+"], iterations=20), solve(KUHN, "cfr+", iterations=20))
    mixed = Algorithm(["cfr+", "dcfr"], averaging=Linear())
    assert mixed.averaging == Linear()
    assert Algorithm(["cfr+", rk.RegretMatching]).averaging == Uniform()
    assert Algorithm(mixed, averaging=Uniform()) == Algorithm(["cfr+", "dcfr"])


test_what_is_no_algorithm_is_refused = refusals(
    ([], "one entry for each player, got an empty list"),
    (["cfr"], "one entry for each of the 2 players, got 1"),
    (["cfr"] * 3, "one entry for each of the 2 players, got 3"),
    (["cfr", "cfrplus"], r"did you mean 'cfr\+'"),
    (["cfr", Algorithm("cfr", order=Simultaneous())], "differ in their order"),
    (["cfr", "mccfr"], "differ in their sampling"),
    ([["cfr", "cfr"], "cfr"], "must be a name, a rule's class"),
    ([Algorithm(["cfr", "cfr"]), "cfr"], "must have one rule"),
    (rk.RegretMatching(2), "must be a name, a rule's class"),
    (5, "a list with one for each player, got 5"),
    call=lambda algorithm: solve(KUHN, algorithm, iterations=1),
    error=(TypeError, ValueError),
)


# Circuits


def test_an_algorithm_builds_its_circuit_for_each_player():
    circuit = partial(EFR, deviations="tips")
    mine = Algorithm("efr-tips", circuit=circuit)
    assert mine.local is rk.RegretMatching
    assert mine.order == Simultaneous()
    players = [EFR(tree, "tips") for tree in KUHN.domains]
    same(solve(KUHN, mine, iterations=20), SelfPlay(KUHN, players, order=mine.order).run(20))
    by_plus = evolve(mine, local=rk.RegretMatchingPlus).minimizer(KUHN.domains[0])
    assert isinstance(by_plus.rule, rk.RegretMatchingPlus)
    matrix = named("efr-csps").minimizer(games.shapley_game().domains[0])
    assert (type(matrix), matrix.dimension) == (EFR, 3)


def test_players_of_one_algorithm_share_its_circuit():
    mixed = Algorithm(["efr-csps", rk.RegretMatchingPlus])
    assert mixed.circuit is named("efr-csps").circuit
    with pytest.raises(ValueError, match="algorithms differ in their circuit"):
        Algorithm(["cfr", "efr-csps"], order=Simultaneous())


def test_linear_swap_is_cfr_over_pairs_in_trees_and_swap_regret_in_matrices():
    players = [linear_swap_regret(tree, rk.RegretMatchingPlus) for tree in KUHN.domains]
    run = solve(KUHN, "linear-swap", iterations=20)
    same(run, SelfPlay(KUHN, players, order=Simultaneous()).run(20))
    matrix = named("linear-swap").minimizer(games.shapley_game().domains[0])
    assert isinstance(matrix, rk.SwapRegret)
    assert nash_conv(KUHN, solve(KUHN, "linear-swap", iterations=200).average) < 0.05


@pytest.mark.parametrize(("name", "coarse"), [("efce", False), ("efcce", True)])
def test_efce_and_efcce_are_cfr_over_triggers(name, coarse):
    for rule in (rk.RegretMatchingPlus, rk.Hedge):
        local = partial(rule, rate=0.5) if rule is rk.Hedge else rule
        players = [trigger_regret(tree, local, coarse=coarse) for tree in KUHN.domains]
        run = evolve(named(name), local=local).start(KUHN).run(20)
        same(run, SelfPlay(KUHN, players, order=Simultaneous()).run(20))
    # Triggers contain constant strategies: a zero-sum average goes to equilibrium.
    assert nash_conv(KUHN, solve(KUHN, name, iterations=200).average) < 0.05


# Sampling


@pytest.mark.parametrize(
    ("sampling", "estimator"), [("external", ExternalSampling), ("outcome", OutcomeSampling)]
)
def test_a_sampling_is_an_estimator_with_a_seed(sampling, estimator):
    run = solve(KUHN, "mccfr", sampling=sampling, seed=3, iterations=50)
    generator = np.random.default_rng(3)
    same(run, solve(KUHN, "cfr", estimator=estimator(generator), iterations=50))
    same(run, solve(KUHN, "cfr", sampling=sampling, seed=np.random.default_rng(3), iterations=50))


def test_mccfr_samples_externally_with_seed_zero():
    run = solve(KUHN, "mccfr", iterations=50)
    same(run, solve(KUHN, "cfr", sampling="external", seed=0, iterations=50))
    other = solve(KUHN, "mccfr", seed=1, iterations=50)
    assert any((x != y).any() for x, y in zip(run.average, other.average, strict=True))


def test_the_default_depends_on_the_sampling():
    same(solve(KUHN, iterations=20), solve(KUHN, "cfr+", iterations=20))
    sampled = solve(KUHN, sampling="external", iterations=20)
    same(sampled, solve(KUHN, "lcfr", sampling="external", iterations=20))
    estimator = ExternalSampling(np.random.default_rng(0))
    same(sampled, solve(KUHN, estimator=estimator, iterations=20))


SAMPLED = ExternalSampling(np.random.default_rng(0))
test_samplings_and_seeds_that_are_none_are_refused = refusals(
    ({"seed": 1}, "seed needs a sampling"),
    ({"sampling": "externl"}, "did you mean 'external'"),
    ({"sampling": 3}, "sampling must be a name, got 3"),
    ({"sampling": "external", "seed": -1}, "seed must be a whole number, at least 0"),
    ({"sampling": "external", "seed": 1.5}, "seed must be a whole number"),
    *(
        ({"estimator": SAMPLED, name: value}, "pass either estimator, or sampling and seed")
        for name, value in (("sampling", "external"), ("seed", 1))
    ),
    *(({"time_limit": limit}, "limit must be") for limit in (0.0, -1.0, float("nan"), "1")),
    call=lambda arguments: solve(KUHN, **{"iterations": 1, **arguments}),
    error=(TypeError, ValueError),
)


# Time


def test_a_time_limit_stops_a_run():
    run = solve(KUHN, "cfr", time_limit=0.2)
    assert 0.2 <= run.seconds < 2.0
    assert run.iteration > 1
    sampled = Sampled(KUHN, rk.RegretMatching, ExternalSampling(np.random.default_rng(1)))
    assert sampled.run(10**9, callbacks=[StopAtTime(0.1)]).seconds >= 0.1


# By the rules alone


test_what_needs_a_tree_is_refused_without_one = refusals(
    *(
        ({name: value, "iterations": 3}, f"{name}.* needs the game's tree")
        for name, value in (("target_gap", 0.1), ("imperfect_recall", True))
    ),
    ({"algorithm": "efr-csps", "iterations": 1}, r"circuit .*EFR.* needs the game's tree"),
    ({"algorithm": ["cfr"] * 3, "iterations": 3}, "one for each of the 2 players"),
    ({}, "pass iterations, target_gap or time_limit"),
    call=lambda given: rk.solve(rk.games.LiarsDice(dice=2), **given),
    error=ValueError,
)
