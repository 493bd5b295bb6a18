"""Asymmetric predictive regret matching+: predictions scaled by a weight below 1."""

import math
from collections.abc import Mapping
from typing import final

import numpy as np
from attrs import define, field, frozen
from typing_extensions import override

from regretkit._util._typing import Vector
from regretkit._util._validate import at_least_zero, positive
from regretkit.minimizers.contrib._norms import hypot_accumulate, norms
from regretkit.minimizers.regret_matching._accumulators import Accumulator, NonNegative, State
from regretkit.minimizers.regret_matching._kernels import (
    ERRORS,
    PREDICTED,
    RATE,
    REGRETS,
    STEPS,
    WEIGHT,
    Arrays,
    BlockAccumulator,
    Parameters,
)
from regretkit.minimizers.regret_matching._links import PositivePartLink
from regretkit.minimizers.regret_matching._predictors import (
    AdaptiveStep,
    LastUtilityPrediction,
    Weighted,
)
from regretkit.minimizers.regret_matching._rule import ComposedRule, Parts
from regretkit.sets import Simplices

_OVERWEIGHTED = {
    "regret_grows_slowly": "with a weight above 1 it believes what it expects more than what "
    "happened, and pays for it up to 1 + weight times as much"
}


@final
@frozen
class AdaptivePredictionWeight(Accumulator):
    """Negative regret is dropped, and the weight of predictions is learned from their errors.

        Q <- [Q + g]+,    weight <- 1 / (1 + alpha)
        alpha = min(sqrt(E / S), limit),  E = sum |g - v|^2,  S = sum |Q's steps|^2

    E and S add up over all iterations of a block, and v is what was predicted, before any
    weight; alpha is the limit as long as S is 0.

    Parameters
    ----------
    limit
        The largest alpha, positive.

    Examples
    --------
    An unpredicted first regret moves Q by as much as it missed the prediction:

    >>> accumulator, simplices = AdaptivePredictionWeight(limit=5.0), Simplices(2)
    >>> state = accumulator.start(simplices) | {"predicted_regrets": np.zeros(2)}
    >>> accumulator.update(simplices, state, np.array([1.0, 0.0]), 1)["prediction_weight"]
    array([0.5, 0.5])
    """

    lower_bound = 0.0

    limit: float = field(default=5.0, validator=positive, kw_only=True)

    @override
    def start(self, simplices: Simplices) -> State:
        nothing = np.zeros(simplices.blocks)
        return {
            "regrets": np.zeros(simplices.dimension),
            "prediction_weight": np.full(simplices.dimension, 1.0 / (1.0 + self.limit)),
            "errors": nothing,
            "steps": nothing.copy(),
        }

    @override
    def update(self, simplices: Simplices, state: State, regret: Vector, iteration: int) -> State:
        regrets = simplices.add(state["regrets"], regret)
        np.maximum(regrets, 0.0, out=regrets)
        moved = regrets - state["regrets"]
        # Roots of sums of squares: sums of squares could overflow.
        steps = hypot_accumulate(state["steps"], norms(simplices, moved))
        missed = np.subtract(regret, state.get("predicted_regrets", 0.0), out=moved)
        errors = hypot_accumulate(state["errors"], norms(simplices, missed))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            # Where nothing has moved yet the quotient is infinite, or no number.
            alpha = np.fmin(errors / steps, self.limit)
        weight = simplices.repeat(1.0 / (1.0 + alpha))
        return {"regrets": regrets, "prediction_weight": weight, "errors": errors, "steps": steps}

    @override
    def block_form(self) -> BlockAccumulator:
        return BlockAccumulator(adapt_prediction_weight, Parameters(rate=self.limit))


