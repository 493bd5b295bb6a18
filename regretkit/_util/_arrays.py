"""Array operations whose result never depends on anything but the numbers that belong to it."""

from collections.abc import Iterable
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from regretkit._util._typing import Indices, UInt32Array, Vector

AnyArray = TypeVar("AnyArray", bound=NDArray[Any])

RESOLUTION = 2.0**-44
"""A sum of at most this share of the magnitudes that were added is rounding, and counts as zero."""
# With numbers of Python instead, operations on short arrays take twice as long.
_ZERO, _RESOLUTION = np.zeros(()), np.array(RESOLUTION)

_LARGEST_INDEX = np.iinfo(np.uint32).max

_PIECE = 1 << 15
"""As many numbers as stay in a processor's cache while pass after pass goes over them."""

_SHORT = 10
"""Runs that are shorter than this on average are quicker to go through number by number,"""
_FEW = 20
"""unless there are fewer than this."""


def segment_sum(index: Indices, values: Vector, size: int) -> Vector:
    """Add up the values of each index from 0 to ``size - 1``, in order, from left to right.

    One order of summation wherever the values lie; pairwise summation, which numpy's own sums
    use, would not promise that.
    """
    totals = np.bincount(index, weights=values, minlength=size)
    return totals.astype(np.float64, copy=False)


def zero_cancelled(totals: Vector, magnitudes: Vector) -> Vector:
    """Set those totals to zero that are at most ``RESOLUTION`` of their magnitudes; return them.

    Regret matching turns a sum that cancels up to rounding, 1e-17 instead of 0, into play.
    """
    if totals.size > _PIECE:
        bound = RESOLUTION * max(magnitudes.max(), -magnitudes.min())
        for start in range(0, totals.size, _PIECE):
            part = totals[start : start + _PIECE]
            # Mostly none is this small, and magnitudes need not be looked at one by one.
            if np.abs(part).min() <= bound:
                zero_cancelled(part, magnitudes[start : start + _PIECE])
    else:
        np.copyto(totals, _ZERO, where=abs(totals) <= abs(_RESOLUTION * magnitudes))
    return totals


def add_cancelling(left: Vector, right: Vector) -> Vector:
    """Return ``left + right``, a new array, exactly zero where the two cancel up to rounding."""
    return zero_cancelled(left + right, right)


def sum_terms(index: Indices, terms: Vector, size: int) -> Vector:
    """Add up the terms of each index, zero where the sum is at most 2^-44 of their magnitudes."""
    totals = segment_sum(index, terms, size)
    # Rows in which something may have cancelled are rare, and magnitudes cost as much as the sums.
    largest = np.abs(terms).max(initial=0.0) * terms.size
    if ((np.abs(totals) <= RESOLUTION * largest) & (totals != 0.0)).any():
        zero_cancelled(totals, segment_sum(index, np.abs(terms), size))
    return totals


def sum_cancelling(numbers: Iterable[float]) -> float:
    """Return the sum of ``numbers``, exactly zero where they cancel up to rounding."""
    total, magnitude = 0.0, 0.0
    for number in numbers:
        total += number
        magnitude += abs(number)
    return 0.0 if abs(total) <= RESOLUTION * magnitude else total


def segment_max(index: Indices, values: Vector, first: Indices) -> Vector:
    """Return the largest value of each index, where equal indices stand together.

    ``first`` says where each index first stands.
    """
    largest: Vector
    if first.size < _FEW or values.size >= _SHORT * first.size:
        largest = np.maximum.reduceat(values, first)
    else:
        largest = values[first]
        np.maximum.at(largest, index, values)
    return largest


def length(array: Vector) -> float:
    """Return the root of the sum of squares, of numbers whose squares may leave the range."""
    largest = float(np.abs(array).max(initial=0.0))
    return largest * float(np.linalg.norm(array / largest)) if largest else 0.0


def expand_ranges(begin: Indices, lengths: Indices) -> Indices:
    """Return the numbers ``begin, begin + 1, ...`` of each group of these lengths."""
    ends = np.cumsum(lengths)
    return np.repeat(begin - (ends - lengths), lengths) + np.arange(int(lengths.sum()))


def as_uint32(indices: Indices) -> UInt32Array:
    """Return indices as unsigned 32-bit integers."""
    if indices.size and int(indices.max()) > _LARGEST_INDEX:
        raise MemoryError(
            f"the game needs the index {indices.max()}, and the largest is {_LARGEST_INDEX}"
        )
    return np.ascontiguousarray(indices, dtype=np.uint32)


def depths(parent: Indices) -> Indices:
    """Return how many steps each index is from where ``parent``, -1 at the top, comes to an end."""
    depth = (parent >= 0).astype(np.int64)
    ancestor = parent
    # Pointer jumping: each step doubles the distance to ``ancestor``.
    while (has_parent := ancestor >= 0).any():
        depth += np.where(has_parent, depth[ancestor], 0)
        ancestor = np.where(has_parent, ancestor[ancestor], -1)
    return depth


def read_only(array: AnyArray) -> AnyArray:
    """Return an array that can no longer be written to."""
    array.setflags(write=False)
    return array


Selection: TypeAlias = slice | Indices
"""Coordinates, as a slice where they are consecutive: a view and not a copy."""


def as_slice(coordinates: Indices) -> Selection:
    """Return ``coordinates`` as a slice if each follows the one before it."""
    if coordinates.size and (np.diff(coordinates) == 1).all():
        return slice(int(coordinates[0]), int(coordinates[-1]) + 1)
    return coordinates


def shifted(chosen: Selection, begin: int) -> Selection:
    """Return coordinates that are larger by ``begin``."""
    if isinstance(chosen, slice):
        return slice(begin + chosen.start, begin + chosen.stop)
    return as_slice(begin + chosen)
