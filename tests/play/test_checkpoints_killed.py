"""A process that saves as it plays may be killed at any instant: what it left is resumed."""

import subprocess
import sys
import time
from pathlib import Path

import crash_victim
import numpy as np
import pytest
from engine_cases import assert_same_bits

from regretkit.play import resume

WAIT = 60.0
"""Seconds until there must be something to kill."""


@pytest.fixture(scope="module")
def whole():
    """Return an uninterrupted run, and its curve."""
    record = crash_victim.record()
    return crash_victim.solved([record]), record


def kill_one(path, delay):
    """Let a process play, and kill it some seconds after it first saved something."""
    process = subprocess.Popen([sys.executable, str(Path(crash_victim.__file__)), str(path)])
    try:
        waited = time.monotonic() + WAIT
        while not path.exists() and process.poll() is None and time.monotonic() < waited:
            time.sleep(0.001)
        time.sleep(delay)
    finally:
        process.kill()  # which is SIGKILL, and cannot be caught
        process.wait()


def assert_resumed(path, whole):
    """Go on from what a killed process left to the end, and compare; say where that was."""
    run, record = whole
    mine = crash_victim.record()
    resumed = resume(path, callbacks=[mine])
    left = resumed.iteration
    assert 1 <= left <= crash_victim.ITERATIONS
    assert len(mine.iterations) == left
    resumed.run(crash_victim.ITERATIONS - left, callbacks=[mine])
    assert_same_bits(resumed, run)
    np.testing.assert_equal(resumed.state_dict(), run.state_dict())
    assert mine.values == record.values
    return left


@pytest.mark.parametrize(
    ("times", "unfinished", "different", "seed"),
    [(3, 1, 2, 1), pytest.param(50, 40, 26, 2, marks=pytest.mark.slow)],
)
def test_a_run_killed_at_random_moments_is_resumed_to_the_same_bits(
    times, unfinished, different, seed, whole, tmp_path
):
    lefts = []
    for number, delay in enumerate(np.random.default_rng(seed).uniform(0.0, 0.7, size=times)):
        path = tmp_path / f"run{number}"
        kill_one(path, delay)
        lefts.append(assert_resumed(path, whole))

    assert sum(left < crash_victim.ITERATIONS for left in lefts) >= unfinished
    assert len(set(lefts)) >= different
