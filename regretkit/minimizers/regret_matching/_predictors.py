"""Predictors: what is predicted of the coming regrets."""

import abc
from typing import final

import numpy as np
from attrs import field, frozen
from typing_extensions import override

from regretkit._util._typing import Vector
from regretkit._util._validate import at_least_zero, of_kind
from regretkit.minimizers.regret_matching._accumulators import State
from regretkit.minimizers.regret_matching._kernels import BlockPredictor
from regretkit.sets import Simplices


class Predictor(abc.ABC):
    """What is predicted of the coming regrets: v, as regrets against the last strategy.

    Like an accumulator it holds no state; its entries are in one state with the accumulator's.

    Examples
    --------
    >>> from regretkit.minimizers import NoPrediction
    >>> NoPrediction().predict({}) is None
    True
    """

    def start(self, simplices: Simplices) -> State:
        """Return its entries before the first iteration; by default v = 0."""
        return {"predicted_regrets": np.zeros(simplices.dimension)}

    @abc.abstractmethod
    def observe(self, state: State, regret: Vector, strategy: Vector) -> State:
        """Return its entries after an iteration of this ``regret`` and ``strategy``."""

    def expect(self, simplices: Simplices, state: State, utility: Vector, unaided: Vector) -> State:
        """Return the entries that change when ``utility`` is an external prediction; none here.

        ``unaided`` is the strategy that would be played without any prediction.
        """
        return {}

    def predict(self, state: State) -> Vector | None:
        """Return v, shape ``(dimension,)``, or None where nothing is ever predicted."""
        return state["predicted_regrets"]

    def block_form(self) -> BlockPredictor | None:
        """Return what is predicted unless told otherwise, None by default; compiled rules do."""
        return None


@final
@frozen
class NoPrediction(Predictor):
    """Predict nothing, and ignore external predictions.

    Examples
    --------
    >>> NoPrediction().start(Simplices(2))
    {}
    """

    @override
    def start(self, simplices: Simplices) -> State:
        return {}

    @override
    def observe(self, state: State, regret: Vector, strategy: Vector) -> State:
        return {}

    @override
    def predict(self, state: State) -> Vector | None:
        return None

    @override
    def block_form(self) -> BlockPredictor:
        return BlockPredictor(0.0, repeats=False)


@final
@frozen
class LastUtilityPrediction(Predictor):
    """Predict the last utility, or the utility m that was given as a prediction.

        v = m - <m, x>,  with x the last strategy played

    Before the first iteration, m is zero and x uniform.

    Examples
    --------
    >>> predictor, simplices = LastUtilityPrediction(), Simplices(2)
    >>> state = predictor.start(simplices)
    >>> m = np.array([4.0, 0.0])
    >>> expected = predictor.expect(simplices, state, m, simplices.uniform())
    >>> predictor.predict(state | expected)
    array([ 2., -2.])
    """

    @override
    def start(self, simplices: Simplices) -> State:
        return {
            "predicted_regrets": np.zeros(simplices.dimension),
            "last_strategy": simplices.uniform(),
        }

    @override
    def observe(self, state: State, regret: Vector, strategy: Vector) -> State:
        # A strategy handed out is never written to, but a state may not hold what others hold.
        return {"predicted_regrets": regret, "last_strategy": strategy.copy()}

    @override
    def expect(self, simplices: Simplices, state: State, utility: Vector, unaided: Vector) -> State:
        return {"predicted_regrets": simplices.regret(utility, state["last_strategy"])}

    @override
    def block_form(self) -> BlockPredictor:
        return BlockPredictor(1.0, repeats=True)


@final
@frozen
class ExternalPrediction(Predictor):
    """Predict the utility m that was given as a prediction, and otherwise nothing.

        v = m - <m, x>,  with x the strategy without any prediction; 0 if m was not given

    The regret is against the coming strategy, as an extragradient step does, and not against the
    last one.

    Examples
    --------
    >>> predictor, simplices = ExternalPrediction(), Simplices(2)
    >>> unaided = np.array([0.25, 0.75])
    >>> predictor.predict(predictor.expect(simplices, {}, np.array([4.0, 0.0]), unaided))
    array([ 3., -1.])
    """

    @override
    def observe(self, state: State, regret: Vector, strategy: Vector) -> State:
        return {"predicted_regrets": np.zeros_like(regret)}

    @override
    def expect(self, simplices: Simplices, state: State, utility: Vector, unaided: Vector) -> State:
        return {"predicted_regrets": simplices.regret(utility, unaided)}

    @override
    def block_form(self) -> BlockPredictor:
        return BlockPredictor(1.0, repeats=False)


@frozen
class _Scaling(Predictor):
    """A predictor that scales what another one predicts."""

    predictor: Predictor = field(validator=of_kind(Predictor, "LastUtilityPrediction()"))

    @abc.abstractmethod
    def _scaled(self, predicted: Vector, state: State) -> Vector:
        """Return ``predicted``, scaled."""

    @final
    @override
    def start(self, simplices: Simplices) -> State:
        return self.predictor.start(simplices)

    @final
    @override
    def observe(self, state: State, regret: Vector, strategy: Vector) -> State:
        return self.predictor.observe(state, regret, strategy)

    @final
    @override
    def expect(self, simplices: Simplices, state: State, utility: Vector, unaided: Vector) -> State:
        return self.predictor.expect(simplices, state, utility, unaided)

    @final
    @override
    def predict(self, state: State) -> Vector | None:
        predicted = self.predictor.predict(state)
        return None if predicted is None else self._scaled(predicted, state)


@final
@frozen
class Weighted(_Scaling):
    """Scale predictions by a constant: ``weight v``.

    Parameters
    ----------
    predictor
        Predicts v.
    weight
        At least 0, at which nothing is predicted.

    Examples
    --------
    >>> state = {"predicted_regrets": np.array([2.0, -2.0])}
    >>> Weighted(LastUtilityPrediction(), weight=0.5).predict(state)
    array([ 1., -1.])
    """

    weight: float = field(validator=at_least_zero, kw_only=True)

    @override
    def _scaled(self, predicted: Vector, state: State) -> Vector:
        return self.weight * predicted

    @override
    def block_form(self) -> BlockPredictor | None:
        block = self.predictor.block_form()
        return block and block._replace(weight=self.weight * block.weight)


@final
@frozen
class AdaptiveStep(_Scaling):
    """Scale predictions by the accumulator's weight: ``prediction_weight v``.

    Only for accumulators that keep an entry ``"prediction_weight"``, a number for each action.

    Parameters
    ----------
    predictor
        Predicts v.

    Examples
    --------
    >>> v, weight = np.array([2.0, -2.0]), np.array([0.5, 0.5])
    >>> state = {"predicted_regrets": v, "prediction_weight": weight}
    >>> AdaptiveStep(LastUtilityPrediction()).predict(state)
    array([ 1., -1.])
    """

    @override
    def _scaled(self, predicted: Vector, state: State) -> Vector:
        if "prediction_weight" not in state:
            raise ValueError(
                "AdaptiveStep needs an accumulator with a prediction_weight, such as "
                "AdaptivePredictionWeight() or RestartAtFloor(floor=1.0); with others, use Weighted"
            )
        return state["prediction_weight"] * predicted

    @override
    def block_form(self) -> BlockPredictor | None:
        block = self.predictor.block_form()
        return block and block._replace(adaptive=True)
