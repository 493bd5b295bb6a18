"""Ranges: what the notation means, both ways, and what is refused."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refusals
from test_poker_bets import count_read

from regretkit.games.poker import parse_range, write_range
from regretkit.games.poker._cards import RANKS, deck_cards, hand_names, hands_of

DECKS = ["2-A", "2-6", "6-A", "28TA", "TJQKAhs", "2-Ah"]


def members(text, deck="2-A"):
    """Return the names of the hands of a range."""
    names = hand_names(hands_of(deck_cards(deck)))
    return {names[place] for place in np.flatnonzero(parse_range(text, deck))}


def union(*groups):
    return set().union(*map(members, groups))


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


def test_a_later_group_replaces_an_earlier_one():
    weights = parse_range("22+:0.5,AA,KK:0")
    assert weights.sum() == 11 * 6 * 0.5 + 6
    assert write_range(weights) == "AA,QQ-22:0.5"


def test_a_long_range_has_as_many_hands_as_its_groups_together():
    first = "22+,A2s+,K9s+,Q9s+,J9s+,T8s+,97s+,87s,76s,65s,ATo+,KJo+,QJo"
    assert len(members(first)) == 13 * 6 + 4 * (12 + 4 + 3 + 2 + 2 + 2 + 3) + 12 * (4 + 2 + 1)


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


def test_the_written_range_is_as_short_as_players_write_it():
    for text in ("TT+,A2s+,AJo+,KTs+,QTs+,JTs", "22+,AK:0.5,AQs-ATs", "*:0.25", "JJ-99,T9-54,AhTh"):
        assert write_range(parse_range(text)) == text.replace("T9-54", "T9,98,87,76,65,54")


test_bad_ranges_are_refused = refusals(
    ("A1s", "cannot read the range group 'A1s'; write groups such as 'AA'"),
    ("AKx", "cannot read the range group 'AKx'"),
    ("AhKhQh", "cannot read"),
    ("AhAh", "has Ah twice; write two cards"),
    ("QQs", "'QQs' must be a pair such as 'TT', or go"),
    ("QQ-Q8", "must be a pair such as 'TT', or go from one group to another with the same high"),
    ("Q8-QQ", "must be a pair"),
    ("A9s-A6o", "must be a pair"),
    ("A9s-KTs", "must be a pair"),
    ("AA:-1", "the weight of 'AA' must be finite and at least 0, got -1.0; write it as in"),
    ("AA:nan", "at least 0, got nan"),
    ("AA:inf", "at least 0, got inf"),
    ("AA:", "range group 'AA:' has no number as its weight"),
    ("AA:x", "has no number as its weight"),
    (":0.5", "range group '' has no hand of the deck"),
    ({"AA": math.nan}, "the weight of 'AA' must be finite"),
    ({"AA": "1"}, "the weight of 'AA' must be finite and at least 0, got '1'"),
    ({3: 1.0}, "a range maps texts to weights, got 3"),
    (np.ones(1325), r"range has shape \(1325,\), but the deck has 1,326 hands; pass one weight"),
    (np.full(1326, -1.0), "weights of a range must be finite and at least 0, got -1.0 at 0"),
    (np.full(1326, np.nan), "at least 0, got nan at 0"),
    call=parse_range,
    error=ValueError,
)

test_ranges_outside_the_deck_are_refused = refusals(
    ("AA", "2-6", "range group 'AA' has no hand of the deck '2-6'"),
    ("AKo", "2-Ah", "has no hand of the deck '2-Ah'"),
    call=parse_range,
    error=ValueError,
)


def test_a_number_is_no_range():
    with pytest.raises((TypeError, ValueError), match="range"):
        parse_range(3)


@pytest.mark.deep
def test_any_text_is_a_range_or_refused_in_one_line():
    def same(found):
        return np.array_equal(parse_range(write_range(found)), found)

    pieces = [*"AKT95hs+-:,* .", "AK", "QQ", "T9s", "A5o", "AhKh", ":0.5", "1e-3", "\u0663", "\n"]
    hints = ["; write", "'A9s-A6s' or 'T9s-65s'"]
    assert 5_000 < count_read(parse_range, pieces, hints, same) < 50_000
