"""Endgames of no-limit hold'em: the river, or the turn and the river."""

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from attrs import evolve, field, frozen
from attrs.validators import optional

from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import at_least_one, at_least_zero, must_be, quote, share
from regretkit.games._registry import call_text, register
from regretkit.games.poker._cards import (
    RangeLike,
    bits_of,
    card_names,
    deck_cards,
    hand_names,
    hands_of,
    parse_range,
    read_board,
    strengths,
    write_range,
)
from regretkit.games.public import (
    Chance,
    Compare,
    Deal,
    Decision,
    Free,
    Outcome,
    PublicGame,
    PublicTree,
)
from regretkit.games.public._tree import Node

Sizes: TypeAlias = str | tuple[str, str] | Mapping[str, "str | tuple[str, str]"]
"""Sizes for both players, a pair of sizes, or a mapping from streets to one of these."""

_NUMBER = r"(\d{1,12}(?:\.\d{0,12})?|\.\d{1,12})"
_SIZE = re.compile(rf"{_NUMBER}([%xc])|(\d{{1,3}})?e(?:{_NUMBER}%)?|(a)", re.ASCII)
_HINT = "write '50%' of the pot, '2.5x' the last bet, '100c' chips, 'e', '2e' or '3e200%', or 'a'"

_CLOSE = 1e-12
"""Relative tolerance for ratios of the pot when merging sizes."""

_LONGEST, _LARGEST = 60, 50_000
"""Largest number of bets and raises on a street, and of decisions in a betting tree."""


@frozen
class BetSize:
    """A size of a bet or a raise."""

    unit: str
    """One of ``%`` of the pot, ``x`` the last bet, ``c`` chips, ``e`` geometric, ``a`` all-in."""
    number: float = 0.0
    """Percent, factor or chips. For a geometric size the number of streets, 0 for the rest."""
    maximum: float = math.inf
    """Largest percent of the pot of a geometric size."""


def parse_sizes(text: str, name: str = "bets") -> tuple[BetSize, ...]:
    """Parse a text such as ``50%,100%,a``."""
    if not isinstance(text, str):
        raise TypeError(must_be(name, "a text such as '50%,a', a pair or a mapping", text, _HINT))
    sizes = []
    for part in filter(None, map(str.strip, text.split(","))):
        match = _SIZE.fullmatch(part)
        if not match:
            raise ValueError(f"{name} has the size {quote(part)} without a known unit; {_HINT}")
        number, unit, streets, maximum, all_in = match.groups()
        if unit == "x" and name != "raises":
            raise ValueError(f"{name} has the size {quote(part)}, but no bet comes before; {_HINT}")
        if any(digits and not float(digits) for digits in (number, streets, maximum)):
            raise ValueError(f"{name} has the size {quote(part)}, which is zero; {_HINT}")
        if all_in or unit:
            sizes.append(BetSize(all_in or unit, float(number or 0)))
        else:
            sizes.append(BetSize("e", float(streets or 0), float(maximum) if maximum else math.inf))
    return tuple(sizes)


def sizes_by_street(
    given: Sizes, streets: Sequence[str], name: str
) -> list[tuple[tuple[BetSize, ...], ...]]:
    """Return the sizes of each street for each player."""
    if isinstance(given, Mapping):
        if unknown := [street for street in given if street not in streets]:
            known = " and ".join(streets)
            raise ValueError(f"{name} has sizes for {quote(unknown[0])}; the streets are {known}")
        by_street = [given.get(street, "") for street in streets]
    else:
        by_street = [given] * len(streets)
    pairs = [(sizes, sizes) if isinstance(sizes, str) else sizes for sizes in by_street]
    for pair in pairs:
        if not isinstance(pair, Sequence) or len(pair) != 2:
            raise ValueError(must_be(name, "one text, or one for each of two players", given))
    return [tuple(parse_sizes(text, name) for text in pair) for pair in pairs]


def _rounded(chips: float) -> int:
    """Return whole chips, half a chip upwards."""
    return math.floor(chips + 0.5)


