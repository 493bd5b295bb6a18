"""Several threads do what one does, to the bit: the work is split, and no sum is."""

import copy
import os
import pickle
import signal
import threading
from functools import partial
from itertools import pairwise

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive_games import random_game
from strategies import random_tree

import regretkit as rk
from regretkit import ExtensiveFormGame, NormalFormGame, SelfPlay, games, solve
from regretkit.engine import _crew, _gate, _split
from regretkit.engine._crew import Crew, Quicker
from regretkit.engine._forced import NONE, without_forced
from regretkit.engine._forest import forest_of
from regretkit.engine._payoffs import _ends, _matrix
from regretkit.engine._split import cuts, owners, split_of
from regretkit.engine._table import table_of
from regretkit.play import (
    Algorithm,
    Alternating,
    ChanceSampling,
    RandomPlayer,
    Simultaneous,
    named,
)
from regretkit.sets import DecisionTree

seeds = st.integers(0, 2**32 - 1)


# Decision trees of all shapes


def star(generator):
    """Nothing but decision points at the root."""
    return DecisionTree([0] * 40, generator.integers(1, 4, size=40).tolist())


def chain(generator):
    """Each decision point after the last sequence."""
    sizes = generator.integers(1, 4, size=40).tolist()
    return DecisionTree([0, *np.cumsum(sizes)[:-1].tolist()], sizes)


def broad(generator):
    """A root with many actions, each with a chain behind it, numbered level by level."""
    width, depth = 12, 5
    parents = [0] + [1 + a for a in range(width)]
    for level in range(1, depth):
        before = 1 + width + 2 * width * (level - 1)
        parents += [before + 2 * a for a in range(width)]
    return DecisionTree(parents, [width] + [2] * width * depth)


def bushes(generator):
    return random_tree(generator, 120)


def idle(generator):
    """A player who never decides anything."""
    return DecisionTree([], [])


SHAPES = {shape.__name__: shape for shape in (star, chain, broad, bushes, idle)}
shapes = st.sampled_from(list(SHAPES))


def planted(*names, seed):
    generator = np.random.default_rng(seed)
    return forest_of([SHAPES[name](generator) for name in names])


def between(forest, seed):
    """Return payoffs between random sequences of all players, at chance's mercy."""
    generator = np.random.default_rng(seed)
    sizes = np.diff(forest.sequences)
    many = int(sizes.sum())
    ends = np.stack([generator.integers(0, size, size=many) for size in sizes])
    ends = np.unique(ends, axis=1) + forest.sequences[:-1, None]
    # Few different numbers, so that sequences are worth the same and share sums.
    payoffs = generator.integers(-3, 4, size=ends.shape) * 0.1
    if forest.players == 2:
        return _matrix(ends, payoffs, forest)
    return _ends(ends, payoffs, int(forest.sequences[-1]))


def dense(forest, seed):
    """Return payoffs for every combination of sequences, no two of them the same."""
    generator = np.random.default_rng(seed)
    ends = np.indices(np.diff(forest.sequences)).reshape(forest.players, -1)
    ends = ends + forest.sequences[:-1, None]
    payoffs = generator.normal(size=ends.shape)
    if forest.players == 2:
        return _matrix(ends, payoffs, forest)
    return _ends(ends, payoffs, int(forest.sequences[-1]))


# How it is split


def before(forest, point):
    """Return the decision point before this one, or None."""
    sequence = forest.parent[point]
    found = np.flatnonzero((forest.first <= sequence) & (sequence < forest.last))
    return int(found[0]) if found.size else None


@given(shapes, seeds, st.integers(2, 6), st.booleans())
def test_each_decision_point_and_each_sequence_belongs_to_one_part(shape, seed, parts, leave_out):
    forest = planted(shape, "bushes", seed=seed)
    payoffs = between(forest, seed)
    if leave_out:
        forest, payoffs, _ = without_forced(forest, payoffs)
    split = split_of(forest, payoffs, parts)

    points, sequences = np.zeros(forest.first.size), np.zeros(forest.sequences[-1])
    for run in split.runs:
        points[slice(*run)] += 1
    for span in split.spans:
        sequences[slice(*span)] += 1
    assert (points == 1).all()
    assert (sequences == 1).all()


