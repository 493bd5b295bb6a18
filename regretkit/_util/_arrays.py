"""Array operations by segment, whose results do not depend on other segments."""

from collections.abc import Iterable
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from regretkit._util._typing import Indices, UInt32Array, Vector

AnyArray = TypeVar("AnyArray", bound=NDArray[Any])

RESOLUTION = 2.0**-44
"""Largest sum, relative to the magnitudes of its summands, that counts as zero."""
# Arrays, because operations of short arrays with Python numbers take twice as long
_ZERO, _RESOLUTION = np.zeros(()), np.array(RESOLUTION)

_LARGEST_INDEX = np.iinfo(np.uint32).max

_SHORT = 10
"""Mean length of segments below which ``maximum.at`` is faster than ``reduceat``."""
_FEW = 20
"""Number of segments below which ``reduceat`` is always faster."""


def segment_sum(index: Indices, values: Vector, size: int) -> Vector:
    """Return the sum of the values of each index from 0 to ``size - 1``, from left to right.

    The order of summation does not depend on positions, unlike the pairwise sums of NumPy.
    """
    totals = np.bincount(index, weights=values, minlength=size)
    return totals.astype(np.float64, copy=False)


def zero_cancelled(totals: Vector, magnitudes: Vector) -> Vector:
    """Set totals to zero that are at most ``RESOLUTION`` of their magnitudes; return the totals.

    Otherwise regret matching would play an action for a rounding error of 1e-17.
    """
    np.copyto(totals, _ZERO, where=abs(totals) <= abs(_RESOLUTION * magnitudes))
    return totals


def add_cancelling(left: Vector, right: Vector) -> Vector:
    """Return ``left + right``, a new array, exactly zero where the two cancel up to rounding."""
    return zero_cancelled(left + right, right)


def sum_terms(index: Indices, terms: Vector, size: int) -> Vector:
    """Return the sum of each index, zero where it is at most 2^-44 of the terms' magnitudes."""
    totals = segment_sum(index, terms, size)
    # Cancellation is rare, so compute magnitudes, which cost as much as the sums, only if needed.
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
    """Return the largest value of each index, for a sorted ``index``.

    ``first`` is the first position of each index.
    """
    largest: Vector
    if first.size < _FEW or values.size >= _SHORT * first.size:
        largest = np.maximum.reduceat(values, first)
    else:
        largest = values[first]
        np.maximum.at(largest, index, values)
    return largest


def length(array: Vector) -> float:
    """Return the Euclidean norm, without overflow or underflow of squares."""
    largest = float(np.abs(array).max(initial=0.0))
    return largest * float(np.linalg.norm(array / largest)) if largest else 0.0


def expand_ranges(begin: Indices, lengths: Indices) -> Indices:
    """Return the concatenated ranges ``begin, ..., begin + length - 1``."""
    ends = np.cumsum(lengths)
    return np.repeat(begin - (ends - lengths), lengths) + np.arange(int(lengths.sum()))


def as_uint32(indices: Indices) -> UInt32Array:
    """Return indices as unsigned 32-bit integers."""
    if indices.size and int(indices.max()) > _LARGEST_INDEX:
        raise MemoryError(f"the game is too large: index {indices.max()} exceeds {_LARGEST_INDEX}")
    return np.ascontiguousarray(indices, dtype=np.uint32)


def depths(parent: Indices) -> Indices:
    """Return the depth of each index in a forest, where ``parent`` is -1 at roots."""
    depth = (parent >= 0).astype(np.int64)
    ancestor = parent
    # Pointer jumping: each step doubles the distance to ``ancestor``.
    while (has_parent := ancestor >= 0).any():
        depth += np.where(has_parent, depth[ancestor], 0)
        ancestor = np.where(has_parent, ancestor[ancestor], -1)
    return depth


def read_only(array: AnyArray) -> AnyArray:
    """Make an array read-only, and return it."""
    array.setflags(write=False)
    return array


Selection: TypeAlias = slice | Indices
"""Coordinates, as a slice if they are consecutive, which gives views instead of copies."""


def as_slice(coordinates: Indices) -> Selection:
    """Return ``coordinates`` as a slice if each follows the one before it."""
    if coordinates.size and (np.diff(coordinates) == 1).all():
        return slice(int(coordinates[0]), int(coordinates[-1]) + 1)
    return coordinates
