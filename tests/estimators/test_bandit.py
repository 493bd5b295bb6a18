"""Bandit feedback: unbiased by enumeration, biased as said, and enough to learn from."""

import numpy as np
import pytest
from refusals import refusals

import regretkit as rk
from regretkit import NormalFormGame, SelfPlay
from regretkit.circuits import ExplorationMixture
from regretkit.estimators._estimator import mean_and_variance
from regretkit.games import kuhn_poker
from regretkit.play import BanditFeedback, Simultaneous


def random_games(count):
    generator = np.random.default_rng(7)
    for _ in range(count):
        sizes = tuple(generator.integers(1, 5, size=generator.integers(1, 4)))
        game = NormalFormGame(generator.normal(size=(len(sizes), *sizes)))
        yield game, [generator.dirichlet(np.ones(size)) for size in sizes]


def mean_over_draws(feedback, game, player, profile):
    """Add up the estimates of all that may be drawn, each times its probability."""
    return mean_and_variance(feedback, game, player, profile)[0]


@pytest.mark.parametrize("baseline", [0.0, 2.5, -1.0])
def test_the_mean_of_the_estimate_is_the_utility(baseline):
    feedback = BanditFeedback(np.random.default_rng(1), baseline=baseline)
    for game, profile in random_games(8):
        for player in range(game.players):
            mean = mean_over_draws(feedback, game, player, profile)
            assert mean == pytest.approx(game.utility(player, profile), rel=1e-12, abs=1e-12)


def test_implicit_exploration_moves_the_mean_towards_the_baseline_by_x_over_x_plus_gamma():
    feedback = BanditFeedback(np.random.default_rng(1), baseline=3.0, implicit=0.2)
    for game, profile in random_games(10):
        for player, strategy in enumerate(profile):
            exact = game.utility(player, profile)
            wanted = 3.0 + (exact - 3.0) * strategy / (strategy + 0.2)
            mean = mean_over_draws(feedback, game, player, profile)
            assert mean == pytest.approx(wanted, rel=1e-12, abs=1e-12)


@pytest.mark.deep_beyond(1)
@pytest.mark.parametrize("implicit", [False, True])
def test_exp3_has_the_regret_of_its_theorem_against_a_fixed_opponent(implicit):
    # Auer et al., Corollary 3.2: at most 2.63 sqrt(n T ln n) in the mean, with rewards in [0, 1].
    # Neu, Theorem 1: about 2 sqrt(2 n T ln n) with high probability, without exploring.
    n, iterations = 4, 2_000
    rewards = np.array([0.2, 0.4, 0.5, 0.9])
    game = NormalFormGame(rewards[None, :])
    gamma = min(1.0, np.sqrt(n * np.log(n) / ((np.e - 1.0) * iterations)))
    rate = np.sqrt(2.0 * np.log(n) / (n * iterations))
    regrets = []
    for seed in range(4):
        generator = np.random.default_rng(seed)
        if implicit:
            player = rk.Hedge(n, rate=rate)
            feedback = BanditFeedback(generator, baseline=1.0, implicit=rate / 2.0)
        else:
            player = ExplorationMixture(rk.Hedge(n, rate=gamma / n), gamma=gamma)
            feedback = BanditFeedback(generator)
        run = SelfPlay(game, [player], order=Simultaneous(), estimator=feedback).run(iterations)
        regrets.append(iterations * (rewards.max() - rewards @ run.average[0]))
    uniform = iterations * (rewards.max() - rewards.mean())

    assert np.mean(regrets) <= 2.63 * np.sqrt(n * iterations * np.log(n))
    assert np.mean(regrets) < uniform / 4.0


def on_a_tree():
    game = kuhn_poker()
    uniform = [domain.relative_interior_point() for domain in game.domains]
    return BanditFeedback(np.random.default_rng(1)).utility(game, 0, uniform)


test_bad_arguments_are_refused = refusals(
    (lambda: BanditFeedback(1.0), TypeError, "generator must be a numpy Generator"),
    (lambda: BanditFeedback(np.random.default_rng(1), implicit=-0.1), ValueError, "implicit"),
    (lambda: BanditFeedback(np.random.default_rng(1), baseline=np.inf), ValueError, "baseline"),
    (on_a_tree, TypeError, "must be in normal form"),
)
