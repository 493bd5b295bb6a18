"""Accumulators: how regrets add up."""

import abc
import math
from typing import TypeAlias, final

import numpy as np
from attrs import field, frozen
from typing_extensions import override

from regretkit._util._typing import Vector
from regretkit._util._validate import at_least_zero, extended
from regretkit.minimizers._kernel import KernelTraits
from regretkit.minimizers.regret_matching._kernels import (
    BlockAccumulator,
    Parameters,
    add_nonnegative,
    add_regret,
    add_weighted,
    discount_and_add,
)
from regretkit.sets import Simplices

State: TypeAlias = dict[str, Vector]
"""Arrays by name, with one number for each action or each block."""

_ONLY_ADDS = KernelTraits(invariant_to_zero_utility=True, ignores_singleton_blocks=True)


class Accumulator(abc.ABC):
    """How regrets add up: R, from one iteration to the next.

    It is a value that holds hyperparameters and no state: its methods are pure functions of the
    state they are given, whose entry ``"regrets"`` is R.

    Examples
    --------
    >>> from regretkit.minimizers import Cumulative
    >>> accumulator, simplices = Cumulative(), Simplices(2)
    >>> state = accumulator.start(simplices)
    >>> accumulator.update(simplices, state, np.array([1.0, -1.0]), 1)
    {'regrets': array([ 1., -1.])}
    """

    lower_bound: float = -math.inf
    """The least number that R may hold."""

    scale_free: bool = True
    """Whether scaling regrets by a power of two scales R by exactly that power."""

    def start(self, simplices: Simplices) -> State:
        """Return the state before the first iteration; by default, R is zero."""
        return {"regrets": np.zeros(simplices.dimension)}

    @abc.abstractmethod
    def update(self, simplices: Simplices, state: State, regret: Vector, iteration: int) -> State:
        """Return the state after ``iteration`` (from 1), which brought this ``regret``."""

    def discounted(self, simplices: Simplices, state: State, iteration: int) -> Vector:
        """Return R as it will be when the regret of the coming ``iteration`` is added to it.

        That is what predicted regrets are added to. This default is R as it stands.
        """
        return state["regrets"]

    def block_form(self) -> BlockAccumulator | None:
        """Return its kernel, None if it has none, as by default; with one it can be compiled."""
        return None


@final
@frozen
class Cumulative(Accumulator):
    """Every regret counts the same: ``R <- R + g``.

    Examples
    --------
    >>> Cumulative().start(Simplices(2))
    {'regrets': array([0., 0.])}
    """

    @override
    def update(self, simplices: Simplices, state: State, regret: Vector, iteration: int) -> State:
        return {"regrets": simplices.add(state["regrets"], regret)}

    @override
    def block_form(self) -> BlockAccumulator:
        return BlockAccumulator(add_regret, traits=_ONLY_ADDS)


@final
@frozen
class NonNegative(Accumulator):
    """Negative regret is dropped, as in regret matching+: ``Q <- [Q + g]+``.

    Examples
    --------
    >>> NonNegative().update(Simplices(2), {"regrets": np.zeros(2)}, np.array([1.0, -1.0]), 1)
    {'regrets': array([1., 0.])}
    """

    lower_bound = 0.0

    @override
    def update(self, simplices: Simplices, state: State, regret: Vector, iteration: int) -> State:
        return {"regrets": np.maximum(simplices.add(state["regrets"], regret), 0.0)}

    @override
    def block_form(self) -> BlockAccumulator:
        return BlockAccumulator(add_nonnegative, traits=_ONLY_ADDS)


@final
@frozen
class LinearAccumulator(Accumulator):
    """Later regrets count more: ``R <- R + t g`` in iteration t.

    Examples
    --------
    >>> state, regret = {"regrets": np.zeros(2)}, np.array([1.0, -1.0])
    >>> LinearAccumulator().update(Simplices(2), state, regret, 5)
    {'regrets': array([ 5., -5.])}
    """

    @override
    def update(self, simplices: Simplices, state: State, regret: Vector, iteration: int) -> State:
        return {"regrets": simplices.add(state["regrets"], iteration * regret)}

    @override
    def block_form(self) -> BlockAccumulator:
        return BlockAccumulator(add_weighted, self._parameters, traits=_ONLY_ADDS)

    def _parameters(self, iteration: int) -> Parameters:
        return Parameters(regret_weight=max(float(iteration), 1.0))


