"""Rules of the library by kernels that were written by hand, to measure traced ones against.

They are those that the library had before it traced its rules.
"""

import math
from typing import Any, TypeAlias

from attrs import define, field

import regretkit as rk
from benchmarks.runs import Vector
from regretkit._util._arrays import RESOLUTION
from regretkit.minimizers._regret_matching import ComposedRule, Parts
from regretkit.trace import Kernel, KernelTraits, find_kernel

Arrays: TypeAlias = tuple[Vector, ...]

# How to propose


def play_regrets(
    block: int, first: int, last: int, strategy: Vector, state: Arrays, parameters: Vector
) -> None:
    """Play in proportion to positive regrets, without copying them first."""
    if last - first == 1:
        strategy[first] = 1.0
        return
    regrets, total, begin = state[0], 0.0, first
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


def play_predicted(
    block: int, first: int, last: int, strategy: Vector, state: Arrays, parameters: Vector
) -> None:
    """Play in proportion to what is positive with predicted regrets."""
    regrets, predicted = state[0], state[1]
    positive, negative, weight = parameters[0], parameters[1], parameters[2]
    total = 0.0
    for a in range(first, last):
        factor = positive if regrets[a] > 0.0 else negative
        expected = weight * predicted[a]
        summed = regrets[a] * factor + expected
        strategy[a] = 0.0 if abs(summed) <= RESOLUTION * abs(expected) else max(summed, 0.0)
        total += strategy[a]
    if total == 0.0:
        for a in range(first, last):
            strategy[a] = 1.0 / (last - first)
    else:
        for a in range(first, last):
            strategy[a] /= total


def play_exponentials(
    block: int, first: int, last: int, strategy: Vector, state: Arrays, parameters: Vector
) -> None:
    regrets, rate = state[0], parameters[0]
    top = regrets[first]
    for a in range(first + 1, last):
        top = max(top, regrets[a])
    total = 0.0
    for a in range(first, last):
        strategy[a] = math.exp(rate * (regrets[a] - top))
        total += strategy[a]
    for a in range(first, last):
        strategy[a] /= total


# How to learn


def add_regrets(
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
    regrets = state[0]
    for a in range(first, last):
        regrets[a] += utility[a] - value


def add_discounted(
    block: int,
    first: int,
    last: int,
    utility: Vector,
    value: float,
    strategy: Vector,
    state: Arrays,
    parameters: Vector,
) -> None:
    if last - first == 1:
        return
    regrets, positive, negative = state[0], parameters[0], parameters[1]
    for a in range(first, last):
        regret = regrets[a]
        regrets[a] = regret * (positive if regret > 0.0 else negative) + (utility[a] - value)


def add_nonnegative(
    block: int,
    first: int,
    last: int,
    utility: Vector,
    value: float,
    strategy: Vector,
    state: Arrays,
    parameters: Vector,
) -> None:
    if last - first == 1:
        return
    regrets = state[0]
    for a in range(first, last):
        regret = regrets[a] + (utility[a] - value)
        regrets[a] = 0.0 if regret < 0.0 else regret


def add_and_predict(
    block: int,
    first: int,
    last: int,
    utility: Vector,
    value: float,
    strategy: Vector,
    state: Arrays,
    parameters: Vector,
) -> None:
    add_nonnegative(block, first, last, utility, value, strategy, state, parameters)
    for a in range(first, last):
        state[1][a] = utility[a] - value
        state[2][a] = strategy[a]


# Rules

_REGRETS: dict[str, Any] = {
    "state": ["regrets"],
    "traits": KernelTraits(invariant_to_zero_utility=True, ignores_singleton_blocks=True),
}
_DISCOUNTING = KernelTraits(only_discounts_on_zero_utility=True, ignores_singleton_blocks=True)


KERNELS = {
    "RM+": Kernel(play_regrets, add_nonnegative, **_REGRETS),
    "RM": Kernel(play_regrets, add_regrets, **_REGRETS),
    "DCFR": Kernel(
        play_regrets,
        add_discounted,
        state=["regrets"],
        parameters=find_kernel(rk.DiscountedRegretMatching(2)).parameters,
        traits=_DISCOUNTING,
    ),
    "PCFR+": Kernel(
        play_predicted,
        add_and_predict,
        state=["regrets", "predicted_regrets", "last_strategy"],
        parameters=(1.0, 1.0, 1.0),
        traits=KernelTraits(ignores_singleton_blocks=True),
    ),
    "Hedge": Kernel(play_exponentials, add_regrets, **_REGRETS, parameters=(0.1,)),
}


@define(eq=False)
class ByHand(ComposedRule):
    """A rule of the library that runs by its kernel written by hand."""

    like: ComposedRule = field(kw_only=True)
    kernel: Kernel = field(kw_only=True)

    def _parts(self) -> Parts:
        return self.like.accumulator, self.like.predictor, self.like.link

    def _kernel(self) -> Kernel:
        return self.kernel
