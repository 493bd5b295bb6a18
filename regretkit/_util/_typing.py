"""Types of arrays, and integers from unsigned arrays."""

from collections.abc import Callable
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

Vector: TypeAlias = NDArray[np.float64]
Indices: TypeAlias = NDArray[np.signedinteger[Any]]
"""Indices of int64, or of int32 in large arrays."""

UInt32Array: TypeAlias = NDArray[np.uint32]
"""Indices of 32 bits, which need half the memory.

They are unsigned, so machine code need not test for negative indices.
"""

as_int64 = cast("Callable[[np.unsignedinteger[Any]], int]", np.int64)
"""Converts a 32-bit index to an integer for arithmetic."""


def span(begin: UInt32Array, k: int) -> range:
    """Return the range from ``begin[k]`` to ``begin[k + 1]``."""
    return range(as_int64(begin[k]), as_int64(begin[k + 1]))


def backwards(begin: UInt32Array, k: int) -> range:
    """Return ``span`` in reverse order."""
    return range(as_int64(begin[k + 1]) - 1, as_int64(begin[k]) - 1, -1)
