"""Accumulators, predictors and link functions for one block at a time, in plain loops.

What these functions get as ``parameters`` has the fields of ``Parameters``, in their order;
what they get as ``state``, the arrays that ``BY_ACTION`` and ``BY_BLOCK`` name.
"""

import math
from collections.abc import Callable
from functools import cache
from typing import NamedTuple, TypeAlias

from regretkit._util._arrays import RESOLUTION
from regretkit._util._typing import Vector
from regretkit.minimizers._kernel import BlockFunction, KernelTraits

Arrays: TypeAlias = tuple[Vector, ...]
BlockLink: TypeAlias = Callable[[int, int, Vector, float], float]
"""Turns the regrets in ``strategy[first:last]`` into a distribution; returns, where that is
discontinuous at zero, the sum of the positive ones, and otherwise infinity."""

BY_ACTION = ("regrets", "predicted_regrets", "last_strategy", "prediction_weight")
BY_BLOCK = ("errors", "steps")
"""The arrays of a state, in the order in which kernels get those that a rule has."""

REGRETS, PREDICTED, LAST_STRATEGY, WEIGHT, ERRORS, STEPS = range(6)


class Parameters(NamedTuple):
    """What an accumulator's kernel is given in an iteration."""

    positive_discount: float = 1.0
    """By what the engine may multiply positive regrets at a zero utility,"""
    negative_discount: float = 1.0
    """and others."""
    next_positive_discount: float = 1.0
    """The same of the next iteration."""
    next_negative_discount: float = 1.0
    regret_weight: float = 1.0
    rate: float = 0.0
    """The accumulator's learning rate, or another hyperparameter of its own."""
    prediction_weight: float = 0.0
    link_rate: float = 0.0


(
    POSITIVE_DISCOUNT,
    NEGATIVE_DISCOUNT,
    NEXT_POSITIVE_DISCOUNT,
    NEXT_NEGATIVE_DISCOUNT,
    REGRET_WEIGHT,
    RATE,
    PREDICTION_WEIGHT,
    LINK_RATE,
) = range(len(Parameters._fields))


class BlockAccumulator(NamedTuple):
    """An accumulator for one block at a time."""

    update: BlockFunction
    """Called as ``learn`` of a kernel is; writes to R, and to what else the accumulator keeps."""
    parameters: Parameters | Callable[[int], Parameters] = Parameters()
    """Those of every iteration, or a function that returns them for iteration t, from 0."""
    traits: KernelTraits = KernelTraits()
    """What holds for the accumulator where nothing is predicted."""


class BlockPredictor(NamedTuple):
    """A predictor of the last regret or, unless told otherwise, of nothing."""

    weight: float
    """By what the prediction is multiplied."""
    repeats: bool
    """Whether the last regret is expected to come again."""
    adaptive: bool = False
    """Whether it is multiplied by the accumulator's ``"prediction_weight"`` as well."""


def add(left: float, right: float) -> float:
    """Return ``left + right``, exactly zero where the two cancel up to rounding."""
    total = left + right
    return 0.0 if abs(total) <= RESOLUTION * abs(right) else total


def settle_regrets(
    block: int, first: int, last: int, rounding: float, state: Arrays, parameters: Vector
) -> None:
    """Set positive regrets to zero that are at most ``rounding``, in units of utility."""
    regrets, bound = state[REGRETS], rounding * parameters[REGRET_WEIGHT]
    for a in range(first, last):
        if 0.0 < regrets[a] <= bound:
            regrets[a] = 0.0


def settle_predicted(
    block: int, first: int, last: int, rounding: float, state: Arrays, parameters: Vector
) -> None:
    """Do so with regrets and with predicted ones."""
    settle_regrets(block, first, last, rounding, state, parameters)
    for a in range(first, last):
        if abs(state[PREDICTED][a]) <= rounding:
            state[PREDICTED][a] = 0.0


# How to propose


@cache
def build_propose(link: BlockLink, predictive: bool, adaptive: bool) -> BlockFunction:
    """Return the function that plays regrets, with predicted ones added where there are any."""
    if not predictive and link is positive_part:
        return _play_regrets
    target = _regrets
    if predictive:
        target = _regrets_with_adaptive_step if adaptive else _regrets_and_predicted

    def propose(
        block: int, first: int, last: int, strategy: Vector, state: Arrays, parameters: Vector
    ) -> float:
        target(first, last, strategy, state, parameters)
        total = link(first, last, strategy, parameters[LINK_RATE])
        size: float = total / parameters[REGRET_WEIGHT]
        return size

    return propose


