"""Play without a tree in machine code is play without a tree in Python, sample by sample."""

import ast
import copy
import pickle
import re
from functools import partial

import numpy as np
import pytest
from attrs import define

import regretkit as rk
from regretkit._machine_code import specialized
from regretkit.engine import _without_tree
from regretkit.engine._batch_rules import TracedRules
from regretkit.games import (
    CHANCE,
    TERMINAL,
    Batch,
    Goofspiel,
    LeducPoker,
    LiarsDice,
    Rules,
    as_history,
)
from regretkit.games._adapters import RulesHistory
from regretkit.play import (
    Alternating,
    ExternalSampling,
    LazyMCCFR,
    Linear,
    Order,
    OutcomeSampling,
    RobustSampling,
    Simultaneous,
    UpdateSchedule,
    _lazy_tree,
)
from regretkit.play import _lazy_mccfr as lazy
from regretkit.trace import UntraceableError, _build, _find


def goofspiel(*arguments):
    cards, order, information, players, turns, returns = arguments
    return Goofspiel(cards, order, information, players, turns=turns, returns=returns)


GAMES = {
    "liar's dice": LiarsDice(sides=3),
    "of two dice": LiarsDice(dice=2, sides=2),
    "of three players": LiarsDice(sides=2, players=3),
    "goofspiel": goofspiel(3, "descending", "full", 2, 3, "win_loss"),
    "goofspiel, drawn": goofspiel(3, "random", "hidden", 2, 2, "point_difference"),
    "leduc": LeducPoker(),
    "leduc of three": LeducPoker(players=3, raises=1, merge_suits=True),
}
SAMPLERS = {
    "external": ExternalSampling,
    "outcome": OutcomeSampling,
    "robust": partial(RobustSampling, actions=2),
}
RULES = {
    "rm": rk.RegretMatching,
    "linear": rk.LinearRegretMatching,
    "hedge": partial(rk.Hedge, rate=0.1),
}


def players_of(game):
    return game.players


def run_of(game, sampler="external", rule="rm", order=Alternating, seed=3):
    sampling = SAMPLERS[sampler](np.random.default_rng(seed))
    return LazyMCCFR(game, RULES[rule], sampling, order=order(), averaging=Linear())


@pytest.fixture
def at_once(monkeypatch):
    """Have machine code play from the first iteration on."""
    monkeypatch.setattr(lazy, "_FEW", 0)


@pytest.fixture
def uncompiled(monkeypatch, at_once):
    """Run the functions that are compiled in Python."""

    def plain(template, specialization, results=0):
        def make(function, replaced):
            return specialized(function, replaced, make)

        function = make(template, specialization)

        def call(*arguments):
            with np.errstate(over="ignore"):
                return function(*arguments)

        return call

    monkeypatch.setattr(_without_tree, "MachineCode", plain)


def assert_equal(first, second):
    assert first.estimator.visited == second.estimator.visited
    assert first.information_sets == second.information_sets
    for profiles in ((first.current, second.current), (first.average, second.average)):
        for found, expected in zip(*profiles, strict=True):
            assert list(found) == list(expected)
            for key in found:
                assert found.actions(key) == expected.actions(key)
                assert np.array_equal(found[key], expected[key])


def in_python(run):
    run._interpreted = True
    return run


CASES = [
    *((batch, "external", "rm", Alternating) for batch in GAMES),
    *(("leduc", sampler, "linear", Simultaneous) for sampler in SAMPLERS),
    ("of two dice", "external", "hedge", Simultaneous),
    ("of two dice", "robust", "linear", Alternating),
]


@pytest.mark.deep_beyond(4)
@pytest.mark.parametrize(("batch", "sampler", "rule", "order"), CASES)
def test_samples_strategies_and_averages_are_those_of_python(
    batch, sampler, rule, order, uncompiled
):
    arguments = GAMES[batch], sampler, rule, order
    fast, slow = run_of(*arguments), in_python(run_of(*arguments))
    for count in (1, 3):
        fast.run(count)
        slow.run(count)
    assert fast._flat is not None
    assert slow._flat is None
    assert_equal(fast, slow)


@pytest.mark.deep
@pytest.mark.parametrize(
    ("batch", "sampler", "rule", "order"),
    [  # each game, and each of the others with two of them, as it takes so long to compile
        ("liar's dice", "external", "rm", Alternating),
        ("of two dice", "robust", "linear", Alternating),
        ("of three players", "outcome", "hedge", Simultaneous),
        ("goofspiel", "robust", "rm", Simultaneous),
        ("goofspiel, drawn", "external", "hedge", Alternating),
        ("leduc", "outcome", "linear", Simultaneous),
        ("leduc of three", "external", "rm", Alternating),
    ],
)
def test_so_they_are_in_machine_code(batch, sampler, rule, order, at_once):
    arguments = GAMES[batch], sampler, rule, order
    fast, slow = run_of(*arguments).run(60), in_python(run_of(*arguments)).run(60)
    assert fast._flat is not None
    assert_equal(fast, slow)


