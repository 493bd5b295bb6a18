"""Estimators: every sample weighed by its probability, the mean is exact; what each varies by."""

import copy

import numpy as np
import pytest
from naive_games import chance, decision, end, kuhn_bets, random_game, random_profile
from refusals import refusals

import regretkit as rk
from regretkit import ExtensiveFormGame, NormalFormGame, SelfPlay, games
from regretkit.estimators._estimator import every_estimate
from regretkit.play import (
    Algorithm,
    Alternating,
    AverageStrategySampling,
    BanditFeedback,
    ChanceSampling,
    Estimator,
    ExactBaseline,
    ExactUtility,
    ExternalSampling,
    LearnedBaseline,
    OutcomeSampling,
    PublicChanceSampling,
    RobustSampling,
    assert_unbiased,
)


def drawing(kind, **arguments):
    return lambda: kind(np.random.default_rng(1), **arguments)


FEW = {"epsilon": 0.1, "tau": 0.5, "beta": 1.0}
SAMPLERS = {
    "external": drawing(ExternalSampling),
    "outcome": drawing(OutcomeSampling),
    "outcome, on policy": drawing(OutcomeSampling, exploration=0.0),
    "outcome, off policy": drawing(OutcomeSampling, exploration=1.0),
    "robust 1": drawing(RobustSampling),
    "robust 2": drawing(RobustSampling, actions=2),
    "average strategy": drawing(AverageStrategySampling, **FEW),
}
WITH_BASELINE = {
    f"{name}, {baseline}": make
    for baseline, build in {
        "learned": lambda: LearnedBaseline(rate=0.3),
        "exact": ExactBaseline,
    }.items()
    for name, make in {
        "external": lambda build=build: ExternalSampling(
            np.random.default_rng(1), baseline=build()
        ),
        "outcome": lambda build=build: OutcomeSampling(np.random.default_rng(1), baseline=build()),
        "robust": lambda build=build: RobustSampling(np.random.default_rng(1), baseline=build()),
        "average strategy": lambda build=build: AverageStrategySampling(
            np.random.default_rng(1), **FEW, baseline=build()
        ),
    }.items()
}
IN_TREES = {"chance": drawing(ChanceSampling), **SAMPLERS, **WITH_BASELINE}
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


def ranks_in_the_open():
    """Return a game with a hidden deal, then a coin that all see and that the deal makes unfair."""

    def coin(deal, *fair):
        return chance(fair, **{side: bet(deal, side) for side in ("heads", "tails")})

    def bet(deal, side):
        answers = {a: answer(deal, side, a) for a in ("low", "high")}
        return decision(0, deal + side, **answers)

    def answer(deal, side, a):
        worth = 1.0 + 2.0 * (deal == "good") + 4.0 * (side == "heads") + 8.0 * (a == "high")
        return decision(1, side + a, fold=end(1.0, -1.0), call=end(worth, -worth))

    root = chance([0.5, 0.5], good=coin("good", 0.2, 0.8), bad=coin("bad", 0.6, 0.4))
    return ExtensiveFormGame.from_history(root)


class Watched(Estimator):
    """Note what player 0's strategy earns according to the estimates."""

    def __init__(self, estimator):
        self.estimator, self.earned = estimator, []

    def utility(self, game, player, profile):
        utility = self.estimator.utility(game, player, profile)
        if player == 0:
            self.earned.append(utility @ profile[0])
        return utility


# The mean is exact


@pytest.mark.deep_beyond(6)
@pytest.mark.parametrize("make", IN_TREES.values(), ids=IN_TREES)
def test_over_all_samples_the_mean_estimate_is_the_utility(make):
    for game in (KUHN, small_game(1)):
        assert_unbiased(game, used(make(), game), profiles=[interior(game)])


@pytest.mark.deep_beyond(2)
@pytest.mark.parametrize("make", IN_TREES.values(), ids=IN_TREES)
def test_over_all_samples_among_three_the_mean_estimate_is_the_utility(make):
    for game in (KUHN_3, small_game(3, players=3)):
        assert_unbiased(game, used(make(), game), profiles=[interior(game)])


