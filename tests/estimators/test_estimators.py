"""Estimators: every sample weighed by its probability, the mean is exact; what each varies by."""

import copy

import numpy as np
import pytest
from naive_games import chance, end, random_game, random_profile
from refusals import refusals

import regretkit as rk
from regretkit import ExtensiveFormGame, NormalFormGame, SelfPlay, games
from regretkit.estimators._estimator import every_estimate
from regretkit.play import (
    Algorithm,
    AverageStrategySampling,
    BanditFeedback,
    ChanceSampling,
    ExactUtility,
    ExternalSampling,
    LearnedBaseline,
    OutcomeSampling,
    assert_unbiased,
)


def rng(seed=1):
    return np.random.default_rng(seed)


def drawing(kind, **arguments):
    return lambda: kind(rng(), **arguments)


FEW = {"epsilon": 0.1, "tau": 0.5, "beta": 1.0}
SAMPLERS = {
    "external": drawing(ExternalSampling),
    "outcome": drawing(OutcomeSampling),
    "outcome, on policy": drawing(OutcomeSampling, exploration=0.0),
    "outcome, off policy": drawing(OutcomeSampling, exploration=1.0),
    "average strategy": drawing(AverageStrategySampling, **FEW),
}
LEARNING = {
    "external, learned": lambda: ExternalSampling(rng(), baseline=LearnedBaseline(rate=0.3)),
    "outcome, learned": lambda: OutcomeSampling(rng(), baseline=LearnedBaseline(rate=0.3)),
    "average, learned": lambda: AverageStrategySampling(
        rng(), **FEW, baseline=LearnedBaseline(rate=0.3)
    ),
}
IN_TREES = {"chance": drawing(ChanceSampling), **SAMPLERS, **LEARNING}
KUHN, KUHN_3 = games.kuhn_poker(), games.kuhn_poker(players=3)


def small_game(seed, players=2):
    """Return a random game in which all samples can be gone through."""
    generator = np.random.default_rng(seed)
    while True:
        game = ExtensiveFormGame.from_history(random_game(generator, players=players, depth=4))
        if game.tree.histories < 120 and min(domain.points for domain in game.domains) > 1:
            return game


def interior(game, seed=3):
    """Return a profile in which everything is played."""
    generator = np.random.default_rng(seed)
    return [
        domain.sequence_form(
            domain.simplices.normalize(generator.exponential(size=domain.dimension - 1) + 0.05)
        )
        for domain in game.domains
    ]


def used(estimator, game):
    """Return an estimator that has drawn samples, and learned from them."""
    profile = interior(game, seed=8)
    for player in 2 * [*range(game.players)]:
        estimator.utility(game, player, profile)
    return estimator


# The mean is exact


@pytest.mark.deep_beyond(6)
@pytest.mark.parametrize("make", IN_TREES.values(), ids=IN_TREES)
def test_over_all_samples_the_mean_estimate_is_the_utility(make):
    for game in (KUHN, small_game(1), KUHN_3, small_game(3, players=3)):
        assert_unbiased(game, used(make(), game), profiles=[interior(game)])


@pytest.mark.deep_beyond(2)
@pytest.mark.parametrize("name", ["chance", "external", "external, learned"])
def test_the_mean_is_exact_where_some_things_are_never_played(name):
    # The player itself may never get somewhere, and others may never do something.
    for game in (KUHN, small_game(4)):
        for seed in range(3):
            profile, _ = random_profile(np.random.default_rng(seed), game)
            assert_unbiased(game, IN_TREES[name](), profiles=[profile])


@pytest.mark.parametrize("make", SAMPLERS.values(), ids=SAMPLERS)
def test_the_mean_is_exact_in_normal_form(make):
    generator = np.random.default_rng(7)
    for sizes in [(3, 2), (1, 4), (2, 3, 2)]:
        game = NormalFormGame(generator.normal(size=(len(sizes), *sizes)))
        profile = [generator.dirichlet(np.ones(size)) for size in sizes]
        estimator = make()
        assert_unbiased(game, estimator, profiles=[profile])
        estimator.utility(game, 0, profile)
        assert_unbiased(game, estimator, profiles=[profile])


def test_each_outcome_is_drawn_by_a_stretch_of_numbers_as_long_as_its_probability():
    ends = {name: end(2.0**i) for i, name in enumerate("abcd")}
    game = ExtensiveFormGame.from_history(chance([0.125, 0.5, 0.0, 0.375], **ends))

    for kind in (ChanceSampling, ExternalSampling):
        found = every_estimate(kind(rng()), game, 0, [np.ones(1)])
        assert [(p, u[0]) for p, u in found] == [(0.125, 1.0), (0.5, 2.0), (0.375, 8.0)]


# How much it varies


def test_on_a_matrix_variances_are_those_of_the_formulas():
    generator = np.random.default_rng(9)
    A, x, y = generator.normal(size=(3, 4)), np.array([0.2, 0.3, 0.5]), np.full(4, 0.25)
    game, mean, square = rk.matrix_game(A), A @ y, A**2 @ y
    shares = {
        "external": 1.0,
        "outcome": 0.6 / 3 + 0.4 * x,
        "outcome, on policy": x,
        "average strategy": 1.0,
    }
    for name, share in shares.items():
        estimator = (
            SAMPLERS[name]() if name != "average strategy" else drawing(AverageStrategySampling)()
        )
        variance = estimator.variance(game, 0, [x, y])
        assert variance == pytest.approx(square / share - mean**2, rel=1e-12), name
    assert ExactUtility().variance(game, 0, [x, y]).tolist() == [0.0] * 3


