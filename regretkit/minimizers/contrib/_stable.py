"""Stable predictive regret matching+."""

from typing import final

import numpy as np
from attrs import define, field, frozen
from typing_extensions import override

from regretkit._util._typing import Vector
from regretkit._util._validate import positive
from regretkit.minimizers.regret_matching._accumulators import Accumulator, State
from regretkit.minimizers.regret_matching._links import PositivePartLink
from regretkit.minimizers.regret_matching._predictors import AdaptiveStep, LastUtilityPrediction
from regretkit.minimizers.regret_matching._rule import ComposedRule, Parts
from regretkit.sets import Simplices


@final
@frozen
class RestartAtFloor(Accumulator):
    """Negative regret is dropped, and small regrets are raised to a floor.

        Q <- [Q + g]+,  and Q <- floor where no regret of a block exceeds it

    It starts at the floor. Its ``"prediction_weight"`` is 0 for one iteration after a restart,
    otherwise 1.

    Parameters
    ----------
    floor
        What regrets are raised to, positive, in the unit of utility.

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

    @override
    def start(self, simplices: Simplices) -> State:
        ones = np.ones(simplices.dimension)
        return {"regrets": self.floor * ones, "prediction_weight": ones}

    @override
    def update(self, simplices: Simplices, state: State, regret: Vector, iteration: int) -> State:
        regrets = np.maximum(simplices.add(state["regrets"], regret), 0.0)
        weight = simplices.repeat(np.where(simplices.max(regrets) > self.floor, 1.0, 0.0))
        return {"regrets": np.where(weight > 0.0, regrets, self.floor), "prediction_weight": weight}


@final
@define(eq=False)
class StablePredictiveRegretMatchingPlus(ComposedRule):
    """Predictive regret matching+ with restarts.

    With m the utility expected, by default the last one, and x' the last strategy, starting from
    Q = floor,

        x  =  [Q + v]+ / sum [Q + v]+,    v = m - <m, x'>,  v = 0 after a restart
        Q <-  [Q + u - <u, x>]+
        Q <-  floor,  a restart, where that leaves no entry above the floor

    Predictive regret matching+ may jump from one end of the simplex to the other while its
    regrets are small; here they never are. After a restart no prediction is used, not even an
    external one. The regret is at most the root of ``n floor^2`` plus the sum of
    ``|g - v|^2``.

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

    @override
    def _parts(self) -> Parts:
        predictor = AdaptiveStep(LastUtilityPrediction())
        return RestartAtFloor(floor=self.floor), predictor, PositivePartLink()
