"""Whole iterations of CFR and its kin, as functions that are compiled.

Five functions are placeholders: ``_jit`` replaces them by those of a rule's kernel and of a kind of
payoffs, and compiles the whole once for each combination.
"""

from typing import NamedTuple

from regretkit._util._arrays import RESOLUTION
from regretkit._util._typing import Indices, UInt32Array, Vector, as_int64
from regretkit._util._validate import ATOL
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


def as_payoffs(*arrays: Vector) -> Payoffs:
    """Return arrays as one of the kinds of payoffs."""
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
        for j in range(
            as_int64(trees.infoset_offsets[learner]), as_int64(trees.infoset_offsets[learner + 1])
        ):
            first, last = as_int64(trees.first[j]), as_int64(trees.last[j])
            propose(j, first, last, iterates.behavior, state, parameters[player])
        set_sequence_form(learner, trees, iterates)


def set_sequence_form(player: int, trees: FlatTrees, iterates: Iterates) -> None:
    """Compute x from b."""
    strategy, behavior = iterates.strategy, iterates.behavior
    strategy[trees.sequence_offsets[player]] = 1.0
    for j in range(
        as_int64(trees.infoset_offsets[player]), as_int64(trees.infoset_offsets[player + 1])
    ):
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
            for a in range(
                as_int64(sequence_offsets[player]), as_int64(sequence_offsets[player + 1])
            ):
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
    stop = as_int64(trees.run_offsets[player + 1])
    for offset in range(stop - as_int64(trees.run_offsets[player])):
        run = stop - 1 - offset
        begin, end = as_int64(trees.runs[run, 0]), as_int64(trees.runs[run + 1, 0])
        if trees.runs[run, 1] == 2:  # unrolled, as in update_infoset
            update_run(begin, end, 2, parameters, arrays)
        elif trees.runs[run, 1] == 3:
            update_run(begin, end, 3, parameters, arrays)
        else:
            for step in range(end - begin):
                j = end - 1 - step
                first, last = as_int64(trees.first[j]), as_int64(trees.last[j])
                value = update_infoset(j, first, last, parameters, iterates, state)
                iterates.utility[trees.parent[j]] += value


def update_run(begin: int, end: int, actions: int, parameters: Vector, arrays: Arrays) -> None:
    """Do so for decision points of one number of actions, of which none follows another.

    In two loops, of which a compiler takes several decision points at once in the first.
    """
    trees, iterates, state = arrays.trees, arrays.iterates, arrays.state
    begin_actions, values = as_int64(trees.first[begin]), iterates.magnitude
    for i in range(end - begin):
        first = begin_actions + actions * i
        last = first + actions
        values[i] = update_actions(begin + i, first, last, parameters, iterates, state)
    for step in range(end - begin):
        i = end - begin - 1 - step
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
    end = as_int64(trees.infoset_offsets[player + 1])
    for step in range(end - as_int64(trees.infoset_offsets[player])):
        j = end - 1 - step
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
    end = as_int64(trees.infoset_offsets[player + 1])
    for step in range(end - as_int64(trees.infoset_offsets[player])):
        j = end - 1 - step
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
    for run in range(as_int64(trees.run_offsets[player]), as_int64(trees.run_offsets[player + 1])):
        begin, end = as_int64(trees.runs[run, 0]), as_int64(trees.runs[run + 1, 0])
        if trees.runs[run, 1] == 2:  # unrolled, as in update_infoset
            forward_run(begin, end, 2, decay, weight, trees, iterates)
        elif trees.runs[run, 1] == 3:
            forward_run(begin, end, 3, decay, weight, trees, iterates)
        else:
            for j in range(begin, end):
                first, last = as_int64(trees.first[j]), as_int64(trees.last[j])
                reach = float(strategy[trees.parent[j]])
                if last - first == 2:
                    forward_actions(first, first + 2, reach, decay, weight, iterates)
                elif last - first == 3:
                    forward_actions(first, first + 3, reach, decay, weight, iterates)
                else:
                    forward_actions(first, last, reach, decay, weight, iterates)


def forward_run(
    begin: int,
    end: int,
    actions: int,
    decay: float,
    weight: float,
    trees: FlatTrees,
    iterates: Iterates,
) -> None:
    """Do so for decision points of one number of actions, of which none follows another."""
    reaches, first = iterates.magnitude, as_int64(trees.first[begin])
    for i in range(end - begin):
        reaches[i] = iterates.strategy[trees.parent[begin + i]]
    for i in range(end - begin):
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


# Parts of an iteration, for rules in Python. They take arrays one by one: Python passes a tuple of
# arrays ten times more slowly.


def backward_part(
    player: int,
    earning: bool,
    propagating: bool,
    strategy: Vector,
    behavior: Vector,
    utility: Vector,
    magnitude: Vector,
    first: UInt32Array,
    last: UInt32Array,
    parent: UInt32Array,
    infoset_offsets: UInt32Array,
    sequence_offsets: UInt32Array,
    child_offsets: UInt32Array,
    children: UInt32Array,
    runs: UInt32Array,
    run_offsets: UInt32Array,
    *arrays: Vector,
) -> None:
    """Set a player's utility if ``earning``; turn it into counterfactual ones."""
    payoffs = as_payoffs(*arrays)
    trees = FlatTrees(
        first,
        last,
        parent,
        infoset_offsets,
        sequence_offsets,
        child_offsets,
        children,
        runs,
        run_offsets,
    )
    iterates = Iterates(strategy, behavior, utility, strategy, strategy, magnitude)
    if earning:
        compute_utility(player, True, payoffs, trees, iterates)
    if propagating:
        backpropagate_values(player, payoffs.negligible[player], trees, iterates)


def forward_part(
    player: int,
    decay: float,
    weight: float,
    strategy: Vector,
    behavior: Vector,
    total: Vector,
    magnitude: Vector,
    first: UInt32Array,
    last: UInt32Array,
    parent: UInt32Array,
    infoset_offsets: UInt32Array,
    sequence_offsets: UInt32Array,
    child_offsets: UInt32Array,
    children: UInt32Array,
    runs: UInt32Array,
    run_offsets: UInt32Array,
) -> None:
    """Add x to the average, and turn the new distributions into the next x."""
    trees = FlatTrees(
        first,
        last,
        parent,
        infoset_offsets,
        sequence_offsets,
        child_offsets,
        children,
        runs,
        run_offsets,
    )
    iterates = Iterates(strategy, behavior, total, total, total, magnitude)
    forward_pass(player, decay, weight, trees, iterates)
