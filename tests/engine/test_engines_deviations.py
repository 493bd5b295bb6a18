"""Players that learn over deviations: machine code, its functions as plain Python, and NumPy.

Payoffs are random, so that rounding decides no tie; test_trigger.py has games with ties.
"""

from functools import partial

import numpy as np
import pytest
from attrs import define, field
from engine_cases import RULES, Written, random_player
from naive_exact import with_payoffs
from naive_games import chance, decision, end, random_game

import regretkit as rk
from regretkit import SelfPlay
from regretkit.circuits import (
    DEVIATION_TYPES,
    EFR,
    ByDecisionPoint,
    trigger_regret,
)
from regretkit.engine import _compiled
from regretkit.estimators import ExternalSampling
from regretkit.play import Alternating, Linear, Simultaneous

deep = pytest.mark.deep  # nearly all the time goes into compiling


def random_tree(players, seed):
    root = random_game(np.random.default_rng([players, seed]), players)
    return rk.ExtensiveFormGame.from_history(root)


GAMES = [random_tree(players, seed) for players, seed in [(2, 0), (2, 1), (3, 0), (4, 0)]]
FORM = rk.NormalFormGame(np.random.default_rng(3).normal(size=(3, 3, 2, 4)))
ORDERS = {"simultaneous": Simultaneous, "alternating": Alternating, "random": random_player}


def flip(label):
    """Return a decision of player 0, then one of player 1 who has not seen it."""
    ends = {a: {b: end(i - 2.0 * j, i * j) for j, b in enumerate("ab")} for i, a in enumerate("ab")}
    return decision(0, label, **{a: decision(1, f"after {label}", **e) for a, e in ends.items()})


def two_rules(simplices):
    """Return a minimizer that is composed of two."""
    odd = {number: rk.RegretMatching for number in range(1, simplices.blocks, 2)}
    return ByDecisionPoint(odd, otherwise=rk.PredictiveRegretMatchingPlus)(simplices)


LEARNERS = {
    "triggers": partial(trigger_regret, local=rk.RegretMatchingPlus),
    "coarse triggers": partial(trigger_regret, local=rk.RegretMatchingPlus, coarse=True),
    "triggers, hedge": partial(trigger_regret, local=RULES["hedge"]),
    "triggers, drm": partial(trigger_regret, local=rk.DiscountedRegretMatching),
    "triggers, two rules": partial(trigger_regret, local=two_rules),
    "cfr": partial(rk.CFR, local=rk.RegretMatchingPlus),
    "efr, prm+": partial(EFR, deviations="tips", local=rk.PredictiveRegretMatchingPlus),
    **{f"efr {name}": partial(EFR, deviations=name) for name in DEVIATION_TYPES},
}


def started(game, engine, *learners, order=Simultaneous):
    """Return a run; players without a learner of their own have the last one."""
    names = learners + learners[-1:] * (game.players - len(learners))
    players = [LEARNERS[name](tree) for name, tree in zip(names, game.domains, strict=True)]
    return SelfPlay(game, players, order=order(), averaging=Linear(), engine=engine)


PROPOSED = "_strategy", "_behavior", "_weights"  # at once in machine code, in NumPy when asked


def numbers(state, path=""):
    """Yield all arrays and numbers of a state, by path."""
    for name, value in state.items():
        if isinstance(value, dict):
            yield from numbers(value, f"{path}{name}.")
        elif isinstance(value, np.ndarray | float) and name not in PROPOSED:
            yield path + name, value


def assert_alike(run, second, rtol=1e-11, atol=1e-12):
    found, expected = dict(numbers(run.state_dict())), dict(numbers(second.state_dict()))
    assert found.keys() == expected.keys()
    for name, value in found.items():
        np.testing.assert_allclose(value, expected[name], rtol, atol, err_msg=name)
    for profile in ("average", "current", "last_profile"):
        for x, y in zip(getattr(run, profile), getattr(second, profile), strict=True):
            np.testing.assert_allclose(x, y, rtol, atol, err_msg=profile)


def assert_engines_agree(engine, game, *learners, **options):
    run, second = (started(game, name, *learners, **options) for name in (engine, "numpy"))
    for _ in range(3):
        assert_alike(run.run(3), second.run(3))


@pytest.fixture
def in_python(monkeypatch):
    """Run the functions that would be compiled as the Python that they are."""
    monkeypatch.setattr(_compiled, "MachineCode", Written)


