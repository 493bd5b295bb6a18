"""Whole iterations of CFR and its kin, as functions that are compiled.

Four functions are placeholders: ``_jit`` replaces them by those of a rule's kernel and of a kind of
payoffs, and compiles the whole once for each combination.
"""

from typing import NamedTuple

from regretkit._util._arrays import RESOLUTION
from regretkit._util._typing import Indices, UInt32Array, Vector, as_int64, backwards, span
from regretkit._util._validate import ATOL
from regretkit.engine._compiler import separate
from regretkit.engine._deviations import NO_DEVIATIONS, DeviationArrays
from regretkit.engine._layout import FlatTrees, Iterates, Payoffs, SingletonMoves

State = tuple[Vector, ...]


class Arrays(NamedTuple):
    """All that iterations read and write."""

    payoffs: Payoffs
    trees: FlatTrees
    singletons: SingletonMoves
    iterates: Iterates
    state: State
    deviations: DeviationArrays = NO_DEVIATIONS


# Placeholders


def compute_utility(
    player: int, zero_cancelled: bool, payoffs: Payoffs, trees: FlatTrees, iterates: Iterates
) -> None:
    """Set a player's utility given all strategies; zero where terms cancel if asked for."""
    raise NotImplementedError


def is_exact() -> bool:
    """Return whether what cancels up to rounding is zero."""
    raise NotImplementedError


def learn(
    block: int,
    first: int,
    last: int,
    utility: Vector,
    value: float,
    strategy: Vector,
    state: State,
    parameters: Vector,
) -> None:
    """Update a rule at one decision point, as ``Kernel`` says."""
    raise NotImplementedError


def propose(
    block: int, first: int, last: int, strategy: Vector, state: State, parameters: Vector
) -> None:
    """Set a rule's distribution at one decision point."""
    raise NotImplementedError


# Iterations