@final
@define(eq=False)
class AsymmetricRegretMatchingPlus(ComposedRule):
    """Predictive regret matching+ whose predictions count less than what happened.

    With m the utility expected, by default the last one, and x' the last strategy,

        x  =  [Q + weight v]+ / sum [Q + weight v]+,    v = m - <m, x'>
        Q <-  [Q + u - <u, x>]+

    It is what SAPCFR+ plays at every decision point, with a weight of 1/3.
    With weight 0 it is :class:`RegretMatchingPlus`, with 1 :class:`PredictiveRegretMatchingPlus`.
    The regret is at most the root of the sum of ``|g - weight v|^2``.

    Parameters
    ----------
    weight
        How much predictions count, at least 0; ``1 / (1 + alpha)`` in the paper.

    Examples
    --------
    >>> player = AsymmetricRegretMatchingPlus(2, weight=0.5)
    >>> player.observe_utility([2.0, 0.0])
    >>> player.expect_utility([0.0, 2.0])
    >>> player.next_strategy()
    array([0.5, 0.5])

    References
    ----------
    Meng, Yang, Zhang, Ge and Gao (2026), "Faster game solving via asymmetry of step sizes", AAAI,
    arXiv:2503.12770. Only the abstract and others' implementations could be read; they
    agree on the rule and, for this paper, on 1/3.
    """

    weight: float = field(default=1.0 / 3.0, validator=at_least_zero, kw_only=True)

    @override
    def exemptions(self) -> Mapping[str, str]:
        return {} if self.weight <= 1.0 else _OVERWEIGHTED

    @override
    def _parts(self) -> Parts:
        predictor = Weighted(LastUtilityPrediction(), weight=self.weight)
        return NonNegative(), predictor, PositivePartLink()


@final
@define(eq=False)
class AdaptiveAsymmetricRegretMatchingPlus(ComposedRule):
    """Predictive regret matching+ with a weight of predictions that is learned from their errors.

    With m the utility expected, by default the last one, and x' the last strategy,

        x  =  [Q + v / (1 + alpha)]+ / sum [Q + v / (1 + alpha)]+,    v = m - <m, x'>
        Q <-  [Q + g]+,    g = u - <u, x>
        alpha = min(sqrt(E / S), limit),  E = sum |g - v|^2,  S = sum |Q's steps|^2

    E and S add up over the iterations so far; alpha is the limit as long as S is 0. It is what
    APCFR+ plays at every decision point. The regret is at most the root of the sum of
    ``|g - v / (1 + alpha)|^2``.

    Parameters
    ----------
    limit
        The largest alpha, positive.

    Examples
    --------
    The first regret came unpredicted and moved Q by half of its square, so alpha is sqrt(2):

    >>> player = AdaptiveAsymmetricRegretMatchingPlus(2)
    >>> player.observe_utility([2.0, 0.0])
    >>> player.state["prediction_weight"].round(3)
    array([0.414, 0.414])

    References
    ----------
    Meng, Yang, Zhang, Ge and Gao (2026), "Faster game solving via asymmetry of step sizes", AAAI,
    arXiv:2503.12770, equations 4 and 10, here as another implementation transcribes them: the
    paper's own text could not be checked. The paper writes the last regret where this writes v,
    which is the same without external predictions.
    """

    limit: float = field(default=5.0, validator=positive, kw_only=True)

    @override
    def _parts(self) -> Parts:
        predictor = AdaptiveStep(LastUtilityPrediction())
        return AdaptivePredictionWeight(limit=self.limit), predictor, PositivePartLink()


def adapt_prediction_weight(
    block: int,
    first: int,
    last: int,
    utility: Vector,
    value: float,
    strategy: Vector,
    state: Arrays,
    parameters: Vector,
) -> None:
    """Q <- [Q + g]+ and weight <- 1 / (1 + alpha), alpha = min(errors / steps, limit)."""
    regrets, predicted, limit = state[REGRETS], state[PREDICTED], parameters[RATE]
    weight, errors, steps = state[WEIGHT], state[ERRORS], state[STEPS]
    missed, moved = 0.0, 0.0
    for a in range(first, last):
        missed = math.hypot(missed, utility[a] - value - predicted[a])
        raised = max(regrets[a] + utility[a] - value, 0.0)
        moved = math.hypot(moved, raised - regrets[a])
        regrets[a] = raised
    errors[block] = math.hypot(errors[block], missed)
    steps[block] = math.hypot(steps[block], moved)
    alpha = limit
    if errors[block] < limit * steps[block]:
        alpha = errors[block] / steps[block]
    for a in range(first, last):
        weight[a] = 1.0 / (1.0 + alpha)
