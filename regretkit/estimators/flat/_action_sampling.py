"""Sampling of actions, in plain loops that Numba compiles as well."""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from regretkit._util._typing import UInt32Array, Vector

SamplingData: TypeAlias = tuple[Vector, Vector]
"""Two arrays whose meaning depends on the sampling rule, by sequence and by decision point."""


class Decision(NamedTuple):
    """A visit of the updated player's decision point."""

    point: int
    """Number of the decision point,"""
    sequence: int
    """the player's sequence before it,"""
    first: int
    """its first sequence,"""
    size: int
    """and number of actions."""
    reach: float
    """The player's own reach probability."""
    uniform: float
    """1 / ``count``."""


class SamplingRule(NamedTuple):
    """What a choice of actions depends on, beside the strategy."""

    data: SamplingData
    parameters: Vector
    generator: np.random.Generator


Choose: TypeAlias = Callable[[Decision, Vector, UInt32Array, Vector, SamplingRule], int]
"""Samples actions of the updated player: ``choose(decision, behavior, actions, probabilities,
rule)`` writes their indices to ``actions``, in order, and to ``probabilities`` with which
probability each is sampled; it returns their number."""


FEW = 6
"""Up to this number of weights, all are read."""


def pick(generator: np.random.Generator, weights: Vector, first: int, count: int) -> int:
    """Draw one of ``count`` actions, by weights that sum to one; return its index.

    The last action of positive weight takes the rounding error; no number is drawn for a single
    action.
    """
    if count == 1:
        return 0
    return find(generator.random(), weights, first, count)


def find(drawn: float, weights: Vector, first: int, count: int) -> int:
    """Return the first action at which the cumulative weight exceeds ``drawn``."""
    total, chosen = weights[first], 0
    if count <= FEW:
        # Counting needs no branch; a mispredicted one costs as much as ten additions.
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


def action_probability(behavior: Vector, a: int, decision: Decision) -> float:
    """Return the probability of an action, uniform where the strategy never reaches."""
    if decision.reach > 0.0:
        return float(behavior[decision.first + a])
    return decision.uniform


def follow_all(
    decision: Decision,
    behavior: Vector,
    actions: UInt32Array,
    probabilities: Vector,
    rule: SamplingRule,
) -> int:
    """Sample every action."""
    for a in range(decision.size):
        actions[a], probabilities[a] = a, 1.0
    return decision.size


def follow_one(
    decision: Decision,
    behavior: Vector,
    actions: UInt32Array,
    probabilities: Vector,
    rule: SamplingRule,
) -> int:
    """Sample one action, from a mixture of the strategy and an exploration strategy.

    The latter is uniform, or in ``rule.data``.
    """
    last, chosen = decision.size - 1, 0
    probability = _mixture(0, decision, behavior, rule)
    if last > 0:
        drawn, total = rule.generator.random(), probability
        if last == 1:
            chosen += drawn >= total
        else:
            while chosen < last and drawn >= total:
                chosen += 1
                total += _mixture(chosen, decision, behavior, rule)
        probability = _mixture(chosen, decision, behavior, rule)
        while probability == 0.0:  # a rounding error, as in find
            chosen -= 1
            probability = _mixture(chosen, decision, behavior, rule)
    probabilities[0] = probability
    actions[0] = np.uint32(chosen)  # last, since it is read next
    return 1


def _mixture(a: int, decision: Decision, behavior: Vector, rule: SamplingRule) -> float:
    """Return the probability of an action with exploration."""
    exploration, uniform = rule.parameters[0], rule.parameters[1] > 0.0
    explored = decision.uniform if uniform else rule.data[0][decision.first + a]
    exploited = action_probability(behavior, a, decision)
    return float(exploration * explored + (1.0 - exploration) * exploited)


def follow_some(
    decision: Decision,
    behavior: Vector,
    actions: UInt32Array,
    probabilities: Vector,
    rule: SamplingRule,
) -> int:
    """Sample a subset of fixed size, uniformly."""
    count, sampled = decision.size, 0
    wanted = min(int(rule.parameters[0]), count)
    for a in range(count):
        missing, remaining = wanted - sampled, count - a
        if missing == remaining or (missing > 0 and rule.generator.random() < missing / remaining):
            actions[sampled], probabilities[sampled] = a, wanted / count
            sampled += 1
    return sampled


def follow_average(
    decision: Decision,
    behavior: Vector,
    actions: UInt32Array,
    probabilities: Vector,
    rule: SamplingRule,
) -> int:
    """Sample each action independently, with a probability that grows with its average."""
    cumulative, last_reach = rule.data
    epsilon, tau, beta = rule.parameters[0], rule.parameters[1], rule.parameters[2]
    # The strategy has not changed since the last visit: add what has reached here since.
    since = cumulative[decision.sequence] - last_reach[decision.point]
    last_reach[decision.point] = cumulative[decision.sequence]
    total = 0.0
    for a in range(decision.size):
        cumulative[decision.first + a] += since * action_probability(behavior, a, decision)
        total += cumulative[decision.first + a]
    sampled = 0
    for a in range(decision.size):
        probability = (beta + tau * cumulative[decision.first + a]) / (beta + total)
        probability = min(1.0, max(epsilon, probability))
        if probability == 1.0 or rule.generator.random() < probability:
            actions[sampled], probabilities[sampled] = a, probability
            sampled += 1
    return sampled
