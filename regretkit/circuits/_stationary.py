"""Stationary distributions of Markov chains, by elimination without subtractions.

The rows of swap regret's matrices are strategies. Regret matching plays exact zeros, which make
chains reducible. Multiplicative weights plays 1e-200, which makes them nearly so. Eigenvectors and
linear solves fail there. The elimination of Grassmann, Taksar and Heyman never subtracts, so every
component keeps its leading digits, however small it is.

Rates may differ by more than the range of a float. Each is stored as ``m * (2^512)^scale``, which
adds no rounding. The engine compiles the same functions.
"""

import numpy as np
from numpy.typing import ArrayLike

from regretkit._machine_code import ran
from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import ATOL, floats, format_array

WITHIN_BOUNDS = DISJOINT = True  # for the compiler: no negative indices, no shared memory


def stationary_distribution(matrix: ArrayLike) -> Vector:
    """Return the stationary distribution of a Markov chain, or of each of several.

    The result x >= 0 satisfies x P = x and sum(x) = 1. States are eliminated from the last to the
    first:

        P[i, j] <-  P[i, j] + P[i, k] P[k, j] / sum_{l < k} P[k, l],   i, j < k

    No step subtracts, and the diagonal is not read. So each component is accurate to a small
    multiple of n rounding errors, even where entries of 1e-200 couple classes. Components below the
    smallest float become zero.

    If the chain has several closed classes, the result is the mean of their stationary
    distributions; transient states get exactly zero. Only exact zeros separate classes.

    Parameters
    ----------
    matrix
        P, shape ``(..., n, n)``: nonnegative rows that sum to one, up to 1e-6.

    Returns
    -------
    Vector
        Shape ``(..., n)``. A chain has the bits that it would have alone.

    Examples
    --------
    >>> stationary_distribution([[0.5, 0.5], [0.25, 0.75]])
    array([0.33333333, 0.66666667])

    State 0 is transient; states 1 and 2 are closed classes:

    >>> stationary_distribution([[0.2, 0.4, 0.4], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    array([0. , 0.5, 0.5])

    References
    ----------
    Grassmann, Taksar and Heyman (1985), "Regenerative analysis and steady state distributions for
    Markov chains", Operations Research 33(5).

    O'Cinneide (1993), "Entrywise perturbation theory and error analysis for Markov chains",
    Numerische Mathematik 65(1): why the result is accurate in every component.
    """
    matrices = check_stochastic(matrix, "matrix")
    *chains, n, _ = matrices.shape
    return stationary(np.full(chains, n).ravel(), matrices.ravel()).reshape(*chains, n)


def check_stochastic(value: ArrayLike, name: str) -> Vector:
    """Return square matrices of nonnegative rows that sum to one, after checks."""
    matrices = floats(value, name)
    shape = matrices.shape
    if len(shape) < 2 or shape[-1] != shape[-2] or not shape[-1]:
        raise ValueError(f"{name} must have shape (..., n, n), got {shape}")
    with np.errstate(over="ignore"):
        deviation = np.abs(matrices.sum(axis=-1) - 1.0)
    wrong = ~((matrices >= 0.0).all(axis=-1) & (deviation <= ATOL))  # NaN is wrong, too
    if wrong.any():
        row = tuple(np.argwhere(wrong)[0].tolist())
        raise ValueError(
            f"{name} must have nonnegative rows that sum to one, but row {row} is "
            f"{format_array(matrices[row])}"
        )
    return matrices


def stationary(sizes: Indices, rates: Vector) -> Vector:
    """Return the stationary distributions of chains, one after the other, without checks.

    ``rates`` has the matrices of the chains, row by row.
    """
    largest, distributions = int(sizes.max(initial=0)), np.empty(int(sizes.sum()))
    by_action, by_pair = np.empty((2, largest)), np.empty((2, largest**2))
    vectors = distributions, np.array(rates), *by_action, *by_pair
    if not ran(set_stationary_distributions, (sizes,), vectors):
        set_stationary_distributions(sizes, *vectors)
    return distributions


def set_stationary_distributions(
    sizes: Indices,
    distributions: Vector,
    rates: Vector,
    visits: Vector,
    visit_scales: Vector,
    scales: Vector,
    closed: Vector,
) -> None:
    """Set the stationary distribution of each chain. The other arrays are overwritten."""
    begin, first = 0, 0
    for size in sizes:
        chain = rates[begin : begin + size * size]
        by_action, by_pair = (visits, visit_scales), (scales, closed)
        set_stationary(size, (first, 1), distributions, chain, by_action, by_pair)
        begin, first = begin + size * size, first + size


