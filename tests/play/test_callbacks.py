"""Callbacks: when they are called, what they write down, and when they stop a run."""

import copy
import itertools
import pickle
from functools import partial

import numpy as np
import pytest
from refusals import refusals

import regretkit as rk
from regretkit import SelfPlay, games
from regretkit.evaluation import exploitability, nash_conv
from regretkit.play import (
    AtGeometricSteps,
    Every,
    Recorder,
    Simultaneous,
    StopAtGap,
    StopAtTime,
    StopWhenConverged,
)


def start():
    game = games.kuhn_poker()
    return SelfPlay(game, [rk.CFR(tree, rk.RegretMatchingPlus) for tree in game.domains])


def noting(seen, result=None):
    """Return a callback that notes the iteration and returns ``result``."""

    def callback(run):
        seen.append(run.iteration)
        return result

    return callback


# When they are called


def test_callbacks_see_every_iteration_after_it_was_played():
    seen = []

    def look(run):
        seen.append((run.iteration, run._averages[0].iteration))

    start().run(3, callbacks=[look])

    assert seen == [(1, 1), (2, 2), (3, 3)]


def test_periods_count_iterations_of_the_run_and_not_calls():
    # A continued run is at iteration 8 and not at 1.
    seen = []

    run = start().run(7).run(8, callbacks=[Every(5, noting(seen))])

    assert run.iteration == 15
    assert seen == [10, 15]


@pytest.mark.parametrize("ratio", [1.01, 1.1, 2.0, 10.0])
def test_geometric_calls_are_as_close_as_the_ratio_allows(ratio):
    seen = []

    start().run(300, callbacks=[AtGeometricSteps(noting(seen), ratio=ratio)])

    assert seen[0] == 1
    for earlier, later in [*itertools.pairwise(seen), (seen[-1], 301)]:
        # One iteration earlier would have been too early, up to the rounding of the product.
        assert later == earlier + 1 or (later - 1) / earlier <= ratio * (1 + 1e-12)
    for earlier, later in itertools.pairwise(seen):
        assert later / earlier >= ratio * (1 - 1e-12)


def test_one_geometric_watcher_goes_through_runs_that_go_on():
    seen, run = [], start()
    watch = AtGeometricSteps(noting(seen), ratio=2.0)

    for _ in range(4):
        run.run(5, callbacks=[watch])

    assert seen == [1, 2, 4, 8, 16]


@pytest.mark.parametrize("ratio", [1.01, 1.05, 1.5, 2.0])
def test_geometric_calls_do_not_depend_on_what_was_seen_before(ratio):
    # So that a run that is stopped and taken up again is looked at where it would have been.
    seen, late, often = [], [], []
    start().run(200, callbacks=[AtGeometricSteps(noting(seen), ratio=ratio)])

    start().run(77).run(123, callbacks=[AtGeometricSteps(noting(late), ratio=ratio)])
    watch = AtGeometricSteps(noting(often), ratio=ratio)
    start().run(200, callbacks=[watch, noting([])])  # which has it called after every iteration

    assert often == seen
    assert late == [t for t in seen if t > 77]


# What stops a run


def test_a_callback_that_returns_true_stops_the_run_after_all_have_been_called():
    first, second = [], []

    run = start().run(10, callbacks=[noting(first, True), noting(second)])

    assert run.iteration == 1
    assert (first, second) == ([1], [1])
    assert run.run(5).iteration == 6


@pytest.mark.parametrize(
    ("result", "iterations"),
    # A callback that returns what it measured must not end the run by accident.
    [*((result, 5) for result in (None, False, 0, 0.5, "done", [1])), (np.True_, 1)],
)
def test_only_true_stops_a_run(result, iterations):
    assert start().run(5, callbacks=[noting([], result)]).iteration == iterations


@pytest.mark.parametrize("wrap", [lambda stop: stop, lambda stop: Every(2, stop), AtGeometricSteps])
def test_stopping_goes_through_callbacks_that_hold_others(wrap):
    run = start().run(50, callbacks=[wrap(lambda run: run.iteration >= 4)])

    assert run.iteration == 4


