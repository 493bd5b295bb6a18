"""Oshi-Zumo is fair, and is played by its rules."""

import pytest

from regretkit.games import OshiZumo, as_history

ROOTS = [
    OshiZumo(),
    OshiZumo(alesia=True),
    OshiZumo(7, 1, 2),
    OshiZumo(3, 1, 0, 3),
    OshiZumo(4, 0, 1),
]


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
    payoffs = dict(ends(as_history(root)))
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
    history = as_history(OshiZumo(**rules))
    for bid in map(str, bids):
        assert not history.is_terminal()
        assert bid in history.actions()
        history = history.child(bid)
    assert history.is_terminal()
    assert history.payoffs() == payoffs
