"""Utilities from each kind of payoffs.

Each sum has one order, so that Python and machine code are bitwise identical.
"""

from regretkit._util._arrays import RESOLUTION
from regretkit._util._typing import UInt32Array, Vector, as_int64
from regretkit.engine._layout import (
    DensePayoffs,
    FlatTrees,
    Iterates,
    SparsePayoffs,
    TerminalPayoffs,
)


def sparse_utility(
    player: int, zero_cancelled: bool, payoffs: SparsePayoffs, trees: FlatTrees, iterates: Iterates
) -> None:
    """Set a player's utility to A x, with x the opponent's strategy."""
    strategy, workspace = iterates.strategy, payoffs.workspace
    for batch in range(
        as_int64(payoffs.sum_batch_offsets[player]), as_int64(payoffs.sum_batch_offsets[player + 1])
    ):
        sum_batch(payoffs.sum_batches[batch], payoffs.summed, strategy, workspace)
    sequences = as_int64(trees.sequence_offsets[trees.sequence_offsets.size - 1])
    for group in range(
        as_int64(payoffs.sum_offsets[player]), as_int64(payoffs.sum_offsets[player + 1])
    ):
        strategy[sequences + group] = workspace[group]
    for batch in range(
        as_int64(payoffs.batch_offsets[player]), as_int64(payoffs.batch_offsets[player + 1])
    ):
        multiply_batch(payoffs.batches[batch], payoffs.column, payoffs.payoff, strategy, workspace)
        if zero_cancelled:
            zero_cancelled_rows(
                payoffs.batches[batch], payoffs.negligible[player], payoffs, strategy
            )
    scatter_rows(player, payoffs, iterates.utility, trees.sequence_offsets)


def scatter_rows(
    player: int, payoffs: SparsePayoffs, utility: Vector, sequence_offsets: UInt32Array
) -> None:
    """Set the utility of each sequence of a player to the value of its row."""
    row, singleton_row, workspace = payoffs.row, payoffs.singleton_row, payoffs.workspace
    if singleton_row.size == 0:
        for a in range(as_int64(sequence_offsets[player]), as_int64(sequence_offsets[player + 1])):
            utility[a] = workspace[row[a]]
    else:
        for a in range(as_int64(sequence_offsets[player]), as_int64(sequence_offsets[player + 1])):
            utility[a] = workspace[row[a]] + workspace[singleton_row[a]]


def zero_cancelled_rows(
    batch: UInt32Array, negligible: float, payoffs: SparsePayoffs, strategy: Vector
) -> None:
    """Set rows of a batch to zero in which the terms cancel up to rounding."""
    row, rows, values = as_int64(batch[0]), max(4 * as_int64(batch[1]), 1), payoffs.workspace
    for r in range(rows):
        size = abs(values[row + r])
        if 0.0 < size <= negligible:
            magnitude = batch_row_magnitude(r, batch, payoffs, strategy)
            values[row + r] = 0.0 if size <= RESOLUTION * magnitude else values[row + r]


