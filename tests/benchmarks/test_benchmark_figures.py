"""What single benchmarks make of what they measured."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import regretkit as rk
from benchmarks import parts, reading, size, stream, time_to_gap
from benchmarks.compare.peers.ours import OwnRegretMatchingPlus
from benchmarks.runs import cfr_run, tree_game
from benchmarks.time_to_gap import Race


def test_a_cost_that_grows_with_the_game_is_flat():
    flat = {sides: {"ends": 10.0**sides, "iteration": 3e-9 * 10.0**sides} for sides in (3, 4, 5)}
    steep = {sides: {"ends": 10.0**sides, "iteration": 1e-9 * 20.0**sides} for sides in (3, 4, 5)}

    assert size.spread(flat) == pytest.approx(1.0)
    assert size.spread(steep) == pytest.approx(4.0)


def test_the_page_on_size_says_what_found_no_room_and_whether_it_is_flat():
    found = {
        3: {"ends": 1000.0, "iteration": 3e-6, "built": 0.1, "peak": 100.0},
        4: {"ends": 9000.0, "iteration": 81e-6, "built": 0.1, "peak": 100.0},
    }
    page = size.page(found, [3, 4, 5])

    assert "| 5     | no room in memory |" in page
    assert "a factor of 3.00: **not within**" in page


def test_the_page_on_reading_says_whether_the_slowest_file_is_quick_enough():
    quick = {"letters": 1e6, "nodes": 5e4, "players": 2.0, "memory": 1e7, "ours": 0.1}
    quick["theirs"] = 0.25
    slow = {**quick, "ours": 2.0}
    tiny, crowded = {**slow, "nodes": 50.0}, {**slow, "players": 1000.0}

    assert "500,000 nodes a second (quick), which reaches" in reading.page(
        {"tiny": tiny, "quick": quick, "crowded": crowded}
    )
    page = reading.page({"quick": quick, "slow": slow})
    assert "25,000 nodes a second (slow), **which does not reach**" in page
    assert page.count(" 2.50 |") == page.count("0.125 |") == 1


@given(st.lists(st.floats(0.0, 1.0), min_size=1))
def test_parts_add_up_to_the_whole(times):
    upto = np.cumsum(times).tolist()

    assert parts.differences(upto) == pytest.approx(times, abs=1e-9)
    assert sum(parts.differences(upto)) == pytest.approx(upto[-1])


def test_noise_takes_no_time():
    assert parts.differences([3.0, 2.0, 5.0]) == [3.0, 0.0, 3.0]


@pytest.mark.slow
@pytest.mark.sample
def test_the_first_parts_of_an_iteration_take_less_than_all_of_it():
    run = cfr_run(tree_game("leduc_poker")).run(10)
    first, *_, last = parts.prefixes(run)
    times = parts.best_times({"first": first, "last": last, "whole": run.run}, 5)

    assert times["first"] < times["last"]
    # All parts one after the other are what an iteration does.
    assert times["last"] == pytest.approx(times["whole"], rel=0.5)


def test_the_rule_alone_learns_as_in_a_run():
    run = cfr_run(tree_game("kuhn_poker"), OwnRegretMatchingPlus, engine="vectorized").run(1)
    before = run.state_dict()
    parts.rule_alone(run)(3)

    # In copies of its own: the run itself is where it was.
    assert repr(run.state_dict()) == repr(before)


def test_a_gap_is_reached_when_it_is_first_measured_to_be_as_small():
    run = rk.Algorithm(rk.RegretMatchingPlus).start(tree_game("kuhn_poker"))
    race = Race(run, 0.3, [0.1, 0.2, 0.3], [1e-2, 1e-4, 1e-3])

    assert race.reached(1e-2) == "0.10 s"
    assert race.reached(1e-3) == "0.20 s"
    assert race.reached(1e-6) == "(1e-04)"
    assert race.is_over(0.3)
    assert not race.is_over(0.4)


@pytest.mark.slow
@pytest.mark.sample
def test_every_algorithm_races_to_the_same_equilibrium_value():
    races = time_to_gap.raced(tree_game("kuhn_poker"), 0.02)

    assert list(races) == list(rk.play.ALGORITHMS)
    for race in races.values():
        assert race.times == sorted(race.times)
        assert race.gaps[-1] < race.gaps[0]
        # Within the gap of -1/18
        value = float(race.run.game.value(race.run.average)[0])
        assert abs(value + 1 / 18) <= race.gaps[-1] + 1e-12


def test_each_array_is_counted_once():
    one, two = np.zeros(3), np.ones((2, 2))
    nested = [(one, (two, one)), [two], 5, "name"]

    assert [id(array) for array in stream.arrays(nested, set())] == [id(one), id(two)]


def test_the_arrays_of_a_run_hold_at_least_its_state():
    run = cfr_run(tree_game("leduc_poker"))
    dimension = sum(tree.dimension for tree in run.game.domains)

    # Strategy, distributions, utility, sum of strategies and regrets: 8 bytes each
    assert stream.laid_out(run) >= 5 * 8 * dimension


def test_adding_up_is_what_it_says():
    numbers = np.random.default_rng(0).normal(size=1000)

    total = stream.adder()(numbers, 1)  # it counts the times in the first one
    assert numbers[0] == 0.0
    assert total == pytest.approx(float(numbers.sum()), rel=1e-12)
