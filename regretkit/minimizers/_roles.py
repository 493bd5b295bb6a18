"""The three roles of a rule: how regrets add up, what is predicted of them, what is played.

Each is a value that holds hyperparameters and no state: its methods are pure functions, in NumPy,
of the state they are given.
"""

import abc
import math
from typing import TypeAlias

import numpy as np
from attrs import field, frozen

from regretkit._util._typing import Vector
from regretkit._util._validate import at_least_zero, extended, of_kind, positive
from regretkit.sets import Simplices

State: TypeAlias = dict[str, Vector]
"""Arrays by name, with one number for each action or each block."""


# Accumulators


class Accumulator(abc.ABC):
    """How regrets add up: R, from one iteration to the next.

    Examples
    --------
    >>> from regretkit.minimizers import Cumulative
    >>> accumulator, simplices = Cumulative(), Simplices(2)
    >>> state = accumulator.start(simplices)
    >>> accumulator.update(simplices, state, np.array([1.0, -1.0]), 1)
    {'regrets': array([ 1., -1.])}
    """

    lower_bound: float = -math.inf
    """The least number that R may hold."""
    scale_free: bool = True
    """Whether scaling regrets by a power of two scales R by exactly that power."""

    def start(self, simplices: Simplices) -> State:
        """Return the state before the first iteration, whose entry ``"regrets"`` is R; R = 0."""
        return {"regrets": np.zeros(simplices.dimension)}

    @abc.abstractmethod
    def update(self, simplices: Simplices, state: State, regret: Vector, iteration: int) -> State:
        """Return the state after ``iteration`` (from 1), which brought this ``regret``."""

    def discounted(self, simplices: Simplices, state: State, iteration: int) -> Vector:
        """Return R as it will be when the regret of the coming ``iteration`` is added to it.

        That is what predicted regrets are added to. This default is R as it stands.
        """
        return state["regrets"]


@frozen
class Cumulative(Accumulator):
    """Every regret counts the same: ``R <- R + g``.

    Examples
    --------
    >>> Cumulative().start(Simplices(2))
    {'regrets': array([0., 0.])}
    """

    def update(self, simplices: Simplices, state: State, regret: Vector, iteration: int) -> State:
        return {"regrets": simplices.add(state["regrets"], regret)}


@frozen
class NonNegative(Accumulator):
    """Negative regret is dropped, as in regret matching+: ``Q <- [Q + g]+``.

    Examples
    --------
    >>> NonNegative().update(Simplices(2), {"regrets": np.zeros(2)}, np.array([1.0, -1.0]), 1)
    {'regrets': array([1., 0.])}
    """

    lower_bound = 0.0

    def update(self, simplices: Simplices, state: State, regret: Vector, iteration: int) -> State:
        return {"regrets": np.maximum(simplices.add(state["regrets"], regret), 0.0)}


@frozen
class LinearAccumulator(Accumulator):
    """Later regrets count more: ``R <- R + t g`` in iteration t.

    Examples
    --------
    >>> state, regret = {"regrets": np.zeros(2)}, np.array([1.0, -1.0])
    >>> LinearAccumulator().update(Simplices(2), state, regret, 5)
    {'regrets': array([ 5., -5.])}
    """

    def update(self, simplices: Simplices, state: State, regret: Vector, iteration: int) -> State:
        return {"regrets": simplices.add(state["regrets"], iteration * regret)}


class Discounting(Accumulator):
    """``R <- R f + g``, with one factor f where R > 0 and another elsewhere."""

    @abc.abstractmethod
    def factors(self, iteration: int) -> tuple[float, float]:
        """Return the factors of positive and of other regrets in an iteration, from 0."""

    def update(self, simplices: Simplices, state: State, regret: Vector, iteration: int) -> State:
        return {"regrets": simplices.add(self.discounted(simplices, state, iteration), regret)}

    def discounted(self, simplices: Simplices, state: State, iteration: int) -> Vector:
        regrets, (positive, negative) = state["regrets"], self.factors(iteration)
        if positive == negative:
            return regrets * positive
        return regrets * np.where(regrets > 0.0, positive, negative)


