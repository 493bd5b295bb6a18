"""Ranges: what the notation means, both ways, and what is refused."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refusals

from regretkit.games.poker import parse_range, write_range
from regretkit.games.poker._cards import RANKS, deck_cards, hand_names, hands_of

DECKS = ["2-A", "2-6", "6-A", "28TA", "TJQKAhs", "2-Ah"]


def members(text, deck="2-A"):
    """Return the names of the hands of a range."""
    names = hand_names(hands_of(deck_cards(deck)))
    return {names[place] for place in np.flatnonzero(parse_range(text, deck))}


def test_hands_are_all_pairs_of_cards_in_rising_order():
    hands = hands_of(deck_cards("2-A"))
    assert hands.tolist() == [list(pair) for pair in itertools.combinations(range(52), 2)]
    assert hand_names(hands)[:2] == ["2d2c", "2h2c"]
    assert hand_names(hands)[-1] == "AsAh"


@pytest.mark.parametrize(
    ("text", "count", "same"),
    [
        ("AA", 6, ["AhAs,AhAd,AhAc,AsAd,AsAc,AdAc"]),
        ("AKs", 4, ["KAs", "AhKh,AsKs,AdKd,AcKc", "AKs+"]),
        ("AKo", 12, ["AKo+"]),
        ("AK", 16, ["AKs,AKo", "AK+"]),
        ("TT+", 30, ["TT,JJ,QQ,KK,AA", "AA-TT", "TT-AA"]),
        ("A5s+", 36, ["AKs-A5s", "A5s-AKs", "A5s,A6s,A7s,A8s,A9s,ATs,AJs,AQs,AKs"]),
        ("87s+", 4, ["87s"]),
        ("86s+", 8, ["87s,86s"]),
        ("QQ-88", 30, ["QQ,JJ,TT,99,88"]),
        ("T9s-65s", 20, ["T9s,98s,87s,76s,65s"]),
        ("T8o-97o", 24, ["T8o,97o"]),
        ("*", 1326, ["22+," + ",".join(f"{rank}2+" for rank in RANKS[1:])]),
        (" AA , KK ,", 12, ["KK,AA"]),
    ],
)
def test_groups_mean_what_players_mean(text, count, same):
    assert len(members(text)) == count
    assert all(members(other) == members(text) for other in same)


def test_mappings_and_arrays_are_ranges_too():
    weights = parse_range({"AA": 1, "KQo": 0.25})
    assert np.array_equal(weights, parse_range("AA,KQo:0.25"))
    assert np.array_equal(weights, parse_range(weights))
    assert np.array_equal(weights, parse_range(weights.tolist()))


@pytest.mark.parametrize("deck", DECKS)
def test_weights_are_written_and_read_again_exactly(deck):
    generator, count = np.random.default_rng(2), len(hands_of(deck_cards(deck)))
    for sizes in ([0.0, 1.0], [0.0, 1.0, 0.5], [1.0, 1 / 3, 5e-324, 1e300, 0.0]):
        weights = generator.choice(sizes, size=count)
        assert np.array_equal(parse_range(write_range(weights, deck), deck), weights)
        assert np.array_equal(parse_range(write_range(0 * weights, deck), deck), 0 * weights)


GROUPS = [
    *("AA", "22+", "QQ-88", "A2s+", "K5o+", "QT", "T9s-65s", "A9s-A6s", "AhKh", "7c2d", "*"),
    *("97s+", "53o-42o", "JT+", "66-66"),
]


@given(st.lists(st.tuples(st.sampled_from(GROUPS), st.sampled_from(["", ":0.5", ":0.1", ":0"]))))
def test_the_written_range_is_canonical(groups):
    weights = parse_range(",".join(map("".join, groups)))
    text = write_range(weights)
    assert np.array_equal(parse_range(text), weights)
    assert write_range(parse_range(text)) == text
    assert write_range(parse_range(",".join(reversed(text.split(","))))) == text


test_bad_ranges_are_refused = refusals(
    ("A1s", "cannot read the range group 'A1s'; write groups such as 'AA'"),
    ("AhKhQh", "cannot read"),
    ("QQs", "'QQs' must be a pair such as 'TT', or extend"),
    ("Q8-QQ", "must be a pair"),
    ("A9s-KTs", "must be a pair"),
    ("AA:nan", "at least 0, got nan"),
    ("AA:", "the weight of range group 'AA:' is not a number"),
    (":0.5", "range group '' has no hand of the deck"),
    ({"AA": "1"}, "the weight of 'AA' must be finite and at least 0, got '1'"),
    (np.ones(1325), r"range must have shape \(1326,\), got \(1325,\); pass one weight"),
    (np.full(1326, np.nan), "at least 0, got nan at 0"),
    call=parse_range,
    error=ValueError,
)
