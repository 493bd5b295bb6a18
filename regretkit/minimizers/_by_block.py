"""The roles of regret matching's family and of mirror descent, for one block at a time.

The numbers that these functions get are, in this order: ``kept``, ``dropped``, ``scale`` and
``floor`` of the memory's law in this iteration, ``kept`` and ``dropped`` of the next one, how much
predictions count, the rate of the playing rule, and one over ``scale``.
"""

import math
from collections.abc import Callable
from functools import cache
from typing import NamedTuple, TypeAlias

from regretkit._util._arrays import RESOLUTION
from regretkit._util._typing import Vector
from regretkit.minimizers._kernel import BlockFunction

Arrays: TypeAlias = tuple[Vector, ...]
Play: TypeAlias = Callable[[int, int, Vector, float], float]
"""Turns the regrets in ``strategy[first:last]`` into a distribution; returns, where that leaps at
zero, the sum of the positive ones, and otherwise infinity."""


class Law(NamedTuple):
    """How one iteration changes R where it is linear but for its sign.

    R <- max(R kept + scale g, floor) where R > 0,  max(R dropped + scale g, floor) elsewhere
    """

    kept: float = 1.0
    dropped: float = 1.0
    scale: float = 1.0
    floor: float = -math.inf


class BlockMemory(NamedTuple):
    """A memory for one block at a time."""

    remember: BlockFunction
    """Called as ``learn`` of a kernel is; writes to R, and to what else the memory keeps."""
    numbers: Callable[[int], tuple[float, ...]]
    """Returns, after iteration t, four numbers for it, and two that the next one's R begins with:
    by what R is multiplied where it is positive, and elsewhere."""
    steady: bool = True
    """Whether these are always the same."""
    lasting: bool = False
    """Whether R fades, but what is positive stays so however long nothing is earned."""


class Belief(NamedTuple):
    """What a simple predictor predicts: the last regret or, unless told otherwise, nothing."""

    weight: float
    """By what the prediction is multiplied."""
    repeats: bool
    """Whether the last regret is expected to come again."""
    trusted: bool = False
    """Whether it is multiplied by the memory's trust as well."""


def add(left: float, right: float) -> float:
    """Return ``left + right``, exactly zero where the two cancel up to rounding."""
    total = left + right
    return 0.0 if abs(total) <= RESOLUTION * abs(right) else total


def settle_regrets(
    block: int, first: int, last: int, rounding: float, state: Arrays, numbers: Vector
) -> None:
    """Set positive regrets to zero that are at most ``rounding``, in units of utility."""
    regrets, bound = state[0], rounding * numbers[2]
    for a in range(first, last):
        if 0.0 < regrets[a] <= bound:
            regrets[a] = 0.0


def settle_predicted(
    block: int, first: int, last: int, rounding: float, state: Arrays, numbers: Vector
) -> None:
    """Do so with regrets and with predicted ones."""
    settle_regrets(block, first, last, rounding, state, numbers)
    for a in range(first, last):
        if abs(state[1][a]) <= rounding:
            state[1][a] = 0.0


@cache
def proposal(play: Play, predictive: bool, trusted: bool) -> BlockFunction:
    """Return the function that plays regrets, with predicted ones added where there are any."""
    if not predictive and play is in_proportion:
        return _regrets_in_proportion
    aim = _aim_at_regrets
    if predictive:
        aim = _aim_at_trusted if trusted else _aim_at_predicted

    def propose(
        block: int, first: int, last: int, strategy: Vector, state: Arrays, numbers: Vector
    ) -> float:
        aim(first, last, strategy, state, numbers)
        size: float = play(first, last, strategy, numbers[7]) * numbers[8]
        return size

    return propose


def _regrets_in_proportion(
    block: int, first: int, last: int, strategy: Vector, state: Arrays, numbers: Vector
) -> float:
    """Do what would be done in two steps: take the regrets, and play in proportion to them."""
    if last - first == 1:
        strategy[first] = 1.0
        return 0.0
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
    size: float = total * numbers[8]
    return size


def _aim_at_regrets(
    first: int, last: int, strategy: Vector, state: Arrays, numbers: Vector
) -> None:
    for a in range(first, last):
        strategy[a] = state[0][a]


