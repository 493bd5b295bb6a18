"""Runs that are interrupted, watched from other threads, or very long stay whole and small."""

import signal
import threading
import tracemalloc

import pytest
from engine_cases import ENGINES, RULES, assert_same_bits, random_player, started
from hypothesis import given
from hypothesis import strategies as st
from public_games import river

from regretkit import games
from regretkit.engine._executor import next_batch
from regretkit.play import Alternating, At, Linear, Simultaneous, every

KUHN = games.kuhn_poker()

each_engine = pytest.mark.parametrize("engine", ENGINES)

# Ctrl-C


@each_engine
def test_what_happens_at_an_interrupt_is_again_what_it_was_before(engine):
    def found(number, frame):
        raise AssertionError

    run = started(KUHN, RULES["rm+"], engine=engine)
    previous = signal.getsignal(signal.SIGINT)
    try:
        for handler in (signal.default_int_handler, found, signal.SIG_IGN):
            signal.signal(signal.SIGINT, handler)
            run.run(3)
            assert signal.getsignal(signal.SIGINT) is handler
    finally:
        signal.signal(signal.SIGINT, previous)


@each_engine
def test_a_callback_may_be_interrupted(engine):
    def press(run):
        signal.raise_signal(signal.SIGINT)

    run = started(KUHN, RULES["rm+"], engine=engine)

    with pytest.raises(KeyboardInterrupt):
        run.run(100, callbacks=[At(every(10), press)])

    assert run.iteration == 10
    assert_same_bits(run.run(10), started(KUHN, RULES["rm+"], engine=engine).run(20))


@given(st.integers(1, 4096), st.floats(1e-7, 1e4))
def test_calls_are_short_unless_they_would_be_of_few_iterations(count, took):
    pace, seconds = next_batch(count, took), took / count
    assert pace >= 1
    assert pace * seconds <= 0.1 + 1e-9 or pace <= 16
    assert pace * seconds <= 1.0 + 1e-9 or pace == 1
    assert pace <= max(8 * count, 16)


# Threads


@each_engine
def test_runs_in_several_threads_do_not_meet(engine):
    ways = [
        (KUHN, "rm+", Alternating),
        (KUHN, "drm", random_player),
        *[(river(5, 2, 0.05, ties=True), "drm", Simultaneous)] * 2,
    ]

    def begun():
        return [started(game, RULES[rule], order, Linear(), engine) for game, rule, order in ways]

    runs = [run.run(1) for run in begun()]  # which compiles
    threads = [threading.Thread(target=run.run, args=(100,)) for run in runs]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    for run, alone in zip(runs, begun(), strict=True):
        assert_same_bits(run, alone.run(101))


# Memory


def most_memory(run, iterations):
    """Return the bytes that are taken at most, beyond what is taken now."""
    tracemalloc.start()
    try:
        run.run(iterations, callbacks=[At(every(iterations // 2), lambda run: None)])
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("engine", "short", "long"),
    [("compiled", 10_000, 100_000), ("numpy", 200, 1_000)],
)
def test_a_longer_run_takes_no_more_memory(engine, short, long):
    run = started(KUHN, RULES["rm+"], Alternating, Linear(), engine).run(short)
    few, many = (most_memory(run, count) for count in (short, long))
    assert many <= few + 40_000  # less than half a byte for an iteration
