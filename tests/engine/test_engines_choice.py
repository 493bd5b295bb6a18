"""Which way a run takes: the fastest that applies, or the one asked for, or a reason why not."""

from functools import partial

import numpy as np
import pytest
from attrs import frozen
from engine_cases import RULES, started
from naive_games import random_game

import regretkit as rk
from regretkit import SelfPlay, games, matrix_game
from regretkit.games import GameTree
from regretkit.minimizers.contrib import IREGPredictiveRegretMatchingPlus
from regretkit.play import (
    ALGORITHMS,
    Alternating,
    Averaging,
    ChanceSampling,
    Estimator,
    ExternalSampling,
    Extragradient,
    Order,
    RandomPlayer,
    Sampled,
    Simultaneous,
    UpdateSchedule,
)

KUHN, RPS = games.kuhn_poker(), games.rock_paper_scissors()


def cfr(local):
    return [rk.CFR(tree, local) for tree in KUHN.domains]


def mixed(*rules):
    return [rk.CFR(tree, rule) for tree, rule in zip(KUHN.domains, rules, strict=True)]


def parts():
    return [rk.Product([rk.RegretMatching(2), rk.RegretMatching(1)]) for _ in RPS.domains]


def enough(run):
    return True


# A long run, which is over at once
LONG = {"iterations": 10**9, "callbacks": [enough]}

BY_POINT = rk.ByDecisionPoint({0: rk.RegretMatching}, otherwise=rk.RegretMatchingPlus)
GENERATOR = np.random.default_rng


@frozen
class Backwards(Order):
    """A user-defined order, which does not declare its turns."""

    def iterate(self, table):
        profile = [table.strategy(player) for player in range(table.players)]
        for player in reversed(range(table.players)):
            table.learn(player, profile)
            profile[player] = table.strategy(player)


class Halved(Estimator):
    """A user-defined estimator."""

    def utility(self, game, player, profile):
        return game.utility(player, profile) / 2.0


RM, DRM = rk.RegretMatching, rk.DiscountedRegretMatching
EACH = rk.PerDecisionPoint(RM)
UNTRACED = "cannot be compiled: "
MORE = r"\(\) does more in an iteration than update the players in turn"


def swap(simplices):
    return rk.SwapRegret(simplices, RM)


def way(rule, fastest, reason, **options):
    return partial(cfr, rule), options, fastest, reason


# The minimizers of a run and what else it is built of, its fastest engine, and why it has no faster
WAYS = {
    "a rule for each point": way(EACH, "compiled", None),
    "rules by decision point": way(BY_POINT, "compiled", None),
    "a circuit for each point": way(swap, "numpy", rf"\[0\]: SwapRegret.* {UNTRACED}"),
    "a rule that picks entries": way(
        IREGPredictiveRegretMatchingPlus, "numpy", r"\[0\]: IREG.*: np.flatnonzero is not"
    ),
    "different kernels": (partial(mixed, RM, DRM), {}, "compiled", None),
    "the same kernel": (partial(mixed, DRM, partial(DRM, alpha=2.0)), {}, "compiled", None),
    "extragradient": way(RM, "numpy", f"Extragradient{MORE}", order=Extragradient()),
    "an order of one's own": way(RM, "numpy", f"Backwards{MORE}", order=Backwards()),
    "an estimator of one's own": way(RM, "numpy", "Halved.* does not sweep", estimator=Halved()),
    "sampled chance": way(RM, "compiled", None, estimator=ChanceSampling(GENERATOR(0))),
}


@pytest.mark.deep_beyond(1)
@pytest.mark.parametrize("name", WAYS)
def test_a_long_run_takes_the_fastest_way_that_applies(name):
    make, options, fastest, _ = WAYS[name]
    assert SelfPlay(KUHN, make(), **options).run(**LONG).engine == fastest
    assert SelfPlay(KUHN, make(), engine=fastest, **options).run(1).engine == fastest


