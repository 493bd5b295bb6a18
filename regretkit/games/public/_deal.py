"""The deal of a public game: private types, who can meet whom, and how types compare."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, final

import numpy as np
from attrs import define, field
from numpy.typing import ArrayLike, NDArray

from regretkit._util._arrays import read_only
from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import did_you_mean, floats, must_be, quote, strings, whole_numbers
from regretkit.games.public._meeting import Meeting

Both: TypeAlias = tuple[Vector, Vector]


@final
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
    """

    types: tuple[tuple[str, ...], tuple[str, ...]]
    weights: Both
    cards: tuple[Indices, Indices]
    strengths: dict[str, Both]
    _meetings: dict[tuple[int, str | None], Meeting] = field(init=False)

    def __init__(
        self,
        types: Sequence[Sequence[str]],
        *,
        weights: Sequence[ArrayLike] | None = None,
        cards: Sequence[ArrayLike] | None = None,
        strengths: Sequence[ArrayLike] | Mapping[str, Sequence[ArrayLike]] | None = None,
    ) -> None:
        first, second = _two(types, "types")
        self.types = _names(first, "types[0]"), _names(second, "types[1]")
        counts = self.sizes
        self.weights = _numbers(weights or tuple(map(np.ones, counts)), counts, "weights")
        for player, weight in enumerate(self.weights):
            if not (weight >= 0).all() or not weight.any():
                raise ValueError(
                    f"weights[{player}] must be at least 0 and not all 0, got {quote(weight)}"
                )
        none = tuple(np.empty((count, 0), dtype=np.int64) for count in counts)
        self.cards = _cards(cards or none, counts)
        orders = strengths if isinstance(strengths, Mapping) else {"": strengths}
        self.strengths = {
            name: _numbers(order, counts, f"strengths[{quote(name)}]" if name else "strengths")
            for name, order in orders.items()
            if order is not None
        }
        self._meetings = {}
        for name in self.strengths:
            self._check_twins(name)

    @property
    def sizes(self) -> tuple[int, int]:
        """Number of types of each player."""
        return len(self.types[0]), len(self.types[1])

    def meeting(self, player: int, order: str | None = None) -> Meeting:
        """Return the sums over the opponent's types that each type of a player can meet.

        ``order`` names the strengths by which they are compared; None for none.
        """
        key = player, order
        if key not in self._meetings:
            cards = self.cards[player], self.cards[1 - player]
            if order is None:
                self._meetings[key] = Meeting.of(*cards)
            elif order not in self.strengths:
                known = did_you_mean(order, self.strengths)
                raise ValueError(
                    f"the deal has no strengths {quote(order)}, only {quote(list(self.strengths))}"
                    f"{known}; pass Deal(..., strengths=...)"
                )
            else:
                strengths = self.strengths[order]
                self._meetings[key] = Meeting.of(*cards, strengths[player], strengths[1 - player])
        return self._meetings[key]

    def pairs(self, rows: Indices | None = None) -> NDArray[np.float64]:
        """Return 1 for all types that can meet and 0 for others, shape ``sizes``.

        ``rows`` are the types of player 0 that are asked for, by default all.
        """
        first, second = self.cards[0] if rows is None else self.cards[0][rows], self.cards[1]
        shared = (first[:, None, :, None] == second[None, :, None, :]).any(axis=(2, 3))
        return np.where(shared, 0.0, 1.0)

    def _check_twins(self, name: str) -> None:
        meeting, (first, second) = self.meeting(0, name), self.strengths[name]
        twins = np.flatnonzero(meeting.twin < second.size)
        unlike = twins[first[twins] != second[meeting.twin[twins]]]
        if unlike.size:
            i = int(unlike[0])
            raise ValueError(
                f"strengths give types {quote(self.types[0][i])} of player 0 and "
                f"{quote(self.types[1][meeting.twin[i]])} of player 1, which are the same cards, "
                f"{first[i]:g} and {second[meeting.twin[i]]:g}; make them equally strong"
            )

    def __repr__(self) -> str:
        return f"<Deal: {self.sizes[0]} x {self.sizes[1]} types>"


def _two(value: object, name: str) -> tuple[Any, Any]:
    if not isinstance(value, Sequence) or len(value) != 2:
        raise ValueError(must_be(name, "a pair, one for each player", value))
    return value[0], value[1]


def _names(names: Sequence[str], name: str) -> tuple[str, ...]:
    checked = strings(list(names), len(names), name) or ()
    if not checked or len({*checked}) < len(checked):
        raise ValueError(must_be(name, "at least one name, without duplicates", names))
    return checked


def _numbers(value: object, counts: tuple[int, int], name: str) -> Both:
    arrays = tuple(floats(array, f"{name}[{i}]") for i, array in enumerate(_two(value, name)))
    for i, (array, count) in enumerate(zip(arrays, counts, strict=True)):
        if array.shape != (count,) or not np.isfinite(array).all():
            raise ValueError(
                must_be(f"{name}[{i}]", f"{count} finite numbers, one for each type", array)
            )
    return read_only(arrays[0].copy()), read_only(arrays[1].copy())


def _cards(value: object, counts: tuple[int, int]) -> tuple[Indices, Indices]:
    """Return the cards of each player's types, of equally many each, numbered from 0."""
    given = [np.asarray(array) for array in _two(value, "cards")]
    for i, (array, count) in enumerate(zip(given, counts, strict=True)):
        width = array.size // count
        if array.shape != (count, width) or width > 2 or array.shape[1] != given[0].shape[1]:
            raise ValueError(
                f"cards[{i}] has shape {array.shape}, but must have shape ({count}, 0), "
                f"({count}, 1) or ({count}, 2), with equally many cards for both players"
            )
        held = [{*cards} for cards in array.tolist()]
        if any(len(cards) < width for cards in held):
            raise ValueError(must_be(f"cards[{i}]", "different cards for each type", array))
        if width and len({*map(frozenset, held)}) < count:
            raise ValueError(
                f"cards[{i}] has two types of the same cards; list them once, with one weight"
            )
    flat = [whole_numbers(array.ravel(), f"cards[{i}]") for i, array in enumerate(given)]
    # From 0 without gaps, as places in an array
    _, numbered = np.unique(np.concatenate(flat), return_inverse=True)
    first, second = np.split(numbered.astype(np.int64), [flat[0].size])
    return read_only(first.reshape(given[0].shape)), read_only(second.reshape(given[1].shape))
