"""Minimize regret on a product of sets: one minimizer for each."""

from collections.abc import Iterable, Sequence
from typing import final

import numpy as np
from attrs import define, field
from typing_extensions import override

from regretkit import sets
from regretkit._regret_tracker import RegretBound
from regretkit._util._arrays import sum_cancelling
from regretkit._util._state import StateDict
from regretkit._util._typing import Vector
from regretkit.circuits._base import are_minimizers, as_tuple, check_distinct
from regretkit.minimizer import RegretMinimizer, TrackerOf
from regretkit.sets import Simplices


@final
@define(eq=False)
class Product(RegretMinimizer):
    """Play on a product of sets, each part on its own.

        x  =  (x_1, ..., x_k),    part i learns from its own coordinates of u

    The regret is the sum of the parts' regrets, exactly.

    Parameters
    ----------
    parts
        Minimizers, one or more.
    coordinates
        For each part, the coordinates of the product that are its own; together they are each
        coordinate once. By default the parts are laid end to end.

    Examples
    --------
    >>> from regretkit import RegretMatching
    >>> player = Product([RegretMatching(2), RegretMatching(3)])
    >>> player.observe_utility([1.0, 0.0, 0.0, 0.0, 2.0])
    >>> player.next_strategy()
    array([1., 0., 0., 0., 1.])

    References
    ----------
    Farina, Kroer and Sandholm (2019), "Regret circuits: composability of regret minimizers",
    ICML, PMLR 97.
    """

    parts: tuple[RegretMinimizer, ...] = field(converter=as_tuple, validator=are_minimizers)
    coordinates: Sequence[Iterable[int]] | None = field(default=None, repr=False)
    _layout: sets.ProductSet = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        if not self.parts:
            raise ValueError("parts must be one or more minimizers, got none")
        check_distinct(self.parts)
        self._layout = sets.ProductSet([part.domain for part in self.parts], self.coordinates)
        self.domain = self._layout.canonical()

    @property
    @override
    def scale_free(self) -> bool:
        return all(part.scale_free for part in self.parts)

    @override
    def _state_at(self, blocks: Sequence[int]) -> StateDict:
        if not isinstance(self.domain, Simplices):
            return super()._state_at(blocks)
        first = self.domain.first[list(blocks)]
        here: dict[str, StateDict] = {}
        for number, (part, own) in enumerate(
            zip(self.parts, self._layout.coordinates, strict=True)
        ):
            if isinstance(part.domain, Simplices):
                mine = np.flatnonzero(np.isin(own[part.domain.first], first)).tolist()
                if mine:
                    here[str(number)] = part._state_at(mine)
        return next(iter(here.values())) if len(here) == 1 else dict(here)

    @override
    def _regret_bound(self, tracker_of: TrackerOf) -> RegretBound:
        parts = sum(tracker_of(part).external for part in self.parts)
        return RegretBound("R = sum of the parts' R", tracker_of(self).external, parts, exact=True)

    @override
    def _propose(self) -> Vector:
        return self._layout.join(part.next_strategy() for part in self.parts)

    @override
    def _learn(self, utility: Vector, strategy: Vector) -> None:
        for part, own in zip(self.parts, self._layout.split(utility), strict=True):
            part._update(own)

    @override
    def _expect(self, prediction: Vector) -> None:
        for part, own in zip(self.parts, self._layout.split(prediction), strict=True):
            part._predict_internal(own)

    @override
    def _value(self, utility: Vector) -> float:
        split = zip(self.parts, self._layout.split(utility), strict=True)
        return sum_cancelling(part._value(own) for part, own in split)