def set_stationary(
    size: int,
    at: tuple[int, int],
    distribution: Vector,
    rates: Vector,
    by_action: tuple[Vector, Vector],
    by_pair: tuple[Vector, Vector],
) -> None:
    """Set the stationary distribution p = p R of a chain, the mean over its closed classes.

    ``at`` is the first place in ``distribution``, and the stride. The other arrays are overwritten.
    """
    first, stride = at
    scales, closed = by_pair
    visits, visit_scales = by_action
    classes = keep_closed_classes(size, rates, scales, closed)
    for k in range(size - 1, 0, -1):
        eliminate(k, size, rates, scales)
    for k in range(size):
        # visits[k] = sum_{i < k} visits[i] R[i, k]. The first state of a closed class has 1 visit,
        # and a transient state has none.
        visit, scale = float(closed[size * k + k]), 0.0
        for i in range(k):
            if closed[size * i + k] > 0.0:
                visit = 0.0
        for i in range(k):
            term = float(visits[i] * rates[size * i + k])
            added, its_scale = rescaled(term, float(visit_scales[i] + scales[size * i + k]))
            visit, scale = scaled_sum(visit, scale, added, its_scale)
        visits[k], visit_scales[k] = visit, scale
    for k in range(size):
        total, scale = 0.0, 0.0
        for i in range(size):
            if closed[size * i + k] > 0.0:
                total, scale = scaled_sum(total, scale, float(visits[i]), float(visit_scales[i]))
        # p[k] = visits[k] / (visits of its class) / classes
        share = visits[k] / total if total > 0.0 else 0.0
        scale = visit_scales[k] - scale
        while scale < 0.0 and share > 0.0:
            share *= 2.0**-512
            scale += 1.0
        distribution[first + stride * k] = share / classes


def keep_closed_classes(size: int, rates: Vector, scales: Vector, same: Vector) -> float:
    """Drop rates outside closed classes, set ``same``, and return the number of these classes.

    ``same[i, j]`` is 1 if the states i and j belong to the same closed class.
    """
    reach = scales  # the memory of the scales, which are not set yet
    for k in range(size * size):
        reach[k] = 1.0 if rates[k] > 0.0 or k // size == k % size else 0.0
    for k in range(size):  # transitive closure (Warshall): reach[i, j] |= reach[i, k] reach[k, j]
        for i in range(size):
            if reach[size * i + k] > 0.0:
                for j in range(size):
                    reach[size * i + j] = max(reach[size * i + j], reach[size * k + j])
    classes = 0.0
    for i in range(size):
        is_closed, is_first = True, True
        for j in range(size):  # closed: every state that i reaches also reaches i
            is_closed = is_closed and reach[size * i + j] <= reach[size * j + i]
            is_first = is_first and not (j < i and reach[size * i + j] > 0.0)
        for j in range(size):
            same[size * i + j] = reach[size * i + j] if is_closed else 0.0
        classes += 1.0 if is_closed and is_first else 0.0
    for k in range(size * size):
        rates[k], scales[k] = rescaled(float(rates[k]), 0.0)
        rates[k] *= same[k]
    return classes


def eliminate(k: int, size: int, rates: Vector, scales: Vector) -> None:
    """Eliminate state k: R[i, j] += R[i, k] R[k, j] / sum_{l < k} R[k, l], for i and j below k.

    Also divide the rates from and to k by that sum.
    """
    leaving, scale = 0.0, 0.0
    for j in range(k):
        leaving, scale = scaled_sum(
            leaving, scale, float(rates[size * k + j]), float(scales[size * k + j])
        )
    if leaving == 0.0:
        return
    for j in range(k):
        place = size * k + j
        rates[place], scales[place] = rescaled(
            float(rates[place] / leaving), float(scales[place] - scale)
        )
    for i in range(k):
        rate, its_scale = float(rates[size * i + k]), float(scales[size * i + k])
        if rate > 0.0:
            for j in range(k):
                # Divided first: the product of a rate and a probability is at most the rate.
                place, term = size * i + j, rate * float(rates[size * k + j])
                power, total = its_scale + scales[size * k + j], rates[place] + term
                if power == scales[place] and term >= 2.0**-256 and total < 2.0**256:
                    rates[place] = total  # what the general case gives, faster
                else:
                    term, power = rescaled(term, float(power))
                    rates[place], scales[place] = scaled_sum(
                        float(rates[place]), float(scales[place]), term, power
                    )
            rates[size * i + k], scales[size * i + k] = rescaled(rate / leaving, its_scale - scale)


def scaled_sum(one: float, scale: float, other: float, its_scale: float) -> tuple[float, float]:
    """Return the sum of two nonnegative numbers, each with its scale."""
    # A number two scales smaller is below half a unit in the last place.
    if other == 0.0 or (one > 0.0 and scale > its_scale + 1.0):
        return one, scale
    if one == 0.0 or its_scale > scale + 1.0:
        return other, its_scale
    if scale > its_scale:
        other *= 2.0**-512
    elif its_scale > scale:
        one, scale = one * 2.0**-512, its_scale
    return rescaled(one + other, scale)


def rescaled(number: float, scale: float) -> tuple[float, float]:
    """Return the same number, zero or in [2^-256, 2^256), with its scale."""
    while number >= 2.0**256:
        number, scale = number * 2.0**-512, scale + 1.0
    while 0.0 < number < 2.0**-256:
        number, scale = number * 2.0**512, scale - 1.0
    return number, scale