@pytest.mark.deep_beyond(2)
@pytest.mark.parametrize("name", ["chance", "external", "robust 2", "external, learned"])
def test_the_mean_is_exact_where_some_things_are_never_played(name):
    # The player itself may never get somewhere, and others may never do something.
    for game in (KUHN, small_game(4)):
        for seed in range(3):
            profile, _ = random_profile(np.random.default_rng(seed), game)
            assert_unbiased(game, IN_TREES[name](), profiles=[profile])


def test_the_mean_is_exact_for_every_exploration():
    for game in (KUHN, small_game(5)):
        reference = interior(game, seed=6)
        for exploration in (0.3, 1.0):
            sampling = OutcomeSampling(
                np.random.default_rng(1), exploration=exploration, reference=reference
            )
            assert_unbiased(
                game, sampling, profiles=[random_profile(np.random.default_rng(2), game)[0]]
            )


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


def test_over_all_public_draws_the_mean_estimate_is_the_utility():
    for game in (ranks_in_the_open(), games.leduc_poker(ranks=2)):
        assert_unbiased(game, PublicChanceSampling(np.random.default_rng(1)))


@pytest.mark.parametrize("make", SAMPLERS.values(), ids=SAMPLERS)
def test_the_mean_of_many_random_estimates_tends_to_the_utility(make):
    # Five standard errors, coordinate by coordinate; the draws are numpy's own.
    estimator, profile = make(), interior(KUHN)

    drawn = np.array([estimator.utility(KUHN, 1, profile) for _ in range(1_000)])

    error = drawn.std(axis=0) / np.sqrt(1_000)
    assert (np.abs(drawn.mean(axis=0) - KUHN.utility(1, profile)) <= 5 * error + 1e-12).all()
    assert error.max() > 0.0


def test_what_is_public_is_drawn_for_all_hidden_deals_at_once():
    game = ranks_in_the_open()
    sampling, profile = PublicChanceSampling(np.random.default_rng(1)), interior(game)

    found = [*every_estimate(sampling, game, 0, profile)]

    probabilities, estimates = zip(*found, strict=True)
    assert probabilities == pytest.approx((0.4, 0.6))  # half of 0.2 and half of 0.6 is heads
    for estimate, side in zip(estimates, ("heads", "tails"), strict=True):
        tree = game.domains[0]
        for number in range(tree.points):
            first = tree.first_sequence[number]
            present = tree.simplices.labels.block(number).endswith(side)
            assert (estimate[first : first + 2] != 0.0).all() == present


def test_each_outcome_is_drawn_by_a_stretch_of_numbers_as_long_as_its_probability():
    ends = {name: end(2.0**i) for i, name in enumerate("abcd")}
    game = ExtensiveFormGame.from_history(chance([0.125, 0.5, 0.0, 0.375], **ends))

    for kind in (ChanceSampling, ExternalSampling):
        found = every_estimate(kind(np.random.default_rng(1)), game, 0, [np.ones(1)])
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
        "robust 2": 2 / 3,
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


@pytest.mark.deep_beyond(1)
@pytest.mark.parametrize("name", [name for name in WITH_BASELINE if "exact" in name])
def test_with_the_exact_baseline_every_sample_gives_the_exact_value_of_a_strategy(name):
    for game in (KUHN, small_game(1), KUHN_3):
        profile = interior(game)
        value = game.value(profile)
        for player, strategy in enumerate(profile):
            found = every_estimate(IN_TREES[name](), game, player, profile)
            earned = [estimate @ strategy for _, estimate in found]
            assert len(earned) > 1
            assert earned == pytest.approx([value[player]] * len(earned), abs=1e-12)


def values_below(game, profile, player):
    """Return the value of each history for a player, found from the ends up."""
    tree = game.tree
    first = [domain.first_sequence for domain in game.domains]
    behavior = [
        domain.behavior(strategy) for domain, strategy in zip(game.domains, profile, strict=True)
    ]
    values = np.zeros(tree.histories)
    values[tree.terminals] = tree.payoffs[:, player]
    for h in range(tree.histories - 1, 0, -1):
        parent, acting = tree.parent[h], tree.player[tree.parent[h]]
        move = tree.probability[h]
        if acting >= 0:
            number = tree.information_set[parent]
            move = behavior[acting][first[acting][number] - 1 + tree.action[h]]
        values[parent] += move * values[h]
    return values


