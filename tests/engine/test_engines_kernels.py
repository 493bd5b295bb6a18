"""Rules that users write, with numbers and arrays of all kinds, and what changes during a run."""

from functools import partial

import numpy as np
import pytest
from attrs import define, field

import regretkit as rk
from regretkit import SelfPlay, games
from regretkit.evaluation import nash_conv
from regretkit.play import Alternating, Linear, Simultaneous

pytestmark = pytest.mark.deep  # nearly all the time goes into compiling


KUHN = games.kuhn_poker()
HALF = 0.5


@define(eq=False)
class Mine(rk.SimplexRule):
    """Regret matching."""

    regrets: np.ndarray = rk.state()

    def _propose(self):
        return self.simplices.normalize(np.maximum(self.regrets, 0.0))

    def _learn(self, utility, strategy):
        self.regrets = self.regrets + self.simplices.regret(utility, strategy)


@define(eq=False)
class Elaborate(Mine):
    """Exponential weights of fading regrets, at a rate that depends on utilities so far.

    It has a constant of the module, a hyperparameter, numbers that change with the iteration, and
    arrays by action and by block.
    """

    floor: float = field(default=-1.0, kw_only=True)
    worst: np.ndarray = rk.state(per="block")
    count: np.ndarray = rk.state(per="block")

    def _propose(self):
        scale = np.sqrt(1.0 + self.count) / (1.0 + self.worst)
        return self.simplices.normalize(np.exp(self.simplices.repeat(scale) * self.regrets))

    def _learn(self, utility, strategy):
        regret = self.simplices.regret(utility, strategy)
        t = self.iteration + 1
        factor = HALF * (1.0 + t / (t + 1.0))
        self.regrets = np.maximum(factor * self.regrets + regret, self.floor)
        self.worst = np.hypot(self.worst, self.simplices.max(np.abs(regret)))
        self.count += 1.0


@define(eq=False)
class Rated(Mine):
    """Exponential weights with a rate that may be changed."""

    rate: float = field(default=1.0, kw_only=True)

    def _propose(self):
        return self.simplices.softmax(self.regrets, self.rate)


def run_of(rule, engine, game=KUHN, order=Alternating):
    minimizers = [rk.CFR(tree, rule) for tree in game.domains]
    return SelfPlay(game, minimizers, order=order(), averaging=Linear(), engine=engine)


@pytest.mark.parametrize("order", [Alternating, Simultaneous])
def test_a_rule_may_have_constants_numbers_and_arrays_by_block(order):
    one, second = (
        run_of(Elaborate, engine, order=order).run(60) for engine in ("compiled", "numpy")
    )

    assert nash_conv(KUHN, one.average) == pytest.approx(nash_conv(KUHN, second.average), rel=1e-9)
    for first_rule, second_rule in zip(one.minimizers, second.minimizers, strict=True):
        for name in ("regrets", "worst", "count"):
            expected = getattr(second_rule.rule, name)
            np.testing.assert_allclose(
                getattr(first_rule.rule, name), expected, rtol=1e-9, atol=1e-12
            )
    assert one.minimizers[0].rule.count.tolist() == [60.0] * KUHN.domains[0].points


def test_a_hyperparameter_counts_although_the_code_is_the_same():
    low, high = (run_of(partial(Elaborate, floor=f), "compiled").run(30) for f in (-1.0, 0.0))
    assert all((m.rule.regrets >= 0.0).all() for m in high.minimizers)
    assert any((m.rule.regrets < 0.0).any() for m in low.minimizers)


# What changes during a run


def test_a_hyperparameter_that_changes_counts_from_then_on():
    runs = {engine: run_of(Rated, engine).run(10) for engine in ("compiled", "numpy")}
    for run in runs.values():
        for minimizer in run.minimizers:
            minimizer.rule.rate = 0.01
        run.run(10)
    for own_rule, plain_rule in zip(runs["compiled"].current, runs["numpy"].current, strict=True):
        np.testing.assert_allclose(own_rule, plain_rule, atol=1e-12)
    steady = run_of(Rated, "compiled").run(20)
    assert not np.allclose(runs["compiled"].current[0], steady.current[0], atol=0.05)


def test_new_minimizers_are_played_from_then_on():
    run = run_of(Mine, "compiled").run(10)
    run.minimizers = tuple(rk.CFR(tree, rk.RegretMatchingPlus) for tree in KUHN.domains)
    run.run(7)
    assert [minimizer.iteration for minimizer in run.minimizers] == [7, 7]
