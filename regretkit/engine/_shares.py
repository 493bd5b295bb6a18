"""Whole iterations, as :mod:`~regretkit.engine._kernels` has them, with the work shared out.

Several threads run ``share``, each with the number of its part. They do what ``iterate`` does, each
sum in the same order, and wait for each other wherever one needs what another has done. Each
sequence of a player, and each decision point, belongs to one part, which alone writes to it, but
for forced moves at the end, which are shared out; what all of them read is only what others play.
"""

from regretkit._typing import Indices, Narrow, Vector, whole
from regretkit.engine._forced import Forced, play_forced
from regretkit.engine._forest import Forest
from regretkit.engine._gate import last_to_come, open_up
from regretkit.engine._kernels import State, decide_among, hand_down
from regretkit.engine._payoffs import Ends, Matrix, Payoffs, Tensor
from regretkit.engine._split import Split
from regretkit.engine._steps import is_earning, turn_of
from regretkit.engine._table import Table
from regretkit.engine._worth import add_ends, add_up, hand_out, multiply, multiply_out


def wait(gate: Indices, parts: int) -> None:
    """Wait for all parts."""
    if last_to_come(gate, parts):
        open_up(gate)


# What each kind of payoffs is worth


def earn(
    part: int,
    player: int,
    payoffs: Payoffs,
    sequences: Narrow,
    table: Table,
    split: Split,
    gate: Indices,
) -> None:
    """Set a part of a player's utility while the others play, all of what its sequences get."""
    raise NotImplementedError  # left open: _specialize puts another in its place


def earn_matrix(
    part: int,
    player: int,
    payoffs: Matrix,
    sequences: Narrow,
    table: Table,
    split: Split,
    gate: Indices,
) -> None:
    """Set a part of a player's utility to A x, with x the opponent's strategy."""
    parts = split.rows.shape[1] - 1
    strategy, scratch = table.strategy, payoffs.scratch
    behind = whole(sequences[sequences.size - 1])
    for number in range(split.sums[player, part], split.sums[player, part + 1]):
        batch = payoffs.sum_batches[number]
        add_up(batch, payoffs.summed, strategy, scratch)
        for group in range(whole(batch[0]), whole(batch[0]) + max(4 * whole(batch[1]), 1)):
            strategy[behind + group] = scratch[group]
    if split.sums[player, parts] > split.sums[player, 0]:
        wait(gate, parts)
    for number in range(split.rows[player, part], split.rows[player, part + 1]):
        multiply(payoffs.batches[number], payoffs.column, payoffs.payoff, strategy, scratch)
    wait(gate, parts)
    own = player * parts + part
    for span in range(split.of_span[own], split.of_span[own + 1]):
        hand_out(split.spans[span, 0], split.spans[span, 1], payoffs, table.utility)


def earn_ends(
    part: int,
    player: int,
    payoffs: Ends,
    sequences: Narrow,
    table: Table,
    split: Split,
    gate: Indices,
) -> None:
    """Set a part of a player's utility to payoffs times the probability of getting there."""
    first, last = split.rows[player, part], split.rows[player, part + 1]
    add_ends(first, last, payoffs, table.strategy, table.utility)
    wait(gate, split.rows.shape[1] - 1)


def earn_tensor(
    part: int,
    player: int,
    payoffs: Tensor,
    sequences: Narrow,
    table: Table,
    split: Split,
    gate: Indices,
) -> None:
    """Set a part of a player's utility to its payoffs times all other strategies."""
    parts, sizes = split.rows.shape[1] - 1, payoffs.sizes
    entries = 1
    for size in sizes:
        entries *= whole(size)
    half = payoffs.scratch.size // 2
    left = payoffs.payoff[player * entries : (player + 1) * entries]
    into = 0
    for back in range(sizes.size):
        other = sizes.size - 1 - back
        if other != player:
            own = table.strategy[whole(sequences[other]) + 1 : whole(sequences[other + 1])]
            entries //= own.size
            rest = payoffs.scratch[into * half : into * half + entries]
            first, last = entries * part // parts, entries * (part + 1) // parts
            multiply_out(left[first * own.size : last * own.size], own, rest[first:last])
            left, into = rest, 1 - into
            wait(gate, parts)
    root, mine = whole(sequences[player]), player * parts + part
    for span in range(split.of_span[mine], split.of_span[mine + 1]):
        for a in range(split.spans[span, 0], split.spans[span, 1]):
            table.utility[a] = left[a - root - 1] if a > root else 0.0


# One player's decision points, up the tree and down


def climb_own(
    part: int,
    player: int,
    numbers: Vector,
    forest: Forest,
    table: Table,
    state: State,
    split: Split,
) -> None:
    """Let a part's decision points learn and propose, from the leaves up."""
    utility, behavior, runs = table.utility, table.behavior, split.runs
    own = player * split.rows.shape[1] + part
    for run in range(split.of_part[own + 1] - 1, split.of_part[own] - 1, -1):
        for j in range(runs[run, 1] - 1, runs[run, 0] - 1, -1):
            first, last = whole(forest.first[j]), whole(forest.last[j])
            value = decide_among(j, first, last, utility, behavior, numbers, state)
            if split.above[j] < 0:
                split.waiting[j] = value
            else:
                utility[split.above[j]] += value


