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


def test_shots_miss_hit_and_sink():
    history = play(Battleship(2, 3, [2, 1], shots=6), "a1-a2", "b1-b2", "b3", "a3")
    assert history.information_set() == "0:a1-a2,b3"
    history = play(history, "b2", "b3", "a2", "a1", "b1", "a3")
    assert history.information_set() == "0:a1-a2,b3/b2 hit,b3,a2 miss,a1,b1 sunk,a3"
    history = play(history, "b3")
    assert history.information_set() == "1:b1-b2,a3/b2,b3 sunk,a2,a1 hit,b1,a3 miss,b3"
    assert not history.is_terminal()
    assert play(history, "a2").is_terminal()


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
