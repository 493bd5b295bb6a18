"""Operations on the blocks of a vector, in NumPy; an engine may do the same in machine code."""

import abc
from typing import final

import numpy as np
from typing_extensions import override

from regretkit._util._arrays import add_cancelling, segment_max, segment_sum, zero_cancelled
from regretkit._util._typing import Indices, Vector

_WIDEST = np.iinfo(np.int64).max


class BlockOps(abc.ABC):
    """Operations of :class:`~regretkit.sets.Simplices`, on arrays of the right shape.

    All implementations return bitwise identical results.
    """

    @abc.abstractmethod
    def sum(self, vector: Vector) -> Vector:
        """Add up each block from left to right."""

    @abc.abstractmethod
    def dot(self, left: Vector, right: Vector) -> Vector:
        """Return the inner product of each block of two vectors."""

    @abc.abstractmethod
    def max(self, vector: Vector) -> Vector:
        """Return the largest entry of each block."""

    @abc.abstractmethod
    def add(self, left: Vector, right: Vector) -> Vector:
        """Add two vectors, exactly zero where they cancel up to rounding."""

    @abc.abstractmethod
    def regret(self, utility: Vector, strategy: Vector) -> Vector:
        """Return by how much the utility of each action exceeds the value of ``strategy``."""

    @abc.abstractmethod
    def normalize(self, vector: Vector) -> Vector:
        """Scale each block of a nonnegative vector to sum to one; uniform if it is all zero."""


@final
class NumpyBlockOps(BlockOps):
    """The operations in NumPy, a handful of passes each."""

    def __init__(self, sizes: Indices, first: Indices) -> None:
        self._sizes, self._first = sizes, first
        self.block_of = np.repeat(np.arange(sizes.size), sizes)
        """The block of each coordinate."""
        narrowest, widest = sizes.min(initial=_WIDEST), sizes.max(initial=0)
        self.width = int(widest) if narrowest == widest else 0
        """The common size of all blocks, 0 where they differ."""

    def __reduce__(self) -> tuple[type["NumpyBlockOps"], tuple[Indices, Indices]]:
        return NumpyBlockOps, (self._sizes, self._first)

    @override
    def sum(self, vector: Vector) -> Vector:
        return segment_sum(self.block_of, vector, self._sizes.size)

    @override
    def dot(self, left: Vector, right: Vector) -> Vector:
        return self.sum(left * right)

    @override
    def max(self, vector: Vector) -> Vector:
        return segment_max(self.block_of, vector, self._first)

    def repeat(self, numbers: Vector) -> Vector:
        """Give every action the number of its block."""
        return np.repeat(numbers, self.width) if self.width else numbers[self.block_of]

    def subtract_per_block(self, vector: Vector, numbers: Vector) -> Vector:
        """Return a vector minus a number for each block, a new array."""
        # Into an array that is there already: a large new one costs more than the arithmetic.
        difference = self.repeat(numbers.astype(np.float64, copy=False))
        return np.subtract(vector, difference, out=difference)

    @override
    def add(self, left: Vector, right: Vector) -> Vector:
        return add_cancelling(left, right)

    def expectation(self, utility: Vector, strategy: Vector) -> Vector:
        """Return the value of ``strategy`` in each block."""
        largest = self.max(utility)
        return self._values(largest, self.subtract_per_block(utility, largest), strategy)[0]

    def _values(
        self, largest: Vector, difference: Vector, strategy: Vector
    ) -> tuple[Vector, Vector]:
        """Return the value of ``strategy`` in each block, and the magnitudes that were added."""
        missed = self.dot(difference, strategy)
        magnitudes = np.abs(largest) - missed
        return zero_cancelled(largest + missed, magnitudes), magnitudes

    @override
    def regret(self, utility: Vector, strategy: Vector) -> Vector:
        largest = self.max(utility)
        regrets = self.subtract_per_block(utility, largest)
        values, magnitudes = self._values(largest, regrets, strategy)
        np.subtract(utility, self.repeat(values), out=regrets)
        return zero_cancelled(regrets, self.repeat(magnitudes))

    @override
    def normalize(self, vector: Vector) -> Vector:
        totals = self.sum(vector)
        # Exactly zero, not merely small: no rule may depend on the unit of utility.
        empty = totals == 0.0
        if empty.any():
            # By adding zeros elsewhere: a choice for each number would take several times longer.
            ones = empty.astype(np.float64)
            totals = totals + self._sizes * ones
            vector = vector + self.repeat(ones)
        shares = self.repeat(totals)
        return np.divide(vector, shares, out=shares)
