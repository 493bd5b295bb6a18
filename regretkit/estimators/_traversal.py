"""Traversals of a sampled part of a game, in loops that also compile.

A traversal draws random numbers depth first. At a decision point of the updated player it first
draws the numbers that choose actions, then those of each chosen subtree in order. At a history of
chance or an opponent it draws one number. The initial chance moves share one number, unless there
is a baseline. A single action needs no number.

A baseline corrects sampled values by terms of mean zero.
"""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple, TypeAlias

import numpy as np

from regretkit._machine_code import MachineCode
from regretkit._util._typing import UInt32Array, Vector, as_int64
from regretkit.estimators._flat_tree import FlatTree, InitialChance, TraversalBuffers

WITHIN_BOUNDS = True
"""Tells the compiler to omit bounds checks: all indices and slices are valid."""

SamplingData: TypeAlias = tuple[Vector, Vector]
"""An array by sequence and one by decision point, for the sampling rule."""


class Decision(NamedTuple):
    """A visit of the updated player's decision point."""

    point: int
    """Number of the decision point."""
    sequence: int
    """The player's sequence before the decision point."""
    first: int
    """First sequence of the decision point."""
    size: int
    """Number of actions."""
    reach: float
    """The player's own reach probability."""
    uniform: float
    """1 / ``size``."""


class SamplingRule(NamedTuple):
    """Data, parameters and generator of a choice of actions."""

    data: SamplingData
    parameters: Vector
    generator: np.random.Generator


Choose: TypeAlias = Callable[[Decision, Vector, UInt32Array, Vector, SamplingRule], int]
"""Samples actions of the updated player. ``choose(decision, behavior, actions, probabilities,
rule)`` writes the sampled indices to ``actions`` in order, writes their sampling probabilities to
``probabilities``, and returns their number."""


# Sampling of actions

FEW = 6
"""Largest number of weights for the search without branches."""


def pick(generator: np.random.Generator, weights: Vector, first: int, count: int) -> int:
    """Draw one of ``count`` actions by weights that sum to one; return its index.

    The last action of positive weight gets the rounding error. A single action needs no number.
    """
    if count == 1:
        return 0
    return find(generator.random(), weights, first, count)


def find(drawn: float, weights: Vector, first: int, count: int) -> int:
    """Return the first action whose cumulative weight exceeds ``drawn``."""
    total, chosen = weights[first], 0
    if count <= FEW:
        # Count the sums that drawn exceeds: a mispredicted branch costs ten additions.
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
    """Return the probability of an action, uniform if the player's reach is zero."""
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
    """Sample one action from a mixture of the strategy and the uniform distribution."""
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
        while probability == 0.0:  # rounding can put the draw behind the last positive weight
            chosen -= 1
            probability = _mixture(chosen, decision, behavior, rule)
    probabilities[0] = probability
    actions[0] = np.uint32(chosen)  # written last, because the caller reads it first
    return 1


def _mixture(a: int, decision: Decision, behavior: Vector, rule: SamplingRule) -> float:
    """Return the probability of an action with exploration."""
    exploration, exploited = rule.parameters[0], action_probability(behavior, a, decision)
    return float(exploration * decision.uniform + (1.0 - exploration) * exploited)


def follow_average(
    decision: Decision,
    behavior: Vector,
    actions: UInt32Array,
    probabilities: Vector,
    rule: SamplingRule,
) -> int:
    """Sample each action independently, with a probability that grows with its average.

    q[a]  =  min(1, max(epsilon, (beta + tau s[a]) / (beta + sum of s)))
    """
    cumulative, last_reach = rule.data
    epsilon, tau, beta = rule.parameters[0], rule.parameters[1], rule.parameters[2]
    # Lazy sums: the strategy is unchanged since the last visit, so one addition suffices.
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
"""Returns the start of the search for an outcome. It affects the speed, not the result."""


def at_first(drawn: float, outcomes: int) -> int:
    """Return 0. The draw is only compared, which the enumeration of samples requires."""
    return 0


def as_if_even(drawn: float, outcomes: int) -> int:
    """Return the result for equally likely outcomes, which most games have."""
    return min(int(drawn * outcomes), outcomes - 1)