@frozen
class Discounted(Discounting):
    """Old regrets are discounted, by a factor that depends on their sign.

    In iteration t, with s = t - 1,

        R <- R f(alpha) + g where R > 0,  R f(beta) + g elsewhere,    f(e) = 1 / (1 + s^-e)

    The parameters, and infinite ones, are those of ``DiscountedRegretMatching``.

    Examples
    --------
    >>> Discounted(alpha=1.0, beta=-math.inf).update(
    ...     Simplices(2), {"regrets": np.array([4.0, -4.0])}, np.zeros(2), iteration=2
    ... )
    {'regrets': array([2., 0.])}
    """

    alpha: float = field(validator=extended, kw_only=True)
    beta: float = field(validator=extended, kw_only=True)

    def factors(self, iteration: int) -> tuple[float, float]:
        return discount(iteration - 1, self.alpha), discount(iteration - 1, self.beta)


@frozen
class DiscountedNonNegative(Discounting):
    """Old regrets are discounted, and negative regret is dropped.

    With s = t - 1 in iteration t, and parameters as of ``DiscountedRegretMatchingPlus``,

        Q <- [Q s^alpha / (s^alpha + shift) + g]+

    Examples
    --------
    >>> DiscountedNonNegative(alpha=1.0, shift=3.0).update(
    ...     Simplices(2), {"regrets": np.array([4.0, 0.0])}, np.array([0.0, -1.0]), iteration=2
    ... )
    {'regrets': array([1., 0.])}
    """

    lower_bound = 0.0

    alpha: float = field(validator=extended, kw_only=True)
    shift: float = field(default=1.0, validator=at_least_zero, kw_only=True)

    def update(self, simplices: Simplices, state: State, regret: Vector, iteration: int) -> State:
        discounted = self.discounted(simplices, state, iteration)
        return {"regrets": np.maximum(simplices.add(discounted, regret), 0.0)}

    def factors(self, iteration: int) -> tuple[float, float]:
        factor = discount(iteration - 1, self.alpha, self.shift)
        return factor, factor


def discount(passed: int, exponent: float, shift: float = 1.0) -> float:
    """Return ``f = 1 / (1 + shift s^-exponent)`` after s = ``passed`` iterations, 1 where s is 0.

    Examples
    --------
    >>> discount(3, 1.0), discount(3, math.inf), discount(3, -math.inf)
    (0.75, 1.0, 0.0)
    """
    if math.isinf(exponent) and shift > 0.0:
        return 1.0 if exponent > 0.0 else 0.0
    if passed <= 0 or shift == 0.0:
        return 1.0
    try:
        return 1.0 / (1.0 + shift * math.pow(passed, -exponent))
    except OverflowError:  # an exponent so far below zero that its limit is reached
        return 0.0


# Predictors


