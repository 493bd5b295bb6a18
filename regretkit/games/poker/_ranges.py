"""Ranges of hands as players write them: ``22+,A5s+,KQo:0.5``."""

import itertools
import math
import re
from collections.abc import Iterator, Mapping
from functools import cache
from numbers import Real
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import floats, quote
from regretkit.games.poker._cards import RANKS, SUITS, card_names, card_of, deck_cards

RangeLike: TypeAlias = str | Mapping[str, float] | ArrayLike
"""A range in text, weights by group, or one weight for each hand of ``hands_of(deck)``."""

_CLASS = rf"([{RANKS}])([{RANKS}])([so]?)"
_GROUP = re.compile(rf"{_CLASS}(?:(\+)|-{_CLASS})?|([{RANKS}][{SUITS}])([{RANKS}][{SUITS}])")
_HINT = "write groups such as 'AA', 'AKs', 'AhKh', 'TT+', 'A9s-A6s' or '*', and weights 'KQo:0.5'"

_Class: TypeAlias = tuple[int, int, str]
"""The higher and the lower rank, and ``s``, ``o`` or, of a pair, nothing."""


def hands_of(deck: Indices) -> Indices:
    """Return all hands of a deck, the lower card first, shape ``(hands, 2)``, in rising order."""
    return np.array(list(itertools.combinations(deck.tolist(), 2))).reshape(-1, 2)


@cache
def _places(deck: tuple[int, ...]) -> dict[tuple[int, int], int]:
    """Return the place of each hand among all hands of a deck."""
    return {hand: place for place, hand in enumerate(itertools.combinations(deck, 2))}


def hand_names(hands: Indices) -> list[str]:
    """Return the names of hands, the higher card first: ``AhKh``."""
    return [card_names(hand, "") for hand in hands[:, ::-1].tolist()]


def parse_range(text: RangeLike, deck: str = "2-A") -> Vector:
    """Return the weight of each hand of a range.

    Parameters
    ----------
    text
        Groups of hands between commas, each perhaps with a weight, as in ``22+,A5s+,KQo:0.5``.
        ``AA`` is a pair, ``AKs`` is suited, ``AKo`` is not, ``AK`` is either, and ``AhKh`` is one
        hand. Of ``TT+`` the pair rises to the highest, of ``A5s+`` the lower card to one below
        the other. ``QQ-88``, ``A9s-A6s`` and ``T9s-65s`` are all from one to the other, and ``*``
        is every hand. A later group replaces an earlier one. Or a mapping from groups to weights,
        or an array with one weight for each hand.
    deck
        The ranks of the deck from the lowest to the highest, and its suits if there are not four,
        as in ``"2-6cdh"``.

    Returns
    -------
    NDArray
        One weight for each pair of cards, in the order of ``2c 2d 2h 2s 3c ... As``: ``2d2c``,
        ``2h2c``, ..., ``AsAc``, ``AsAd``, ``AsAh`` as ``itertools.combinations`` lists them.

    Raises
    ------
    ValueError
        When a group cannot be read, has cards outside the deck, or has a weight that is not a
        finite number, at least 0.

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
    array = floats(weights, "range", f"pass a text such as '22+,AKs', or {count:,} weights")
    if array.shape != (count,):
        raise ValueError(
            f"range has shape {array.shape}, but the deck has {count:,} hands; pass one weight "
            "for each, or a text such as '22+,AKs'"
        )
    if not (array.min() >= 0.0 and array.max() < math.inf):
        place = int(np.flatnonzero(~((array >= 0.0) & (array < math.inf)))[0])
        raise ValueError(
            f"weights of a range must be finite and at least 0, got {array[place]} at {place}; "
            "repair it"
        )
    return array


def _split(text: str) -> tuple[str, float]:
    """Return a group and its weight."""
    group, colon, weight = text.partition(":")
    try:
        return group, float(weight if colon else 1.0)
    except ValueError:
        raise ValueError(
            f"range group {quote(text)} has no number as its weight; {_HINT}"
        ) from None


def _hands_in(group: str, deck: Indices) -> Iterator[tuple[int, int]]:
    """Return the hands in one group, with cards outside the deck too."""
    if not isinstance(group, str):
        raise ValueError(f"a range maps texts to weights, got {quote(group)}; {_HINT}")
    if not (text := group.strip()) or text == "*":
        return iter(itertools.combinations(deck.tolist() if text else [], 2))
    match = _GROUP.fullmatch(text)
    if not match:
        raise ValueError(f"cannot read the range group {quote(group)}; {_HINT}")
    *_, first, second = match.groups()
    if first:
        hand = sorted((card_of(first), card_of(second)))
        if hand[0] == hand[1]:
            raise ValueError(f"range group {quote(group)} has {first} twice; write two cards")
        return iter([(hand[0], hand[1])])
    return itertools.chain.from_iterable(map(_hands_of_class, _classes(match, deck)))


def _classes(match: re.Match[str], deck: Indices) -> list[_Class]:
    """Return the classes of hands from one to another."""
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
            f"range group {quote(match[0])} must be a pair such as 'TT', or go from one group to "
            "another with the same high card or distance, as in 'A9s-A6s' or 'T9s-65s'"
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
    """Return weights as the text of a range, always the same for equal weights.

    ``parse_range`` of it returns exactly these weights.

    Parameters
    ----------
    weights
        One weight for each hand, in the order of ``parse_range``.
    deck
        The deck, as in ``parse_range``.

    Raises
    ------
    ValueError
        When there is not one finite weight, at least 0, for each hand.

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
        below = [low for low in ranks if low < high]
        suited, other = (list(_runs([(high, low, s) for low in below], left)) for s in "so")
        either = [group.replace("s", "") for group in suited]
        plain = [group.replace("o", "") for group in other]
        groups += [e if e in plain else group for e, group in zip(either, suited, strict=True)]
        groups += [group for p, group in zip(plain, other, strict=True) if p not in either]
    single = [(card_names(hand[::-1], ""), weight) for hand, weight in left.items() if weight]
    return ",".join(groups + [_weighted(*hand) for hand in reversed(single)])


def _runs(kinds: list[_Class], left: dict[tuple[int, int], float]) -> Iterator[str]:
    """Return neighboring classes of one weight as groups, and take their hands out of ``left``."""

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
            above = [f"{names[1]}+"] if first == kinds[0] else ["-".join(names)]
            yield _weighted((names if first == last else above)[0], weight)


def _weighted(group: str, weight: float) -> str:
    return group if weight == 1.0 else f"{group}:{weight!r}".removesuffix(".0")
