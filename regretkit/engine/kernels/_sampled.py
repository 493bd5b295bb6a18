"""Sampled iterations, as functions that are compiled.

The cost of an
iteration is that of its visits: rules are updated only at visited decision points, and the weighted
sum of strategies at a decision point is settled just before its distribution changes.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from regretkit._util._typing import Indices, UInt32Array, Vector, as_int64, span
from regretkit.engine._layout import FlatTrees
from regretkit.engine.kernels._point import State, infoset_value
from regretkit.estimators._flat_tree import FlatTree, TraversalBuffers
from regretkit.estimators._traversal import Walk
from regretkit.trace._kernel import BlockFunction


class SampledIterates(NamedTuple):
    """What changes in play: one number for each sequence or decision point of each player."""

    behavior: Vector
    """b, the distribution at each decision point."""
    utility: Vector
    """Sampled counterfactual utility of each action, at visited decision points."""
    sums: Vector
    """Weighted sums of strategies, each as of its last visit."""
    parent_sums: Vector
    """For each decision point, the sum at its parent sequence as of its last visit."""
    visited: UInt32Array
    """Decision points that were updated and whose strategy is not yet recomputed."""


class SamplingPlan(NamedTuple):
    """How samples are drawn."""

    sampling_data: tuple[Vector, Vector]
    parameters: Vector
    baseline: Vector
    rate: float
    """Learning rate of baseline values."""


class SampledArrays(NamedTuple):
    """All that sampled iterations read and write."""

    flat: FlatTree
    buffers: TraversalBuffers
    trees: FlatTrees
    iterates: SampledIterates
    plan: SamplingPlan
    state: State


class Functions(NamedTuple):
    """The functions of a rule and a sampling, which are compiled into the iterations."""

    propose: BlockFunction
    """The kernel of the rule."""
    learn: BlockFunction
    walk: Walk
    """Draws a sample."""
    learn_baseline: Callable[..., None] | None
    """Updates baseline values by the last sample, if there are any."""


def sampled_iterations(functions: Functions) -> Callable[..., int]:
    """Return the function that plays sampled iterations."""

    def iterate(
        simultaneous: bool,
        keep_utility: bool,
        turns: Indices,
        parameters: Vector,
        weights: Vector,
        arrays: SampledArrays,
        generator: np.random.Generator,
    ) -> int:
        play = Play(functions, keep_utility, arrays, generator)
        return iterate_sampled(simultaneous, turns, parameters, weights, play)

    return iterate


def proposals(functions: Functions) -> Callable[..., None]:
    """Return the function that computes every b and x from the state of the rules."""

    def initialize(
        parameters: Vector, trees: FlatTrees, behavior: Vector, strategy: Vector, state: State
    ) -> None:
        for player in range(trees.infoset_offsets.size - 1):
            strategy[trees.sequence_offsets[player]] = 1.0
            for j in span(trees.infoset_offsets, player):
                first, last = as_int64(trees.first[j]), as_int64(trees.last[j])
                functions.propose(j, first, last, behavior, state, parameters[player])
                for a in range(first, last):
                    strategy[a] = behavior[a] * strategy[trees.parent[j]]

    return initialize


class Play(NamedTuple):
    """What all functions share."""

    functions: Functions
    keep_utility: bool
    arrays: SampledArrays
    generator: np.random.Generator


def iterate_sampled(
    simultaneous: bool, turns: Indices, parameters: Vector, weights: Vector, play: Play
) -> int:
    """Play one iteration for each row of ``turns``; return the number of visited histories.

    Rows, ``parameters`` and ``simultaneous`` are as in
    ``iterate``; ``weights[t]`` is the weight of the
    strategies of iteration t. With ``keep_utility``, the last utilities can be read afterwards;
    otherwise all are zero at decision points.
    """
    arrays = play.arrays
    trees, iterates = arrays.trees, arrays.iterates
    visits, players = 0, trees.infoset_offsets.size - 1
    for t in range(turns.shape[0]):
        waiting, row = 0, min(t, parameters.shape[0] - 1)
        for player in range(players):
            iterates.sums[trees.sequence_offsets[player]] += weights[t]
        for player in turns[t]:
            if player >= 0:
                given = parameters[row, player]
                touched, visited = update_player(player, not simultaneous, given, play)
                visits += visited
                for k in range(touched if simultaneous else 0):
                    iterates.visited[waiting] = arrays.buffers.points[k]
                    waiting += 1
        for player in range(players if simultaneous else 0):
            propose_visited(waiting, player, parameters[row, player], play)
    return visits


def update_player(player: int, proposing: bool, parameters: Vector, play: Play) -> tuple[int, int]:
    """Update a player by a sample; return the numbers of visited decision points and histories."""
    functions, arrays = play.functions, play.arrays
    buffers, plan, utility = arrays.buffers, arrays.plan, arrays.iterates.utility
    if play.keep_utility:
        offsets = arrays.trees.sequence_offsets
        clear(0, as_int64(offsets[player]), as_int64(offsets[player + 1]), utility)
    touched, visited = functions.walk(
        player,
        arrays.flat,
        arrays.iterates.behavior,
        utility,
        buffers,
        plan.sampling_data,
        plan.parameters,
        plan.baseline,
        play.generator,
    )
    if functions.learn_baseline is not None:
        functions.learn_baseline(player, visited, plan.rate, buffers, plan.baseline)
    settle_sums(touched, arrays.flat, buffers, arrays.iterates)
    backward_pass_sampled(touched, proposing, parameters, play)
    return touched, visited


def settle_sums(
    touched: int, flat: FlatTree, buffers: TraversalBuffers, iterates: SampledIterates
) -> None:
    """Settle the sums at visited decision points, those nearer to the root first.

    All weight that reached a decision point since its last visit was played by the present b.
    """
    behavior, sums, parent_sums = iterates.behavior, iterates.sums, iterates.parent_sums
    for k in range(touched):
        j = as_int64(buffers.points[k])
        total = sums[buffers.parent_sequence[k]]
        added = total - parent_sums[j]
        parent_sums[j] = total
        if added != 0.0:
            first = as_int64(flat.place[2 * j])
            for a in range(first, first + as_int64(flat.place[2 * j + 1])):
                sums[a] += behavior[a] * added


def backward_pass_sampled(touched: int, proposing: bool, parameters: Vector, play: Play) -> None:
    """Propagate values over visited decision points, and update the rule at each."""
    arrays = play.arrays
    flat, buffers, iterates = arrays.flat, arrays.buffers, arrays.iterates
    utility, behavior = iterates.utility, iterates.behavior
    for step in range(touched):
        k = touched - 1 - step
        j, sampled = as_int64(buffers.points[k]), as_int64(buffers.single_action[k])
        first = as_int64(flat.place[2 * j])
        last = first + as_int64(flat.place[2 * j + 1])
        if sampled > 0:
            value = utility[sampled] * behavior[sampled]
        else:
            value = infoset_value(first, last, utility, behavior)
        if last - first == 2:  # unrolled, as in _iteration.update_infoset
            update_visited(j, first, first + 2, value, proposing, parameters, play)
        elif last - first == 3:
            update_visited(j, first, first + 3, value, proposing, parameters, play)
        else:
            update_visited(j, first, last, value, proposing, parameters, play)
        utility[buffers.parent_sequence[k]] += value
        if not play.keep_utility:
            clear(sampled, first, last, utility)


def update_visited(
    j: int,
    first: int,
    last: int,
    value: float,
    proposing: bool,
    parameters: Vector,
    play: Play,
) -> None:
    """Update the rule at a decision point, and let it propose if ``proposing``."""
    functions, iterates, state = play.functions, play.arrays.iterates, play.arrays.state
    functions.learn(j, first, last, iterates.utility, value, iterates.behavior, state, parameters)
    if proposing:
        functions.propose(j, first, last, iterates.behavior, state, parameters)


def clear(sampled: int, first: int, last: int, utility: Vector) -> None:
    """Set utilities at a decision point to zero, where at most that of ``sampled`` > 0 is not."""
    if sampled > 0:
        utility[sampled] = 0.0
    else:
        for a in range(first, last):
            utility[a] = 0.0


def propose_visited(waiting: int, player: int, parameters: Vector, play: Play) -> None:
    """Let a player's visited decision points propose."""
    functions, arrays = play.functions, play.arrays
    trees, iterates = arrays.trees, arrays.iterates
    own = span(trees.infoset_offsets, player)
    for k in range(waiting):
        j = as_int64(iterates.visited[k])
        if own.start <= j < own.stop:
            first, last = as_int64(trees.first[j]), as_int64(trees.last[j])
            functions.propose(j, first, last, iterates.behavior, arrays.state, parameters)


def settle_all_sums(trees: FlatTrees, iterates: SampledIterates, total: Vector) -> None:
    """Set ``total`` to the sums settled at all decision points."""
    for player in range(trees.infoset_offsets.size - 1):
        root = trees.sequence_offsets[player]
        total[root] = iterates.sums[root]
        for j in span(trees.infoset_offsets, player):
            added = total[trees.parent[j]] - iterates.parent_sums[j]
            for a in range(trees.first[j], trees.last[j]):
                total[a] = iterates.sums[a] + iterates.behavior[a] * added