@pytest.mark.parametrize("name", [name for name, way in WAYS.items() if way[-1]])
def test_a_way_that_does_not_apply_is_refused_with_the_reason(name):
    make, options, _, reason = WAYS[name]
    with pytest.raises(ValueError, match=f"engine 'compiled' cannot run this: .*{reason}"):
        SelfPlay(KUHN, make(), engine="compiled", **options)


def test_a_game_of_another_kind_is_run_as_it_is_written():
    tree = GameTree.from_history(random_game(np.random.default_rng(1), depth=2))
    game = Wrapped(rk.ExtensiveFormGame(tree))
    assert started(game, RULES["rm"], engine="auto").run(**LONG).engine == "numpy"
    with pytest.raises(ValueError, match=r"Wrapped\(.*\) is neither a normal-form nor an extensiv"):
        started(game, RULES["rm"], engine="compiled")


@frozen(eq=False)
class Wrapped(rk.games.Game):
    """A game of no class of the library's."""

    game: rk.ExtensiveFormGame

    @property
    def domains(self):
        return self.game.domains

    def _utility(self, player, strategies, payoff_of):
        return self.game.utility(player, strategies, payoff_of)


def test_payoffs_that_could_overflow_are_played_as_written():
    huge = matrix_game(np.full((3, 3), 9e99))
    assert started(huge, RULES["rm"], engine="auto").run(**LONG).engine == "numpy"
    with pytest.raises(ValueError, match="so large that utilities could overflow"):
        started(huge, RULES["rm"], engine="compiled")


def test_a_player_on_a_part_of_its_set_is_played_as_written():
    corner = rk.Point([1.0, 0.0, 0.0])
    options = {"minimizers": [corner, rk.RegretMatching(3)]}
    assert SelfPlay(RPS, **options).run(**LONG).engine == "numpy"
    with pytest.raises(ValueError, match=r"minimizers\[0\]: (Point.* plays on a part|Point)"):
        SelfPlay(RPS, engine="compiled", **options)


# Short runs, and long ones


def test_a_single_iteration_takes_the_fastest_way_as_well():
    run = started(KUHN, RULES["rm+"], engine="auto").run(1)
    assert run.engine == "compiled"
    assert str(run.engine_report()) == (
        "engine: compiled\nplayer 0: machine code\nplayer 1: machine code"
    )


def test_a_report_says_for_each_player_why_it_is_not_compiled():
    players = [rk.CFR(KUHN.domains[0], RM), rk.CFR(KUHN.domains[1], swap)]
    report = SelfPlay(KUHN, players).engine_report()
    assert report.engine == "numpy"
    assert report.players[0].startswith("Python, since another player: minimizers[1]: SwapRegret")
    assert report.players[1].startswith("Python, since SwapRegret")
    assert "cannot be compiled" in report.players[1]
    order = SelfPlay(KUHN, cfr(RM), order=Extragradient()).engine_report()
    assert order.players[0] == order.players[1]
    assert "Extragradient() does more" in order.players[0]
    asked = SelfPlay(KUHN, cfr(RM), engine="numpy").engine_report()
    assert asked.players == ("Python, since the run requested engine 'numpy'",) * 2


@pytest.mark.parametrize("name", [n for n, a in ALGORITHMS.items() if a.circuit is rk.CFR])
def test_for_a_long_run_of_every_algorithm_of_cfr_the_compiled_engine_is_chosen(name):
    assert ALGORITHMS[name].start(KUHN).engine_report().engine == "compiled"


# Names


def test_an_engine_that_there_is_not_is_refused():
    with pytest.raises(ValueError, match=r"one of .*'auto', 'compiled', 'numpy'.*, got 'fast'"):
        started(KUHN, RULES["rm+"], engine="fast")


# User-defined orders that declare their turns


@frozen
class Pairs(Order):
    """Players 0 and 2 learn together."""

    def schedule(self, players, iterations):
        return UpdateSchedule(np.tile([0, 2, -1], (iterations, 1)), simultaneous=True)


