"""An object that has the two methods plays, learns and is saved as a minimizer of the package."""

import copy
from collections import deque

import naive
import numpy as np
import pytest
from refusals import refusals

import regretkit as rk
from regretkit.circuits import Restart
from regretkit.minimizers import Adapter

KUHN = rk.load("kuhn_poker")


class Learner:
    """Holds a naive twin of a rule, what it has played last, and a list that grows."""

    def __init__(self, actions, rule=naive.RegretMatching, generator=None):
        self.rule, self.last, self.seen, self.generator = rule(actions), None, [], generator

    def next_strategy(self):
        self.last = self.rule.play()
        return self.last

    def observe_utility(self, utility):
        self.rule.learn(utility.tolist())
        self.seen.append(utility)
        utility[:] = np.nan  # a copy, which is its own


class Drawn(Learner):
    def next_strategy(self):
        return 0.9 * np.array(self.rule.play()) + 0.1 * self.generator.dirichlet(np.ones(2))


class Unreadable(Learner):
    def observe_utility(self, utility):
        self.queue = deque([utility])


class Slotted:
    __slots__ = ("regrets",)
    next_strategy = observe_utility = Learner.next_strategy


def adapted(actions):
    return Adapter(Learner(actions), actions)


def run_of(make):
    players = [rk.CFR(tree, rk.PerDecisionPoint(make)) for tree in KUHN.domains]
    return rk.SelfPlay(KUHN, players)


def test_an_adapted_rule_plays_cfr_as_the_library_does():
    ours = rk.solve(KUHN, "cfr", iterations=100).average

    for adapted_to, expected in zip(run_of(adapted).run(100).average, ours, strict=True):
        np.testing.assert_allclose(adapted_to, expected, atol=1e-12)


@pytest.mark.parametrize("kind", [Learner, Drawn])
def test_a_saved_run_goes_on_bitwise_identically(kind, tmp_path):
    def make(actions):
        return Adapter(kind(actions, generator=np.random.default_rng(3)), actions)

    run = run_of(make).run(20)
    run.save(tmp_path / "run")
    fresh = [rk.CFR(tree, rk.PerDecisionPoint(make)) for tree in KUHN.domains]
    loaded = rk.SelfPlay.load(tmp_path / "run", KUHN, fresh)
    copied = copy.deepcopy(run)

    for one in (run, loaded, copied):
        one.run(20)
        np.testing.assert_array_equal([*one.average], [*run.average])


def test_what_was_none_at_first_is_none_again_after_a_restart():
    player = Restart(adapted(2), every=2)
    for _ in range(2):
        player.observe_utility([1.0, 0.0])

    assert player.minimizer.learner.last is None
    np.testing.assert_array_equal(player.next_strategy(), [0.5, 0.5])


def test_a_part_of_the_state_that_cannot_be_read_is_refused_by_name_and_plays_all_the_same():
    player = Adapter(Unreadable(2), 2)
    player.observe_utility([1.0, 0.0])

    with pytest.raises(TypeError, match="its attribute queue may be learned, deque"):
        player.state_dict()


test_wrong_arguments_are_refused = refusals(
    (lambda: Adapter(Learner, 2), TypeError, "build one of this class"),
    (lambda: Adapter(naive.RegretMatching(2), 2), TypeError, "it has no next_strategy"),
    (lambda: Adapter(Slotted(), 2).state_dict(), TypeError, "it has no __dict__"),
    (lambda: Adapter(Learner(3), 2).next_strategy(), ValueError, "Adapter._propose returned"),
    (lambda: run_of(Learner), TypeError, "must be a RegretMinimizer"),
    (
        lambda: rk.SelfPlay(KUHN, run_of(adapted).minimizers, engine="compiled"),
        ValueError,
        "is no RegretMinimizer",
    ),
)
