"""Regret matching+ on the chopped orthant: predictive, optimistic and extragradient."""

from typing import final

import numpy as np
from attrs import define, field, frozen
from typing_extensions import override

from regretkit._util._typing import Vector
from regretkit._util._validate import positive
from regretkit.minimizers.regret_matching._accumulators import Accumulator, State
from regretkit.minimizers.regret_matching._links import LinkFunction
from regretkit.minimizers.regret_matching._predictors import (
    ExternalPrediction,
    LastUtilityPrediction,
    Weighted,
)
from regretkit.minimizers.regret_matching._rule import ComposedRule, Parts
from regretkit.sets import Simplices


@final
@frozen
class ChoppedOrthant(Accumulator):
    """Regrets sum to at least one: ``Q <- P(Q + rate g)``, starting at ``1/n``.

    P finds the nearest point of ``{z >= 0, sum z >= 1}``.

    Parameters
    ----------
    rate
        Learning rate, positive, in one over the unit of utility.

    Examples
    --------
    >>> ChoppedOrthant(rate=1.0).update(
    ...     Simplices(2), {"regrets": np.array([0.5, 0.5])}, np.array([-0.5, -1.0]), 1
    ... )
    {'regrets': array([0.75, 0.25])}
    """

    lower_bound = 0.0
    scale_free = False

    rate: float = field(validator=positive, kw_only=True)

    @override
    def start(self, simplices: Simplices) -> State:
        return {"regrets": simplices.uniform()}

    @override
    def update(self, simplices: Simplices, state: State, regret: Vector, iteration: int) -> State:
        return {"regrets": chop_orthant(simplices, state["regrets"] + self.rate * regret)}


@final
@frozen
class ChoppedOrthantOptimistic(Accumulator):
    """The point that was played from, plus the error of its prediction, starting at ``1/n``.

        Q <- P(Q + rate v) + rate (g - v)

    P finds the nearest point of ``{z >= 0, sum z >= 1}``, and v is what was predicted. It goes
    with :class:`Weighted` predictions, by the same rate, and :class:`SmoothedLink` play.

    Parameters
    ----------
    rate
        Learning rate, positive, in one over the unit of utility.

    Examples
    --------
    >>> ChoppedOrthantOptimistic(rate=1.0).update(
    ...     Simplices(2), {"regrets": np.array([0.5, 0.5])}, np.array([-0.5, -1.0]), 1
    ... )
    {'regrets': array([ 0. , -0.5])}
    """

    scale_free = False

    rate: float = field(validator=positive, kw_only=True)

    @override
    def start(self, simplices: Simplices) -> State:
        return {"regrets": simplices.uniform()}

    @override
    def update(self, simplices: Simplices, state: State, regret: Vector, iteration: int) -> State:
        predicted = state.get("predicted_regrets", np.zeros_like(regret))
        played = chop_orthant(simplices, state["regrets"] + self.rate * predicted)
        return {"regrets": played + self.rate * (regret - predicted)}


@final
@frozen
class SmoothedLink(LinkFunction):
    """Play in proportion to ``P(R)``, the nearest point of ``{z >= 0, sum z >= 1}``.

    Where positive regrets sum to one or more it plays as :class:`PositivePartLink`; where they do
    not, the nearest point of the simplex. So it never jumps.

    Examples
    --------
    >>> SmoothedLink().play(Simplices([2, 2]), np.array([3.0, 1.0, 0.5, 0.0]))
    array([0.75, 0.25, 0.75, 0.25])
    """

    @override
    def play(self, simplices: Simplices, regrets: Vector) -> Vector:
        return simplices.normalize(chop_orthant(simplices, regrets))


@final
@define(eq=False)
class SmoothPredictiveRegretMatchingPlus(ComposedRule):
    """Predictive regret matching+ on the chopped orthant.

    With P(z) the nearest point of ``{z >= 0, sum z >= 1}``, m the utility expected, by default
    the last one, and x' the last strategy, starting from Q = 1/n,

        x  =  P(Q + rate v) / sum P(Q + rate v),    v = m - <m, x'>
        Q <-  P(Q + rate (u - <u, x>))

    Once regrets are large it plays as :class:`PredictiveRegretMatchingPlus`. In self-play with
    simultaneous updates and a small rate its last iterate converges in zero-sum matrix games,
    which that of the other does not. The regret is at most ``(1 - 1/n) / (2 rate)`` plus
    ``rate / 2`` times the sum of ``|g - v|^2``.

    Parameters
    ----------
    rate
        Learning rate eta, positive, in one over the unit of utility.

    Examples
    --------
    >>> player = SmoothPredictiveRegretMatchingPlus(2, rate=0.25)
    >>> player.observe_utility([1.0, 0.0])
    >>> player.regrets
    array([0.625, 0.375])
    >>> player.next_strategy()
    array([0.75, 0.25])

    References
    ----------
    Farina, Grand-Clement, Kroer, Lee and Luo (2023), "Regret matching+: (in)stability and fast
    convergence in games", NeurIPS. Cai, Farina, Grand-Clement, Kroer, Lee, Luo and Zheng (2025),
    "Last-iterate convergence properties of regret-matching algorithms in games", ICLR. The rule
    is that of the code of Meng et al. (2025), NeurIPS, who compare with it.
    """

    rate: float = field(validator=positive, kw_only=True)

    @override
    def _parts(self) -> Parts:
        predictor = Weighted(LastUtilityPrediction(), weight=self.rate)
        return ChoppedOrthant(rate=self.rate), predictor, SmoothedLink()


