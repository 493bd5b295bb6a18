"""What some rules do to every block that the operations of ``Simplices`` do not."""

import numpy as np

from regretkit._util._typing import Vector
from regretkit.sets import Simplices

_SMALL, _LARGE = 1e-280, 1e280
"""Between these a sum of squares has lost nothing that mattered to an underflow or overflow."""


def lift(simplices: Simplices, vector: Vector) -> Vector:
    """Return the nearest point that is nowhere negative and sums to at least one in each block.

    Where clipping leaves too little, that is the nearest point of the simplex.
    """
    lifted = np.maximum(vector, 0.0)
    low = np.flatnonzero(simplices.sum(lifted) < 1.0)
    if low.size:
        where, few = simplices.coordinates(low), Simplices(simplices.sizes[low])
        lifted[where] = few.project(vector[where])
    return lifted


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


def longer(left: Vector, right: Vector) -> Vector:
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


def raise_to(simplices: Simplices, vector: Vector, lengths: Vector) -> Vector:
    """Return the positive parts of these lengths that one number added to each block leaves.

    Of ``[v + c]+`` the norm grows with c; if its k largest entries are positive, it is the root
    of a quadratic in c. Every length is positive.
    """
    raised = np.empty(simplices.dimension)
    for blocks, where in simplices._groups():
        raised[where] = _raise_rows(vector[where], lengths[blocks])
    return raised


def _raise_rows(rows: Vector, lengths: Vector) -> Vector:
    top = rows.max(axis=1, keepdims=True)
    # In units of the length, rounded to a power of two; what is further below stays below.
    target, exponents = np.frexp(lengths)
    below = np.maximum(rows - top, -2.0 * lengths[:, None])
    below = np.ldexp(below, -exponents[:, None])
    falling, counts = np.sort(below, axis=1)[:, ::-1], np.arange(1, rows.shape[1] + 1)
    sums, squares = np.cumsum(falling, axis=1), np.cumsum(falling * falling, axis=1)
    # The squared norm when c is such that the entry itself has just reached zero
    reached = squares - 2.0 * sums * falling + counts * falling * falling
    kept = np.count_nonzero(reached < (target * target)[:, None], axis=1)
    chosen = np.arange(len(rows)), kept - 1
    linear, constant = sums[chosen], squares[chosen] - target * target
    root = np.sqrt(np.maximum(linear * linear - kept * constant, 0.0))
    height = (root - linear) / kept
    raised: Vector = np.ldexp(np.maximum(below + height[:, None], 0.0), exponents[:, None])
    return raised
