"""Leaves that do not learn from regret: they play a point, or the best response to the last."""

from typing import final

from attrs import define, field
from numpy.typing import ArrayLike
from typing_extensions import override

from regretkit import sets
from regretkit._util._typing import Vector
from regretkit._util._validate import quote
from regretkit.minimizer import RegretMinimizer


def _point(value: ArrayLike) -> Vector:
    return sets.Singleton(value).point


@final
@define(eq=False)
class Point(RegretMinimizer):
    """Always play the same point: the minimizer over a set of a single point.

    Its regret is zero, because there is nothing else that it could have played.

    Parameters
    ----------
    point
        The point, shape ``(dimension,)``, finite.

    Examples
    --------
    >>> Point([0.4, 0.3, 0.3]).next_strategy()
    array([0.4, 0.3, 0.3])
    """

    point: Vector = field(converter=_point)

    def __attrs_post_init__(self) -> None:
        self.domain = sets.Singleton(self.point)

    @property
    @override
    def scale_free(self) -> bool:
        return True

    @override
    def _propose(self) -> Vector:
        return self.point.copy()

    @override
    def _learn(self, utility: Vector, strategy: Vector) -> None:
        pass


@final
@define(eq=False)
class BestResponse(RegretMinimizer):
    """Play a best response to the last utility.

        x  =  argmax of <u, x> over the set,  with u the last utility

    It minimizes no regret. It is the opponent that the strongest guarantees are proven against,
    and, as one of two players, turns CFR into CFR-BR. Before the first iteration it plays the
    set's canonical interior point; of several best responses it plays the set's first.

    Parameters
    ----------
    domain
        The set on which to play.

    Examples
    --------
    >>> from regretkit.sets import Simplices
    >>> player = BestResponse(Simplices(3))
    >>> player.observe_utility([0.0, 1.0, 2.0])
    >>> player.next_strategy()
    array([0., 0., 1.])

    References
    ----------
    Johanson, Bard, Burch and Bowling (2012), "Finding optimal abstract strategies in
    extensive-form games", AAAI.
    """

    domain: sets.StrategySet = field()
    _last: Vector = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.domain, sets.StrategySet):
            raise TypeError(
                f"domain must be a strategy set, got {quote(self.domain)}; pass Simplices(3) or a "
                "tree"
            )
        self._last = self.domain.relative_interior_point()

    @property
    @override
    def scale_free(self) -> bool:
        return True

    @override
    def _weaker_guarantee(self) -> str:
        return (
            "it responds to the last utility alone, so that its regret is linear in the worst case"
        )

    @override
    def _propose(self) -> Vector:
        return self._last.copy()

    @override
    def _learn(self, utility: Vector, strategy: Vector) -> None:
        _, self._last = self.domain.best_response(utility)
