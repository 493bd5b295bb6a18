"""Play something else than a minimizer does: explore beside it, or cut what it hardly plays."""

from collections.abc import Mapping
from typing import final

import numpy as np
from attrs import define, field
from numpy.typing import ArrayLike
from typing_extensions import override

from regretkit._regret_tracker import RegretBound
from regretkit._util import _validate
from regretkit._util._state import NOT_STATE
from regretkit._util._typing import Vector
from regretkit._util._validate import quote, shorten
from regretkit.circuits._wrappers import StrategyWrapper
from regretkit.minimizer import RegretMinimizer, TrackerOf
from regretkit.sets import DecisionTree, Simplices


def _reference(value: ArrayLike | None) -> Vector | None:
    return None if value is None else _validate.constant_vector(value, "reference")


@final
@define(eq=False)
class ExplorationMixture(StrategyWrapper):
    """Explore with some probability, and else play as a minimizer does.

        x  =  (1 - gamma) times the minimizer's strategy  +  gamma rho

    The minimizer learns from the utility itself. The regret is a mean of its own and of that of
    playing rho for ever, exactly:

        R  =  (1 - gamma) R of the minimizer  +  gamma (max over y of sum <u_t, y - rho>)

    It is needed where utilities are estimated from what was played: EXP3 is Hedge in it, with an
    estimator that owns the importance weight.

    Parameters
    ----------
    minimizer
        Any.
    gamma
        How much to explore, from 0 to 1.
    reference
        rho, a point of the minimizer's domain; the domain's canonical interior point by default,
        which on simplices is uniform.

    Examples
    --------
    >>> from regretkit import Hedge
    >>> player = ExplorationMixture(Hedge(2, rate=1.0), gamma=0.25)
    >>> player.observe_utility([1e3, 0.0])
    >>> player.next_strategy()
    array([0.875, 0.125])

    References
    ----------
    Auer, Cesa-Bianchi, Freund and Schapire (2002), "The nonstochastic multiarmed bandit problem",
    SIAM Journal on Computing 32(1). Their text could not be checked.
    """

    gamma: float = field(validator=_validate.share, kw_only=True)
    reference: Vector | None = field(default=None, converter=_reference, kw_only=True)
    _point: Vector = field(init=False, repr=False, metadata=NOT_STATE)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        self._point = (
            self.domain.relative_interior_point() if self.reference is None else self.reference
        )
        _validate.vector(self._point, self.dimension, "reference")
        if not self.domain.contains(self._point):
            raise ValueError(
                f"reference must be a point of the minimizer's domain, {quote(self.domain)}, "
                f"got {shorten(str(self.reference))}"
            )

    @override
    def exemptions(self) -> Mapping[str, str]:
        exemption = {"regret_grows_slowly": "what it explores costs it in every iteration"}
        return {**super().exemptions(), **(exemption if self.gamma > 0.0 else {})}

    @override
    def on_domain(self, simplices: Simplices) -> RegretMinimizer | None:
        return super().on_domain(simplices) if self.reference is None else None

    @override
    def _regret_bound(self, tracker_of: TrackerOf) -> RegretBound:
        tracker, inner = tracker_of(self), tracker_of(self.minimizer)
        explored = self.domain.best_response(tracker.utilities)[0]
        explored -= self.domain.value(tracker.utilities, self._point)
        return RegretBound(
            "R = (1 - gamma) R of the minimizer + gamma R of rho",
            tracker.external,
            (1.0 - self.gamma) * inner.external + self.gamma * explored,
            exact=True,
        )

    @override
    def _transform(self, strategy: Vector) -> Vector:
        return (1.0 - self.gamma) * strategy + self.gamma * self._point


