"""Sequences whose items are made when they are asked for."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, TypeVar, final, overload

from typing_extensions import override

from regretkit._util._typing import Indices

T = TypeVar("T", covariant=True)


@final
class LazySequence(Sequence[T]):
    """A sequence that holds no items: each access creates its item anew.

    A game with millions of information sets can so have a name for each of them.

    Parameters
    ----------
    length
        Number of items.
    make
        Called with the number of an item, from 0, returns it.

    Examples
    --------
    >>> squares = LazySequence(1_000_000, lambda number: number**2)
    >>> squares[3], squares[-1], squares[:4]
    (9, 999998000001, (0, 1, 4, 9))
    """

    __slots__ = ("_length", "_make")

    def __init__(self, length: int, make: Callable[[int], T]) -> None:
        self._length = length
        self._make = make

    @property
    def make(self) -> Callable[[int], T]:
        """What returns an item, when it is called with its number."""
        return self._make

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[T, ...]: ...
    @override
    def __getitem__(self, index: int | slice) -> T | tuple[T, ...]:
        # A range knows what an index means, and which are out of range.
        where = range(self._length)[index]
        return self._make(where) if isinstance(where, int) else tuple(map(self._make, where))

    @override
    def __iter__(self) -> Iterator[T]:
        return map(self._make, range(self._length))

    def select(self, numbers: Indices) -> "LazySequence[T]":
        """Return the items with these numbers, in this order."""
        return LazySequence(numbers.size, partial(_selected, self._make, numbers))

    def __deepcopy__(self, memo: object) -> "LazySequence[T]":
        # It cannot change, and what it makes names of may be large.
        return self

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LazySequence | tuple):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self[:6]))
        return f"LazySequence({shown}{f', ... {len(self)} items' if len(self) > 6 else ''})"


def _selected(make: Callable[[int], Any], numbers: Indices, number: int) -> Any:
    return make(int(numbers[number]))
