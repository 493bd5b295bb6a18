"""Discounted regrets of sampled runs: undiscounted since the last update."""

from collections.abc import Mapping
from typing import final

import numpy as np
from attrs import define, field
from typing_extensions import override

from regretkit._util._state import Stateful, is_finite_array
from regretkit._util._typing import Indices, Vector


@final
@define(eq=False)
class LazyDiscount(Stateful):
    """A player's regrets as of their last update, and the discounts accumulated since.

    A run that discounts regrets only where a sample visits resumes from these: the discounted
    regrets are rounded, and resuming from them would not be bitwise identical.
    """

    regrets: Vector | None = field(default=None, init=False)
    before: Vector | None = field(default=None, init=False)
    """The accumulated discounts at each decision point's last update, shape ``(points, 4)``."""
    now: Vector | None = field(default=None, init=False)
    """The same numbers now: sums of logarithms of the factors above 0, and the number of factors
    that were 0; for positive regrets, and for others."""

    @override
    def _check_state(self, state: Mapping[str, object]) -> None:
        held = [state[name] for name in ("regrets", "before", "now")]
        if all(array is None for array in held):
            return
        if not all(map(is_finite_array, held, (1, 2, 1))):
            raise ValueError("what fades must be arrays of finite numbers, or nothing")

    def hold(self, regrets: Vector, before: Vector, now: Vector) -> None:
        """Take down copies."""
        self.regrets, self.before, self.now = regrets.copy(), before.copy(), now.copy()

    def caught_up(self, sizes: Indices) -> Vector | None:
        """Return what they have faded to, None if there are none of that many actions each."""
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
