"""Regularizers: strictly convex functions of a distribution, and the roots that leaders need."""

import abc

import numpy as np
from attrs import field, frozen

from regretkit._util._typing import Vector
from regretkit._util._validate import inside, of_kind
from regretkit.sets import Simplices


class Regularizer(abc.ABC):
    """A strictly convex function phi on the simplex, the same on every block.

    A rule plays the leader that it makes of what actions have earned:

        argmax over x of  <scores, x> - phi(x) / rate

    It is a value without state: its methods are pure functions of all blocks at once.

    Examples
    --------
    >>> Entropy().leader(Simplices(2), np.array([np.log(3.0), 0.0]), rate=1.0)
    array([0.75, 0.25])
    """

    interior: bool = True
    """Whether every leader gives every action some weight, because phi is infinitely steep at the
    boundary. Following the regularized leader and mirror descent then are one and the same."""

    @abc.abstractmethod
    def leader(self, simplices: Simplices, scores: Vector, rate: float) -> Vector:
        """Return the leader in each block, a new array of shape ``(dimension,)``."""

    @abc.abstractmethod
    def value(self, simplices: Simplices, strategy: Vector) -> Vector:
        """Return phi in each block, shape ``(blocks,)``."""

    @abc.abstractmethod
    def gradient(self, strategy: Vector) -> Vector:
        """Return the derivative of phi by each probability, shape ``(dimension,)``.

        It is infinite for an action that is never played, where ``interior`` holds.
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
        # A whole unit below the largest, an action has no weight, however far below it is.
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
    at which they sum to one. They fall like a power of what an action is behind, and so more
    slowly than exponential weights, which are the limit as q goes to 1.

    Parameters
    ----------
    q
        Strictly between 0 and 1. With 1/2, the default, half the rate of Zimmert and Seldin gives
        the weights of their Tsallis-INF.

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

    It is infinite where an action is never played, and so regret is bounded against strategies
    that play everything a little, and against others only by way of those.

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
    """Return ``rate`` times how far each action is below the best of its block, at most 0."""
    with np.errstate(over="ignore"):
        return (scores - simplices.repeat(simplices.max(scores))) * rate


def _in_powers(simplices: Simplices, gaps: Vector, exponent: float) -> Vector:
    """Return weights ``(level + gap)^-exponent`` that sum to one in each block."""
    level = simplices.repeat(power_level(simplices, gaps, exponent))
    # As fractions of the largest, so that equal scores give exactly equal shares.
    return simplices.normalize((level / (level + gaps)) ** exponent)


# Roots, found for all blocks at once: each function is monotone, and its curvature makes every step
# of Newton's method stop short of the root.


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

    return simplices.newton(np.ones(simplices.blocks), step)


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
    margin = squares - 1.0

    def step(descent: Vector) -> Vector:
        precision = start - descent
        weights = np.exp(simplices.repeat(precision) * margin)
        total = simplices.sum(weights)
        excess = precision - 1.0 + np.log(total / sizes)
        slope: Vector = simplices.sum(weights * squares) / total
        return excess / slope

    return start - simplices.newton(np.zeros(simplices.blocks), step)