class Predictor(abc.ABC):
    """What is predicted of the coming regrets: v, as regrets against the last strategy.

    Its entries are in one state with the accumulator's.

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


@frozen
class NoPrediction(Predictor):
    """Predict nothing, and ignore external predictions.

    Examples
    --------
    >>> NoPrediction().start(Simplices(2))
    {}
    """

    def start(self, simplices: Simplices) -> State:
        return {}

    def observe(self, state: State, regret: Vector, strategy: Vector) -> State:
        return {}

    def predict(self, state: State) -> Vector | None:
        return None


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

    def start(self, simplices: Simplices) -> State:
        return super().start(simplices) | {"last_strategy": simplices.uniform()}

    def observe(self, state: State, regret: Vector, strategy: Vector) -> State:
        # A strategy handed out is never written to, but a state may not hold what others hold.
        return {"predicted_regrets": regret, "last_strategy": strategy.copy()}

    def expect(self, simplices: Simplices, state: State, utility: Vector, unaided: Vector) -> State:
        return {"predicted_regrets": simplices.regret(utility, state["last_strategy"])}


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

    def observe(self, state: State, regret: Vector, strategy: Vector) -> State:
        return {"predicted_regrets": np.zeros_like(regret)}

    def expect(self, simplices: Simplices, state: State, utility: Vector, unaided: Vector) -> State:
        return {"predicted_regrets": simplices.regret(utility, unaided)}


@frozen
class _Scaling(Predictor):
    """A predictor that scales what another one predicts."""

    predictor: Predictor = field(validator=of_kind(Predictor, "LastUtilityPrediction()"))

    @abc.abstractmethod
    def _scaled(self, predicted: Vector, state: State) -> Vector:
        """Return ``predicted``, scaled."""

    def start(self, simplices: Simplices) -> State:
        return self.predictor.start(simplices)

    def observe(self, state: State, regret: Vector, strategy: Vector) -> State:
        return self.predictor.observe(state, regret, strategy)

    def expect(self, simplices: Simplices, state: State, utility: Vector, unaided: Vector) -> State:
        return self.predictor.expect(simplices, state, utility, unaided)

    def predict(self, state: State) -> Vector | None:
        predicted = self.predictor.predict(state)
        return None if predicted is None else self._scaled(predicted, state)


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

    def _scaled(self, predicted: Vector, state: State) -> Vector:
        return self.weight * predicted


@frozen
class AdaptiveStep(_Scaling):
    """Scale predictions by the accumulator's weight: ``prediction_weight v``.

    Only for accumulators that keep an entry ``"prediction_weight"``, a number for each action; v
    is what ``predictor`` predicts.

    Examples
    --------
    >>> v, weight = np.array([2.0, -2.0]), np.array([0.5, 0.5])
    >>> state = {"predicted_regrets": v, "prediction_weight": weight}
    >>> AdaptiveStep(LastUtilityPrediction()).predict(state)
    array([ 1., -1.])
    """

    def _scaled(self, predicted: Vector, state: State) -> Vector:
        if "prediction_weight" not in state:
            raise ValueError(
                "AdaptiveStep needs an accumulator with a prediction_weight, such as "
                "AdaptivePredictionWeight() or RestartAtFloor(floor=1.0); with others, use Weighted"
            )
        return state["prediction_weight"] * predicted


# Link functions


class LinkFunction(abc.ABC):
    """How a strategy follows from regrets, predicted ones included.

    Greenwald, Li and Marks (2006), "Bounds for regret-matching algorithms", call it so.

    Examples
    --------
    >>> from regretkit.minimizers import PositivePartLink
    >>> PositivePartLink().play(Simplices(3), np.array([3.0, 1.0, -2.0]))
    array([0.75, 0.25, 0.  ])
    """

    scale_free: bool = False
    """Whether regrets times a power of two give bitwise the same strategy."""

    @abc.abstractmethod
    def play(self, simplices: Simplices, regrets: Vector) -> Vector:
        """Return the strategy, a new array of shape ``(dimension,)``."""


@frozen
class PositivePartLink(LinkFunction):
    """Play in proportion to positive regret: ``[R]+ / sum [R]+``, uniform if none is positive.

    "None is positive" is an exact comparison with zero, so that the unit in which utilities are
    measured never matters.

    Examples
    --------
    >>> PositivePartLink().play(Simplices(2), np.array([1e-300, -1.0]))
    array([1., 0.])
    """

    scale_free = True

    def play(self, simplices: Simplices, regrets: Vector) -> Vector:
        return simplices.normalize(np.maximum(regrets, 0.0))


@frozen
class SoftmaxLink(LinkFunction):
    """Play in proportion to ``exp(rate R)``.

    Parameters
    ----------
    rate
        Learning rate, positive, in one over the unit of utility.

    Examples
    --------
    >>> SoftmaxLink(rate=1.0).play(Simplices(2), np.array([np.log(3.0), 0.0]))
    array([0.75, 0.25])
    """

    rate: float = field(validator=positive, kw_only=True)

    def play(self, simplices: Simplices, regrets: Vector) -> Vector:
        return simplices.softmax(regrets, self.rate)
