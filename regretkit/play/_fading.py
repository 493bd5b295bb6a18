"""Regrets that fade, as they were when one last learned from a sample."""

from typing import final

import numpy as np
from attrs import define, field

from regretkit._state import Stateful
from regretkit._typing import Indices, Vector


@final
@define(eq=False)
class Faded(Stateful):
    """A player's regrets as they were when they were last learned, and how much fades.

    A run that only catches up where a sample comes goes on from these, and not from what they have
    faded to: rounded once, they would not come to the same bits.
    """

    regrets: Vector | None = field(default=None, init=False)
    before: Vector | None = field(default=None, init=False)
    """How much had faded when one last learned at each decision point, shape ``(points, 4)``."""
    now: Vector | None = field(default=None, init=False)
    """The same numbers by now: sums of logarithms of the factors above 0, and how many were 0;
    for positive regrets, and for others."""

    def hold(self, regrets: Vector, before: Vector, now: Vector) -> None:
        """Take down copies."""
        self.regrets, self.before, self.now = regrets.copy(), before.copy(), now.copy()

    def caught_up(self, sizes: Indices) -> Vector | None:
        """Return what they have faded to, None if there are none of so many actions each."""
        if self.regrets is None or self.before is None or self.now is None:
            return None
        shapes = self.regrets.shape, self.before.shape, self.now.shape
        if shapes != ((sizes.sum(),), (sizes.size, 4), (4,)):
            return None
        return caught_up(self.regrets, self.before, self.now, sizes)


def caught_up(regrets: Vector, before: Vector, now: Vector, sizes: Indices) -> Vector:
    """Return what regrets have faded to."""
    zero = now[1::2] != before[:, 1::2]
    factors = np.where(zero, 0.0, np.exp(now[::2] - before[:, ::2]))
    kept, dropped = np.repeat(factors, sizes, axis=0).T
    faded: Vector = regrets * np.where(regrets > 0.0, kept, dropped)
    return faded