def test_a_callback_that_fails_leaves_a_run_that_can_go_on():
    def fail(run):
        if run.iteration == 4:
            raise KeyboardInterrupt

    run = start()
    with pytest.raises(KeyboardInterrupt):
        run.run(10, callbacks=[fail])
    run.run(6)

    for x, y in zip(run.average, start().run(10).average, strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("gap", [nash_conv, exploitability])
def test_a_run_stops_at_the_first_iteration_whose_average_has_the_gap(gap):
    stop = StopAtGap(0.02, gap)

    run = start().run(1_000, callbacks=[stop])

    assert stop.last == gap(run.game, run.average) <= 0.02
    assert gap(run.game, start().run(run.iteration - 1).average) > 0.02


def test_a_run_stops_once_its_average_hardly_moves():
    averages = []
    converged = StopWhenConverged(atol=1e-3)

    start().run(10_000, callbacks=[lambda run: averages.append(run.average), converged])

    moved = [
        max(np.abs(x - y).max() for x, y in zip(first, second, strict=True))
        for first, second in itertools.pairwise(averages)
    ]
    assert moved[-1] <= 1e-3
    assert min(moved[:-1]) > 1e-3


def test_current_strategies_are_still_where_they_reach_a_fixed_point():
    # To defect is dominant: both do so from the second iteration on.
    game = games.prisoners_dilemma()
    run = SelfPlay(game, [rk.RegretMatching(2), rk.RegretMatching(2)], order=Simultaneous())

    run.run(100, callbacks=[StopWhenConverged(atol=1e-12, current=True)])

    assert run.iteration == 2
    np.testing.assert_array_equal(run.current[0], [0.0, 1.0])
    # The average is still on its way there.
    np.testing.assert_allclose(run.average[0], [0.25, 0.75])


# In a second run


def test_a_geometric_watcher_begins_anew_in_another_run_and_in_one_put_back():
    seen, first = [], start()
    watch, saved = AtGeometricSteps(noting(seen), ratio=2.0), first.state_dict()

    first.run(9, callbacks=[watch])
    start().run(3, callbacks=[watch])
    first.load_state_dict(saved)
    first.run(3, callbacks=[watch])

    assert seen == [1, 2, 4, 8, 1, 2, 1, 2]


def test_a_clock_is_read_at_once_in_another_run():
    stop = StopAtTime(60.0)
    start().run(2_000, callbacks=[stop])

    assert stop.next_call(start()) == 1


def test_what_was_still_in_one_run_says_nothing_about_another():
    converged = StopWhenConverged(atol=1e-12, current=True)
    game = games.rock_paper_scissors()

    def standing():
        return SelfPlay(game, [rk.RegretMatching(3), rk.RegretMatching(3)])

    first = standing().run(100, callbacks=[converged])
    second = standing().run(100, callbacks=[converged])

    # Two looks are needed to see that nothing moved.
    assert first.iteration == second.iteration == 2


@pytest.mark.parametrize(
    "duplicate", [copy.deepcopy, lambda watch: pickle.loads(pickle.dumps(watch))]
)
def test_a_callback_that_was_called_can_be_copied(duplicate):
    watch, seen = AtGeometricSteps(StopAtGap(1e-9), ratio=2.0), []
    start().run(5, callbacks=[watch])

    second = duplicate(watch)

    assert start().run(3, callbacks=[second, noting(seen)]).iteration == 3
    assert second.callback.last > 0.0


# What is written down


def test_a_record_has_what_was_measured_when_it_was_measured():
    record = Recorder(
        {"gap": lambda run: nash_conv(run.game, run.average), "t": lambda r: r.iteration}
    )

    start().run(30, callbacks=[Every(10, record)])

    assert record.iterations == record.values["t"] == [10, 20, 30]
    assert repr(record) == "<Recorder of gap, t at 3 iterations>"
    runs = [start().run(t) for t in (10, 20, 30)]
    assert record.values["gap"] == [nash_conv(run.game, run.average) for run in runs]


def test_a_record_of_the_profile_is_not_overwritten_by_later_iterations():
    record = Recorder({"average": lambda run: run.average})

    start().run(3, callbacks=[record])

    first = record.values["average"][0]
    np.testing.assert_array_equal(first[0], start().run(1).average[0])


# What is refused


test_what_could_never_be_called_or_met_is_refused_at_once = refusals(
    *((partial(Every, n, print), ValueError, "period must be") for n in (0, -1)),
    *((partial(Every, n, print), TypeError, "period must be") for n in (2.5, "2")),
    *(
        (partial(make, **{name: n}), ValueError, f"{name} must be a finite number above")
        for make, name, wrong in [
            (partial(AtGeometricSteps, print), "ratio", (1.0, 0.5, -2.0)),
            (StopAtGap, "target", (0.0, -1e-3)),
            (StopWhenConverged, "atol", (0.0, -1e-3)),
        ]
        for n in (*wrong, np.nan, np.inf)
    ),
    (partial(AtGeometricSteps, print, ratio="x"), TypeError, "ratio must be a number, got 'x'"),
    (partial(StopAtGap, "0.1"), TypeError, "target must be a number"),
    (partial(StopWhenConverged, atol="1"), TypeError, "atol must be a number"),
    (partial(Every, 3, "x"), TypeError, "callback must"),
    (partial(AtGeometricSteps, "x"), TypeError, "callback must"),
    (partial(StopAtGap, 0.1, gap="x"), TypeError, "gap must"),
    (partial(Recorder, [1]), TypeError, "measures must"),
    (partial(Recorder, print), TypeError, "measures must"),
    (partial(Recorder, {"gap": 1.0}), TypeError, r"measures\['gap'\] must"),
)
