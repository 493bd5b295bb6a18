"""One distribution for several decision points, for players who cannot tell them apart."""

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
from regretkit.circuits._cfr import LocalRule, local_minimizer
from regretkit.circuits._parts import as_part, check_distinct
from regretkit.minimizer import RegretMinimizer
from regretkit.sets import Simplices


def _minimizer(value: RegretMinimizer) -> RegretMinimizer:
    return as_part(value, "minimizer")


def _kinds(value: Iterable[int]) -> Indices:
    kinds = _validate.whole_numbers(value, "kinds")
    if np.unique(kinds).size != (kinds.max(initial=-1) + 1) or kinds.min(initial=0) < 0:
        raise ValueError(
            f"kinds must be the numbers 0, 1, ... with none left out, got {quote(kinds)}"
        )
    return kinds


@final
@define(eq=False)
class SharedStrategy(RegretMinimizer):
    """Play the same distribution at all decision points of a kind.

    With y the minimizer's strategy, one distribution for each kind, and k(j) the kind of block j,

        x_j  =  y_k(j),    the minimizer learns at k from  sum over the blocks j of kind k of u_j

    Parameters
    ----------
    minimizer
        Plays on simplices, one block for each kind.
    kinds
        The kind of each block, numbers from 0 with none left out, shape ``(blocks,)``.

    Raises
    ------
    TypeError
        When ``minimizer`` is no minimizer, or plays on no simplices.
    ValueError
        When there are not as many kinds as the minimizer has blocks.

    Examples
    --------
    >>> from regretkit import RegretMatching
    >>> player = SharedStrategy(RegretMatching(2), [0, 0])
    >>> player.observe_utility([3.0, 0.0, 0.0, 1.0])
    >>> player.next_strategy()
    array([1., 0., 1., 0.])

    Notes
    -----
    Its regret is small against strategies that play alike at each kind, not against all others; it
    equals the minimizer's, exactly.
    """

    minimizer: RegretMinimizer = field(converter=_minimizer)
    kinds: Indices = field(converter=_kinds)
    _place: Indices = field(init=False, repr=False, metadata=NOT_STATE)
    """The minimizer's coordinate for each of these."""

    def __attrs_post_init__(self) -> None:
        check_distinct([self.minimizer])
        inner = self.minimizer.domain
        if not isinstance(inner, Simplices):
            raise TypeError(f"minimizer must play on simplices, got one on {quote(inner)}")
        if self.kinds.max(initial=-1) + 1 != inner.blocks:
            raise ValueError(
                f"kinds must name each of the {inner.blocks} blocks of minimizer, got "
                f"{quote(self.kinds)}"
            )
        self.domain = Simplices(inner.sizes[self.kinds])
        self._place = inner.coordinates(self.kinds)

    @property
    @override
    def scale_free(self) -> bool:
        return self.minimizer.scale_free

    @override
    def exemptions(self) -> Mapping[str, str]:
        mine = "its regret is small against strategies that play alike, not against all others"
        return {**super().exemptions(), "regret_grows_slowly": mine}

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
    """Let a local rule play decision points of a kind alike.

    Parameters
    ----------
    local
        Called with simplices, one for each kind, returns a minimizer on them.
    kinds
        The kind of each decision point, numbers from 0 with none left out.

    Examples
    --------
    >>> from regretkit import CFR, RegretMatching
    >>> from regretkit.sets import DecisionTree
    >>> CFR(DecisionTree([0, 2], [2, 2]), SharedStrategies(RegretMatching, [0, 0])).rule
    SharedStrategy(minimizer=RegretMatching(simplices=Simplices(2)), kinds=array([0, 0]))
    """

    local: LocalRule
    kinds: Indices = field(converter=_kinds)

    def __call__(self, simplices: Simplices) -> RegretMinimizer:
        """Return a minimizer that plays blocks of a kind alike."""
        if self.kinds.size != simplices.blocks:
            raise ValueError(
                f"kinds must have one number for each of the {simplices.blocks} decision points, "
                f"got {self.kinds.size}"
            )
        _, first = np.unique(self.kinds, return_index=True)
        if not np.array_equal(simplices.sizes[first][self.kinds], simplices.sizes):
            raise ValueError("kinds must not mix decision points of different numbers of actions")
        return SharedStrategy(local_minimizer(self.local, simplices.select(first)), self.kinds)
