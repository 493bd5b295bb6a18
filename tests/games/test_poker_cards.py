"""The strength of hands against other evaluators, against the rules, and on other decks."""

import itertools
from collections import Counter

import numpy as np
import pytest
from refusals import refusals

from regretkit.games.poker._cards import (
    RANKS,
    bits_of,
    card_names,
    card_of,
    deck_cards,
    read_board,
    strengths,
)

FULL = deck_cards("2-A")


def random_hands(count, size=7, deck=FULL):
    generator = np.random.default_rng(1)
    return deck[np.argsort(generator.random((count, len(deck))))[:, :size]]


def naive_strength(hand, lowest=0):
    """Return the strength of five cards from the definitions, without arithmetic on bits."""
    ranks = sorted((card // 4 for card in hand), reverse=True)
    groups = sorted(Counter(ranks).items(), key=lambda item: (-item[1], -item[0]))
    shape, order = [size for _, size in groups], [rank for rank, _ in groups]
    wheel = [12, *range(lowest + 3, lowest - 1, -1)]
    straight = len(order) == 5 and (ranks[0] - ranks[4] == 4 or ranks == wheel)
    flush = len({card % 4 for card in hand}) == 1
    order = [lowest + 3] if straight and ranks == wheel and ranks[0] - ranks[4] != 4 else order
    kinds = [straight and flush, shape == [4, 1], shape == [3, 2], flush]
    if lowest == RANKS.index("6"):
        kinds[2:] = kinds[3], kinds[2]
    kinds += [straight, shape == [3, 1, 1], shape == [2, 2, 1], shape[0] == 2, True]
    return 9 - kinds.index(True), tuple(order[:1] if straight else order)


def ranked(values):
    """Return the place of each value among all distinct ones."""
    places = {value: place for place, value in enumerate(sorted(set(values)))}
    return [places[value] for value in values]


@pytest.mark.parametrize(("deck", "size"), [("2-A", 5), ("6-A", 5), ("2-A", 7), ("5-Acd", 6)])
def test_strengths_are_those_of_the_best_five_cards_by_the_rules(deck, size):
    cards = deck_cards(deck)
    hands = random_hands(2000 if size == 5 else 150, size, cards)
    lowest = int(cards[0]) // 4
    expected = [
        max(naive_strength(five, lowest) for five in itertools.combinations(hand, 5))
        for hand in hands.tolist()
    ]
    assert ranked(expected) == ranked(strengths(bits_of(hands), lowest).tolist())


@pytest.mark.deep
def test_all_five_card_hands_fall_into_as_many_classes_as_known():
    # 7,462 classes, and how many hands are of each kind: any book on poker
    hands = np.array(list(itertools.combinations(range(52), 5)))
    numbers = strengths(bits_of(hands))
    assert len(hands) == 2_598_960
    assert len(np.unique(numbers)) == 7_462
    counts = Counter((numbers >> 28).tolist())
    expected = [1_302_540, 1_098_240, 123_552, 54_912, 10_200, 5_108, 3_744, 624, 40]
    assert [counts[kind] for kind in range(9)] == expected


def test_decks_and_cards_are_named_as_they_are_read():
    assert card_names([card_of(name) for name in ["2c", "Ts", "Ah"]]) == "2c Ts Ah"
    assert [len(deck_cards(deck)) for deck in ("2-A", "6-A", "2-5", "28TAh", "A-Acs")] == [
        *(52, 36, 16, 4, 2)
    ]
    assert card_names(read_board(" KsTh 7s4d ", FULL)) == "Ks Th 7s 4d"
    assert card_names(read_board("Ks,Th, 7s,4d", FULL)) == "Ks Th 7s 4d"


test_bad_decks_are_refused = refusals(
    *[(text,) for text in ("", "A-2", "2-", "22", "2-Acc", "x", "2-A c", None, 52, ["2"])],
    call=deck_cards,
    error=ValueError,
    match="deck must be distinct ranks, optionally with suits, got .*write '2-A'",
)

test_bad_boards_are_refused = refusals(
    ("Ks Th", "board must be a turn or a river, got 'Ks Th'; write four or five cards"),
    ("", "board must be a turn or a river"),
    (["Ks", "Th", "7s", "4d"], "got \\[.Ks.*; write four or five cards in one text, such as"),
    ("Ks Th 7s 4d 1s", "has '1s', no card of the deck"),
    ("10s Th 7s 4d 2s", "has '10', no card of the deck; .*, where T is a ten"),
    call=lambda text: read_board(text, FULL),
    error=ValueError,
)
