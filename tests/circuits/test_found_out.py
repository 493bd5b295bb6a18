"""A circuit that teaches its parts, or plays, other than it says breaks its regret bound."""

from functools import partial

import numpy as np
import pytest
from factories import meets
from test_exploration import PlayedOn

import regretkit as rk
from regretkit.circuits import (
    AffineImage,
    Constrained,
    Discount,
    ExplorationMixture,
    Freeze,
    Restart,
    Thresholded,
    TreeSwap,
)
from regretkit.evaluation import RegretLedger

RM = rk.RegretMatching


def constrained():
    prices = AffineImage(rk.RegretMatchingPlus(2), [[5.0, 0.0]])
    return Constrained(RM(3), [[1.0, 0.0, 2.0]], [0.5], prices)


def priced_by(factor):
    return lambda self, u: u - factor * self.multipliers.next_strategy() @ self.matrix


def explored_by(gamma):
    return lambda self, strategy: (1.0 - gamma) * strategy + gamma * self._point


def learn_the_opposite_once_frozen(self, utility, strategy):
    self.minimizer._update(-utility if self.frozen else utility)


def learn_nothing(self, utility, strategy, learn=TreeSwap._learn):
    learn(self, 0.0 * utility, strategy)


def sure(name=None):
    return PlayedOn(rk.Simplices(2), np.array([0.9, 0.1] if name is None else [1.0, 0.0]))


def be_tried(player):
    list(meets(player, seed=4, iterations=20))
    for _ in range(30):
        player.observe_utility(np.eye(player.dimension)[-1])


LAYERED = partial(TreeSwap, partial(sure, "first"), layers=4, branching=2)


@pytest.mark.parametrize(
    ("make", "method", "wrong", "statement"),
    [
        *((constrained, "_priced", priced_by(factor), "R against") for factor in (-1.0, 0.0, 0.5)),
        *(
            (partial(ExplorationMixture, RM(3), gamma=0.2), "_transform", explored_by(gamma), "R =")
            for gamma in (0.0, 0.5)
        ),
        (
            partial(Thresholded, sure(), threshold=0.05),
            "_cut",
            lambda self, x: 1.0 * (x == x.min()),
            "R <= R of the min.* [+] share",
        ),
        (
            partial(Discount, RM(3), weight=lambda t: float(t) ** 2),
            "_weighted",
            lambda self, weight, utility: utility,
            "weighted R = R of the minimizer",
        ),
        (
            partial(Freeze, RM(3), after=5),
            "_learn",
            learn_the_opposite_once_frozen,
            "R = best of all u",
        ),
        (LAYERED, "_learn", learn_nothing, "swap R <= "),
    ],
)
def test_a_circuit_that_does_not_do_what_it_says_is_found_out(
    monkeypatch, make, method, wrong, statement
):
    player = make()
    monkeypatch.setattr(type(player), method, wrong)
    RegretLedger(player, strict=True)

    with pytest.raises(AssertionError, match=f"top, .* violates .{statement}"):
        be_tried(player)


@pytest.mark.parametrize(
    ("make", "part", "number", "by"),
    [
        *((constrained, lambda p: p.minimizer, "earned", by) for by in (-1e3, 1e3)),
        *((constrained, lambda p: p.multipliers, "earned", by) for by in (-1e3, 1e3)),
        (partial(Restart, RM(4), every=10), lambda p: p.minimizer, "_best_before", -1e3),
        (
            partial(TreeSwap, lambda: RM(2), layers=2, branching=3),
            lambda p: p.members[0].minimizer,
            "earned",
            1e3,
        ),
    ],
)
def test_a_ledger_with_a_wrong_tracker_is_found_out(make, part, number, by):
    player = make()
    ledger = RegretLedger(player)
    list(meets(player, seed=1, iterations=20))
    ledger.check()

    tracker = ledger.tracker(part(player))
    setattr(tracker, number, getattr(tracker, number) + by)

    with pytest.raises(AssertionError, match=r"top, .* violates"):
        ledger.check()
