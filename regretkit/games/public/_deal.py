"""The deal of a public game: private types, who can meet whom, and how types compare."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from attrs import define, field, frozen
from numpy.typing import ArrayLike, NDArray

from regretkit._util._arrays import RESOLUTION, read_only
from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import did_you_mean, floats, must_be, quote, strings, whole_numbers


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


@frozen(eq=False)
class Meeting:
    """One player's types against the opponent's, by cards and strengths.

    With r the opponent's reach, T its sum, W(s) its sum over strengths less than s and U(s) over
    those of at most s, T_c, W_c and U_c the same sums over types with card c, and types i of cards
    a and b,

        free_i = T - T_a - T_b + r of the type with the same cards, if there is one
        more_i = (W - W_a - W_b) + (U - U_a - U_b) - (T - T_a - T_b)
        tie_i = (U - U_a - U_b) - (W - W_a - W_b) + r of the type with the same cards

    Sums of at most 2^-44 T are zero. Else regret matching would play on the rounding errors of
    types that meet no other. All sums are from the weakest type to the strongest, from left
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
    """Places of the sums by card: below, up to and in all, ``(3, types, cards of a type)``."""

    @staticmethod
    def of(
        cards: Indices,
        others: Indices,
        strength: Vector | None = None,
        against: Vector | None = None,
    ) -> "Meeting":
        """Return the meeting of types of these cards and strengths with others."""
        own_strength = np.zeros(len(cards)) if strength is None else strength
        opposing = np.zeros(len(others)) if against is None else against
        order = np.argsort(opposing, kind="stable")
        below = np.searchsorted(opposing[order], own_strength, side="left")
        upto = np.searchsorted(opposing[order], own_strength, side="right")
        count = 1 + max(cards.max(initial=-1), others.max(initial=-1))
        has = np.zeros((count, len(others)), dtype=bool)
        for card in others.T:
            has[card[order], np.arange(len(others))] = True
        preceding = np.concatenate(
            [np.zeros((count, 1), dtype=np.int64), has.cumsum(axis=1)], axis=1
        )
        longest = int(preceding[:, -1].max(initial=0))
        by_card = np.full((count, longest), len(others))
        by_card[np.arange(longest) < preceding[:, -1:]] = np.nonzero(has)[1]
        ends = np.stack([below, upto, np.full(len(cards), len(others))])
        places = cards * (longest + 1) + preceding[cards, ends[:, :, np.newaxis]]
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


Both: TypeAlias = tuple[Vector, Vector]


