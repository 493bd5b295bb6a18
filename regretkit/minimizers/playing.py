"""Playing rules: how a strategy follows from regrets."""

from typing import final

import numpy as np
from attrs import field, frozen
from typing_extensions import override

from regretkit._util._typing import Vector
from regretkit._util._validate import positive
from regretkit.minimizers._blocks import lift
from regretkit.minimizers._by_block import Play, exponentially, in_proportion
from regretkit.minimizers.roles import PlayingRule
from regretkit.sets import Simplices


@final
@frozen
class Proportional(PlayingRule):
    """Play in proportion to positive regret: ``[R]+ / sum [R]+``, uniform if none is positive.

    "None is positive" is an exact comparison with zero, so that the unit in which utilities are
    measured never matters.

    Examples
    --------
    >>> Proportional().play(Simplices(2), np.array([1e-300, -1.0]))
    array([1., 0.])
    """

    scale_free = True

    @override
    def play(self, simplices: Simplices, regrets: Vector) -> Vector:
        return simplices.normalize(np.maximum(regrets, 0.0))

    @override
    def by_block(self) -> tuple[Play, float]:
        return in_proportion, 0.0


@final
@frozen
class SmoothProportional(PlayingRule):
    """Play in proportion to ``P(R)``, the nearest point of ``{z >= 0, sum z >= 1}``.

    Where positive regrets sum to one or more it plays as :class:`Proportional`; where they do
    not, the nearest point of the simplex. So it never jumps.

    Examples
    --------
    >>> SmoothProportional().play(Simplices([2, 2]), np.array([3.0, 1.0, 0.5, 0.0]))
    array([0.75, 0.25, 0.75, 0.25])
    """

    @override
    def play(self, simplices: Simplices, regrets: Vector) -> Vector:
        return simplices.normalize(lift(simplices, regrets))


@final
@frozen
class Exponential(PlayingRule):
    """Play in proportion to ``exp(rate R)``.

    Parameters
    ----------
    rate
        Learning rate, positive, in one over the unit of utility.

    Examples
    --------
    >>> Exponential(rate=1.0).play(Simplices(2), np.array([np.log(3.0), 0.0]))
    array([0.75, 0.25])
    """

    rate: float = field(validator=positive, kw_only=True)

    @override
    def play(self, simplices: Simplices, regrets: Vector) -> Vector:
        return simplices.softmax(regrets, self.rate)

    @override
    def by_block(self) -> tuple[Play, float]:
        return exponentially, self.rate
