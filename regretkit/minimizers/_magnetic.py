"""Magnetic mirror descent: mirror descent with KL regularization towards a reference strategy."""

from collections.abc import Mapping
from typing import final

import numpy as np
from attrs import define, field, frozen
from numpy.typing import ArrayLike
from typing_extensions import override

from regretkit._util import _validate
from regretkit._util._typing import Vector
from regretkit._util._validate import positive, quote, shorten, truth
from regretkit.minimizer import RegretMinimizer
from regretkit.minimizers.regret_matching._accumulators import Accumulator, State
from regretkit.minimizers.regret_matching._links import SoftmaxLink
from regretkit.minimizers.regret_matching._predictors import LastUtilityPrediction, NoPrediction
from regretkit.minimizers.regret_matching._rule import ComposedRule, Parts
from regretkit.sets import Simplices

NO_PROMISE = {
    "regret_grows_slowly": "with a temperature above 0 it stays near its magnet, at any utilities"
}
"""What magnetic mirror descent with a fixed magnet does not keep."""


@final
@frozen(eq=False)
class ProximalToReference(Accumulator):
    """Steps towards regret and a magnet: ``R <- R / (1 + rate alpha) + alpha ln rho + g``.

    Played as exponential weights of the rate ``rate / (1 + rate alpha)``, that is a step of mirror
    descent with entropy towards g and the magnet rho. With alpha = 0 it is :class:`Cumulative`.

    Parameters
    ----------
    rate
        Learning rate, positive, in one over the unit of utility.
    temperature
        alpha, at least 0, in the unit of utility.
    log_magnet
        ln rho, shape ``(dimension,)``; a scalar 0 for the uniform magnet, because a constant
        added to R changes no strategy.

    Examples
    --------
    >>> accumulator = ProximalToReference(rate=1.0, temperature=1.0)
    >>> accumulator.update(Simplices(2), {"regrets": np.array([4.0, -4.0])}, np.ones(2), 1)
    {'regrets': array([ 3., -1.])}
    """

    rate: float = field(validator=positive, kw_only=True)
    temperature: float = field(validator=_validate.at_least_zero, kw_only=True)
    log_magnet: Vector = field(factory=lambda: np.zeros(()), kw_only=True, repr=False)

    @override
    def discounted(self, simplices: Simplices, state: State, iteration: int) -> Vector:
        fading = 1.0 + self.rate * self.temperature
        return state["regrets"] / fading + self.temperature * self.log_magnet

    @override
    def update(self, simplices: Simplices, state: State, regret: Vector, iteration: int) -> State:
        return {"regrets": simplices.add(self.discounted(simplices, state, iteration), regret)}


def as_magnet(value: ArrayLike | None) -> Vector | None:
    """Return a magnet as a new read-only vector, None where there is none."""
    if value is None:
        return None
    magnet = _validate.vector(value, np.size(np.asarray(value)), "magnet").copy()
    magnet.setflags(write=False)
    return magnet


@final
@define(eq=False)
class MagneticMirrorDescent(ComposedRule):
    """Mirror descent with KL regularization towards a reference strategy, the magnet.

    With temperature alpha and magnet rho, in each block up to a factor that makes it sum to one,

        x <-  (x rho^(rate alpha) exp(rate u))^(1 / (1 + rate alpha)),    from uniform x on

    In a two-player zero-sum game where both use it with a rate that is small enough, the strategies
    themselves, not only their averages, converge to a quantal response equilibrium: each plays a
    best response to the other's strategy at a price of alpha times the relative entropy from the
    magnet. With alpha = 0 it is :class:`Hedge`. With alpha above 0 its regret need not be small.

    In the optimistic form, which adds the utility m that it expects, by default the last one, both
    the step of z and the one to the strategy that is played are such steps:

        x  =  (z rho^(rate alpha) exp(rate m))^(1 / (1 + rate alpha))
        z <-  (z rho^(rate alpha) exp(rate u))^(1 / (1 + rate alpha))

    Parameters
    ----------
    rate
        Learning rate, positive, in one over the unit of utility. In a zero-sum game at most
        alpha over the square of the largest payoff is small enough.
    temperature
        alpha, at least 0, in the unit of utility.
    magnet
        rho, shape ``(dimension,)``, a strategy that plays every action; uniform by default.
    optimistic
        Whether it plays against what it expects.

    Examples
    --------
    >>> player = MagneticMirrorDescent(2, rate=1.0, temperature=1.0)
    >>> for _ in range(60):
    ...     player.observe_utility([np.log(3.0), 0.0])
    >>> player.next_strategy()
    array([0.75, 0.25])

    References
    ----------
    Sokota, D'Orazio, Kolter, Loizou, Lanctot, Mitliagkas, Brown and Kroer (2023), "A unified
    approach to reinforcement learning, quantal response equilibria, and two-player zero-sum
    games", ICLR. The optimistic form is ours: both steps feel the magnet, for otherwise it would
    not rest at the quantal response equilibrium.
    """

    rate: float = field(validator=positive, kw_only=True)
    temperature: float = field(validator=_validate.finite, kw_only=True)
    magnet: Vector | None = field(default=None, converter=as_magnet, kw_only=True)
    optimistic: bool = field(default=False, validator=truth, kw_only=True)

    @override
    def exemptions(self) -> Mapping[str, str]:
        return NO_PROMISE if self.temperature > 0.0 else {}

    @override
    def on_domain(  # type: ignore[override]  # with a magnet of its own it plays nowhere else
        self, simplices: Simplices
    ) -> RegretMinimizer | None:
        return super().on_domain(simplices) if self.magnet is None else None

    @override
    def _parts(self) -> Parts:
        check_temperature(self.temperature)
        accumulator = ProximalToReference(rate=self.rate, temperature=self.temperature)
        if self.magnet is not None:
            _check_magnet(self.magnet, self.simplices)
            accumulator = ProximalToReference(
                rate=self.rate, temperature=self.temperature, log_magnet=np.log(self.magnet)
            )
        rate = self.rate / (1.0 + self.rate * self.temperature)
        predictor = LastUtilityPrediction() if self.optimistic else NoPrediction()
        return accumulator, predictor, SoftmaxLink(rate=rate)


def check_temperature(temperature: float) -> None:
    """Refuse a negative temperature."""
    if temperature < 0.0:
        raise ValueError(f"temperature must be at least 0, got {quote(temperature)}")


def _check_magnet(magnet: Vector, simplices: Simplices) -> None:
    if not simplices.contains(magnet) or not (magnet > 0.0).all():
        raise ValueError(
            f"magnet must be a strategy on {quote(simplices)} that plays every action, got "
            f"{shorten(str(magnet))}"
        )
