"""Regret matching+ with regrets kept away from zero: smooth, extragradient and stable."""

from typing import ClassVar

import numpy as np
from attrs import define, field, frozen

from regretkit._util._typing import Vector
from regretkit._util._validate import positive
from regretkit.minimizers._regret_matching import ComposedRule, Parts
from regretkit.minimizers._roles import (
    Accumulator,
    AdaptiveStep,
    ExternalPrediction,
    LastUtilityPrediction,
    LinkFunction,
    PositivePartLink,
    Predictor,
    State,
    Weighted,
)
from regretkit.sets import Simplices


@frozen
class _Chopped(Accumulator):
    """Regrets on the chopped orthant, starting at ``1/n``, with a learning rate."""

    scale_free = False

    rate: float = field(validator=positive, kw_only=True)

    def start(self, simplices: Simplices) -> State:
        return {"regrets": simplices.uniform()}


@frozen
class ChoppedOrthant(_Chopped):
    """Regrets sum to at least one: ``Q <- P(Q + rate g)``, starting at ``1/n``.

    P finds the nearest point of ``{z >= 0, sum z >= 1}``. Parameters are those of
    ``SmoothPredictiveRegretMatchingPlus``.

    Examples
    --------
    >>> ChoppedOrthant(rate=1.0).update(
    ...     Simplices(2), {"regrets": np.array([0.5, 0.5])}, np.array([-0.5, -1.0]), 1
    ... )
    {'regrets': array([0.75, 0.25])}
    """

    lower_bound = 0.0

    def update(self, simplices: Simplices, state: State, regret: Vector, iteration: int) -> State:
        return {"regrets": chop_orthant(simplices, state["regrets"] + self.rate * regret)}


@frozen
class ChoppedOrthantOptimistic(_Chopped):
    """The point that was played from, plus the error of its prediction, starting at ``1/n``.

        Q <- P(Q + rate v) + rate (g - v)

    P finds the nearest point of ``{z >= 0, sum z >= 1}``, and v is what was predicted. It goes
    with ``Weighted`` predictions, by the same learning rate, and ``SmoothedLink`` play. Parameters
    are those of ``SmoothPredictiveRegretMatchingPlus``.

    Examples
    --------
    >>> ChoppedOrthantOptimistic(rate=1.0).update(
    ...     Simplices(2), {"regrets": np.array([0.5, 0.5])}, np.array([-0.5, -1.0]), 1
    ... )
    {'regrets': array([ 0. , -0.5])}
    """

    def update(self, simplices: Simplices, state: State, regret: Vector, iteration: int) -> State:
        predicted = state.get("predicted_regrets", np.zeros_like(regret))
        played = chop_orthant(simplices, state["regrets"] + self.rate * predicted)
        return {"regrets": played + self.rate * (regret - predicted)}


@frozen
class SmoothedLink(LinkFunction):
    """Play in proportion to ``P(R)``, the nearest point of ``{z >= 0, sum z >= 1}``.

    Where positive regrets sum to one or more it plays as ``PositivePartLink``; where they do
    not, the nearest point of the simplex. So it never jumps.

    Examples
    --------
    >>> SmoothedLink().play(Simplices([2, 2]), np.array([3.0, 1.0, 0.5, 0.0]))
    array([0.75, 0.25, 0.75, 0.25])
    """

    def play(self, simplices: Simplices, regrets: Vector) -> Vector:
        return simplices.normalize(chop_orthant(simplices, regrets))


@define(eq=False)
class _SmoothRule(ComposedRule):
    """A rule on the chopped orthant, whose predictions count by its learning rate."""

    rate: float = field(validator=positive, kw_only=True)

    _accumulator: ClassVar[type[_Chopped]] = ChoppedOrthant
    _predictor: ClassVar[Predictor] = LastUtilityPrediction()

    def _parts(self) -> Parts:
        predictor = Weighted(self._predictor, weight=self.rate)
        return self._accumulator(rate=self.rate), predictor, SmoothedLink()


@define(eq=False)
class SmoothPredictiveRegretMatchingPlus(_SmoothRule):
    """Predictive regret matching+ on the chopped orthant.

    With P(z) the nearest point of ``{z >= 0, sum z >= 1}``, m the utility expected, by default
    the last one, and x' the last strategy, starting from Q = 1/n,

        x  =  P(Q + rate v) / sum P(Q + rate v),    v = m - <m, x'>
        Q <-  P(Q + rate (u - <u, x>))

    Once regrets are large it plays as ``PredictiveRegretMatchingPlus``. In self-play with
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


@define(eq=False)
class SmoothOptimisticRegretMatchingPlus(_SmoothRule):
    """Smooth regret matching+ by optimistic gradients, one projection an iteration.

    With P(z) the nearest point of ``{z >= 0, sum z >= 1}``, m the utility expected, by default
    the last one, and x' the last strategy, starting from Q = 1/n,

        Q^ =  P(Q + rate v),    x = Q^ / sum Q^,    v = m - <m, x'>
        Q <-  Q^ + rate (u - <u, x>) - rate v

    The papers call it SOGRM+. Where ``SmoothPredictiveRegretMatchingPlus`` adds every regret
    to Q, this adds to what it played from only what the prediction had missed.

    The parameter is that of ``SmoothPredictiveRegretMatchingPlus``.

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

    _accumulator = ChoppedOrthantOptimistic


