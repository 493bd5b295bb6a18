"""Threads that trace and compile at the same time."""

import sys
import threading
from typing import Any

import numpy as np
import pytest

import regretkit as rk
from regretkit.trace import find_kernel

THREADS = 4


@pytest.fixture(autouse=True)
def often():
    """Let threads take turns often."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(interval)


def rule(floor):
    """Return a new class that makes arrays in several ways."""

    class Floored(rk.SimplexRule):
        regrets: np.ndarray = rk.state()

        def _propose(self):
            positive = np.zeros(self.simplices.dimension)
            positive += np.maximum(self.regrets, floor)
            return self.simplices.normalize(positive)

        def _learn(self, utility, strategy):
            self.regrets += self.simplices.regret(utility, strategy)

    return Floored


def together(functions):
    """Run functions at once, each in a thread; return their results."""
    start, results = threading.Barrier(len(functions)), list[Any]([None] * len(functions))

    def run(k):
        start.wait()
        results[k] = functions[k]()

    threads = [threading.Thread(target=run, args=(k,)) for k in range(len(functions))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_rules_are_traced_in_threads_as_alone():
    for attempt in range(20):
        rules = [rule(1e-3 * (THREADS * attempt + k))([2, 3]) for k in range(THREADS)]
        found = together([lambda own=own: find_kernel(own).source for own in rules])
        assert found == [find_kernel(own, anew=True).source for own in rules]


def test_one_new_rule_is_compiled_in_threads_as_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("REGRETKIT_CACHE_DIR", str(tmp_path))
    game, floored = rk.load("kuhn_poker"), rule(0.0123)

    def play():
        return rk.solve(game, floored, iterations=50, engine="compiled").average[0]

    first, *others = together([play] * THREADS)
    assert first is not None
    for strategy in [*others, rk.solve(game, floored, iterations=50, engine="numpy").average[0]]:
        np.testing.assert_array_equal(strategy, first)
