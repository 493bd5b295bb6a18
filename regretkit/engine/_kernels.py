"""Whole iterations, written so that a compiler understands them.

``begin``, ``iterate`` and ``backward`` are patterns. The three functions at the top are what they
leave open; :mod:`~regretkit.engine._specialize` puts others in their place, once for each rule and
each kind of payoffs, and makes machine code of the whole.
"""

from regretkit._typing import Indices, Vector
from regretkit.engine._forest import Forest, Narrow
from regretkit.engine._payoffs import Ends, Matrix, Payoffs, Tensor
from regretkit.engine._table import Table

State = tuple[Vector, ...]


def earn(
    player: int, payoffs: Payoffs, strategy: Vector, utility: Vector, sequences: Indices
) -> None:
    """Set a player's utility while the others play ``strategy``."""
    raise NotImplementedError


def form(*arrays: Vector) -> Payoffs:
    """Return arrays as the payoffs that they are."""
    raise NotImplementedError


def learn(
    block: int,
    first: int,
    last: int,
    utility: Vector,
    value: float,
    strategy: Vector,
    state: State,
    numbers: Vector,
) -> None:
    """Let a rule learn at one decision point."""
    raise NotImplementedError


def propose(
    block: int, first: int, last: int, strategy: Vector, state: State, numbers: Vector
) -> None:
    """Let a rule say what it plays next at one decision point."""
    raise NotImplementedError


# What each kind of payoffs is worth. Sums go in any order.


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
    for a in range(sequences[player], sequences[player + 1]):
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
            size, begin = sizes[other], sequences[other] + 1
            entries //= size
            rest = payoffs.scratch[into * half : into * half + entries]
            for row in range(entries):
                worth = 0.0
                for action in range(size):
                    worth += left[row * size + action] * strategy[begin + action]
                rest[row] = worth
            left, into = rest, 1 - into
    utility[sequences[player]] = 0.0
    for action in range(sizes[player]):
        utility[sequences[player] + 1 + action] = left[action]


# One player's decision points, up the tree and down


def climb(player: int, forest: Forest, utility: Vector, behavior: Vector) -> None:
    """Turn utilities into counterfactual ones, from the leaves up."""
    for j in range(forest.points[player + 1] - 1, forest.points[player] - 1, -1):
        first, last = forest.first[j], forest.last[j]
        # The largest is set aside, so that equal utilities leave regrets of exactly zero.
        top = float(utility[first])
        for a in range(first + 1, last):
            top = max(top, float(utility[a]))
        missed = 0.0
        for a in range(first, last):
            missed += float((utility[a] - top) * behavior[a])
        utility[forest.parent[j]] += top + missed


def backward(player: int, numbers: Vector, forest: Forest, table: Table, state: State) -> None:
    """Climb, and let each decision point learn and propose on the way."""
    utility, behavior = table.utility, table.behavior
    for j in range(forest.points[player + 1] - 1, forest.points[player] - 1, -1):
        first, last = forest.first[j], forest.last[j]
        top = float(utility[first])
        for a in range(first + 1, last):
            top = max(top, float(utility[a]))
        missed = 0.0
        for a in range(first, last):
            missed += float((utility[a] - top) * behavior[a])
        value = top + missed
        learn(j, first, last, utility, value, behavior, state, numbers)
        propose(j, first, last, behavior, state, numbers)
        utility[forest.parent[j]] += value


def forward(
    player: int,
    decay: float,
    weight: float,
    forest: Forest,
    strategy: Vector,
    behavior: Vector,
    total: Vector,
) -> None:
    """Add x to the average, and make the new distributions the next x, from the root down."""
    root = forest.sequences[player]
    total[root] = decay * total[root] + weight * strategy[root]
    strategy[root] = 1.0
    for j in range(forest.points[player], forest.points[player + 1]):
        reach = strategy[forest.parent[j]]
        for a in range(forest.first[j], forest.last[j]):
            total[a] = decay * total[a] + weight * strategy[a]
            strategy[a] = behavior[a] * reach


def stay(turn: Indices, decay: float, weight: float, forest: Forest, table: Table) -> None:
    """Add the x of all whose turn it is not."""
    for player in range(turn.size):
        idle = True
        for mover in turn:
            idle = idle and mover != player
        if idle:
            for a in range(forest.sequences[player], forest.sequences[player + 1]):
                table.total[a] = decay * table.total[a] + weight * table.strategy[a]


# Iterations


def begin(numbers: Vector, forest: Forest, table: Table, state: State) -> None:
    """Work out every b and x from what was learned."""
    for player in range(forest.points.size - 1):
        table.strategy[forest.sequences[player]] = 1.0
        for j in range(forest.points[player], forest.points[player + 1]):
            first, last = forest.first[j], forest.last[j]
            propose(j, first, last, table.behavior, state, numbers[player])
            reach = table.strategy[forest.parent[j]]
            for a in range(first, last):
                table.strategy[a] = table.behavior[a] * reach


def earn_all(
    turn: Indices, payoffs: Payoffs, strategy: Vector, utility: Vector, sequences: Indices
) -> None:
    """Set the utilities of all whose turn it is."""
    for player in turn:
        earn(player, payoffs, strategy, utility, sequences)


def iterate(
    together: bool,
    turns: Indices,
    numbers: Vector,
    weights: Vector,
    payoffs: Payoffs,
    forest: Forest,
    table: Table,
    state: State,
) -> None:
    """Play one iteration for each row of ``turns``: the players who learn, in turn, then -1.

    ``numbers[t, player]`` are the rule's, and ``weights[t]`` what the average is multiplied by and
    what x counts. Where all learn ``together``, all utilities are worked out before anybody moves.
    """
    sequences, strategy, utility = forest.sequences, table.strategy, table.utility
    for t in range(turns.shape[0]):
        decay, weight = weights[t, 0], weights[t, 1]
        if t == turns.shape[0] - 1:
            table.played[:] = strategy[: table.played.size]
        if together:
            earn_all(turns[t], payoffs, strategy, utility, sequences)
        for player in turns[t]:
            if player >= 0:
                if not together:
                    earn(player, payoffs, strategy, utility, sequences)
                backward(player, numbers[t, player], forest, table, state)
                forward(player, decay, weight, forest, strategy, table.behavior, table.total)
        if turns[t, -1] < 0:
            stay(turns[t], decay, weight, forest, table)


# Parts of an iteration, for rules that are no machine code. They take arrays one by one, since
# Python hands over a tuple of arrays ten times more slowly than the arrays.


def rise(
    player: int,
    earning: bool,
    climbing: bool,
    strategy: Vector,
    behavior: Vector,
    utility: Vector,
    first: Narrow,
    last: Narrow,
    parent: Narrow,
    points: Indices,
    sequences: Indices,
    *payoffs: Vector,
) -> None:
    """Set a player's utility; turn it into counterfactual ones."""
    if earning:
        earn(player, form(*payoffs), strategy, utility, sequences)
    if climbing:
        climb(player, Forest(first, last, parent, points, sequences), utility, behavior)


def fall(
    player: int,
    decay: float,
    weight: float,
    strategy: Vector,
    behavior: Vector,
    total: Vector,
    first: Narrow,
    last: Narrow,
    parent: Narrow,
    points: Indices,
    sequences: Indices,
) -> None:
    """Add x to the average, and make the new distributions the next x."""
    forest = Forest(first, last, parent, points, sequences)
    forward(player, decay, weight, forest, strategy, behavior, total)
