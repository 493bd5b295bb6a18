"""Compiled sampled iterations.

An iteration costs as much as its visits. It updates rules at visited decision points only, and
brings a point's weighted sum of strategies up to date just before its distribution changes.
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
    """Arrays that iterations change, by sequence or decision point of all players."""

    behavior: Vector
    """b, the distribution at each decision point."""
    utility: Vector
    """Sampled counterfactual utility of each action, at visited decision points."""
    sums: Vector
    """Weighted sums of strategies, each up to the last visit of its decision point."""
    parent_sums: Vector
    """For each decision point, the sum at its parent sequence at its last visit."""
    visited: UInt32Array
    """Updated decision points whose strategy is not yet recomputed."""


class SamplingPlan(NamedTuple):
    """The parameters of the sampling, and the baseline."""

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
    """The functions of a rule and a sampling, compiled into the iterations."""

    propose: BlockFunction
    """The rule's ``Kernel.propose``."""
    learn: BlockFunction
    """The rule's ``Kernel.learn``."""
    walk: Walk
    """Samples histories and sets sampled utilities."""
    learn_baseline: Callable[..., None] | None
    """Updates the baseline by the last sample, None without a baseline."""


def sampled_iterations(functions: Functions) -> Callable[..., int]:
    """Return ``iterate_sampled`` for these functions."""

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
    """Return a function that computes all b and x from the state of the rules."""

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
    """Arguments that all functions share."""

    functions: Functions
    keep_utility: bool
    arrays: SampledArrays
    generator: np.random.Generator


def iterate_sampled(
    simultaneous: bool, turns: Indices, parameters: Vector, weights: Vector, play: Play
) -> int:
    """Play one iteration for each row of ``turns``; return the number of visited histories.

    The arguments are those of ``_iteration.iterate``, except that ``weights[t]`` is the weight of
    iteration t. With ``keep_utility``, ``utility`` holds the last sample afterwards. Otherwise it
    is zero at decision points.
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
    """Update a player by one sample; return the numbers of visited points and histories."""
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
    """Bring the sums at visited decision points up to date, from the root to the leaves.

    b did not change since the last visit of a decision point j. So its sums grow by b[a] times the
    growth of the sum at its parent sequence p: S[a] += b[a] (S[p] - S[p at the last visit]).
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
        if sampled > 0:  # all other utilities are zero
            value = utility[sampled] * behavior[sampled]
        else:
            value = infoset_value(first, last, utility, behavior)
        if last - first == 2:  # constant sizes allow the compiler to unroll loops
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
    """Update the rule at a decision point, and with ``proposing`` compute its next strategy."""
    functions, iterates, state = play.functions, play.arrays.iterates, play.arrays.state
    functions.learn(j, first, last, iterates.utility, value, iterates.behavior, state, parameters)
    if proposing:
        functions.propose(j, first, last, iterates.behavior, state, parameters)


def clear(sampled: int, first: int, last: int, utility: Vector) -> None:
    """Set utilities at a decision point to zero; with ``sampled`` > 0 only that one is nonzero."""
    if sampled > 0:
        utility[sampled] = 0.0
    else:
        for a in range(first, last):
            utility[a] = 0.0


def propose_visited(waiting: int, player: int, parameters: Vector, play: Play) -> None:
    """Compute the next strategy at a player's updated decision points."""
    functions, arrays = play.functions, play.arrays
    trees, iterates = arrays.trees, arrays.iterates
    own = span(trees.infoset_offsets, player)
    for k in range(waiting):
        j = as_int64(iterates.visited[k])
        if own.start <= j < own.stop:
            first, last = as_int64(trees.first[j]), as_int64(trees.last[j])
            functions.propose(j, first, last, iterates.behavior, arrays.state, parameters)


def settle_all_sums(trees: FlatTrees, iterates: SampledIterates, total: Vector) -> None:
    """Set ``total`` to the weighted sums, up to date at all decision points."""
    for player in range(trees.infoset_offsets.size - 1):
        root = trees.sequence_offsets[player]
        total[root] = iterates.sums[root]
        for j in span(trees.infoset_offsets, player):
            added = total[trees.parent[j]] - iterates.parent_sums[j]
            for a in range(trees.first[j], trees.last[j]):
                total[a] = iterates.sums[a] + iterates.behavior[a] * added
