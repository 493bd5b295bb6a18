"""Averaging schemes, and the weighted average of strategies."""

import abc
import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from attrs import define, field, frozen
from attrs.validators import ge, le

from regretkit._state import Stateful, is_finite_array
from regretkit._util._typing import Vector
from regretkit._util._validate import at_least_one, check_kind, finite, floats, whole_number
from regretkit.games import Game, Profile
from regretkit.games._game import is_finite
from regretkit.sets import DecisionTree, Simplices, StrategySet

_MIN_LOG_WEIGHT = -600.0
"""Lower limit of the logarithm of a weight, so that no weight underflows to zero."""


class Averaging(abc.ABC):
    """An averaging scheme: the weight of each iteration in the average strategy.

    With weights w_t, the gap of the average is at most the players' weighted regrets divided by the
    sum of the weights. Equal weights suit every rule. Increasing weights need a rule with a bound
    on the weighted regret, such as ``RegretMatchingPlus``. If the sum of all weights is finite, the
    average need not converge to an equilibrium.

    Examples
    --------
    >>> [Linear().weight(t, None) for t in (1, 2, 3)]
    [1.0, 2.0, 3.0]

    A scheme that depends on the run: the weight is the largest probability of player 0.

    >>> class BySurety(Averaging):
    ...     def look(self, run):
    ...         self.surety = float(run.current[0].max())
    ...
    ...     def weight(self, t, horizon):
    ...         return getattr(self, "surety", 1.0)
    >>> from regretkit.play import Algorithm, solve
    >>> from regretkit.games import rock_paper_scissors
    >>> solve(rock_paper_scissors(), Algorithm("cfr", averaging=BySurety()), iterations=3).iteration
    3
    """

    @abc.abstractmethod
    def weight(self, t: int, horizon: int | None) -> float:
        """Return the weight of iteration ``t`` (from 1), at least 0.

        ``horizon`` is the planned number of iterations, None if unknown. An infinite weight
        discards all earlier iterations.
        """

    def weights(self, first: int, count: int, horizon: int | None) -> Vector:
        """Return the weights of iterations ``first`` to ``first + count - 1``, as by ``weight``."""
        return np.array([self.weight(t, horizon) for t in range(first, first + count)])

    def look(self, run: Any) -> None:
        """Read the run before each iteration, for weights that depend on it.

        ``run.current`` has the strategies of the next iteration. If a scheme overrides this method,
        engines play one iteration at a time.
        """
        return


@frozen
class Power(Averaging):
    """Polynomial weights: w_t = t^power.

    Parameters
    ----------
    power
        The exponent, from -1 to 40. Below -1 the sum of all weights is finite, and the average need
        not converge. Above 40, the sum of ten million weights overflows double precision.

    Examples
    --------
    >>> Power(3.0).weight(2, None)
    8.0
    """

    power: float = field(validator=[finite, ge(-1.0), le(40.0)])

    def weight(self, t: int, horizon: int | None) -> float:
        weight: float = float(t) ** self.power
        return weight

    def weights(self, first: int, count: int, horizon: int | None) -> Vector:
        # NumPy and Python agree on these powers bit for bit, as long as t^2 < 2^53 is exact.
        if self.power in (0.0, 1.0) or (self.power == 2.0 and first + count <= 2**26):
            weights: Vector = np.arange(float(first), float(first + count)) ** self.power
            return weights
        return super().weights(first, count, horizon)


@frozen
class Uniform(Power):
    """Equal weights: w_t = 1.

    Examples
    --------
    >>> Uniform().weight(5, None)
    1.0
    """

    power: float = field(default=0.0, init=False, repr=False)


@frozen
class Linear(Power):
    """Linear weights: w_t = t.

    Examples
    --------
    >>> Linear().weight(5, None)
    5.0
    """

    power: float = field(default=1.0, init=False, repr=False)


