"""Traversal of a part of a game, in plain loops that are compiled as well.

Numbers are drawn depth first, actions in their order: at a decision point of the updated player
first those that choose actions, then those below the first of these actions, and so on; at a
history of chance or another player, one number. The initial chance moves share one, unless a
baseline needs each of them. No number is drawn for a single action.

With a baseline, sampled values are replaced by their expectations under its values. The correction
has mean zero for any baseline.
"""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple, TypeAlias

import numpy as np

from regretkit._machine_code import MachineCode
from regretkit._util._typing import UInt32Array, Vector, as_int64
from regretkit.estimators._flat_tree import FlatTree, InitialChance, TraversalBuffers

WITHIN_BOUNDS = True
"""Indices are not negative, and slices within their array: the compiler need not look."""

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
    """1 / ``size``."""


class SamplingRule(NamedTuple):
    """What a choice of actions depends on, beside the strategy."""

    data: SamplingData
    parameters: Vector
    generator: np.random.Generator


Choose: TypeAlias = Callable[[Decision, Vector, UInt32Array, Vector, SamplingRule], int]
"""Samples actions of the updated player: ``choose(decision, behavior, actions, probabilities,
rule)`` writes their indices to ``actions``, in order, and to ``probabilities`` with which
probability each is sampled; it returns their number."""


# Sampling of actions

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
    reached = cumulative[decision.sequence] - last_reach[decision.point]
    last_reach[decision.point] = cumulative[decision.sequence]
    total = 0.0
    for a in range(decision.size):
        cumulative[decision.first + a] += reached * action_probability(behavior, a, decision)
        total += cumulative[decision.first + a]
    sampled = 0
    for a in range(decision.size):
        probability = (beta + tau * cumulative[decision.first + a]) / (beta + total)
        probability = min(1.0, max(epsilon, probability))
        if probability == 1.0 or rule.generator.random() < probability:
            actions[sampled], probabilities[sampled] = a, probability
            sampled += 1
    return sampled


# The initial chance moves


Start: TypeAlias = Callable[[float, int], int]
"""Returns where the search for an outcome begins; where it ends does not depend on that."""


def at_first(drawn: float, outcomes: int) -> int:
    """Begin at the first: drawn numbers are only compared, so that samples can be enumerated."""
    return 0


def as_if_even(drawn: float, outcomes: int) -> int:
    """Begin where the search ends if outcomes are even, as in most games."""
    return min(int(drawn * outcomes), outcomes - 1)


def deal(chance: InitialChance, generator: np.random.Generator, start: Start) -> tuple[int, int]:
    """Draw the initial chance moves; return the history, and how many come before it."""
    sums, chosen = chance.cumulative, 0
    last = len(sums) - 1
    if last > 0:
        drawn = generator.random()
        chosen = start(drawn, len(sums))
        while chosen > 0 and drawn < sums[chosen - 1]:
            chosen -= 1
        while chosen < last and drawn >= sums[chosen]:
            chosen += 1
        while chosen > 0 and sums[chosen] == sums[chosen - 1]:  # left over by rounding
            chosen -= 1
    return int(chance.first) + chosen, int(chance.moves)


# Traversal

Walk: TypeAlias = Callable[..., tuple[int, int]]
"""What ``walker`` returns."""


class Traversal(NamedTuple):
    """The arguments of a traversal."""

    player: int
    """Who is updated."""
    tree: FlatTree
    behavior: Vector
    """Distributions of all players and of chance."""
    utility: Vector
    buffers: TraversalBuffers
    rule: SamplingRule
    baseline: Vector
    """Baseline values, shape ``(players, histories)``."""


class Progress(NamedTuple):
    """How far a traversal is."""

    pending: int
    """Histories on the stack."""
    updated: int
    """Decision points visited so far."""
    visited: int
    """Histories visited so far."""


class Visit(NamedTuple):
    """The history that is visited, as seen from the updated player."""

    number: int
    """Position among the visited histories."""
    child: int
    """The first history that may follow."""
    sequence: int
    """The player's last sequence."""
    scale: float
    """Factor of payoffs below."""


