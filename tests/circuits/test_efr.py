"""EFR: which deviations its types contain, next to plain loops, CFR and OpenSpiel."""

from functools import partial

import naive_efr
import numpy as np
import pytest
from factories import LEAVES, meets, random_tree, same_play
from naive_exact import with_payoffs

import regretkit as rk
from regretkit.circuits import (
    DEVIATION_TYPES,
    EFR,
    Deviations,
    TriggerDeviations,
    internal_maps,
)
from regretkit.evaluation import RegretLedger, nash_conv
from regretkit.play import SelfPlay, Simultaneous

TYPES = list(DEVIATION_TYPES)
each_type = pytest.mark.parametrize("name", TYPES)


def played(game, name, iterations, local=rk.RegretMatching):
    players = [EFR(tree, name, local) for tree in game.domains]
    return SelfPlay(game, players, order=Simultaneous(), engine="numpy").run(iterations)


@pytest.mark.deep_beyond(11)
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("name", [*TYPES, "custom"])
def test_plain_loops_come_to_the_same_strategies_and_gains(name, seed):
    tree = random_tree(np.random.default_rng(seed))
    custom = Deviations("behavioral", "internal", after="external")
    player = EFR(tree, custom if name == "custom" else name)
    naive = naive_efr.EFR(tree.parent_sequence.tolist(), tree.sizes.tolist(), name)
    tracker = RegretLedger(player).tracker(player.rule)
    totals = np.zeros(player.rule.dimension)

    for strategy, utility in meets(player, seed, iterations=25):
        behavior = naive.play()
        expected = naive.sequence_form(behavior)
        np.testing.assert_allclose(strategy, expected, rtol=0.0, atol=1e-12)
        totals += np.concatenate([np.zeros(0), *naive.gains(behavior, utility.tolist())])
        naive.learn(utility.tolist())

    def by_point(gains):  # the order of the weights of a decision point is free
        return map(sorted, np.split(gains, player.rule.domain.first[1:]))

    for found, gains in zip(by_point(tracker.utilities), by_point(totals), strict=True):
        np.testing.assert_allclose(found, gains, rtol=1e-9, atol=1e-9)


# Special cases


@pytest.mark.deep_beyond(6)
@pytest.mark.parametrize("rule", [leaf for leaf, _ in LEAVES.values()], ids=LEAVES)
def test_blind_counterfactual_deviations_are_cfr_with_the_same_rule(rule):
    tree = random_tree(np.random.default_rng(3), 9)
    same_play(EFR(tree, "blind_cf", rule), rk.CFR(tree, rule), atol=1e-12)


def test_informed_counterfactual_deviations_are_cfr_with_internal_regret_matching():
    def internal(actions):
        if actions == 1:
            return rk.RegretMatching(1)
        return rk.PhiRegret(rk.RegretMatching(actions * (actions - 1)), internal_maps(actions))

    tree = random_tree(np.random.default_rng(4), 9)
    other = rk.CFR(tree, rk.PerDecisionPoint(internal))
    same_play(EFR(tree, "informed_cf"), other, atol=1e-12)


@each_type
def test_at_one_decision_point_it_is_external_or_internal_regret_matching(name):
    blind = DEVIATION_TYPES[name].local == "external"
    maps = internal_maps(3)
    for rule in (rk.RegretMatching, rk.PredictiveRegretMatching):
        other = rule(3) if blind else rk.PhiRegret(rule(6), maps)
        same_play(EFR(rk.Simplices(3), name, rule), other, atol=1e-12, told="sometimes")
    tree = EFR(rk.DecisionTree([0], [3]), name)
    for strategy, utility in meets(EFR(rk.Simplices(3), name), seed=3):
        np.testing.assert_array_equal(tree.next_strategy()[1:], strategy)
        tree.observe_utility([0.0, *utility])