class OnlyTheLast(Order):
    """Only the last player learns, so that players have learned at different times."""

    def iterate(self, context):
        context.learn(context.players - 1, context.profile())

    def schedule(self, players, iterations):
        turns = np.full((iterations, players), -1)
        turns[:, 0] = players - 1
        return UpdateSchedule(turns, simultaneous=False)


def test_each_player_learns_by_its_own_parameters(uncompiled):
    arguments = GAMES["of two dice"], "external", "linear", OnlyTheLast
    fast, slow = run_of(*arguments), in_python(run_of(*arguments))
    for count in (5, 10):
        assert_equal(fast.run(count), slow.run(count))
    assert fast._flat is not None
    assert fast.information_sets[0] == 0


def test_a_run_may_begin_in_python_and_be_saved(tmp_path, monkeypatch, uncompiled):
    batch = GAMES["of two dice"]
    monkeypatch.setattr(lazy, "_FEW", 700)
    whole, mixed = in_python(run_of(batch)).run(30), run_of(batch).run(2)
    assert mixed._flat is None
    mixed.run(18)
    mixed.run(4)
    assert mixed._flat is not None
    mixed.save(tmp_path / "half")
    sampling = ExternalSampling(np.random.default_rng(7))
    loaded = LazyMCCFR.load(
        tmp_path / "half", batch, rk.RegretMatching, sampling, averaging=Linear()
    )
    assert loaded._flat is None
    assert_equal(loaded, mixed)
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "half").read_bytes()
    assert_equal(in_python(copy.deepcopy(loaded)).run(6), whole)
    assert_equal(loaded.run(6), whole)
    assert loaded._flat is not None
    assert_equal(mixed.run(6), whole)


@pytest.mark.parametrize("play", [lambda run: run, in_python])
def test_a_file_takes_hardly_more_room_than_the_arrays(play, tmp_path, uncompiled):
    run = play(run_of(GAMES["of two dice"])).run(8)
    run.save(tmp_path / "run")
    numbers = sum(
        5 + 4 * len(strategy.actions(key)) for strategy in run.average for key in strategy
    )
    assert (tmp_path / "run").stat().st_size < 8 * numbers + 8_000


def pickled(run):
    return pickle.loads(pickle.dumps(run))


@pytest.mark.parametrize("copied", [copy.deepcopy, pickled])
@pytest.mark.parametrize("play", [lambda run: run, in_python])
def test_a_run_that_has_played_may_be_copied_and_pickled(copied, play, uncompiled):
    run = play(run_of(GAMES["of two dice"])).run(5)
    other = copied(run)
    assert other.iteration == 5
    assert other.seconds == run.seconds
    assert_equal(other, run)
    assert_equal(other.run(5), play(run_of(GAMES["of two dice"])).run(10))
    assert_equal(run.run(5), other)


def test_a_run_that_broke_off_is_not_pickled(uncompiled):
    run = run_of(LiarsDice(sides=3, memory=1))
    with pytest.raises(ValueError, match="imperfect recall"):
        run.run(20)
    with pytest.raises(RuntimeError, match="the run failed after iteration"):
        pickle.dumps(run)


def test_information_sets_and_histories_may_be_many(uncompiled, monkeypatch):
    for name, number in {"_PAUSE": 7, "_FEW": 4, "_ROOM": 64}.items():  # a pause within iterations
        monkeypatch.setattr(_without_tree, name, number)
    fast, slow = (
        run_of(GAMES["of two dice"]).run(30),
        in_python(run_of(GAMES["of two dice"])).run(30),
    )
    assert_equal(fast, slow)