@define(eq=False)
class ExtragradientRegretMatchingPlus(_SmoothRule):
    """Smooth regret matching+ that plays against external predictions, as an extragradient step.

    With P(z) the nearest point of ``{z >= 0, sum z >= 1}`` and m an external prediction of
    the utility, starting from Q = 1/n,

        y  =  Q / sum Q
        x  =  P(Q + rate v) / sum P(Q + rate v),    v = m - <m, y>
        Q <-  P(Q + rate (u - <u, x>))

    Without a prediction it plays x = y: smooth regret matching+. In self-play it is used with
    ``Extragradient``, which in every iteration first predicts for each player
    its utility at the profile y. Then its last iterate converges in zero-sum matrix games. The
    regret is at most ``(1 - 1/n) / (2 rate)`` plus ``rate / 2`` times the sum of ``|g - v|^2``.

    The parameter is that of ``SmoothPredictiveRegretMatchingPlus``.

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

    _predictor = ExternalPrediction()


@frozen
class RestartAtFloor(Accumulator):
    """Negative regret is dropped, and small regrets are raised to a floor.

        Q <- [Q + g]+,  and Q <- floor where no regret of a block exceeds it

    It starts at ``floor``. Its ``"prediction_weight"`` is 0 for one iteration after a restart,
    otherwise 1. Parameters are those of ``StablePredictiveRegretMatchingPlus``.

    Examples
    --------
    >>> RestartAtFloor(floor=1.0).update(
    ...     Simplices([2, 2]), {"regrets": np.ones(4)}, np.array([0.5, -0.5, -0.5, 0.0]), 1
    ... )
    {'regrets': array([1.5, 0.5, 1. , 1. ]), 'prediction_weight': array([1., 1., 0., 0.])}
    """

    lower_bound = 0.0
    scale_free = False

    floor: float = field(validator=positive, kw_only=True)

    def start(self, simplices: Simplices) -> State:
        ones = np.ones(simplices.dimension)
        return {"regrets": self.floor * ones, "prediction_weight": ones}

    def update(self, simplices: Simplices, state: State, regret: Vector, iteration: int) -> State:
        regrets = np.maximum(simplices.add(state["regrets"], regret), 0.0)
        weight = simplices.repeat(np.where(simplices.max(regrets) > self.floor, 1.0, 0.0))
        return {"regrets": np.where(weight > 0.0, regrets, self.floor), "prediction_weight": weight}


@define(eq=False)
class StablePredictiveRegretMatchingPlus(ComposedRule):
    """Predictive regret matching+ with restarts.

    With m the utility expected, by default the last one, and x' the last strategy, starting from
    Q = floor,

        x  =  [Q + v]+ / sum [Q + v]+,    v = m - <m, x'>,  v = 0 after a restart
        Q <-  [Q + u - <u, x>]+
        Q <-  floor,  a restart, where that leaves no entry above the floor

    Predictive regret matching+ may jump from one end of the simplex to the other while its regrets
    are small; here they never are. After a restart no prediction is used, not even an external one.
    The regret is at most the root of ``n floor^2`` plus the sum of ``|g - v|^2``.

    Parameters
    ----------
    floor
        What regrets are raised to, positive, in the unit of utility; R0 / eta in the paper.

    Examples
    --------
    >>> player = StablePredictiveRegretMatchingPlus(2, floor=1.0)
    >>> player.observe_utility([1.0, 0.0])
    >>> player.regrets
    array([1.5, 0.5])

    References
    ----------
    Farina, Grand-Clement, Kroer, Lee and Luo (2023), "Regret matching+: (in)stability and fast
    convergence in games", NeurIPS, algorithm 1, here as another implementation transcribes it:
    the paper's own text could not be checked.
    """

    floor: float = field(validator=positive, kw_only=True)

    def _parts(self) -> Parts:
        predictor = AdaptiveStep(LastUtilityPrediction())
        return RestartAtFloor(floor=self.floor), predictor, PositivePartLink()


def chop_orthant(simplices: Simplices, vector: Vector) -> Vector:
    """Return the nearest point that is nowhere negative and sums to at least one in each block.

    Where clipping leaves too little, that is the nearest point of the simplex.
    """
    lifted = np.maximum(vector, 0.0)
    low = simplices.repeat(simplices.sum(lifted)) < 1.0
    return np.where(low, simplices.project(vector), lifted)
