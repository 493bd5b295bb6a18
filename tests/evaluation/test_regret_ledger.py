"""The ledger's regrets are those of the history, and it finds a broken bound by its node."""

import types

import naive
import numpy as np
import pytest
from test_contract import ROWS

import regretkit as rk
from regretkit.evaluation import RegretLedger


def bound_of(make):
    """Return what is proven about the minimizer that ``make`` builds, not of its parts."""
    return RegretLedger(make()).regret_bounds().get("top")


def play(player, seed=0, iterations=60):
    """Let ``player`` meet random utilities; return strategies and utilities."""
    generator, strategies = np.random.default_rng(seed), []
    utilities = generator.normal(size=(iterations, player.dimension))
    for utility in utilities:
        strategies.append(player.next_strategy())
        player.observe_utility(utility)
    return np.array(strategies), utilities


def test_regrets_are_those_of_the_history():
    player = rk.RegretMatching(4)
    ledger = RegretLedger(player)

    history = [*zip(*play(player), strict=True)]

    assert ledger.external(player) == pytest.approx(naive.external_regret(history))
    assert ledger.internal(player) == pytest.approx(naive.internal_regret(history))
    assert ledger.swap(player) == pytest.approx(naive.swap_regret(history))


def test_external_regret_is_that_against_the_best_pure_strategy_of_a_tree():
    tree = rk.DecisionTree([0, 2, 2], [2, 3, 2])
    player = rk.CFR(tree, rk.RegretMatchingPlus)
    ledger = RegretLedger(player)
    strategies, utilities = play(player)
    best, _ = tree.best_response(utilities.sum(axis=0))
    assert ledger.external(player) == pytest.approx(best - (strategies * utilities).sum())
    assert ledger.external(player) > 0.1


@pytest.mark.deep_beyond(20)
@pytest.mark.parametrize("make", ROWS.values(), ids=ROWS)
def test_every_circuit_keeps_its_bound_in_every_iteration(make):
    player = make()
    RegretLedger(player, strict=True)
    play(player)


class Cheating(rk.RegretMinimizer):
    """A product that teaches its second part something else than it should."""

    def __init__(self):
        self.parts = (rk.RegretMatching(2), rk.RegretMatching(2))
        self.domain = rk.Simplices([2, 2])

    def _propose(self):
        return np.concatenate([part.next_strategy() for part in self.parts])

    def _learn(self, utility, strategy):
        self.parts[0].observe_utility(utility[:2])
        self.parts[1].observe_utility(-utility[2:])

    def _regret_bound(self, tracker_of):
        honest = rk.Product([rk.RegretMatching(2), rk.RegretMatching(2)])
        return type(honest)._regret_bound(self, tracker_of)


def test_a_broken_theorem_is_an_error_that_names_the_node_at_once_or_when_one_asks():
    strict, patient = (rk.Product([rk.RegretMatching(3), Cheating()]) for _ in range(2))
    RegretLedger(strict, strict=True)
    ledger = RegretLedger(patient)
    play(patient)
    for ask in (ledger.check, lambda: play(strict)):
        with pytest.raises(AssertionError, match=r"top.parts\[1\], .*R = sum of the parts' R"):
            ask()


@pytest.mark.deep_beyond(7)
@pytest.mark.parametrize("by", [-1e3, 1e3])
@pytest.mark.parametrize(
    "name",  # without EFR by action deviations, whose bound is about its rule alone
    [name for name, make in ROWS.items() if bound_of(make) and name != "efr[action]"],
)
def test_a_theorem_is_broken_where_a_tracker_is_tampered_with(name, by):
    # What it is said to have earned, plainly, weighted or by its first action, must fit.
    player = ROWS[name]()
    ledger = RegretLedger(player)
    play(player)
    ledger.check()
    proven = ledger.regret_bounds()["top"]
    # What EFR's deviations earn is a statement about its rule alone.
    own = [b for b in (proven, *proven.also) if not b.statement.startswith("earned by the dev")]
    exact = any(bound.exact for bound in own)

    tracker = ledger.tracker(player)
    tracker.earned += by
    tracker._earned_weighted += by
    for joint in tracker.products[:1]:
        joint[0, 0] += by

    if exact or by < 0.0:
        with pytest.raises(AssertionError, match=r"(?s)top, .* violates "):
            ledger.check()
    else:
        ledger.check()  # to have earned more breaks no bound


def test_a_run_is_kept_player_by_player():
    game = rk.games.kuhn_poker()
    run = rk.play.cfr.start(game)
    ledger = RegretLedger(run, strict=True)
    run.run(50)
    assert list(ledger.regret_bounds()) == ["player 0", "player 1"]
    assert ledger.tracker(run.minimizers[1]).iterations == 50


def test_what_stands_in_no_ledger_or_in_another_is_refused():
    player = rk.RegretMatching(2)
    ledger = RegretLedger(player)
    with pytest.raises(ValueError, match="is not tracked by this ledger"):
        ledger.external(rk.RegretMatching(2))
    with pytest.raises(ValueError, match="top has another ledger"):
        RegretLedger(player)
    for wrong in (None, [player], types.SimpleNamespace(minimizers=[player, 3])):
        with pytest.raises(TypeError, match="subject must be a minimizer or a run"):
            RegretLedger(wrong)
    with pytest.raises(ValueError, match="rtol must be a finite number above 0, got"):
        RegretLedger(rk.RegretMatching(2), rtol=np.nan)
    ledger.detach()
    RegretLedger(player)


def test_a_ledger_measures_what_it_can_of_a_decision_of_4000_actions():
    player = rk.CFR(rk.DecisionTree([0], [4_000]), rk.RegretMatching)
    ledger = RegretLedger(player, strict=True)

    strategies, utilities = play(player, iterations=3)

    expected = utilities[:, 1:].sum(axis=0).max() - (utilities * strategies)[:, 1:].sum()
    assert ledger.regret_bounds()["top"].bound == pytest.approx(expected)
    assert ledger.external(player.rule) == pytest.approx(expected)
    text = str(ledger)
    assert "R <= sum over decision points of their positive R" in text
    assert text.endswith(
        "internal and swap regret of top.rule are not tracked: 16,000,000 pairs of actions, "
        "of at most 10,000,000"
    )
    assert "are not tracked" in ledger._repr_html_()
    with pytest.raises(TypeError, match="at most 10,000,000 pairs of actions"):
        ledger.swap(player.rule)
