"""Several rules in one compiled run: of two players, of decision points, and in circuits."""

from functools import partial

import numpy as np
import pytest
from attrs import define, field
from factories import apart

import regretkit as rk
from regretkit import SelfPlay, games
from regretkit.circuits import Discount, ExplorationMixture
from regretkit.estimators import OutcomeSampling
from regretkit.play import Alternating, Linear, RandomPlayer, Simultaneous

pytestmark = pytest.mark.deep  # nearly all the time goes into compiling

KUHN = games.kuhn_poker()
LINEAR = rk.LinearRegretMatching
HEDGE = partial(rk.Hedge, rate=0.4)
DCFR = partial(rk.DiscountedRegretMatching, alpha=1.2)
BY_POINT = rk.ByDecisionPoint(
    {0: rk.LinearRegretMatching, 3: DCFR, 4: partial(DCFR, alpha=2.2)},
    otherwise=rk.PredictiveRegretMatchingPlus,
)
EACH = apart(DCFR)
PLAYERS = {
    "two players": (rk.RegretMatchingPlus, HEDGE),
    "decision points": (BY_POINT, BY_POINT),
    "one and several": (rk.LinearRegretMatching, BY_POINT),
    "each its own": (EACH, EACH),
    "circuits": (
        lambda s: ExplorationMixture(HEDGE(s), gamma=0.1),
        lambda s: Discount(DCFR(s), weight=float),
    ),
}


def run_of(name, engine, order=Alternating, **options):
    players = [rk.CFR(tree, rule) for tree, rule in zip(KUHN.domains, PLAYERS[name], strict=True)]
    return SelfPlay(KUHN, players, order=order(), averaging=Linear(), engine=engine, **options)


def assert_alike(run, second):
    for name in ("average", "current", "last_profile"):
        for x, y in zip(getattr(run, name), getattr(second, name), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-11)
    for found, expected in zip(run.minimizers, second.minimizers, strict=True):
        assert_same_state(found.state_dict(), expected.state_dict())


def assert_same_state(found, expected):
    assert found.keys() == expected.keys()
    for name in found.keys() - {"_strategy"}:  # in NumPy there is none until it is asked for
        value = found[name]
        if isinstance(value, dict):
            assert_same_state(value, expected[name])
        elif isinstance(value, np.ndarray):
            np.testing.assert_allclose(value, expected[name], rtol=1e-9, atol=1e-10)
        else:
            assert value == expected[name]


@pytest.mark.parametrize(
    "order", [Alternating, Simultaneous, lambda: RandomPlayer(np.random.default_rng(1))]
)
@pytest.mark.parametrize("name", PLAYERS)
def test_machine_code_plays_as_numpy_does(name, order):
    fast, slow = run_of(name, "compiled", order), run_of(name, "numpy", order)
    for iterations in (1, 2, 60):
        fast.run(iterations)
        slow.run(iterations)
        assert_alike(fast, slow)


def test_a_run_changes_its_engine_and_back():
    fast, slow = run_of("circuits", "compiled").run(30), run_of("circuits", "numpy").run(30)
    moved = run_of("circuits", "numpy")
    moved.load_state_dict(fast.state_dict())
    returned = run_of("circuits", "compiled")
    returned.load_state_dict(moved.run(20).state_dict())
    assert_alike(returned.run(20), slow.run(40))


def test_one_rule_for_each_decision_point_is_that_rule_for_all():
    players = [rk.CFR(tree, DCFR) for tree in KUHN.domains]
    alone = SelfPlay(KUHN, players, averaging=Linear(), engine="compiled").run(50)
    item = run_of("each its own", "compiled").run(50)
    for x, y in zip(item.average, alone.average, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-14)


@define(eq=False)
class Powered(rk.SimplexRule):
    """Regrets to a power, which is a parameter, or code of its own where it is small."""

    power: float = field(default=2.5, kw_only=True)
    regrets: np.ndarray = rk.state()

    def _propose(self):
        return self.simplices.normalize(np.maximum(self.regrets, 0.0) ** self.power)

    def _learn(self, utility, strategy):
        self.regrets += self.simplices.regret(utility, strategy)


@pytest.mark.parametrize("power", [3.5, 3.0])
def test_a_strategy_that_was_proposed_is_played_though_a_hyperparameter_changes(power):
    runs = []
    for engine in ("compiled", "numpy"):
        players = [rk.CFR(tree, Powered) for tree in KUHN.domains]
        run = SelfPlay(KUHN, players, engine=engine).run(7)
        for player in players:
            player.rule.power = power
        runs.append(run.run(1).run(4))
    assert_alike(*runs)


def test_several_rules_are_sampled_together():
    def sampled(engine):
        players = [
            rk.CFR(KUHN.domains[0], rk.RegretMatchingPlus),
            rk.CFR(KUHN.domains[1], rk.ByDecisionPoint({0: HEDGE}, otherwise=LINEAR)),
        ]
        estimator = OutcomeSampling(np.random.default_rng(3))
        return SelfPlay(KUHN, players, estimator=estimator, engine=engine).run(300)

    for x, y in zip(sampled("compiled").average, sampled("numpy").average, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-11)


def test_a_weight_that_is_refused_is_refused_before_it_is_played():
    def weight(t):
        return 1.0 if t <= 20 else -1.0

    players = [rk.CFR(t, lambda s: Discount(HEDGE(s), weight=weight)) for t in KUHN.domains]
    run = SelfPlay(KUHN, players, engine="compiled").run(20)
    with pytest.raises(ValueError, match=r"weight\(21\) must be .*, got -1"):
        run.run(1)
    assert run.iteration == 20
