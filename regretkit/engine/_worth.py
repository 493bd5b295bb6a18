"""What each kind of payoffs is worth, written so that a compiler understands it.

Each sum has one order, whoever makes machine code of it, so that several threads and one come to
the same bits.
"""

from regretkit._typing import Narrow, Vector, whole
from regretkit.engine._payoffs import Ends, Matrix, Tensor


def earn_matrix(
    player: int, payoffs: Matrix, strategy: Vector, utility: Vector, sequences: Narrow
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
    hand_out(whole(sequences[player]), whole(sequences[player + 1]), payoffs, utility)


def hand_out(first: int, last: int, payoffs: Matrix, utility: Vector) -> None:
    """Set the utility of some sequences to what their rows are worth."""
    row, forced_row, worth = payoffs.row, payoffs.forced_row, payoffs.scratch
    if forced_row.size == 0:
        for a in range(first, last):
            utility[a] = worth[whole(row[a])]
    else:
        for a in range(first, last):
            utility[a] = worth[whole(row[a])] + worth[whole(forced_row[a])]


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
    player: int, payoffs: Ends, strategy: Vector, utility: Vector, sequences: Narrow
) -> None:
    """Set a player's utility to payoffs times the probability that all others play to there."""
    add_ends(whole(sequences[player]), whole(sequences[player + 1]), payoffs, strategy, utility)


def add_ends(
    first_sequence: int, last_sequence: int, payoffs: Ends, strategy: Vector, utility: Vector
) -> None:
    """Add up the ends behind each of some sequences."""
    for a in range(first_sequence, last_sequence):
        worth = 0.0
        for k in range(whole(payoffs.begin[a]), whole(payoffs.begin[a + 1])):
            reach = payoffs.payoff[k]
            for other in range(payoffs.others.shape[1]):
                reach *= strategy[whole(payoffs.others[k, other])]
            worth += reach
        utility[a] = worth


def earn_tensor(
    player: int, payoffs: Tensor, strategy: Vector, utility: Vector, sequences: Narrow
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