def climb_top(
    player: int, numbers: Vector, forest: Forest, table: Table, state: State, split: Split
) -> None:
    """Hand on what decision points are worth that waited, and let those of the top learn."""
    utility, behavior = table.utility, table.behavior
    for k in range(split.of_joint[player + 1] - 1, split.of_joint[player] - 1, -1):
        j = int(split.joints[k])
        value = split.waiting[j]
        if split.at_top[k] != 0:
            first, last = whole(forest.first[j]), whole(forest.last[j])
            value = decide_among(j, first, last, utility, behavior, numbers, state)
        utility[whole(forest.parent[j])] += value


def descend(
    part: int,
    player: int,
    decay: float,
    weight: float,
    forest: Forest,
    table: Table,
    split: Split,
) -> None:
    """Add a part's x to the average, and make the new distributions the next x."""
    strategy, behavior, total, runs = table.strategy, table.behavior, table.total, split.runs
    own = player * split.rows.shape[1] + part
    for run in range(split.of_part[own], split.of_part[own + 1]):
        for j in range(runs[run, 0], runs[run, 1]):
            reach = strategy[whole(forest.parent[j])]
            first, last = whole(forest.first[j]), whole(forest.last[j])
            hand_down(first, last, reach, decay, weight, strategy, behavior, total)


def turn_around(
    player: int,
    numbers: Vector,
    decay: float,
    weight: float,
    forest: Forest,
    table: Table,
    state: State,
    split: Split,
) -> None:
    """Do at the top what comes between the way up and the way down."""
    climb_top(player, numbers, forest, table, state, split)
    root = whole(forest.sequences[player])
    table.total[root] = decay * table.total[root] + weight * table.strategy[root]
    table.strategy[root] = 1.0
    descend(split.rows.shape[1] - 1, player, decay, weight, forest, table, split)


def stay(
    part: int,
    turn: Indices,
    decay: float,
    weight: float,
    table: Table,
    split: Split,
) -> None:
    """Add a part's x to the average, of all whose turn it is not."""
    parts = split.rows.shape[1] - 1
    for player in range(split.rows.shape[0]):
        idle = True
        for mover in turn:
            idle = idle and mover != player
        own = player * parts + part
        if idle:
            for span in range(split.of_span[own], split.of_span[own + 1]):
                for a in range(split.spans[span, 0], split.spans[span, 1]):
                    table.total[a] = decay * table.total[a] + weight * table.strategy[a]


def remember(part: int, table: Table, split: Split) -> None:
    """Note down a part's x."""
    parts = split.rows.shape[1] - 1
    for player in range(split.rows.shape[0]):
        own = player * parts + part
        for span in range(split.of_span[own], split.of_span[own + 1]):
            for a in range(split.spans[span, 0], split.spans[span, 1]):
                table.played[a] = table.strategy[a]


def move(
    part: int,
    player: int,
    numbers: Vector,
    decay: float,
    weight: float,
    forest: Forest,
    table: Table,
    state: State,
    split: Split,
    gate: Indices,
) -> None:
    """Let a player learn and propose, and add its x to the average."""
    parts = split.rows.shape[1] - 1
    climb_own(part, player, numbers, forest, table, state, split)
    if last_to_come(gate, parts):
        turn_around(player, numbers, decay, weight, forest, table, state, split)
        open_up(gate)
    descend(part, player, decay, weight, forest, table, split)
    wait(gate, parts)


def share(
    part: int,
    gate: Indices,
    split: Split,
    together: bool,
    turns: Indices,
    numbers: Vector,
    weights: Vector,
    payoffs: Payoffs,
    forest: Forest,
    forced: Forced,
    table: Table,
    state: State,
) -> None:
    """Do one part's share of what ``iterate`` does."""
    parts, count, movers = split.rows.shape[1] - 1, forced.move.size, turns.shape[1]
    for t in range(turns.shape[0]):
        decay, weight = weights[t, 0], weights[t, 1]
        if t == turns.shape[0] - 1:
            remember(part, table, split)
        for step in range(2 * movers):
            player = turns[t, turn_of(step, movers, together)]
            if player < 0:
                continue
            if is_earning(step, movers, together):
                earn(part, player, payoffs, forest.sequences, table, split, gate)
                if together:
                    wait(gate, parts)
            else:
                own = numbers[min(t, numbers.shape[0] - 1), player]
                move(part, player, own, decay, weight, forest, table, state, split, gate)
        if turns[t, -1] < 0:
            stay(part, turns[t], decay, weight, table, split)
    wait(gate, parts)
    play_forced(count * part // parts, count * (part + 1) // parts, forced, table)