@pytest.mark.usefixtures("in_python")
@pytest.mark.parametrize("learner", LEARNERS)
def test_functions_to_be_compiled_play_as_numpy_does(learner):
    for game in GAMES:
        assert_engines_agree("compiled", game, learner)


@pytest.mark.usefixtures("in_python")
@pytest.mark.parametrize("order", ORDERS)
def test_players_may_learn_over_other_deviations_or_none_in_any_order(order):
    for learners in (("cfr", "triggers"), ("efr csps", "coarse triggers", "cfr")):
        for game in GAMES[1:3]:
            assert_engines_agree("compiled", game, *learners[: game.players], order=ORDERS[order])


EDGES = {
    "one player": rk.games.in_out(),
    "a player without decisions": rk.ExtensiveFormGame.from_history(
        decision(1, "only", a=end(3.0, 0.0), b=end(0.0, 1.0))
    ),
    "equal payoffs": with_payoffs(rk.games.kuhn_poker(), np.full((30, 2), 1 / 3)),
    "certain chance": rk.ExtensiveFormGame.from_history(
        chance([1.0, 0.0], always=flip("one"), never=flip("two"))
    ),
}


@pytest.mark.usefixtures("in_python")
@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("learner", ["triggers", "coarse triggers", "efr csps"])
def test_edge_cases(learner, edge):
    assert_engines_agree("compiled", EDGES[edge], learner)


@pytest.mark.usefixtures("in_python")
def test_normal_forms():
    assert_engines_agree("compiled", FORM, "efr informed_cf", "efr blind_cf")


@deep
@pytest.mark.parametrize("learner", ["triggers", "coarse triggers", "efr tips"])
def test_machine_code_plays_as_numpy_does(learner):
    for game in (*GAMES, *([FORM] if learner == "efr tips" else [])):
        run, second = (started(game, name, learner).run(100) for name in ("compiled", "numpy"))
        for x, y in zip(run.average, second.average, strict=True):
            np.testing.assert_allclose(x, y, rtol=0.0, atol=1e-11)


@pytest.mark.usefixtures("in_python")
@pytest.mark.parametrize("learner", ["triggers", "triggers, two rules", "efr csps"])
def test_a_run_that_is_resumed_is_bitwise_identical(learner):
    game = GAMES[2]
    whole, half, resumed = (started(game, "compiled", learner) for _ in range(3))
    resumed.load_state_dict(half.run(4).state_dict())
    assert_alike(resumed.run(5), whole.run(9), 0.0, 0.0)
    # and so are minimizers that continue in NumPy
    utilities = [np.sin(np.arange(tree.dimension)) for tree in game.domains]
    for player, twin, utility in zip(whole.minimizers, resumed.minimizers, utilities, strict=True):
        for minimizer in (player, twin):
            minimizer.observe_utility(utility)
        np.testing.assert_array_equal(player.next_strategy(), twin.next_strategy())


@define(eq=False)
class Powered(rk.SimplexRule):
    """Regrets to a power, which may be changed."""

    power: float = field(default=2.5, kw_only=True)
    regrets: np.ndarray = rk.state()

    def _propose(self):
        return self.simplices.normalize(np.maximum(self.regrets, 0.0) ** self.power)

    def _learn(self, utility, strategy):
        self.regrets += self.simplices.regret(utility, strategy)


@pytest.mark.usefixtures("in_python")
@pytest.mark.parametrize("make", [trigger_regret, partial(EFR, deviations="csps")])
def test_what_was_proposed_is_played_though_a_hyperparameter_changes(make):
    game, runs = GAMES[1], []
    for engine in ("compiled", "numpy"):
        players = [make(tree, local=Powered) for tree in game.domains]
        run = SelfPlay(game, players, order=Simultaneous(), engine=engine).run(3)
        for player in players:
            getattr(player, "minimizer", player).rule.power = 3.5
        runs.append(run.run(1).run(2))
    assert_alike(*runs)


def test_samples_are_refused():
    game, players = GAMES[0], [LEARNERS["triggers"](tree) for tree in GAMES[0].domains]
    estimator = ExternalSampling(np.random.default_rng(0))
    with pytest.raises(ValueError, match="needs exact utilities"):
        SelfPlay(game, players, estimator=estimator, engine="compiled")