@frozen
class _Spot:
    """A decision, with the bets of its street so far."""

    street: int
    """Index of the street."""
    paid: int
    """Chips that each player paid on earlier streets."""
    card: str
    """The last dealt card, empty before any."""
    leads: bool
    """Whether a bet of player 0 is a donk bet."""
    player: int = 0
    """The acting player."""
    own: int = 0
    """Chips of the acting player on this street."""
    highest: int = 0
    """Chips of the highest bet on this street."""
    step: int = 1
    """Smallest raise above the highest bet, unless all-in."""
    count: int = 0
    """Number of bets and raises on this street."""


@frozen
class Betting:
    """The rules of betting and payoffs. Parameters are those of ``hold_em``."""

    pot: int = field(validator=at_least_one)
    stack: int = field(validator=at_least_one)
    bets: list[tuple[tuple[BetSize, ...], ...]]
    """Sizes by street and player; so are ``raises`` and ``donks``."""
    raises: list[tuple[tuple[BetSize, ...], ...]]
    donks: list[tuple[tuple[BetSize, ...], ...]]
    rivers: Mapping[str, Outcome]
    """The outcomes of the river card, without the nodes after them."""
    rake: float = field(validator=share)
    cap: float | None = field(validator=optional(at_least_zero))
    max_bets: int | None = field(validator=optional(at_least_one))
    add_allin_threshold: float = field(validator=at_least_zero)
    force_allin_threshold: float = field(validator=at_least_zero)
    merging_threshold: float = field(validator=at_least_zero)
    _made: Iterator[int] = field(factory=itertools.count, init=False)

    def root(self) -> Decision:
        """Return the first decision."""
        return self._decision(_Spot(0, 0, "", leads=False))

    def _begun(self, street: int, paid: int, card: str, leads: bool) -> Node:
        """Return the first node of a street, after ``card``."""
        if paid == self.stack:
            return self._ended(street, paid, card)
        return self._decision(_Spot(street, paid, card, leads))

    def _ended(self, street: int, paid: int, card: str, leads: bool = False) -> Node:
        """Return the node after the betting of a street: the next card, or a showdown."""
        if street + 1 < len(self.bets):
            begun = ((name, self._begun(street + 1, paid, name, leads)) for name in self.rivers)
            return Chance({name: evolve(self.rivers[name], node=node) for name, node in begun})
        win, lose = self._earned(paid)
        return Compare((win, lose), (lose, win), order=card)

    def _decision(self, spot: _Spot) -> Decision:
        if next(self._made) == _LARGEST:
            raise ValueError(
                f"the betting tree has more than {_LARGEST:,} decisions; pass fewer sizes, or "
                "max_bets=4"
            )
        children: dict[str, Node] = {}
        other = 1 - spot.player
        if spot.highest:
            win, lose = self._earned(spot.paid + spot.own)
            children["fold"] = Free((lose, win) if spot.player == 0 else (win, lose))
            paid = spot.paid + spot.highest
            children["call"] = self._ended(spot.street, paid, spot.card, leads=other == 1)
        elif spot.player == 0:
            children["check"] = self._decision(evolve(spot, player=1, leads=False))
        else:
            children["check"] = self._ended(spot.street, spot.paid, spot.card)
        for amount in self._amounts(spot):
            verb = "raise" if spot.highest else "bet"
            name = "all-in" if amount == self.stack - spot.paid else verb
            children[f"{name} {amount}"] = self._decision(
                evolve(
                    spot,
                    player=other,
                    own=spot.highest,
                    highest=amount,
                    step=amount - spot.highest,
                    count=spot.count + 1,
                )
            )
        return Decision(spot.player, children)

    def _earned(self, paid: int) -> tuple[float, float]:
        """Return the payoffs of winner and loser, if both have paid ``paid`` chips.

        With p half of the final pot:  winner  p - min(rake 2p, cap),  loser  -p.
        """
        half = self.pot / 2 + paid
        cap = math.inf if self.cap is None else self.cap
        return half - min(self.rake * 2 * half, cap), -half

    def _amounts(self, spot: _Spot) -> list[int]:
        """Return the amounts to which a player can bet or raise on this street, ascending."""
        left, highest = self.stack - spot.paid, spot.highest
        if highest == left or spot.count == self.max_bets:
            return []
        if spot.count == _LONGEST:
            raise ValueError(f"a street has more than {_LONGEST} bets and raises; pass max_bets=4")
        pot = self.pot + 2 * spot.paid + 2 * highest  # after a call
        by_street = self.raises if highest else self.donks if spot.leads else self.bets
        sizes = by_street[spot.street][spot.player]
        wanted = [self._amount(size, spot, pot, left) for size in sizes]
        if left <= highest + _rounded(self.add_allin_threshold * pot):
            wanted.append(left)
        amounts = set()
        for amount in wanted:
            behind = _rounded(self.force_allin_threshold * (pot + 2 * (amount - highest)))
            if left <= amount + behind:
                amounts.add(left)
            elif amount - highest >= spot.step:
                amounts.add(amount)
        return self._merged(sorted(amounts), highest, pot)

    def _amount(self, size: BetSize, spot: _Spot, pot: int, left: int) -> int:
        """Return the amount on this street to which a size leads."""
        highest = spot.highest
        if size.unit == "%":
            return highest + _rounded(size.number / 100 * pot)
        if size.unit == "x":
            return _rounded(size.number * highest)
        if size.unit == "c":
            return _rounded(highest + size.number)
        if size.unit == "a":
            return left
        # A called bet of r pots multiplies the pot by 1 + 2 r. With all-in on the n-th street,
        # (1 + 2 r)^n = 1 + 2 behind / pot.
        streets = size.number or len(self.bets) - spot.street
        ratio = ((1 + 2 * (left - highest) / pot) ** (1 / streets) - 1) / 2
        return highest + _rounded(pot * min(ratio, size.maximum / 100))

    def _merged(self, amounts: list[int], highest: int, pot: int) -> list[int]:
        """Remove amounts that are too close to the next larger remaining one.

        With amounts a < b in pots and threshold t, a remains if a < (b - t) / (1 + t).
        """
        kept: list[int] = []
        for amount in reversed(amounts):
            ratio, larger = ((x - highest) / pot for x in (amount, kept[-1] if kept else math.inf))
            minimum = (larger - self.merging_threshold) / (1 + self.merging_threshold)
            if ratio < minimum * (1 - _CLOSE):
                kept.append(amount)
        return kept[::-1]