@final
@define(eq=False)
class SmoothOptimisticRegretMatchingPlus(ComposedRule):
    """Smooth regret matching+ by optimistic gradients, one projection an iteration.

    With P(z) the nearest point of ``{z >= 0, sum z >= 1}``, m the utility expected, by default
    the last one, and x' the last strategy, starting from Q = 1/n,

        Q^ =  P(Q + rate v),    x = Q^ / sum Q^,    v = m - <m, x'>
        Q <-  Q^ + rate (u - <u, x>) - rate v

    The papers call it SOGRM+. Where :class:`SmoothPredictiveRegretMatchingPlus` adds every regret
    to Q, this adds to what it played from only what the prediction had missed.

    Parameters
    ----------
    rate
        Learning rate eta, positive, in one over the unit of utility.

    Examples
    --------
    >>> player = SmoothOptimisticRegretMatchingPlus(2, rate=0.25)
    >>> player.observe_utility([1.0, 0.0])
    >>> player.next_strategy()
    array([0.75, 0.25])

    References
    ----------
    Meng, Zhang, Ge, Ding, Yang, Xu, Li and Gao (2025), "Last-iterate convergence of smooth regret
    matching+ variants in learning Nash equilibria", NeurIPS. Their code takes from the first
    utility only a prediction; here it is learned from like every other.
    """

    rate: float = field(validator=positive, kw_only=True)

    @override
    def _parts(self) -> Parts:
        predictor = Weighted(LastUtilityPrediction(), weight=self.rate)
        return ChoppedOrthantOptimistic(rate=self.rate), predictor, SmoothedLink()


@final
@define(eq=False)
class ExtragradientRegretMatchingPlus(ComposedRule):
    """Smooth regret matching+ that plays against external predictions, as an extragradient step.

    With P(z) the nearest point of ``{z >= 0, sum z >= 1}`` and m an external prediction of
    the utility, starting from Q = 1/n,

        y  =  Q / sum Q
        x  =  P(Q + rate v) / sum P(Q + rate v),    v = m - <m, y>
        Q <-  P(Q + rate (u - <u, x>))

    Without a prediction it plays x = y: smooth regret matching+. In self-play it is used with
    :class:`~regretkit.play.Extragradient`, which in every iteration first predicts for each player
    its utility at the profile y. Then its last iterate converges in zero-sum matrix
    games. The regret is at most ``(1 - 1/n) / (2 rate)`` plus ``rate / 2`` times the sum of
    ``|g - v|^2``.

    Parameters
    ----------
    rate
        Learning rate eta, positive, in one over the unit of utility.

    Examples
    --------
    >>> player = ExtragradientRegretMatchingPlus(2, rate=0.25)
    >>> player.expect_utility([1.0, 0.0])
    >>> player.next_strategy()
    array([0.625, 0.375])

    References
    ----------
    Farina, Grand-Clement, Kroer, Lee and Luo (2023), "Regret matching+: (in)stability and fast
    convergence in games", NeurIPS, algorithm 5. Cai, Farina, Grand-Clement, Kroer, Lee, Luo and
    Zheng (2025), "Last-iterate convergence properties of regret-matching algorithms in games",
    ICLR. The rule is written from their abstracts and from another implementation's account of
    algorithm 5; the papers' own text could not be checked.
    """

    rate: float = field(validator=positive, kw_only=True)

    @override
    def _parts(self) -> Parts:
        predictor = Weighted(ExternalPrediction(), weight=self.rate)
        return ChoppedOrthant(rate=self.rate), predictor, SmoothedLink()


def chop_orthant(simplices: Simplices, vector: Vector) -> Vector:
    """Return the nearest point that is nowhere negative and sums to at least one in each block.

    Where clipping leaves too little, that is the nearest point of the simplex.
    """
    lifted = np.maximum(vector, 0.0)
    low = np.flatnonzero(simplices.sum(lifted) < 1.0)
    if low.size:
        where, few = simplices.coordinates(low), Simplices(simplices.sizes[low])
        lifted[where] = few.project(vector[where])
    return lifted
