"""Averaging: how much each iteration counts."""

import abc
import math
from typing import final

import numpy as np
from attrs import field, frozen
from typing_extensions import override

from regretkit._util._typing import Vector
from regretkit._util._validate import finite, quote

_FAINTEST = 600.0
"""Weights below exp(-600) count as that, well above where numbers lose their precision."""


class Averaging(abc.ABC):
    """A scheme of weights for an average over iterations.

    With weights w_t, the gap of the averages is bounded by the players' weighted regret divided by
    the sum of the weights, so a rule and a scheme go together: equal weights suit every rule whose
    regret is small, weights that increase only rules whose docstring says so, such as
    :class:`~regretkit.RegretMatchingPlus`. If the sum of the weights is finite no rule's average is
    guaranteed to approach an equilibrium.

    Examples
    --------
    >>> [Linear().weight(t, None) for t in (1, 2, 3)]
    [1.0, 2.0, 3.0]
    """

    @abc.abstractmethod
    def weight(self, t: int, horizon: int | None) -> float:
        """Return how much iteration ``t`` (from 1) counts, at least 0.

        ``horizon`` is the number of iterations planned, None if unknown. An infinite weight
        discards all earlier iterations.
        """

    def weights(self, first: int, count: int, horizon: int | None) -> Vector:
        """Return the weights of ``count`` iterations, the first of which is ``first``.

        The same numbers as :meth:`weight` returns, asked for one by one by default.
        """
        return np.array([self.weight(t, horizon) for t in range(first, first + count)])


@final
@frozen
class Uniform(Averaging):
    """Every iteration counts the same.

    Examples
    --------
    >>> Uniform().weight(5, None)
    1.0
    """

    @override
    def weight(self, t: int, horizon: int | None) -> float:
        return 1.0

    @override
    def weights(self, first: int, count: int, horizon: int | None) -> Vector:
        return np.ones(count)


@final
@frozen
class Linear(Averaging):
    """Iteration t counts t times.

    Examples
    --------
    >>> Linear().weight(5, None)
    5.0
    """

    @override
    def weight(self, t: int, horizon: int | None) -> float:
        return float(t)

    @override
    def weights(self, first: int, count: int, horizon: int | None) -> Vector:
        return np.arange(float(first), float(first + count))


@final
@frozen
class Quadratic(Averaging):
    """Iteration t counts t^2 times.

    Examples
    --------
    >>> Quadratic().weight(5, None)
    25.0
    """

    @override
    def weight(self, t: int, horizon: int | None) -> float:
        return float(t) ** 2

    @override
    def weights(self, first: int, count: int, horizon: int | None) -> Vector:
        return np.arange(float(first), float(first + count)) ** 2


@final
@frozen
class Power(Averaging):
    """Iteration t counts ``t ** power`` times.

    Parameters
    ----------
    power
        A number from -1 to 40; 0 is :class:`Uniform`, 1 :class:`Linear`, 2 :class:`Quadratic`.
        Below -1 the sum of all weights is finite, so that the first iteration keeps a share of it
        for ever, and the average need not approach anything. Beyond 40, the weights of ten million
        iterations leave double precision.

    Raises
    ------
    TypeError, ValueError
        When ``power`` is not a number from -1 to 40.

    Examples
    --------
    >>> Power(3.0).weight(2, None)
    8.0
    """

    power: float = field(validator=finite)

    def __attrs_post_init__(self) -> None:
        if not -1.0 <= self.power <= 40.0:
            raise ValueError(
                f"power must be from -1 to 40, got {quote(self.power)}: below -1 the first "
                "iteration counts for a fixed share of the average, and for the last one alone "
                "there is Last()"
            )

    @override
    def weight(self, t: int, horizon: int | None) -> float:
        weight: float = float(t) ** self.power
        return weight


@final
@frozen
class Last(Averaging):
    """Only the last iteration counts: the average is x_T.

    Examples
    --------
    >>> from regretkit.play import Average
    >>> average = Average(Last())
    >>> for strategy in ([1.0, 0.0], [0.0, 1.0]):
    ...     average.add(np.array(strategy))
    >>> average.strategy
    array([0., 1.])
    """

    @override
    def weight(self, t: int, horizon: int | None) -> float:
        return math.inf


@final
@frozen
class HorizonPower(Averaging):
    """Early iterations are forgotten faster than late ones, over a planned number of iterations.

    Before iteration t is added, the weighted sum so far is multiplied by

        ((t - 1) / t)^(power - 5 p),    p = (t - 1) / horizon

    so that weights grow as ``t^power`` at first and as ``t^(power - 5)`` in the end, where
    iteration ``horizon`` has weight 1; from iteration horizon + 1 on, p is 1. HS-DCFR and HS-PCFR+
    average like this, with a power of 15 or 30. Weights never decrease, as regret matching+ needs
    it, if the power is at least 5.

    Parameters
    ----------
    power
        Any finite number.

    Raises
    ------
    ValueError
        When ``power`` is not finite; later, when there is no horizon.

    Examples
    --------
    >>> averaging = HorizonPower(30.0)
    >>> averaging.weight(100, 100)
    1.0
    >>> averaging.weight(50, 100) < 0.5**25
    True

    References
    ----------
    Zhang, McAleer and Sandholm (2026), "Faster game solving via hyperparameter schedules", AAAI,
    arXiv:2404.09097, equation 4, here as two other implementations transcribe it: the paper's
    own text could not be checked.
    """

    power: float = field(default=30.0, validator=finite)

    @override
    def weight(self, t: int, horizon: int | None) -> float:
        if horizon is None:
            raise ValueError(
                f"{quote(self)} needs to know how many iterations are planned: pass horizon=..., "
                "as in SelfPlay(..., horizon=1_000), or iterations=... to solve"
            )
        if t > horizon:
            return float((t / horizon) ** (self.power - 5.0))
        # What the factors of iterations t + 1 to horizon come to, in closed form
        relieved = horizon * math.log(horizon) - t * math.log(t)
        relieved -= math.lgamma(horizon + 1.0) - math.lgamma(t + 1.0)
        exponent = self.power * math.log(horizon / t) - 5.0 / horizon * relieved
        # Never quite zero: there is an average from the first iteration on.
        return math.exp(-exponent) if exponent < _FAINTEST else math.exp(-_FAINTEST)
