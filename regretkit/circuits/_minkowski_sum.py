"""Minimize regret on a Minkowski sum: one minimizer for each summand."""

from typing import final

import numpy as np
from attrs import define, field
from typing_extensions import override

from regretkit import sets
from regretkit._regret_tracker import RegretBound
from regretkit._util._typing import Vector
from regretkit._util._validate import one_space
from regretkit.circuits._base import are_minimizers, as_tuple, check_distinct
from regretkit.minimizer import RegretMinimizer, TrackerOf


@final
@define(eq=False)
class MinkowskiSum(RegretMinimizer):
    """Play the sum of what the parts play.

        x  =  x_1 + ... + x_k,    every part learns from u itself

    The regret is the sum of the parts' regrets, exactly: the best sum is the sum of the best.

    Parameters
    ----------
    parts
        Minimizers on sets in one space, one or more.

    Examples
    --------
    >>> from regretkit import Point, RegretMatching
    >>> player = MinkowskiSum([RegretMatching(2), Point([5.0, -1.0])])
    >>> player.observe_utility([0.0, 1.0])
    >>> player.next_strategy()
    array([5., 0.])

    References
    ----------
    Farina, Kroer and Sandholm (2019), "Regret circuits: composability of regret minimizers",
    ICML, PMLR 97. Derived here; the paper's own form could not be checked.
    """

    parts: tuple[RegretMinimizer, ...] = field(converter=as_tuple, validator=are_minimizers)

    def __attrs_post_init__(self) -> None:
        one_space([part.dimension for part in self.parts], "parts")
        check_distinct(self.parts)
        self.domain = sets.MinkowskiSumSet([part.domain for part in self.parts])

    @property
    @override
    def scale_free(self) -> bool:
        return all(part.scale_free for part in self.parts)

    @override
    def _regret_bound(self, tracker_of: TrackerOf) -> RegretBound:
        parts = sum(tracker_of(part).external for part in self.parts)
        return RegretBound("R = sum of the parts' R", tracker_of(self).external, parts, exact=True)

    @override
    def _propose(self) -> Vector:
        total: Vector = np.sum([part.next_strategy() for part in self.parts], axis=0)
        return total

    @override
    def _learn(self, utility: Vector, strategy: Vector) -> None:
        for part in self.parts:
            part._update(utility)

    @override
    def _expect(self, prediction: Vector) -> None:
        for part in self.parts:
            part._predict_internal(prediction)

    @override
    def _value(self, utility: Vector) -> float:
        return sum(part._value(utility) for part in self.parts)