def test_with_the_exact_baseline_so_is_every_action_where_a_sample_came():
    # At the first decision of player 0, the two actions are worth what they are after that deal.
    profile, tree = interior(KUHN), KUHN.domains[0]
    values, parent = values_below(KUHN, profile, 0), KUHN.tree.parent
    deals = np.flatnonzero((KUHN.tree.player == 0) & (KUHN.tree.player[parent] < 0))
    expected = sorted(values[parent == deal].tolist() for deal in deals)
    start = np.repeat(tree.parent_sequence == 0, tree.sizes)

    found = []
    for _, estimate in every_estimate(WITH_BASELINE["external, exact"](), KUHN, 0, profile):
        worth = tree.counterfactual(estimate, tree.behavior(profile[0]))[1]
        found.append(worth[start & (worth != 0.0)].tolist())

    np.testing.assert_allclose(
        np.unique(np.round(found, 12), axis=0), np.array(expected), atol=1e-9
    )


@pytest.mark.parametrize("name", ["outcome, learned", "robust, learned", "external, learned"])
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


def test_variances_order_estimators_as_they_draw_more():
    profile = interior(KUHN)

    def total(make):
        return make().variance(KUHN, 0, profile).sum()

    assert 0.0 < total(IN_TREES["chance"]) < total(IN_TREES["external"])
    assert total(IN_TREES["external"]) < total(IN_TREES["robust 1"])
    assert total(drawing(RobustSampling, actions=2)) == pytest.approx(total(IN_TREES["external"]))


def test_average_strategy_sampling_follows_what_was_played_on_average():
    # One decision: q = max(epsilon, (beta + tau s) / (beta + sum of s)), after four strategies.
    game = rk.matrix_game(np.ones((3, 1)))
    sampling = AverageStrategySampling(np.random.default_rng(1), epsilon=0.05, tau=0.5, beta=1.0)
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


def test_without_chance_an_estimate_is_the_utility_itself():
    root = decision(0, "a", l=end(1, 0), r=decision(1, "b", l=end(2, 5), r=end(0, 7)))
    game = ExtensiveFormGame.from_history(root)
    profile, _ = random_profile(np.random.default_rng(3), game)

    for player in (0, 1):
        found = ChanceSampling(np.random.default_rng(4)).utility(game, player, profile)
        np.testing.assert_array_equal(found, game.utility(player, profile))


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


def test_a_minimizer_on_the_whole_tree_learns_from_samples():
    players = [
        rk.minimizers.DilatedMirrorDescent(tree, regularizer=rk.minimizers.Entropy(), rate=0.2)
        for tree in KUHN.domains
    ]
    run = SelfPlay(KUHN, players, estimator=IN_TREES["external"]()).run(1_000)

    assert rk.exploitability(KUHN, run.average) < 0.15 * rk.exploitability(
        KUHN, [domain.relative_interior_point() for domain in KUHN.domains]
    )


# What is refused


test_what_draws_nothing_is_refused_with_what_would = refusals(
    -7,
    None,
    np.random,
    np.random.RandomState(1),
    call=ChanceSampling,
    error=TypeError,
    match=r"generator must be a numpy Generator.*default_rng\(seed\)",
)


def test_a_game_without_a_tree_is_refused():
    game = games.matching_pennies()
    players = [rk.RegretMatching(2), rk.RegretMatching(2)]
    for kind in (ChanceSampling, PublicChanceSampling):
        run = SelfPlay(game, players, estimator=kind(np.random.default_rng(8)))
        with pytest.raises(TypeError, match="game must be in extensive form to sample its chance"):
            run.run(1)


def test_what_cannot_be_sampled_is_refused_with_what_can():
    generator = np.random.default_rng(1)
    pennies, uniform = games.matching_pennies(), [np.ones(2) / 2] * 2
    kuhn = [domain.relative_interior_point() for domain in KUHN.domains]

    with pytest.raises(TypeError, match="must be in extensive or in normal form to be sampled"):
        ExternalSampling(generator).utility(SquareGame(), 0, [np.ones(1)])
    with pytest.raises(
        TypeError, match=r"has none; leave the baseline out, or pass BanditFeedback"
    ):
        OutcomeSampling(generator, baseline=LearnedBaseline()).utility(pennies, 0, uniform)
    with pytest.raises(ValueError, match=r"does nothing in <kuhn_poker.* pass ChanceSampling"):
        PublicChanceSampling(generator).utility(KUHN, 0, kuhn)


