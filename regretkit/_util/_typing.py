"""The arrays that the whole library speaks, and what reads numbers out of narrow ones."""

from collections.abc import Callable
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

Vector: TypeAlias = NDArray[np.float64]
Indices: TypeAlias = NDArray[np.signedinteger[Any]]
"""Of int64, or of int32 where there are very many and that is enough."""

UInt32Array: TypeAlias = NDArray[np.uint32]
"""Indices of half the usual width, and so half as much memory to go through.

Without a sign: machine code then need not look, at every step, whether one counts from the end.
"""

as_int64 = cast("Callable[[np.unsignedinteger[Any]], int]", np.int64)
"""Makes an ordinary number of a narrow one, which can be counted down and added to."""


def span(begin: UInt32Array, k: int) -> range:
    """Return the numbers from one entry of ``begin`` up to the next."""
    return range(as_int64(begin[k]), as_int64(begin[k + 1]))


def backwards(begin: UInt32Array, k: int) -> range:
    """Return the numbers of ``span``, the last one first."""
    return range(as_int64(begin[k + 1]) - 1, as_int64(begin[k]) - 1, -1)