def deal(chance: InitialChance, generator: np.random.Generator, start: Start) -> tuple[int, int]:
    """Draw the initial chance moves; return the history and its number of moves."""
    sums, chosen = chance.cumulative, 0
    last = len(sums) - 1
    if last > 0:
        drawn = generator.random()
        chosen = start(drawn, len(sums))
        while chosen > 0 and drawn < sums[chosen - 1]:
            chosen -= 1
        while chosen < last and drawn >= sums[chosen]:
            chosen += 1
        while chosen > 0 and sums[chosen] == sums[chosen - 1]:  # skip outcomes of probability zero
            chosen -= 1
    return int(chance.first) + chosen, int(chance.moves)


# Traversal

Walk: TypeAlias = Callable[..., tuple[int, int]]
"""The type of the result of ``walker``."""


@cache
def walker(choose: Choose, with_baseline: bool, start: Start = at_first) -> Walk:
    """Return the function that draws one sample.

    Its call is ``walk(player, tree, behavior, utility, buffers, data, parameters, baseline,
    generator)``, with the probabilities of all players and of chance in ``behavior``. It adds to
    ``utility`` at visited decision points, whose entries must be zero before, and sets the empty
    sequence. It returns the numbers of visited decision points and histories. With a baseline, of
    shape ``(players, histories)``, it corrects values and records visits for ``update_baseline``.
    """
    counts, follow = choose is follow_average, _follower(choose, with_baseline)

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
        rule, guesses = SamplingRule(data, parameters, generator), baseline[0]
        h, pending, updated, visited = 0, 1, 0, 0
        arrays = behavior, utility, buffers
        if with_baseline:
            guesses = baseline[player]
        else:  # with a baseline, each chance move needs its own correction
            h, visited = deal(tree.initial_chance, generator, start)
        root = as_int64(tree.sequences[player])
        if counts:
            data[0][root] += 1.0
        utility[root] = 0.0
        buffers.history[0], buffers.sequence[0], buffers.parent[0] = np.uint32(h), root, -1
        buffers.scale[0], buffers.reach[0], buffers.weight[0] = 1.0, 1.0, 1.0
        while pending > 0:
            pending, updated, visited = follow(
                player, pending - 1, updated, visited, tree, rule, guesses, arrays
            )
        return updated, visited

    return walk


def _follower(choose: Choose, with_baseline: bool) -> Callable[..., tuple[int, int, int]]:
    """Return the function that pops a history from the stack and follows it to a terminal.

    It returns the new numbers of histories on the stack, visited decision points, and histories.
    """

    def follow(
        player: int,
        pending: int,
        updated: int,
        visited: int,
        tree: FlatTree,
        rule: SamplingRule,
        guesses: Vector,
        arrays: tuple[Vector, Vector, TraversalBuffers],
    ) -> tuple[int, int, int]:
        behavior, utility, buffers = arrays
        h, sequence = as_int64(buffers.history[pending]), as_int64(buffers.sequence[pending])
        parent, weight = buffers.parent[pending], buffers.weight[pending]
        scale, reach = buffers.scale[pending], buffers.reach[pending]
        child, place = as_int64(tree.node[4 * h]), as_int64(tree.node[4 * h + 1])
        while place < as_int64(tree.over):
            if with_baseline:
                record_visit(visited, h, parent, weight, 0.0, buffers)
            parent, weight, visited = visited, 1.0, visited + 1
            first, count = as_int64(tree.node[4 * h + 2]), as_int64(tree.node[4 * h + 3])
            # Prefetch the children before the draw decides among them: siblings share cache lines.
            buffers.prefetched[0] = tree.node[4 * (child + 1)]
            if as_int64(tree.points[player]) <= place < as_int64(tree.points[player + 1]):
                decision = Decision(place, sequence, first, count, reach, tree.evens[count])
                chosen, chances = buffers.sampled_actions, buffers.sampling_probabilities
                sampled = choose(decision, behavior, chosen, chances, rule)
                # Read now: the compiler can keep values in registers until the next store.
                a, probability = as_int64(chosen[0]), chances[0]
                at = as_int64(np.uint32(updated))  # shows the compiler that it is not negative
                single = first + a if sampled == 1 and not with_baseline else 0
                if with_baseline:
                    correct_own(sampled, parent, child, scale, decision, guesses, arrays)
                buffers.points[at], buffers.parent_sequence[at] = place, sequence
                buffers.single_action[at] = single
                updated += 1
                if sampled == 0:
                    return pending, updated, visited
                pending = push(pending, sampled, child, parent, scale, decision, behavior, buffers)
                played = action_probability(behavior, a, decision)
                h, sequence, reach = child + a, first + a, reach * played
                weight, scale = played / probability, scale / probability
            else:
                drawn = pick(rule.generator, behavior, first, count)
                if with_baseline:
                    branch = child, first, count
                    correct_other(drawn, parent, sequence, scale, branch, guesses, arrays)
                h = child + drawn
            child, place = as_int64(tree.node[4 * h]), as_int64(tree.node[4 * h + 1])
        utility[sequence] += scale * tree.payoffs[child + player]
        if with_baseline:
            record_visit(visited, h, parent, weight, tree.payoffs[child + player], buffers)
        return pending, updated, visited + 1

    return follow


