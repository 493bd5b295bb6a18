"""Products of probability simplices, with operations by block."""

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

import regretkit.sets._kernels as kernels
from regretkit._machine_code import ran
from regretkit._util import _validate
from regretkit._util._arrays import (
    RESOLUTION,
    add_cancelling,
    expand_ranges,
    read_only,
    segment_max,
    segment_sum,
    zero_cancelled,
)
from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import quote
from regretkit.sets._base import StrategySet
from regretkit.sets._labels import Labels

Step: TypeAlias = Callable[[Vector], Vector]
"""A function of one number for each block that returns one number for each block."""

MAX_NEWTON_STEPS = 100
BISECTIONS = 60
_MAX_PLAIN = 32
"""Largest size of a single block for which Python numbers are faster than arrays."""
_MAX_BY_COLUMN = 8
"""Largest size of rows for which sorting by columns is faster."""


class Simplices(StrategySet):
    """A product of probability simplices, concatenated in one vector.

    Each simplex is a *block*. Operations are vectorized over blocks. Sums run from left to right,
    so the result for a block is bitwise independent of other blocks.

    Parameters
    ----------
    sizes
        Number of actions of each block, at least 1. An integer is a single block, and an empty list
        the empty product, of dimension 0.
    labels
        A name for each block, such as the label of a decision point.
    actions
        For each block, the names of its actions.

    Examples
    --------
    >>> simplices = Simplices([2, 3])
    >>> simplices.normalize(np.array([3.0, 1.0, 0.0, 0.0, 0.0]))
    array([0.75      , 0.25      , 0.33333333, 0.33333333, 0.33333333])
    >>> simplices.sum(np.arange(5.0))
    array([1., 9.])
    """

    sizes: Indices
    """Number of actions of each block, shape ``(blocks,)``."""
    first: Indices
    """First coordinate of each block, shape ``(blocks,)``."""
    labels: Labels
    """Names of the blocks and of their actions."""
    blocks: int
    """Number of simplices."""
    width: int
    """The common size of all blocks, 0 if sizes differ."""

    def __init__(
        self,
        sizes: int | Iterable[int],
        *,
        labels: Iterable[str] | None = None,
        actions: Iterable[Sequence[str]] | None = None,
    ) -> None:
        self.sizes = _validate.whole_numbers(sizes, "sizes")
        if (self.sizes < 1).any():
            raise ValueError(
                f"sizes must be numbers of actions, each at least 1, got {quote(sizes)}"
            )
        self.first = read_only(np.cumsum(self.sizes) - self.sizes)
        self.labels = Labels(self.sizes, labels, actions)
        self.blocks, self.dimension = self.sizes.size, int(self.sizes.sum())
        self.width = int(self.sizes[0]) if self.blocks and not np.ptp(self.sizes) else 0
        self._plain = self.blocks == 1 and self.dimension <= _MAX_PLAIN

    @cached_property
    def block_of(self) -> Indices:
        """The block of each coordinate, shape ``(dimension,)``."""
        return read_only(np.repeat(np.arange(self.blocks), self.sizes))

    def block(self, index: int) -> slice:
        """Return the slice of block ``index`` in a vector."""
        index = self.labels.find(index)
        return slice(int(self.first[index]), int(self.first[index] + self.sizes[index]))

    def select(self, blocks: int | Iterable[int]) -> "Simplices":
        """Return the product of the blocks with these numbers, in this order, with their names."""
        chosen = _validate.whole_numbers(blocks, "blocks")
        return Simplices(self.sizes[chosen], **self.labels.select(chosen))

    def coordinates(self, blocks: int | Iterable[int]) -> Indices:
        """Return the coordinates of the blocks with these numbers, in this order."""
        chosen = _validate.whole_numbers(blocks, "blocks")
        return expand_ranges(self.first[chosen], self.sizes[chosen])

    def names_of(self, coordinate: int) -> tuple[str, str]:
        """Return the names of the block and of the action at a coordinate."""
        block = int(np.searchsorted(self.first, coordinate, side="right")) - 1
        return self.labels.block(block), self.labels.actions(block)[coordinate - self.first[block]]

    # Operations, block by block, on arrays of shape (dimension,)

    def sum(self, vector: Vector) -> Vector:
        """Return the sum of each block, from left to right, shape ``(blocks,)``."""
        return segment_sum(self.block_of, vector, self.blocks)

    def dot(self, left: Vector, right: Vector) -> Vector:
        """Return the inner product of each block of two vectors, shape ``(blocks,)``."""
        return self.sum(left * right)

    def cumulate(self, vector: Vector) -> Vector:
        """Return the running sums of each block, shape ``(dimension,)``."""
        running = np.empty(self.dimension)
        for indices in self._rows:
            running[indices] = np.cumsum(vector[indices], axis=1)
        return running

    def max(self, vector: Vector) -> Vector:
        """Return the largest entry of each block, shape ``(blocks,)``."""
        return segment_max(self.block_of, vector, self.first)

    def repeat(self, numbers: Vector) -> Vector:
        """Repeat the number of each block for all its actions, shape ``(dimension,)``."""
        return numbers.repeat(self.width) if self.width else numbers[self.block_of]

    def expectation(self, utility: Vector, strategy: Vector) -> Vector:
        """Return the value of ``strategy`` in each block, shape ``(blocks,)``.

        With m the largest utility of a block, the value is

            <u, x>  =  m + <u - m, x>

        or zero if this is at most 2^-44 of ``|m| + |<u - m, x>|``. If all utilities of a block are
        equal, the value is bitwise equal to them.
        """
        if self._plain:
            return np.array([_expectation(utility.tolist(), strategy.tolist())[0]])
        return self._expectation(utility, strategy)[0]

    def regret(self, utility: Vector, strategy: Vector) -> Vector:
        """Return the regret of each action, ``u - <u, x>`` in each block.

        A regret is exactly zero if it is at most 2^-44 of the magnitudes in ``expectation``. Equal
        utilities of a block thus give regrets of exactly zero.
        """
        if self._plain:
            earned = utility.tolist()
            value, magnitude = _expectation(earned, strategy.tolist())
            rounding = RESOLUTION * magnitude
            differences = [u - value for u in earned]
            return np.array([0.0 if abs(d) <= rounding else d for d in differences])
        if (found := self._ran(kernels.regret, utility, strategy)) is not None:
            return found
        values, magnitudes = self._expectation(utility, strategy)
        return zero_cancelled(utility - self.repeat(values), self.repeat(magnitudes))

    def _expectation(self, utility: Vector, strategy: Vector) -> tuple[Vector, Vector]:
        """Return the value of ``strategy`` in each block, and the magnitude of its summands."""
        largest = self.max(utility).astype(np.float64, copy=False)
        missed = self.dot(utility - self.repeat(largest), strategy)
        magnitudes = np.abs(largest) - missed
        return zero_cancelled(largest + missed, magnitudes), magnitudes

    def _ran(self, operation: Callable[..., None], *vectors: Vector) -> Vector | None:
        """Return the result of a kernel, bitwise equal to NumPy's; None without machine code."""
        if not all(vector.shape == (self.dimension,) for vector in vectors):
            return None
        result = np.empty(self.dimension)
        return result if ran(operation, (self.first, self.sizes), (*vectors, result)) else None

    def add(self, regrets: Vector, regret: Vector) -> Vector:
        """Return ``regrets + regret``, exactly zero where the sum is at most 2^-44 of ``regret``.

        Otherwise regret matching would play the rounding errors of regrets that cancel.

        Examples
        --------
        >>> simplices = Simplices(2)
        >>> simplices.add(np.array([0.3, 0.3]), np.array([-0.1 - 0.2, 0.5]))
        array([0. , 0.8])
        """
        if self._plain:
            pairs = zip(regrets.tolist(), regret.tolist(), strict=True)
            sums = [(total + new, new) for total, new in pairs]
            return np.array([0.0 if abs(s) <= RESOLUTION * abs(new) else s for s, new in sums])
        found = self._ran(kernels.add, regrets, regret)
        return add_cancelling(regrets, regret) if found is None else found

    def normalize(self, vector: Vector) -> Vector:
        """Scale each block of a nonnegative vector to sum 1; a zero block becomes uniform."""
        if self._plain:
            total = 0.0
            for number in vector.tolist():
                total += number
            return vector / total if total != 0.0 else self.uniform()
        if (found := self._ran(kernels.normalize, vector)) is not None:
            return found
        totals = self.sum(vector)
        # Exactly zero: a threshold would depend on the unit of utility.
        empty = totals == 0.0
        if empty.any():
            # Add 1 to all entries of zero blocks, and 0 elsewhere: faster than np.where.
            filled = empty.astype(np.float64)
            totals = totals + self.sizes * filled
            vector = vector + self.repeat(filled)
        shares = self.repeat(totals)
        return np.divide(vector, shares, out=shares)

    def softmax(self, vector: Vector, rate: float = 1.0) -> Vector:
        """Return the distribution proportional to ``exp(rate vector)`` in each block."""
        # Overflow of the exponent gives -inf, and exp(-inf) = 0.
        with np.errstate(over="ignore", under="ignore"):
            weights = np.exp((vector - self.repeat(self.max(vector))) * rate)
        return weights / self.repeat(self.sum(weights))

    def project(self, vector: Vector) -> Vector:
        """Return the nearest point of the set in Euclidean distance.

        Held, Wolfe and Crowder (1974), "Validation of subgradient optimization": in each block the
        result is ``[v - c]+``, with the c for which it sums to 1.
        """
        # Subtracting the largest entry changes no result, and keeps large numbers accurate
        difference = vector - self.repeat(self.max(vector).astype(np.float64, copy=False))
        levels = np.empty(self.blocks)
        for rows in self._rows:
            levels[self.block_of[rows[:, 0]]] = _thresholds(difference[rows])
        return np.maximum(difference - self.repeat(levels), 0.0)

    def norm(self, vector: Vector) -> Vector:
        """Return the Euclidean norm of each block, shape ``(blocks,)``.

        Scaling a block by a power of two scales its norm exactly.
        """
        # Scale by a power of two, which is exact, so that squares do not overflow.
        _, exponents = np.frexp(self.max(np.abs(vector)))
        scaled = np.ldexp(vector, -self.repeat(exponents))
        with np.errstate(under="ignore"):
            return np.ldexp(np.sqrt(self.dot(scaled, scaled)), exponents)

    def newton(self, start: Vector, step: Step, *, tolerance: float = 1e-9) -> Vector:
        """Return a root in each block by Newton's method from below, shape ``(blocks,)``.

            position <- position + step(position)

        until the step is at most ``tolerance (1 + position)``, or for 100 steps. Blocks stop
        independently. Steps must not go beyond the root.

        Parameters
        ----------
        start
            Start of each block, at most the root.
        step
            A function of the positions that returns the steps.
        tolerance
            Relative size of the last step. The error after it is about its square.

        Examples
        --------
        The root of ``x^2 = 4``, in one block:

        >>> Simplices(3).newton(np.ones(1), lambda x: np.maximum(4.0 - x * x, 0.0) / 4.0)
        array([2.])
        """
        position, going = start, np.ones(start.shape, dtype=bool)
        for _ in range(MAX_NEWTON_STEPS):
            move = np.where(going, step(position), 0.0)
            position = position + move
            going &= move > tolerance * (1.0 + position)
            if not going.any():
                break
        return position

    def bisect(self, low: Vector, high: Vector, above: Step, *, steps: int = BISECTIONS) -> Vector:
        """Return a root in each block by bisection, shape ``(blocks,)``.

        Parameters
        ----------
        low, high
            Bounds of the root in each block.
        above
            A function of one number for each block that returns whether the root is above it.
        steps
            Number of bisections.

        Examples
        --------
        The root of ``x^2 = 2``, in one block:

        >>> Simplices(3).bisect(np.zeros(1), np.full(1, 2.0), lambda x: x * x < 2.0).round(6)
        array([1.414214])
        """
        for _ in range(steps):
            middle = 0.5 * (low + high)
            up = above(middle)
            low, high = np.where(up, middle, low), np.where(up, high, middle)
        return 0.5 * (low + high)

    def sort(self, vector: Vector) -> tuple[Vector, Indices]:
        """Return the entries of each block in ascending order, and their coordinates.

        With ``ordered, order = sort(x)``, ``ordered`` is ``x[order]``, and ``y[order] = ordered``
        inverts it. Equal entries keep their order.

        Examples
        --------
        >>> ordered, order = Simplices([2, 3]).sort(np.array([2.0, 1.0, 3.0, 5.0, 4.0]))
        >>> ordered, order
        (array([1., 2., 3., 4., 5.]), array([1, 0, 2, 4, 3]))
        """
        order = np.lexsort((vector, self.block_of))
        return vector[order], order

    def uniform(self) -> Vector:
        """Return the uniform distribution in each block, a new array."""
        return 1.0 / self.repeat(self.sizes.astype(np.float64))

    @cached_property
    def _rows(self) -> list[Indices]:
        """For each size of blocks, the coordinates of these blocks, one row for each block."""
        sizes = np.unique(self.sizes).tolist()
        return [self.first[self.sizes == n][:, None] + np.arange(n) for n in sizes]

    # As a strategy set

    def best_response(self, utility: ArrayLike) -> tuple[float, Vector]:
        vector = _validate.vector(utility, self.dimension, "utility")
        largest = self.max(vector)
        best = np.flatnonzero(vector == self.repeat(largest))
        # The first of equal actions in each block: in reverse order, it is written last.
        chosen = np.empty(self.blocks, dtype=np.int64)
        chosen[self.block_of[best[::-1]]] = best[::-1]
        response = np.zeros(self.dimension)
        response[chosen] = 1.0
        return float(largest.sum()), response

    def value(self, utility: Vector, point: Vector) -> float:
        return float(self.expectation(utility, point).sum())

    def contains(self, point: ArrayLike, atol: float = 1e-9) -> bool:
        point = _validate.vector(point, self.dimension, "point")
        totals = self.sum(point)
        return bool((point >= -atol).all() and (np.abs(totals - 1.0) <= atol).all())

    def relative_interior_point(self) -> Vector:
        return self.uniform()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Simplices):
            return NotImplemented
        return self is other or np.array_equal(self.sizes, other.sizes)

    def __hash__(self) -> int:
        return hash(self.sizes.tobytes())

    def __repr__(self) -> str:
        if self.blocks == 1:
            return f"Simplices({self.sizes[0]})"
        if self.width:
            return f"Simplices([{self.width}] * {self.blocks})"
        shown = ", ".join(str(size) for size in self.sizes[:6])
        ellipsis = f", ... {self.blocks} blocks" if self.blocks > 6 else ""
        return f"Simplices([{shown}{ellipsis}])"


