"""Fixed points of maps, exact and on average."""

from collections.abc import Callable
from typing import TypeAlias, final

from attrs import field, frozen

from regretkit._util._typing import Vector
from regretkit._util._validate import at_least_one, quote
from regretkit.circuits._maps import DeviationSet, MarkovDeviations

FixedPoint: TypeAlias = Callable[[DeviationSet, Vector], Vector]
"""Returns a point that the map with the given coefficients sends to itself."""


def stationary(maps: DeviationSet, coefficients: Vector) -> Vector:
    """Return the fixed point of a stochastic matrix, its stationary distribution.

    Where the chain has several closed classes, the mean of their stationary distributions.

    Parameters
    ----------
    maps
        Maps by stochastic matrices.
    coefficients
        Which of the maps, shape ``(maps.coefficients.dimension,)``.

    Raises
    ------
    TypeError
        When ``maps`` are not maps by stochastic matrices.

    Examples
    --------
    >>> import numpy
    >>> from regretkit.circuits import StochasticMatrices
    >>> stationary(StochasticMatrices(2), numpy.array([0.5, 0.5, 0.25, 0.75]))
    array([0.33333333, 0.66666667])
    """
    if not isinstance(maps, MarkovDeviations):
        raise TypeError(
            f"maps must be MarkovDeviations for a stationary distribution, got {quote(maps)}; "
            "pass a fixed_point of your own for others"
        )
    return maps.stationary(coefficients)


@final
@frozen
class AveragedPowerIterate:
    """An expected fixed point: the mean of a point and where a map sends it, again and again.

        x  =  (z + map(z) + map(map(z)) + ...) / steps,  with z the domain's interior point

    Any map moves x by ``(map^steps(z) - z) / steps`` only. Every iteration may
    therefore add to the regret what a utility earns over that step, at most its range over the
    domain divided by ``steps``. It needs nothing of the map but its values.

    Parameters
    ----------
    steps
        Number of points in the mean, at least 1.

    Raises
    ------
    TypeError, ValueError
        When ``steps`` is not a whole number, at least 1.

    Examples
    --------
    >>> import numpy
    >>> from regretkit.circuits import StochasticMatrices
    >>> chain = numpy.array([0.5, 0.5, 0.25, 0.75])
    >>> AveragedPowerIterate(1_000)(StochasticMatrices(2), chain).round(3)
    array([0.334, 0.666])

    References
    ----------
    Zhang, Anagnostides, Farina and Sandholm (2024), "Efficient Phi-regret minimization with
    low-degree swap deviations in extensive-form games", NeurIPS.
    """

    steps: int = field(validator=at_least_one)

    def __call__(self, maps: DeviationSet, coefficients: Vector) -> Vector:
        """Return the mean."""
        point = maps.domain.relative_interior_point()
        total = point.copy()
        for _ in range(self.steps - 1):
            point = maps.apply(coefficients, point)
            total += point
        return total / self.steps
