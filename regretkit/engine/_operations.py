"""The operations of simplices in machine code: the same bits, without a dozen passes of NumPy.

Each block is gone through from left to right, as NumPy goes through it.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, final

import numpy as np
from typing_extensions import override

from regretkit._util._arrays import RESOLUTION
from regretkit._util._typing import Indices, Narrow, Vector, whole
from regretkit.engine._forest import narrow
from regretkit.games._payoff_rows import offsets
from regretkit.sets import DecisionTree, Simplices, StrategySet
from regretkit.sets._block_ops import BlockOps, NumpyBlockOps

_FLOAT = np.dtype(np.float64)


def add_up(begin: Narrow, vector: Vector, sums: Vector) -> None:
    """Set the sum of each block."""
    for block in range(sums.size):
        total = 0.0
        for a in range(whole(begin[block]), whole(begin[block + 1])):
            total += float(vector[a])
        sums[block] = total


def multiply(begin: Narrow, left: Vector, right: Vector, products: Vector) -> None:
    """Set the inner product of each block."""
    for block in range(products.size):
        total = 0.0
        for a in range(whole(begin[block]), whole(begin[block + 1])):
            total += float(left[a] * right[a])
        products[block] = total


def add(begin: Narrow, left: Vector, right: Vector, totals: Vector) -> None:
    """Set the sum of each action's numbers, exactly zero where they cancel up to rounding."""
    for a in range(totals.size):
        total = left[a] + right[a]
        totals[a] = 0.0 if abs(total) <= RESOLUTION * abs(right[a]) else total


def look_up(begin: Narrow, vector: Vector, largest: Vector) -> None:
    """Set the largest entry of each block."""
    for block in range(largest.size):
        first = whole(begin[block])
        top = vector[first]
        for a in range(first + 1, whole(begin[block + 1])):
            top = max(top, vector[a])
        largest[block] = top


def compare(begin: Narrow, utility: Vector, strategy: Vector, regrets: Vector) -> None:
    """Set the regret of each action, exactly zero where it is rounding."""
    for block in range(begin.size - 1):
        first, last = whole(begin[block]), whole(begin[block + 1])
        largest = utility[first]
        for a in range(first + 1, last):
            largest = max(largest, utility[a])
        below = 0.0
        for a in range(first, last):
            below += float((utility[a] - largest) * strategy[a])
        rounding = RESOLUTION * (abs(largest) - below)
        value = 0.0 if abs(largest + below) <= rounding else largest + below
        for a in range(first, last):
            regrets[a] = 0.0 if abs(utility[a] - value) <= rounding else utility[a] - value


def share_out(begin: Narrow, vector: Vector, shares: Vector) -> None:
    """Scale each block to sum to one; set it uniform where it is all zero."""
    for block in range(begin.size - 1):
        first, last = whole(begin[block]), whole(begin[block + 1])
        total = 0.0
        for a in range(first, last):
            total += float(vector[a])
        if total == 0.0:
            for a in range(first, last):
                shares[a] = (vector[a] + 1.0) / (last - first)
        else:
            for a in range(first, last):
                shares[a] = vector[a] / total


class Code(NamedTuple):
    """The functions above as machine code."""

    sum: Any
    dot: Any
    max: Any
    add: Any
    regret: Any
    normalize: Any


@final
class Fast(BlockOps):
    """The operations in machine code on plain arrays of floats, in NumPy on others."""

    def __init__(self, simplices: Simplices, code: Code) -> None:
        self._begin, self._code = narrow(offsets(simplices.sizes)), code
        self._blocks, self._dimension = simplices.blocks, simplices.dimension
        self._numpy_ops = simplices._numpy_ops

    @override
    def __reduce__(self) -> tuple[type[NumpyBlockOps], tuple[Indices, Indices]]:
        return self._numpy_ops.__reduce__()  # copies, and what is sent elsewhere, work in NumPy

    @override
    def sum(self, vector: Vector) -> Vector:
        if not _is_plain(vector):
            return self._numpy_ops.sum(vector)
        sums = np.empty(self._blocks)
        self._code.sum(self._begin, vector, sums)
        return sums

    @override
    def dot(self, left: Vector, right: Vector) -> Vector:
        if not (_is_plain(left) and _is_plain(right)):
            return self._numpy_ops.dot(left, right)
        products = np.empty(self._blocks)
        self._code.dot(self._begin, left, right, products)
        return products

    @override
    def max(self, vector: Vector) -> Vector:
        if not _is_plain(vector):
            return self._numpy_ops.max(vector)
        largest = np.empty(self._blocks)
        self._code.max(self._begin, vector, largest)
        return largest

    @override
    def add(self, left: Vector, right: Vector) -> Vector:
        if not (_is_plain(left) and _is_plain(right)):
            return self._numpy_ops.add(left, right)
        totals = np.empty(self._dimension)
        self._code.add(self._begin, left, right, totals)
        return totals

    @override
    def regret(self, utility: Vector, strategy: Vector) -> Vector:
        if not (_is_plain(utility) and _is_plain(strategy)):
            return self._numpy_ops.regret(utility, strategy)
        regrets = np.empty(self._dimension)
        self._code.regret(self._begin, utility, strategy, regrets)
        return regrets

    @override
    def normalize(self, vector: Vector) -> Vector:
        if not _is_plain(vector):
            return self._numpy_ops.normalize(vector)
        shares = np.empty(self._dimension)
        self._code.normalize(self._begin, vector, shares)
        return shares


def _is_plain(vector: Vector) -> bool:
    return type(vector) is np.ndarray and vector.dtype is _FLOAT and vector.flags.c_contiguous


def hasten(domains: Sequence[StrategySet], code: Code) -> None:
    """Let the simplices that make up these sets work in machine code from now on."""
    for domain in domains:
        simplices = domain.simplices if isinstance(domain, DecisionTree) else domain
        if isinstance(simplices, Simplices) and isinstance(simplices._ops, NumpyBlockOps):
            simplices._ops = Fast(simplices, code)
