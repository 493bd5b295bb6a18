"""Cards, hand strengths, and ranges in poker notation."""

import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from numbers import Real
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import floats, must_be, quote

RANKS, SUITS = "23456789TJQKA", "cdhs"
"""Card ``4 r + s`` has rank ``r`` and suit ``s``."""

_CARD = re.compile(rf"([{RANKS}])([{SUITS}])")
_DECK = re.compile(rf"(?:([{RANKS}])-([{RANKS}])|([{RANKS}]+))([{SUITS}]*)")


def deck_cards(text: str) -> Indices:
    """Return the cards of a deck, ascending, from a text of ranks and optional suits.

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
        raise ValueError(must_be("deck", "distinct ranks, optionally with suits", text, hint))
    return np.array(sorted(card_of(r + s) for r in ranks for s in suits or SUITS))


def card_of(name: str) -> int:
    """Return the number of a card such as ``Ah``."""
    return 4 * RANKS.index(name[0]) + SUITS.index(name[1])


def card_names(cards: Iterable[int], separator: str = " ") -> str:
    """Return the names of cards."""
    return separator.join(RANKS[card // 4] + SUITS[card % 4] for card in cards)


def read_board(text: str, deck: Indices) -> Indices:
    """Return the cards of a turn or a river, such as ``Ks Th 7s 4d 2s``, in order.

    Blanks and commas are optional.
    """
    names = re.findall(r"\S\S?", re.sub(r"[ ,]", "", text)) if isinstance(text, str) else []
    hint = "write four or five cards in one text, such as 'Ks Th 7s 4d 2s', where T is a ten"
    for name in names:
        if not _CARD.fullmatch(name) or card_of(name) not in deck:
            raise ValueError(f"board {quote(text)} has {quote(name)}, no card of the deck; {hint}")
    board = np.array([card_of(name) for name in names], dtype=np.int64)
    repeated = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if repeated:
        raise ValueError(f"board {quote(text)} has {repeated} twice")
    if len(board) not in (4, 5):
        raise ValueError(must_be("board", "a turn or a river", text, hint))
    return board


# Strength


def bits_of(cards: Indices) -> NDArray[np.int64]:
    """Return sets of cards along the last axis as bits: bit ``16 suit + rank`` for each card."""
    bits: NDArray[np.int64] = np.left_shift(1, 16 * (cards % 4) + cards // 4)
    return np.asarray(np.bitwise_or.reduce(bits, axis=-1))


def strengths(cards: NDArray[np.int64], lowest: int = 0) -> NDArray[np.int64]:
    """Return the strength of the best five of at most seven cards, given by ``bits_of``.

    Stronger hands have larger numbers, equally strong hands equal ones. The ace also ranks below
    rank ``lowest``. If ``lowest`` is the six, as in short deck, a flush beats a full house.
    """
    # Each of the sets below has a bit for each rank. The strength is
    #     category << 28 | ranks that count first << 14 | ranks that break ties
    # so that comparing numbers compares hands.
    suits = [(cards >> 16 * suit) & 0x1FFF for suit in range(4)]
    a, b, c, d = suits
    # Ranks that occur in at least one, two, three and four suits
    one, two = a | b | c | d, (a & b) | (c & d) | ((a | b) & (c | d))
    three, four = (a & b & (c | d)) | (c & d & (a | b)), a & b & c & d
    trips, pairs, quads = _highest(three, 1), _highest(two, 2), _highest(four, 1)
    pair = _highest(two & ~trips, 1)
    flush = np.max([np.where(_count(suit) >= 5, _highest(suit, 5), 0) for suit in suits], axis=0)
    straight_flush = np.max([_straight(suit, lowest) for suit in suits], axis=0)
    full_house, flush_above = (trips > 0) & (pair > 0), lowest == RANKS.index("6")
    kinds = [  # descending: whether a hand is of this category, its main ranks, its tie breakers
        (straight_flush > 0, straight_flush, 0),
        (quads > 0, quads, _highest(one & ~quads, 1)),
        *[(full_house, trips, pair), (flush > 0, flush, 0)][:: -1 if flush_above else 1],
        ((straight := _straight(one, lowest)) > 0, straight, 0),
        (trips > 0, trips, _highest(one & ~trips, 2)),
        (_count(pairs) == 2, pairs, _highest(one & ~pairs, 1)),
        (pairs > 0, pairs, _highest(one & ~pairs, 3)),
    ]
    numbers = [(8 - i) << 28 | first << 14 | second for i, (_, first, second) in enumerate(kinds)]
    return np.select([kind[0] for kind in kinds], numbers, _highest(one, 5))


def _count(ranks: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of set bits among the lowest 16."""
    # Add neighbouring fields of 1, 2, 4 and 8 bits in parallel.
    ranks = ranks - (ranks >> 1 & 0x5555)
    ranks = (ranks & 0x3333) + (ranks >> 2 & 0x3333)
    return (ranks + (ranks >> 4) & 0x0F0F) * 0x0101 >> 8 & 0x1F


