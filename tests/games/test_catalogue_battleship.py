"""Battleship has the size, the payoffs and the equilibria that it is known for."""

import numpy as np
import pytest
from naive_games import uniform
from test_catalogue import play

from regretkit import nash_conv
from regretkit.games import Battleship, load


def test_the_example_of_the_paper_has_its_equilibrium():
    # Farina et al. (2019): all play at random, and sink a ship with probability 5/9 and 1/3.
    game = load("battleship(height=1, width=3, loss_multiplier=2.0)")
    assert game.value(uniform(game)) == pytest.approx([-1 / 9, -7 / 9], abs=1e-12)
    assert nash_conv(game, uniform(game)) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.deep_beyond(4)
@pytest.mark.parametrize("multiplier", [0.0, 2.5])
@pytest.mark.parametrize(("height", "width"), [(1, 2), (3, 1), (2, 2), (1, 5)])
def test_one_ship_of_one_cell_is_best_hidden_and_sought_at_random(height, width, multiplier):
    # The t-th shot finds the ship in one of n cells with probability 1/n, if it comes to it.
    n = height * width
    for k in (1, 2):
        game = load(f"battleship({height}, {width}, shots={k}, loss_multiplier={multiplier})")
        first = sum((1 - t / n) / n for t in range(k))
        second = sum((1 - (t + 1) / n) / n for t in range(k))
        earned = [first - multiplier * second, second - multiplier * first]
        assert game.value(uniform(game)) == pytest.approx(earned, abs=1e-12)
        assert nash_conv(game, uniform(game)) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.deep_beyond(2)
@pytest.mark.parametrize("multiplier", [0.0, 0.5, 1.0, 2.0])
def test_a_ship_that_sinks_costs_both_together_what_the_multiplier_says(multiplier):
    tree = load(f"battleship(1, 4, [2, 1], [4.0, 1.0], 2, {multiplier})").tree
    sunk = load("battleship(1, 4, [2, 1], [4.0, 1.0], 2, 0.0)").tree.payoffs
    assert set(sunk.sum(axis=1)) > {0.0, 1.0, 4.0}
    np.testing.assert_array_equal(tree.payoffs.sum(axis=1), (1 - multiplier) * sunk.sum(axis=1))
    np.testing.assert_array_equal(tree.payoffs, sunk - multiplier * sunk[:, ::-1])


# Rules


@pytest.mark.parametrize(
    ("rules", "places"),
    [
        ({}, "a1 a2 b1 b2"),
        ({"lengths": [2]}, "a1-a2 b1-b2 a1-b1 a2-b2"),
        ({"height": 1, "width": 3, "lengths": [2]}, "a1-a2 a2-a3"),
        ({"height": 3, "width": 1, "lengths": [2]}, "a1-b1 b1-c1"),
        # No place from which the second ship could not be placed
        ({"height": 1, "width": 4, "lengths": [2, 2]}, "a1-a2 a3-a4"),
        ({"height": 2, "width": 3, "lengths": [2, 3]}, "a1-a2 a2-a3 b1-b2 b2-b3"),
    ],
)
def test_ships_lie_in_rows_or_columns_and_leave_room_for_others(rules, places):
    root = play(Battleship(**rules))
    assert list(root.actions()) == places.split()
    assert list(play(root, root.actions()[0]).actions()) == places.split()


def test_ships_are_placed_in_turn_and_do_not_overlap():
    root = Battleship(2, 2, [2, 1])
    history = play(root, "a1-a2", "a1-b1")
    assert [play(root, "a1-a2").player(), history.player()] == [1, 0]
    assert list(history.actions()) == ["b1", "b2"]
    assert list(play(history, "b2").actions()) == ["a2", "b2"]


def test_shots_miss_hit_and_sink():
    history = play(Battleship(2, 3, [2, 1], shots=6), "a1-a2", "b1-b2", "b3", "a3")
    assert history.information_set() == "0:a1-a2,b3"
    history = play(history, "b2", "b3", "a2", "a1", "b1", "a3")
    assert history.information_set() == "0:a1-a2,b3/b2 hit,b3,a2 miss,a1,b1 sunk,a3"
    history = play(history, "b3")
    assert history.information_set() == "1:b1-b2,a3/b2,b3 sunk,a2,a1 hit,b1,a3 miss,b3"
    assert not history.is_terminal()
    assert play(history, "a2").is_terminal()


def test_an_example_of_the_docstring():
    history = play(Battleship(2, 2, [2]), "b1-b2", "a1-a2", "b1", "a2", "a2")
    assert (history.player(), history.information_set()) == (1, "1:a1-a2/b1,a2 miss,a2")


@pytest.mark.parametrize(
    ("shots", "payoffs"),
    [
        ("a1 b2 b2", [3, -6]),
        ("a1 a1 a2 b2", [-6, 3]),
        ("a1 a2 a2 b1", [0, 0]),
        ("b1 a1 b2", [3, -6]),
    ],
)
def test_a_sunk_ship_is_earned_by_one_and_lost_by_the_other_many_times_over(shots, payoffs):
    rules = {"values": [3.0], "loss_multiplier": 2.0}
    hidden = {"a1 b2 b2": "b1 b2", "a1 a1 a2 b2": "b2 b2", "b1 a1 b2": "b2 b2"}
    history = play(Battleship(**rules), *hidden.get(shots, "b2 b1").split())
    for shot in shots.split():
        assert not history.is_terminal()
        history = history.child(shot)
    assert history.is_terminal()
    assert history.payoffs() == payoffs


def test_a_cell_is_shot_at_once_unless_that_is_allowed():
    single = play(Battleship(lengths=[2]), "a1-a2", "a1-a2", "a1", "b1")
    repeated = play(Battleship(lengths=[2], repeated_shots=True), "a1-a2", "a1-a2", "a1", "b1")
    assert list(single.actions()) == ["a2", "b1", "b2"]
    assert list(repeated.actions()) == ["a1", "a2", "b1", "b2"]
    # A cell that was hit before adds nothing.
    assert play(repeated, "a1", "b1").payoffs() == [0.0, 0.0]
    assert play(repeated, "a1").child("a1").is_terminal()


def test_a_shot_at_a_ship_that_is_sunk_says_so():
    root = Battleship(2, 2, [2, 1], shots=4, repeated_shots=True)
    history = play(root, "a1-a2", "a1-a2", "b1", "b1", "a1", "b2", "a2", "b2", "a1", "b2")
    assert history.information_set() == "0:a1-a2,b1/a1 hit,b2,a2 sunk,b2,a1 sunk,b2"
