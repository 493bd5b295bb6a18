"""The comparison with other libraries: the same algorithm, measured in turns, and judged."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import regretkit as rk
from benchmarks import runs
from benchmarks.compare import (
    Report,
    agree,
    is_inside,
    ratio,
    spread,
)
from benchmarks.peers import PEERS
from benchmarks.workers import (
    CHECKPOINTS,
    FULL,
    QUICK,
    Effort,
    Measured,
    PeerFailedError,
    Worker,
    measure,
)
from regretkit.checks import check_minimizer

BRIEF = Effort(rounds=3, turn=0.002, checks=5.0, turns=1.0)
# NashConv on Kuhn poker after 10 and 100 iterations, as OpenSpiel 2.0.2 has it
KUHN = {
    "cfr+": {10: 0.06537418134, 100: 0.002388808202},
    "cfr": {10: 0.1373975876, 100: 0.01645195463},
}

figures = st.builds(
    Measured,
    st.floats(1e-3, 10.0),
    per_iteration=st.dictionaries(st.integers(0, 9), st.floats(1e-7, 1.0), min_size=1),
)


# What is compared


def test_the_rule_of_the_benchmark_plays_as_the_one_of_the_library():
    check_minimizer(lambda: runs.RegretMatchingPlus([2, 3]))
    players = runs.RegretMatchingPlus([2, 3, 1]), rk.RegretMatchingPlus([2, 3, 1])
    for utility in np.random.default_rng(1).normal(size=(50, 6)):
        strategies = [player.next_strategy() for player in players]
        np.testing.assert_allclose(*strategies, rtol=0, atol=1e-12)
        for player in players:
            player.observe_utility(utility)


@pytest.mark.parametrize("algorithm", ["cfr+", pytest.param("cfr", marks=pytest.mark.slow)])
def test_ours_come_to_the_gaps_that_are_known(algorithm):
    found, absent = measure("kuhn", algorithm, ["compiled"], BRIEF)
    assert not absent
    assert list(found) == ["compiled"]
    for reached in found.values():
        assert list(reached.gaps) == list(CHECKPOINTS)
        for iterations, gap in KUHN[algorithm].items():
            assert reached.gaps[iterations] == pytest.approx(gap, rel=1e-9)
        assert list(reached.per_iteration) == [0, 1, 2]
        assert min(reached.per_iteration.values()) == reached.best > 0.0
        assert reached.memory > 20.0


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", KUHN)
@pytest.mark.parametrize("peer", [*PEERS][1:])
def test_others_come_to_the_same_gaps(peer, algorithm):
    for module in PEERS[peer].modules:
        pytest.importorskip(module)
    found, absent = measure("kuhn", algorithm, [peer], BRIEF)
    assert not absent
    for iterations, gap in KUHN[algorithm].items():
        assert found[peer].gaps[iterations] == pytest.approx(gap, rel=1e-9)


def test_who_broke_down_does_not_keep_the_others_waiting():
    with Worker("compiled", "kuhn", "cfr") as worker:
        worker.ask("build")
        worker._process.kill()
        with pytest.raises(PeerFailedError, match="its process ended with -9"):
            worker.ask("run", 10)


@given(st.floats(1e-9, 100.0), st.sampled_from([FULL, QUICK, BRIEF]))
def test_turns_take_no_longer_than_there_is_time_but_there_are_two(seconds, effort):
    turns = len(range(0, effort.rounds, effort.between_turns(seconds)))
    assert 2 <= turns <= effort.rounds
    assert turns == 2 or turns * seconds <= effort.turns * (1 + 1e-9)


# Judgement


@given(figures, st.floats(0.01, 100.0))
def test_a_constant_ratio_of_times_is_the_measured_ratio(fast, factor):
    slow = Measured(0.0, per_iteration={i: t * factor for i, t in fast.per_iteration.items()})
    assert ratio(slow, fast) == pytest.approx((factor,) * 3)


# The report


def example(**gaps):
    return {
        peer: Measured(0.5, {100: gap}, {0: 2e-6, 1: 1e-6}, 100.0) for peer, gap in gaps.items()
    }


SPREADS = {"kuhn": {100: (0.1, 0.1)}, "leduc": {100: (0.1, 0.12)}}
SIZES = {"kuhn": (30, 6), "leduc": (5_520, 468)}


def test_gaps_agree_up_to_rounding_or_the_algorithms_are_not_the_same():
    equal, second = example(compiled=0.1, LiteEFG=0.1 + 1e-12), example(compiled=0.1, LiteEFG=0.101)
    assert agree(equal, 100) < 1e-10
    assert agree(second, 100) == pytest.approx(0.001 / 0.101)
    assert agree(equal, 10) == 0.0
    assert Report("cfr", {"kuhn": equal, "leduc": second}, SIZES, SPREADS).disagreements() == []
    [fault] = Report("cfr", {"kuhn": second, "leduc": equal}, SIZES, SPREADS).disagreements()
    assert fault == "cfr, Kuhn poker: LiteEFG comes to 0.101 after 100 iterations"


@pytest.mark.slow
@pytest.mark.sample
@pytest.mark.parametrize("algorithm", KUHN)
def test_orders_of_sums_change_little_where_nothing_ties_and_much_where_it_does(algorithm):
    for t, (low, high) in spread("kuhn", algorithm).items():
        assert high - low <= 1e-9 * high
        known = KUHN[algorithm].get(t, low)
        assert is_inside(known, (low, high))
    low, high = spread("goofspiel5", algorithm)[100]
    assert high - low > 0.05 * high
