"""A process that saves as it plays may be killed at any instant: what it left is resumed."""

import subprocess
import sys
import time

import numpy as np
import pytest

from regretkit import games, solve
from regretkit.evaluation import nash_conv
from regretkit.play import Checkpoint, Recorder, resume

GAME, ITERATIONS = games.kuhn_poker(), 600


def record():
    return Recorder({"gap": lambda run: nash_conv(run.game, run.average)})


def solved(callbacks):
    """Return a run that draws at random, to its end."""
    return solve(GAME, "pcfr+", ITERATIONS, sampling="chance", seed=11, callbacks=callbacks)


def kill_one(path, delay):
    """Let a process of this file play, and kill it some seconds after it first saved something."""
    process = subprocess.Popen([sys.executable, __file__, str(path)])
    try:
        waited = time.monotonic() + 60.0
        while not path.exists() and process.poll() is None and time.monotonic() < waited:
            time.sleep(0.001)
        time.sleep(delay)
    finally:
        process.kill()  # which is SIGKILL, and cannot be caught
        process.wait()


@pytest.mark.parametrize("times", [3, pytest.param(50, marks=pytest.mark.slow)])
def test_a_run_killed_at_random_moments_is_resumed_to_the_same_bits(times, tmp_path):
    whole, lefts = record(), []
    run = solved([whole])
    for number, delay in enumerate(np.random.default_rng(1).uniform(0.0, 0.7, size=times)):
        mine, path = record(), tmp_path / f"run{number}"
        kill_one(path, delay)
        resumed = resume(path, callbacks=[mine])
        lefts.append(resumed.iteration)
        assert len(mine.iterations) == resumed.iteration
        resumed.run(ITERATIONS - resumed.iteration, callbacks=[mine])
        np.testing.assert_equal(resumed.state_dict(), run.state_dict())
        assert mine.values == whole.values

    assert 1 <= min(lefts) < ITERATIONS
    assert len({*lefts}) > times / 2


if __name__ == "__main__":
    solved([Checkpoint(sys.argv[1], every=1, callbacks=[record()])])
