"""Regularizers, and root searches for their leaders."""

import abc

import numpy as np
from attrs import field, frozen

from regretkit._util._typing import Vector
from regretkit._util._validate import inside, of_kind
from regretkit.sets import Simplices


class Regularizer(abc.ABC):
    """Base class of regularizers: strictly convex functions phi on the simplex.

    A regularizer defines the leader for scores of actions, in each block

        argmax over x of  <scores, x> - phi(x) / rate

    Its methods are pure functions of all blocks at once.

    Examples
    --------
    >>> Entropy().leader(Simplices(2), np.array([np.log(3.0), 0.0]), rate=1.0)
    array([0.75, 0.25])
    """

    interior: bool = True
    """Whether all leaders have positive probabilities, because the gradient of phi is infinite at
    the boundary. Mirror descent then equals following the regularized leader."""

    @abc.abstractmethod
    def leader(self, simplices: Simplices, scores: Vector, rate: float) -> Vector:
        """Return the leader in each block, a new array of shape ``(dimension,)``."""

    @abc.abstractmethod
    def value(self, simplices: Simplices, strategy: Vector) -> Vector:
        """Return phi in each block, shape ``(blocks,)``."""

    @abc.abstractmethod
    def gradient(self, strategy: Vector) -> Vector:
        """Return the gradient of phi, shape ``(dimension,)``.

        If ``interior``, it is infinite at probabilities of zero.
        """


check_regularizer = of_kind(Regularizer, "Entropy()")


@frozen
class Entropy(Regularizer):
    """Negative entropy: ``phi(x) = sum of x ln x``, whose leaders are exponential weights.

    Examples
    --------
    >>> Entropy().value(Simplices(2), np.array([1.0, 0.0]))
    array([0.])
    """

    def leader(self, simplices: Simplices, scores: Vector, rate: float) -> Vector:
        return simplices.softmax(scores, rate)

    def value(self, simplices: Simplices, strategy: Vector) -> Vector:
        return simplices.dot(strategy, np.log(np.where(strategy > 0.0, strategy, 1.0)))

    def gradient(self, strategy: Vector) -> Vector:
        with np.errstate(divide="ignore"):
            return np.log(strategy) + 1.0


@frozen
class Euclidean(Regularizer):
    """Half the squared length: ``phi(x) = |x|^2 / 2``, whose leaders are projections.

    Examples
    --------
    >>> Euclidean().leader(Simplices(3), np.array([2.0, 1.0, 0.0]), rate=0.5)
    array([0.75, 0.25, 0.  ])
    """

    interior = False

    def leader(self, simplices: Simplices, scores: Vector, rate: float) -> Vector:
        # Actions 1 or more below the largest get probability 0, so clipping at -1 is exact.
        shifted = _below(simplices, scores, rate)
        return simplices.project(np.maximum(shifted, -1.0, out=shifted))

    def value(self, simplices: Simplices, strategy: Vector) -> Vector:
        return 0.5 * simplices.dot(strategy, strategy)

    def gradient(self, strategy: Vector) -> Vector:
        return strategy.copy()


