"""Play without a tree in machine code is play without a tree in Python, sample by sample."""

import copy
import time
from functools import partial

import numpy as np
import pytest
from attrs import define
from visited import assert_same

import regretkit as rk
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
    Linear,
    Order,
    OutcomeSampling,
    Sampled,
    Simultaneous,
    UpdateSchedule,
)
from regretkit.play import _sampled as sampled
from regretkit.play._infosets import SIZE, Infosets
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
ENGINES = "compiled", "numpy"
SAMPLERS = {
    "external": ExternalSampling,
    "outcome": OutcomeSampling,
}
RULES = {
    "rm": rk.RegretMatching,
    "linear": rk.LinearRegretMatching,
    "hedge": partial(rk.Hedge, rate=0.1),
    "discounted": rk.DiscountedRegretMatching,
    "predictive": rk.PredictiveRegretMatchingPlus,
    "adaptive": partial(rk.play.named("apcfr+").local),
}


def players_of(game):
    return game.players


def run_of(game, sampler="external", rule="rm", order=Alternating, engine="compiled"):
    sampling = SAMPLERS[sampler](np.random.default_rng(3))
    options = {"order": order(), "averaging": Linear(), "engine": engine}
    return Sampled(game, RULES[rule], sampling, **options)


def both(*arguments):
    """Return the same run in machine code and in Python."""
    return run_of(*arguments), run_of(*arguments, engine="numpy")


@pytest.fixture
def uncompiled(monkeypatch):
    """Run the functions that are compiled in Python."""

    def plain(function, results=0):
        def call(*arguments):
            # Both sides of a choice are computed, 0 / 0 included.
            with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
                return function(*arguments)

        return call

    monkeypatch.setattr(_without_tree, "MachineCode", plain)


def assert_equal(first, second):
    assert first.estimator.visited == second.estimator.visited
    assert first.information_sets == second.information_sets
    for profiles in ((first.current, second.current), (first.average, second.average)):
        assert_same(*profiles)


CASES = [
    *((batch, "external", "rm", Alternating) for batch in GAMES),
    *(("leduc", sampler, "linear", Simultaneous) for sampler in SAMPLERS),
    ("of two dice", "external", "hedge", Simultaneous),
    ("of two dice", "outcome", "linear", Alternating),
    *(("of two dice", "external", rule, Alternating) for rule in [*RULES][3:]),
]


@pytest.mark.deep_beyond(4)
@pytest.mark.parametrize("case", CASES)
def test_samples_strategies_and_averages_are_those_of_python(case, uncompiled):
    fast, slow = both(GAMES[case[0]], *case[1:])
    for count in (1, 3):
        assert_equal(fast.run(count), slow.run(count))


@pytest.mark.deep
@pytest.mark.parametrize(
    "case",
    [  # each game, and each of the others with two of them, as it takes so long to compile
        ("liar's dice", "external", "rm", Alternating),
        ("of two dice", "outcome", "predictive", Alternating),
        ("of three players", "outcome", "hedge", Simultaneous),
        ("goofspiel", "external", "discounted", Simultaneous),
        ("goofspiel, drawn", "external", "adaptive", Alternating),
        ("leduc", "outcome", "linear", Simultaneous),
        ("leduc of three", "external", "rm", Alternating),
    ],
)
def test_so_they_are_in_machine_code(case):
    fast, slow = both(GAMES[case[0]], *case[1:])
    assert_equal(fast.run(60), slow.run(60))


class OnlyTheLast(Order):
    """Only the last player learns, so that players have learned at different times."""

    def schedule(self, players, iterations):
        turns = np.full((iterations, players), -1)
        turns[:, 0] = players - 1
        return UpdateSchedule(turns, simultaneous=False)


def test_each_player_learns_by_its_own_parameters(uncompiled):
    fast, slow = both(GAMES["of two dice"], "external", "linear", OnlyTheLast)
    for count in (5, 10):
        assert_equal(fast.run(count), slow.run(count))
    assert fast.information_sets[0] == 0


