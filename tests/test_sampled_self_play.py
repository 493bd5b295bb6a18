"""Self-play by rules alone is self-play on the tree, sample by sample."""

from functools import partial

import numpy as np
import pytest
from attrs import frozen
from naive_games import random_game

import regretkit as rk
from regretkit import SelfPlay, games
from regretkit.evaluation import nash_conv
from regretkit.games import CHANCE, GameTree
from regretkit.play import (
    AverageStrategySampling,
    ChanceSampling,
    ExternalSampling,
    Last,
    LearnedBaseline,
    Linear,
    OutcomeSampling,
    RandomPlayer,
    RobustSampling,
    SampledSelfPlay,
    Simultaneous,
)

SAMPLERS = {
    "external": ExternalSampling,
    "outcome": OutcomeSampling,
    "outcome, greedy": partial(OutcomeSampling, exploration=0.2),
    "robust": RobustSampling,
    "robust, 2": partial(RobustSampling, actions=2),
}
GAMES = {
    "kuhn": games.kuhn_poker(),
    "kuhn of three": games.kuhn_poker(players=3),
    "leduc": games.leduc_poker(),
    "random": rk.ExtensiveFormGame(
        GameTree.from_history(random_game(np.random.default_rng(4), depth=4))
    ),
}


def of_openspiel(name):
    pytest.importorskip("pyspiel", reason="OpenSpiel is not installed")
    return games.openspiel_history(name)


def rng(seed=1):
    return np.random.default_rng(seed)


def pair(game, rule, make, **how):
    """Return the same run without a tree and on the tree."""
    players = [rk.CFR(tree, rule) for tree in game.domains]
    return (
        SampledSelfPlay(game, rule, make(rng()), **how),
        SelfPlay(game, players, estimator=make(rng()), engine="numpy", **how),
    )


def assert_alike(free, bound):
    """Hold strategies and averages at all information sets that were met to those of the tree."""
    assert free.estimator.visited == bound.estimator.visited
    for player, domain in enumerate(bound.game.domains):
        now = bound.minimizers[player].rule.next_strategy()
        average = domain.behavior(bound.average[player])
        assert len(free.current[player]) == len(free.average[player]) > 0
        for key in free.current[player]:
            where = domain.simplices.block(key.number)
            np.testing.assert_allclose(free.current[player][key], now[where], atol=1e-12)
            np.testing.assert_allclose(free.average[player][key], average[where], atol=1e-12)


@pytest.mark.parametrize("rule", [rk.RegretMatching, rk.RegretMatchingPlus])
@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("game", GAMES)
def test_samples_strategies_and_averages_are_those_on_the_tree(game, sampler, rule):
    free, bound = pair(GAMES[game], rule, SAMPLERS[sampler], averaging=Linear())

    for _ in range(3):
        free.run(15)
        bound.run(15)
        assert_alike(free, bound)


@pytest.mark.parametrize("order", [Simultaneous, lambda: RandomPlayer(rng(5))])
def test_orders_of_play_are_those_on_the_tree(order):
    free = SampledSelfPlay(
        GAMES["kuhn of three"], rk.RegretMatching, ExternalSampling(rng()), order=order()
    )
    players = [rk.CFR(tree, rk.RegretMatching) for tree in GAMES["kuhn of three"].domains]
    bound = SelfPlay(
        GAMES["kuhn of three"], players, estimator=ExternalSampling(rng()), order=order()
    )
    assert_alike(free.run(60), bound.run(60))


@pytest.mark.parametrize("rule", [rk.LinearRegretMatching, partial(rk.Hedge, rate=0.3)])
def test_other_rules_agree_as_well(rule):
    free, bound = pair(GAMES["kuhn"], rule, ExternalSampling)

    assert_alike(free.run(50), bound.run(50))


def test_a_rule_without_a_kernel_learns_at_its_visits():
    def swap(simplices):
        return rk.SwapRegret(simplices, rk.RegretMatching)

    run = SampledSelfPlay(GAMES["kuhn"], swap, ExternalSampling(rng()))
    uniform = [domain.interior_point() for domain in GAMES["kuhn"].domains]

    reached = nash_conv(GAMES["kuhn"], on_the_tree(GAMES["kuhn"], run.run(1_500)))

    assert reached < 0.2 < nash_conv(GAMES["kuhn"], uniform)