@frozen
class Tsallis(Regularizer):
    """Negative Tsallis entropy: ``phi(x) = (1 - sum of x^q) / (1 - q)``.

    Its leaders have weights ``((1 - q) / q (level - rate scores))^(-1 / (1 - q))``, with the level
    at which they sum to 1. These weights decrease polynomially in the difference of scores. As q
    approaches 1, they converge to exponential weights.

    Parameters
    ----------
    q
        Exponent, strictly between 0 and 1. With 1/2, half the rate of Zimmert and Seldin gives the
        weights of their Tsallis-INF.

    Examples
    --------
    >>> Tsallis().leader(Simplices(2), np.array([0.0, -1e12]), rate=1.0)
    array([1.e+00, 1.e-24])

    References
    ----------
    Zimmert and Seldin (2021), "Tsallis-INF: an optimal algorithm for stochastic and adversarial
    bandits", Journal of Machine Learning Research 22(28).
    """

    q: float = field(default=0.5, validator=inside, kw_only=True)

    def leader(self, simplices: Simplices, scores: Vector, rate: float) -> Vector:
        shifted = -_below(simplices, scores, rate)
        return _in_powers(simplices, (1.0 - self.q) / self.q * shifted, 1.0 / (1.0 - self.q))

    def value(self, simplices: Simplices, strategy: Vector) -> Vector:
        value: Vector = (1.0 - simplices.sum(strategy**self.q)) / (1.0 - self.q)
        return value

    def gradient(self, strategy: Vector) -> Vector:
        with np.errstate(divide="ignore"):
            slope: Vector = self.q / (self.q - 1.0) * strategy ** (self.q - 1.0)
        return slope


@frozen
class LogBarrier(Regularizer):
    """The logarithmic barrier: ``phi(x) = - sum of ln x``.

    phi is infinite at probabilities of zero. Regret bounds thus need comparators in the interior,
    near the best strategy.

    Examples
    --------
    >>> LogBarrier().leader(Simplices(2), np.array([0.0, -1.5]), rate=1.0)
    array([0.66666667, 0.33333333])
    """

    def leader(self, simplices: Simplices, scores: Vector, rate: float) -> Vector:
        return _in_powers(simplices, -_below(simplices, scores, rate), 1.0)

    def value(self, simplices: Simplices, strategy: Vector) -> Vector:
        with np.errstate(divide="ignore"):
            return -simplices.sum(np.log(strategy))

    def gradient(self, strategy: Vector) -> Vector:
        with np.errstate(divide="ignore"):
            return -1.0 / strategy


def _below(simplices: Simplices, scores: Vector, rate: float) -> Vector:
    """Return ``rate (scores - largest score of the block)``, at most 0."""
    with np.errstate(over="ignore"):
        return (scores - simplices.repeat(simplices.max(scores))) * rate


def _in_powers(simplices: Simplices, gaps: Vector, exponent: float) -> Vector:
    """Return weights ``(level + gap)^-exponent``, with the level at which each block sums to 1."""
    level = simplices.repeat(power_level(simplices, gaps, exponent))
    # Relative to the largest weight, so that equal scores give bitwise identical weights.
    return simplices.normalize((level / (level + gaps)) ** exponent)


# Root searches for all blocks at once. Each function is monotone, and convex or concave such that
# Newton's method never steps beyond the root.


def power_level(simplices: Simplices, gaps: Vector, exponent: float) -> Vector:
    """Return the level of each block at which powers sum to 1.

        sum over the block of (level + gap)^-exponent  =  1

    The smallest gap of each block must be 0, so the level is between 1 and ``n^(1/exponent)``.
    Newton's method searches with a power mean of ``level + gap``, which is concave in the level.

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

    return simplices.newton(np.ones(simplices.blocks), step)


def normal_precision(simplices: Simplices, squares: Vector) -> Vector:
    """Return the precision b of each block at which exponentials have mean e.

        mean over the block of exp(b square)  =  e

    The largest square of each block must be 1, so b is between 1 and ``1 + ln n``. The logarithm of
    the mean is convex in b, so Newton's method from above stays above the root.

    Examples
    --------
    >>> normal_precision(Simplices(2), np.ones(2))
    array([1.])
    """
    sizes = simplices.sizes.astype(np.float64)
    start = 1.0 + np.log(sizes)
    margin = squares - 1.0

    def step(descent: Vector) -> Vector:
        precision = start - descent
        weights = np.exp(simplices.repeat(precision) * margin)
        total = simplices.sum(weights)
        excess = precision - 1.0 + np.log(total / sizes)
        slope: Vector = simplices.sum(weights * squares) / total
        return excess / slope

    return start - simplices.newton(np.zeros(simplices.blocks), step)
