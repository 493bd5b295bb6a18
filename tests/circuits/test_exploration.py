"""What a minimizer plays, reshaped: exploration, thresholds, and averages as iterates."""

import math
from functools import partial

import numpy as np
import pytest
from factories import MAKERS, meets, regret, train

import regretkit as rk
from regretkit.circuits import ExplorationMixture, LastIterateByAveraging, Thresholded
from regretkit.evaluation import RegretLedger
from regretkit.games import kuhn_poker, matching_pennies
from regretkit.play import Last, SelfPlay, Simultaneous
from regretkit.sets import Simplices

TREE = rk.DecisionTree([0, 2, 0, 5, 2], [2, 3, 2, 1, 2])


def learn(player, seed, iterations=30):
    generator, played = np.random.default_rng(seed), []
    for utility, prediction in generator.normal(size=(iterations, 2, player.dimension)):
        if utility[0] > 0.5:
            player.expect_utility(prediction)
        played.append(player.next_strategy())
        player.observe_utility(utility)
    return np.array(played)


# Exploration


@pytest.mark.parametrize("name", MAKERS)
def test_exploring_mixes_what_the_minimizer_plays_with_uniform(name):
    alone, exploring = MAKERS[name]([2, 3]), ExplorationMixture(MAKERS[name]([2, 3]), gamma=0.2)

    x, y = learn(alone, 1), learn(exploring, 1)

    np.testing.assert_allclose(y, 0.8 * x + 0.2 * Simplices([2, 3]).uniform(), atol=1e-15)


def test_on_a_tree_it_explores_toward_uniform_play_everywhere():
    player = ExplorationMixture(rk.CFR(TREE, rk.RegretMatching), gamma=1.0)
    behavior = TREE.behavior(train(player, np.random.default_rng(2)).next_strategy())

    np.testing.assert_allclose(behavior, TREE.simplices.uniform(), atol=1e-15)


def test_it_explores_toward_any_point_of_the_domain():
    player = ExplorationMixture(rk.Point([0.0, 1.0]), gamma=0.5, reference=[0.0, 1.0])
    assert player.next_strategy().tolist() == [0.0, 1.0]

    hedge = ExplorationMixture(rk.Hedge(2, rate=1.0), gamma=0.5, reference=[0.0, 1.0])
    assert hedge.next_strategy().tolist() == [0.25, 0.75]
    assert hedge.on_domain(Simplices(3)) is None


def test_exploring_with_gamma_zero_is_bitwise_the_inner_minimizer():
    np.testing.assert_array_equal(
        learn(ExplorationMixture(MAKERS["prm+"](4), gamma=0.0), 3), learn(MAKERS["prm+"](4), 3)
    )


@pytest.mark.parametrize("seed", range(3))
def test_exp3_is_hedge_exploring_and_keeps_its_bound(seed):
    # Rewards g in [0, 1]: expected regret <= (e - 1) gamma T + n ln n / gamma, rate = gamma / n.
    # Seen through <x, g>, it is kept by the mean over 40 runs with room for chance.
    n, T, runs = 3, 2_000, 40
    gamma = math.sqrt(n * math.log(n) / ((math.e - 1.0) * T))
    generator = np.random.default_rng(seed)
    player = ExplorationMixture(rk.Hedge([n] * runs, rate=gamma / n), gamma=gamma)
    rewards = generator.binomial(1, [0.5, 0.6, 0.4], size=(T, n)).astype(float)
    earned = np.zeros(runs)

    for reward in rewards:
        x = player.next_strategy().reshape(runs, n)
        chosen = (x.cumsum(axis=1) < generator.random((runs, 1))).sum(axis=1).clip(0, n - 1)
        estimates = np.zeros((runs, n))
        taken = np.arange(runs), chosen
        estimates[taken] = reward[chosen] / x[taken]  # the estimator owns the weight
        assert estimates.max() <= n / gamma + 1e-9
        earned += x @ reward
        player.observe_utility(estimates.ravel())

    regret = rewards.sum(axis=0).max() - earned.mean()
    assert 0.0 < regret < 2.0 * math.sqrt((math.e - 1.0) * n * math.log(n) * T)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("reference", [None, [0.0, 1.0, 0.2, 0.3, 0.5]])
def test_the_ledger_mixes_the_minimizers_regret_with_that_of_what_is_explored(seed, reference):
    player = ExplorationMixture(rk.RegretMatching([2, 3]), gamma=0.3, reference=reference)
    learn(player, seed)  # before there is a ledger
    ledger = RegretLedger(player, strict=True)
    inner, history = [], []

    for x, u in meets(player, seed):
        inner.append((player.minimizer.next_strategy(), u))
        history.append((x, u))

    theorem = ledger.regret_bounds()["top"]
    point = Simplices([2, 3]).uniform() if reference is None else np.array(reference)
    explored = regret(player.domain, [(point, u) for _, u in history])
    assert theorem.exact
    assert theorem.regret == pytest.approx(regret(player.domain, history), abs=1e-9)
    assert theorem.bound == pytest.approx(
        0.7 * regret(player.domain, inner) + 0.3 * explored, abs=1e-9
    )


