"""Utilities from each kind of payoffs, written so that a compiler understands it.

Each sum has one order, in Python and in machine code, so that both are bitwise identical.
"""

from regretkit._util._arrays import RESOLUTION
from regretkit._util._typing import Narrow, Vector, whole
from regretkit.engine._payoffs import Ends, Matrix, Tensor


def earn_matrix(
    player: int,
    settled: bool,
    payoffs: Matrix,
    strategy: Vector,
    utility: Vector,
    sequences: Narrow,
) -> None:
    """Set a player's utility to A x, with x the opponent's strategy."""
    scratch = payoffs.scratch
    for batch in range(
        whole(payoffs.sums_of_player[player]), whole(payoffs.sums_of_player[player + 1])
    ):
        add_up(payoffs.sum_batches[batch], payoffs.summed, strategy, scratch)
    behind = whole(sequences[sequences.size - 1])
    for group in range(whole(payoffs.sums[player]), whole(payoffs.sums[player + 1])):
        strategy[behind + group] = scratch[group]
    for batch in range(whole(payoffs.of_player[player]), whole(payoffs.of_player[player + 1])):
        multiply(payoffs.batches[batch], payoffs.column, payoffs.payoff, strategy, scratch)
        if settled:
            settle_rows(payoffs.batches[batch], payoffs.negligible[player], payoffs, strategy)
    hand_out(player, payoffs, utility, sequences)


def hand_out(player: int, payoffs: Matrix, utility: Vector, sequences: Narrow) -> None:
    """Give each sequence of a player the number of its row."""
    row, forced_row, scratch = payoffs.row, payoffs.forced_row, payoffs.scratch
    if forced_row.size == 0:
        for a in range(whole(sequences[player]), whole(sequences[player + 1])):
            utility[a] = scratch[whole(row[a])]
    else:
        for a in range(whole(sequences[player]), whole(sequences[player + 1])):
            utility[a] = scratch[whole(row[a])] + scratch[whole(forced_row[a])]


def settle_rows(batch: Narrow, negligible: float, payoffs: Matrix, strategy: Vector) -> None:
    """Set rows of a batch to zero in which the terms cancel up to rounding."""
    row, rows, worth = whole(batch[0]), max(4 * whole(batch[1]), 1), payoffs.scratch
    for r in range(rows):
        size = abs(worth[row + r])
        if 0.0 < size <= negligible:
            magnitude = magnitude_of(r, batch, payoffs, strategy)
            worth[row + r] = 0.0 if size <= RESOLUTION * magnitude else worth[row + r]


