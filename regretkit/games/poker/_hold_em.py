"""Endgames of no-limit hold'em: the river, or the turn and the river."""

import itertools
import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import must_be
from regretkit.games._registry import call_text, register
from regretkit.games.poker._bets import Betting, Sizes, sizes_by_street
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
from regretkit.games.public import Chance, Deal, Outcome, PublicGame, PublicTree
from regretkit.games.public._tree import Node

_Both: TypeAlias = tuple[Vector, Vector]
_Hands: TypeAlias = tuple[Indices, Indices]

_LONGEST_NAME = 1_000
"""The most characters of a name that states all arguments."""


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
) -> PublicGame:
    """Return an endgame of no-limit hold'em of two players, from the turn or the river on.

    Player 0 acts first on each street. Payoffs are chips, counted from the middle of the pot: who
    folds at once loses half of it. The types of a player are the hands of its range that the board
    leaves; in the game after a river card, hands with that card are dead. No suits are merged.

    Parameters
    ----------
    board
        Four cards, of the turn, or five, of the river.
    ranges
        The range of each player, as in ``parse_range``.
    pot, stack
        Chips in the pot, and behind each player.
    bets, raises
        The sizes, as in ``"50%,100%,a"``: ``50%`` of the pot after a call, ``2.5x`` the last bet
        (raises only), ``100c`` chips (of a raise, more than the last bet), ``e`` geometric, with
        the same share of the pot on each street that is left and all chips in at last, ``2e`` on
        two streets, ``3e200%`` at most twice the pot, and ``a`` all-in. Or a pair, with the sizes
        of each player; or a mapping from ``"turn"`` and ``"river"`` to one of these. Amounts are
        rounded to a chip, half a chip upwards; more than the stack is all-in; equal ones merge;
        a raise by less than the last one is left out.
    rake, cap
        The share of the pot that the winner pays, and the most chips of it.
    deck
        The ranks in the deck and its suits, as in ``parse_range``. A deck that begins with the
        six has the rules of short deck: a flush beats a full house. The ace is always also below
        the lowest rank.
    donks
        Sizes of player 0 when player 1 has made the last bet of the street before; by default
        ``bets``.
    max_bets
        The most bets and raises on a street, by default as many as the stack allows.
    add_allin_threshold
        All-in is added where it is at most this many pots.
    force_allin_threshold
        A bet after whose call at most this many pots are left behind becomes all-in.
    merging_threshold
        Of two bets that are closer than this, in pots, the smaller is left out, as in PioSOLVER.

    Raises
    ------
    ValueError
        When cards occur twice or are not in the deck, a size or a range cannot be read, no hand
        of a range is left, no two hands can meet, or a number is out of its bounds.

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
    24.9999999...

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
    betting = Betting(
        pot=pot,
        stack=stack,
        bets=sizes_by_street(bets, streets, "bets"),
        raises=sizes_by_street(raises, streets, "raises"),
        donks=sizes_by_street(bets if donks is None else donks, streets, "donks"),
        deal=_dealer(hands, left),
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
    names = hand_names(hands[0]), hand_names(hands[1])
    orders = _orders(hands, dealt, left, int(cards[0]) // 4)
    deal = Deal(names, weights=alive, cards=hands, strengths=orders)
    return PublicGame(PublicTree(betting.root()), deal, name=name)


def _weights(ranges: Sequence[RangeLike], deck: str) -> tuple[Vector, Vector]:
    if isinstance(ranges, str) or not isinstance(ranges, Sequence | np.ndarray) or len(ranges) != 2:
        hint = "pass ('22+,AK', '*')"
        raise ValueError(must_be("ranges", "a pair, one for each player", ranges, hint))
    return parse_range(ranges[0], deck), parse_range(ranges[1], deck)


def _alive(weights: _Both, cards: Indices, dealt: Indices) -> tuple[_Hands, _Both]:
    """Return the hands of each range that the board leaves, and their weights."""
    hands = hands_of(cards)
    possible = ~np.isin(hands, dealt).any(axis=1)
    alive = [np.flatnonzero(possible & (weight > 0.0)) for weight in weights]
    for player, places in enumerate(alive):
        if not places.size:
            raise ValueError(
                f"ranges[{player}] has no hand of positive weight without a card of the board, "
                f"{card_names(dealt.tolist())}; add hands to it"
            )
    first, second = alive
    both = hands[first], hands[second]
    if len(dealt) + 4 > len(cards) - (len(dealt) == 4) or _never_meet(*both):
        raise ValueError(
            "no hand of ranges[0] can meet one of ranges[1], as each pair shares a card or the "
            "deck is too small; add hands to the ranges, or ranks to the deck"
        )
    return both, (weights[0][first], weights[1][second])


def _never_meet(first: Indices, second: Indices) -> bool:
    """Return whether each hand of one player shares a card with each of the other."""
    # Many hands of a player never all share a card with one of the other.
    pairs = itertools.product(first[:200].tolist(), second[:200].tolist())
    return not any(set(one).isdisjoint(other) for one, other in pairs)


def _orders(
    hands: _Hands, dealt: Indices, left: Indices, lowest: int
) -> dict[str, tuple[Indices, Indices]]:
    """Return the strengths of hands on each board, by the name of the card dealt last."""
    last = [np.array([card]) for card in left] if len(dealt) == 4 else [dealt[:0]]
    boards = {card_names(card): bits_of(np.append(dealt, card)) for card in last}
    bits = bits_of(hands[0]), bits_of(hands[1])
    return {
        name: (strengths(bits[0] | board, lowest), strengths(bits[1] | board, lowest))
        for name, board in boards.items()
    }


def _dealer(hands: _Hands, left: Indices) -> Callable[[Callable[[str], Node]], Node]:
    """Return what deals one of the cards that are left, of which two hands hold four."""

    def factors(card: int) -> tuple[Vector, Vector]:
        first, second = ((hand != card).all(axis=1).astype(np.float64) for hand in hands)
        return first, second

    every = {card_names([card]): factors(card) for card in left.tolist()}

    def deal(follow: Callable[[str], Node]) -> Chance:
        return Chance(
            {
                name: Outcome(follow(name), 1.0 / (len(left) - 4), alive)
                for name, alive in every.items()
            }
        )

    return deal