# Thresholds


@pytest.mark.parametrize(
    ("threshold", "expected"),
    [
        (0.0, [0.05, 0.15, 0.8, 0.5, 0.5]),
        (0.1, [0.0, 0.15 / 0.95, 0.8 / 0.95, 0.5, 0.5]),
        (0.6, [0.0, 0.0, 1.0, 0.5, 0.5]),
        (1.0, [0.0, 0.0, 1.0, 0.5, 0.5]),
    ],
)
def test_what_is_below_the_threshold_is_not_played_but_something_is(threshold, expected):
    player = Thresholded(rk.Hedge([3, 2], rate=1.0), threshold=threshold)

    player.observe_utility([*np.log([0.05, 0.15, 0.8]), 0.0, 0.0])

    np.testing.assert_allclose(player.next_strategy(), expected, atol=1e-15)


def test_on_a_tree_every_decision_point_has_its_own_threshold():
    inner = rk.CFR(TREE, partial(rk.Hedge, rate=1.0))
    player = train(Thresholded(inner, threshold=0.3), np.random.default_rng(4))

    cut, whole = (TREE.behavior(x) for x in (player.next_strategy(), inner.next_strategy()))

    assert TREE.contains(player.next_strategy())
    for j in range(TREE.points):
        block = TREE.simplices.block(j)
        kept = whole[block] >= min(0.3, whole[block].max())
        if TREE.reach(player.next_strategy())[j] > 0.0:
            expected = np.where(kept, whole[block], 0.0) / whole[block][kept].sum()
            np.testing.assert_allclose(cut[block], expected, atol=1e-12)


def test_the_minimizer_learns_as_if_nothing_were_cut():
    inner = rk.Hedge(4, rate=0.5)
    alone = rk.Hedge(4, rate=0.5)

    learn(Thresholded(inner, threshold=0.5), 5)
    learn(alone, 5)

    np.testing.assert_array_equal(inner.next_strategy(), alone.next_strategy())


def sets_to_cut_on():
    tree = rk.DecisionTree([0, 1, 1, 2, 7], [2, 2, 3, 2, 2])
    return {"simplices": rk.Simplices([2, 4, 1]), "tree": tree}


@pytest.mark.parametrize("threshold", [0.0, 0.05, 0.3, 1.0])
@pytest.mark.parametrize("name", sets_to_cut_on())
def test_the_ledger_bounds_what_a_cut_may_cost(name, threshold):
    domain = sets_to_cut_on()[name]
    is_tree = name == "tree"
    inner = rk.CFR(domain, rk.RegretMatching) if is_tree else rk.RegretMatching(domain)
    player = Thresholded(inner, threshold=threshold)
    ledger = RegretLedger(player, strict=True)
    alone, history = [], []

    for x, u in meets(player, seed=1):
        alone.append((inner.next_strategy(), u))
        history.append((x, u))

    theorem = ledger.regret_bounds()["top"]
    ranges = sum(domain.best_response(u)[0] + domain.best_response(-u)[0] for _, u in history)
    least = {n: 1.0 - min((n - 1) * threshold, 1.0 - 1.0 / n) for n in (1, 2, 3, 4)}
    # The path with the most to lose makes a decision of two, one of three and one of two.
    kept = least[2] * least[3] * least[2] if is_tree else least[4]
    assert theorem.regret == pytest.approx(regret(domain, history), abs=1e-9)
    assert theorem.bound == pytest.approx(regret(domain, alone) + (1.0 - kept) * ranges, abs=1e-8)


def test_the_bound_on_the_cost_of_a_threshold_is_tight():
    # Two actions below the threshold, by a hair, and all utility is theirs.
    below = 0.2 - 1e-9
    inner = PlayedOn(Simplices(3), np.array([1.0 - 2.0 * below, below, below]))
    player = Thresholded(inner, threshold=0.2)
    ledger = RegretLedger(player, strict=True)

    for _ in range(10):
        player.observe_utility([0.0, 1.0, 1.0])

    theorem = ledger.regret_bounds()["top"]
    assert ledger.external(player) - ledger.external(inner) == pytest.approx(10 * 0.4, abs=1e-7)
    assert theorem.regret == pytest.approx(theorem.bound, abs=1e-7)


class PlayedOn(rk.RegretMinimizer):
    """Plays one strategy of a tree for ever."""

    def __init__(self, tree, strategy):
        self.domain, self.strategy = tree, strategy

    def _propose(self):
        return self.strategy.copy()

    def _learn(self, utility, strategy):
        pass


def test_purified_kuhn_poker_is_far_from_equilibrium():
    game = kuhn_poker()
    players = [rk.CFR(tree, rk.RegretMatchingPlus) for tree in game.domains]
    average = SelfPlay(game, players).run(500).average

    pure = [
        Thresholded(PlayedOn(tree, x), threshold=1.0).next_strategy()
        for tree, x in zip(game.domains, average, strict=True)
    ]

    assert rk.nash_conv(game, average) < 0.01
    assert rk.nash_conv(game, pure) > 0.3