@given(shapes, seeds, st.integers(2, 6))
def test_below_the_top_parts_are_whole_subtrees_and_only_their_worth_waits(shape, seed, parts):
    forest = planted(shape, seed=seed)
    owner, split = owners(forest, 0, parts), split_of(forest, between(forest, seed), parts)

    joints = []
    for point, part in enumerate(owner):
        one_up = before(forest, point)
        at_top = one_up is None or owner[one_up] == parts
        assert one_up is None or owner[one_up] in (part, parts)
        hangs = at_top and part != parts
        assert split.above[point] == (-1 if hangs else forest.parent[point])
        joints += [(point, part == parts)] if at_top else []
    assert list(zip(split.joints, split.at_top == 1, strict=True)) == joints


@given(shapes, seeds, st.integers(2, 6))
def test_no_part_has_more_than_its_due_and_one_subtree(shape, seed, parts):
    forest = planted(shape, seed=seed)
    owner, split = owners(forest, 0, parts), split_of(forest, between(forest, seed), parts)
    cost = _split._POINT + forest.last - forest.first.astype(int)
    weight = cost.copy()
    for point in reversed(range(cost.size)):
        if (one_up := before(forest, point)) is not None:
            weight[one_up] += weight[point]

    loads = np.bincount(owner, weights=cost, minlength=parts + 1)[:parts]
    hanging = np.flatnonzero(split.above < 0)
    largest = weight[hanging].max(initial=0)
    assert loads.max() <= loads.sum() / parts + largest
    # What hangs is small, or cannot be cut because nothing hangs from it.
    cuttable = hanging[weight[hanging] > cost[hanging]]
    assert (weight[cuttable] * parts * _split._FINE <= cost.sum()).all()


@given(st.lists(st.integers(0, 1000)), st.integers(1, 6))
def test_a_row_is_cut_into_parts_of_about_equal_weight(weights, parts):
    ends = cuts(np.array(weights, dtype=np.int64), parts)

    assert ends[0] == 0
    assert ends[-1] == len(weights)
    assert (np.diff(ends) >= 0).all()
    loads = [sum(weights[a:b]) for a, b in pairwise(ends)]
    assert max(loads) <= sum(weights) / parts + max(weights, default=0)


@given(st.sampled_from([2, 3]), seeds, st.integers(2, 6))
def test_each_sum_over_payoffs_belongs_to_one_part(players, seed, parts):
    forest = planted(*["bushes"] * players, seed=seed)
    payoffs = between(forest, seed)
    split = split_of(forest, payoffs, parts)

    rows = payoffs.of_player if players == 2 else forest.sequences
    assert (np.diff(split.rows) >= 0).all()
    assert split.rows[:, [0, -1]].tolist() == np.stack([rows[:-1], rows[1:]], axis=1).tolist()
    if players == 2:
        sums = payoffs.sums_of_player
        assert (np.diff(split.sums) >= 0).all()
        assert split.sums[:, [0, -1]].tolist() == np.stack([sums[:-1], sums[1:]], axis=1).tolist()


def test_two_parts_of_a_large_game_have_half_of_it_each():
    game = games.dudo(sides=5)
    forest = forest_of(game.domains)

    for player in range(2):
        counts = np.bincount(owners(forest, player, 2), minlength=3)
        assert counts[:2].min() > 0.47 * counts.sum()


# The gate and the crew


@numba.njit(nogil=True)
def wait(gate, parts):
    if last_to_come(gate, parts):
        open_up(gate)


last_to_come, open_up = numba.njit(_gate.last_to_come), numba.njit(_gate.open_up)


@numba.njit(nogil=True)
def meet(part, gate, at, times):
    """Meet so often; return how often somebody else was not there."""
    missed = 0
    for now in range(times):
        at[part] = now
        wait(gate, at.size)
        for place in at:
            missed += place != now
        wait(gate, at.size)
    return missed


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_nobody_goes_through_a_gate_before_all_are_there(size):
    missed = np.full(size, -1)

    def share(part, gate, at):
        missed[part] = meet(part, gate, at, 300)

    Crew(share, size).run(np.zeros(size, dtype=np.int64))
    assert missed.tolist() == [0] * size


@pytest.mark.parametrize("failing", [0, 1, 2])
def test_when_one_thread_fails_the_others_stop_waiting_and_its_error_comes_through(failing):
    def share(part, gate):
        if part == failing:
            raise ArithmeticError(f"part {part}")
        meet(part, gate, np.zeros(3, dtype=np.int64), 10)

    with pytest.raises(ArithmeticError, match=f"part {failing}"):
        Crew(share, 3).run()
    assert threading.active_count() == 1


