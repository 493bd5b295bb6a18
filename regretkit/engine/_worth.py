"""What each kind of payoffs is worth, written so that a compiler understands it.

Sums go in any order here: whoever makes machine code of these functions may let it add up several
numbers at once.
"""

from regretkit._typing import Indices, Vector
from regretkit.engine._forest import Narrow
from regretkit.engine._payoffs import Ends, Matrix, Tensor


def earn_matrix(
    player: int, payoffs: Matrix, strategy: Vector, utility: Vector, sequences: Indices
) -> None:
    """Set a player's utility to A x, with x the opponent's strategy."""
    scratch = payoffs.scratch
    for batch in range(payoffs.sums_of_player[player], payoffs.sums_of_player[player + 1]):
        add_up(payoffs.sum_batches[batch], payoffs.summed, strategy, scratch)
    behind = sequences[-1]
    for group in range(payoffs.sums[player], payoffs.sums[player + 1]):
        strategy[behind + group] = scratch[group]
    for batch in range(payoffs.of_player[player], payoffs.of_player[player + 1]):
        multiply(payoffs.batches[batch], payoffs.column, payoffs.payoff, strategy, scratch)
    for a in range(sequences[player], sequences[player + 1]):
        utility[a] = scratch[payoffs.row[a]]


def add_up(batch: Indices, summed: Narrow, strategy: Vector, sums: Vector) -> None:
    """Add up the sequences of each sum of a batch."""
    row, quads, length, k = batch[0], batch[1], batch[2], batch[3]
    if quads == 0:
        alone = 0.0
        for entry in range(k, k + length):
            alone += float(strategy[summed[entry]])
        sums[row] = alone
    for quad in range(quads):
        one, two, three, four = 0.0, 0.0, 0.0, 0.0
        for _ in range(length):
            one += float(strategy[summed[k]])
            two += float(strategy[summed[k + 1]])
            three += float(strategy[summed[k + 2]])
            four += float(strategy[summed[k + 3]])
            k += 4
        at = row + 4 * quad
        sums[at], sums[at + 1], sums[at + 2], sums[at + 3] = one, two, three, four


def multiply(
    batch: Indices, column: Narrow, payoff: Vector, strategy: Vector, worth: Vector
) -> None:
    """Multiply each row of a batch by the strategy."""
    row, quads, length, k = batch[0], batch[1], batch[2], batch[3]
    if quads == 0:
        alone = 0.0
        for entry in range(k, k + length):
            alone += float(payoff[entry] * strategy[column[entry]])
        worth[row] = alone
    for quad in range(quads):
        one, two, three, four = 0.0, 0.0, 0.0, 0.0
        for _ in range(length):
            one += float(payoff[k] * strategy[column[k]])
            two += float(payoff[k + 1] * strategy[column[k + 1]])
            three += float(payoff[k + 2] * strategy[column[k + 2]])
            four += float(payoff[k + 3] * strategy[column[k + 3]])
            k += 4
        at = row + 4 * quad
        worth[at], worth[at + 1], worth[at + 2], worth[at + 3] = one, two, three, four


def earn_ends(
    player: int, payoffs: Ends, strategy: Vector, utility: Vector, sequences: Indices
) -> None:
    """Set a player's utility to payoffs times the probability that all others play to there."""
    add_ends(sequences[player], sequences[player + 1], payoffs, strategy, utility)


def add_ends(
    first_sequence: int, last_sequence: int, payoffs: Ends, strategy: Vector, utility: Vector
) -> None:
    """Add up the ends behind each of some sequences."""
    for a in range(first_sequence, last_sequence):
        worth = 0.0
        for k in range(payoffs.begin[a], payoffs.begin[a + 1]):
            reach = payoffs.payoff[k]
            for other in range(payoffs.others.shape[1]):
                reach *= strategy[payoffs.others[k, other]]
            worth += reach
        utility[a] = worth


def earn_tensor(
    player: int, payoffs: Tensor, strategy: Vector, utility: Vector, sequences: Indices
) -> None:
    """Set a player's utility to its payoffs times all other strategies, the last ones first."""
    sizes = payoffs.sizes
    entries = 1
    for size in sizes:
        entries *= size
    half = payoffs.scratch.size // 2
    left = payoffs.payoff[player * entries : (player + 1) * entries]
    into = 0
    for back in range(sizes.size):
        other = sizes.size - 1 - back
        if other != player:
            own = strategy[sequences[other] + 1 : sequences[other + 1]]
            entries //= sizes[other]
            rest = payoffs.scratch[into * half : into * half + entries]
            multiply_out(left, own, rest)
            left, into = rest, 1 - into
    utility[sequences[player]] = 0.0
    for action in range(sizes[player]):
        utility[sequences[player] + 1 + action] = left[action]


def multiply_out(left: Vector, strategy: Vector, rest: Vector) -> None:
    """Multiply rows, one after the other, by a strategy."""
    for row in range(rest.size):
        payoffs = left[row * strategy.size : (row + 1) * strategy.size]
        worth = 0.0
        for action in range(strategy.size):
            worth += payoffs[action] * strategy[action]
        rest[row] = worth