class Step(NamedTuple):
    """The action that is followed from a decision point."""

    pending: int
    action: int
    """-1 where none was sampled."""
    weight: float
    """Weight of the value below in the value of this one."""
    scale: float
    reach: float


@cache
def walker(choose: Choose, with_baseline: bool, start: Start = at_first) -> Walk:
    """Return the function that draws one sample and returns what it visited.

    It is called as ``walk(player, tree, behavior, utility, buffers, data, parameters, baseline,
    generator)``, with all players' weights in ``behavior``. It writes to ``utility``, which is zero
    at all decision points before, at those that it visits, and for the empty sequence. It returns
    the numbers of visited decision points and histories. ``with_baseline``, it corrects by
    ``baseline``, and records what ``update_baseline`` needs.
    """
    counts = choose is follow_average
    visit = _visitor(choose, with_baseline)

    def walk(
        player: int,
        tree: FlatTree,
        behavior: Vector,
        utility: Vector,
        buffers: TraversalBuffers,
        data: SamplingData,
        parameters: Vector,
        baseline: Vector,
        generator: np.random.Generator,
    ) -> tuple[int, int]:
        rule = SamplingRule(data, parameters, generator)
        arguments = Traversal(player, tree, behavior, utility, buffers, rule, baseline)
        h, visited = 0, 0
        if not with_baseline:  # which needs each move of chance
            h, visited = deal(tree.initial_chance, generator, start)
        root = as_int64(tree.sequences[player])
        if counts:
            data[0][root] += 1.0
        utility[root] = 0.0
        buffers.history[0], buffers.sequence[0], buffers.parent[0] = np.uint32(h), root, -1
        buffers.scale[0], buffers.reach[0], buffers.weight[0] = 1.0, 1.0, 1.0
        progress = Progress(1, 0, visited)
        while progress.pending > 0:
            progress = visit(progress, arguments)
        return progress.updated, progress.visited

    return walk


@cache
def compiled_walker(choose: Choose, with_baseline: bool) -> Walk:
    """Return ``walker`` as machine code, which draws the same sample."""
    return MachineCode(walker(choose, with_baseline, as_if_even), 2)


def _visitor(choose: Choose, with_baseline: bool) -> Callable[[Progress, Traversal], Progress]:
    """Return the function that follows the history on top of the stack to a terminal."""
    decide = _decider(choose, with_baseline)

    def visit(progress: Progress, arguments: Traversal) -> Progress:
        pending, updated, visited = progress.pending - 1, progress.updated, progress.visited
        player, tree, buffers = arguments.player, arguments.tree, arguments.buffers
        h, sequence = as_int64(buffers.history[pending]), as_int64(buffers.sequence[pending])
        parent, weight = buffers.parent[pending], buffers.weight[pending]
        scale, reach = buffers.scale[pending], buffers.reach[pending]
        begin, end = as_int64(tree.points[player]), as_int64(tree.points[player + 1])
        child, place = as_int64(tree.node[4 * h]), as_int64(tree.node[4 * h + 1])
        while place < as_int64(tree.over):
            if with_baseline:
                record_visit(visited, h, parent, weight, buffers)
            parent, weight, visited = visited, 1.0, visited + 1
            first, count = as_int64(tree.node[4 * h + 2]), as_int64(tree.node[4 * h + 3])
            buffers.prefetched[0] = tree.node[4 * (child + 1)]  # the others are near it in memory
            current = Visit(parent, child, sequence, scale)
            if begin <= place < end:
                decision = Decision(place, sequence, first, count, reach, tree.evens[count])
                step = decide(pending, updated, decision, current, arguments)
                pending, updated = step.pending, updated + 1
                if step.action < 0:
                    return Progress(pending, updated, visited)
                h, sequence = child + step.action, first + step.action
                weight, scale, reach = step.weight, step.scale, step.reach
            else:
                drawn = pick(arguments.rule.generator, arguments.behavior, first, count)
                if with_baseline:
                    correct_opponent(drawn, first, count, current, arguments)
                h = child + drawn
            child, place = as_int64(tree.node[4 * h]), as_int64(tree.node[4 * h + 1])
        arguments.utility[sequence] += scale * tree.payoffs[child + player]
        if with_baseline:
            record_visit(visited, h, parent, weight, buffers)
            buffers.value[visited] = tree.payoffs[child + player]
        return Progress(pending, updated, visited + 1)

    return visit