@define(eq=False, repr=False, init=False)
class Deal:
    """What chance deals to two players, each of whom sees only its own type.

    Types i and j have the probability ``weights[0][i] * weights[1][j] / Z`` if they can meet, and
    0 otherwise, with Z such that these sum to 1.

    Parameters
    ----------
    types
        For each player, the names of its types.
    weights
        For each player, a weight at least 0 for each type, by default ones.
    cards
        For each player, the cards that each type consists of, whole numbers of shape
        ``(types, 0)``, ``(types, 1)`` or ``(types, 2)``: types that share a card cannot meet.
        By default all can.
    strengths
        For each player, the strength of each type, of which the highest wins; or several of these
        by name, of which ``Compare`` names one. Types of the same two cards are equally strong.
    symmetries
        Pairs of permutations of both players' types, which make a group and change neither weights
        nor who can meet whom: type i becomes type ``permutation[i]``. Types that become one another
        share their decision points as long as the outcomes of chance do not tell them apart, so
        that strategies are those that the symmetries leave as they are. What a symmetry makes of an
        outcome of chance is the outcome itself or one of its ``images``.

    Examples
    --------
    >>> cards = np.arange(3)
    >>> deal = Deal(("JQK", "JQK"), cards=(cards[:, None],) * 2, strengths=(cards, cards))
    >>> deal
    <Deal: 3 x 3 types>
    >>> deal.pairs()
    array([[0., 1., 1.],
           [1., 0., 1.],
           [1., 1., 0.]])

    Two suits that can be exchanged:

    >>> Deal((["Ac", "Ad"], ["Kc", "Kd"]), symmetries=[([0, 1], [0, 1]), ([1, 0], [1, 0])])
    <Deal: 2 x 2 types, 2 symmetries>
    """

    types: tuple[tuple[str, ...], tuple[str, ...]]
    weights: Both
    cards: tuple[Indices, Indices]
    strengths: dict[str, Both]
    symmetries: tuple[tuple[Indices, Indices], ...]
    _meetings: dict[tuple[int, str | None], Meeting] = field(init=False)

    def __init__(
        self,
        types: Sequence[Sequence[str]],
        *,
        weights: Sequence[ArrayLike] | None = None,
        cards: Sequence[ArrayLike] | None = None,
        strengths: Sequence[ArrayLike] | Mapping[str, Sequence[ArrayLike]] | None = None,
        symmetries: Sequence[Sequence[ArrayLike]] = (),
    ) -> None:
        first, second = types
        self.types = _names(first, "types[0]"), _names(second, "types[1]")
        counts = self.sizes
        self.weights = _numbers(weights or tuple(map(np.ones, counts)), counts, "weights")
        for player, weight in enumerate(self.weights):
            if not (weight >= 0).all() or not weight.any():
                raise ValueError(
                    f"weights[{player}] must be at least 0 and not all 0, got {quote(weight)}"
                )
        empty = tuple(np.empty((count, 0), dtype=np.int64) for count in counts)
        self.cards = _cards(cards or empty, counts)
        orders = strengths if isinstance(strengths, Mapping) else {"": strengths}
        self.strengths = {
            name: _numbers(order, counts, f"strengths[{quote(name)}]" if name else "strengths")
            for name, order in orders.items()
            if order is not None
        }
        self._meetings = {}
        for name in self.strengths:
            self._check_twins(name)
        self.symmetries = tuple(_permutations(pair, counts) for pair in symmetries)
        self._check_symmetries()

    @property
    def sizes(self) -> tuple[int, int]:
        """Number of types of each player."""
        return len(self.types[0]), len(self.types[1])

    def meeting(self, player: int, order: str | None = None) -> Meeting:
        """Return the sums over the opponent's types that each type of a player can meet.

        ``order`` names the strengths by which they are compared; None for none.
        """
        if (player, order) not in self._meetings:
            cards = self.cards[player], self.cards[1 - player]
            if order is not None and order not in self.strengths:
                raise ValueError(
                    f"the deal has no strengths {quote(order)}, only {quote([*self.strengths])}"
                    f"{did_you_mean(order, self.strengths)}; pass Deal(..., strengths=...)"
                )
            compared = () if order is None else self.strengths[order][:: -1 if player else 1]
            self._meetings[player, order] = Meeting.of(*cards, *compared)
        return self._meetings[player, order]

    def pairs(self, rows: Indices | None = None) -> NDArray[np.float64]:
        """Return 1 for all types that can meet and 0 for others, shape ``sizes``.

        ``rows`` selects types of player 0, by default all.
        """
        first, second = self.cards[0] if rows is None else self.cards[0][rows], self.cards[1]
        shared = (first[:, None, :, None] == second[None, :, None, :]).any(axis=(2, 3))
        return np.where(shared, 0.0, 1.0)

    def _check_twins(self, name: str) -> None:
        meeting, (first, second) = self.meeting(0, name), self.strengths[name]
        twins = np.flatnonzero(meeting.twin < second.size)
        for i in twins[first[twins] != second[meeting.twin[twins]]].tolist():
            raise ValueError(
                f"strengths give type {quote(self.types[0][i])} of player 0 {first[i]:g}, and the "
                f"same cards of player 1 {second[meeting.twin[i]]:g}; make them equally strong"
            )

    def _check_symmetries(self) -> None:
        pairs = self.pairs() if self.symmetries else np.ones((0, 0))
        for i, (first, second) in enumerate(self.symmetries):
            weights = zip(self.weights, (first, second), strict=True)
            kept = all(np.array_equal(weight[p], weight) for weight, p in weights)
            if not kept or not np.array_equal(pairs[np.ix_(first, second)], pairs):
                raise ValueError(
                    f"symmetries[{i}] changes weights or who can meet whom; leave it out"
                )
        if not self.is_group(range(len(self.symmetries))):
            raise ValueError("symmetries must be a group: add products of any two that are missing")

    def is_group(self, numbers: Sequence[int]) -> bool:
        """Return whether any two of these symmetries, one after the other, are one of them."""
        chosen = [self.symmetries[number] for number in numbers]
        known = {*map(_key, chosen)}
        return all(_key(_after(*pair)) in known for pair in itertools.product(chosen, repeat=2))

    def order(self, numbers: Sequence[int]) -> int:
        """Return how many permutations these symmetries are, the identity included."""
        identity = np.arange(self.sizes[0]), np.arange(self.sizes[1])
        return len({_key(identity), *(_key(self.symmetries[number]) for number in numbers)})

    def __repr__(self) -> str:
        symmetries = f", {len(self.symmetries)} symmetries" if self.symmetries else ""
        return f"<Deal: {self.sizes[0]} x {self.sizes[1]} types{symmetries}>"