def test_bandit_feedback_is_outcome_sampling_on_policy():
    generator = np.random.default_rng(10)
    game = NormalFormGame(generator.normal(size=(3, 2, 3, 2)))
    profile = [generator.dirichlet(np.ones(size)) for size in (2, 3, 2)]
    feedback = BanditFeedback(np.random.default_rng(5))
    sampling = OutcomeSampling(np.random.default_rng(5), exploration=0.0)

    for player in (0, 1, 2, 0, 1):
        np.testing.assert_array_equal(
            sampling.utility(game, player, profile), feedback.utility(game, player, profile)
        )


@pytest.mark.parametrize("name", ["outcome, learned", "external, learned"])
def test_a_learned_baseline_takes_away_most_of_the_variance_of_a_values_estimate(name):
    profile = interior(KUHN)

    def spread(estimator):
        found = every_estimate(estimator, KUHN, 0, profile)
        probability, earned = zip(*((p, u @ profile[0]) for p, u in found), strict=True)
        earned = np.array(earned)
        return probability @ (earned - probability @ earned) ** 2

    estimator = IN_TREES[name]()
    estimator.baseline = LearnedBaseline(rate=0.05)
    previous = spread(estimator)
    for _ in range(2_000):
        estimator.utility(KUHN, 0, profile)

    assert spread(estimator) < 0.1 * previous


def test_average_strategy_sampling_follows_what_was_played_on_average():
    # One decision: q = max(epsilon, (beta + tau s) / (beta + sum of s)), after four strategies.
    game = rk.matrix_game(np.ones((3, 1)))
    sampling = AverageStrategySampling(rng(), epsilon=0.05, tau=0.5, beta=1.0)
    for strategy in ([1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.5, 0.5, 0.0]):
        sampling.utility(game, 0, [np.array(strategy), np.ones(1)])

    variance = sampling.variance(game, 0, [np.array([0.0, 1.0, 0.0]), np.ones(1)])

    played = np.array([2.5, 1.5, 0.0])
    share = np.maximum(0.05, (1.0 + 0.5 * played) / (1.0 + played.sum()))
    assert variance == pytest.approx(1.0 / share - 1.0)


# What was visited


def test_visits_are_counted():
    profile = interior(KUHN)
    external, chance_only = IN_TREES["external"](), IN_TREES["chance"]()
    external.utility(KUHN, 0, profile)
    chance_only.utility(KUHN, 0, profile)
    outcome = IN_TREES["outcome"]()
    outcome.utility(KUHN, 0, profile)

    # One deal in Kuhn poker: two chance moves, and nine histories of bets at most.
    assert 2 + 1 <= outcome.visited <= 2 + 1 + 3
    assert outcome.visited < external.visited <= 2 + 9
    assert chance_only.visited == 2 + 9


@pytest.mark.parametrize("kind", [ChanceSampling, ExternalSampling, OutcomeSampling])
def test_one_estimator_may_go_from_game_to_game(kind):
    old = kind(np.random.default_rng(5))
    for name in ("kuhn_poker", "kuhn_poker(players=3)", "kuhn_poker"):
        game = games.load(name)
        profile = [domain.relative_interior_point() for domain in game.domains]
        new = kind(copy.deepcopy(old.generator))

        expected = new.utility(game, 0, profile)

        np.testing.assert_array_equal(old.utility(game, 0, profile), expected)


@pytest.mark.parametrize("name", ["external", "outcome, learned", "chance"])
def test_a_circuit_of_single_minimizers_learns_from_samples_what_cfr_learns(name):
    runs = []
    for make in (rk.circuit, rk.CFR):
        players = [make(tree, rk.RegretMatchingPlus) for tree in KUHN.domains]
        runs.append(SelfPlay(KUHN, players, estimator=IN_TREES[name](), engine="numpy").run(40))

    for found, expected in zip(runs[0].average, runs[1].average, strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-12)
    assert runs[0].estimator.visited == runs[1].estimator.visited


# What is refused


class SquareGame(rk.games.Game):
    """A game of one player who plays on a box."""

    domains = (rk.sets.Box([0.0], [1.0]),)

    def _utility(self, player, strategies, payoff_of):
        return np.ones(1)


def sampled(kind, game):
    return kind.utility(game, 0, [domain.relative_interior_point() for domain in game.domains])


PENNIES = games.matching_pennies()
test_what_cannot_be_sampled_is_refused = refusals(
    (lambda: ChanceSampling(-7), TypeError, r"generator must be a numpy Generator"),
    (lambda: ExternalSampling(rng(), baseline=0.5), TypeError, "baseline must be"),
    (lambda: OutcomeSampling(rng(), exploration=1.5), ValueError, "from 0 to 1, got 1.5"),
    (lambda: AverageStrategySampling(rng(), epsilon=2.0), ValueError, "above 0 and at most 1"),
    (lambda: AverageStrategySampling(rng(), tau=-1.0), ValueError, "tau must be"),
    (lambda: LearnedBaseline(rate=0.0), ValueError, "rate must be"),
    (lambda: sampled(ChanceSampling(rng()), PENNIES), TypeError, "must be in extensive form"),
    (lambda: sampled(ExternalSampling(rng()), SquareGame()), TypeError, "extensive or normal form"),
    (lambda: sampled(LEARNING["outcome, learned"](), PENNIES), TypeError, "needs a tree"),
)


def test_outcome_sampling_with_a_baseline_has_a_name():
    named = Algorithm("cfr", sampling="outcome-baseline").start(games.kuhn_poker(), seed=3).run(50)
    estimator = OutcomeSampling(np.random.default_rng(3), baseline=LearnedBaseline())
    built = Algorithm("cfr").start(games.kuhn_poker(), estimator=estimator).run(50)
    assert all((x == y).all() for x, y in zip(named.average, built.average, strict=True))