@pytest.mark.parametrize(
    "game",
    [
        pytest.param(games.kuhn_poker(players=3), marks=pytest.mark.deep),
        rk.NormalFormGame(np.random.default_rng(0).normal(size=(3, 2, 3, 4))),
    ],
    ids=["tree", "normal form"],
)
def test_an_order_may_let_some_learn_together_while_others_stay(game):
    runs = [started(game, RULES["rm+"], Pairs, engine=e).run(5) for e in ("compiled", "numpy")]
    for x, y in zip(*(run.average for run in runs), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-14)
    for run in runs:
        assert [minimizer.iteration for minimizer in run.minimizers] == [5, 0, 5]


# Where things fail


@frozen
class Growing(Averaging):
    """Gives iteration 30 less than nothing."""

    def weight(self, t, horizon):
        return 1.0 if t < 30 else -1.0


@pytest.mark.parametrize("order", [Alternating, lambda: RandomPlayer(GENERATOR(1))])
def test_a_weight_that_is_none_is_refused_before_its_iteration_is_played(order):
    run = started(KUHN, RULES["rm+"], order, Growing(), "compiled").run(20)
    with pytest.raises(ValueError, match=r"weights of Growing\(\) must be at least 0, got -1.0"):
        run.run(100)
    assert run.iteration < 30


class Failing(rk.SimplexRule):
    """Breaks down in its third iteration, in a way of its own."""

    error = ZeroDivisionError

    def _propose(self):
        return self.simplices.uniform()

    def _learn(self, utility, strategy):
        if self.iteration == 2:
            raise self.error("gave up")


@pytest.mark.parametrize("order", [Alternating(), Simultaneous()])
def test_a_rule_that_breaks_down_breaks_the_run_in_any_way(order):
    run = SelfPlay(KUHN, cfr(Failing), order=order)
    with pytest.raises(ZeroDivisionError, match="gave up"):
        run.run(10)
    with pytest.raises(RuntimeError, match=r"failed after iteration 2: .*gave up"):
        run.run(1)


def test_runs_on_one_game_share_its_layout_and_no_workspace():
    game = games.leduc_poker()
    first, second, alone = (ALGORITHMS["dcfr"].start(game, engine="compiled") for _ in range(3))
    for run, iterations in ((alone, 20), (first, 10), (second, 15), (first, 10)):
        run.run(iterations)
    payoffs = [run._executor._arrays.payoffs for run in (first, second)]
    assert payoffs[0].rows is payoffs[1].rows
    assert payoffs[0].workspace is not payoffs[1].workspace
    for together, separate in zip(first.average, alone.average, strict=True):
        np.testing.assert_array_equal(together, separate)


@pytest.mark.parametrize(
    "change",
    [
        lambda run: setattr(run, "order", Simultaneous()),
        lambda run: setattr(run, "minimizers", cfr(rk.RegretMatching)),
    ],
    ids=["order", "minimizers"],
)
def test_a_part_that_is_replaced_between_two_calls_plays_in_the_next(change):
    found = []
    for engine in ("compiled", "numpy"):
        run = SelfPlay(KUHN, cfr(rk.RegretMatchingPlus), engine=engine).run(20)
        change(run)
        found.append(run.run(20).average)
    np.testing.assert_allclose(*(np.concatenate(average) for average in found), atol=1e-12)


def test_an_order_with_iterations_of_its_own_runs_them():
    class OnlyTheFirst(Alternating):
        def iterate(self, run):
            run.learn(0, run.profile())

    run = SelfPlay(KUHN, cfr(rk.RegretMatching), order=OnlyTheFirst()).run(20)
    assert [minimizer.iteration for minimizer in run.minimizers] == [20, 0]
    with pytest.raises(ValueError, match="does more than update the players in turn"):
        Sampled(KUHN, rk.RegretMatching, ExternalSampling(1), order=OnlyTheFirst())