def _highest(ranks: NDArray[np.int64], wanted: int) -> NDArray[np.int64]:
    """Keep only the ``wanted`` highest of at most seven set bits."""
    for _ in range(wanted, 7):  # ranks & ranks - 1 clears the lowest set bit
        ranks = np.where(_count(ranks) > wanted, ranks & ranks - 1, ranks)
    return ranks


def _straight(ranks: NDArray[np.int64], lowest: int) -> NDArray[np.int64]:
    """Return the lowest rank of the best straight as a bit, or 0.

    Ranks are shifted by one, so that the ace also has the bit below rank ``lowest``.
    """
    ranks = ranks << 1 | (ranks >> RANKS.index("A")) << lowest
    for shift in (1, 1, 2):  # bits that begin two, three, then five consecutive ranks
        ranks = ranks & ranks >> shift
    return _highest(ranks, 1)


RangeLike: TypeAlias = str | Mapping[str, float] | ArrayLike
"""A range as text, a mapping from groups to weights, or a weight for each of ``hands_of``."""

_CLASS = rf"([{RANKS}])([{RANKS}])([so]?)"
_GROUP = re.compile(rf"{_CLASS}(?:(\+)|-{_CLASS})?|([{RANKS}][{SUITS}])([{RANKS}][{SUITS}])")
_HINT = "write groups such as 'AA', 'AKs', 'AhKh', 'TT+', 'A9s-A6s' or '*', and weights 'KQo:0.5'"

_Class: TypeAlias = tuple[int, int, str]
"""The higher and the lower rank, and ``s`` for suited, ``o`` for offsuit or ``""`` for both."""


def hands_of(deck: Indices) -> Indices:
    """Return all hands of a deck, ascending, the lower card first, shape ``(hands, 2)``."""
    return np.array(list(itertools.combinations(deck.tolist(), 2))).reshape(-1, 2)


@cache
def _places(deck: tuple[int, ...]) -> dict[tuple[int, int], int]:
    """Return the index of each hand among all hands of a deck."""
    return {hand: place for place, hand in enumerate(itertools.combinations(deck, 2))}


def hand_names(hands: Indices) -> list[str]:
    """Return the names of hands, the higher card first: ``AhKh``."""
    return [card_names(hand, "") for hand in hands[:, ::-1].tolist()]