def test_a_run_may_begin_in_python_and_be_saved(tmp_path, monkeypatch, uncompiled):
    batch = GAMES["of two dice"]
    monkeypatch.setattr(sampled, "_FEW", 700)
    whole, mixed = run_of(batch, engine="numpy").run(30), run_of(batch, engine="auto").run(2)
    assert isinstance(mixed._executor, sampled.PythonExecutor)
    mixed.run(22)
    assert not isinstance(mixed._executor, sampled.PythonExecutor)
    mixed.save(tmp_path / "half")
    sampling = ExternalSampling(np.random.default_rng(7))
    loaded = Sampled.load(tmp_path / "half", batch, rk.RegretMatching, sampling, averaging=Linear())
    assert_equal(loaded, mixed)
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "half").read_bytes()
    loaded.engine = "numpy"
    assert_equal(copy.copy(loaded).run(6), whole)
    loaded.engine = "compiled"
    assert_equal(loaded.run(6), whole)
    assert_equal(mixed.run(6), whole)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_copy_of_a_run_that_has_played_is_independent(engine, uncompiled):
    run = run_of(GAMES["of two dice"], engine=engine).run(5)
    other = copy.copy(run)
    assert (other.iteration, other.seconds) == (5, run.seconds)
    assert_equal(other, run)
    assert_equal(other.run(5), run_of(GAMES["of two dice"], engine=engine).run(10))
    assert_equal(run.run(5), other)


def test_information_sets_and_histories_may_be_many(uncompiled, monkeypatch):
    monkeypatch.setattr(_without_tree, "_PAUSE", 7)  # a pause within iterations
    monkeypatch.setattr(_without_tree, "_SLOTS", 8)
    monkeypatch.setattr("regretkit.play._infosets._FIRST", 4)
    fast, slow = both(GAMES["of two dice"])
    assert_equal(fast.run(30), slow.run(30))


def altered(state, name, change):
    """Return the state of information sets with one column changed."""
    return {**state, name: change(state[name].copy())}


def put(value, at=0):
    def change(column):
        column[at] = value
        return column

    return change


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("place", put(1)),
        ("place", put(2**40, -1)),
        ("place", lambda place: place[:-1]),
        ("place", lambda place: place[::-1]),
        ("cells", put(2**62)),  # the kind of the first record
        ("cells", put(-1)),
        ("cells", put(SIZE + (5 << 16))),
        ("cells", put((1 << 24) + 3)),
        ("cells", lambda cells: cells[:-1]),
        ("actions", lambda actions: actions[:-1]),
    ],
)
def test_information_sets_that_do_not_fit_together_are_refused(name, change):
    run = run_of(GAMES["of two dice"], engine="numpy").run(3)
    state = run.infosets.state_dict()
    read = partial(Infosets.of_state, rules=run.infosets.rules, numbered=True)
    assert np.array_equal(read(state).state_dict()["cells"], state["cells"])
    with pytest.raises(ValueError, match=r"."):
        read(altered(state, name, change))


@np.errstate(over="ignore")
@pytest.mark.parametrize("name", GAMES)
def test_traced_rules_are_those_of_every_history(name):
    game = GAMES[name]
    initial = sampled.initial_chance(as_history(game))[1]
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
    fast, slow = both(Guess(matches))
    assert_equal(fast.run(20), slow.run(20))