@final
@define(eq=False)
class Thresholded(StrategyWrapper):
    """Play as a minimizer does, but never what it plays too rarely.

    In each block of simplices, or at each decision point of a tree, probabilities below a
    threshold become zero and the others are scaled to sum to one. Where all are below it, the
    largest remain. With threshold 1 that is purification: nothing but the largest is played.

    The minimizer learns from the utility itself, as if it had played its own strategy. What is
    played may earn less, and that in every iteration: of a block with n actions at most a share
    (n - 1) threshold is cut off, and never more than 1 - 1 / n. So where a path makes several
    decisions, the product of what these leave over it is played as it should be, and

        R  <=  R of the minimizer  +  (1 - least such product) sum of the ranges of u_t

    That is what may be lost; measure what a cut does cost.

    Parameters
    ----------
    minimizer
        A minimizer on simplices or on a decision tree.
    threshold
        From 0 to 1.

    Examples
    --------
    >>> from regretkit import Point
    >>> from regretkit.minimizers import Hedge
    >>> player = Thresholded(Hedge(3, rate=1.0), threshold=0.1)
    >>> player.observe_utility(np.log([0.72, 0.24, 0.04]))
    >>> player.next_strategy()
    array([0.75, 0.25, 0.  ])

    References
    ----------
    Ganzfried, Sandholm and Waugh (2012), "Strategy purification and thresholding: effective
    non-equilibrium approaches for playing large games", AAMAS. Its text could not be checked.
    """

    threshold: float = field(validator=_validate.share, kw_only=True)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if not isinstance(self.domain, Simplices | DecisionTree):
            raise TypeError(
                "minimizer must play on simplices or on a decision tree, got "
                f"{quote(self.minimizer)} on {quote(self.domain)}"
            )

    @override
    def exemptions(self) -> Mapping[str, str]:
        exemption = {"regret_grows_slowly": "what it cuts off may be what earns"}
        return {**super().exemptions(), **(exemption if self.threshold > 0.0 else {})}

    @override
    def _regret_bound(self, tracker_of: TrackerOf) -> RegretBound:
        # The minimizer's strategy is a mixture: of what is played, and of something else.
        tracker, inner = tracker_of(self), tracker_of(self.minimizer)
        return RegretBound(
            "R <= R of the minimizer + share cut off * ranges of u",
            tracker.external,
            inner.external + (1.0 - self._least_kept()) * tracker.width,
            exact=False,
        )

    def _least_kept(self) -> float:
        """Return the least share of a strategy that is sure to be played as it is."""
        if isinstance(self.domain, DecisionTree):
            kept = self.domain.simplices.repeat(self._kept(self.domain.simplices))
            return float(self.domain.sequence_form(kept).min())
        if isinstance(self.domain, Simplices):
            return float(self._kept(self.domain).min(initial=1.0))
        raise TypeError(f"{quote(self.domain)} has no probabilities")

    def _kept(self, simplices: Simplices) -> Vector:
        cut: Vector = np.minimum(
            (simplices.sizes - 1) * self.threshold, 1.0 - 1.0 / simplices.sizes
        )
        return 1.0 - cut

    @override
    def _transform(self, strategy: Vector) -> Vector:
        if isinstance(self.domain, DecisionTree):
            behavior = self._cut(self.domain.simplices, self.domain.behavior(strategy))
            return self.domain.sequence_form(behavior)
        if isinstance(self.domain, Simplices):
            return self._cut(self.domain, strategy)
        raise TypeError(f"{quote(self.domain)} has no probabilities")

    def _cut(self, simplices: Simplices, strategy: Vector) -> Vector:
        limit = np.minimum(simplices.max(strategy), self.threshold)
        kept = strategy >= simplices.repeat(limit)
        return simplices.normalize(np.where(kept, strategy, 0.0))


@final
@define(eq=False)
class LastIterateByAveraging(StrategyWrapper):
    """Play the average of what a minimizer has played, so that the last iterate is its average.

    In iteration t, with y_1 to y_t what the minimizer plays,

        x_t  =  (y_1 + ... + y_t) / t
        the minimizer learns from  t u_t - (t - 1) u_{t-1}

    In a game in which each player's utility is linear in the profile of the others, as with two
    players, if all players use it and update simultaneously, that is the utility at the profile
    y_t: the minimizers play exactly as they would among themselves, and the last iterate converges
    as their averages do. Against other opponents there is no guarantee: what the minimizer observes
    adds up to T u_T, so that its comparator is a best response to the last utility alone, and no
    bound on its regret bounds that of what was played. A ledger has no bound for it.

    Parameters
    ----------
    minimizer
        Any.

    Examples
    --------
    >>> from regretkit import RegretMatching
    >>> player = LastIterateByAveraging(RegretMatching(2))
    >>> player.observe_utility([1.0, 0.0])
    >>> player.minimizer.next_strategy(), player.next_strategy()
    (array([1., 0.]), array([0.75, 0.25]))

    References
    ----------
    Cai, Luo, Wei and Zheng (2025), "From average-iterate to last-iterate convergence in games: a
    reduction and its applications", NeurIPS, arXiv:2506.03464. The rule was checked in reviews of
    the paper, and follows from linearity.
    """

    _total: Vector = field(init=False, repr=False)
    _last: Vector = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        self._total, self._last = np.zeros(self.dimension), np.zeros(self.dimension)

    @override
    def exemptions(self) -> Mapping[str, str]:
        exemption = {"regret_grows_slowly": "its promise is about games in which all play so"}
        return {**super().exemptions(), **exemption}

    @override
    def _transform(self, strategy: Vector) -> Vector:
        return (self._total + strategy) / (self.iteration + 1)

    @override
    def _learn(self, utility: Vector, strategy: Vector) -> None:
        self._total = self._total + self.minimizer.next_strategy()
        self.minimizer._update(self._recovered(utility))
        self._last = utility.copy()

    @override
    def _expect(self, prediction: Vector) -> None:
        self.minimizer._predict_internal(self._recovered(prediction))

    def _recovered(self, utility: Vector) -> Vector:
        """Return what utility there would have been without averages."""
        return (self.iteration + 1) * utility - self.iteration * self._last