def iterate(
    simultaneous: bool, turns: Indices, parameters: Vector, weights: Vector, arrays: Arrays
) -> None:
    """Play one iteration for each row of ``turns``: the players updated, in turn, then -1.

    ``parameters[t, player]`` are those of the rule's kernel, a single row for all iterations, and
    ``weights[t]`` the factors of the average so far and of x. Each player has three steps: its
    utility, the backward pass and the forward pass. With ``simultaneous``, each step is taken for
    all players before the next one; otherwise each player takes its three steps in turn.
    """
    trees, iterates, movers = arrays.trees, arrays.iterates, turns.shape[1]
    for t in range(turns.shape[0]):
        decay, weight = weights[t, 0], weights[t, 1]
        if t == turns.shape[0] - 1:
            save_last(iterates)
        # One loop for both schedules: compiling the steps twice takes half as long again.
        for number in range(3 * movers):
            player = turns[t, number % movers if simultaneous else number // 3]
            step = number // movers if simultaneous else number % 3
            if player < 0:
                continue
            if step == 0:
                compute_utility(player, is_exact(), arrays.payoffs, trees, iterates)
            elif step == 1:
                update(player, parameters[min(t, parameters.shape[0] - 1), player], arrays)
            else:
                advance(player, decay, weight, arrays)
        if turns[t, -1] < 0:
            accumulate_idle(turns[t], decay, weight, trees, iterates)
    copy_to_singletons(arrays.singletons, iterates)


def update(player: int, parameters: Vector, arrays: Arrays) -> None:
    """Update a player's rule at all decision points; another function where it has deviations."""
    backward_pass(player, parameters, arrays)


def advance(player: int, decay: float, weight: float, arrays: Arrays) -> None:
    """Add a player's x to its average, and compute the next one; likewise."""
    forward_pass(player, decay, weight, arrays.trees, arrays.iterates)


def initialize(
    parameters: Vector, learners: UInt32Array, trees: FlatTrees, iterates: Iterates, state: State
) -> None:
    """Compute every b and x from the state of the rules, each at a tree of ``learners``."""
    for player in range(learners.size):
        learner = as_int64(learners[player])
        for j in span(trees.infoset_offsets, learner):
            first, last = as_int64(trees.first[j]), as_int64(trees.last[j])
            propose(j, first, last, iterates.behavior, state, parameters[player])
        set_sequence_form(learner, trees, iterates)


def set_sequence_form(player: int, trees: FlatTrees, iterates: Iterates) -> None:
    """Compute x from b."""
    strategy, behavior = iterates.strategy, iterates.behavior
    strategy[trees.sequence_offsets[player]] = 1.0
    for j in span(trees.infoset_offsets, player):
        first, last = as_int64(trees.first[j]), as_int64(trees.last[j])
        reach = float(strategy[trees.parent[j]])
        if last - first == 2:  # unrolled, as in update_infoset
            set_sequences(first, first + 2, reach, strategy, behavior)
        else:
            set_sequences(first, last, reach, strategy, behavior)


def set_sequences(first: int, last: int, reach: float, strategy: Vector, behavior: Vector) -> None:
    """Compute x at a decision point."""
    for a in range(first, last):
        strategy[a] = behavior[a] * reach


def save_last(iterates: Iterates) -> None:
    """Copy x to ``last_strategy``."""
    for a in range(iterates.last_strategy.size):
        iterates.last_strategy[a] = iterates.strategy[a]


def accumulate_idle(
    turn: Indices, decay: float, weight: float, trees: FlatTrees, iterates: Iterates
) -> None:
    """Add the x of all players to the average that are not updated."""
    sequence_offsets = trees.sequence_offsets
    for player in range(turn.size):
        idle = True
        for mover in turn:
            idle = idle and mover != player
        if idle:
            for a in span(sequence_offsets, player):
                iterates.total[a] = decay * iterates.total[a] + weight * iterates.strategy[a]


def copy_to_singletons(singletons: SingletonMoves, iterates: Iterates) -> None:
    """Give each removed move the weight of the sequence before it."""
    for k in range(singletons.move.size):
        move, parent = as_int64(singletons.move[k]), as_int64(singletons.parent[k])
        iterates.strategy[move] = iterates.strategy[parent]
        iterates.total[move] = iterates.total[parent]
        iterates.last_strategy[move] = iterates.last_strategy[parent]


# Backward pass: counterfactual values, from the leaves to the root


def backward_pass(player: int, parameters: Vector, arrays: Arrays) -> None:
    """Propagate values to the root, and update each decision point of a player on the way."""
    trees, iterates, state = arrays.trees, arrays.iterates, arrays.state
    for run in backwards(trees.run_offsets, player):
        if trees.run_actions[run] == 2:  # unrolled, as in update_infoset
            update_run(run, 2, parameters, arrays)
        elif trees.run_actions[run] == 3:
            update_run(run, 3, parameters, arrays)
        else:
            for j in backwards(trees.run_begin, run):
                first, last = as_int64(trees.first[j]), as_int64(trees.last[j])
                value = update_infoset(j, first, last, parameters, iterates, state)
                iterates.utility[trees.parent[j]] += value


def update_run(run: int, actions: int, parameters: Vector, arrays: Arrays) -> None:
    """Do so for a run, in two loops: of the first, a compiler takes several points at once."""
    trees, iterates, state = arrays.trees, arrays.iterates, arrays.state
    begin, values = as_int64(trees.run_begin[run]), iterates.magnitude
    first, count = as_int64(trees.first[begin]), as_int64(trees.run_begin[run + 1]) - begin
    for i in range(count):
        at = first + actions * i
        values[i] = update_actions(begin + i, at, at + actions, parameters, iterates, state)
    for i in range(count - 1, -1, -1):
        iterates.utility[trees.parent[begin + i]] += values[i]


def update_infoset(
    j: int, first: int, last: int, parameters: Vector, iterates: Iterates, state: State
) -> float:
    """Update the rule at a decision point; return its value."""
    # For a number of actions known at compile time, the compiler unrolls all loops.
    if last - first == 2:
        return update_actions(j, first, first + 2, parameters, iterates, state)
    if last - first == 1:
        return update_actions(j, first, first + 1, parameters, iterates, state)
    if last - first == 3:
        return update_actions(j, first, first + 3, parameters, iterates, state)
    return update_actions(j, first, last, parameters, iterates, state)


def update_actions(
    j: int, first: int, last: int, parameters: Vector, iterates: Iterates, state: State
) -> float:
    """Do so for any number of actions."""
    utility, behavior = iterates.utility, iterates.behavior
    value = infoset_value(first, last, utility, behavior)
    learn(j, first, last, utility, value, behavior, state, parameters)
    propose(j, first, last, behavior, state, parameters)
    return value


def infoset_value(first: int, last: int, utility: Vector, behavior: Vector) -> float:
    """Return the expected utility of a decision point.

    Computed relative to the largest, so that equal utilities leave regrets of exactly zero.
    """
    if last - first == 1:
        return float(utility[first])
    top = float(utility[first])
    for a in range(first + 1, last):
        top = max(top, float(utility[a]))
    difference = 0.0
    for a in range(first, last):
        difference += float((utility[a] - top) * behavior[a])
    return top + difference


def is_strategy(size: int, strategy: Vector) -> bool:
    """Return whether these are probabilities, as ``InfosetRecord.play`` requires."""
    total, least = 0.0, 0.0
    for a in range(size):
        total += strategy[a]
        least = min(least, strategy[a])
    return bool(abs(total - 1.0) <= ATOL and least >= -ATOL)


def exact_backward_pass(player: int, parameters: Vector, arrays: Arrays) -> None:
    """Do as ``backward_pass``, and set sums to zero that cancel up to rounding."""
    trees = arrays.trees
    for j in backwards(trees.infoset_offsets, player):
        first, last = as_int64(trees.first[j]), as_int64(trees.last[j])
        if last - first == 2:  # unrolled, as in update_infoset
            exact_update(j, first, first + 2, player, parameters, arrays)
        elif last - first == 3:
            exact_update(j, first, first + 3, player, parameters, arrays)
        else:
            exact_update(j, first, last, player, parameters, arrays)


def exact_update(
    j: int, first: int, last: int, player: int, parameters: Vector, arrays: Arrays
) -> None:
    """Propagate the value of a decision point, and update the rule there."""
    iterates, state, negligible = arrays.iterates, arrays.state, arrays.payoffs.negligible[player]
    value = backpropagate_value(j, first, last, negligible, arrays.trees, iterates)
    learn(j, first, last, iterates.utility, value, iterates.behavior, state, parameters)
    propose(j, first, last, iterates.behavior, state, parameters)


def backpropagate_values(
    player: int, negligible: float, trees: FlatTrees, iterates: Iterates
) -> None:
    """Turn utilities into counterfactual ones, from the leaves up, zero where values cancel."""
    for j in backwards(trees.infoset_offsets, player):
        first, last = as_int64(trees.first[j]), as_int64(trees.last[j])
        backpropagate_value(j, first, last, negligible, trees, iterates)


def backpropagate_value(
    j: int, first: int, last: int, negligible: float, trees: FlatTrees, iterates: Iterates
) -> float:
    """Add the value of a decision point to its parent sequence, and return it.

    No sum above ``negligible`` can be rounding.
    """
    utility, behavior, values = iterates.utility, iterates.behavior, iterates.magnitude
    value = infoset_value(first, last, utility, behavior)
    if abs(value) <= negligible and value != 0.0:
        largest = utility[first]
        for a in range(first, last):
            largest = max(largest, utility[a])
        if abs(value) <= RESOLUTION * (abs(largest) + abs(value - largest)):
            value = 0.0
    parent = as_int64(trees.parent[j])
    total = utility[parent] + value
    values[j] = abs(value)
    utility[parent] = total
    if abs(total) <= negligible and total != 0.0:
        zero_cancelled_sum(j, parent, trees, utility, values)
    return value


@separate  # since it is rarely called
def zero_cancelled_sum(j: int, a: int, trees: FlatTrees, utility: Vector, values: Vector) -> None:
    """Set a sequence's sum to zero if j was the last term, and all terms cancel."""
    begin, end = as_int64(trees.child_offsets[a]), as_int64(trees.child_offsets[a + 1])
    if as_int64(trees.children[end - 1]) == j:
        magnitude = 0.0
        for k in range(begin, end):
            magnitude += float(values[trees.children[k]])
        if abs(utility[a]) <= RESOLUTION * magnitude:
            utility[a] = 0.0


# Forward pass: the average, and the next x, from the root to the leaves


def forward_pass(
    player: int, decay: float, weight: float, trees: FlatTrees, iterates: Iterates
) -> None:
    """Add x to the average, and turn the new distributions into the next x."""
    strategy, total = iterates.strategy, iterates.total
    root = as_int64(trees.sequence_offsets[player])
    total[root] = decay * total[root] + weight * strategy[root]
    strategy[root] = 1.0
    for run in span(trees.run_offsets, player):
        if trees.run_actions[run] == 2:  # unrolled, as in update_infoset
            forward_run(run, 2, decay, weight, trees, iterates)
        elif trees.run_actions[run] == 3:
            forward_run(run, 3, decay, weight, trees, iterates)
        else:
            for j in span(trees.run_begin, run):
                first, last = as_int64(trees.first[j]), as_int64(trees.last[j])
                reach = float(strategy[trees.parent[j]])
                if last - first == 2:
                    forward_actions(first, first + 2, reach, decay, weight, iterates)
                elif last - first == 3:
                    forward_actions(first, first + 3, reach, decay, weight, iterates)
                else:
                    forward_actions(first, last, reach, decay, weight, iterates)


def forward_run(
    run: int, actions: int, decay: float, weight: float, trees: FlatTrees, iterates: Iterates
) -> None:
    """Do so for a run, of which no decision point follows another."""
    begin, reaches = as_int64(trees.run_begin[run]), iterates.magnitude
    first, count = as_int64(trees.first[begin]), as_int64(trees.run_begin[run + 1]) - begin
    for i in range(count):
        reaches[i] = iterates.strategy[trees.parent[begin + i]]
    for i in range(count):
        at = first + actions * i
        forward_actions(at, at + actions, float(reaches[i]), decay, weight, iterates)


def forward_actions(
    first: int, last: int, reach: float, decay: float, weight: float, iterates: Iterates
) -> None:
    """Add x at a decision point to the average, and set it to its new distribution."""
    strategy, behavior, total = iterates.strategy, iterates.behavior, iterates.total
    for a in range(first, last):
        total[a] = decay * total[a] + weight * strategy[a]
        strategy[a] = behavior[a] * reach


# A part of an iteration, for rules in Python


def backward_part(
    player: int,
    earning: bool,
    propagating: bool,
    payoffs: Payoffs,
    trees: FlatTrees,
    iterates: Iterates,
) -> None:
    """Set a player's utility if ``earning``; turn it into counterfactual ones."""
    if earning:
        compute_utility(player, True, payoffs, trees, iterates)
    if propagating:
        backpropagate_values(player, payoffs.negligible[player], trees, iterates)