def from_the_end(drawn, guessed):
    rows, marked = np.arange(drawn.size), np.zeros((drawn.size, 3))
    marked[rows, drawn - 2] += 1.0
    marked[rows, guessed % 3 - 3] -= 0.25
    return marked[rows, guessed // 3 - drawn] - marked[rows, drawn - guessed // 3]


def test_negative_indices_count_from_the_end(uncompiled):
    fast, slow = both(Guess(from_the_end))
    assert_equal(fast.run(20), slow.run(20))


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
    fast, slow = both(root)
    assert_equal(fast.run(20), slow.run(20))


class Growing(Guess):
    """The end is known from a column alone, and the code of payoffs grows with the moves."""

    def start(self):
        return Batch(total=np.zeros(1, int), code=np.zeros(1, int), guesses=np.zeros((1, 0), int))

    def player(self, h):
        return np.where(h.total > 4, TERMINAL, h.length % 2)

    def observed(self, h):
        return (h.code,)

    def child(self, h, action):
        guesses = np.concatenate([h.guesses, action[:, np.newaxis]], axis=1)
        code = 4 * h.code + action + 1
        return h.then(total=h.total + action + 1, code=code, guesses=guesses)

    def payoffs(self, h):
        won = np.zeros(h.size)
        for move in range(h.length):
            won = np.where(h.guesses[:, move] > won, won + 1.0, won - 0.5 * h.guesses[:, move])
        return np.stack([won, -won], axis=1)


@pytest.mark.parametrize("rules", [Guess(one_by_one), Growing(matches)])
def test_what_cannot_be_traced_is_played_in_python(rules, uncompiled, monkeypatch):
    monkeypatch.setattr(sampled, "_FEW", 10)
    started = time.perf_counter()
    with pytest.raises(UntraceableError):
        TracedRules(rules, rules.start(), 2)
    assert time.perf_counter() - started < 10.0
    run = run_of(rules, engine="auto").run(20)
    assert isinstance(run._executor, sampled.PythonExecutor)
    assert min(run.information_sets) > 0
    with pytest.raises(ValueError, match="engine 'compiled' cannot run this"):
        run_of(rules).run(1)


class Stuck(Guess):
    """Where the first player does not guess the first number, the second one has no actions."""

    def legal(self, h):
        possible = (h.length < 2) | (h.guessed == 0)
        return np.repeat(possible[:, np.newaxis], 3, axis=1)

    def observed(self, h):
        return (h.guessed,)

    def label(self, player, observed):
        return f"{player} guesses after {observed}"


@pytest.mark.parametrize("engine", ENGINES)
def test_an_opponent_without_actions_is_refused(engine, uncompiled):
    with pytest.raises(ValueError, match="player 1 has no actions at information set '1 gu"):
        run_of(Stuck(matches), engine=engine).run(1)


@pytest.mark.parametrize("engine", ENGINES)
def test_imperfect_recall_is_refused(engine, uncompiled):
    run = run_of(LiarsDice(sides=3, memory=1), engine=engine)
    with pytest.raises(ValueError, match="imperfect recall: player"):
        run.run(20)
    with pytest.raises(RuntimeError, match="the run failed after iteration"):
        copy.copy(run).run(1)


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


def assert_refused(rule, engine):
    sampling = ExternalSampling(np.random.default_rng(1))
    run = Sampled(GAMES["of two dice"], rule, sampling, engine=engine)
    refused = pytest.raises(ValueError, match=f"{rule.__name__} must return probabilities that sum")
    with np.errstate(all="ignore"), refused:
        run.run(50)
    with pytest.raises(RuntimeError, match="the run failed after iteration"):
        run.run(1)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("rule", [Unscaled, Negative, Undefined])
def test_a_strategy_that_is_none_is_refused(rule, engine, uncompiled):
    assert_refused(rule, engine)


@pytest.mark.deep
@pytest.mark.parametrize("rule", [Unscaled, Negative, Undefined])
def test_so_it_is_in_machine_code(rule):
    assert_refused(rule, "compiled")


def test_kernels_of_the_same_code_are_the_same_whatever_made_them(uncompiled):
    run, traced = run_of(GAMES["leduc"]), _build._functions
    for size in (1, 2, 3):
        run.infosets.point(0, size)
        traced.cache_clear()  # so that the next one's functions are other objects
        _find._SHARED.clear()
    assert run.run(1).iteration == 1
