"""Orders of play: who learns when, and which strategies of the others it sees."""

from functools import partial

import numpy as np
import pytest
from attrs import define, field
from refusals import refusals

from regretkit import CFR, RegretMatching, RegretMatchingPlus, RegretMinimizer, SelfPlay
from regretkit.evaluation import duality_gap
from regretkit.games import NormalFormGame, kuhn_poker, matching_pennies
from regretkit.play import Alternating, RandomPlayer, Simultaneous
from regretkit.sets import Simplices


@define(eq=False, slots=False)
class Wanderer(RegretMinimizer):
    """Play what a generator says, and write down everything."""

    generator: np.random.Generator
    actions: int
    played: list = field(factory=list)
    observed: list = field(factory=list)

    def __attrs_post_init__(self):
        self.domain = Simplices(self.actions)

    def _propose(self):
        self.played.append(self.generator.dirichlet(np.ones(self.actions)))
        return self.played[-1].copy()

    def _learn(self, utility, strategy):
        self.observed.append(utility.copy())


def wander(order, iterations=4):
    """Return a random game of three players, and what wanderers did in it, in this order."""
    generator = np.random.default_rng(1)
    game = NormalFormGame(generator.normal(size=(3, 2, 3, 4)))
    players = [Wanderer(generator, n) for n in (2, 3, 4)]
    run = SelfPlay(game, players, order=order).run(iterations)
    run.current  # noqa: B018 - asks for the strategies of the iteration that was not played
    return game, players, run


# Which strategies are seen


def test_a_random_player_updates_one_player_and_all_have_the_same_share():
    first, *others = RandomPlayer(np.random.default_rng(2)).schedule(3, 3_000).players.T
    # Five standard deviations of a binomial count
    assert np.abs(np.bincount(first) - 1_000).max() < 5 * np.sqrt(3_000 * 2 / 9)
    assert {*np.ravel(others)} == {-1}


def pennies(order):
    return SelfPlay(matching_pennies(), [RegretMatching(2), RegretMatching(2)], order=order)


NOT_FIRST = "first must be a player, one of 0 to 1, got 2"


test_an_order_that_cannot_be_followed_is_refused = refusals(
    (lambda: pennies(Alternating(first=2)), ValueError, NOT_FIRST),
    (partial(Alternating, -1), ValueError, "first must be a whole number, at least 0"),
    (partial(Alternating, 0.5), TypeError, "first must be a whole number, at least 0"),
    (partial(RandomPlayer, None), TypeError, "generator must be a numpy Gen.*default_rng"),
)


# The same in a game


def test_simultaneous_utilities_are_the_gradients_at_the_joint_strategy():
    game, players, _ = wander(Simultaneous())

    for t in range(4):
        profile = [player.played[t] for player in players]
        for i, player in enumerate(players):
            np.testing.assert_allclose(player.observed[t], game.utility(i, profile), rtol=1e-12)


@pytest.mark.parametrize("first", [0, 1, 2])
def test_alternating_utilities_mix_this_iteration_with_the_next(first):
    game, players, _ = wander(Alternating(first))
    turns = [(first + k) % 3 for k in range(3)]

    for t in range(4):
        for i, player in enumerate(players):
            done = turns[: turns.index(i)]
            profile = [p.played[t + (j in done)] for j, p in enumerate(players)]
            np.testing.assert_allclose(player.observed[t], game.utility(i, profile), rtol=1e-12)


@pytest.mark.parametrize("order", [Simultaneous(), Alternating(), Alternating(2)])
def test_averages_are_over_the_first_to_the_last_iteration_in_any_order(order):
    _, players, run = wander(order)

    for i, player in enumerate(players):
        assert len(player.played) == 5
        np.testing.assert_allclose(run.average[i], np.mean(player.played[:4], axis=0), atol=1e-15)
        np.testing.assert_array_equal(run.last_profile[i], player.played[3])
        np.testing.assert_array_equal(run.current[i], player.played[4])


def test_with_a_random_player_all_averages_are_updated():
    # A player that did not learn plays the same strategy again, which is averaged again.
    _, players, run = wander(RandomPlayer(np.random.default_rng(3)), iterations=0)
    played = []

    run.run(6, callbacks=[lambda run: played.append(run.last_profile)])
    run.current  # noqa: B018 - asks for the strategies of the iteration that was not played

    assert sum(len(player.observed) for player in players) == 6
    for i, player in enumerate(players):
        assert len(player.played) == 1 + len(player.observed)
        mean = np.mean([profile[i] for profile in played], axis=0)
        np.testing.assert_allclose(run.average[i], mean, atol=1e-15)


# What alternation does to the bound


@pytest.mark.parametrize("local", [RegretMatching, RegretMatchingPlus])
def test_alternating_regrets_bound_the_gap_up_to_what_a_player_improved(local):
    # Burch, Moravcik and Schmid (2019). Player 0 learned from y_1 .. y_T, and player 1 from
    # x_2 .. x_T+1; with averages over these and regrets R over what was observed,
    #     T gap  =  R_0 + R_1 - sum_t <A y_t, x_t+1 - x_t>,    where no term is below zero.
    game, T = kuhn_poker(), 200
    players = [CFR(tree, local) for tree in game.domains]
    run = SelfPlay(game, players, order=Alternating())
    x, y = [], []
    for _ in range(T):
        x.append(players[0].next_strategy())
        y.append(players[1].next_strategy())
        run.run(1)
    later = [*x[1:], players[0].next_strategy()]

    seen = [[game.utility(0, [unseen(x[0]), s]) for s in y]]
    seen.append([game.utility(1, [s, unseen(y[0])]) for s in later])
    best = [tree.best_response(sum(u))[0] for tree, u in zip(game.domains, seen, strict=True)]
    regrets = [
        top - sum(u @ s for u, s in zip(utilities, strategies, strict=True))
        for top, utilities, strategies in zip(best, seen, (x, y), strict=True)
    ]
    improved = [u @ (new - old) for u, new, old in zip(seen[0], later, x, strict=True)]

    gap = duality_gap(game, [np.mean(later, axis=0), np.mean(y, axis=0)])
    assert T * gap == pytest.approx(sum(regrets) - sum(improved), abs=1e-11)
    assert min(improved) >= -1e-12
    assert max(improved) > 1e-3


def unseen(strategy):
    return np.full(strategy.size, np.nan)