# The average as the iterate


@pytest.mark.parametrize("name", MAKERS)
def test_in_self_play_the_last_iterate_is_the_average_that_there_would_have_been(name):
    game = rk.matrix_game(np.random.default_rng(6).normal(size=(3, 4)))
    plain = [MAKERS[name](n) for n in (3, 4)]
    wrapped = [LastIterateByAveraging(MAKERS[name](n)) for n in (3, 4)]

    averages = SelfPlay(game, plain, order=Simultaneous()).run(60).average
    iterates = SelfPlay(game, wrapped, order=Simultaneous(), averaging=Last()).run(60).average

    for iterate, average in zip(iterates, averages, strict=True):
        np.testing.assert_allclose(iterate, average, atol=1e-9)


def test_in_kuhn_poker_too_with_cfr_inside():
    game = kuhn_poker()
    plain = [rk.CFR(tree, partial(rk.Hedge, rate=0.5)) for tree in game.domains]
    wrapped = [
        LastIterateByAveraging(rk.CFR(tree, partial(rk.Hedge, rate=0.5))) for tree in game.domains
    ]

    runs = [SelfPlay(game, players, order=Simultaneous()).run(200) for players in (plain, wrapped)]

    for iterate, average in zip(runs[1].last_profile, runs[0].average, strict=True):
        np.testing.assert_allclose(iterate, average, atol=1e-9)


def test_the_iterates_converge_where_the_inner_ones_keep_turning():
    game = matching_pennies()
    players = [LastIterateByAveraging(rk.Hedge(2, rate=0.3)) for _ in range(2)]
    for player, utility in zip(players, ([1.0, 0.0], [0.0, 1.0]), strict=True):
        player.observe_utility(utility)

    run = SelfPlay(game, players, order=Simultaneous()).run(2_000)

    inner = [player.minimizer.next_strategy() for player in players]
    assert rk.nash_conv(game, run.current) < 0.2 < rk.nash_conv(game, inner)


def test_it_tells_the_minimizer_what_it_expects_without_averages():
    one, other = LastIterateByAveraging(MAKERS["prm+"](3)), MAKERS["prm+"](3)
    last = np.zeros(3)

    for t, (utility, prediction) in enumerate(np.random.default_rng(7).normal(size=(20, 2, 3))):
        one.expect_utility(prediction)
        other.expect_utility((t + 1) * prediction - t * last)
        np.testing.assert_allclose(one.minimizer.next_strategy(), other.next_strategy(), atol=1e-12)
        one.observe_utility(utility)
        other.observe_utility((t + 1) * utility - t * last)
        last = utility


def test_of_averages_as_iterates_the_ledger_knows_no_theorem_for_there_is_none():
    # All utilities favour what is not played, but the last one, which is zero: the minimizer has
    # learned nothing in sum, and has no regret.
    player = LastIterateByAveraging(PlayedOn(Simplices(2), np.array([1.0, 0.0])))
    ledger = RegretLedger(player, strict=True)

    for _ in range(100):
        player.observe_utility([0.0, 1.0])
    player.observe_utility([0.0, 0.0])

    assert ledger.regret_bounds() == {}
    assert ledger.external(player.minimizer) == 0.0
    assert ledger.external(player) == 100.0


# Refusals


explore = partial(ExplorationMixture, rk.RegretMatching(2))
cut = partial(Thresholded, rk.RegretMatching(2))


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda: ExplorationMixture(rk.Hedge, gamma=0.1), TypeError, "got the class Hedge; build"),
        (lambda: explore(gamma=1.5), ValueError, "gamma must be from 0 to 1"),
        (lambda: explore(gamma="a"), TypeError, "gamma must be a number"),
        (lambda: explore(gamma=None), TypeError, "gamma must be a number"),
        (lambda: explore(gamma=10**400), ValueError, "gamma must be from 0 to 1"),
        (lambda: explore(gamma=0.5, reference=[0.9, 0.9]), ValueError, "of the minimizer's domain"),
        (lambda: explore(gamma=0.5, reference=[1.0]), ValueError, "dimension 2 is wanted"),
        (lambda: explore(gamma=0.5, reference=[[1.0], [1.0, 2.0]]), TypeError, "a vector of num"),
        (lambda: explore(gamma=0.5, reference="ab"), TypeError, "reference must be numbers"),
        (lambda: cut(threshold=math.nan), ValueError, "threshold must be from 0 to 1, got nan"),
        (lambda: cut(threshold=-0.1), ValueError, "from 0 to 1"),
        (lambda: Thresholded(rk.Point([1.0]), threshold=0.1), TypeError, "simplices or on a dec"),
        (lambda: Thresholded(3, threshold=0.1), TypeError, "minimizer must be a RegretMinimizer"),
        (lambda: LastIterateByAveraging(3), TypeError, "minimizer must be a RegretMinimizer"),
    ],
)
def test_impossible_parts_are_refused(build, error, message):
    with pytest.raises(error, match=message):
        build()