def on_the_tree(game, run):
    """Return the averages of a run as strategies of a tree whose labels are all known."""
    profile = []
    for domain, average in zip(game.domains, run.average, strict=True):
        simplices = domain.simplices
        behavior = simplices.uniform()
        for key in average:
            behavior[simplices.block(key.number)] = average[key]
        profile.append(domain.sequence_form(behavior))
    return profile


@pytest.mark.parametrize("remember", [0, 10])
def test_what_is_kept_in_memory_changes_nothing(remember):
    few, all_ = (
        SampledSelfPlay(
            GAMES["leduc"], rk.RegretMatching, ExternalSampling(rng()), remember=room
        ).run(40)
        for room in (remember, 10**6)
    )
    for mine, other in zip(few.average, all_.average, strict=True):
        assert set(mine) == set(other)
        for key in mine:
            np.testing.assert_array_equal(mine[key], other[key])


def test_memory_grows_with_what_was_visited():
    # More than 10^11 histories, which no tree has room for
    run = SampledSelfPlay(
        of_openspiel("goofspiel(num_cards=9,imp_info=True)"),
        rk.RegretMatching,
        OutcomeSampling(rng()),
    ).run(20)

    assert run.information_sets[0] <= 20 * 2 * 9


def test_a_run_from_a_file_goes_on_to_the_same_bits(tmp_path):
    history = of_openspiel("leduc_poker")
    whole = SampledSelfPlay(history, rk.RegretMatching, OutcomeSampling(rng()), averaging=Linear())
    whole.run(200)
    whole.save(tmp_path / "half")
    whole.run(100)

    half = SampledSelfPlay.load(
        tmp_path / "half", history, rk.RegretMatching, OutcomeSampling(rng(7)), averaging=Linear()
    )
    half.run(100)

    assert half.iteration == whole.iteration == 300
    assert half.estimator.visited == whole.estimator.visited
    for which in ("current", "average"):
        for mine, other in zip(getattr(half, which), getattr(whole, which), strict=True):
            assert list(mine) == list(other)
            for key in mine:
                np.testing.assert_array_equal(mine[key], other[key])


def test_a_file_of_another_run_is_refused(tmp_path):
    history = of_openspiel("kuhn_poker")
    run = SampledSelfPlay(history, rk.RegretMatching, ExternalSampling(rng())).run(5)
    run.save(tmp_path / "run")
    with pytest.raises(ValueError, match=r"of another run: run\.rule was RegretMatching"):
        SampledSelfPlay.load(
            tmp_path / "run", history, rk.RegretMatchingPlus, ExternalSampling(rng())
        )
    rk.solve(GAMES["kuhn"], iterations=2).save(tmp_path / "other")
    with pytest.raises(ValueError, match="checkpoint of something else"):
        SampledSelfPlay.load(
            tmp_path / "other", history, rk.RegretMatching, ExternalSampling(rng())
        )
    data = (tmp_path / "run").read_bytes()
    (tmp_path / "cut").write_bytes(data[:-20])
    with pytest.raises(ValueError, match="truncated"):
        SampledSelfPlay.load(tmp_path / "cut", history, rk.RegretMatching, ExternalSampling(rng()))


@frozen
class Forgetful:
    """A player who acts twice and cannot tell the second time what it did the first time."""

    moves: str = ""

    def is_terminal(self):
        return len(self.moves) == 3

    def player(self):
        return 0 if self.moves else CHANCE

    def chance_outcomes(self):
        return [("h", 0.5), ("t", 0.5)]

    def actions(self):
        return ["h", "t"]

    def child(self, action):
        return Forgetful(self.moves + action)

    def information_set(self):
        return len(self.moves)

    def payoffs(self):
        return [1.0]


def test_a_player_who_forgets_is_refused_with_the_information_set():
    run = SampledSelfPlay(Forgetful(), rk.RegretMatching, ExternalSampling(rng()))
    with pytest.raises(ValueError, match="imperfect recall: player 0 comes to information set 2"):
        run.run(5)