def _aim_at_predicted(
    first: int, last: int, strategy: Vector, state: Arrays, numbers: Vector
) -> None:
    regrets, predicted = state[0], state[1]
    kept, dropped, weight = numbers[4], numbers[5], numbers[6]
    for a in range(first, last):
        factor = kept if regrets[a] > 0.0 else dropped
        strategy[a] = add(regrets[a] * factor, weight * predicted[a])


def _aim_at_trusted(
    first: int, last: int, strategy: Vector, state: Arrays, numbers: Vector
) -> None:
    regrets, predicted, trust, weight = state[0], state[1], state[3], numbers[6]
    for a in range(first, last):
        strategy[a] = add(regrets[a], weight * trust[a] * predicted[a])


@cache
def lesson(remember: BlockFunction, predictive: bool, repeats: bool) -> BlockFunction:
    """Return the function that learns: what the memory keeps, and what the predictor goes by."""
    if not predictive:
        return remember
    notice = _expect_again if repeats else _expect_nothing

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
        remember(block, first, last, utility, value, strategy, state, numbers)
        notice(first, last, utility, value, strategy, state)

    return learn


def add_regret(
    block: int,
    first: int,
    last: int,
    utility: Vector,
    value: float,
    strategy: Vector,
    state: Arrays,
    numbers: Vector,
) -> None:
    """Follow a law that lets nothing fade."""
    if last - first == 1:  # which is never regretted
        return
    # Read before the loop: machine code cannot know that the numbers do not change in it. And asked
    # with "if", not with max: where this runs as plain Python, a call would take most of the time.
    regrets, scale, floor = state[0], numbers[2], numbers[3]
    for a in range(first, last):
        regret = regrets[a] + scale * (utility[a] - value)
        regrets[a] = floor if regret < floor else regret


def fade_and_add(
    block: int,
    first: int,
    last: int,
    utility: Vector,
    value: float,
    strategy: Vector,
    state: Arrays,
    numbers: Vector,
) -> None:
    """Follow a law."""
    regrets, scale, floor = state[0], numbers[2], numbers[3]
    kept, dropped = numbers[0], numbers[1]
    for a in range(first, last):
        factor = kept if regrets[a] > 0.0 else dropped
        regret = regrets[a] * factor + scale * (utility[a] - value)
        regrets[a] = floor if regret < floor else regret


def stay_with_the_nearest(
    block: int,
    first: int,
    last: int,
    utility: Vector,
    value: float,
    strategy: Vector,
    state: Arrays,
    numbers: Vector,
) -> None:
    """Remember only the distribution nearest to ``rate (R + g)``, in units of R."""
    regrets, rate = state[0], numbers[0]
    for a in range(first, last):
        regrets[a] += utility[a] - value
    nearest(first, last, regrets, rate)
    for a in range(first, last):
        regrets[a] /= rate


def learn_trust(
    block: int,
    first: int,
    last: int,
    utility: Vector,
    value: float,
    strategy: Vector,
    state: Arrays,
    numbers: Vector,
) -> None:
    """Forget negative regret, and trust predictions as far as they came true."""
    regrets, predicted, trust, errors, steps = state[0], state[1], state[3], state[4], state[5]
    missed, moved = 0.0, 0.0
    for a in range(first, last):
        missed = math.hypot(missed, utility[a] - value - predicted[a])
        raised = max(regrets[a] + utility[a] - value, 0.0)
        moved = math.hypot(moved, raised - regrets[a])
        regrets[a] = raised
    errors[block] = math.hypot(errors[block], missed)
    steps[block] = math.hypot(steps[block], moved)
    alpha = numbers[0]
    if errors[block] < numbers[0] * steps[block]:
        alpha = errors[block] / steps[block]
    for a in range(first, last):
        trust[a] = 1.0 / (1.0 + alpha)


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


def in_proportion(first: int, last: int, strategy: Vector, rate: float) -> float:
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


def exponentially(first: int, last: int, strategy: Vector, rate: float) -> float:
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


def nearest(first: int, last: int, strategy: Vector, rate: float) -> float:
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
    return math.inf