def _after(
    last: tuple[Indices, Indices], first: tuple[Indices, Indices]
) -> tuple[Indices, Indices]:
    return last[0][first[0]], last[1][first[1]]


def _key(pair: tuple[Indices, Indices]) -> bytes:
    return np.concatenate(pair).tobytes()


def _names(names: Sequence[str], name: str) -> tuple[str, ...]:
    checked = strings(list(names), len(names), name)
    if not checked or len({*checked}) < len(checked):
        raise ValueError(must_be(name, "at least one name, without duplicates", names))
    return checked


def _numbers(value: Any, counts: tuple[int, int], name: str) -> Both:
    arrays = []
    for array, count in zip(value, counts, strict=True):
        arrays.append(read_only(floats(array, name).copy()))
        if arrays[-1].shape != (count,) or not np.isfinite(arrays[-1]).all():
            wanted = f"{count} finite numbers, one for each type"
            raise ValueError(must_be(f"{name}[{len(arrays) - 1}]", wanted, array))
    return arrays[0], arrays[1]


def _permutations(value: Any, counts: tuple[int, int]) -> tuple[Indices, Indices]:
    made = [read_only(whole_numbers(permutation, "symmetries")) for permutation in value]
    for permutation, count in zip(made, counts, strict=True):
        if not np.array_equal(np.sort(permutation), np.arange(count)):
            raise ValueError(must_be("symmetries", f"permutations of {count} types", permutation))
    return made[0], made[1]


def _cards(value: Any, counts: tuple[int, int]) -> tuple[Indices, Indices]:
    """Return the cards of each player's types, of equally many each, numbered from 0."""
    first, second = (np.asarray(array) for array in value)
    for i, (array, count) in enumerate(zip((first, second), counts, strict=True)):
        width = array.shape[-1]
        held = [frozenset(cards) for cards in array.tolist()]
        if array.shape != (count, width) or width > 2 or width != first.shape[-1]:
            raise ValueError(
                f"cards[{i}] has shape {array.shape}, but must have shape ({count}, 0), "
                f"({count}, 1) or ({count}, 2), with equally many cards for both players"
            )
        if width and (min(map(len, held)) < width or len({*held}) < count):
            wanted = "different cards for each type, and each pair of cards once"
            raise ValueError(must_be(f"cards[{i}]", wanted, array))
    flat = whole_numbers(np.concatenate([first.ravel(), second.ravel()]), "cards")
    # From 0 without gaps, as places in an array
    _, numbered = np.unique(flat, return_inverse=True)
    found = np.split(numbered.astype(np.int64), [first.size])
    return read_only(found[0].reshape(first.shape)), read_only(found[1].reshape(second.shape))
