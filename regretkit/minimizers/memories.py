"""Memories: how regrets add up."""

import abc
import math
from functools import cache, lru_cache
from itertools import chain
from typing import ClassVar, final

import numpy as np
from attrs import field, frozen
from typing_extensions import override

from regretkit._util._typing import Vector
from regretkit._util._validate import at_least_one, at_least_zero, extended
from regretkit.minimizers._by_block import BlockMemory, Law, add_regret, fade_and_add
from regretkit.minimizers.roles import Memory, State
from regretkit.sets import Simplices


@frozen
class _Lawful(Memory):
    """A memory that starts at zero and whose every iteration follows a law."""

    _steady: ClassVar[bool] = False
    """Whether every iteration follows the same law."""
    _fades: ClassVar[bool] = True
    """Whether the law may let R fade before it adds to it."""

    @abc.abstractmethod
    def law(self, iteration: int) -> Law:
        """Return what ``iteration`` (from 1) does to R."""

    @property
    @final
    @override
    def least(self) -> float:
        return self.law(1).floor

    @final
    @override
    def by_block(self) -> BlockMemory:
        remember = fade_and_add if self._fades else add_regret
        return BlockMemory(remember, _laws(self), self._steady, self._lasts())

    def _lasts(self) -> bool:
        """Return whether positive R fades so slowly that it never becomes too small for a number.

        With exponents from 1 on, t iterations leave about 1 / t^shift of it, or more.
        """
        return False

    @final
    @override
    def start(self, simplices: Simplices) -> State:
        return {"regrets": np.zeros(simplices.dimension)}

    @final
    @override
    def remember(self, simplices: Simplices, state: State, regret: Vector, iteration: int) -> State:
        law = self.law(iteration)
        scaled = regret if law.scale == 1.0 else law.scale * regret
        regrets = simplices.add(_faded(state["regrets"], law), scaled)
        if law.floor > -math.inf:
            np.maximum(regrets, law.floor, out=regrets)
        return {"regrets": regrets}

    @final
    @override
    def carried(self, simplices: Simplices, state: State, iteration: int) -> Vector:
        return _faded(state["regrets"], self.law(iteration))

    @final
    @override
    def idle(self, simplices: Simplices, state: State, iteration: int, count: int) -> State:
        laws = [self.law(later) for later in range(iteration, iteration + count)]
        together = Law(math.prod(law.kept for law in laws), math.prod(law.dropped for law in laws))
        return {"regrets": _faded(state["regrets"], together).copy()}


@final
class _Laws:
    """A memory's numbers, iteration by iteration, or many at once in less time."""

    def __init__(self, memory: _Lawful) -> None:
        self._law = lru_cache(maxsize=2)(memory.law)
        self._memory = memory

    def __call__(self, t: int) -> tuple[float, ...]:
        # Before the first iteration nothing happens.
        return (*(self._law(t) if t else Law()), *self._law(t + 1)[:2])

    def rows(self, first: int, count: int) -> Vector:
        """Return the numbers of so many iterations, the first one at least 1."""
        laws = chain.from_iterable(map(self._memory.law, range(first, first + count + 1)))
        table = np.fromiter(laws, np.float64).reshape(count + 1, 4)
        return np.concatenate([table[:-1], table[1:, :2]], axis=1)


@cache
def _laws(memory: _Lawful) -> _Laws:
    """Return the numbers of all equal memories; all players ask for the same ones."""
    return _Laws(memory)


def _faded(regrets: Vector, law: Law) -> Vector:
    """Return ``kept R`` where R is positive, ``dropped R`` elsewhere; R itself if both are 1."""
    if law.kept == law.dropped:
        return regrets if law.kept == 1.0 else regrets * law.kept
    return regrets * np.where(regrets > 0.0, law.kept, law.dropped)


@final
@frozen
class Cumulative(_Lawful):
    """Every regret counts the same: ``R <- R + g``.

    Examples
    --------
    >>> Cumulative().start(Simplices(2))
    {'regrets': array([0., 0.])}
    """

    _steady = True
    _fades = False

    @override
    def law(self, iteration: int) -> Law:
        return Law()


@final
@frozen
class Plus(_Lawful):
    """Negative regret is forgotten: ``R <- [R + g]+``.

    Examples
    --------
    >>> Plus().remember(Simplices(2), {"regrets": np.zeros(2)}, np.array([1.0, -1.0]), 1)
    {'regrets': array([1., 0.])}
    """

    _steady = True
    _fades = False

    @override
    def law(self, iteration: int) -> Law:
        return Law(floor=0.0)