def parse_range(text: RangeLike, deck: str = "2-A") -> Vector:
    """Return the weight of each hand of a range.

    A text such as ``"22+,A5s+,KQo:0.5"`` lists groups of hands, optionally with weights, by default
    1. Later groups replace earlier ones.

    =================== ============================================================================
    group               hands
    =================== ============================================================================
    ``AA``              the pair
    ``AKs``             suited
    ``AKo``             offsuit
    ``AK``              suited and offsuit
    ``AhKh``            one hand
    ``TT+``             pairs from ``TT`` to the highest
    ``A5s+``            ``A5s`` to ``AKs``: the lower card rises to one below the higher
    ``QQ-88``           pairs from ``88`` to ``QQ``
    ``A9s-A6s``         the lower card varies
    ``T9s-65s``         both cards vary at equal distance
    ``*``               all hands
    =================== ============================================================================

    Parameters
    ----------
    text
        The text, a mapping from groups to weights, or an array with a weight for each hand.
    deck
        The lowest and the highest rank of the deck, followed by its suits if not all four, as in
        ``"2-6cdh"``.

    Returns
    -------
    NDArray
        A weight for each pair of cards, as ``itertools.combinations`` lists pairs of
        ``2c 2d 2h 2s 3c ... As``.

    Examples
    --------
    >>> weights = parse_range("TT+,AKs:0.5")
    >>> float(weights.sum())
    32.0
    >>> write_range(weights)
    'TT+,AKs:0.5'

    References
    ----------
    The notation of PioSOLVER and of postflop-solver.
    """
    cards = deck_cards(deck)
    places = _places(tuple(cards.tolist()))
    if not isinstance(text, str | Mapping):
        return _checked(text, len(places))
    groups = text.items() if isinstance(text, Mapping) else map(_split, text.split(","))
    weights = np.zeros(len(places))
    for group, weight in groups:
        if not (isinstance(weight, Real) and 0.0 <= float(weight) < math.inf):
            raise ValueError(
                f"the weight of {quote(group)} must be finite and at least 0, got {quote(weight)}; "
                "write it as in 'KQo:0.5'"
            )
        chosen = [places[hand] for hand in _hands_in(group, cards) if hand in places]
        if not chosen and (group.strip() or weight != 1.0):
            problem = f"has no hand of the deck {deck!r}"
            raise ValueError(f"range group {quote(group)} {problem}; {_HINT}")
        weights[chosen] = weight
    return weights


def _checked(weights: ArrayLike, count: int) -> Vector:
    array = floats(weights, "range")
    if array.shape != (count,):
        raise ValueError(
            f"range must have shape ({count},), got {array.shape}; pass one weight for each hand, "
            "or a text such as '22+,AKs'"
        )
    if not (array.min() >= 0.0 and array.max() < math.inf):
        place = int(np.flatnonzero(~((array >= 0.0) & (array < math.inf)))[0])
        raise ValueError(
            f"weights of a range must be finite and at least 0, got {array[place]} at {place}"
        )
    return array


def _split(text: str) -> tuple[str, float]:
    """Return a group and its weight."""
    group, colon, weight = text.partition(":")
    try:
        return group, float(weight if colon else 1.0)
    except ValueError:
        raise ValueError(
            f"the weight of range group {quote(text)} is not a number; {_HINT}"
        ) from None


def _hands_in(group: str, deck: Indices) -> Iterator[tuple[int, int]]:
    """Return the hands in one group, including hands outside the deck."""
    if not isinstance(group, str):
        raise ValueError(f"range groups must be strings, got {quote(group)}; {_HINT}")
    if not (text := group.strip()) or text == "*":
        return iter(itertools.combinations(deck.tolist() if text else [], 2))
    match = _GROUP.fullmatch(text)
    if not match:
        raise ValueError(f"cannot read the range group {quote(group)}; {_HINT}")
    *_, first, second = match.groups()
    if first:
        hand = sorted((card_of(first), card_of(second)))
        if hand[0] == hand[1]:
            raise ValueError(f"range group {quote(group)} has {first} twice")
        return iter([(hand[0], hand[1])])
    return itertools.chain.from_iterable(map(_hands_of_class, _classes(match, deck)))