@frozen
class Quadratic(Power):
    """Quadratic weights: w_t = t^2.

    Examples
    --------
    >>> Quadratic().weight(5, None)
    25.0
    """

    power: float = field(default=2.0, init=False, repr=False)


@frozen
class Delayed(Averaging):
    """Polynomial weights after a delay: w_t = t^power for t > delay.

    Earlier weights are ``1e-200 t^power``. So a run that ends during the delay has an average, and
    in a longer run these iterations do not count.

    Parameters
    ----------
    power
        The exponent, from -1 to 40.
    delay
        Number of iterations before the average begins, at least 1.

    Examples
    --------
    >>> averaging = Delayed(2.0, delay=2)
    >>> [averaging.weight(t, None) for t in (1, 2, 3)]
    [1e-200, 4e-200, 9.0]
    """

    power: float = field(validator=[finite, ge(-1.0), le(40.0)])
    delay: int = field(validator=at_least_one, kw_only=True)

    def weight(self, t: int, horizon: int | None) -> float:
        weight: float = float(t) ** self.power
        return weight if t > self.delay else 1e-200 * weight


@frozen
class Last(Averaging):
    """Infinite weights, which discard earlier iterations: the average is the last iterate x_T.

    Examples
    --------
    >>> from regretkit.play import Average
    >>> average = Average(Last())
    >>> for strategy in ([1.0, 0.0], [0.0, 1.0]):
    ...     average.add(np.array(strategy))
    >>> average.strategy
    array([0., 1.])
    """

    def weight(self, t: int, horizon: int | None) -> float:
        return math.inf


@frozen
class HorizonPower(Averaging):
    """Polynomial weights whose exponent falls by 5 over a planned number of iterations.

    Iteration t multiplies the weighted sum of earlier strategies by

        ((t - 1) / t)^(power - 5 p),    p = min(1, (t - 1) / horizon)

    The weights grow as ``t^power`` at first and as ``t^(power - 5)`` at the horizon, whose
    iteration has weight 1. HS-DCFR and HS-PCFR+ use powers of 15 and 30. With a power of at least
    5, weights never decrease, which regret matching+ requires.

    Parameters
    ----------
    power
        Any finite number.

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
    arXiv:2404.09097, equation 4, taken from two other implementations, not from the text.
    """

    power: float = field(default=30.0, validator=finite)

    def weight(self, t: int, horizon: int | None) -> float:
        if horizon is None:
            raise ValueError(
                f"{self} needs a horizon: pass iterations to solve, or horizon to SelfPlay"
            )
        if t > horizon:
            return float((t / horizon) ** (self.power - 5.0))
        # log w_t = sum over s = t + 1 to H of (power - 5 (s - 1) / H) log((s - 1) / s). The first
        # part telescopes to -power log(H / t). The second has, up to the factor 5 / H,
        # sum of (s - 1) log(s / (s - 1))  =  H log H - t log t - log(H! / t!).
        relieved = horizon * math.log(horizon) - t * math.log(t)
        relieved -= math.lgamma(horizon + 1.0) - math.lgamma(t + 1.0)
        log_weight = 5.0 / horizon * relieved - self.power * math.log(horizon / t)
        # The limit keeps early weights positive, so an average exists after one iteration.
        return math.exp(max(log_weight, _MIN_LOG_WEIGHT))


# The average strategy


