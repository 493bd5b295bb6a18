"""Numbers come in an order: a mapping, a set or a text is refused wherever some are wanted."""

from types import MappingProxyType

import numpy as np
import pytest
from attrs import frozen

import regretkit as rk
from regretkit import games, sets
from regretkit.circuits import AffineImage
from regretkit.evaluation import (
    Estimate,
    cce_gaps,
    nash_conv,
    sampled_local_best_response,
    sampled_value,
)
from regretkit.games import CHANCE, GameDAG, GameTree
from regretkit.play import ExternalSampling, LazyMCCFR, StrategyAgent, play_match

PENNIES = games.matching_pennies()
TREE = rk.DecisionTree([0], [1])
UNIFORM = [np.full(2, 0.5)] * 2

BAD = {
    "dict": {0: 1.0, 1: -1.0},
    "mapping": MappingProxyType({1.0: 5.0, -1.0: 7.0}),
    "keys": {1.0: 5.0, -1.0: 7.0}.keys(),
    "set": {1.0, -1.0},
    "frozenset": frozenset([1.0, -1.0]),
    "text": "12",
    "bytes": b"12",
    "bytearray": bytearray(b"12"),
    "texts": ["1.0", "-1.0"],
}


@frozen
class Once:
    """Chance moves, then player 0, then the game is over and pays what it is told to."""

    paid: object = (1.0, -1.0)
    outcomes: object = (("h", 0.5), ("t", 0.5))
    moves: str = ""

    def is_terminal(self):
        return len(self.moves) == 2

    def player(self):
        return 0 if self.moves else CHANCE

    def chance_outcomes(self):
        return self.outcomes

    def actions(self):
        return ["h", "t"]

    def child(self, action):
        return Once(self.paid, self.outcomes, self.moves + str(action))

    def information_set(self):
        return "now"

    def payoffs(self):
        return self.paid


def answers(bad):
    return [lambda information_set, actions: bad] * 2


def rng():
    return np.random.default_rng(1)


def uniform(information_set, actions):
    return np.full(len(actions), 1.0 / len(actions))


BY_RULES = {
    "GameTree.from_history": lambda root: GameTree.from_history(root),
    "GameDAG.from_history": lambda root: GameDAG.from_history(root, state=lambda h: h.moves),
    "LazyMCCFR": lambda root: LazyMCCFR(root, rk.RegretMatching, ExternalSampling(rng())).run(1),
    "sampled_value": lambda root: sampled_value(root, [uniform] * 2, samples=2, generator=rng()),
    "play_match": lambda root: play_match(
        root, [StrategyAgent([uniform] * 2, rng()) for _ in "xy"], rounds=2, generator=rng()
    ),
    "sampled_local_best_response": lambda root: sampled_local_best_response(
        root, 0, [uniform] * 2, samples=2, generator=rng()
    ),
}
ENTRIES = {
    "RegretMinimizer.observe_utility": lambda bad: rk.RegretMatching(2).observe_utility(bad),
    "RegretMinimizer.expect_utility": lambda bad: rk.RegretMatching(2).expect_utility(bad),
    "NormalFormGame": lambda bad: rk.NormalFormGame(bad),
    "matrix_game": lambda bad: rk.matrix_game(bad),
    "Game.utility": lambda bad: PENNIES.utility(0, [UNIFORM[0], bad]),
    "Game.value": lambda bad: PENNIES.value([bad, UNIFORM[0]]),
    "Game.value, the profile": lambda bad: PENNIES.value(bad),
    "nash_conv": lambda bad: nash_conv(PENNIES, [bad, UNIFORM[0]]),
    "Profile": lambda bad: games.Profile([bad, UNIFORM[0]], PENNIES.domains),
    "Average.add": lambda bad: rk.Average().add(bad),
    "StrategySet.best_response": lambda bad: rk.Simplices(2).best_response(bad),
    "StrategySet.contains": lambda bad: rk.Simplices(2).contains(bad),
    "DecisionTree.sequence_form": lambda bad: TREE.sequence_form(bad),
    "DecisionTree.counterfactual": lambda bad: TREE.counterfactual(bad, np.ones(1)),
    "cce_gaps": lambda bad: cce_gaps(PENNIES, bad),
    "Estimate": lambda bad: Estimate.of(bad),
    "Box": lambda bad: sets.Box(bad, [1.0, 1.0]),
    "Ball": lambda bad: sets.Ball(bad, 1.0),
    "Polytope": lambda bad: sets.Polytope(bad),
    "Singleton": lambda bad: sets.Singleton(bad),
    "AffineImage": lambda bad: AffineImage(rk.RegretMatching(2), np.eye(2), bad),
    "Point": lambda bad: rk.Point(bad),
    "sampled_value, an answer": lambda bad: sampled_value(
        Once(), answers(bad), samples=2, generator=rng()
    ),
    **{f"payoffs of {name}": lambda bad, f=f: f(Once(bad)) for name, f in BY_RULES.items()},
}


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("entry", ENTRIES)
def test_what_holds_numbers_in_no_order_is_refused(entry, bad):
    with pytest.raises(
        (TypeError, ValueError), match=r"must be|must have|are no numbers"
    ) as caught:
        ENTRIES[entry](BAD[bad])
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("entry", BY_RULES)
def test_what_chance_may_do_comes_in_an_order(entry):
    for bad in ({"h": 0.5, "t": 0.5}, {("h", 0.5), ("t", 0.5)}, {"h1": 0, "t0": 1}):
        with pytest.raises(TypeError, match=r"chance_outcomes\(\) must be a sequence, got "):
            BY_RULES[entry](Once(outcomes=bad))
