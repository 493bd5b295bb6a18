"""While machine code is made: what is chosen before, what is said, and how it is interrupted."""

import logging
import signal
import sys
import threading
import time

import numpy as np
import pytest
from engine_cases import RULES, assert_same_bits, started

import regretkit as rk
from regretkit import games
from regretkit.engine import _jit, _machine_code, _numba
from regretkit.engine._compiler import CannotCompileError
from regretkit.play import Checkpoint, ExternalSampling, LazyMCCFR, StopAtTime, _self_play
from regretkit.play import _lazy_mccfr as lazy
from regretkit.play._engines import executor_for, select_engine

KUHN = games.kuhn_poker()
MEDIUM = 10_000
"""Iterations that take longer than to load machine code, and not as long as to make it."""


@pytest.fixture(autouse=True)
def _nothing_compiled(tmp_path, monkeypatch):
    """Let the process begin with no machine code, in memory or on disk."""
    monkeypatch.setenv("REGRETKIT_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(_machine_code, "_ENTRIES", {})
    monkeypatch.setattr(_jit._Compiler, "_announced", False)


def medium(**options):
    run = started(KUHN, RULES["rm+"], engine="auto", **options)
    return run.run(MEDIUM, callbacks=[lambda run: run.iteration == 2])


def test_a_run_is_compiled_where_its_machine_code_is_at_hand_or_it_is_long(monkeypatch):
    assert medium().engine == "numpy"
    started(KUHN, RULES["rm+"], engine="compiled").run(1)
    assert medium().engine == "compiled"
    monkeypatch.setattr(_machine_code, "_ENTRIES", {})
    assert medium().engine == "compiled"  # from disk
    assert started(KUHN, RULES["rm+"], engine="auto").run(100).engine == "numpy"
    assert started(games.rock_paper_scissors(), RULES["rm"]).run(MEDIUM).engine == "numpy"


def test_without_code_for_its_rule_a_run_does_not_begin_to_compile(monkeypatch):
    monkeypatch.setattr(_jit, "_compile", lambda *_: pytest.fail("compiled"))
    assert medium().engine == "numpy"


def test_other_code_is_no_reason_to_compile():
    started(KUHN, RULES["rm+"], engine="compiled").run(1)
    run = started(KUHN, RULES["hedge"], engine="auto")
    assert run.run(MEDIUM, callbacks=[lambda run: True]).engine == "numpy"


@pytest.mark.deep
def test_rules_share_the_parts_that_are_of_none_which_changes_no_bit(tmp_path, monkeypatch):
    monkeypatch.setattr(_numba, "_PARTS", {})
    alone = started(KUHN, RULES["hedge"], engine="compiled").run(50)
    parts = dict(_numba._PARTS)
    started(KUHN, RULES["rm+"], engine="compiled").run(1)
    assert parts == _numba._PARTS != {}
    monkeypatch.setenv("REGRETKIT_CACHE_DIR", str(tmp_path / "anew"))
    monkeypatch.setattr(_machine_code, "_ENTRIES", {})
    assert_same_bits(alone, started(KUHN, RULES["hedge"], engine="compiled").run(50))


def slow(*_):
    for _ in range(2_000):
        time.sleep(0.005)
    raise CannotCompileError("it took too long")


def test_compiling_is_announced_once_and_only_where_it_takes_long(monkeypatch, caplog):
    caplog.set_level(logging.INFO, "regretkit")
    started(KUHN, RULES["rm+"], engine="compiled")
    assert not caplog.messages
    monkeypatch.setattr(_jit, "_PATIENCE", 0.0)
    started(KUHN, RULES["rm+"], engine="compiled").run(1)
    assert caplog.messages == ["compiling, once for this machine"]
    caplog.clear()
    monkeypatch.setattr(_machine_code, "_ENTRIES", {})
    monkeypatch.setattr(_jit._Compiler, "_announced", False)
    started(KUHN, RULES["rm+"], engine="compiled").run(1)
    assert not caplog.messages  # it was on disk


def without_tree():
    sampling = ExternalSampling(np.random.default_rng(1))
    return LazyMCCFR(games.liars_dice_batch(sides=2), rk.RegretMatching, sampling)


def by_number(run):
    """Let a run without a tree be compiled if it visits more than a hundred histories."""
    return {"_LOADING": 0, "_COMPILING": 100} if isinstance(run, LazyMCCFR) else {}


def compiled():
    return started(KUHN, RULES["rm+"], engine="compiled")


@pytest.mark.parametrize("start", [compiled, without_tree])
def test_ctrl_c_ends_compiling_within_a_second_and_the_run_can_go_on(start, monkeypatch):
    run = start()
    with monkeypatch.context() as patch:
        patch.setattr(_numba, "compile_function", slow)
        for name, number in by_number(run).items():
            patch.setattr(lazy, name, number)
        pressed = []

        def press():
            pressed.append(time.monotonic())
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

        timer = threading.Timer(0.3, press)
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            run.run(1_000)
        assert time.monotonic() - pressed[0] < 1.0
        timer.join()
        for thread in threading.enumerate():
            if isinstance(thread, _jit._Compiler):
                thread.join(5.0)
                assert not thread.is_alive()
    assert run.iteration == 0
    assert run.run(3).iteration == 3


def test_without_a_tree_what_is_played_by_all_iterations_decides(monkeypatch):
    calls = []

    def fail(*_):
        calls.append(run.iteration)
        raise CannotCompileError("it cannot")

    monkeypatch.setattr(_jit, "_compile", fail)
    run = without_tree()
    for name, number in by_number(run).items():
        monkeypatch.setattr(lazy, name, number)
    run.run(2, callbacks=[lambda run: False])
    run.run(10**9, callbacks=[StopAtTime(1e-4)])
    assert not calls
    first = run.iteration
    run.run(1_000, callbacks=[lambda run: run.iteration == first + 2])
    assert (calls, run.iteration) == ([first], first + 2)
    run.run(1_000)  # in Python, where no machine code can be made
    assert (calls, run._flat) == ([first], None)


def test_without_a_tree_compiling_is_announced(monkeypatch, caplog):
    caplog.set_level(logging.INFO, "regretkit")

    def fail(*_):
        time.sleep(0.2)
        raise CannotCompileError("it cannot")

    monkeypatch.setattr(_numba, "compile_function", fail)
    monkeypatch.setattr(_jit, "_PATIENCE", 0.0)
    monkeypatch.setattr(lazy, "_COMPILING", 100)
    monkeypatch.setattr(lazy, "_LOADING", 0)
    run = without_tree()
    run._prepare(1_000)
    assert caplog.messages == ["compiling, once for this machine"]
    assert run.run(1_000).iteration == 1_000


def test_a_run_that_is_short_by_its_time_limit_is_not_compiled(monkeypatch, tmp_path):
    monkeypatch.setattr(_jit, "_compile", lambda *_: pytest.fail("compiled"))
    limit = StopAtTime(0.05)
    for watch in (limit, Checkpoint(tmp_path / "run", every=10**9, callbacks=[limit])):
        run = started(KUHN, RULES["rm+"], engine="auto").run(10**9, callbacks=[watch])
        assert run.engine == "numpy"
    run = started(KUHN, RULES["rm+"], engine="auto")
    assert select_engine(run, "auto", 10**9, 1.0).name == "numpy"
    assert select_engine(run, "auto", 10**9, 3.0).name == "compiled"


def test_a_run_that_a_gap_ends_is_not_compiled_where_numpy_is_done_sooner(monkeypatch):
    monkeypatch.setattr(_jit, "_compile", lambda *_: pytest.fail("compiled"))
    assert rk.solve(KUHN, "cfr+", target_gap=0.01).engine == "numpy"


def test_where_the_number_of_iterations_is_open_as_many_as_were_played_decide(monkeypatch):
    asked = []

    def in_numpy(run, name, iterations, seconds, executor):
        asked.append((run.iteration, iterations))
        return executor_for(run, "numpy", iterations, seconds, executor)

    monkeypatch.setattr(_self_play, "executor_for", in_numpy)
    run = started(KUHN, RULES["rm+"], engine="auto")
    run.run(_self_play.EVER, callbacks=[lambda run: run.iteration == 300])
    few = [(t, 64) for t in (0, 1, 2, 4, 8, 16, 32)]
    assert asked == [*few, (64, 128), (128, 256), (256, 512)]
    run.run(_self_play.EVER, callbacks=[lambda run: run.iteration == 301])
    assert asked[-1] == (300, 512)  # as if it had not stopped
    run.run(_self_play.EVER, callbacks=[StopAtTime(1e-9)])
    assert asked[-1] == (301, _self_play.EVER)


def test_where_numba_cannot_be_imported_the_engine_cannot_start(monkeypatch):
    monkeypatch.setitem(sys.modules, "regretkit.engine._numba", None)
    for engine, message in [("compiled", "cannot be compiled"), ("vectorized", "be imported")]:
        with pytest.raises(TypeError, match=message):
            started(KUHN, RULES["rm+"], engine=engine).run(1)
    long = {"iterations": 10**9, "callbacks": [lambda run: run.iteration == 2]}
    assert started(KUHN, RULES["rm+"], engine="auto").run(**long).engine == "numpy"