def magnitude_of(r: int, batch: Narrow, payoffs: Matrix, strategy: Vector) -> float:
    """Return the sum of the terms' magnitudes in a row of a batch."""
    quads, length, begin = whole(batch[1]), whole(batch[2]), whole(batch[3])
    stride = 4 if quads > 0 else 1
    magnitude = 0.0
    for entry in range(length):
        k = begin + stride * (length * (r // stride) + entry) + r % stride
        magnitude += abs(payoffs.payoff[k] * strategy[whole(payoffs.column[k])])
    return magnitude


def measure_matrix(a: int, player: int, payoffs: Matrix, strategy: Vector) -> float:
    """Return the magnitudes in a sequence's utility; the sums in ``strategy`` are up to date."""
    magnitude = measure_row(whole(payoffs.row[a]), player, payoffs, strategy)
    if payoffs.forced_row.size > 0:
        magnitude += measure_row(whole(payoffs.forced_row[a]), player, payoffs, strategy)
    return magnitude


def measure_row(r: int, player: int, payoffs: Matrix, strategy: Vector) -> float:
    """Return the magnitudes in a row, which is looked up among the player's batches."""
    low, high = whole(payoffs.of_player[player]), whole(payoffs.of_player[player + 1])
    while high - low > 1:
        middle = (low + high) // 2
        if whole(payoffs.batches[middle, 0]) <= r:
            low = middle
        else:
            high = middle
    if low == high:
        return 0.0
    batch = payoffs.batches[low]
    within = r - whole(batch[0])
    if within >= max(4 * whole(batch[1]), 1):  # the number that stays 0
        return 0.0
    return magnitude_of(within, batch, payoffs, strategy)


def add_up(batch: Narrow, summed: Narrow, strategy: Vector, sums: Vector) -> None:
    """Add up the sequences of each sum of a batch."""
    row, quads, length, k = whole(batch[0]), whole(batch[1]), whole(batch[2]), whole(batch[3])
    if quads == 0:
        alone = 0.0
        for entry in range(k, k + length):
            alone += float(strategy[whole(summed[entry])])
        sums[row] = alone
    # Most are short. For lengths that it can see here, a compiler makes no loops.
    elif length == 1:
        add_up_quads(row, quads, 1, k, summed, strategy, sums)
    elif length == 2:
        add_up_quads(row, quads, 2, k, summed, strategy, sums)
    elif length == 3:
        add_up_quads(row, quads, 3, k, summed, strategy, sums)
    elif length == 4:
        add_up_quads(row, quads, 4, k, summed, strategy, sums)
    else:
        add_up_quads(row, quads, length, k, summed, strategy, sums)


def add_up_quads(
    row: int, quads: int, length: int, begin: int, summed: Narrow, strategy: Vector, sums: Vector
) -> None:
    """Add up four sums of one length at once, and then the next four."""
    for quad in range(quads):
        one, two, three, four = 0.0, 0.0, 0.0, 0.0
        for entry in range(length):
            k = begin + 4 * (length * quad + entry)
            one += float(strategy[whole(summed[k])])
            two += float(strategy[whole(summed[k + 1])])
            three += float(strategy[whole(summed[k + 2])])
            four += float(strategy[whole(summed[k + 3])])
        at = row + 4 * quad
        sums[at], sums[at + 1], sums[at + 2], sums[at + 3] = one, two, three, four


def multiply(
    batch: Narrow, column: Narrow, payoff: Vector, strategy: Vector, worth: Vector
) -> None:
    """Multiply each row of a batch by the strategy."""
    row, quads, length, k = whole(batch[0]), whole(batch[1]), whole(batch[2]), whole(batch[3])
    if quads == 0:
        alone = 0.0
        for entry in range(k, k + length):
            alone += float(payoff[entry] * strategy[whole(column[entry])])
        worth[row] = alone
    elif length == 1:  # as above
        multiply_quads(row, quads, 1, k, column, payoff, strategy, worth)
    elif length == 2:
        multiply_quads(row, quads, 2, k, column, payoff, strategy, worth)
    elif length == 3:
        multiply_quads(row, quads, 3, k, column, payoff, strategy, worth)
    elif length == 4:
        multiply_quads(row, quads, 4, k, column, payoff, strategy, worth)
    else:
        multiply_quads(row, quads, length, k, column, payoff, strategy, worth)


def multiply_quads(
    row: int,
    quads: int,
    length: int,
    begin: int,
    column: Narrow,
    payoff: Vector,
    strategy: Vector,
    worth: Vector,
) -> None:
    """Multiply four rows of one length at once, and then the next four."""
    for quad in range(quads):
        one, two, three, four = 0.0, 0.0, 0.0, 0.0
        for entry in range(length):
            k = begin + 4 * (length * quad + entry)
            one += float(payoff[k] * strategy[whole(column[k])])
            two += float(payoff[k + 1] * strategy[whole(column[k + 1])])
            three += float(payoff[k + 2] * strategy[whole(column[k + 2])])
            four += float(payoff[k + 3] * strategy[whole(column[k + 3])])
        at = row + 4 * quad
        worth[at], worth[at + 1], worth[at + 2], worth[at + 3] = one, two, three, four


def earn_ends(
    player: int,
    settled: bool,
    payoffs: Ends,
    strategy: Vector,
    utility: Vector,
    sequences: Narrow,
) -> None:
    """Set a player's utility to payoffs times the probability that all others play to there."""
    for a in range(whole(sequences[player]), whole(sequences[player + 1])):
        worth, magnitude = 0.0, 0.0
        for k in range(whole(payoffs.begin[a]), whole(payoffs.begin[a + 1])):
            reach = payoffs.payoff[k]
            for other in range(payoffs.others.shape[1]):
                reach *= strategy[whole(payoffs.others[k, other])]
            worth += reach
            if settled:
                magnitude += abs(reach)
        utility[a] = 0.0 if settled and abs(worth) <= RESOLUTION * magnitude else worth


def measure_ends(a: int, player: int, payoffs: Ends, strategy: Vector) -> float:
    """Return the magnitudes in a sequence's utility."""
    magnitude = 0.0
    for k in range(whole(payoffs.begin[a]), whole(payoffs.begin[a + 1])):
        reach = abs(payoffs.payoff[k])
        for other in range(payoffs.others.shape[1]):
            reach *= strategy[whole(payoffs.others[k, other])]
        magnitude += reach
    return magnitude


def earn_tensor(
    player: int,
    settled: bool,
    payoffs: Tensor,
    strategy: Vector,
    utility: Vector,
    sequences: Narrow,
) -> None:
    """Set a player's utility to its payoffs times all other strategies, the last ones first."""
    sizes = payoffs.sizes
    entries = 1
    for size in sizes:
        entries *= whole(size)
    half = payoffs.scratch.size // 2
    left = payoffs.payoff[player * entries : (player + 1) * entries]
    into = 0
    for back in range(sizes.size):
        other = sizes.size - 1 - back
        if other != player:
            own = strategy[whole(sequences[other]) + 1 : whole(sequences[other + 1])]
            entries //= whole(sizes[other])
            rest = payoffs.scratch[into * half : into * half + entries]
            multiply_out(left, own, rest)
            left, into = rest, 1 - into
    root = whole(sequences[player])
    utility[root] = 0.0
    for action in range(whole(sizes[player])):
        utility[root + 1 + action] = left[action]
        size = abs(left[action])
        if settled and 0.0 < size <= payoffs.negligible[player]:
            magnitude = measure_tensor(root + 1 + action, player, payoffs, strategy)
            if size <= RESOLUTION * magnitude:
                utility[root + 1 + action] = 0.0


def measure_tensor(a: int, player: int, payoffs: Tensor, strategy: Vector) -> float:
    """Return the magnitudes in an action's utility, outcome by outcome."""
    sizes, players = payoffs.sizes, payoffs.sizes.size
    outcomes, root = 1, 0
    for other in range(players):
        outcomes *= whole(sizes[other]) if other != player else 1
        root += 1 + whole(sizes[other]) if other < player else 0
    if a == root:
        return 0.0
    begin = outcomes * (player * whole(sizes[player]) + a - root - 1)
    magnitude = 0.0
    for outcome in range(outcomes):
        term, digits, end = abs(payoffs.payoff[begin + outcome]), outcome, strategy.size
        for back in range(players):
            other = players - 1 - back
            size = whole(sizes[other])
            if other != player:
                term *= strategy[end - size + digits % size]
                digits //= size
            end -= 1 + size
        magnitude += term
    return magnitude


def multiply_out(left: Vector, strategy: Vector, rest: Vector) -> None:
    """Multiply rows, one after the other, by a strategy.

    Every eighth product goes into the same of eight sums, which a machine adds to at once.
    """
    size = strategy.size
    for row in range(rest.size):
        payoffs = left[row * size : (row + 1) * size]
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
        worth = ((a + e) + (c + g)) + ((b + f) + (d + h))
        for k in range(size - size % 8, size):
            worth += payoffs[k] * strategy[k]
        rest[row] = worth
