"""One distribution for several decision points that a player cannot distinguish."""

from collections.abc import Iterable, Mapping
from typing import final

import numpy as np
from attrs import define, field, frozen
from typing_extensions import override

from regretkit._util import _validate
from regretkit._util._arrays import segment_sum
from regretkit._util._state import NOT_STATE
from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import quote
from regretkit.circuits._base import SingleMinimizerCircuit, check_distinct
from regretkit.circuits._cfr import LocalRule, local_minimizer
from regretkit.minimizer import RegretMinimizer
from regretkit.sets import Simplices


def _groups(value: Iterable[int]) -> Indices:
    groups = _validate.whole_numbers(value, "groups")
    if np.unique(groups).size != (groups.max(initial=-1) + 1) or groups.min(initial=0) < 0:
        raise ValueError(
            f"groups must be the numbers 0, 1, ... with none left out, got {quote(groups)}"
        )
    return groups


@final
@define(eq=False)
class SharedStrategy(SingleMinimizerCircuit):
    """Play the same distribution at all decision points of a group.

    With y the minimizer's strategy, one distribution for each group, and k(j) the group of block j,

        x_j  =  y_k(j),    the minimizer learns at k from  sum over the blocks j of group k of u_j

    Parameters
    ----------
    minimizer
        Plays on simplices, one block for each group.
    groups
        The group of each block, numbers from 0 with none left out, shape ``(blocks,)``.

    Examples
    --------
    >>> from regretkit import RegretMatching
    >>> player = SharedStrategy(RegretMatching(2), [0, 0])
    >>> player.observe_utility([3.0, 0.0, 0.0, 1.0])
    >>> player.next_strategy()
    array([1., 0., 1., 0.])

    Notes
    -----
    Its regret is small against strategies that are equal within each group, not against all
    others; it equals the minimizer's, exactly.
    """

    groups: Indices = field(converter=_groups)
    _place: Indices = field(init=False, repr=False, metadata=NOT_STATE)
    """The minimizer's coordinate for each of these."""

    def __attrs_post_init__(self) -> None:
        check_distinct([self.minimizer])
        inner = self.minimizer.domain
        if not isinstance(inner, Simplices):
            raise TypeError(f"minimizer must play on simplices, got one on {quote(inner)}")
        if self.groups.max(initial=-1) + 1 != inner.blocks:
            raise ValueError(
                f"groups must name each of the {inner.blocks} blocks of minimizer, got "
                f"{quote(self.groups)}"
            )
        self.domain = Simplices(inner.sizes[self.groups])
        self._place = inner.coordinates(self.groups)

    @override
    def exemptions(self) -> Mapping[str, str]:
        reason = "its regret is small against strategies that are equal within each group alone"
        return {**super().exemptions(), "regret_grows_slowly": reason}

    @override
    def _propose(self) -> Vector:
        return self.minimizer.next_strategy()[self._place]

    @override
    def _learn(self, utility: Vector, strategy: Vector) -> None:
        self.minimizer._update(self._gathered(utility))

    @override
    def _expect(self, prediction: Vector) -> None:
        self.minimizer._predict_internal(self._gathered(prediction))

    @override
    def _value(self, utility: Vector) -> float:
        return self.minimizer._value(self._gathered(utility))

    def _gathered(self, utility: Vector) -> Vector:
        return segment_sum(self._place, utility, self.minimizer.dimension)


@final
@frozen
class SharedStrategies:
    """Let a local rule play the decision points of a group alike.

    Parameters
    ----------
    local
        Called with simplices, one for each group, returns a minimizer on them.
    groups
        The group of each decision point, numbers from 0 with none left out.

    Examples
    --------
    >>> from regretkit import CFR, RegretMatching
    >>> from regretkit.sets import DecisionTree
    >>> CFR(DecisionTree([0, 2], [2, 2]), SharedStrategies(RegretMatching, [0, 0])).rule
    SharedStrategy(minimizer=RegretMatching(simplices=Simplices(2)), groups=array([0, 0]))
    """

    local: LocalRule
    groups: Indices = field(converter=_groups)

    def __call__(self, simplices: Simplices) -> RegretMinimizer:
        """Return a minimizer that plays the blocks of a group alike."""
        if self.groups.size != simplices.blocks:
            raise ValueError(
                f"groups must have one number for each of the {simplices.blocks} decision points, "
                f"got {self.groups.size}"
            )
        _, first = np.unique(self.groups, return_index=True)
        if not np.array_equal(simplices.sizes[first][self.groups], simplices.sizes):
            raise ValueError("groups must not mix decision points of different numbers of actions")
        return SharedStrategy(local_minimizer(self.local, simplices.select(first)), self.groups)
