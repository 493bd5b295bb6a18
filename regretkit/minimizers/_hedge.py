"""Hedge, or multiplicative weights: with a rate, optimistic, and without a rate."""

import numpy as np
from attrs import define, field

from regretkit._state import NOT_STATE
from regretkit._util._typing import Vector
from regretkit._util._validate import positive
from regretkit.minimizers._regret_matching import RegretRule
from regretkit.minimizers._regularizers import normal_precision
from regretkit.minimizers._simplex_rule import SimplexRule, state


@define(eq=False)
class Hedge(RegretRule):
    """Hedge, or exponential weights: play each action in proportion to ``exp(rate R)``.

        x  =  exp(rate R) / sum exp(rate R)
        R <-  R + u - <u, x>

    Cumulative utilities, as in most texts, give the same strategies as the regrets R, because their
    difference is equal for all actions. With n actions, T iterations and utilities in a range of
    Delta, the regret is at most ``ln(n) / rate + rate Delta^2 T / 8``.

    Parameters
    ----------
    rate
        Learning rate, positive, in units of 1 / utility.

    Examples
    --------
    >>> import math
    >>> player = Hedge(2, rate=math.log(3.0))
    >>> player.observe_utility([1.0, 0.0])
    >>> player.next_strategy()
    array([0.75, 0.25])

    References
    ----------
    Freund and Schapire (1997), "A decision-theoretic generalization of on-line learning and an
    application to boosting", Journal of Computer and System Sciences 55(1).
    """

    rate: float = field(validator=positive, kw_only=True)

    def link(self, regrets: Vector) -> Vector:
        return self.simplices.softmax(regrets, self.rate)


@define(eq=False)
class OptimisticHedge(Hedge):
    """Hedge with predictions.

    With m the predicted utility, by default the last one, and x' the last strategy,

        x  =  exp(rate (R + v)) / sum exp(rate (R + v)),    v = m - <m, x'>
        R <-  R + u - <u, x>

    The regret is at most ``ln(n) / rate`` plus ``rate / 8`` times the sum of the squared ranges of
    u - m. Parameters are those of ``Hedge``.

    Examples
    --------
    The last utility is also the prediction, so it counts twice:

    >>> import math
    >>> player = OptimisticHedge(2, rate=math.log(3.0) / 2)
    >>> player.observe_utility([1.0, 0.0])
    >>> player.next_strategy()
    array([0.75, 0.25])

    References
    ----------
    Rakhlin and Sridharan (2013), "Optimization, learning, and games with predictable sequences",
    NIPS. Syrgkanis, Agarwal, Luo and Schapire (2015), "Fast convergence of regularized learning
    in games", NIPS.
    """

    optimistic: bool = field(default=True, init=False, repr=False, metadata=NOT_STATE)


@define(eq=False)
class AdaHedge(SimplexRule):
    """Hedge with an adaptive rate, which needs no parameter.

        x  =  exp(eta R) / sum exp(eta R),    eta = ln(n) / G
        R <-  R + u - <u, x>
        G <-  G + M' - M,    M = ln(mean exp(eta R)) / eta  before the update of R,  M' after it

    with n actions. ``M' - M`` is the mixability gap. While G is 0 the rate is infinite: x is
    uniform on the actions of largest R, and M is this R. Each block has its own G and rate.

    The regret is at most 2 G. With utilities in a range of s_t in iteration t, and s the largest,
    it is at most ``sqrt(ln(n) sum of s_t^2) + s (4/3 ln(n) + 2)``. If one action is soon the best
    one, the regret stays bounded.

    Attributes
    ----------
    regrets
        R, shape ``(dimension,)``.
    gaps
        G, shape ``(blocks,)``, in the unit of utility.

    Examples
    --------
    >>> player = AdaHedge(2)
    >>> for utility in ([1.0, 0.0], [0.0, 1.0]):
    ...     player.observe_utility(utility)
    >>> player.gaps.round(3)
    array([0.639])

    References
    ----------
    de Rooij, van Erven, Grunwald and Koolen (2014), "Follow the leader if you can, hedge if you
    must", Journal of Machine Learning Research 15.
    """

    regrets: Vector = state()
    gaps: Vector = state(per="block")
    _log_sizes: Vector = field(init=False, repr=False, metadata=NOT_STATE)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        # A single action has no regret at any rate.
        self._log_sizes = np.log(np.maximum(self.simplices.sizes, 2))

    scale_free = True

    def _propose(self) -> Vector:
        largest = self.simplices.max(self.regrets)
        return self.simplices.normalize(self._weights(self.regrets, largest))

    def _learn(self, utility: Vector, strategy: Vector) -> None:
        regrets = self.simplices.regret(utility, strategy)
        regrets += self.regrets
        old_maximum, new_maximum = self.simplices.max(self.regrets), self.simplices.max(regrets)
        # The largest weight was 1, so max(strategy) = 1 / (sum of the weights before the update).
        growth = self.simplices.sum(self._weights(regrets, new_maximum)) * self.simplices.max(
            strategy
        )
        gap = new_maximum - old_maximum + np.log(growth) * (self.gaps / self._log_sizes)
        # The exact gap is at least 0; rounding can make it negative.
        self.regrets, self.gaps = regrets, self.gaps + np.maximum(gap, 0.0)

    def _weights(self, regrets: Vector, largest: Vector) -> Vector:
        """Return ``exp(eta (R - max R))`` for the maxima ``largest``, also for infinite eta."""
        weights = self.simplices.repeat(largest)
        np.subtract(regrets, weights, out=weights)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
            rates = self._log_sizes / self.gaps
            weights *= self.simplices.repeat(rates)
            # At an infinite rate the best actions give 0 * inf = nan, which fmin replaces by 0.
            np.fmin(weights, 0.0, out=weights)
            return np.exp(weights, out=weights)


@define(eq=False)
class NormalHedge(RegretRule):
    """Hedge with a half-normal potential, which needs no rate.

        x  =  [R]+ exp([R]+^2 / 2c) / sum of these,  uniform when no regret is positive
        R <-  R + u - <u, x>

    where c solves ``mean over the n actions of exp([R]+^2 / 2c) = e``. Each block has its own c.
    The regret is at most ``sqrt(2 c (1 + ln n))``. For utilities in a constant range c grows
    linearly in T, so the regret is of order ``sqrt(T ln n)``. The rule needs neither T nor the
    range.

    Examples
    --------
    >>> player = NormalHedge(3)
    >>> player.observe_utility([0.0, 3.0, 2.0])
    >>> player.next_strategy().round(3)
    array([0.   , 0.956, 0.044])

    References
    ----------
    Chaudhuri, Freund and Hsu (2009), "A parameter-free hedging algorithm", NIPS.
    """

    scale_free = True

    def link(self, regrets: Vector) -> Vector:
        positive = np.maximum(regrets, 0.0)
        largest = self.simplices.max(positive)
        shares = positive / self.simplices.repeat(np.where(largest > 0.0, largest, 1.0))
        # Blocks without positive regrets are uniform at any precision; squares of 1 give 1.
        squares = np.where(self.simplices.repeat(largest) > 0.0, shares * shares, 1.0)
        precision = self.simplices.repeat(normal_precision(self.simplices, squares))
        return self.simplices.normalize(shares * np.exp(precision * (squares - 1.0)))