def push(
    pending: int,
    sampled: int,
    child: int,
    parent: int,
    scale: float,
    decision: Decision,
    behavior: Vector,
    buffers: TraversalBuffers,
) -> int:
    """Push all sampled actions but the first on the stack; return its new size."""
    for k in range(sampled - 1, 0, -1):
        a = as_int64(buffers.sampled_actions[k])
        chosen_with = buffers.sampling_probabilities[k]
        probability = action_probability(behavior, a, decision)
        buffers.history[pending], buffers.sequence[pending] = child + a, decision.first + a
        buffers.scale[pending] = scale / chosen_with
        buffers.reach[pending] = decision.reach * probability
        buffers.parent[pending], buffers.weight[pending] = parent, probability / chosen_with
        pending += 1
    return pending


@cache
def compiled_walker(choose: Choose, with_baseline: bool) -> Walk:
    """Return the machine code of ``walker``, which draws the same samples."""
    return MachineCode(walker(choose, with_baseline, as_if_even), 2)


# With a baseline


def record_visit(
    visited: int, h: int, parent: int, weight: float, value: float, buffers: TraversalBuffers
) -> None:
    buffers.visited_history[visited], buffers.visited_parent[visited] = h, parent
    buffers.visited_weight[visited], buffers.value[visited] = weight, value


def correct_other(
    drawn: int,
    visit: int,
    sequence: int,
    scale: float,
    branch: tuple[int, int, int],
    guesses: Vector,
    arrays: tuple[Vector, Vector, TraversalBuffers],
) -> None:
    """Add the correction at a history of chance or an opponent.

    With probabilities p, baseline values b and drawn action a', it is  sum_a p[a] b[a] - b[a'].
    """
    (child, first, count), (behavior, utility, buffers) = branch, arrays
    mean = 0.0
    for a in range(count):
        mean += behavior[first + a] * guesses[child + a]
    buffers.value[visit] = mean
    utility[sequence] += scale * (mean - guesses[child + drawn])


def correct_own(
    sampled: int,
    visit: int,
    child: int,
    scale: float,
    decision: Decision,
    guesses: Vector,
    arrays: tuple[Vector, Vector, TraversalBuffers],
) -> None:
    """Set the utility of each action to  b[a] - 1[a sampled] b[a] / q[a].

    The sampled value adds u[a] / q[a] later.
    """
    behavior, utility, buffers = arrays
    mean = 0.0
    for a in range(decision.size):
        mean += action_probability(behavior, a, decision) * guesses[child + a]
        utility[decision.first + a] = scale * guesses[child + a]
    for k in range(sampled):
        a = as_int64(buffers.sampled_actions[k])
        utility[decision.first + a] -= (
            scale / buffers.sampling_probabilities[k] * guesses[child + a]
        )
    buffers.value[visit] = mean


def update_baseline(
    player: int, visited: int, rate: float, buffers: TraversalBuffers, baseline: Vector
) -> None:
    """Move baseline values towards the sampled values, from the terminals up.

    b(h)  <-  b(h) + rate (u(h) - b(h))
    """
    for step in range(visited):
        visit = visited - 1 - step
        h, parent = as_int64(buffers.visited_history[visit]), buffers.visited_parent[visit]
        error = buffers.value[visit] - baseline[player, h]
        if parent >= 0:
            buffers.value[parent] += buffers.visited_weight[visit] * error
        baseline[player, h] += rate * error
