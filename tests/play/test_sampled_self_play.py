"""Self-play by rules alone is self-play on the tree, sample by sample."""

import math
from functools import partial

import numpy as np
import pytest
from attrs import frozen
from naive_games import chance, decision, end, random_game
from refusals import refusals
from test_contract import ROWS, internal
from test_user_rules import Trembling
from visited import assert_same

import regretkit as rk
from regretkit import SelfPlay, games
from regretkit._state import generators
from regretkit.circuits import Discount, LastIterateByAveraging, Restart
from regretkit.evaluation import nash_conv
from regretkit.games import GameTree, History
from regretkit.play import (
    Alternating,
    At,
    AverageStrategySampling,
    ChanceSampling,
    Checkpoint,
    ExternalSampling,
    Extragradient,
    Last,
    LearnedBaseline,
    Linear,
    OutcomeSampling,
    RandomPlayer,
    Recorder,
    Sampled,
    Simultaneous,
    _sampled,
    every,
    resume,
)

SAMPLERS = {
    "external": ExternalSampling,
    "outcome": OutcomeSampling,
    "outcome, greedy": partial(OutcomeSampling, exploration=0.2),
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


def run_of(game, rule, make=ExternalSampling, **options):
    return Sampled(game, rule, make(rng()), **options)


def loaded(path, game, rule, make=ExternalSampling, **options):
    return Sampled.load(path, game, rule, make(rng(7)), **options)


def pair(game, rule, make=ExternalSampling, order=Alternating, **options):
    """Return the same run without a tree and on the tree."""
    rules = rule if isinstance(rule, tuple) else (rule,) * len(game.domains)
    players = [rk.CFR(tree, local) for tree, local in zip(game.domains, rules, strict=True)]
    return (
        run_of(game, rule, make, order=order(), **options),
        SelfPlay(game, players, estimator=make(rng()), engine="numpy", order=order(), **options),
    )


def assert_alike(free, bound):
    """Hold strategies and averages to those of the tree, where unvisited sets are uniform."""
    assert free.estimator.visited == bound.estimator.visited
    for name in ("current", "average"):
        found = getattr(free, name).on(bound.game.domains)
        for one, other in zip(found, getattr(bound, name), strict=True):
            np.testing.assert_allclose(one, other, atol=1e-12)


@pytest.mark.deep_beyond(3)
@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("rule", [rk.RegretMatchingPlus, rk.RegretMatching])
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_samples_strategies_and_averages_are_those_on_the_tree(game, sampler, rule):
    free, bound = pair(GAMES[game], rule, SAMPLERS[sampler], averaging=Linear())

    for _ in range(3):
        free.run(15)
        bound.run(15)
        assert_alike(free, bound)


ORDERS = {
    "alternating": partial(Alternating, first=1),
    "simultaneous": Simultaneous,
    "random player": lambda: RandomPlayer(rng(5)),
}


@pytest.mark.parametrize("order", ORDERS)
def test_rules_that_rest_play_as_on_the_tree_in_every_order(order):
    free, bound = pair(GAMES["kuhn"], rk.LinearRegretMatching, order=ORDERS[order])
    assert_alike(free.run(50), bound.run(50))


def on_simplices(make):
    """Return the local rule of a minimizer, None where it is bound to its set, or draws."""
    made = make()
    if made.on_domain(rk.Simplices(2)) is None or any(generators(made)):
        return None
    return lambda simplices: make().on_domain(simplices)


# Every rule that plays on any simplices, and circuits of them
RULES = {name: rule for name, make in ROWS.items() if (rule := on_simplices(make)) is not None}
RULES |= {
    "discount[rm]": lambda simplices: Discount(rk.RegretMatching(simplices), weight=float),
    "restart[rm+]": lambda simplices: Restart(rk.RegretMatchingPlus(simplices), every=7),
    "average[rm]": lambda simplices: LastIterateByAveraging(rk.RegretMatching(simplices)),
    "each[internal]": rk.PerDecisionPoint(internal),
}
EVERYWHERE = rk.ExtensiveFormGame(
    GameTree.from_history(games.as_history(rk.matrix_game([[1.0, -0.3, 0.2], [-1.0, 0.7, 0.1]])))
)
"""External sampling visits all of its information sets in every iteration."""


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_plays_as_on_the_tree_where_every_iteration_comes_everywhere(rule):
    free, bound = pair(EVERYWHERE, RULES[rule])
    assert_alike(free.run(50), bound.run(50))


@pytest.mark.parametrize("rule", [rk.DiscountedRegretMatching, rk.PredictiveRegretMatchingPlus])
def test_other_rules_learn_where_they_come_alone_and_converge(rule):
    game = GAMES["kuhn"]
    run = run_of(game, rule, averaging=Linear())
    few, many = (nash_conv(game, on_the_tree(game, run.run(count))) for count in (20, 2_000))
    assert many < 0.15 < few


@pytest.mark.parametrize("kinds", [["resting", "predicting"], ["of a circuit", "fading"]])
def test_each_player_may_have_a_rule_of_its_own(kinds, tmp_path):
    rules = tuple(KINDS[kind] for kind in kinds)
    free = rk.solve(
        games.as_history(EVERYWHERE), list(rules), sampling="external", seed=1, iterations=50
    )
    assert_alike(free, pair(EVERYWHERE, rules)[1].run(50))
    history = games.load_rules("kuhn_poker")
    run = run_of(history, rules, order=RandomPlayer(rng(5))).run(20)
    run.save(tmp_path / "run")
    again = loaded(tmp_path / "run", history, rules, order=RandomPlayer(rng(9)))
    assert_same_bits(again.run(30), run.run(30))
    with pytest.raises(ValueError, match=r"has Sampled, .*, not"):
        loaded(tmp_path / "run", history, rules[::-1])
    with pytest.raises(ValueError, match="one for each of the 2 players, got 3"):
        run_of(history, (*rules, rules[0]))


KINDS = {
    "resting": rk.LinearRegretMatching,
    "fading": rk.DiscountedRegretMatching,
    "forgetting what is negative": partial(rk.DiscountedRegretMatching, beta=-np.inf),
    "predicting": rk.PredictiveRegretMatchingPlus,
    "of a circuit": RULES["discount[rm]"],
}


def test_a_rule_that_draws_is_refused():
    with pytest.raises(ValueError, match="rule must not draw random numbers"):
        run_of(GAMES["kuhn"], Trembling).run(1)


def on_the_tree(game, run):
    """Return the averages of a run as strategies of a tree."""
    return run.average.on(game.domains)


def test_histories_that_are_not_kept_change_nothing(monkeypatch):
    few, many = (run_of(GAMES["leduc"], rk.RegretMatching) for _ in "ab")
    many.run(40)
    monkeypatch.setattr(_sampled, "_REMEMBERED", 10)
    assert_same_bits(few.run(40), many)


@frozen(eq=False)
class Guess(History):
    """Two players guess in turn, without seeing anything, and information sets have any names."""

    names: object
    moves: tuple = ()

    def is_terminal(self):
        return len(self.moves) == 2

    def player(self):
        return len(self.moves)

    def actions(self):
        return self.names[2:]

    def child(self, action):
        return Guess(self.names, (*self.moves, action))

    def information_set(self):
        return self.names[len(self.moves)]

    def payoffs(self):
        return [1.0, -1.0] if self.moves[0] == self.moves[1] else [-1.0, 1.0]


@pytest.mark.parametrize(
    "names",
    [
        ["a", 'b"', "\n", "\ud800", "ü"],
        [2**63, -(2**63), 0, -1, 2**70],
        [("a", (1, 0.5)), (), True, b"a", None],
    ],
)
def test_information_sets_and_actions_have_the_same_names_in_a_file(names, tmp_path):
    run = run_of(Guess(names), rk.RegretMatching).run(20)
    run.save(tmp_path / "run")
    again = loaded(tmp_path / "run", Guess(names), rk.RegretMatching)
    assert_same(again.average, run.average)
    for player, name in enumerate(names[:2]):
        for average in (run.average, again.average):
            played = average.behavior(player)(name, names[2:])
            np.testing.assert_array_equal(played, average[player, 0])
    again.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "run").read_bytes()
    assert_same_bits(again.run(5), run.run(5))


