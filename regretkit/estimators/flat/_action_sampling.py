"""Ways to choose what to follow, in plain loops that a compiler understands as well."""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from regretkit._util._typing import Narrow, Vector

Notes: TypeAlias = tuple[Vector, Vector]
"""Two arrays of which each way to choose makes what it wants, by sequence and by decision point."""
Here: TypeAlias = tuple[int, int, int, int, float, float]
"""Decision point, the sequence before it, its first one, how many it has, how much of the strategy
comes to it, and one over how many it has."""
Known: TypeAlias = tuple[Notes, Vector, np.random.Generator]
"""Notes, numbers that never change, and what draws."""
Choose: TypeAlias = Callable[[Here, Vector, Narrow, Vector, Known], int]
"""Says which of the own actions to follow, by writing their indices to ``follow``, in order, and to
``share`` with which probability each of them is followed; returns how many there are. Called as
``choose(here, behavior, follow, share, known)``."""


FEW = 6
"""Up to this many weights, all are read."""


def pick(generator: np.random.Generator, weights: Vector, first: int, count: int) -> int:
    """Draw one of some actions, by weights that add up to one; return its index.

    The last one that can be drawn gets the rounding error, and a single one needs no
    drawing.
    """
    if count == 1:
        return 0
    return find(generator.random(), weights, first, count)


def find(drawn: float, weights: Vector, first: int, count: int) -> int:
    """Return the first of some actions that takes the sum of weights above a number."""
    total, chosen = weights[first], 0
    if count <= FEW:
        # To count is to guess at nothing, and a wrong guess of the processor's costs ten additions.
        chosen += drawn >= total
        for a in range(first + 1, first + count - 1):
            total += weights[a]
            chosen += drawn >= total
    else:
        while chosen < count - 1 and drawn >= total:
            chosen += 1
            total += weights[first + chosen]
    while weights[first + chosen] == 0.0:
        chosen -= 1
    return chosen


def played(behavior: Vector, a: int, here: Here) -> float:
    """Return how often an action is played, each as often where the strategy never comes."""
    if here[4] > 0.0:
        return float(behavior[here[2] + a])
    return here[5]


# Ways to choose among the own actions


def follow_all(
    here: Here,
    behavior: Vector,
    follow: Narrow,
    share: Vector,
    known: Known,
) -> int:
    """Follow every action."""
    for a in range(here[3]):
        follow[a], share[a] = a, 1.0
    return here[3]


def follow_one(
    here: Here,
    behavior: Vector,
    follow: Narrow,
    shares: Vector,
    known: Known,
) -> int:
    """Follow one action, drawn by the strategy and by what to explore with.

    That is every action as often as the others, or what ``notes`` hold.
    """
    (explored, _), numbers, generator = known
    last, chosen = here[3] - 1, 0
    share = _tried(0, here, behavior, explored, numbers)
    if last > 0:
        drawn, total = generator.random(), share
        if last == 1:
            chosen += drawn >= total
        else:
            while chosen < last and drawn >= total:
                chosen += 1
                total += _tried(chosen, here, behavior, explored, numbers)
        share = _tried(chosen, here, behavior, explored, numbers)
        while share == 0.0:  # left over by rounding, as in find
            chosen -= 1
            share = _tried(chosen, here, behavior, explored, numbers)
    shares[0] = share
    follow[0] = np.uint32(chosen)  # last, since it is read next
    return 1


def _tried(a: int, here: Here, behavior: Vector, explored: Vector, numbers: Vector) -> float:
    """Return how often an action is tried, to explore and otherwise."""
    evenly = here[5] if numbers[1] > 0.0 else explored[here[2] + a]
    return float(numbers[0] * evenly + (1.0 - numbers[0]) * played(behavior, a, here))


def follow_some(
    here: Here,
    behavior: Vector,
    follow: Narrow,
    share: Vector,
    known: Known,
) -> int:
    """Follow a number of actions, any of them as likely as others."""
    count = here[3]
    _, numbers, generator = known
    wanted, followed = min(int(numbers[0]), count), 0
    for a in range(count):
        missing, left = wanted - followed, count - a
        if missing == left or (missing > 0 and generator.random() < missing / left):
            follow[followed], share[followed] = a, wanted / count
            followed += 1
    return followed


def follow_average(
    here: Here,
    behavior: Vector,
    follow: Narrow,
    share: Vector,
    known: Known,
) -> int:
    """Follow each action the more often, the more it was played on average."""
    point, own, first, count, _, _ = here
    (played_before, seen), numbers, generator = known
    epsilon, tau, beta = numbers[0], numbers[1], numbers[2]
    # Since it was here last, so much of the strategy has come here, and played as it does now.
    since = played_before[own] - seen[point]
    seen[point] = played_before[own]
    total = 0.0
    for a in range(count):
        played_before[first + a] += since * played(behavior, a, here)
        total += played_before[first + a]
    followed = 0
    for a in range(count):
        wanted = (beta + tau * played_before[first + a]) / (beta + total)
        wanted = min(1.0, max(epsilon, wanted))
        if wanted == 1.0 or generator.random() < wanted:
            follow[followed], share[followed] = a, wanted
            followed += 1
    return followed
