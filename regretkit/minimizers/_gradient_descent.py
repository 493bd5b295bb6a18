"""Online gradient descent, and what it shares with mirror descent on other sets."""

import abc
from typing import Protocol, cast, final, runtime_checkable

import numpy as np
from attrs import define, field
from typing_extensions import override

from regretkit._util._typing import Vector
from regretkit._util._validate import positive, quote, truth
from regretkit.minimizer import RegretMinimizer
from regretkit.sets import StrategySet


@define(eq=False)
class Proximal(RegretMinimizer):
    """A rule that moves an iterate z along utilities, and plays the point that belongs to it.

        x  =  point(step(z, m)),    z <-  project(step(z, u))

    with m the utility expected, by default the last one and at first zero, in the optimistic form,
    and ``point(z)`` for x otherwise. An iterate need not be a point of the set: for mirror descent
    it may be a gradient there.

    Parameters
    ----------
    rate
        Learning rate, positive.
    optimistic
        Whether it plays against what it expects.

    Examples
    --------
    >>> from regretkit.minimizers import OnlineGradientDescent
    >>> issubclass(OnlineGradientDescent, Proximal)
    True
    """

    rate: float = field(validator=positive, kw_only=True)
    optimistic: bool = field(default=False, validator=truth, kw_only=True)
    _iterate: Vector = field(init=False, repr=False)
    _expected: Vector = field(init=False, repr=False)

    @abc.abstractmethod
    def _step(self, iterate: Vector, utility: Vector) -> Vector:
        """Return where a utility moves an iterate, a new array."""

    @abc.abstractmethod
    def _project(self, iterate: Vector) -> Vector:
        """Return the iterate of the point that belongs to this one."""

    @abc.abstractmethod
    def _point(self, iterate: Vector) -> Vector:
        """Return the point that belongs to an iterate, a new array."""

    @final
    def _initialize(self, iterate: Vector) -> None:
        """Take the first iterate, once ``domain`` is known."""
        self._iterate = iterate
        self._expected = np.zeros(self.dimension)

    @final
    @override
    def _propose(self) -> Vector:
        iterate = self._step(self._iterate, self._expected) if self.optimistic else self._iterate
        return self._point(iterate)

    @final
    @override
    def _learn(self, utility: Vector, strategy: Vector) -> None:
        self._iterate = self._project(self._step(self._iterate, utility))
        if self.optimistic:
            self._expected = utility.copy()

    @final
    @override
    def _expect(self, prediction: Vector) -> None:
        if self.optimistic:
            self._expected = prediction.copy()


@runtime_checkable
class Projectable(Protocol):
    """A strategy set that knows its nearest point to any vector.

    Examples
    --------
    >>> from regretkit.sets import Hull, Singleton, Simplices
    >>> isinstance(Simplices(3), Projectable), isinstance(Hull([Singleton([0.0])]), Projectable)
    (True, False)
    """

    def project(self, point: Vector, /) -> Vector:
        """Return the nearest point of the set in Euclidean distance, a new array."""
        ...


def as_projectable(domain: StrategySet) -> StrategySet:
    """Return ``domain`` if it is a strategy set onto which one can project."""
    if isinstance(domain, StrategySet) and isinstance(domain, Projectable):
        return domain
    raise TypeError(
        f"domain must be a strategy set with a method project, got {quote(domain)}; "
        "pass Simplices(3), a Box or a Ball"
    )


def project(domain: StrategySet, point: Vector) -> Vector:
    """Return the nearest point of a set that :func:`as_projectable` let pass."""
    return cast(Projectable, domain).project(point)


@final
@define(eq=False)
class OnlineGradientDescent(Proximal):
    """Online gradient descent: follow utility, and come back to the nearest point of the set.

        x  =  z
        z <-  nearest point of the set to z + rate u

    from the set's canonical interior point on. In the optimistic form, with m the utility
    expected, by default the last one,

        x  =  nearest point of the set to z + rate m

    With D the largest distance from the first point to one of the set, the regret is at most ``D^2
    / (2 rate)`` plus ``rate / 2`` times the sum of ``|u|^2``, or ``|u - m|^2`` in the optimistic
    form. On simplices it is :class:`OnlineMirrorDescent` with the Euclidean regularizer.

    Parameters
    ----------
    domain
        The set on which to play, with a method ``project``: simplices, a box, a ball.
    rate
        Learning rate, positive, in units of distance over units of utility.
    optimistic
        Whether it plays against what it expects.

    Examples
    --------
    >>> from regretkit.sets import Ball
    >>> player = OnlineGradientDescent(Ball([0.0, 0.0], 1.0), rate=0.5)
    >>> for _ in range(2):
    ...     player.observe_utility([0.0, 1.5])
    >>> player.next_strategy()
    array([0., 1.])

    References
    ----------
    Zinkevich (2003), "Online convex programming and generalized infinitesimal gradient ascent",
    ICML. Rakhlin and Sridharan (2013), "Online learning with predictable sequences", COLT. The
    texts could not be checked; the bound is tested.
    """

    domain: StrategySet = field(converter=as_projectable)

    def __attrs_post_init__(self) -> None:
        self._initialize(self.domain.relative_interior_point())

    @override
    def _step(self, iterate: Vector, utility: Vector) -> Vector:
        return iterate + self.rate * utility

    @override
    def _project(self, iterate: Vector) -> Vector:
        return project(self.domain, iterate)

    @override
    def _point(self, iterate: Vector) -> Vector:
        return project(self.domain, iterate)
