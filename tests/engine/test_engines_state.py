"""What a run holds is the same whichever way it runs: it can be cut, saved, copied, moved, kept."""

import copy
import pickle

import numpy as np
import pytest
from engine_cases import (
    AVERAGINGS,
    ENGINES,
    RULES,
    UNIFORM,
    assert_same_bits,
    random_player,
    rules_of,
    started,
)

import regretkit as rk
from regretkit import SelfPlay, games
from regretkit.evaluation import RegretLedger
from regretkit.play import Alternating, At, Last, Linear, Simultaneous, every

pytestmark = pytest.mark.deep  # nearly all the time goes into compiling


KUHN, SHAPLEY = games.kuhn_poker(), games.shapley_game()

each_engine = pytest.mark.parametrize("engine", ENGINES)

# How to play: rule, order and averaging
WAYS = {
    "rm+": ("rm+", Alternating, UNIFORM),
    "simultaneous, fading": ("drm", Simultaneous, Linear()),
    "random player, scheduled": ("scheduled", random_player, AVERAGINGS["horizon"]),
    "predictive, last": ("prm+", Alternating, Last()),
    "trusting": ("adaptive", lambda: Alternating(first=1), Linear()),
    "optimistic, random player": ("optimistic hedge", random_player, Linear()),
}
each_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)


def start(way, engine, game=KUHN):
    rule, order, averaging = way
    return started(game, RULES[rule], order, averaging, engine)


# The same entries


def skeleton(state):
    if isinstance(state, dict):
        # NumPy has no strategy until it is asked for.
        return {name: skeleton(value) for name, value in state.items() if name != "_strategy"}
    if isinstance(state, np.ndarray):
        return (state.shape, state.dtype, state.flags.writeable)
    return type(state)


ON_GAMES = [(KUHN, way) for way in WAYS.values()] + [(SHAPLEY, WAYS["rm+"])]


@pytest.mark.parametrize(("game", "way"), ON_GAMES, ids=[*WAYS, "rm+ on simplices"])
def test_a_state_has_the_same_entries_whichever_way_it_came_about(game, way):
    state = start(way, "compiled", game).run(20).state_dict()
    assert skeleton(state) == skeleton(start(way, "numpy", game).run(20).state_dict())


# Copied


def pickled(thing):
    return pickle.loads(pickle.dumps(thing))


@each_way
@each_engine
@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
def test_a_copy_goes_its_own_way(duplicate, engine, way):
    run = start(way, engine).run(20)
    kept = run.state_dict()
    second = duplicate(run).run(20)
    np.testing.assert_equal(run.state_dict(), kept)
    assert second.iteration == 40
    assert_same_bits(run.run(20), second)
    assert (run.engine, second.engine) == (engine, engine)


@each_engine
@pytest.mark.parametrize("duplicate", [copy.deepcopy, pickled])
def test_a_copied_minimizer_and_the_run_do_not_know_of_each_other(duplicate, engine):
    run, reference = (start(WAYS["predictive, last"], engine).run(20) for _ in "ab")
    taken = [duplicate(minimizer) for minimizer in run.minimizers]
    states = [minimizer.state_dict() for minimizer in taken]

    run.run(10)
    np.testing.assert_equal([minimizer.state_dict() for minimizer in taken], states)

    for minimizer in taken:
        minimizer.observe_utility(np.arange(float(minimizer.dimension)))
        minimizer.rule.regrets[...] = 7.0
    assert_same_bits(run.run(10), reference.run(20))


# Handed out


def handed_out(run):
    """Return arrays that a caller may keep."""
    trees = [m for m in run.minimizers if isinstance(m, rk.CFR)]
    points = [tree[j] for tree in trees for j in range(tree.tree.points)]
    whole = [*run.current, *run.average, *run.last_profile]
    return whole + [array for point in points for array in (point.strategy, point.utilities)]


@each_way
@each_engine
def test_what_was_handed_out_never_changes(engine, way):
    run, reference = start(way, engine).run(20), start(way, engine).run(40)
    arrays = handed_out(run)
    copies = [array.copy() for array in arrays]

    run.run(20)

    for array, was in zip(arrays, copies, strict=True):
        np.testing.assert_array_equal(array, was)
        assert not array.flags.writeable
    assert_same_bits(run, reference)


# Moved


@each_engine
def test_minimizers_may_move_to_another_run_and_back(engine):
    alone = start(WAYS["simultaneous, fading"], engine).run(60)
    run = start(WAYS["simultaneous, fading"], engine).run(20)
    second = SelfPlay(KUHN, run.minimizers, order=Simultaneous(), engine=engine).run(20)
    later = SelfPlay(KUHN, run.minimizers, order=Simultaneous(), engine=engine)

    run.run(10)
    later.run(10)

    assert (run.iteration, second.iteration, later.iteration) == (30, 20, 10)
    assert [minimizer.iteration for minimizer in run.minimizers] == [60, 60]
    for found, expected in zip(later.current, alone.current, strict=True):
        np.testing.assert_array_equal(found, expected)
    for found, expected in zip(rules_of(later), rules_of(alone), strict=True):
        np.testing.assert_array_equal(found.regrets, expected.regrets)


# In a ledger


def test_a_ledger_wants_to_see_every_iteration():
    run = start(WAYS["rm+"], "auto")
    long = {"iterations": 10**9, "callbacks": [At(every(25), lambda run: True)]}
    ledger = RegretLedger(run)

    assert run.run(**long).engine == "numpy"
    ledger.check()
    assert ledger.external(run.minimizers[0]) > 0.0

    ledger.detach()
    assert run.run(**long).engine == "compiled"
