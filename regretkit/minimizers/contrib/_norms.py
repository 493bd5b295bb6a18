"""Euclidean norms of blocks, without underflow or overflow."""

import numpy as np

from regretkit._util._typing import Vector
from regretkit.sets import Simplices

_SMALL, _LARGE = 1e-280, 1e280
"""Between these a sum of squares has lost nothing that mattered to an underflow or overflow."""


def norms(simplices: Simplices, vector: Vector) -> Vector:
    """Return the Euclidean norm of each block, shape ``(blocks,)``.

    Scaling a block by a power of two scales its norm by exactly that power.
    """
    with np.errstate(over="ignore", under="ignore"):
        squares = simplices.dot(vector, vector)
    lengths = np.sqrt(squares)
    wild = ~((squares > _SMALL) & (squares < _LARGE))
    if wild.any():
        wild &= simplices.max(np.abs(vector)) > 0.0  # a block of zeros has the norm zero
    outside = np.flatnonzero(wild)
    if outside.size:
        where, few = simplices.coordinates(outside), Simplices(simplices.sizes[outside])
        _, exponents = np.frexp(few.max(np.abs(vector[where])))
        scaled = np.ldexp(vector[where], -few.repeat(exponents))
        with np.errstate(under="ignore"):
            lengths[outside] = np.ldexp(np.sqrt(few.dot(scaled, scaled)), exponents)
    return lengths


def hypot_accumulate(left: Vector, right: Vector) -> Vector:
    """Return ``sqrt(left^2 + right^2)`` of numbers that are not negative, by elements."""
    high, length = np.maximum(left, right), np.minimum(left, right)
    with np.errstate(under="ignore", invalid="ignore"):
        length /= high
        length *= length
        length += 1.0
        np.sqrt(length, out=length)
        length *= high
    # Zero over zero is no number, and zero has the length zero.
    return np.fmax(length, high, out=length)
