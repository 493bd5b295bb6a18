"""Link functions: which strategy follows from regrets."""

import abc
from typing import final

import numpy as np
from attrs import field, frozen
from typing_extensions import override

from regretkit._util._typing import Vector
from regretkit._util._validate import positive
from regretkit.minimizers.regret_matching._kernels import BlockLink, positive_part, softmax
from regretkit.sets import Simplices


class LinkFunction(abc.ABC):
    """How a strategy follows from regrets, predicted ones included.

    Greenwald, Li and Marks (2006), "Bounds for regret-matching algorithms", call it so.

    Examples
    --------
    >>> from regretkit.minimizers import PositivePartLink
    >>> PositivePartLink().play(Simplices(3), np.array([3.0, 1.0, -2.0]))
    array([0.75, 0.25, 0.  ])
    """

    scale_free: bool = False
    """Whether regrets times a power of two give bitwise the same strategy."""

    @abc.abstractmethod
    def play(self, simplices: Simplices, regrets: Vector) -> Vector:
        """Return the strategy, a new array of shape ``(dimension,)``."""

    def block_form(self) -> tuple[BlockLink, float] | None:
        """Return its kernel and rate, None if it has none, as by default; compiled rules do."""
        return None


@final
@frozen
class PositivePartLink(LinkFunction):
    """Play in proportion to positive regret: ``[R]+ / sum [R]+``, uniform if none is positive.

    "None is positive" is an exact comparison with zero, so that the unit in which utilities are
    measured never matters.

    Examples
    --------
    >>> PositivePartLink().play(Simplices(2), np.array([1e-300, -1.0]))
    array([1., 0.])
    """

    scale_free = True

    @override
    def play(self, simplices: Simplices, regrets: Vector) -> Vector:
        return simplices.normalize(np.maximum(regrets, 0.0))

    @override
    def block_form(self) -> tuple[BlockLink, float]:
        return positive_part, 0.0


@final
@frozen
class SoftmaxLink(LinkFunction):
    """Play in proportion to ``exp(rate R)``.

    Parameters
    ----------
    rate
        Learning rate, positive, in one over the unit of utility.

    Examples
    --------
    >>> SoftmaxLink(rate=1.0).play(Simplices(2), np.array([np.log(3.0), 0.0]))
    array([0.75, 0.25])
    """

    rate: float = field(validator=positive, kw_only=True)

    @override
    def play(self, simplices: Simplices, regrets: Vector) -> Vector:
        return simplices.softmax(regrets, self.rate)

    @override
    def block_form(self) -> tuple[BlockLink, float]:
        return softmax, self.rate
