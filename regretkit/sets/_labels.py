"""Names of blocks and of their actions, and finding a block by its name."""

import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, TypedDict, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from regretkit._util import _validate
from regretkit._util._typing import Indices
from regretkit._util._validate import quote

T = TypeVar("T", covariant=True)


class LazySequence(Sequence[T]):
    """A sequence that holds no items: each access creates its item anew.

    A game with millions of information sets can so have a name for each of them.

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
    def __getitem__(self, index: int | slice) -> T | tuple[T, ...]:
        # A range knows what an index means, and which are out of range.
        selected = range(self._length)[index]
        return (
            self._make(selected) if isinstance(selected, int) else tuple(map(self._make, selected))
        )

    def __iter__(self) -> Iterator[T]:
        return map(self._make, range(self._length))

    def select(self, numbers: Indices) -> "LazySequence[T]":
        """Return the items with these numbers, in this order."""
        return LazySequence(numbers.size, partial(_make_selected, self._make, numbers))

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


def _make_selected(make: Callable[[int], Any], numbers: Indices, number: int) -> Any:
    return make(int(numbers[number]))


class Names(TypedDict):
    """The two keyword arguments that name the parts of a product of simplices."""

    labels: Sequence[str] | None
    actions: Sequence[Sequence[str]] | None


class Labels:
    """Optional names; what was not named is called by its number."""

    def __init__(
        self,
        sizes: Indices,
        labels: Iterable[str] | None,
        actions: Iterable[Sequence[str]] | None,
    ) -> None:
        self._sizes = sizes
        self._blocks = _block_names(sizes, labels)
        self._actions = None if actions is None else _action_names(sizes, actions)
        self._checksums: NDArray[np.uint32] | None = None

    @property
    def named(self) -> bool:
        """Whether the blocks have names, and not only numbers."""
        return self._blocks is not None

    def block(self, number: int) -> str:
        """Return the name of a block."""
        return str(number) if self._blocks is None else self._blocks[number]

    def actions(self, number: int) -> tuple[str, ...]:
        """Return the names of a block's actions."""
        if self._actions is None:
            return tuple(str(action) for action in range(self._sizes[number]))
        return tuple(self._actions[number])

    def select(self, numbers: Indices) -> Names:
        """Return the names of some blocks, as the arguments that would give them."""
        return Names(
            labels=_selected(self._blocks, numbers), actions=_selected(self._actions, numbers)
        )

    def numbers(self, label: str) -> list[int]:
        """Return the numbers of all blocks of this name."""
        names = self._blocks or ()
        # Four bytes for each name, since names may be millions and generated lazily
        if self._checksums is None:
            self._checksums = np.fromiter(map(_checksum, names), np.uint32, len(names))
        candidates = np.flatnonzero(self._checksums == _checksum(label))
        return [number for number in candidates.tolist() if names[number] == label]

    def find(self, key: int | str) -> int:
        """Return the number of the block called ``key``, a number or a name that is unique."""
        if isinstance(key, str):
            return self._find_name(key)
        if isinstance(key, bool) or not isinstance(key, int | np.integer):
            raise TypeError(f"a decision point has a label or a number, got {quote(key)}")
        if not 0 <= key < self._sizes.size:
            raise ValueError(
                f"there is no decision point {key}: the numbers go from 0 to {self._sizes.size - 1}"
            )
        return int(key)

    def _find_name(self, label: str) -> int:
        found = self.numbers(label)
        if not found and self._blocks is None:
            raise ValueError(
                f"there is no decision point {quote(label)}: none is named here; "
                f"pass a number from 0 to {self._sizes.size - 1}"
            )
        if not found:
            known = _validate.candidates(self._blocks or ())
            hint = _validate.did_you_mean(label, self._blocks or ())
            raise ValueError(
                f"there is no decision point {quote(label)}; the labels are {known}{hint}"
            )
        if len(found) > 1:
            raise ValueError(
                f"label {quote(label)} is ambiguous: decision points {quote(found)} all have it; "
                "pass one of these numbers"
            )
        return found[0]


def _selected(names: Sequence[T] | None, numbers: Indices) -> Sequence[T] | None:
    if isinstance(names, LazySequence):
        return names.select(numbers)
    return None if names is None else tuple(names[i] for i in numbers)


def _checksum(name: str) -> int:
    # And not hash(), which is another one in the process that reads a pickle
    return zlib.crc32(name.encode(errors="surrogatepass"))


def _block_names(sizes: Indices, labels: Iterable[str] | None) -> Sequence[str] | None:
    if isinstance(labels, LazySequence) and len(labels) == sizes.size:
        return labels
    return _validate.strings(labels, sizes.size, "labels")


def _action_names(sizes: Indices, actions: Iterable[Sequence[str]]) -> Sequence[Sequence[str]]:
    if isinstance(actions, LazySequence) and len(actions) == sizes.size:
        return actions
    _validate.ordered(actions, "actions")
    actions = tuple(actions)
    if len(actions) != sizes.size:
        raise ValueError(
            f"actions must name those of {sizes.size} decision points, got {len(actions)} of them"
        )
    checked = []
    for number, (size, names) in enumerate(zip(sizes.tolist(), actions, strict=True)):
        # Almost all are as they should be, which is quickly seen.
        if type(names) is tuple and len(names) == size and {*map(type, names)} == {str}:
            checked.append(names)
        else:
            checked.append(tuple(_validate.strings(names, size, f"actions[{number}]") or ()))
    return tuple(checked)