@define(eq=False)
class Average(Stateful):
    """The weighted average of the strategies added to it.

        average  =  sum_t w_t x_t / sum_t w_t

    Parameters
    ----------
    averaging
        The averaging scheme, with weights w_t.
    horizon
        Planned number of strategies, at least 1, for averaging schemes that depend on it.

    Attributes
    ----------
    iteration
        Number of strategies added so far.

    Examples
    --------
    >>> from regretkit.play import Linear
    >>> average = Average(Linear())
    >>> for strategy in ([1.0, 0.0], [0.0, 1.0], [0.0, 1.0]):
    ...     average.add(np.array(strategy))
    >>> average.strategy
    array([0.16666667, 0.83333333])
    """

    averaging: Averaging = field(factory=Uniform)
    horizon: int | None = field(default=None, kw_only=True)
    iteration: int = field(default=0, init=False)
    _total: Vector | None = field(default=None, init=False, repr=False)
    _weight: float = field(default=0.0, init=False, repr=False)
    sums: Vector | None = field(default=None, init=False, repr=False)
    """In compiled sampled runs, the weighted sum of each sequence at its last visit. The total adds
    later iterations and rounds, so a bitwise identical resume needs these sums."""
    parent_sums: Vector | None = field(default=None, init=False, repr=False)
    """For each decision point, the sum of its parent sequence at the last visit."""

    def __attrs_post_init__(self) -> None:
        check_kind(self.averaging, Averaging, "averaging", "Linear()")
        if self.horizon is not None:
            self.horizon = whole_number(self.horizon, "horizon", minimum=1)
        # A scheme that needs a horizon raises here, not in the first iteration.
        self.averaging.weight(1, self.horizon)

    def add(self, strategy: Vector) -> None:
        """Add the next iteration's strategy, a finite array of one shape in all iterations."""
        strategy = floats(strategy, "strategy")
        if self._total is not None and strategy.shape != self._total.shape:
            raise ValueError(f"strategy must have shape {self._total.shape}, got {strategy.shape}")
        if not is_finite(strategy):
            raise ValueError(f"strategy must be finite, got {strategy}")
        weight = self.averaging.weight(self.iteration + 1, self.horizon)
        self._check_weight(weight, 1)
        if math.isinf(weight):
            self._total, self._weight, weight = None, 0.0, 1.0
        if self._total is None:
            self._total = np.zeros(strategy.shape)
        self._total += weight * strategy
        self._weight += weight
        self.iteration += 1

    def upcoming_weights(self, count: int) -> Vector:
        """Return the factor of the sum so far and of the strategy in each of the next iterations.

        The shape is ``(count, 2)``. An infinite weight gives the factors 0 and 1.
        """
        weights = self.averaging.weights(self.iteration + 1, count, self.horizon)
        self._check_weight(weights.min(initial=math.inf), count)
        discards = np.isinf(weights)
        return np.column_stack((np.where(discards, 0.0, 1.0), np.where(discards, 1.0, weights)))

    def _check_weight(self, least: float, count: int) -> None:
        if not least >= 0.0:
            raise ValueError(
                f"weights of {self.averaging} must be at least 0, got {least} in the "
                f"{count} iterations after {self.iteration}"
            )

    @property
    def has_strategy(self) -> bool:
        """Whether the sum of the weights is positive."""
        return self._total is not None and self._weight > 0.0

    @property
    def strategy(self) -> Vector:
        """The average, a new array of the strategies' shape."""
        if self._total is None or self._weight == 0.0:
            raise ValueError("the average needs at least one iteration of positive weight")
        return self._total / self._weight

    def _check_state(self, state: Mapping[str, object]) -> None:
        weight, total = state["_weight"], state["_total"]
        if not (isinstance(weight, int | float) and 0.0 <= weight < math.inf):
            raise ValueError(f"the weight of an average must be finite, at least 0, got {weight}")
        sums = [total, state["sums"], state["parent_sums"]]
        if (total is None and weight != 0.0) or not all(
            x is None or is_finite_array(x) for x in sums
        ):
            raise ValueError("the sums of an average must be vectors of finite numbers")


def average_profile(averages: Iterable[Average], game: Game) -> Profile:
    """Return the players' averages, with each distribution rescaled to sum to 1."""
    strategies = [
        _normalized(average.strategy, domain)
        for average, domain in zip(averages, game.domains, strict=True)
    ]
    return Profile(strategies, game.domains, game)


def _normalized(strategy: Vector, domain: StrategySet) -> Vector:
    if isinstance(domain, DecisionTree):
        return domain.sequence_form(domain.behavior(strategy))
    return domain.normalize(strategy) if isinstance(domain, Simplices) else strategy