_Both: TypeAlias = tuple[Vector, Vector]
_Hands: TypeAlias = tuple[Indices, Indices]

_LONGEST_NAME = 1_000
"""Largest number of characters of a name with all arguments."""


@register
def hold_em(
    board: str = "2c 2d 2h 3c 3d",
    ranges: Sequence[RangeLike] = ("AA,QQ", "KK"),
    pot: int = 100,
    stack: int = 100,
    bets: Sizes = "100%,a",
    raises: Sizes = "100%,a",
    rake: float = 0.0,
    cap: float = math.inf,
    *,
    deck: str = "2-A",
    donks: Sizes | None = None,
    max_bets: int | None = None,
    add_allin_threshold: float = 0.0,
    force_allin_threshold: float = 0.0,
    merging_threshold: float = 0.0,
    isomorphism: bool = False,
) -> PublicGame:
    """Return an endgame of two-player no-limit hold'em, from the turn or the river on.

    Player 0 acts first on each street. Payoffs are chips relative to half of the starting pot: a
    player that folds at once loses half of the pot. The types of a player are the hands of its
    range without a card of the board.

    The text ``"50%,100%,a"`` lists sizes of bets or raises:

    ========== =====================================================================================
    size       chips
    ========== =====================================================================================
    ``50%``    percent of the pot, for a raise of the pot after a call
    ``2.5x``   the last bet times 2.5, for raises only
    ``100c``   100 chips, for a raise 100 more than the last bet
    ``e``      geometric: the same share of the pot on each remaining street, the last all-in
    ``2e``     geometric on two streets
    ``3e200%`` geometric on three streets, at most twice the pot
    ``a``      all-in
    ========== =====================================================================================

    Amounts are rounded to chips, half a chip up. Amounts beyond the stack become all-in, equal
    amounts merge, and raises smaller than the last raise are omitted.

    Parameters
    ----------
    board
        Four cards, for the turn, or five, for the river.
    ranges
        The range of each player, as in ``parse_range``.
    pot, stack
        Chips in the pot, and chips behind each player, at least 1.
    bets, raises
        The sizes. Or a pair, with the sizes of each player, or a mapping from ``"turn"`` and
        ``"river"`` to one of these.
    rake, cap
        The winner pays the share ``rake`` of the pot, at most ``cap`` chips.
    deck
        The ranks and suits of the deck, as in ``parse_range``. If the lowest rank is six, short
        deck rules apply: a flush beats a full house. The ace also ranks below the lowest rank.
    donks
        Sizes of player 0 if player 1 made the last bet of the previous street, by default ``bets``.
    max_bets
        Largest number of bets and raises on a street, by default unlimited.
    add_allin_threshold
        Add all-in if it is at most this many pots.
    force_allin_threshold
        Make a bet all-in if, after a call, at most this many pots remain behind.
    merging_threshold
        Of two bets that differ by less than this many pots, omit the smaller, as in PioSOLVER.
    isomorphism
        Whether to merge symmetric suits. Suits are symmetric if exchanging them changes neither the
        board nor the weight of any hand. Rivers that differ only by symmetric suits share one
        subtree, and such hands share one strategy.

    Examples
    --------
    >>> game = hold_em("Ks Th 7s 4d 2s", ("22+,A2s+,KJo+", "*"), pot=1000, stack=9500)
    >>> game.tree
    <PublicTree: 6 + 6 decisions, 21 terminals>
    >>> game = hold_em(bets=("100%", ""), raises="")
    >>> game
    <hold_em(bets=('100%', ''), raises=''): 12 + 12 decision points, 12 x 6 types>
    >>> from regretkit.play import solve
    >>> float(game.value(solve(game, "dcfr", iterations=1000).average)[0])  # 25 in equilibrium
    24.9999...

    Merging symmetric suits leaves 6 of 16 rivers, and fewer decision points:

    >>> terms = {"pot": 40, "stack": 40, "deck": "2-6", "bets": "100%", "raises": ""}
    >>> whole = hold_em("2d 3d 4d 6d", ("*", "*"), **terms)
    >>> merged = hold_em("2d 3d 4d 6d", ("*", "*"), **terms, isomorphism=True)
    >>> [len(game.tree.names[game.tree.find("/check/check")]) for game in (whole, merged)]
    [16, 6]
    >>> [game.domains[0].points for game in (whole, merged)]
    [3600, 710]
    >>> profile = solve(merged, "dcfr", iterations=10).average
    >>> merged.behavior(profile, "/check/check/5h").shape  # played as /check/check/5c
    (120, 2)

    References
    ----------
    Brown and Sandholm (2018), "Superhuman AI for heads-up no-limit poker: Libratus beats top
    professionals", Science 359. The notation of sizes and the thresholds are those of PioSOLVER
    and postflop-solver.
    """
    given = {**locals()}
    weights, cards = _weights(ranges, deck), deck_cards(deck)
    dealt = read_board(board, cards)
    hands, alive = _alive(weights, cards, dealt)
    left, streets = np.setdiff1d(cards, dealt), ("turn", "river")[len(dealt) - 4 :]
    if left.size < 5 and len(dealt) == 4:
        raise ValueError(
            f"deck must have 5 cards besides the board, for hands and river, got {deck!r}"
        )
    suits, symmetries = _symmetries(hands, alive, cards, dealt, isomorphism)
    betting = Betting(
        pot=pot,
        stack=stack,
        bets=sizes_by_street(bets, streets, "bets"),
        raises=sizes_by_street(raises, streets, "raises"),
        donks=sizes_by_street(bets if donks is None else donks, streets, "donks"),
        rivers=_rivers(hands, left, suits) if len(dealt) == 4 else {},
        rake=rake,
        cap=None if cap == math.inf else cap,
        max_bets=max_bets,
        add_allin_threshold=add_allin_threshold,
        force_allin_threshold=force_allin_threshold,
        merging_threshold=merging_threshold,
    )
    given["ranges"] = tuple(write_range(weight, deck) for weight in weights)
    name = call_text(hold_em, **given)
    name = name if len(name) <= _LONGEST_NAME else f"hold_em on {card_names(dealt.tolist())}"
    names, strengths = map(hand_names, hands), _orders(hands, dealt, left, int(cards[0]) // 4)
    deal = Deal([*names], weights=alive, cards=hands, strengths=strengths, symmetries=symmetries)
    return PublicGame(PublicTree(betting.root()), deal, name=name)


def _weights(ranges: Sequence[RangeLike], deck: str) -> tuple[Vector, Vector]:
    if isinstance(ranges, str) or not isinstance(ranges, Sequence | np.ndarray) or len(ranges) != 2:
        hint = "pass ('22+,AK', '*')"
        raise ValueError(must_be("ranges", "a pair, one for each player", ranges, hint))
    return parse_range(ranges[0], deck), parse_range(ranges[1], deck)


def _alive(weights: _Both, cards: Indices, dealt: Indices) -> tuple[_Hands, _Both]:
    """Return the hands of each range without a card of the board, and their weights."""
    hands = hands_of(cards)
    possible = ~np.isin(hands, dealt).any(axis=1)
    alive = [np.flatnonzero(possible & (weight > 0.0)) for weight in weights]
    for player, places in enumerate(alive):
        if not places.size:
            raise ValueError(
                f"ranges[{player}] is empty: it needs a hand without a card of the board, "
                f"{card_names(dealt.tolist())}"
            )
    first, second = alive
    return (hands[first], hands[second]), (weights[0][first], weights[1][second])


def _orders(
    hands: _Hands, dealt: Indices, left: Indices, lowest: int
) -> dict[str, tuple[Indices, Indices]]:
    """Return the strengths of hands on each final board, by the name of its river card if dealt."""
    last = [np.array([card]) for card in left] if len(dealt) == 4 else [dealt[:0]]
    boards = {card_names(card): bits_of(np.append(dealt, card)) for card in last}
    bits = bits_of(hands[0]), bits_of(hands[1])
    return {
        name: (strengths(bits[0] | board, lowest), strengths(bits[1] | board, lowest))
        for name, board in boards.items()
    }


def _symmetries(
    hands: _Hands, weights: _Both, cards: Indices, dealt: Indices, wanted: bool
) -> tuple[list[Indices], list[_Hands]]:
    """Return the permutations of suits that preserve the board and both ranges, and of hands.

    Both lists are empty if not ``wanted``, or if only the identity preserves them.
    """
    found, permutations = list[Indices](), list[_Hands]()
    suits = np.unique(cards % 4)
    for permutation in itertools.permutations(suits) if wanted else ():
        new = np.arange(4)
        new[suits] = permutation
        first, second = (_permuted(*given, new) for given in zip(hands, weights, strict=True))
        if first is not None and second is not None and np.isin(_in_suits(dealt, new), dealt).all():
            found.append(new)
            permutations.append((first, second))
    return (found, permutations) if len(found) > 1 else ([], [])


def _in_suits(cards: Indices, suits: Indices) -> Indices:
    return cards - cards % 4 + suits[cards % 4]


def _permuted(hands: Indices, weights: Vector, suits: Indices) -> Indices | None:
    """Return the index of each hand in other suits, or None if this changes weights."""
    number = np.array([52, 1])
    keys = hands @ number
    images = np.sort(_in_suits(hands, suits), axis=1) @ number
    places = np.minimum(np.searchsorted(keys, images), keys.size - 1)
    preserved = np.array_equal(keys[places], images) and np.array_equal(weights[places], weights)
    return places if preserved else None


def _rivers(hands: _Hands, left: Indices, permutations: Sequence[Indices]) -> dict[str, Outcome]:
    """Return the outcomes of the river card, without the nodes after them.

    Two hands hold 4 of the remaining cards, so each possible card has probability
    ``1 / (len(left) - 4)``. The first of cards that permutations of suits exchange represents all.
    """
    outcomes = dict[str, Outcome]()
    for card in left.tolist():
        name = card_names([card])
        if any(name in outcome.images for outcome in outcomes.values()):
            continue
        images = [card_names([int(_in_suits(np.array(card), suits))]) for suits in permutations]
        first, second = ((hand != card).all(axis=1).astype(np.float64) for hand in hands)
        outcomes[name] = Outcome(
            Free(0),
            1.0 / (len(left) - 4),
            (first, second),
            images={image: i for i, image in enumerate(images) if image != name},
            symmetries=[i for i, image in enumerate(images) if image == name],
        )
    return outcomes