def test_threads_that_cannot_be_started_leave_nobody_waiting(monkeypatch):
    really, entered = threading.Thread.start, []

    def start(thread):
        if thread.name == "regretkit-2":
            raise RuntimeError("can't start new thread")
        really(thread)

    def share(part, gate):
        entered.append(part)
        wait(gate, 3)

    monkeypatch.setattr(threading.Thread, "start", start)
    with pytest.raises(RuntimeError, match="can't start"):
        Crew(share, 3).run()
    assert 0 not in entered
    assert threading.active_count() == 1


class Way:
    """Notes which iterations it is given, and takes so many seconds for each."""

    def __init__(self, clock, seconds):
        self.clock, self.seconds, self.given = clock, seconds, []

    def __call__(self, together, turns, numbers, weights):
        assert turns.shape == numbers.shape == weights.shape
        self.clock[0] += self.seconds * turns.size
        self.given += turns.tolist()


@pytest.fixture
def clock(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(_crew.time, "perf_counter", lambda: now[0])
    return now


def fed(quicker, sizes):
    """Let iterations run, so many at a time; return their numbers."""
    numbers = np.arange(sum(sizes))
    for part in np.split(numbers, np.cumsum(sizes)[:-1]):
        quicker(False, part, part, part)
    return numbers.tolist()


@pytest.mark.parametrize(("shared", "alone"), [(1.0, 2.0), (2.0, 1.0)])
@pytest.mark.parametrize("size", [1, 7, 100])
def test_the_quicker_way_gets_almost_all_iterations_and_each_is_run_once(
    shared, alone, size, clock
):
    ways = Way(clock, shared), Way(clock, alone)
    numbers = fed(Quicker(*ways), [size] * 320)

    quick, slow = sorted(ways, key=lambda way: way.seconds)
    assert sorted(quick.given + slow.given) == numbers
    assert 0 < len(slow.given) <= size * (1 + 320 / 32)
    assert len(quick.given) > 0.95 * len(numbers)


def test_when_a_machine_becomes_busy_or_idle_the_other_way_takes_over(clock):
    shared, alone = Way(clock, 1.0), Way(clock, 2.0)
    quicker = Quicker(shared, alone)
    fed(quicker, [10] * 100)
    assert len(shared.given) > 900
    shared.seconds = 20.0
    fed(quicker, [10] * 200)
    assert len(shared.given) < 1100
    shared.seconds = 1.0
    fed(quicker, [10] * 400)
    assert len(shared.given) > 4000


def test_no_iterations_at_all_make_both_ways_ready(clock):
    ready = []
    quicker = Quicker(lambda *_: ready.append("shared"), lambda *_: ready.append("alone"))

    fed(quicker, [0])
    assert ready == ["shared", "alone"]


# Whole iterations


def laid_out(forest, payoffs, rule):
    """Return a table on which everybody has learned nothing yet, and a rule's state."""
    kernel = rule._kernel()
    by_action = [np.zeros(forest.sequences[-1]) for _ in kernel.state]
    by_point = [np.zeros(forest.first.size) for _ in kernel.block_state]
    return table_of(forest, payoffs), (*by_action, *by_point)


def iterated(rule, forest, payoffs, order, parts, count=6, forced=NONE):
    """Return all numbers that some iterations leave behind."""
    from regretkit.engine._specialize import iterations, shared_iterations

    kernel = rule._kernel()
    table, state = laid_out(forest, payoffs, rule)
    turns = order.turns(forest.players, count)
    numbers = np.array([rule_numbers(kernel, t) for t in range(count + 1)])
    numbers = np.repeat(numbers[:, None], forest.players, axis=1)
    weights = np.stack([np.full(count, 0.75), np.arange(1.0, count + 1)], axis=1)
    begin, iterate = iterations(kernel.propose, kernel.learn, type(payoffs).__name__)
    if parts > 1:
        share = shared_iterations(kernel.propose, kernel.learn, type(payoffs).__name__)
        iterate = partial(Crew(share, parts).run, split_of(forest, payoffs, parts))
    begin(numbers[0], forest, table, state)
    rest = payoffs, forest, forced, table, state
    iterate(turns.together, turns.players, numbers[1:], weights, *rest)
    size = forest.sequences[-1]
    return np.concatenate([table.strategy[:size], *table[1:], *state])


def rule_numbers(kernel, t):
    return kernel.numbers(t) if callable(kernel.numbers) else kernel.numbers


def same_bits(one, other):
    return np.array_equal(one.view(np.int64), other.view(np.int64))


def some_order(seed):
    generator = np.random.default_rng(seed)
    return [Alternating(), Alternating(first=1), Simultaneous(), RandomPlayer(generator)][seed % 4]


@given(shapes, shapes, seeds, st.integers(2, 5), st.booleans())
def test_any_forest_is_played_by_several_threads_as_by_one(one, other, seed, parts, leave_out):
    forest = planted(one, other, seed=seed)
    payoffs, forced, rule = between(forest, seed), NONE, rk.RegretMatchingPlus(1)
    if leave_out:
        forest, payoffs, forced = without_forced(forest, payoffs)

    alone = iterated(rule, forest, payoffs, some_order(seed), 1, forced=forced)
    shared = iterated(rule, forest, payoffs, some_order(seed), parts, forced=forced)
    assert same_bits(alone, shared)


@given(shapes, shapes, shapes, seeds, st.integers(2, 5))
def test_with_three_players_as_well(one, two, three, seed, parts):
    forest = planted(one, two, three, seed=seed)
    payoffs, rule = between(forest, seed), rk.RegretMatchingPlus(1)

    alone = iterated(rule, forest, payoffs, some_order(seed), 1)
    assert same_bits(alone, iterated(rule, forest, payoffs, some_order(seed), parts))


@pytest.mark.parametrize("players", [2, 3])
def test_long_sums_have_the_same_order(players):
    forest = planted(*["star"] * players, seed=players)
    payoffs, rule = dense(forest, players), rk.RegretMatchingPlus(1)

    alone = iterated(rule, forest, payoffs, Alternating(), 1)
    assert same_bits(alone, iterated(rule, forest, payoffs, Alternating(), 3))


# Whole runs

GENERATOR = np.random.default_rng(5)
HEDGE = Algorithm(partial(rk.Hedge, rate=0.3))
CASES = {
    "kuhn": (games.kuhn_poker(), "dcfr"),
    "leduc": (games.leduc_poker(), "pcfr+"),
    "dudo": (games.dudo(sides=3), "cfr"),
    "liar's dice": (games.liars_dice(sides=4), "cfr+"),
    "random": (ExtensiveFormGame.from_history(random_game(GENERATOR, 2, depth=7)), HEDGE),
    "kuhn for three": (games.kuhn_poker(players=3), "cfr+"),
    "one player": (ExtensiveFormGame.from_history(random_game(GENERATOR, 1)), "cfr+"),
    "four": (ExtensiveFormGame.from_history(random_game(GENERATOR, 4)), "cfr+"),
    "normal form": (NormalFormGame(GENERATOR.normal(size=(2, 170, 290))), "cfr+"),
    "normal form for three": (NormalFormGame(GENERATOR.normal(size=(3, 2, 70, 90))), "cfr+"),
}
each_case = pytest.mark.parametrize("name", CASES)


@pytest.fixture
def shared(monkeypatch):
    """Let every game be shared out, whatever there is of processors, and however busy they are."""
    monkeypatch.setattr(_split, "_WORTH", 0)
    monkeypatch.setattr(_split, "processors", lambda: 8)
    monkeypatch.setattr(_crew, "Quicker", lambda shared, alone: shared)


@pytest.fixture
def helpers(monkeypatch):
    """Return a list in which the names of threads appear as they are started."""
    really, names = threading.Thread.start, []

    def start(thread):
        names.append(thread.name)
        really(thread)

    monkeypatch.setattr(threading.Thread, "start", start)
    return names


def begun(name, threads, order=None):
    game, algorithm = CASES[name]
    chosen = named(algorithm)
    if order is not None:
        chosen = Algorithm(chosen.local, order=order, averaging=chosen.averaging)
    return chosen.start(game, engine="compiled", threads=threads)


def outcome(run):
    """Return all that a run has come to, in bits."""
    came_to = {"average": [*run.average], "current": [*run.current], "played": [*run.played]}
    return dict(bits_of("run", {"state": run.state_dict(), **came_to}))


def bits_of(name, thing):
    if isinstance(thing, dict | list):
        items = thing.items() if isinstance(thing, dict) else enumerate(thing)
        for key, value in items:
            yield from bits_of(f"{name}.{key}", value)
    else:
        yield name, thing.tobytes() if isinstance(thing, np.ndarray) else thing


@each_case
@pytest.mark.parametrize("order", [Alternating, Simultaneous, RandomPlayer])
def test_a_run_comes_to_the_same_with_one_thread_and_with_several(name, order, shared, helpers):
    def make():
        return order(np.random.default_rng(3)) if order is RandomPlayer else order()

    alone, together = (begun(name, threads, make()) for threads in (1, 3))
    for iterations in (1, 20, 0, 7):
        alone.run(iterations)
        assert not helpers
        together.run(iterations)
        assert set(helpers) == ({"regretkit-1", "regretkit-2"} if iterations else set())
        helpers.clear()
        assert outcome(alone) == outcome(together)


def test_a_state_moves_between_one_thread_and_several(shared):
    alone, together = begun("leduc", 1).run(12), begun("leduc", 2).run(12)
    one_more, two_more = begun("leduc", 2), begun("leduc", 1)
    one_more.load_state_dict(alone.state_dict())
    two_more.load_state_dict(together.state_dict())

    expected = outcome(begun("leduc", 1).run(20))
    assert outcome(one_more.run(8)) == expected
    assert outcome(two_more.run(8)) == expected
    assert "threads" not in str(list(together.state_dict()))


def test_copies_of_a_run_share_out_their_work_as_well(shared, helpers):
    run = begun("kuhn", 2).run(5)

    for twin in (copy.deepcopy(run), pickle.loads(pickle.dumps(run))):
        helpers.clear()
        twin.run(5)
        assert helpers
        assert outcome(twin) == outcome(begun("kuhn", 1).run(10))


def test_callbacks_see_the_same_run_after_every_iteration(shared):
    seen = {1: [], 2: []}
    for threads, outcomes in seen.items():
        begun("leduc", threads).run(5, callbacks=[lambda run, to=outcomes: to.append(outcome(run))])

    assert len(seen[1]) == 5
    assert seen[1] == seen[2]


def test_ctrl_c_stops_all_threads_between_two_iterations(shared):
    run = begun("leduc", 2).run(1)
    hurry = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    hurry.start()
    with pytest.raises(KeyboardInterrupt):
        run.run(10**9)
    hurry.join()

    assert threading.active_count() == 1
    assert 1 < run.iteration < 10**9
    assert outcome(run) == outcome(begun("leduc", 1).run(run.iteration))


def test_runs_in_several_threads_of_ones_own_may_share_out_their_work(shared):
    runs = [begun("leduc", 2) for _ in range(3)]
    callers = [threading.Thread(target=run.run, args=(30,)) for run in runs]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()

    expected = outcome(begun("leduc", 1).run(30))
    assert [outcome(run) == expected for run in runs] == [True] * 3


# When there are several threads, and when not


def test_a_large_game_is_shared_out_and_a_small_one_is_not(monkeypatch, helpers):
    monkeypatch.setattr(_split, "processors", lambda: 2)

    solve(games.leduc_poker(), iterations=5, engine="compiled", threads=2)
    assert not helpers
    large = NormalFormGame(np.random.default_rng(0).normal(size=(2, 500, 500)))
    run = solve(large, iterations=1, engine="compiled", threads=4)
    assert set(helpers) == {"regretkit-1"}
    # Whichever way is taken from now on
    assert outcome(run.run(100)) == outcome(solve(large, iterations=101, engine="compiled"))


def test_there_are_no_more_threads_than_processors(monkeypatch, helpers, shared):
    monkeypatch.setattr(_split, "processors", lambda: 1)

    begun("leduc", 2).run(5)
    assert not helpers


def test_processors_are_those_that_this_process_may_use():
    assert 1 <= _split.processors() <= (os.cpu_count() or 1)


@pytest.mark.parametrize(
    ("threads", "kind"), [(0, ValueError), (-2, ValueError), (2.0, TypeError), (True, TypeError)]
)
def test_a_number_of_threads_is_a_whole_number_and_at_least_1(threads, kind):
    with pytest.raises(kind, match="threads must be a whole number, at least 1"):
        solve(games.rock_paper_scissors(), iterations=1, threads=threads)


@pytest.mark.parametrize("engine", ["numpy", "vectorized"])
def test_engines_that_do_not_share_out_their_work_refuse_several_threads(engine):
    with pytest.raises(ValueError, match=rf"'{engine}' runs in a single thread.*threads=1"):
        solve(games.kuhn_poker(), iterations=1, engine=engine, threads=2)

    assert solve(games.kuhn_poker(), iterations=1, engine=engine, threads=1).iteration == 1


def test_what_cannot_be_run_in_machine_code_is_refused_several_threads_at_once():
    game = games.kuhn_poker()
    sampling = ChanceSampling(np.random.default_rng(0))
    with pytest.raises(ValueError, match=r"threads=2.*does not sweep the whole game.*threads=1"):
        named("cfr").start(game, estimator=sampling, threads=2)
    players = [rk.circuit(tree, rk.RegretMatching) for tree in game.domains]
    with pytest.raises(ValueError, match=r"threads=2.*minimizers\[0\].*threads=1"):
        SelfPlay(game, players, threads=2)
