"""Array operations whose result never depends on anything but the numbers that belong to it."""

import numpy as np

from regretkit._typing import Indices, Vector

_SHORT = 10
"""Runs that are shorter than this on average are quicker to go through number by number,"""
_FEW = 20
"""unless there are fewer than this."""


def total_by(index: Indices, values: Vector, size: int) -> Vector:
    """Add up the values of each index from 0 to ``size - 1``, in order, from left to right.

    One order of summation wherever the values lie; pairwise summation, which numpy's own sums
    use, would not promise that.
    """
    totals = np.bincount(index, weights=values, minlength=size)
    return totals.astype(np.float64, copy=False)


def largest_by(index: Indices, values: Vector, first: Indices) -> Vector:
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


def depths(parent: Indices) -> Indices:
    """Return how many steps each index is from where ``parent``, -1 at the top, comes to an end."""
    depth = (parent >= 0).astype(np.int64)
    ancestor = parent
    # Each step doubles how far up everybody looks.
    while (above := ancestor >= 0).any():
        depth += np.where(above, depth[ancestor], 0)
        ancestor = np.where(above, ancestor[ancestor], -1)
    return depth