@pytest.mark.parametrize("name", [frozenset("a"), math.nan])
def test_names_that_a_file_cannot_hold_are_told(name, tmp_path):
    names = ["a", ("b", name), "c", "d"]
    run = run_of(Guess(names), rk.RegretMatching).run(20)
    with pytest.raises(TypeError, match="to be saved"):
        run.save(tmp_path / "run")


def assert_same_bits(run, other):
    assert (run.iteration, run.information_sets) == (other.iteration, other.information_sets)
    assert_same(run.average, other.average)
    assert_same(run.current, other.current)


@pytest.mark.parametrize(
    ("algorithm", "sampling"),
    [(None, None), ("dcfr", "outcome"), (["cfr", "cfr+"], "external"), ("mccfr", None)],
)
def test_a_checkpoint_without_a_tree_goes_on_to_the_same_bits(algorithm, sampling, tmp_path):
    rules, path = games.load_rules("kuhn_poker"), tmp_path / "run"
    given = {"algorithm": algorithm, "sampling": sampling, "seed": 3}
    record, again = (Recorder({"met": lambda run: sum(run.information_sets)}) for _ in "ab")
    watch = Checkpoint(path, every=20, callbacks=[At(every(5), record)])
    run = rk.solve(rules, **given, iterations=40, callbacks=[watch])

    resumed = resume(path, rules, callbacks=[At(every(5), again)])
    assert again.values == record.values
    assert_same_bits(resumed, run)
    assert_same_bits(resumed.run(30), run.run(30))


def test_an_information_set_has_the_same_actions_at_all_its_histories():
    first = decision(0, "same", a=end(1.0), b=end(2.0))
    second = decision(0, "same", a=end(1.0), b=end(2.0), c=end(3.0))
    with pytest.raises(ValueError, match="information set 'same' of player 0 has different acti"):
        run_of(chance([0.5, 0.5], h=first, t=second), rk.RegretMatching).run(20)


def test_a_player_who_forgets_is_refused_with_the_information_set():
    # The second time it cannot tell what it did the first time.
    second = decision(0, "second", h=end(1.0), t=end(1.0))
    first = decision(0, "first", h=second, t=second)
    game = chance([0.5, 0.5], h=first, t=first)
    message = "imperfect recall: player 0 reaches information set 'second'"
    with pytest.raises(ValueError, match=message):
        run_of(game, rk.RegretMatching).run(5)


test_estimators_that_need_a_tree_are_refused = refusals(
    (lambda: ChanceSampling(rng()), "estimator must be"),
    (lambda: AverageStrategySampling(rng()), "estimator must be"),
    (lambda: ExternalSampling(rng(), baseline=LearnedBaseline()), "needs the game's tree"),
    (lambda: None, "estimator must be"),
    call=lambda estimator: Sampled(GAMES["kuhn"], rk.RegretMatching, estimator()),
    error=TypeError,
)


def test_weights_must_be_finite_and_orders_must_update_in_turn():
    for options, message in (
        ({"averaging": Last()}, "weights must be finite and at least 0"),
        (
            {"order": Extragradient()},
            "does more than update the players in turn",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            run_of(GAMES["kuhn"], rk.RegretMatching, **options).run(1)
