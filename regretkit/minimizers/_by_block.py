"""The roles of regret matching's family and of mirror descent, for one block at a time.

The numbers that these functions get are, in this order: ``kept``, ``dropped``, ``scale`` and
``floor`` of the memory's law in this iteration, ``kept`` and ``dropped`` of the next one, how much
predictions count, and the rate of the playing rule.
"""

import math
from collections.abc import Callable
from functools import cache
from typing import NamedTuple, TypeAlias

from regretkit._typing import Vector
from regretkit.minimizers.kernel import BlockFunction

Arrays: TypeAlias = tuple[Vector, ...]
Play: TypeAlias = Callable[[int, int, Vector, float], None]
"""Turns the regrets in ``strategy[first:last]`` into a distribution."""


class Law(NamedTuple):
    """How one iteration changes R where it is linear but for its sign.

    R <- max(R kept + scale g, floor) where R > 0,  max(R dropped + scale g, floor) elsewhere
    """

    kept: float = 1.0
    dropped: float = 1.0
    scale: float = 1.0
    floor: float = -math.inf


class Belief(NamedTuple):
    """What a simple predictor predicts: the last regret or, unless told otherwise, nothing."""

    weight: float
    """By what the prediction is multiplied."""
    repeats: bool
    """Whether the last regret is expected to come again."""


@cache
def proposal(play: Play, predictive: bool) -> BlockFunction:
    """Return the function that plays regrets, with predicted ones added where there are any."""
    aim = _aim_at_predicted if predictive else _aim_at_regrets

    def propose(
        block: int, first: int, last: int, strategy: Vector, state: Arrays, numbers: Vector
    ) -> None:
        aim(first, last, strategy, state, numbers)
        play(first, last, strategy, numbers[7])

    return propose


def _aim_at_regrets(
    first: int, last: int, strategy: Vector, state: Arrays, numbers: Vector
) -> None:
    for a in range(first, last):
        strategy[a] = state[0][a]


def _aim_at_predicted(
    first: int, last: int, strategy: Vector, state: Arrays, numbers: Vector
) -> None:
    regrets, predicted = state[0], state[1]
    for a in range(first, last):
        factor = numbers[4] if regrets[a] > 0.0 else numbers[5]
        strategy[a] = regrets[a] * factor + numbers[6] * predicted[a]


@cache
def lesson(fading: bool, predictive: bool, repeats: bool) -> BlockFunction:
    """Return the function that learns: by the memory's law, and what the predictor goes by."""
    remember = _remember_less if fading else _remember
    notice = (_expect_again if repeats else _expect_nothing) if predictive else _notice_nothing

    def learn(
        block: int,
        first: int,
        last: int,
        utility: Vector,
        value: float,
        strategy: Vector,
        state: Arrays,
        numbers: Vector,
    ) -> None:
        remember(first, last, utility, value, state[0], numbers)
        notice(first, last, utility, value, strategy, state)

    return learn


def _remember(
    first: int, last: int, utility: Vector, value: float, regrets: Vector, numbers: Vector
) -> None:
    for a in range(first, last):
        regrets[a] = max(regrets[a] + numbers[2] * (utility[a] - value), numbers[3])


def _remember_less(
    first: int, last: int, utility: Vector, value: float, regrets: Vector, numbers: Vector
) -> None:
    for a in range(first, last):
        factor = numbers[0] if regrets[a] > 0.0 else numbers[1]
        regrets[a] = max(regrets[a] * factor + numbers[2] * (utility[a] - value), numbers[3])


def _notice_nothing(
    first: int, last: int, utility: Vector, value: float, strategy: Vector, state: Arrays
) -> None:
    pass


def _expect_again(
    first: int, last: int, utility: Vector, value: float, strategy: Vector, state: Arrays
) -> None:
    for a in range(first, last):
        state[1][a] = utility[a] - value
        state[2][a] = strategy[a]


def _expect_nothing(
    first: int, last: int, utility: Vector, value: float, strategy: Vector, state: Arrays
) -> None:
    for a in range(first, last):
        state[1][a] = 0.0


def in_proportion(first: int, last: int, strategy: Vector, rate: float) -> None:
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


def exponentially(first: int, last: int, strategy: Vector, rate: float) -> None:
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


def nearest(first: int, last: int, strategy: Vector, rate: float) -> None:
    """Play the distribution nearest to ``rate R``.

    Those that cannot be positive are left out until all that remain are, which is after as many
    passes as there are actions, at most (Michelot, 1986).
    """
    top = strategy[first]
    for a in range(first + 1, last):
        top = max(top, strategy[a])
    for a in range(first, last):
        strategy[a] = max(rate * (strategy[a] - top), -1.0)
    level, before = -1.0, -2.0
    while level > before:
        before, total, count = level, -1.0, 0
        for a in range(first, last):
            if strategy[a] > before:
                total += strategy[a]
                count += 1
        level = total / count
    for a in range(first, last):
        strategy[a] = max(strategy[a] - level, 0.0)
