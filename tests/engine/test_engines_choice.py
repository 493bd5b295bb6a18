"""Which way a run takes: the fastest that applies, or the one asked for, or a reason why not."""

import re
from functools import partial
from itertools import chain, repeat

import numpy as np
import pytest
from attrs import frozen
from engine_cases import RULES, started
from test_agreement import Around, plus

import regretkit as rk
from regretkit import SelfPlay, games, matrix_game
from regretkit.circuits import EFR, Discount, Restart, trigger_regret
from regretkit.minimizers.contrib import IREGPredictiveRegretMatchingPlus
from regretkit.play import (
    ALGORITHMS,
    Alternating,
    Averaging,
    BanditFeedback,
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
GENERATOR = np.random.default_rng
RM, DRM = rk.RegretMatching, rk.DiscountedRegretMatching


def cfr(*rules):
    """Return what makes players of CFR with these rules, the last one again and again."""
    return lambda game: [
        rk.CFR(domain, rule) if isinstance(domain, rk.DecisionTree) else rule(domain)
        for domain, rule in zip(game.domains, chain(rules, repeat(rules[-1])), strict=False)
    ]


def each(make):
    return lambda game: [make(domain) for domain in game.domains]


# Orders, estimators, games and circuits of users


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


@frozen(eq=False)
class Wrapped(rk.games.Game):
    """A game of no class of the library's."""

    game: rk.ExtensiveFormGame

    @property
    def domains(self):
        return self.game.domains

    def _utility(self, player, strategies, payoff_of):
        return self.game.utility(player, strategies, payoff_of)


class Total(Around):
    def _learn(self, utility, strategy):
        self.inner.observe_utility(utility - (utility * strategy).sum())


class Twice(Around):
    def _learn(self, utility, strategy):
        self.inner.observe_utility(utility)
        self.inner.observe_utility(utility)


class Seldom(Around):
    def _learn(self, utility, strategy):
        if self.iteration % 2 == 0:
            self.inner.observe_utility(utility)


class Later(Around):
    def _learn(self, utility, strategy):
        self.inner.observe_utility(utility)
        self.last = self.inner.next_strategy()


def swap(simplices):
    return rk.SwapRegret(simplices, RM)


def in_turn(estimator):
    """Return an order and an estimator that draw from one generator."""
    generator = GENERATOR(1)
    return {"order": RandomPlayer(generator), "estimator": estimator(generator)}


BY_POINT = rk.ByDecisionPoint({0: RM}, otherwise=rk.RegretMatchingPlus)
CORNER = rk.Point([1.0, 0.0, 0.0])
MORE = "does more in an iteration than update the players in turn"
EXTERNAL, CHANCE = (
    {"estimator": kind(GENERATOR(0))} for kind in (ExternalSampling, ChanceSampling)
)
BANDIT = {"estimator": BanditFeedback(GENERATOR(0))}

# What a run is built of, and why it is not compiled
COMPILED = {
    "a rule for each point": (KUHN, cfr(rk.PerDecisionPoint(RM)), {}),
    "rules by decision point": (KUHN, cfr(BY_POINT), {}),
    "different kernels": (KUHN, cfr(RM, DRM), {}),
    "the same kernel": (KUHN, cfr(DRM, partial(DRM, alpha=2.0)), {}),
    "sampled chance": (KUHN, cfr(RM), CHANCE),
    "external sampling": (KUHN, cfr(RM), EXTERNAL),
}
IN_NUMPY = [
    (KUHN, cfr(swap), {}, r"\[0\]: SwapRegret.* cannot be compiled: .*plays on another set"),
    (KUHN, cfr(IREGPredictiveRegretMatchingPlus), {}, r"\[0\]: IREG.*: np.flatnonzero is not"),
    (KUHN, cfr(RM), {"order": Extragradient()}, rf"Extragradient\(\) {MORE}"),
    (KUHN, cfr(RM), {"order": Extragradient()} | EXTERNAL, rf"Extragradient\(\) {MORE}"),
    (KUHN, cfr(RM), {"order": Backwards()}, rf"Backwards\(\) {MORE}"),
    (KUHN, cfr(RM), {"estimator": Halved()}, "Halved.* does not sweep"),
    (KUHN, cfr(RM), BANDIT, "does not sweep"),
    (KUHN, cfr(RM), in_turn(ChanceSampling), "draw from one generator, in turn"),
    (KUHN, cfr(RM), in_turn(ExternalSampling), "draw from one generator, in turn"),
    (RPS, cfr(RM), EXTERNAL, "not in extensive form"),
    (RPS, cfr(RM), CHANCE, "not in extensive form"),
    (KUHN, cfr(rk.PredictiveRegretMatchingPlus), EXTERNAL, "changes at a zero utility"),
    (KUHN, each(partial(trigger_regret, local=RM)), EXTERNAL, "needs exact utilities"),
    (KUHN, each(lambda t: Around(plus(t))), EXTERNAL, "circuit around a tree.* needs exact"),
    (KUHN, each(lambda t: Total(plus(t))), {}, "must depend on that sequence alone"),
    (KUHN, each(lambda t: Twice(plus(t))), {}, "observe_utility of its part twice"),
    (KUHN, each(lambda t: Seldom(plus(t))), {}, "must call observe_utility of its part in every"),
    (KUHN, each(lambda t: Later(plus(t))), {}, "calls next_strategy of its part after observe_u"),
    (KUHN, each(lambda t: Restart(plus(t), every=3)), {}, "uses .load_state_dict"),
    (KUHN, each(lambda t: Around(EFR(t))), {}, "around a minimizer that mixes deviations"),
    (Wrapped(KUHN), cfr(RM), {}, r"Wrapped\(.*\) is neither a normal-form nor an extensiv"),
    (matrix_game(np.full((3, 3), 9e99)), cfr(RM), {}, "so large that utilities could overflow"),
    (RPS, lambda game: [CORNER, RM(3)], {}, r"minimizers\[0\]: Point.* plays on a part"),
]


@pytest.mark.parametrize(("game", "players", "ways"), COMPILED.values(), ids=COMPILED)
def test_a_run_is_compiled_where_it_can_be(game, players, ways):
    assert SelfPlay(game, players(game), **ways).engine_report().engine == "compiled"


@pytest.mark.parametrize(("game", "players", "ways", "reason"), IN_NUMPY)
def test_others_are_played_in_numpy_and_say_why(game, players, ways, reason):
    report = SelfPlay(game, players(game), **ways).engine_report()
    assert report.engine == "numpy"
    assert re.search(reason, str(report))
    with pytest.raises(ValueError, match=f"engine 'compiled' cannot run this: .*{reason}"):
        SelfPlay(game, players(game), engine="compiled", **ways)


# Short runs, and long ones


def test_a_single_iteration_takes_the_fastest_way_as_well():
    run = started(KUHN, RULES["rm+"], engine="auto").run(1)
    assert run.engine == "compiled"
    assert str(run.engine_report()) == (
        "engine: compiled\nplayer 0: machine code\nplayer 1: machine code"
    )


def test_a_report_says_for_each_player_why_it_is_not_compiled():
    report = SelfPlay(KUHN, cfr(RM, swap)(KUHN)).engine_report()
    assert report.players[0].startswith("Python, since another player: minimizers[1]: SwapRegret")
    assert report.players[1].startswith("Python, since SwapRegret")
    asked = SelfPlay(KUHN, cfr(RM)(KUHN), engine="numpy").engine_report()
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


def test_a_weight_of_a_circuit_is_refused_before_its_iteration_is_played():
    def weight(t):
        return 1.0 if t <= 20 else -1.0

    players = cfr(lambda simplices: Discount(RM(simplices), weight=weight))(KUHN)
    run = SelfPlay(KUHN, players, engine="compiled").run(20)
    with pytest.raises(ValueError, match=r"weight\(21\) must be .*, got -1"):
        run.run(1)
    assert run.iteration == 20


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
    run = SelfPlay(KUHN, cfr(Failing)(KUHN), order=order)
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


def test_an_order_with_iterations_of_its_own_runs_them():
    class OnlyTheFirst(Alternating):
        def iterate(self, run):
            run.learn(0, run.profile())

    run = SelfPlay(KUHN, cfr(rk.RegretMatching)(KUHN), order=OnlyTheFirst()).run(20)
    assert [minimizer.iteration for minimizer in run.minimizers] == [20, 0]
    with pytest.raises(ValueError, match="does more than update the players in turn"):
        Sampled(KUHN, rk.RegretMatching, ExternalSampling(1), order=OnlyTheFirst())
