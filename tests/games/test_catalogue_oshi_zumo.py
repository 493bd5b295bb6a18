"""Oshi-Zumo has its known size, is fair, and has the value of its recursive matrix games."""

from functools import cache

import numpy as np
import pytest
from test_catalogue import play
from test_known_values import lp_value

from regretkit import ExtensiveFormGame, matrix_game
from regretkit.evaluation import solve_zero_sum
from regretkit.games.catalogue._bidding_games import oshi_zumo_history

ROOTS = [
    oshi_zumo_history(),
    oshi_zumo_history(alesia=True),
    oshi_zumo_history(7, 1, 2),
    oshi_zumo_history(3, 1, 0, 3),
    oshi_zumo_history(4, 0, 1),
]


# Independent recomputation: rounds are matrix games, the sign of the position is the result


def rounds(coins, size, minimum, horizon, alesia):
    """Return functions of the coins and the pushes so far: the result, or None; bids."""

    def result(first_coins, second_coins, pushes, played):
        if abs(pushes) <= size and (first_coins or second_coins) and played != horizon:
            return None
        return 0 if alesia and abs(pushes) <= size else np.sign(pushes)

    def bids(first_coins):
        return [bid for bid in range(first_coins + 1) if bid >= minimum] or [first_coins]

    return result, bids


def backward_value(first_coins, second_coins, pushes, played, *rules):
    """Return the value of a round for player 0, that of a matrix of later rounds."""
    result, bids = rounds(*rules)

    @cache
    def value(first_coins, second_coins, pushes, played):
        end = result(first_coins, second_coins, pushes, played)
        if end is not None:
            return float(end)

        def following(a, b):
            return value(first_coins - a, second_coins - b, pushes + np.sign(a - b), played + 1)

        later = [[following(a, b) for b in bids(second_coins)] for a in bids(first_coins)]
        return lp_value(matrix_game(later))[0]

    return value(first_coins, second_coins, pushes, played)


@pytest.mark.deep_beyond(4)
@pytest.mark.parametrize(
    ("rules", "bids"),
    [
        ((5, 1, 1, None, False), [2, 1]),
        ((6, 1, 1, None, False), [3, 1]),
        ((6, 1, 1, None, True), [1, 2]),
        ((7, 1, 1, None, False), [1, 2]),
        ((7, 1, 1, None, False), [2, 4]),
        ((8, 1, 2, None, False), [5, 3]),
        ((4, 1, 0, 3, False), [1, 3]),
        ((5, 1, 0, 3, False), [2, 0]),
    ],
)
def test_the_value_of_a_subgame_is_that_of_backward_induction(rules, bids):
    history = play(oshi_zumo_history(*rules), *bids)
    first_coins, second_coins = rules[0] - bids[0], rules[0] - bids[1]
    known = backward_value(first_coins, second_coins, int(np.sign(bids[0] - bids[1])), 1, *rules)
    value = solve_zero_sum(ExtensiveFormGame.from_history(history)).value
    assert 0.1 < abs(known) < 0.9  # neither an even game nor one that is decided
    assert value == pytest.approx(known, abs=1e-8)


# Symmetry


def ends(history, *bids):
    """Yield all bids up to an end, and the payoffs there."""
    if history.is_terminal():
        yield bids, history.payoffs()
        return
    for bid in history.actions():
        yield from ends(history.child(bid), *bids, bid)


@pytest.mark.parametrize("root", ROOTS)
def test_who_swap_their_bids_swap_their_payoffs(root):
    payoffs = dict(ends(root))
    assert any(first != 0.0 for first, _ in payoffs.values())
    for bids, (first, second) in payoffs.items():
        swapped = tuple(bid for pair in zip(bids[1::2], bids[::2], strict=True) for bid in pair)
        assert payoffs[swapped] == [second, first]


# Rules


@pytest.mark.parametrize(
    ("rules", "bids", "payoffs"),
    [
        ({}, [3, 1, 2, 1], [1, -1]),
        ({}, [1, 2, 1, 2], [-1, 1]),
        ({}, [1, 1, 2, 2, 2, 2], [0, 0]),
        ({}, [5, 1, 0, 1, 0, 3], [-1, 1]),
        ({}, [2, 1, 3, 3, 0, 1], [0, 0]),
        ({"coins": 2}, [2, 1, 0, 1], [0, 0]),
        ({"coins": 3, "size": 3}, [2, 1, 1, 1, 0, 1], [0, 0]),
        ({"coins": 3, "size": 3}, [2, 1, 1, 2], [0, 0]),
        ({"coins": 3, "size": 3}, [1, 2, 2, 1], [0, 0]),
        ({"coins": 2, "size": 3, "minimum_bid": 2}, [2, 2], [0, 0]),
        ({"horizon": 1}, [2, 1], [1, -1]),
        ({"horizon": 1}, [1, 2], [-1, 1]),
        ({"horizon": 1, "alesia": True}, [2, 1], [0, 0]),
        ({"alesia": True}, [3, 1, 2, 1], [1, -1]),
        ({"size": 0}, [2, 1], [1, -1]),
    ],
)
def test_the_higher_bid_pushes_the_wrestler_away(rules, bids, payoffs):
    history = oshi_zumo_history(**rules)
    for bid in bids:
        assert not history.is_terminal()
        assert bid in history.actions()
        history = history.child(bid)
    assert history.is_terminal()
    assert history.payoffs() == payoffs


def test_bids_are_what_can_be_paid_and_no_less_than_the_least():
    start = oshi_zumo_history(5, 3, 2)
    assert list(start.actions()) == [2, 3, 4, 5]
    assert list(play(start, 3, 2).actions()) == [2]
    assert list(play(start, 3, 2, 2).actions()) == [2, 3]
    assert list(play(start, 4, 2).actions()) == [1]
    assert list(play(start, 5, 2).actions()) == [0]


def test_player_1_does_not_see_the_bid_of_its_own_round_and_later_both_do():
    start = oshi_zumo_history(5, 2)
    assert play(start, 1).information_set() == play(start, 4).information_set() == "1:"
    assert play(start, 1, 2).information_set() == "0:1-2"
    assert play(start, 1, 2, 3).information_set() == "1:1-2"
    assert play(start, 1, 2, 3, 1).information_set() == "0:1-2,3-1"
