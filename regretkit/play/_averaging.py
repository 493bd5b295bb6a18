"""Averaging: the weights of iterations, and the weighted average of strategies."""

import abc
import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from attrs import define, field, frozen
from attrs.validators import ge, le

from regretkit._state import Stateful, is_finite_array
from regretkit._util._typing import Vector
from regretkit._util._validate import check_kind, finite, floats, whole_number
from regretkit.games import Game, Profile
from regretkit.games._game import is_finite
from regretkit.sets import DecisionTree, Simplices, StrategySet

_MIN_LOG_WEIGHT = -600.0
"""Smaller weights count as exp(-600), which is far from the smallest float."""


class Averaging(abc.ABC):
    """A scheme of weights for an average over iterations.

    With weights w_t, the gap of the averages is at most the players' weighted regret divided by
    the sum of the weights. Equal weights suit every rule whose regret is small. Increasing weights
    suit the rules whose docstring says so, such as ``RegretMatchingPlus``. If the sum of the
    weights is finite, the average need not approach an equilibrium.

    Examples
    --------
    >>> [Linear().weight(t, None) for t in (1, 2, 3)]
    [1.0, 2.0, 3.0]

    An averaging that looks at the run, and weights an iteration by player 0's largest probability:

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

        ``horizon`` is the number of iterations planned, None if unknown. An infinite weight
        discards all earlier iterations.
        """

    def weights(self, first: int, count: int, horizon: int | None) -> Vector:
        """Return the weights of ``count`` iterations, the first of which is ``first``.

        The numbers are those of ``weight``, which is called once an iteration by default.
        """
        return np.array([self.weight(t, horizon) for t in range(first, first + count)])

    def look(self, run: Any) -> None:
        """Look at a run before each of its iterations, for a weight that depends on it.

        ``run.current`` are the strategies of the coming iteration. A run whose averaging has this
        method plays iteration by iteration, in machine code too.
        """
        return


@frozen
class Uniform(Averaging):
    """All iterations have weight 1.

    Examples
    --------
    >>> Uniform().weight(5, None)
    1.0
    """

    def weight(self, t: int, horizon: int | None) -> float:
        return 1.0

    def weights(self, first: int, count: int, horizon: int | None) -> Vector:
        return np.ones(count)


@frozen
class Linear(Averaging):
    """Iteration t has weight t.

    Examples
    --------
    >>> Linear().weight(5, None)
    5.0
    """

    def weight(self, t: int, horizon: int | None) -> float:
        return float(t)

    def weights(self, first: int, count: int, horizon: int | None) -> Vector:
        return np.arange(float(first), float(first + count))


@frozen
class Quadratic(Averaging):
    """Iteration t has weight t^2.

    Examples
    --------
    >>> Quadratic().weight(5, None)
    25.0
    """

    def weight(self, t: int, horizon: int | None) -> float:
        return float(t) ** 2

    def weights(self, first: int, count: int, horizon: int | None) -> Vector:
        return np.arange(float(first), float(first + count)) ** 2


@frozen
class Power(Averaging):
    """Iteration t has weight ``t ** power``.

    Parameters
    ----------
    power
        A number from -1 to 40; 0 is ``Uniform``, 1 ``Linear``, 2 ``Quadratic``.
        Below -1 the sum of all weights is finite, and the average need not converge to an
        equilibrium. Beyond 40, the weights of ten million iterations exceed double precision.

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
        if self.power == 2.0 and first + count <= 2**26:  # in DCFR; squares are exact
            return Quadratic().weights(first, count, horizon)
        return super().weights(first, count, horizon)


@frozen
class Last(Averaging):
    """Discard all iterations but the last: the average is x_T.

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
    """Discount early iterations faster than late ones, over a planned number of iterations.

    Before iteration t is added, the weighted sum so far is multiplied by

        ((t - 1) / t)^(power - 5 p),    p = (t - 1) / horizon

    Weights grow as ``t^power`` at first and as ``t^(power - 5)`` in the end. Iteration ``horizon``
    has weight 1; after it, p is 1. HS-DCFR and HS-PCFR+ use a power of 15 or 30. Weights never
    decrease if the power is at least 5, as regret matching+ requires.

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
    arXiv:2404.09097, equation 4, as in two other implementations: the text could not be checked.
    """

    power: float = field(default=30.0, validator=finite)

    def weight(self, t: int, horizon: int | None) -> float:
        if horizon is None:
            raise ValueError(
                f"{self} needs horizon=..., as in SelfPlay(..., horizon=1_000), or iterations=... "
                "in solve"
            )
        if t > horizon:
            return float((t / horizon) ** (self.power - 5.0))
        # The product of the factors of iterations t + 1 to horizon, in closed form
        relieved = horizon * math.log(horizon) - t * math.log(t)
        relieved -= math.lgamma(horizon + 1.0) - math.lgamma(t + 1.0)
        log_weight = 5.0 / horizon * relieved - self.power * math.log(horizon / t)
        # Never quite zero: there is an average from the first iteration on.
        return math.exp(max(log_weight, _MIN_LOG_WEIGHT))


# The average


@define(eq=False)
class Average(Stateful):
    """The weighted average of the strategies added to it.

        average  =  sum_t w_t x_t / sum_t w_t

    Parameters
    ----------
    averaging
        The weights w_t.
    horizon
        Number of strategies planned, for weights that depend on it, at least 1.

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
    """In sampled runs in machine code, the weighted sum by sequence as of its last visit. The
    settled sums are rounded, so a run resumes bitwise identically from these alone."""
    parent_sums: Vector | None = field(default=None, init=False, repr=False)
    """For each decision point, the sum at its parent sequence as of its last visit."""

    def __attrs_post_init__(self) -> None:
        check_kind(self.averaging, Averaging, "averaging", "Linear()")
        if self.horizon is not None:
            self.horizon = whole_number(self.horizon, "horizon", minimum=1)
        # A scheme that needs a horizon raises now.
        self.averaging.weight(1, self.horizon)

    def add(self, strategy: Vector) -> None:
        """Add the next iteration's strategy, finite and of the shape of those before it."""
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
        """Return the factors of the sum and of each next strategy, shape ``(count, 2)``."""
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
            raise ValueError("nothing to average yet: play at least one iteration first")
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
    """Return the players' averages, each distribution scaled to sum to 1 up to rounding."""
    strategies = [
        _normalized(average.strategy, domain)
        for average, domain in zip(averages, game.domains, strict=True)
    ]
    return Profile(strategies, game.domains, game)


def _normalized(strategy: Vector, domain: StrategySet) -> Vector:
    if isinstance(domain, DecisionTree):
        return domain.sequence_form(domain.behavior(strategy))
    return domain.normalize(strategy) if isinstance(domain, Simplices) else strategy