def _expectation(utility: list[float], strategy: list[float]) -> tuple[float, float]:
    """Return the value of a strategy in one block, and the magnitude of its summands."""
    largest, missed = max(utility), 0.0
    for earned, played in zip(utility, strategy, strict=True):
        missed += (earned - largest) * played
    value, magnitude = largest + missed, abs(largest) - missed
    return (0.0 if abs(value) <= RESOLUTION * magnitude else value), magnitude


def _thresholds(rows: Vector) -> Vector:
    """Return, for each row v, the c for which ``[v - c]+`` sums to 1.

    c  =  max over k of  (sum of the k largest - 1) / k
    """
    sums = np.cumsum(_falling(rows), axis=0)
    sums -= 1.0
    sums /= np.arange(1, rows.shape[1] + 1)[:, None]
    highest: Vector = sums.max(axis=0)
    return highest


def _falling(rows: Vector) -> Vector:
    """Return the entries of each row in descending order, transposed."""
    size = rows.shape[1]
    if size > _MAX_BY_COLUMN:
        return np.sort(rows, axis=1).T[::-1]
    # Odd-even transposition sort of all rows at once: np.sort is slow for many short rows.
    columns = rows.T.copy()
    for number in range(size):
        for i in range(number % 2, size - 1, 2):
            larger = np.maximum(columns[i], columns[i + 1])
            np.minimum(columns[i], columns[i + 1], out=columns[i + 1])
            columns[i] = larger
    return columns


SimplicesLike: TypeAlias = int | Iterable[int] | Simplices
"""A number of actions, a sequence with one number for each block, or ``Simplices``."""


def as_simplices(value: SimplicesLike) -> Simplices:
    """Return ``value`` as ``Simplices``.

    Examples
    --------
    >>> as_simplices([2, 2])
    Simplices([2] * 2)
    """
    if isinstance(value, StrategySet) and not isinstance(value, Simplices):
        raise TypeError(
            f"simplices must be numbers of actions, or Simplices, got {quote(value)}; "
            "on a decision tree play CFR(tree, RegretMatching)"
        )
    return value if isinstance(value, Simplices) else Simplices(value)


def as_set(value: SimplicesLike | StrategySet) -> StrategySet:
    """Return a strategy set unchanged, and numbers of actions as ``Simplices``."""
    return value if isinstance(value, StrategySet) else as_simplices(value)
