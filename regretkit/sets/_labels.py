"""Names of blocks and of their actions."""

import operator
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, partial
from typing import Any, TypedDict, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from regretkit._util import _validate
from regretkit._util._typing import Indices
from regretkit._util._validate import quote

T = TypeVar("T", covariant=True)


class LazySequence(Sequence[T]):
    """A sequence that computes each item from its index at each access.

    Names of millions of information sets thus need no memory.

    >>> squares = LazySequence(1_000_000, lambda number: number**2)
    >>> squares[3], squares[-1], squares[:4]
    (9, 999998000001, (0, 1, 4, 9))
    """

    __slots__ = ("_length", "make")

    def __init__(self, length: int, make: Callable[[int], T]) -> None:
        self._length = length
        self.make = make

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[T, ...]: ...
    def __getitem__(self, index: int | slice) -> T | tuple[T, ...]:
        selected = range(self._length)[index]
        return self.make(selected) if isinstance(selected, int) else (*map(self.make, selected),)

    def __iter__(self) -> Iterator[T]:
        return map(self.make, range(self._length))

    def select(self, numbers: Indices) -> "LazySequence[T]":
        """Return the items at these indices, in this order."""
        return LazySequence(numbers.size, partial(_make_selected, self.make, numbers))

    def __deepcopy__(self, memo: object) -> "LazySequence[T]":
        return self  # immutable, and ``make`` may hold a large object

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LazySequence | tuple):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))


def _make_selected(make: Callable[[int], Any], numbers: Indices, number: int) -> Any:
    return make(int(numbers[number]))


class Names(TypedDict):
    """The keyword arguments of ``Simplices`` that name blocks and actions."""

    labels: Sequence[str] | None
    actions: Sequence[Sequence[str]] | None


class Labels:
    """Optional names of blocks and actions. The default names are numbers."""

    def __init__(
        self,
        sizes: Indices,
        labels: Iterable[str] | None,
        actions: Iterable[Sequence[str]] | None,
    ) -> None:
        self._sizes = sizes
        if labels is not None and not isinstance(labels, LazySequence):
            labels = _validate.strings(labels, sizes.size, "labels")
        if actions is not None and not isinstance(actions, LazySequence):
            _validate.ordered(actions, "actions")
            names = tuple(actions)
            if len(names) != sizes.size:
                raise ValueError(f"actions must have {sizes.size} entries, got {len(names)}")
            pairs = enumerate(zip(names, sizes.tolist(), strict=True))
            actions = [_validate.strings(own, n, f"actions[{j}]") for j, (own, n) in pairs]
        self._blocks: Sequence[str] | None = labels
        self._actions: Sequence[Sequence[str]] | None = actions

    @property
    def named(self) -> bool:
        """Whether the blocks have names other than their numbers."""
        return self._blocks is not None

    def block(self, number: int) -> str:
        """Return the name of a block."""
        return str(number) if self._blocks is None else self._blocks[number]

    def actions(self, number: int) -> tuple[str, ...]:
        """Return the names of a block's actions."""
        if self._actions is None:
            return tuple(map(str, range(self._sizes[number])))
        return tuple(self._actions[number])

    def select(self, numbers: Indices) -> Names:
        """Return the names of these blocks, as arguments of ``Simplices``."""
        return Names(
            labels=_selected(self._blocks, numbers), actions=_selected(self._actions, numbers)
        )

    @cached_property
    def _checksums(self) -> NDArray[np.uint32]:
        # Four bytes for each name, because there may be millions of names.
        names = self._blocks or ()
        return np.fromiter(map(_checksum, names), np.uint32, len(names))

    def numbers(self, label: str) -> list[int]:
        """Return the numbers of all blocks with this name."""
        candidates = np.flatnonzero(self._checksums == _checksum(label)).tolist()
        return [number for number in candidates if self.block(number) == label]

    def find(self, key: int | str) -> int:
        """Return the number of a block, given its number or its unique name."""
        found = self.numbers(key) if isinstance(key, str) else [operator.index(key)]
        if len(found) > 1:
            raise ValueError(
                f"label {quote(key)} is ambiguous: decision points {quote(found)} all have it; "
                "pass one of these numbers"
            )
        if found and 0 <= found[0] < self._sizes.size:
            return found[0]
        known, close = f"the numbers go from 0 to {self._sizes.size - 1}", ""
        if isinstance(key, str) and self._blocks is not None:
            known = f"the labels are {_validate.candidates(self._blocks)}"
            close = _validate.did_you_mean(key, self._blocks)
        raise ValueError(f"there is no decision point {quote(key)}; {known}{close}")


def _selected(names: Sequence[T] | None, numbers: Indices) -> Sequence[T] | None:
    if isinstance(names, LazySequence):
        return names.select(numbers)
    return None if names is None else tuple(names[i] for i in numbers)


def _checksum(name: str) -> int:
    # Not hash(), whose values differ between processes, so that pickles stay valid.
    return zlib.crc32(name.encode(errors="surrogatepass"))