def _classes(match: re.Match[str], deck: Indices) -> list[_Class]:
    """Return the classes of hands in a matched group."""
    a, b, suited, plus, c, d, other, *_ = match.groups()
    low, high = sorted((RANKS.index(a), RANKS.index(b)))
    pair, bottom, top = low == high, low, high
    if plus:
        bottom, top = (int(deck[-1]) // 4,) * 2 if pair else (high - 1, high)
    elif c:
        bottom, top = sorted((RANKS.index(c), RANKS.index(d)))
    fixed = top == high and not pair
    leads = (fixed or top - bottom == high - low) and (bottom == top) == pair
    if not leads or (c and other != suited) or (pair and suited):
        raise ValueError(
            f"range group {quote(match[0])} must be a pair such as 'TT', or extend from one group "
            "to another with the same high card or distance, as 'A9s-A6s' or 'T9s-65s'"
        )
    low, last = sorted((low, bottom))
    start = min(high, top)
    return [(start + (0 if fixed else i), low + i, suited) for i in range(last - low + 1)]


def _hands_of_class(kind: _Class) -> Iterator[tuple[int, int]]:
    high, low, suited = kind
    for a, b in itertools.product(range(4), repeat=2):
        if (a < b) if high == low else {"": True, "s": a == b, "o": a != b}[suited]:
            yield 4 * low + a, 4 * high + b


def write_range(weights: ArrayLike, deck: str = "2-A") -> str:
    """Return the canonical text of a range.

    ``parse_range`` returns exactly these weights for it.

    Parameters
    ----------
    weights
        A weight for each hand, in the order of ``parse_range``.
    deck
        The deck, as in ``parse_range``.

    Examples
    --------
    >>> write_range(parse_range("QQ,JJ,TT,AKo,AKs,AQs,AJs,AhTh"))
    'QQ-TT,AJs+,AKo,AhTh'
    """
    hands = hands_of(cards := deck_cards(deck))
    left = dict(
        zip(map(tuple, hands.tolist()), _checked(weights, len(hands)).tolist(), strict=True)
    )
    if len(every := set(left.values())) == 1:
        return _weighted("*", every.pop())
    ranks = np.unique(cards // 4)[::-1].tolist()
    groups = list(_runs([(rank, rank, "") for rank in ranks], left))
    for high in ranks[:-1]:
        lower = [low for low in ranks if low < high]
        suited, other = (list(_runs([(high, low, s) for low in lower], left)) for s in "so")
        either = [group.replace("s", "") for group in suited]
        plain = [group.replace("o", "") for group in other]
        groups += [e if e in plain else group for e, group in zip(either, suited, strict=True)]
        groups += [group for p, group in zip(plain, other, strict=True) if p not in either]
    single = [(card_names(hand[::-1], ""), weight) for hand, weight in left.items() if weight]
    return ",".join(groups + [_weighted(*hand) for hand in reversed(single)])


def _runs(kinds: list[_Class], left: dict[tuple[int, int], float]) -> Iterator[str]:
    """Yield runs of classes with equal weights as groups, and set their hands in ``left`` to 0."""

    def weight_of(kind: _Class) -> float:
        weights = {left[hand] for hand in _hands_of_class(kind) if hand in left}
        return weights.pop() if len(weights) == 1 else 0.0

    for weight, run in itertools.groupby(list(kinds), weight_of):
        classes = list(run)
        if weight:
            hands = itertools.chain.from_iterable(map(_hands_of_class, classes))
            left.update((hand, 0.0) for hand in hands if hand in left)
            first, *_, last = classes * 2
            names = [f"{RANKS[high]}{RANKS[low]}{suited}" for high, low, suited in (first, last)]
            shorthand = [f"{names[1]}+"] if first == kinds[0] else ["-".join(names)]
            yield _weighted((names if first == last else shorthand)[0], weight)


def _weighted(group: str, weight: float) -> str:
    return group if weight == 1.0 else f"{group}:{weight!r}".removesuffix(".0")
