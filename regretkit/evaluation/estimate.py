"""A mean that was estimated from samples, and how far off it may be."""

import math
from statistics import NormalDist
from typing import final

import numpy as np
from attrs import frozen
from numpy.typing import ArrayLike

from regretkit._typing import Vector
from regretkit._validate import floats, quote


@final
@frozen
class Estimate:
    """The mean of independent samples, with two kinds of intervals around it.

    Examples
    --------
    >>> tosses = Estimate.of([1.0, -1.0, -1.0, 1.0, 1.0, -1.0, 1.0, 1.0], bounds=(-1.0, 1.0))
    >>> tosses.mean
    0.25
    >>> low, high = tosses.normal_interval(0.95)
    >>> round(low, 3), round(high, 3)
    (-0.467, 0.967)
    >>> tosses.bernstein_interval(0.95)  # of so few, nothing is sure
    (-1.0, 1.0)
    """

    mean: float
    """Mean of the samples."""
    variance: float
    """Their sample variance, which has the mean of their true variance; NaN of a single one."""
    samples: int
    """How many there were."""
    bounds: tuple[float, float] | None = None
    """Known lower and upper bounds of all samples, None if unknown."""

    @classmethod
    def of(cls, samples: ArrayLike, bounds: tuple[float, float] | None = None) -> "Estimate":
        """Return the estimate that comes of some samples.

        Parameters
        ----------
        samples
            Independent samples, at least one.
        bounds
            The least and the most that a sample may be, known beforehand and not from the samples.

        Raises
        ------
        TypeError, ValueError
            When ``samples`` are no finite numbers, there is none, or one lies out of bounds.
        """
        drawn: Vector = floats(samples, "samples")
        if drawn.ndim != 1 or not drawn.size or not np.isfinite(drawn).all():
            raise ValueError(
                f"samples must be finite numbers, at least one, got an array of shape {drawn.shape}"
            )
        if bounds is not None:
            bounds = check_bounds(bounds, "bounds")
            low, high = bounds
            if not low <= drawn.min() <= drawn.max() <= high:
                raise ValueError(
                    f"bounds say that samples lie from {low} to {high}, but there are some from "
                    f"{drawn.min()} to {drawn.max()}; widen them"
                )
        spread = float(drawn.var(ddof=1)) if drawn.size > 1 else math.nan
        return cls(float(drawn.mean()), spread, drawn.size, bounds)

    @property
    def standard_error(self) -> float:
        """Standard deviation of the mean, as far as the samples tell."""
        return math.sqrt(self.variance / self.samples)

    def normal_interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return an interval that is right about as often as ``confidence`` says, of many samples.

            mean  -+  z sqrt(variance / n)

        with z the quantile of the normal distribution. It is an approximation, which nothing
        promises of few samples or of rare large payoffs.

        Raises
        ------
        TypeError, ValueError
            When ``confidence`` is not a number between 0 and 1, or there is a single sample.
        """
        tail = self._tail(confidence)
        radius = NormalDist().inv_cdf(1.0 - tail) * self.standard_error
        return self.mean - radius, self.mean + radius

    def bernstein_interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return an interval that is right at least as often as ``confidence`` says.

        With d = 1 - confidence, and samples between a and b, the empirical Bernstein bound:

            mean  -+  ( sqrt(2 variance ln(4 / d) / n)  +  7 (b - a) ln(4 / d) / (3 (n - 1)) )

        and never beyond a and b. It holds for any number of samples and any distribution.

        Raises
        ------
        TypeError, ValueError
            When ``confidence`` is not a number between 0 and 1, there is a single sample, or
            nothing says between what samples lie.

        References
        ----------
        Maurer and Pontil (2009), "Empirical Bernstein bounds and sample variance penalization",
        COLT, theorem 4, for both sides at once.
        """
        tail = self._tail(confidence)
        if self.bounds is None:
            raise ValueError(
                "nothing says between what samples lie, without which no bound holds: give "
                "payoff_bounds, the least and the most that a player may earn"
            )
        low, high = self.bounds
        # A tail of d / 2 on either side, and theorem 4 has the logarithm of 2 over its tail
        scale = math.log(2.0 / tail)
        radius = math.sqrt(2.0 * self.variance * scale / self.samples)
        radius += 7.0 * (high - low) * scale / (3.0 * (self.samples - 1))
        return max(self.mean - radius, low), min(self.mean + radius, high)

    def _tail(self, confidence: float) -> float:
        if isinstance(confidence, bool) or not isinstance(confidence, float | int):
            raise TypeError(f"confidence must be a number between 0 and 1, got {quote(confidence)}")
        if not 0.0 < confidence < 1.0:
            raise ValueError(f"confidence must lie between 0 and 1, got {quote(confidence)}")
        if self.samples < 2:
            raise ValueError("one sample says nothing about how far it is off; draw more")
        return (1.0 - confidence) / 2.0

    def __str__(self) -> str:
        if self.samples < 2:
            return f"{self.mean:.6g}, of one sample"
        low, high = self.normal_interval()
        return f"{self.mean:.6g} in about ({low:.6g}, {high:.6g}), of {self.samples:,} samples"


def check_bounds(bounds: tuple[float, float], name: str) -> tuple[float, float]:
    """Return two finite numbers in order, or refuse what came."""
    try:
        low, high = map(float, bounds)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"{name} must be two numbers, the least and the most, got {quote(bounds)}"
        ) from error
    if not -math.inf < low <= high < math.inf:
        raise ValueError(f"{name} must be two finite numbers in order, got {quote(bounds)}")
    return low, high
