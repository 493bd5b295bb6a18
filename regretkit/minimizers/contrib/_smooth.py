"""Regret matching+ with regrets bounded away from zero: smooth, extragradient and stable."""

import numpy as np
from attrs import define, field

from regretkit._state import NOT_STATE
from regretkit._util._typing import Vector
from regretkit._util._validate import positive
from regretkit.minimizers._regret_matching import PredictiveRegretMatchingPlus, RegretRule
from regretkit.minimizers._simplex_rule import state
from regretkit.sets import Simplices


@define(eq=False)
class _SmoothRule(RegretRule):
    """Regret matching+ on the chopped orthant, from Q = 1/n, with a learning rate."""

    rate: float = field(validator=positive, kw_only=True)
    optimistic: bool = field(default=True, init=False, repr=False, metadata=NOT_STATE)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        self.regrets = self.simplices.uniform()

    def accumulate(self, regrets: Vector, regret: Vector, t: int) -> Vector:
        return chop_orthant(self.simplices, self.simplices.add(regrets, self.rate * regret))

    def link(self, regrets: Vector) -> Vector:
        return self.simplices.normalize(regrets)


@define(eq=False)
class SmoothPredictiveRegretMatchingPlus(_SmoothRule):
    """Predictive regret matching+ on the chopped orthant.

    With P(z) the nearest point of ``{z >= 0, sum z >= 1}``, m the predicted utility, by default
    the last one, and x' the last strategy, starting from Q = 1/n,

        x  =  P(Q + rate v) / sum P(Q + rate v),    v = m - <m, x'>
        Q <-  P(Q + rate (u - <u, x>))

    For large Q it is ``PredictiveRegretMatchingPlus``. In self-play with simultaneous updates and a
    small rate, its last iterate converges in zero-sum matrix games, unlike that of
    ``PredictiveRegretMatchingPlus``. With g = u - <u, x>, the regret is at most
    ``(1 - 1/n) / (2 rate) + rate / 2 sum_t |g_t - v_t|^2``.

    Parameters
    ----------
    rate
        Learning rate eta, positive, in units of 1 / utility.

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
    "Last-iterate convergence properties of regret-matching algorithms in games", ICLR. The source
    of the rule is the code of Meng et al. (2025), NeurIPS, who compare with it.
    """


@define(eq=False)
class SmoothOptimisticRegretMatchingPlus(_SmoothRule):
    """Smooth regret matching+ by optimistic gradients, with one projection per iteration: SOGRM+.

    With P(z) the nearest point of ``{z >= 0, sum z >= 1}``, m the predicted utility, by default
    the last one, and x' the last strategy, starting from Q = 1/n,

        Q^ =  P(Q + rate v),    x = Q^ / sum Q^,    v = m - <m, x'>
        Q <-  Q^ + rate (u - <u, x>) - rate v

    The update adds the error of the prediction to Q^, the point of the last strategy.
    ``SmoothPredictiveRegretMatchingPlus`` adds the regret to Q instead.

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
    matching+ variants in learning Nash equilibria", NeurIPS. Their code uses the first utility only
    as a prediction; this rule also updates with it.
    """

    def _learn(self, utility: Vector, strategy: Vector) -> None:
        regret = self.simplices.regret(utility, strategy)
        played = self.accumulate(self.regrets, self.predicted_regrets, self.iteration + 1)
        self.regrets = played + self.rate * (regret - self.predicted_regrets)
        self.predicted_regrets, self.last_strategy = regret, strategy.copy()


@define(eq=False)
class ExtragradientRegretMatchingPlus(_SmoothRule):
    """Smooth regret matching+ with an extragradient step along external predictions.

    With P(z) the nearest point of ``{z >= 0, sum z >= 1}`` and m an external prediction of
    the utility, starting from Q = 1/n,

        y  =  Q / sum Q
        x  =  P(Q + rate v) / sum P(Q + rate v),    v = m - <m, y>
        Q <-  P(Q + rate (u - <u, x>))

    Without a prediction it plays x = y. In self-play use the order ``Extragradient``, which sets
    each player's prediction to its utility at the profile y. The last iterate then converges in
    zero-sum matrix games. With g = u - <u, x>, the regret is at most
    ``(1 - 1/n) / (2 rate) + rate / 2 sum_t |g_t - v_t|^2``.

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
    ICLR.
    """

    def _learn(self, utility: Vector, strategy: Vector) -> None:
        super()._learn(utility, strategy)
        self.predicted_regrets = np.zeros_like(utility)

    def _expect(self, prediction: Vector) -> None:
        self.predicted_regrets = self.simplices.regret(prediction, self.link(self.regrets))


@define(eq=False)
class StablePredictiveRegretMatchingPlus(PredictiveRegretMatchingPlus):
    """Predictive regret matching+ with restarts.

    With m the predicted utility, by default the last one, and x' the last strategy, starting from
    Q = floor,

        x  =  [Q + v]+ / sum [Q + v]+,    v = m - <m, x'>,  v = 0 after a restart
        Q <-  [Q + g]+,    g = u - <u, x>
        Q <-  floor,  a restart, if no entry of Q exceeds the floor

    Strategies of predictive regret matching+ can jump between vertices while Q is small; restarts
    prevent small Q. After a restart the rule also ignores external predictions. The regret is at
    most ``sqrt(n floor^2 + sum_t |g_t - v_t|^2)``.

    Parameters
    ----------
    floor
        Value of all regrets after a restart, positive, in units of utility; R0 / eta in the paper.

    Examples
    --------
    >>> player = StablePredictiveRegretMatchingPlus(2, floor=1.0)
    >>> player.observe_utility([1.0, 0.0])
    >>> player.regrets
    array([1.5, 0.5])

    References
    ----------
    Farina, Grand-Clement, Kroer, Lee and Luo (2023), "Regret matching+: (in)stability and fast
    convergence in games", NeurIPS, algorithm 1.
    """

    floor: float = field(validator=positive, kw_only=True)

    prediction_weight: Vector = state("block", start=1.0)
    """0 in the iteration after a restart, otherwise 1."""

    scale_free = False

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        self.regrets = np.full(self.dimension, self.floor)

    def _propose(self) -> Vector:
        expected = self.simplices.repeat(self.prediction_weight) * self.predicted_regrets
        return self.link(self.accumulate(self.regrets, expected, self.iteration + 1))

    def _learn(self, utility: Vector, strategy: Vector) -> None:
        super()._learn(utility, strategy)
        self.prediction_weight = np.where(self.simplices.max(self.regrets) > self.floor, 1.0, 0.0)
        kept = self.simplices.repeat(self.prediction_weight) > 0.0
        self.regrets = np.where(kept, self.regrets, self.floor)


def chop_orthant(simplices: Simplices, vector: Vector) -> Vector:
    """Return the nearest point of ``{z >= 0, sum z >= 1}`` in each block.

    It is [z]+ if this sums to at least 1, and the nearest point of the simplex otherwise.
    """
    lifted = np.maximum(vector, 0.0)
    low = simplices.repeat(simplices.sum(lifted)) < 1.0
    return np.where(low, simplices.project(vector), lifted)
