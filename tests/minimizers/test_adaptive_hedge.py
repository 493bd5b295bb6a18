"""Hedges that choose their own rate: their recurrences, their bounds and their invariances."""

import math

import naive
import numpy as np
import pytest
from factories import ADVERSARIES, play
from scipy.optimize import brentq

import regretkit as rk
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
        if self.gap == 0.0:
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


NAIVE = {AdaHedge: NaiveAdaHedge, NormalHedge: NaiveNormalHedge}


def played_by_naive(make, utilities):
    player, played = NAIVE[make](utilities.shape[1]), []
    for utility in utilities.tolist():
        played.append(player.play())
        player.learn(utility)
    return np.array([*played, player.play()])


@each_rule
@pytest.mark.parametrize("adversary", ["random", "drifting", "bursting"])
@pytest.mark.parametrize("actions", [2, 3, 20])
def test_a_rule_plays_its_recurrence(make, adversary, actions):
    player = make(actions)
    x, u = play(player, ADVERSARIES[adversary], 80, np.random.default_rng(actions))

    expected = played_by_naive(make, u)

    np.testing.assert_allclose([*x, player.next_strategy()], expected, atol=1e-8)


@each_rule
def test_a_rule_over_several_blocks_is_bitwise_a_product_of_rules(make):
    sizes = [3, 1, 30, 3, 2]
    together, apart = make(sizes), rk.Product([make(n) for n in sizes])

    for t, utility in enumerate(np.random.default_rng(1).normal(size=(60, 39))):
        np.testing.assert_array_equal(together.next_strategy(), apart.next_strategy())
        # Blocks begin at different times, so that some rates are still infinite.
        utility[: 10 * (5 - t // 10)] *= t > 50
        together.observe_utility(utility)
        apart.observe_utility(utility)


@each_rule
@pytest.mark.parametrize("exponent", [30, -30, 300, -300])
def test_a_rule_plays_the_same_bits_in_another_unit(make, exponent):
    player, scaled = make([3, 5]), make([3, 5])

    for t, utility in enumerate(np.random.default_rng(2).normal(size=(80, 8))):
        np.testing.assert_array_equal(scaled.next_strategy(), player.next_strategy())
        utility = utility.round() if t < 10 else utility
        player.observe_utility(utility)
        scaled.observe_utility(2.0**exponent * utility)


@each_rule
def test_what_all_actions_earn_alike_changes_nothing(make):
    generator = np.random.default_rng(3)
    player, paid = make([2, 4]), make([2, 4])

    for utility in generator.normal(size=(60, 6)):
        np.testing.assert_allclose(player.next_strategy(), paid.next_strategy(), atol=1e-9)
        player.observe_utility(utility)
        paid.observe_utility(utility + player.simplices.repeat(generator.normal(size=2)))


@each_rule
def test_an_untrained_rule_is_uniform_and_stays_so_while_all_actions_earn_the_same(make):
    player = make([3, 7, 11, 1])

    for worth in (0.1, 1e-200, -1e200, 7.0):
        np.testing.assert_array_equal(player.next_strategy(), player.simplices.uniform())
        player.observe_utility(np.full(22, worth))
    np.testing.assert_array_equal(player.next_strategy(), player.simplices.uniform())


@each_rule
def test_extreme_utilities_give_strategies_all_the_same(make):
    player = make([2, 3])

    for utility in ([1e298, 0.0, 0.0, 1e-300, 0.0], [0.0, 1e298, 1.0, 0.0, -1e298]) * 3:
        player.observe_utility(utility)
        assert player.domain.contains(player.next_strategy())


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


@each_rule
def test_a_rule_finds_the_one_good_action(make):
    generator, player = np.random.default_rng(7), make(4)

    for _ in range(2_000):
        player.observe_utility(np.array([0.0, 0.0, 1.0, 0.0]) + generator.normal(size=4))

    assert player.next_strategy()[2] > 0.99


def test_a_million_actions_are_one_block_like_any_other():
    utility = np.random.default_rng(8).normal(size=1_000_000)

    for make in RULES:
        player = make(1_000_000)
        player.observe_utility(utility)
        assert player.next_strategy().sum() == pytest.approx(1.0, abs=1e-9)
        assert player.next_strategy().argmax() == utility.argmax()