class Discounting(Accumulator):
    """``R <- R f + g``, with one factor f where R > 0 and another elsewhere.

    In iteration t, with s = t - 1, factors are of the form ``f(e) = 1 / (1 + s^-e)``. Infinite
    exponents are the limits: f(inf) = 1 keeps everything, f(-inf) = 0 drops it.
    """

    @abc.abstractmethod
    def factors(self, iteration: int) -> tuple[float, float]:
        """Return the factors of positive and of other regrets in an iteration, from 0."""

    @property
    @abc.abstractmethod
    def keeps_positive(self) -> bool:
        """Whether what is positive stays above zero at any number of zero utilities.

        With exponents from 1 on, t of them leave about 1 / t of it, or more.
        """

    @override
    def update(self, simplices: Simplices, state: State, regret: Vector, iteration: int) -> State:
        return {"regrets": simplices.add(self.discounted(simplices, state, iteration), regret)}

    @final
    @override
    def discounted(self, simplices: Simplices, state: State, iteration: int) -> Vector:
        regrets, (positive, negative) = state["regrets"], self.factors(iteration)
        if positive == negative:
            return regrets * positive
        return regrets * np.where(regrets > 0.0, positive, negative)

    @final
    @override
    def block_form(self) -> BlockAccumulator:
        traits = KernelTraits(
            only_discounts_on_zero_utility=self.keeps_positive, ignores_singleton_blocks=True
        )
        return BlockAccumulator(discount_and_add, self._parameters, traits)

    def _parameters(self, iteration: int) -> Parameters:
        return Parameters(*self.factors(iteration), self.lower_bound)


@final
@frozen
class Discounted(Discounting):
    """Old regrets are discounted, by a factor that depends on their sign.

    In iteration t, with s = t - 1,

        R <- R f(alpha) + g where R > 0,  R f(beta) + g elsewhere,    f(e) = 1 / (1 + s^-e)

    Infinite exponents are the limits: f(inf) = 1 keeps everything, f(-inf) = 0 drops it.

    Parameters
    ----------
    alpha, beta
        Exponents for positive and for other regrets; any number, or plus or minus infinity.

    Examples
    --------
    >>> Discounted(alpha=1.0, beta=-math.inf).update(
    ...     Simplices(2), {"regrets": np.array([4.0, -4.0])}, np.zeros(2), iteration=2
    ... )
    {'regrets': array([2., 0.])}
    """

    alpha: float = field(validator=extended, kw_only=True)
    beta: float = field(validator=extended, kw_only=True)

    @property
    @override
    def keeps_positive(self) -> bool:
        return self.alpha >= 1.0

    @override
    def factors(self, iteration: int) -> tuple[float, float]:
        return discount(iteration - 1, self.alpha), discount(iteration - 1, self.beta)


@final
@frozen
class DiscountedNonNegative(Discounting):
    """Old regrets are discounted, and negative regret is dropped.

    With s = t - 1 in iteration t,

        Q <- [Q s^alpha / (s^alpha + shift) + g]+

    Infinite exponents are the limits, as in :class:`Discounted`.

    Parameters
    ----------
    alpha
        Exponent; any number, or plus or minus infinity.
    shift
        How strongly old regrets are discounted at first, at least 0; with 0 they never are.

    Examples
    --------
    >>> DiscountedNonNegative(alpha=1.0, shift=3.0).update(
    ...     Simplices(2), {"regrets": np.array([4.0, 0.0])}, np.array([0.0, -1.0]), iteration=2
    ... )
    {'regrets': array([1., 0.])}
    """

    lower_bound = 0.0

    alpha: float = field(validator=extended, kw_only=True)
    shift: float = field(default=1.0, validator=at_least_zero, kw_only=True)

    @override
    def update(self, simplices: Simplices, state: State, regret: Vector, iteration: int) -> State:
        discounted = self.discounted(simplices, state, iteration)
        return {"regrets": np.maximum(simplices.add(discounted, regret), 0.0)}

    @property
    @override
    def keeps_positive(self) -> bool:
        return self.alpha >= 1.0 and self.shift <= 3.0

    @override
    def factors(self, iteration: int) -> tuple[float, float]:
        factor = discount(iteration - 1, self.alpha, self.shift)
        return factor, factor


def discount(passed: int, exponent: float, shift: float = 1.0) -> float:
    """Return ``f = 1 / (1 + shift s^-exponent)`` after s = ``passed`` iterations, 1 where s is 0.

    Examples
    --------
    >>> discount(3, 1.0), discount(3, math.inf), discount(3, -math.inf)
    (0.75, 1.0, 0.0)
    """
    if math.isinf(exponent) and shift > 0.0:
        return 1.0 if exponent > 0.0 else 0.0
    if passed <= 0 or shift == 0.0:
        return 1.0
    try:
        return 1.0 / (1.0 + shift * math.pow(passed, -exponent))
    except OverflowError:  # an exponent so far below zero that its limit is reached
        return 0.0