def batch_row_magnitude(
    r: int, batch: UInt32Array, payoffs: SparsePayoffs, strategy: Vector
) -> float:
    """Return the sum of the terms' magnitudes in a row of a batch."""
    slices, length, begin = as_int64(batch[1]), as_int64(batch[2]), as_int64(batch[3])
    stride = 4 if slices > 0 else 1
    magnitude = 0.0
    for entry in range(length):
        k = begin + stride * (length * (r // stride) + entry) + r % stride
        magnitude += abs(payoffs.payoff[k] * strategy[payoffs.column[k]])
    return magnitude


def sum_batch(batch: UInt32Array, summed: UInt32Array, strategy: Vector, sums: Vector) -> None:
    """Set each sum of a batch."""
    row, slices, length, k = (
        as_int64(batch[0]),
        as_int64(batch[1]),
        as_int64(batch[2]),
        as_int64(batch[3]),
    )
    if slices == 0:
        alone = 0.0
        for entry in range(k, k + length):
            alone += float(strategy[summed[entry]])
        sums[row] = alone
    # For lengths known at compile time, which most are, the compiler unrolls the loop.
    elif length == 1:
        sum_slices(row, slices, 1, k, summed, strategy, sums)
    elif length == 2:
        sum_slices(row, slices, 2, k, summed, strategy, sums)
    elif length == 3:
        sum_slices(row, slices, 3, k, summed, strategy, sums)
    elif length == 4:
        sum_slices(row, slices, 4, k, summed, strategy, sums)
    else:
        sum_slices(row, slices, length, k, summed, strategy, sums)


def sum_slices(
    row: int,
    slices: int,
    length: int,
    begin: int,
    summed: UInt32Array,
    strategy: Vector,
    sums: Vector,
) -> None:
    """Add up four sums of one length at once, and then the next four."""
    for number in range(slices):
        one, two, three, four = 0.0, 0.0, 0.0, 0.0
        for entry in range(length):
            k = begin + 4 * (length * number + entry)
            one += float(strategy[summed[k]])
            two += float(strategy[summed[k + 1]])
            three += float(strategy[summed[k + 2]])
            four += float(strategy[summed[k + 3]])
        target = row + 4 * number
        sums[target], sums[target + 1], sums[target + 2], sums[target + 3] = one, two, three, four


def multiply_batch(
    batch: UInt32Array, column: UInt32Array, payoff: Vector, strategy: Vector, values: Vector
) -> None:
    """Multiply each row of a batch by the strategy."""
    row, slices, length, k = (
        as_int64(batch[0]),
        as_int64(batch[1]),
        as_int64(batch[2]),
        as_int64(batch[3]),
    )
    if slices == 0:
        alone = 0.0
        for entry in range(k, k + length):
            alone += float(payoff[entry] * strategy[column[entry]])
        values[row] = alone
    elif length == 1:  # as above
        multiply_slices(row, slices, 1, k, column, payoff, strategy, values)
    elif length == 2:
        multiply_slices(row, slices, 2, k, column, payoff, strategy, values)
    elif length == 3:
        multiply_slices(row, slices, 3, k, column, payoff, strategy, values)
    elif length == 4:
        multiply_slices(row, slices, 4, k, column, payoff, strategy, values)
    else:
        multiply_slices(row, slices, length, k, column, payoff, strategy, values)


def multiply_slices(
    row: int,
    slices: int,
    length: int,
    begin: int,
    column: UInt32Array,
    payoff: Vector,
    strategy: Vector,
    values: Vector,
) -> None:
    """Multiply four rows of one length at once, and then the next four."""
    for number in range(slices):
        one, two, three, four = 0.0, 0.0, 0.0, 0.0
        for entry in range(length):
            k = begin + 4 * (length * number + entry)
            one += float(payoff[k] * strategy[column[k]])
            two += float(payoff[k + 1] * strategy[column[k + 1]])
            three += float(payoff[k + 2] * strategy[column[k + 2]])
            four += float(payoff[k + 3] * strategy[column[k + 3]])
        target = row + 4 * number
        values[target], values[target + 1], values[target + 2], values[target + 3] = (
            one,
            two,
            three,
            four,
        )


def terminal_utility(
    player: int,
    zero_cancelled: bool,
    payoffs: TerminalPayoffs,
    trees: FlatTrees,
    iterates: Iterates,
) -> None:
    """Set a player's utility to payoffs times the others' probability of playing to terminals."""
    strategy, utility = iterates.strategy, iterates.utility
    for a in range(
        as_int64(trees.sequence_offsets[player]), as_int64(trees.sequence_offsets[player + 1])
    ):
        value, magnitude = 0.0, 0.0
        for k in range(as_int64(payoffs.begin[a]), as_int64(payoffs.begin[a + 1])):
            reach = payoffs.payoff[k]
            for o in range(payoffs.others.shape[1]):
                reach *= strategy[payoffs.others[k, o]]
            value += reach
            if zero_cancelled:
                magnitude += abs(reach)
        utility[a] = 0.0 if zero_cancelled and abs(value) <= RESOLUTION * magnitude else value


def dense_utility(
    player: int, zero_cancelled: bool, payoffs: DensePayoffs, trees: FlatTrees, iterates: Iterates
) -> None:
    """Set a player's utility to its payoffs times all other strategies, the last ones first."""
    strategy, utility = iterates.strategy, iterates.utility
    sizes = payoffs.sizes
    entries = 1
    for size in sizes:
        entries *= as_int64(size)
    half = payoffs.workspace.size // 2
    table = payoffs.payoff[player * entries : (player + 1) * entries]
    buffer = 0
    for step in range(sizes.size):
        opponent = sizes.size - 1 - step
        if opponent != player:
            first = as_int64(trees.sequence_offsets[opponent]) + 1
            mixture = strategy[first : first + as_int64(sizes[opponent])]
            entries //= as_int64(sizes[opponent])
            result = payoffs.workspace[buffer * half : buffer * half + entries]
            contract(table, mixture, result)
            table, buffer = result, 1 - buffer
    root = as_int64(trees.sequence_offsets[player])
    utility[root] = 0.0
    for action in range(as_int64(sizes[player])):
        utility[root + 1 + action] = table[action]
        size = abs(table[action])
        if zero_cancelled and 0.0 < size <= payoffs.negligible[player]:
            magnitude = dense_magnitude(root + 1 + action, player, payoffs, strategy)
            if size <= RESOLUTION * magnitude:
                utility[root + 1 + action] = 0.0


def dense_magnitude(a: int, player: int, payoffs: DensePayoffs, strategy: Vector) -> float:
    """Return the magnitudes in an action's utility, outcome by outcome."""
    sizes, players = payoffs.sizes, payoffs.sizes.size
    outcomes, root, end = 1, 0, 0
    for opponent in range(players):
        end += 1 + as_int64(sizes[opponent])
        outcomes *= as_int64(sizes[opponent]) if opponent != player else 1
        root += 1 + as_int64(sizes[opponent]) if opponent < player else 0
    if a == root:
        return 0.0
    begin = outcomes * (player * as_int64(sizes[player]) + a - root - 1)
    magnitude = 0.0
    for outcome in range(outcomes):
        term, digits, after = abs(payoffs.payoff[begin + outcome]), outcome, end
        for step in range(players):
            opponent = players - 1 - step
            size = as_int64(sizes[opponent])
            if opponent != player:
                term *= strategy[after - size + digits % size]
                digits //= size
            after -= 1 + size
        magnitude += term
    return magnitude


def contract(table: Vector, strategy: Vector, result: Vector) -> None:
    """Multiply rows, one after the other, by a strategy.

    Every eighth product is added to the same of eight sums, which a processor updates in parallel.
    """
    size = strategy.size
    for row in range(result.size):
        payoffs = table[row * size : (row + 1) * size]
        a, b, c, d, e, f, g, h = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for eight in range(size // 8):
            k = 8 * eight
            a += payoffs[k] * strategy[k]
            b += payoffs[k + 1] * strategy[k + 1]
            c += payoffs[k + 2] * strategy[k + 2]
            d += payoffs[k + 3] * strategy[k + 3]
            e += payoffs[k + 4] * strategy[k + 4]
            f += payoffs[k + 5] * strategy[k + 5]
            g += payoffs[k + 6] * strategy[k + 6]
            h += payoffs[k + 7] * strategy[k + 7]
        value = ((a + e) + (c + g)) + ((b + f) + (d + h))
        for k in range(size - size % 8, size):
            value += payoffs[k] * strategy[k]
        result[row] = value