@final
@frozen
class LinearAccumulator(_Lawful):
    """Later regrets count more: ``R <- R + t g`` in iteration t.

    Examples
    --------
    >>> memory, regret = LinearAccumulator(), np.array([1.0, -1.0])
    >>> memory.remember(Simplices(2), {"regrets": np.zeros(2)}, regret, 5)
    {'regrets': array([ 5., -5.])}
    """

    _fades = False

    @override
    def law(self, iteration: int) -> Law:
        return Law(scale=float(iteration))


@final
@frozen
class Discounted(_Lawful):
    """Old regrets fade, by a factor that depends on their sign.

    Before adding g in iteration t, with s = t - 1,

        R <- R f(alpha) where R > 0,  R f(beta) elsewhere,    f(e) = 1 / (1 + s^-e)

    Infinite exponents are the limits: f(inf) = 1 keeps everything, f(-inf) = 0 forgets it.

    Parameters
    ----------
    alpha, beta
        Exponents for positive and for other regrets; any number, or plus or minus infinity.

    Examples
    --------
    >>> Discounted(alpha=1.0, beta=-math.inf).remember(
    ...     Simplices(2), {"regrets": np.array([4.0, -4.0])}, np.zeros(2), iteration=2
    ... )
    {'regrets': array([2., 0.])}
    """

    alpha: float = field(validator=extended, kw_only=True)
    beta: float = field(validator=extended, kw_only=True)

    @override
    def law(self, iteration: int) -> Law:
        kept = discount(iteration - 1, self.alpha)
        return Law(kept, discount(iteration - 1, self.beta))

    @override
    def _lasts(self) -> bool:
        return self.alpha >= 1.0


@final
@frozen
class ScheduledDiscount(_Lawful):
    """Old regrets fade as in :class:`Discounted`, with exponents that follow a schedule.

        alpha = 1 + 3 p,  beta = -1 - 2 p,    p = (t - 1) / horizon

    From iteration horizon + 1 on, p is 1.

    Parameters
    ----------
    horizon
        Number of iterations planned, at least 1.

    Examples
    --------
    In iteration 2 of 3, what is positive is multiplied by 1/2, for any exponent:

    >>> ScheduledDiscount(horizon=3).remember(
    ...     Simplices(2), {"regrets": np.array([4.0, -4.0])}, np.zeros(2), iteration=2
    ... )
    {'regrets': array([ 2., -2.])}
    """

    horizon: int = field(validator=at_least_one, kw_only=True)

    @override
    def law(self, iteration: int) -> Law:
        passed = iteration - 1
        progress = min(passed / self.horizon, 1.0)
        kept = discount(passed, 1.0 + 3.0 * progress)
        return Law(kept, discount(passed, -1.0 - 2.0 * progress))

    @override
    def _lasts(self) -> bool:
        return True


@final
@frozen
class DiscountedPlus(_Lawful):
    """Old regrets fade, and negative regret is forgotten.

    With s = t - 1 in iteration t,

        Q <- [Q s^alpha / (s^alpha + shift) + g]+

    Infinite exponents are the limits, as in :class:`Discounted`.

    Parameters
    ----------
    alpha
        Exponent; any number, or plus or minus infinity.
    shift
        How strongly old regrets fade at first, at least 0; with 0 they do not fade at all.

    Examples
    --------
    >>> DiscountedPlus(alpha=1.0, shift=3.0).remember(
    ...     Simplices(2), {"regrets": np.array([4.0, 0.0])}, np.array([0.0, -1.0]), iteration=2
    ... )
    {'regrets': array([1., 0.])}
    """

    alpha: float = field(validator=extended, kw_only=True)
    shift: float = field(default=1.0, validator=at_least_zero, kw_only=True)

    @override
    def law(self, iteration: int) -> Law:
        kept = discount(iteration - 1, self.alpha, self.shift)
        return Law(kept, kept, floor=0.0)

    @override
    def _lasts(self) -> bool:
        return self.alpha >= 1.0 and self.shift <= 3.0


def discount(passed: int, exponent: float, shift: float = 1.0) -> float:
    """Return ``f = 1 / (1 + shift s^-exponent)`` after s = ``passed`` iterations, 1 where s is 0.

    Examples
    --------
    >>> discount(3, 1.0), discount(3, math.inf), discount(3, -math.inf)
    (0.75, 1.0, 0.0)
    """
    if math.isinf(exponent) and shift > 0.0:
        return 1.0 if exponent > 0.0 else 0.0
    if passed == 0 or shift == 0.0:
        return 1.0
    try:
        return 1.0 / (1.0 + shift * math.pow(passed, -exponent))
    except OverflowError:  # an exponent so far below zero that its limit is reached
        return 0.0
