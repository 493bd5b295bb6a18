"""The deal of a public game: private types, compatible pairs of types, and their strengths."""

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
    """Sums of the opponent's reach over its types, for each own type; see ``Meeting``."""

    free: NDArray[np.float64]
    """Sums over compatible types, shape ``(columns, types)``."""
    more: NDArray[np.float64]
    """Sums over weaker types minus sums over stronger ones, shape ``(columns, types)``."""
    tie: NDArray[np.float64]
    """Sums over types of equal strength, shape ``(columns, types)``."""
    total: Vector
    """Sums over all types, shape ``(columns,)``."""


@frozen(eq=False)
class Meeting:
    """Sums over the opponent's compatible types, in linear time by inclusion and exclusion.

    Types are compatible if they share no card. Let r be the opponent's reach and T its sum. At
    strength s of the own type, let W be the sum of r over strengths less than s, and U over
    strengths of at most s. Let T_c, W_c and U_c be the same sums over types with card c. For an own
    type i with cards a and b, and r' the reach of the opponent's type with the same cards,

        free_i = T - T_a - T_b + r'
        more_i = (W - W_a - W_b) + (U - U_a - U_b) - (T - T_a - T_b)
        tie_i  = (U - U_a - U_b) - (W - W_a - W_b) + r'

    Sums of at most 2^-44 T are set to 0. Otherwise regret matching would act on rounding errors of
    types without compatible types. All engines sum from the weakest type to the strongest.
    """

    cards: Indices
    """The player's cards, shape ``(types, cards of a type)``."""
    order: Indices
    """The opponent's types, the weakest first."""
    below: Indices
    """For each type, the number of weaker types of the opponent, shape ``(types,)``."""
    upto: Indices
    """For each type, the number of the opponent's types of at most its strength, ``(types,)``."""
    twin: Indices
    """For each type, the opponent's type with the same cards, or the number of types if none."""
    by_card: Indices
    """For each card, the places in ``order`` of types with it, padded with the number of types."""
    places: Indices
    """Places of W_c, U_c and T_c among the sums by card, ``(3, types, cards of a type)``."""

    @staticmethod
    def of(
        cards: Indices,
        others: Indices,
        strength: Vector | None = None,
        against: Vector | None = None,
    ) -> "Meeting":
        """Return the ``Meeting`` of types with these cards and strengths against ``others``."""
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
        at = np.concatenate([reach, begin], axis=1)  # index ``others`` has reach 0: no twin
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
    """Return the index of the type with the same two cards, ``len(others)`` if no type has them."""
    if cards.shape[1] < 2:
        return np.full(len(cards), len(others))
    found = {key: place for place, key in enumerate(map(frozenset, others.tolist()))}
    keys = map(frozenset, cards.tolist())
    return np.array([found.get(key, len(others)) for key in keys], dtype=np.int64)


Both: TypeAlias = tuple[Vector, Vector]


@define(eq=False, repr=False, init=False)
class Deal:
    """The private types of two players, their probabilities, and their strengths.

    With weights w and w', types i and j have the probability

        w[i] w'[j] / Z  if they are compatible: if they share no card;  0 otherwise

    with Z such that these sum to 1. Each player observes only its own type.

    Parameters
    ----------
    types
        For each player, the names of its types.
    weights
        For each player, a weight at least 0 for each type, by default 1.
    cards
        For each player, the cards of each type, whole numbers of shape ``(types, 0)``,
        ``(types, 1)`` or ``(types, 2)``. By default there are no cards.
    strengths
        For each player, the strength of each type; the highest wins. Or a mapping from names to
        such pairs, of which ``Compare.order`` selects one. Types with the same two cards must be
        equally strong.
    symmetries
        Pairs of permutations of both players' types, where type i becomes ``permutation[i]``. They
        must form a group, and preserve weights and compatibility. Types that symmetries exchange
        share decision points until an outcome of chance distinguishes them. A symmetry must map an
        outcome of chance to itself or to one of its ``images``.

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

    Two symmetric suits:

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
        """Return the ``Meeting`` of a player's types with the opponent's.

        ``order`` is the name of the strengths to compare; with None, all are equal.
        """
        if (player, order) not in self._meetings:
            cards = self.cards[player], self.cards[1 - player]
            if order is not None and order not in self.strengths:
                raise ValueError(
                    f"the deal has no strengths {quote(order)}, only {quote([*self.strengths])}"
                    f"{did_you_mean(order, self.strengths)}"
                )
            compared = () if order is None else self.strengths[order][:: -1 if player else 1]
            self._meetings[player, order] = Meeting.of(*cards, *compared)
        return self._meetings[player, order]

    def pairs(self, rows: Indices | None = None) -> NDArray[np.float64]:
        """Return 1 for compatible types and 0 for others, shape ``sizes``.

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
                f"types with the same cards must be equally strong, got {first[i]:g} for "
                f"{quote(self.types[0][i])} of player 0, {second[meeting.twin[i]]:g} for player 1"
            )

    def _check_symmetries(self) -> None:
        pairs = self.pairs() if self.symmetries else np.ones((0, 0))
        for i, (first, second) in enumerate(self.symmetries):
            weights = zip(self.weights, (first, second), strict=True)
            kept = all(np.array_equal(weight[p], weight) for weight, p in weights)
            if not kept or not np.array_equal(pairs[np.ix_(first, second)], pairs):
                raise ValueError(f"symmetries[{i}] must preserve weights and compatible types")
        if not self.is_group(range(len(self.symmetries))):
            raise ValueError("symmetries must be a group: add missing products of any two")

    def is_group(self, numbers: Sequence[int]) -> bool:
        """Return whether these symmetries are closed under products."""
        chosen = [self.symmetries[number] for number in numbers]
        known = {*map(_key, chosen)}
        return all(_key(_after(*pair)) in known for pair in itertools.product(chosen, repeat=2))

    def order(self, numbers: Sequence[int]) -> int:
        """Return the number of distinct permutations among these symmetries and the identity."""
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
    """Check the cards of both players' types, and renumber them from 0 without gaps."""
    first, second = (np.asarray(array) for array in value)
    for i, (array, count) in enumerate(zip((first, second), counts, strict=True)):
        width = array.shape[-1]
        held = [frozenset(cards) for cards in array.tolist()]
        if array.shape != (count, width) or width > 2 or width != first.shape[-1]:
            raise ValueError(
                f"cards[{i}] must have shape ({count}, 0), ({count}, 1) or ({count}, 2), with the "
                f"same number of cards for both players, got {array.shape}"
            )
        if width and (min(map(len, held)) < width or len({*held}) < count):
            wanted = "different cards for each type, and each pair of cards once"
            raise ValueError(must_be(f"cards[{i}]", wanted, array))
    flat = whole_numbers(np.concatenate([first.ravel(), second.ravel()]), "cards")
    _, numbered = np.unique(flat, return_inverse=True)
    found = np.split(numbered.astype(np.int64), [first.size])
    return read_only(found[0].reshape(first.shape)), read_only(found[1].reshape(second.shape))
