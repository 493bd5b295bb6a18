"""Traversal of a part of a game, in plain loops that Numba compiles as well.

Numbers are drawn depth first, actions in their order: at a decision point of the updated player
first those that choose actions, then those below the first of these actions, and so on; at a
history of chance or another player, one number. The initial chance moves share one, see
:mod:`~regretkit.estimators.flat._initial_chance`, unless a baseline needs each of them. No number
is drawn for a single action.

With a baseline, sampled values are replaced by their expectations under its values. The correction
has mean zero for any baseline.
"""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple, TypeAlias

import numpy as np

from regretkit._util._typing import Vector, as_int64
from regretkit.estimators.flat._action_sampling import (
    Choose,
    Decision,
    SamplingData,
    SamplingRule,
    action_probability,
    follow_average,
    pick,
)
from regretkit.estimators.flat._flat_tree import FlatTree, TraversalBuffers
from regretkit.estimators.flat._initial_chance import deal, deal_nothing

Walk: TypeAlias = Callable[
    [
        int,
        FlatTree,
        Vector,
        Vector,
        TraversalBuffers,
        SamplingData,
        Vector,
        Vector,
        np.random.Generator,
    ],
    tuple[int, int],
]


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
def walker(choose: Choose, with_baseline: bool) -> Walk:
    """Return the function that draws one sample and returns what it visited.

    It is called as ``walk(player, tree, behavior, utility, buffers, data, parameters, baseline,
    generator)``, with all players' weights in ``behavior``. It writes to ``utility``, which is zero
    at all decision points before, at those that it visits, and for the empty sequence. It returns
    the numbers of visited decision points and histories. ``with_baseline``, it corrects by
    ``baseline``, and records what :func:`update_baseline` needs.
    """
    counts = choose is follow_average
    visit = _visitor(choose, with_baseline)
    deal_first = deal_nothing if with_baseline else deal

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
        h, visited = deal_first(tree.opening, generator)
        root = as_int64(tree.sequences[player])
        if counts:
            data[0][root] += 1.0
        utility[root] = 0.0
        buffers.history[0], buffers.sequence[0], buffers.parent[0] = np.uint32(h), root, -1
        buffers.scale[0], buffers.reach[0], buffers.weight[0] = 1.0, 1.0, 1.0
        progress = Progress(1, 0, as_int64(visited))  # type: ignore[arg-type]  # one type for Numba
        while progress.pending > 0:
            progress = visit(progress, arguments)
        return progress.updated, progress.visited

    return walk


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
        push(pending, sampled, decision, visit, arguments)
        if with_baseline:
            weigh(pending, sampled, decision, visit, arguments)
        probability = action_probability(behavior, a, decision)
        weight, scale = probability / sampling_probability, visit.scale / sampling_probability
        return Step(pending + sampled - 1, a, weight, scale, decision.reach * probability)

    return decide


def push(
    pending: int, sampled: int, decision: Decision, visit: Visit, arguments: Traversal
) -> None:
    """Push the sampled actions on the stack, but for the first one, which is followed at once."""
    buffers = arguments.buffers
    for k in range(sampled - 1, 0, -1):
        a = as_int64(buffers.sampled_actions[k])
        buffers.history[pending], buffers.sequence[pending] = visit.child + a, decision.first + a
        buffers.scale[pending] = visit.scale / buffers.sampling_probabilities[k]
        probability = action_probability(arguments.behavior, a, decision)
        buffers.reach[pending] = decision.reach * probability
        pending += 1


# With a baseline


def record_visit(
    visited: int, h: int, parent: int, weight: float, buffers: TraversalBuffers
) -> None:
    buffers.visited_history[visited], buffers.visited_parent[visited] = h, parent
    buffers.visited_weight[visited] = weight


def weigh(
    pending: int, sampled: int, decision: Decision, visit: Visit, arguments: Traversal
) -> None:
    """Record the weights of the values below pushed actions."""
    buffers = arguments.buffers
    for k in range(sampled - 1, 0, -1):
        a = as_int64(buffers.sampled_actions[k])
        probability = action_probability(arguments.behavior, a, decision)
        buffers.parent[pending] = visit.number
        buffers.weight[pending] = probability / buffers.sampling_probabilities[k]
        pending += 1


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
    for back in range(visited):
        at = visited - 1 - back
        h, parent = as_int64(buffers.visited_history[at]), buffers.visited_parent[at]
        error = buffers.value[at] - baseline[player, h]
        if parent >= 0:
            buffers.value[parent] += buffers.visited_weight[at] * error
        baseline[player, h] += rate * error