def test_who_broke_off_half_way_neither_goes_on_nor_is_saved(tmp_path):
    met = []

    def rule(simplices):
        met.append(simplices)
        if len(met) == 9:
            raise ArithmeticError("no more")
        return rk.SwapRegret(simplices, rk.RegretMatching)

    run = SampledSelfPlay(GAMES["kuhn"], rule, ExternalSampling(rng()))
    with pytest.raises(ArithmeticError, match="no more"):
        run.run(100)
    played = run.iteration
    with pytest.raises(RuntimeError, match=f"broke off half-way, in iteration {played + 1}: "):
        run.run(1)
    with pytest.raises(RuntimeError, match="load it from a file, or start anew"):
        run.save(tmp_path / "run")
    assert run.iteration == played
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (lambda: ChanceSampling(rng()), "estimator must be"),
        (lambda: AverageStrategySampling(rng()), "goes by sums along a tree"),
        (lambda: ExternalSampling(rng(), baseline=LearnedBaseline()), "leave it out"),
        (lambda: None, "estimator must be"),
    ],
)
def test_estimators_that_need_a_tree_are_refused(estimator, message):
    with pytest.raises(TypeError, match=message):
        SampledSelfPlay(GAMES["kuhn"], rk.RegretMatching, estimator())


def test_weights_must_be_finite():
    run = SampledSelfPlay(
        GAMES["kuhn"], rk.RegretMatching, ExternalSampling(rng()), averaging=Last()
    )
    with pytest.raises(ValueError, match="weights must be finite, use current"):
        run.run(1)
    assert run.iteration == 0


def test_openspiel_histories_are_those_of_the_tree():
    free = SampledSelfPlay(of_openspiel("kuhn_poker"), rk.RegretMatching, ExternalSampling(rng()))
    tree = games.from_openspiel("kuhn_poker")
    players = [rk.CFR(domain, rk.RegretMatching) for domain in tree.domains]
    bound = SelfPlay(tree, players, estimator=ExternalSampling(rng()))

    free.run(200)
    bound.run(200)

    for player in range(2):
        for key, shares in ((key, free.average[player][key]) for key in free.average[player]):
            np.testing.assert_allclose(shares, bound.average[player, key], atol=1e-12)


def shared(make, iterations):
    """Return a run whose order draws from the generator that its estimator draws from."""
    generator = rng()
    return make(ExternalSampling(generator), order=RandomPlayer(generator)).run(iterations)


def test_the_order_may_draw_from_the_same_generator():
    game = games.leduc_poker()

    def free(estimator, order):
        return SampledSelfPlay(game, rk.RegretMatching, estimator, order=order)

    def bound(estimator, order):
        players = [rk.CFR(tree, rk.RegretMatching) for tree in game.domains]
        return SelfPlay(game, players, estimator=estimator, order=order, engine="numpy")

    assert_alike(shared(free, 300), shared(bound, 300))


def test_callbacks_and_pauses_change_no_sample():
    straight, watched, paused = (
        SampledSelfPlay(games.leduc_poker(), rk.RegretMatching, OutcomeSampling(rng()))
        for _ in range(3)
    )
    straight.run(700)
    watched.run(700, callbacks=[lambda run: None])
    for count in (1, 0, 299, 400):
        paused.run(count)

    for other in (watched, paused):
        state = other.estimator.generator.bit_generator.state
        assert state == straight.estimator.generator.bit_generator.state
        for key, strategy in ((key, straight.average[0][key]) for key in straight.average[0]):
            np.testing.assert_array_equal(other.average[0][key], strategy)


@frozen
class Indifferent:
    """One player decides once, and earns the same whatever it does."""

    moved: bool = False

    def is_terminal(self):
        return self.moved

    def player(self):
        return 0

    def chance_outcomes(self):
        return []

    def actions(self):
        return [*range(6)]

    def information_set(self):
        return "now"

    def child(self, action):
        return Indifferent(True)

    def payoffs(self):
        return [0.1]


@pytest.mark.parametrize("make", [partial(RobustSampling, actions=6), ExternalSampling])
def test_who_earns_the_same_whatever_it_does_regrets_exactly_nothing(make):
    run = SampledSelfPlay(Indifferent(), rk.RegretMatching, make(rng())).run(5)

    (point,) = run._unfolding.met[0].values()
    assert point.saved()["state"][0] == [0.0] * 6
    assert run.average[0]["now"].tolist() == pytest.approx([1 / 6] * 6)
