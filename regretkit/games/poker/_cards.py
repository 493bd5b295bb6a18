"""Cards by number, decks of any ranks and suits, and the strength of hands in arrays."""

import re
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from regretkit._util._typing import Indices
from regretkit._util._validate import must_be, quote

RANKS, SUITS = "23456789TJQKA", "cdhs"
"""Card ``4 r + s`` has rank ``r`` and suit ``s``."""

_CARD = re.compile(rf"([{RANKS}])([{SUITS}])")
_DECK = re.compile(rf"(?:([{RANKS}])-([{RANKS}])|([{RANKS}]+))([{SUITS}]*)")


def deck_cards(text: str) -> Indices:
    """Return the cards of a deck, in rising order: of some ranks, and of some suits or all four.

    Examples
    --------
    >>> card_names(deck_cards("QKAhs"))
    'Qh Qs Kh Ks Ah As'
    >>> len(deck_cards("6-A"))
    36
    """
    match = _DECK.fullmatch(text) if isinstance(text, str) else None
    low, high, listed, suits = match.groups("") if match else [""] * 4
    ranks = listed or RANKS[RANKS.find(low) : RANKS.find(high) + 1] * bool(low)
    if not ranks or len(set(ranks)) < len(ranks) or len(set(suits)) < len(suits):
        hint = "write '2-A' for all cards, '6-A' for short deck, or '2-6cdh' for three suits"
        raise ValueError(must_be("deck", "ranks, each once, and perhaps suits", text, hint))
    return np.array(sorted(card_of(r + s) for r in ranks for s in suits or SUITS))


def card_of(name: str) -> int:
    """Return the number of a card such as ``Ah``."""
    return 4 * RANKS.index(name[0]) + SUITS.index(name[1])


def card_names(cards: Iterable[int], separator: str = " ") -> str:
    """Return the names of cards."""
    return separator.join(RANKS[card // 4] + SUITS[card % 4] for card in cards)


def read_board(text: str, deck: Indices) -> Indices:
    """Return the cards of a turn or a river, such as ``Ks Th 7s 4d 2s``, as they stand.

    Blanks and commas between them are left out.
    """
    names = re.findall(r"\S\S?", re.sub(r"[ ,]", "", text)) if isinstance(text, str) else []
    hint = "write four or five cards in one text, such as 'Ks Th 7s 4d 2s', where T is a ten"
    for name in names:
        if not _CARD.fullmatch(name) or card_of(name) not in deck:
            raise ValueError(f"board {quote(text)} has {quote(name)}, no card of the deck; {hint}")
    board = np.array([card_of(name) for name in names], dtype=np.int64)
    twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if twice:
        raise ValueError(f"board {quote(text)} has {twice} twice; give every card once")
    if len(board) not in (4, 5):
        raise ValueError(must_be("board", "a turn or a river", text, hint))
    return board


# Strength


def bits_of(cards: Indices) -> NDArray[np.int64]:
    """Return cards along the last axis as bits: 13 of the ranks in each suit, 16 apart."""
    bits: NDArray[np.int64] = np.left_shift(1, 16 * (cards % 4) + cards // 4)
    return np.asarray(np.bitwise_or.reduce(bits, axis=-1))


def strengths(cards: NDArray[np.int64], lowest: int = 0) -> NDArray[np.int64]:
    """Return numbers in the order of the best five of the cards in ``bits_of``, at most seven.

    The ace is also below rank ``lowest`` of the deck. In a deck that begins with the six, which is
    short deck, a flush beats a full house. Hands of equal strength have equal numbers.
    """
    suits = [(cards >> 16 * suit) & 0x1FFF for suit in range(4)]
    a, b, c, d = suits
    one, two = a | b | c | d, (a & b) | (c & d) | ((a | b) & (c | d))
    three, four = (a & b & (c | d)) | (c & d & (a | b)), a & b & c & d
    trips, pairs, quads = _highest(three, 1), _highest(two, 2), _highest(four, 1)
    pair = _highest(two & ~trips, 1)
    flush = np.max([np.where(_count(suit) >= 5, _highest(suit, 5), 0) for suit in suits], axis=0)
    straight_flush = np.max([_straight(suit, lowest) for suit in suits], axis=0)
    full_house, above = (trips > 0) & (pair > 0), lowest == RANKS.index("6")
    kinds = [  # in falling order: whether it is one, what counts first, and what then
        (straight_flush > 0, straight_flush, 0),
        (quads > 0, quads, _highest(one & ~quads, 1)),
        *[(full_house, trips, pair), (flush > 0, flush, 0)][:: -1 if above else 1],
        ((straight := _straight(one, lowest)) > 0, straight, 0),
        (trips > 0, trips, _highest(one & ~trips, 2)),
        (_count(pairs) == 2, pairs, _highest(one & ~pairs, 1)),
        (pairs > 0, pairs, _highest(one & ~pairs, 3)),
    ]
    numbers = [(8 - i) << 28 | first << 14 | then for i, (_, first, then) in enumerate(kinds)]
    return np.select([kind[0] for kind in kinds], numbers, _highest(one, 5))


def _count(ranks: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of bits among the lowest 16."""
    ranks = ranks - (ranks >> 1 & 0x5555)
    ranks = (ranks & 0x3333) + (ranks >> 2 & 0x3333)
    return (ranks + (ranks >> 4) & 0x0F0F) * 0x0101 >> 8 & 0x1F


def _highest(ranks: NDArray[np.int64], wanted: int) -> NDArray[np.int64]:
    """Return the highest bits of ranks of at most seven cards."""
    for _ in range(wanted, 7):
        ranks = np.where(_count(ranks) > wanted, ranks & ranks - 1, ranks)
    return ranks


def _straight(ranks: NDArray[np.int64], lowest: int) -> NDArray[np.int64]:
    """Return the lowest rank, as a bit, of the highest five ranks in a row, zero without any."""
    ranks = ranks << 1 | (ranks >> RANKS.index("A")) << lowest
    for shift in (1, 1, 2):  # two, three and then five in a row
        ranks = ranks & ranks >> shift
    return _highest(ranks, 1)
