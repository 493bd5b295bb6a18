"""Operations on blocks and trees as loops for machine code, bitwise equal to NumPy's."""

from regretkit._util._arrays import RESOLUTION
from regretkit._util._typing import Indices, Vector

WITHIN_BOUNDS = True
DISJOINT = True


# Blocks: block j begins at ``first[j]`` and has ``sizes[j]`` coordinates. The last array is the
# result.


def add(first: Indices, sizes: Indices, left: Vector, right: Vector, totals: Vector) -> None:
    """Compute the sum of two vectors, exactly zero where they cancel up to rounding."""
    for a in range(totals.size):
        total = left[a] + right[a]
        totals[a] = 0.0 if abs(total) <= RESOLUTION * abs(right[a]) else total


def expectation(
    first: int, size: int, at: int, utility: Vector, strategy: Vector
) -> tuple[float, float]:
    """Return the value of the strategy in one block, and the largest number that counts as zero.

    The block begins at ``first`` in the utility and at ``at`` in the strategy.
    """
    largest = utility[first]
    for a in range(1, size):
        largest = max(largest, utility[first + a])
    missed = 0.0
    for a in range(size):
        missed += float((utility[first + a] - largest) * strategy[at + a])
    value, rounding = largest + missed, RESOLUTION * (abs(largest) - missed)
    return (0.0 if abs(value) <= rounding else value), rounding


def regret(
    first: Indices, sizes: Indices, utility: Vector, strategy: Vector, regrets: Vector
) -> None:
    """Compute the regret of each action, exactly zero where it is a rounding error."""
    for j in range(sizes.size):
        begin = first[j]
        value, rounding = expectation(begin, sizes[j], begin, utility, strategy)
        for a in range(begin, begin + sizes[j]):
            regrets[a] = 0.0 if abs(utility[a] - value) <= rounding else utility[a] - value


def normalize(first: Indices, sizes: Indices, vector: Vector, shares: Vector) -> None:
    """Scale each block to sum 1; a zero block becomes uniform."""
    for j in range(sizes.size):
        begin, end, total = first[j], first[j] + sizes[j], 0.0
        for a in range(begin, end):
            total += float(vector[a])
        if total == 0.0:
            for a in range(begin, end):
                shares[a] = (vector[a] + 1.0) / sizes[j]
        else:
            for a in range(begin, end):
                shares[a] = vector[a] / total


# Trees: sequence ``parent[j]`` leads to decision point j, whose actions are the sequences from
# ``1 + first[j]`` on.


def sequence_form(
    first: Indices, sizes: Indices, parent: Indices, behavior: Vector, strategy: Vector
) -> None:
    """Compute the weight of each sequence, from the root to the leaves."""
    strategy[0] = 1.0
    for j in range(sizes.size):
        inflow = strategy[parent[j]]
        for a in range(first[j], first[j] + sizes[j]):
            strategy[a + 1] = behavior[a] * inflow


def settle(begin: int, end: int, values: Vector, magnitudes: Vector) -> None:
    """Set sums of the values of decision points to zero where they cancel up to rounding."""
    for a in range(begin, end):
        if magnitudes[a] > 0.0 and abs(values[a]) <= RESOLUTION * magnitudes[a]:
            values[a] = 0.0


def counterfactual(
    first: Indices,
    sizes: Indices,
    parent: Indices,
    behavior: Vector,
    magnitudes: Vector,
    values: Vector,
) -> None:
    """Add to each sequence's utility the values of the decision points after it.

    The pass runs from the leaves to the root. All magnitudes must be 0.
    """
    for j in range(sizes.size - 1, -1, -1):
        begin = first[j] + 1
        settle(begin, begin + sizes[j], values, magnitudes)
        value, _ = expectation(begin, sizes[j], first[j], values, behavior)
        values[parent[j]] += value + 0.0  # no negative zero, as in NumPy
        magnitudes[parent[j]] += abs(value)
    settle(0, 1, values, magnitudes)


def best_values(
    first: Indices, sizes: Indices, parent: Indices, magnitudes: Vector, values: Vector
) -> None:
    """Add to each sequence's utility the best values of the decision points after it."""
    for j in range(sizes.size - 1, -1, -1):
        begin = first[j] + 1
        settle(begin, begin + sizes[j], values, magnitudes)
        value = values[begin]
        for a in range(begin + 1, begin + sizes[j]):
            value = max(value, values[a])
        values[parent[j]] += value + 0.0  # no negative zero, as in NumPy
        magnitudes[parent[j]] += abs(value)
    settle(0, 1, values, magnitudes)
