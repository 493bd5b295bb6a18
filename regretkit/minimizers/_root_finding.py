"""Roots that playing rules need, found for all blocks at once.

Every search is Newton's, from an end of the bracket from which it cannot overshoot: the function
is monotone, and its curvature makes each step stop short of the root. Each block stops when
its own step is small, independently of the others.
"""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from regretkit._util._typing import Vector
from regretkit.sets import Simplices

_SMALL = 1e-9
"""Relative size of a last step: errors are squared by each, so the next would be rounding."""
_LIMIT = 100

Step: TypeAlias = Callable[[Vector], Vector]
"""From where each block is to how far it goes next, at least 0 but for rounding."""


def power_level(simplices: Simplices, gaps: Vector, exponent: float) -> Vector:
    """Return, for each block, the level at which the powers of the actions sum to one.

        sum over the block of (level + gap)^-exponent  =  1

    The smallest gap of each block is 0, so that the level is between 1 and ``n^(1/exponent)``.
    What is searched is a power mean of ``level + gap``, which is concave in the level.

    Examples
    --------
    >>> power_level(Simplices(4), np.zeros(4), 2.0)
    array([2.])
    """

    def step(level: Vector) -> Vector:
        shifted = simplices.repeat(level) + gaps
        powers = shifted**-exponent
        total = simplices.sum(powers)
        move: Vector = (total ** (1.0 / exponent) - 1.0) * total / simplices.sum(powers / shifted)
        return move

    return _climb(np.ones(simplices.blocks), step)


def normal_precision(simplices: Simplices, squares: Vector) -> Vector:
    """Return, for each block, the precision b at which exponentials of the squares average to e.

        mean over the block of exp(b square)  =  e

    The largest square of each block is 1, so that b is between 1 and ``1 + ln n``. What is
    searched is the logarithm of the mean, which is convex in b: from above, Newton stays above.

    Examples
    --------
    >>> normal_precision(Simplices(2), np.ones(2))
    array([1.])
    """
    sizes = simplices.sizes.astype(np.float64)
    start = 1.0 + np.log(sizes)
    below = squares - 1.0

    def step(descent: Vector) -> Vector:
        precision = start - descent
        weights = np.exp(simplices.repeat(precision) * below)
        total = simplices.sum(weights)
        excess = precision - 1.0 + np.log(total / sizes)
        slope: Vector = simplices.sum(weights * squares) / total
        return excess / slope

    return start - _climb(np.zeros(simplices.blocks), step)


def _climb(position: Vector, step: Step) -> Vector:
    """Take steps upwards until they are small."""
    going = np.ones(position.shape, dtype=bool)
    for _ in range(_LIMIT):
        move = np.where(going, step(position), 0.0)
        position = position + move
        going &= np.abs(move) > _SMALL * (1.0 + position)
        if not going.any():
            break
    return position
