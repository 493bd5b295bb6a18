"""Chance sampling in machine code: the draws of NumPy, and its strategies up to rounding."""

from functools import partial

import numpy as np
import pytest
from engine_cases import RULES, apart_in_payoffs, assert_same_bits, orders
from naive_games import chance, decision, end, random_game

import regretkit as rk
from regretkit import ExtensiveFormGame, SelfPlay, games, solve
from regretkit.circuits import EFR, trigger_regret
from regretkit.play import (
    Algorithm,
    Alternating,
    BanditFeedback,
    ChanceSampling,
    Linear,
    RandomPlayer,
    Simultaneous,
)


def deals():
    """Return a game with sure, impossible and uneven chance outcomes, several in a row."""

    def bet(label, *paid):
        answers = {answer: end(*both) for answer, both in zip("pq", paid, strict=True)}
        return decision(0, label, a=decision(1, "answer", **answers), b=end(0.5, -0.25))

    low, high = bet("low", (1.0, 0.5), (-0.75, 2.0)), bet("high", (-2.0, 1.25), (3.0, -1.5))
    third, never = bet("third", (0.25, -3.0), (1.5, 0.125)), end(7.0, 7.0)
    sure = chance([1.0], only=third)
    mixed = chance([0.0, 0.3, 0.7, 0.0], x=never, y=low, z=sure, w=never)
    paid = chance([0.1, 0.9], s=end(4.0, -4.0), t=end(-1.0, 1.0))
    return chance([0.0, 0.45, 0.35, 0.2], none=never, k=mixed, m=high, p=paid)


def from_history(root):
    return ExtensiveFormGame.from_history(root)


GAMES = {
    "deals": from_history(deals()),
    "random": from_history(random_game(np.random.default_rng(7), players=2)),
    "three players": from_history(random_game(np.random.default_rng(12), players=3)),
    "no chance": from_history(decision(0, "I", a=end(1.0, 0.0), b=end(0.0, 2.0))),
    "kuhn": games.kuhn_poker(),
    "kuhn of three": games.kuhn_poker(players=3),
    "leduc": games.leduc_poker(ranks=3),
}
LEDUC = GAMES["leduc"]
ENGINES = ("numpy", "compiled")


def started(game, rule, order, engine, kind=np.random.PCG64, circuit=rk.CFR):
    return SelfPlay(
        game,
        [circuit(tree, local=rule) for tree in game.domains],
        order=order(),
        averaging=Linear(),
        estimator=ChanceSampling(np.random.Generator(kind(1))),
        engine=engine,
    )


def drawn(run):
    return run.estimator.generator.bit_generator.state


def assert_alike(run, second):
    """Require the same draws, and strategies that differ by rounding only."""
    np.testing.assert_equal(drawn(run), drawn(second))
    assert (run.iteration, run.estimator.visited) == (second.iteration, second.estimator.visited)
    for name in ("average", "current", "last_profile"):
        for found, expected in zip(getattr(run, name), getattr(second, name), strict=True):
            np.testing.assert_allclose(found, expected, atol=1e-12, err_msg=name)


@pytest.mark.deep_beyond(2)
@pytest.mark.parametrize("name", GAMES)
def test_machine_code_draws_as_numpy_does_in_every_order(name):
    game = GAMES[name]
    for order in orders(game.players).values():
        runs = [started(game, rk.RegretMatching, order, engine).run(60) for engine in ENGINES]
        assert [run.engine for run in runs] == list(ENGINES)
        assert_alike(*runs)
        assert apart_in_payoffs(*runs) < 1e-12


@pytest.mark.deep
@pytest.mark.parametrize(
    "rule", ["rm+", "linear", "drm", "drm+", "prm", "prm+", "hedge", "optimistic hedge", "told"]
)
def test_every_rule_learns_at_all_decision_points(rule):
    for game in (GAMES["random"], LEDUC):
        for order in (Simultaneous, Alternating):
            runs = [started(game, RULES[rule], order, engine).run(40) for engine in ENGINES]
            assert_alike(*runs)


@pytest.mark.deep
@pytest.mark.parametrize(
    "circuit", [partial(EFR, deviations="tips"), trigger_regret], ids=["efr", "triggers"]
)
def test_players_may_learn_over_deviations(circuit):
    ways = {"rule": rk.RegretMatchingPlus, "order": Alternating, "circuit": circuit}
    assert_alike(*[started(GAMES["random"], engine=engine, **ways).run(30) for engine in ENGINES])


@pytest.mark.deep
@pytest.mark.parametrize(
    "kind", [np.random.MT19937, np.random.SFC64], ids=lambda kind: kind.__name__
)
def test_a_run_cut_in_two_is_bitwise_identical(kind):
    def run(engine="compiled"):
        return started(LEDUC, rk.PredictiveRegretMatchingPlus, Alternating, engine, kind)

    whole, cut, loaded = run().run(40), run().run(10), run().run(3)
    loaded.load_state_dict(cut.state_dict())
    in_numpy = run("numpy")
    in_numpy.load_state_dict(cut.state_dict())

    for second in (cut, loaded):
        assert_same_bits(whole, second.run(30))
        assert_alike(whole, second)
    assert_alike(whole, in_numpy.run(30))


@pytest.mark.deep
def test_a_run_draws_from_the_generator_that_its_estimator_has_now():
    runs = [started(LEDUC, rk.RegretMatching, Alternating, engine).run(5) for engine in ENGINES]
    for run in runs:
        run.estimator.generator = np.random.default_rng(8)
        run.run(5)
    assert_alike(*runs)


@pytest.mark.deep
def test_named_algorithms_sample_chance_in_machine_code():
    ways = {"algorithm": "cfr+", "iterations": 30, "sampling": "chance", "seed": 3}
    runs = [solve(GAMES["kuhn"], engine=engine, **ways) for engine in ENGINES]
    assert [run.engine for run in runs] == list(ENGINES)
    assert_alike(*runs)


def test_an_engine_says_why_it_cannot_draw():
    generator = np.random.default_rng(1)
    chance_sampling, kuhn, pennies = (
        ChanceSampling(generator),
        GAMES["kuhn"],
        games.matching_pennies(),
    )
    for game, message, ways in [
        (pennies, "not in extensive form", {"estimator": chance_sampling}),
        (kuhn, "does not sweep", {"estimator": BanditFeedback(generator)}),
        (
            kuhn,
            "draw from one generator, in turn",
            {"estimator": chance_sampling, "order": RandomPlayer(generator)},
        ),
    ]:
        players = [Algorithm(rk.RegretMatching).minimizer(domain) for domain in game.domains]
        with pytest.raises(ValueError, match=message):
            SelfPlay(game, players, **{"engine": "compiled", **ways})
