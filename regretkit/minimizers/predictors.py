"""Predictors: what the coming regrets are guessed to be."""

import abc
from typing import final

import numpy as np
from attrs import field, frozen
from typing_extensions import override

from regretkit._util._typing import Vector
from regretkit._util._validate import at_least_zero, of_kind
from regretkit.minimizers._by_block import Belief
from regretkit.minimizers.roles import Predictor, State
from regretkit.sets import Simplices


@final
@frozen
class NoPrediction(Predictor):
    """Guess nothing, and take no notice of what others expect.

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
    def expect(self, simplices: Simplices, state: State, utility: Vector, unaided: Vector) -> State:
        return {}

    @override
    def predict(self, state: State) -> Vector | None:
        return None

    @override
    def belief(self) -> Belief:
        return Belief(0.0, repeats=False)


@final
@frozen
class LastUtility(Predictor):
    """Predict the last utility, or the utility m that was given as a prediction.

        v = m - <m, x>,  with x the last strategy played

    Before the first iteration, m is zero and x uniform.

    Examples
    --------
    >>> predictor, simplices = LastUtility(), Simplices(2)
    >>> state = predictor.start(simplices)
    >>> expected = predictor.expect(simplices, state, np.array([4.0, 0.0]), simplices.uniform())
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
    def predict(self, state: State) -> Vector | None:
        return state["predicted_regrets"]

    @override
    def belief(self) -> Belief:
        return Belief(1.0, repeats=True)


@final
@frozen
class ToldUtility(Predictor):
    """Guess nothing, unless told which utility m to expect; then believe it.

        v = m - <m, x>,  with x what would be played unaided; 0 unless m was told

    It measures against the coming strategy, as an extragradient step does, and not against the
    last one.

    Examples
    --------
    >>> predictor, simplices = ToldUtility(), Simplices(2)
    >>> unaided = np.array([0.25, 0.75])
    >>> predictor.predict(predictor.expect(simplices, {}, np.array([4.0, 0.0]), unaided))
    array([ 3., -1.])
    """

    @override
    def start(self, simplices: Simplices) -> State:
        return {"predicted_regrets": np.zeros(simplices.dimension)}

    @override
    def observe(self, state: State, regret: Vector, strategy: Vector) -> State:
        return {"predicted_regrets": np.zeros_like(regret)}

    @override
    def expect(self, simplices: Simplices, state: State, utility: Vector, unaided: Vector) -> State:
        return {"predicted_regrets": simplices.regret(utility, unaided)}

    @override
    def predict(self, state: State) -> Vector | None:
        return state["predicted_regrets"]

    @override
    def belief(self) -> Belief:
        return Belief(1.0, repeats=False)


@frozen
class _Scaling(Predictor):
    """A predictor that scales what another one predicts."""

    predictor: Predictor = field(validator=of_kind(Predictor, "LastUtility()"))

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
    """Believe a predictor by so much, always: ``weight v``.

    Parameters
    ----------
    predictor
        Predicts v.
    weight
        At least 0, at which nothing is predicted.

    Examples
    --------
    >>> Weighted(LastUtility(), weight=0.5).predict({"predicted_regrets": np.array([2.0, -2.0])})
    array([ 1., -1.])
    """

    weight: float = field(validator=at_least_zero, kw_only=True)

    @override
    def _scaled(self, predicted: Vector, state: State) -> Vector:
        return self.weight * predicted

    @override
    def belief(self) -> Belief | None:
        belief = self.predictor.belief()
        return belief and belief._replace(weight=self.weight * belief.weight)


@final
@frozen
class Trusted(_Scaling):
    """Believe a predictor by as much as the memory does: ``trust v``.

    Only for memories that keep an entry ``"trust"``, a number for each action.

    Parameters
    ----------
    predictor
        Predicts v.

    Examples
    --------
    >>> state = {"predicted_regrets": np.array([2.0, -2.0]), "trust": np.array([0.5, 0.5])}
    >>> Trusted(LastUtility()).predict(state)
    array([ 1., -1.])
    """

    @override
    def _scaled(self, predicted: Vector, state: State) -> Vector:
        if "trust" not in state:
            raise ValueError(
                "Trusted needs a memory that keeps trust, such as LearningTrust() or "
                "Restarting(floor=1.0); with others, use Weighted"
            )
        return state["trust"] * predicted

    @override
    def belief(self) -> Belief | None:
        belief = self.predictor.belief()
        return belief and belief._replace(trusted=True)