class SquareGame(rk.games.Game):
    """A game of one player who plays on a box."""

    domains = (rk.sets.Box([0.0], [1.0]),)

    def _utility(self, player, strategies, payoff_of):
        return np.ones(1)


test_bad_arguments_are_refused = refusals(
    (lambda g: ExternalSampling(g, baseline=0.5), TypeError, "baseline must be .*LearnedBaseline"),
    (
        lambda g: OutcomeSampling(g, exploration=1.5),
        ValueError,
        "exploration must be from 0 to 1, got 1.5",
    ),
    (lambda g: OutcomeSampling(g, exploration=-0.1), ValueError, "exploration must be"),
    (
        lambda g: OutcomeSampling(g, reference=0.5),
        TypeError,
        "reference must be a strategy for each player",
    ),
    (lambda g: RobustSampling(g, actions=0), ValueError, "actions must be"),
    (lambda g: RobustSampling(g, actions=1.5), TypeError, "actions must be"),
    (lambda g: AverageStrategySampling(g, epsilon=0.0), ValueError, "epsilon must be"),
    (
        lambda g: AverageStrategySampling(g, epsilon=2.0),
        ValueError,
        "epsilon must be above 0 and at most 1",
    ),
    (lambda g: AverageStrategySampling(g, tau=-1.0), ValueError, "tau must be"),
    (lambda g: AverageStrategySampling(g, beta=0.0), ValueError, "beta must be"),
    (lambda g: LearnedBaseline(rate=1.5), ValueError, "rate must be above 0 and at most 1"),
    (lambda g: LearnedBaseline(rate=0.0), ValueError, "rate must be"),
    (
        lambda g: ExternalSampling(7.0),
        TypeError,
        r"generator must be a numpy Generator.*default_rng\(seed\)",
    ),
    call=lambda build: build(np.random.default_rng(1)),
)


def test_what_to_explore_with_must_be_a_profile_of_the_game():
    sampling = OutcomeSampling(np.random.default_rng(1), reference=[np.ones(3)])
    with pytest.raises(ValueError, match="profile") as refused:
        sampling.utility(KUHN, 0, interior(KUHN))
    assert "reference" in refused.value.__notes__[0]


# Chance-sampled CFR


def distance_to_equilibrium(profile):
    """Return how far play is from the nearest equilibrium of Kuhn poker, in one probability.

    What a player does where its own play hardly brings it is no part of the distance.
    """
    bets = {}
    for player, tree in enumerate(profile.domains):
        reach = tree.reach(profile[player])
        for number in np.flatnonzero(reach > 0.02):
            bets[tree.simplices.labels.block(number)] = profile[player, int(number)][1]
    return min(
        max(abs(bets[label] - bet) for label, bet in kuhn_bets(alpha).items() if label in bets)
        for alpha in np.linspace(0.0, 1 / 3, 1_001)
    )


def chance_sampled(seed, order):
    game = games.kuhn_poker()
    estimator = Watched(ChanceSampling(np.random.default_rng(seed)))
    players = [rk.CFR(tree, rk.RegretMatching) for tree in game.domains]
    run = SelfPlay(game, players, order=order, estimator=estimator).run(100_000)
    return run.average, np.array(estimator.earned)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_chance_sampled_cfr_finds_the_value_and_an_equilibrium_of_kuhn_poker(seed):
    average, earned = chance_sampled(seed, Alternating())

    error = earned.std(ddof=1) / np.sqrt(earned.size)
    assert earned.size == 100_000
    assert abs(earned.mean() + 1 / 18) <= 4 * error
    assert distance_to_equilibrium(average) <= 0.02


def test_outcome_sampling_with_a_baseline_has_a_name():
    named = Algorithm("cfr", sampling="outcome-baseline").start(games.kuhn_poker(), seed=3).run(50)
    estimator = OutcomeSampling(np.random.default_rng(3), baseline=LearnedBaseline())
    built = Algorithm("cfr").start(games.kuhn_poker(), estimator=estimator).run(50)
    assert all((x == y).all() for x, y in zip(named.average, built.average, strict=True))
