"""Steps from where one is: what mirror descent on other sets than simplices shares."""

import abc
from typing import final

import numpy as np
from attrs import define, field
from typing_extensions import override

from regretkit._util._typing import Vector
from regretkit._util._validate import positive, truth
from regretkit.minimizer import RegretMinimizer


@define(eq=False)
class Proximal(RegretMinimizer):
    """A rule that keeps a place z, moves it by utilities, and plays the point that belongs to it.

        x  =  point(step(z, m)),    z <-  settle(step(z, u))

    with m the utility expected, by default the last one and at first zero, in the optimistic form,
    and ``point(z)`` for x otherwise. A place need not be a point of the set: for mirror descent
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
    _place: Vector = field(init=False, repr=False)
    _expected: Vector = field(init=False, repr=False)

    @abc.abstractmethod
    def _step(self, place: Vector, utility: Vector) -> Vector:
        """Return where a utility moves a place, a new array."""

    @abc.abstractmethod
    def _settle(self, place: Vector) -> Vector:
        """Return the place at which the point of this place is."""

    @abc.abstractmethod
    def _point(self, place: Vector) -> Vector:
        """Return the point that belongs to a place, a new array."""

    @final
    def _begin(self, place: Vector) -> None:
        """Take the first place, once ``domain`` is known."""
        self._place = place
        self._expected = np.zeros(self.dimension)

    @final
    @override
    def _propose(self) -> Vector:
        place = self._step(self._place, self._expected) if self.optimistic else self._place
        return self._point(place)

    @final
    @override
    def _learn(self, utility: Vector, strategy: Vector) -> None:
        self._place = self._settle(self._step(self._place, utility))
        if self.optimistic:
            self._expected = utility.copy()

    @final
    @override
    def _expect(self, prediction: Vector) -> None:
        if self.optimistic:
            self._expected = prediction.copy()
