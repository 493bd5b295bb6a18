"""Block operations of simplices in machine code, bitwise identical to those in NumPy.

Each sum goes from left to right, as in NumPy.
"""

import copy
from collections.abc import Callable
from typing import Any, NamedTuple, final

import numpy as np
from typing_extensions import override

from regretkit._util._arrays import RESOLUTION, as_uint32
from regretkit._util._typing import UInt32Array, Vector, as_int64
from regretkit.games.tree._sequences import offsets
from regretkit.sets import Simplices
from regretkit.sets._simplices import BlockOps

_FLOAT = np.dtype(np.float64)


def block_sum(begin: UInt32Array, vector: Vector, sums: Vector) -> None:
    """Set the sum of each block."""
    for block in range(sums.size):
        total = 0.0
        for a in range(as_int64(begin[block]), as_int64(begin[block + 1])):
            total += float(vector[a])
        sums[block] = total


def block_dot(begin: UInt32Array, one: Vector, two: Vector, products: Vector) -> None:
    """Set the inner product of each block."""
    for block in range(products.size):
        total = 0.0
        for a in range(as_int64(begin[block]), as_int64(begin[block + 1])):
            total += float(one[a] * two[a])
        products[block] = total


def add(begin: UInt32Array, one: Vector, two: Vector, totals: Vector) -> None:
    """Set the sum of each action's numbers, exactly zero where they cancel up to rounding."""
    for a in range(totals.size):
        total = one[a] + two[a]
        totals[a] = 0.0 if abs(total) <= RESOLUTION * abs(two[a]) else total


def block_max(begin: UInt32Array, vector: Vector, largest: Vector) -> None:
    """Set the largest entry of each block."""
    for block in range(largest.size):
        first = as_int64(begin[block])
        top = vector[first]
        for a in range(first + 1, as_int64(begin[block + 1])):
            top = max(top, vector[a])
        largest[block] = top


def block_regret(begin: UInt32Array, utility: Vector, strategy: Vector, regrets: Vector) -> None:
    """Set the regret of each action, exactly zero where it is rounding."""
    for block in range(begin.size - 1):
        first, last = as_int64(begin[block]), as_int64(begin[block + 1])
        largest = utility[first]
        for a in range(first + 1, last):
            largest = max(largest, utility[a])
        regret = 0.0
        for a in range(first, last):
            regret += float((utility[a] - largest) * strategy[a])
        rounding = RESOLUTION * (abs(largest) - regret)
        value = 0.0 if abs(largest + regret) <= rounding else largest + regret
        for a in range(first, last):
            regrets[a] = 0.0 if abs(utility[a] - value) <= rounding else utility[a] - value


def block_normalize(begin: UInt32Array, vector: Vector, shares: Vector) -> None:
    """Scale each block to sum to one; set it uniform where it is all zero."""
    for block in range(begin.size - 1):
        first, last = as_int64(begin[block]), as_int64(begin[block + 1])
        total = 0.0
        for a in range(first, last):
            total += float(vector[a])
        if total == 0.0:
            for a in range(first, last):
                shares[a] = (vector[a] + 1.0) / (last - first)
        else:
            for a in range(first, last):
                shares[a] = vector[a] / total


class BlockFunctions(NamedTuple):
    """The functions above as machine code."""

    sum: Any
    dot: Any
    max: Any
    add: Any
    regret: Any
    normalize: Any


@final
class CompiledBlockOps(BlockOps):
    """The operations in machine code on contiguous arrays of floats, in NumPy on others.

    Copies and pickles work in NumPy.
    """

    def __init__(self, simplices: Simplices, functions: BlockFunctions) -> None:
        super().__init__(simplices.sizes, simplices.first)
        self._begin, self._functions = as_uint32(offsets(simplices.sizes)), functions
        self._blocks = simplices.blocks

    @override
    def sum(self, vector: Vector) -> Vector:
        return self._run(self._functions.sum, BlockOps.sum, self._blocks, vector)

    @override
    def dot(self, left: Vector, right: Vector) -> Vector:
        return self._run(self._functions.dot, BlockOps.dot, self._blocks, left, right)

    @override
    def max(self, vector: Vector) -> Vector:
        return self._run(self._functions.max, BlockOps.max, self._blocks, vector)

    @override
    def add(self, left: Vector, right: Vector) -> Vector:
        return self._run(self._functions.add, BlockOps.add, self.dimension, left, right)

    @override
    def regret(self, utility: Vector, strategy: Vector) -> Vector:
        compiled = self._functions.regret
        return self._run(compiled, BlockOps.regret, self.dimension, utility, strategy)

    @override
    def normalize(self, vector: Vector) -> Vector:
        return self._run(self._functions.normalize, BlockOps.normalize, self.dimension, vector)

    def _run(
        self, compiled: Any, in_numpy: Callable[..., Vector], size: int, *vectors: Vector
    ) -> Vector:
        for vector in vectors:
            supported = type(vector) is np.ndarray and vector.dtype is _FLOAT
            if not (supported and vector.flags.c_contiguous):
                return in_numpy(self, *vectors)
        result = np.empty(size)
        compiled(id(self._begin), *map(id, vectors), id(result))
        return result


def with_compiled_ops(simplices: Simplices, functions: BlockFunctions) -> Simplices:
    """Return an equal value whose operations are machine code."""
    twin = copy.copy(simplices)
    twin._ops = CompiledBlockOps(simplices, functions)
    return twin
