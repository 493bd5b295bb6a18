"""Sums over the opponent's types that a type can meet, in linear time after one sort."""

from typing import NamedTuple, final

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from regretkit._util._arrays import RESOLUTION
from regretkit._util._typing import Indices, Vector


class Sums(NamedTuple):
    """Sums over the opponent's types, each of shape ``(columns, types)``."""

    free: NDArray[np.float64]
    """Over all types that can be met."""
    more: NDArray[np.float64]
    """Over weaker types less over stronger ones."""
    tie: NDArray[np.float64]
    """Over types of equal strength."""
    total: Vector
    """Over all types, shape ``(columns,)``."""


@final
@frozen(eq=False)
class Meeting:
    """One player's types against the opponent's, by cards and strengths.

    With r the opponent's reach, T its sum, W(s) its sum over strengths less than s and U(s) over
    those of at most s, T_c, W_c and U_c the same sums over types with card c, and types i of cards
    a and b,

        free_i = T - T_a - T_b + r of the type with the same cards, if there is one
        more_i = (W - W_a - W_b) + (U - U_a - U_b) - (T - T_a - T_b)
        tie_i = (U - U_a - U_b) - (W - W_a - W_b) + r of the type with the same cards

    Sums of at most 2^-44 T are zero: what rounding leaves where no type can be met is nothing, and
    regret matching would play it. All sums are from the weakest type to the strongest, from left
    to right, in all engines.
    """

    cards: Indices
    """The player's cards, shape ``(types, cards of a type)``."""
    order: Indices
    """The opponent's types, the weakest first."""
    below: Indices
    """For each type, how many of the opponent's are weaker, shape ``(types,)``."""
    upto: Indices
    """How many are at most as strong."""
    twin: Indices
    """The opponent's type with the same cards, or their number where there is none."""
    by_card: Indices
    """For each card the places in ``order`` of the types that have it, padded with their number."""
    places: Indices
    """Where sums by card stand: below, up to and in all, shape ``(3, types, cards of a type)``."""

    @staticmethod
    def of(
        cards: Indices,
        others: Indices,
        strength: Vector | None = None,
        against: Vector | None = None,
    ) -> "Meeting":
        """Return the meeting of types of these cards and strengths with others."""
        ours = np.zeros(len(cards)) if strength is None else strength
        theirs = np.zeros(len(others)) if against is None else against
        order = np.argsort(theirs, kind="stable")
        below = np.searchsorted(theirs[order], ours, side="left")
        upto = np.searchsorted(theirs[order], ours, side="right")
        count = 1 + max(cards.max(initial=-1), others.max(initial=-1))
        has = np.zeros((count, len(others)), dtype=bool)
        for card in others.T:
            has[card[order], np.arange(len(others))] = True
        before = np.concatenate([np.zeros((count, 1), dtype=np.int64), has.cumsum(axis=1)], axis=1)
        longest = int(before[:, -1].max(initial=0))
        by_card = np.full((count, longest), len(others))
        by_card[np.arange(longest) < before[:, -1:]] = np.nonzero(has)[1]
        ends = np.stack([below, upto, np.full(len(cards), len(others))])
        places = cards * (longest + 1) + before[cards, ends[:, :, np.newaxis]]
        return Meeting(cards, order, below, upto, _twins(cards, others), by_card, places)

    def sums(self, reach: NDArray[np.float64]) -> Sums:
        """Return the sums for each row of the opponent's reach, shape ``(columns, others)``."""
        columns = len(reach)
        begin = np.zeros((columns, 1))
        at = np.concatenate([reach, begin], axis=1)  # the reach of no type is zero
        ordered = np.concatenate([reach[:, self.order], begin], axis=1)
        total = np.concatenate([begin, ordered[:, :-1].cumsum(axis=1)], axis=1)
        of_card = ordered[:, self.by_card].cumsum(axis=2)
        of_card = np.concatenate([np.zeros((columns, len(self.by_card), 1)), of_card], axis=2)
        of_card = of_card.reshape(columns, -1)
        low, high, whole = (
            self._remaining(total[:, ends], of_card, places)
            for ends, places in zip(
                (self.below, self.upto, np.full_like(self.below, self.order.size)),
                self.places,
                strict=True,
            )
        )
        twin = at[:, self.twin]
        bound = RESOLUTION * total[:, -1:]
        found = whole + twin, low + high - whole, high - low + twin
        free, more, tie = (np.where(np.abs(sums) <= bound, 0.0, sums) for sums in found)
        return Sums(free, more, tie, total[:, -1])

    @staticmethod
    def _remaining(
        sums: NDArray[np.float64], of_card: NDArray[np.float64], places: Indices
    ) -> NDArray[np.float64]:
        for card in places.T:
            sums = sums - of_card[:, card]
        return sums


def _twins(cards: Indices, others: Indices) -> Indices:
    """Return the place of the type of the same cards, where types have two of them."""
    if cards.shape[1] < 2:
        return np.full(len(cards), len(others))
    found = {key: place for place, key in enumerate(map(frozenset, others.tolist()))}
    keys = map(frozenset, cards.tolist())
    return np.array([found.get(key, len(others)) for key in keys], dtype=np.int64)
