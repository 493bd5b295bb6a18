"""Callbacks and schedules: when they are called, what they see, and what stops a run."""

import io
import itertools
import math
import sys

import numpy as np
import pytest
from refusals import refusals

import regretkit as rk
from regretkit import games
from regretkit.evaluation import exploitability, nash_conv
from regretkit.play import (
    Algorithm,
    At,
    Averaging,
    Linear,
    Recorder,
    StopAtGap,
    StopAtTime,
    every,
    geometric,
    named,
)

KUHN = games.kuhn_poker()


def start(engine="numpy", algorithm="cfr+"):
    return named(algorithm).start(KUHN, engine=engine)


def noting(seen):
    return lambda run: seen.append(run.iteration)


# Schedules


@pytest.mark.parametrize("engine", ["numpy", "compiled"])
def test_callbacks_are_called_at_the_iterations_of_their_schedules(engine):
    seen = {name: [] for name in ("all", "every", "growing", "own")}
    watching = [
        At(every(5), noting(seen["every"])),
        At(geometric(1.5), noting(seen["growing"])),
        At(lambda t: 2 ** t.bit_length(), noting(seen["own"])),
    ]
    start(engine).run(7, callbacks=watching).run(13, callbacks=watching)
    assert seen["every"] == [5, 10, 15, 20]
    assert seen["growing"] == [1, 2, 3, 5, 8, 12, 18]
    assert seen["own"] == [1, 2, 4, 8, 16]
    start(engine).run(20, callbacks=[*watching, noting(seen["all"])])
    assert seen["all"] == list(range(1, 21))


@pytest.mark.parametrize("ratio", [1.001, 1.05, 1.5, 2, 10.0])
def test_geometric_steps_are_the_least_that_grow_by_the_ratio(ratio):
    schedule = geometric(ratio)
    steps = [*itertools.takewhile(lambda t: t < 1000, iterates(schedule, 0))]
    for t, following in itertools.pairwise(steps):
        assert following == max(t + 1, math.ceil(t * ratio))
    late = geometric(ratio)  # the same wherever it begins
    assert [late(t) for t in (997, 3, 500)] == [schedule(t) for t in (997, 3, 500)]


def iterates(function, value):
    while True:
        value = function(value)
        yield value


def test_a_callback_sees_the_iterations_that_were_played():
    seen = []

    def look(run):
        seen.append(run.state_dict())

    start("compiled").run(30, callbacks=[At(every(10), look)])
    for number, state in enumerate(seen, start=1):
        np.testing.assert_equal(state, start("compiled").run(10 * number).state_dict())


def test_true_stops_the_run_after_all_callbacks_were_called():
    seen = []
    stop = At(every(2), lambda run: run.iteration >= 4)
    truthy = start().run(50, callbacks=[lambda run: 1, stop, noting(seen)])
    assert truthy.iteration == 4
    assert seen == [1, 2, 3, 4]
    assert start().run(callbacks=[lambda run: np.bool_(run.iteration == 9)]).iteration == 9


# What stops a run


@pytest.mark.parametrize("gap", [nash_conv, exploitability])
def test_a_run_stops_at_the_first_look_at_a_gap_that_is_small_enough(gap):
    stop, record = StopAtGap(0.02, gap), Recorder({"gap": lambda run: gap(run.game, run.average)})
    run = start().run(callbacks=[At(every(3), record), At(every(3), stop)])
    *before, last = record.values["gap"]
    assert last == stop.last <= 0.02 < min(before)
    assert run.iteration == record.iterations[-1]


@pytest.mark.parametrize("engine", ["numpy", "compiled"])
def test_a_run_stops_after_some_seconds_of_each_call(engine):
    run = start(engine)
    for _ in range(2):
        before = run.seconds
        run.run(callbacks=[StopAtTime(0.05)])
        assert 0.05 <= run.seconds - before < 5.0


# An averaging that looks at the run


class ByRegret(Averaging):
    """Count an iteration by the positive regrets before it."""

    weights_given: list

    def __init__(self):
        self.weights_given = []

    def look(self, run):
        regrets = run.minimizers[0].rule.regrets
        self.weights_given.append(1.0 + float(np.maximum(regrets, 0.0).sum()))

    def weight(self, t, horizon):
        return self.weights_given[-1] if self.weights_given else 1.0


@pytest.mark.parametrize("engine", ["numpy", "compiled"])
def test_an_averaging_may_look_at_the_run(engine):
    averaging = ByRegret()
    run = Algorithm("cfr", averaging=averaging).start(KUHN, engine=engine)
    played = []
    run.run(12, callbacks=[lambda run: played.append(run.last_profile[0])])
    assert len(averaging.weights_given) == 12
    assert len({*averaging.weights_given}) > 10
    expected = np.average(played, axis=0, weights=averaging.weights_given)
    np.testing.assert_allclose(run.average[0], expected, atol=1e-12)


# Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_is_written_as_lines_or_on_one_line_of_a_terminal_or_passed_on(monkeypatch):
    ticks = itertools.count(step=100)  # so that another line is due at every call
    monkeypatch.setattr("regretkit.play._callbacks.time.monotonic", lambda: float(next(ticks)))
    lines, file, terminal = [], io.StringIO(), Terminal()
    for stream, progress in ((None, lines.append), (file, True), (terminal, True)):
        monkeypatch.setattr(sys, "stderr", stream or sys.stderr)
        rk.solve(KUHN, "cfr", 20, progress=progress, engine="numpy")
    one_line, end = terminal.getvalue().split("\n")
    assert end == ""
    for shown in (lines, file.getvalue().splitlines(), one_line.split("\r")[1:]):
        assert shown[0].startswith("iteration 1 of 20  ")
        assert shown[0].endswith(" left")
        assert shown[-1].startswith("iteration 20 of 20  ")
        assert shown[-1].rstrip().endswith("0:00:00 left")
    rk.solve(KUHN, "cfr", progress=lines.append, time_limit=0.01)
    assert "of" not in lines[-1]


# What is refused


test_what_could_never_be_called_or_met_is_refused_at_once = refusals(
    (every, 0, ValueError, "period must be"),
    (every, 2.5, TypeError, "period must be"),
    *((geometric, n, ValueError, "ratio must be") for n in (1.0, math.inf, math.nan)),
    (StopAtGap, -1e-3, ValueError, "target must be"),
    (StopAtTime, 0.0, ValueError, "limit must be"),
    (lambda n: At(n, print), 3, TypeError, "schedule"),
    (lambda n: At(every(3), n), "x", TypeError, "callback"),
    (lambda n: start().run(3, callbacks=n), print, TypeError, "callbacks|iterable"),
    (lambda n: start().run(3, callbacks=n), [Linear], TypeError, "callbacks|iterable"),
    (lambda n: start().run(n), -1, ValueError, "iterations must be"),
)