@each_type
def test_single_actions_change_nothing(name):
    """A decision without a choice is put before each decision point and after each action."""
    plain, padded = rk.DecisionTree([0, 1], [3, 2]), rk.DecisionTree([0, 1, 2, 5], [1, 3, 1, 2])
    # Sequences: 0; 1; 2, 3, 4; 5; 6, 7
    same = np.array([0, 2, 3, 4, 6, 7])
    player, other = EFR(plain, name), EFR(padded, name)
    for strategy, utility in meets(player, seed=4):
        np.testing.assert_array_equal(other.next_strategy()[same], strategy)
        other.observe_utility(np.eye(padded.dimension)[same].T @ utility)
    assert other.rule.domain == player.rule.domain


@each_type
def test_players_without_a_choice_play_on(name):
    for tree in (rk.DecisionTree([], []), rk.DecisionTree([0, 1], [1, 1])):
        player = EFR(tree, name)
        assert player.rule.dimension == 0
        for strategy, _ in meets(player, seed=1, iterations=5):
            np.testing.assert_array_equal(strategy, np.ones(tree.dimension))


# Bounds

BEST = [
    *[(name, rk.RegretMatching) for name in TYPES],
    ("csps", rk.RegretMatchingPlus),
    ("csps", rk.PredictiveRegretMatchingPlus),
    ("tips", partial(rk.Hedge, rate=0.3)),
    ("cfps", partial(rk.SwapRegret, expert=rk.RegretMatching)),
]


@pytest.mark.parametrize(("name", "local"), BEST, ids=lambda value: str(value)[:40])
def test_the_regret_bound_holds_after_every_iteration(name, local):
    player = EFR(random_tree(np.random.default_rng(1), 9), name, local)
    ledger = RegretLedger(player, strict=True)
    list(meets(player, seed=1))
    bound = ledger.regret_bounds()["top"]
    assert bound.exact == name.endswith("action")  # which do not contain the constant ones
    assert bound.regret > 1.0 or bound.exact


@pytest.mark.parametrize(("name", "coarse"), [("bps", True), ("csps", False), ("tips", False)])
def test_what_triggers_gain_is_at_most_the_sum_of_positive_regrets(name, coarse):
    tree = random_tree(np.random.default_rng(6), 9)
    player, triggers = EFR(tree, name), TriggerDeviations(tree, coarse=coarse)
    tracker = RegretLedger(player).tracker(player.rule)
    total = np.zeros(triggers.coefficients.dimension)
    for strategy, utility in meets(player, seed=5):
        assert triggers.best_gain(total) <= np.maximum(tracker.utilities, 0.0).sum() + 1e-9
        total += triggers.utility(utility, strategy)
    assert triggers.best_gain(total) > 1.0


# Ties


@pytest.mark.deep_beyond(4)
@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize(
    "call", ["kuhn_poker", "kuhn_poker(players=3)", "sheriff(items=3, bribe=3, rounds=2)"]
)
def test_ties_are_ties_in_another_unit_of_payoff(name, call):
    game = rk.load(call)
    runs = [played(each, name, 0) for each in (game, with_payoffs(game, game.tree.payoffs / 3.0))]
    for _ in range(100):
        first, second = (run.run(1).current for run in runs)
        for x, y in zip(first, second, strict=True):
            np.testing.assert_allclose(x, y, rtol=0.0, atol=1e-9)


# Published numbers, and OpenSpiel

ROWS = {
    "blind_cf": (0.1924170004, 0.0513494717),
    "informed_cf": (0.1924170004, 0.0513494717),
    "blind_action": (0.4604166667, 0.4635929362),
    "informed_action": (0.4604166667, 0.4635929362),
    "bps": (0.1536897086, 0.0472860108),
    "cfps": (0.1536897086, 0.0472860108),
}


@pytest.mark.parametrize(("name", "expected"), ROWS.items(), ids=ROWS)
def test_gaps_on_kuhn_poker_are_those_of_another_implementation(name, expected):
    game = rk.load("kuhn_poker")
    run = played(game, name, 10)
    found = nash_conv(game, run.average), nash_conv(game, run.run(90).average)
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-8)
