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
        Shape ``(..., n)``. Several chains give the same bits as each chain alone.

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
    vectors = distributions, np.array(rates), np.empty(largest**2), *np.empty((3, largest))
    if not ran(set_stationary_distributions, (sizes,), vectors):
        set_stationary_distributions(sizes, *vectors)
    return distributions


def set_stationary_distributions(
    sizes: Indices,
    distributions: Vector,
    rates: Vector,
    scales: Vector,
    visits: Vector,
    visit_scales: Vector,
    starts: Vector,
) -> None:
    """Set the stationary distribution of each chain. The other arrays are overwritten."""
    begin, first, by_state = 0, 0, (visits, visit_scales, starts)
    for size in sizes:
        chain = rates[begin : begin + size * size]
        set_stationary(size, (first, 1), distributions, chain, scales, by_state)
        begin, first = begin + size * size, first + size


def set_stationary(
    size: int,
    at: tuple[int, int],
    distribution: Vector,
    rates: Vector,
    scales: Vector,
    by_state: tuple[Vector, Vector, Vector],
) -> None:
    """Set the stationary distribution p = p R of a chain, the mean over its closed classes.

    ``at`` is the first place in ``distribution``, and the stride. The other arrays are overwritten.

    A state of a closed class never leaves its class. So state k is the first of a closed class if,
    when it is eliminated, it has no rate to an earlier state and is not transient. Earlier states
    with a rate to this state, or to a transient one, are transient.
    """
    visits, visit_scales, starts = by_state
    mixed, is_start, classes = visits, starts, 0.0  # the memory of arrays that are set later
    for k in range(size):
        mixed[k], is_start[k] = 0.0, 1.0
        for place in range(size * k, size * k + size):
            rates[place], scales[place] = rescaled(float(rates[place]), 0.0)
            mixed[k] = max(mixed[k], abs(scales[place]))
    for k in range(size - 1, -1, -1):
        leaves = eliminate(k, size, rates, scales, mixed)
        if not leaves or is_start[k] == 0.0:
            for i in range(k):
                if rates[size * i + k] > 0.0:
                    is_start[i] = 0.0
        is_start[k] = 0.0 if leaves else is_start[k]
        classes += is_start[k]
    for k in range(size):
        # visits[k] = sum_{i < k} visits[i] R[i, k]. The first state of a closed class has 1 visit,
        # and a transient state has none.
        visit, scale, start = float(is_start[k]), 0.0, k
        for i in range(k):
            term = float(visits[i] * rates[size * i + k])
            if term > 0.0:
                added, its_scale = rescaled(term, float(visit_scales[i] + scales[size * i + k]))
                visit, scale = scaled_sum(visit, scale, added, its_scale)
                start = int(starts[i])
        visits[k], visit_scales[k], starts[k] = visit, scale, start
    for k in range(size):
        if starts[k] == k:
            set_shares(k, size, classes, at, distribution, by_state)


def set_shares(
    start: int,
    size: int,
    classes: float,
    at: tuple[int, int],
    distribution: Vector,
    by_state: tuple[Vector, Vector, Vector],
) -> None:
    """Set the states of a closed class: p[k] = visits[k] / (visits of the class) / classes."""
    first, stride = at
    visits, visit_scales, starts = by_state
    total, total_scale = 0.0, 0.0
    for k in range(start, size):
        if starts[k] == start:
            total, total_scale = scaled_sum(
                total, total_scale, float(visits[k]), float(visit_scales[k])
            )
    for k in range(start, size):
        if starts[k] == start:
            share = visits[k] / total if total > 0.0 else 0.0  # a transient state is alone
            scale = visit_scales[k] - total_scale
            while scale < 0.0 and share > 0.0:
                share *= 2.0**-512
                scale += 1.0
            distribution[first + stride * k] = share / classes


def eliminate(k: int, size: int, rates: Vector, scales: Vector, mixed: Vector) -> bool:
    """Eliminate state k: R[i, j] += R[i, k] R[k, j] / sum_{l < k} R[k, l], for i and j below k.

    Also divide the rates from and to k by that sum. Return whether it is positive. ``mixed`` is
    positive for rows with scales other than 0.
    """
    leaving, scale = 0.0, 0.0
    for j in range(k):
        leaving, scale = scaled_sum(
            leaving, scale, float(rates[size * k + j]), float(scales[size * k + j])
        )
    if leaving == 0.0:
        return False
    smallest = 1.0
    for j in range(k):
        place = size * k + j
        rates[place], scales[place] = rescaled(
            float(rates[place] / leaving), float(scales[place] - scale)
        )
        if rates[place] > 0.0:
            smallest = min(smallest, float(rates[place])) if scales[place] == 0.0 else 0.0
    for i in range(k):
        rate, its_scale = float(rates[size * i + k]), float(scales[size * i + k])
        if rate > 0.0:
            # Divided first: the product of a rate and a probability is at most the rate.
            if mixed[i] == 0.0 and rate * smallest >= 2.0**-256:
                for j in range(k):  # the general case with scales of 0, faster
                    rates[size * i + j] += rate * rates[size * k + j]
            else:
                mixed[i] = 1.0
                for j in range(k):
                    place = size * i + j
                    term, power = rescaled(
                        rate * float(rates[size * k + j]), float(its_scale + scales[size * k + j])
                    )
                    rates[place], scales[place] = scaled_sum(
                        float(rates[place]), float(scales[place]), term, power
                    )
            rates[size * i + k], scales[size * i + k] = rescaled(rate / leaving, its_scale - scale)
    return True


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
