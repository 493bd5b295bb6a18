"""Response-based approachability: small profile swap regret, and so small linear swap regret."""

from typing import final

import numpy as np
from attrs import define, field
from typing_extensions import override

from regretkit._regret_tracker import RegretBound
from regretkit._util._typing import Vector
from regretkit.minimizer import RegretMinimizer, TrackerOf
from regretkit.sets import Simplices, StrategySet
from regretkit.sets._base import nearest_image
from regretkit.sets._simplices import as_set

_SMALLEST = 1e-8
"""What share of the length of W counts as length zero of a point's image."""


@final
@define(eq=False)
class ResponseBasedApproachability(RegretMinimizer):
    """Response-based approachability, for small profile swap regret on any convex set.

    The products ``u_t (x_t, 1)'`` of utilities and strategies add up to nearly the same as products
    of other utilities v with best responses to them. With the difference W, from 0,

        x  =  point with the smallest |W (x, 1)|,    v  =  |u| W (x, 1) / |W (x, 1)|
        W  <-  W + u (x, 1)' - v (y, 1)',    y a best response to v

    By the minimax theorem, what is added has no positive inner product with W, so that

        |W|^2  <=  sum of |u_t (x_t, 1)' - v_t (y_t, 1)'|^2

    The regret against an affine map ``x -> A (x, 1)`` is at most ``|A - (I, 0)| |W|``, since best
    responses have none: constant maps give external regret, all that keep the set linear swap
    regret. ``|W|`` over the number of iterations is at least the profile swap distance: how far the
    mean of the products is from mixtures of products of a utility and a best response to it.

    Parameters
    ----------
    domain
        The set X, or a number of actions.

    Examples
    --------
    >>> player = ResponseBasedApproachability(2)
    >>> player.observe_utility([1.0, 0.0])
    >>> player.next_strategy().round(3)
    array([1., 0.])

    Notes
    -----
    The paper has utilities from a set that is known; v is here taken from the ball of length
    ``|u_t|``, of which nothing need be known. So there is no rate and no horizon, and the unit of
    utility does not matter. Small profile swap regret where v is from the set of utilities that an
    opponent can cause is proven to make a player non-manipulable: no opponent then gains more than
    from one strategy to which the player responds best. From the ball, v may be none of these, and
    that is not proven. The preconditioning of the set is left out.

    References
    ----------
    Anagnostides, Farina, Fishelson, Luo and Schneider (2026), "Swap regret minimization through
    response-based approachability", COLT, PMLR 336. Of that only the abstract could be read, and
    the algorithm in the authors' tutorial at EC 2026. Bernstein and Shimkin (2015),
    "Response-based approachability with applications to generalized no-regret problems", Journal of
    Machine Learning Research 16. Arunachaleswaran, Collina, Mansour, Mohri, Schneider and Sivan
    (2025), "Swap regret and correlated equilibria beyond normal-form games", EC.
    """

    domain: StrategySet = field(converter=as_set)
    _excess: Vector = field(init=False, repr=False)
    """W, shape ``(dimension, dimension + 1)``."""
    _longest: float = field(default=0.0, init=False, repr=False)
    """What its length is at most."""

    def __attrs_post_init__(self) -> None:
        self._excess = np.zeros((self.dimension, self.dimension + 1))

    @property
    def distance(self) -> float:
        """The profile swap distance times the number of iterations, at most: the length of W."""
        return _length(self._excess)

    @property
    @override
    def scale_free(self) -> bool:
        return True

    @override
    def _couples_blocks(self) -> bool:
        return isinstance(self.domain, Simplices) and self.domain.blocks > 1

    @override
    def _regret_bound(self, tracker_of: TrackerOf) -> RegretBound | None:
        tracker = tracker_of(self)
        # W has the utilities since the last restart, all of which the tracker must have seen alone.
        if not tracker.contiguous or tracker.iterations != self.iteration:
            return None
        best = self.domain.best_response(tracker.utilities)[1]
        bound = float(np.sqrt(self.dimension + best @ best)) * self.distance
        also = RegretBound(
            "|W| <= root of the sum of squares of what is added",
            self.distance,
            self._longest,
            exact=False,
        )
        statement = "R <= |A - (I, 0)| |W|, A the best constant map"
        return RegretBound(statement, tracker.external, bound, exact=False, also=(also,))

    @override
    def _propose(self) -> Vector:
        if not self._excess.any():
            return self.domain.relative_interior_point()
        return nearest_image(self._excess, self.domain.best_response)

    @override
    def _learn(self, utility: Vector, strategy: Vector) -> None:
        image = self._excess @ np.append(strategy, 1.0)
        length, added = _length(image), np.outer(utility, np.append(strategy, 1.0))
        if length > _SMALLEST * self.distance:
            target = image * (_length(utility) / length)
            response = self.domain.best_response(target)[1]
            added -= np.outer(target, np.append(response, 1.0))
        self._excess += added
        self._longest = float(np.hypot(self._longest, _length(added)))


def _length(array: Vector) -> float:
    largest = float(np.abs(array).max(initial=0.0))
    return largest * float(np.linalg.norm(array / largest)) if largest else 0.0
