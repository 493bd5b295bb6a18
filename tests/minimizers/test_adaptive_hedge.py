"""Hedges that choose their own rate: their recurrences, their bounds and their invariances."""

import math

import naive
import numpy as np
import pytest
from factories import ADVERSARIES, play
from scipy.optimize import brentq

from regretkit.minimizers import AdaHedge, NormalHedge

RULES = [AdaHedge, NormalHedge]
each_rule = pytest.mark.parametrize("make", RULES)
against_everyone = pytest.mark.parametrize("adversary", ADVERSARIES)


class NaiveAdaHedge:
    """The published rule: losses, and a mix loss M, for one simplex."""

    def __init__(self, actions):
        self.L = [0.0] * actions
        self.gap = 0.0

    def mix(self):
        n, least = len(self.L), min(self.L)
        if self.gap == 0.0 or n == 1:
            leaders = [float(loss == least) for loss in self.L]
            return [one / sum(leaders) for one in leaders], least
        rate = math.log(n) / self.gap
        weights = [math.exp(-rate * (loss - least)) for loss in self.L]
        x = [weight / sum(weights) for weight in weights]
        return x, least - math.log(sum(weights) / n) / rate

    def play(self):
        return self.mix()[0]

    def learn(self, utility):
        x, before = self.mix()
        lost = -naive.dot(x, utility)
        self.L = [loss - u for loss, u in zip(self.L, utility, strict=True)]
        self.gap += max(0.0, lost - (self.mix()[1] - before))


class NaiveNormalHedge:
    def __init__(self, actions):
        self.R = [0.0] * actions

    def scale(self):
        """Return c, the one number for which exp(R^2 / 2c) averages to e."""
        squares = [r * r for r in naive.positive(self.R)]

        def excess(b):
            return (
                sum(math.exp(b * square / max(squares)) for square in squares) / len(squares)
                - math.e
            )

        b = brentq(excess, 0.5, 2.0 + math.log(len(squares)), xtol=1e-15, rtol=1e-15)
        return max(squares) / (2.0 * b)

    def play(self):
        if max(self.R) <= 0.0:
            return [1.0 / len(self.R)] * len(self.R)
        c = self.scale()
        return naive.in_proportion(
            [
                r / c * math.exp((r * r - max(self.R) ** 2) / (2.0 * c))
                for r in naive.positive(self.R)
            ]
        )

    def learn(self, utility):
        self.R = naive.add(self.R, naive.regret(utility, self.play()))


@against_everyone
@pytest.mark.parametrize("actions", [2, 5])
def test_adahedge_keeps_its_bounds(adversary, actions):
    # max_a R[a]  <=  2 G   and   <=  sqrt( ln(n) sum_t s_t^2 ) + s (4/3 ln(n) + 2)
    generator, player = np.random.default_rng(4), AdaHedge(actions)
    squares = widest = 0.0

    for t in range(1, 401):
        utility = ADVERSARIES[adversary](player.next_strategy(), t, generator)
        player.observe_utility(utility)
        squares, widest = squares + np.ptp(utility) ** 2, max(widest, np.ptp(utility))
        worst_case = math.sqrt(math.log(actions) * squares)
        worst_case += widest * (4.0 / 3.0 * math.log(actions) + 2.0)

        assert player.regrets.max() <= 2.0 * player.gaps[0] * (1.0 + 1e-12) + 1e-12
        assert player.regrets.max() <= worst_case


def test_adahedge_has_bounded_regret_where_one_action_is_best():
    generator, player = np.random.default_rng(5), AdaHedge(4)

    for iteration in range(4_000):
        player.observe_utility(
            np.array([0.5, 0.0, 0.0, 0.0]) + generator.uniform(-0.5, 0.5, size=4)
        )
        if iteration == 1_000:
            early = player.gaps[0]

    assert player.gaps[0] < early + 1e-6
    assert player.regrets.max() < 5.0


@against_everyone
@pytest.mark.parametrize("actions", [2, 5])
def test_no_regret_of_normalhedge_is_above_what_its_potential_allows(adversary, actions):
    # max_a R[a]  <=  sqrt( 2 c (1 + ln n) ), and c stays below 3/2 sum_t s_t^2 and a constant
    x, u = play(NormalHedge(actions), ADVERSARIES[adversary], 300, np.random.default_rng(6))
    reference = NaiveNormalHedge(actions)

    regrets = (u - (u * x).sum(axis=1, keepdims=True)).cumsum(axis=0)
    squares = (np.ptp(u, axis=1) ** 2).cumsum()
    for regret, square in zip(regrets, squares, strict=True):
        if regret.max() > 0.0:
            reference.R = regret.tolist()
            potential = 2.0 * reference.scale() * (1.0 + math.log(actions))
            assert regret.max() <= math.sqrt(potential) * (1.0 + 1e-12)
        assert regret.max() <= math.sqrt(3.0 * square * (1.0 + math.log(actions)))


def test_a_million_actions_are_one_block_like_any_other():
    utility = np.random.default_rng(8).normal(size=1_000_000)

    for make in RULES:
        player = make(1_000_000)
        player.observe_utility(utility)
        assert player.next_strategy().sum() == pytest.approx(1.0, abs=1e-9)
        assert player.next_strategy().argmax() == utility.argmax()
