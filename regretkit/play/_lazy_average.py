"""Sums of strategies of sampled runs, each as of the last visit of its decision point."""

from collections.abc import Mapping
from typing import final

from attrs import define, field
from typing_extensions import override

from regretkit._util._state import Stateful, is_finite_array
from regretkit._util._typing import Vector


@final
@define(eq=False)
class LazyAverage(Stateful):
    """The unsettled sums behind a player's average, with which a sampled run resumes.

    An engine that visits only a few decision points in an iteration adds to the sum at one on its
    next visit. The weighted sum of an :class:`~regretkit.averaging.Average` is settled everywhere,
    and rounded; resuming from it would not be bitwise identical.
    """

    sums: Vector | None = field(default=None, init=False)
    """Weighted sum of strategies by sequence, each as of the last visit."""
    parent_sums: Vector | None = field(default=None, init=False)
    """For each decision point, the sum at its parent sequence as of the last visit."""

    @override
    def _check_state(self, state: Mapping[str, object]) -> None:
        held = [state["sums"], state["parent_sums"]]
        if not (all(array is None for array in held) or all(map(is_finite_array, held))):
            raise ValueError("unsettled sums must be vectors of finite numbers, or none at all")

    def store(self, sums: Vector, parent_sums: Vector) -> None:
        """Keep these arrays, of which an engine may own the memory."""
        self.sums, self.parent_sums = sums, parent_sums

    def load(self, sums: Vector, parent_sums: Vector) -> None:
        """Write what was stored, if it has these shapes."""
        if self.sums is None or self.parent_sums is None:
            return
        if self.sums.shape == sums.shape and self.parent_sums.shape == parent_sums.shape:
            sums[...], parent_sums[...] = self.sums, self.parent_sums