@np.errstate(over="ignore")
@pytest.mark.parametrize("name", GAMES)
def test_traced_rules_are_those_of_every_history(name):
    game = GAMES[name]
    initial = run_of(game)._tree.initial_chance[1]
    rules = TracedRules(game, game.start(), players_of(game), initial)
    while len(rules.codes) < len(rules.stages) and len(rules.codes) < 40:
        rules.explore()
    after, before = rules.functions(), rules.functions(dealt=False)
    moves, known = [0] * (rules.most_actions + 1), [0] * rules.observations
    draws, start = np.random.default_rng(5), RulesHistory(game, named=False)
    waiting, seen, sets = [(0, np.zeros(rules.width, np.int64), start, 0, [])], 0, {}
    while waiting and seen < 400:
        stage, state, history, length, dealt = waiting.pop(int(draws.integers(len(waiting))))
        functions = before if length < initial else after
        dealt = after.deal(state, 0) if length == initial else dealt
        kinds, player, seen = rules.codes[stage], history.player(), seen + 1
        assert functions.player(kinds[0], state, 0, dealt) == player
        if player == TERMINAL:
            paid = [functions.payoff(kinds[3], state, 0, dealt, i) for i in range(players_of(game))]
            assert paid == list(history.payoffs())
            continue
        count = functions.legal(kinds[1], state, 0, dealt, moves)
        assert tuple(moves[:count]) == history.actions()
        if player == CHANCE:
            chances = [0.0] * rules.most_actions
            functions.chance(kinds[4], state, 0, dealt, chances)
            assert [(move, chances[move]) for move in moves[:count]] == history.chance_outcomes()
        else:
            key = functions.key(kinds[2], state, 0, dealt, known)
            assert tuple(known) == history.information_set()
            assert sets.setdefault((player, key), tuple(known)) == tuple(known)
        for move in moves[:count]:
            child = state.copy()
            chosen = functions.child(kinds[5], child, 0, dealt, np.int64(move), 0)
            waiting.append(
                (rules.nexts[stage][chosen], child, history.child(move), length + 1, dealt)
            )


class Guess(Rules):
    """Chance draws a number, and both players guess it."""

    def __init__(self, payoff_of):
        self.payoff_of = payoff_of

    def start(self):
        return Batch(drawn=np.zeros(1, dtype=np.int64), guessed=np.zeros(1, dtype=np.int64))

    def player(self, h):
        return (CHANCE, 0, 1, TERMINAL)[h.length]

    def legal(self, h):
        return np.ones((h.size, 3), dtype=bool)

    def child(self, h, action):
        if h.length == 0:
            return h.then(drawn=action)
        return h.then(guessed=3 * h.guessed + action)

    def chance(self, h, action):
        return np.array([0.5, 0.25, 0.25])[action]

    def observed(self, h):
        return (0,)

    def payoffs(self, h):
        won = self.payoff_of(h.drawn, h.guessed)
        return np.stack([won, -won], axis=1)

    def label(self, player, observed):
        return "guess"


