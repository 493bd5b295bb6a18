"""Runs that are interrupted, watched from other threads, or very long stay whole and small."""

import signal
import subprocess
import sys
import textwrap
import threading
import tracemalloc
from pathlib import Path

import pytest
from ways import ENGINES, FAST, RULES, assert_same_bits, random_player, started

from regretkit import games
from regretkit.play import Alternating, Every, Linear, Simultaneous

KUHN = games.kuhn_poker()

each_fast_engine = pytest.mark.parametrize("engine", FAST)

# Ctrl-C

INTERRUPTED = """
    import os, random, signal, sys, threading, time
    sys.path.insert(0, {tests!r})
    from regretkit import games
    from regretkit.play import Alternating, Linear
    from ways import RULES, assert_same_bits, random_player, started

    def start(order):
        return started(games.kuhn_poker(), RULES[{rule!r}], order, Linear(), {engine!r})

    def interrupt_now_and_then(caught, done):
        while not done.is_set():
            before = len(caught)
            time.sleep(random.uniform(0.01, 0.06))
            os.kill(os.getpid(), signal.SIGINT)
            while len(caught) == before and not done.is_set():
                time.sleep(0.001)

    def whole(run):
        moves = [minimizer.iteration for minimizer in run.minimizers]
        inner = [minimizer.rule.iteration for minimizer in run.minimizers]
        counted = [average.iteration for average in run._averages]
        each = isinstance(run.order, Alternating)
        return (
            moves == inner
            and counted == [run.iteration] * 2
            and (moves == counted if each else sum(moves) == run.iteration)
        )

    def interrupted(run, iterations):
        caught, done = [], threading.Event()
        thread = threading.Thread(target=interrupt_now_and_then, args=(caught, done))
        thread.start()
        while len(caught) < 6:
            try:
                run.run(iterations)
            except KeyboardInterrupt:
                assert whole(run), run
                caught.append(run.iteration)
        done.set()
        while thread.is_alive():
            try:
                thread.join()
            except KeyboardInterrupt:
                pass
        return caught

    for order in (Alternating, random_player):
        run = start(order).run(1)
        at = interrupted(run, 10**9)
        assert at == sorted(at) and at[-1] > at[0] > 1, at
        run.run(5)
        assert_same_bits(run, start(order).run(run.iteration))
        print("interrupted at", at)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
"""


@pytest.mark.parametrize(("engine", "rule"), [("compiled", "prm+"), ("vectorized", "drm")])
def test_a_run_that_is_interrupted_is_whole_and_goes_on_as_if_it_never_was(engine, rule):
    code = textwrap.dedent(INTERRUPTED).format(
        tests=str(Path(__file__).parent), engine=engine, rule=rule
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert done.stdout.count("interrupted at") == 2


@each_fast_engine
def test_what_happens_at_an_interrupt_is_again_what_it_was_before(engine):
    def mine(number, frame):
        raise AssertionError

    run = started(KUHN, RULES["rm+"], engine=engine)
    before = signal.getsignal(signal.SIGINT)
    try:
        for handler in (signal.default_int_handler, mine, signal.SIG_IGN):
            signal.signal(signal.SIGINT, handler)
            run.run(3)
            assert signal.getsignal(signal.SIGINT) is handler
    finally:
        signal.signal(signal.SIGINT, before)


@each_fast_engine
def test_a_callback_may_be_interrupted(engine):
    def press(run):
        signal.raise_signal(signal.SIGINT)

    run = started(KUHN, RULES["rm+"], engine=engine)

    with pytest.raises(KeyboardInterrupt):
        run.run(100, callbacks=[Every(10, press)])

    assert run.iteration == 10
    assert_same_bits(run.run(10), started(KUHN, RULES["rm+"], engine=engine).run(20))


# Threads


@pytest.mark.parametrize("engine", ENGINES)
def test_runs_in_several_threads_do_not_meet(engine):
    ways = [
        ("rm+", Alternating),
        ("prm+", Simultaneous),
        ("drm", random_player),
        ("rm", Alternating),
    ]
    runs = [started(KUHN, RULES[rule], order, Linear(), engine) for rule, order in ways]
    threads = [threading.Thread(target=run.run, args=(200,)) for run in runs]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    for run, (rule, order) in zip(runs, ways, strict=True):
        assert_same_bits(run, started(KUHN, RULES[rule], order, Linear(), engine).run(200))


# Memory


def most_memory(run, iterations):
    """Return the bytes that are taken at most, beyond what is taken now."""
    tracemalloc.start()
    try:
        run.run(iterations, callbacks=[Every(iterations // 2, lambda run: None)])
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("engine", "short", "long"),
    [("compiled", 10_000, 100_000), ("vectorized", 2_100, 8_400), ("numpy", 200, 1_000)],
)
def test_a_longer_run_takes_no_more_memory(engine, short, long):
    run = started(KUHN, RULES["rm+"], Alternating, Linear(), engine).run(short)

    few, many = (most_memory(run, count) for count in (short, long))

    assert many <= few + 20_000