def _decider(
    choose: Choose, with_baseline: bool
) -> Callable[[int, int, Decision, Visit, Traversal], Step]:
    """Return the function that follows the first sampled action, and pushes the others."""

    def decide(
        pending: int, updated: int, decision: Decision, visit: Visit, arguments: Traversal
    ) -> Step:
        behavior, buffers = arguments.behavior, arguments.buffers
        actions, probabilities = buffers.sampled_actions, buffers.sampling_probabilities
        sampled = choose(decision, behavior, actions, probabilities, arguments.rule)
        # Read at once: machine code knows then what was written, and need not wait for it.
        a, sampling_probability = as_int64(actions[0]), probabilities[0]
        single = decision.first + a if sampled == 1 else 0
        if with_baseline:
            single = 0
            correct_own(sampled, decision, visit, arguments)
        at = as_int64(np.uint32(updated))  # so that machine code knows its sign
        buffers.points[at], buffers.parent_sequence[at] = decision.point, decision.sequence
        buffers.single_action[at] = single
        if sampled == 0:
            return Step(pending, -1, 0.0, 0.0, 0.0)
        for k in range(sampled - 1, 0, -1):
            b = as_int64(actions[k])
            probability = action_probability(behavior, b, decision)
            buffers.history[pending], buffers.sequence[pending] = (
                visit.child + b,
                decision.first + b,
            )
            buffers.scale[pending] = visit.scale / probabilities[k]
            buffers.reach[pending] = decision.reach * probability
            if with_baseline:
                buffers.parent[pending] = visit.number
                buffers.weight[pending] = probability / probabilities[k]
            pending += 1
        probability = action_probability(behavior, a, decision)
        weight, scale = probability / sampling_probability, visit.scale / sampling_probability
        return Step(pending, a, weight, scale, decision.reach * probability)

    return decide


# With a baseline


def record_visit(
    visited: int, h: int, parent: int, weight: float, buffers: TraversalBuffers
) -> None:
    buffers.visited_history[visited], buffers.visited_parent[visited] = h, parent
    buffers.visited_weight[visited] = weight


def correct_opponent(
    drawn: int, first: int, count: int, visit: Visit, arguments: Traversal
) -> None:
    """Add by how much the expected baseline value exceeds that of the drawn action."""
    player, baseline, child = arguments.player, arguments.baseline, visit.child
    mean = 0.0
    for a in range(count):
        mean += arguments.behavior[first + a] * baseline[player, child + a]
    arguments.buffers.value[visit.number] = mean
    arguments.utility[visit.sequence] += visit.scale * (mean - baseline[player, child + drawn])


def correct_own(sampled: int, decision: Decision, visit: Visit, arguments: Traversal) -> None:
    """Let each action have its baseline value, and subtract it where a sample is added."""
    player, baseline, child = arguments.player, arguments.baseline, visit.child
    buffers, utility = arguments.buffers, arguments.utility
    mean = 0.0
    for a in range(decision.size):
        probability = action_probability(arguments.behavior, a, decision)
        mean += probability * baseline[player, child + a]
        utility[decision.first + a] = visit.scale * baseline[player, child + a]
    for k in range(sampled):
        a = as_int64(buffers.sampled_actions[k])
        scale = visit.scale / buffers.sampling_probabilities[k]
        utility[decision.first + a] -= scale * baseline[player, child + a]
    buffers.value[visit.number] = mean


def update_baseline(
    player: int, visited: int, rate: float, buffers: TraversalBuffers, baseline: Vector
) -> None:
    """Move baseline values towards what a traversal has found, from its terminals up."""
    for step in range(visited):
        visit = visited - 1 - step
        h, parent = as_int64(buffers.visited_history[visit]), buffers.visited_parent[visit]
        error = buffers.value[visit] - baseline[player, h]
        if parent >= 0:
            buffers.value[parent] += buffers.visited_weight[visit] * error
        baseline[player, h] += rate * error