def matches(drawn, guessed):
    return np.where(drawn == guessed % 3, 1.0, np.where(drawn < guessed // 3, 0.5, -1.0))


def one_by_one(drawn, guessed):
    return np.array([float(x) - float(y) for x, y in zip(drawn, guessed, strict=True)])


def test_rules_of_a_user_are_traced(uncompiled):
    fast, slow = run_of(Guess(matches)).run(20), in_python(run_of(Guess(matches))).run(20)
    assert fast._flat is not None
    assert_equal(fast, slow)


def from_the_end(drawn, guessed):
    rows, marked = np.arange(drawn.size), np.zeros((drawn.size, 3))
    marked[rows, drawn - 2] += 1.0
    marked[rows, guessed % 3 - 3] -= 0.25
    return marked[rows, guessed // 3 - drawn] - marked[rows, drawn - guessed // 3]


def test_negative_indices_count_from_the_end(uncompiled):
    fast, slow = run_of(Guess(from_the_end)).run(20), in_python(run_of(Guess(from_the_end))).run(20)
    assert fast._flat is not None
    assert_equal(fast, slow)


class Hashed(Guess):
    """What is drawn and guessed is observed as numbers that overflow."""

    def __init__(self, payoff_of, shifted, stored):
        super().__init__(payoff_of)
        self.shifted, self.stored = shifted, stored

    def mixed(self, x):
        x = (x + 1) * np.int64(0x1E3779B97F4A7C15)
        return (x ^ (x >> 31) if self.shifted else x) * np.int64(0x3F58476D1CE4E5B9)

    def child(self, h, action):
        return super().child(h, self.mixed(action) if h.length == 0 and self.stored else action)

    def observed(self, h):
        return ((self.mixed(h.drawn) + h.guessed) & (2**62 - 1),)

    def label(self, player, observed):
        return str(observed)


@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize("shifted", [False, True])
def test_what_is_computed_from_the_deal_wraps_around(shifted, stored, uncompiled):
    root = Hashed(matches, shifted=shifted, stored=stored)
    fast, slow = run_of(root).run(20), in_python(run_of(root)).run(20)
    assert fast._flat is not None
    assert_equal(fast, slow)


def test_what_cannot_be_traced_is_played_in_python(uncompiled):
    with pytest.raises(UntraceableError):
        TracedRules(Guess(one_by_one), Guess(one_by_one).start(), 2)
    run = run_of(Guess(one_by_one)).run(20)
    assert run._flat is None
    assert run.information_sets == (1, 1)


def test_rules_without_a_kernel_that_rests_are_played_in_python(uncompiled):
    sampling = ExternalSampling(np.random.default_rng(1))
    run = LazyMCCFR(GAMES["of two dice"], rk.PredictiveRegretMatchingPlus, sampling).run(2)
    assert run._flat is None


class Stuck(Guess):
    """Where the first player does not guess the first number, the second one has no actions."""

    def legal(self, h):
        possible = (h.length < 2) | (h.guessed == 0)
        return np.repeat(possible[:, np.newaxis], 3, axis=1)

    def observed(self, h):
        return (h.guessed,)

    def label(self, player, observed):
        return f"{player} guesses after {observed}"


@pytest.mark.parametrize("play", [lambda run: run, in_python])
def test_an_opponent_without_actions_is_refused(play, uncompiled, monkeypatch):
    refused = pytest.raises(ValueError, match="player 1 has no actions at information set '1 gu")
    with refused:  # by random plays, before the first iteration
        run_of(Stuck(matches)).run(1)
    monkeypatch.setattr(lazy, "estimated_visits", lambda *_: 1.0)
    run = play(run_of(Stuck(matches)))
    with refused:
        run.run(1)
    assert (run._flat is None) == (play is in_python)


def test_imperfect_recall_is_refused(uncompiled):
    with pytest.raises(ValueError, match="imperfect recall: player"):
        run_of(LiarsDice(sides=3, memory=1)).run(20)


@define(eq=False)
class Unscaled(rk.SimplexRule):
    """Plays probabilities that sum to 1 until it has a regret."""

    regrets: np.ndarray = rk.state()

    def _propose(self):
        return self.simplices.uniform() + np.maximum(self.regrets, 0.0)

    def _learn(self, utility, strategy):
        self.regrets += self.simplices.regret(utility, strategy)


class Negative(Unscaled):
    """Plays what sums to 1, and is below 0 where there is no regret."""

    def _propose(self):
        return 3.0 * self.simplices.normalize(np.maximum(self.regrets, 0.0)) - (
            2.0 * self.simplices.uniform()
        )


class Undefined(Unscaled):
    """Plays what is no number once a regret has no largest one."""

    def _propose(self):
        return self.simplices.normalize(np.maximum(1e308 * self.regrets, 0.0))


def refusal(rule, play):
    """Return what a run with a rule says when it breaks off, and the run."""
    game = GAMES["of two dice"]
    run = play(LazyMCCFR(game, rule, ExternalSampling(np.random.default_rng(1))))
    with np.errstate(all="ignore"), pytest.raises(ValueError, match="must be prob") as refused:
        run.run(50)
    with pytest.raises(RuntimeError, match="the run failed after iteration"):
        run.run(1)
    assert (run._flat is None) == (play is in_python)
    return str(refused.value), run


def assert_refused_alike(rule):
    (fast, run), (slow, _) = refusal(rule, lambda run: run), refusal(rule, in_python)
    found = re.fullmatch(r"(the .* set) (.*) (must .*)", fast).groups()
    assert f"strategy that {rule.__name__} returned" in found[0]
    assert found[::2] == re.fullmatch(r"(the .* set) (.*) (must .*)", slow).groups()[::2]
    labels = {run._tree.label(p, key) for p in (0, 1) for key in run._flat.table(p).keys.tolist()}
    assert ast.literal_eval(found[1]) in labels


@pytest.mark.parametrize("rule", [Unscaled, Negative, Undefined])
def test_a_strategy_that_is_none_is_refused_as_in_python(rule, uncompiled):
    assert_refused_alike(rule)


@pytest.mark.deep
@pytest.mark.parametrize("rule", [Unscaled, Negative, Undefined])
def test_so_it_is_in_machine_code(rule, at_once):
    assert_refused_alike(rule)


def test_an_iteration_that_would_never_end_is_refused(monkeypatch):
    monkeypatch.setattr(_lazy_tree, "_LONGEST_ITERATION", 1e-3)
    game = as_history(LiarsDice(dice=2))
    with pytest.raises(ValueError, match=re.escape("pass sampling='outcome'")):
        rk.solve(game, "mccfr", seed=1, iterations=1)
    assert rk.solve(game, "mccfr", seed=1, sampling="outcome", iterations=2).iteration == 2


def test_a_long_iteration_says_so_once(monkeypatch, caplog):
    run = in_python(run_of(GAMES["leduc"]))
    run.run(1)
    assert caplog.text == ""
    monkeypatch.setattr(_lazy_tree, "_LONG", 1e-6)
    for _ in range(2):
        run.run(1)
    assert caplog.text == ""
    in_python(run_of(GAMES["leduc"])).run(1)
    assert re.search(r"goes through about \d.* seconds; sampling='outcome'", caplog.text)


def test_kernels_of_the_same_code_are_the_same_whatever_made_them(uncompiled):
    run, traced = run_of(GAMES["leduc"]), _build._functions
    for size in (1, 2, 3):
        run._tree.factories[0].template(size)
        traced.cache_clear()  # so that the next one's functions are other objects
        _find._SHARED.clear()
    run.run(1)
    assert run._flat is not None