def _play_regrets(
    block: int, first: int, last: int, strategy: Vector, state: Arrays, parameters: Vector
) -> float:
    """Play in proportion to positive regrets, without copying them first."""
    if last - first == 1:
        strategy[first] = 1.0
        return 0.0
    regrets, total, begin = state[REGRETS], 0.0, first
    if last - first > 3:  # a processor adds to four sums at once
        one, two, three, four = 0.0, 0.0, 0.0, 0.0
        for quad in range((last - first) // 4):
            a = first + 4 * quad
            one += 0.0 if regrets[a] < 0.0 else regrets[a]
            two += 0.0 if regrets[a + 1] < 0.0 else regrets[a + 1]
            three += 0.0 if regrets[a + 2] < 0.0 else regrets[a + 2]
            four += 0.0 if regrets[a + 3] < 0.0 else regrets[a + 3]
        total, begin = (one + two) + (three + four), last - (last - first) % 4
    for a in range(begin, last):
        total += 0.0 if regrets[a] < 0.0 else regrets[a]
    if total == 0.0:
        for a in range(first, last):
            strategy[a] = 1.0 / (last - first)
    else:
        for a in range(first, last):
            strategy[a] = (0.0 if regrets[a] < 0.0 else regrets[a]) / total
    size: float = total / parameters[REGRET_WEIGHT]
    return size


def _regrets(first: int, last: int, target: Vector, state: Arrays, parameters: Vector) -> None:
    for a in range(first, last):
        target[a] = state[REGRETS][a]


def _regrets_and_predicted(
    first: int, last: int, target: Vector, state: Arrays, parameters: Vector
) -> None:
    regrets, predicted, weight = state[REGRETS], state[PREDICTED], parameters[PREDICTION_WEIGHT]
    positive, negative = parameters[NEXT_POSITIVE_DISCOUNT], parameters[NEXT_NEGATIVE_DISCOUNT]
    for a in range(first, last):
        factor = positive if regrets[a] > 0.0 else negative
        target[a] = add(regrets[a] * factor, weight * predicted[a])


def _regrets_with_adaptive_step(
    first: int, last: int, target: Vector, state: Arrays, parameters: Vector
) -> None:
    regrets, predicted, weights = state[REGRETS], state[PREDICTED], state[WEIGHT]
    weight = parameters[PREDICTION_WEIGHT]
    for a in range(first, last):
        target[a] = add(regrets[a], weight * weights[a] * predicted[a])


# Links


def positive_part(first: int, last: int, strategy: Vector, rate: float) -> float:
    """Play in proportion to positive regret, uniformly where none is positive."""
    total = 0.0
    for a in range(first, last):
        strategy[a] = max(strategy[a], 0.0)
        total += strategy[a]
    if total == 0.0:
        for a in range(first, last):
            strategy[a] = 1.0 / (last - first)
    else:
        for a in range(first, last):
            strategy[a] /= total
    return total


def softmax(first: int, last: int, strategy: Vector, rate: float) -> float:
    """Play in proportion to ``exp(rate R)``."""
    top = strategy[first]
    for a in range(first + 1, last):
        top = max(top, strategy[a])
    total = 0.0
    for a in range(first, last):
        strategy[a] = math.exp(rate * (strategy[a] - top))
        total += strategy[a]
    for a in range(first, last):
        strategy[a] /= total
    return math.inf


def project_simplex(first: int, last: int, strategy: Vector, rate: float) -> float:
    """Play the distribution nearest to ``rate R``.

    Those that cannot be positive are left out until all that remain are, which is after as many
    passes as there are actions, at most (Michelot, 1986).
    """
    top = strategy[first]
    for a in range(first + 1, last):
        top = max(top, strategy[a])
    for a in range(first, last):
        strategy[a] = max(rate * (strategy[a] - top), -1.0)
    level, previous = -1.0, -2.0
    while level > previous:
        previous, total, count = level, -1.0, 0
        for a in range(first, last):
            if strategy[a] > previous:
                total += strategy[a]
                count += 1
        level = total / count
    for a in range(first, last):
        strategy[a] = max(strategy[a] - level, 0.0)
    return math.inf


# How to learn


@cache
def build_learn(update: BlockFunction, predictive: bool, repeats: bool) -> BlockFunction:
    """Return the function that updates an accumulator, and what its predictor predicts next."""
    if not predictive:
        return update
    predict = _predict_last_regret if repeats else _predict_nothing

    def learn(
        block: int,
        first: int,
        last: int,
        utility: Vector,
        value: float,
        strategy: Vector,
        state: Arrays,
        parameters: Vector,
    ) -> None:
        update(block, first, last, utility, value, strategy, state, parameters)
        predict(first, last, utility, value, strategy, state)

    return learn


def _predict_last_regret(
    first: int, last: int, utility: Vector, value: float, strategy: Vector, state: Arrays
) -> None:
    for a in range(first, last):
        state[PREDICTED][a] = utility[a] - value
        state[LAST_STRATEGY][a] = strategy[a]


def _predict_nothing(
    first: int, last: int, utility: Vector, value: float, strategy: Vector, state: Arrays
) -> None:
    for a in range(first, last):
        state[PREDICTED][a] = 0.0


# Accumulators


@cache
def build_update(
    *, discounts: bool = False, weights: bool = False, nonnegative: bool = False
) -> BlockFunction:
    """Return the function for ``R <- R discount + weight g``, or for its positive part.

    Positive regrets have a discount of their own; a factor that is left out is 1.
    """

    # Parameters are read before the loop: machine code cannot know that they do not change in it.
    # And signs are asked with "if", not with max: where this runs as plain Python, a call would
    # take most of the time.
    def update(
        block: int,
        first: int,
        last: int,
        utility: Vector,
        value: float,
        strategy: Vector,
        state: Arrays,
        parameters: Vector,
    ) -> None:
        if last - first == 1:  # which is never regretted
            return
        regrets, weight = state[REGRETS], parameters[REGRET_WEIGHT]
        positive, negative = parameters[POSITIVE_DISCOUNT], parameters[NEGATIVE_DISCOUNT]
        for a in range(first, last):
            regret, gain = regrets[a], utility[a] - value
            if discounts:
                regret *= positive if regret > 0.0 else negative
            regret += weight * gain if weights else gain
            regrets[a] = 0.0 if nonnegative and regret < 0.0 else regret

    return update


def project_euclidean(
    block: int,
    first: int,
    last: int,
    utility: Vector,
    value: float,
    strategy: Vector,
    state: Arrays,
    parameters: Vector,
) -> None:
    """R <- the distribution nearest to rate (R + g), in units of R."""
    regrets, rate = state[REGRETS], parameters[RATE]
    for a in range(first, last):
        regrets[a] += utility[a] - value
    project_simplex(first, last, regrets, rate)
    for a in range(first, last):
        regrets[a] /= rate
